# SPDX-License-Identifier: Apache-2.0
"""`lastgate check`: 0 accepted, 1 rejected, 2 could not decide; and what every kind of file is taken for."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

import lastgate as lg

SMALL_TURN = np.linspace([0.02, 0.0], [0.16, 0.0], 8)
INTO_POLE = np.linspace([0.04, 0.0], [0.64, 0.0], 16)


def _write(path: Path, rows: Any) -> Path:
    match path.suffix:
        case ".npy":
            np.save(path, rows)
        case ".npz":
            np.savez(path, rows=rows)
        case ".csv":
            np.savetxt(path, rows, delimiter=",")
        case ".json":
            path.write_text(json.dumps(np.asarray(rows).tolist()))
    return path


@pytest.mark.parametrize("suffix", [".npy", ".npz", ".csv", ".json"])
def test_harmless_chunk_of_every_file_kind_is_accepted(suffix, lastgate, tmp_path, planar_arm, pole):
    chunk = _write(tmp_path / f"chunk{suffix}", SMALL_TURN)
    done = lastgate("check", chunk, "--robot", planar_arm, "--world", pole)
    assert (done.code, done.out.splitlines()[0]) == (0, "accepted: 8 steps, 0.02 s apart")


@pytest.mark.parametrize("suffix", [".npy", ".npz", ".csv", ".json"])
def test_chunk_into_an_obstacle_of_every_file_kind_is_rejected(suffix, lastgate, tmp_path, planar_arm, pole):
    chunk = _write(tmp_path / f"chunk{suffix}", INTO_POLE)
    done = lastgate("check", chunk, "--robot", planar_arm, "--world", pole)
    assert done.code == 1
    assert done.out.startswith("rejected: world_collision at step ")
    assert "forearm / pole" in done.out
    assert done.err.endswith("\nhint: `lastgate explain world_collision`\n")


@pytest.mark.parametrize("poison", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("suffix", [".npy", ".csv", ".json"])
def test_number_that_is_not_finite_is_rejected_not_refused(poison, suffix, lastgate, tmp_path, planar_arm):
    rows = SMALL_TURN.copy()
    rows[3, 1] = poison
    done = lastgate("check", _write(tmp_path / f"chunk{suffix}", rows), "--robot", planar_arm, "--no-world")
    assert done.code == 1
    assert done.out.startswith("rejected: nan_in_action at step 3 of 8\n  elbow ")


@pytest.mark.parametrize("kind", [np.float32, np.float16, np.int8])
def test_numbers_that_float64_holds_exactly_are_converted(kind, lastgate, tmp_path, planar_arm):
    chunk = _write(tmp_path / "chunk.npy", np.zeros((4, 2), dtype=kind))
    assert lastgate("check", chunk, "--robot", planar_arm, "--no-world").code == 0


@pytest.mark.parametrize(
    "rows", [np.zeros((2, 2), dtype=complex), np.array([["a", "b"]]), np.zeros(2), np.zeros((1, 2, 2))]
)
def test_array_that_is_no_chunk_cannot_be_decided(rows, lastgate, tmp_path, planar_arm):
    chunk = _write(tmp_path / "chunk.npy", rows)
    done = lastgate("check", chunk, "--robot", planar_arm, "--no-world")
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith(f"error: {chunk}: ")


def test_pickle_inside_an_npy_file_is_never_run(lastgate, tmp_path, planar_arm):
    chunk = tmp_path / "chunk.npy"
    np.save(chunk, np.array([{"a": 1}], dtype=object), allow_pickle=True)
    done = lastgate("check", chunk, "--robot", planar_arm, "--no-world")
    assert done.code == 2
    assert "not a NumPy file of numbers" in done.err


@pytest.mark.parametrize("width", [1, 3])
def test_wrong_width_is_rejected(width, lastgate, tmp_path, planar_arm):
    chunk = _write(tmp_path / "chunk.npy", np.zeros((4, width)))
    done = lastgate("check", chunk, "--robot", planar_arm, "--no-world")
    assert (done.code, done.out.splitlines()[0]) == (1, "rejected: ndof_mismatch")


def test_chunk_without_rows_is_rejected(lastgate, tmp_path, planar_arm):
    chunk = _write(tmp_path / "chunk.npy", np.zeros((0, 2)))
    assert lastgate("check", chunk, "--robot", planar_arm, "--no-world").code == 1


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[[0.0, 0.0], [0.0]]", "step 1 has 1 numbers, step 0 has 2"),
        ('{"rows": [[0.0, 0.0]], "speed": 3}', "unknown key `speed`; known: rows, mode, ee_name, frame_id"),
        ('{"mode": "JOINT_POSITION"}', "`rows` is missing"),
        ('{"rows": [[0.0, null]]}', "something that is not a number"),
        ('{"rows": [[0.0, 0.0]], "mode": "JOINT_POSITON"}', "closest: `JOINT_POSITION`"),
        ("[[0.0, 0.0],\n [0.0 0.0]]", ":2: not JSON: "),
        ("3", "a chunk is a mapping or a list of numbers, this is a int"),
        ("[]", "a chunk is steps x joints"),
        ('{"rows": [[0.0, 0.0]], "rows": []}', "`rows` stands there twice"),
    ],
)
def test_json_that_is_no_chunk_says_what_is_wrong(text, said, lastgate, tmp_path, planar_arm):
    chunk = tmp_path / "chunk.json"
    chunk.write_text(text)
    done = lastgate("check", chunk, "--robot", planar_arm, "--no-world")
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith(f"error: {chunk}")
    assert said in done.err


def _message(rows: Any, /, **fields: Any) -> str:
    rows = np.asarray(rows)
    message = {
        "control_mode": 0,
        "horizon": rows.shape[0],
        "flat": rows.ravel().tolist(),
        "n_dof": rows.shape[1],
        "ee_name": "",
        "frame_id": "",
        "confidence": 1.0,
        "trace_id": "",
    }
    return json.dumps(message | fields)


def test_chunk_as_it_is_on_the_wire_gets_the_verdict_of_its_rows(lastgate, tmp_path, planar_arm, pole):
    for rows in (SMALL_TURN, INTO_POLE):
        (tmp_path / "wire.json").write_text(_message(rows))
        by_rows = lastgate(
            "check", _write(tmp_path / "rows.json", rows), "--robot", planar_arm, "--world", pole
        )
        by_wire = lastgate("check", tmp_path / "wire.json", "--robot", planar_arm, "--world", pole)
        assert (by_wire.code, by_wire.out) == (by_rows.code, by_rows.out)
    # The row stride is the chunk's own width.
    (tmp_path / "wire.json").write_text(_message(np.zeros((2, 3))))
    done = lastgate("check", tmp_path / "wire.json", "--robot", planar_arm, "--world", pole)
    assert done.out.splitlines()[0] == "rejected: ndof_mismatch"


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"horizon": 7}, "`flat` needs `horizon` x `n_dof` = 14 numbers, got 16 numbers"),
        ({"flat": 0.5}, "numbers, got 0.5"),
        ({"horizon": 0}, "`horizon` must be a whole number above 0, got 0"),
        ({"n_dof": 2.0}, "`n_dof` must be a whole number above 0, got 2.0"),
        ({"n_dof": True}, "`n_dof` must be a whole number above 0, got True"),
        ({"control_mode": None}, "`control_mode` is missing"),
        ({"control_mode": 42}, "is `42`; closest: "),
        ({"step_s": 0.02}, "unknown key `step_s`"),
        ({"rows": []}, "unknown key `rows`"),
    ],
)
def test_message_that_contradicts_itself_is_no_chunk(fields, said, lastgate, tmp_path, planar_arm):
    (tmp_path / "wire.json").write_text(_message(SMALL_TURN, **fields))
    done = lastgate("check", tmp_path / "wire.json", "--robot", planar_arm, "--no-world")
    assert (done.code, done.out) == (2, "")
    assert said in done.err


def test_period_that_is_given_as_a_rate_is_answered_with_the_rate(lastgate, tmp_path, planar_arm):
    chunk = _write(tmp_path / "chunk.npy", np.zeros((2, 2)))
    done = lastgate("check", chunk, "--robot", planar_arm, "--no-world", "--rate-hz", "0.02")
    assert (done.code, done.out) == (2, "")
    assert "`--rate-hz 0.02` is a step every 50 s" in done.err
    assert "steps that are 0.02 s apart are `--rate-hz 50`" in done.err
    assert lastgate("check", chunk, "--robot", planar_arm, "--no-world", "--rate-hz", "0.1").code == 0


def test_obstacle_in_millimetres_is_noted_and_one_in_metres_is_not(lastgate, tmp_path, planar_arm):
    chunk = _write(tmp_path / "chunk.npy", np.zeros((2, 2)))
    for x, noted in ((5.0, False), (5000.0, True)):
        thing = {
            "shape": {"shape": "sphere", "radius_m": 0.1},
            "pose": {"xyz": [x, 0, 0]},
            "object_id": "mug",
        }
        (tmp_path / "world.json").write_text(json.dumps({"collision_primitives": [thing]}))
        done = lastgate("check", chunk, "--robot", planar_arm, "--world", tmp_path / "world.json")
        assert done.code == 0, done.err
        assert ("farther than 100 m from the base: `mug`; positions are metres" in done.err) == noted


def test_csv_with_its_columns_in_another_order_is_refused_not_reordered(lastgate, tmp_path, planar_arm):
    chunk = tmp_path / "chunk.csv"
    chunk.write_text("elbow,shoulder\n0.0,0.1\n")
    done = lastgate("check", chunk, "--robot", planar_arm, "--no-world")
    assert done.code == 2
    assert "the columns are elbow, shoulder; rows are read as shoulder, elbow; bring" in done.err


@pytest.mark.parametrize(
    ("header", "said"),
    [
        ("time,shoulder,elbow", "; unknown: time"),
        ("shoulder;elbow", "; columns are separated by commas"),
        ("shoulder,elbwo", "; unknown: elbwo; missing: elbow"),
    ],
)
def test_csv_header_that_is_not_the_robots_is_refused_with_what_to_change(
    header, said, lastgate, tmp_path, planar_arm
):
    chunk = tmp_path / "chunk.csv"
    chunk.write_text(f"{header}\n0.0,0.1\n")
    done = lastgate("check", chunk, "--robot", planar_arm, "--no-world")
    assert done.code == 2
    assert done.err.strip().endswith(said)


def test_missing_state_is_noted_and_the_way_to_row_0_is_not_checked(lastgate, tmp_path, planar_arm, pole):
    beyond = _write(tmp_path / "chunk.npy", np.full((2, 2), [1.2, 0.0]))
    done = lastgate("check", beyond, "--robot", planar_arm, "--world", pole)
    assert done.code == 0
    assert (
        "step 0 is taken as the measured state, so the way from the robot to step 0 was NOT checked"
        in done.err
    )


def test_given_state_makes_the_way_to_row_0_part_of_the_verdict(lastgate, tmp_path, planar_arm, pole):
    beyond = _write(tmp_path / "chunk.npy", np.full((2, 2), [1.2, 0.0]))
    state = tmp_path / "state.json"
    state.write_text('{"positions": [0.0, 0.0]}')
    done = lastgate(
        "check", beyond, "--robot", planar_arm, "--world", pole, "--state", state, "--step-s", "1.0"
    )
    assert done.code == 1
    assert done.out.startswith("rejected: world_collision at step 0 of 2")


def test_missing_world_is_noted_unless_it_was_said_aloud(lastgate, tmp_path, planar_arm):
    chunk = _write(tmp_path / "chunk.npy", SMALL_TURN)
    silent = lastgate("check", chunk, "--robot", planar_arm)
    said = lastgate("check", chunk, "--robot", planar_arm, "--no-world")
    assert "obstacles were NOT checked" in silent.err
    assert "obstacles" not in said.err
    assert "not checked: world" in silent.out
    assert "not checked: world" in said.out


def test_world_older_than_the_state_by_more_than_allowed_is_rejected(lastgate, tmp_path, planar_arm, pole):
    chunk = _write(tmp_path / "chunk.npy", SMALL_TURN)
    state, world = tmp_path / "state.yaml", tmp_path / "world.yaml"
    state.write_text("positions: [0.02, 0.0]\nstamp_s: 100.0\n")
    world.write_text("collision_primitives: []\nstamp_s: 99.0\n")
    stale = lastgate("check", chunk, "--robot", planar_arm, "--state", state, "--world", world)
    assert stale.code == 1
    assert "world_unavailable" in stale.out
    world.write_text("collision_primitives: []\nstamp_s: 99.9\n")
    assert lastgate("check", chunk, "--robot", planar_arm, "--state", state, "--world", world).code == 0


def test_time_given_by_hand_makes_an_old_state_stale(lastgate, tmp_path, planar_arm):
    chunk = _write(tmp_path / "chunk.npy", SMALL_TURN)
    state = tmp_path / "state.json"
    state.write_text('{"positions": [0.02, 0.0], "stamp_s": 5.0}')
    arguments = ("check", chunk, "--robot", planar_arm, "--no-world", "--state", state)
    assert lastgate(*arguments, "--now-s", "5.1").code == 0
    assert "state_unavailable" in lastgate(*arguments, "--now-s", "6.0").out


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            '{"collision_primitives": [{"shape": {"shape": "sphere", "radius_m": -1}, '
            '"pose": {"xyz": [0, 0, 0]}}]}',
            "radius_m",
        ),
        ('{"obstacles": []}', "unknown key `obstacles`"),
        ("[]", "a world is a mapping"),
        (
            '{"collision_primitives": [{"shape": {"shape": "sphere", "radius_m": 1}, "pose": {"xyz": [0, 0, 0]}}], '
            '"collision_primitives": []}',
            "`collision_primitives` stands there twice",
        ),
        (
            '{"collision_primitives": [{"shape": {"shape": "sphere", "radius_m": 1}, '
            '"pose": {"xyz": [0, 0, 0], "frame_id": "map"}}]}',
            "is in frame `map`, and must be in `base_link`",
        ),
        (
            '{"occupancy_grid": {"frame_id": "map", "resolution_m": 1, "width": 1, "height": 1, '
            '"origin": {"xyz": [0, 0, 0]}, "data_topic": "/map"}}',
            "points at the topic `/map`",
        ),
    ],
)
def test_world_that_cannot_be_used_is_refused(text, said, lastgate, tmp_path, planar_arm):
    chunk = _write(tmp_path / "chunk.npy", SMALL_TURN)
    world = tmp_path / "world.json"
    world.write_text(text)
    done = lastgate("check", chunk, "--robot", planar_arm, "--world", world)
    assert (done.code, done.out) == (2, "")
    assert said in done.err


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"positions": [[0.0, 0.0]]}', "`positions` must be a list of numbers"),
        ('{"velocities": [0.0, 0.0]}', "`positions` is missing"),
        ('{"positions": [0.0, 0.0], "stamp_s": "now"}', "`stamp_s` must be a number of seconds"),
        ('{"positions": [0.0, 0.0], "joints": []}', "unknown key `joints`"),
    ],
)
def test_state_that_cannot_be_used_is_refused(text, said, lastgate, tmp_path, planar_arm):
    chunk = _write(tmp_path / "chunk.npy", SMALL_TURN)
    state = tmp_path / "state.json"
    state.write_text(text)
    done = lastgate("check", chunk, "--robot", planar_arm, "--no-world", "--state", state)
    assert (done.code, done.out) == (2, "")
    assert said in done.err


def test_json_verdict_of_an_accepted_chunk_holds_the_numbers(lastgate, tmp_path, planar_arm, pole):
    chunk = _write(tmp_path / "chunk.npy", SMALL_TURN)
    done = lastgate("check", chunk, "--robot", planar_arm, "--world", pole, "--json")
    verdict = json.loads(done.out)
    assert done.code == 0
    assert verdict["accepted"] is True
    assert verdict["violations"] == []
    assert verdict["min_clearance_m"] > 0.0
    assert verdict["certified_rows"] == 8
    assert len(verdict["notes"]) == 1


def test_json_verdict_of_a_rejected_chunk_names_the_pair(lastgate, tmp_path, planar_arm, pole):
    chunk = _write(tmp_path / "chunk.npy", INTO_POLE)
    done = lastgate("check", chunk, "--robot", planar_arm, "--world", pole, "--json")
    verdict = json.loads(done.out)
    (violation,) = verdict["violations"]
    assert done.code == 1
    assert verdict["accepted"] is False
    assert verdict["min_clearance_m"] is None
    assert (violation["code"], violation["subject"], violation["against"]) == (
        "world_collision",
        "forearm",
        "pole",
    )


def test_json_of_an_infinite_value_is_still_json(lastgate, tmp_path, planar_arm):
    rows = SMALL_TURN.copy()
    rows[0, 0] = np.nan
    done = lastgate(
        "check", _write(tmp_path / "chunk.npy", rows), "--robot", planar_arm, "--no-world", "--json"
    )
    (violation,) = json.loads(done.out, parse_constant=pytest.fail)["violations"]
    assert violation["value"] is None


def test_json_of_what_could_not_be_decided_does_not_say_accepted(lastgate, tmp_path, planar_arm):
    done = lastgate("check", tmp_path / "gone.npy", "--robot", planar_arm, "--json")
    verdict = json.loads(done.out)
    assert (done.code, verdict["accepted"], verdict["decided"]) == (2, False, False)
    assert "no such file" in verdict["error"]


def test_skill_tightens_the_verdict_and_a_loosening_one_is_refused(lastgate, tmp_path, planar_arm):
    chunk = _write(tmp_path / "chunk.npy", SMALL_TURN)
    skill = tmp_path / "skill.yaml"
    arguments = ("check", chunk, "--robot", planar_arm, "--no-world", "--skill", skill)
    skill.write_text("name: slow\nversion: 1.0.0\nenvelope: {max_joint_speed_factor: 0.1}\n")
    assert "joint_velocity_limit" in lastgate(*arguments).out
    skill.write_text("name: slow\nversion: 1.0.0\nenvelope: {state_age_s_max: 99.0}\n")
    loose = lastgate(*arguments)
    assert loose.code == 2
    assert "state_age_s_max" in loose.err


@pytest.mark.parametrize(
    "option",
    [("--rate-hz", "0"), ("--rate-hz", "nan"), ("--rate-hz", "50", "--step-s", "0.02"), ("--step-s", "inf")],
)
def test_step_that_means_nothing_is_refused(option, lastgate, tmp_path, planar_arm):
    chunk = _write(tmp_path / "chunk.npy", SMALL_TURN)
    done = lastgate("check", chunk, "--robot", planar_arm, "--no-world", *option)
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("error: ")
    assert "Traceback" not in done.err


def test_library_robot_is_found_by_name(lastgate: Callable[..., Any], tmp_path: Path):
    home = np.tile([0.0, -0.6, 0.0, -2.2, 0.0, 1.7, 0.785], (4, 1))
    chunk = _write(tmp_path / "chunk.npy", home)
    assert lastgate("check", chunk, "--robot", "franka_panda", "--no-world").code == 0


# ---- Certificates ----------------------------------------------------------------------------------


def test_certificate_of_an_accepted_chunk_is_written_and_verified(lastgate, tmp_path, planar_arm, pole):
    chunk, file = _write(tmp_path / "chunk.npy", SMALL_TURN), tmp_path / "why.json"
    done = lastgate("check", chunk, "--robot", planar_arm, "--world", pole, "--certificate", file, "--json")
    assert done.code == 0
    digest = json.loads(done.out)["model_digest"]
    verified = lastgate("verify", file, "--model", digest)
    assert verified.code == 0
    assert verified.out.startswith("verified: 8 steps of `planar_arm` in world `pole`; ")
    assert digest in verified.out


def test_altered_certificate_and_one_of_another_model_are_refused(lastgate, tmp_path, planar_arm, pole):
    chunk, file = _write(tmp_path / "chunk.npy", SMALL_TURN), tmp_path / "why.json"
    lastgate("check", chunk, "--robot", planar_arm, "--world", pole, "--certificate", file)
    other = lastgate("verify", file, "--model", "0" * 64)
    assert (other.code, other.out.startswith("refused: it is about the model ")) == (1, True)
    content = json.loads(file.read_text(encoding="utf-8"))
    content["path"][1][0] += 1e-12
    file.write_text(json.dumps(content), encoding="utf-8")
    altered = lastgate("verify", file)
    assert (altered.code, altered.out.startswith("refused: the digest is ")) == (1, True)


def test_rejected_chunk_writes_no_certificate(lastgate, tmp_path, planar_arm, pole):
    chunk, file = _write(tmp_path / "chunk.npy", INTO_POLE), tmp_path / "why.json"
    assert lastgate("check", chunk, "--robot", planar_arm, "--world", pole, "--certificate", file).code == 1
    assert not file.exists()


@pytest.mark.parametrize("name", ["missing.json", "binary.json"])
def test_certificate_that_cannot_be_read_is_undecided(name, lastgate, tmp_path):
    (tmp_path / "binary.json").write_bytes(b"\xff\xfe\x00")
    done = lastgate("verify", tmp_path / name)
    assert done.code == 2
    assert "cannot be read" in done.err


def test_certificate_that_cannot_be_written_is_undecided(lastgate, tmp_path, planar_arm, pole):
    chunk = _write(tmp_path / "chunk.npy", SMALL_TURN)
    where = tmp_path / "no folder" / "why.json"
    done = lastgate("check", chunk, "--robot", planar_arm, "--world", pole, "--certificate", where)
    assert done.code == 2
    assert "cannot be written" in done.err


def test_json_verdict_of_a_rejected_chunk_carries_evidence_that_the_schema_reads(
    lastgate, tmp_path, planar_arm, pole
):
    past_limit = np.full((2, 2), [9.0, 0.0])
    for rows, kind in ((INTO_POLE, lg.CollisionEvidence), (past_limit, lg.JointLimitEvidence)):
        chunk = _write(tmp_path / "chunk.npy", rows)
        done = lastgate("check", chunk, "--robot", planar_arm, "--world", pole, "--json")
        (violation,) = json.loads(done.out)["violations"]
        assert type(lg.read_evidence(json.dumps(violation["evidence"]))) is kind
        with pytest.raises(ValidationError):
            lg.read_evidence(json.dumps(violation["evidence"] | {"more": 1}))


@pytest.mark.parametrize("text", ["{}", '{"stamp_s": 1.0}'])
def test_world_that_no_source_filled_is_refused_and_one_said_to_be_empty_is_not(
    text, lastgate, tmp_path, planar_arm
):
    chunk, world = _write(tmp_path / "chunk.npy", SMALL_TURN), tmp_path / "world.json"
    world.write_text(text)
    done = lastgate("check", chunk, "--robot", planar_arm, "--world", world)
    assert (done.code, done.out) == (2, "")
    assert f"{world}: `collision_primitives` is missing" in done.err
    world.write_text(json.dumps(json.loads(text) | {"collision_primitives": []}))
    assert lastgate("check", chunk, "--robot", planar_arm, "--world", world).code == 0
