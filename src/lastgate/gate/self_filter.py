# SPDX-License-Identifier: Apache-2.0
"""Takes the robot's own body, and what it holds, out of what its sensors see.

A voxel that touches the robot may hide an obstacle too. So a voxel becomes free only if all of it lies in one volume
grown by its padding: the padding is the distance at which the caller gives up seeing anything. A voxel that merely
touches stays as it was. With `padding_to_clear_m` every voxel that the robot reaches into is cleared.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol
from warnings import warn

import numpy as np
from numpy.typing import NDArray

from lastgate.contracts import RobotDescription, RobotFrames, ROSConfigError, ROSPerceptionStale
from lastgate.contracts.action import RobotState
from lastgate.contracts.arrays import Float64
from lastgate.contracts.attached_shape import AttachedShape
from lastgate.contracts.renamed_names import with_old_attributes
from lastgate.gate.gate import Gate
from lastgate.robots.attached_solid import inner_capsules
from lastgate.world.capsule_distance import (
    farthest_vertex_to_segment_m,
    points_to_segment_m,
    voxels_to_segment_m,
)
from lastgate.world.finite_numbers import require_not_negative, require_positive
from lastgate.world.freshness import oldest_stamp_s
from lastgate.world.grid_layout import GridLayout
from lastgate.world.points import Points
from lastgate.world.rigid_motion import motion_of_xyz_rpy, moved
from lastgate.world.voxel_ranges import Indices, reached_voxels
from lastgate.world.voxels import FREE, Voxels

# One and a half frames of a 30 Hz camera. A link at 1 m/s moves 5 cm in it, which the padding has to cover.
SKEW_S_MAX = 0.05


def padding_to_clear_m(resolution_m: float, *, sensor_error_m: float = 0.0) -> float:
    """Returns the padding with which every voxel that holds a point of the robot is cleared.

    Such a voxel touches a volume, or would but for the error of the sensor, and reaches at most its diagonal
    farther.
    """
    edge = require_positive(resolution_m, name="resolution_m")
    return math.sqrt(3) * edge * (1 + 1e-6) + require_not_negative(sensor_error_m, name="sensor_error_m")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FilteredPoints:
    """A cloud without the robot, as old as the older of cloud and joint state.

    Attributes:
        points: What is left.
        removed_by_owner: How many points were taken for each link or attached object; none of them is left out.
    """

    points: Points
    removed_by_owner: dict[str, int]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FilteredVoxels:
    """A grid without the robot, as old as the older of grid and joint state.

    Attributes:
        voxels: The grid; cleared voxels are free.
        cleared_by_owner: How many voxels that were not free lie in the padded volumes of each link or held
            object.
        left_by_owner: How many voxels that are not free touch its unpadded volumes and were left. A check
            will find the robot in contact with each of them: the padding is smaller than
            `padding_to_clear_m`.
    """

    voxels: Voxels
    cleared_by_owner: dict[str, int]
    left_by_owner: dict[str, int]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RobotVolumes:
    """The robot at one configuration, as capsules in its base frame; made by `SelfFilter.at`.

    Attributes:
        owners: The link or attached object of each volume.
        starts_xyz, ends_xyz: The ends of each volume's capsule axis; the same twice for a sphere.
        radii_m: Without padding.
        paddings_m: What each radius is grown by.
        frames: The frames of the robot; data is in its base frame.
        stamp_s: The stamp of the oldest joint.
        skew_s_max: How far the stamps of data and joints may be apart.
    """

    owners: tuple[str, ...]
    starts_xyz: Float64
    ends_xyz: Float64
    radii_m: Float64
    paddings_m: Float64
    frames: RobotFrames
    stamp_s: float
    skew_s_max: float

    def owner_of(self, points: Points) -> list[str | None]:
        """Returns whose each point is: the link or attached object it is deepest in, padded, or None."""
        self._require_frame(points.frame_id, what="the cloud")
        index = self._owner_index(points.xyz)
        return [None if number < 0 else self.owners[number] for number in index.tolist()]

    def without_robot(self, points: Points) -> FilteredPoints:
        """Returns the points that are in no padded volume, its surface included.

        Raises:
            ROSConfigError: The cloud is in another frame.
            ROSPerceptionStale: Cloud and joint state were measured too far apart.
        """
        self._require_frame(points.frame_id, what="the cloud")
        stamp_s = self._combined_stamp_s(points.stamp_s, what="the cloud")
        index = self._owner_index(points.xyz)
        kept = points.keeping(index < 0)
        aged = Points(
            xyz=kept.xyz,
            stamp_s=stamp_s,
            frame_id=points.frame_id,
            dropped_count=points.dropped_count,
            declared_empty=True,
        )
        return FilteredPoints(points=aged, removed_by_owner=self._count(index[index >= 0]))

    def owner_of_voxels(self, layout: GridLayout) -> NDArray[np.int32]:
        """Returns whose each voxel is, (z, y, x): an index into `owners`, or -1 if no volume touches it."""
        self._require_frame(layout.frame_id, what="the grid")
        nearest = np.full(layout.voxel_count, np.inf)
        owner = np.full(layout.voxel_count, -1, dtype=np.int32)
        for number, voxel_indices, gap_m in self._voxels_near(layout, self.radii_m + self.paddings_m):
            closer = (gap_m <= layout.slack_m) & (gap_m < nearest[voxel_indices])
            nearest[voxel_indices[closer]] = gap_m[closer]
            owner[voxel_indices[closer]] = number
        return owner.reshape(layout.shape)

    def clear_voxels(self, voxels: Voxels) -> FilteredVoxels:
        """Returns the grid with those voxels free that lie entirely in one padded volume, unknown ones too.

        Raises:
            ROSConfigError: The grid is in another frame.
            ROSPerceptionStale: Grid and joint state were measured too far apart.
        """
        layout = voxels.layout
        self._require_frame(layout.frame_id, what="the grid")
        stamp_s = self._combined_stamp_s(voxels.stamp_s, what="the grid")
        cleared_for = np.full(layout.voxel_count, -1, dtype=np.int32)
        for number, voxel_indices, _ in self._voxels_near(layout, self.radii_m + self.paddings_m):
            reach_m = farthest_vertex_to_segment_m(
                layout.centres_xyz(voxel_indices),
                half_m=layout.resolution_m / 2,
                start=self.starts_xyz[number],
                end=self.ends_xyz[number],
            )
            inside = reach_m <= self.radii_m[number] + self.paddings_m[number] - layout.slack_m
            cleared_for[voxel_indices[inside & (cleared_for[voxel_indices] < 0)]] = number
        occupancy = voxels.message_occupancy().copy()
        cleared = (cleared_for >= 0) & (occupancy != FREE)
        occupancy[cleared] = FREE
        return FilteredVoxels(
            voxels=Voxels.in_layout(
                layout,
                occupancy.reshape(layout.shape),
                stamp_s=stamp_s,
                unknown=voxels.unknown,
                outside=voxels.outside,
            ),
            cleared_by_owner=self._count(cleared_for[cleared]),
            left_by_owner=self._left(layout, occupancy != FREE),
        )

    def _left(self, layout: GridLayout, is_blocked: NDArray[np.bool_]) -> dict[str, int]:
        owner = np.full(layout.voxel_count, -1, dtype=np.int32)
        for number, voxel_indices, gap_m in self._voxels_near(layout, self.radii_m):
            is_left = (gap_m <= layout.slack_m) & is_blocked[voxel_indices] & (owner[voxel_indices] < 0)
            owner[voxel_indices[is_left]] = number
        return self._count(owner[owner >= 0])

    def _voxels_near(self, layout: GridLayout, radii_m: Float64) -> Iterator[tuple[int, Indices, Float64]]:
        """Yields, per volume, voxels that may touch it, and the gap between them and its surface."""
        grown = radii_m[:, None] + layout.slack_m
        low = np.minimum(self.starts_xyz, self.ends_xyz) - grown
        high = np.maximum(self.starts_xyz, self.ends_xyz) + grown
        for number in range(len(self.owners)):
            one = slice(number, number + 1)
            for _, voxel_indices in reached_voxels(layout, low_xyz=low[one], high_xyz=high[one]):
                distance_m = voxels_to_segment_m(
                    layout.centres_xyz(voxel_indices),
                    half_m=layout.resolution_m / 2,
                    start=self.starts_xyz[number],
                    end=self.ends_xyz[number],
                )
                yield number, voxel_indices, distance_m - radii_m[number]

    def _owner_index(self, xyz: Float64) -> NDArray[np.intp]:
        deepest = np.full(len(xyz), np.inf)
        owner = np.full(len(xyz), -1, dtype=np.intp)
        grown = self.radii_m + self.paddings_m
        low = np.minimum(self.starts_xyz, self.ends_xyz) - grown[:, None]
        high = np.maximum(self.starts_xyz, self.ends_xyz) + grown[:, None]
        for number, (start, end) in enumerate(zip(self.starts_xyz, self.ends_xyz, strict=True)):
            # Only points in the box around a volume can be in it; the box is not cut short by rounding.
            near = np.flatnonzero(((xyz >= low[number] - 1e-9) & (xyz <= high[number] + 1e-9)).all(axis=1))
            gap_m = points_to_segment_m(xyz[near], start=start, end=end) - grown[number]
            closer = (gap_m <= 0.0) & (gap_m < deepest[near])
            deepest[near[closer]] = gap_m[closer]
            owner[near[closer]] = number
        return owner

    def _count(self, numbers: NDArray[np.integer]) -> dict[str, int]:
        counts = np.bincount(numbers, minlength=len(self.owners))
        by_owner = dict.fromkeys(self.owners, 0)
        for owner, count in zip(self.owners, counts.tolist(), strict=True):
            by_owner[owner] += count
        return by_owner

    def _require_frame(self, frame_id: str, *, what: str) -> None:
        if frame_id == self.frames.base or not (frame_id or self.frames.must_be_named):
            return
        if not frame_id:
            raise ROSConfigError(f"{what} {self.frames.problem(frame_id)}")
        raise ROSConfigError(
            f"{what} is in frame `{frame_id}`, the robot is known in its base frame "
            f"`{self.frames.base}`: transform it first"
        )

    def _combined_stamp_s(self, stamp_s: float, *, what: str) -> float:
        apart_s = abs(stamp_s - self.stamp_s)
        if not apart_s <= self.skew_s_max:
            raise ROSPerceptionStale(
                f"{what} and the joint state were measured {apart_s:.4f} s apart, allowed "
                f"{self.skew_s_max:.4f} s: the robot "
                "was somewhere else when it was seen"
            )
        return min(stamp_s, self.stamp_s)


class PlacedLinks(Protocol):
    """What a filter asks of a gate: the robot, what it holds, and where its links are."""

    @property
    def robot(self) -> RobotDescription: ...
    @property
    def frames(self) -> RobotFrames: ...
    @property
    def attached(self) -> tuple[AttachedShape, ...]: ...
    @property
    def link_names(self) -> tuple[str, ...]: ...
    @property
    def joint_names(self) -> tuple[str, ...]: ...
    @property
    def gripper_joint_names(self) -> tuple[str, ...]: ...
    def link_poses(
        self,
        configuration: Sequence[float] | Float64,
        *,
        gripper_positions: Sequence[float] | Float64 | None = None,
    ) -> dict[str, Float64]: ...


@with_old_attributes
class SelfFilter:
    """Knows the volumes of a robot and of what it holds, and places them where the joints say.

    Links without volumes are not filtered: their points stay obstacles.

    Args:
        robot: The gate that checks this robot. A description is taken too, with a `DeprecationWarning`.
        padding_m: What every radius is grown by; see `padding_to_clear_m`.
        link_padding_m: Other paddings for single links or attached objects.
        attached: What the robot holds. Unless given, whatever the gate holds at the moment of `at`.
        skew_s_max: How far the stamps of data and joints may be apart.

    Raises:
        ROSConfigError: A name the robot does not have, a padding below 0, or a robot that cannot be armed.
    """

    def __init__(
        self,
        robot: PlacedLinks | RobotDescription,
        *,
        padding_m: float,
        link_padding_m: Mapping[str, float] | None = None,
        attached: Sequence[AttachedShape] | None = None,
        skew_s_max: float = SKEW_S_MAX,
    ) -> None:
        if isinstance(robot, RobotDescription):
            warn(
                "SelfFilter(description) will go; pass the gate: SelfFilter(Gate(description, step_s=…))",
                DeprecationWarning,
                stacklevel=2,
            )
            robot = Gate(robot, step_s=1.0)
        self._gate = robot
        self._skew_s_max = require_not_negative(skew_s_max, name="skew_s_max")
        self._default_padding_m = require_not_negative(padding_m, name="padding_m")
        self._padding_m = {
            name: require_not_negative(padding, name=f"padding of `{name}`")
            for name, padding in (link_padding_m or {}).items()
        }
        self._attached = None if attached is None else tuple(attached)
        own = [volume.link_name for volume in robot.robot.collision_geometry]
        known = [*own, *(held.object_id for held in self._held())]
        unknown = [name for name in self._padding_m if name not in known]
        if unknown:
            raise ROSConfigError(
                f"link_padding_m names {', '.join(f'`{name}`' for name in unknown)}, which has no volume; "
                f"volumes: {', '.join(dict.fromkeys(known))}"
            )

    def _held(self) -> tuple[AttachedShape, ...]:
        held = self._gate.attached if self._attached is None else self._attached
        self._require_links(held)
        return held

    def at(self, state: RobotState) -> RobotVolumes:
        """Returns the volumes where a measured state puts them.

        Raises:
            ROSConfigError: A joint is missing or not finite. Finger positions are needed where the robot
                has fingers: fingers taken to be somewhere else would clear what is between them.
        """
        gate = self._gate
        wanted = {"positions": gate.joint_names, "gripper_positions": gate.gripper_joint_names}
        for name, joints in wanted.items():
            values = getattr(state, name)
            if values is None and not joints:
                continue
            if values is None or len(values) != len(joints):
                held = "none" if values is None else str(len(values))
                raise ROSConfigError(f"the state has {held} {name}, needs {len(joints)}: {', '.join(joints)}")
            for joint, value in zip(joints, values, strict=True):
                if not math.isfinite(value):
                    raise ROSConfigError(
                        f"the state has {name} {value} for joint `{joint}`, so the robot's place is not known"
                    )
        stamps = [state.stamp_s] if state.stamps_s is None else [state.stamp_s, *state.stamps_s.tolist()]
        fingers = [] if state.gripper_positions is None else state.gripper_positions.tolist()
        poses = gate.link_poses(state.positions, gripper_positions=fingers)
        # Of attached solids the capsules inside them: their edges stay in the data, and nothing else is taken out.
        volumes = [
            (owner, link, radius_m, moved(ends, motion_of_xyz_rpy(origin)))
            for owner, link, shape, origin in (
                *(
                    (one.link_name, one.link_name, one.shape, one.origin_xyz_rpy)
                    for one in gate.robot.collision_geometry
                ),
                *((held.object_id, held.link, held.shape, held.origin_xyz_rpy) for held in self._held()),
            )
            for radius_m, ends in inner_capsules(shape)
        ]
        placed = np.array([moved(ends, poses[link]) for _, link, _, ends in volumes]).reshape(-1, 2, 3)
        return RobotVolumes(
            owners=tuple(owner for owner, *_ in volumes),
            starts_xyz=placed[:, 0],
            ends_xyz=placed[:, 1],
            radii_m=np.array([radius_m for _, _, radius_m, _ in volumes]),
            paddings_m=np.array(
                [self._padding_m.get(owner, self._default_padding_m) for owner, *_ in volumes]
            ),
            frames=gate.frames,
            stamp_s=oldest_stamp_s(stamps),
            skew_s_max=self._skew_s_max,
        )

    def _require_links(self, attached: Sequence[AttachedShape]) -> None:
        links = self._gate.link_names
        for held in attached:
            if held.link not in links:
                raise ROSConfigError(
                    f"`{held.object_id}` is held by link `{held.link}`, which does not exist; links: "
                    f"{', '.join(links)}"
                )
            if held.object_id in links:
                raise ROSConfigError(
                    f"an attached object is called `{held.object_id}`, which is also a link: its points would "
                    "be mixed up"
                )
