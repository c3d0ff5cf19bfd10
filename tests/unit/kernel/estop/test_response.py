# SPDX-License-Identifier: Apache-2.0
import pytest

from lastgate.contracts import ROSConfigError, ViolationCode
from lastgate.kernel.estop import respond_to

STALE = [
    ViolationCode.state_unavailable,
    ViolationCode.world_unavailable,
    ViolationCode.world_overflow,
    ViolationCode.voxel_unavailable,
    ViolationCode.voxel_overflow,
]
FAULTS = [ViolationCode.not_checked, ViolationCode.internal_fault]
RULES = [code for code in ViolationCode if code not in (*STALE, *FAULTS, ViolationCode.estop_latched)]


def effects(code, **settings):
    response = respond_to(code, **settings)
    return {name for name in ("report", "latch", "controlled_stop") if getattr(response, name)}


@pytest.mark.parametrize("code", [*RULES, *STALE, *FAULTS])
def test_by_default_everything_is_reported_and_latches(code):
    assert effects(code) == {"report", "latch"}


@pytest.mark.parametrize("code", RULES)
@pytest.mark.parametrize("on_stale", ["estop", "stop", "drop"])
def test_a_broken_rule_follows_on_violation_whatever_on_stale_says(code, on_stale):
    assert effects(code, on_violation="estop", on_stale=on_stale) == {"report", "latch"}
    assert effects(code, on_violation="hold", on_stale=on_stale) == {"report"}


@pytest.mark.parametrize("code", STALE)
@pytest.mark.parametrize("on_violation", ["estop", "hold"])
def test_missing_data_follows_on_stale_whatever_on_violation_says(code, on_violation):
    assert effects(code, on_violation=on_violation, on_stale="estop") == {"report", "latch"}
    assert effects(code, on_violation=on_violation, on_stale="stop") == {"report", "controlled_stop"}
    assert effects(code, on_violation=on_violation, on_stale="drop") == {"report"}


@pytest.mark.parametrize("code", FAULTS)
def test_a_fault_of_the_gate_latches_under_the_most_lenient_settings(code):
    assert effects(code, on_violation="hold", on_stale="drop") == {"report", "latch"}


@pytest.mark.parametrize("on_violation", ["estop", "hold"])
def test_a_chunk_dropped_by_the_latch_leads_to_nothing_more(on_violation):
    assert effects(ViolationCode.estop_latched, on_violation=on_violation) == set()


@pytest.mark.parametrize("word", ["", "ESTOP", "off", "none", "stop", None, True])
def test_an_unknown_on_violation_is_refused_with_the_words_there_are(word):
    with pytest.raises(ROSConfigError, match="`on_violation` must be one of estop, hold"):
        respond_to(ViolationCode.ee_speed, on_violation=word)


@pytest.mark.parametrize("word", ["", "hold", "ignore", None])
def test_an_unknown_on_stale_is_refused_with_the_words_there_are(word):
    with pytest.raises(ROSConfigError, match="`on_stale` must be one of estop, stop, drop"):
        respond_to(ViolationCode.ee_speed, on_stale=word)
