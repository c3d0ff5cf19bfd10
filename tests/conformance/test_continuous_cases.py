# SPDX-License-Identifier: Apache-2.0
"""Cases about motion between two configurations that other implementations get wrong: the first contact is never
reported later than it comes, and never missed."""

import threading

import numpy as np
import pytest
from fixtures.analytic_robots import allowed, joint, sphere_on

import lastgate as lg
from lastgate.planning.collision import (
    AllowedCollisionMatrix,
    CCDConfig,
    CollisionEnvironment,
    ContinuousCollisionDetector,
    TrajectoryContact,
)

BOUNDS = ((-20.0,) * 3, (20.0,) * 3)
SLIDE = {"joint_type": "prismatic", "position_limits": [-20.0, 20.0], "velocity_limit": 1000.0}


def env_of(*spheres, **more):
    return CollisionEnvironment.build(
        np.array(spheres, dtype=np.float64).reshape(-1, 4), 0.05, BOUNDS, **more
    )


def sphere_on_slides(radius_m=0.05):
    """Returns a sphere that x, y and z move."""
    axes = {"x": [1, 0, 0], "y": [0, 1, 0], "z": [0, 0, 1]}
    links = ["base", "cart", "boom", "sphere"]
    return lg.RobotDescription(
        name="gantry",
        base_frame="base",
        joints=[
            joint(name, links[index], links[index + 1], axis_xyz=axis, **SLIDE)
            for index, (name, axis) in enumerate(axes.items())
        ],
        collision_geometry=[sphere_on("sphere", radius_m)],
        coverage_waivers=[{"link": link, "reason": "carries nothing"} for link in ("cart", "boom")],
    )


def detector(*spheres, radius_m=0.05, **config):
    return ContinuousCollisionDetector(
        sphere_on_slides(radius_m), CCDConfig(**config), environment=env_of(*spheres) if spheres else None
    )


ORIGIN, ONE = np.zeros(3), np.array([1.0, 0.0, 0.0])


def test_case_76_motion_without_obstacles_is_free():
    assert detector().check(ORIGIN, ONE) is None
    empty = ContinuousCollisionDetector(sphere_on_slides(), environment=env_of())
    assert empty.check(ORIGIN, ONE) is None


@pytest.mark.parametrize(
    ("end", "spheres", "earliest", "exact"),
    [
        pytest.param(ONE, [(0.5, 0, 0, 0.1)], 0.3499, 0.35, id="case_77"),
        pytest.param(ONE, [(0.5, 0, 0, 0.001)], 0.44, 0.449, id="case_78"),
        pytest.param(10 * ONE, [(5, 0, 0, 0.01)], 0.4939, 0.494, id="case_79"),
        pytest.param(2 * ONE, [(1, 0, 0, 0.01)], 0.4699, 0.47, id="case_80"),
        pytest.param(
            np.array([1.0, 1.0, 0.0]), [(0.5, 0.5, 0, 0.02)], 0.4503, 0.5 - 0.07 / np.sqrt(2), id="case_81"
        ),
        pytest.param(ONE, [(0.5, 0.04, 0, 0.02)], 0.4424, 0.5 - np.sqrt(0.07**2 - 0.04**2), id="case_83"),
        pytest.param(ONE, [(0.3, 0, 0, 0.05), (0.7, 0, 0, 0.05)], 0.1998, 0.2, id="case_84"),
    ],
)
def test_first_contact_is_found_and_never_late(end, spheres, earliest, exact):
    found = detector(*spheres).check(ORIGIN, end)
    assert found is not None
    assert earliest <= found <= exact + 1e-12


def test_case_80_is_missed_by_samples():
    robot = detector((1, 0, 0, 0.01))
    for t in np.linspace(0.0, 1.0, 6):
        at = t * 2 * ONE
        assert robot.check(at, at) is None
    assert robot.check(ORIGIN, 2 * ONE) is not None


def test_case_82_pass_by_is_free_up_to_its_clearance():
    obstacle = (0.5, 0.2, 0, 0.01)
    assert detector(obstacle).check(ORIGIN, ONE) is None
    assert detector(obstacle, safety_margin_m=0.1398).check(ORIGIN, ONE) is None
    assert detector(obstacle, safety_margin_m=0.1401).check(ORIGIN, ONE) is not None


def test_case_85_start_inside_is_contact_at_once():
    assert detector((0, 0, 0, 0.1)).check(ORIGIN, ONE) == 0.0
    assert detector((0.1, 0, 0, 0.1)).check(ORIGIN, ONE) == 0.0


def test_case_86_no_motion_is_checked_where_it_stands():
    assert detector((1, 0, 0, 0.1)).check(ORIGIN, ORIGIN) is None
    assert detector((0.1, 0, 0, 0.1)).check(ORIGIN, ORIGIN) == 0.0


def waypoints(*xs):
    return np.array([[x, 0.0, 0.0] for x in xs])


@pytest.mark.parametrize(
    ("xs", "sphere", "segment", "t"),
    [((0, 0.4, 1.0), (0.75, 0, 0, 0.1), 1, 1 / 3), ((0, 0.2, 0.4, 0.8, 1), (0.55, 0, 0, 0.005), 2, 0.2375)],
)
def test_case_87_trajectory_names_its_segment(xs, sphere, segment, t):
    found = detector(sphere).check_trajectory(waypoints(*xs))
    assert found is not None
    assert found.segment == segment
    assert t - 5e-4 <= found.t <= t + 1e-12


def test_case_88_empty_trajectory_is_free_and_a_single_waypoint_is_checked():
    robot = detector((0.5, 0, 0, 0.1))
    assert robot.check_trajectory(np.empty((0, 3))) is None
    assert robot.check_trajectory(waypoints(0.0)) is None
    assert robot.check_trajectory(waypoints(0.5)) == TrajectoryContact(0, 0.0)


@pytest.mark.parametrize(("y_m", "clear_m"), [(0.2, 0.05), (2.0, 1.85)])
def test_case_89_swept_clearance_is_what_a_margin_may_be(y_m, clear_m):
    obstacle = (0.5, y_m, 0, 0.1)
    assert detector(obstacle, safety_margin_m=clear_m - 2e-4).check(ORIGIN, ONE) is None
    assert detector(obstacle, safety_margin_m=clear_m + 1e-6).check(ORIGIN, ONE) is not None
    assert detector((0.5, 0, 0, 0.1)).check(ORIGIN, ONE) is not None


@pytest.mark.parametrize(
    ("point", "segment", "distance_m"),
    [
        ((0, 0, 0), (1, 0, 0, 3, 0, 0), 1.0),
        ((2, 1, 0), (1, 0, 0, 3, 0, 0), 1.0),
        ((0, 0, 0), (1, 0, 0, 1, 0, 0), 1.0),
    ],
)
def test_case_90_point_and_segment(point, segment, distance_m):
    from lastgate import _core

    found, _, _ = _core.distance_segments(
        np.array([*point, *point], dtype=float), np.array(segment, dtype=float)
    )
    assert found == distance_m


# Two middles on a circle of 1 m are 15 cm apart at this angle.
MEETS_DEG = np.degrees(2.0 * np.arcsin(0.075))


def swinging_arm(sphere, **config):
    robot = lg.RobotDescription(
        name="arm",
        base_frame="base",
        joints=[joint("turn", "base", "arm", position_limits=[-7.0, 7.0])],
        collision_geometry=[sphere_on("arm", 0.05, (1.0, 0.0, 0.0))],
    )
    return ContinuousCollisionDetector(robot, CCDConfig(**config), environment=env_of(sphere))


@pytest.mark.parametrize(
    ("start_deg", "end_deg", "earliest", "latest"),
    [
        pytest.param(0, 180, 0.44, (90.0 - MEETS_DEG) / 180.0, id="case_91"),
        pytest.param(0, 360, 0.22, (90.0 - MEETS_DEG) / 360.0, id="case_92"),
        pytest.param(60, 120, 0.355, (30.0 - MEETS_DEG) / 60.0, id="case_93"),
    ],
)
def test_turning_arm_is_not_taken_for_its_chord(start_deg, end_deg, earliest, latest):
    robot = swinging_arm((0, 1, 0, 0.1))
    found = robot.check(np.radians([float(start_deg)]), np.radians([float(end_deg)]))
    assert found is not None
    assert earliest < found <= latest + 1e-12


def test_case_94_near_contact_that_stands_still_does_not_hide_the_contact_of_another():
    robot = lg.RobotDescription(
        name="two",
        base_frame="base",
        joints=[
            joint("still", "base", "foot", axis_xyz=[1, 0, 0], **SLIDE),
            joint("moves", "base", "fist", axis_xyz=[1, 0, 0], origin_xyz=[0, 0, 1], **SLIDE),
        ],
        collision_geometry=[sphere_on("foot", 0.05), sphere_on("fist", 0.05)],
    )
    table = lg.WorldCollisionPrimitive(
        shape=lg.BoxShape(size_xyz_m=(1.0, 1.0, 0.1)),
        pose=lg.Pose6D(xyz=(0.0, 0.0, -0.1002)),
        object_id="table",
    )
    scene = ContinuousCollisionDetector(robot, environment=env_of((0.9, 0, 1, 0.05), primitives=[table]))
    found = scene.check(np.zeros(2), np.array([0.0, 1.0]))
    assert found is not None
    assert 0.79 < found <= 0.8 + 1e-12
    alone = ContinuousCollisionDetector(robot, environment=env_of(primitives=[table]))
    assert alone.check(np.zeros(2), np.array([0.0, 1.0])) is None


def swapping(**more):
    robot = lg.RobotDescription(
        name="swap",
        base_frame="base",
        joints=[
            joint("left", "base", "a", axis_xyz=[1, 0, 0], origin_xyz=[-0.5, 0, 0], **SLIDE),
            joint("right", "base", "b", axis_xyz=[1, 0, 0], origin_xyz=[0.5, 0, 0], **SLIDE),
        ],
        collision_geometry=[sphere_on("a", 0.01), sphere_on("b", 0.01)],
        **more,
    )
    return robot


def test_case_95_links_that_swap_places_meet():
    found = ContinuousCollisionDetector(swapping()).check(np.zeros(2), np.array([1.0, -1.0]))
    assert found is not None
    assert 0.489 < found <= 0.49 + 1e-12


def test_case_97_pair_that_may_touch_is_skipped():
    move = np.zeros(2), np.array([1.0, -1.0])
    allowed_pair = AllowedCollisionMatrix([("a", "b")])
    assert ContinuousCollisionDetector(swapping(), allowed=allowed_pair).check(*move) is None
    declared = swapping(allowed_collision_pairs=[allowed("a", "b", "proved-never")])
    assert ContinuousCollisionDetector(declared).check(*move) is None
    assert ContinuousCollisionDetector(swapping(), CCDConfig(check_self_collision=False)).check(*move) is None


def test_case_96_bound_of_a_pass_by_is_not_above_its_clearance():
    obstacle = (0.5, 0.07, 0, 0.01)  # 10 mm clear
    assert detector(obstacle, safety_margin_m=0.01).check(ORIGIN, ONE) is not None
    assert detector(obstacle, safety_margin_m=0.0098).check(ORIGIN, ONE) is None


# ---- Environments ----------------------------------------------------------------------------------


def test_many_spheres_points_and_shapes_give_the_same_contact():
    rng = np.random.default_rng(3)
    far = np.column_stack([rng.uniform(-3, 3, (600, 2)), rng.uniform(2, 3, 600), np.full(600, 0.02)])
    near = np.array([[0.5, 0.0, 0.0, 0.1]])
    as_shapes = detector(*near).check(ORIGIN, ONE)
    table = ContinuousCollisionDetector(sphere_on_slides(), environment=env_of(*np.vstack([far, near])))
    assert table.check(ORIGIN, ONE) == pytest.approx(as_shapes, abs=2e-4)
    assert (
        ContinuousCollisionDetector(sphere_on_slides(), environment=env_of(*far)).check(ORIGIN, ONE) is None
    )
    cloud = env_of(points=np.array([[0.5, 0.0, 0.0]]), point_radius_m=0.1)
    assert ContinuousCollisionDetector(sphere_on_slides(), environment=cloud).check(ORIGIN, ONE) == as_shapes
    thin = env_of(points=np.array([[0.5, 0.0, 0.0]]))
    found = ContinuousCollisionDetector(sphere_on_slides(), environment=thin).check(ORIGIN, ONE)
    assert found is not None
    assert 0.4497 <= found <= 0.45 + 1e-12


@pytest.mark.parametrize("axis", range(3))
@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_leaving_bounds_that_are_solid_outside_is_a_contact(axis, sign):
    end = np.zeros(3)
    end[axis] = sign
    bounds = ((-0.5,) * 3, (0.5,) * 3)
    closed = CollisionEnvironment.build([], 0.05, bounds, outside="occupied")
    found = ContinuousCollisionDetector(sphere_on_slides(), environment=closed).check(ORIGIN, end)
    assert found is not None
    assert 0.4498 <= found <= 0.45 + 1e-12
    opened = CollisionEnvironment.build([], 0.05, bounds)
    assert ContinuousCollisionDetector(sphere_on_slides(), environment=opened).check(ORIGIN, end) is None


def test_object_that_a_link_may_touch_is_passed_through_by_that_link_only():
    move = np.zeros(2), np.array([1.0, -1.0])
    scene = env_of((0.0, 0.0, 0.0, 0.05), (0.0, 3.0, 0.0, 0.05), ids=["cup", "far"])
    ab = ("a", "b")
    for links, free in (((), False), (("a",), False), (("b",), False), (("a", "b"), True)):
        matrix = AllowedCollisionMatrix([ab, *((link, "cup") for link in links)])
        found = ContinuousCollisionDetector(swapping(), environment=scene, allowed=matrix).check(*move)
        assert (found is None) == free, links
        if not free:
            assert 0.439 < found <= 0.44 + 1e-12


def test_link_that_nothing_moves_counts_where_it_stands():
    robot = lg.RobotDescription(
        name="stand",
        base_frame="base",
        joints=[joint("turn", "base", "arm", axis_xyz=[1, 0, 0], **SLIDE)],
        collision_geometry=[sphere_on("base", 0.1), sphere_on("arm", 0.05, (0, 1, 0))],
    )
    floor = env_of((0.0, 0.0, -0.15, 0.1), ids=["floor"])
    move = np.array([0.0]), np.array([1.0])
    assert ContinuousCollisionDetector(robot, environment=floor).check(*move) == 0.0
    matrix = AllowedCollisionMatrix.from_robot(robot)
    matrix.allow("base", "floor")
    assert ContinuousCollisionDetector(robot, environment=floor, allowed=matrix).check(*move) is None


def test_many_motions_at_once_are_the_motions_one_by_one():
    rng = np.random.default_rng(11)
    robot = detector((0.5, 0, 0, 0.4), (0, 0.6, 0.1, 0.3), (-0.5, -0.3, 0, 0.4))
    starts, ends = rng.uniform(-1, 1, (60, 3)), rng.uniform(-1, 1, (60, 3))
    found = robot.check_many(starts, ends)
    singles = [robot.check(a, b) for a, b in zip(starts, ends, strict=True)]
    assert found.tolist() == [np.inf if t is None else t for t in singles]
    assert 5 < np.isfinite(found).sum() < 55
    assert robot.check_many(np.empty((0, 3)), np.empty((0, 3))).shape == (0,)


def test_threads_that_share_a_detector_get_the_answers_of_one():
    rng = np.random.default_rng(12)
    robot = detector((0.5, 0, 0, 0.4), (0, 0.6, 0.1, 0.3), (-0.5, -0.3, 0, 0.4))
    motions = [(rng.uniform(-1, 1, (300, 3)), rng.uniform(-1, 1, (300, 3))) for _ in range(4)]
    expected = [robot.check_many(*motion) for motion in motions]
    found = [[np.empty(0)] * 10 for _ in motions]

    def ask(index):
        for turn in range(10):
            found[index][turn] = robot.check_many(*motions[index])

    threads = [threading.Thread(target=ask, args=(index,)) for index in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for answers, right in zip(found, expected, strict=True):
        assert all((answer == right).all() for answer in answers)


def test_random_motions_of_a_sphere_touch_when_a_formula_says():
    """The distance of a sphere's middle from a straight line is known, so both sides are held to it."""
    rng = np.random.default_rng(5)
    spheres = np.column_stack([rng.uniform(-1, 1, (6, 3)), rng.uniform(0.1, 0.4, 6)])
    robot = detector(*spheres)
    starts, ends = rng.uniform(-1.5, 1.5, (400, 3)), rng.uniform(-1.5, 1.5, (400, 3))
    found = robot.check_many(starts, ends)
    contacts = 0
    for start, end, t in zip(starts, ends, found, strict=True):
        first = np.inf
        nearest = np.inf
        for x, y, z, r in spheres:
            along, away = end - start, start - np.array([x, y, z])
            reach = r + 0.05
            a, b, c = along @ along, along @ away, away @ away - reach**2
            if c <= 0:
                first = 0.0
            elif b * b - a * c >= 0 and 0 <= (-b - np.sqrt(b * b - a * c)) / a <= 1:
                first = min(first, (-b - np.sqrt(b * b - a * c)) / a)
            at = np.clip(-b / a, 0.0, 1.0)
            nearest = min(nearest, np.linalg.norm(away + at * along) - reach)
        if np.isfinite(first):
            contacts += 1
            assert t <= first + 1e-12
        else:
            assert t == np.inf or nearest <= 1e-4
    assert 50 < contacts < 350


@pytest.mark.parametrize(
    ("start", "end", "message"),
    [
        (np.zeros(2), np.zeros(3), "2 columns"),
        (np.zeros((2, 3)), np.zeros((2, 3)), "use check_many"),
        (np.array([np.nan, 0, 0]), np.zeros(3), "joint `x`"),
        (np.zeros(3), np.array([0, 21.0, 0]), "joint `y`"),
        (np.zeros(3, dtype=np.float32), np.zeros(3), "float64"),
    ],
)
def test_motion_that_cannot_be_evaluated_is_refused(start, end, message):
    with pytest.raises(lg.ROSConfigError, match=message):
        detector().check(start, end)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"safety_margin_m": -0.1}, "safety_margin_m"),
        ({"safety_margin_m": float("nan")}, "safety_margin_m"),
        ({"step_max": 0.0}, "step_max"),
        ({"check_self_collision": 1}, "True or False"),
    ],
)
def test_config_that_means_nothing_is_refused(arguments, message):
    with pytest.raises(lg.ROSConfigError, match=message):
        CCDConfig(**arguments)


def test_default_config_counts_touching_and_compares_links():
    assert CCDConfig.default() == CCDConfig()
    assert (CCDConfig.default().safety_margin_m, CCDConfig.default().check_self_collision) == (0.0, True)
    assert CCDConfig.default() != CCDConfig(safety_margin_m=0.01)


def test_arguments_of_another_type_are_refused():
    with pytest.raises(lg.ROSConfigError, match="expected a CCDConfig"):
        ContinuousCollisionDetector(sphere_on_slides(), 0.1)
    with pytest.raises(lg.ROSConfigError, match="expected a CollisionEnvironment"):
        ContinuousCollisionDetector(sphere_on_slides(), environment=lg.NO_WORLD)
    with pytest.raises(lg.ROSConfigError, match="expected a RobotDescription"):
        ContinuousCollisionDetector("ur5")
