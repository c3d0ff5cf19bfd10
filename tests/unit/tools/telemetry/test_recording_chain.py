# SPDX-License-Identifier: Apache-2.0
"""A recorded verdict is bound to its inputs and to the one before it: what is changed afterwards is found.

Every change here is made by a program that writes the file anew, with all of MCAP's checksums right.
"""

import dataclasses
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fixtures.recording_forger import LINK_TOPIC, Change, Message, rewritten, unbound, unchanged
from fixtures.rejected_chunks import HOME, NOW_S, REJECTIONS, gate_with, towards

import lastgate as lg
from lastgate.tools.telemetry.recorder import Recorder
from lastgate.tools.telemetry.recording_file import CHECK_TOPIC, CHUNK_TOPIC
from lastgate.tools.telemetry.recording_messages import decode_message, encode_message
from lastgate.tools.telemetry.recording_reader import read_recording
from lastgate.tools.telemetry.replay import ReplayOutcome, replay
from lastgate.tools.telemetry.salvage import salvage

CHECKS = 12


@pytest.fixture(scope="module")
def box(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Holds accepted and rejected verdicts in turn, some in a world, with certificates."""
    path = tmp_path_factory.mktemp("chain") / "box.mcap"
    rejected = REJECTIONS["world_half_space"]()
    state = lg.RobotState(positions=HOME, stamp_s=NOW_S)
    with Recorder(gate_with(), path, in_background=False, with_certificates=True) as recorder:
        for number in range(CHECKS):
            chunk = rejected.chunk if number % 2 else lg.ActionChunk(towards(j1=0.01 * number))
            world = rejected.world if number % 2 else lg.NO_WORLD
            recorder.check(chunk, state=state, world=world, now_s=NOW_S)
    return path


def check_changed(number: int, **fields: Any) -> Change:
    """Changes fields of one check; a function is given the old value."""

    def change(message: Message) -> Iterator[Message]:
        topic, time_ns, sequence, data = message
        if topic == CHECK_TOPIC and sequence == number:
            told = decode_message("Check", data)
            made = {name: new(getattr(told, name)) if callable(new) else new for name, new in fields.items()}
            data = encode_message("Check", dataclasses.replace(told, **made))
        yield topic, time_ns, sequence, data

    return change


def without(topic: str, *numbers: int) -> Change:
    return lambda message: iter(
        [] if message[0] == topic and (not numbers or message[2] in numbers) else [message]
    )


def replayed(box: Path, tmp_path: Path, change: Change) -> ReplayOutcome:
    return replay(read_recording(rewritten(box, tmp_path / "rewritten.mcap", change)))


def test_recording_that_was_only_written_anew_is_the_same(box: Path, tmp_path: Path):
    outcome = replayed(box, tmp_path, unchanged)
    assert (outcome.same, outcome.differences, outcome.left_out) == (CHECKS, [], [])


LIES: dict[str, Change] = {
    "accepted": check_changed(2, accepted=True),
    "rejected": check_changed(1, accepted=False),
    "code": check_changed(2, code="self_collision"),
    "sentence": check_changed(2, sentence="nothing happened"),
    "evidence": check_changed(2, evidence_json="{}"),
    "clearance": check_changed(1, min_clearance_m=lambda old: old + 1e-9),
    "certificate": check_changed(1, certificate=lambda old: np.append(old, np.uint8(32))),
    "certificate dropped in": check_changed(2, certificate=np.frombuffer(b"{}", np.uint8)),
    "accepted, code and sentence": check_changed(2, accepted=True, code="", sentence="", evidence_json=""),
}


@pytest.mark.parametrize("name", LIES)
def test_everything_that_is_said_of_a_verdict_is_compared_without_links_too(
    box: Path, tmp_path: Path, name: str
):
    for change in (LIES[name], unbound(LIES[name])):
        outcome = replayed(box, tmp_path, change)
        assert len(outcome.differences) == 1
        assert outcome.same == CHECKS - 1


def test_state_one_milliradian_off_is_found_in_every_check(box: Path, tmp_path: Path):
    found = 0
    for number in range(1, CHECKS + 1):
        outcome = replayed(box, tmp_path, check_changed(number, positions=lambda old: old + 1e-3))
        (difference,) = outcome.differences
        assert difference.number == number
        found += "was changed after it was recorded" in difference.repeated
    assert found == CHECKS


def other_chunk(message: Message) -> Iterator[Message]:
    topic, time_ns, sequence, data = message
    if topic == CHUNK_TOPIC and sequence == 3:
        data = data.replace(np.float64(HOME[0]).tobytes(), np.float64(HOME[0] + 1e-4).tobytes(), 1)
        assert data != message[3]
    yield topic, time_ns, sequence, data


def other_time(message: Message) -> Iterator[Message]:
    topic, time_ns, sequence, data = message
    yield topic, time_ns + (sequence == 3), sequence, data


@pytest.mark.parametrize(
    ("change", "first"),
    [
        (check_changed(3, now_s=lambda old: old + 1e-6), 3),
        (check_changed(3, stamp_s=lambda old: old - 1e-6), 3),
        (check_changed(3, duration_us=0.0), 3),
        (check_changed(3, not_repeatable="no reason known"), 3),
        (check_changed(4, world=2, world_number=0), 4),
        (other_chunk, 3),
        (other_time, 3),
        (without("/joint_states", 3), 3),
        (without(LINK_TOPIC, 3), 3),
        (without(LINK_TOPIC, 3, 4, 5), 3),
    ],
)
def test_inputs_that_were_changed_are_found(box: Path, tmp_path: Path, change: Change, first: int):
    outcome = replayed(box, tmp_path, change)
    assert outcome.differences
    assert min(difference.number for difference in outcome.differences) == first


def test_verdict_that_was_left_out_is_found(box: Path, tmp_path: Path):
    gone = [
        lambda m: iter([] if m[2] == 5 and m[0] in (CHECK_TOPIC, CHUNK_TOPIC) else [m]),
        lambda m: iter([] if m[2] == 5 and m[0] in (CHECK_TOPIC, CHUNK_TOPIC, LINK_TOPIC) else [m]),
        lambda m: iter([] if m[2] == CHECKS and m[0] in (CHECK_TOPIC, CHUNK_TOPIC) else [m]),
    ]
    for change in gone:
        assert replayed(box, tmp_path, change).differences


def test_another_model_under_the_same_verdicts_is_found(box: Path, tmp_path: Path):
    def change(message: Message) -> Iterator[Message]:
        topic, time_ns, sequence, data = message
        if topic == "/lastgate/model":
            told = json.loads(data)
            told["robot"]["name"] = "another_robot"
            data = json.dumps(told).encode()
        yield topic, time_ns, sequence, data

    assert replayed(box, tmp_path, change).differences


def test_recording_without_links_is_called_unbound(box: Path, tmp_path: Path):
    recording = read_recording(rewritten(box, tmp_path / "old.mcap", unbound(unchanged)))
    assert (recording.bound, recording.chain_head) == (False, "")
    assert replay(recording).same == CHECKS
    assert read_recording(box).bound


def test_recorder_gives_the_end_of_the_chain_that_the_file_has(tmp_path: Path):
    path = tmp_path / "box.mcap"
    state = lg.RobotState(positions=HOME, stamp_s=NOW_S)
    with Recorder(gate_with(), path, in_background=False) as recorder:
        assert recorder.chain_head == ""
        heads = set()
        for _ in range(3):
            recorder.check(lg.ActionChunk(towards(j1=0.1)), state=state, world=lg.NO_WORLD, now_s=NOW_S)
            heads.add(recorder.chain_head)
    assert len(heads) == 3  # the same check at another place is another link
    assert read_recording(path).chain_head == recorder.chain_head


def test_beginning_of_a_recording_that_was_cut_off_is_still_bound(box: Path, tmp_path: Path):
    raw = box.read_bytes()
    for share in (0.5, 0.8, 0.95):
        cut, saved = tmp_path / "cut.mcap", tmp_path / f"saved{share}.mcap"
        cut.write_bytes(raw[: int(share * len(raw))])
        found = salvage(cut, saved)
        recording = read_recording(saved)
        outcome = replay(recording)
        assert recording.bound
        assert (outcome.same, outcome.differences) == (found.checks, [])
