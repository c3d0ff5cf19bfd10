# SPDX-License-Identifier: Apache-2.0
"""Distances between points and segments, and between segments, for whole batches of configurations."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

# Squared lengths below this are points; it is far under the square of any written decimal (1e-4 m).
_POINT_LENGTH_SQUARED = 1e-18


def points_to_segment(points: Array, start: Array, end: Array) -> Array:
    """Returns the distance of each point (n, 3) to one segment."""
    along = end - start
    length_squared = float(along @ along)
    offset = points - start
    if length_squared < _POINT_LENGTH_SQUARED:
        return np.sqrt(np.einsum("ij,ij->i", offset, offset))
    fraction = np.clip(offset @ along / length_squared, 0.0, 1.0)
    rest = offset - fraction[:, None] * along
    return np.sqrt(np.einsum("ij,ij->i", rest, rest))


def segments_to_segments(start_a: Array, end_a: Array, start_b: Array, end_b: Array) -> Array:
    """Returns the distance between segments, broadcasting over leading axes; points are segments of length 0.

    The nearest points of two segments are found by clamping each line parameter in turn (Ericson, Real-Time
    Collision Detection, section 5.1.9).
    """
    along_a = end_a - start_a
    along_b = end_b - start_b
    between = start_a - start_b
    a = np.einsum("...i,...i->...", along_a, along_a)
    e = np.einsum("...i,...i->...", along_b, along_b)
    b = np.einsum("...i,...i->...", along_a, along_b)
    c = np.einsum("...i,...i->...", along_a, between)
    f = np.einsum("...i,...i->...", along_b, between)
    a_safe = np.maximum(a, _POINT_LENGTH_SQUARED)
    e_safe = np.maximum(e, _POINT_LENGTH_SQUARED)
    denominator = a * e - b * b
    crossing = denominator > 1e-12 * a_safe * e_safe
    s = np.where(crossing, np.clip((b * f - c * e) / np.where(crossing, denominator, 1.0), 0.0, 1.0), 0.0)
    t = (b * s + f) / e_safe
    t_clamped = np.clip(t, 0.0, 1.0)
    s = np.clip((b * t_clamped - c) / a_safe, 0.0, 1.0)
    # One more turn of clamping makes the parallel case exact: there s = 0 was an arbitrary start.
    t_clamped = np.clip((b * s + f) / e_safe, 0.0, 1.0)
    rest = between + s[..., None] * along_a - t_clamped[..., None] * along_b
    return np.sqrt(np.einsum("...i,...i->...", rest, rest))
