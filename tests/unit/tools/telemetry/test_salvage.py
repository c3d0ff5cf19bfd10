# SPDX-License-Identifier: Apache-2.0
"""A recording that was not closed: what is whole at its beginning, and nothing else."""

import io
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from fixtures.analytic_robots import NOW_S, at, gate_of, planar_two_link, sphere, world_of
from mcap.reader import make_reader

import lastgate as lg
from lastgate.tools.telemetry.recorder import Recorder
from lastgate.tools.telemetry.recording_reader import read_recording
from lastgate.tools.telemetry.replay import replay
from lastgate.tools.telemetry.salvage import salvage

CHECKS = 60

# Ends as a process does whose computer takes no questions.
KILLED = """
import os, signal, sys
from pathlib import Path
import numpy as np
from fixtures.analytic_robots import NOW_S, at, gate_of, planar_two_link
import lastgate as lg
from lastgate.tools.telemetry.recorder import Recorder
recorder = Recorder(gate_of(planar_two_link()), Path(sys.argv[1]), in_background=False)
for number in range(60):
    chunk = lg.ActionChunk(np.array([[0.001 * number, 0.0]]))
    recorder.check(chunk, state=at(0.0, 0.0), world=lg.NO_WORLD, now_s=NOW_S)
os.kill(os.getpid(), signal.SIGKILL)
"""


def record(path: Path) -> bytes:
    with Recorder(gate_of(planar_two_link()), path, in_background=False) as recorder:
        for number in range(CHECKS):
            world = world_of(sphere((2.0, 0.3 + 0.01 * (number // 20), 0.0), 0.05, "wall"))
            chunk = lg.ActionChunk(np.array([[0.001 * number, 0.0]]))
            recorder.check(chunk, state=at(0.0, 0.0), world=world, now_s=NOW_S)
    return path.read_bytes()


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return record(tmp_path_factory.mktemp("whole") / "whole.mcap")


def test_recording_of_a_process_that_was_killed_is_salvaged_but_for_its_last_verdicts(tmp_path: Path):
    path = tmp_path / "killed.mcap"
    tests = str(Path(__file__).parents[3])
    script = f"import sys; sys.path.insert(0, {tests!r})\n{KILLED}"
    done = subprocess.run([sys.executable, "-c", script, str(path)], check=False, timeout=120)
    assert done.returncode == -signal.SIGKILL
    with pytest.raises(lg.ROSConfigError, match="lastgate salvage"):
        read_recording(path)
    found = salvage(path, tmp_path / "saved.mcap")
    assert CHECKS - 8 <= found.checks <= CHECKS
    saved = read_recording(tmp_path / "saved.mcap")
    assert saved.salvaged
    assert [check.number for check in saved.checks] == list(range(1, found.checks + 1))
    assert replay(saved).same == found.checks


def test_file_cut_anywhere_gives_its_beginning_and_never_more(whole: bytes, tmp_path: Path):
    cut, saved = tmp_path / "cut.mcap", tmp_path / "saved.mcap"
    counts = []
    for length in np.linspace(0, len(whole) - 1, 40).astype(int):
        cut.write_bytes(whole[:length])
        saved.unlink(missing_ok=True)
        try:
            found = salvage(cut, saved)
        except lg.ROSConfigError:
            found = None
        assert saved.exists() == (found is not None)
        counts.append(0 if found is None else found.checks)
        if found is not None:
            numbers = [check.number for check in read_recording(saved).checks]
            assert numbers == list(range(1, found.checks + 1))
            assert found.lost_bytes < length
    assert counts == sorted(counts)
    assert counts[0] == 0
    assert counts[-1] == CHECKS


def test_nothing_behind_damage_is_taken(whole: bytes, tmp_path: Path):
    spoilt, saved = tmp_path / "spoilt.mcap", tmp_path / "saved.mcap"
    # In the middle of a block: between blocks stands an index of them, which nothing that is taken depends on.
    blocks = make_reader(io.BytesIO(whole)).get_summary().chunk_indexes
    block = blocks[len(blocks) // 2]
    middle = block.chunk_start_offset + block.chunk_length // 2
    spoilt.write_bytes(whole[:middle] + bytes([whole[middle] ^ 0x10]) + whole[middle + 1 :])
    found = salvage(spoilt, saved)
    assert 0 < found.checks < CHECKS
    assert replay(read_recording(saved)).same == found.checks


def test_whole_recording_is_not_salvaged(whole: bytes, tmp_path: Path):
    path = tmp_path / "whole.mcap"
    path.write_bytes(whole)
    with pytest.raises(lg.ROSConfigError, match="is whole"):
        salvage(path, tmp_path / "saved.mcap")
    assert not read_recording(path).salvaged


@pytest.mark.parametrize("content", [b"", b"hello", b"\x89MCAP0\r\n", b"\x00" * 4096])
def test_file_that_is_no_recording_is_refused(content: bytes, tmp_path: Path):
    path = tmp_path / "other.mcap"
    path.write_bytes(content)
    with pytest.raises(lg.ROSConfigError, match=r"other\.mcap"):
        salvage(path, tmp_path / "saved.mcap")
    assert not (tmp_path / "saved.mcap").exists()


def test_recording_of_another_program_is_refused(tmp_path: Path):
    from mcap.writer import Writer

    path = tmp_path / "theirs.mcap"
    with path.open("wb") as stream:
        writer = Writer(stream)
        writer.start(profile="", library="another")
        writer.finish()
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(lg.ROSConfigError, match="not a recording of lastgate"):
        salvage(path, tmp_path / "saved.mcap")


def test_nothing_is_replaced_and_a_missing_file_is_named(whole: bytes, tmp_path: Path):
    path, taken = tmp_path / "cut.mcap", tmp_path / "taken.mcap"
    path.write_bytes(whole[:-100])
    taken.write_text("mine")
    with pytest.raises(lg.ROSConfigError, match="exists"):
        salvage(path, taken)
    assert taken.read_text() == "mine"
    with pytest.raises(lg.ROSConfigError, match="cannot read"):
        salvage(tmp_path / "none.mcap", tmp_path / "saved.mcap")
    with pytest.raises(lg.ROSConfigError, match="cannot write"):
        salvage(path, tmp_path / "no" / "folder.mcap")
