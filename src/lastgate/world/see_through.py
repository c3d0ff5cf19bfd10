# SPDX-License-Identifier: Apache-2.0
"""Which cells a camera looked through: the conservative half of carving."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from lastgate.arrays import Float64
from lastgate.world.grid_layout import GridLayout
from lastgate.world.rigid_motion import moved

# Nearer than this the outline of a cell on the image grows without bound, and no camera measures there.
NEAR_PLANE_M = 1e-6

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
    """Returns (z, y, x): true where a cell is nearer, all of it, than `trusted_m` at every pixel it may
    cover.

    All of a cell projects into the rectangle around its eight projected corners, because a cell in front of
    the camera is convex and so is its image. Its farthest depth is that of a corner.
    """
    height, width = trusted_m.shape
    empty = np.zeros(layout.shape, dtype=bool)
    outlines: list[tuple[NDArray[np.intp], Pixels, Float64]] = []
    for layer, (first, last, farthest_m, in_front) in enumerate(
        _cell_outlines(layout, focal, centre, layout_in_camera)
    ):
        # Compared as numbers, then turned into indices: an outline may be infinitely far off the image.
        inside = (
            in_front
            & (first >= pixel_margin).all(axis=-1)
            & (last < np.array([width, height]) - pixel_margin).all(axis=-1)
        )
        cells = np.flatnonzero(inside)
        window = np.concatenate([first[inside] - pixel_margin, last[inside] + pixel_margin], axis=1).astype(
            np.intp
        )
        outlines.append((cells + layer * inside.size, window, farthest_m[inside]))
    cells, windows, farthest_m = (np.concatenate(parts) for parts in zip(*outlines, strict=True))
    empty.reshape(-1)[cells] = farthest_m < _window_minimum(trusted_m, windows)
    return empty


def _cell_outlines(
    layout: GridLayout, focal: tuple[float, float], centre: tuple[float, float], layout_in_camera: Float64
) -> Iterator[tuple[Float64, Float64, Float64, NDArray[np.bool_]]]:
    """Yields, layer by layer, first and last pixel (y, x, 2), farthest depth and whether all corners are in
    front.
    """
    x, y, z = (layout.edges_m(axis) for axis in range(3))
    plane = np.stack(np.broadcast_arrays(x[None, :], y[:, None], 0.0), axis=-1).reshape(-1, 3)
    below: tuple[Float64, Float64] | None = None
    for height_m in z:
        corners = moved(plane + np.array([0.0, 0.0, height_m]), layout_in_camera).reshape(len(y), len(x), 3)
        depth = corners[..., 2]
        ahead = np.where(depth > NEAR_PLANE_M, depth, np.nan)
        pixel = corners[..., :2] / ahead[..., None] * focal + centre
        above = pixel, depth
        if below is not None:
            low, high, farthest, nearest = _around_cells(below, above)
            # A pixel covers half a pixel around its centre, which is at a whole number.
            yield np.floor(low + 0.5), np.floor(high + 0.5), farthest, nearest > NEAR_PLANE_M
        below = above


def _around_cells(
    below: tuple[Float64, Float64], above: tuple[Float64, Float64]
) -> tuple[Float64, Float64, Float64, Float64]:
    """Returns, per cell of a layer, lowest and highest pixel, farthest and nearest depth of its eight
    corners.
    """

    def eight(values: tuple[Float64, Float64]) -> list[Float64]:
        return [
            plane[j : plane.shape[0] - 1 + j, i : plane.shape[1] - 1 + i]
            for plane in values
            for j in (0, 1)
            for i in (0, 1)
        ]

    pixels, depths = eight((below[0], above[0])), eight((below[1], above[1]))
    return (
        np.minimum.reduce(pixels),
        np.maximum.reduce(pixels),
        np.maximum.reduce(depths),
        np.minimum.reduce(depths),
    )


def _window_minimum(image: Float64, windows: Pixels) -> Float64:
    """Returns the minimum of an image over inclusive windows (first u, first v, last u, last v), all inside
    it.

    Windows of similar size share one table of minima over blocks of a power of two; four blocks cover a
    window.
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
