# SPDX-License-Identifier: Apache-2.0
"""Distances of segments (the axes of spheres and capsules) from shapes, over arrays of any leading shape."""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
_TINY = 1e-300


def _dot(a: Array, b: Array) -> Array:
    return np.einsum("...i,...i->...", a, b)


def point_segment(point: Array, a: Array, b: Array) -> Array:
    """Returns the distance of points from segments a to b."""
    along = b - a
    share = np.clip(_dot(point - a, along) / np.maximum(_dot(along, along), _TINY), 0.0, 1.0)
    apart = point - a - share[..., None] * along
    return np.sqrt(_dot(apart, apart))


def segment_segment(a: Array, b: Array, c: Array, d: Array) -> Array:
    """Returns the distance between segments ab and cd: the smallest of the interior candidate and the four ends."""
    u, v, w = b - a, d - c, a - c
    uu, uv, vv, uw, vw = _dot(u, u), _dot(u, v), _dot(v, v), _dot(u, w), _dot(v, w)
    determinant = uu * vv - uv * uv
    safe = np.where(determinant > 0.0, determinant, 1.0)
    s = np.clip(np.where(determinant > 0.0, (uv * vw - vv * uw) / safe, 0.0), 0.0, 1.0)
    t = np.clip((uv * s + vw) / np.maximum(vv, _TINY), 0.0, 1.0)
    apart = w + s[..., None] * u - t[..., None] * v
    best = np.sqrt(_dot(apart, apart))
    for point, low, high in ((a, c, d), (b, c, d), (c, a, b), (d, a, b)):
        best = np.minimum(best, point_segment(point, low, high))
    return best


def segment_box(a: Array, b: Array, half: Array) -> Array:
    """Returns the distance of segments, in the frame of boxes centred on the origin, from boxes of half sizes `half`.

    The squared distance along the segment is convex and piecewise quadratic with breaks where a coordinate crosses
    a face; its derivative is linear between breaks, so the minimum is found exactly.
    """
    along = b - a
    safe = np.where(np.abs(along) > 1e-15, along, 1.0)
    crossings = [np.where(np.abs(along) > 1e-15, (side * half - a) / safe, 0.0) for side in (-1.0, 1.0)]
    breaks = np.clip(np.concatenate(crossings, axis=-1), 0.0, 1.0)
    ends = np.zeros((*breaks.shape[:-1], 1))
    breaks = np.sort(np.concatenate([ends, breaks, ends + 1.0], axis=-1), axis=-1)

    def beyond(share: Array) -> Array:
        at = a[..., None, :] + share[..., :, None] * along[..., None, :]
        return at - np.clip(at, -half[..., None, :], half[..., None, :])

    slope = np.einsum("...ki,...i->...k", beyond(breaks), along)
    # The last break at which the distance still falls; between it and the next the derivative is linear.
    last = np.clip((slope <= 0.0).sum(axis=-1) - 1, 0, breaks.shape[-1] - 2)[..., None]
    low, high = np.take_along_axis(breaks, last, -1), np.take_along_axis(breaks, last + 1, -1)
    at_low, at_high = np.take_along_axis(slope, last, -1), np.take_along_axis(slope, last + 1, -1)
    rise = at_high - at_low
    share = np.clip(
        low - np.where(rise > 0.0, at_low / np.where(rise > 0.0, rise, 1.0), 0.0) * (high - low), 0, 1
    )
    candidates = np.concatenate([share, low, high], axis=-1)
    apart = beyond(candidates)
    return np.sqrt(_dot(apart, apart).min(axis=-1))


def inside_box(a: Array, b: Array, half: Array) -> Array:
    """Returns how deep a segment lies inside a box of half sizes `half`; negative where an end is outside."""
    return np.minimum((half - np.abs(a)).min(axis=-1), (half - np.abs(b)).min(axis=-1))


def polygon_contains(vertices: Array, points: Array) -> NDArray[np.bool_]:
    """Tells which points (N, 2) lie inside a polygon (C, 2), by counting crossings of a ray."""
    x, y = points[:, 0][:, None], points[:, 1][:, None]
    following = np.roll(vertices, -1, axis=0)
    straddles = (vertices[:, 1] > y) != (following[:, 1] > y)
    rise = np.where(following[:, 1] != vertices[:, 1], following[:, 1] - vertices[:, 1], 1.0)
    crossing = vertices[:, 0] + (y - vertices[:, 1]) / rise * (following[:, 0] - vertices[:, 0])
    return (straddles & (x < crossing)).sum(axis=1) % 2 == 1
