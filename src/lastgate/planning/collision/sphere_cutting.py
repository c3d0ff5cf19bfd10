# SPDX-License-Identifier: Apache-2.0
"""Covers a link with spheres, by proof: a cell that holds the whole link is cut by planes into cells that hold it
together, and a sphere that holds all vertices of a convex body holds the body.

Cutting keeps the vertices on one side and adds where the segments between vertices of both sides cross the plane; the
hull of these is exactly that side of the body. Where the sphere around a cell lies is free, as long as it holds the
cell: it lies where it stands out of the link least, which is deep inside, not in the middle of the cell. So a half
never stands out by more than the whole did, up to how well a centre is found.
"""

import heapq
import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from lastgate.contracts.arrays import Float64
from lastgate.contracts.convex_hulls import LinkHull
from lastgate.planning import _fitting
from lastgate.planning.collision.link_solid import LinkSolid
from lastgate.planning.collision.sphere_config import SphereGenConfig

# Vertices lie within 100 m and a cut rounds a few times per halving: far more than all of it together.
_ROUNDING_M = 1.0e-9
# Spheres that stand out by this share of the wanted radius are good enough: cutting them costs time and gains nothing.
_OVERSHOOT_SHARE = 0.1
# Cuts along an axis shorter than this share of the longest are not tried: across a rod there is nothing to gain.
_AXIS_SHARE = 0.3
# How much the better half of a cut counts beside the worse.
_BETTER_HALF_SHARE = 0.3


@dataclass(frozen=True, slots=True)
class Sphere:
    """One sphere of a cover; no point of it is farther than `overshoot_m` from the shape it covers a part of."""

    centre: tuple[float, float, float]
    radius_m: float
    overshoot_m: float


class _Cell:
    """A part of a link: convex bodies, each the hull of vertices (x, y, z, grown by), and one sphere around them."""

    def __init__(self, solid: LinkSolid, bodies: list[Float64]) -> None:
        self._solid = solid
        self._bodies = bodies
        self._vertices = np.concatenate(bodies)
        x, y, z, radius_m, self.stands_out_m = _fitting.deep_sphere(
            self._vertices,
            np.concatenate([solid.centres_in(bodies), solid.centres]),
            solid.planes,
            solid.hull_ends,
            solid.surface,
        )
        self._centre = (x, y, z)
        self._radius_m = radius_m + _ROUNDING_M
        self.sphere_count = 1

    def rows(self) -> list[tuple[float, float, float, float]]:
        return [(*self._centre, self._radius_m)]

    def spheres(self) -> list[Sphere]:
        return [
            Sphere(
                self._centre, self._radius_m, self._solid.overshoot_m(np.array(self._centre), self._radius_m)
            )
        ]

    def finer(self) -> "list[_Part]":
        """Returns two halves, along the axis after which they stand out least."""
        best: tuple[float, list[_Cell]] | None = None
        axes = _axes(self._vertices[:, :3])
        longest_m = axes[0][2] - axes[0][1]
        for axis, low, high in axes:
            if not high - low > max(4.0 * _ROUNDING_M, _AXIS_SHARE * longest_m):
                continue
            halves = [
                _Cell(self._solid, side) for side in _sides(self._bodies, axis, 0.5 * (low + high)) if side
            ]
            if len(halves) < 2:
                continue
            better_m, worse_m = sorted(half.stands_out_m for half in halves)
            cost_m = worse_m + _BETTER_HALF_SHARE * better_m
            if best is None or cost_m < best[0]:
                best = (cost_m, halves)
        return [] if best is None else list(best[1])


@dataclass(frozen=True, slots=True)
class _CapsulePart:
    """A sphere or capsule, covered by `count` spheres with their middles on its axis.

    With the first and last middle at the ends and 2 h from one to the next, a point beside the core is at most h
    along and the radius across from a middle, and a cap lies within the radius of an end.
    """

    start: Float64
    end: Float64
    radius_m: float
    count: int = 1

    def spheres(self) -> list[Sphere]:
        length_m = float(np.linalg.norm(self.end - self.start))
        if self.count == 1 or length_m == 0.0:
            x, y, z = (0.5 * (self.start + self.end)).tolist()
            grow_m = 0.5 * length_m
            # A sphere is its own cover: what is exact needs no rounding on top.
            slack_m = _ROUNDING_M if length_m > 0.0 else 0.0
            return [Sphere((x, y, z), self.radius_m + grow_m + slack_m, grow_m + slack_m)]
        half_m = 0.5 * length_m / (self.count - 1)
        radius_m = math.hypot(self.radius_m, half_m) + _ROUNDING_M
        shares = np.linspace(0.0, 1.0, self.count)
        middles = self.start + shares[:, np.newaxis] * (self.end - self.start)
        return [Sphere((x, y, z), radius_m, radius_m - self.radius_m) for x, y, z in middles.tolist()]

    def rows(self) -> list[tuple[float, float, float, float]]:
        return [(*sphere.centre, sphere.radius_m) for sphere in self.spheres()]

    @property
    def sphere_count(self) -> int:
        return len(self.spheres())

    @property
    def stands_out_m(self) -> float:
        return self.spheres()[0].overshoot_m

    def finer(self) -> "list[_Part]":
        if not np.any(self.start != self.end):
            return []
        return [_CapsulePart(self.start, self.end, self.radius_m, self.count + 1)]


_Part = _Cell | _CapsulePart


class GrowingCover:
    """A cover of one link that can be cut further, as a whole or at one of its spheres."""

    def __init__(self, hulls: Sequence[LinkHull], config: SphereGenConfig) -> None:
        self._config = config
        self._numbers = itertools.count()  # ties are settled by age: a cover depends on nothing else
        self._done: list[_Part] = []
        self._heap: list[tuple[float, int, _Part]] = []
        self.count = 0
        for part in _first_parts(hulls, config):
            self._add(part)

    def _add(self, part: _Part) -> None:
        self.count += part.sphere_count
        heapq.heappush(self._heap, (-part.stands_out_m, next(self._numbers), part))

    def spheres(self) -> list[Sphere]:
        """Returns the spheres, which together hold every hull."""
        return [sphere for part in self._parts() for sphere in part.spheres()]

    def rows(self) -> Float64:
        """Returns (M, 4): x, y, z and radius of `spheres()`, without asking how far they stand out."""
        return np.array([row for part in self._parts() for row in part.rows()], dtype=np.float64)

    def _parts(self) -> list[_Part]:
        return self._done + [part for _, _, part in sorted(self._heap, key=lambda entry: entry[1])]

    def cut(self, count_max: int) -> None:
        """Cuts what stands out most, until nothing does by much or there are `count_max` spheres."""
        wanted_m = _OVERSHOOT_SHARE * self._config.radius_m_max
        while self._heap and self.count < count_max:
            _, _, part = heapq.heappop(self._heap)
            good_enough = part.stands_out_m <= wanted_m and self.count >= self._config.spheres_per_link_min
            if good_enough or not self._replace(part):
                self._done.append(part)

    def cut_at(self, indices: Sequence[int]) -> bool:
        """Cuts the parts of some spheres, by their places in `spheres()`; says whether any could be."""
        owners = [part for part in self._parts() for _ in range(part.sphere_count)]
        cut = False
        for part in {id(owners[index]): owners[index] for index in indices}.values():
            if self._replace(part):
                cut = True
                self._done = [other for other in self._done if other is not part]
                self._heap = [entry for entry in self._heap if entry[2] is not part]
                heapq.heapify(self._heap)
        return cut

    def _replace(self, part: _Part) -> bool:
        """Adds what a part is cut into, unless that would be too many."""
        finer = part.finer()
        before = part.sphere_count
        after = self.count - before + sum(each.sphere_count for each in finer)
        if not finer or after > self._config.spheres_per_link_max:
            return False
        for each in finer:
            self._add(each)
        self.count -= before
        return True


def cover_hulls(hulls: Sequence[LinkHull], config: SphereGenConfig) -> list[Sphere]:
    """Returns spheres that together hold every hull."""
    cover = GrowingCover(hulls, config)
    cover.cut(config.spheres_per_link_max)
    return cover.spheres()


def _first_parts(hulls: Sequence[LinkHull], config: SphereGenConfig) -> list[_Part]:
    vertices = [np.unique(np.array(hull.vertices_m, dtype=np.float64), axis=0) for hull in hulls]
    if all(len(found) <= 2 for found in vertices) and len(hulls) <= config.spheres_per_link_max:
        return [
            _CapsulePart(found[0], found[-1], hull.radius_m)
            for found, hull in zip(vertices, hulls, strict=True)
        ]
    solid = LinkSolid(vertices, [hull.radius_m for hull in hulls])
    return [_Cell(solid, solid.bodies)]


def _sides(bodies: list[Float64], axis: Float64, offset_m: float) -> tuple[list[Float64], list[Float64]]:
    """Returns what lies on either side of a plane."""
    below: list[Float64] = []
    above: list[Float64] = []
    for body in bodies:
        height = body[:, :3] @ axis - offset_m
        if (height <= 0.0).all():
            below.append(body)
        elif (height >= 0.0).all():
            above.append(body)
        else:
            outline = _fitting.plane_section(np.ascontiguousarray(body[:, :3]), height, axis)
            grown = np.column_stack([outline, np.full(len(outline), body[0, 3])])
            below.append(np.concatenate([body[height <= 0.0], grown]))
            above.append(np.concatenate([body[height >= 0.0], grown]))
    return below, above


def _axes(vertices: Float64) -> list[tuple[Float64, float, float]]:
    """Returns three axes, and from where to where the vertices reach along each.

    The link's own or the principal axes: whose box around the vertices is smaller.
    """
    middle = vertices - vertices.mean(axis=0)
    _, principal = np.linalg.eigh(middle.T @ middle)
    best: tuple[float, Float64, Float64, Float64] | None = None
    for axes in (np.eye(3), principal):
        along = vertices @ axes
        low, high = along.min(axis=0), along.max(axis=0)
        size = float(np.prod(high - low + _ROUNDING_M))
        if best is None or size < 0.999 * best[0]:
            best = (size, axes, low, high)
    assert best is not None
    _, axes, low, high = best
    order = np.argsort(low - high, kind="stable")  # the longest first: it wins where cuts are as good
    return [
        (np.ascontiguousarray(axes[:, axis]), float(low[axis]), float(high[axis])) for axis in order.tolist()
    ]
