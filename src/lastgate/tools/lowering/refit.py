# SPDX-License-Identifier: Apache-2.0
"""Moves one volume away from what other links do in the sweep, keeping the surface it stands for inside."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lastgate.planning import _fitting
from lastgate.tools.lowering.capsule_fit import Segment, capsule_around, descend, volume_objective
from lastgate.tools.lowering.fit import Patch

Array = NDArray[np.float64]

# A state costs d / (d + half) with d counted from this distance on: a touch costs a third of a deep overlap, so
# that a descent sees both the last millimetre and the first.
NEAR_M = 0.002
HALF_M = 0.004
# What a volume as large as the whole link's single capsule costs, in states of the sweep: the world around the
# robot is not in the sweep, and room given away freely would be missed there.
_LINK_VOLUME_COST = 40.0
# Starts of the descent: where the volume is, and moved away from its partners by these shares of its radius.
_PUSHES = (0.0, 0.7)
# The cost has kinks; what thirty steps do not find is not worth another thirty.
_STEPS_MAX = 30
# The cost counts states of the sweep; a hundredth of one decides nothing.
_ACCURACY = 0.01
# Partner volumes a descent checks; a stride through all keeps them evenly spread.
PARTNERS_MAX = 1500


@dataclass(frozen=True)
class Partners:
    """Volumes of other links in a link's frame, as rows of start, end, radius; each stands for several."""

    rows: Array
    stride: int


def cost_of_depth(depth_m: Array) -> Array:
    """Returns what overlaps cost, 0 where volumes are apart; a touch is a depth of 0."""
    reached_m = np.maximum(depth_m + NEAR_M, 0.0)
    return np.where(depth_m >= 0.0, reached_m / (reached_m + HALF_M), 0.0)


def refit(patch: Patch, partners: Partners) -> Patch:
    """Returns the patch with the cheapest capsule found among partner volumes."""
    near, stride = np.ascontiguousarray(partners.rows), partners.stride
    scale_m3 = max(patch.fields.whole.volume_m3, 1e-12)

    def objective(row: Array) -> tuple[float, Array]:
        cost, gradient = _fitting.overlap_cost(np.ascontiguousarray(row), near, near_m=NEAR_M, half_m=HALF_M)
        volume, volume_gradient = volume_objective(row, scale_m3)
        return (
            stride * cost + _LINK_VOLUME_COST * volume,
            stride * gradient + _LINK_VOLUME_COST * volume_gradient,
        )

    best, least = patch.capsule, objective(patch.capsule.row)[0]
    _, slope = objective(patch.capsule.row)
    away = -(slope[:3] + slope[3:6])
    length = float(np.linalg.norm(away))
    for push in _PUSHES if length > 0.0 else _PUSHES[:1]:
        shift = away * (push * patch.capsule.radius_m / max(length, 1e-12))
        start = capsule_around(patch.vertices, patch.capsule.start + shift, patch.capsule.end + shift)
        found: Segment = descend(patch.vertices, start, objective, steps_max=_STEPS_MAX, accuracy=_ACCURACY)
        value = objective(found.row)[0]
        if value < least:
            best, least = found, value
    return patch if best is patch.capsule else patch.with_core(best)
