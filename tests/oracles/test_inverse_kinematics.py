# SPDX-License-Identifier: Apache-2.0
"""Inverse kinematics against the core's forward kinematics, which Pinocchio is held against elsewhere.

Compared: where the core puts a link at a solution, with the pose that was asked for; goals are poses that the core
gives for random postures, so each has one. Tolerance: the solver's own, a micrometre and as much at a metre. Not every
goal is solved from every seed; how many are is printed and bounded.
"""

import math

import numpy as np
import pytest

import lastgate as lg
from lastgate.planning.skills.goals import build_pose_goal
from lastgate.planning.skills.kinematics import Chain
from lastgate.planning.skills.move_group import turned_about_free_axis
from lastgate.world.rigid_motion import pose_of_motion

GOALS, SEEDS = 40, 12
LINKS = {
    "franka_panda": "panda_hand",
    "panda_mobile": "gripper0_right_right_gripper",
    "ur5e": "wrist_3_link",
    "g1": "left_wrist_yaw_link",
}


@pytest.fixture(scope="module", params=LINKS)
def arm(request):
    gate = lg.Gate(lg.load_robot(request.param), step_s=0.02)
    link = LINKS[request.param]
    assert link in gate.link_names, gate.link_names
    return gate, Chain(gate, link)


def random_posture(chain, gate, rng):
    q = np.zeros(gate.n_dof)
    q[chain.columns] = rng.uniform(np.maximum(chain.lower, -3.0), np.minimum(chain.upper, 3.0))
    return q


def test_chain_is_where_the_core_is(arm):
    gate, chain = arm
    rng = np.random.default_rng(1)
    for _ in range(50):
        q = random_posture(chain, gate, rng)
        assert np.abs(chain.link_in_base(q) - gate.link_poses(q)[chain.link]).max() < 1e-9


@pytest.mark.parametrize("free", [False, True])
def test_solution_is_inside_the_limits_and_where_it_should_be(arm, free):
    gate, chain = arm
    rng = np.random.default_rng(2)
    solved = 0
    for _ in range(GOALS):
        wanted = gate.link_poses(random_posture(chain, gate, rng))[chain.link]
        axis = rng.normal(size=3)
        axis /= np.linalg.norm(axis)
        goal = build_pose_goal(
            gate.robot,
            chain.link,
            pose_of_motion(wanted),
            point_in_link=(0.05, -0.02, 0.1),
            free_axis_in_link=axis.tolist() if free else None,
        )
        starts = chain.seeds(np.zeros(gate.n_dof), count=SEEDS, rng=rng)
        found = next((q for start in starts if (q := chain.solve(goal, start)) is not None), None)
        if found is None:
            continue
        solved += 1
        assert (chain.lower <= found[chain.columns]).all()
        assert (found[chain.columns] <= chain.upper).all()
        reached = gate.link_poses(found)[chain.link]
        point = reached[:, :3] @ goal.point_in_link + reached[:, 3]
        assert math.dist(point, goal.point_in_base) <= 2e-6
        turn = wanted[:, :3].T @ reached[:, :3]
        if free:
            assert float(axis @ turn @ axis) >= 1.0 - 1e-11
        else:
            assert np.abs(turn - np.eye(3)).max() <= 3e-6
    print(f"{gate.robot.name}: {solved} of {GOALS} goals solved")
    assert solved >= 0.95 * GOALS


def test_any_roll_will_do_when_the_roll_is_free(arm):
    gate, chain = arm
    rng = np.random.default_rng(5)
    near = random_posture(chain, gate, rng)
    wanted = gate.link_poses(near)[chain.link]
    goal = build_pose_goal(gate.robot, chain.link, pose_of_motion(wanted), free_axis_in_link=(0.0, 0.0, 1.0))
    for turn in (0.5, -1.0, 2.0):
        rolled = build_pose_goal(
            gate.robot,
            chain.link,
            pose_of_motion(turned_about_free_axis(goal, turn)),
            free_axis_in_link=(0.0, 0.0, 1.0),
        )
        # Nothing has to move: the posture already meets it.
        assert np.array_equal(chain.solve(rolled, near), near)


def test_goal_out_of_reach_is_not_solved(arm):
    gate, chain = arm
    goal = build_pose_goal(gate.robot, chain.link, lg.Pose6D(xyz=(5.0, 0.0, 0.0)))
    starts = chain.seeds(np.zeros(gate.n_dof), count=3, rng=np.random.default_rng(1))
    assert all(chain.solve(goal, start) is None for start in starts)


def test_link_that_nothing_moves_is_refused(arm):
    gate, _ = arm
    with pytest.raises(lg.ROSConfigError, match="moves link"):
        Chain(gate, gate.robot.base_frame)
