# SPDX-License-Identifier: Apache-2.0
"""The reasons a chunk can be rejected; recordings store the numbers, so none is ever changed or reused."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal, Self

from lastgate.contracts.enums import FailureKind


class ViolationCode(StrEnum):
    """Names the rule a chunk broke; the value is the word that logs, files and `lastgate explain` use."""

    number: int

    def __new__(cls, word: str, number: int) -> Self:
        """Makes a member that is a word and carries the number the core knows it by."""
        member = str.__new__(cls, word)
        member._value_ = word
        member.number = number
        return member

    # generated: violation codes, from core/violations.toml by `make generate`
    not_checked = "not_checked", 0
    internal_fault = "internal_fault", 1
    envelope_unconfigured = "envelope_unconfigured", 2
    estop_latched = "estop_latched", 3
    control_mode = "control_mode", 4
    ndof_mismatch = "ndof_mismatch", 5
    dim_mismatch = "dim_mismatch", 6
    nan_in_action = "nan_in_action", 7
    budget_exceeded = "budget_exceeded", 8
    joint_position_limit = "joint_position_limit", 10
    joint_velocity_limit = "joint_velocity_limit", 11
    joint_torque_limit = "joint_torque_limit", 12
    gripper_range = "gripper_range", 13
    cartesian_step = "cartesian_step", 14
    cartesian_rotation_step = "cartesian_rotation_step", 15
    ee_speed = "ee_speed", 16
    ee_angular_speed = "ee_angular_speed", 17
    base_linear_speed = "base_linear_speed", 18
    base_angular_speed = "base_angular_speed", 19
    workspace_box = "workspace_box", 20
    quaternion_norm = "quaternion_norm", 21
    cartesian_frame = "cartesian_frame", 22
    joint_acceleration_limit = "joint_acceleration_limit", 23
    ee_acceleration = "ee_acceleration", 24
    cartesian_unreachable = "cartesian_unreachable", 25
    stop_not_certified = "stop_not_certified", 27
    seam_jump = "seam_jump", 28
    state_unavailable = "state_unavailable", 30
    world_unavailable = "world_unavailable", 40
    world_overflow = "world_overflow", 41
    voxel_unavailable = "voxel_unavailable", 42
    voxel_overflow = "voxel_overflow", 43
    declared_contact = "declared_contact", 44
    self_collision = "self_collision", 50
    world_collision = "world_collision", 51
    recovery_not_growing = "recovery_not_growing", 52
    recovery_speed = "recovery_speed", 53
    keep_in_zone = "keep_in_zone", 54
    # end of generated


@dataclass(frozen=True, slots=True, kw_only=True)
class ViolationEntry:
    """The meaning of one code and the way it is reported.

    Attributes:
        kind: The `FailureTrigger` kind it is published under.
        stages: Stages of the validation order that find it; none: any stage, or none at all.
        state: The `ControllerEvidence.state` word, for kind CONTROLLER only.
        field: The field that evidence names beside the state, where the contract fixes one.
        response: `violation` and `stale` follow the setting of that name, `fault` always latches, `nothing` never does.
    """

    code: ViolationCode
    kind: FailureKind
    stages: tuple[int, ...]
    state: str | None = None
    field: str | None = None
    response: Literal["violation", "stale", "fault", "nothing"] = "violation"
    what_it_checks: str
    why_it_matters: str
    known_limits: str
    example: str
    what_to_do: str

    def render(self) -> str:
        """Returns the entry as the text that `lastgate explain` prints."""
        sections = (
            ("What it checks", self.what_it_checks),
            ("Why it matters", self.why_it_matters),
            ("Known limits", self.known_limits),
            ("Example", self.example),
            ("What to do", self.what_to_do),
        )
        report = self.kind.name if self.state is None else f"{self.kind.name}, state {self.state}"
        if self.field is not None:
            report += f", field {self.field}"
        heading = f"{self.code} ({self.code.number}), reported as {report}"
        return "\n\n".join([heading, *(f"{title}\n  {text}" for title, text in sections)]) + "\n"
