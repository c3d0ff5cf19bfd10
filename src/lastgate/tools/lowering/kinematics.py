# SPDX-License-Identifier: Apache-2.0
"""The tree of a manifest's joints, and where its links are in many configurations at once."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lastgate.contracts.joints import JointSpec
from lastgate.tools.lowering.rigid import rotations_about, transform

Array = NDArray[np.float64]


@dataclass(frozen=True)
class TreeJoint:
    """One joint: its pose in the parent at zero, and which column of a configuration moves it."""

    name: str
    parent: str
    child: str
    origin: Array
    axis: Array
    joint_type: str
    column: int | None
    multiplier: float
    offset: float
    lower: float
    upper: float

    @property
    def is_moving(self) -> bool:
        """True if the joint moves at all."""
        return self.column is not None


class KinematicTree:
    """Joints in parent-first order; floating and planar roots stand still, because steps do not move them."""

    def __init__(self, base: str, joints: Sequence[TreeJoint]) -> None:
        self.base = base
        self.joints = tuple(joints)
        self.above: Mapping[str, TreeJoint] = {joint.child: joint for joint in joints}
        self.links = (base, *(joint.child for joint in joints))
        columns = {joint.column for joint in joints if joint.column is not None}
        self.column_count = len(columns)
        self.lower = np.full(self.column_count, -math.pi)
        self.upper = np.full(self.column_count, math.pi)
        for joint in joints:
            if joint.column is not None and joint.multiplier == 1.0 and joint.offset == 0.0:
                self.lower[joint.column], self.upper[joint.column] = joint.lower, joint.upper

    @staticmethod
    def of(base: str, joints: Sequence[JointSpec]) -> KinematicTree:
        """Returns the tree of manifest joints; a joint without limits ranges over a full turn."""
        columns = {joint.name: index for index, joint in enumerate(j for j in joints if j.is_actuated)}
        specs = {joint.name: joint for joint in joints}
        tree: list[TreeJoint] = []
        for joint in joints:
            leader = specs[joint.mimic.joint] if joint.mimic is not None else joint
            multiplier = joint.mimic.multiplier if joint.mimic is not None else 1.0
            offset = joint.mimic.offset if joint.mimic is not None else 0.0
            low, high = leader.position_limits or (-math.pi, math.pi)
            ends = sorted((multiplier * low + offset, multiplier * high + offset))
            tree.append(
                TreeJoint(
                    joint.name,
                    joint.parent_link,
                    joint.child_link,
                    transform(joint.origin_xyz, joint.origin_rpy),
                    np.array(joint.axis_xyz),
                    joint.joint_type,
                    columns[leader.name] if joint.is_moving else None,
                    multiplier,
                    offset,
                    ends[0],
                    ends[1],
                )
            )
        return KinematicTree(base, tree)

    def placements(self, configurations: Array) -> dict[str, Array]:
        """Returns per link its pose in the base, (N, 4, 4), for N configurations."""
        count = len(configurations)
        found: dict[str, Array] = {self.base: np.broadcast_to(np.eye(4), (count, 4, 4))}
        for joint in self.joints:
            parent = found[joint.parent]
            if joint.column is None:
                found[joint.child] = parent @ joint.origin
                continue
            value = joint.multiplier * configurations[:, joint.column] + joint.offset
            found[joint.child] = parent @ (joint.origin @ joint_motion(joint, value))
        return found

    def samples(self, count: int, seed: int) -> Array:
        """Returns configurations drawn evenly between the position limits."""
        draws = np.random.default_rng(seed).random((count, self.column_count))
        return self.lower + draws * (self.upper - self.lower)

    def chain(self, link: str) -> list[TreeJoint]:
        """Returns the joints from the base down to a link."""
        joints: list[TreeJoint] = []
        while link != self.base:
            joint = self.above[link]
            joints.append(joint)
            link = joint.parent
        return joints[::-1]

    def between(self, link_a: str, link_b: str) -> tuple[list[TreeJoint], list[TreeJoint]]:
        """Returns the joints from the lowest common link down to each of two links."""
        down_a, down_b = self.chain(link_a), self.chain(link_b)
        shared = 0
        while shared < min(len(down_a), len(down_b)) and down_a[shared] is down_b[shared]:
            shared += 1
        return down_a[shared:], down_b[shared:]


def joint_motion(joint: TreeJoint, value: Array) -> Array:
    """Returns (N, 4, 4): what N joint positions add to the joint's origin."""
    motion = np.broadcast_to(np.eye(4), (len(value), 4, 4)).copy()
    if joint.joint_type == "prismatic":
        motion[:, :3, 3] = value[:, None] * joint.axis
    else:
        motion[:, :3, :3] = rotations_about(joint.axis, value)
    return motion
