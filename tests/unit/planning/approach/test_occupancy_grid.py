# SPDX-License-Identifier: Apache-2.0
"""The 2-D map: what is free, what is not, and what is refused."""

import math
from types import SimpleNamespace

import numpy as np
import pytest

from lastgate.contracts import ROSConfigError, ROSPerceptionStale
from lastgate.planning.approach import OccupancyGridIndex, line_of_sight


def message(**changes):
    turn = changes.pop("turn", (0.0, 0.0, 0.0, 1.0))
    values = {"width": 4, "height": 2, "resolution": 0.5, "data": [0, 0, 100, 0, 0, 0, 0, 0]} | changes
    return SimpleNamespace(
        header=SimpleNamespace(frame_id="map", stamp=SimpleNamespace(sec=7, nanosec=500_000_000)),
        info=SimpleNamespace(
            width=values["width"],
            height=values["height"],
            resolution=values["resolution"],
            origin=SimpleNamespace(
                position=SimpleNamespace(x=-1.0, y=-0.5, z=0.0),
                orientation=SimpleNamespace(**dict(zip("xyzw", turn, strict=True))),
            ),
        ),
        data=values["data"],
    )


def test_w01_places_have_cells_and_off_the_grid_nothing_is_free(kitchen):
    assert kitchen.cell_of(0.05, 0.05) == (0, 0)
    assert kitchen.cell_of(3.95, 0.05) == (0, 39)
    for place in ((-0.1, 1.0), (1.0, 4.1)):
        assert kitchen.cell_of(*place) is None
        assert not kitchen.is_free(*place)


def test_w02_inflation_reaches_the_counter(kitchen):
    assert kitchen.is_free(1.0, 1.0)
    assert not kitchen.is_free(2.0, 1.9)
    assert kitchen.is_free(2.0, 1.45)
    assert not kitchen.is_free(2.0, 1.45, inflation_m=0.25)
    assert not kitchen.is_free(2.0, 1.45, 0.25)


def test_disc_that_touches_a_blocked_cell_is_not_free_and_one_just_short_of_it_is(kitchen):
    assert not kitchen.is_free(2.05, 1.35, inflation_m=0.25)
    assert kitchen.is_free(2.05, 1.35, inflation_m=0.2499)
    # Beside the corner at (1.4, 1.6) the disc is round: 0.15 away on both axes is 0.2121 m.
    assert kitchen.is_free(1.25, 1.45, inflation_m=0.21)
    assert not kitchen.is_free(1.25, 1.45, inflation_m=0.2122)


def test_line_between_a_free_and_a_blocked_cell_is_not_free(kitchen):
    assert not kitchen.is_free(2.05, 1.6)
    assert kitchen.is_free(2.05, 1.5999)


@pytest.mark.parametrize(("value", "free"), [(-1, False), (0, True), (25, True), (26, False), (100, False)])
def test_w03_unknown_and_more_than_a_quarter_are_blocked(value, free):
    grid = OccupancyGridIndex(np.full((3, 3), value, dtype=np.int8), 1.0, (0.0, 0.0))
    assert grid.is_free(1.5, 1.5) == free


def test_w04_sight_along_the_room_and_not_through_the_counter(kitchen):
    assert line_of_sight(kitchen, (0.5, 0.5), (3.5, 0.5))
    assert not line_of_sight(kitchen, (2.0, 1.0), (2.0, 3.0))
    assert line_of_sight(kitchen, (0.5, 1.0), (0.5, 3.0))
    assert not line_of_sight(kitchen, (2.0, 3.0), (2.0, 4.5))


def test_w05_message_is_read_row_by_row_from_its_origin():
    grid = OccupancyGridIndex.from_msg(message())
    assert grid.cell_of(0.2, -0.2) == (0, 2)
    assert not grid.is_free(0.2, -0.2)
    assert grid.is_free(-0.8, -0.2)
    assert grid.stamp_s == 7.5
    assert grid.frame_id == "map"


def test_message_of_a_turned_map_is_turned():
    quarter = (0.0, 0.0, math.sqrt(0.5), math.sqrt(0.5))
    grid = OccupancyGridIndex.from_msg(message(turn=quarter))
    # Columns run along +y now, rows along -x.
    assert grid.cell_of(-1.2, 0.6) == (0, 2)
    assert not grid.is_free(-1.2, 0.6)
    assert grid.is_free(-1.2, -0.3)
    assert grid.centre_of((0, 2)) == pytest.approx((-1.25, 0.75))


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"width": 5}, "width . height is 5"),
        ({"resolution": 0.0}, "above 0"),
        ({"resolution": math.nan}, "finite"),
        ({"turn": (0.0, 0.0, 0.0, 0.0)}, "length"),
        ({"turn": (0.1, 0.0, 0.0, math.sqrt(0.99))}, "tilted"),
        ({"data": [0, 0, 101, 0, 0, 0, 0, 0]}, "101"),
        ({"data": [0, 0, -2, 0, 0, 0, 0, 0]}, "-2"),
        ({"data": [0.5] * 8}, "whole numbers"),
        ({"width": "wide"}, "not a nav_msgs/OccupancyGrid"),
    ],
)
def test_message_that_makes_no_sense_is_refused(changes, why):
    with pytest.raises(ROSConfigError, match=why):
        OccupancyGridIndex.from_msg(message(**changes))


def test_thing_that_is_no_message_is_refused():
    with pytest.raises(ROSConfigError, match="not a nav_msgs/OccupancyGrid"):
        OccupancyGridIndex.from_msg({"info": 1})


@pytest.mark.parametrize(
    ("data", "resolution_m", "origin_xy", "why"),
    [
        (np.zeros(9, dtype=np.int8), 0.1, (0, 0), "height, width"),
        (np.zeros((3, 3), dtype=np.int8), 0.0, (0, 0), "above 0"),
        (np.zeros((3, 3), dtype=np.int8), -0.1, (0, 0), "above 0"),
        (np.zeros((3, 3), dtype=np.int8), math.nan, (0, 0), "finite"),
        (np.zeros((3, 3), dtype=np.int8), 1e6, (0, 0), "long"),
        (np.zeros((3, 3), dtype=np.int8), 0.1, (0, math.inf), "origin_xy"),
        (np.zeros((3, 3), dtype=np.int8), 0.1, 0.0, "two numbers"),
        (np.zeros((0, 3), dtype=np.int8), 0.1, (0, 0), "shape"),
        (np.zeros((3, 3)), 0.1, (0, 0), "whole numbers"),
        ([0, 0, 0, 0], 0.1, (0, 0), "height, width"),
        ([], 0.1, (0, 0), "height, width"),
        ([[0, 0], [0]], 0.1, (0, 0), "rectangle"),
        ([[0.0, 1.0]], 0.1, (0, 0), "whole numbers"),
        ([[True, False]], 0.1, (0, 0), "whole numbers"),
        ([["0", "100"]], 0.1, (0, 0), "whole numbers"),
        ([[0, None]], 0.1, (0, 0), "whole numbers"),
        ([[0, 101]], 0.1, (0, 0), r"data\[0, 1\] is 101"),
        ("00", 0.1, (0, 0), "array"),
    ],
)
def test_w06_grid_that_cannot_be_used_is_refused(data, resolution_m, origin_xy, why):
    with pytest.raises(ROSConfigError, match=why):
        OccupancyGridIndex(data, resolution_m, origin_xy)


def test_rows_of_whole_numbers_are_a_grid():
    grid = OccupancyGridIndex([[0, -1], (100, 0)], 0.1, [0, 0])
    assert grid.data.tolist() == [[0, -1], [100, 0]]
    assert grid.blocked.tolist() == [[False, True], [True, False]]


@pytest.mark.parametrize("inflation_m", [-1.0, -1e-12, math.nan, math.inf])
def test_x32_negative_inflation_is_an_error_not_free(kitchen, inflation_m):
    with pytest.raises(ROSConfigError, match="inflation_m"):
        kitchen.is_free(1.0, 1.0, inflation_m=inflation_m)


@pytest.mark.parametrize("place", [(math.nan, 1.0), (1.0, math.inf), (True, 1.0), (1e7, 1.0)])
def test_place_that_is_nowhere_is_an_error(kitchen, place):
    with pytest.raises(ROSConfigError):
        kitchen.is_free(*place)
    with pytest.raises(ROSConfigError):
        line_of_sight(kitchen, place, (1.0, 1.0))


def test_cells_are_copied():
    cells = np.zeros((3, 3), dtype=np.int8)
    grid = OccupancyGridIndex(cells, 1.0, (0.0, 0.0))
    cells[1, 1] = 100
    assert grid.is_free(1.5, 1.5)
    with pytest.raises(ValueError, match="read-only"):
        grid.blocked[1, 1] = True


def test_x31_diagonal_wall_is_not_seen_through_in_either_direction():
    cells = np.where(np.eye(20, dtype=bool), 100, 0).astype(np.int8)
    grid = OccupancyGridIndex(cells, 0.05, (0.0, 0.0))
    for a, b in (((0.7, 0.3), (0.3, 0.7)), ((0.71, 0.3), (0.31, 0.7)), ((0.95, 0.05), (0.05, 0.95))):
        assert not line_of_sight(grid, a, b)
        assert not line_of_sight(grid, b, a)
    assert line_of_sight(grid, (0.7, 0.3), (0.9, 0.5))


def test_x31_corner_between_two_touching_cells_leaves_no_gap():
    cells = np.zeros((4, 4), dtype=np.int8)
    cells[1, 1] = cells[2, 2] = 100
    grid = OccupancyGridIndex(cells, 1.0, (0.0, 0.0))
    assert not line_of_sight(grid, (2.5, 1.5), (1.5, 2.5))
    assert not line_of_sight(grid, (1.5, 2.5), (2.5, 1.5))
    cells[2, 2] = 0
    grid = OccupancyGridIndex(cells, 1.0, (0.0, 0.0))
    assert not line_of_sight(grid, (2.5, 1.5), (1.5, 2.5)), "one corner is touched all the same"
    assert line_of_sight(grid, (2.6, 1.5), (1.6, 2.5))


def test_cell_of_the_target_does_not_hide_it_but_the_one_before_does(kitchen):
    assert line_of_sight(kitchen, (2.05, 1.0), (2.05, 1.65))
    assert line_of_sight(kitchen, (2.05, 1.65), (2.05, 1.0))
    assert not line_of_sight(kitchen, (2.05, 1.0), (2.05, 1.75))


def test_unknown_cell_blocks_sight(kitchen):
    cells = kitchen.data.copy()
    cells[5, 10] = -1
    grid = OccupancyGridIndex(cells, 0.1, (0.0, 0.0))
    assert line_of_sight(kitchen, (0.5, 0.55), (3.5, 0.55))
    assert not line_of_sight(grid, (0.5, 0.55), (3.5, 0.55))


def test_sight_along_the_edge_of_the_map_is_refused_and_inside_it_not():
    grid = OccupancyGridIndex(np.zeros((4, 4), dtype=np.int8), 1.0, (0.0, 0.0))
    assert not line_of_sight(grid, (0.0, 0.5), (0.0, 3.5))
    assert line_of_sight(grid, (0.1, 0.5), (0.1, 3.5))
    assert line_of_sight(grid, (0.0, 0.5), (3.5, 2.5)), "the cells of the ends do not count"


SQUARE = [(-0.2, -0.2), (0.2, -0.2), (0.2, 0.2), (-0.2, 0.2)]


def test_footprint_turns_with_the_robot(kitchen):
    # The corner of the square reaches 0.283 m ahead when it is turned by 45 degrees.
    assert kitchen.is_footprint_free(SQUARE, x=2.05, y=1.36, yaw=0.0)
    assert not kitchen.is_footprint_free(SQUARE, x=2.05, y=1.36, yaw=math.pi / 4)
    assert not kitchen.is_footprint_free(SQUARE, x=2.05, y=1.4, yaw=0.0), "touching"


def test_footprint_around_a_blocked_cell_is_not_free_though_no_edge_touches_it():
    cells = np.zeros((20, 20), dtype=np.int8)
    cells[10, 10] = 100
    grid = OccupancyGridIndex(cells, 0.1, (0.0, 0.0))
    around = [(-0.4, -0.4), (0.4, -0.4), (0.4, 0.4), (-0.4, 0.4)]
    assert not grid.is_footprint_free(around, x=1.05, y=1.05, yaw=0.3)
    # A horseshoe leaves its inside free.
    horseshoe = [
        (-0.4, -0.4),
        (0.4, -0.4),
        (0.4, 0.4),
        (0.2, 0.4),
        (0.2, -0.2),
        (-0.2, -0.2),
        (-0.2, 0.4),
        (-0.4, 0.4),
    ]
    assert grid.is_footprint_free(horseshoe, x=1.05, y=1.05, yaw=0.0)


def test_footprint_over_the_edge_of_the_map_is_not_free():
    grid = OccupancyGridIndex(np.zeros((20, 20), dtype=np.int8), 0.1, (0.0, 0.0))
    assert grid.is_footprint_free(SQUARE, x=0.21, y=1.0, yaw=0.0)
    assert not grid.is_footprint_free(SQUARE, x=0.19, y=1.0, yaw=0.0)


@pytest.mark.parametrize(
    "polygon", [[(0, 0), (1, 0)], [(0, 0), (1, 0), (2, 0)], [(0, 0), (1, 0), (math.nan, 1)], "abc", 3]
)
def test_footprint_without_area_is_refused(kitchen, polygon):
    with pytest.raises(ROSConfigError, match="footprint"):
        kitchen.is_footprint_free(polygon, x=1.0, y=1.0, yaw=0.0)


def test_map_too_old_is_stale_and_map_without_stamp_is_refused(kitchen):
    kitchen.require_fresh(now_s=101.0, age_s_max=1.0)
    with pytest.raises(ROSPerceptionStale, match="map"):
        kitchen.require_fresh(now_s=101.1, age_s_max=1.0)
    bare = OccupancyGridIndex(kitchen.data, 0.1, (0.0, 0.0))
    with pytest.raises(ROSConfigError, match="stamp_s"):
        bare.require_fresh(now_s=0.0, age_s_max=1.0)


@pytest.mark.parametrize("yaw", [0.0, 0.4])
@pytest.mark.parametrize("inflation_m", [0.0, 0.05, 0.12, 0.25])
def test_cells_cleared_at_once_are_those_that_are_free_one_by_one(yaw, inflation_m):
    rng = np.random.default_rng(3)
    cells = np.where(rng.random((30, 25)) < 0.03, 100, 0).astype(np.int8)
    grid = OccupancyGridIndex(cells, 0.1, (-1.0, 2.0), yaw)
    clear = grid.inflated_free(inflation_m)
    one_by_one = [
        [grid.is_free(*grid.centre_of((row, column)), inflation_m=inflation_m) for column in range(25)]
        for row in range(30)
    ]
    assert clear.tolist() == one_by_one
    assert clear.any()
    assert not clear.all()
    window = grid.clear_cells(inflation_m=inflation_m, rows=(4, 20), columns=(0, 13))
    assert np.array_equal(window, clear[4:20, 0:13])
