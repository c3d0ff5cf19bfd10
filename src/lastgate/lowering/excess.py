# SPDX-License-Identifier: Apache-2.0
"""How far a link's volumes stick out of its surface, summed over the space around it.

Only a heuristic: it decides where a cut is worth a volume. Containment is proved elsewhere.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from lastgate.lowering.distances import points_to_segment

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

# Cells along the longest side: fine enough to see a growth of 4 % of the link, cheap enough for every cut.
_CELLS = 24
# Cells added around the surface, for what sticks out.
_PADDING = 8


@dataclass(frozen=True)
class ExcessField:
    """Points outside a surface, each weighted by its distance to it."""

    points: Array
    weights: Array

    @staticmethod
    def around(triangles: Array) -> ExcessField:
        """Returns the field of a surface; whatever the surface encloses weighs nothing."""
        corners = triangles.reshape(-1, 3)
        low, size = corners.min(axis=0), np.ptp(corners, axis=0)
        cell_m = max(float(size.max()) / _CELLS, 1e-5)
        shape = tuple(int(math.ceil(extent / cell_m)) + 1 + 2 * _PADDING for extent in size)
        origin = low - _PADDING * cell_m
        wall = np.zeros(shape, dtype=bool)
        cells = np.floor((surface_samples(triangles, 0.5 * cell_m) - origin) / cell_m).astype(np.int64)
        wall[cells[:, 0], cells[:, 1], cells[:, 2]] = True
        regions, _ = ndimage.label(~wall)
        outside = regions == regions[0, 0, 0]
        distance_m = ndimage.distance_transform_edt(~wall) * cell_m
        index = np.argwhere(outside)
        return ExcessField(origin + (index + 0.5) * cell_m, distance_m[outside])

    def inside(self, start: Array, end: Array, radius_m: float) -> Mask:
        """Returns which points a capsule covers."""
        return points_to_segment(self.points, start, end) <= radius_m

    def near(self, start: Array, end: Array, radius_m: float) -> ExcessField:
        """Returns the part of the field a capsule covers."""
        covered = self.inside(start, end, radius_m)
        return ExcessField(self.points[covered], self.weights[covered])

    def weight(self, covered: Mask) -> float:
        """Returns the summed weight of the covered points."""
        return float(self.weights[covered].sum())


def surface_samples(triangles: Array, spacing_m: float) -> Array:
    """Returns points on every triangle, no farther apart than the spacing."""
    edges = triangles - np.roll(triangles, 1, axis=1)
    longest = np.sqrt(np.einsum("ijk,ijk->ij", edges, edges).max(axis=1))
    steps = np.clip(np.ceil(longest / spacing_m), 1, 200).astype(np.int64)
    found = []
    for count in np.unique(steps):
        group = triangles[steps == count]
        u, v = (grid.ravel() for grid in np.mgrid[0 : count + 1, 0 : count + 1] / count)
        keep = u + v <= 1.0 + 1e-12
        u, v = u[keep][None, :, None], v[keep][None, :, None]
        found.append(
            (group[:, :1] + u * (group[:, 1:2] - group[:, :1]) + v * (group[:, 2:] - group[:, :1])).reshape(-1, 3)
        )
    return np.concatenate(found)
