# SPDX-License-Identifier: Apache-2.0
"""Which voxels a camera looked through: the conservative half of carving."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from lastgate.contracts.arrays import Float64
from lastgate.world.grid_layout import GridLayout
from lastgate.world.rigid_motion import moved

# Nearer than this the outline of a voxel on the image grows without bound, and no camera measures there.
NEAR_PLANE_M = 1e-6

# Voxels decided together: 48 bytes each make 192 MiB.
VOXELS_PER_BATCH = 4 * 1024 * 1024

Pixels = NDArray[np.intp]


def seen_through(
    layout: GridLayout,
    *,
    trusted_m: Float64,
    focal: tuple[float, float],
    centre: tuple[float, float],
    layout_in_camera: Float64,
    pixel_margin: int,
) -> NDArray[np.bool_]:
    """Returns (z, y, x): true where all of a voxel is nearer than `trusted_m` at every pixel it may cover.

    All of a voxel projects into the rectangle around its eight projected vertices, because a voxel in front of
    the camera is convex and so is its image. Its farthest depth is that of a vertex.
    """
    height, width = trusted_m.shape
    # Compared as numbers, then turned into indices: an outline may be infinitely far off the image.
    stop = np.array([width, height]) - pixel_margin
    empty = np.zeros(layout.voxel_count, dtype=bool)
    waiting: list[tuple[Pixels, Pixels, Float64]] = []
    waiting_count = 0
    for layer, (first, last, farthest_m) in enumerate(
        _voxel_outlines(layout, focal, centre, layout_in_camera)
    ):
        inside = (first >= pixel_margin).all(axis=-1) & (last < stop).all(axis=-1)
        window = np.concatenate([first[inside] - pixel_margin, last[inside] + pixel_margin], axis=1)
        voxel_indices = np.flatnonzero(inside) + layer * inside.size
        waiting.append((voxel_indices, window.astype(np.intp), farthest_m[inside]))
        waiting_count += len(voxel_indices)
        # Many together, because they share tables; not all of a large grid, to stay within memory.
        if waiting_count > VOXELS_PER_BATCH or layer == layout.size_xyz[2] - 1:
            voxel_indices, windows, depths_m = (np.concatenate(parts) for parts in zip(*waiting, strict=True))
            empty[voxel_indices] = depths_m < _window_minimum(trusted_m, windows)
            waiting, waiting_count = [], 0
    return empty.reshape(layout.shape)


def _voxel_outlines(
    layout: GridLayout, focal: tuple[float, float], centre: tuple[float, float], layout_in_camera: Float64
) -> Iterator[tuple[Float64, Float64, Float64]]:
    """Yields, layer by layer, first and last pixel (y, x, 2) and farthest depth of every voxel.

    The pixels of a voxel that is not entirely in front of the camera are NaN, which is inside of nothing.
    """
    x, y, z = (layout.edges_m(axis) for axis in range(3))
    plane = np.stack(np.broadcast_arrays(x[None, :], y[:, None], 0.0), axis=-1).reshape(-1, 3)
    below: tuple[Float64, Float64, Float64] | None = None
    for height_m in z:
        vertices = moved(plane + np.array([0.0, 0.0, height_m]), layout_in_camera).reshape(len(y), len(x), 3)
        depth = vertices[..., 2]
        ahead = np.where(depth > NEAR_PLANE_M, depth, np.nan)
        pixel = vertices[..., :2] / ahead[..., None] * focal + centre
        above = _of_four(np.minimum, pixel), _of_four(np.maximum, pixel), _of_four(np.maximum, depth)
        if below is not None:
            low, high = np.minimum(below[0], above[0]), np.maximum(below[1], above[1])
            # A pixel covers half a pixel around its centre, which is at a whole number.
            yield np.floor(low + 0.5), np.floor(high + 0.5), np.maximum(below[2], above[2])
        below = above


def _of_four(choose: np.ufunc, vertices: Float64) -> Float64:
    """Returns the least or the most of the four vertices of every face in a plane; NaN if one is NaN."""
    rows = choose(vertices[:-1], vertices[1:])
    return choose(rows[:, :-1], rows[:, 1:])


def _window_minimum(image: Float64, windows: Pixels) -> Float64:
    """Returns the minimum of an image over windows inside it: first u, first v, last u, last v, inclusive.

    Windows of similar size share a table of minima over blocks of a power of two; four blocks cover one.
    """
    found = np.empty(len(windows))
    levels = (
        np.log2(windows[:, 2:] - windows[:, :2] + 1).astype(np.intp)
        if len(windows)
        else np.empty((0, 2), np.intp)
    )
    kind = levels[:, 0] * 64 + levels[:, 1]
    for one in np.unique(kind):
        chosen = np.flatnonzero(kind == one)
        u_level, v_level = int(one) // 64, int(one) % 64
        table = _block_minimum(_block_minimum(image, u_level, axis=1), v_level, axis=0)
        u0, v0 = windows[chosen, 0], windows[chosen, 1]
        u1, v1 = windows[chosen, 2] - 2**u_level + 1, windows[chosen, 3] - 2**v_level + 1
        found[chosen] = np.minimum.reduce([table[v0, u0], table[v0, u1], table[v1, u0], table[v1, u1]])
    return found


def _block_minimum(image: Float64, level: int, *, axis: int) -> Float64:
    """Returns the minimum over 2**level values from each place on; the last places, which have fewer, are
    left out.
    """
    table = image
    for step in range(level):
        stop = table.shape[axis] - 2**step
        head = table.take(range(stop), axis=axis) if axis else table[:stop]
        tail = table.take(range(2**step, 2**step + stop), axis=axis) if axis else table[2**step :]
        table = np.minimum(head, tail)
    return table
