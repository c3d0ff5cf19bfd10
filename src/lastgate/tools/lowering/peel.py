# SPDX-License-Identifier: Apache-2.0
"""Cuts a layer off one side of a patch and lays it in strips.

A capsule around a flat side bulges out of it, and so do the capsules of its halves: the first cut of a flat side
sets nothing free, only several together do. A layer in narrow strips follows the side closely.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lastgate.planning import _fitting
from lastgate.tools.lowering.capsule_fit import Segment, cheap_capsule, frames_of
from lastgate.tools.lowering.fit import Patch, cut_sides
from lastgate.tools.lowering.refit import HALF_M, NEAR_M, Partners, cost_of_depth
from lastgate.tools.lowering.surface_points import surface_points
from lastgate.tools.lowering.ties import without_noise

Array = NDArray[np.float64]

# How thick a layer may be, as shares of the patch's extent, and in how many strips it may lie. All of it is a layer
# too: nothing is left behind it.
_THICKNESSES = (0.15, 0.3, 1.0)
_STRIPS = (2, 3, 5)
# Points that stand for the patch while layers are compared.
_POINTS_MAX = 600
# A layer thinner than this is not worth cutting: the overlap of cuts would be a visible part of it.
_LAYER_MIN_M = 0.004


@dataclass(frozen=True)
class _Layer:
    outwards: Array
    offset: float  # the layer lies where outwards . x >= offset
    is_whole: bool  # nothing lies below the offset
    across: Array
    borders: tuple[float, ...]  # between strips, along `across`


def peeled(patch: Patch, partners: Partners, *, added_max: int) -> list[Patch]:
    """Returns the strips of the layer that costs least per volume added and the rest, or nothing if none helps."""
    points = surface_points(patch.triangles, points_max=_POINTS_MAX)
    whole = _cost([patch.capsule], partners)
    best: tuple[float, _Layer] | None = None
    for layer in _layers(points, _towards(patch.capsule, partners), added_max):
        parts = [points[inside] for inside in _inside(points, layer)]
        if layer.is_whole:
            parts = parts[1:]
        if len(parts) < 2 or min(len(part) for part in parts) < 4:
            continue
        gain = without_noise(
            (whole - _cost([cheap_capsule(part) for part in parts], partners)) / (len(parts) - 1)
        )
        if gain > 0.0 and (best is None or gain > best[0]):
            best = (gain, layer)
    return [] if best is None else _cut(patch, best[1])


def _towards(capsule: Segment, partners: Partners) -> Array:
    """Returns the direction in which the volumes that a capsule overlaps lie, all in all."""
    _, slope = _fitting.overlap_cost(
        capsule.row, np.ascontiguousarray(partners.rows), near_m=NEAR_M, half_m=HALF_M
    )
    return np.asarray(slope[:3] + slope[3:6])


def _layers(points: Array, towards: Array, added_max: int) -> list[_Layer]:
    found: list[_Layer] = []
    for frame in frames_of(points):
        for index, axis in enumerate(frame):
            for outwards in (axis, -axis):
                if float(outwards @ towards) < 0.0:
                    continue
                height = points @ outwards
                low, high = float(height.min()), float(height.max())
                for share in _THICKNESSES:
                    if share * (high - low) < _LAYER_MIN_M:
                        continue
                    offset = high - share * (high - low) if share < 1.0 else -np.inf
                    above = points[height >= offset]
                    for side in (index - 2, index - 1):
                        along = above @ frame[side]
                        for strips in _STRIPS:
                            if strips - (share == 1.0) > added_max:
                                continue
                            borders = np.linspace(float(along.min()), float(along.max()), strips + 1)[1:-1]
                            found.append(
                                _Layer(outwards, offset, share == 1.0, frame[side], tuple(borders.tolist()))
                            )
    return found


def _inside(points: Array, layer: _Layer) -> list[NDArray[np.bool_]]:
    above = points @ layer.outwards >= layer.offset
    strip = np.searchsorted(np.array(layer.borders), points @ layer.across)
    return [~above, *(above & (strip == index) for index in range(len(layer.borders) + 1))]


def _cost(capsules: list[Segment], partners: Partners) -> float:
    """Returns what capsules cost together: each partner counts by the one that is deepest in it."""
    rows = np.array([capsule.row for capsule in capsules])
    pose = np.eye(3, 4)[None]
    clearance = _fitting.clearances(pose, rows, np.ascontiguousarray(partners.rows))[0]
    return float(cost_of_depth(-clearance.min(axis=0)).sum())


def _cut(patch: Patch, layer: _Layer) -> list[Patch]:
    rest, above = np.empty((0, 3, 3)), patch.triangles
    if not layer.is_whole:
        rest, above = cut_sides(patch.triangles, layer.outwards, layer.offset)
    strips: list[Array] = []
    for border in layer.borders:
        strip, above = cut_sides(above, layer.across, border)
        strips.append(strip)
    return [Patch(part, patch.fields) for part in (rest, *strips, above) if len(part)]
