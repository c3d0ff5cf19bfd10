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

from lastgate import _core
from lastgate.arrays import Float64
from lastgate.collision.sphere_config import SphereGenConfig
from lastgate.contracts.convex_pieces import ConvexPiece

# Corners lie within 100 m and a cut rounds a few times per halving: far more than all of it together.
_ROUNDING_M = 1.0e-9
# Steps towards the farthest corner while a ball is made smaller; the ball holds every corner after each of them.
_BALL_STEPS = 48
# Points by which covers of one link are compared.
_EXCESS_POINTS = 4000
# While ways to cut are compared a rougher ball will do.
_BALL_STEPS_COMPARED = 12
# Planes of faces stand for others that are parallel to a millionth; a link is smaller than this many metres.
_PLANE_SLACK_M = 2.0e-6
# Balls that stand out by this share of the wanted radius are good enough: cutting them costs time and gains nothing.
_OVERSHOOT_SHARE = 0.1


@dataclass(frozen=True, slots=True)
class Ball:
    """Is one ball of a cover; no point of it is farther than `overshoot_m` from the shape it covers a part of."""

    centre: tuple[float, float, float]
    radius_m: float
    overshoot_m: float


@dataclass(frozen=True, slots=True)
class _HullPart:
    """Is every point within `radius_m` of the hull of some corners, a part of a shape with faces `planes`."""

    corners: Float64
    radius_m: float
    planes: (
        Float64  # of the whole shape, not of the part: a ball that stays inside of it stands out of nothing
    )
    hull_is_shape: bool = (
        True  # false for a hull around several pieces, which also holds what lies between them
    )

    def balls(self, steps: int = _BALL_STEPS) -> list[Ball]:
        centre, inner_m = _ball_around(self.corners, steps)
        # The centre is a mean of corners, so it lies in the hull, and the hull grown by `radius_m` is the shape. A
        # point of the ball outside the hull is beyond a face by at most the radius less the centre's depth.
        depth_m = float((self.planes[:, 3] - self.planes[:, :3] @ centre).min()) if len(self.planes) else 0.0
        overshoot_m = inner_m - min(max(depth_m, 0.0), inner_m)
        if not self.hull_is_shape:
            nearest_m = float(np.sqrt(((self.corners - centre) ** 2).sum(axis=1)).min())
            overshoot_m = inner_m + self.radius_m + nearest_m
        x, y, z = centre.tolist()
        return [Ball((x, y, z), inner_m + self.radius_m + _ROUNDING_M, overshoot_m + _PLANE_SLACK_M)]

    def holds(self, points: Float64) -> NDArray[np.bool_]:
        """Says which points lie in the shape, as far as its faces tell."""
        if not len(self.planes):
            return np.zeros(len(points), dtype=bool)
        inside: NDArray[np.bool_] = points @ self.planes[:, :3].T <= self.planes[:, 3] + self.radius_m
        return np.asarray(inside.all(axis=1))

    def finer(self) -> "list[_Part]":
        """Returns the two halves along the axis after which the worse of them stands out least."""
        best: tuple[float, list[_HullPart]] | None = None
        axes = _axes(self.corners)
        longest_m = axes[0][2] - axes[0][1]
        for axis, low, high in axes:
            # Across a rod there is nothing to gain.
            if not high - low > max(4.0 * _ROUNDING_M, 0.4 * longest_m):
                continue
            height = self.corners @ axis - 0.5 * (low + high)
            crossing = _crossings(self.corners, height, axis)
            halves = [
                _HullPart(
                    np.concatenate([self.corners[side], crossing]),
                    self.radius_m,
                    self.planes,
                    self.hull_is_shape,
                )
                for side in (height <= 0.0, height >= 0.0)
            ]
            worse_m = max(half.balls(_BALL_STEPS_COMPARED)[0].overshoot_m for half in halves)
            if best is None or worse_m < best[0]:
                best = (worse_m, halves)
        return [] if best is None else list(best[1])


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

    def holds(self, points: Float64) -> NDArray[np.bool_]:
        """Says which points lie in the shape."""
        along = self.end - self.start
        length_2 = max(float(along @ along), 1e-300)
        t = np.clip((points - self.start) @ along / length_2, 0.0, 1.0)
        away = points - self.start - t[:, np.newaxis] * along
        return (away**2).sum(axis=1) <= self.radius_m**2

    def finer(self) -> "list[_Part]":
        if not np.any(self.start != self.end):
            return []
        return [_CapsulePart(self.start, self.end, self.radius_m, self.count + 1)]


_Part = _HullPart | _CapsulePart


def cover_pieces(pieces: Sequence[ConvexPiece], config: SphereGenConfig) -> list[Ball]:
    """Returns balls that together hold every piece."""
    parts: list[_Part] = [_part_of(piece) for piece in pieces]
    if len(parts) > config.spheres_per_link_max:
        # One hull around all of them: looser between the pieces, and few enough.
        corners = np.unique(np.concatenate([np.array(piece.corners_m) for piece in pieces]), axis=0)
        radius_m = max(piece.radius_m for piece in pieces)
        parts = [_HullPart(corners, radius_m, np.empty((0, 4)), hull_is_shape=False)]
    return _cut(parts, config)


def _part_of(piece: ConvexPiece) -> _Part:
    corners = np.unique(np.array(piece.corners_m, dtype=np.float64), axis=0)
    if len(corners) <= 2:
        return _CapsulePart(corners[0], corners[-1], piece.radius_m)
    return _HullPart(corners, piece.radius_m, _core.hull_planes(corners))


def _cut(parts: list[_Part], config: SphereGenConfig) -> list[Ball]:
    """Cuts the ball that stands out most, until none does by much or there are as many as there may be.

    Of the covers on the way, the one that holds least beside the shape is kept: a cut can make the worst ball better
    and the rest worse.
    """
    numbers = itertools.count()  # ties are settled by age, so that a cover does not depend on anything else
    done: list[Ball] = []
    heap: list[tuple[float, int, _Part, list[Ball]]] = []
    for part in parts:
        balls = part.balls()
        heapq.heappush(heap, (-balls[0].overshoot_m, next(numbers), part, balls))
    count = sum(len(balls) for _, _, _, balls in heap)
    excess = _Excess(parts)
    best: tuple[float, list[Ball]] | None = None
    looks = {config.spheres_per_link_max * share // 16 for share in (1, 2, 3, 4, 6, 8, 10, 12, 14)}

    def look() -> None:
        nonlocal best
        cover = done + [ball for _, _, _, balls in heap for ball in balls]
        volume = excess.of(cover)
        if best is None or volume < best[0]:
            best = (volume, cover)

    while heap:
        if count in looks and count >= config.spheres_per_link_min:
            look()
            looks.discard(count)
        _, _, part, balls = heapq.heappop(heap)
        wanted_m = _OVERSHOOT_SHARE * config.radius_m_max
        good_enough = balls[0].overshoot_m <= wanted_m and count >= config.spheres_per_link_min
        made = [(piece, piece.balls()) for piece in ([] if good_enough else part.finer())]
        after = count - len(balls) + sum(len(found) for _, found in made)
        if not made or after > config.spheres_per_link_max:
            done += balls
            continue
        count = after
        for piece, found in made:
            heapq.heappush(heap, (-found[0].overshoot_m, next(numbers), piece, found))
    look()
    assert best is not None
    return best[1]


class _Excess:
    """Estimates how much a cover holds beside its shape, to choose between covers; no proof rests on it."""

    def __init__(self, parts: list[_Part]) -> None:
        balls = [ball for part in parts for ball in part.balls()]
        low = np.min([np.array(ball.centre) - ball.radius_m for ball in balls], axis=0)
        high = np.max([np.array(ball.centre) + ball.radius_m for ball in balls], axis=0)
        points = np.random.default_rng(0).uniform(low, high, (_EXCESS_POINTS, 3))
        outside = np.ones(len(points), dtype=bool)
        for part in parts:
            outside &= ~part.holds(points)
        self._outside = points[outside]

    def of(self, cover: list[Ball]) -> float:
        """Returns the share of points beside the shape that the cover holds."""
        held = np.zeros(len(self._outside), dtype=bool)
        for ball in cover:
            held |= ((self._outside - np.array(ball.centre)) ** 2).sum(axis=1) <= ball.radius_m**2
        return float(held.mean()) if len(held) else 0.0


def _ball_around(corners: Float64, steps: int) -> tuple[Float64, float]:
    """Returns a small ball that holds all corners; its centre is a mean of corners."""
    centre = corners.mean(axis=0)
    best_centre, best_2 = centre, math.inf
    for step in range(2, steps + 2):
        squared = ((corners - centre) ** 2).sum(axis=1)
        far = int(squared.argmax())
        if squared[far] < best_2:
            best_centre, best_2 = centre, float(squared[far])
        centre = centre + (corners[far] - centre) / step
    return best_centre, math.sqrt(best_2)


def _axes(corners: Float64) -> list[tuple[Float64, float, float]]:
    """Returns three axes, and from where to where the corners reach along each.

    The link's own or the principal axes: whose box around the corners is smaller.
    """
    middle = corners - corners.mean(axis=0)
    _, principal = np.linalg.eigh(middle.T @ middle)
    best: tuple[float, Float64, Float64, Float64] | None = None
    for axes in (np.eye(3), principal):
        along = corners @ axes
        low, high = along.min(axis=0), along.max(axis=0)
        size = float(np.prod(high - low + _ROUNDING_M))
        if best is None or size < 0.999 * best[0]:
            best = (size, axes, low, high)
    assert best is not None
    _, axes, low, high = best
    order = np.argsort(low - high, kind="stable")  # the longest first: it wins where cuts are as good
    return [(axes[:, axis], float(low[axis]), float(high[axis])) for axis in order.tolist()]


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
    flat: Float64 = np.stack([points @ first, points @ second], axis=1).astype(np.float64)
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
