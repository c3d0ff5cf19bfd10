# SPDX-License-Identifier: Apache-2.0
"""Few corners and a radius that contain many points, on the numbers as they are written."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls
from scipy.spatial import ConvexHull, QhullError, cKDTree

from lastgate.contracts.convex_pieces import ConvexPiece
from lastgate.robots.convex_pieces_file import UNITS_PER_M
from lastgate.tools.lowering.diagnostics import LoweringError
from lastgate.tools.lowering.triangles import hull_corners

Array = NDArray[np.float64]

# Corners this near to the farthest outside, as a share of its distance, are taken with it.
_NEARLY_WORST = 0.85
# Points, corners and weights are below 10 m and summed in a few hundred roundings: 1e-12 m bounds the error.
_ALLOWANCE_M = 1e-12


@dataclass(frozen=True)
class CornerChoice:
    """Bounds on a piece: how many corners it may keep, and how near the rest must come to one that is left out."""

    corners_max: int
    left_out_m: float


# The core checks each corner about ten times per question; the radius makes up for corners left out.
COMMON_CORNERS = CornerChoice(corners_max=160, left_out_m=0.0002)


def convex_piece(
    link: str, points: Array, *, sphere_radius_m: float = 0.0, choice: CornerChoice = COMMON_CORNERS
) -> ConvexPiece:
    """Returns a piece that contains every point, or every sphere around one."""
    corners = hull_corners(points)
    units = np.unique(np.round(_chosen(corners, choice) * UNITS_PER_M).astype(np.int64), axis=0)
    written = units / UNITS_PER_M
    needed_m = _farthest_m(corners, written) + sphere_radius_m + _ALLOWANCE_M
    radius = math.ceil(needed_m * UNITS_PER_M)
    while radius / UNITS_PER_M < needed_m:
        radius += 1
    return ConvexPiece(link, radius / UNITS_PER_M, tuple((x, y, z) for x, y, z in written.tolist()))


def _farthest_m(points: Array, corners: Array) -> float:
    """Returns a number that is never below the distance of any point from the hull of some corners."""
    at_most_m = _at_most_m(points, corners)
    farthest_m = 0.0
    for index in np.argsort(-at_most_m, kind="stable"):
        if at_most_m[index] <= farthest_m:
            break
        farthest_m = max(farthest_m, distance_to_hull_m(points[index], corners))
    return farthest_m


def _at_most_m(points: Array, corners: Array) -> Array:
    """Returns per point a distance from the hull of some corners that it cannot exceed, quickly.

    That is the distance from the nearest corner, or from a point of the face it lies farthest beyond.
    """
    nearest_m = cKDTree(corners).query(points)[0]
    try:
        hull = ConvexHull(corners)
    except (QhullError, ValueError):
        return nearest_m
    beyond = (points @ hull.equations[:, :3].T + hull.equations[:, 3]).argmax(axis=1)
    origin, *ends = (corners[hull.simplices[beyond, corner]] for corner in range(3))
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


def distance_to_hull_m(point: Array, corners: Array) -> float:
    """Returns a number that is never below the distance of a point from the hull of some corners.

    The weights may be off; any weights that are not negative and sum to one name a point of the hull.
    """
    scale_m = max(float(np.abs(corners - point).max()), 1e-6)
    # The last row asks for a sum of one; its weight only steers the search.
    rows = np.vstack([(corners - point).T / scale_m, np.full(len(corners), 100.0)])
    try:
        weights, _ = nnls(rows, np.array([0.0, 0.0, 0.0, 100.0]), maxiter=100 * len(corners))
    except RuntimeError as error:
        raise LoweringError(f"a point near {point} could not be placed in its convex piece") from error
    total = float(weights.sum())
    if not total > 0.0:
        return float(np.linalg.norm(corners - point, axis=1).min())
    return float(np.linalg.norm((weights / total) @ corners - point))


def _chosen(corners: Array, choice: CornerChoice) -> Array:
    """Returns corners whose hull comes close to all of them: always those farthest outside, until none is far."""
    if len(corners) <= 8:
        return corners
    chosen = sorted(
        {int(index) for axis in range(3) for index in (corners[:, axis].argmin(), corners[:, axis].argmax())}
    )
    spread = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], dtype=np.float64)
    chosen = sorted({*chosen, *(int((corners @ direction).argmax()) for direction in spread)})
    if len(chosen) < 4:
        return _spread_out(corners, choice.corners_max)
    while len(chosen) < choice.corners_max:
        try:
            # Anew each time: Qhull's own way of adding points gives up on nearly flat ones.
            faces = ConvexHull(corners[chosen]).equations
        except QhullError:
            return _spread_out(corners, choice.corners_max) if len(chosen) < 16 else corners[sorted(chosen)]
        outside = corners @ faces[:, :3].T + faces[:, 3]
        worst_m = float(outside.max())
        if worst_m <= choice.left_out_m:
            break
        added = _farthest_apart(corners, outside, chosen)
        if not added:
            break
        chosen += added[: choice.corners_max - len(chosen)]
    return corners[sorted(chosen)]


def _farthest_apart(corners: Array, outside: Array, chosen: list[int]) -> list[int]:
    """Returns the corner farthest outside and others nearly as far that stand in other places: it spares hulls."""
    farthest = outside.max(axis=1)
    order = np.argsort(-farthest, kind="stable")
    order = order[farthest[order] >= _NEARLY_WORST * float(farthest[order[0]])]
    found: list[int] = []
    for index in order:
        # A corner beyond a face that one found already lies beyond may be inside with that one added.
        beyond = outside[index] > 0.0
        if not any((beyond & (outside[other] > 0.0)).any() for other in found):
            found.append(int(index))
    return [index for index in found if index not in chosen]


def _spread_out(corners: Array, corners_max: int) -> Array:
    """Returns corners of a flat or straight set, always the one farthest from those chosen."""
    if len(corners) <= corners_max:
        return corners
    chosen = [0]
    distance = np.linalg.norm(corners - corners[0], axis=1)
    while len(chosen) < corners_max:
        worst = int(distance.argmax())
        chosen.append(worst)
        distance = np.minimum(distance, np.linalg.norm(corners - corners[worst], axis=1))
    return corners[sorted(chosen)]
