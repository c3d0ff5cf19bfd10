# SPDX-License-Identifier: Apache-2.0
"""Distances written a second time, by listing every pair of features instead of minimising over parameters.

The nearest points of two segments are an end of one and a point of the other, or the foot points of the
common normal. The nearest points of a segment and a box that it misses are an end of the segment and a point
of the box, or a point of the segment and a point of an edge. Every candidate is a distance between two real
points, so none is below the true distance. `test_brute_force_itself.py` compares the result with Coal.
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
    """Returns the distance of each pair of segments; ends may coincide.

    The five pairs of parameters (two ends of each, and the foot points) are ranked by the squared distance
    written out in dot products; the distance itself is then taken between the two points, which keeps its
    digits.
    """
    u, v, w = a1 - a0, b1 - b0, a0 - b0
    uu, vv, uv, uw, vw = _dot(u, u), _dot(v, v), _dot(u, v), _dot(u, w), _dot(v, w)
    safe_u, safe_v = np.where(uu > 0.0, uu, 1.0), np.where(vv > 0.0, vv, 1.0)
    gram = uu * vv - uv * uv
    usable = gram > 1e-14 * uu * vv
    safe = np.where(usable, gram, 1.0)
    s_foot = np.where(usable, (uv * vw - vv * uw) / safe, -1.0)
    t_foot = (uu * vw - uv * uw) / safe
    inside = (s_foot >= 0.0) & (s_foot <= 1.0) & (t_foot >= 0.0) & (t_foot <= 1.0)

    best_s = np.zeros_like(uv)
    best_t = np.clip(vw / safe_v, 0.0, 1.0)
    best = best_t * (best_t * vv - 2 * vw)
    for s, t in (
        (1.0, np.clip((vw + uv) / safe_v, 0.0, 1.0)),
        (np.clip(-uw / safe_u, 0.0, 1.0), 0.0),
        (np.clip((uv - uw) / safe_u, 0.0, 1.0), 1.0),
        (np.where(inside, s_foot, 0.0), np.where(inside, t_foot, 0.0)),
    ):
        value = s * (s * uu + 2 * uw - 2 * t * uv) + t * (t * vv - 2 * vw)
        nearer = value < best
        best = np.where(nearer, value, best)
        best_s, best_t = np.where(nearer, s, best_s), np.where(nearer, t, best_t)
    return _length(w + best_s[..., None] * u - best_t[..., None] * v)


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


# Both ends of each of the twelve edges of the box with half extents 1.
_EDGES = np.array(
    [
        [np.insert(sides, axis, -1.0), np.insert(sides, axis, 1.0)]
        for axis in range(3)
        for sides in itertools.product((-1.0, 1.0), repeat=2)
    ]
)


def segment_box(a: Array, b: Array, half: Array) -> Array:
    """Returns the distance of each segment (N, 3), in the box's frame, from the box; 0 when they meet."""
    edges = _EDGES * half
    to_edges = segment_segment(a[None], b[None], edges[:, None, 0], edges[:, None, 1]).min(axis=0)
    best = np.minimum(np.minimum(point_box(a, half), point_box(b, half)), to_edges)
    return np.where(_crosses_box(a, b, half), 0.0, best)
