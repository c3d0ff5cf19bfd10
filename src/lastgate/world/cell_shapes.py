# SPDX-License-Identifier: Apache-2.0
"""Which unit cells a disc or a polygon touches, in coordinates of cells."""

import math

import numpy as np
from numpy.typing import NDArray

from lastgate.arrays import Float64


def disc_reach(radius: float) -> list[int]:
    """Returns, for 0, 1, 2, … rows away, how many columns to either side a disc around a cell's centre touches."""
    reach = []
    for rows_away in range(math.floor(radius + 0.5) + 1):
        up = max(rows_away - 0.5, 0.0)
        if up > radius:
            break
        reach.append(math.floor(math.sqrt(radius * radius - up * up) + 0.5))
    return reach


def polygon_touches_cells(corners: Float64, cells: Float64, *, touch: float) -> NDArray[np.bool_]:
    """Tells for each unit cell, given by its lower corner (K, 2), whether a polygon touches or covers it.

    An edge that comes within `touch` counts. A cell that no edge touches is covered exactly when its centre is
    inside.
    """
    hit = np.zeros(len(cells), dtype=bool)
    if not len(cells):
        return hit
    centres = cells + 0.5
    half = 0.5 + touch
    inside = np.zeros(len(cells), dtype=bool)
    for start, end in zip(corners, np.roll(corners, -1, axis=0), strict=True):
        middle, arm = (start + end) / 2, (end - start) / 2
        away = centres - middle
        # Three axes separate a segment from a square: x, y and the segment's normal.
        apart = (np.abs(away) > half + np.abs(arm)).any(axis=1)
        normal = np.array([-arm[1], arm[0]])
        apart |= np.abs(away @ normal) > half * np.abs(normal).sum()
        hit |= ~apart
        crosses = (start[1] > centres[:, 1]) != (end[1] > centres[:, 1])
        if crosses.any():
            share = (centres[crosses, 1] - start[1]) / (end[1] - start[1])
            inside[crosses] ^= centres[crosses, 0] < start[0] + share * (end[0] - start[0])
    return hit | inside
