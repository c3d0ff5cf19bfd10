# SPDX-License-Identifier: Apache-2.0
"""Which source may register where in the status block, and what sources thought dead can still do."""

import time

import pytest
from fixtures.analytic_robots import PAPER_SAFETY, stacked

from lastgate import KernelState, _core
from lastgate.contracts import read_evidence
from lastgate.tools.cli.operator import estop_command

REGISTRATIONS = 16
# A robot that asks for no deadman: every registration is free.
ALONE = stacked(3, safety={**PAPER_SAFETY, "deadman_required": False})
# A registration that does not beat for 0.5 s is free.
DEAD_AFTER_S = 0.6


def settle() -> None:
    """Waits for several rounds of the thread that listens for stops."""
    time.sleep(0.1)


def failures_in(reader: _core.RingReader) -> list[bytes]:
    """Returns the evidence of every report that is there."""
    found = []
    while (message := reader.read(0.2)) is not None:
        payload = message[3]
        begin = payload.index(b"{")
        found.append(payload[begin : payload.rindex(b"}") + 1])
    return found


def test_registrations_of_the_dead_keep_no_source_from_stopping(start_kernel):
    kernel = start_kernel(ALONE, without_world=True, reset_cooldown_s=0.01)
    left_behind = [
        _core.Registration(kernel.instance, f"operator-{number}") for number in range(REGISTRATIONS)
    ]
    time.sleep(DEAD_AFTER_S)
    registration = _core.Registration(kernel.instance, "late")
    registration.press("still possible")
    settle()
    assert kernel.status().source == "late"
    assert len(left_behind) == REGISTRATIONS


def test_registration_of_a_dead_source_that_held_a_stop_goes_to_no_other_source(start_kernel):
    kernel = start_kernel(ALONE, without_world=True, reset_cooldown_s=0.01)
    _core.Registration(kernel.instance, "pendant").hold("button down")
    others = [
        _core.Registration(kernel.instance, f"operator-{number}") for number in range(REGISTRATIONS - 1)
    ]
    settle()
    time.sleep(DEAD_AFTER_S)
    newcomers = [
        _core.Registration(kernel.instance, f"newcomer-{number}") for number in range(REGISTRATIONS - 1)
    ]
    with pytest.raises(RuntimeError, match="all registrations are taken"):
        _core.Registration(kernel.instance, "one-too-many")
    assert "`pendant` is still asserted" in kernel.reset().message
    assert len(others) == len(newcomers)


def test_stop_needs_no_registration(start_kernel, capsys):
    kernel = start_kernel(ALONE, without_world=True)
    registrations = [
        _core.Registration(kernel.instance, f"operator-{number}") for number in range(REGISTRATIONS)
    ]
    for registration in registrations:
        registration.beat()
    assert estop_command(robot=kernel.instance, reason="all chairs are taken") == 0
    assert capsys.readouterr().out == "latched\n"
    assert kernel.status().latched


def test_client_stops_though_every_registration_is_taken(start_kernel):
    kernel = start_kernel(ALONE, without_world=True)
    registrations = [
        _core.Registration(kernel.instance, f"operator-{number}") for number in range(REGISTRATIONS)
    ]
    for registration in registrations:
        registration.beat()
    kernel.estop("all chairs are taken")
    assert kernel.status().latched


def test_source_that_was_taken_for_dead_cannot_speak_for_who_has_its_registration(start_kernel):
    """A process that was paused, and goes on after another has taken over."""
    kernel = start_kernel(stacked(3), without_world=True, reset_cooldown_s=0.01)
    paused = _core.Registration(kernel.instance, "pendant")
    time.sleep(DEAD_AFTER_S)
    pendant = _core.Registration(kernel.instance, "pendant")
    pendant.hold("button down")
    settle()
    paused.release()
    settle()
    assert "`pendant` is still asserted" in kernel.reset().message
    paused.leave()
    settle()
    assert "`pendant` is still asserted" in kernel.reset().message
    assert (paused.is_mine, pendant.is_mine) == (False, True)
    # A stop needs no registration.
    pendant.release()
    settle()
    assert kernel.reset().success
    paused.press("seen by the one that was paused")
    settle()
    assert kernel.status().latched


def test_driver_that_was_taken_for_dead_acknowledges_nothing(start_kernel):
    kernel = start_kernel(stacked(3), without_world=True, required_actuators=["arm"], reset_cooldown_s=0.01)
    paused = _core.Registration(kernel.instance, "arm", actuator=True)
    time.sleep(DEAD_AFTER_S)
    arm = _core.Registration(kernel.instance, "arm", actuator=True)
    kernel.estop("stop")
    settle()
    arm.beat()
    paused.acknowledge(paused.latch_sequence)
    assert "`arm` has not acknowledged" in kernel.reset().message
    arm.beat()
    arm.acknowledge(arm.latch_sequence)
    assert kernel.reset().success


def test_source_that_sits_down_holding_is_never_seen_without_its_stop(start_kernel):
    """A kernel that waits for its pendant must not be armed before the pendant has checked the button."""
    kernel = start_kernel(stacked(3), without_world=True, required_sources=["pendant"], reset_cooldown_s=0.01)
    pendant = _core.Registration(kernel.instance, "pendant", holding="button down")
    for _ in range(10):
        assert kernel.status().state is not KernelState.ACTIVE
        pendant.beat()
        time.sleep(0.02)
    assert kernel.status().reason == "button down"
    assert "`pendant` is still asserted" in kernel.reset().message


def test_pendant_that_comes_back_with_its_button_down_lets_no_reset_through(start_kernel):
    kernel = start_kernel(stacked(3), without_world=True, reset_cooldown_s=0.01)
    _core.Registration(kernel.instance, "pendant").hold("button down")
    time.sleep(DEAD_AFTER_S)
    again = _core.Registration(kernel.instance, "pendant", holding="button down")
    for _ in range(20):
        assert not kernel.reset().success
    again.release()
    settle()
    assert kernel.reset().success


def test_required_sources_whose_names_begin_alike_are_each_missed(start_kernel):
    names = ["pendant-at-the-gate-left", "pendant-at-the-gate-right"]
    kernel = start_kernel(stacked(3), without_world=True, required_sources=names, reset_cooldown_s=0.01)
    left, right = (_core.Registration(kernel.instance, name) for name in names)
    settle()
    assert kernel.status().state is KernelState.ACTIVE
    time.sleep(DEAD_AFTER_S)  # both are gone
    assert kernel.status().latched
    for _ in range(5):
        left.beat()  # one of them is back
        time.sleep(0.02)
    assert names[1] in kernel.reset().message
    left.beat()
    right.beat()
    settle()
    assert kernel.reset().success


@pytest.mark.parametrize("ask", ["press", "hold"])
def test_reason_that_must_be_cut_is_cut_between_characters(start_kernel, ask):
    kernel = start_kernel(stacked(3), without_world=True)
    registration = _core.Registration(kernel.instance, "person")
    getattr(registration, ask)("é" * 200)
    settle()
    reason = kernel.status().reason
    assert reason.startswith("ééé")
    assert len(reason.encode()) > 150


def test_stop_is_reported_by_evidence_that_can_be_read_however_long_its_reason(start_kernel, capsys):
    kernel = start_kernel(stacked(3), without_world=True)
    reader = _core.RingReader(kernel.instance, "failures")
    assert estop_command(robot=kernel.instance, reason="\U0001f6d1" * 300) == 0
    (evidence,) = failures_in(reader)
    assert read_evidence(evidence).kind == "human"
    assert kernel.status().reason.startswith("\U0001f6d1\U0001f6d1")
    assert capsys.readouterr().out == "latched\n"


def test_required_source_that_is_gone_is_reported_by_its_name(start_kernel):
    kernel = start_kernel(stacked(3), without_world=True, required_sources=["pendant"])
    registration = _core.Registration(kernel.instance, "pendant")
    registration.beat()
    settle()
    reader = _core.RingReader(kernel.instance, "failures")
    assert failures_in(reader) == []  # a source that beats is not reported
    time.sleep(DEAD_AFTER_S)
    (evidence,) = failures_in(reader)
    told = read_evidence(evidence)
    assert (told.kind, told.controller_name, told.state) == ("controller", "pendant", "estop_source_lost")
    assert kernel.status().latched
