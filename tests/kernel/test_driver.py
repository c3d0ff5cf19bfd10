# SPDX-License-Identifier: Apache-2.0
"""A driver moves on accepted chunks of its kernel, and on nothing else."""

import os
import signal
import time

import numpy as np
import pytest
from fixtures.analytic_robots import stacked

import lastgate as lg
from lastgate import _core
from lastgate.integrations.declared_stop import StopLaw
from lastgate.integrations.driver import AcceptedChunk, DriverLogic, SafeActionDriver, StopReason

MODE = lg.ControlMode.JOINT_POSITION


def chunk(sequence=1, origin=7, rows=4, arrived_s=10.0):
    values = np.arange(float(rows)).reshape(rows, 1)
    return AcceptedChunk(sequence=sequence, origin=origin, rows=values, mode=MODE, arrived_s=arrived_s)


def logic():
    return DriverLogic(step_s=0.1, patience_s=0.2, kernel_id=7)


def value_at(driver, now_s, *, kernel_alive=True, state=lg.KernelState.ACTIVE, stopped_at=0):
    found = driver.row_at(now_s=now_s, kernel_alive=kernel_alive, state=state, stopped_at=stopped_at)
    return None if found is None else found[0][0]


def test_rows_are_sent_in_their_time_and_the_last_is_held_no_longer_than_the_patience():
    driver = logic()
    assert value_at(driver, 10.0) is None
    assert driver.reason is StopReason.NOTHING_YET
    assert driver.take(chunk())
    times = (0.0, 0.05, 0.15, 0.25, 0.35, 0.55)
    assert [value_at(driver, 10.0 + t) for t in times] == [0.0, 0.0, 1.0, 2.0, 3.0, 3.0]
    assert value_at(driver, 10.61) is None
    assert driver.reason is StopReason.STARVED
    assert value_at(driver, 10.3) is None  # what was dropped is not resumed


@pytest.mark.parametrize("changes", [{"origin": 8}, {"sequence": 0}])
def test_chunk_of_another_kernel_or_an_older_one_is_refused(changes):
    driver = logic()
    assert not driver.take(chunk(**changes))
    assert value_at(driver, 10.0) is None
    assert driver.refused == 1


def test_same_chunk_twice_is_taken_once():
    driver = logic()
    assert driver.take(chunk(sequence=5))
    assert not driver.take(chunk(sequence=5))
    assert not driver.take(chunk(sequence=4))
    assert driver.take(chunk(sequence=6))


@pytest.mark.parametrize(
    ("how", "reason"),
    [
        ({"state": lg.KernelState.LATCHED}, StopReason.LATCHED),
        ({"state": lg.KernelState.INACTIVE}, StopReason.INACTIVE),
        ({"state": 77}, StopReason.INACTIVE),
        ({"kernel_alive": False}, StopReason.KERNEL_GONE),
        ({"stopped_at": 1}, StopReason.UNINFORMED),
    ],
)
def test_stop_drops_the_chunk_for_good(how, reason):
    driver = logic()
    driver.take(chunk())
    assert value_at(driver, 10.0) == 0.0
    assert value_at(driver, 10.1, **how) is None
    assert driver.reason is reason
    assert value_at(driver, 10.2) is None  # the stop is over, the chunk is too
    driver.take(chunk(sequence=2, arrived_s=10.2))
    assert value_at(driver, 10.2) == 0.0


def test_driver_that_was_paused_stops_instead_of_jumping_to_the_row_that_is_due():
    driver = logic()
    driver.take(chunk(rows=20))
    assert [value_at(driver, 10.0 + t) for t in (0.0, 0.15, 0.4)] == [0.0, 1.0, 2.0]
    assert value_at(driver, 10.75) is None
    assert driver.reason is StopReason.PAUSED
    assert value_at(driver, 10.9) is None  # what was dropped is not resumed
    driver.take(chunk(sequence=2, rows=20, arrived_s=10.9))
    assert value_at(driver, 11.25) is None  # it lay there for too long before it was begun
    driver.take(chunk(sequence=3, rows=20, arrived_s=11.3))
    assert value_at(driver, 11.35) == 0.0


def test_clock_that_is_no_clock_stops():
    driver = logic()
    driver.take(chunk())
    assert value_at(driver, float("nan")) is None


class Arm:
    """An actuator that notes what it is told."""

    def __init__(self) -> None:
        self.sent: list[np.ndarray] = []
        self.stops = 0
        self.at_rest = True

    def command(self, row, mode) -> None:
        self.sent.append(row)
        self.at_rest = False

    def stop(self) -> None:
        self.stops += 1
        self.at_rest = self.stops > 3  # takes a few ticks

    def is_stopped(self) -> bool:
        return self.at_rest


def run(driver, seconds):
    moved = 0
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        moved += driver.tick()
        time.sleep(0.002)
    return moved


@pytest.fixture
def driven(start_kernel):
    kernel = start_kernel(stacked(2), without_world=True, required_actuators=["arm"], reset_cooldown_s=0.01)
    arm = Arm()
    driver = SafeActionDriver(kernel.instance, arm, name="arm", step_s=0.1)
    yield kernel, driver, arm
    driver.close()


def test_accepted_chunk_moves_and_a_rejected_one_stops(driven):
    kernel, driver, arm = driven
    assert run(driver, 0.05) == 0
    kernel.observe(np.zeros(2))
    assert kernel.submit(np.full((2, 2), 0.01)).accepted
    assert run(driver, 0.1) > 0
    assert arm.sent[0].tolist() == [0.01, 0.01]
    kernel.observe(np.zeros(2))
    assert not kernel.submit(np.full((2, 2), 9.0)).accepted
    before = len(arm.sent)
    assert run(driver, 0.1) == 0
    assert len(arm.sent) == before
    assert driver.logic.reason is StopReason.LATCHED
    # The stop was acknowledged when the arm had come to rest, so it can be reset.
    assert kernel.reset().success


def test_reset_waits_until_the_arm_has_come_to_rest(driven):
    kernel, driver, arm = driven
    arm.is_stopped = lambda: False
    kernel.estop("stop")
    run(driver, 0.1)
    assert "has not acknowledged" in kernel.reset().message
    arm.is_stopped = lambda: True
    run(driver, 0.1)
    assert kernel.reset().success


@pytest.mark.parametrize("on_stale", ["stop", "drop"])
def test_stale_data_stop_the_arm_where_that_is_asked_for_and_nothing_is_latched(start_kernel, on_stale):
    kernel = start_kernel(stacked(2), without_world=True, on_stale=on_stale)
    driver = SafeActionDriver(kernel.instance, Arm(), name="arm", step_s=0.1)
    kernel.observe(np.zeros(2))
    assert kernel.submit(np.full((250, 2), 0.01)).accepted  # 25 s of motion
    assert run(driver, 0.4) > 0
    refused = kernel.submit(np.full((2, 2), 0.01))
    assert [violation.code for violation in refused.violations] == [lg.ViolationCode.state_unavailable]
    assert not kernel.status().latched
    moved = run(driver, 0.1)
    if on_stale == "drop":  # what was accepted goes on
        assert moved > 0
    else:
        assert moved == 0
        assert driver.logic.reason is StopReason.UNINFORMED
        kernel.observe(np.zeros(2))
        assert kernel.submit(np.full((250, 2), 0.01)).accepted
        assert run(driver, 0.1) > 0  # without a reset
    driver.close()


def test_death_of_the_kernel_stops_the_arm(driven):
    kernel, driver, arm = driven
    kernel.observe(np.zeros(2))
    assert kernel.submit(np.full((250, 2), 0.01)).accepted  # 25 s of motion
    assert run(driver, 0.1) > 0
    os.kill(kernel.pid, signal.SIGKILL)
    run(driver, 0.4)
    before = len(arm.sent)
    assert run(driver, 0.2) == 0
    assert len(arm.sent) == before
    assert driver.logic.reason is StopReason.KERNEL_GONE


SPEED, LAW = 0.05, StopLaw(kind="path", reaction_s=0.1, deceleration=np.array([0.1, 0.2]))


@pytest.fixture
def braking(start_kernel):
    """A driver with a declared stop, in the middle of an accepted motion."""
    kernel = start_kernel(stacked(2), without_world=True, required_actuators=["arm"], reset_cooldown_s=0.01)
    arm = Arm()
    driver = SafeActionDriver(kernel.instance, arm, name="arm", step_s=0.1, law=LAW)
    kernel.observe(np.zeros(2))
    rows = np.outer(np.arange(1, 101), np.full(2, SPEED * 0.1))
    assert kernel.submit(rows).accepted
    assert run(driver, 0.5) > 0
    yield kernel, driver, arm
    driver.close()


def _assert_braked(arm, moving):
    """Asserts that the arm went on as the declared stop does, from the last step that it was sent."""
    assert arm.stops > 0
    sent = np.array(arm.sent)
    assert (np.diff(sent, axis=0) >= -1e-12).all()
    gone = sent[-1] - sent[moving - 1]
    # Half a second of braking, and up to the whole step by which the last command leads.
    assert (gone <= SPEED * (0.1 + 0.25) + 1e-9).all()
    assert (gone >= SPEED * (0.25) - 1e-9).all()


def test_death_of_the_kernel_is_braked_for_as_declared(braking):
    kernel, driver, arm = braking
    os.kill(kernel.pid, signal.SIGKILL)
    while driver.tick():
        time.sleep(0.002)
    moving = len(arm.sent) - 1
    assert driver.logic.reason is StopReason.KERNEL_GONE
    run(driver, 1.0)
    _assert_braked(arm, moving)


def test_stop_is_acknowledged_when_the_declared_stop_is_over_and_not_before(braking):
    kernel, driver, arm = braking
    arm.is_stopped = lambda: True
    kernel.estop("stop")
    while driver.tick():
        time.sleep(0.002)
    moving = len(arm.sent) - 1
    run(driver, 0.1)
    assert "has not acknowledged" in kernel.reset().message
    run(driver, 1.0)
    assert kernel.reset().success
    _assert_braked(arm, moving)


def test_kernel_that_is_paused_is_a_kernel_that_is_gone(driven):
    kernel, driver, _ = driven
    kernel.observe(np.zeros(2))
    assert kernel.submit(np.full((250, 2), 0.01)).accepted
    assert run(driver, 0.1) > 0
    os.kill(kernel.pid, signal.SIGSTOP)
    try:
        run(driver, 0.4)
        assert run(driver, 0.1) == 0
        assert driver.logic.reason is StopReason.KERNEL_GONE
    finally:
        os.kill(kernel.pid, signal.SIGCONT)
    # Back again, it does not resume what it was doing.
    assert run(driver, 0.1) == 0


def test_driver_whose_registration_was_taken_while_it_was_paused_moves_no_more(driven):
    kernel, paused, arm = driven
    kernel.observe(np.zeros(2))
    assert kernel.submit(np.full((250, 2), 0.01)).accepted
    assert run(paused, 0.1) > 0
    time.sleep(0.6)
    other_arm = Arm()
    other = SafeActionDriver(kernel.instance, other_arm, name="arm", step_s=0.1)
    kernel.observe(np.zeros(2))
    assert kernel.submit(np.full((250, 2), 0.01)).accepted
    moved = 0
    for _ in range(20):
        assert not paused.tick()
        moved += other.tick()
        time.sleep(0.002)
    assert moved > 0
    assert paused.logic.reason is StopReason.REPLACED
    assert arm.stops > 0
    other.close()


def test_kernel_that_is_deactivated_stops_the_arm(driven):
    kernel, driver, arm = driven
    kernel.observe(np.zeros(2))
    assert kernel.submit(np.full((250, 2), 0.01)).accepted
    assert run(driver, 0.1) > 0
    channel = _core.ChannelClient(kernel.instance)
    assert channel.command("deactivate", 1.0) == (True, "inactive")
    assert run(driver, 0.1) == 0
    assert driver.logic.reason is StopReason.INACTIVE
    assert channel.command("activate", 1.0) == (True, "active")
    assert run(driver, 0.1) == 0  # what it was doing is over
    assert arm.stops > 0


def test_driver_without_a_kernel_says_so():
    with pytest.raises(lg.ROSConfigError, match="is the kernel running"):
        SafeActionDriver("absent", Arm(), name="arm", step_s=0.1)


def test_chunk_that_begins_out_of_reach_of_the_measured_joints_does_not_move(start_kernel):
    kernel = start_kernel(stacked(2), without_world=True)
    arm = Arm()
    with pytest.raises(lg.ROSConfigError, match="has no `positions`"):
        SafeActionDriver(kernel.instance, arm, name="arm", step_s=0.1, reach=np.full(2, 0.02))
    arm.positions = np.full(2, 0.1)
    driver = SafeActionDriver(kernel.instance, arm, name="arm", step_s=0.1, reach=np.full(2, 0.02))
    kernel.observe(np.zeros(2))
    assert kernel.submit(np.full((2, 2), 0.01)).accepted
    assert run(driver, 0.05) == 0
    assert driver.logic.reason is StopReason.ELSEWHERE
    arm.positions = np.zeros(2)
    kernel.observe(np.zeros(2))
    assert kernel.submit(np.full((2, 2), 0.01)).accepted
    assert run(driver, 0.05) > 0
    driver.close()


@pytest.mark.parametrize(
    ("rows", "mode"),
    [(np.zeros((2, 2)), 77), (np.array([[0.0, np.nan]]), MODE), (np.array([[np.inf, 0.0]]), MODE)],
)
def test_what_nothing_can_be_sent_of_stops_the_arm_even_if_a_kernel_passes_it(start_kernel, rows, mode):
    kernel = start_kernel(stacked(2), without_world=True, warn_only=True)
    driver = SafeActionDriver(kernel.instance, Arm(), name="arm", step_s=0.1)
    kernel.observe(np.zeros(2))
    assert kernel.submit(np.full((50, 2), 0.01)).accepted
    assert run(driver, 0.05) > 0
    assert not kernel.submit(rows, mode=mode).accepted
    assert run(driver, 0.05) == 0
    assert (driver.logic.refused, driver.logic.reason) == (1, StopReason.REJECTED)
    assert kernel.submit(np.full((50, 2), 0.01)).accepted
    assert run(driver, 0.05) > 0
    driver.close()


def test_chunk_of_a_mode_that_the_actuator_does_not_know_stops_it(start_kernel):
    kernel = start_kernel(stacked(2), without_world=True)
    arm = Arm()
    arm.modes = (MODE,)
    driver = SafeActionDriver(kernel.instance, arm, name="arm", step_s=0.1)
    kernel.observe(np.zeros(2))
    assert kernel.submit(np.full((50, 2), 0.01)).accepted
    assert run(driver, 0.05) > 0
    # As wide as a step of positions: sent as one, it would be a place that was not checked.
    assert kernel.submit(np.full((2, 2), 0.05), mode=lg.ControlMode.JOINT_VELOCITY).accepted
    assert run(driver, 0.05) == 0
    assert (driver.logic.refused, driver.logic.reason) == (1, StopReason.NOT_EXECUTED)
    assert kernel.submit(np.full((50, 2), 0.01)).accepted
    assert run(driver, 0.05) > 0
    driver.close()
