# SPDX-License-Identifier: Apache-2.0
"""A world as the page shows it, from a `World` of this process or from the messages in a kernel's rings."""

import base64
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import ValidationError

from lastgate import _core
from lastgate.contracts import (
    BoxShape,
    CapsuleShape,
    CylinderShape,
    HalfSpaceShape,
    Pose6D,
    ROSConfigError,
    SphereShape,
    WorldCollisionPrimitive,
    WorldShape,
    config_error_from,
)
from lastgate.contracts.arrays import Float64
from lastgate.robots.kernel_config import SHAPE_KIND, shape_size_m
from lastgate.tools.telemetry.map_pictures import cloud_png, grid_png
from lastgate.world import NO_WORLD, FloorMap, NoWorld, OccupancyGridIndex, Points, Voxels, World

# What a browser on a tablet draws without stuttering; more is thinned out evenly, and the page says so.
SHOWN_MAX = 40_000
LABEL_CHARACTERS_MAX = 200
_KIND_WORDS = {number: word for word, number in SHAPE_KIND.items()}
_OCCUPIED_MIN, _UNKNOWN = 1, 255

Facts = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class GridView:
    """A grid of cells, z slowest, as `Voxels` keeps it."""

    occupancy: NDArray[np.uint8]
    origin_xyz: tuple[float, float, float]
    resolution_m: float
    stamp_s: float
    unknown_is_free: bool = False
    outside_is_free: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class FloorView:
    """A 2-D map as the gate reads it: what is not known to be free is blocked.

    Attributes:
        base_cell: Column and row where the robot stands.
    """

    blocked: NDArray[np.bool_]
    resolution_m: float
    frame_id: str
    base_cell: tuple[float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class WorldView:
    """The surroundings of the robot, in its base frame.

    Attributes:
        kinds, sizes_m, poses, labels: One per obstacle; sizes and kinds are numbered as in the core.
        declared_absent: The settings state that the world is not observed.
    """

    stamp_s: float
    frame_id: str = ""
    world_id: str = ""
    declared_absent: bool = False
    kinds: tuple[str, ...] = ()
    sizes_m: Float64
    poses: Float64
    labels: tuple[str, ...] = ()
    points: Float64 | None = None
    points_stamp_s: float = 0.0
    grid: GridView | None = None
    floor: FloorView | None = None

    @classmethod
    def of_world(cls, world: World | NoWorld) -> "WorldView":
        """Returns the view of a world of this process."""
        if isinstance(world, NoWorld):
            return cls(
                stamp_s=0.0,
                world_id=world.world_id,
                declared_absent=True,
                sizes_m=np.empty((0, 3)),
                poses=np.empty((0, 7)),
            )
        voxels = world.voxels
        return cls(
            stamp_s=world.stamp_s,
            frame_id=world.frame_id,
            world_id=world.world_id,
            kinds=tuple(primitive.shape.shape for primitive in world.primitives),
            sizes_m=np.array([shape_size_m(p.shape) for p in world.primitives]).reshape(-1, 3),
            poses=np.array([(*p.pose.xyz, *p.pose.quat_xyzw) for p in world.primitives]).reshape(-1, 7),
            labels=tuple(world.object_name(index) for index in range(len(world.primitives))),
            points=None if world.points is None else world.points.xyz,
            points_stamp_s=0.0 if world.points is None else world.points.stamp_s,
            grid=None
            if voxels is None
            else GridView(
                occupancy=voxels.occupancy,
                origin_xyz=voxels.origin_xyz,
                resolution_m=voxels.resolution_m,
                stamp_s=voxels.stamp_s,
                unknown_is_free=voxels.unknown == "free",
                outside_is_free=voxels.outside == "free",
            ),
            floor=None if world.floor_map is None else _floor_of_map(world.floor_map),
        )

    @classmethod
    def of_message(cls, kind: int, payload: bytes, *, before: "WorldView | None") -> "WorldView | None":
        """Returns the world after one more message; obstacles and cells on the wire come apart and are put together.

        None where the bytes are no such message: the kernel does not take them either.
        """
        try:
            return cls._of_message(kind, payload, before=before)
        except ValueError:  # lengths that do not fit together
            return None

    @classmethod
    def _of_message(cls, kind: int, payload: bytes, *, before: "WorldView | None") -> "WorldView | None":
        if kind == _core.MessageType.world_snapshot:
            return _of_snapshot(_core.decode_world_snapshot(payload), _core.decode_floor_map(payload))
        if kind == _core.MessageType.world_collision:
            return _with_obstacles(before, _core.decode_world_collision(payload))
        if kind == _core.MessageType.occupancy_voxels:
            fields = _core.decode_occupancy_voxels(payload)
            if fields is None:
                return None
            nothing = cls(stamp_s=fields.stamp_s, sizes_m=np.empty((0, 3)), poses=np.empty((0, 7)))
            return replace(before or nothing, grid=_grid(fields), frame_id=fields.frame_id)
        return None

    def to_world(self) -> World | NoWorld:
        """Returns a world that the gate can be asked about: what a picture of a rejection is drawn from.

        Raises:
            ROSConfigError: The numbers are none that a world may have.
        """
        if self.declared_absent:
            return NO_WORLD
        try:
            return self._built()
        except ValidationError as error:
            raise config_error_from(error, source=f"world `{self.world_id}`") from None

    def _built(self) -> World:
        grid = self.grid
        return World(
            primitives=[
                WorldCollisionPrimitive(
                    shape=_shape(kind, size),
                    pose=Pose6D(xyz=tuple(pose[:3]), quat_xyzw=tuple(pose[3:])),
                    object_id=label or None,
                )
                for kind, size, pose, label in zip(
                    self.kinds, self.sizes_m.tolist(), self.poses.tolist(), self.labels, strict=True
                )
            ],
            points=None if self.points is None else Points(xyz=self.points, stamp_s=self.points_stamp_s),
            voxels=None
            if grid is None
            else Voxels(
                occupancy=grid.occupancy,
                origin_xyz=grid.origin_xyz,
                resolution_m=grid.resolution_m,
                stamp_s=grid.stamp_s,
                unknown="free" if grid.unknown_is_free else "occupied",
                outside="free" if grid.outside_is_free else "occupied",
            ),
            stamp_s=self.stamp_s,
            frame_id=self.frame_id,
            world_id=self.world_id,
        )

    def obstacles_json(self) -> list[dict[str, Any]]:
        """Returns the obstacles as the page draws them; one with numbers that cannot be drawn is left to the gate."""
        return [
            {
                "kind": kind,
                "size_m": [round(number, 5) for number in size],
                "xyz": [round(number, 5) for number in pose[:3]],
                "quat_xyzw": [round(number, 6) for number in pose[3:]],
                "label": label[:LABEL_CHARACTERS_MAX],
            }
            for kind, size, pose, label in zip(
                self.kinds, self.sizes_m.tolist(), self.poses.tolist(), self.labels, strict=True
            )
            if kind in SHAPE_KIND and np.isfinite(size).all() and np.isfinite(pose).all()
        ]

    def cloud_json(self) -> dict[str, Any]:
        """Returns points and occupied cells, thinned out to what can be drawn; only cells that can be seen."""
        cloud: dict[str, Any] = {"world_id": self.world_id, "points": None, "cells": None}
        if self.points is not None:
            cloud["points"] = _packed(_finite(self.points))
        if self.grid is not None:
            cloud["cells"] = {**_packed(_visible_cells(self.grid)), "resolution_m": self.grid.resolution_m}
        return cloud

    def cloud_picture(self) -> tuple[bytes, Facts] | None:
        """Returns the card of points and voxels: a picture, and what is said beside it. None where there are none."""
        clouds: list[Float64] = []
        facts: list[tuple[str, str]] = []
        if self.points is not None:
            clouds.append(_finite(self.points))
            facts.append(("points", str(len(self.points))))
        if self.grid is not None:
            clouds.append(_visible_cells(self.grid))
            occupied = (self.grid.occupancy >= _OCCUPIED_MIN) & (self.grid.occupancy != _UNKNOWN)
            facts.append(("cells", str(int(occupied.sum()))))
            facts.append(("unknown", str(int((self.grid.occupancy == _UNKNOWN).sum()))))
        return (cloud_png(np.concatenate(clouds)), tuple(facts)) if clouds else None

    def map_picture(self) -> tuple[bytes, Facts, tuple[float, float]] | None:
        """Returns the card of the map, and where in the picture the robot stands, from its upper left, 0 to 1."""
        floor = self.floor
        if floor is None:
            return None
        grid = OccupancyGridIndex(np.where(floor.blocked, 100, 0), floor.resolution_m, (0.0, 0.0))
        rows, columns = floor.blocked.shape
        facts = (
            ("frame", floor.frame_id),
            ("cells", f"{columns} x {rows}"),
            ("m per cell", f"{floor.resolution_m:g}"),
        )
        column, row = floor.base_cell
        return grid_png(grid), facts, (column / columns, 1.0 - row / rows)


def _finite(xyz: Float64) -> Float64:
    return xyz[np.isfinite(xyz).all(axis=1)]


def _packed(xyz: Float64) -> dict[str, Any]:
    every = max(1, -(-len(xyz) // SHOWN_MAX))
    shown = np.ascontiguousarray(xyz[::every], dtype="<f4")
    return {
        "xyz": base64.b64encode(shown.tobytes()).decode(),
        "shown": len(shown),
        "total": len(xyz),
    }


def _visible_cells(grid: GridView) -> Float64:
    """Returns the centres of occupied cells that have a neighbour which is not."""
    occupied = (grid.occupancy >= _OCCUPIED_MIN) & (grid.occupancy != _UNKNOWN)
    hidden = occupied.copy()
    for axis in range(3):
        for step in (1, -1):
            neighbour = np.roll(occupied, step, axis=axis)
            edge: list[Any] = [slice(None)] * 3
            edge[axis] = 0 if step == 1 else -1
            neighbour[tuple(edge)] = False
            hidden &= neighbour
    xyz = np.argwhere(occupied & ~hidden)[:, ::-1].astype(np.float64)
    return np.array(grid.origin_xyz, dtype=np.float64) + (xyz + 0.5) * grid.resolution_m


def _shape(kind: str, size: list[float]) -> WorldShape:
    match kind:
        case "sphere":
            return SphereShape(radius_m=size[0])
        case "capsule":
            return CapsuleShape(radius_m=size[0], length_m=2 * size[1])
        case "cylinder":
            return CylinderShape(radius_m=size[0], length_m=2 * size[1])
        case "box":
            return BoxShape(size_xyz_m=(2 * size[0], 2 * size[1], 2 * size[2]))
        case "half_space":
            return HalfSpaceShape()
        case _:
            raise ROSConfigError(f"a world of `{kind}` obstacles cannot be used")


def _numbers(raw: bytes, columns: int) -> Float64:
    return np.frombuffer(raw, dtype=np.float64).reshape(-1, columns)


def _cells(occupancy: bytes, size_xyz: Sequence[int]) -> NDArray[np.uint8]:
    x, y, z = size_xyz
    return np.frombuffer(occupancy, dtype=np.uint8).reshape(z, y, x)


def _grid(fields: _core.OccupancyVoxelsMessage) -> GridView:
    return GridView(
        occupancy=_cells(fields.occupancy, fields.size_xyz),
        origin_xyz=fields.origin_xyz,
        resolution_m=fields.resolution_m,
        stamp_s=fields.stamp_s,
    )


def _of_snapshot(
    fields: _core.WorldSnapshotMessage | None, floor: _core.FloorMapMessage | None
) -> WorldView | None:
    if fields is None:
        return None
    if not len(fields.kinds) == len(fields.object_id) == len(fields.poses) // 7:
        return None
    grid = None
    if fields.has_voxels:
        grid = GridView(
            occupancy=_cells(fields.occupancy, fields.size_xyz),
            origin_xyz=fields.origin_xyz,
            resolution_m=fields.resolution_m,
            stamp_s=fields.voxels_stamp_s,
            unknown_is_free=fields.unknown_is_free,
            outside_is_free=fields.outside_is_free,
        )
    return WorldView(
        stamp_s=fields.stamp_s,
        frame_id=fields.frame_id,
        world_id=fields.world_id,
        declared_absent=fields.declared_absent,
        kinds=tuple(_KIND_WORDS.get(kind, "unknown") for kind in fields.kinds),
        sizes_m=np.array(fields.sizes_m, dtype=np.float64).reshape(-1, 3),
        poses=np.array(fields.poses, dtype=np.float64).reshape(-1, 7),
        labels=tuple(fields.object_id),
        points=_numbers(fields.points, 3) if fields.has_points else None,
        points_stamp_s=fields.points_stamp_s,
        grid=grid,
        floor=None if floor is None else _floor(floor),
    )


def _floor(fields: _core.FloorMapMessage) -> FloorView:
    columns, rows = fields.size
    bits = np.frombuffer(fields.blocked_bits, dtype=np.uint8).reshape(rows, -1)
    return FloorView(
        blocked=np.unpackbits(bits, axis=1, count=columns, bitorder="little").astype(bool),
        resolution_m=fields.resolution_m,
        frame_id=fields.frame_id,
        base_cell=_base_cell(_numbers(fields.window_in_base, 4), fields.window_first, fields.resolution_m),
    )


def _floor_of_map(floor_map: FloorMap) -> FloorView:
    first_row, _, first_column, _ = floor_map.window()
    _, window_in_base = floor_map.blocked_around_base()
    resolution_m = floor_map.grid.resolution_m
    return FloorView(
        blocked=floor_map.grid.blocked,
        resolution_m=resolution_m,
        frame_id=floor_map.grid.frame_id,
        base_cell=_base_cell(window_in_base, (first_column, first_row), resolution_m),
    )


def _base_cell(
    window_in_base: Float64, window_first: Sequence[int], resolution_m: float
) -> tuple[float, float]:
    """Returns where the base stands, in columns and rows, from where the base sees the first cell of the window."""
    base_in_window = -window_in_base[:, :3].T @ window_in_base[:, 3]
    return (
        window_first[0] + float(base_in_window[0]) / resolution_m,
        window_first[1] + float(base_in_window[1]) / resolution_m,
    )


def _with_obstacles(before: WorldView | None, fields: _core.WorldCollisionMessage | None) -> WorldView | None:
    if fields is None:
        return None
    radius = _numbers(fields.radius_m, 1)
    half_length = _numbers(fields.half_length_m, 1)
    xyzrpy = _numbers(fields.xyzrpy, 6)
    count = len(fields.object_id)
    if not len(radius) == len(half_length) == len(xyzrpy) == count:
        return None
    return WorldView(
        stamp_s=fields.stamp_s,
        frame_id=fields.frame_id,
        kinds=tuple("capsule" if half > 0.0 else "sphere" for half in half_length[:, 0]),
        sizes_m=np.hstack([radius, half_length, np.zeros((count, 1))]),
        poses=np.hstack([xyzrpy[:, :3], _quaternions(xyzrpy[:, 3:])]),
        labels=tuple(fields.object_id),
        grid=None if before is None else before.grid,
    )


def _quaternions(rpy: Float64) -> Float64:
    """Returns x y z w of rotations about fixed x, then y, then z."""
    (cr, cp, cy), (sr, sp, sy) = np.cos(rpy / 2).T, np.sin(rpy / 2).T
    return np.stack(
        [
            sr * cp * cy - cr * sp * sy,
            cr * sp * cy + sr * cp * sy,
            cr * cp * sy - sr * sp * cy,
            cr * cp * cy + sr * sp * sy,
        ],
        axis=1,
    )
