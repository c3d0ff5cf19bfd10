# SPDX-License-Identifier: Apache-2.0
"""Cuts the links of a robot into convex pieces that contain them.

A mesh is cut by planes; the hull of what lies on one side contains that side, so the hulls together contain the
mesh whatever the planes are. The planes only decide how much they contain beside it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from lastgate.contracts.convex_pieces import ConvexPiece
from lastgate.lowering.capsule_fit import principal_axes
from lastgate.lowering.convex_hulls import convex_piece
from lastgate.lowering.shapes import LinkShapes, SourceShape
from lastgate.lowering.triangles import clip, hull_volume_m3, winding_number

Array = NDArray[np.float64]

# Where along an axis a cut is tried, as fractions of the part's extent.
_CUT_FRACTIONS = (0.08, 0.15, 0.22, 0.3, 0.4, 0.5, 0.6, 0.7, 0.78, 0.85, 0.92)
# Points that stand for a part while cuts are compared; the chosen cut is made in the mesh itself.
_PROBE_POINTS_MAX = 1200
# Cuts that look best on the probe and are then made in the mesh: the probe knows edges, not faces.
_CUTS_MADE = 4
# Edges are sampled this finely for the probe, as a share of the part's extent.
_PROBE_SPACING = 0.03
# A part smaller than this is not cut.
_PART_SIZE_MIN_M = 0.008
# A cut must save this share of the hull of the whole link.
_GAIN_MIN = 0.008


@dataclass
class _Part:
    """What lies on one side of every cut so far."""

    triangles: Array
    solid: Array  # the whole mesh it is a part of
    inner_corners: Array  # where three cuts meet inside the solid: no corner of the surface, yet of the part
    cuts: list[tuple[Array, float]] = field(default_factory=list)
    best_cut: tuple[float, Array, float] | None = None

    @property
    def points(self) -> Array:
        return np.concatenate([self.triangles.reshape(-1, 3), self.inner_corners])


def convex_pieces(shapes: dict[str, LinkShapes], *, per_link_max: int) -> list[ConvexPiece]:
    """Returns the pieces of every link, in the order of the links."""
    return [piece for link in shapes.values() for piece in pieces_of_link(link, per_link_max=per_link_max)]


def pieces_of_link(shapes: LinkShapes, *, per_link_max: int) -> list[ConvexPiece]:
    """Returns pieces that together contain every shape of one link; convex shapes are pieces as they are."""
    pieces = [
        convex_piece(shapes.link, np.array([core.start, core.end]), ball_radius_m=core.radius_m)
        for core in shapes.round_shapes
    ]
    meshes = [source for source in shapes.sources if source.kind == "mesh"]
    for source in shapes.sources:
        if source.kind != "mesh" and len(source.triangles_in_link()):
            pieces.append(convex_piece(shapes.link, source.triangles_in_link().reshape(-1, 3)))
    parts = _cut(meshes, parts_max=max(per_link_max - len(pieces), len(meshes)))
    pieces += [convex_piece(shapes.link, part.points) for part in parts]
    # By position, so that the order carries no history.
    return sorted(pieces, key=lambda piece: (piece.corners_m, piece.radius_m))


def _cut(meshes: list[SourceShape], *, parts_max: int) -> list[_Part]:
    soups = [mesh.triangles_in_link() for mesh in meshes]
    parts = [_Part(soup, soup, np.empty((0, 3))) for soup in soups]
    whole_m3 = _volume_m3(np.concatenate(soups)) if soups else 0.0
    for part in parts:
        part.best_cut = _best_cut(part)
    while parts and len(parts) < parts_max:
        index = int(np.argmax([part.best_cut[0] if part.best_cut else 0.0 for part in parts]))
        cut = parts[index].best_cut
        if cut is None or cut[0] < _GAIN_MIN * whole_m3:
            break
        old = parts[index]
        halves = [_side(old, cut[1], cut[2]), _side(old, -cut[1], -cut[2])]
        for half in halves:
            half.best_cut = _best_cut(half)
        parts[index : index + 1] = [half for half in halves if len(half.triangles)]
    return parts


def _side(part: _Part, normal: Array, offset: float) -> _Part:
    cuts = [*part.cuts, (normal, offset)]
    return _Part(clip(part.triangles, normal, offset), part.solid, _inner_corners(cuts, part.solid), cuts)


def _inner_corners(cuts: list[tuple[Array, float]], solid: Array) -> Array:
    """Returns the points where three cuts meet inside the solid and inside all other cuts."""
    found: list[Array] = []
    for three in combinations(cuts, 3):
        normals = np.array([normal for normal, _ in three])
        if abs(float(np.linalg.det(normals))) < 1e-6:
            continue
        offsets = np.array([offset for _, offset in three])
        point: Array = np.asarray(np.linalg.solve(normals, offsets), dtype=np.float64)
        if (
            all(float(normal @ point) <= offset + 1e-9 for normal, offset in cuts)
            and winding_number(point, solid) > 0.25
        ):
            found.append(point)
    return np.array(found).reshape(-1, 3)


def _best_cut(part: _Part) -> tuple[float, Array, float] | None:
    """Returns the cut that saves most of the part's hull: what it saves, and the plane."""
    if not len(part.triangles) or float(np.ptp(part.points, axis=0).max()) < _PART_SIZE_MIN_M:
        return None
    probe = _probe(part)
    tried: list[tuple[float, int, Array, float]] = []
    for axis in [*np.eye(3), *principal_axes(probe)]:
        height = probe @ axis
        low, high = float(height.min()), float(height.max())
        if high - low < _PART_SIZE_MIN_M:
            continue
        for fraction in _CUT_FRACTIONS:
            offset = low + fraction * (high - low)
            sides = [probe[height <= offset], probe[height >= offset]]
            if min(len(side) for side in sides) < 4:
                continue
            tried.append((sum(hull_volume_m3(side) for side in sides), len(tried), axis, offset))
    whole_m3 = _volume_m3(part.triangles)
    best: tuple[float, Array, float] | None = None
    for _, _, axis, offset in sorted(tried, key=lambda cut: cut[:2])[:_CUTS_MADE]:
        halves = (clip(part.triangles, axis, offset), clip(part.triangles, -axis, -offset))
        gain = whole_m3 - sum(_volume_m3(half) for half in halves)
        if best is None or gain > best[0]:
            best = (gain, axis, offset)
    return best


def _volume_m3(triangles: Array) -> float:
    return hull_volume_m3(triangles.reshape(-1, 3)) if len(triangles) > 1 else 0.0


def _probe(part: _Part) -> Array:
    """Returns a bounded number of points on the surface: along the edges, then the first in each cell of a grid."""
    corners = part.triangles
    low = part.points.min(axis=0)
    size_m = float(np.ptp(part.points, axis=0).max())
    samples = [part.points]
    for first, second in ((0, 1), (1, 2), (2, 0)):
        edge = corners[:, second] - corners[:, first]
        count = np.minimum(np.ceil(np.linalg.norm(edge, axis=1) / (_PROBE_SPACING * size_m)), 40).astype(
            np.int64
        )
        for steps in np.unique(count[count > 1]):
            chosen = count == steps
            for step in range(1, int(steps)):
                samples.append(corners[chosen, first] + (step / float(steps)) * edge[chosen])
    points = np.concatenate(samples)
    cells = 64
    while True:
        cell = np.floor((points - low) / size_m * cells).astype(np.int64)
        _, index = np.unique((cell[:, 0] * 128 + cell[:, 1]) * 128 + cell[:, 2], return_index=True)
        points = points[np.sort(index)]
        if len(points) <= _PROBE_POINTS_MAX:
            return points
        cells = cells * 3 // 4
