# SPDX-License-Identifier: Apache-2.0
"""Triangle sets (n, 3, 3): clipping by planes, hull vertices, and polyhedra that contain curved primitives."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components
from scipy.spatial import ConvexHull, QhullError

from lastgate.planning import _fitting

Array = NDArray[np.float64]

# Sides of the prism that stands for a cylinder: 48 sides stand out by 0.21 % of the radius.
PRISM_SIDES = 48
# Below this many points a hull saves nothing.
_HULL_POINTS_MIN = 12


def clip(triangles: Array, normal: Array, offset: float) -> Array:
    """Returns triangles covering exactly the part of each triangle where normal . x <= offset."""
    height = triangles @ normal - offset
    below = height <= 0.0
    count = below.sum(axis=1)
    kept = [triangles[count == 3]]
    for vertices_below in (1, 2):
        chosen = np.flatnonzero(count == vertices_below)
        if chosen.size == 0:
            continue
        # Turn each triangle so that its lone vertex (the only one on its side) comes first.
        lone = below[chosen] if vertices_below == 1 else ~below[chosen]
        first = lone.argmax(axis=1)
        order = (first[:, None] + np.arange(3)) % 3
        vertex = np.take_along_axis(triangles[chosen], order[:, :, None], axis=1)
        level = np.take_along_axis(height[chosen], order, axis=1)
        toward_1 = _crossing(vertex[:, 0], vertex[:, 1], level[:, 0], level[:, 1])
        toward_2 = _crossing(vertex[:, 0], vertex[:, 2], level[:, 0], level[:, 2])
        if vertices_below == 1:
            kept.append(np.stack([vertex[:, 0], toward_1, toward_2], axis=1))
        else:
            kept.append(np.stack([toward_1, vertex[:, 1], vertex[:, 2]], axis=1))
            kept.append(np.stack([toward_1, vertex[:, 2], toward_2], axis=1))
    return np.concatenate(kept)


def _crossing(start: Array, end: Array, level_start: Array, level_end: Array) -> Array:
    fraction = level_start / (level_start - level_end)
    return start + fraction[:, None] * (end - start)


def hull_vertices(points: Array) -> Array:
    """Returns a subset of the points with the same convex hull; all of them where they lie in one plane."""
    if len(points) >= _HULL_POINTS_MIN:
        try:
            # Repeated points cost Qhull less than removing them would cost us.
            return points[np.sort(ConvexHull(points).vertices)]
        except QhullError:
            # Flat or straight sets have no volume: every point is kept, which is slower and equally exact.
            pass
    return np.unique(points, axis=0)


def distinct(points: Array) -> Array:
    """Returns each point once, in the order of their first occurrence."""
    return points[_fitting.distinct(np.ascontiguousarray(points))]


def hull_volume_m3(points: Array) -> float:
    """Returns the volume of the convex hull, 0 for flat sets."""
    try:
        # A vertex is shared by six triangles, and Qhull checks each point for every face it grows.
        return float(ConvexHull(distinct(points)).volume)
    except QhullError:
        return 0.0


def connected_bodies(triangles: Array) -> list[Array]:
    """Returns the triangles in groups that share no vertex, in the order of their first ones."""
    _, vertex = np.unique(triangles.reshape(-1, 3), axis=0, return_inverse=True)
    faces = vertex.reshape(-1, 3)
    edges = (np.r_[faces[:, 0], faces[:, 1]], np.r_[faces[:, 1], faces[:, 2]])
    count = int(vertex.max()) + 1
    joined = coo_matrix((np.ones(len(edges[0]), dtype=np.int8), edges), shape=(count, count))
    body_of_vertex = connected_components(joined, directed=False)[1]
    body = body_of_vertex[faces[:, 0]]
    names, first = np.unique(body, return_index=True)
    return [triangles[body == name] for name in names[np.argsort(first)]]


def hull_area_m2(points: Array) -> float:
    """Returns the area of the convex hull, 0 for flat sets."""
    try:
        return float(ConvexHull(points).area)
    except QhullError:
        return 0.0


def winding_number(point: Array, triangles: Array) -> float:
    """Returns how often a surface goes round a point, either way: near 1 inside, near 0 outside, even if it leaks."""
    return abs(_fitting.winding_number(np.ascontiguousarray(point), np.ascontiguousarray(triangles)))


def box_triangles(size_xyz_m: Array) -> Array:
    """Returns the twelve triangles of a box centred at the origin."""
    return _hull_triangles(
        np.array([[x, y, z] for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)]) * size_xyz_m
    )


def cylinder_triangles(radius_m: float, length_m: float, sides: int = PRISM_SIDES) -> Array:
    """Returns a prism that contains a cylinder on local z: its sides touch the cylinder from outside."""
    outer = radius_m / math.cos(math.pi / sides)
    angle = 2.0 * math.pi * np.arange(sides) / sides
    ring = np.stack([outer * np.cos(angle), outer * np.sin(angle)], axis=1)
    half = 0.5 * length_m
    return _hull_triangles(np.concatenate([np.c_[ring, np.full(sides, z)] for z in (-half, half)]))


def ellipsoid_triangles(semi_axes_m: Array) -> Array:
    """Returns a polyhedron that contains an ellipsoid: a sphere's circumscribed polyhedron, stretched."""
    rings = [
        [math.cos(b) * math.cos(a), math.cos(b) * math.sin(a), math.sin(b)]
        for b in np.linspace(-math.pi / 2, math.pi / 2, 13)
        for a in np.arange(24) * (2.0 * math.pi / 24)
    ]
    hull = ConvexHull(np.unique(np.round(np.array(rings), 12), axis=0))
    # The offset of the nearest face is the radius of the inscribed sphere; dividing makes that sphere unit.
    inscribed = float((-hull.equations[:, 3]).min())
    vertices = hull.points[hull.simplices] / inscribed
    return vertices * semi_axes_m


def _hull_triangles(points: Array) -> Array:
    hull = ConvexHull(points)
    return points[hull.simplices]
