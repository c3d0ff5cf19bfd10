# SPDX-License-Identifier: Apache-2.0
import json

import pytest
from pydantic import ValidationError

from lastgate.contracts import (
    CollisionEvidence,
    ControllerEvidence,
    ForceEvidence,
    HumanEvidence,
    JointLimitEvidence,
    PerceptionStaleEvidence,
    TimeoutEvidence,
    WorkspaceEvidence,
    read_evidence,
)

EVERY_KIND = [
    TimeoutEvidence(operation="safe_action", deadline_s=0.2, elapsed_s=0.25),
    ForceEvidence(joint_or_ee="gripper", measured_n=12.0, limit_n=10.0),
    WorkspaceEvidence(ee_name="gripper", measured_xyz=(2, 0, 0), box_min=(-1, -1, 0), box_max=(1, 1, 2)),
    JointLimitEvidence(
        joint="elbow",
        quantity="position",
        measured=2.61,
        limit_min=-2.5,
        limit_max=2.5,
        unit="rad",
        horizon_step=3,
    ),
    PerceptionStaleEvidence(sensor_id="wrist", staleness_ms=900, threshold_ms=500),
    ControllerEvidence(controller_name="kernel", state="nan_in_action", detail="index 4"),
    HumanEvidence(actor="operator", reason="saw a hand"),
    CollisionEvidence(
        collision_kind="world",
        link_a="hand",
        link_b_or_object="shelf",
        horizon_step=0,
        min_distance_m=-0.003,
        segment_t=0.4,
        witness_a=(0, 0, 1),
        witness_b=(0, 0, 1.003),
        world_id="42",
        world_age_s=0.02,
        margin_m=0.02,
    ),
]


@pytest.mark.parametrize("evidence", EVERY_KIND, ids=lambda evidence: evidence.kind)
def test_e12_evidence_survives_the_way_through_json(evidence):
    assert read_evidence(evidence.model_dump_json()) == evidence


@pytest.mark.parametrize("evidence", EVERY_KIND, ids=lambda evidence: evidence.kind)
def test_e12_evidence_with_an_unknown_key_is_refused(evidence):
    document = {**evidence.model_dump(mode="json"), "channel": "x"}
    with pytest.raises(ValidationError, match="unknown key `channel`"):
        read_evidence(json.dumps(document))


@pytest.mark.parametrize("evidence", EVERY_KIND, ids=lambda evidence: evidence.kind)
def test_evidence_with_any_required_number_or_name_missing_is_refused(evidence):
    document = evidence.model_dump(mode="json")
    for name, field in type(evidence).model_fields.items():
        if field.is_required():
            partial = {key: value for key, value in document.items() if key != name}
            with pytest.raises(ValidationError, match=f"`{name}` is missing"):
                read_evidence(json.dumps(partial))


@pytest.mark.parametrize("document", ['{"kind": "telepathy"}', "{}", "[]", "", '{"kind": 7}'])
def test_e12_an_unknown_kind_is_refused(document):
    with pytest.raises(ValidationError):
        read_evidence(document)


def test_kinds_are_the_words_of_the_wire():
    assert [evidence.kind for evidence in EVERY_KIND] == [
        "timeout",
        "force",
        "workspace",
        "joint_limit",
        "perception",
        "controller",
        "human",
        "collision",
    ]


@pytest.mark.parametrize("label", ['12" pan', "back\\slash", "{brace}", "Tür", "😀"])
def test_x22_a_label_is_escaped_and_comes_back_as_it_was(label):
    evidence = CollisionEvidence(
        collision_kind="self", link_a=label, link_b_or_object="hand", horizon_step=0, min_distance_m=0
    )
    assert read_evidence(evidence.model_dump_json()).link_a == label


@pytest.mark.parametrize("poison", ["NaN", "Infinity", "-Infinity", "1e309", "null", '"0"', "true"])
def test_a_distance_that_is_not_a_finite_number_is_refused(poison):
    document = EVERY_KIND[-1].model_dump_json().replace("-0.003", poison)
    with pytest.raises(ValidationError, match=r"min_distance_m|JSON"):
        read_evidence(document)


@pytest.mark.parametrize(("key", "value"), [("horizon_step", -1), ("segment_t", 1.1), ("segment_t", -0.1)])
def test_x22_a_step_before_the_first_or_a_place_off_the_segment_is_refused(key, value):
    document = {**EVERY_KIND[-1].model_dump(mode="json"), key: value}
    with pytest.raises(ValidationError, match=key):
        read_evidence(json.dumps(document))


def test_a_peer_that_sends_only_the_shared_fields_is_understood():
    evidence = read_evidence(
        '{"kind":"collision","collision_kind":"self","link_a":"a","link_b_or_object":"b",'
        '"horizon_step":0,"min_distance_m":-0.01}'
    )
    assert evidence.world_id is None
