# SPDX-License-Identifier: Apache-2.0
"""Covers convex shapes with balls, by proof: every part is cut by a plane into two that contain it, and a ball that
holds all corners of a convex part holds the part.

No point is sampled. Cutting keeps the corners on one side and adds where the segments between corners of both sides
cross the plane; the hull of these is exactly that side of the part.
"""

import heapq
import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lastgate.arrays import Float64
from lastgate.collision.sphere_config import SphereGenConfig
from lastgate.contracts.convex_pieces import ConvexPiece

# Corners lie within 100 m and a cut rounds a few times per halving: far more than all of it together.
_ROUNDING_M = 1.0e-9
# Steps towards the farthest corner while a ball is made smaller; the ball holds every corner after each of them.
_BALL_STEPS = 48
# A round shape cannot be covered by balls smaller than it is: this share of the wanted radius may come on top.
_ROUND_EXCESS = 0.1


@dataclass(frozen=True, slots=True)
class Ball:
    """Is one ball of a cover; no point of it is farther than `overshoot_m` from the shape it covers a part of."""

    centre: tuple[float, float, float]
    radius_m: float
    overshoot_m: float


@dataclass(frozen=True, slots=True)
class _HullPart:
    """Is every point within `radius_m` of the hull of some corners."""

    corners: Float64
    radius_m: float
    hull_is_shape: bool = True  # false for a hull around several pieces, which also holds what lies between them

    def balls(self) -> list[Ball]:
        centre, inner_m = _ball_around(self.corners)
        # The centre is a mean of corners, so it lies in the hull, and the hull grown by `radius_m` is the shape.
        overshoot_m = inner_m
        if not self.hull_is_shape:
            overshoot_m = (
                inner_m
                + self.radius_m
                + float(np.sqrt(((self.corners - centre) ** 2).sum(axis=1)).min())
            )
        x, y, z = centre.tolist()
        return [Ball((x, y, z), inner_m + self.radius_m + _ROUNDING_M, overshoot_m + _ROUNDING_M)]

    def finer(self) -> "list[_Part]":
        axis, low, high = _longest_axis(self.corners)
        if not high - low > 4.0 * _ROUNDING_M:
            return []
        height = self.corners @ axis - 0.5 * (low + high)
        crossing = _crossings(self.corners, height, axis)
        return [
            _HullPart(np.concatenate([self.corners[side], crossing]), self.radius_m, self.hull_is_shape)
            for side in (height <= 0.0, height >= 0.0)
        ]


@dataclass(frozen=True, slots=True)
class _CapsulePart:
    """Is a sphere or capsule, covered by `count` balls with their middles on its core.

    With the first and last middle at the ends and 2 h from one to the next, a point beside the core is at most h
    along and the radius across from a middle, and a cap lies within the radius of an end.
    """

    start: Float64
    end: Float64
    radius_m: float
    count: int = 1

    def balls(self) -> list[Ball]:
        length_m = float(np.linalg.norm(self.end - self.start))
        if self.count == 1 or length_m == 0.0:
            x, y, z = (0.5 * (self.start + self.end)).tolist()
            grow_m = 0.5 * length_m
            # A sphere is its own cover: what is exact needs no rounding on top.
            slack_m = _ROUNDING_M if length_m > 0.0 else 0.0
            return [Ball((x, y, z), self.radius_m + grow_m + slack_m, grow_m + slack_m)]
        half_m = 0.5 * length_m / (self.count - 1)
        radius_m = math.hypot(self.radius_m, half_m) + _ROUNDING_M
        shares = np.linspace(0.0, 1.0, self.count)
        middles = self.start + shares[:, np.newaxis] * (self.end - self.start)
        return [Ball((x, y, z), radius_m, radius_m - self.radius_m) for x, y, z in middles.tolist()]

    def finer(self) -> "list[_Part]":
        if not np.any(self.start != self.end):
            return []
        return [_CapsulePart(self.start, self.end, self.radius_m, self.count + 1)]


_Part = _HullPart | _CapsulePart


def cover_pieces(pieces: Sequence[ConvexPiece], config: SphereGenConfig) -> list[Ball]:
    """Returns balls that together hold every piece."""
    parts = [_part_of(piece) for piece in pieces]
    if len(parts) > config.spheres_per_link_max:
        # One hull around all of them: looser between the pieces, and few enough.
        corners = np.unique(np.concatenate([np.array(piece.corners_m) for piece in pieces]), axis=0)
        parts = [_HullPart(corners, max(piece.radius_m for piece in pieces), hull_is_shape=False)]
    return _cut(parts, config)


def _part_of(piece: ConvexPiece) -> _Part:
    corners = np.unique(np.array(piece.corners_m, dtype=np.float64), axis=0)
    if len(corners) <= 2:
        return _CapsulePart(corners[0], corners[-1], piece.radius_m)
    return _HullPart(corners, piece.radius_m)


def _cut(parts: list[_Part], config: SphereGenConfig) -> list[Ball]:
    """Makes the largest ball smaller until all are small enough, enough, or as many as there may be."""
    numbers = itertools.count()  # ties are settled by age, so that a cover does not depend on anything else
    done: list[Ball] = []
    heap = []
    for part in parts:
        balls = part.balls()
        heapq.heappush(heap, (-balls[0].overshoot_m, next(numbers), part, balls))
    count = sum(len(balls) for _, _, _, balls in heap)
    while heap:
        _, _, part, balls = heapq.heappop(heap)
        wanted_m = max(config.radius_m_max, part.radius_m + _ROUND_EXCESS * config.radius_m_max)
        small_enough = balls[0].radius_m <= wanted_m and count >= config.spheres_per_link_min
        finer = [] if small_enough else part.finer()
        made = [(piece, piece.balls()) for piece in finer]
        after = count - len(balls) + sum(len(found) for _, found in made)
        if not made or after > config.spheres_per_link_max:
            done += balls
            continue
        count = after
        for piece, found in made:
            heapq.heappush(heap, (-found[0].overshoot_m, next(numbers), piece, found))
    return done


def _ball_around(corners: Float64) -> tuple[Float64, float]:
    """Returns a small ball that holds all corners; its centre is a mean of corners."""
    centre = corners.mean(axis=0)
    best_centre, best_2 = centre, math.inf
    for step in range(2, _BALL_STEPS + 2):
        squared = ((corners - centre) ** 2).sum(axis=1)
        far = int(squared.argmax())
        if squared[far] < best_2:
            best_centre, best_2 = centre, float(squared[far])
        centre = centre + (corners[far] - centre) / step
    return best_centre, math.sqrt(best_2)


def _longest_axis(corners: Float64) -> tuple[Float64, float, float]:
    """Returns the axis along which the corners reach farthest, and from where to where they do.

    Of the box along the link's own axes and the one along the principal axes, the smaller says which axes.
    """
    middle = corners - corners.mean(axis=0)
    _, principal = np.linalg.eigh(middle.T @ middle)
    best: tuple[float, Float64, float, float] | None = None
    for axes in (np.eye(3), principal):
        along = corners @ axes
        low, high = along.min(axis=0), along.max(axis=0)
        size = float(np.prod(high - low + _ROUNDING_M))
        if best is None or size < 0.999 * best[0]:
            longest = int((high - low).argmax())
            best = (size, axes[:, longest], float(low[longest]), float(high[longest]))
    assert best is not None
    return best[1:]


def _crossings(corners: Float64, height: Float64, axis: Float64) -> Float64:
    """Returns the outline of where a plane cuts the hull: all segments that cross it do so within that outline."""
    below, above = corners[height < 0.0], corners[height > 0.0]
    down, up = -height[height < 0.0], height[height > 0.0]
    share = down[:, np.newaxis] / (down[:, np.newaxis] + up[np.newaxis, :])
    points = below[:, np.newaxis] + share[:, :, np.newaxis] * (above[np.newaxis] - below[:, np.newaxis])
    return _outline(points.reshape(-1, 3), axis)


def _outline(points: Float64, axis: Float64) -> Float64:
    """Returns the corners of the hull of points in a plane (Andrew's chain); inner points say nothing new."""
    if len(points) <= 3:
        return points
    other = np.eye(3)[int(np.abs(axis).argmin())]
    first = np.cross(axis, other)
    first /= np.linalg.norm(first)
    second = np.cross(axis, first)
    flat = np.stack([points @ first, points @ second], axis=1)
    outer = _beyond_octagon(flat)
    points, flat = points[outer], flat[outer]
    order = np.lexsort((flat[:, 1], flat[:, 0]))
    ordered = [(float(u), float(v), int(index)) for (u, v), index in zip(flat[order], order, strict=True)]
    kept: list[int] = []
    for chain in (ordered, ordered[::-1]):
        side: list[tuple[float, float, int]] = []
        for u, v, index in chain:
            while len(side) >= 2:
                (u1, v1, _), (u2, v2, _) = side[-2], side[-1]
                if (u2 - u1) * (v - v1) - (v2 - v1) * (u - u1) > 0.0:
                    break
                side.pop()
            side.append((u, v, index))
        kept += [index for _, _, index in side[:-1]]
    return points[sorted(set(kept))]


def _beyond_octagon(flat: Float64) -> NDArray[np.bool_]:
    """Returns which points do not lie inside the polygon of the extreme points of eight directions: the others are no
    corners (Akl and Toussaint)."""
    angles = np.arange(8) * (math.pi / 4.0)
    extremes = (flat @ np.stack([np.cos(angles), np.sin(angles)])).argmax(axis=0)
    polygon = flat[extremes]
    inside = np.ones(len(flat), dtype=bool)
    for start, end in zip(polygon, np.roll(polygon, -1, axis=0), strict=True):
        if (start == end).all():
            continue
        turn = (end[0] - start[0]) * (flat[:, 1] - start[1]) - (end[1] - start[1]) * (flat[:, 0] - start[0])
        inside &= turn > 0.0
    return ~inside
