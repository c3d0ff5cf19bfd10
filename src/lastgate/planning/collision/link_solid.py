# SPDX-License-Identifier: Apache-2.0
"""The solid that a link's convex hulls make together, as the choice of spheres needs it."""

import math

import numpy as np

from lastgate import _core
from lastgate.contracts.arrays import Float64
from lastgate.planning import _fitting

# Places from which the search for the centre of a sphere starts, per link; it moves on from the best of them.
_CENTRES = 400
# Points of the surface by which depth is told, per link, and at least of every hull.
_SURFACE_POINTS = 1600
_SURFACE_POINTS_OF_HULL = 40
# By how much a point of a hull's surface is moved out, to see whether it lies in another hull.
_OUTSIDE_M = 1.0e-4
# Planes of faces stand for others that are parallel to a millionth; a link is smaller than this many metres.
_PLANE_SLACK_M = 2.0e-6


class LinkSolid:
    """The union of hulls, each the hull of vertices grown by a radius.

    Points are drawn, always the same, to choose centres well; no proof rests on them.

    Attributes:
        bodies: Per hull (K, 4): its vertices, and by how much they are grown.
        planes: (P, 4): the faces of all hulls; those of one end where `hull_ends` says.
        surface: (S, 3): points of the surface.
        centres: (C, 4): points inside, and how deep they lie.
    """

    def __init__(self, vertices: list[Float64], radii_m: list[float]) -> None:
        self.bodies = [
            np.column_stack([found, np.full(len(found), radius_m)])
            for found, radius_m in zip(vertices, radii_m, strict=True)
        ]
        planes = [_core.hull_planes(found) if len(found) > 3 else np.empty((0, 4)) for found in vertices]
        self.planes = np.concatenate(planes)
        self.hull_ends = np.cumsum([len(found) for found in planes], dtype=np.int64)
        rng = np.random.default_rng(0)
        self.surface = self._surface(vertices, planes, rng)
        per_hull = max(4, _CENTRES // (2 * len(vertices)))
        inner = [rng.dirichlet(np.ones(len(found)), per_hull) @ found for found in vertices]
        every = np.concatenate(vertices)
        inner.append(rng.uniform(every.min(axis=0), every.max(axis=0), (10 * _CENTRES, 3)))
        points = np.concatenate(inner)
        depth = self._depths(points)
        # Flat hulls hold nothing, but a sphere on them covers them too.
        own = np.arange(len(points)) < per_hull * len(vertices)
        kept = own | (depth > 0.0)
        kept &= np.cumsum(kept) <= per_hull * len(vertices) + _CENTRES
        self.centres = np.column_stack([points[kept], np.maximum(depth[kept], 0.0)])

    def _surface(self, vertices: list[Float64], planes: list[Float64], rng: np.random.Generator) -> Float64:
        sizes = np.array([float(np.ptp(found, axis=0).sum()) ** 2 for found in vertices])
        counts = np.maximum(_SURFACE_POINTS_OF_HULL, _SURFACE_POINTS * sizes / max(float(sizes.sum()), 1e-12))
        found_points = [np.empty((0, 3))]
        for found, faces, count in zip(vertices, planes, counts.astype(int).tolist(), strict=True):
            if not len(faces):
                continue
            # Where rays from inside leave the hull.
            start = rng.dirichlet(np.ones(len(found)), count) @ found
            way = rng.normal(size=(count, 3))
            way /= np.linalg.norm(way, axis=1, keepdims=True)
            towards = way @ faces[:, :3].T
            slack = faces[:, 3] - start @ faces[:, :3].T
            reach = np.where(towards > 1e-9, slack / np.maximum(towards, 1e-9), np.inf).min(axis=1)
            met = np.isfinite(reach)
            found_points.append(start[met] + way[met] * (reach[met, np.newaxis] + _OUTSIDE_M))
        points = np.concatenate(found_points)
        inside = _fitting.depths(points, self.planes, self.hull_ends, np.empty((0, 3))) > 0.0
        return np.ascontiguousarray(points[~inside])

    def _depths(self, points: Float64) -> Float64:
        return _fitting.depths(np.ascontiguousarray(points), self.planes, self.hull_ends, self.surface)

    def centres_in(self, bodies: list[Float64]) -> Float64:
        """Returns (B, 4): the middle of every body, which lies in it, and how deep it lies."""
        middles = np.array([body[:, :3].mean(axis=0) for body in bodies])
        return np.column_stack([middles, np.maximum(self._depths(middles), 0.0)])

    def overshoot_m(self, centre: Float64, radius_m: float) -> float:
        """Returns a bound on how far any point of a sphere is from the solid."""
        by_depth_m = radius_m - self._depth_in_one_hull_m(centre)
        return max(min(by_depth_m, self._by_rays_m(centre, radius_m)), _PLANE_SLACK_M)

    def _by_rays_m(self, centre: Float64, radius_m: float) -> float:
        if not len(self.planes):
            return math.inf
        inner = self.planes - [0.0, 0.0, 0.0, _PLANE_SLACK_M]
        least_grown_m = min(float(body[0, 3]) for body in self.bodies)
        bound_m = _fitting.overshoot_bound(centre, radius_m, inner, self.hull_ends)
        return bound_m - least_grown_m

    def _depth_in_one_hull_m(self, centre: Float64) -> float:
        """Returns how deep a point lies in some hull, negative outside of all.

        On the way from there to another point, the stretch inside that hull is at least as long.
        """
        best_m = -math.inf
        start = 0
        for body, end in zip(self.bodies, self.hull_ends.tolist(), strict=True):
            faces = self.planes[start:end]
            start = end
            slack_m = float((faces[:, 3] - faces[:, :3] @ centre).min()) if len(faces) else -math.inf
            if slack_m < -_PLANE_SLACK_M:
                slack_m = -float(np.sqrt(((body[:, :3] - centre) ** 2).sum(axis=1).min()))
            best_m = max(best_m, slack_m - _PLANE_SLACK_M + float(body[0, 3]))
        return best_m
