# SPDX-License-Identifier: Apache-2.0
"""How near a robot's links come to each other and to solids, by Coal on their convex hulls; depths are negative."""

from typing import Any

import coal
import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

import lastgate as lg

Array = NDArray[np.float64]
# Pairs whose bounding spheres are farther apart than this are not measured.
NEAR_M = 0.02


class CoalRobot:
    """The hulls of every link that has some, placed by the gate's own forward kinematics."""

    def __init__(self, gate: lg.Gate, world: lg.World | None = None) -> None:
        self._gate = gate
        self._parts: dict[str, list[tuple[Any, float, Array, float]]] = {}
        for hull in gate.robot.loaded_hulls:
            points = np.array(hull.vertices_m)
            centre = points.mean(axis=0)
            reach = float(np.linalg.norm(points - centre, axis=1).max()) + hull.radius_m
            part = (_convex(points), hull.radius_m, centre, reach)
            self._parts.setdefault(hull.link_name, []).append(part)
        self._solids = [] if world is None else list(world.primitives)

    def distances(self, configuration: Array) -> dict[tuple[str, str], float]:
        """Returns the signed distance of every pair that is near, by the names of links and solids."""
        poses = self._gate.link_poses(configuration)
        found: dict[tuple[str, str], float] = {}
        for first, second in self._gate.checked_pairs:
            for a in self._parts.get(first, []):
                for b in self._parts.get(second, []):
                    _keep(found, (first, second), _distance(a, poses[first], b, poses[second]))
        for solid in self._solids:
            shape, pose = (
                coal.Sphere(solid.shape.radius_m),
                np.c_[Rotation.from_quat(solid.pose.quat_xyzw).as_matrix(), solid.pose.xyz],
            )
            solid_part = (shape, 0.0, np.zeros(3), solid.shape.radius_m)
            for link, parts in self._parts.items():
                for part in parts:
                    _keep(found, (link, solid.object_id), _distance(part, poses[link], solid_part, pose))
        return found


def _keep(found: dict[tuple[str, str], float], names: tuple[str, str], distance_m: float | None) -> None:
    if distance_m is not None:
        found[names] = min(found.get(names, np.inf), distance_m)


def _distance(a: Any, pose_a: Array, b: Any, pose_b: Array) -> float | None:
    centre_a = pose_a[:, :3] @ a[2] + pose_a[:, 3]
    centre_b = pose_b[:, :3] @ b[2] + pose_b[:, 3]
    if np.linalg.norm(centre_a - centre_b) > a[3] + b[3] + NEAR_M:
        return None
    request, result = coal.DistanceRequest(), coal.DistanceResult()
    return coal.distance(a[0], _transform(pose_a), b[0], _transform(pose_b), request, result) - a[1] - b[1]


def _transform(pose: Array) -> Any:
    return coal.Transform3s(np.ascontiguousarray(pose[:, :3]), np.ascontiguousarray(pose[:, 3]))


def _convex(points: Array) -> Any:
    if len(points) == 1:
        return coal.Sphere(0.0)
    vertices = coal.StdVec_Vec3s()
    for point in points:
        vertices.append(point)
    return coal.ConvexBase.convexHull(vertices, False, "Qt")
