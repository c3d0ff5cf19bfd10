# SPDX-License-Identifier: Apache-2.0
"""Stages 7 and 9: what is missing, stale, in another frame or over capacity is no input to decide from."""

import numpy as np
import pytest
from fixtures.analytic_robots import (
    NOW_S,
    at,
    check,
    code_of,
    gate_of,
    gripper_arm,
    only_violation,
    sliders,
    sphere,
    stacked,
    wall_beyond_x,
    world_of,
)

import lastgate as lg
from lastgate import _core
from lastgate.contracts import ControlMode, FailureKind

RESTING = [[0.0, 0.0, 0.0]]


@pytest.fixture(scope="module")
def gate() -> lg.Gate:
    return gate_of(stacked(3))


def check_with(gate, *, state, world=lg.NO_WORLD):
    return gate.check(lg.ActionChunk(RESTING), state=state, world=world, now_s=NOW_S)


def test_missing_state_is_rejected(gate):
    violation = only_violation(check_with(gate, state=None))
    assert (violation.code, violation.kind) == ("state_unavailable", FailureKind.CONTROLLER)
    assert "no state was given" in violation.sentence()
    assert violation.evidence().state == "state_unavailable"


@pytest.mark.parametrize(
    "fields",
    [
        {"positions": [0.0, 0.0]},
        {"positions": [0.0] * 4},
        {"positions": []},
        {"velocities": [0.0, 0.0]},
        {"velocities": [0.0] * 4},
        {"stamps_s": [NOW_S, NOW_S]},
        {"gripper_positions": [0.0]},
    ],
)
def test_incomplete_state_is_rejected(gate, fields):
    state = lg.RobotState(**({"positions": [0.0] * 3, "stamp_s": NOW_S} | fields))
    assert "incomplete: it needs 3 positions" in only_violation(check_with(gate, state=state)).sentence()


def test_complete_state_is_accepted(gate):
    state = at(0.0, 0.0, 0.0, velocities=[0.0] * 3, stamps_s=[NOW_S] * 3)
    assert check_with(gate, state=state).accepted


@pytest.mark.parametrize(
    ("age_s", "outcome"), [(0.1, "accepted"), (0.3, "state_unavailable"), (-0.1, "state_unavailable")]
)
def test_state_that_is_old_or_from_the_future_is_rejected(gate, age_s, outcome):
    assert code_of(check_with(gate, state=at(0.0, 0.0, 0.0, stamp_s=NOW_S - age_s))) == outcome


def test_a_stamp_from_the_future_is_named_as_one_and_not_as_an_age_below_zero(gate):
    state = at(0.0, 0.0, 0.0, stamp_s=NOW_S + 0.1)
    sentence = only_violation(check_with(gate, state=state)).sentence()
    assert "the state is stale (j0): stamped 0.100 s after now, allowed 0.005 s" in sentence


def test_a_world_in_another_frame_is_refused_with_both_names(gate):
    world = lg.World(primitives=[], stamp_s=NOW_S, frame_id="camera")
    violation = only_violation(check_with(gate, state=at(0.0, 0.0, 0.0), world=world))
    assert violation.code == "world_unavailable"
    assert "the world is in another frame: `camera`, and must be in `base`" in violation.sentence()


def test_clocks_that_differ_by_milliseconds_are_forgiven(gate):
    assert check_with(gate, state=at(0.0, 0.0, 0.0, stamp_s=NOW_S + 0.004)).accepted
    assert code_of(check_with(gate, state=at(0.0, 0.0, 0.0, stamp_s=NOW_S + 0.006))) == "state_unavailable"


@pytest.mark.parametrize("joint", range(3))
def test_x23_one_joint_that_fell_silent_is_rejected_by_name_while_the_others_are_fresh(gate, joint):
    stamps = np.full(3, NOW_S)
    stamps[joint] -= 5.0
    violation = only_violation(check_with(gate, state=at(0.0, 0.0, 0.0, stamps_s=stamps)))
    assert (violation.code, violation.subject) == ("state_unavailable", f"j{joint}")
    assert f"(j{joint}): 5.000 s old, allowed 0.200 s" in violation.sentence()


def test_x23_twin_all_joints_fresh_are_accepted_whatever_the_common_stamp(gate):
    assert check_with(gate, state=at(0.0, 0.0, 0.0, stamp_s=0.0, stamps_s=[NOW_S] * 3)).accepted


def test_x23_gripper_that_fell_silent_is_rejected_while_the_arm_is_fresh():
    gate = gate_of(gripper_arm())
    fields = {"gripper_positions": [0.0], "stamps_s": [NOW_S]}
    assert check(gate, [[0.0]], state=at(0.0, **fields)).accepted
    silent = at(0.0, stamp_s=NOW_S - 5.0, **fields)
    assert code_of(check(gate, [[0.0]], state=silent)) == "state_unavailable"


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize(("excess", "outcome"), [(0.004, "accepted"), (0.006, "joint_position_limit")])
def test_measured_joint_beyond_its_limit_by_more_than_a_resting_servo_is_rejected(
    gate, sign, excess, outcome
):
    verdict = gate.check(
        lg.ActionChunk([[0.0, sign, 0.0]]),
        state=at(0.0, sign * (1.0 + excess), 0.0),
        world=lg.NO_WORLD,
        now_s=NOW_S,
    )
    assert code_of(verdict) == outcome
    if outcome != "accepted":
        assert only_violation(verdict).subject == "j1"


def test_row_may_not_use_the_slack_of_the_measured_state(gate):
    verdict = check(gate, [[0.0, 1.004, 0.0]], state=at(0.0, 1.004, 0.0))
    assert (code_of(verdict), verdict.stage) == ("joint_position_limit", 6)


@pytest.mark.parametrize("mode", [ControlMode.JOINT_VELOCITY, ControlMode.CARTESIAN_TWIST])
def test_integrated_path_that_leaves_the_limits_is_rejected(gate, mode):
    width = mode.row_width(3)
    rows = np.zeros((20, width))
    rows[:, -1] = 1.0
    state = at(0.4, 0.4, 0.4)
    verdict = check(gate, rows[:2], mode, state=state)
    assert verdict.accepted, verdict.explain()
    rows = np.tile(rows, (5, 1))
    verdict = check(gate, rows, mode, state=state)
    assert (code_of(verdict), verdict.stage) == ("joint_position_limit", 8)


def test_torque_that_could_lead_beyond_a_limit_within_the_horizon_is_rejected():
    gate = gate_of(stacked(3, safety={}), step_s=0.01)
    state = at(0.9, 0.0, 0.0)
    assert check(gate, np.zeros((3, 3)), ControlMode.JOINT_TORQUE, state=state).accepted
    violation = only_violation(check(gate, np.zeros((4, 3)), ControlMode.JOINT_TORQUE, state=state))
    assert (violation.code, violation.subject) == ("joint_position_limit", "j0")


def test_torque_that_could_lead_into_an_obstacle_within_the_horizon_is_rejected():
    manifest = sliders(0.0)
    manifest["joints"][0] |= {"effort_limit": 10.0, "velocity_limit": 1.0}
    world = world_of(sphere((0.5, 0.0, 0.0), 0.1, "bottle"))
    gate = gate_of(manifest)
    assert check(gate, np.zeros((2, 1)), ControlMode.JOINT_TORQUE, world=world).accepted
    violation = only_violation(check(gate, np.zeros((4, 1)), ControlMode.JOINT_TORQUE, world=world))
    assert (violation.code, violation.against) == ("world_collision", "bottle")


def test_gripper_that_no_sensor_measured_may_stand_anywhere():
    gate = gate_of(gripper_arm())
    beside_open_finger = world_of(sphere((0.0, 0.17, 0.0), 0.025))
    closed = at(0.0, gripper_positions=[0.0])
    assert check(gate, [[0.0]], state=closed, world=beside_open_finger).accepted
    verdict = check(gate, [[0.0]], state=at(0.0), world=beside_open_finger)
    assert code_of(verdict) == "world_collision"
    assert verdict.unchecked & lg.Unchecked.GRIPPER_STATE


# ---- World ---


def test_missing_world_is_rejected_and_no_world_is_recorded(gate):
    state = at(0.0, 0.0, 0.0)
    violation = only_violation(check_with(gate, state=state, world=None))
    assert (violation.code, violation.kind) == ("world_unavailable", FailureKind.CONTROLLER)
    assert "no world was given" in violation.sentence()
    verdict = check_with(gate, state=state, world=lg.NO_WORLD)
    assert verdict.accepted
    assert "Not checked: world" in verdict.explain()


@pytest.mark.parametrize(
    ("age_s", "outcome"), [(0.4, "accepted"), (0.6, "world_unavailable"), (-0.1, "world_unavailable")]
)
def test_world_that_is_old_or_from_the_future_is_rejected(gate, age_s, outcome):
    verdict = check_with(gate, state=at(0.0, 0.0, 0.0), world=world_of(stamp_s=NOW_S - age_s))
    assert code_of(verdict) == outcome


@pytest.mark.parametrize(
    ("frame", "outcome"), [("", "accepted"), ("base", "accepted"), ("map", "world_unavailable")]
)
def test_world_in_another_frame_is_rejected(gate, frame, outcome):
    verdict = check_with(gate, state=at(0.0, 0.0, 0.0), world=world_of(frame_id=frame))
    assert code_of(verdict) == outcome


@pytest.mark.parametrize(
    ("count", "outcome"), [(1024, "accepted"), (1025, "world_overflow"), (2000, "world_overflow")]
)
def test_world_over_capacity_is_rejected(gate, count, outcome):
    assert _core.PRIMITIVES_MAX == 1024
    crowd = [sphere((5.0, 0.0, 0.0), 0.1)] * count
    verdict = check_with(gate, state=at(0.0, 0.0, 0.0), world=world_of(*crowd))
    assert code_of(verdict) == outcome
    if outcome == "world_overflow":
        assert "more than 1024 obstacles" in only_violation(verdict).sentence()


@pytest.mark.parametrize(("x_m", "outcome"), [(9999.0, "accepted"), (10001.0, "world_unavailable")])
def test_obstacle_beyond_the_range_of_the_arithmetic_spoils_the_world(gate, x_m, outcome):
    verdict = check_with(gate, state=at(0.0, 0.0, 0.0), world=world_of(sphere((x_m, 0.0, 0.0), 0.1)))
    assert code_of(verdict) == outcome


def test_verdict_names_the_snapshot_and_its_age():
    world = world_of(sphere((0.15, 0.0, 0.0), 0.1, "cup"), stamp_s=NOW_S - 0.25, world_id="camera-7")
    verdict = check(gate_of(sliders(0.0)), [[0.0]], world=world)
    evidence = only_violation(verdict).evidence()
    assert (evidence.world_id, evidence.world_age_s) == ("camera-7", 0.25)
    assert "World camera-7." in verdict.explain()


def towards_a_wall(velocity: float | None):
    """One slide at 1 m/s at most, 0.15 m from a wall: within one step of 0.1 s it cannot reach it."""
    manifest = sliders(0.0)
    manifest["joints"][0] |= {"velocity_limit": 1.0, "effort_limit": 10.0}
    state = at(0.0, velocities=None if velocity is None else [velocity])
    world = world_of(wall_beyond_x(0.25))
    return check(gate_of(manifest), [[0.0]], ControlMode.JOINT_TORQUE, state=state, world=world)


@pytest.mark.parametrize("velocity", [50.0, -50.0, 1.0001])
def test_torque_on_a_joint_measured_faster_than_its_limit_is_rejected(velocity):
    violation = only_violation(towards_a_wall(velocity))
    assert (violation.code, violation.subject) == ("joint_velocity_limit", "slide0")
    assert violation.value == pytest.approx(velocity)


@pytest.mark.parametrize("velocity", [0.0, 1.0, -1.0])
def test_torque_on_a_joint_measured_within_its_limit_is_accepted(velocity):
    verdict = towards_a_wall(velocity)
    assert verdict.accepted
    assert lg.Unchecked.JOINT_VELOCITIES not in verdict.unchecked


def test_torque_without_measured_velocities_says_so():
    verdict = towards_a_wall(None)
    assert verdict.accepted
    assert lg.Unchecked.JOINT_VELOCITIES in verdict.unchecked
    assert "joint_velocities" in verdict.explain()
