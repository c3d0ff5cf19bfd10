# SPDX-License-Identifier: Apache-2.0
"""Refinement: the ideal pose unchanged, the nearest admissible one turned to the target, or None."""

import math

import numpy as np
import pytest

from lastgate.contracts import ROSConfigError, ROSPerceptionStale
from lastgate.planning.approach import (
    ApproachViewpoint,
    OccupancyGridIndex,
    Pose6D,
    SensorView,
    compute_approach_viewpoint,
    line_of_sight,
    refine_approach_pose,
)

TARGET = (2.0, 1.65, 0.8)


def yaw_of(pose):
    return 2.0 * math.atan2(pose.quat_xyzw[2], pose.quat_xyzw[3])


def require_admissible(grid, pose, target, *, standoffs_m, inflation_m):
    x, y, _ = pose.xyz
    assert grid.is_free(x, y, inflation_m=inflation_m)
    assert line_of_sight(grid, (x, y), target[:2])
    assert standoffs_m[0] <= math.dist((x, y), target[:2]) <= standoffs_m[1]
    bearing = math.atan2(target[1] - y, target[0] - x)
    assert math.remainder(yaw_of(pose) - bearing, 2 * math.pi) == pytest.approx(0.0, abs=1e-12)


def test_viewpoint_is_at_its_standoff_and_faces_the_target():
    viewpoint = compute_approach_viewpoint(TARGET, (2.0, 0.5), standoff_m=0.6, camera_frame="wrist")
    assert viewpoint.pose.xyz == pytest.approx((2.0, 1.05, 0.8))
    assert yaw_of(viewpoint.pose) == pytest.approx(math.pi / 2)
    assert (viewpoint.standoff_m, viewpoint.target_xyz, viewpoint.camera_frame) == (0.6, TARGET, "wrist")


@pytest.mark.parametrize("from_xy", [None, (2.0, 1.65)])
def test_viewpoint_without_a_side_stands_towards_minus_x(from_xy):
    viewpoint = compute_approach_viewpoint(TARGET, from_xy, standoff_m=0.5)
    assert viewpoint.pose.xyz == pytest.approx((1.5, 1.65, 0.8))
    assert yaw_of(viewpoint.pose) == 0.0


@pytest.mark.parametrize("standoff_m", [0.0, -1.0, math.nan])
def test_viewpoint_without_a_standoff_is_refused(standoff_m):
    with pytest.raises(ROSConfigError, match="standoff_m"):
        compute_approach_viewpoint(TARGET, (0.0, 0.0), standoff_m=standoff_m)


def test_w07_ideal_that_is_free_and_sees_is_returned_as_it_is(kitchen):
    viewpoint = compute_approach_viewpoint(TARGET, (2.0, 0.5), standoff_m=0.6)
    assert refine_approach_pose(kitchen, viewpoint, TARGET, inflation_m=0.25) is viewpoint


def test_w08_ideal_too_near_the_counter_moves_to_a_place_that_is_free_and_sees(kitchen):
    viewpoint = compute_approach_viewpoint(TARGET, (2.0, 0.5), standoff_m=0.25)
    assert not kitchen.is_free(*viewpoint.pose.xyz[:2], inflation_m=0.25)
    refined = refine_approach_pose(kitchen, viewpoint, TARGET, inflation_m=0.25)
    assert refined is not None
    assert refined is not viewpoint
    require_admissible(kitchen, refined.pose, TARGET, standoffs_m=(0.125, 0.5), inflation_m=0.25)
    assert refined.standoff_m == pytest.approx(math.dist(refined.pose.xyz[:2], TARGET[:2]))


def test_w09_ideal_behind_a_wall_moves_to_where_it_sees():
    cells = np.zeros((40, 40), dtype=np.int8)
    cells[[0, -1], :] = 100
    cells[:, [0, -1]] = 100
    cells[20, 1:30] = 100
    grid = OccupancyGridIndex(cells, 0.1, (0.0, 0.0))
    target = (2.0, 2.8, 0.8)
    viewpoint = compute_approach_viewpoint(target, (2.0, 0.5), standoff_m=1.0)
    assert not line_of_sight(grid, viewpoint.pose.xyz[:2], target[:2])
    refined = refine_approach_pose(grid, viewpoint, target, max_radius_m=2.5, max_standoff_m=2.5)
    assert refined is not None
    require_admissible(grid, refined.pose, target, standoffs_m=(0.5, 2.5), inflation_m=0.25)


def test_w10_target_inside_a_block_has_no_viewpoint():
    cells = np.zeros((40, 40), dtype=np.int8)
    cells[13:26, 13:26] = 100
    grid = OccupancyGridIndex(cells, 0.1, (0.0, 0.0))
    target = (1.95, 1.95, 0.5)
    viewpoint = compute_approach_viewpoint(target, (0.5, 0.5), standoff_m=0.3)
    assert refine_approach_pose(grid, viewpoint, target) is None


def test_radius_bounds_how_far_the_pose_moves(kitchen):
    viewpoint = compute_approach_viewpoint(TARGET, (2.0, 0.5), standoff_m=0.25)
    refined = refine_approach_pose(kitchen, viewpoint, TARGET)
    assert refined is not None
    moved_m = math.dist(refined.pose.xyz, viewpoint.pose.xyz)
    assert refine_approach_pose(kitchen, viewpoint, TARGET, max_radius_m=moved_m + 1e-6) == refined
    assert refine_approach_pose(kitchen, viewpoint, TARGET, max_radius_m=moved_m - 1e-6) is None


def test_ideal_out_of_its_standoffs_is_moved_though_it_is_free_and_sees(kitchen):
    viewpoint = compute_approach_viewpoint(TARGET, (2.0, 0.5), standoff_m=0.6)
    refined = refine_approach_pose(kitchen, viewpoint, TARGET, min_standoff_m=0.8, max_standoff_m=1.0)
    assert refined is not None
    require_admissible(kitchen, refined.pose, TARGET, standoffs_m=(0.8, 1.0), inflation_m=0.25)


def test_ideal_off_the_map_is_moved_onto_it(kitchen):
    target = (0.55, 2.05, 0.5)
    viewpoint = compute_approach_viewpoint(target, (-3.0, 2.05), standoff_m=0.6)
    refined = refine_approach_pose(kitchen, viewpoint, target)
    assert refined is not None
    require_admissible(kitchen, refined.pose, target, standoffs_m=(0.3, 1.2), inflation_m=0.25)
    far = compute_approach_viewpoint((50.0, 50.0, 0.5), standoff_m=0.6)
    assert refine_approach_pose(kitchen, far, (50.0, 50.0, 0.5)) is None


def test_footprint_is_checked_as_it_stands_turned_to_the_target(kitchen):
    # A robot 0.9 m long and 0.3 m wide: ahead it must stay away, aside it may stand close.
    long = [(-0.45, -0.15), (0.45, -0.15), (0.45, 0.15), (-0.45, 0.15)]
    target = (1.45, 1.65, 0.8)
    viewpoint = compute_approach_viewpoint(target, (1.45, 0.5), standoff_m=0.3)
    refined = refine_approach_pose(kitchen, viewpoint, target, footprint_xy=long, max_standoff_m=1.5)
    assert refined is not None
    x, y, _ = refined.pose.xyz
    assert kitchen.is_footprint_free(long, x=x, y=y, yaw=yaw_of(refined.pose))
    assert math.dist((x, y), target[:2]) > 0.45
    disc = refine_approach_pose(kitchen, viewpoint, target, inflation_m=0.15, max_standoff_m=1.5)
    assert disc is not None
    assert math.dist(disc.pose.xyz, viewpoint.pose.xyz) < math.dist(refined.pose.xyz, viewpoint.pose.xyz)


def two_rooms(gap: bool) -> OccupancyGridIndex:
    cells = np.zeros((60, 60), dtype=np.int8)
    cells[30, :] = 100
    if gap:
        cells[30, 48:58] = 0
    return OccupancyGridIndex(cells, 0.1, (0.0, 0.0))


def test_place_that_the_robot_cannot_get_to_does_not_count():
    target = (2.05, 4.55, 0.5)
    viewpoint = compute_approach_viewpoint(target, (2.05, 5.5), standoff_m=0.6)
    closed, open_ = two_rooms(gap=False), two_rooms(gap=True)
    here = (2.0, 1.0)
    assert refine_approach_pose(closed, viewpoint, target) is viewpoint
    assert refine_approach_pose(closed, viewpoint, target, reachable_from_xy=here) is None
    assert refine_approach_pose(open_, viewpoint, target, reachable_from_xy=here) is viewpoint
    # The gap is 1 m wide: too narrow for a disc of 0.6 m.
    assert refine_approach_pose(open_, viewpoint, target, reachable_from_xy=here, inflation_m=0.58) is None
    assert refine_approach_pose(open_, viewpoint, target, reachable_from_xy=(2.0, 3.05)) is None, (
        "a robot that stands in a wall gets nowhere"
    )


def test_sensor_that_looks_over_a_near_target_stands_farther_away(kitchen):
    viewpoint = compute_approach_viewpoint((2.0, 1.65, 0.0), (2.0, 0.5), standoff_m=0.6)
    target = (2.0, 1.65, 0.0)
    # 1.0 m high, down to 45 degrees: the floor is seen from 1 m away on.
    sensor = SensorView(height_m=1.0, elevation_min_rad=-math.pi / 4, elevation_max_rad=0.2)
    refined = refine_approach_pose(kitchen, viewpoint, target, sensor=sensor, max_standoff_m=1.5)
    assert refined is not None
    assert math.dist(refined.pose.xyz[:2], target[:2]) >= 1.0
    assert refine_approach_pose(kitchen, viewpoint, target, sensor=sensor, max_standoff_m=0.99) is None
    low = SensorView(height_m=0.2, elevation_min_rad=-math.pi / 4, elevation_max_rad=0.2)
    assert refine_approach_pose(kitchen, viewpoint, target, sensor=low) is viewpoint


def test_ideal_that_faces_away_is_turned_when_the_sensor_looks_ahead(kitchen):
    away = ApproachViewpoint(
        pose=Pose6D(
            xyz=(2.0, 1.05, 0.8), quat_xyzw=(0.0, 0.0, -math.sqrt(0.5), math.sqrt(0.5)), frame_id="map"
        ),
        standoff_m=0.6,
    )
    ahead = SensorView(height_m=1.0, elevation_min_rad=-1.0, elevation_max_rad=0.5, azimuth_max_rad=0.5)
    refined = refine_approach_pose(kitchen, away, TARGET, sensor=ahead)
    assert refined is not None
    require_admissible(kitchen, refined.pose, TARGET, standoffs_m=(0.3, 1.2), inflation_m=0.25)
    assert refine_approach_pose(kitchen, away, TARGET) is away


@pytest.mark.parametrize(
    "changes",
    [
        {"height_m": math.nan},
        {"elevation_min_rad": 0.5, "elevation_max_rad": 0.2},
        {"elevation_max_rad": 2.0},
        {"azimuth_max_rad": 0.0},
    ],
)
def test_sensor_that_sees_nothing_is_refused(changes):
    with pytest.raises(ROSConfigError):
        SensorView(**({"height_m": 1.0, "elevation_min_rad": -0.5, "elevation_max_rad": 0.2} | changes))


def test_map_too_old_is_stale_not_used(kitchen):
    viewpoint = compute_approach_viewpoint(TARGET, (2.0, 0.5))
    assert refine_approach_pose(kitchen, viewpoint, TARGET, now_s=101.0, age_s_max=2.0) is viewpoint
    with pytest.raises(ROSPerceptionStale):
        refine_approach_pose(kitchen, viewpoint, TARGET, now_s=103.0, age_s_max=2.0)
    with pytest.raises(ROSConfigError, match="belong together"):
        refine_approach_pose(kitchen, viewpoint, TARGET, now_s=103.0)


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"max_radius_m": -1.0}, "max_radius_m"),
        ({"max_radius_m": math.nan}, "max_radius_m"),
        ({"min_standoff_m": 2.0, "max_standoff_m": 1.0}, "above max_standoff_m"),
        ({"min_standoff_m": math.nan}, "min_standoff_m"),
        ({"inflation_m": -0.1}, "inflation_m"),
        ({"footprint_xy": [(0, 0), (1, 1)]}, "footprint"),
        ({"reachable_from_xy": (math.nan, 0.0)}, "reachable_from_xy"),
    ],
)
def test_question_that_makes_no_sense_is_refused(kitchen, changes, why):
    viewpoint = compute_approach_viewpoint(TARGET, (2.0, 0.5))
    with pytest.raises(ROSConfigError, match=why):
        refine_approach_pose(kitchen, viewpoint, TARGET, **changes)


def test_viewpoint_in_another_frame_is_refused(kitchen):
    viewpoint = compute_approach_viewpoint(TARGET, (2.0, 0.5), frame_id="odom")
    with pytest.raises(ROSConfigError, match="`odom`"):
        refine_approach_pose(kitchen, viewpoint, TARGET)
    with pytest.raises(ROSConfigError, match="target_xyz"):
        refine_approach_pose(kitchen, compute_approach_viewpoint(TARGET), (math.nan, 0.0, 0.0))
