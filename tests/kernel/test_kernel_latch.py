# SPDX-License-Identifier: Apache-2.0
"""The latch of a kernel process: what stops it, what a reset waits for, and what survives."""

import os
import signal
import time

import pytest
from fixtures.analytic_robots import PAPER_SAFETY, only_violation, stacked
from fixtures.kernel_messages import everything_in, submit

import lastgate as lg
from lastgate import _core


def test_k03_after_a_violation_good_chunks_are_dropped(start_kernel):
    kernel = start_kernel(stacked(3), without_world=True)
    assert submit(kernel, [[0.01, 0.01, 0.01]]).accepted
    assert not submit(kernel, [[0.0, 5.0, 0.0]]).accepted
    passed = _core.RingReader(kernel.instance, "safe_actions")
    violation = only_violation(submit(kernel, [[0.01, 0.01, 0.01]]))
    assert violation.code == lg.ViolationCode.estop_latched
    assert everything_in(passed) == []


def test_k04_reset_is_refused_before_the_cooldown_and_works_after_it(start_kernel):
    kernel = start_kernel(stacked(3), without_world=True, reset_cooldown_s=0.3)
    kernel.estop("button pressed")
    status = kernel.status()
    assert (status.latched, status.reason) == (True, "button pressed")
    refused = kernel.reset()
    assert (refused.success, "cooling down" in refused.message) == (False, True)
    time.sleep(0.35)
    assert kernel.reset().success
    assert not kernel.status().latched
    assert submit(kernel, [[0.01, 0.01, 0.01]]).accepted


@pytest.mark.parametrize("reason", ["", 3, None, "\ud800", "nul \0 inside", "x" * 10_000])
def test_stop_with_a_strange_reason_is_a_stop(start_kernel, reason):
    kernel = start_kernel(stacked(3), without_world=True)
    kernel.estop(reason)
    assert kernel.status().latched


def test_stop_without_a_reason_is_a_stop(start_kernel):
    kernel = start_kernel(stacked(3), without_world=True)
    assert not kernel.status().latched
    kernel.estop()
    assert (kernel.status().latched, kernel.status().reason) == (True, "asked for by the program")


def test_stop_that_reaches_no_kernel_says_that_nothing_was_stopped(start_kernel):
    kernel = start_kernel(stacked(3), without_world=True)
    kernel.close()
    with pytest.raises(lg.ROSConfigError, match="nothing was stopped, use the hardware stop"):
        kernel.estop("too late")
    with pytest.raises(lg.ROSConfigError, match="cannot be asked"):
        kernel.status()


@pytest.mark.parametrize("stopped_before", [False, True])
def test_stop_of_a_kernel_that_was_killed_says_that_it_did_not_latch(start_kernel, stopped_before):
    kernel = start_kernel(stacked(3), without_world=True, reset_cooldown_s=0.01)
    if stopped_before:
        kernel.estop("first")
        time.sleep(0.05)
        assert kernel.reset().success
    os.kill(kernel.pid, signal.SIGKILL)
    with pytest.raises(lg.ROSConfigError, match="did not latch, use the hardware stop"):
        kernel.estop("too late")


def test_k05_reset_of_what_is_not_latched_succeeds(start_kernel):
    outcome = start_kernel(stacked(3), without_world=True).reset()
    assert (outcome.success, outcome.message) == (True, "not latched, nothing to reset")


def test_k06_x25_lifecycle_leads_round_and_never_clears_the_latch(start_kernel):
    kernel = start_kernel(stacked(3), without_world=True)
    channel = _core.ChannelClient(kernel.instance)
    assert channel.command("deactivate", 1.0) == (True, "inactive")
    assert kernel.status().state is lg.KernelState.INACTIVE
    assert only_violation(submit(kernel, [[0.01] * 3])).code == lg.ViolationCode.envelope_unconfigured
    assert channel.command("activate", 1.0) == (True, "active")
    assert submit(kernel, [[0.01] * 3]).accepted
    kernel.estop("stop")
    for word in ("deactivate", "activate"):
        assert channel.command(word, 1.0)[0]
        assert kernel.status().latched


def test_latch_survives_kill_and_restart(start_kernel):
    first = start_kernel(stacked(3), without_world=True)
    assert submit(first, [[0.01] * 3]).accepted
    assert not submit(first, [[9.0] * 3]).accepted
    os.kill(first.pid, signal.SIGKILL)
    first.close()
    second = start_kernel(stacked(3), without_world=True, instance=first.instance, reset_cooldown_s=0.05)
    status = second.status()
    assert (status.latched, status.reason) == (True, "joint_position_limit")
    assert only_violation(submit(second, [[0.01] * 3])).code == lg.ViolationCode.estop_latched
    assert not second.reset().success  # the cooldown begins again
    time.sleep(0.1)
    assert second.reset().success
    assert submit(second, [[0.01] * 3]).accepted


def test_kernel_that_was_never_latched_starts_clear_after_a_kill(start_kernel):
    first = start_kernel(stacked(3), without_world=True)
    os.kill(first.pid, signal.SIGKILL)
    first.close()
    second = start_kernel(stacked(3), without_world=True, instance=first.instance)
    assert submit(second, [[0.01] * 3]).accepted


@pytest.mark.parametrize("damage", [b"", b"x", b"\0" * 256, None])
def test_damaged_latch_file_reads_as_latched(start_kernel, tmp_path, damage):
    first = start_kernel(stacked(3), without_world=True)
    first.close()
    path = tmp_path / f"{first.instance}.latch"
    good = path.read_bytes()
    assert len(good) == 256
    path.write_bytes(good[:100] + b"\xff" + good[101:] if damage is None else damage)
    second = start_kernel(stacked(3), without_world=True, instance=first.instance)
    assert second.status().latched


def test_stop_that_comes_while_the_kernel_is_ending_is_found_by_the_next(start_kernel):
    first = start_kernel(stacked(3), without_world=True)
    registration = _core.Registration(first.instance, "human")
    os.kill(first.pid, signal.SIGSTOP)  # so that it learns of both at once
    os.kill(first.pid, signal.SIGTERM)
    registration.press("on the way out")
    os.kill(first.pid, signal.SIGCONT)
    first.close()
    status = start_kernel(stacked(3), without_world=True, instance=first.instance).status()
    assert (status.latched, status.reason) == (True, "on the way out")


def test_end_of_a_kernel_is_no_stop(start_kernel):
    first = start_kernel(stacked(3), without_world=True)
    first.close()
    assert not start_kernel(stacked(3), without_world=True, instance=first.instance).status().latched


def test_stop_while_latched_begins_the_cooldown_again(start_kernel):
    alone = stacked(3, safety={**PAPER_SAFETY, "deadman_required": False})  # every registration is free
    kernel = start_kernel(alone, without_world=True, reset_cooldown_s=0.3)
    kernel.estop("first")
    time.sleep(0.35)
    kernel.estop("second")  # its registration is given back at once: the kernel is latched already
    time.sleep(0.05)
    assert "cooling down" in kernel.reset().message
    time.sleep(0.35)
    _core.StopEvent(kernel.instance).signal()
    time.sleep(0.05)
    assert "cooling down" in kernel.reset().message
    assert kernel.status().reason == "second"
    time.sleep(0.35)
    assert kernel.reset().success
    # A source that registers where another has pressed did not press.
    registrations = [_core.Registration(kernel.instance, f"other-{number}") for number in range(16)]
    time.sleep(0.05)
    assert not kernel.status().latched
    assert len(registrations) == 16


def test_x27_held_source_blocks_reset_until_it_is_released_and_death_does_not_release(start_kernel):
    kernel = start_kernel(stacked(3), without_world=True, reset_cooldown_s=0.01)
    pendant = _core.Registration(kernel.instance, "pendant")
    pendant.hold("button down")
    time.sleep(0.1)
    assert kernel.status().source == "pendant"
    assert "`pendant` is still asserted" in kernel.reset().message
    time.sleep(0.7)  # no longer beats: gone, but no source said that the button is up
    assert not kernel.reset().success
    again = _core.Registration(kernel.instance, "pendant")
    time.sleep(0.1)
    assert kernel.reset().success
    again.leave()


def test_required_source_must_be_there_and_stay(start_kernel):
    kernel = start_kernel(stacked(3), without_world=True, required_sources=["deadman"], reset_cooldown_s=0.01)
    assert kernel.status().state is lg.KernelState.INACTIVE
    assert only_violation(submit(kernel, [[0.01] * 3])).code == lg.ViolationCode.envelope_unconfigured
    registration = _core.Registration(kernel.instance, "deadman")
    registration.beat()
    time.sleep(0.1)
    assert submit(kernel, [[0.01] * 3]).accepted
    time.sleep(0.8)
    assert kernel.status().latched
    assert "absence of deadman" in kernel.reset().message


def test_required_actuator_must_acknowledge_this_stop(start_kernel):
    kernel = start_kernel(stacked(3), without_world=True, required_actuators=["arm"], reset_cooldown_s=0.01)
    drive = _core.Registration(kernel.instance, "arm", actuator=True)
    kernel.estop("stop")
    time.sleep(0.05)
    assert "`arm` has not acknowledged" in kernel.reset().message
    drive.acknowledge(drive.latch_sequence - 1)  # an earlier stop
    drive.beat()
    assert not kernel.reset().success
    drive.acknowledge(drive.latch_sequence)
    drive.beat()
    assert kernel.reset().success


def test_flood_of_stops_is_one_stop(start_kernel):
    kernel = start_kernel(stacked(3), without_world=True, reset_cooldown_s=0.05)
    registration = _core.Registration(kernel.instance, "human")
    for number in range(20_000):
        registration.press(f"press {number}")
    time.sleep(0.2)
    assert kernel.status().latched
    assert kernel.status().sequence == 1
    assert kernel.reset().success
