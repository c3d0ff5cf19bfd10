# SPDX-License-Identifier: Apache-2.0
"""Goals as planners take them: joint positions, or a pose of a link. A gaze is a pose whose roll is free."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from lastgate.contracts import Pose6D, RobotDescription, ROSConfigError
from lastgate.contracts.arrays import Float64
from lastgate.planning.skills.camera import find_camera
from lastgate.world.finite_numbers import require_finite, require_xyz
from lastgate.world.rigid_motion import composed, inverse, pose_of_motion, require_rigid_motion


@dataclass(frozen=True, slots=True, kw_only=True)
class JointGoal:
    """Positions of named joints; the others may stay where they are."""

    positions: Mapping[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class PoseGoal:
    """A pose of a link in the robot's base frame.

    Attributes:
        link: Whose frame it is.
        pose: Where the link's frame is to be.
        point_in_link: The point of the link whose place counts: with a free axis the link's origin goes round it.
        free_axis_in_link: The axis through that point about which the link may be turned at will; None fixes all.
    """

    link: str
    pose: Pose6D
    point_in_link: tuple[float, float, float] = (0.0, 0.0, 0.0)
    free_axis_in_link: tuple[float, float, float] | None = None

    @property
    def link_in_base(self) -> Float64:
        """The pose as a 3 x 4 motion."""
        return require_rigid_motion(self.pose, name="pose")

    @property
    def point_in_base(self) -> Float64:
        """Target position of the point."""
        return composed(self.link_in_base, np.column_stack([np.eye(3), self.point_in_link]))[:, 3]


def build_joint_goal(robot: RobotDescription, positions: Mapping[str, float]) -> JointGoal:
    """Returns the goal of some joint positions.

    Raises:
        ROSConfigError: No joint, a joint that the robot cannot drive, or a position that is not finite or out of its
            limits.
    """
    if not isinstance(positions, Mapping) or not positions:
        raise ROSConfigError(f"positions must name at least one joint, got {positions!r}")
    joints = {joint.name: joint for joint in robot.actuated_joints}
    checked: dict[str, float] = {}
    for name, value in positions.items():
        if name not in joints:
            raise ROSConfigError(
                f"robot `{robot.name}` drives no joint `{name}`; joints: {', '.join(joints)}"
            )
        position = require_finite(value, name=f"position of `{name}`")
        lower, upper = joints[name].position_limits or (-math.inf, math.inf)
        if not lower <= position <= upper:
            raise ROSConfigError(
                f"joint `{name}` is sent to {position:.4f}, allowed is {lower:.4f} to {upper:.4f}"
            )
        checked[name] = position
    return JointGoal(positions=MappingProxyType(checked))


def build_pose_goal(
    robot: RobotDescription,
    link: str,
    pose: Pose6D,
    *,
    point_in_link: Sequence[float] = (0.0, 0.0, 0.0),
    free_axis_in_link: Sequence[float] | None = None,
) -> PoseGoal:
    """Returns the goal of a pose of a link in the base frame.

    Raises:
        ROSConfigError: No such link, a pose in another frame, or numbers that are not finite.
    """
    if link not in robot.link_names:
        raise ROSConfigError(
            f"robot `{robot.name}` has no link `{link}`; links: {', '.join(robot.link_names)}"
        )
    if not isinstance(pose, Pose6D):
        raise ROSConfigError(f"pose is a {type(pose).__name__}, expected a Pose6D")
    if pose.frame_id not in ("", robot.base_frame):
        raise ROSConfigError(f"the pose is in frame `{pose.frame_id}`, a goal is in `{robot.base_frame}`")
    axis = None
    if free_axis_in_link is not None:
        direction = require_xyz(free_axis_in_link, name="free_axis_in_link")
        length = math.hypot(*direction)
        if not abs(length - 1.0) <= 1e-6:
            raise ROSConfigError(
                f"free_axis_in_link must have length 1, {list(direction)} has length {length:.7g}"
            )
        axis = direction
    return PoseGoal(
        link=link,
        pose=pose,
        point_in_link=require_xyz(point_in_link, name="point_in_link"),
        free_axis_in_link=axis,
    )


def build_look_at_goal(
    robot: RobotDescription, camera: str, *, eye_xyz: Sequence[float], target_xyz: Sequence[float]
) -> PoseGoal:
    """Returns the goal of looking at a target from an eye, both in the base frame: a pose whose roll is free.

    The roll is free about the line of view, wherever the camera is mounted on its link.

    Raises:
        ROSConfigError: No such camera (the message lists the sensors), numbers that are not finite, or an eye at the
            target.
    """
    mounted = find_camera(robot, camera)
    gaze = mounted.gaze_in(
        eye_xyz=require_xyz(eye_xyz, name="eye_xyz"), target_xyz=require_xyz(target_xyz, name="target_xyz")
    )
    return build_pose_goal(
        robot,
        mounted.link,
        pose_of_motion(composed(gaze, inverse(mounted.optical_in_link))),
        point_in_link=mounted.eye_in_link.tolist(),
        free_axis_in_link=mounted.axis_in_link.tolist(),
    )
