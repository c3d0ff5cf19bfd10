# SPDX-License-Identifier: Apache-2.0
"""Points that stand for a surface while cuts of it are compared; what is chosen is fitted on the surface itself."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lastgate.tools.lowering.extent import extent, lowest

Array = NDArray[np.float64]

# Triangles longer than this share of the part's extent get points between their vertices: a cut through a long one
# has no vertex near it.
_SPACING = 0.03
# Voxels along the longest side of the grid that thins points out, to begin with.
_VOXELS = 64


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
    """Returns a bounded number of points on a surface: the first in each voxel of a grid over it."""
    size_m = max(float(extent(triangles.reshape(-1, 3)).max()), 1e-9)
    return first_in_voxels(surface_samples(triangles, _SPACING * size_m), points_max=points_max)


def first_in_voxels(points: Array, *, points_max: int) -> Array:
    """Returns at most so many of the points, the first in each voxel of a grid that grows coarser until they fit."""
    low, size_m = lowest(points), max(float(extent(points).max()), 1e-9)
    voxels = _VOXELS
    while True:
        voxel = np.floor((points - low) / size_m * voxels).astype(np.int64)
        points = points[_first_of_each((voxel[:, 0] * 128 + voxel[:, 1]) * 128 + voxel[:, 2])]
        if len(points) <= points_max:
            return points
        voxels = voxels * 3 // 4


def _first_of_each(keys: NDArray[np.int64]) -> NDArray[np.int64]:
    """Returns where each key occurs first, in order; a table takes a third of the time that sorting does."""
    index = np.arange(len(keys))
    first = np.empty(int(keys.max()) + 1, dtype=np.int64)
    # Of several values for one place the last stays, so they come last to first.
    first[keys[::-1]] = index[::-1]
    return np.flatnonzero(first[keys] == index)
