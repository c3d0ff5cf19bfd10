# SPDX-License-Identifier: Apache-2.0
"""The frames a world, a zone or a region may be given in: the base frame, and the root of the description."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from lastgate.contracts.robot_files import AssetRefs
from lastgate.contracts.shapes import NO_OFFSET, Pose6D

# What every MJCF calls the frame that all of it stands in.
MJCF_ROOT = "world"

Motion = tuple[tuple[float, float, float, float], ...]


class PlacedRobot(Protocol):
    """What frames are read from: a `RobotDescription`, whose module stands above this one."""

    @property
    def base_frame(self) -> str: ...
    @property
    def assets(self) -> AssetRefs: ...


@dataclass(frozen=True, slots=True)
class RobotFrames:
    """Names the base frame and, where it stands elsewhere, the root frame of the description.

    The gate computes in the base frame. A description whose root stands off the base has two frames that a person may
    mean by no name at all, so there a name is required.

    Attributes:
        base: The base frame.
        root: The root frame; empty where the description knows only one.
        root_in_base_xyz_rpy: Where the root stands in the base frame, as URDF writes an origin.
    """

    base: str
    root: str = ""
    root_in_base_xyz_rpy: tuple[float, float, float, float, float, float] = NO_OFFSET

    @classmethod
    def of(cls, robot: PlacedRobot) -> "RobotFrames":
        """Returns the frames of a robot."""
        urdf, world_in_base = robot.assets.urdf, robot.assets.mjcf_base_to_world_xyz_rpy
        if world_in_base is not None:
            return cls(robot.base_frame, MJCF_ROOT, world_in_base)
        if urdf is None or urdf.root_frame is None or urdf.base_to_root_xyz_rpy is None:
            return cls(robot.base_frame)
        return cls(robot.base_frame, urdf.root_frame, urdf.base_to_root_xyz_rpy)

    @property
    def must_be_named(self) -> bool:
        """True if a frame has to be named, because base and root differ."""
        return bool(self.root) and any(self.root_in_base_xyz_rpy)

    @property
    def is_turned(self) -> bool:
        """True if the axes of the root are turned against those of the base."""
        return any(self.root_in_base_xyz_rpy[3:])

    @property
    def root_in_base(self) -> Motion:
        """The 3 x 4 motion that turns coordinates of the root frame into coordinates of the base frame."""
        x, y, z, *rpy = self.root_in_base_xyz_rpy
        (cr, sr), (cp, sp), (cy, sy) = ((math.cos(angle), math.sin(angle)) for angle in rpy)
        return (
            (cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr, x),
            (sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr, y),
            (-sp, cp * sr, cp * cr, z),
        )

    def is_root(self, frame_id: str) -> bool:
        """Returns whether this is the root frame, and not also the base frame."""
        return bool(self.root) and frame_id == self.root and frame_id != self.base

    def problem(self, frame_id: str) -> str | None:
        """Returns what is wrong with the frame of something, as what follows its name in a sentence, or None."""
        if frame_id == "" and self.must_be_named:
            return f"names no frame, and must name `{self.base}` or `{self.root}`: {self.sentence}"
        if frame_id in ("", self.base) or self.is_root(frame_id):
            return None
        second = f" or `{self.root}`" if self.root else ""
        return f"is in frame `{frame_id}`, and must be in `{self.base}`{second}"

    @property
    def sentence(self) -> str:
        """Pose of the root in the base frame."""
        x, y, z, roll, pitch, yaw = self.root_in_base_xyz_rpy
        turn = f", turned by roll {roll:.4f}, pitch {pitch:.4f}, yaw {yaw:.4f} rad" if self.is_turned else ""
        return f"`{self.root}` stands at {x:.4f}, {y:.4f}, {z:.4f} m in `{self.base}`{turn}"

    def lines(self) -> list[str]:
        """Says where the root of the description stands in the base frame, and what that asks of a world."""
        if not self.root:
            return []
        if not self.must_be_named:
            return [f"root frame `{self.root}`, which stands at the base frame: a world may name either"]
        return [
            f"root frame `{self.root}`: {self.sentence}",
            f"a world must name its frame, `{self.base}` or `{self.root}`; one that names none is rejected",
        ]

    def pose_in_base(self, pose: Pose6D) -> Pose6D:
        """Returns a pose of either frame in the base frame; a frame with a `problem` is the caller's to refuse."""
        if not self.is_root(pose.frame_id):
            return pose
        return moved_pose(pose, self, frame_id=self.base)


def moved_pose(pose: Pose6D, frames: RobotFrames, *, frame_id: str) -> Pose6D:
    """Returns a pose whose numbers are those of the root frame, in the base frame."""
    x, y, z = pose.xyz
    place = [a * x + b * y + c * z + t for a, b, c, t in frames.root_in_base]
    turned = _quaternion_product(_quaternion_of_rpy(frames.root_in_base_xyz_rpy[3:]), pose.quat_xyzw)
    return Pose6D(xyz=(place[0], place[1], place[2]), quat_xyzw=turned, frame_id=frame_id)


def _quaternion_of_rpy(rpy: Sequence[float]) -> tuple[float, float, float, float]:
    (cr, sr), (cp, sp), (cy, sy) = ((math.cos(angle / 2.0), math.sin(angle / 2.0)) for angle in rpy)
    return (
        sr * cp * cy - cr * sp * sy,
        cr * sp * cy + sr * cp * sy,
        cr * cp * sy - sr * sp * cy,
        cr * cp * cy + sr * sp * sy,
    )


def _quaternion_product(first: Sequence[float], second: Sequence[float]) -> tuple[float, float, float, float]:
    """Returns the turn `second` followed by the turn `first`, both x y z w."""
    ax, ay, az, aw = first
    bx, by, bz, bw = second
    product = (
        aw * bx + ax * bw + ay * bz - az * by,
        aw * by - ax * bz + ay * bw + az * bx,
        aw * bz + ax * by - ay * bx + az * bw,
        aw * bw - ax * bx - ay * by - az * bz,
    )
    length = math.hypot(*product)
    x, y, z, w = (component / length for component in product)
    return x, y, z, w
