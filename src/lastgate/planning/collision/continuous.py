# SPDX-License-Identifier: Apache-2.0
"""Whether a straight joint motion touches anything, and when first: the sweep of the gate, asked by planners."""

import math
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from lastgate import _core
from lastgate.contracts import AllowedCollisionPair, RobotDescription, ROSConfigError
from lastgate.contracts.arrays import Float64
from lastgate.gate import simd_build
from lastgate.gate.coverage import require_coverage
from lastgate.planning.collision.allowed_collision_matrix import AllowedCollisionMatrix
from lastgate.planning.collision.environment import CollisionEnvironment
from lastgate.planning.collision.planned_robot import PlannedRobot
from lastgate.robots.kernel_config import SHAPE_KIND, shape_size_m
from lastgate.world.finite_numbers import require_not_negative, require_positive
from lastgate.world.voxels import Voxels

# Half the number of obstacles a snapshot holds; above it spheres go into a table, which changes no answer.
_SPHERES_AS_SHAPES_MAX = 512
# Rotations that turn a half-space's z axis to -x, +x, -y, +y, -z and +z.
_ROOT_HALF = math.sqrt(0.5)
_FACES = (
    ((0.0, _ROOT_HALF, 0.0, -_ROOT_HALF), 0, 1),
    ((0.0, _ROOT_HALF, 0.0, _ROOT_HALF), 0, 0),
    ((_ROOT_HALF, 0.0, 0.0, _ROOT_HALF), 1, 1),
    ((-_ROOT_HALF, 0.0, 0.0, _ROOT_HALF), 1, 0),
    ((1.0, 0.0, 0.0, 0.0), 2, 1),
    ((0.0, 0.0, 0.0, 1.0), 2, 0),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class CCDConfig:
    """Options of a continuous check.

    Attributes:
        safety_margin_m: What counts as contact: touching at 0. What comes within 0.1 mm of it may count too.
        step_max: The first samples of a motion are this far apart, by its widest joint. It is about speed: what
            lies between samples is certified or halved until it is.
        check_self_collision: Whether the links are compared with each other.
    """

    safety_margin_m: float = 0.0
    step_max: float = 1.0 / 32.0
    check_self_collision: bool = True

    def __post_init__(self) -> None:
        require_not_negative(self.safety_margin_m, name="safety_margin_m")
        require_positive(self.step_max, name="step_max")
        if not isinstance(self.check_self_collision, bool):
            raise ROSConfigError(
                f"check_self_collision must be True or False, got {self.check_self_collision!r}"
            )

    @classmethod
    def default(cls) -> Self:
        """Returns the config that touching counts for, links among each other too."""
        return cls()


@dataclass(frozen=True, slots=True)
class TrajectoryContact:
    """First contact of a trajectory: `segment` leads from waypoint `segment` to the next, `t` of its way."""

    segment: int
    t: float


class ContinuousCollisionDetector:
    """Finds the first contact of straight joint motions, never later than the true one.

    The robot counts as its volumes and, where they do not decide, its convex hulls. A motion for which None comes
    back touches nothing between its ends either. Threads may share one and then wait for each other: the sweep keeps
    notes of its own. For motions side by side give every thread its own.

    Args:
        robot: With volumes for every moving link.
        config: Margins and samples.
        environment: The obstacles; none if left out.
        allowed: What may touch, links and objects; `AllowedCollisionMatrix.from_robot(robot)` if left out.
    """

    def __init__(
        self,
        robot: RobotDescription,
        config: CCDConfig | None = None,
        *,
        environment: CollisionEnvironment | None = None,
        allowed: AllowedCollisionMatrix | None = None,
    ) -> None:
        self.config = CCDConfig() if config is None else config
        if not isinstance(self.config, CCDConfig):
            raise ROSConfigError(f"config is a {type(config).__name__}, expected a CCDConfig")
        if environment is not None and not isinstance(environment, CollisionEnvironment):
            raise ROSConfigError(
                f"environment is a {type(environment).__name__}, expected a CollisionEnvironment"
            )
        planned = PlannedRobot(robot)
        require_coverage(robot)
        self.allowed = AllowedCollisionMatrix.from_robot(robot) if allowed is None else allowed
        self.environment = environment
        self.robot = robot
        self._planned = planned
        self.joint_names = planned.joint_names
        self._native: list[tuple[_core.Gate, _core.WorldSnapshot]] = []
        self._one_at_a_time = threading.Lock()
        touched_by = self._links_that_may_touch()
        self._arm(frozenset(), None if environment is None else environment.without(*touched_by))
        for links in set(touched_by.values()):
            assert environment is not None
            named = [name for name, excused in touched_by.items() if excused == links]
            others = [name for name in environment.ids if name not in named]
            self._arm(links, environment.without(*others).alone())
        self._stands_in_contact = self._static_links_touch()

    def _links_that_may_touch(self) -> dict[str, frozenset[str]]:
        """Returns per obstacle that some link may touch, those links."""
        found: dict[str, frozenset[str]] = {}
        for name in () if self.environment is None else self.environment.ids:
            links = self.allowed.touched_by(name) & frozenset(self.robot.link_names)
            if links:
                found[name] = links
        return found

    def _arm(self, without_links: frozenset[str], environment: CollisionEnvironment | None) -> None:
        """Adds a robot without some links and the world it moves in. Links are compared with each other once."""
        alone = not self.config.check_self_collision or bool(without_links)
        names = self.robot.link_names
        pairs = (
            [(a, b) for index, a in enumerate(names) for b in names[index + 1 :]]
            if alone
            else [pair for pair in self.allowed.allowed_pairs if set(pair) <= set(names)]
        )
        # The reason is the planner's word; only the gate asks for a better one.
        allowed = tuple(AllowedCollisionPair(link_a=a, link_b=b, reason="adjacent") for a, b in pairs)
        geometry = tuple(
            volume for volume in self.robot.collision_geometry if volume.link_name not in without_links
        )
        changes: dict[str, Any] = {"allowed_collision_pairs": allowed, "collision_geometry": geometry}
        robot = self.robot.model_copy(update=changes)
        if self.robot.convex_pieces is not None and without_links:
            robot._loaded_hulls = tuple(
                hull for hull in self.robot.loaded_hulls if hull.link_name not in without_links
            )
        planned = PlannedRobot(robot, margin_m=self.config.safety_margin_m)
        gate = _core.Gate(planned.config, simd=simd_build())
        self._native.append((gate, _snapshot_of(environment)))

    def _static_links_touch(self) -> bool:
        """Says whether a link that no joint carries stands in contact, before anything moves."""
        from lastgate.planning.collision.two_tier import TwoTierCollisionChecker

        body = self._planned.body_of_link
        static = [name for index, name in enumerate(self.robot.link_names) if body[index] == 0]
        if self.environment is None:
            return False
        volumes = tuple(v for v in self.robot.collision_geometry if v.link_name in static)
        if not volumes:
            return False
        checker = TwoTierCollisionChecker(
            self.robot,
            refinement_margin=1.0,
            safety_margin=self.config.safety_margin_m,
            environment=self.environment,
            allowed=self.allowed,
        )
        middle = self._planned.middle()
        return any(
            pair.link in static and pair.other not in self.robot.link_names
            for pair in checker.distances(middle, within_m=self.config.safety_margin_m)
        )

    def check(
        self,
        q_start: Any,
        q_end: Any,
        *,
        gripper_positions: Sequence[float] | Float64 | None = None,
    ) -> float | None:
        """Returns None when the straight motion touches nothing, or up to which share of it that is certified.

        Args:
            q_start, q_end: float64 (n_dof,), inside the limits.
            gripper_positions: Where the fingers stand; anywhere in their range if left out.
        """
        starts, single = self._planned.configurations(q_start, name="q_start")
        ends, single_end = self._planned.configurations(q_end, name="q_end")
        if not (single and single_end):
            raise ROSConfigError("check checks one motion: use check_many for several")
        found = float(self._first_contacts(starts, ends, gripper_positions)[0])
        return None if found == math.inf else found

    def check_many(
        self, q_starts: Any, q_ends: Any, *, gripper_positions: Sequence[float] | Float64 | None = None
    ) -> Float64:
        """Returns, for (N, n_dof) starts and ends, the certified share of each motion; infinity for all of it."""
        starts, _ = self._planned.configurations(q_starts, name="q_starts")
        ends, _ = self._planned.configurations(q_ends, name="q_ends")
        if starts.shape != ends.shape:
            raise ROSConfigError(f"there are {len(starts)} starts and {len(ends)} ends")
        return self._first_contacts(starts, ends, gripper_positions)

    def check_trajectory(
        self, waypoints: Any, *, gripper_positions: Sequence[float] | Float64 | None = None
    ) -> TrajectoryContact | None:
        """Returns the first contact along (N, n_dof) waypoints, or None; a single one is checked where it stands."""
        rows, _ = self._planned.configurations(waypoints, name="waypoints")
        if not len(rows):
            return None
        starts, ends = (rows, rows) if len(rows) == 1 else (rows[:-1], rows[1:])
        found = self._first_contacts(
            np.ascontiguousarray(starts), np.ascontiguousarray(ends), gripper_positions
        )
        touching = np.flatnonzero(found < math.inf)
        if not len(touching):
            return None
        return TrajectoryContact(int(touching[0]), float(found[touching[0]]))

    def _first_contacts(
        self, starts: Float64, ends: Float64, gripper_positions: Sequence[float] | Float64 | None
    ) -> Float64:
        grippers = self._planned.grippers(gripper_positions)
        best = np.full(len(starts), math.inf)
        if self._stands_in_contact:
            return np.zeros(len(starts))
        with self._one_at_a_time:
            for gate, world in self._native:
                found = np.empty(len(starts))
                gate.check_edges(
                    starts=starts,
                    ends=ends,
                    gripper_positions=grippers,
                    world=world,
                    step_max=self.config.step_max,
                    first_contact=found,
                )
                np.minimum(best, found, out=best)
        return best


def _snapshot_of(environment: CollisionEnvironment | None) -> _core.WorldSnapshot:
    """Returns the obstacles as the sweep reads them."""
    if environment is None:
        return _core.WorldSnapshot.declared_absent()
    spheres = environment.spheres
    as_shapes = spheres[spheres[:, 3] > 0.0] if len(spheres) <= _SPHERES_AS_SHAPES_MAX else spheres[:0]
    in_table = spheres[spheres[:, 3] <= 0.0] if len(spheres) <= _SPHERES_AS_SHAPES_MAX else spheres
    kinds: list[int] = [SHAPE_KIND["sphere"]] * len(as_shapes)
    sizes: list[tuple[float, float, float]] = [(float(sphere[3]), 0.0, 0.0) for sphere in as_shapes]
    poses: list[tuple[float, ...]] = [(*sphere[:3].tolist(), 0.0, 0.0, 0.0, 1.0) for sphere in as_shapes]
    for primitive in environment.primitives:
        kinds.append(SHAPE_KIND[primitive.shape.shape])
        sizes.append(shape_size_m(primitive.shape))
        poses.append((*primitive.pose.xyz, *primitive.pose.quat_xyzw))
    if environment.outside == "occupied":
        for quat, axis, side in _FACES:
            at = [0.0, 0.0, 0.0]
            at[axis] = environment.bounds[side][axis]
            kinds.append(SHAPE_KIND["half_space"])
            sizes.append((0.0, 0.0, 0.0))
            poses.append((*at, *quat))
    if len(kinds) > _core.PRIMITIVES_MAX:
        raise ROSConfigError(f"{len(kinds)} shapes are more than the {_core.PRIMITIVES_MAX} a sweep takes")
    points = None
    if len(in_table):
        points = (
            _core.ObstacleField.from_spheres(np.ascontiguousarray(in_table), environment.resolution_m),
            0.0,
        )
    kind_array: NDArray[np.uint8] = np.array(kinds, dtype=np.uint8)
    world = _core.WorldSnapshot(
        kind_array,
        np.array(sizes, dtype=np.float64).reshape(-1, 3),
        np.array(poses, dtype=np.float64).reshape(-1, 7),
        id=0,
        stamp_s=0.0,
        in_base_frame=True,
        voxels=None if environment.voxels is None else (_voxel_field(environment.voxels), 0.0),
        points=points,
    )
    if not world.usable:
        raise ROSConfigError("the obstacles cannot be used: a shape has no size or is too far away")
    return world


def _voxel_field(voxels: Voxels) -> _core.ObstacleField:
    return _core.ObstacleField.from_voxels(
        voxels.occupancy,
        origin=voxels.origin_xyz,
        resolution_m=voxels.resolution_m,
        unknown_is_free=voxels.unknown == "free",
        outside_is_free=voxels.outside == "free",
    )
