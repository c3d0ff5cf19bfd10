# SPDX-License-Identifier: Apache-2.0
"""The numeric limits a motion must stay inside, as a robot or a skill declares them."""

from collections.abc import Callable, Mapping
from typing import Annotated, ClassVar

from pydantic import Field

from lastgate.contracts.schema import Finite, Flag, NotNegative, Positive, Schema, Vector3
from lastgate.contracts.shapes import KeepInZone, Zone


class SafetyEnvelope(Schema):
    """The limits of a robot, or the tighter ones of a skill; a limit that is None is not declared.

    A control mode whose limits are not declared cannot be enabled, so None never means "unlimited". Half a
    workspace box, half a gripper range, a range in the wrong order and two zones of one name are refused.
    """

    # The contract names the bounds of a base without their units.
    also_spelled: ClassVar[Mapping[str, str]] = {
        "max_base_linear_speed": "max_base_linear_speed_m_s",
        "max_base_angular_speed": "max_base_angular_speed_rad_s",
    }

    workspace_box_min_xyz: Vector3 | None = None
    workspace_box_max_xyz: Vector3 | None = None
    max_ee_speed_m_s: Positive | None = None
    max_ee_angular_speed_rad_s: Positive | None = None
    max_ee_accel_m_s2: Positive | None = None
    max_joint_speed_factor: Annotated[Positive, Field(le=1.0)] = 1.0
    max_force_n: Positive | None = None
    max_torque_nm: Positive | None = None
    contact_force_threshold_n: Positive | None = None
    max_cartesian_step_m: Positive | None = None
    max_cartesian_step_rad: Positive | None = None
    max_base_linear_speed_m_s: Positive | None = None
    max_base_angular_speed_rad_s: Positive | None = None
    # In the units of the command channel, whatever the gripper calls open.
    gripper_min: Finite | None = None
    gripper_max: Finite | None = None
    no_go_zones: tuple[Zone, ...] = ()
    keep_in_zones: tuple[KeepInZone, ...] = ()
    deadman_required: Flag = True
    self_collision_margin_m: NotNegative = 0.0
    world_collision_margin_m: NotNegative = 0.0
    # How far a controller that resolves Cartesian steps itself may stray from the joint path that was checked.
    cartesian_deviation_m: NotNegative = 0.0
    # Ten cycles of a 50 Hz joint-state publisher.
    state_age_s_max: Positive = 0.2
    # Five frames of a 10 Hz world publisher.
    world_age_s_max: Positive = 0.5

    @property
    def max_base_linear_speed(self) -> float | None:
        """Alias of `max_base_linear_speed_m_s`, the name it may also be given under."""
        return self.max_base_linear_speed_m_s

    @property
    def max_base_angular_speed(self) -> float | None:
        """Alias of `max_base_angular_speed_rad_s`, the name it may also be given under."""
        return self.max_base_angular_speed_rad_s

    def _checks(self) -> tuple[Callable[[], list[str]], ...]:
        return (self._box_problems, self._gripper_problems, self._zone_problems)

    def _zone_problems(self) -> list[str]:
        problems = []
        for noun, zones in (("no-go", self.no_go_zones), ("keep-in", self.keep_in_zones)):
            names = [zone.name for zone in zones]
            problems += [
                f"two {noun} zones are called `{name}`"
                for name in sorted(set(names))
                if names.count(name) > 1
            ]
        return problems

    def _box_problems(self) -> list[str]:
        lower, upper = self.workspace_box_min_xyz, self.workspace_box_max_xyz
        if lower is None and upper is None:
            return []
        if lower is None or upper is None:
            missing = "workspace_box_min_xyz" if lower is None else "workspace_box_max_xyz"
            return [f"half a workspace box: `{missing}` is missing"]
        return [
            f"workspace box is inverted or flat along {axis}: "
            f"workspace_box_min_xyz {low:.4f} m, workspace_box_max_xyz {high:.4f} m"
            for axis, low, high in zip("xyz", lower, upper, strict=True)
            if not low < high
        ]

    def _gripper_problems(self) -> list[str]:
        if self.gripper_min is None and self.gripper_max is None:
            return []
        if self.gripper_min is None or self.gripper_max is None:
            missing = "gripper_min" if self.gripper_min is None else "gripper_max"
            return [f"half a gripper range: `{missing}` is missing"]
        if self.gripper_min < self.gripper_max:
            return []
        low, high = self.gripper_min, self.gripper_max
        return [f"gripper range is inverted or empty: gripper_min {low:.4f}, gripper_max {high:.4f}"]
