# SPDX-License-Identifier: Apache-2.0
"""Lists the voxels that boxes reach into, in batches of bounded memory."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from lastgate.contracts.arrays import Float64
from lastgate.world.grid_layout import GridLayout

# Pairs of box and voxel checked together: at some two hundred bytes each this stays below 256 MiB, and is
# long enough that the loop around it does not count.
PAIRS_PER_BATCH = 1024 * 1024

Indices = NDArray[np.intp]


def reached_voxels(
    layout: GridLayout, *, low_xyz: Float64, high_xyz: Float64
) -> Iterator[tuple[Indices, Indices]]:
    """Yields (box, voxel) index pairs, x fastest, for all voxels that boxes [low, high] (N, 3) reach into.

    A box that ends exactly on a voxel boundary reaches into the voxel above, and one that begins there does not reach
    into the voxel below: for touching voxels too, the caller passes the boxes grown by `layout.slack_m`.
    """
    size = np.array(layout.size_xyz)
    # Clipped as numbers before they become indices: a box kilometres wide must not overflow an integer.
    first = np.floor((low_xyz - layout.origin_xyz) / layout.resolution_m).clip(-1, size)
    last = np.floor((high_xyz - layout.origin_xyz) / layout.resolution_m).clip(-1, size)
    first, last = np.maximum(first, 0).astype(np.intp), np.minimum(last, size - 1).astype(np.intp)
    box = np.flatnonzero((first <= last).all(axis=1))
    # One item per box and layer, so that no item is larger than one layer of the grid.
    layers = (last - first)[box, 2] + 1
    item_box = np.repeat(box, layers)
    item_z = first[item_box, 2] + _count_up(layers)
    width, rows = (last - first)[item_box, 0] + 1, (last - first)[item_box, 1] + 1
    for items in _batches(width * rows):
        voxels_of = width[items] * rows[items]
        step = _count_up(voxels_of)
        of = np.repeat(items, voxels_of)
        boxes = item_box[of]
        x = first[boxes, 0] + step % width[of]
        y = first[boxes, 1] + step // width[of]
        yield boxes, (item_z[of] * size[1] + y) * size[0] + x


def _count_up(lengths: Indices) -> Indices:
    """Returns 0, 1, … for each length, one after the other."""
    if not lengths.size:
        return np.empty(0, dtype=np.intp)
    ends = np.cumsum(lengths)
    return np.arange(ends[-1]) - np.repeat(ends - lengths, lengths)


def _batches(lengths: Indices) -> Iterator[Indices]:
    ends = np.cumsum(lengths)
    start = 0
    while start < len(lengths):
        done = ends[start - 1] if start else 0
        stop = max(start + 1, int(np.searchsorted(ends, done + PAIRS_PER_BATCH, side="right")))
        yield np.arange(start, stop)
        start = stop
