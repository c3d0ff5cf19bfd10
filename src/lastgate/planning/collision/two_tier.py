# SPDX-License-Identifier: Apache-2.0
"""The ladder spheres, convex hulls, meshes: each rung may clear the pair it checked again, and no other."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lastgate import _core
from lastgate.contracts import RobotDescription, ROSConfigError
from lastgate.contracts.arrays import Float64
from lastgate.contracts.schema import Vector3
from lastgate.gate.coverage import require_coverage
from lastgate.planning.collision.allowed_collision_matrix import AllowedCollisionMatrix
from lastgate.planning.collision.detail_levels import DetailLevel, DetailLevels
from lastgate.planning.collision.environment import CollisionEnvironment
from lastgate.planning.collision.exact_meshes import ExactMeshes
from lastgate.planning.collision.sphere_config import SphereGenConfig
from lastgate.planning.collision.sphere_model import RobotSphereModel
from lastgate.world.finite_numbers import require_not_negative

# What the core calls "nothing nearer": farther than any two places it takes.
_NOTHING_M = 1.0e30


@dataclass(frozen=True, slots=True, kw_only=True)
class PairDistance:
    """The distance of one pair, by the closest query it got.

    Attributes:
        distance_m: Signed, margins not subtracted, never above the truth; zero or below is contact.
        level: What measured it.
        link: A link of the robot.
        other: Another link, or the id of an obstacle.
        on_link, on_other: The two points that are that far apart, in the base frame, by the convex hulls; None
            where only spheres were asked.
        normal: The direction from the link to the other, or None where the points coincide.
    """

    distance_m: float
    level: DetailLevel
    link: str
    other: str
    on_link: Vector3 | None
    on_other: Vector3 | None

    @property
    def normal(self) -> Vector3 | None:
        """The unit vector from the link's point to the other's, turned around where they overlap."""
        if self.on_link is None or self.on_other is None:
            return None
        across = np.subtract(self.on_other, self.on_link)
        length = float(np.linalg.norm(across))
        if not length > 0.0:
            return None
        x, y, z = (across / math.copysign(length, self.distance_m)).tolist()
        return (x, y, z)


@dataclass(frozen=True, slots=True, eq=False)
class CheckedConfigurations:
    """The answer about N configurations.

    Attributes:
        in_collision: bool (N,): some pair is as near as the safety margin, by the finest query it got.
        distance_m: float64 (N,): smallest distance, infinite when there is nothing to hit.
        level: uint8 (N,): which query that was; see `DetailLevel`.
    """

    in_collision: NDArray[np.bool_]
    distance_m: Float64
    level: NDArray[np.uint8]


class TwoTierCollisionChecker:
    """Checks every pair by spheres and, where that leaves a pair unresolved, at that very pair more closely.

    A pair is a link and the obstacles around it, or two links that the matrix does not let touch. Links that no joint
    carries count too: allow them what they stand on.

    Args:
        robot: With volumes for every moving link; convex hulls make the narrow-phase query closer.
        config: The spheres.
        refinement_margin: Pairs whose spheres are nearer than this plus the safety margin get the narrow-phase query; 0
            lets spheres decide.
        safety_margin: What counts as contact: touching at 0.
        environment: The obstacles; none if left out.
        allowed: What may touch, links and objects; `AllowedCollisionMatrix.from_robot(robot)` if left out.
        meshes: Triangles (T, 3, 3) of links, in the frame of the link, for the third query. A link that is not in it
            is decided by its hulls. Needs Coal.
        levels: The ladder, where it is to differ from what the two margins say.
    """

    def __init__(
        self,
        robot: RobotDescription,
        config: SphereGenConfig | None = None,
        refinement_margin: float = 0.05,
        safety_margin: float = 0.02,
        *,
        environment: CollisionEnvironment | None = None,
        allowed: AllowedCollisionMatrix | None = None,
        meshes: Mapping[str, Float64] | None = None,
        levels: DetailLevels | None = None,
    ) -> None:
        refinement_m = require_not_negative(refinement_margin, name="refinement_margin")
        safety_m = require_not_negative(safety_margin, name="safety_margin")
        self.model = RobotSphereModel.from_robot(
            robot, SphereGenConfig.coarse() if config is None else config
        )
        require_coverage(robot)
        self.levels = levels or DetailLevels(
            convex_within_m=refinement_m, mesh_within_m=refinement_m, safety_margin_m=safety_m
        )
        if environment is not None and not isinstance(environment, CollisionEnvironment):
            raise ROSConfigError(
                f"environment is a {type(environment).__name__}, expected a CollisionEnvironment"
            )
        self.environment = environment
        self.allowed = AllowedCollisionMatrix.from_robot(robot) if allowed is None else allowed
        self._meshes = None if meshes is None else ExactMeshes(meshes)
        names = self.model.link_names
        for link in meshes or ():
            if link not in names:
                raise ROSConfigError(f"robot `{robot.name}` has no link `{link}`, of which a mesh was given")
        body = self.model.planned.body_of_link
        covered = {cover.link_name for cover in self.model.covers}
        self.checked_pairs = tuple(
            (a, b)
            for a, b in self.allowed.resolve(names).checked_pairs
            if body[a] != body[b] and names[a] in covered and names[b] in covered
        )
        self._pairs = np.array(self.checked_pairs, dtype=np.uint32).reshape(-1, 2)
        self._groups = self._environments_of_links(covered)

    def _environments_of_links(
        self, covered: set[str]
    ) -> list[tuple[CollisionEnvironment, NDArray[np.uint16]]]:
        """Returns the links by what they have to see of the environment."""
        if self.environment is None:
            return []
        groups: dict[frozenset[str], list[int]] = {}
        for index, name in enumerate(self.model.link_names):
            if name in covered:
                groups.setdefault(self.allowed.touched_by(name), []).append(index)
        shared: dict[int, tuple[CollisionEnvironment, list[int]]] = {}
        for links in groups.values():
            seen = self.environment.for_link(self.model.link_names[links[0]], self.allowed)
            shared.setdefault(id(seen), (seen, []))[1].extend(links)
        return [(seen, np.array(sorted(links), dtype=np.uint16)) for seen, links in shared.values()]

    # ---- Answers ---------------------------------------------------------------------------------

    def check_collision(
        self, configurations: Any, *, gripper_positions: Sequence[float] | Float64 | None = None
    ) -> Any:
        """Says whether a configuration (n_dof,), or each of (N, n_dof), comes as near as the safety margin."""
        found = self.check_batch(configurations, gripper_positions=gripper_positions).in_collision
        return bool(found[0]) if np.ndim(configurations) == 1 else found

    def min_distance(
        self, configurations: Any, *, gripper_positions: Sequence[float] | Float64 | None = None
    ) -> Any:
        """Returns the smallest distance of a configuration (n_dof,), or of each of (N, n_dof)."""
        found = self.check_batch(configurations, gripper_positions=gripper_positions).distance_m
        return float(found[0]) if np.ndim(configurations) == 1 else found

    def check_batch(
        self, configurations: Any, *, gripper_positions: Sequence[float] | Float64 | None = None
    ) -> CheckedConfigurations:
        """Checks (N, n_dof) configurations; the core works without the interpreter's lock."""
        rows, _ = self.model.planned.configurations(configurations)
        everything, uncertainty = self.model.planned.variables(
            rows, self.model.planned.grippers(gripper_positions)
        )
        distance = np.full(len(rows), math.inf)
        level = np.zeros(len(rows), dtype=np.uint8)
        for environment, links in self._groups:
            found = self._by_spheres_around(environment, everything, uncertainty, links)
            levels = self._climb_around(environment, everything, uncertainty, links, found)
            _take_least(distance, level, found, levels)
        if len(self._pairs):
            found = self.model.native.pair_distances(everything, uncertainty, self._pairs, _NOTHING_M)
            levels = self._climb_between(everything, uncertainty, found)
            _take_least(distance, level, found, levels)
        distance[distance >= _NOTHING_M] = math.inf
        return CheckedConfigurations(distance <= self.levels.safety_margin_m, distance, level)

    def distances(
        self,
        configuration: Any,
        *,
        within_m: float = 1.0,
        gripper_positions: Sequence[float] | Float64 | None = None,
    ) -> list[PairDistance]:
        """Returns every pair of one configuration that is nearer than `within_m`, the nearest first, with witnesses.

        Every pair gets the finest query there is.
        """
        within_m = require_not_negative(within_m, name="within_m")
        rows, single = self.model.planned.configurations(configuration, name="configuration")
        if not single:
            raise ROSConfigError("distances are asked of one configuration: pass an array of one dimension")
        everything, uncertainty = self.model.planned.variables(
            rows, self.model.planned.grippers(gripper_positions)
        )
        poses = self._poses(everything)
        found: list[PairDistance] = []
        for environment, links in self._groups:
            wanted = np.array([(0, link) for link in links], dtype=np.uint32)
            answers = self.model.native.convex_link_distances(
                everything, uncertainty, wanted, environment.native, within_m
            )
            for link, answer in zip(links.tolist(), answers, strict=True):
                if answer[7] == 0.0:
                    continue
                level, distance = DetailLevel.CONVEX, float(answer[0])
                if self._mesh_applies(uncertainty, link):
                    level = DetailLevel.MESH
                    distance = _refined_distance(distance, self._mesh_distance(environment, poses[0], link))
                name = environment.name_of(_core.ObstacleSource(int(answer[7])), int(answer[8]))
                found.append(self._pair(answer, distance, level, link, name))
        if len(self._pairs):
            wanted = np.concatenate([np.zeros((len(self._pairs), 1), dtype=np.uint32), self._pairs], axis=1)
            answers = self.model.native.convex_pair_distances(everything, uncertainty, wanted, within_m)
            for (a, b), answer in zip(self.checked_pairs, answers, strict=True):
                if answer[7] == 0.0:
                    continue
                level, distance = DetailLevel.CONVEX, float(answer[0])
                if self._mesh_applies(uncertainty, a, b):
                    level = DetailLevel.MESH
                    distance = _refined_distance(distance, self._mesh_distance_of_pair(poses[0], a, b))
                found.append(self._pair(answer, distance, level, a, self.model.link_names[b]))
        found.extend(self._leaving(everything, uncertainty, within_m))
        return sorted((pair for pair in found if pair.distance_m <= within_m), key=lambda p: p.distance_m)

    def nearest(
        self,
        configuration: Any,
        *,
        within_m: float = 1.0,
        gripper_positions: Sequence[float] | Float64 | None = None,
    ) -> PairDistance | None:
        """Returns the nearest pair within `within_m`, or None."""
        found = self.distances(configuration, within_m=within_m, gripper_positions=gripper_positions)
        return found[0] if found else None

    def _pair(
        self, answer: Float64, distance_m: float, level: DetailLevel, link: int, other: str
    ) -> PairDistance:
        x, y, z, u, v, w = answer[1:7].tolist()
        return PairDistance(
            distance_m=distance_m,
            level=level,
            link=self.model.link_names[link],
            other=other,
            on_link=(x, y, z),
            on_other=(u, v, w),
        )

    def _leaving(self, everything: Float64, uncertainty: Float64, within_m: float) -> list[PairDistance]:
        """Returns the links that are about to leave bounds beyond which everything is solid."""
        if self.environment is None or self.environment.outside != "occupied":
            return []
        spheres = self.model.native.place(everything, uncertainty)
        inside = self.environment.inside_m(spheres)[0]
        found = []
        for index, name in enumerate(self.model.link_names):
            own = inside[self.model.link == index]
            if len(own) and float(own.min()) <= within_m:
                found.append(
                    PairDistance(
                        distance_m=float(own.min()),
                        level=DetailLevel.SPHERES,
                        link=name,
                        other="outside",
                        on_link=None,
                        on_other=None,
                    )
                )
        return found

    # ---- Rungs -----------------------------------------------------------------------------------

    def _by_spheres_around(
        self,
        environment: CollisionEnvironment,
        everything: Float64,
        uncertainty: Float64,
        links: NDArray[np.uint16],
    ) -> Float64:
        return self.model.native.link_distances(
            everything, uncertainty, links, environment.native, _NOTHING_M
        )

    def _climb_around(
        self,
        environment: CollisionEnvironment,
        everything: Float64,
        uncertainty: Float64,
        links: NDArray[np.uint16],
        found: Float64,
    ) -> NDArray[np.uint8]:
        """Queries once more the links that spheres left unresolved; writes the new distances over the old."""
        levels = np.zeros(found.shape, dtype=np.uint8)
        at = self._unresolved(found, self.levels.convex_within_m)
        if len(at):
            wanted = np.stack([at[:, 0], links[at[:, 1]]], axis=1).astype(np.uint32)
            answers = self.model.native.convex_link_distances(
                everything, uncertainty, wanted, environment.native, _NOTHING_M
            )
            found[at[:, 0], at[:, 1]] = answers[:, 0]
            levels[at[:, 0], at[:, 1]] = DetailLevel.CONVEX
        if self._meshes is not None:
            at = self._unresolved(found, self.levels.mesh_within_m)
            poses = self._poses(everything) if len(at) else []
            for row, column in at.tolist():
                link = int(links[column])
                if self._mesh_applies(uncertainty, link):
                    measured = self._mesh_distance(environment, poses[row], link)
                    found[row, column] = _refined_distance(float(found[row, column]), measured)
                    levels[row, column] = DetailLevel.MESH
        if environment.outside == "occupied":
            # The faces of the bounds are told by spheres alone: no later query may clear what leaves them.
            spheres = self.model.native.place(everything, uncertainty)
            inside = environment.inside_m(spheres)
            for column, link in enumerate(links.tolist()):
                own = inside[:, self.model.link == link].min(axis=1)
                nearer = own < found[:, column]
                found[nearer, column] = own[nearer]
                levels[nearer, column] = DetailLevel.SPHERES
        return levels

    def _climb_between(self, everything: Float64, uncertainty: Float64, found: Float64) -> NDArray[np.uint8]:
        levels = np.zeros(found.shape, dtype=np.uint8)
        at = self._unresolved(found, self.levels.convex_within_m)
        if len(at):
            wanted = np.concatenate([at[:, :1], self._pairs[at[:, 1]]], axis=1).astype(np.uint32)
            answers = self.model.native.convex_pair_distances(everything, uncertainty, wanted, _NOTHING_M)
            found[at[:, 0], at[:, 1]] = answers[:, 0]
            levels[at[:, 0], at[:, 1]] = DetailLevel.CONVEX
        if self._meshes is None:
            return levels
        at = self._unresolved(found, self.levels.mesh_within_m)
        poses = self._poses(everything) if len(at) else []
        for row, column in at.tolist():
            a, b = self.checked_pairs[column]
            if self._mesh_applies(uncertainty, a, b):
                measured = self._mesh_distance_of_pair(poses[row], a, b)
                found[row, column] = _refined_distance(float(found[row, column]), measured)
                levels[row, column] = DetailLevel.MESH
        return levels

    def _unresolved(self, found: Float64, within_m: float) -> NDArray[np.int64]:
        if not within_m > 0.0:
            return np.empty((0, 2), dtype=np.int64)
        return np.argwhere(~(found >= within_m + self.levels.safety_margin_m))

    # ---- Meshes ----------------------------------------------------------------------------------

    def _mesh_applies(self, uncertainty: Float64, *links: int) -> bool:
        """Says whether meshes can decide: all of them are there, and the fingers stand somewhere."""
        if self._meshes is None or uncertainty.any():
            return False
        return all(self.model.link_names[link] in self._meshes for link in links)

    def _poses(self, everything: Float64) -> list[Float64]:
        """Returns (links, 3, 4) per configuration."""
        return list(self.model.native.link_frames(everything))

    def _mesh_distance_of_pair(self, poses: Float64, a: int, b: int) -> float:
        assert self._meshes is not None
        names = self.model.link_names
        return self._meshes.between_links(names[a], poses[a], names[b], poses[b])

    def _mesh_distance(self, environment: CollisionEnvironment, poses: Float64, link: int) -> float:
        """Returns the distance of a link's mesh from all obstacles; those that meshes cannot be measured against
        leave it to the hulls."""
        assert self._meshes is not None
        name = self.model.link_names[link]
        if environment.has_voxels:
            return -_NOTHING_M
        least = math.inf
        for sphere in environment.spheres:
            least = min(least, self._meshes.from_sphere(name, poses[link], sphere))
        for primitive in environment.primitives:
            least = min(least, self._meshes.from_primitive(name, poses[link], primitive))
        return least


def _refined_distance(by_hulls_m: float, by_meshes_m: float) -> float:
    """Returns what meshes say; what hulls have certified apart stays so, and where meshes cannot say, the hulls do."""
    if by_hulls_m > 0.0 or by_meshes_m <= -_NOTHING_M:
        return max(by_hulls_m, by_meshes_m)
    return by_meshes_m


def _take_least(
    distance: Float64, level: NDArray[np.uint8], found: Float64, levels: NDArray[np.uint8]
) -> None:
    if not found.shape[1]:
        return
    column = found.argmin(axis=1)
    rows = np.arange(len(found))
    nearer = found[rows, column] < distance
    distance[nearer] = found[rows, column][nearer]
    level[nearer] = levels[rows, column][nearer]
