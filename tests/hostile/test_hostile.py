# SPDX-License-Identifier: Apache-2.0
"""Whatever a reader is given, it refuses with a typed error or takes it harmlessly: no crash, no hang, no flood."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from fixtures.analytic_robots import stacked

import lastgate as lg
from hostile import corpus, datasets, planted, sandbox
from hostile.datasets import DATASETS
from hostile.readers import SHARED_MEMORY

TESTS = Path(__file__).parents[1]

BYTES = {
    "otlp": corpus.OTLP,
    "http": corpus.HTTP,
    "proxy": corpus.PROXY,
    "manifest": {f"{name}.yaml": data for name, data in corpus.MANIFESTS.items()},
    "world_file": corpus.WORLD_FILES,
    "chunk_file": corpus.CHUNK_FILES,
    "flat_config": corpus.FLAT_CONFIGS,
    "stored_latch": corpus.STORED_LATCHES,
    "cdr": corpus.CDR,
    "cdr_mutations": corpus.CDR_FRAMES,
}
FOLDERS = {"latch_file": corpus.LATCH_FILES, "dataset": DATASETS}

Reader = Callable[[str, Path], dict]


@pytest.fixture(scope="module")
def read() -> Iterator[Reader]:
    """Hands an input to the sandbox of a reader, which is started once."""
    running: dict[str, subprocess.Popen[str]] = {}

    def ask(reader: str, path: Path) -> dict:
        if reader not in running:
            running[reader] = subprocess.Popen(
                [sys.executable, "-m", "hostile.sandbox", reader],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                env=os.environ | {"PYTHONPATH": str(TESTS), "OPENBLAS_NUM_THREADS": "1"},
            )
        process = running[reader]
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps(str(path)) + "\n")
        process.stdin.flush()
        return json.loads(process.stdout.readline())

    yield ask
    for process in running.values():
        process.communicate(timeout=10.0)


def require_calm(answer: dict) -> None:
    assert answer["outcome"] in ("refused", "harmless"), answer


@pytest.mark.parametrize(
    ("reader", "name"), [(reader, name) for reader, cases in BYTES.items() for name in cases]
)
def test_hostile_bytes_are_refused_or_harmless(read, tmp_path, reader, name):
    path = tmp_path / name
    path.write_bytes(BYTES[reader][name])
    require_calm(read(reader, path))


@pytest.mark.parametrize(
    ("reader", "name"), [(reader, name) for reader, cases in FOLDERS.items() for name in cases]
)
def test_hostile_files_and_folders_are_refused_or_harmless(read, tmp_path, reader, name):
    folder = tmp_path / "input"
    folder.mkdir()
    require_calm(read(reader, FOLDERS[reader][name](folder)))


@pytest.fixture(scope="module")
def shared_memory(tmp_path_factory) -> dict[str, bytes]:
    """What a kernel that passed a chunk has in shared memory."""
    instance = f"recorded-{os.getpid()}"
    with lg.KernelClient(
        lg.RobotDescription(**stacked(3)),
        rate_hz=10.0,
        instance=instance,
        state_dir=tmp_path_factory.mktemp("state"),
        settings=lg.KernelSettings(without_world=True),
    ) as kernel:
        kernel.observe([0.0, 0.0, 0.0])
        assert kernel.submit(np.full((1, 3), 0.01)).accepted
        return {
            ring: (SHARED_MEMORY / f"lastgate.{instance}.{ring}").read_bytes()
            for ring in ("safe_actions", "board")
        }


def damaged(good: bytes) -> dict[str, bytes]:
    """Returns a block of shared memory in every damaged form."""
    forms = {
        "empty": b"",
        "one_byte": good[:1],
        "half": good[: len(good) // 2],
        "one_byte_short": good[:-1],
        "longer": good + b"\0" * 4096,
        "zeros": b"\0" * len(good),
        "ones": b"\xff" * len(good),
        "noise": np.random.default_rng(5).bytes(len(good)),
    }
    for at in range(0, min(len(good), 192), 8):
        for name, word in (("ones", b"\xff" * 8), ("large", b"\xff" * 7 + b"\x7f"), ("zero", b"\0" * 8)):
            forms[f"word_{at}_{name}"] = good[:at] + word + good[at + 8 :]
    return forms


@pytest.mark.parametrize(("reader", "block"), [("ring", "safe_actions"), ("board", "board")])
def test_damaged_shared_memory_is_refused_or_harmless(read, tmp_path, shared_memory, reader, block):
    instance = f"hostile-{os.getpid()}"
    folder = tmp_path / instance
    folder.mkdir()
    for name, data in damaged(shared_memory[block]).items():
        path = folder / name
        path.write_bytes(data)
        answer = read(reader, path)
        assert answer["outcome"] in ("refused", "harmless"), (name, answer)


def test_what_is_not_hostile_is_taken(read, tmp_path, shared_memory):
    """The twin of all of the above: a reader that refuses everything would pass it."""
    good = tmp_path / "good"
    good.mkdir()
    manifest = good / "robot.yaml"
    manifest.write_text(json.dumps(stacked(3)))
    assert read("manifest", manifest)["outcome"] == "harmless"
    for reader, name, data in (
        ("cdr", "chunk", corpus.CDR_FRAMES["action_chunk"]),
        ("proxy", "message", corpus.msgpack.packb({"actions": [1.0]})),
        ("otlp", "spans.json", b'{"resourceSpans":[{"scopeSpans":[{"spans":[{"name":"a"}]}]}]}'),
    ):
        path = good / name
        path.write_bytes(data)
        answer = read(reader, path)
        assert answer["outcome"] == "harmless", answer
    folder = tmp_path / f"hostile-{os.getpid()}"
    folder.mkdir()
    ring = folder / "safe_actions"
    ring.write_bytes(shared_memory["safe_actions"])
    answer = read("ring", ring)
    assert (answer["outcome"], answer["said"]) == ("harmless", "1 messages"), answer


@pytest.mark.parametrize("make", [datasets.good_npz, datasets.good_lerobot])
def test_dataset_that_is_not_hostile_is_audited(read, tmp_path, make):
    folder = tmp_path / "input"
    folder.mkdir()
    answer = read("dataset", make(folder))
    assert answer["outcome"] == "harmless", answer


@pytest.mark.parametrize(
    ("reader", "outcome", "said"),
    [
        ("greedy", "untyped error", "MemoryError"),
        ("sleepy", "too slow", ""),
        ("clumsy", "untyped error", "ZeroDivisionError"),
        ("fallen", "crashed: SIGSEGV", ""),
    ],
)
def test_sandbox_notices_what_a_reader_must_not_do(monkeypatch, tmp_path, reader, outcome, said):
    monkeypatch.setattr(sandbox, "WALL_SECONDS", 3.0)
    monkeypatch.setitem(sandbox.READERS, reader, getattr(planted, reader))
    answer = sandbox.run(reader, tmp_path)
    assert answer["outcome"] == outcome
    assert said in answer["said"]
