# SPDX-License-Identifier: Apache-2.0
"""Several tight volumes per link: the surface is cut by planes and each patch gets its own capsule."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lastgate.tools.lowering.capsule_fit import Segment, cheap_capsule, fit_capsule, frames_of
from lastgate.tools.lowering.excess import ExcessField, Mask
from lastgate.tools.lowering.extent import extent
from lastgate.tools.lowering.shapes import LinkShapes
from lastgate.tools.lowering.surface_points import surface_points
from lastgate.tools.lowering.ties import without_noise
from lastgate.tools.lowering.triangles import clip, hull_vertices
from lastgate.tools.lowering.volumes import Volume, volume_containing

Array = NDArray[np.float64]

# Both sides of a cut keep this much of the other, so that each small triangle on the cut lies wholly inside
# one of the two volumes and the proof by subdivision ends.
CUT_OVERLAP_M = 0.0004
# Where along an axis a cut is tried, as fractions of the patch's extent.
_CUT_FRACTIONS = (0.15, 0.27, 0.38, 0.5, 0.62, 0.73, 0.85)
# Cuts that look best by a cheap capsule and are then fitted in full.
_CUTS_FITTED = 3
# Points that stand for a patch while cuts are compared; the chosen cut is fitted on all points.
_PROBE_POINTS_MAX = 1000
# A patch smaller than this is not worth a cut: the overlap would be a visible part of it.
_PATCH_SIZE_MIN_M = 0.006
# A further volume on a link must save at least this share of the link's remaining excess.
MARGINAL_GAIN_MIN = 0.10


class LinkFields:
    """The excess of one link: every point, for looking closely, and a selection shared by all patches."""

    def __init__(self, triangles: Array) -> None:
        self.fine = ExcessField.around(triangles)
        self.whole = fit_capsule(hull_vertices(surface_points(triangles, points_max=_PROBE_POINTS_MAX)))
        self.shared = self.fine.near(self.whole, scale=1.2)


class Patch:
    """A part of a link's surface and the written volume that contains it."""

    def __init__(self, triangles: Array, fields: LinkFields) -> None:
        self.triangles = triangles
        self.fields = fields
        self.vertices = hull_vertices(triangles.reshape(-1, 3))
        self.capsule = fit_capsule(self.vertices)
        self.volume = volume_containing(self.vertices, self.capsule)
        self.field = fields.fine.near(self.capsule, scale=1.4)
        self.covered = fields.shared.covered(self.capsule)
        self._halves: tuple[Patch, Patch] | None = None
        self._cut_tried = False

    @property
    def halves(self) -> tuple[Patch, Patch] | None:
        """Two patches of the best cut found, which need not be better; None where no cut is possible."""
        if not self._cut_tried:
            self._halves = _best_cut(self)
            self._cut_tried = True
        return self._halves

    def quarters(self) -> list[Patch]:
        """Returns what remains after the halves are cut once more; empty where neither can be."""
        deeper = [part for half in self.halves or () for part in (half.halves or (half,))]
        return deeper if len(deeper) > 2 else []

    def with_core(self, capsule: Segment) -> Patch:
        """Returns the same surface in another volume."""
        other = Patch.__new__(Patch)
        other.triangles, other.fields, other.vertices = self.triangles, self.fields, self.vertices
        other.capsule = capsule
        other.volume = volume_containing(self.vertices, capsule)
        other.field, other.covered = self.field, self.fields.shared.covered(capsule)
        other._halves, other._cut_tried = self._halves, self._cut_tried
        return other

    def gain(self, others: Mask) -> float:
        """Returns the excess the best cut removes, given what the link's other volumes cover anyway."""
        if self.halves is None:
            return 0.0
        after = self.halves[0].covered | self.halves[1].covered
        shared = self.fields.shared
        return shared.weight(self.covered & ~others) - shared.weight(after & ~others)


@dataclass
class LinkCover:
    """The volumes of one link: exact ones for spheres and capsules, patches for everything else."""

    link: str
    exact: list[Volume]
    patches: list[Patch]

    @property
    def volumes(self) -> list[Volume]:
        """All volumes in writing order: by position, so that the order carries no history."""
        found = set(self.exact + [patch.volume for patch in self.patches])
        return sorted(found, key=lambda v: (v.xyz, v.rpy, v.length_m, v.radius_m))

    @property
    def count(self) -> int:
        """Number of volumes."""
        return len(self.exact) + len(self.patches)

    def gains(self) -> list[float]:
        """Returns per patch the excess its best cut would remove."""
        masks = np.array([patch.covered for patch in self.patches])
        times = masks.sum(axis=0)
        return [
            without_noise(patch.gain((times - mask) > 0))
            for patch, mask in zip(self.patches, masks, strict=True)
        ]

    def excess(self) -> float:
        """Returns the summed excess of all patches."""
        return self.patches[0].fields.shared.weight(np.any([patch.covered for patch in self.patches], axis=0))

    def replace(self, patch: Patch, patches: list[Patch]) -> None:
        """Puts other patches in the place of one."""
        index = next(i for i, own in enumerate(self.patches) if own is patch)
        self.patches[index : index + 1] = patches


def fit_link(shapes: LinkShapes, *, volumes_max: int, gain_min: float = MARGINAL_GAIN_MIN) -> LinkCover:
    """Returns the volumes of one link, cutting while a cut saves enough and the bound allows it."""
    exact = [
        volume_containing(np.array([capsule.start, capsule.end]), capsule, sphere_radius_m=capsule.radius_m)
        for capsule in shapes.round_shapes
    ]
    patches: list[Patch] = []
    if len(shapes.triangles):
        patches.append(Patch(shapes.triangles, LinkFields(shapes.triangles)))
    cover = LinkCover(shapes.link, exact, patches)
    while cover.patches and cover.count < volumes_max:
        gains = cover.gains()
        best = int(np.argmax(gains))
        if not gains[best] > 0.0 or gains[best] < gain_min * cover.excess():
            break
        cover.replace(cover.patches[best], list(cover.patches[best].halves or ()))
    return cover


def _best_cut(patch: Patch) -> tuple[Patch, Patch] | None:
    if float(extent(patch.triangles.reshape(-1, 3)).max()) < _PATCH_SIZE_MIN_M:
        return None
    probe = surface_points(patch.triangles, points_max=_PROBE_POINTS_MAX)
    cuts: list[tuple[float, int, Array, float]] = []
    for axis in _cut_axes(patch, probe):
        height = probe @ axis
        low, high = float(height.min()), float(height.max())
        if high - low < _PATCH_SIZE_MIN_M:
            continue
        for fraction in _CUT_FRACTIONS:
            offset = low + fraction * (high - low)
            sides = [probe[height <= offset], probe[height > offset]]
            if min(len(side) for side in sides) < 4:
                continue
            capsules = [cheap_capsule(side) for side in sides]
            cuts.append((without_noise(patch.field.excess(*capsules)), len(cuts), axis, offset))
    likely = sorted(cuts, key=lambda cut: cut[:2])[:_CUTS_FITTED]
    best: tuple[float, Array, float] | None = None
    for _, _, axis, offset in likely:
        height = probe @ axis
        sides = [probe[height <= offset], probe[height > offset]]
        capsules = [fit_capsule(hull_vertices(side), starts_kept=1) for side in sides]
        excess = without_noise(patch.field.excess(*capsules))
        if best is None or excess < best[0]:
            best = (excess, axis, offset)
    if best is None:
        return None
    low, high = (Patch(side, patch.fields) for side in cut_sides(patch.triangles, best[1], best[2]))
    return low, high


def _cut_axes(patch: Patch, probe: Array) -> list[Array]:
    axes = list(np.concatenate(frames_of(probe)))
    along = patch.capsule.end - patch.capsule.start
    length = float(np.linalg.norm(along))
    if length > 1e-6:
        axes.insert(0, along / length)
    return axes


def cut_sides(triangles: Array, axis: Array, offset: float) -> list[Array]:
    """Returns the triangles below and above a plane; both keep a little of the other."""
    return [clip(triangles, axis, offset + CUT_OVERLAP_M), clip(triangles, -axis, CUT_OVERLAP_M - offset)]
