# SPDX-License-Identifier: Apache-2.0
"""One episode that is made to end, hang or fill the reader is reported with its reason; the others are audited."""

import io
import json
import os
import time
import zipfile
from multiprocessing.connection import Connection
from pathlib import Path

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from rosbags.rosbag2 import StoragePlugin

from lastgate.contracts import ROSConfigError
from lastgate.tools.audit import limited_process
from lastgate.tools.audit.dataset_options import DatasetOptions
from lastgate.tools.audit.datasets import open_dataset
from lastgate.tools.audit.job import AuditJob, EpisodeLimits
from lastgate.tools.audit.run import run_audit
from unit.tools.audit.test_broken_recordings import (
    CLEAN,
    FPS,
    ROWS,
    as_bag,
    as_hdf5,
    as_lerobot,
    as_npz,
    audited,
)

HUGE_ROWS = 10**12


def npy_header(shape: tuple[int, ...]) -> bytes:
    raw = io.BytesIO()
    np.lib.format.write_array_header_1_0(raw, {"descr": "<f8", "fortran_order": False, "shape": shape})
    return raw.getvalue()


def npz_member(path: Path, content: bytes, *, zeros: int = 0) -> None:
    """Writes a file with one array of these bytes and so many zeros behind them, which take no room."""
    with (
        zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive,
        archive.open("action.npy", "w") as member,
    ):
        member.write(content)
        for _ in range(zeros >> 20):
            member.write(bytes(1 << 20))


def npz_with_huge_header(folder: Path) -> Path:
    as_npz(folder, "none")
    npz_member(folder / "0.npz", npy_header((HUGE_ROWS, 7)))
    return folder


def npz_bomb(folder: Path) -> Path:
    as_npz(folder, "none")
    size = (1 << 30) + (64 << 20)
    rows = size // (8 * 7)
    npz_member(folder / "0.npz", npy_header((rows, 7)), zeros=size)
    return folder


def npz_pipe(folder: Path) -> Path:
    as_npz(folder, "none")
    (folder / "0.npz").unlink()
    os.mkfifo(folder / "0.npz")
    return folder


def hdf5_with_huge_table(folder: Path) -> Path:
    path = as_hdf5(folder, "none")
    with h5py.File(path, "r+") as file:
        del file["data/demo_0/actions"]
        file["data/demo_0"].create_dataset("actions", shape=(HUGE_ROWS, 7), chunks=(1024, 7), dtype="f8")
    return path


def hdf5_that_links_elsewhere(folder: Path) -> Path:
    path = as_hdf5(folder, "none")
    with h5py.File(folder / "other.h5", "w") as file:
        file["actions"] = CLEAN
    with h5py.File(path, "r+") as file:
        del file["data/demo_0/actions"]
        file["data/demo_0/actions"] = h5py.ExternalLink("other.h5", "/actions")
    return path


def hdf5_that_lies_elsewhere(folder: Path) -> Path:
    path = as_hdf5(folder, "none")
    (folder / "raw").write_bytes(CLEAN.tobytes())
    with h5py.File(path, "r+") as file:
        del file["data/demo_0/actions"]
        file["data/demo_0"].create_dataset(
            "actions", shape=CLEAN.shape, dtype="f8", external=[("raw", 0, CLEAN.nbytes)]
        )
    return path


def parquet_bomb(folder: Path) -> Path:
    """Equal rows take no room in the file: a hundred and fifty million numbers of one value."""
    as_lerobot(folder, "none", version="v2.1")
    one = pa.array([0.0] * 7_000_000)
    table = pa.table({"action": pa.FixedSizeListArray.from_arrays(one, 7)})
    with pq.ParquetWriter(
        folder / "data" / "episode_000000.parquet", table.schema, compression="zstd"
    ) as writer:
        writer.write_table(pa.concat_tables([table] * 22), row_group_size=22_000_000)
    return folder


def parquet_pipe(folder: Path) -> Path:
    as_lerobot(folder, "none", version="v2.1")
    (folder / "data" / "episode_000000.parquet").unlink()
    os.mkfifo(folder / "data" / "episode_000000.parquet")
    return folder


def bag_pipe(folder: Path) -> Path:
    as_bag(folder, "none", storage=StoragePlugin.MCAP)
    (file,) = (folder / "0").glob("*.mcap")
    file.unlink()
    os.mkfifo(file)
    return folder


def bag_with_files_elsewhere(folder: Path) -> Path:
    as_bag(folder, "none", storage=StoragePlugin.MCAP)
    metadata = folder / "0" / "metadata.yaml"
    (file,) = (folder / "0").glob("*.mcap")
    metadata.write_text(
        metadata.read_text().replace(file.name, f"../1/{next((folder / '1').glob('*.mcap')).name}")
    )
    return folder


HOSTILE = {
    npz_with_huge_header: "is said to hold 56,000,000,000,000 bytes",
    npz_bomb: "is said to hold 1,140,850,",
    npz_pipe: "is no ordinary file",
    hdf5_with_huge_table: "is said to hold 56,000,000,000,000 bytes",
    hdf5_that_links_elsewhere: "is a link that leads elsewhere",
    hdf5_that_lies_elsewhere: "lies in other files",
    parquet_bomb: "bytes of numbers",
    parquet_pipe: "is no ordinary file",
    bag_pipe: "is no ordinary file",
    bag_with_files_elsewhere: "leads out of the recording",
}


@pytest.mark.parametrize("make", HOSTILE, ids=lambda make: make.__name__)
def test_hostile_episode_is_reported_and_the_next_one_audited(tmp_path, capsys, make):
    code, document, error = audited(make(tmp_path / "data"), tmp_path / "out", capsys)
    assert code == 2
    assert "1 of 2 episodes could not be audited" in error
    (one,) = document["unreadable"]
    assert (one["episode"], document["episodes"], document["rows"]) == (0, 2, ROWS)
    assert HOSTILE[make] in one["trouble"]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"data_path": "data/{episode_index:0999999999d}.parquet"}, "names no file of an episode"),
        ({"data_path": "data/{episode_index!r:>999999999}.parquet"}, "names no file of an episode"),
        ({"data_path": "data/{episode_index.__class__}.parquet"}, "names no file of an episode"),
        ({"data_path": "/etc/episode_{episode_index:06d}.parquet"}, "leads out of the dataset"),
        ({"data_path": "../data/episode_{episode_index:06d}.parquet"}, "leads out of the dataset"),
        ({"total_episodes": 10**12}, "at most 500,000 are audited"),
        ({"total_episodes": -1}, "at most 500,000 are audited"),
        ({"fps": 10**400}, "not the description"),
        ({"features": {"action": 7}, "total_episodes": 0}, "has no episodes"),
    ],
)
def test_description_that_asks_for_too_much_is_refused(tmp_path, capsys, changes, said):
    folder = as_lerobot(tmp_path / "data", "none", version="v2.1")
    path = folder / "meta" / "info.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))
    code, document, error = audited(folder, tmp_path / "out", capsys)
    assert (code, document) == (2, {})
    assert said in error


def test_rate_that_is_written_as_text_is_a_number(tmp_path, capsys):
    folder = as_lerobot(tmp_path / "data", "none", version="v2.1")
    path = folder / "meta" / "info.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"fps": str(FPS)}))
    assert open_dataset(folder, DatasetOptions()).step_s == 1.0 / FPS


def test_deeply_nested_description_is_refused(tmp_path):
    folder = as_lerobot(tmp_path / "data", "none", version="v2.1")
    (folder / "meta" / "info.json").write_text("[" * 100_000)
    with pytest.raises(ROSConfigError, match="not the description"):
        open_dataset(folder, DatasetOptions())


# ---- What no reader foresees: the process that reads has limits ------------------------------------------


def job_of(folder: Path, **limits) -> AuditJob:
    return AuditJob(
        dataset=str(folder),
        robot="franka_panda",
        source=DatasetOptions(step_s=1.0 / FPS),
        limits=EpisodeLimits(**limits),
    )


def serve_badly(job: AuditJob, channel: Connection) -> None:
    """`serve_episodes` of a process whose first episode does what the dataset's file `does` says."""
    from lastgate.tools.audit.job import OpenAudit

    audit_episode = OpenAudit.audit_episode

    def first_is_bad(self, index):
        if index == 0:
            match (Path(job.dataset) / "does").read_text():
                case "hang":
                    time.sleep(600.0)
                case "crash":
                    os.abort()
                case "fill":
                    np.ones(1 << 32)
        return audit_episode(self, index)

    OpenAudit.audit_episode = first_is_bad
    limited_process.serve_episodes(job, channel)


@pytest.mark.parametrize(
    ("does", "said"),
    [
        ("hang", "took longer than 2 s"),
        ("crash", "ended its reader: SIGABRT"),
        ("fill", "needs more than 1 GiB of memory"),
        ("nothing", ""),
    ],
)
@pytest.mark.parametrize("workers", [1, 2])
def test_what_an_episode_does_to_its_reader_is_reported_of_it_alone(
    tmp_path, monkeypatch, does, said, workers
):
    folder = as_npz(tmp_path / "data", "none")
    (folder / "does").write_text(does)
    monkeypatch.setattr(limited_process, "serve_episodes", serve_badly)
    begin_s = time.monotonic()
    seconds = 2.0 if does == "hang" else 120.0
    run = run_audit(job_of(folder, seconds=seconds, memory_bytes=1 << 30), tmp_path / "out", workers=workers)
    assert time.monotonic() - begin_s < 120.0
    assert [one["trouble"] for one in run.summary.unreadable] == ([said] if said else [])
    assert (run.summary.episodes, run.summary.rows) == (2, ROWS if said else 2 * ROWS)


def serve_nothing(job: AuditJob, channel: Connection) -> None:
    os.abort()


def test_dataset_that_ends_the_process_that_opens_it_is_refused(tmp_path, monkeypatch):
    folder = as_npz(tmp_path / "data", "none")
    monkeypatch.setattr(limited_process, "serve_episodes", serve_nothing)
    with pytest.raises(ROSConfigError, match="cannot be opened: ended its reader: SIGABRT"):
        run_audit(job_of(folder), tmp_path / "out")
