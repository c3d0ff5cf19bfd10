# SPDX-License-Identifier: Apache-2.0
"""Line of sight against an exact supercover.

Compared: `line_of_sight` of 100,000 pairs in 25 % clutter with a test of the segment against every blocked cell,
in whole numbers, so that the reference has no rounding at all. Places lie on a lattice of 1/64 cell: on edges and
corners as often as not, and exact in float64. Tolerance: none. `line_of_sight` counts what comes within 1e-9 of a
cell as touching; on this lattice a line that misses a corner misses it by more than 1e-7.
"""

import numpy as np

from lastgate.planning.approach import OccupancyGridIndex, line_of_sight
from lastgate.planning.approach.line_of_sight import sees_in_cells

SIDE, UNIT, PAIRS = 24, 64, 100_000


def touched(a, b, corners):
    """Tells for each pair (N, 2) and each closed cell (K, 2), all in whole numbers, whether the segment touches it."""
    low, high = corners, corners + UNIT
    apart = np.zeros((len(a), len(corners)), dtype=bool)
    for axis in (0, 1):
        apart |= np.maximum(a[:, axis], b[:, axis])[:, None] < low[None, :, axis]
        apart |= np.minimum(a[:, axis], b[:, axis])[:, None] > high[None, :, axis]
    dx, dy = (b - a)[:, 0, None], (b - a)[:, 1, None]
    signs = []
    for x, y in (
        (low[:, 0], low[:, 1]),
        (high[:, 0], low[:, 1]),
        (low[:, 0], high[:, 1]),
        (high[:, 0], high[:, 1]),
    ):
        signs.append(np.sign(dx * (y[None] - a[:, 1, None]) - dy * (x[None] - a[:, 0, None])))
    # All four corners strictly on one side of the line: it passes by.
    apart |= np.abs(np.sum(signs, axis=0)) == 4
    return ~apart


def holds(place, corners):
    inside = (place[:, None] >= corners[None]) & (place[:, None] <= corners[None] + UNIT)
    return inside.all(axis=2)


def exact_sight(a, b, corners):
    seen = np.zeros(len(a), dtype=bool)
    # No product exceeds 2 * (24 * 64)^2, so 32 bits hold them, twice as fast as 64.
    a, b, corners = (values.astype(np.int32) for values in (a, b, corners))
    for start in range(0, len(a), 2000):
        some = slice(start, start + 2000)
        hit = touched(a[some], b[some], corners) & ~holds(a[some], corners) & ~holds(b[some], corners)
        seen[some] = ~hit.any(axis=1)
    return seen


def clutter(seed):
    rng = np.random.default_rng(seed)
    cells = np.where(rng.random((SIDE, SIDE)) < 0.25, 100, 0).astype(np.int8)
    rows, columns = np.nonzero(cells)
    # Off the grid is blocked too: a ring of cells around it.
    ring = np.array(
        [
            (x, y)
            for x in range(-1, SIDE + 1)
            for y in range(-1, SIDE + 1)
            if not (0 <= x < SIDE and 0 <= y < SIDE)
        ]
    )
    return rng, cells, np.concatenate([np.column_stack([columns, rows]), ring]) * UNIT


def pairs(rng, count):
    """Places of three kinds: anywhere on the lattice, cell centres, and cell corners; half of the pairs are near."""
    a = rng.integers(0, SIDE * UNIT + 1, (count, 2))
    reach = np.where(rng.random(count) < 0.5, 4 * UNIT, SIDE * UNIT)[:, None]
    b = np.clip(a + (rng.uniform(-1, 1, (count, 2)) * reach).astype(np.int64), 0, SIDE * UNIT)
    kind = rng.integers(0, 3, count)[:, None]
    for place in (a, b):
        centre = np.minimum(place // UNIT, SIDE - 1) * UNIT + UNIT // 2
        place[:] = np.where(kind == 1, centre, np.where(kind == 2, place // UNIT * UNIT, place))
    return a, b


def test_100_000_lines_of_sight_are_those_of_an_exact_supercover():
    rng, cells, corners = clutter(11)
    grid = OccupancyGridIndex(cells, 0.0625, (0.0, 0.0))
    a, b = pairs(rng, PAIRS)
    expected = exact_sight(a, b, corners)
    forth = sees_in_cells(grid, a / UNIT, b / UNIT)
    back = sees_in_cells(grid, b / UNIT, a / UNIT)
    print(f"{PAIRS} pairs, {int(expected.sum())} see each other, {int((forth != expected).sum())} wrong")
    assert (forth == expected).all()
    assert (back == forth).all()
    assert 0.05 < expected.mean() < 0.95
    metres = 0.0625 / UNIT
    for index in range(0, PAIRS, 100):
        one = line_of_sight(grid, tuple(a[index] * metres), tuple(b[index] * metres))
        assert one == expected[index], index


def test_oracle_itself_on_cases_a_person_can_check():
    corners = np.array([[1, 1], [2, 2]]) * UNIT
    a = np.array([[5, 3], [6, 3], [5, 3], [3, 3]]) * UNIT // 2
    b = np.array([[3, 5], [3, 6], [7, 3], [1, 1]]) * UNIT // 2
    # Through the common corner; through both cells; beside them; and an end in the first cell.
    assert exact_sight(a, b, corners).tolist() == [False, False, True, True]


def test_turned_map_sees_what_the_straight_one_sees():
    rng, cells, _ = clutter(12)
    straight = OccupancyGridIndex(cells, 0.05, (0.0, 0.0))
    turned = OccupancyGridIndex(cells, 0.05, (3.0, -2.0), 0.7)
    a, b = (rng.uniform(0.0, SIDE * 0.05, (500, 2)) for _ in range(2))
    c, s = np.cos(0.7), np.sin(0.7)
    place = lambda p: (3.0 + c * p[0] - s * p[1], -2.0 + s * p[0] + c * p[1])  # noqa: E731
    answers = [
        (line_of_sight(straight, one, other), line_of_sight(turned, place(one), place(other)))
        for one, other in zip(a, b, strict=True)
    ]
    assert all(first == second for first, second in answers)
    assert {first for first, _ in answers} == {True, False}
