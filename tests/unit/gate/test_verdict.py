# SPDX-License-Identifier: Apache-2.0
"""A verdict says yes or no in one place only, gives the chunk back only on yes, and can be read aloud.

The explanation of every violation code is in `tests/conformance/test_evidence.py`.
"""

import copy
import dataclasses
import pickle
import re
from pathlib import Path

import numpy as np
import pytest
from fixtures.analytic_robots import check, gate_of, planar_two_link, sliders, sphere, stacked, world_of

import lastgate as lg
from lastgate import _core


@pytest.fixture(scope="module")
def accepted() -> lg.Verdict:
    return check(gate_of(stacked(3)), [[0.0, 0.1, 0.0], [0.1, 0.1, 0.0]])


@pytest.fixture(scope="module")
def rejected() -> lg.Verdict:
    return check(gate_of(stacked(3)), [[0.0, 9.0, 0.0]])


def test_verdict_has_no_truth_value(accepted, rejected):
    for verdict in (accepted, rejected):
        with pytest.raises(TypeError, match=r"a Verdict has no truth value; read verdict\.accepted"):
            bool(verdict)
        with pytest.raises(TypeError, match="no truth value"):
            assert not verdict


def test_accepted_verdict_gives_the_chunk_back_as_it_was_checked(accepted):
    assert accepted.accepted is True
    assert isinstance(accepted.chunk, lg.ActionChunk)
    np.testing.assert_array_equal(accepted.chunk.rows, [[0.0, 0.1, 0.0], [0.1, 0.1, 0.0]])
    assert not accepted.chunk.rows.flags.writeable


def test_rejected_verdict_raises_instead_of_giving_the_chunk_back(rejected):
    assert rejected.accepted is False
    with pytest.raises(
        lg.RejectedChunkError, match="rejected and must not be executed: joint_position_limit: j1"
    ):
        _ = rejected.chunk


def test_verdict_cannot_be_talked_into_accepting(rejected):
    with pytest.raises(AttributeError):
        rejected.accepted = True
    with pytest.raises(AttributeError):
        rejected.violations = ()
    with pytest.raises(AttributeError):
        rejected._native.accepted = True


def test_verdict_that_no_check_filled_in_rejects(accepted):
    empty = lg.Verdict(
        native=_core.Verdict(),
        chunk=accepted._chunk,
        violation=None,
        joint_rows=np.empty((0, 3)),
        world_id="",
        model_digest="",
    )
    assert not empty.accepted
    with pytest.raises(lg.RejectedChunkError):
        _ = empty.chunk


def test_repr_says_the_answer_and_the_reason(accepted, rejected):
    assert repr(accepted) == "<Verdict accepted>"
    assert repr(rejected) == (
        "<Verdict rejected: joint_position_limit: j1 at step 0 is 9.0000 rad, allowed -1.0000 to 1.0000 rad>"
    )


def test_accepted_verdict_has_no_violations_and_certifies_every_row(accepted):
    assert (tuple(accepted.violations), accepted.certified_rows, accepted.stage) == ((), 2, 12)
    assert accepted.min_clearance_m > 0.0
    assert not accepted.recovery


def test_rejected_verdict_has_one_violation_and_no_clearance(rejected):
    (violation,) = rejected.violations
    assert violation.code is lg.ViolationCode.joint_position_limit
    assert np.isnan(rejected.min_clearance_m)
    assert (rejected.certified_rows, rejected.stage) == (0, 6)


def test_violation_cannot_be_changed(rejected):
    with pytest.raises(dataclasses.FrozenInstanceError):
        rejected.violations[0].value = 0.0


def test_explanation_of_an_acceptance_is_one_paragraph_with_the_numbers(accepted):
    text = accepted.explain()
    # Neighbours stand 0.03 m apart with spheres of 5 mm: 0.02 m, of which a bound may give away a millimetre.
    keeps = "Accepted: from the measured state through all 2 steps every checked pair keeps at least "
    assert text.startswith(keeps)
    assert 0.019 <= float(text[len(keeps) :].split(" ")[0]) <= 0.02
    assert "\n" not in text
    assert "world no-world" in text
    assert "Not checked: world, joint_acceleration" in text


def test_explanation_of_a_contact_says_how_much_was_certified_clear():
    world = world_of(sphere((-1.0, 0.0, 0.0), 0.1, "shelf"), world_id="camera-3")
    text = check(gate_of(sliders(0.0)), [[-0.5], [-0.7], [-1.0]], world=world).explain()
    assert "post0 / shelf are " in text
    assert "The first 2 of 3 steps were certified clear." in text
    assert "World camera-3." in text


def test_explanation_without_a_world_says_so():
    text = check(gate_of(stacked(1)), [[0.0]], world=None).explain()
    assert "No world was given." in text
    assert "World ." not in text


def test_everything_that_was_not_checked_is_listed():
    bare = check(gate_of(stacked(3, safety={})), [[0.0] * 3])
    U = lg.Unchecked
    assert bare.unchecked == (
        U.WORLD
        | U.JOINT_ACCELERATION
        | U.WORKSPACE_BOX
        | U.EE_SPEED
        | U.EE_ANGULAR_SPEED
        | U.EE_ACCELERATION
        | U.STOP
    )
    stopping = stacked(3, acceleration_limit=10.0, deceleration_limit=10.0)
    full = gate_of(stopping | {"stop": {"kind": "path", "reaction_s": 0.01}})
    state = lg.RobotState(positions=[0.0] * 3, velocities=[0.0] * 3, stamp_s=100.0)
    assert check(full, [[0.0] * 3], state=state, world=world_of()).unchecked == U(0)


@pytest.mark.parametrize("mode", [lg.ControlMode.JOINT_TORQUE, lg.ControlMode.BODY_TWIST])
def test_tool_speeds_of_modes_without_a_timed_tool_path_are_listed_as_unchecked(mode):
    gate = gate_of(stacked(3), step_s=0.01)
    verdict = check(gate, np.zeros((1, mode.row_width(3))), mode)
    assert verdict.accepted
    U = lg.Unchecked
    assert U.EE_SPEED | U.EE_ANGULAR_SPEED | U.EE_ACCELERATION in verdict.unchecked


def test_joint_rows_are_what_was_checked():
    gate = gate_of(planar_two_link(), step_s=0.1)
    rows = np.array([[0.1, 0.2], [0.2, 0.3]])
    np.testing.assert_array_equal(check(gate, rows).joint_rows, rows)
    velocities = check(gate, [[1.0, 2.0], [1.0, 1.0]], lg.ControlMode.JOINT_VELOCITY).joint_rows
    np.testing.assert_allclose(velocities, rows)


@pytest.fixture(scope="module")
def collided() -> lg.Verdict:
    """Rejected after its path was known."""
    wall = world_of(sphere([1.5, 0.0, 0.0], 0.3))
    state = lg.RobotState(positions=[1.5, 0.0], stamp_s=100.0)
    verdict = check(gate_of(planar_two_link(), step_s=1.0), [[0.0, 0.0]], state=state, world=wall)
    assert verdict.violations[0].code == lg.ViolationCode.world_collision
    return verdict


@pytest.mark.parametrize("name", ["chunk", "joint_rows", "path"])
def test_steps_of_a_rejected_chunk_are_absent(rejected, collided, name):
    for verdict in (rejected, collided):
        with pytest.raises(lg.RejectedChunkError, match="rejected and must not be executed"):
            getattr(verdict, name)


def test_twin_steps_of_an_accepted_chunk_are_there(accepted):
    np.testing.assert_array_equal(accepted.joint_rows, accepted.chunk.rows)
    assert accepted.path is not None
    np.testing.assert_array_equal(accepted.path[1:, :3], accepted.chunk.rows)


@pytest.mark.parametrize("steps_of", [lambda v: v.joint_rows, lambda v: v.path, lambda v: v.chunk.rows])
def test_steps_of_an_accepted_chunk_cannot_be_changed(accepted, steps_of):
    steps = steps_of(accepted)
    before = steps.copy()
    with pytest.raises(ValueError, match="read-only"):
        steps[0, 0] = 9.0
    with pytest.raises(ValueError, match="WRITEABLE"):
        steps.flags.writeable = True
    with pytest.raises(ValueError, match="read-only"):
        steps.reshape(-1).view(np.uint8)[0] = 1
    base = steps
    while isinstance(base, np.ndarray):
        base = base.base
    assert isinstance(base, bytes)
    np.testing.assert_array_equal(steps_of(accepted), before)


@pytest.mark.parametrize("name", [*lg.Verdict.__slots__, "accepted", "chunk", "joint_rows", "path"])
def test_attributes_of_a_verdict_can_be_neither_set_nor_deleted(accepted, rejected, name):
    for verdict in (accepted, rejected):
        with pytest.raises(AttributeError, match="cannot be changed"):
            setattr(verdict, name, accepted)
        with pytest.raises(AttributeError, match="cannot be changed"):
            delattr(verdict, name)


def test_a_verdict_is_made_once_and_never_copied(accepted, rejected):
    with pytest.raises(AttributeError, match="made once"):
        rejected.__init__(
            native=accepted.native,
            chunk=rejected._chunk,
            violation=None,
            joint_rows=np.empty((0, 3)),
            world_id="",
            model_digest="",
        )
    for duplicate in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError, match="neither be copied nor pickled"):
            duplicate(accepted)


def test_accepted_verdict_is_claimed_once_and_never_after_a_later_one():
    gate = gate_of(stacked(3))
    first, second, third = (check(gate, [[0.0] * 3]) for _ in range(3))
    assert gate.claim(second) is not None
    assert [gate.claim(verdict) for verdict in (first, second)] == [None, None]
    gate.void_claims()
    assert gate.claim(third) is None
    assert gate.claim(check(gate, [[0.0] * 3])) is not None


def test_verdict_that_the_gate_did_not_make_cannot_be_claimed(accepted, rejected):
    gate = gate_of(stacked(3))
    made = check(gate, [[0.0] * 3])
    forged = lg.Verdict(
        native=made.native,
        chunk=lg.ActionChunk([[9.0] * 3]),
        violation=None,
        joint_rows=np.full((1, 3), 9.0),
        world_id=made.world_id,
        model_digest=made.model_digest,
    )
    for thing in (forged, accepted, rejected, None, "accepted", made.native):
        assert gate.claim(thing) is None
    assert gate.claim(made) is not None


def test_only_pictures_read_the_steps_of_a_rejected_chunk():
    source = Path(lg.__file__).parent
    readers = {
        path.relative_to(source).as_posix()
        for path in source.rglob("*.py")
        if re.search(r"(path|joint_rows)_to_draw|[^f]\._path\b.*verdict|verdict\._", path.read_text())
    }
    assert readers == {"gate/verdict.py", "tools/dashboard/store.py", "tools/telemetry/moment.py"}


def test_verdict_carries_the_digest_of_its_model(accepted, rejected):
    assert accepted.model_digest == rejected.model_digest
    assert len(accepted.model_digest) == 64
    other = check(gate_of(stacked(3, velocity_limit=3.0)), [[0.0] * 3])
    assert other.model_digest != accepted.model_digest


@pytest.mark.parametrize(("value", "expected"), [(-5.0, -1.0), (5.0, 1.0)])
def test_limit_is_the_bound_that_was_crossed(value, expected):
    (violation,) = check(gate_of(stacked(1)), [[value]]).violations
    assert violation.limit == expected


def test_sentence_one_ulp_beyond_a_limit_shows_that_it_is_beyond():
    beyond = float(np.nextafter(1.0, 2.0))
    (violation,) = check(gate_of(stacked(1)), [[beyond]]).violations
    assert "is 1.0000000000000002 rad" in violation.sentence()
    assert "to 1.0000000000000000 rad" in violation.sentence()
