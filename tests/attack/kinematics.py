# SPDX-License-Identifier: Apache-2.0
"""Forward kinematics of a manifest, many configurations at once."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
MOVING = ("revolute", "continuous", "prismatic")


def rotation_of_rpy(rpy: Any) -> Array:
    """Returns Rz(yaw) Ry(pitch) Rx(roll), the URDF convention."""
    roll, pitch, yaw = (float(angle) for angle in rpy)
    about_x = rotation_about(np.array([1.0, 0.0, 0.0]), np.array([roll]))[0]
    about_y = rotation_about(np.array([0.0, 1.0, 0.0]), np.array([pitch]))[0]
    about_z = rotation_about(np.array([0.0, 0.0, 1.0]), np.array([yaw]))[0]
    return about_z @ about_y @ about_x


def rotation_about(axis: Array, angles: Array) -> Array:
    """Returns one rotation per angle about a unit axis (Rodrigues)."""
    x, y, z = axis
    cross = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    sine, cosine = np.sin(angles)[:, None, None], np.cos(angles)[:, None, None]
    return np.eye(3) + sine * cross + (1.0 - cosine) * (cross @ cross)


def rotation_of_quaternion(quat_xyzw: Any) -> Array:
    x, y, z, w = np.asarray(quat_xyzw, dtype=np.float64) / np.linalg.norm(quat_xyzw)
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
        ]
    )


def quaternion_of_rotation(rotation: Array) -> Array:
    """Returns x y z w, from the eigenvector of the symmetric 4 x 4 matrix of Bar-Itzhack."""
    r = rotation
    k = np.array(
        [
            [r[0, 0] - r[1, 1] - r[2, 2], r[0, 1] + r[1, 0], r[0, 2] + r[2, 0], r[2, 1] - r[1, 2]],
            [r[0, 1] + r[1, 0], r[1, 1] - r[0, 0] - r[2, 2], r[1, 2] + r[2, 1], r[0, 2] - r[2, 0]],
            [r[0, 2] + r[2, 0], r[1, 2] + r[2, 1], r[2, 2] - r[0, 0] - r[1, 1], r[1, 0] - r[0, 1]],
            [r[2, 1] - r[1, 2], r[0, 2] - r[2, 0], r[1, 0] - r[0, 1], r[0, 0] + r[1, 1] + r[2, 2]],
        ]
    )
    values, vectors = np.linalg.eigh(k)
    return vectors[:, np.argmax(values)]


def rotation_vector(rotation: Array) -> Array:
    """Returns axis times angle of a rotation, below half a turn."""
    quaternion = quaternion_of_rotation(rotation)
    if quaternion[3] < 0.0:
        quaternion = -quaternion
    sine = float(np.linalg.norm(quaternion[:3]))
    angle = 2.0 * np.arctan2(sine, quaternion[3])
    return quaternion[:3] * (angle / sine if sine > 1e-12 else 2.0)


class Tree:
    """The links of a manifest, placed by the positions of the actuated joints and of the base.

    Attributes:
        joints: Names of the actuated joints, in the order of the columns of a configuration.
        fingers: Columns that gripper commands move.
        arm: Columns that joint rows move.
        links: Names, the base frame first.
    """

    def __init__(self, manifest: dict[str, Any]) -> None:
        self.manifest = manifest
        specs = manifest["joints"]
        actuated = [joint for joint in specs if joint["joint_type"] in MOVING and not joint.get("mimic")]
        self.joints = [joint["name"] for joint in actuated]
        in_gripper = {
            finger["name"]
            for end in manifest.get("end_effectors", ())
            for finger in (end.get("gripper") or {"joints": ()})["joints"]
        }
        self.fingers = [i for i, name in enumerate(self.joints) if name in in_gripper]
        self.arm = [i for i, name in enumerate(self.joints) if name not in in_gripper]
        self.links = [manifest["base_frame"], *(joint["child_link"] for joint in specs)]
        number = {name: index for index, name in enumerate(self.links)}
        self.parent = [-1, *(number[joint["parent_link"]] for joint in specs)]
        self.kind = ["fixed", *(joint["joint_type"] for joint in specs)]
        self.xyz = [np.zeros(3), *(np.array(joint.get("origin_xyz", (0, 0, 0)), float) for joint in specs)]
        self.turn = [np.eye(3), *(rotation_of_rpy(joint.get("origin_rpy", (0, 0, 0))) for joint in specs)]
        self.axis = [np.array([0.0, 0.0, 1.0])]
        self.column, self.gain, self.offset = [-1], [0.0], [0.0]
        for joint in specs:
            axis = np.array(joint.get("axis_xyz", (0.0, 0.0, 1.0)), float)
            self.axis.append(axis / np.linalg.norm(axis))
            mimic = joint.get("mimic")
            moves = joint["joint_type"] in MOVING
            leader = mimic["joint"] if mimic else joint["name"]
            self.column.append(self.joints.index(leader) if moves else -1)
            self.gain.append(float(mimic.get("multiplier", 1.0)) if mimic else 1.0)
            self.offset.append(float(mimic.get("offset", 0.0)) if mimic else 0.0)
        self.chains = [self._chain(index) for index in range(len(self.links))]
        # Links between which no joint moves are one rigid body, named after the first of them.
        self.body = [self._body(index) for index in range(len(self.links))]

    def _chain(self, link: int) -> list[int]:
        found = []
        while link > 0:
            found.append(link)
            link = self.parent[link]
        return found[::-1]

    def _body(self, link: int) -> int:
        while link > 0 and self.column[link] < 0:
            link = self.parent[link]
        return link

    def is_carried(self, link: int) -> bool:
        """Returns whether any joint moves a link against the base."""
        return self.body[link] != 0

    def place(self, q: Array, base: Array | None = None) -> tuple[Array, Array]:
        """Returns rotations (S, L, 3, 3) and positions (S, L, 3) for configurations (S, n) and base poses (S, 3)."""
        count = len(q)
        rotations = np.empty((count, len(self.links), 3, 3))
        positions = np.empty((count, len(self.links), 3))
        if base is None:
            rotations[:, 0], positions[:, 0] = np.eye(3), 0.0
        else:
            rotations[:, 0] = rotation_about(np.array([0.0, 0.0, 1.0]), base[:, 2])
            positions[:, 0] = np.column_stack([base[:, 0], base[:, 1], np.zeros(count)])
        for link in range(1, len(self.links)):
            above = self.parent[link]
            turn = rotations[:, above] @ self.turn[link]
            at = positions[:, above] + rotations[:, above] @ self.xyz[link]
            if self.column[link] >= 0:
                value = self.gain[link] * q[:, self.column[link]] + self.offset[link]
                if self.kind[link] == "prismatic":
                    at = at + (turn @ self.axis[link]) * value[:, None]
                else:
                    turn = turn @ rotation_about(self.axis[link], value)
            rotations[:, link], positions[:, link] = turn, at
        return rotations, positions

    def velocities(
        self, placed: tuple[Array, Array], link: int, points: Array, rates: Array
    ) -> tuple[Array, Array]:
        """Returns linear velocities of points (S, 3) on a link, and its angular ones, for joint rates (S, n)."""
        rotations, positions = placed
        linear, angular = np.zeros_like(points), np.zeros_like(points)
        for joint in self.chains[link]:
            if self.column[joint] < 0:
                continue
            axis = rotations[:, joint] @ self.axis[joint]
            rate = (self.gain[joint] * rates[:, self.column[joint]])[:, None]
            if self.kind[joint] == "prismatic":
                linear += axis * rate
            else:
                linear += np.cross(axis, points - positions[:, joint]) * rate
                angular += axis * rate
        return linear, angular
