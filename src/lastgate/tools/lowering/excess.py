# SPDX-License-Identifier: Apache-2.0
"""How far volumes stick out of a link's surface, summed over the space around it.

Only a heuristic: it decides where a capsule lies and where a cut is worth a volume. Containment is proved
elsewhere.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from lastgate.planning import _fitting
from lastgate.tools.lowering.capsule_fit import Segment
from lastgate.tools.lowering.distances import points_to_segment
from lastgate.tools.lowering.extent import extent, lowest
from lastgate.tools.lowering.surface_points import surface_samples

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

# Voxels of the grid around a link: about a millimetre for a finger, four for a long forearm.
_VOXELS = 400_000
_VOXEL_MIN_M = 0.0008
# Room around the surface for what sticks out, as a share of the longest side.
_PADDING = 0.3
# Points a single evaluation checks; a stride through all that lie near keeps them evenly spread.
_POINTS_MAX = 5000


@dataclass(frozen=True)
class ExcessField:
    """Points outside a surface in the order of their first coordinate, each weighted by its distance to it."""

    points: Array
    weights: Array

    @cached_property
    def _first_coordinates(self) -> Array:
        return self.points[:, 0].copy()

    @staticmethod
    def around(triangles: Array) -> ExcessField:
        """Returns the field of a surface; whatever the surface encloses weighs nothing and is left out."""
        vertices = triangles.reshape(-1, 3)
        low, size = lowest(vertices), extent(vertices)
        margin_m = max(_PADDING * float(size.max()), 2.0 * _VOXEL_MIN_M)
        voxel_m = max((float(np.prod(size + 2.0 * margin_m)) / _VOXELS) ** (1.0 / 3.0), _VOXEL_MIN_M)
        origin = low - margin_m
        shape = tuple(math.ceil(float(extent) / voxel_m) + 1 for extent in size + 2.0 * margin_m)
        wall = np.zeros(shape, dtype=bool)
        voxel_indices = np.floor((surface_samples(triangles, 0.5 * voxel_m) - origin) / voxel_m).astype(
            np.int64
        )
        wall[voxel_indices[:, 0], voxel_indices[:, 1], voxel_indices[:, 2]] = True
        regions, _ = ndimage.label(~wall)  # pyright: ignore[reportGeneralTypeIssues]
        outside = regions == regions[0, 0, 0]
        distance_m = ndimage.distance_transform_edt(~wall) * voxel_m
        index = np.argwhere(outside)
        return ExcessField(origin + (index + 0.5) * voxel_m, distance_m[outside])

    def near(self, capsule: Segment, *, scale: float) -> ExcessField:
        """Returns at most a bounded number of points within a multiple of a capsule's radius."""
        reach_m = scale * capsule.radius_m
        low, high = (
            np.minimum(capsule.start, capsule.end) - reach_m,
            np.maximum(capsule.start, capsule.end) + reach_m,
        )
        first = int(np.searchsorted(self._first_coordinates, low[0], side="left"))
        last = int(np.searchsorted(self._first_coordinates, high[0], side="right"))
        inside = np.ones(max(last - first, 0), dtype=bool)
        for axis in (1, 2):
            along = self.points[first:last, axis]
            inside &= (along >= low[axis]) & (along <= high[axis])
        chosen = first + np.flatnonzero(inside)
        chosen = chosen[points_to_segment(self.points[chosen], capsule.start, capsule.end) <= reach_m]
        stride = max(1, math.ceil(len(chosen) / _POINTS_MAX))
        return ExcessField(self.points[chosen[::stride]], self.weights[chosen[::stride]])

    def covered(self, capsule: Segment) -> Mask:
        """Returns which points a capsule covers."""
        return _fitting.covered(self.points, capsule.row[None])

    def excess(self, *capsules: Segment) -> float:
        """Returns the summed weight of what capsules cover together."""
        return self.weight(_fitting.covered(self.points, np.array([capsule.row for capsule in capsules])))

    def weight(self, covered: Mask) -> float:
        """Returns the summed weight of the covered points."""
        return float(self.weights[covered].sum())
