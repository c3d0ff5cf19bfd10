# SPDX-License-Identifier: Apache-2.0
"""Drives the latch through random histories and holds it against a model that keeps the whole history.

Compared: the latch with an event log of what happened, from which each answer is derived anew.
Reference: the event log; it knows only lists and maxima.
Times: any float, in any order, NaN and infinities among them.
"""

import math

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from lastgate.kernel.estop import SafetyLatch

COOLDOWN_S = 0.5
# The latch subtracts where the event log adds, so the two may round differently; clocks stay below 1e3 s here.
ROUNDING_S = 1e-12
ACTUATORS = ("arm", "gripper")
SOURCES = st.sampled_from(["kernel", "deadman", "pendant", "human", "external"])
STEPS_S = st.one_of(
    st.floats(min_value=0.0, max_value=1.0),
    st.floats(min_value=-5.0, max_value=5.0),
    st.sampled_from([math.nan, math.inf, -math.inf, 0.5]),
)


class LatchHistory(RuleBasedStateMachine):
    def __init__(self):
        super().__init__()
        self.latch = SafetyLatch(cooldown_s=COOLDOWN_S, required_actuators=ACTUATORS)
        self.clock_s = 100.0
        self.expected_latched = False
        self.expected_sequence = 0
        self.held = set()
        self.acknowledged = set()
        self.times_seen_s = []
        # The earliest time at which a cooldown that is surely over can be over; None: not begun.
        self.cooldown_ends_s = None

    def tick(self, step_s):
        """Returns the next time, and keeps it as the clock unless it is not one."""
        now_s = self.clock_s + step_s
        if math.isfinite(now_s):
            self.clock_s = now_s
            self.times_seen_s.append(now_s)
        return now_s

    def note_stop(self, now_s):
        if not self.expected_latched:
            self.expected_latched = True
            self.expected_sequence += 1
            self.acknowledged = set()
        self.cooldown_ends_s = max(self.times_seen_s) + COOLDOWN_S if math.isfinite(now_s) else None

    @rule(source=SOURCES, step_s=STEPS_S)
    def trip(self, source, step_s):
        now_s = self.tick(step_s)
        self.latch.trip(source=source, reason="tripped", now_s=now_s)
        self.note_stop(now_s)
        assert (self.latch.source, self.latch.reason) == (source, "tripped")

    @rule(source=SOURCES, step_s=STEPS_S)
    def press(self, source, step_s):
        now_s = self.tick(step_s)
        self.latch.assert_source(source=source, reason="held", now_s=now_s)
        self.held.add(source)
        self.note_stop(now_s)

    @rule(source=SOURCES)
    def detach(self, source):
        assert self.latch.release_source(source=source) == (source in self.held)
        self.held.discard(source)

    @rule(actuator=st.sampled_from(ACTUATORS), lag=st.integers(min_value=0, max_value=2))
    def acknowledge(self, actuator, lag):
        counts = self.latch.acknowledge(actuator=actuator, sequence=self.expected_sequence - lag)
        assert counts == (self.expected_latched and lag == 0)
        if counts:
            self.acknowledged.add(actuator)

    @rule()
    @precondition(lambda self: self.expected_latched)
    def make_everything_ready(self):
        """Without help, random histories rarely reach a reset that may succeed."""
        for source in sorted(self.held):
            self.latch.release_source(source=source)
        self.held = set()
        for actuator in ACTUATORS:
            self.latch.acknowledge(actuator=actuator, sequence=self.expected_sequence)
        self.acknowledged = set(ACTUATORS)

    @rule(step_s=STEPS_S)
    def reset(self, step_s):
        was_latched = self.expected_latched
        now_s = self.tick(step_s)
        outcome = self.latch.reset(now_s=now_s)
        if not was_latched:
            assert outcome.success
            assert "nothing to reset" in outcome.message
            return
        if outcome.success:
            assert math.isfinite(now_s)
            assert not self.held
            assert self.acknowledged == set(ACTUATORS)
            assert self.cooldown_ends_s is not None
            assert max(self.times_seen_s) >= self.cooldown_ends_s - ROUNDING_S
            self.expected_latched = False
            self.expected_sequence += 1
            self.acknowledged = set()
            return
        is_cooling = (
            not math.isfinite(now_s)
            or self.cooldown_ends_s is None
            or max(self.times_seen_s) <= self.cooldown_ends_s + ROUNDING_S
        )
        assert self.held or self.acknowledged != set(ACTUATORS) or is_cooling
        assert all(f"`{source}`" in outcome.message for source in self.held)
        if self.cooldown_ends_s is None and math.isfinite(now_s):
            self.cooldown_ends_s = max(self.times_seen_s) + COOLDOWN_S

    @rule()
    def restart_the_process(self):
        text = self.latch.to_json()
        self.latch = SafetyLatch.from_json(text, cooldown_s=COOLDOWN_S, required_actuators=ACTUATORS)
        assert self.latch.to_json() == text
        self.times_seen_s = []
        self.clock_s = 0.0
        self.cooldown_ends_s = None

    @rule(position=st.integers(min_value=0), character=st.characters())
    def damage_the_file(self, position, character):
        text = self.latch.to_json()
        position %= len(text)
        damaged = text[:position] + character + text[position + 1 :]
        if damaged != text:
            assert SafetyLatch.from_json(damaged).latched

    @invariant()
    def nothing_passes_between_a_stop_and_a_granted_reset(self):
        assert self.latch.latched == self.expected_latched

    @invariant()
    def the_latch_agrees_with_the_event_log(self):
        assert self.latch.sequence == self.expected_sequence
        assert set(self.latch.asserted_sources) == self.held
        missing = set(ACTUATORS) - self.acknowledged if self.expected_latched else set()
        assert set(self.latch.unacknowledged_actuators) == missing

    @invariant()
    def a_held_source_means_latched(self):
        assert self.latch.latched or not self.latch.asserted_sources


TestLatchHistory = LatchHistory.TestCase
TestLatchHistory.settings = settings(max_examples=300, stateful_step_count=40, deadline=None)
