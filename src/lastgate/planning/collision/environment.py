# SPDX-License-Identifier: Apache-2.0
"""Obstacles around a robot of spheres, asked by planners: touching, and how far."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self, overload

import numpy as np
from numpy.typing import NDArray

from lastgate import _core
from lastgate.contracts import ROSConfigError, WorldCollisionPrimitive
from lastgate.contracts.arrays import Float64
from lastgate.contracts.renamed_names import with_old_attributes
from lastgate.planning.collision.allowed_collision_matrix import AllowedCollisionMatrix
from lastgate.planning.collision.sphere_arrays import EXTENT_M_MAX, require_sphere_sets, require_spheres
from lastgate.robots.kernel_config import shape_size_m
from lastgate.world.finite_numbers import Vector3, require_not_negative, require_positive, require_xyz
from lastgate.world.points import Points
from lastgate.world.voxels import CountsAs, Voxels, require_counts_as

Flags = NDArray[np.bool_]
Bounds = tuple[Vector3, Vector3]

# What the core calls "nothing nearer": farther than any two places it takes.
_NOTHING_M = 1.0e30


@dataclass(frozen=True, slots=True, kw_only=True)
class Nearest:
    """The obstacle nearest to a robot.

    Attributes:
        in_collision: Whether robot and obstacle touch: `distance_m <= 0`.
        distance_m: Signed; never above the true distance. Infinite when there is nothing.
        robot_index: Which of the robot's spheres, or None when there is nothing.
        obstacle: Its id; `sphere_3`, `world_2`, `point_5`, `cell_77` for those without one; `outside` for the
            space around the bounds; None when there is nothing.
        on_robot, on_obstacle: The two points that are that far apart, or None.
        outside_bounds: Whether any of the robot's spheres reaches out of the bounds.
    """

    in_collision: bool
    distance_m: float
    robot_index: int | None
    obstacle: str | None
    on_robot: Vector3 | None
    on_obstacle: Vector3 | None
    outside_bounds: bool


@with_old_attributes
class CollisionEnvironment:
    """A set of obstacles, built once and then only read, from any number of threads.

    Distances are signed, exact to a hundredth of a nanometre and never above the truth; touching counts as contact.
    Inside a solid voxel depth is not measured: the distance is then minus the sphere's radius.

    The bounds say which space the obstacles speak for. Obstacles beyond them are kept and count, and a robot beyond
    them is measured like any other; `outside_bounds` says that it is there. With `outside="occupied"` leaving
    the bounds is itself a contact, and their faces count as obstacles.
    """

    def __init__(self, *, resolution_m: float, bounds: object, outside: CountsAs = "free") -> None:
        self.resolution_m = require_positive(resolution_m, name="resolution_m")
        if self.resolution_m > EXTENT_M_MAX:
            raise ROSConfigError(
                f"resolution_m is {self.resolution_m!r} m, at most {EXTENT_M_MAX:g} m is taken"
            )
        self.bounds = _require_bounds(bounds)
        self.outside: CountsAs = require_counts_as(outside, name="outside")
        self._lower, self._upper = np.array(self.bounds[0]), np.array(self.bounds[1])
        self._native = _core.CollisionEnvironment()
        self._sphere_ids: tuple[str, ...] = ()
        self._primitive_ids: tuple[str, ...] = ()
        self.obstacle_count = 0
        # Kept for `without`; the tables are not changed in place, because other threads may be asking them.
        self._spheres_given: Float64 = np.empty((0, 4))
        self._primitives: tuple[WorldCollisionPrimitive, ...] = ()
        self._others: dict[str, Any] = {}

    @classmethod
    def build(
        cls,
        spheres: Any,
        resolution_m: float,
        bounds: tuple[Sequence[float], Sequence[float]],
        *,
        ids: Sequence[object] | None = None,
        primitives: Sequence[WorldCollisionPrimitive] = (),
        points: Points | Float64 | None = None,
        point_radius_m: float = 0.0,
        voxels: Voxels | None = None,
        outside: CountsAs = "free",
    ) -> Self:
        """Returns the environment of some obstacles.

        Args:
            spheres: float64 (K, 4): x, y, z, radius. May be empty.
            resolution_m: Edge of the finest block that the tables are cut into. It is about speed and memory; no
                answer depends on it.
            bounds: Lower and upper corner of the space that the obstacles speak for.
            ids: A name per sphere; several may share one.
            primitives: Spheres, capsules, boxes and half-spaces, exact.
            points: A cloud, each point a sphere of `point_radius_m`.
            voxels: A grid; what is unknown or outside of it counts as it declares.
            outside: What leaving the bounds counts as; `free` leaves it to the caller, who reads `outside_bounds`.

        Raises:
            ROSConfigError: Numbers that are not finite, bounds the wrong way round, a resolution of zero, arrays of
                another shape or dtype.
        """
        env = cls(resolution_m=resolution_m, bounds=bounds, outside=outside)
        given = require_spheres(spheres, name="spheres")
        env._spheres_given, env._primitives = given, tuple(primitives)
        # Copied like the spheres: `without` builds again, from what was given and not from what became of it.
        cloud = points if points is None or isinstance(points, Points) else Points(xyz=points, stamp_s=0.0)
        env._others = {"points": cloud, "point_radius_m": point_radius_m, "voxels": voxels}
        env._sphere_ids = _require_ids(ids, len(given))
        try:
            if len(given):
                env._native.add_spheres(given, env.resolution_m)
            for primitive in primitives:
                env._add_primitive(primitive)
            if cloud is not None:
                env._add_points(cloud, point_radius_m)
            if voxels is not None:
                env._add_voxels(voxels)
        except ValueError as error:
            raise ROSConfigError(f"the obstacles cannot be used: {error}") from None
        env.obstacle_count += len(given)
        return env

    @classmethod
    def empty(cls, resolution_m: float, bounds: tuple[Sequence[float], Sequence[float]]) -> Self:
        """Returns the environment without obstacles."""
        return cls.build([], resolution_m, bounds)

    def _add_primitive(self, primitive: object) -> None:
        index = len(self._primitive_ids)
        if not isinstance(primitive, WorldCollisionPrimitive):
            raise ROSConfigError(
                f"primitives[{index}] is a {type(primitive).__name__}, expected a WorldCollisionPrimitive"
            )
        pose = np.array([*primitive.pose.xyz, *primitive.pose.quat_xyzw])
        kind, size = (
            _core.PrimitiveKind[primitive.shape.shape],
            np.array(shape_size_m(primitive.shape), dtype=np.float64),
        )
        self._native.add_primitive(kind, size, pose)
        self._primitive_ids += (primitive.object_id or f"world_{index}",)
        self.obstacle_count += 1

    def _add_points(self, cloud: Points, radius_m: float) -> None:
        radius_m = require_not_negative(radius_m, name="point_radius_m")
        if len(cloud):
            self._native.add_points(cloud.xyz, radius_m)
        self.obstacle_count += len(cloud)

    def _add_voxels(self, voxels: object) -> None:
        if not isinstance(voxels, Voxels):
            raise ROSConfigError(f"voxels is a {type(voxels).__name__}, expected Voxels")
        field = _core.ObstacleField.from_voxels(
            voxels.occupancy,
            origin=voxels.origin_xyz,
            resolution_m=voxels.resolution_m,
            unknown_is_free=voxels.unknown == "free",
            outside_is_free=voxels.outside == "free",
        )
        self._native.add_voxels(field)
        self.obstacle_count += field.obstacle_count

    def without(self, *ids: str) -> Self:
        """Returns the environment without the spheres and primitives of these ids; all that share an id go together.

        Raises:
            ROSConfigError: No sphere or primitive has one of the ids.
        """
        known = {*self._sphere_ids, *self._primitive_ids}
        for name in ids:
            if name not in known:
                raise ROSConfigError(
                    f"no obstacle is called {name!r}: there are {', '.join(sorted(known)[:8]) or 'none'}"
                )
        kept = [index for index, name in enumerate(self._sphere_ids) if name not in ids]
        return type(self).build(
            np.ascontiguousarray(self._spheres_given[kept]),
            self.resolution_m,
            self.bounds,
            ids=[self._sphere_ids[index] for index in kept],
            primitives=[
                primitive
                for primitive, name in zip(self._primitives, self._primitive_ids, strict=True)
                if name not in ids
            ],
            outside=self.outside,
            **self._others,
        )

    def for_link(self, link_name: str, allowed: AllowedCollisionMatrix) -> Self:
        """Returns the environment as one link has to see it: without the obstacles that it may touch."""
        known = {*self._sphere_ids, *self._primitive_ids}
        touched = sorted(allowed.touched_by(link_name) & known)
        return self.without(*touched) if touched else self

    @property
    def ids(self) -> tuple[str, ...]:
        """Every id of a sphere or primitive, once, in alphabetical order."""
        return tuple(sorted({*self._sphere_ids, *self._primitive_ids}))

    def alone(self) -> Self:
        """Returns its spheres and primitives by themselves: no cloud, no grid, and bounds that are open."""
        return type(self).build(
            self._spheres_given,
            self.resolution_m,
            self.bounds,
            ids=self._sphere_ids,
            primitives=self._primitives,
        )

    @property
    def native(self) -> _core.CollisionEnvironment:
        """Tables of the core; the bounds are not in them."""
        return self._native

    @property
    def primitives(self) -> tuple[WorldCollisionPrimitive, ...]:
        """Obstacles that were given as shapes."""
        return self._primitives

    @property
    def spheres(self) -> Float64:
        """Array (K, 4) of the spheres and, as spheres, the points."""
        cloud: Points | None = self._others.get("points")
        if cloud is None:
            return self._spheres_given
        radius = np.full((len(cloud), 1), self._others["point_radius_m"])
        return np.ascontiguousarray(np.concatenate([self._spheres_given, np.hstack([cloud.xyz, radius])]))

    @property
    def voxels(self) -> Voxels | None:
        """The grid, or None."""
        return self._others.get("voxels")

    @property
    def has_voxels(self) -> bool:
        """True if there is a grid."""
        return self.voxels is not None

    @property
    def memory_bytes(self) -> int:
        """Memory of the tables in bytes; it follows the obstacles, not the bounds."""
        return self._native.memory_bytes

    def is_outside(self, robot_spheres: Float64) -> Flags:
        """Returns, per sphere of the last axis but one, whether it reaches out of the bounds."""
        spheres, _ = self._spheres(robot_spheres)
        return (
            self.inside_m(spheres) < 0.0 if np.ndim(robot_spheres) == 3 else (self.inside_m(spheres) < 0.0)[0]
        )

    def inside_m(self, sets: Float64) -> Float64:
        """Returns how far each sphere is from leaving the bounds; negative when it does."""
        xyz, radius = sets[..., :3], sets[..., 3]
        gaps: Float64 = (
            np.minimum(xyz - self._lower, self._upper - xyz).min(axis=-1, initial=math.inf) - radius
        )
        return gaps

    @staticmethod
    def _spheres(robot_spheres: object) -> tuple[Float64, bool]:
        """Returns (N, M, 4) and whether there was only one set."""
        if isinstance(robot_spheres, np.ndarray) and robot_spheres.ndim == 3:
            return require_sphere_sets(robot_spheres, name="robot_spheres"), False
        return require_spheres(robot_spheres, name="robot_spheres")[np.newaxis], True

    @overload
    def check_collision(self, robot_spheres: Float64, margin_m: float = 0.0) -> Any: ...
    @overload
    def check_collision(self, robot_spheres: Sequence[Sequence[float]], margin_m: float = 0.0) -> bool: ...
    def check_collision(self, robot_spheres: Any, margin_m: float = 0.0) -> Any:
        """Says whether any of the robot's spheres comes as near as `margin_m` to an obstacle; touching counts.

        Args:
            robot_spheres: float64 (M, 4) for one answer, or (N, M, 4) for N answers.
        """
        sets, single = self._spheres(robot_spheres)
        margin = require_not_negative(margin_m, name="margin_m")
        found = np.empty(len(sets), dtype=np.bool_)
        self._native.any_within(sets, margin, found)
        if self.outside == "occupied":
            found |= (self.inside_m(sets) <= margin).any(axis=-1)
        return bool(found[0]) if single else found

    @overload
    def min_distance(self, robot_spheres: Float64) -> Any: ...
    @overload
    def min_distance(self, robot_spheres: Sequence[Sequence[float]]) -> float: ...
    def min_distance(self, robot_spheres: Any) -> Any:
        """Returns the signed distance of the robot from its nearest obstacle; infinite when there is none.

        Args:
            robot_spheres: float64 (M, 4) for one answer, or (N, M, 4) for N answers.
        """
        sets, single = self._spheres(robot_spheres)
        found = self._distances(sets)
        return float(found[0]) if single else found

    def distances(self, robot_spheres: Float64) -> Float64:
        """Returns the signed distance of every sphere (M, 4) by itself."""
        return self._distances(require_spheres(robot_spheres, name="robot_spheres")[:, np.newaxis])

    def _distances(self, sets: Float64) -> Float64:
        found = np.empty(len(sets))
        self._native.min_distances(np.ascontiguousarray(sets), _NOTHING_M, found)
        found[found == _NOTHING_M] = math.inf
        if self.outside == "occupied" and sets.shape[1]:
            found = np.minimum(found, self.inside_m(sets).min(axis=-1))
        return found

    def nearest(self, robot_spheres: Any) -> Nearest:
        """Returns what is nearest to the robot (M, 4), where, and whether the robot is outside of the bounds."""
        spheres = require_spheres(robot_spheres, name="robot_spheres")
        inside_m = self.inside_m(spheres)
        outside_bounds = bool((inside_m < 0.0).any())
        distance_m, sphere, source, index, on_robot, on_obstacle = self._native.nearest(spheres, _NOTHING_M)
        if self.outside == "occupied" and len(spheres) and float(inside_m.min()) < distance_m:
            wall = int(inside_m.argmin())
            gap_m = float(inside_m[wall])
            return Nearest(
                in_collision=gap_m <= 0.0,
                distance_m=gap_m,
                robot_index=wall,
                obstacle="outside",
                on_robot=None,
                on_obstacle=None,
                outside_bounds=outside_bounds,
            )
        if source is _core.ObstacleSource.nothing:
            return Nearest(
                in_collision=False,
                distance_m=math.inf,
                robot_index=None,
                obstacle=None,
                on_robot=None,
                on_obstacle=None,
                outside_bounds=outside_bounds,
            )
        return Nearest(
            in_collision=distance_m <= 0.0,
            distance_m=distance_m,
            robot_index=sphere,
            obstacle=self.name_of(source, index),
            on_robot=on_robot,
            on_obstacle=on_obstacle,
            outside_bounds=outside_bounds,
        )

    def name_of(self, source: _core.ObstacleSource, index: int) -> str:
        """Returns the id of an obstacle as the core numbers it."""
        if source is _core.ObstacleSource.sphere:
            return self._sphere_ids[index]
        if source is _core.ObstacleSource.primitive:
            return self._primitive_ids[index]
        if source is _core.ObstacleSource.point:
            return f"point_{index}"
        return f"cell_{index}" if index != _core.NONE else "cell"


def _require_bounds(bounds: object) -> Bounds:
    if not isinstance(bounds, Sequence | np.ndarray) or isinstance(bounds, str | bytes) or len(bounds) != 2:
        raise ROSConfigError(f"bounds must be two corners, (lower_xyz, upper_xyz), got {bounds!r}")
    lower = require_xyz(_as_tuple(bounds[0]), name="bounds[0]")
    upper = require_xyz(_as_tuple(bounds[1]), name="bounds[1]")
    for axis, low, high in zip("xyz", lower, upper, strict=True):
        if not low < high:
            raise ROSConfigError(
                f"bounds are empty along {axis}: from {low!r} m to {high!r} m; the lower corner comes first"
            )
    return lower, upper


def _as_tuple(vertex: object) -> object:
    return tuple(vertex) if isinstance(vertex, list) else vertex


def _require_ids(ids: Sequence[object] | None, count: int) -> tuple[str, ...]:
    if ids is None:
        return tuple(f"sphere_{index}" for index in range(count))
    if len(ids) != count:
        raise ROSConfigError(f"there are {len(ids)} ids for {count} spheres: give one per sphere")
    return tuple(str(name) for name in ids)
