# SPDX-License-Identifier: Apache-2.0
"""The deadman, on paper: when it fires, when it does not, and when it is armed again."""

import math

import pytest

import lastgate as lg
from lastgate.kernel.estop.deadman import Deadman


def test_m01_no_accepted_chunk_fires_once_with_evidence():
    deadman = Deadman(deadline_s=0.1)
    assert deadman.poll(active=True, now_s=5.0) is None
    assert deadman.poll(active=True, now_s=5.1) is None  # at the deadline is in time
    evidence = deadman.poll(active=True, now_s=5.15)
    assert evidence is not None
    assert (evidence.operation, evidence.deadline_s) == ("safe_action", 0.1)
    assert evidence.elapsed_s == pytest.approx(0.15)
    assert lg.read_evidence(evidence.model_dump_json()) == evidence


def test_m02_chunks_in_time_keep_it_quiet():
    deadman = Deadman(deadline_s=0.2)
    deadman.poll(active=True, now_s=0.0)
    for tick in range(1, 100):
        deadman.safe_action(now_s=0.05 * tick)
        assert deadman.poll(active=True, now_s=0.05 * tick) is None
    assert deadman.poll(active=True, now_s=0.05 * 99 + 0.21) is not None


def test_m03_stop_from_elsewhere_leaves_it_nothing_to_say():
    deadman = Deadman(deadline_s=0.2)
    deadman.poll(active=True, now_s=0.0)
    assert deadman.poll(active=False, now_s=0.1) is None
    assert deadman.poll(active=False, now_s=9.0) is None


def test_it_is_armed_again_by_a_reset_and_counts_from_there():
    deadman = Deadman(deadline_s=0.2)
    deadman.poll(active=True, now_s=0.0)
    assert deadman.poll(active=True, now_s=1.0) is not None
    assert deadman.poll(active=False, now_s=1.05) is None
    assert deadman.poll(active=True, now_s=2.0) is None
    assert deadman.poll(active=True, now_s=2.1) is None
    assert deadman.poll(active=True, now_s=2.3) is not None


def test_clock_that_is_no_clock_fires():
    deadman = Deadman(deadline_s=0.2)
    deadman.poll(active=True, now_s=0.0)
    assert deadman.poll(active=True, now_s=math.nan) is not None


def test_chunk_of_the_past_does_not_turn_time_back():
    deadman = Deadman(deadline_s=0.2)
    deadman.poll(active=True, now_s=10.0)
    deadman.safe_action(now_s=1.0)
    assert deadman.poll(active=True, now_s=10.1) is None


@pytest.mark.parametrize("deadline_s", [0.0, -1.0, math.nan, math.inf])
def test_deadline_that_is_no_time_is_refused(deadline_s):
    with pytest.raises(lg.ROSConfigError, match="positive number of seconds"):
        Deadman(deadline_s=deadline_s)
