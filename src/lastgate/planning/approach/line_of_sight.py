# SPDX-License-Identifier: Apache-2.0
"""Whether one place on the floor sees another, over every cell that the line between them touches.

A line that passes between cells of a wall would be seen through, so every cell counts that the line touches,
be it at a corner only. The cells of the two ends do not count: an object shares its cell with what it stands on.
Columns (rows, for steep lines) are crossed one by one, and sums over the map count the blocked cells of each
crossing, so that many lines are traced at once.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from lastgate.contracts import ROSConfigError
from lastgate.contracts.arrays import Float64
from lastgate.world.occupancy_grid import TOUCH_CELLS, OccupancyGridIndex, require_xy

Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]


def line_of_sight(grid: OccupancyGridIndex, a_xy: Sequence[float], b_xy: Sequence[float]) -> bool:
    """Returns whether no blocked cell but their own lies between two places; off the grid nothing is seen.

    The answer is the same in both directions. Unknown cells block. Two blocked cells that meet at a corner leave
    no gap between them.

    Raises:
        ROSConfigError: A coordinate is not finite.
    """
    if not isinstance(grid, OccupancyGridIndex):
        raise ROSConfigError(f"grid is a {type(grid).__name__}, expected an OccupancyGridIndex")
    a = np.array([grid.in_cells(*require_xy(a_xy, name="a_xy"))])
    b = np.array([grid.in_cells(*require_xy(b_xy, name="b_xy"))])
    return bool(sees_in_cells(grid, a, b)[0])


def sees_in_cells(grid: OccupancyGridIndex, a: Float64, b: Float64) -> Bools:
    """Returns `line_of_sight` of many pairs, (N, 2) each, in units of cells."""
    rows, columns = grid.data.shape
    size = np.array([columns, rows], dtype=np.float64)
    seen: Bools = np.logical_and.reduce((a >= 0) & (a <= size) & (b >= 0) & (b <= size), axis=1)
    steep = np.abs(b[:, 1] - a[:, 1]) > np.abs(b[:, 0] - a[:, 0])
    down, along = grid.padded_sums
    for chosen, sums, axes in ((seen & ~steep, down, (0, 1)), (seen & steep, along.T, (1, 0))):
        if chosen.any():
            # Along one axis step by step; the sums run along the other.
            seen[chosen] = _is_open(sums, a[chosen][:, axes], b[chosen][:, axes])
    return seen


def _is_open(sums: NDArray[np.int32], a: Float64, b: Float64) -> Bools:
    """Returns which lines touch no blocked cell but their ends'; no line is steep, first axis against second."""
    # Both directions of a line are computed alike, so that they get one answer.
    swap = (b[:, 0] < a[:, 0]) | ((b[:, 0] == a[:, 0]) & (b[:, 1] < a[:, 1]))
    a, b = np.where(swap[:, None], b, a), np.where(swap[:, None], a, b)
    first = np.floor(a[:, 0] - TOUCH_CELLS).astype(np.int64)
    last = np.floor(b[:, 0] + TOUCH_CELLS).astype(np.int64)
    step = first[:, None] + np.arange(int((last - first).max()) + 1)
    crossed = step <= last[:, None]
    u0, v0, u1, v1 = (column[:, None] for column in (a[:, 0], a[:, 1], b[:, 0], b[:, 1]))
    run = u1 - u0
    slope = (v1 - v0) / np.where(run > 0.0, run, 1.0)  # not steep: a line without run is a point

    def across(u: Float64) -> Float64:
        # At its end the line is where it was said to end, not where rounding leads.
        return np.where(u >= u1, v1, v0 + (u - u0) * slope)

    enters, leaves = (
        across(np.clip(edge, u0, u1)) for edge in (step.astype(np.float64), step + np.float64(1.0))
    )
    low_cell = np.floor(np.minimum(enters, leaves) - TOUCH_CELLS).astype(np.int64)
    high_cell = np.floor(np.maximum(enters, leaves) + TOUCH_CELLS).astype(np.int64)
    # One cell further because of the ring around the map.
    place = np.where(crossed, step + 1, 0)
    touched = (
        sums[np.where(crossed, high_cell + 2, 0), place] - sums[np.where(crossed, low_cell + 1, 0), place]
    )
    return touched.sum(axis=1) == _blocked_at_ends(sums, a, b)


def _blocked_at_ends(sums: NDArray[np.int32], a: Float64, b: Float64) -> Ints:
    """Returns how many blocked cells hold one of the ends or both, corners and edges included."""
    cells_a = [np.floor(a - TOUCH_CELLS).astype(np.int64), np.floor(a + TOUCH_CELLS).astype(np.int64)]
    cells_b = [np.floor(b - TOUCH_CELLS).astype(np.int64), np.floor(b + TOUCH_CELLS).astype(np.int64)]
    count = np.zeros(len(a), dtype=np.int64)
    for low, high in (cells_a, cells_b):
        for u_high in (False, True):
            for v_high in (False, True):
                u = high[:, 0] if u_high else low[:, 0]
                v = high[:, 1] if v_high else low[:, 1]
                # The same cell is not counted twice: neither as low and high, nor for both ends.
                counts = ~((u_high & (high[:, 0] == low[:, 0])) | (v_high & (high[:, 1] == low[:, 1])))
                if low is cells_b[0]:
                    held = (cells_a[0] <= np.column_stack([u, v])) & (np.column_stack([u, v]) <= cells_a[1])
                    counts &= ~held.all(axis=1)
                count += counts & (sums[v + 2, u + 1] > sums[v + 1, u + 1])
    return count
