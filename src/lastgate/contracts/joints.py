# SPDX-License-Identifier: Apache-2.0
"""One joint of a robot, as its manifest describes it."""

import math
from collections.abc import Callable
from typing import ClassVar, Literal

from lastgate.contracts.schema import Finite, Name, Positive, Schema, Vector2, Vector3

# An axis written with seven digits is this close to unit length.
AXIS_NORM_TOLERANCE = 1e-6

JointType = Literal["revolute", "prismatic", "continuous", "fixed", "floating", "planar"]
ONE_DOF_JOINT_TYPES = frozenset({"revolute", "prismatic", "continuous"})
BOUNDED_JOINT_TYPES = frozenset({"revolute", "prismatic"})


# vendor: stated by the maker or its description; measured: on the robot itself; assumed: chosen by the author.
LimitSource = Literal["vendor", "measured", "assumed"]

# A full turn per second. Arms that work beside people are sold with half of that and less; what lies beyond is mostly
# the speed of a motor without load, and a limit that no command reaches checks nothing.
OPERATING_RAD_S_MAX = 2.0 * math.pi
# Linear axes of robots run below 1 m/s; screws and belts without load reach more than twice that.
OPERATING_M_S_MAX = 2.0


class MimicSpec(Schema):
    """Makes a joint follow another: position = multiplier * leader position + offset."""

    joint: Name
    multiplier: Finite = 1.0
    offset: Finite = 0.0


class JointSpec(Schema):
    """One joint, in the URDF convention: R = Rz(yaw) Ry(pitch) Rx(roll), axis in the joint's own frame.

    Refused: limits that are missing where the type needs them, not finite or in the wrong order; an axis of a
    moving joint that is not a unit vector; position limits on a joint that would ignore them.
    """

    subject_noun: ClassVar[str] = "joint"

    name: Name
    joint_type: JointType
    parent_link: Name
    child_link: Name
    axis_xyz: Vector3 = (0.0, 0.0, 1.0)
    origin_xyz: Vector3 = (0.0, 0.0, 0.0)
    origin_rpy: Vector3 = (0.0, 0.0, 0.0)
    position_limits: Vector2 | None = None
    velocity_limit: Positive | None = None
    # Where the number comes from. One without a source is an assumption.
    velocity_limit_source: LimitSource = "assumed"
    acceleration_limit: Positive | None = None
    # What the joint brakes with when the robot stops, in every posture and with every load that it may carry.
    deceleration_limit: Positive | None = None
    deceleration_limit_source: LimitSource = "assumed"
    effort_limit: Positive | None = None
    mimic: MimicSpec | None = None
    sim_joint_name: Name | None = None
    # Where drivers that count in degrees read zero, and which way they count: position = degrees_zero + degrees_sign *
    # degrees in radians. LeRobot counts from the middle of a joint's range, not from the zero of a description.
    degrees_zero: Finite = 0.0
    degrees_sign: Literal[1, -1] = 1

    @property
    def is_moving(self) -> bool:
        """True if one number places the joint; a step does not move fixed, floating and planar ones."""
        return self.joint_type in ONE_DOF_JOINT_TYPES

    @property
    def looks_like_motor_data(self) -> bool:
        """True if the velocity limit is faster than robots are operated, and so hardly limits anything."""
        fastest = OPERATING_M_S_MAX if self.joint_type == "prismatic" else OPERATING_RAD_S_MAX
        # Limits are written with a few digits: a full turn per second may be 6.2832.
        return self.velocity_limit is not None and self.velocity_limit > fastest * (1.0 + 1e-4)

    @property
    def is_actuated(self) -> bool:
        """True if the joint has its own column in a step: it moves and follows no other joint."""
        return self.is_moving and self.mimic is None

    def _checks(self) -> tuple[Callable[[], list[str]], ...]:
        return (
            self._type_and_limits_problems,
            self._limit_order_problems,
            self._velocity_problems,
            self._link_problems,
            self._axis_problems,
            self._mimic_problems,
            self._degrees_problems,
        )

    def _type_and_limits_problems(self) -> list[str]:
        is_bounded = self.joint_type in BOUNDED_JOINT_TYPES
        if self.position_limits is None and is_bounded:
            return [f"a {self.joint_type} joint needs `position_limits: [lower, upper]`"]
        if self.position_limits is not None and not is_bounded:
            hint = "; declare it revolute" if self.joint_type == "continuous" else ""
            return [f"a {self.joint_type} joint would ignore its `position_limits`{hint}"]
        return []

    def _limit_order_problems(self) -> list[str]:
        lower, upper = self.position_limits or (0.0, 1.0)
        if lower < upper:
            return []
        return [f"`position_limits` must have lower < upper, got {lower:.4f} and {upper:.4f}"]

    def _velocity_problems(self) -> list[str]:
        if self.velocity_limit is None and self.is_actuated:
            return [f"a {self.joint_type} joint needs a `velocity_limit`"]
        return []

    def _link_problems(self) -> list[str]:
        if self.parent_link != self.child_link:
            return []
        return [f"parent and child are the same link, `{self.parent_link}`"]

    def _axis_problems(self) -> list[str]:
        norm = math.hypot(*self.axis_xyz)
        if abs(norm - 1.0) <= AXIS_NORM_TOLERANCE or self.joint_type in ("fixed", "floating"):
            return []
        return [
            f"`axis_xyz` must have length 1 to {AXIS_NORM_TOLERANCE:g}, "
            f"{list(self.axis_xyz)} has length {norm:.7g}"
        ]

    def _degrees_problems(self) -> list[str]:
        if (self.degrees_zero == 0.0 and self.degrees_sign == 1) or self.joint_type in (
            "revolute",
            "continuous",
        ):
            return []
        return [f"a {self.joint_type} joint has no degrees that `degrees_zero` or `degrees_sign` could count"]

    def _mimic_problems(self) -> list[str]:
        if self.mimic is None or self.is_moving:
            return []
        return [f"a {self.joint_type} joint cannot mimic `{self.mimic.joint}`"]
