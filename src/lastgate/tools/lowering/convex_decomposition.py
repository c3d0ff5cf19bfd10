# SPDX-License-Identifier: Apache-2.0
"""Cuts the links of a robot into convex hulls that contain them.

A mesh is cut by planes; the hull of what lies on one side contains that side, so the hulls together contain the
mesh whatever the planes are. The planes only decide how much they contain beside it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import ConvexHull, QhullError

from lastgate.contracts.convex_hulls import LinkHull
from lastgate.planning import _fitting
from lastgate.tools.lowering.capsule_fit import frames_of
from lastgate.tools.lowering.convex_hulls import COMMON_VERTICES, VertexChoice, link_hull
from lastgate.tools.lowering.extent import extent
from lastgate.tools.lowering.joined_hulls import joined_hulls
from lastgate.tools.lowering.shapes import LinkShapes
from lastgate.tools.lowering.surface_points import surface_points
from lastgate.tools.lowering.ties import without_noise
from lastgate.tools.lowering.triangles import (
    PRISM_SIDES,
    clip,
    connected_bodies,
    hull_area_m2,
    hull_vertices,
    hull_volume_m3,
    winding_number,
)

Array = NDArray[np.float64]

# Where along an axis a cut is tried, as fractions of the part's extent.
_CUT_FRACTIONS = (0.08, 0.15, 0.22, 0.3, 0.4, 0.5, 0.6, 0.7, 0.78, 0.85, 0.92)
# Points that stand for a part while cuts are compared; the chosen cut is made in the mesh itself.
_PROBE_POINTS_MAX = 1000
# Cuts that look best on the probe and are then made in the mesh.
_CUTS_MADE = 2
# A part smaller than this is not cut.
_PART_SIZE_MIN_M = 0.008
# A cut must save this share of the hull of the whole link, within these bounds: a hollow of 25 mm is as much in the
# way on a torso as on a wrist, and one of 8 mm is nowhere worth a hull.
_GAIN_SHARE = 0.008
_GAIN_LEAST_M3, _GAIN_MOST_M3 = 5e-7, 1.5e-5
# A manifest that allows a link more hulls than this wants smaller hollows cut out too, in proportion.
_HULLS_COMMON = 16
# A part less than this many times as large as what a cut must save is not cut.
_PART_GAINS_MIN = 4.0
# Fine links. Vertices: as many as the core takes; left out only what the written hundredths of a millimetre hide.
_FINE_VERTICES = VertexChoice(vertices_max=256, left_out_m=0.000005)
# Parts that are cut for each hull, before those that add least to each other are joined again.
_FINE_PARTS_PER_HULL = 3
# A prism of so many sides has 240 vertices and stands out by 0.034 % of its cylinder's radius, 0.01 mm on a forearm.
_FINE_PRISM_SIDES = 120
# Fewer than above, because there are more parts; the chosen cut is made in the mesh all the same.
_FINE_PROBE_POINTS_MAX = 400
# A tenth of the least that is worth a hull elsewhere: the bound on hulls ends the cutting.
_FINE_GAIN_MIN_M3 = 5e-8
# What a shell is cut for although the first cuts through it save nothing: this share of the empty room inside, seen at
# so many points; a best cut that saves less than the last share of the hull gives way to one through the middle.
_CAVITY_SHARE = 0.1
_CAVITY_POINTS = 24
_HOLLOW_SHARE = 0.03
# A body this large, by its hull in that of its mesh, is cut by itself.
_BODY_SHARE = 0.06
# A rim is all on the outside, where other links pass; most of a hollow is not.
_RIM_WEIGHT = 2.0


@dataclass
class _Cut:
    """A plane through a part, and what the hulls of both sides save."""

    saved_m3: float
    sides: tuple[_Part, _Part]


@dataclass
class _Part:
    """The part of a mesh on one side of every cut so far."""

    triangles: Array
    solid: Array  # the whole mesh it is a part of
    cuts: list[tuple[Array, float]] = field(default_factory=list)
    probe_points_max: int = _PROBE_POINTS_MAX
    # How often the mesh goes round a point, for all parts of one mesh: halves ask about its vertices again.
    windings: dict[bytes, float] = field(default_factory=dict)

    @cached_property
    def best_cut(self) -> _Cut | None:
        """Best cut found."""
        return _best_cut(self)

    @cached_property
    def halves(self) -> list[_Part]:
        """Both sides of the best cut."""
        return [] if self.best_cut is None else [side for side in self.best_cut.sides if len(side.triangles)]

    @cached_property
    def inner_vertices(self) -> Array:
        """Points where three cuts meet inside the solid: no vertex of the surface, yet of the part."""
        return _inner_vertices(self)

    @cached_property
    def hull_m3(self) -> float:
        return _volume_m3(self.triangles)

    @property
    def points(self) -> Array:
        return np.concatenate([self.triangles.reshape(-1, 3), self.inner_vertices])


def convex_hulls(
    shapes: dict[str, LinkShapes], *, per_link_max: int, fine_links: Mapping[str, int] | None = None
) -> list[LinkHull]:
    """Returns the hulls of every link, in the order of the links; fine links have a bound of their own."""
    fine = fine_links or {}
    return [
        hull
        for link in shapes.values()
        for hull in (
            fine_hulls_of_link(link, per_link_max=fine[link.link])
            if link.link in fine
            else hulls_of_link(link, per_link_max=per_link_max)
        )
    ]


def hulls_of_link(shapes: LinkShapes, *, per_link_max: int) -> list[LinkHull]:
    """Returns hulls that together contain every shape of one link; convex shapes are hulls as they are."""
    hulls = _convex_sources(shapes, COMMON_VERTICES, prism_sides=PRISM_SIDES)
    soups = _meshes(shapes)
    parts = _cut(soups, parts_max=max(per_link_max - len(hulls), len(soups)))
    hulls += [link_hull(shapes.link, part.points) for part in parts]
    return _in_order(hulls)


def fine_hulls_of_link(shapes: LinkShapes, *, per_link_max: int) -> list[LinkHull]:
    """Returns as many hulls as allowed, each nearer to the link than the common ones: see `_cut_finely`."""
    hulls = _convex_sources(shapes, _FINE_VERTICES, prism_sides=_FINE_PRISM_SIDES)
    soups = _meshes(shapes)
    hulls += _cut_finely(shapes.link, soups, parts_max=max(per_link_max - len(hulls), len(soups)))
    return _in_order(hulls)


def _convex_sources(shapes: LinkShapes, choice: VertexChoice, *, prism_sides: int) -> list[LinkHull]:
    hulls = [
        link_hull(shapes.link, np.array([capsule.start, capsule.end]), sphere_radius_m=capsule.radius_m)
        for capsule in shapes.round_shapes
    ]
    for source in shapes.sources:
        if source.kind == "mesh":
            continue
        vertices = source.triangles_in_link(prism_sides=prism_sides).reshape(-1, 3)
        if len(vertices):
            hulls.append(link_hull(shapes.link, vertices, choice=choice))
    return hulls


def _meshes(shapes: LinkShapes) -> list[Array]:
    """Returns the meshes of a link, each once: a file may draw the very mesh that it collides with."""
    meshes: list[Array] = []
    for mesh in (source.triangles_in_link() for source in shapes.sources if source.kind == "mesh"):
        if not any(np.array_equal(mesh, other) for other in meshes):
            meshes.append(mesh)
    return meshes


def _in_order(hulls: list[LinkHull]) -> list[LinkHull]:
    # By position, so that the order carries no history.
    return sorted(hulls, key=lambda hull: (hull.vertices_m, hull.radius_m))


def _cut_finely(link: str, soups: list[Array], *, parts_max: int) -> list[LinkHull]:
    """Returns the hulls after cutting, again and again, the part that a cut takes most from, and joining what fits.

    Two things stand out of a mesh: hollows under a hull, which the best cut saves, and the radius over all of a hull
    that is rounder than its vertices, which halving it saves.
    """
    cut_max = _FINE_PARTS_PER_HULL * parts_max
    parts = [
        _FinePart(link, _Part(soup, soup, probe_points_max=_FINE_PROBE_POINTS_MAX))
        for soup in _large_bodies(soups, count_max=cut_max)
    ]
    while parts and len(parts) < cut_max:
        index = int(np.argmax([part.gain_m3 for part in parts]))
        if parts[index].gain_m3 < _FINE_GAIN_MIN_M3:
            break
        parts[index : index + 1] = [_FinePart(link, half) for half in parts[index].halves()]
    clouds = [part.part.points for part in parts]
    joined = joined_hulls(clouds, count_max=parts_max, vertices_max=_FINE_VERTICES.vertices_max)
    return [link_hull(link, vertices, choice=_FINE_VERTICES) for vertices in joined]


@dataclass
class _FinePart:
    """A part with its hull, and the volume that a cut takes from what stands out."""

    link: str
    part: _Part

    @cached_property
    def hull(self) -> LinkHull:
        return link_hull(self.link, self.part.points, choice=_FINE_VERTICES)

    @cached_property
    def hollow_m3(self) -> float:
        return without_noise(self.part.best_cut.saved_m3) if self.part.best_cut else 0.0

    @cached_property
    def rim_m3(self) -> float:
        """Volume that the radius adds to a part that is rounder than its vertices; others keep it when halved."""
        vertices = hull_vertices(self.part.points)
        if self.part.best_cut is None or len(vertices) <= _FINE_VERTICES.vertices_max:
            return 0.0
        return without_noise(_RIM_WEIGHT * hull_area_m2(vertices) * self.hull.radius_m)

    @cached_property
    def cavity_m3(self) -> float:
        """Empty room of a part that later cuts may take: the first through a shell takes nothing."""
        if self.part.best_cut is None or self.part.hull_m3 * _CAVITY_SHARE <= max(
            self.hollow_m3, self.rim_m3
        ):
            return 0.0
        return without_noise(_CAVITY_SHARE * self.part.hull_m3 * _empty_share(self.part))

    @property
    def gain_m3(self) -> float:
        return max(self.hollow_m3, self.rim_m3, self.cavity_m3)

    def halves(self) -> list[_Part]:
        """Returns both sides of the cut that takes most, without one that holds nothing.

        One that holds no surface may lie inside a wall, and then it is a part by the vertices of its cuts.
        """
        best = self.part.best_cut
        if best is not None and self.hollow_m3 >= min(self.gain_m3, _HOLLOW_SHARE * self.part.hull_m3):
            sides = best.sides
        else:
            points = self.part.points
            axis = int(extent(points).argmax())
            middle = 0.5 * float(points[:, axis].min() + points[:, axis].max())
            normal = np.eye(3)[axis]
            sides = (_side(self.part, normal, middle), _side(self.part, -normal, -middle))
        return [side for side in sides if len(side.points)]


def _large_bodies(soups: list[Array], *, count_max: int) -> list[Array]:
    """Returns each mesh, or its connected bodies: the large ones, and the rest together.

    A shell and what it holds are cut better one by one. Each body lies in its own hulls, so all of them do.
    """
    found: list[Array] = []
    for soup in soups:
        bodies = connected_bodies(soup)
        least_m3 = _BODY_SHARE * _volume_m3(soup)
        large = [body for body in bodies if _volume_m3(body) >= least_m3]
        rest = [body for body in bodies if _volume_m3(body) < least_m3]
        found += [*large, *([np.concatenate(rest)] if rest else [])]
    return found if len(found) <= count_max else soups


def _empty_share(part: _Part) -> float:
    """Returns roughly which share of a part's hull is not inside its mesh."""
    vertices = hull_vertices(part.points)
    # Random mixtures of vertices lie inside the hull; the same ones every time.
    weights = np.random.default_rng(0).dirichlet(np.full(len(vertices), 0.1), _CAVITY_POINTS)
    return float(np.mean([winding_number(point, part.solid) < 0.5 for point in weights @ vertices]))


def _cut(soups: list[Array], *, parts_max: int) -> list[_Part]:
    parts = [_Part(soup, soup) for soup in soups]
    whole_m3 = _volume_m3(np.concatenate(soups)) if soups else 0.0
    enough_m3 = float(np.clip(_GAIN_SHARE * whole_m3, _GAIN_LEAST_M3, _GAIN_MOST_M3))
    enough_m3 *= _HULLS_COMMON / max(parts_max, _HULLS_COMMON)
    while parts and len(parts) < parts_max:
        promises = [_promise_m3(part, enough_m3) for part in parts]
        index = int(np.argmax(promises))
        if promises[index] < enough_m3:
            break
        parts[index : index + 1] = parts[index].halves
    return parts


def _promise_m3(part: _Part, enough_m3: float) -> float:
    """Returns what the best cut saves; where a whole link's does not save enough, what it saves with the next ones.

    A hollow in the middle of a side is no smaller after the first cut through it, only after the second.
    """
    if part.hull_m3 < _PART_GAINS_MIN * enough_m3 or part.best_cut is None:
        return 0.0
    gain = part.best_cut.saved_m3
    if gain >= enough_m3 or part.cuts:
        return gain
    deeper = sorted((half.best_cut.saved_m3 for half in part.halves if half.best_cut), reverse=True)
    return max([gain, *(float(gain + sum(deeper[:count])) / (1 + count) for count in (1, 2))])


def _side(part: _Part, normal: Array, offset: float) -> _Part:
    cuts = [*part.cuts, (normal, offset)]
    return _Part(clip(part.triangles, normal, offset), part.solid, cuts, part.probe_points_max, part.windings)


def _inner_vertices(part: _Part) -> Array:
    """Returns the points where three cuts meet inside the solid and inside all other cuts."""
    found: list[Array] = []
    for three in combinations(part.cuts, 3):
        normals = np.array([normal for normal, _ in three])
        if abs(float(np.linalg.det(normals))) < 1e-6:
            continue
        offsets = np.array([offset for _, offset in three])
        point: Array = np.asarray(np.linalg.solve(normals, offsets), dtype=np.float64)
        if not all(float(normal @ point) <= offset + 1e-9 for normal, offset in part.cuts):
            continue
        key = point.tobytes()
        if key not in part.windings:
            part.windings[key] = winding_number(point, part.solid)
        if part.windings[key] > 0.25:
            found.append(point)
    return np.array(found).reshape(-1, 3)


def _best_cut(part: _Part) -> _Cut | None:
    """Returns the cut that saves most of the part's hull."""
    if not len(part.triangles) or float(extent(part.points).max()) < _PART_SIZE_MIN_M:
        return None
    probe = np.concatenate(
        [surface_points(part.triangles, points_max=part.probe_points_max), part.inner_vertices]
    )
    tried: list[tuple[float, int, Array, float]] = []
    for axis in np.concatenate(frames_of(probe)):
        height = probe @ axis
        low, high = float(height.min()), float(height.max())
        if high - low < _PART_SIZE_MIN_M:
            continue
        offsets = [low + fraction * (high - low) for fraction in _CUT_FRACTIONS]
        below = _growing_hulls_m3(probe, height, offsets)
        above = _growing_hulls_m3(probe, -height, [-offset for offset in reversed(offsets)])[::-1]
        for offset, first, second in zip(offsets, below, above, strict=True):
            if first is not None and second is not None:
                tried.append((without_noise(first + second), len(tried), axis, offset))
    # Where none saves anything, one through the middle leaves most for the next.
    longest = int(extent(probe).argmax())
    middle = 0.5 * float(probe[:, longest].min() + probe[:, longest].max())
    made = [(axis, offset) for _, _, axis, offset in sorted(tried, key=lambda cut: cut[:2])[:_CUTS_MADE]]
    best: _Cut | None = None
    for axis, offset in [(np.eye(3)[longest], middle), *made]:
        sides = (_side(part, axis, offset), _side(part, -axis, -offset))
        gain = part.hull_m3 - sum(side.hull_m3 for side in sides)
        if best is None or without_noise(gain) > without_noise(best.saved_m3):
            best = _Cut(gain, sides)
    return best


def _growing_hulls_m3(points: Array, height: Array, offsets: list[float]) -> list[float | None]:
    """Returns per offset, lowest first, the volume of the hull of what lies below it; None where that is too little."""
    found = _fitting.growing_hulls(
        np.ascontiguousarray(points), np.ascontiguousarray(height), np.array(offsets)
    )
    if found is None:
        return _hulls_one_by_one_m3(points, height, offsets)
    return [None if math.isnan(volume_m3) else volume_m3 for volume_m3 in found.tolist()]


def _hulls_one_by_one_m3(points: Array, height: Array, offsets: list[float]) -> list[float | None]:
    """Returns the same by Qhull, which copes with sides that are flat but for rounding.

    Each hull is that of the vertices of the one before and the points since, which is much less to check.
    """
    found: list[float | None] = []
    vertices, reached = np.empty((0, 3)), -np.inf
    for offset in offsets:
        vertices = np.concatenate([vertices, points[(height > reached) & (height <= offset)]])
        reached = offset
        if len(vertices) < 4:
            found.append(None)
            continue
        try:
            hull = ConvexHull(vertices)
        except QhullError:
            found.append(0.0)
            continue
        vertices = vertices[hull.vertices]
        found.append(float(hull.volume))
    return found


def _volume_m3(triangles: Array) -> float:
    return hull_volume_m3(triangles.reshape(-1, 3)) if len(triangles) > 1 else 0.0
