# SPDX-License-Identifier: Apache-2.0
import json

import numpy as np
import pytest

from lastgate.contracts import ROSConfigError
from lastgate.kernel.estop import SafetyLatch, StopSource
from lastgate.kernel.estop.latch import _digest

NOT_A_TIME = [float("nan"), float("inf"), float("-inf"), None, "3", True, 10**400, 1j]


def tripped(now_s=100.0, **settings):
    latch = SafetyLatch(**settings)
    latch.trip(source="kernel", reason="self_collision", now_s=now_s)
    return latch


def test_a_fresh_latch_is_clear():
    latch = SafetyLatch()
    assert not latch.latched
    assert (latch.sequence, latch.source, latch.reason, latch.asserted_sources) == (0, "", "", ())


def test_k05_a_reset_of_a_clear_latch_succeeds_and_says_there_is_nothing_to_reset():
    latch = SafetyLatch(required_actuators=["arm"])
    outcome = latch.reset(now_s=1.0)
    assert outcome.success
    assert "nothing to reset" in outcome.message
    assert latch.sequence == 0


@pytest.mark.parametrize("source", [*StopSource, "lidar_curtain"])
def test_a_stop_from_any_source_latches_and_is_remembered(source):
    latch = SafetyLatch()
    latch.trip(source=source, reason="because", now_s=1.0)
    assert latch.latched
    assert (latch.source, latch.reason, latch.sequence) == (source, "because", 1)


def test_k04_a_reset_is_refused_just_before_the_cooldown_ends_and_granted_when_it_does():
    latch = tripped(now_s=100.0)
    refused = latch.reset(now_s=100.499)
    assert not refused.success
    assert refused.message == "reset refused: cooling down, 0.499 s of 0.500 s since the most recent stop"
    assert latch.latched
    granted = latch.reset(now_s=100.5)
    assert granted.success
    assert not latch.latched


def test_outcome_of_a_reset_has_no_truth_value_granted_or_refused():
    latch = tripped(now_s=100.0)
    for now_s, success in ((100.1, False), (100.5, True)):
        outcome = latch.reset(now_s=now_s)
        assert outcome.success is success
        with pytest.raises(TypeError, match=r"no truth value; read outcome\.success"):
            bool(outcome)


def test_the_cooldown_counts_from_the_most_recent_stop():
    latch = tripped(now_s=100.0)
    latch.trip(source="external", reason="button", now_s=100.4)
    assert not latch.reset(now_s=100.6).success
    assert (latch.source, latch.reason) == ("external", "button")
    assert latch.reset(now_s=100.9).success


def test_a_refused_reset_does_not_restart_the_cooldown():
    latch = tripped(now_s=100.0)
    assert not latch.reset(now_s=100.4).success
    assert latch.reset(now_s=100.5).success


def test_x27_a_held_button_blocks_the_reset_however_long_one_waits():
    latch = SafetyLatch()
    latch.assert_source(source="pendant", reason="pressed", now_s=1.0)
    refused = latch.reset(now_s=1000.0)
    assert refused.message == "reset refused: source `pendant` is still asserted (pressed)"
    assert latch.release_source(source="pendant")
    assert latch.latched
    assert latch.reset(now_s=1000.0).success


def test_every_source_must_be_released():
    latch = SafetyLatch()
    latch.assert_source(source="pendant", reason="pressed", now_s=1.0)
    latch.assert_source(source="deadman", reason="silent", now_s=1.0)
    assert latch.asserted_sources == ("deadman", "pendant")
    latch.release_source(source="pendant")
    refused = latch.reset(now_s=9.0)
    assert not refused.success
    assert "`deadman`" in refused.message
    assert "`pendant`" not in refused.message


def test_releasing_a_source_that_holds_nothing_changes_nothing():
    latch = SafetyLatch()
    latch.assert_source(source="pendant", reason="pressed", now_s=1.0)
    assert not latch.release_source(source="deadman")
    assert latch.asserted_sources == ("pendant",)
    assert not SafetyLatch().release_source(source="pendant")


def test_a_source_that_asserts_twice_is_released_once():
    latch = SafetyLatch()
    for now_s in (1.0, 2.0):
        latch.assert_source(source="pendant", reason="pressed", now_s=now_s)
    latch.release_source(source="pendant")
    assert latch.asserted_sources == ()


def test_an_actuator_that_has_not_acknowledged_blocks_the_reset():
    latch = tripped(required_actuators=["arm", "gripper"])
    assert latch.unacknowledged_actuators == ("arm", "gripper")
    assert latch.acknowledge(actuator="arm", sequence=latch.sequence)
    refused = latch.reset(now_s=200.0)
    assert refused.message == "reset refused: actuator `gripper` has not acknowledged the stop"
    assert latch.acknowledge(actuator="gripper", sequence=latch.sequence)
    assert latch.reset(now_s=200.0).success


def test_a_late_acknowledgement_of_an_earlier_stop_does_not_count():
    latch = tripped(required_actuators=["arm"])
    earlier = latch.sequence
    latch.acknowledge(actuator="arm", sequence=earlier)
    assert latch.reset(now_s=200.0).success
    latch.trip(source="kernel", reason="again", now_s=300.0)
    assert not latch.acknowledge(actuator="arm", sequence=earlier)
    assert not latch.reset(now_s=400.0).success


def test_an_acknowledgement_of_a_stop_that_did_not_happen_does_not_count():
    latch = SafetyLatch(required_actuators=["arm"])
    assert not latch.acknowledge(actuator="arm", sequence=0)
    latch.trip(source="kernel", reason="x", now_s=1.0)
    assert latch.unacknowledged_actuators == ("arm",)


def test_an_acknowledgement_from_a_stranger_is_refused_with_the_names_required():
    with pytest.raises(ROSConfigError, match="`leg` is not a required actuator; required: arm"):
        tripped(required_actuators=["arm"]).acknowledge(actuator="leg", sequence=1)


def test_a_refusal_names_everything_that_blocks():
    latch = SafetyLatch(required_actuators=["arm"])
    latch.assert_source(source="human", reason="hand in cell", now_s=1.0)
    message = latch.reset(now_s=1.1).message
    assert "`human` is still asserted (hand in cell)" in message
    assert "`arm` has not acknowledged" in message
    assert "cooling down, 0.100 s of 0.500 s" in message


def test_the_sequence_grows_with_every_latch_and_every_clear_and_nothing_else():
    latch = SafetyLatch()
    seen = [latch.sequence]
    latch.trip(source="kernel", reason="a", now_s=1.0)
    latch.trip(source="kernel", reason="b", now_s=1.1)
    seen.append(latch.sequence)
    latch.reset(now_s=1.2)
    seen.append(latch.sequence)
    latch.reset(now_s=2.0)
    latch.reset(now_s=2.0)
    seen.append(latch.sequence)
    latch.trip(source="kernel", reason="c", now_s=3.0)
    assert [*seen, latch.sequence] == [0, 1, 1, 2, 3]


def test_the_sequence_wraps_like_the_number_on_the_wire():
    state = json.loads(SafetyLatch().to_json())["state"]
    state["sequence"] = 2**32 - 1
    latch = SafetyLatch.from_json(json.dumps({"state": state, "digest": _digest(state)}, sort_keys=True))
    assert not latch.latched
    latch.trip(source="kernel", reason="x", now_s=1.0)
    assert latch.sequence == 0
    assert latch.latched


@pytest.mark.parametrize("now_s", NOT_A_TIME)
def test_a_reset_at_something_that_is_not_a_time_is_refused(now_s):
    latch = tripped(now_s=100.0)
    assert latch.reset(now_s=now_s).message.endswith("is not a time")
    assert latch.latched
    assert latch.reset(now_s=100.5).success


@pytest.mark.parametrize("now_s", NOT_A_TIME)
def test_a_stop_at_something_that_is_not_a_time_latches_and_cools_down_from_the_next_reset(now_s):
    latch = tripped(now_s=now_s)
    assert latch.latched
    assert not latch.reset(now_s=1e9).success
    assert not latch.reset(now_s=1e9 + 0.4).success
    assert latch.reset(now_s=1e9 + 0.5).success


def test_a_second_stop_at_no_time_forgets_how_far_the_cooldown_was():
    latch = tripped(now_s=100.0)
    latch.trip(source="external", reason="x", now_s=float("nan"))
    assert not latch.reset(now_s=200.0).success
    assert latch.reset(now_s=200.5).success


def test_a_clock_that_runs_backwards_does_not_shorten_the_cooldown():
    latch = tripped(now_s=100.0)
    assert not latch.reset(now_s=50.0).success
    assert not latch.reset(now_s=50.6).success
    assert not latch.reset(now_s=100.4).success
    assert latch.reset(now_s=100.5).success


def test_a_stop_stamped_before_the_latest_time_seen_cools_down_from_the_latest():
    latch = tripped(now_s=100.0)
    latch.trip(source="external", reason="x", now_s=40.0)
    assert not latch.reset(now_s=100.4).success
    assert latch.reset(now_s=100.5).success


def test_a_time_told_by_a_reset_with_nothing_to_do_counts_as_seen():
    latch = SafetyLatch()
    latch.reset(now_s=100.0)
    latch.trip(source="kernel", reason="x", now_s=99.0)
    assert not latch.reset(now_s=100.0).success
    assert latch.reset(now_s=100.5).success


def test_a_time_of_any_numeric_type_is_a_time():
    latch = tripped(now_s=np.float32(100.0))
    assert not latch.reset(now_s=np.float32(100.25)).success
    assert latch.reset(now_s=101).success


@pytest.mark.parametrize("cooldown_s", [0, -0.5, float("nan"), float("inf"), True, "0.5", None])
def test_a_cooldown_that_is_not_a_positive_number_is_refused(cooldown_s):
    with pytest.raises(ROSConfigError, match="cooldown_s"):
        SafetyLatch(cooldown_s=cooldown_s)


@pytest.mark.parametrize("names", ["arm", [""], [7], [None]])
def test_required_actuators_that_are_not_names_are_refused(names):
    with pytest.raises(ROSConfigError, match="required_actuators"):
        SafetyLatch(required_actuators=names)


def test_x25_a_stop_survives_the_way_through_a_file_and_cools_down_again():
    before = SafetyLatch(required_actuators=["arm", "leg"])
    before.assert_source(source="pendant", reason='12" pan', now_s=1e6)
    before.acknowledge(actuator="arm", sequence=before.sequence)
    latch = SafetyLatch.from_json(before.to_json(), required_actuators=["arm", "leg"])
    assert latch.latched
    assert (latch.source, latch.reason, latch.sequence) == ("pendant", '12" pan', 1)
    assert latch.asserted_sources == ("pendant",)
    assert latch.unacknowledged_actuators == ("leg",)
    latch.release_source(source="pendant")
    latch.acknowledge(actuator="leg", sequence=1)
    # The clock of a new boot starts again from zero.
    assert not latch.reset(now_s=3.0).success
    assert latch.reset(now_s=3.5).success


def test_a_clear_latch_survives_the_way_through_a_file_as_clear():
    before = tripped(now_s=1.0)
    before.reset(now_s=2.0)
    latch = SafetyLatch.from_json(before.to_json())
    assert not latch.latched
    assert latch.sequence == 2


def test_an_actuator_that_became_required_since_must_acknowledge():
    latch = SafetyLatch.from_json(tripped().to_json(), required_actuators=["leg"])
    assert latch.unacknowledged_actuators == ("leg",)


CLEAR = SafetyLatch().to_json()


def with_state(**changes):
    state = {**json.loads(CLEAR)["state"], **changes}
    return json.dumps({"state": state, "digest": _digest(state)}, sort_keys=True)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "null",
        "[]",
        "{}",
        "7",
        CLEAR[:-1],
        CLEAR + "}",
        CLEAR.replace("0", "2"),
        CLEAR.replace('"digest"', '"digset"'),
        json.dumps({"state": json.loads(CLEAR)["state"]}),
        json.dumps({**json.loads(CLEAR), "extra": 1}),
        json.dumps({**json.loads(CLEAR), "digest": None}),
        "\x00" * 64,
        "[" * 100_000,
        None,
        7,
        with_state(latched=0),
        with_state(latched="false"),
        with_state(latched=None),
        with_state(sequence=-1),
        with_state(sequence=2**32),
        with_state(sequence=1.5),
        with_state(schema_version=2),
        with_state(schema_version=True),
        with_state(unknown=1),
        with_state(asserted={"pendant": "pressed"}),
        with_state(asserted=["pendant"]),
        with_state(acknowledged="arm"),
    ],
)
def test_a_stored_state_that_is_damaged_gives_a_latched_latch(text):
    latch = SafetyLatch.from_json(text)
    assert latch.latched
    assert latch.reason.startswith("the stored latch state cannot be used: ")
    assert not latch.reset(now_s=10.0).success
    assert latch.reset(now_s=10.5).success


def test_the_same_state_undamaged_gives_a_clear_latch():
    assert not SafetyLatch.from_json(with_state()).latched


def test_one_changed_character_anywhere_in_a_clear_state_is_noticed():
    for position in range(len(CLEAR)):
        changed = CLEAR[:position] + ("1" if CLEAR[position] != "1" else "2") + CLEAR[position + 1 :]
        assert SafetyLatch.from_json(changed).latched, position


@pytest.mark.parametrize("name", ["", "\ud800", None, 7, "x" * 1000, "tab\t", "nul\x00"])
def test_a_stop_from_a_name_that_is_no_text_is_still_a_stop_that_survives_and_can_be_released(name):
    latch = SafetyLatch()
    latch.assert_source(source=name, reason=name, now_s=1.0)
    latch = SafetyLatch.from_json(latch.to_json())
    assert latch.latched
    assert "the stored latch state" not in latch.reason
    assert len(latch.asserted_sources) == 1
    assert latch.release_source(source=name)


def test_a_stop_cannot_be_written_away_from_outside():
    with pytest.raises(AttributeError):
        tripped().latched = False
