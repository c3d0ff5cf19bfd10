# SPDX-License-Identifier: Apache-2.0
"""The way of the fingers through a gripper chunk: step by step, and no faster than they may move."""

from collections.abc import Sequence

import numpy as np

from lastgate.contracts import ControlMode, Gripper, RobotDescription, ROSConfigError
from lastgate.contracts.action import ActionChunk
from lastgate.contracts.arrays import Float64


class FingerPath:
    """Positions of the gripper's joints over time, straight from step to step.

    The gate checks where a gripper command leads, not how fast. So a step takes `step_s`, or as long as the slowest
    finger needs for it.

    Args:
        points: (steps + 1, joints): where the fingers begin, and where each step sends them.
        speeds: The largest speed of each joint.
    """

    def __init__(self, points: Float64, *, speeds: Float64, step_s: float) -> None:
        self._points = points
        needed_s = (np.abs(np.diff(points, axis=0)) / speeds).max(axis=1, initial=0.0)
        self._times_s = np.concatenate([[0.0], np.cumsum(np.maximum(needed_s, step_s))])

    @property
    def duration_s(self) -> float:
        """Time until the last step is reached."""
        return float(self._times_s[-1])

    def at(self, elapsed_s: float) -> Float64:
        """Returns the set points so long after the fingers began."""
        return np.array([np.interp(elapsed_s, self._times_s, column) for column in self._points.T])


def gripper_of(robot: RobotDescription, ee_name: str) -> Gripper:
    """Returns the gripper that an accepted gripper chunk means: the gate knows its end effector.

    Raises:
        ROSConfigError: The robot has no such gripper.
    """
    for end in robot.end_effectors:
        if end.gripper is not None and ee_name in ("", end.name):
            return end.gripper
    raise ROSConfigError(f"robot `{robot.name}` has no gripper `{ee_name}`")


def finger_points(
    chunk: ActionChunk, gripper: Gripper, *, joint_names: Sequence[str], start: Float64
) -> Float64:
    """Returns (steps + 1, joints): `start`, then where each step of an accepted gripper chunk sends the fingers."""
    channel = chunk.rows[:, 0]
    closed, opened = gripper.channel_closed, gripper.channel_open
    is_share = chunk.mode == ControlMode.GRIPPER_BINARY
    share = channel if is_share else (channel - closed) / (opened - closed)
    points = np.tile(start, (len(channel) + 1, 1))
    for joint in gripper.joints:
        column = list(joint_names).index(joint.name)
        points[1:, column] = joint.position_closed + share * (joint.position_open - joint.position_closed)
    return points
