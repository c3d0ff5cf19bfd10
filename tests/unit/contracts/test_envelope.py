# SPDX-License-Identifier: Apache-2.0
import pytest
from pydantic import ValidationError

from lastgate.contracts import SafetyEnvelope, describe_validation_error
from lastgate.contracts.envelope_intersection import MARGINS, MAXIMA, RANGES

from .conftest import NOT_FINITE


def test_nothing_is_declared_unless_said():
    envelope = SafetyEnvelope()
    declared = {name: value for name, value in envelope if value is not None}
    assert declared == {
        "max_joint_speed_factor": 1.0,
        "no_go_zones": (),
        "keep_in_zones": (),
        "deadman_required": True,
        "self_collision_margin_m": 0.0,
        "world_collision_margin_m": 0.0,
        "cartesian_deviation_m": 0.0,
        "state_age_s_max": 0.2,
        "world_age_s_max": 0.5,
    }


def test_every_field_takes_part_in_the_intersection():
    ranges = [name for lower, upper, _ in RANGES for name in (lower, upper)]
    assert sorted([*MAXIMA, *MARGINS, *ranges, "no_go_zones", "keep_in_zones", "deadman_required"]) == sorted(
        SafetyEnvelope.model_fields
    )


@pytest.mark.parametrize("name", MAXIMA)
def test_a_positive_limit_is_accepted(name):
    assert getattr(SafetyEnvelope(**{name: 0.5}), name) == 0.5


@pytest.mark.parametrize("name", MAXIMA)
@pytest.mark.parametrize("value", [0, -1.0, *NOT_FINITE, True, "1", [1.0]])
def test_a_limit_that_is_not_a_positive_number_is_refused_by_name(name, value):
    with pytest.raises(ValidationError, match=f"`{name}` must be"):
        SafetyEnvelope(**{name: value})


@pytest.mark.parametrize("name", MARGINS)
@pytest.mark.parametrize("value", [-1e-12, *NOT_FINITE, None])
def test_a_margin_that_is_not_a_number_from_zero_is_refused_by_name(name, value):
    with pytest.raises(ValidationError, match=f"`{name}` must be"):
        SafetyEnvelope(**{name: value})


def test_a_speed_factor_of_one_is_accepted_and_the_next_number_is_refused():
    assert SafetyEnvelope(max_joint_speed_factor=1.0).max_joint_speed_factor == 1.0
    with pytest.raises(ValidationError, match="less than or equal to 1"):
        SafetyEnvelope(max_joint_speed_factor=1.0000000000000002)


def test_a_whole_box_is_accepted():
    box = SafetyEnvelope(workspace_box_min_xyz=[-1, -1, 0], workspace_box_max_xyz=[1, 1, 2])
    assert box.workspace_box_max_xyz == (1.0, 1.0, 2.0)


@pytest.mark.parametrize("given", ["workspace_box_min_xyz", "workspace_box_max_xyz"])
def test_half_a_box_is_refused_with_the_half_that_is_missing(given):
    missing = {"workspace_box_min_xyz", "workspace_box_max_xyz"} - {given}
    with pytest.raises(ValidationError, match=f"half a workspace box: `{missing.pop()}` is missing"):
        SafetyEnvelope(**{given: [0, 0, 0]})


def test_a_box_inverted_along_one_axis_and_flat_along_another_is_refused_for_both():
    with pytest.raises(ValidationError) as refusal:
        SafetyEnvelope(workspace_box_min_xyz=[0, 3, 0], workspace_box_max_xyz=[1, 2, 0])
    sentences = describe_validation_error(refusal.value)
    assert len(sentences) == 2
    assert "along y: workspace_box_min_xyz 3.0000 m, workspace_box_max_xyz 2.0000 m" in sentences[0]
    assert "along z" in sentences[1]


@pytest.mark.parametrize("vertex", [[0, 0], [0, 0, float("nan")], [0, 0, "1"], 1.0])
def test_a_box_vertex_without_three_finite_numbers_is_refused(vertex):
    with pytest.raises(ValidationError, match="workspace_box_min_xyz"):
        SafetyEnvelope(workspace_box_min_xyz=vertex, workspace_box_max_xyz=[1, 1, 1])


@pytest.mark.parametrize("given", ["gripper_min", "gripper_max"])
def test_half_a_gripper_range_is_refused(given):
    with pytest.raises(ValidationError, match="half a gripper range"):
        SafetyEnvelope(**{given: 0.0})


@pytest.mark.parametrize("upper", [0.0, -0.1])
def test_an_empty_or_inverted_gripper_range_is_refused(upper):
    with pytest.raises(ValidationError, match="gripper range is inverted or empty"):
        SafetyEnvelope(gripper_min=0.0, gripper_max=upper)


def test_a_gripper_range_is_accepted():
    assert SafetyEnvelope(gripper_min=-1, gripper_max=1).gripper_min == -1.0


def zone(name):
    return {"name": name, "shape": {"shape": "sphere", "radius_m": 0.1}, "pose": {"xyz": [0, 0, 0]}}


def test_two_zones_of_one_name_are_refused_and_of_two_names_accepted():
    assert len(SafetyEnvelope(no_go_zones=[zone("a"), zone("b")]).no_go_zones) == 2
    with pytest.raises(ValidationError, match="two no-go zones are called `a`"):
        SafetyEnvelope(no_go_zones=[zone("a"), zone("a")])
    assert len(SafetyEnvelope(keep_in_zones=[zone("a"), zone("b")]).keep_in_zones) == 2
    with pytest.raises(ValidationError, match="two keep-in zones are called `a`"):
        SafetyEnvelope(keep_in_zones=[zone("a"), zone("a")])


@pytest.mark.parametrize("value", ["false", 0, 1, None, "no"])
def test_a_deadman_setting_that_is_not_a_boolean_is_refused(value):
    with pytest.raises(ValidationError, match="deadman_required"):
        SafetyEnvelope(deadman_required=value)


def test_a_misspelt_limit_is_refused_with_the_right_spelling():
    with pytest.raises(ValidationError, match="did you mean `max_force_n`"):
        SafetyEnvelope(max_forces_n=10)


def test_every_problem_of_an_envelope_is_listed_although_a_field_is_refused():
    with pytest.raises(ValidationError) as refusal:
        SafetyEnvelope(max_ee_speed_m_s=-1.0, gripper_min=0.0, workspace_box_min_xyz=(0.0, 0.0, 0.0))
    text = str(refusal.value)
    assert "max_ee_speed_m_s" in text
    assert "half a gripper range: `gripper_max` is missing" in text
    assert "half a workspace box: `workspace_box_max_xyz` is missing" in text


@pytest.mark.parametrize(
    ("spelled", "ours"),
    [
        ("max_base_linear_speed", "max_base_linear_speed_m_s"),
        ("max_base_angular_speed", "max_base_angular_speed_rad_s"),
    ],
)
def test_bound_of_a_base_may_be_written_without_its_unit_but_not_twice(spelled, ours):
    envelope = SafetyEnvelope(**{spelled: 0.5})
    assert envelope == SafetyEnvelope(**{ours: 0.5})
    assert envelope.model_fields_set == {ours}  # a skill's bound takes part by either name
    assert getattr(envelope, spelled) == 0.5
    assert getattr(SafetyEnvelope(), spelled) is None
    for refused in (
        {spelled: 0.5, ours: 0.5},
        {spelled: -0.5},
        {spelled: float("nan")},
        {spelled + "s": 0.5},
    ):
        with pytest.raises(ValidationError, match="max_base_"):
            SafetyEnvelope(**refused)
