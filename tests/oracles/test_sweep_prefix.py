# SPDX-License-Identifier: Apache-2.0
"""What a rejection says about the rows before it: `certified_rows` can be executed, one row more cannot.

Compared: the verdict of a long chunk with the verdicts of its prefixes. Tolerance: 0.1 mm, the band in which
both answers keep the promise; a row at the end of a shorter chunk has less motion around it and may be certified
where the longer one stopped, so an accepted row more is forgiven only inside that band.
"""

from collections import Counter

import numpy as np
import pytest

import lastgate as lg
from oracles import library
from oracles.pinocchio_model import random_configurations
from oracles.scenes import random_obstacle
from oracles.sweep_cases import Case, Setup
from oracles.sweep_checker import BAND_M

CHUNKS = 400


def _long_walk(rng, setup, rows=12):
    start = setup.clear[rng.integers(len(setup.clear))]
    goal = random_configurations(setup.gate.robot, rng, 1, turns=1.0)[0]
    share = np.linspace(0.0, 1.0, rows + 1)[:, None]
    return np.clip(start + share * (goal - start), setup.kinematics.lower, setup.kinematics.upper)


@pytest.mark.parametrize(
    "build",
    [library.scara, library.six_joint_arm, library.two_arms, lambda: library.planar_arm((0.4, 0.3, 0.25))],
    ids=["scara", "six joints", "two arms", "planar 3R"],
)
def test_certified_rows_pass_alone_and_one_row_more_does_not(build):
    setup = Setup(build(), self_margin_m=0.002, world_margin_m=0.005)
    counts = Counter()
    for index in range(CHUNKS):
        rng = np.random.default_rng([41, index])
        obstacles = tuple(random_obstacle(rng, reach_m=setup.reach_m) for _ in range(3))
        case = Case(setup, _long_walk(rng, setup), obstacles)
        verdict = case.check()
        certified = verdict.certified_rows
        if verdict.accepted:
            assert certified == 12
            counts["accepted"] += 1
            continue
        counts["rejected"] += 1
        counts["rejected after a prefix"] += certified > 0
        if certified > 0:
            assert case.check(rows=certified).accepted, (
                f"#{index}: {certified} certified rows are refused alone"
            )
        if case.check(rows=certified + 1).accepted:
            counts["accepted inside the band"] += 1
            brute = setup.brute(obstacles)
            ends = case.path[certified], case.path[certified + 1]
            least_m = min(
                brute.refined_gap(kind, *ends, brute.scan(kind, *ends)) for kind in ("self", "world")
            )
            assert least_m <= BAND_M, f"#{index}: row {certified} was not certified although it is clear"
    print(dict(counts))
    assert counts["rejected after a prefix"] >= 40


def _arm_with(**safety):
    return library.gate_of(library.with_safety(library.planar_arm((0.5, 0.4)), **safety))


def _swing(gate, *primitives, degrees=90.0):
    """The straight arm turns to the left in ten rows; obstacles stand on the way of its tip."""
    rows = np.column_stack([np.linspace(0.0, np.radians(degrees), 11)[1:], np.zeros(10)])
    state = lg.RobotState(positions=np.zeros(2), stamp_s=0.0)
    world = lg.World(primitives=primitives, stamp_s=0.0)
    return gate, rows, state, world


def _post(degrees):
    angle = np.radians(degrees)
    pose = lg.Pose6D(xyz=(0.8 * np.cos(angle), 0.8 * np.sin(angle), 0.0))
    return lg.SphereShape(radius_m=0.02), pose


def _assert_prefix_is_executable(gate, rows, state, world):
    verdict = gate.check(lg.ActionChunk(rows), state=state, world=world, now_s=0.0)
    assert not verdict.accepted
    certified = verdict.certified_rows
    if certified:
        prefix = gate.check(lg.ActionChunk(rows[:certified]), state=state, world=world, now_s=0.0)
        assert prefix.accepted, f"{certified} rows were called certified: {prefix.explain()}"
    return verdict


def test_prefix_before_the_workspace_box_ends_at_an_obstacle_on_the_way():
    # The box is checked before the world, and left at 60 degrees; a post stands at 30.
    box = {"workspace_box_min_xyz": (0.4, -1.0, -1.0), "workspace_box_max_xyz": (1.0, 1.0, 1.0)}
    shape, pose = _post(30.0)
    obstacle = lg.WorldCollisionPrimitive(shape=shape, pose=pose)

    verdict = _assert_prefix_is_executable(*_swing(_arm_with(**box), obstacle))

    assert verdict.violations[0].code == lg.ViolationCode.workspace_box


def test_prefix_before_an_obstacle_ends_at_a_zone_on_the_way():
    shape, pose = _post(30.0)
    zone = lg.Zone(name="keep out", shape=shape, pose=pose)
    obstacle_shape, obstacle_pose = _post(70.0)
    obstacle = lg.WorldCollisionPrimitive(shape=obstacle_shape, pose=obstacle_pose)

    verdict = _assert_prefix_is_executable(*_swing(_arm_with(no_go_zones=(zone,)), obstacle))

    assert verdict.violations[0].code == lg.ViolationCode.world_collision


def test_prefix_before_a_self_collision_ends_at_a_zone_on_the_way():
    shape, pose = _post(30.0)
    robot = library.planar_arm((0.4, 0.3, 0.25))
    gate = library.gate_of(
        library.with_safety(robot, no_go_zones=(lg.Zone(name="keep out", shape=shape, pose=pose),))
    )
    turned = np.column_stack([np.linspace(0.0, 1.2, 11)[1:], np.zeros(10), np.zeros(10)])
    folded = np.column_stack([np.full(10, 1.2), np.linspace(0.0, 2.8, 11)[1:], np.linspace(0.0, 2.8, 11)[1:]])
    state = lg.RobotState(positions=np.zeros(3), stamp_s=0.0)

    verdict = _assert_prefix_is_executable(
        gate, np.vstack([turned, folded]), state, lg.World(primitives=[], stamp_s=0.0)
    )

    assert verdict.violations[0].code == lg.ViolationCode.self_collision
