# SPDX-License-Identifier: Apache-2.0
"""Every code gets names, a sentence and evidence from one place, whichever path its verdict came by."""

import math
import struct

import numpy as np
import pytest
from paper_robots import cart, planar_two_link

import lastgate as lg
from lastgate import _core
from lastgate.contracts import CATALOGUE, ViolationCode
from lastgate.gate.naming import VerdictNames

SUBJECTS = _core.SubjectKind
AGAINST = _core.AgainstKind
CHUNK = lg.ActionChunk(np.zeros((4, 2)))


def verdict_of(
    code, *, subject=SUBJECTS.nothing, index=0, against=AGAINST.nothing, other=0, element=0, **numbers
):
    """A rejection as the core would give it, number by number."""
    given = {"value": 1.5, "low": -1.0, "high": 1.0, "t": 0.5, "row": 2} | numbers
    return _core.Verdict.from_bytes(
        struct.pack(
            "<BBHIIIdddQIIHBBIIIII7d6d",
            *(0, 0, 6, 0, 0, 0, 0.0, 0.0, 0.0, 1, 0, 0),
            *(code.number, subject, against, index, other, given["row"], element, 0),
            *(given["value"], given["low"], given["high"], given["t"], given["t"], -0.01, 0.0),
            *(0.1, 0.2, 0.3, 0.4, 0.5, 0.6),
        )
    )


def gate_of(robot=planar_two_link):
    return lg.Gate(lg.RobotDescription(**robot()), step_s=0.1)


def named(verdict, *, robot=planar_two_link, chunk=CHUNK, world=lg.NO_WORLD):
    return gate_of(robot).name_violation(verdict, chunk=chunk, world=world)


@pytest.mark.parametrize("code", list(ViolationCode))
def test_every_code_has_a_whole_sentence_and_evidence_that_its_schema_takes(code):
    for subject in SUBJECTS:
        for element in range(8):
            violation = named(verdict_of(code, subject=subject, element=element))
            sentence = violation.sentence()
            assert sentence
            assert "{" not in sentence
            assert "}" not in sentence
            evidence = violation.evidence()
            assert evidence.kind
            assert (
                violation.kind == CATALOGUE[code].kind == _core.failure_kind(_core.ViolationCode(code.number))
            )


@pytest.mark.parametrize(
    "code", [code for code in ViolationCode if CATALOGUE[code].kind.name == "CONTROLLER"]
)
def test_evidence_of_a_controller_failure_is_the_sentence_that_people_read(code):
    violation = named(verdict_of(code))
    evidence = violation.evidence()
    assert evidence.state == CATALOGUE[code].state
    field = CATALOGUE[code].field
    assert evidence.detail == ("" if field is None else f"field={field}: ") + violation.sentence()


@pytest.mark.parametrize(
    ("robot", "mode", "column", "name"),
    [
        (planar_two_link, lg.ControlMode.JOINT_POSITION, 1, "{second joint}"),
        (planar_two_link, lg.ControlMode.CARTESIAN_DELTA, 3, "rx"),
        (planar_two_link, lg.ControlMode.CARTESIAN_POSE, 4, "x"),
        (cart, lg.ControlMode.BODY_TWIST, 5, "wz"),
        (planar_two_link, lg.ControlMode.GRIPPER_POSITION, 0, "gripper"),
        (planar_two_link, lg.ControlMode.JOINT_POSITION, 7, "column 7"),
    ],
)
def test_number_that_is_none_is_called_by_the_name_of_its_column(robot, mode, column, name):
    gate = gate_of(robot)
    chunk = lg.ActionChunk(np.full((3, 6), math.nan), mode=mode)
    verdict = verdict_of(
        ViolationCode.nan_in_action, subject=SUBJECTS.element, index=column, element=9, value=math.nan
    )
    violation = gate.name_violation(verdict, chunk=chunk, world=lg.NO_WORLD)
    wanted = gate.joint_names[1] if name == "{second joint}" else name
    assert violation.subject == wanted
    assert violation.sentence() == f"{wanted} (element 9) is nan at step 2"


def test_collision_names_both_sides_and_the_place_between_steps():
    links = gate_of().link_names
    verdict = verdict_of(
        ViolationCode.self_collision,
        subject=SUBJECTS.link,
        index=1,
        against=AGAINST.link,
        other=2,
        value=-0.0124,
        low=0.0,
        t=0.62,
    )
    violation = named(verdict)
    assert (violation.subject, violation.against, violation.collision_kind) == (links[1], links[2], "self")
    assert violation.sentence() == (
        f"{links[1]} / {links[2]} are -0.0124 m apart on the way to step 2, 62% of the segment, "
        "and must stay more than 0.0000 m apart"
    )
    evidence = violation.evidence()
    assert (evidence.link_a, evidence.link_b_or_object) == (links[1], links[2])
    assert (evidence.min_distance_m, evidence.segment_t, evidence.horizon_step) == (-0.0124, 0.62, 2)
    assert (evidence.witness_a, evidence.witness_b) == ((0.1, 0.2, 0.3), (0.4, 0.5, 0.6))


def test_text_that_cannot_be_sent_does_not_keep_a_rejection_from_being_named():
    verdict = verdict_of(ViolationCode.cartesian_frame)
    chunk = lg.ActionChunk(np.zeros((1, 6)), mode=lg.ControlMode.CARTESIAN_DELTA, ee_name="\ud800hand")
    assert "`?hand`" in named(verdict, chunk=chunk).sentence()


def test_indices_of_nothing_still_get_a_name():
    for code in (ViolationCode.world_collision, ViolationCode.joint_velocity_limit, ViolationCode.ee_speed):
        for subject in SUBJECTS:
            for against in AGAINST:
                verdict = verdict_of(
                    code, subject=subject, index=_core.NONE, against=against, other=_core.NONE, row=_core.NONE
                )
                violation = named(verdict, world=None)
                assert violation.step is None
                assert violation.evidence()


def test_huge_numbers_stay_short():
    verdict = verdict_of(ViolationCode.joint_velocity_limit, subject=SUBJECTS.dof, value=1e300)
    assert len(named(verdict).sentence()) < 120


def test_names_of_attached_objects_are_those_of_the_moment():
    numbers: dict[str, int] = {}
    names = VerdictNames(config=_core.read_config(gate_of().flat_config), attachments=numbers)
    verdict = verdict_of(
        ViolationCode.world_collision, subject=SUBJECTS.attached, index=3, against=AGAINST.point
    )
    assert names.violation(verdict, chunk=CHUNK, world=None).subject == "attached_3"
    numbers["cup"] = 3
    assert names.violation(verdict, chunk=CHUNK, world=None).subject == "cup"
