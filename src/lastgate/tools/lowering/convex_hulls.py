# SPDX-License-Identifier: Apache-2.0
"""Few vertices and a radius that contain many points, on the numbers as they are written."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls
from scipy.spatial import ConvexHull, QhullError, cKDTree

from lastgate.contracts.convex_hulls import LinkHull
from lastgate.robots.convex_hulls_file import UNITS_PER_M
from lastgate.tools.lowering.diagnostics import LoweringError
from lastgate.tools.lowering.triangles import hull_vertices

Array = NDArray[np.float64]

# Vertices this near to the farthest outside, as a share of its distance, are taken with it.
_NEARLY_WORST = 0.85
# Points, vertices and weights are below 10 m and summed in a few hundred roundings: 1e-12 m bounds the error.
_ALLOWANCE_M = 1e-12


@dataclass(frozen=True)
class VertexChoice:
    """Bounds on a hull: how many vertices it may keep, and how near the rest must come to one that is left out."""

    vertices_max: int
    left_out_m: float


# The core checks each vertex about ten times per question; the radius makes up for vertices left out.
COMMON_VERTICES = VertexChoice(vertices_max=160, left_out_m=0.0002)


def link_hull(
    link: str, points: Array, *, sphere_radius_m: float = 0.0, choice: VertexChoice = COMMON_VERTICES
) -> LinkHull:
    """Returns a hull that contains every point, or every sphere around one."""
    vertices = hull_vertices(points)
    units = np.unique(np.round(_chosen(vertices, choice) * UNITS_PER_M).astype(np.int64), axis=0)
    written = units / UNITS_PER_M
    needed_m = _farthest_m(vertices, written) + sphere_radius_m + _ALLOWANCE_M
    radius = math.ceil(needed_m * UNITS_PER_M)
    while radius / UNITS_PER_M < needed_m:
        radius += 1
    return LinkHull(link, radius / UNITS_PER_M, tuple((x, y, z) for x, y, z in written.tolist()))


def _farthest_m(points: Array, vertices: Array) -> float:
    """Returns a number that is never below the distance of any point from the hull of some vertices."""
    at_most_m = _at_most_m(points, vertices)
    farthest_m = 0.0
    for index in np.argsort(-at_most_m, kind="stable"):
        if at_most_m[index] <= farthest_m:
            break
        farthest_m = max(farthest_m, distance_to_hull_m(points[index], vertices))
    return farthest_m


def _at_most_m(points: Array, vertices: Array) -> Array:
    """Returns per point a distance from the hull of some vertices that it cannot exceed, quickly.

    That is the distance from the nearest vertex, or from a point of the face it lies farthest beyond.
    """
    nearest_m = cKDTree(vertices).query(points)[0]
    try:
        hull = ConvexHull(vertices)
    except (QhullError, ValueError):
        return nearest_m
    beyond = (points @ hull.equations[:, :3].T + hull.equations[:, 3]).argmax(axis=1)
    origin, *ends = (vertices[hull.simplices[beyond, vertex]] for vertex in range(3))
    along, across, offset = ends[0] - origin, ends[1] - origin, points - origin
    aa, bb, ab, ao, bo = (
        np.einsum("ij,ij->i", first, second)
        for first, second in (
            (along, along), (across, across), (along, across), (along, offset), (across, offset)
        )
    )  # fmt: skip
    area = np.maximum(aa * bb - ab * ab, np.finfo(np.float64).tiny)
    # Where the point's foot is beside the face, the weights are clipped: they still name a point of it.
    first, second = np.maximum((bb * ao - ab * bo) / area, 0.0), np.maximum((aa * bo - ab * ao) / area, 0.0)
    total = np.maximum(first + second, 1.0)
    foot = offset - (first / total)[:, None] * along - (second / total)[:, None] * across
    return np.minimum(nearest_m, np.sqrt(np.einsum("ij,ij->i", foot, foot)))


def distance_to_hull_m(point: Array, vertices: Array) -> float:
    """Returns a number that is never below the distance of a point from the hull of some vertices.

    The weights may be off; any weights that are not negative and sum to one name a point of the hull.
    """
    scale_m = max(float(np.abs(vertices - point).max()), 1e-6)
    # The last row asks for a sum of one; its weight only steers the search.
    rows = np.vstack([(vertices - point).T / scale_m, np.full(len(vertices), 100.0)])
    try:
        weights, _ = nnls(rows, np.array([0.0, 0.0, 0.0, 100.0]), maxiter=100 * len(vertices))
    except RuntimeError as error:
        raise LoweringError(f"a point near {point} could not be placed in its convex hull") from error
    total = float(weights.sum())
    if not total > 0.0:
        return float(np.linalg.norm(vertices - point, axis=1).min())
    return float(np.linalg.norm((weights / total) @ vertices - point))


def _chosen(vertices: Array, choice: VertexChoice) -> Array:
    """Returns vertices whose hull comes close to all of them: always those farthest outside, until none is far."""
    if len(vertices) <= 8:
        return vertices
    chosen = sorted(
        {
            int(index)
            for axis in range(3)
            for index in (vertices[:, axis].argmin(), vertices[:, axis].argmax())
        }
    )
    spread = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], dtype=np.float64)
    chosen = sorted({*chosen, *(int((vertices @ direction).argmax()) for direction in spread)})
    if len(chosen) < 4:
        return _spread_out(vertices, choice.vertices_max)
    while len(chosen) < choice.vertices_max:
        try:
            # Anew each time: Qhull's own way of adding points gives up on nearly flat ones.
            faces = ConvexHull(vertices[chosen]).equations
        except QhullError:
            return (
                _spread_out(vertices, choice.vertices_max) if len(chosen) < 16 else vertices[sorted(chosen)]
            )
        outside = vertices @ faces[:, :3].T + faces[:, 3]
        worst_m = float(outside.max())
        if worst_m <= choice.left_out_m:
            break
        added = _farthest_apart(vertices, outside, chosen)
        if not added:
            break
        chosen += added[: choice.vertices_max - len(chosen)]
    return vertices[sorted(chosen)]


def _farthest_apart(vertices: Array, outside: Array, chosen: list[int]) -> list[int]:
    """Returns the vertex farthest outside and others nearly as far that stand in other places: it spares hulls."""
    farthest = outside.max(axis=1)
    order = np.argsort(-farthest, kind="stable")
    order = order[farthest[order] >= _NEARLY_WORST * float(farthest[order[0]])]
    found: list[int] = []
    for index in order:
        # A vertex beyond a face that one found already lies beyond may be inside with that one added.
        beyond = outside[index] > 0.0
        if not any((beyond & (outside[other] > 0.0)).any() for other in found):
            found.append(int(index))
    return [index for index in found if index not in chosen]


def _spread_out(vertices: Array, vertices_max: int) -> Array:
    """Returns vertices of a flat or straight set, always the one farthest from those chosen."""
    if len(vertices) <= vertices_max:
        return vertices
    chosen = [0]
    distance = np.linalg.norm(vertices - vertices[0], axis=1)
    while len(chosen) < vertices_max:
        worst = int(distance.argmax())
        chosen.append(worst)
        distance = np.minimum(distance, np.linalg.norm(vertices - vertices[worst], axis=1))
    return vertices[sorted(chosen)]
