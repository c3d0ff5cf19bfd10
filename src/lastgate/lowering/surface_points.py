# SPDX-License-Identifier: Apache-2.0
"""Points that stand for a surface while cuts of it are compared; what is chosen is fitted on the surface itself."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

# Triangles longer than this share of the part's extent get points between their corners: a cut through a long one
# has no corner near it.
_SPACING = 0.03
# Cells along the longest side of the grid that thins points out, to begin with.
_CELLS = 64


def surface_samples(triangles: Array, spacing_m: float) -> Array:
    """Returns points on every triangle, no farther apart than the spacing."""
    edges = triangles - np.roll(triangles, 1, axis=1)
    longest = np.sqrt(np.einsum("ijk,ijk->ij", edges, edges).max(axis=1))
    steps = np.clip(np.ceil(longest / spacing_m), 1, 400).astype(np.int64)
    found = []
    for count in np.unique(steps):
        group = triangles[steps == count]
        u, v = (grid.ravel() for grid in np.mgrid[0 : count + 1, 0 : count + 1] / count)
        keep = u + v <= 1.0 + 1e-12
        u, v = u[keep][None, :, None], v[keep][None, :, None]
        found.append(
            (group[:, :1] + u * (group[:, 1:2] - group[:, :1]) + v * (group[:, 2:] - group[:, :1])).reshape(
                -1, 3
            )
        )
    return np.concatenate(found)


def surface_points(triangles: Array, *, points_max: int) -> Array:
    """Returns a bounded number of points on a surface: the first in each cell of a grid over it."""
    size_m = max(float(np.ptp(triangles.reshape(-1, 3), axis=0).max()), 1e-9)
    return first_in_cells(surface_samples(triangles, _SPACING * size_m), points_max=points_max)


def first_in_cells(points: Array, *, points_max: int) -> Array:
    """Returns at most so many of the points, the first in each cell of a grid that grows coarser until they fit."""
    low, size_m = points.min(axis=0), max(float(np.ptp(points, axis=0).max()), 1e-9)
    cells = _CELLS
    while True:
        cell = np.floor((points - low) / size_m * cells).astype(np.int64)
        _, first = np.unique((cell[:, 0] * 128 + cell[:, 1]) * 128 + cell[:, 2], return_index=True)
        points = points[np.sort(first)]
        if len(points) <= points_max:
            return points
        cells = cells * 3 // 4
