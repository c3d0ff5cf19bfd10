# SPDX-License-Identifier: Apache-2.0
"""Small pictures of a cloud and of a 2-D map, made of pixels: drawn every second, so no plotting library."""

import struct
import zlib

import numpy as np
from numpy.typing import NDArray

from lastgate.contracts.arrays import Float64
from lastgate.world import OccupancyGridIndex
from lastgate.world.occupancy_grid import UNKNOWN_CELL

# A card on a page; two bytes of PNG per ten pixels or so.
_WIDTH, _HEIGHT = 480, 360
# From behind and above, looking ahead: x of the base goes up in the picture.
_CAMERA_XYZ = np.array([-2.2, 0.0, 1.8])
_AIMS_AT_XYZ = np.array([0.6, 0.0, 0.3])
_FOCAL = 430.0
_BACKGROUND = (18, 22, 30)
_GRID_EDGE_MAX = 1024

UInt8 = NDArray[np.uint8]


def png_of(pixels: UInt8) -> bytes:
    """Returns an RGB image (height, width, 3) as PNG."""
    height, width, _ = pixels.shape
    lines = np.concatenate([np.zeros((height, 1), np.uint8), pixels.reshape(height, -1)], axis=1)
    parts = (
        (b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)),
        (b"IDAT", zlib.compress(lines.tobytes(), 6)),
        (b"IEND", b""),
    )
    chunks = [
        struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
        for name, data in parts
    ]
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)


def cloud_png(xyz: Float64) -> bytes:
    """Returns a cloud as seen from behind and above the robot, coloured by distance from its base."""
    pixels = np.empty((_HEIGHT, _WIDTH, 3), np.uint8)
    pixels[:] = _BACKGROUND
    _draw_floor(pixels)
    _draw_points(pixels, xyz, _distance_colours(xyz), size=2)
    return png_of(pixels)


def grid_png(grid: OccupancyGridIndex) -> bytes:
    """Returns a 2-D map with north up: free white, blocked dark, unknown grey. Large maps are thinned, never cropped;
    a pixel is blocked if one of its cells is.
    """
    height, width = grid.data.shape
    shade = np.full((height, width), 255, np.uint8)
    shade[grid.data == UNKNOWN_CELL] = 150
    shade[grid.blocked & (grid.data != UNKNOWN_CELL)] = 30
    step = -(-max(height, width) // _GRID_EDGE_MAX)
    if step > 1:
        rows, columns = -(-height // step), -(-width // step)
        padded = np.full((rows * step, columns * step), 255, np.uint8)
        padded[:height, :width] = shade
        shade = padded.reshape(rows, step, columns, step).min(axis=(1, 3))
    return png_of(np.ascontiguousarray(np.repeat(shade[::-1, :, None], 3, axis=2)))


def _projected(xyz: Float64) -> tuple[Float64, Float64, Float64]:
    forward = _AIMS_AT_XYZ - _CAMERA_XYZ
    forward = forward / np.linalg.norm(forward)
    right = np.cross(forward, [0.0, 0.0, 1.0])
    right = right / np.linalg.norm(right)
    up = np.cross(right, forward)
    seen = xyz - _CAMERA_XYZ
    depth = seen @ forward
    safe = np.where(depth > 0.05, depth, np.inf)
    return _WIDTH / 2 + _FOCAL * (seen @ right) / safe, _HEIGHT / 2 - _FOCAL * (seen @ up) / safe, depth


def _draw_points(pixels: UInt8, xyz: Float64, colours: UInt8, *, size: int) -> None:
    if not len(xyz):
        return
    column, row, depth = _projected(xyz)
    far_first = np.argsort(-depth)
    far_first = far_first[depth[far_first] > 0.05]
    for right in range(size):
        for down in range(size):
            x = column[far_first].astype(np.int64) + right
            y = row[far_first].astype(np.int64) + down
            inside = (x >= 0) & (x < _WIDTH) & (y >= 0) & (y < _HEIGHT)
            pixels[y[inside], x[inside]] = colours[far_first][inside]


def _draw_floor(pixels: UInt8) -> None:
    along = np.linspace(-2.0, 2.0, 400)
    lines = [np.column_stack([np.full(400, at), along, np.zeros(400)]) for at in np.arange(-2.0, 2.1, 0.5)]
    lines += [line[:, [1, 0, 2]] for line in lines]
    floor = np.concatenate(lines)
    _draw_points(pixels, floor, np.full((len(floor), 3), 58, np.uint8), size=1)
    base = np.array([[0.0, 0.0, 0.0]])
    _draw_points(pixels, base, np.full((1, 3), 255, np.uint8), size=5)


def _distance_colours(xyz: Float64) -> UInt8:
    # Near is warm, far is cool.
    t = np.clip(np.linalg.norm(xyz, axis=1) / 2.5, 0.0, 1.0)[:, None]
    stops = np.array([[255, 92, 60], [250, 200, 70], [70, 190, 200], [70, 90, 210]], dtype=np.float64)
    place = t * (len(stops) - 1)
    first = np.minimum(place.astype(np.int64), len(stops) - 2)
    mixed = stops[first[:, 0]] * (1 - (place - first)) + stops[first[:, 0] + 1] * (place - first)
    return mixed.astype(np.uint8)
