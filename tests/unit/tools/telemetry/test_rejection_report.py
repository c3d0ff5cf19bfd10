# SPDX-License-Identifier: Apache-2.0
"""A rejection is shown with its sentence, its evidence and a picture of the moment."""

import io

import numpy as np
import pytest
from fixtures.rejected_chunks import DOWN, EVIL_NAME, HOME, NOW_S, REJECTIONS, Case, case, gate_with, towards
from PIL import Image

import lastgate as lg
from lastgate.contracts import read_evidence
from lastgate.tools.telemetry.moment import moment_of, shown_path
from lastgate.tools.telemetry.rejection_report import rejection_report


def report_of(rejected: Case):
    return rejection_report(
        rejected.gate, rejected.check(), chunk=rejected.chunk, state=rejected.state, world=rejected.world
    )


@pytest.mark.parametrize("name", REJECTIONS)
def test_rejection_report_of_every_kind_carries_sentence_and_evidence(name: str):
    rejected = REJECTIONS[name]()
    violation = rejected.check().violations[0]
    report = report_of(rejected)
    assert name.startswith(("world_", "cartesian")) or violation.code == name
    assert report.sentence == str(violation)
    assert read_evidence(report.evidence) == violation.evidence()


def pixels_like(png: bytes, colour: tuple[int, int, int]) -> int:
    """Returns how many pixels have a hue near that of a colour, shaded or not."""
    image = np.asarray(Image.open(io.BytesIO(png)).convert("RGB"), dtype=np.float64)
    wanted = np.array(colour, dtype=np.float64)
    length = np.linalg.norm(image, axis=2)
    cosine = (image @ wanted) / np.maximum(length * np.linalg.norm(wanted), 1e-9)
    return int(((cosine > 0.985) & (length < 430.0)).sum())


RED, BLUE = (219, 77, 51), (41, 107, 199)


# Drawing takes most of a second: these four show every branch of the drawing.
@pytest.mark.parametrize(
    "name", ["joint_position_limit", "self_collision", "world_half_space", "nan_in_action"]
)
def test_picture_shows_the_two_in_their_colours(name: str):
    png = report_of(REJECTIONS[name]()).png()
    assert png.startswith(b"\x89PNG")
    assert Image.open(io.BytesIO(png)).size == (1100, 580)
    assert pixels_like(png, RED) > 300
    if name != "nan_in_action":
        assert pixels_like(png, BLUE) > 100


def test_same_refusal_gives_the_same_bytes():
    assert report_of(REJECTIONS["world_voxel"]()).png() == report_of(REJECTIONS["world_voxel"]()).png()


def test_name_that_no_font_has_is_kept_in_the_evidence():
    evidence = read_evidence(report_of(REJECTIONS["world_half_space"]()).evidence)
    assert evidence.link_b_or_object == EVIL_NAME


def test_accepted_chunk_has_no_rejection_report():
    accepted = case(towards(j1=0.1))
    verdict = accepted.check()
    assert verdict.accepted
    with pytest.raises(lg.ROSConfigError, match="was accepted"):
        rejection_report(
            accepted.gate, verdict, chunk=accepted.chunk, state=accepted.state, world=accepted.world
        )


def test_moment_is_where_the_witness_points_are():
    rejected = REJECTIONS["world_half_space"]()
    verdict = rejected.check()
    violation = verdict.violations[0]
    moment = moment_of(
        violation, shown_path(rejected.gate, verdict, chunk=rejected.chunk, state=rejected.state)
    )
    row = violation.step
    start = HOME if row == 0 else DOWN[row - 1]
    np.testing.assert_allclose(moment[:7], start + violation.segment_t * (DOWN[row] - start), atol=1e-12)
    # The floor is level at 0.1 m, so the lowest witness is straight below the other.
    np.testing.assert_allclose(violation.witness_a[:2], violation.witness_b[:2], atol=1e-9)


def test_rows_after_a_broken_one_are_not_shown():
    rows = DOWN.copy()
    rows[4, 2] = np.nan
    rejected = case(rows)
    verdict = rejected.check()
    path = shown_path(rejected.gate, verdict, chunk=rejected.chunk, state=rejected.state)
    assert len(path) == 5
    assert np.isfinite(path).all()


@pytest.mark.parametrize("positions", [np.full(7, np.nan), np.zeros(3)])
def test_unusable_state_is_shown_at_zero(positions: np.ndarray):
    gate = gate_with()
    chunk = lg.ActionChunk(np.zeros((1, 7)), mode=lg.ControlMode.JOINT_VELOCITY)
    state = lg.RobotState(positions=positions, stamp_s=NOW_S)
    verdict = gate.check(chunk, state=state, world=lg.NO_WORLD, now_s=NOW_S)
    assert verdict.violations[0].code == "state_unavailable"
    assert not shown_path(gate, verdict, chunk=chunk, state=state).any()


def test_attached_object_is_drawn_as_the_one_to_blame():
    rejected = REJECTIONS["world_half_space"]()
    rejected.gate.attach(
        "panda_hand",
        lg.SphereShape(radius_m=0.05),
        object_id="cup",
        origin_xyz_rpy=(0.0, 0.0, 0.2, 0.0, 0.0, 0.0),
    )
    assert rejected.check().violations[0].subject == "cup"
    roles = [role for role, _ in report_of(rejected)._scene.faces]
    assert roles.count("first") == 1
