# SPDX-License-Identifier: Apache-2.0
"""Which unit cells a disc or a polygon touches, in coordinates of cells."""

import math

import numpy as np
from numpy.typing import NDArray

from lastgate.contracts.arrays import Float64


def disc_reach(radius: float) -> list[int]:
    """Returns, for 0, 1, 2, … rows away, how many columns to either side a disc around a cell's centre touches."""
    reach = []
    for rows_away in range(math.floor(radius + 0.5) + 1):
        up = max(rows_away - 0.5, 0.0)
        if up > radius:
            break
        reach.append(math.floor(math.sqrt(radius * radius - up * up) + 0.5))
    return reach


def polygon_touches_cells(
    vertices: Float64, cells: Float64, *, touch: float, margin: float = 0.0
) -> NDArray[np.bool_]:
    """Returns for each unit cell, given by its lower corner (K, 2), whether a polygon touches or covers it.

    An edge within `touch` of it along the axes counts, and so does one within `margin`, as the crow flies. A cell
    that no edge touches is covered exactly when its centre is inside.
    """
    hit = np.zeros(len(cells), dtype=bool)
    if not len(cells):
        return hit
    centres = cells + 0.5
    half = 0.5 + touch
    inside = np.zeros(len(cells), dtype=bool)
    for start, end in zip(vertices, np.roll(vertices, -1, axis=0), strict=True):
        middle, arm = (start + end) / 2, (end - start) / 2
        away = centres - middle
        # Three axes separate a segment from a square: x, y and the segment's normal.
        apart = (np.abs(away) > half + np.abs(arm)).any(axis=1)
        normal = np.array([-arm[1], arm[0]])
        apart |= np.abs(away @ normal) > half * np.abs(normal).sum()
        hit |= ~apart
        if margin > 0.0:
            hit |= _segment_to_cells(start, end, centres) <= margin + touch
        crosses = (start[1] > centres[:, 1]) != (end[1] > centres[:, 1])
        if crosses.any():
            share = (centres[crosses, 1] - start[1]) / (end[1] - start[1])
            inside[crosses] ^= centres[crosses, 0] < start[0] + share * (end[0] - start[0])
    return hit | inside


def _segment_to_cells(start: Float64, end: Float64, centres: Float64) -> Float64:
    """Returns how far a segment is from unit cells that it does not cross.

    The nearest points of two convex shapes that are apart are a vertex of one and something of the other: the ends
    of the segment against the cell, the vertices of the cell against the segment.
    """
    nearest = np.full(len(centres), np.inf)
    for place in (start, end):
        away = np.maximum(np.abs(centres - place) - 0.5, 0.0)
        nearest = np.minimum(nearest, np.hypot(away[:, 0], away[:, 1]))
    along = end - start
    length2 = float(along @ along)
    for vertex in ((-0.5, -0.5), (0.5, -0.5), (-0.5, 0.5), (0.5, 0.5)):
        from_start = centres + vertex - start
        t = np.clip(from_start @ along / length2, 0.0, 1.0) if length2 > 0.0 else np.zeros(len(centres))
        away = from_start - t[:, None] * along
        nearest = np.minimum(nearest, np.hypot(away[:, 0], away[:, 1]))
    return nearest
