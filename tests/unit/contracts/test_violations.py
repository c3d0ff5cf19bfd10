# SPDX-License-Identifier: Apache-2.0
import pytest

from lastgate.contracts import FailureKind, ROSConfigError, ViolationCode, find_violation, violation_code_of
from lastgate.contracts.violations import CATALOGUE

NUMBERS = {
    "not_checked": 0,
    "internal_fault": 1,
    "envelope_unconfigured": 2,
    "estop_latched": 3,
    "control_mode": 4,
    "ndof_mismatch": 5,
    "dim_mismatch": 6,
    "nan_in_action": 7,
    "budget_exceeded": 8,
    "joint_position_limit": 10,
    "joint_velocity_limit": 11,
    "joint_torque_limit": 12,
    "gripper_range": 13,
    "cartesian_step": 14,
    "cartesian_rotation_step": 15,
    "ee_speed": 16,
    "ee_angular_speed": 17,
    "base_linear_speed": 18,
    "base_angular_speed": 19,
    "workspace_box": 20,
    "quaternion_norm": 21,
    "cartesian_frame": 22,
    "joint_acceleration_limit": 23,
    "ee_acceleration": 24,
    "cartesian_unreachable": 25,
    "stop_not_certified": 27,
    "seam_jump": 28,
    "state_unavailable": 30,
    "world_unavailable": 40,
    "world_overflow": 41,
    "voxel_unavailable": 42,
    "voxel_overflow": 43,
    "declared_contact": 44,
    "self_collision": 50,
    "world_collision": 51,
    "recovery_not_growing": 52,
    "recovery_speed": 53,
    "keep_in_zone": 54,
}
SECTIONS = ("what_it_checks", "why_it_matters", "known_limits", "example", "what_to_do")


def words_of(kind):
    return {code.value for code, entry in CATALOGUE.items() if entry.kind is kind}


def test_every_code_keeps_its_word_and_its_number():
    assert {code.value: code.number for code in ViolationCode} == NUMBERS
    assert all(code.name == code.value == str(code) == f"{code}" for code in ViolationCode)


def test_the_catalogue_has_one_entry_per_code_in_the_order_of_the_numbers():
    assert [code.number for code in CATALOGUE] == sorted(NUMBERS.values())
    assert all(entry.code is code for code, entry in CATALOGUE.items())


def test_kinds_are_those_of_the_validation_order():
    assert words_of(FailureKind.WORKSPACE) == {
        "joint_position_limit",
        "joint_velocity_limit",
        "joint_acceleration_limit",
        "workspace_box",
        "cartesian_step",
        "cartesian_rotation_step",
        "gripper_range",
        "quaternion_norm",
        "cartesian_unreachable",
        "recovery_speed",
    }
    assert words_of(FailureKind.FORCE) == {
        "joint_torque_limit",
        "ee_speed",
        "ee_angular_speed",
        "base_linear_speed",
        "base_angular_speed",
        "ee_acceleration",
    }
    assert words_of(FailureKind.COLLISION) == {
        "self_collision",
        "world_collision",
        "recovery_not_growing",
        "keep_in_zone",
    }
    assert len(words_of(FailureKind.CONTROLLER)) == len(NUMBERS) - 10 - 6 - 4


@pytest.mark.parametrize("code", ViolationCode)
def test_a_controller_entry_has_its_own_word_as_state_and_no_other_kind_has_a_state(code):
    entry = CATALOGUE[code]
    if entry.kind is FailureKind.CONTROLLER:
        assert entry.state == ("dim_mismatch" if code is ViolationCode.control_mode else code.value)
    else:
        assert entry.state is None


def test_only_the_two_dimension_mismatches_name_a_field():
    fields = {code.value: entry.field for code, entry in CATALOGUE.items() if entry.field is not None}
    assert fields == {"control_mode": "control_mode", "dim_mismatch": "flat"}


@pytest.mark.parametrize("code", ViolationCode)
def test_every_section_of_an_entry_is_written_and_printed(code):
    entry = CATALOGUE[code]
    rendered = entry.render()
    assert rendered.startswith(f"{code.value} ({code.number}), reported as {entry.kind.name}")
    for section in SECTIONS:
        text = getattr(entry, section)
        assert len(text) > 20
        assert text in rendered
        assert f"{section.replace('_', ' ').capitalize()}\n" in rendered


@pytest.mark.parametrize("section", SECTIONS[:1] + SECTIONS[3:])
def test_no_two_codes_share_a_text(section):
    texts = [getattr(entry, section) for entry in CATALOGUE.values()]
    assert len(set(texts)) == len(texts)


@pytest.mark.parametrize("section", SECTIONS)
def test_words_that_promise_too_much_stay_out_of_the_texts(section):
    for entry in CATALOGUE.values():
        words = getattr(entry, section).lower()
        # "certified" is the word for an interval that is proved clear; of a product it would promise too much.
        assert not any(
            promise in words for promise in ("guarantee", " safe ", "certified gate", "certified to")
        )


@pytest.mark.parametrize(
    "spelling", ["self_collision", "self-collision", "SELF_COLLISION", " self_collision ", "50"]
)
def test_a_code_is_found_however_it_is_spelled(spelling):
    assert find_violation(spelling).code is ViolationCode.self_collision


@pytest.mark.parametrize("spelling", ["", "9", "-1", "1e1", "self_colision", "²", "50.0"])
def test_a_code_that_does_not_exist_is_refused(spelling):
    with pytest.raises(ROSConfigError):
        find_violation(spelling)


def test_a_misspelt_code_is_refused_with_the_nearest_first():
    with pytest.raises(ROSConfigError, match="`self_colision`; nearest: self_collision"):
        find_violation("self_colision")


@pytest.mark.parametrize("number", NUMBERS.values())
def test_a_number_of_the_core_is_found(number):
    assert violation_code_of(number).number == number


@pytest.mark.parametrize("number", [9, 26, 255, -1])
def test_a_number_that_no_rule_has_is_refused(number):
    with pytest.raises(ROSConfigError, match=f"no violation has the number {number}"):
        violation_code_of(number)


def test_the_catalogue_cannot_be_changed():
    with pytest.raises(TypeError):
        CATALOGUE[ViolationCode.ee_speed] = None


def test_word_that_is_near_no_code_is_answered_with_the_nearest_not_with_the_first():
    with pytest.raises(ROSConfigError) as raised:
        find_violation("zone")
    nearest = str(raised.value).partition("nearest: ")[2].split(", ")
    assert any("zone" in code for code in nearest)
    with pytest.raises(ROSConfigError) as raised:
        find_violation("xyzzy")
    assert 1 <= len(str(raised.value).partition("nearest: ")[2].split(", ")) <= 3
