# SPDX-License-Identifier: Apache-2.0
"""How a robot stops, as its manifest declares it."""

from typing import Any, ClassVar, Literal

from lastgate.contracts.schema import NotNegative, Positive, Schema

# path: only the time along the commanded path slows down; joint: every joint brakes on its own.
StopKind = Literal["path", "joint"]


class DeclaredStop(Schema):
    """The stop that a driver of this robot executes, with the deceleration limits of the joints.

    A robot without one is accepted, and every verdict about it lists `stop` under `unchecked`.
    """

    subject_noun: ClassVar[str] = "stop"
    subject_key: ClassVar[str] = "kind"

    kind: StopKind
    # From the moment a stop is asked for until the driver's set points slow down.
    reaction_s: NotNegative
    base_deceleration_m_s2: Positive | None = None
    base_angular_deceleration_rad_s2: Positive | None = None

    def _problems(self) -> list[str]:
        if (self.base_deceleration_m_s2 is None) == (self.base_angular_deceleration_rad_s2 is None):
            return []
        missing = (
            "base_deceleration_m_s2"
            if self.base_deceleration_m_s2 is None
            else "base_angular_deceleration_rad_s2"
        )
        return [f"half the deceleration of a base: `{missing}` is missing"]


def stop_problems(robot: Any) -> list[str]:
    """Lists the joints that a step moves and that a declared stop could not brake, in one sentence."""
    if robot.stop is None:
        return []
    fingers = {joint.name for end in robot.end_effectors if end.gripper for joint in end.gripper.joints}
    silent = [
        f"`{joint.name}`"
        for joint in robot.actuated_joints
        if joint.deceleration_limit is None and joint.name not in fingers
    ]
    if not silent:
        return []
    return [f"`stop` needs a `deceleration_limit` of every joint that steps move: {', '.join(silent)}"]
