# SPDX-License-Identifier: Apache-2.0
"""Distances written a second time, by listing every pair of features instead of minimising over parameters.

The nearest points of two segments are an end of one and a point of the other, or the foot points of the common
normal. The nearest points of a segment and a box that it misses are an end of the segment and a point of the box,
or a point of the segment and a point of an edge. Every candidate is a distance between two real points, so none is
below the true distance. `test_brute_force_itself.py` compares the result with Coal.
"""

import itertools

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def _dot(a: Array, b: Array) -> Array:
    return np.einsum("...i,...i->...", a, b)


def _length(a: Array) -> Array:
    return np.sqrt(_dot(a, a))


def point_segment(point: Array, a: Array, b: Array) -> Array:
    """Returns the distance of each point from each segment."""
    along = b - a
    length2 = _dot(along, along)
    share = np.clip(_dot(point - a, along) / np.where(length2 > 0.0, length2, 1.0), 0.0, 1.0)
    return _length(a + share[..., None] * along - point)


def segment_segment(a0: Array, a1: Array, b0: Array, b1: Array) -> Array:
    """Returns the distance of each pair of segments; ends may coincide."""
    ends = np.minimum(
        np.minimum(point_segment(a0, b0, b1), point_segment(a1, b0, b1)),
        np.minimum(point_segment(b0, a0, a1), point_segment(b1, a0, a1)),
    )
    u, v, w = a1 - a0, b1 - b0, a0 - b0
    uu, vv, uv, uw, vw = _dot(u, u), _dot(v, v), _dot(u, v), _dot(u, w), _dot(v, w)
    gram = uu * vv - uv * uv
    usable = gram > 1e-14 * uu * vv
    safe = np.where(usable, gram, 1.0)
    s = np.where(usable, (uv * vw - vv * uw) / safe, 0.0)
    t = np.where(usable, (uu * vw - uv * uw) / safe, 0.0)
    inside = usable & (s >= 0.0) & (s <= 1.0) & (t >= 0.0) & (t <= 1.0)
    normal = _length(w + s[..., None] * u - t[..., None] * v)
    return np.where(inside, np.minimum(ends, normal), ends)


def point_box(point: Array, half: Array) -> Array:
    """Returns the distance of each point from a box centred in its frame; 0 inside."""
    return _length(np.maximum(np.abs(point) - half, 0.0))


def _crosses_box(a: Array, b: Array, half: Array) -> NDArray[np.bool_]:
    along = b - a
    moving = along != 0.0
    safe = np.where(moving, along, 1.0)
    first, second = (-half - a) / safe, (half - a) / safe
    always = np.abs(a) <= half
    enter = np.where(moving, np.minimum(first, second), np.where(always, -np.inf, np.inf))
    leave = np.where(moving, np.maximum(first, second), np.where(always, np.inf, -np.inf))
    return np.maximum(enter.max(axis=-1), 0.0) <= np.minimum(leave.min(axis=-1), 1.0)


_EDGES = tuple(
    (axis, signs) for axis in range(3) for signs in itertools.product((-1.0, 1.0), repeat=2)
)


def segment_box(a: Array, b: Array, half: Array) -> Array:
    """Returns the distance of each segment, in the box's frame, from the box; 0 when they meet."""
    best = np.minimum(point_box(a, half), point_box(b, half))
    for axis, signs in _EDGES:
        start = np.empty(3)
        start[[k for k in range(3) if k != axis]] = np.array(signs) * half[[k for k in range(3) if k != axis]]
        end = start.copy()
        start[axis], end[axis] = -half[axis], half[axis]
        best = np.minimum(best, segment_segment(a, b, start, end))
    return np.where(_crosses_box(a, b, half), 0.0, best)
