# SPDX-License-Identifier: Apache-2.0
"""The course of the number that a rule is about, step by step, for the rules that are about one number."""

from dataclasses import dataclass

import numpy as np

from lastgate.contracts import ControlMode, ViolationCode
from lastgate.contracts.action import ActionChunk
from lastgate.contracts.arrays import Float64
from lastgate.gate import Gate
from lastgate.gate.verdict import Violation
from lastgate.tools.telemetry.scene import Scene

_ABOUT_ONE_NUMBER = {
    ViolationCode.joint_position_limit,
    ViolationCode.joint_velocity_limit,
    ViolationCode.joint_acceleration_limit,
    ViolationCode.joint_torque_limit,
    ViolationCode.recovery_speed,
    ViolationCode.gripper_range,
    ViolationCode.cartesian_step,
    ViolationCode.cartesian_rotation_step,
    ViolationCode.ee_speed,
    ViolationCode.ee_angular_speed,
    ViolationCode.ee_acceleration,
    ViolationCode.base_linear_speed,
    ViolationCode.base_angular_speed,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """A number over the steps of a chunk, the limits it must keep, and the step where it does not.

    Attributes:
        values: What the steps ask for, where that is plain to see from them; else empty.
    """

    label: str
    steps: Float64
    values: Float64
    step: int
    value: float
    limit_min: float
    limit_max: float


def series_of(
    gate: Gate, violation: Violation, *, chunk: ActionChunk, path: Float64, scene: Scene
) -> Series | None:
    """Returns the course that led to a violation; None where the rule is not about one number of one step."""
    if violation.code not in _ABOUT_ONE_NUMBER or violation.step is None:
        return None
    steps, values = _course(gate, violation, chunk=chunk, path=path, scene=scene)
    what = str(violation.code).removesuffix("_limit").replace("_", " ")
    unit = f", {violation.unit}" if violation.unit else ""
    return Series(
        label=f"{violation.subject}: {what}{unit}",
        steps=steps,
        values=values,
        step=violation.step,
        value=violation.value,
        limit_min=violation.limit_min,
        limit_max=violation.limit_max,
    )


def _course(
    gate: Gate, violation: Violation, *, chunk: ActionChunk, path: Float64, scene: Scene
) -> tuple[Float64, Float64]:
    nothing = np.empty(0), np.empty(0)
    joints = [joint.name for joint in gate.robot.actuated_joints]
    numbered = np.arange(len(path) - 1, dtype=np.float64)
    match violation.code:
        case ViolationCode.joint_position_limit if violation.subject in joints and len(path) > 1:
            return np.arange(-1.0, len(path) - 1), path[:, joints.index(violation.subject)]
        case ViolationCode.joint_velocity_limit if violation.subject in joints and len(path) > 1:
            return numbered, np.diff(path[:, joints.index(violation.subject)]) / gate.step_s
        case ViolationCode.ee_speed if scene.tool_path is not None and len(scene.tool_path) > 1:
            moved_m = np.linalg.norm(np.diff(scene.tool_path, axis=0), axis=1)
            return numbered, moved_m / gate.step_s
        case ViolationCode.joint_torque_limit if (
            chunk.mode == ControlMode.JOINT_TORQUE and violation.subject in gate.joint_names
        ):
            column = gate.joint_names.index(violation.subject)
            return np.arange(len(chunk.rows), dtype=np.float64), chunk.rows[:, column]
    return nothing
