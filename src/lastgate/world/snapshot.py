# SPDX-License-Identifier: Apache-2.0
"""A world snapshot: built once, outside the control loop, and then read by checks without waiting or copying."""

import copy
import itertools
import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TypeVar

import numpy as np

from lastgate import _core
from lastgate.contracts import Pose6D, RobotFrames, ROSConfigError, WorldCollisionPrimitive, Zone
from lastgate.contracts.arrays import Float64, require_number
from lastgate.contracts.renamed_names import with_old_attributes
from lastgate.contracts.robot_frames import moved_pose
from lastgate.robots.kernel_config import SHAPE_KIND, shape_size_m
from lastgate.world.floor_map import FloorMap
from lastgate.world.grid_layout import require_frame
from lastgate.world.points import Points
from lastgate.world.rigid_motion import composed, moved
from lastgate.world.voxels import Voxels

_Item = TypeVar("_Item")

_snapshot_numbers = itertools.count(1)

# The stamp of a world that was never looked at because it never moves: clocks start here.
_BEFORE_ALL_S = 0.0


def _require_all(values: object, wanted: type[_Item], *, name: str) -> tuple[_Item, ...]:
    """Returns the values as a tuple; a single one outside a list is refused by name."""
    if isinstance(values, wanted) or not isinstance(values, Iterable):
        raise ROSConfigError(f"{name} is a {type(values).__name__}, expected a list of {wanted.__name__}")
    listed = tuple(values)
    for index, item in enumerate(listed):
        if not isinstance(item, wanted):
            raise ROSConfigError(f"{name}[{index}] is a {type(item).__name__}, expected a {wanted.__name__}")
    return listed


@with_old_attributes
class World:
    """The world at one time, in the robot's base frame.

    Args:
        primitives: The obstacles. An empty list says that a source looked and found none; a world that is given
            neither these nor voxels, points or zones says nothing, and every gate calls it unavailable.
        voxels: A grid of free, occupied and unknown voxels; what it does not cover counts as it declares.
        points: A cloud, as `Points` or as an (N, 3) array seen at `stamp_s`.
        floor_map: A 2-D map that the base drives on. A verdict about base motion without one says so.
        zones: Volumes to keep out of, checked and named like obstacles.
        stamp_s: When the source saw it; checks compare it with their `now_s`.
        frame_id: The frame the poses are in: the robot's base frame, or the root frame of its description. Empty
            means the base frame; where the root stands elsewhere, a gate asks for the name. Any other name makes
            the gate call this world unavailable.
        world_id: Shown in verdicts; `world-1`, `world-2`, … when not given.
        static_lasts_s: For what never moves: how long obstacles and zones count after `stamp_s`, instead of the
            gate's `world_age_s_max`; see `World.static`. Voxels, points and the place on a map age as ever.

    Raises:
        ROSConfigError: A primitive is not a `WorldCollisionPrimitive`, or its pose names another frame.
    """

    def __init__(
        self,
        *,
        primitives: Sequence[WorldCollisionPrimitive] | None = None,
        voxels: Voxels | None = None,
        points: Points | Float64 | None = None,
        floor_map: FloorMap | None = None,
        zones: Sequence[Zone] = (),
        stamp_s: float,
        frame_id: str = "",
        world_id: str | None = None,
        static_lasts_s: float | None = None,
    ) -> None:
        if static_lasts_s is not None:
            static_lasts_s = require_number(static_lasts_s, name="static_lasts_s")
            if not static_lasts_s > 0.0:
                raise ROSConfigError(f"static_lasts_s must be positive, got {static_lasts_s!r}")
        self.static_lasts_s = static_lasts_s
        walls = [
            WorldCollisionPrimitive(shape=zone.shape, pose=zone.pose, object_id=zone.name)
            for zone in _require_all(zones, Zone, name="zones")
        ]
        given = (
            () if primitives is None else _require_all(primitives, WorldCollisionPrimitive, name="primitives")
        )
        self.primitives = (*given, *walls)
        self._obstacle_count = len(given)
        self.stamp_s = require_number(stamp_s, name="stamp_s")
        self.frame_id = require_frame(frame_id)
        if world_id is not None and not isinstance(world_id, str):
            raise ROSConfigError(f"world_id must be text, got {world_id!r}")
        self.number = next(_snapshot_numbers)
        self.world_id = f"world-{self.number}" if world_id is None else world_id
        self.voxels = voxels
        try:
            self.points = (
                points
                if points is None or isinstance(points, Points)
                else Points(xyz=points, stamp_s=self.stamp_s)
            )
        except ROSConfigError as error:
            raise ROSConfigError(f"points: {error}") from None
        self.floor_map = floor_map
        if static_lasts_s is not None and self.points is not None and not len(self.points.xyz):
            raise ROSConfigError("a cloud that is declared empty ages, and this world does not: leave it out")
        self._require_one_frame()
        self._kinds = np.array([SHAPE_KIND[p.shape.shape] for p in self.primitives], dtype=np.uint8)
        self._sizes = np.array([shape_size_m(p.shape) for p in self.primitives], dtype=np.float64).reshape(
            -1, 3
        )
        self._poses = np.array(
            [(*p.pose.xyz, *p.pose.quat_xyzw) for p in self.primitives], dtype=np.float64
        ).reshape(-1, 7)
        self.is_filled = (
            primitives is not None
            or self.voxels is not None
            or self.points is not None
            or self.floor_map is not None
            or walls != []
        )
        # Built here, however long it takes: a check that is handed this world only follows a pointer.
        self.voxel_field = self._built_voxels()
        self.point_field = self._built_points()
        self.native = self._build(in_base_frame=True)
        self._moved: dict[RobotFrames, World] = {}

    @classmethod
    def static(
        cls,
        primitives: Sequence[WorldCollisionPrimitive] = (),
        *,
        zones: Sequence[Zone] = (),
        lasts_s: float = math.inf,
        stamp_s: float | None = None,
        voxels: Voxels | None = None,
        points: Points | None = None,
        floor_map: FloorMap | None = None,
        frame_id: str = "",
        world_id: str | None = None,
    ) -> "World":
        """Returns a world whose obstacles and zones never move: a table, a wall, a machine that is bolted down.

        They count for `lasts_s` after `stamp_s`, for ever unless told otherwise, whatever the gate's limit on the
        age of worlds; `Verdict.unchecked` then says `WORLD_AGE`. Voxels, points and the place on a map have stamps
        of their own and age as ever. Nothing that a person can push is static.

        Raises:
            ROSConfigError: `lasts_s` is finite and there is no stamp that it could count from.
        """
        if stamp_s is None and lasts_s != math.inf:
            raise ROSConfigError("lasts_s counts from stamp_s: give both, or neither")
        return cls(
            primitives=primitives,
            zones=zones,
            voxels=voxels,
            points=points,
            floor_map=floor_map,
            stamp_s=_BEFORE_ALL_S if stamp_s is None else stamp_s,
            frame_id=frame_id,
            world_id=world_id,
            static_lasts_s=lasts_s,
        )

    def without(self, object_ids: Collection[str]) -> "World":
        """Returns the same world without some obstacles, at the same stamp: what a hand has taken is no obstacle.

        Raises:
            ROSConfigError: No obstacle has one of these names.
        """
        self._require_known(object_ids)
        return self._with([one for one in self.obstacles if one.object_id not in object_ids], self.stamp_s)

    def with_obstacles(self, obstacles: Sequence[WorldCollisionPrimitive], *, stamp_s: float) -> "World":
        """Returns the same world with more obstacles, as seen at `stamp_s`."""
        return self._with([*self.obstacles, *obstacles], stamp_s)

    def with_poses(self, poses: Mapping[str, Pose6D], *, stamp_s: float) -> "World":
        """Returns the same world with some obstacles elsewhere, as seen at `stamp_s`: what was pushed.

        Raises:
            ROSConfigError: No obstacle has one of these names.
        """
        self._require_known(poses)
        elsewhere = [
            one.model_copy(update={"pose": poses.get(one.object_id or "", one.pose)})
            for one in self.obstacles
        ]
        return self._with(elsewhere, stamp_s)

    def _require_known(self, object_ids: Iterable[str]) -> None:
        known = {one.object_id for one in self.obstacles}
        missing = [name for name in object_ids if name not in known]
        if missing:
            raise ROSConfigError(
                f"world `{self.world_id}` has no obstacle `{missing[0]}`; it has: "
                f"{', '.join(sorted(name for name in known if name)) or 'none with a name'}"
            )

    def _with(self, obstacles: Sequence[WorldCollisionPrimitive], stamp_s: float) -> "World":
        """Returns a world with other obstacles; zones, fields and what never moves stay what they are."""
        zones = [
            Zone(name=zone.object_id or "zone", shape=zone.shape, pose=zone.pose)
            for zone in self.primitives[self._obstacle_count :]
        ]
        return World(
            primitives=obstacles if self.is_filled else None,
            zones=zones,
            voxels=self.voxels,
            points=self.points,
            floor_map=self.floor_map,
            stamp_s=stamp_s,
            frame_id=self.frame_id,
            static_lasts_s=self.static_lasts_s,
        )

    def restamped(self, stamp_s: float) -> "World":
        """Returns the same obstacles and zones as seen again at `stamp_s`, without building anything twice.

        For loops whose simulator or tracker says that nothing moved. A cloud, voxels and a map keep their own stamps.
        """
        again = copy.copy(self)
        again.stamp_s = require_number(stamp_s, name="stamp_s")
        again.number = next(_snapshot_numbers)
        again.native = again._build(in_base_frame=True)
        again.__dict__.pop("native_elsewhere", None)
        again._moved = {}
        return again

    def _require_one_frame(self) -> None:
        frame_id = self.frame_id
        here = f"`{frame_id}`" if frame_id else "the base frame"
        for index, primitive in enumerate(self.primitives):
            if primitive.pose.frame_id not in ("", frame_id):
                raise ROSConfigError(
                    f"primitives[{index}] ({self.object_name(index)}) is in frame `{primitive.pose.frame_id}`, "
                    f"the world is in {here}: pass frame_id=`{primitive.pose.frame_id}` if all of it is there"
                )
        fields = (
            ("voxels", self.voxels, Voxels),
            ("points", self.points, Points),
            ("floor_map", self.floor_map, FloorMap),
        )
        for name, field, wanted in fields:
            if field is None:
                continue
            if not isinstance(field, wanted):
                raise ROSConfigError(f"{name} is a {type(field).__name__}, expected {wanted.__name__}")
            if field.frame_id not in ("", frame_id):
                raise ROSConfigError(f"{name} are in frame `{field.frame_id}`, the world is in {here}")

    @cached_property
    def names(self) -> _core.WorldNames:
        """What verdicts call the parts of this world."""
        first_row, first_column, end_column = 0, 0, 0
        if self.floor_map is not None:
            first_row, _, first_column, end_column = self.floor_map.window()
        return _core.WorldNames(
            world_id=self.world_id,
            frame_id=self.frame_id,
            object_id=[primitive.object_id or "" for primitive in self.primitives],
            obstacle_count=self._obstacle_count,
            floor_first=(first_column, first_row),
            floor_columns=max(end_column - first_column, 0),
        )

    def object_name(self, index: int) -> str:
        """Returns the `object_id` of an obstacle, or `world_<index>` for one that has none."""
        return self.primitives[index].object_id or f"world_{index}"

    @property
    def obstacles(self) -> tuple[WorldCollisionPrimitive, ...]:
        """Obstacles that can be seen; zones are left out."""
        return self.primitives[: self._obstacle_count]

    def indices_of(self, object_ids: Sequence[str]) -> list[int]:
        """Returns which obstacles carry one of these names; zones are none."""
        return [
            index
            for index, primitive in enumerate(self.primitives[: self._obstacle_count])
            if primitive.object_id is not None and primitive.object_id in object_ids
        ]

    @cached_property
    def native_elsewhere(self) -> _core.WorldSnapshot:
        """The same snapshot for a robot whose base frame it is not in; every check calls it unavailable."""
        return self._build(in_base_frame=False)

    def turn_problem(self, frames: RobotFrames) -> str | None:
        """Returns why a world of the root frame cannot be brought into the base frame, or None.

        Voxels lie along the axes; turned ones would have to be cut again, and grow.
        """
        if self.voxels is None or not frames.is_turned:
            return None
        return (
            f"holds voxels in `{frames.root}`, whose axes are turned against `{frames.base}`: "
            f"give the voxels in `{frames.base}`"
        )

    def moved_into_base(self, frames: RobotFrames) -> "World":
        """Returns the same snapshot, its numbers taken as those of the root frame, in the base frame."""
        if frames not in self._moved:
            self._moved[frames] = self._move(frames)
        return self._moved[frames]

    def _move(self, frames: RobotFrames) -> "World":
        motion = np.array(frames.root_in_base)
        base = frames.base
        primitives = [
            primitive.model_copy(update={"pose": moved_pose(primitive.pose, frames, frame_id=base)})
            for primitive in self.primitives
        ]
        points = self.points
        if points is not None:
            points = replace(points, xyz=moved(points.xyz, motion), frame_id=base)
        voxels = self.voxels
        if voxels is not None:
            x, y, z = np.array(voxels.origin_xyz) + motion[:, 3]
            voxels = replace(voxels, origin_xyz=(float(x), float(y), float(z)), frame_id=base)
        floor_map = self.floor_map
        if floor_map is not None:
            placed = composed(motion, floor_map.map_in_base.child_in_parent)
            transform = replace(floor_map.map_in_base, child_in_parent=placed, parent_frame=base)
            floor_map = replace(floor_map, map_in_base=transform)
        world = World(
            primitives=primitives if self.is_filled else None,
            voxels=voxels,
            points=points,
            floor_map=floor_map,
            stamp_s=self.stamp_s,
            frame_id=base,
            world_id=self.world_id,
            static_lasts_s=self.static_lasts_s,
        )
        # Zones stand behind the obstacles, and are none.
        world._obstacle_count = self._obstacle_count
        world.number = self.number
        world.native = world._build(in_base_frame=True)
        return world

    def _built_voxels(self) -> _core.ObstacleField | None:
        if self.voxels is None or max(self.voxels.occupancy.shape) > _core.VOXELS_PER_EDGE_MAX:
            return None
        try:
            return _core.ObstacleField.from_voxels(
                self.voxels.occupancy,
                origin=self.voxels.origin_xyz,
                resolution_m=self.voxels.resolution_m,
                unknown_is_free=self.voxels.unknown == "free",
                outside_is_free=self.voxels.outside == "free",
            )
        except ValueError as error:
            raise ROSConfigError(f"world `{self.world_id}` cannot be used: {error}") from None

    def _built_points(self) -> _core.ObstacleField | None:
        # A cloud declared empty has no table: nothing is there to be asked about.
        if self.points is None or not len(self.points.xyz):
            return None
        try:
            return _core.ObstacleField.from_points(self.points.xyz)
        except ValueError as error:
            raise ROSConfigError(f"world `{self.world_id}` cannot be used: {error}") from None

    @cached_property
    def occupancy_map_field(self) -> _core.ObstacleField | None:
        """Table that the core queries about the occupancy map."""
        if self.floor_map is None:
            return None
        blocked, in_base = self.floor_map.blocked_around_base()
        low_m, high_m = self.floor_map.height_m
        try:
            return _core.ObstacleField.from_floor(
                blocked, in_base, resolution_m=self.floor_map.grid.resolution_m, low_m=low_m, high_m=high_m
            )
        except ValueError as error:
            raise ROSConfigError(f"world `{self.world_id}` cannot be used: {error}") from None

    def to_message(self) -> bytes:
        """Returns the snapshot as the message that a kernel process reads.

        Raises:
            ROSConfigError: The world was not filled, which a message cannot say.
        """
        if not self.is_filled:
            raise ROSConfigError(
                f"world `{self.world_id}` was given no obstacles, voxels, points or zones: pass primitives=[] if "
                "a source looked and found none"
            )
        voxels = self.voxels
        return _core.encode_world_snapshot(
            stamp_s=self.stamp_s,
            frame_id=self.frame_id,
            world_id=self.world_id,
            declared_absent=False,
            kinds=self._kinds,
            sizes_m=self._sizes,
            poses=self._poses,
            object_id=[primitive.object_id or "" for primitive in self.primitives],
            points=None if self.points is None else (self.points.xyz, self.points.stamp_s),
            voxels=None
            if voxels is None
            else (
                voxels.occupancy,
                voxels.origin_xyz,
                voxels.resolution_m,
                voxels.unknown == "free",
                voxels.outside == "free",
                voxels.stamp_s,
            ),
            obstacle_count=self._obstacle_count,
            floor=None if self.floor_map is None else self._floor_message(self.floor_map),
            static_lasts_s=self.static_lasts_s,
        )

    def _floor_message(self, floor_map: FloorMap) -> _core.FloorMapMessage:
        grid = floor_map.grid
        assert grid.stamp_s is not None  # refused by FloorMap
        first_row, end_row, first_column, end_column = floor_map.window()
        _, window_in_base = floor_map.blocked_around_base()
        rows, columns = grid.data.shape
        low_m, high_m = floor_map.height_m
        return _core.FloorMapMessage(
            frame_id=grid.frame_id,
            stamp_s=grid.stamp_s,
            age_s_max=floor_map.age_s_max,
            placed_stamp_s=self._placed_stamp_s(floor_map),
            origin_xy=grid.origin_xy,
            origin_yaw=grid.origin_yaw,
            resolution_m=grid.resolution_m,
            size=(columns, rows),
            window_first=(first_column, first_row),
            window_end=(end_column, end_row),
            window_in_base=np.ascontiguousarray(window_in_base),
            low_m=low_m,
            high_m=high_m,
            blocked_bits=grid.blocked_bits,
        )

    def _placed_stamp_s(self, floor_map: FloorMap) -> float:
        placed_s = floor_map.map_in_base.stamp_s
        return self.stamp_s if placed_s is None else placed_s

    def _build(self, *, in_base_frame: bool) -> _core.WorldSnapshot:
        if not self.is_filled:
            return _core.WorldSnapshot.never_filled()
        # A cloud declared empty has no table that could carry its stamp: then all of the world is as old as it.
        bare = self.points is not None and self.point_field is None
        stamp_s = min(self.stamp_s, self.points.stamp_s) if bare and self.points is not None else self.stamp_s
        voxels, points, floor = self.voxels, self.points, self.floor_map
        return _core.WorldSnapshot(
            self._kinds,
            self._sizes,
            self._poses,
            id=self.number,
            stamp_s=stamp_s,
            in_base_frame=in_base_frame,
            voxels=None if voxels is None or self.voxel_field is None else (self.voxel_field, voxels.stamp_s),
            voxels_overflow=voxels is not None and self.voxel_field is None,
            points=None if points is None or self.point_field is None else (self.point_field, points.stamp_s),
            floor=None
            if floor is None or self.occupancy_map_field is None
            else (self.occupancy_map_field, self._placed_stamp_s(floor), floor.expires_s),
            static_lasts_s=self.static_lasts_s,
        )


class NoWorld:
    """An explicit statement that the world is not observed: the robot is alone in a cage, or something else looks."""

    world_id = "no-world"
    frame_id = ""
    primitives: tuple[WorldCollisionPrimitive, ...] = ()

    def __repr__(self) -> str:
        return "NO_WORLD"

    @cached_property
    def names(self) -> _core.WorldNames:
        """What verdicts call it."""
        return _core.WorldNames(world_id=self.world_id, declared_absent=True)

    def to_message(self) -> bytes:
        """Returns what tells a kernel process the same."""
        nothing = np.empty((0, 3))
        kinds = np.empty(0, dtype=np.uint8)
        return _core.encode_world_snapshot(
            stamp_s=0.0,
            frame_id="",
            world_id=self.world_id,
            declared_absent=True,
            kinds=kinds,
            sizes_m=nothing,
            poses=np.empty((0, 7)),
            object_id=[],
            points=None,
            voxels=None,
            obstacle_count=0,
            floor=None,
        )

    @cached_property
    def native(self) -> _core.WorldSnapshot:
        """Snapshot by which the core knows that the world was left out on purpose."""
        return _core.WorldSnapshot.declared_absent()


NO_WORLD = NoWorld()
