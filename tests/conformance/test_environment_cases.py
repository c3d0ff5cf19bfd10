# SPDX-License-Identifier: Apache-2.0
"""Cases about sphere sets, environments, clouds and distance fields that other implementations get wrong.

Touching counts as contact. A distance may be below the exact number by the rounding that is taken off it, never above.
"""

import math
import threading

import numpy as np
import pytest

import lastgate as lg
from lastgate.planning.collision import CollisionEnvironment
from lastgate.world.rasterise import rasterise_points

ROUNDING_M = 1.1e-11


def cube(half_m):
    return ((-half_m,) * 3, (half_m,) * 3)


def env_of(*spheres, resolution_m=0.05, half_m=10.0, **more):
    return CollisionEnvironment.build(
        np.array(spheres, dtype=np.float64).reshape(-1, 4), resolution_m, cube(half_m), **more
    )


def rows_of(*spheres):
    return np.array(spheres, dtype=np.float64).reshape(-1, 4)


def assert_distance(env, robot, expected_m):
    found = env.min_distance(robot)
    assert expected_m - ROUNDING_M <= found <= expected_m + 1e-15
    assert env.check_collision(robot) == (found <= 0.0)


# ---- Sphere sets -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("obstacles", "robot"),
    [([], []), ([], [(0, 0, 0, 1)]), ([(0, 0, 0, 1)], [])],
)
def test_empty_set_touches_nothing(obstacles, robot):
    env = env_of(*obstacles)
    assert env.check_collision(rows_of(*robot)) is False
    assert env.min_distance(rows_of(*robot)) == math.inf
    assert env.nearest(rows_of(*robot)).obstacle is None


@pytest.mark.parametrize(
    ("obstacle", "robot", "expected_m"),
    [
        ((1.5, 0, 0, 1), (0, 0, 0, 1), -0.5),
        ((2, 0, 0, 0.5), (0, 0, 0, 0.5), 1.0),
        ((3, 0, 0, 0.5), (0, 0, 0, 0.5), 2.0),
        ((0.6, 0, 0, 0.5), (0, 0, 0, 0.5), -0.4),
        ((1, 0, 0, 0.1), (0, 0, 0, 0.1), 0.8),
        ((0, 0, 0, 1), (0, 0, 0, 1), -2.0),
    ],
)
def test_two_spheres_are_as_far_as_they_are(obstacle, robot, expected_m):
    assert_distance(env_of(obstacle), rows_of(robot), expected_m)


@pytest.mark.parametrize(("gap_m", "radius_m"), [(1.0, 0.5), (2.0, 1.0)])
def test_tangent_spheres_touch(gap_m, radius_m):
    env = env_of((gap_m, 0, 0, radius_m))
    assert abs(env.min_distance(rows_of((0, 0, 0, radius_m)))) < 1e-10
    assert env.check_collision(rows_of((0, 0, 0, radius_m)))
    assert not env.check_collision(rows_of((-1e-9, 0, 0, radius_m)))


def test_margin_reaches_over_the_gap_and_no_farther():
    env = env_of((1.5, 0, 0, 0.5))
    assert env.check_collision(rows_of((0, 0, 0, 0.5)), margin_m=0.6)
    assert not env.check_collision(rows_of((0, 0, 0, 0.5)), margin_m=0.4)


def test_swapping_robot_and_obstacle_changes_nothing():
    rng = np.random.default_rng(1)
    for a, b in rng.uniform(0.01, 1.0, (200, 2, 4)):
        there = env_of(a).min_distance(rows_of(b))
        back = env_of(b).min_distance(rows_of(a))
        assert abs(there - back) <= 1e-12


def test_large_sphere_far_away_is_nearer_than_small_one_close_by():
    env = env_of((0.30, 0, 0, 0.01), (0, 0, -2.10, 2.0), ids=["small", "large"])
    robot = rows_of((0, 0, 0, 0.05))
    assert_distance(env, robot, 0.05)
    assert env.nearest(robot).obstacle == "large"


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 7, 8, 13, 17, 10_000])
def test_any_number_of_spheres_measures_like_a_loop(count):
    rng = np.random.default_rng(count)
    obstacles = np.column_stack([rng.uniform(-2, 2, (count, 3)), rng.uniform(0.0, 0.1, count)])
    robot = np.column_stack([rng.uniform(-2, 2, (20, 3)), rng.uniform(0.0, 0.1, 20)])
    apart = np.linalg.norm(obstacles[None, :, :3] - robot[:, None, :3], axis=-1)
    expected_m = float((apart - obstacles[None, :, 3] - robot[:, None, 3]).min())
    env = CollisionEnvironment.build(obstacles, 0.05, cube(10.0))
    found = env.min_distance(robot)
    assert abs(found - expected_m) < 1e-10
    assert found <= expected_m


@pytest.mark.parametrize("poison", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("column", range(4))
def test_sphere_that_is_not_finite_is_refused_not_free(column, poison):
    sphere = rows_of((0, 0, 0, 0.1))
    sphere[0, column] = poison
    with pytest.raises(lg.ROSConfigError, match="finite"):
        env_of((0, 0, 0, 1)).check_collision(sphere)
    with pytest.raises(lg.ROSConfigError, match="finite"):
        env_of((0, 0, 0, 1)).min_distance(sphere)
    with pytest.raises(lg.ROSConfigError, match="finite"):
        CollisionEnvironment.build(sphere, 0.05, cube(1.0))


# ---- Environments ----------------------------------------------------------------------------------


def test_empty_world_is_free():
    env = CollisionEnvironment.empty(0.05, cube(1.0))
    assert not env.check_collision(rows_of((0, 0, 0, 0.5), (0.5, 0.5, 0.5, 0.1)))


def test_point_inside_an_obstacle_collides_and_one_far_from_it_does_not():
    env = env_of((0, 0, 0, 0.3), half_m=2.0)
    assert env.check_collision(rows_of((0, 0, 0, 0.01)))
    assert not env.check_collision(rows_of((1, 0, 0, 0.1)))
    assert_distance(env, rows_of((0.3, 0, 0, 0)), 0.0)


def test_robot_between_two_obstacles_is_free():
    env = env_of((-0.5, 0, 0, 0.2), (0.5, 0, 0, 0.2))
    assert not env.check_collision(rows_of((0, 0, 0, 0.1)))
    assert_distance(env, rows_of((-0.3, 0, 0, 0)), 0.0)


def test_clearance_is_never_above_the_truth_and_falls_towards_the_obstacle():
    assert_distance(env_of((0, 0, 0, 0.1)), rows_of((0.3, 0, 0, 0)), 0.2)
    env = env_of((0, 0, 0, 0.2), resolution_m=0.02)
    found = env.distances(rows_of((0.8, 0, 0, 0), (0.4, 0, 0, 0), (0.25, 0, 0, 0)))
    assert found[0] > found[1] > found[2] > 0.0


def test_sphere_in_the_same_place_collides_in_a_large_world():
    env = env_of((0.15, 0.15, 0.15, 0.05))
    assert_distance(env, rows_of((0.15, 0.15, 0.15, 0.05)), -0.1)
    report = env.nearest(rows_of((0.15, 0.15, 0.15, 0.05)))
    assert report.in_collision
    assert report.distance_m <= 0.0
    assert (report.robot_index, report.obstacle) == (0, "sphere_0")


def test_obstacle_beside_a_grid_vertex_collides():
    env = env_of((0.049, 0.049, 0.049, 0.02), half_m=2.0)
    assert env.check_collision(rows_of((0.049, 0.049, 0.049, 0.06)))


@pytest.mark.parametrize(("resolution_m", "half_m"), [(0.05, 2.0), (0.02, 1.0), (0.05, 10.0)])
def test_no_contact_is_missed_at_any_resolution(resolution_m, half_m):
    rng = np.random.default_rng(25)
    obstacles = np.column_stack([rng.uniform(-half_m, half_m, (20, 3)), rng.uniform(0.01, 0.3, 20)])
    queries = np.column_stack([rng.uniform(-half_m, half_m, (5000, 3)), rng.uniform(0.01, 0.2, 5000)])
    apart = np.linalg.norm(obstacles[None, :, :3] - queries[:, None, :3], axis=-1)
    truth = (apart - obstacles[None, :, 3] - queries[:, None, 3]).min(axis=1)
    env = CollisionEnvironment.build(obstacles, resolution_m, cube(half_m))
    found = env.check_collision(np.ascontiguousarray(queries[:, None]))
    assert (found == (truth <= 0.0)).all()


def test_wide_margins_are_exact_too():
    assert env_of((0, 0, 0, 0.1)).check_collision(rows_of((0.64, 0, 0, 0.25)), margin_m=0.30)
    assert_distance(env_of((0, 0, 0, 0.1)), rows_of((0, 0.7, 0, 0.62)), -0.02)
    env = env_of((1, 0, 0, 0.1))
    answers = [env.check_collision(rows_of((0, 0, 0, 0.1)), margin_m=m) for m in (0.0, 0.5, 0.8, 1.0, 5.0)]
    assert answers == [False, False, True, True, True]


def test_robot_outside_the_bounds_is_told_apart_from_one_in_collision():
    robot = rows_of((1.2, 0, 0, 0.1))
    env = CollisionEnvironment.empty(0.05, cube(1.0))
    assert not env.check_collision(robot)
    assert env.nearest(robot).outside_bounds
    assert env.is_outside(robot).tolist() == [True]
    assert env.is_outside(rows_of((0.8, 0, 0, 0.1))).tolist() == [False]
    closed = CollisionEnvironment.build([], 0.05, cube(1.0), outside="occupied")
    assert closed.check_collision(robot)
    assert closed.nearest(robot).obstacle == "outside"
    assert not closed.check_collision(rows_of((0.8, 0, 0, 0.1)))
    assert closed.min_distance(rows_of((0.8, 0, 0, 0.1))) == pytest.approx(0.1)


def test_obstacle_outside_the_bounds_still_counts():
    assert env_of((1.3, 0, 0, 0.1), half_m=1.0).check_collision(rows_of((1.2, 0, 0, 0.1)))


def test_far_obstacles_do_not_hide_the_near_one():
    assert not env_of((5, 5, 5, 0.1)).check_collision(rows_of((0, 0, 0, 0.3)))
    row = [(5 + 0.1 * index, 5, 5, 0.01) for index in range(99)]
    assert env_of(*row, (0, 0, 0, 0.5)).check_collision(rows_of((0, 0, 0, 0.3)))


def test_nearest_names_the_link_and_the_obstacle():
    env = env_of((0, 0, 1, 0.1), ids=[42])
    robot = rows_of(*((0, 0, 0.5 * link, 0.05) for link in range(4)))
    report = env.nearest(robot)
    assert (report.robot_index, report.obstacle) == (2, "42")


def test_witness_points_lie_on_both_surfaces():
    report = env_of((1, 0, 0, 0.25)).nearest(rows_of((0, 0, 0, 0.5)))
    assert report.on_robot == pytest.approx((0.5, 0, 0))
    assert report.on_obstacle == pytest.approx((0.75, 0, 0))


def test_memory_follows_the_obstacles_not_the_bounds():
    assert CollisionEnvironment.empty(0.05, cube(10.0)).memory_bytes <= 1_000_000
    assert CollisionEnvironment.empty(0.001, cube(1000.0)).memory_bytes <= 1_000_000
    assert env_of((5, 5, 5, 0.1), (-9, -9, -9, 0.1)).memory_bytes <= 1_000_000
    rng = np.random.default_rng(3)
    many = np.column_stack([rng.uniform(-10, 10, (100_000, 3)), np.full(100_000, 0.02)])
    assert CollisionEnvironment.build(many, 0.05, cube(10.0)).memory_bytes <= 20_000_000


@pytest.mark.parametrize("radius_m", [0.0, 1e-6, 0.02, 0.3, 5.0])
def test_there_is_no_range_of_radii_to_declare(radius_m):
    rng = np.random.default_rng(36)
    cloud = rng.uniform(-1, 1, (3000, 3))
    env = CollisionEnvironment.build([], 0.05, cube(2.0), points=cloud, point_radius_m=0.01)
    queries = np.column_stack([rng.uniform(-4, 4, (500, 3)), np.full(500, radius_m)])
    apart = np.linalg.norm(cloud[None] - queries[:, None, :3], axis=-1).min(axis=1) - 0.01 - radius_m
    assert (env.check_collision(np.ascontiguousarray(queries[:, None])) == (apart <= 0.0)).all()


# ---- Clouds, distance fields, scenes ---------------------------------------------------------------


def test_distance_is_symmetric_around_a_sphere():
    env = env_of((0, 0, 0, 0.3), resolution_m=0.1, half_m=1.0)
    found = env.distances(rows_of((0.5, 0, 0, 0), (-0.5, 0, 0, 0)))
    assert found == pytest.approx([0.2, 0.2], abs=1e-10)


def test_thin_obstacle_is_occupied_at_its_middle_at_any_resolution():
    for resolution_m in (0.05, 0.2, 1.0):
        assert env_of((0, 0, 0, 0.05), resolution_m=resolution_m).check_collision(rows_of((0, 0, 0, 0)))


def test_cloud_is_copied_so_that_writing_over_it_moves_nothing():
    cloud = np.array([[1.0, 0.0, 0.0]])
    env = CollisionEnvironment.build([[0.0, 1.0, 0.0, 0.1]], 0.05, cube(3.0), ids=["sphere"], points=cloud)
    cloud[:] = 2.0
    assert env.spheres[1].tolist() == [1.0, 0.0, 0.0, 0.0]
    sphere_there = [[1.0, 0.0, 0.0, 0.01]]
    assert env.check_collision(sphere_there)
    assert env.without("sphere").check_collision(sphere_there)
    assert not env.without("sphere").check_collision([[2.0, 2.0, 2.0, 0.01]])


def test_cloud_of_three_points_is_three_obstacles():
    cloud = np.array([[0.0, 0, 0], [1, 0, 0], [2, 0, 0]])
    env = CollisionEnvironment.build([], 0.05, cube(3.0), points=cloud, point_radius_m=0.05)
    assert env.obstacle_count == 3
    assert_distance(env, rows_of((0.5, 0, 0, 0.1)), 0.35)
    assert env.nearest(rows_of((1.9, 0, 0, 0.01))).obstacle == "point_2"


def test_every_point_of_a_cloud_in_voxels_is_covered():
    lattice = 0.1 * np.stack(np.meshgrid(*[np.arange(10)] * 3), axis=-1).reshape(-1, 3) + 0.013
    layout = lg.world.GridLayout(origin_xyz=(-0.2, -0.2, -0.2), resolution_m=0.2, size_xyz=(8, 8, 8))
    grid = rasterise_points(layout, lg.Points(xyz=lattice, stamp_s=0.0), elsewhere="free", radius_m=0.02)
    env = CollisionEnvironment.build([], 0.05, cube(2.0), voxels=grid.voxels)
    shell = lattice[:, None] + 0.02 * np.array(
        [[1, 0, 0], [-1, 0, 0], [0, 1, 0], [0, -1, 0], [0, 0, 1], [0, 0, -1]]
    )
    probes = np.column_stack([shell.reshape(-1, 3), np.zeros(6 * len(lattice))])
    assert env.check_collision(np.ascontiguousarray(probes[:, None])).all()


def test_half_space_has_no_end():
    floor = lg.WorldCollisionPrimitive(
        shape=lg.HalfSpaceShape(shape="half_space"), pose=lg.Pose6D(xyz=(0, 0, 0), quat_xyzw=(0, 0, 0, 1))
    )
    env = CollisionEnvironment.build([], 0.05, cube(1.0), primitives=[floor])
    assert env.check_collision(rows_of((1.5, 1.5, -0.5, 0.0)))
    assert env.check_collision(rows_of((5.5, 0, -1, 0.0)))
    assert not env.check_collision(rows_of((5.5, 0, 0.2, 0.1)))


def test_flat_box_has_no_holes():
    slab = lg.WorldCollisionPrimitive(
        shape=lg.BoxShape(shape="box", size_xyz_m=(0.5, 0.3, 0.01)),
        pose=lg.Pose6D(xyz=(0, 0, 0), quat_xyzw=(0, 0, 0, 1)),
        object_id="slab",
    )
    env = CollisionEnvironment.build([], 0.05, cube(1.0), primitives=[slab])
    rng = np.random.default_rng(113)
    probes = np.column_stack(
        [rng.uniform([-0.25, -0.15], [0.25, 0.15], (500, 2)), np.full(500, 0.010), np.full(500, 0.006)]
    )
    assert env.check_collision(np.ascontiguousarray(probes[:, None])).all()
    assert env.distances(rows_of((0, 0, 0, 0.0))) == pytest.approx([-0.005])
    assert env.nearest(rows_of((0, 0, 0.1, 0.0))).obstacle == "slab"


def test_batch_of_no_configurations_is_empty():
    env = env_of((0, 0, 0, 0.1))
    assert env.check_collision(np.empty((0, 5, 4))).shape == (0,)
    assert env.min_distance(np.empty((0, 5, 4))).shape == (0,)
    assert env.check_collision(np.empty((3, 0, 4))).tolist() == [False] * 3


def test_answers_are_plain_for_one_and_arrays_for_many():
    env = env_of((0, 0, 0, 0.1))
    one = rows_of((0, 0, 0, 0.1), (1, 0, 0, 0.1))
    assert env.check_collision(one) is True
    assert isinstance(env.min_distance(one), float)
    many = np.stack([one, one + np.array([5, 0, 0, 0])])
    assert env.check_collision(many).tolist() == [True, False]
    assert env.min_distance(many) == pytest.approx([-0.2, 4.8])


def test_threads_get_the_same_answers():
    rng = np.random.default_rng(9)
    env = CollisionEnvironment.build([], 0.05, cube(2.0), points=rng.uniform(-1, 1, (20_000, 3)))
    queries = np.ascontiguousarray(np.column_stack([rng.uniform(-1, 1, (4000, 3)), np.full(4000, 0.05)]))
    expected = env.distances(queries)
    found = [np.empty(0)] * 4

    def ask(index):
        found[index] = env.distances(queries)

    threads = [threading.Thread(target=ask, args=(index,)) for index in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all((answer == expected).all() for answer in found)
