# SPDX-License-Identifier: Apache-2.0
"""Cases about pairs that may touch: links with links, and links with objects of the world."""

import itertools

import numpy as np
import pytest

import lastgate as lg
from lastgate.planning.collision import AllowedCollisionMatrix, CollisionEnvironment, TwoTierCollisionChecker

SERIAL = ("base", "link1", "link2", "ee")
TWO_ARMS = ("torso", "left1", "left2", "right1", "right2")


def serial():
    return AllowedCollisionMatrix(list(itertools.pairwise(SERIAL)))


def test_pair_is_unordered_and_counted_once():
    matrix = AllowedCollisionMatrix()
    matrix.allow("a", "b")
    matrix.allow("a", "b")
    matrix.allow("b", "a")
    assert len(matrix) == 1
    assert matrix.is_allowed("b", "a")
    matrix.disallow("b", "a")
    assert not matrix.is_allowed("a", "b")
    assert len(matrix) == 0


def test_serial_robot_leaves_the_pairs_that_no_joint_connects():
    matrix = serial()
    assert len(matrix) == 3
    assert matrix.resolve(SERIAL).checked_pairs == ((0, 2), (0, 3), (1, 3))
    matrix.allow("base", "link2")
    assert len(matrix.resolve(SERIAL).checked_pairs) == 2
    matrix.allow("base", "ee")
    matrix.allow("link1", "ee")
    assert matrix.resolve(SERIAL).checked_pairs == ()


def test_two_arms_are_checked_against_each_other():
    matrix = AllowedCollisionMatrix(
        [("torso", "left1"), ("left1", "left2"), ("torso", "right1"), ("right1", "right2")]
    )
    resolved = matrix.resolve(TWO_ARMS)
    assert len(matrix) == 4
    assert len(resolved.checked_pairs) == 6
    assert (2, 4) in resolved.checked_pairs


def test_pair_with_an_object_is_kept_and_takes_effect():
    matrix = serial()
    matrix.allow("base", "table")
    assert len(matrix) == 4
    assert matrix.resolve(SERIAL).elsewhere == (("base", "table"),)
    env = CollisionEnvironment.build(
        np.array([[0.0, 0.0, 0.0, 0.3], [1.0, 0.0, 0.0, 0.1]]),
        0.05,
        ((-2.0,) * 3, (2.0,) * 3),
        ids=["table", "bolt"],
    )
    sphere = np.array([[0.0, 0.0, 0.2, 0.1]])
    assert env.check_collision(sphere)
    assert not env.for_link("base", matrix).check_collision(sphere)
    assert env.for_link("link1", matrix).check_collision(sphere)
    assert env.for_link("base", matrix).check_collision(np.array([[1.0, 0.0, 0.0, 0.1]])), "the bolt stays"


def test_spheres_of_one_name_are_removed_together():
    env = CollisionEnvironment.build(
        np.array([[0.0, 0.0, 0.0, 0.2], [0.5, 0.0, 0.0, 0.2]]),
        0.05,
        ((-2.0,) * 3, (2.0,) * 3),
        ids=["a", "a"],
    )
    probe = np.array([[0.0, 0.0, 0.0, 0.0], [0.5, 0.0, 0.0, 0.0]])
    assert env.check_collision(probe)
    assert not env.without("a").check_collision(probe)
    with pytest.raises(lg.ROSConfigError, match="no obstacle is called 'b'"):
        env.without("b")


def test_merge_is_the_union():
    left = AllowedCollisionMatrix([("a", "b"), ("b", "c")])
    right = AllowedCollisionMatrix([("b", "c"), ("c", "d")])
    assert len(left.merge(right)) == 3
    assert (len(left), len(right)) == (2, 2)


def test_index_out_of_range_is_not_allowed_and_a_link_with_itself_is():
    resolved = serial().resolve(SERIAL)
    assert not resolved.is_allowed(0, 99)
    assert not resolved.is_allowed(-1, 0)
    assert resolved.is_allowed(2, 2)
    assert resolved.is_allowed(0, 1)
    assert not resolved.is_allowed(0, 2)


def test_robot_brings_its_joints_and_its_allowed_pairs():
    robot = lg.load_robot("franka_panda")
    matrix = AllowedCollisionMatrix.from_robot(robot)
    for joint in robot.joints:
        assert matrix.is_allowed(joint.parent_link, joint.child_link)
    for pair in robot.unchecked_pairs:
        assert matrix.is_allowed(*pair.links)
    # What the matrix leaves to check, the gate checks, and the other way round, for all links that have volumes.
    gate = lg.Gate(robot, step_s=0.02)
    checked = {tuple(sorted(pair)) for pair in gate.checked_pairs}
    names = robot.link_names
    solid = {volume.link_name for volume in robot.collision_geometry}
    left = {tuple(sorted((names[a], names[b]))) for a, b in matrix.resolve(names).checked_pairs}
    left = {pair for pair in left if set(pair) <= solid}
    assert left
    assert left == checked


def test_contact_that_the_gate_sees_by_hulls_is_no_secret_to_planners():
    """Two pairs of franka_panda are allowed by its SRDF, can touch, and are checked by hulls."""
    robot = lg.load_robot("franka_panda")
    contradicted = {pair.links for pair in robot.allowed_collision_pairs} - {
        pair.links for pair in robot.unchecked_pairs
    }
    assert contradicted
    checker = TwoTierCollisionChecker(robot, refinement_margin=0.05, safety_margin=0.0)
    names = robot.link_names
    seen = {frozenset((names[a], names[b])) for a, b in checker.checked_pairs}
    assert seen >= {frozenset(links) for links in contradicted}
    rng = np.random.default_rng(4)
    low, high = np.array([joint.position_limits for joint in robot.actuated_joints]).T
    rows = rng.uniform(low[:7], high[:7], (2000, 7))
    fingers = np.array([0.02] * len(checker.model.gripper_joint_names))
    found = checker.check_batch(rows, gripper_positions=fingers).in_collision
    accepted = (
        lg.Gate(robot, step_s=0.02).check_batch(rows, world=lg.NO_WORLD, gripper_positions=fingers).accepted
    )
    assert found.any()
    # The gate has a margin on top, so it may refuse more, and nothing that the planner sees is accepted.
    assert not (accepted & found).any()
    # Twin: without these two pairs, as planners had it who took the SRDF's word, contacts go unseen.
    trusting = AllowedCollisionMatrix.from_robot(robot).merge(AllowedCollisionMatrix(sorted(contradicted)))
    blind = TwoTierCollisionChecker(robot, refinement_margin=0.05, safety_margin=0.0, allowed=trusting)
    assert (found & ~blind.check_batch(rows, gripper_positions=fingers).in_collision).any()


@pytest.mark.parametrize(("a", "b"), [("", "b"), ("a", ""), ("a", "a"), (None, "b"), (1, 2)])
def test_pair_that_is_none_is_refused(a, b):
    with pytest.raises(lg.ROSConfigError):
        AllowedCollisionMatrix().allow(a, b)


def test_other_things_than_robots_are_refused():
    with pytest.raises(lg.ROSConfigError, match="load_robot"):
        AllowedCollisionMatrix.from_robot("franka_panda")
    with pytest.raises(lg.ROSConfigError, match="named twice"):
        serial().resolve(["base", "base"])
