# SPDX-License-Identifier: Apache-2.0
"""Forward kinematics written a second time, from the URDF convention, for many configurations at once.

It reads the manifest's joints and nothing of the core. Rotations come from Rodrigues' formula and SciPy.
`test_brute_force_itself.py` compares it with Pinocchio.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

import lastgate as lg

Array = NDArray[np.float64]


def rotation_of_rpy(rpy: tuple[float, ...]) -> Array:
    """Returns Rz(yaw) Ry(pitch) Rx(roll)."""
    return Rotation.from_euler("xyz", rpy).as_matrix()


def rotated(rotations: Array, vector: Array) -> Array:
    """Returns one vector turned by each of (N, 3, 3) rotations."""
    return (rotations.reshape(-1, 3) @ vector).reshape(-1, 3)


@dataclass(frozen=True)
class Frames:
    """The pose of every link at every configuration."""

    rotation: dict[str, Array]  # (N, 3, 3)
    position: dict[str, Array]  # (N, 3)

    def place(self, link: str, point: Array) -> Array:
        """Returns a point of a link in the base frame, (N, 3)."""
        return rotated(self.rotation[link], point) + self.position[link]


class Kinematics:
    """Places the links of one robot."""

    def __init__(self, robot: lg.RobotDescription) -> None:
        self.robot = robot
        self.columns = {j.name: index for index, j in enumerate(robot.actuated_joints)}
        self.lower = np.array([(j.position_limits or (-1e4, 1e4))[0] for j in robot.actuated_joints])
        self.upper = np.array([(j.position_limits or (-1e4, 1e4))[1] for j in robot.actuated_joints])
        self.rigid_with = {robot.base_frame: robot.base_frame}
        for j in robot.joints:
            self.rigid_with[j.child_link] = j.child_link if j.is_moving else self.rigid_with[j.parent_link]
        self._constants = []
        for j in robot.joints:
            x, y, z = np.array(j.axis_xyz) / np.linalg.norm(j.axis_xyz)
            turn = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
            self._constants.append(
                (rotation_of_rpy(j.origin_rpy), np.array(j.origin_xyz), turn, np.array([x, y, z]))
            )

    def frames(self, configurations: Array, *, base_x_y_yaw: Array | None = None) -> Frames:
        """Returns all link frames at (N, actuated joints) configurations, the base optionally moved in its
        plane.
        """
        count = len(configurations)
        root_rotation = np.broadcast_to(np.eye(3), (count, 3, 3))
        root_position = np.zeros((count, 3))
        if base_x_y_yaw is not None:
            root_rotation = Rotation.from_euler("z", base_x_y_yaw[:, 2:]).as_matrix()
            root_position = np.column_stack([base_x_y_yaw[:, :2], np.zeros(count)])
        rotation = {self.robot.base_frame: root_rotation}
        position = {self.robot.base_frame: root_position}
        for j, (turned, origin, turn, axis) in zip(self.robot.joints, self._constants, strict=True):
            parent = rotation[j.parent_link]
            at = position[j.parent_link] + rotated(parent, origin)
            here = (parent.reshape(-1, 3) @ turned).reshape(-1, 3, 3)
            if j.is_moving:
                leader = j.mimic.joint if j.mimic else j.name
                value = configurations[:, self.columns[leader]]
                if j.mimic:
                    value = j.mimic.multiplier * value + j.mimic.offset
                if j.joint_type == "prismatic":
                    at = at + rotated(here, axis) * value[:, None]
                else:
                    once = (here.reshape(-1, 3) @ turn).reshape(-1, 3, 3)
                    twice = (here.reshape(-1, 3) @ (turn @ turn)).reshape(-1, 3, 3)
                    here = (
                        here
                        + np.sin(value)[:, None, None] * once
                        + (1.0 - np.cos(value))[:, None, None] * twice
                    )
            rotation[j.child_link] = here
            position[j.child_link] = at
        return Frames(rotation, position)
