# SPDX-License-Identifier: Apache-2.0
"""A driver behind DDS: steps in their order, and a stop for every way in which the gate can fall silent."""

import sys

import numpy as np
import pytest
from conftest import ROOT

import lastgate as lg
from lastgate.integrations.declared_stop import StopLaw
from lastgate.integrations.driver import SAFE_ACTION_PATIENCE_S, StopReason

sys.path.insert(0, str(ROOT / "ros2" / "lastgate_bridge"))
from lastgate_bridge.wire_driver import WireDriver, WireLatch

STEP_S = 0.1
ACTIVE, LATCHED = int(lg.KernelState.ACTIVE), int(lg.KernelState.LATCHED)


def driver(**changes):
    made = WireDriver(joint_count=2, step_s=STEP_S, patience_s=SAFE_ACTION_PATIENCE_S, **changes)
    made.latch.hear_status(ACTIVE, 0)
    return made


def hear(made, rows, *, now_s=10.0, mode=0):
    rows = np.asarray(rows, dtype=float)
    return made.hear_chunk(mode=mode, rows=len(rows), width=rows.shape[1], flat=rows.ravel(), now_s=now_s)


RAMP = [[0.1 * k, -0.2 * k] for k in range(1, 6)]


def test_steps_are_sent_in_their_order_and_nothing_before_the_first_chunk():
    made = driver()
    assert made.set_point(9.9) is None
    assert hear(made, RAMP)
    sent = [made.set_point(10.0 + t) for t in (0.0, 0.05, 0.1, 0.2, 0.3, 0.4)]
    assert np.allclose(sent, np.array(RAMP)[[0, 0, 1, 2, 3, 4]])


def test_stop_on_the_topic_holds_the_last_command():
    made = driver()
    hear(made, RAMP)
    last = [made.set_point(10.0 + t) for t in (0.0, 0.1, 0.2)][-1]
    made.latch.hear_stop()
    assert np.array_equal([made.set_point(10.0 + t) for t in (0.21, 0.3, 0.4)], [last] * 3)
    assert made.logic.reason is StopReason.LATCHED


def test_declared_deceleration_slows_down_from_the_last_command():
    made = driver(deceleration=[5.0, 20.0])
    hear(made, RAMP)
    last = [made.set_point(10.0 + t) for t in (0.0, 0.1, 0.2)][-1]  # at 1 and -2 per second
    made.latch.hear_stop()
    stops = np.array([made.set_point(10.2 + 0.005 * k) for k in range(1, 60)])
    assert np.allclose(stops[-1] - last, [1.0 / 10.0, -4.0 / 40.0])  # v^2 / (2 a)
    speeds = np.diff(np.vstack([last, stops]), axis=0) / 0.005
    assert np.abs(speeds[0]) == pytest.approx([1.0 - 0.0125, 2.0 - 0.05], rel=1e-6)
    assert (np.diff(np.abs(speeds), axis=0) <= 1e-9).all()
    assert np.array_equal(stops[-1], stops[-5])


def test_silence_stops_after_the_patience():
    made = driver()
    hear(made, RAMP[:1])
    assert made.set_point(10.0) is not None
    made.set_point(10.15)
    made.set_point(10.29)
    assert made.logic.is_under_way
    made.set_point(10.45)
    assert not made.logic.is_under_way
    assert made.logic.reason is StopReason.STARVED


@pytest.mark.parametrize(
    ("rows", "mode"),
    [
        ([[0.0, np.nan]], 0),
        ([[0.0, np.inf]], 0),
        ([[0.0, 0.0, 0.0]], 0),
        ([[0.0, 0.0]], 1),  # velocities are not positions
        ([[0.0, 0.0]], 77),
    ],
)
def test_chunk_that_cannot_be_sent_as_it_was_checked_stops(rows, mode):
    made = driver()
    hear(made, RAMP)
    assert made.set_point(10.0) is not None
    assert not hear(made, rows, now_s=10.05, mode=mode)
    before = made.set_point(10.06)
    assert np.array_equal(made.set_point(10.3), before)
    assert hear(made, RAMP, now_s=10.4)  # the twin
    assert made.set_point(10.4) is not None


def test_chunk_with_fewer_numbers_than_it_says_stops():
    made = driver()
    assert not made.hear_chunk(mode=0, rows=3, width=2, flat=np.zeros(4), now_s=10.0)


def test_status_of_before_the_stop_does_not_clear_it():
    latch = WireLatch()
    latch.hear_status(ACTIVE, 4)
    latch.hear_stop()
    latch.hear_status(ACTIVE, 4)  # was on its way when the stop was published
    assert latch.effective_state == LATCHED
    latch.hear_status(LATCHED, 5)
    assert latch.effective_state == LATCHED
    latch.hear_status(ACTIVE, 5)
    assert latch.effective_state == ACTIVE


def test_stop_that_comes_behind_its_status_is_cleared_with_it():
    latch = WireLatch()
    latch.hear_status(LATCHED, 5)
    latch.hear_stop()
    latch.hear_status(ACTIVE, 5)
    assert latch.effective_state == ACTIVE


def test_before_any_status_nothing_is_sent():
    made = WireDriver(joint_count=2, step_s=STEP_S, patience_s=SAFE_ACTION_PATIENCE_S)
    hear(made, RAMP)
    assert made.set_point(10.0) is None


@pytest.mark.parametrize("limits", [[1.0], [1.0, 0.0], [1.0, np.nan], [1.0, -2.0]])
def test_deceleration_that_is_none_is_refused(limits):
    with pytest.raises(lg.ROSConfigError, match="one positive number per joint"):
        driver(deceleration=limits)


def test_declared_stop_goes_on_along_the_path_and_rests_behind_it():
    law = StopLaw(kind="path", reaction_s=0.1, deceleration=np.array([5.0, 20.0]))
    made = driver(law=law)
    hear(made, RAMP)
    for tick in range(21):
        made.set_point(10.0 + 0.01 * tick)  # at 1 and -2 per second
    made.latch.hear_stop()
    stops = np.array([made.set_point(10.2 + 0.01 * k) for k in range(1, 80)])
    # The stop is seen 0.21 s into a path that begins at the first step; 0.1 s of reaction, half of the brake's 0.2 s.
    rest = np.array([0.1, -0.2]) + np.array([1.0, -2.0]) * (0.21 - 0.1 + 0.1 + 0.1)
    np.testing.assert_allclose(stops[-1], rest, atol=1e-9)
    assert np.array_equal(stops[-1], stops[-10])
    assert (np.diff(stops, axis=0) * [1.0, -1.0] >= -1e-12).all()


def test_declared_stop_that_reacts_faster_than_a_step_is_refused():
    driver(law=StopLaw(kind="path", reaction_s=0.1, deceleration=np.array([5.0, 20.0])))
    with pytest.raises(lg.ROSConfigError, match="at least one step"):
        driver(law=StopLaw(kind="path", reaction_s=0.0999, deceleration=np.array([5.0, 20.0])))
    with pytest.raises(lg.ROSConfigError, match="law is about 1 joints, not 2"):
        driver(law=StopLaw(kind="path", reaction_s=0.1, deceleration=np.array([5.0])))
