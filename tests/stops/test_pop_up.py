# SPDX-License-Identifier: Apache-2.0
"""A motion that runs is certified again when the world changes, and stopped where it cannot be."""

import numpy as np
import pytest
from fixtures.analytic_robots import gate_of, joint, planar_two_link

import lastgate as lg
from lastgate.contracts import Pose6D, SphereShape, WorldCollisionPrimitive
from lastgate.gate.recheck import recheck
from stops.pop_up import run

STEP_S = 0.02
# The shoulder turns at 1 rad/s for 0.2 s; its stop needs 0.1 s of reaction and 0.2 s of braking.
ROWS = np.outer(np.arange(1, 11) * STEP_S, [1.0, 0.0])
RUNNING = lg.RunningMotion(ROWS, started_s=0.0, start=np.zeros(2))
# Behind the last step: where the stop from there ends.
REST_RAD = 0.2 + 0.1 + 0.1


@pytest.fixture(scope="module")
def gate():
    joints = [
        joint("shoulder", "base", "upper_arm", deceleration_limit=5.0),
        joint("elbow", "upper_arm", "forearm", origin_xyz=[1.0, 0.0, 0.0], deceleration_limit=5.0),
    ]
    return gate_of(planar_two_link(joints=joints, stop={"kind": "path", "reaction_s": 0.1}), step_s=STEP_S)


def sphere_at(angle: float, *, stamp_s: float) -> lg.World:
    """A small sphere on the circle that the middle of the forearm runs along."""
    xyz = (1.5 * np.cos(angle), 1.5 * np.sin(angle), 0.0)
    shape = SphereShape(shape="sphere", radius_m=0.01)
    solid = WorldCollisionPrimitive(shape=shape, pose=Pose6D(xyz=xyz), object_id="sphere")
    return lg.World(primitives=[solid], stamp_s=stamp_s)


def asked(gate, now_s: float, angle: float):
    state = lg.RobotState(positions=np.array([now_s, 0.0]), stamp_s=now_s)
    return recheck(gate, RUNNING, state=state, world=sphere_at(angle, stamp_s=now_s), now_s=now_s)


# Half the width of the arm and of the sphere, seen from the shoulder.
WIDTH_RAD = 0.1


@pytest.mark.parametrize("now_s", [0.0, 0.004, 0.02, 0.07, 0.1, 0.179])
def test_motion_goes_on_where_its_stop_keeps_clear_and_is_rejected_where_it_would_not(gate, now_s):
    assert asked(gate, now_s, REST_RAD + WIDTH_RAD).accepted
    inside = asked(gate, now_s, REST_RAD - 0.05)
    assert not inside.accepted
    assert inside.violations[0].code is lg.ViolationCode.stop_not_certified
    in_the_way = asked(gate, now_s, 0.19)
    assert not in_the_way.accepted
    # What lies behind the arm is passed.
    assert asked(gate, now_s, -1.0).accepted


def test_last_step_is_taken_to_go_on_for_one_more(gate):
    assert asked(gate, 0.19, REST_RAD + WIDTH_RAD + STEP_S).accepted
    assert not asked(gate, 0.19, REST_RAD - 0.05).accepted


@pytest.mark.parametrize("now_s", [-0.001, 0.21, 5.0])
def test_time_that_is_none_of_the_motions_is_rejected(gate, now_s):
    assert not asked(gate, now_s, 2.0).accepted


def test_missing_state_or_world_is_rejected_and_other_arguments_are_refused(gate):
    state = lg.RobotState(positions=np.zeros(2), stamp_s=0.0)
    assert not recheck(gate, RUNNING, state=None, world=lg.NO_WORLD, now_s=0.0).accepted
    assert not recheck(gate, RUNNING, state=state, world=None, now_s=0.0).accepted
    assert recheck(gate, RUNNING, state=state, world=lg.NO_WORLD, now_s=0.0).accepted
    with pytest.raises(lg.ROSConfigError, match="expected a RunningMotion"):
        recheck(gate, ROWS, state=state, world=lg.NO_WORLD, now_s=0.0)
    elsewhere = lg.RobotState(positions=np.array([0.5, 0.0]), stamp_s=0.0)
    assert not recheck(gate, RUNNING, state=elsewhere, world=lg.NO_WORLD, now_s=0.0).accepted


def test_obstacle_that_appears_is_stopped_for_wherever_that_helps():
    counts = run(60, seed=4)
    assert counts.episodes == 60
    assert counts.contacts_avoidable == 0
    # The twins: some of them would have been hit, and some motions went on.
    assert counts.contacts_without_recheck >= 6
    assert counts.went_on >= 6
