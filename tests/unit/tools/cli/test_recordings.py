# SPDX-License-Identifier: Apache-2.0
"""`lastgate replay`, `shrink`, `explain --record` and what they say about files that are no recordings."""

import json
from pathlib import Path

import numpy as np
import pytest
from fixtures.recording_forger import rewritten, unbound, unchanged
from fixtures.rejected_chunks import HOME, NOW_S, REJECTIONS, gate_with, towards

import lastgate as lg
from lastgate.tools.telemetry.recorder import Recorder
from lastgate.tools.telemetry.recording_file import RecordingFile


@pytest.fixture(scope="module")
def box(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Records one accepted chunk and two refused ones."""
    path = tmp_path_factory.mktemp("box") / "box.mcap"
    state = lg.RobotState(positions=HOME, stamp_s=NOW_S)
    rejected = REJECTIONS["world_half_space"]()
    with Recorder(gate_with(), path, in_background=False) as recorder:
        recorder.check(lg.ActionChunk(towards(j1=0.1)), state=state, world=lg.NO_WORLD, now_s=NOW_S)
        recorder.check(rejected.chunk, state=state, world=rejected.world, now_s=NOW_S)
        recorder.check(lg.ActionChunk(np.full((1, 7), np.nan)), state=state, world=lg.NO_WORLD, now_s=NOW_S)
    return path


def test_replay_of_a_whole_recording_exits_0(lastgate, box):
    outcome = lastgate("replay", box)
    assert outcome.code == 0, outcome.err
    assert outcome.out.startswith("3 verdicts are the same to the last bit")
    told = json.loads(lastgate("replay", box, "--json").out)
    assert (told["same"], told["differences"], told["left_out"]) == (3, [], [])


def test_replay_of_a_verdict_that_differs_exits_1(lastgate, tmp_path, monkeypatch):
    from dataclasses import replace

    rejected = REJECTIONS["world_voxel"]()
    honest = rejected.gate.check(
        lg.ActionChunk(towards(j1=0.1)), state=rejected.state, world=lg.NO_WORLD, now_s=NOW_S
    ).native
    write = RecordingFile.write
    monkeypatch.setattr(RecordingFile, "write", lambda self, seen: write(self, replace(seen, verdict=honest)))
    path = tmp_path / "lie.mcap"
    with Recorder(rejected.gate, path, in_background=False) as recorder:
        for _ in range(7):
            recorder.check(rejected.chunk, state=rejected.state, world=rejected.world, now_s=NOW_S)
    outcome = lastgate("replay", path)
    assert outcome.code == 1
    assert "check 1 differs\n  recorded: accepted" in outcome.out
    assert "2 more differ" in outcome.out
    assert "7 of 7 verdicts came out differently" in outcome.err
    assert len(json.loads(lastgate("replay", path, "--json").out)["differences"]) == 7


def test_replay_of_a_recording_without_links_says_that_inputs_are_not_bound(lastgate, box, tmp_path):
    old = rewritten(box, tmp_path / "old.mcap", unbound(unchanged))
    outcome = lastgate("replay", old)
    assert outcome.code == 0
    assert outcome.out.startswith("3 verdicts come out the same")
    assert "inputs not bound" in outcome.out
    assert "to the last bit" not in outcome.out
    assert "changed afterwards are not noticed" in outcome.err
    assert json.loads(lastgate("replay", old, "--json").out)["bound"] is False


def test_twin_replay_of_a_recording_with_links_names_the_end_of_the_chain(lastgate, box, tmp_path):
    told = json.loads(lastgate("replay", box, "--json").out)
    assert told["bound"] is True
    outcome = lastgate("replay", box, "--head", told["chain_head"])
    assert outcome.code == 0, outcome.err
    assert told["chain_head"] in outcome.out
    outcome = lastgate("replay", box, "--head", "0" * 64)
    assert outcome.code == 1
    assert "ends in" in outcome.err
    # Without its last verdict and link a recording is a whole one; only the head tells that something is gone.
    shorter = rewritten(box, tmp_path / "shorter.mcap", lambda m: iter([] if m[2] == 3 else [m]))
    assert lastgate("replay", shorter).code == 0
    assert lastgate("replay", shorter, "--head", told["chain_head"]).code == 1


def test_salvaged_recording_replays_and_says_what_it_is(lastgate, box, tmp_path):
    cut, saved = tmp_path / "cut.mcap", tmp_path / "saved.mcap"
    cut.write_bytes(box.read_bytes()[:-50])
    outcome = lastgate("salvage", cut, "-o", saved)
    assert outcome.code == 0, outcome.err
    assert outcome.out.startswith("3 verdicts are whole; ")
    again = lastgate("replay", saved)
    assert again.code == 0
    assert "was salvaged" in again.err
    assert json.loads(lastgate("replay", saved, "--json").out)["salvaged"] is True
    assert lastgate("salvage", box, "-o", tmp_path / "other.mcap").code == 2
    assert lastgate("salvage", cut, "-o", saved).code == 2


@pytest.mark.parametrize("command", ["replay", "shrink", "explain"])
@pytest.mark.parametrize("what", ["missing", "text", "cut"])
def test_file_that_is_no_whole_recording_exits_2(command, what, lastgate, box, tmp_path):
    path = tmp_path / f"{what}.mcap"
    if what == "text":
        path.write_text("hello")
    if what == "cut":
        path.write_bytes(box.read_bytes()[:-100])
    outcome = lastgate(command, *(["--record"] if command == "explain" else []), path)
    assert outcome.code == 2
    assert f"{what}.mcap" in outcome.err


def test_recording_in_which_nothing_can_be_repeated_exits_2(lastgate, tmp_path):
    path = tmp_path / "wide.mcap"
    with Recorder(gate_with(), path, in_background=False) as recorder:
        wide = lg.ActionChunk(np.zeros((1, 300)))
        recorder.check(wide, state=None, world=lg.NO_WORLD, now_s=NOW_S)
    outcome = lastgate("replay", path)
    assert outcome.code == 2
    assert "larger than a message" in outcome.err


def test_shrink_prints_the_first_rejection_or_the_one_that_is_named(lastgate, box, tmp_path):
    first = lastgate("shrink", box)
    assert first.code == 0, first.err
    assert "def test_world_collision_panda_leftfinger_and" in first.out
    third = lastgate("shrink", f"{box}#3", "-o", tmp_path / "test_third.py")
    assert (third.code, third.out) == (0, "")
    assert "def test_nan_in_action" in (tmp_path / "test_third.py").read_text()


@pytest.mark.parametrize(
    ("number", "said"), [("1", "was accepted\n\nhint: rejected: 2, 3"), ("9", "no check 9; it has 1 to 3")]
)
def test_check_that_was_not_refused_or_is_not_there_exits_2(number, said, lastgate, box):
    for outcome in (
        lastgate("shrink", f"{box}#{number}"),
        lastgate("explain", "--record", f"{box}#{number}"),
    ):
        assert outcome.code == 2
        assert said in outcome.err


def test_shrink_to_a_place_that_cannot_be_written_exits_2(lastgate, box, tmp_path):
    outcome = lastgate("shrink", box, "-o", tmp_path / "missing" / "test.py")
    assert outcome.code == 2
    assert "cannot write" in outcome.err


def test_explain_prints_sentence_and_evidence_and_writes_the_picture(lastgate, box, tmp_path):
    picture = tmp_path / "card.png"
    outcome = lastgate("explain", "--record", f"{box}#2", "--png", picture)
    assert outcome.code == 0, outcome.err
    sentence, _, evidence = outcome.out.partition("\n")
    assert sentence.startswith("world_collision: panda_leftfinger / ")
    assert json.loads(evidence)["kind"] == "collision"
    assert picture.read_bytes().startswith(b"\x89PNG")
    told = json.loads(lastgate("explain", "--record", f"{box}#2", "--png", picture, "--json").out)
    assert told["sentence"] == sentence
    assert told["evidence"] == json.loads(evidence)


def test_explain_takes_a_code_or_a_recording(lastgate, box, tmp_path):
    assert lastgate("explain", "self_collision", "--record", f"{box}#2").code == 2
    assert lastgate("explain", "self_collision", "--png", tmp_path / "card.png").code == 2
    assert lastgate("explain", "--record", f"{box}#2", "--png", tmp_path / "missing" / "card.png").code == 2


def test_record_without_a_kernel_exits_2(lastgate, tmp_path):
    outcome = lastgate("record", "--robot", "franka_panda", "--rate-hz", "50", "-o", tmp_path / "box.mcap")
    assert outcome.code == 2
    assert "hint: `lastgate kernel run" in outcome.err
    assert not (tmp_path / "box.mcap").exists()


def test_telemetry_without_a_kernel_exits_2(lastgate):
    outcome = lastgate("telemetry", "--robot", "absent")
    assert outcome.code == 2
    assert "hint: `lastgate kernel run" in outcome.err
