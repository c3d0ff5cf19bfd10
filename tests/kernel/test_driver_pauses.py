# SPDX-License-Identifier: Apache-2.0
"""A driver that was paused, or that reads a chunk late, stays on the checked path: one step at a time, or it stops."""

import itertools

import numpy as np
import pytest
from fixtures.analytic_robots import gate_of, planar_two_link, sphere

import lastgate as lg
from lastgate.integrations.driver import AcceptedChunk, DriverLogic, StopReason

STEP_S = 0.02
PATIENCE_S = 0.2
VELOCITY_LIMIT = 10.0
START = np.array([0.0, 0.0])
# The arm folds, turns past the sphere, and stretches again; the straight way from step 2 to step 11 hits it.
BEND = 1.4
SPHERE = sphere((1.304, 1.054, 0.0), 0.05)
PAUSES_MS = range(1, 301)


def way_round() -> np.ndarray:
    rising = np.linspace(BEND / 8, BEND, 8)
    fold = np.column_stack([np.zeros(8), rising])
    turn = np.column_stack([rising, np.full(8, BEND)])
    stretch = np.column_stack([np.full(8, BEND), rising[::-1] - BEND / 8])
    return np.vstack([fold, turn, stretch])


ROWS = way_round()


def chunk(sequence=1, written_s=10.0, mode=lg.ControlMode.JOINT_POSITION, rows=ROWS):
    return AcceptedChunk(sequence=sequence, origin=7, rows=rows, mode=mode, arrived_s=written_s)


def driver() -> DriverLogic:
    return DriverLogic(step_s=STEP_S, patience_s=PATIENCE_S, kernel_id=7)


def poll(logic: DriverLogic, now_s: float):
    found = logic.row_at(now_s=now_s, kernel_alive=True, state=lg.KernelState.ACTIVE)
    return None if found is None else found[0]


def polls(tick_ms: int, *, pause_at_ms: int, pause_ms: int, last_ms: int = 900) -> list[float]:
    """Returns when a driver polls that ticks evenly but for one pause."""
    before = range(0, pause_at_ms + 1, tick_ms)
    after = range(before[-1] + tick_ms + pause_ms, last_ms, tick_ms)
    return [10.0 + ms / 1000.0 for ms in [*before, *after]]


def commands(logic: DriverLogic, times: list[float]) -> list[np.ndarray]:
    """Returns what is sent until the driver stops; a stop must last."""
    sent = []
    for index, now_s in enumerate(times):
        row = poll(logic, now_s)
        if row is None:
            assert all(poll(logic, later_s) is None for later_s in times[index + 1 :])
            break
        sent.append(row)
    return sent


def steps_of(sent: list[np.ndarray]) -> list[int]:
    """Returns which step of the chunk each command is: every one lies on the path, at a distance of nothing."""
    found = [int(np.flatnonzero((row == ROWS).all(axis=1))[0]) for row in sent]
    assert len(found) == len(sent)
    return found


def assert_on_the_path(sent: list[np.ndarray]) -> None:
    steps = np.array(steps_of(sent))
    assert steps[0] == 0
    assert set(np.diff(steps)) <= {0, 1}  # the way between two commands is an edge of the checked path
    assert (np.abs(np.diff(np.array(sent), axis=0)) <= VELOCITY_LIMIT * STEP_S).all()


def test_chunk_goes_round_an_obstacle_that_a_jump_hits():
    manifest = planar_two_link()
    world = lg.World(primitives=[SPHERE], stamp_s=0.0)
    gate = gate_of(manifest, step_s=STEP_S)
    assert {spec.velocity_limit for spec in gate.robot.joints} == {VELOCITY_LIMIT}
    state = lg.RobotState(positions=START, stamp_s=0.0)
    round_it = gate.check(lg.ActionChunk(ROWS), state=state, world=world, now_s=0.0)
    assert round_it.accepted, round_it.violations
    slow = gate_of(manifest, step_s=10.0)  # so that the way alone decides
    state = lg.RobotState(positions=ROWS[2], stamp_s=0.0)
    jump = slow.check(lg.ActionChunk(ROWS[11:12]), state=state, world=world, now_s=0.0)
    assert [violation.code for violation in jump.violations] == [lg.ViolationCode.world_collision]


@pytest.mark.parametrize("pause_ms", PAUSES_MS)
def test_pause_of_any_length_skips_no_step(pause_ms):
    for tick_ms, pause_at_ms in itertools.product((2, 5, 20, 33), (0, 19, 20, 21, 60, 170, 333, 470)):
        logic = driver()
        logic.take(chunk())
        sent = commands(logic, polls(tick_ms, pause_at_ms=pause_at_ms, pause_ms=pause_ms))
        assert_on_the_path(sent)
        if pause_ms + tick_ms > (PATIENCE_S + STEP_S) * 1000 + 1:
            assert logic.reason is (
                StopReason.STARVED if steps_of(sent)[-1] == len(ROWS) - 1 else StopReason.PAUSED
            )


@pytest.mark.parametrize("late_ms", PAUSES_MS)
def test_chunk_that_is_read_late_begins_with_its_first_step_or_not_at_all(late_ms):
    logic = driver()
    logic.take(chunk())
    sent = commands(logic, [10.0 + ms / 1000.0 for ms in range(late_ms, 900, 2)])
    if late_ms >= (PATIENCE_S + STEP_S) * 1000:
        assert sent == []
        assert logic.reason is StopReason.PAUSED
    else:
        assert_on_the_path(sent)


@pytest.mark.parametrize("pause_ms", [0, 7, 30, 180])
def test_steps_are_re_timed_and_never_nearer_in_time_than_nine_tenths_of_a_step(pause_ms):
    logic = driver()
    logic.take(chunk())
    times = polls(1, pause_at_ms=213, pause_ms=pause_ms)
    steps = np.array(steps_of(commands(logic, times)))
    begun_s = np.array(times)[np.flatnonzero(np.diff(steps, prepend=-1))]
    assert np.diff(begun_s).min() >= 0.9 * STEP_S - 1e-9
    # Nor is any step earlier than it was checked to be.
    assert (begun_s >= 10.0 + np.arange(len(begun_s)) * STEP_S - 1e-9).all()


@pytest.mark.parametrize("ticks_per_step", [1, 2, 4, 8, 32])
def test_without_pauses_each_step_is_sent_in_its_time(ticks_per_step):
    step_s = 1.0 / 64.0  # times are then exact
    logic = DriverLogic(step_s=step_s, patience_s=PATIENCE_S, kernel_id=7)
    logic.take(chunk())
    ticks = range(ticks_per_step * (len(ROWS) + 10))
    sent = commands(logic, [10.0 + tick * step_s / ticks_per_step for tick in ticks])
    assert steps_of(sent) == [min(tick // ticks_per_step, len(ROWS) - 1) for tick in ticks]


def test_pauses_that_add_up_to_more_than_the_patience_stop():
    logic = driver()
    logic.take(chunk())
    times = 10.0 + np.cumsum([0.0, *[0.05] * 30])  # each poll is later than a step
    sent = commands(logic, list(times))
    assert_on_the_path(sent)
    assert logic.reason is StopReason.PAUSED
    assert len(sent) < 10


RATES = [
    lg.ControlMode.JOINT_VELOCITY,
    lg.ControlMode.JOINT_TORQUE,
    lg.ControlMode.CARTESIAN_TWIST,
    lg.ControlMode.BODY_TWIST,
    lg.ControlMode.CARTESIAN_DELTA,
]


@pytest.mark.parametrize("mode", RATES)
def test_speeds_and_forces_are_not_held_beyond_their_step(mode):
    logic = driver()
    logic.take(chunk(mode=mode, rows=ROWS[:3]))
    sent = [poll(logic, 10.0 + ms / 1000.0) for ms in range(0, 100, 5)]
    assert [row is not None for row in sent] == [True] * 12 + [False] * 8
    assert logic.reason is StopReason.STARVED


@pytest.mark.parametrize("mode", RATES)
def test_speed_or_force_that_lasted_too_long_stops(mode):
    for pause_ms in PAUSES_MS:
        logic = driver()
        logic.take(chunk(mode=mode))
        assert poll(logic, 10.0) is not None
        assert poll(logic, 10.019) is not None
        row = poll(logic, 10.019 + pause_ms / 1000.0)
        if pause_ms <= 11:  # half a step after the second one was due
            assert row is not None
            assert (row == ROWS[1]).all()
        else:
            assert row is None
            assert logic.reason is StopReason.PAUSED


def test_chunk_of_the_gripper_takes_the_place_of_the_arm_s():
    logic = driver()
    logic.take(chunk())
    assert (poll(logic, 10.0) == ROWS[0]).all()
    logic.take(chunk(sequence=2, written_s=10.03, mode=lg.ControlMode.GRIPPER_POSITION, rows=np.ones((2, 1))))
    found = logic.row_at(now_s=10.04, kernel_alive=True, state=lg.KernelState.ACTIVE)
    assert found is not None
    assert (found[0].tolist(), found[1]) == ([1.0], lg.ControlMode.GRIPPER_POSITION)


# ---- Where the robot is ----------------------------------------------------------------------------------


def measured_poll(logic: DriverLogic, now_s: float, measured):
    found = logic.row_at(
        now_s=now_s, kernel_alive=True, state=lg.KernelState.ACTIVE, measured=np.array(measured)
    )
    return None if found is None else found[0]


@pytest.mark.parametrize(
    "measured", [[0.0, -0.031], [0.21, 0.16], [np.nan, 0.0], [0.0], [0.0, np.inf]], ids=str
)
def test_chunk_whose_first_step_is_out_of_reach_is_not_begun(measured):
    logic = DriverLogic(step_s=STEP_S, kernel_id=7, reach=np.full(2, 0.205))
    logic.take(chunk())
    assert measured_poll(logic, 10.0, measured) is None
    assert logic.reason is StopReason.ELSEWHERE
    assert measured_poll(logic, 10.002, START) is None  # what was dropped is not resumed


def test_chunk_whose_first_step_is_in_reach_is_begun_and_followed():
    logic = DriverLogic(step_s=STEP_S, kernel_id=7, reach=np.full(2, 0.205))
    logic.take(chunk())
    assert measured_poll(logic, 10.0, [0.0, -0.029]) is not None
    assert (measured_poll(logic, 10.02, [1.0, 1.0]) == ROWS[1]).all()  # asked at the first step only


def test_reach_needs_a_measurement():
    logic = DriverLogic(step_s=STEP_S, kernel_id=7, reach=np.full(2, 0.205))
    logic.take(chunk())
    assert poll(logic, 10.0) is None
    assert logic.reason is StopReason.ELSEWHERE
