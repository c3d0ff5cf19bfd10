# SPDX-License-Identifier: Apache-2.0
"""Refinement on a map of SLAM size against a search of every cell, and footprints against exact polygons.

Compared: `refine_approach_pose` on 1,200 x 1,200 cells of 5 cm with a search that asks `is_free`,
`line_of_sight` and the stand-offs about every cell of the map within the radius, one after the other; those two are
held to their own oracles elsewhere. Time is that of this process alone, so that a busy machine does not count.
Footprints: convex polygons on a lattice, turned by quarter turns, against
separating axes in whole numbers, where the grid's own code clips edges. Tolerance: none.
"""

import math
import statistics
import time

import numpy as np
import pytest

from lastgate.planning.approach import (
    OccupancyGridIndex,
    compute_approach_viewpoint,
    line_of_sight,
    refine_approach_pose,
)

QUESTIONS = 80


def building(seed=5, side=1200):
    """Rooms of about 6 m with doors, furniture, and an unknown outside."""
    rng = np.random.default_rng(seed)
    cells = np.zeros((side, side), dtype=np.int8)
    for wall in range(60, side - 60, 120):
        cells[wall : wall + 3, 60 : side - 60] = 100
        cells[60 : side - 60, wall : wall + 3] = 100
    for door_row in range(120, side - 60, 120):
        for door in range(60, side - 60, 120):
            at = door + int(rng.integers(20, 80))
            cells[door_row - 60 : door_row - 57, at : at + 20] = 0
            cells[at : at + 20, door_row - 60 : door_row - 57] = 0
    for _ in range(900):
        row, column = rng.integers(60, side - 90, 2)
        cells[row : row + int(rng.integers(2, 30)), column : column + int(rng.integers(2, 30))] = 100
    cells[:60] = cells[-60:] = -1
    cells[:, :60] = cells[:, -60:] = -1
    return rng, OccupancyGridIndex(cells, 0.05, (-30.0, -30.0), 0.1)


def exhaustive(grid, centres, viewpoint, target, *, radius_m, standoffs_m, inflation_m):
    x, y, _ = viewpoint.pose.xyz

    def admissible(place):
        inside = standoffs_m[0] <= math.dist(place, target[:2]) <= standoffs_m[1]
        return (
            inside
            and grid.is_free(*place, inflation_m=inflation_m)
            and line_of_sight(grid, place, target[:2])
        )

    if admissible((x, y)):
        return (x, y)
    away = np.hypot(*(centres - (x, y)).T)
    near = np.flatnonzero(away <= radius_m)
    # In the order of distance the first admissible one is the nearest; without one, all were asked.
    for index in near[np.argsort(away[near], kind="stable")]:
        if admissible(tuple(centres[index])):
            return tuple(centres[index])
    return None


def test_refined_pose_is_that_of_an_exhaustive_search_and_takes_milliseconds():
    rng, grid = building()
    took_s, kinds = [], {"ideal": 0, "moved": 0, "none": 0}
    line_of_sight(grid, (0.0, 0.0), (0.1, 0.1))  # the sums over the map are built once
    rows, columns = np.indices(grid.data.shape).reshape(2, -1)
    centres = np.column_stack(grid.in_map(columns + 0.5, rows + 0.5))
    for index in range(QUESTIONS):
        cell = rng.integers(80, 1120, 2)
        target = (*grid.centre_of((int(cell[0]), int(cell[1]))), 0.7)
        standoff_m = float(rng.choice([0.5, 0.8, 1.5]))
        radius_m = float(rng.choice([0.3, 0.6, 1.0]))
        side = (target[0] + float(rng.uniform(-1, 1)), target[1] + float(rng.uniform(-1, 1)))
        viewpoint = compute_approach_viewpoint(target, side, standoff_m=standoff_m)
        started = time.process_time()
        refined = refine_approach_pose(grid, viewpoint, target, max_radius_m=radius_m)
        took_s.append(time.process_time() - started)
        expected = exhaustive(
            grid,
            centres,
            viewpoint,
            target,
            radius_m=radius_m,
            standoffs_m=(0.5 * standoff_m, 2.0 * standoff_m),
            inflation_m=0.25,
        )
        if refined is None or expected is None:
            assert refined is None, f"#{index}: nothing is admissible"
            assert expected is None, f"#{index}: {expected} is admissible"
            kinds["none"] += 1
            continue
        x, y, _ = viewpoint.pose.xyz
        moved_m = math.dist(refined.pose.xyz[:2], (x, y))
        # Places equally far to rounding may come in either order.
        assert moved_m == pytest.approx(math.dist(expected, (x, y)), abs=1e-9), f"#{index}"
        kinds["ideal" if refined is viewpoint else "moved"] += 1
        assert (refined is viewpoint) == (expected == (x, y))
    typical_s = statistics.median(took_s)
    print(kinds, f"median {1e3 * typical_s:.2f} ms, longest {1e3 * max(took_s):.2f} ms")
    assert min(kinds.values()) >= 5
    assert typical_s <= 0.005


def test_default_radius_takes_milliseconds_too():
    rng, grid = building(seed=6)
    took_s = []
    line_of_sight(grid, (0.0, 0.0), (0.1, 0.1))
    for _ in range(60):
        cell = rng.integers(80, 1120, 2)
        target = (*grid.centre_of((int(cell[0]), int(cell[1]))), 0.7)
        viewpoint = compute_approach_viewpoint(target, (0.0, 0.0), standoff_m=0.8)
        started = time.process_time()
        refine_approach_pose(grid, viewpoint, target)
        took_s.append(time.process_time() - started)
    print(f"median {1e3 * statistics.median(took_s):.2f} ms, longest {1e3 * max(took_s):.2f} ms")
    assert statistics.median(took_s) <= 0.005


UNIT = 8


def convex_polygon(rng):
    """Vertices on a lattice of 1/8 cell, in turn, by walking round sorted directions (so that it is convex)."""
    while True:
        edges = rng.integers(-3 * UNIT, 3 * UNIT + 1, (int(rng.integers(2, 5)), 2))
        edges = np.concatenate([edges, -edges])  # closed: every edge has its opposite
        edges = edges[np.argsort(np.arctan2(edges[:, 1], edges[:, 0]), kind="stable")]
        vertices = np.cumsum(edges, axis=0)
        following = np.roll(vertices, -1, axis=0)
        if abs((vertices[:, 0] * following[:, 1] - vertices[:, 1] * following[:, 0]).sum()) > 0:
            return vertices - vertices.min(axis=0)


def separated(polygon, square):
    for shape in (polygon, square):
        for edge in np.roll(shape, -1, axis=0) - shape:
            normal = np.array([-edge[1], edge[0]])
            first, second = polygon @ normal, square @ normal
            if first.max() < second.min() or second.max() < first.min():
                return True
    return False


def test_footprints_are_free_where_exact_polygons_touch_no_blocked_cell():
    rng = np.random.default_rng(8)
    side = 24
    quarter = np.array([[0, -1], [1, 0]])
    free = 0
    for index in range(1500):
        cells = np.where(rng.random((side, side)) < 0.03, 100, 0).astype(np.int8)
        grid = OccupancyGridIndex(cells, 0.125, (0.0, 0.0))
        polygon = convex_polygon(rng)
        place = rng.integers(-2 * UNIT, (side + 2) * UNIT, 2)
        turns = int(rng.integers(0, 4))
        there = polygon @ np.linalg.matrix_power(quarter, turns).T + place
        inside = (there > 0).all() and (there < side * UNIT).all()
        squares = [
            np.array([(c, r), (c + 1, r), (c + 1, r + 1), (c, r + 1)]) * UNIT for r, c in np.argwhere(cells)
        ]
        expected = bool(inside and all(separated(there, square) for square in squares))
        metres = 0.125 / UNIT
        answer = grid.is_footprint_free(
            polygon * metres, x=place[0] * metres, y=place[1] * metres, yaw=turns * math.pi / 2
        )
        assert answer == expected, f"#{index}"
        free += expected
    print(f"{free} of 1500 footprints are free")
    assert 200 < free < 1300
