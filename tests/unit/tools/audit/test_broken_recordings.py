# SPDX-License-Identifier: Apache-2.0
"""A broken episode is reported with its reason, in every format, and the one after it is audited."""

import json
import shutil
from pathlib import Path

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from fixtures.ros_messages import header, make, store, to_bytes
from rosbags.rosbag2 import StoragePlugin, Writer

from lastgate.contracts import ROSConfigError
from lastgate.tools.audit.dataset_options import DatasetOptions
from lastgate.tools.audit.datasets import open_dataset
from lastgate.tools.cli.app import run

START = np.array([0.0, -0.6, 0.0, -2.2, 0.0, 1.7, 0.785])
ROWS, FPS = 30, 30.0
CLEAN = np.tile(START, (ROWS, 1))
JOINTS = "sensor_msgs/msg/JointState"


def tables(damage: str) -> dict[str, np.ndarray]:
    """Returns the arrays of one episode."""
    match damage:
        case "missing":
            return {"other": CLEAN}
        case "narrow":
            return {"action": CLEAN[:, :5], "state": CLEAN[:, :5]}
        case "empty":
            return {"action": CLEAN[:0], "state": CLEAN[:0]}
        case "uneven":
            return {"action": CLEAN, "state": CLEAN[:-3]}
        case _:
            return {"action": CLEAN, "state": CLEAN}


def as_npz(folder: Path, damage: str) -> Path:
    folder.mkdir()
    for number, kind in enumerate((damage, "none")):
        np.savez(folder / f"{number}.npz", **tables(kind))
    if damage == "corrupt":
        file = folder / "0.npz"
        file.write_bytes(file.read_bytes()[:200])
    return folder


def as_hdf5(folder: Path, damage: str) -> Path:
    folder.mkdir()
    names = {"action": "actions", "state": "obs/joint_positions", "other": "obs/camera"}
    with h5py.File(folder / "demos.hdf5", "w") as file:
        data = file.create_group("data")
        for number, kind in enumerate((damage, "none")):
            group = data.create_group(f"demo_{number}")
            for name, table in tables(kind).items():
                group[names[name]] = table
            if kind == "corrupt":
                del group["actions"]
                # Compressed, and then not what it says: HDF5 notices when the rows are read.
                group.create_dataset("actions", data=CLEAN, chunks=(ROWS, 7), compression="gzip")
                at = group["actions"].id.get_chunk_info(0)
    if damage == "corrupt":
        with (folder / "demos.hdf5").open("r+b") as raw:
            raw.seek(at.byte_offset)
            raw.write(b"\xff" * at.size)
    return folder / "demos.hdf5"


def as_lerobot(folder: Path, damage: str, *, version: str) -> Path:
    is_v3 = version == "v3.0"
    spelled = "file-{file_index:03d}" if is_v3 else "episode_{episode_index:06d}"
    (folder / "meta" / "episodes" / "chunk-000").mkdir(parents=True)
    (folder / "data").mkdir()
    info = {
        "codebase_version": version,
        "fps": FPS,
        "features": {},
        "total_episodes": 2,
        "data_path": f"data/{spelled}.parquet",
    }
    (folder / "meta" / "info.json").write_text(json.dumps(info))
    names = {"action": "action", "state": "observation.state", "other": "observation.camera"}
    entries = []
    for number, kind in enumerate((damage, "none")):
        file = folder / "data" / spelled.format(file_index=number, episode_index=number)
        file = file.with_name(file.name + ".parquet")
        columns = {names[name]: pa.array(list(table)) for name, table in tables(kind).items()}
        if kind == "uneven":
            columns["observation.state"] = pa.array([*CLEAN[:-3], None, None, None])
        if kind == "empty":
            columns = {name: pa.array([], pa.list_(pa.float64())) for name in columns}
        count = len(next(iter(columns.values())))
        pq.write_table(pa.table({**columns, "episode_index": pa.array([number] * count, pa.int64())}), file)
        if kind == "corrupt":
            file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])
        entries.append(
            {
                "episode_index": number,
                "length": count,
                "data/chunk_index": 0,
                "data/file_index": number,
                "dataset_from_index": number * ROWS,
                "dataset_to_index": number * ROWS + count,
            }
        )
    listed = folder / "meta" / "episodes" / "chunk-000" / "file-000.parquet"
    if is_v3:
        pq.write_table(pa.Table.from_pylist(entries), listed)
    return folder


def as_bag(folder: Path, damage: str, *, storage: StoragePlugin) -> Path:
    for number, kind in enumerate((damage, "none")):
        with Writer(folder / str(number), version=9, storage_plugin=storage) as writer:
            topics = {
                name: writer.add_connection(topic, JOINTS, typestore=store())
                for name, topic in (
                    ("state", "/joint_states"),
                    ("action", "/joint_commands"),
                    ("other", "/other"),
                )
            }
            for name, table in tables(kind).items():
                # States first, so that every command finds one.
                for row, positions in enumerate(table):
                    at_s = 100.0 + row / FPS + (0.001 if name == "action" else 0.0)
                    names = [f"panda_joint{joint + 1}" for joint in range(len(positions))]
                    empty = np.empty(0)
                    fields = {"name": names, "position": positions, "velocity": empty, "effort": empty}
                    message = make(JOINTS, header=header(at_s), **fields)
                    writer.write(topics[name], round(at_s * 1e9), to_bytes(message))
        if kind == "corrupt":
            (file,) = (path for path in (folder / str(number)).iterdir() if path.suffix in (".mcap", ".db3"))
            file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])
    return folder


FORMATS = {
    "npz": as_npz,
    "hdf5": as_hdf5,
    "lerobot-v2": lambda folder, damage: as_lerobot(folder, damage, version="v2.1"),
    "lerobot-v3": lambda folder, damage: as_lerobot(folder, damage, version="v3.0"),
    "mcap": lambda folder, damage: as_bag(folder, damage, storage=StoragePlugin.MCAP),
    "rosbag2": lambda folder, damage: as_bag(folder, damage, storage=StoragePlugin.SQLITE3),
}
SAYS = {
    "corrupt": "",  # whatever the library of the format says
    "missing": "n",  # neither, or no commands
    "narrow": "5 columns",
    "empty": "no rows",
    "uneven": "rows",
}


UNEVEN_BAGS = [("mcap", "uneven"), ("rosbag2", "uneven")]


def audited(path: Path, out: Path, capsys) -> tuple[int, dict, str]:
    command = [
        "audit",
        str(path),
        "--robot",
        "franka_panda",
        "--rate-hz",
        str(FPS),
        "--workers",
        "1",
        "--json",
    ]
    code = run([*command, "--worst", "0", "-o", str(out)])
    said = capsys.readouterr()
    return code, json.loads(said.out) if said.out else {}, said.err


@pytest.mark.parametrize("kind", FORMATS)
def test_whole_recording_is_audited(tmp_path, capsys, kind):
    code, document, _ = audited(FORMATS[kind](tmp_path / "data", "none"), tmp_path / "out", capsys)
    assert (code, document["unreadable"], document["rows"]) == (0, [], 2 * ROWS)


# Messages have no row that another one could lack.
CASES = [(kind, damage) for kind in FORMATS for damage in SAYS if (kind, damage) not in UNEVEN_BAGS]


@pytest.mark.parametrize(("kind", "damage"), CASES)
def test_broken_episode_is_reported_and_the_next_one_audited(tmp_path, capsys, kind, damage):
    code, document, error = audited(FORMATS[kind](tmp_path / "data", damage), tmp_path / "out", capsys)
    assert code == 2
    assert "1 of 2 episodes could not be audited" in error
    (one,) = document["unreadable"]
    assert one["episode"] == 0
    assert one["trouble"]
    assert SAYS[damage] in one["trouble"]
    assert (document["episodes"], document["rows"], document["findings"]) == (2, ROWS, [])


@pytest.mark.parametrize(
    "changes",
    [
        {"fps": 0},
        {"fps": "fast"},
        {"fps": None},
        {"data_path": "data/{nothing}.parquet"},
        {"data_path": "data/{0}.parquet"},
        {"data_path": 7},
        {"total_episodes": "two"},
        {"chunks_size": 0},
        {"features": []},
        {"codebase_version": "v1.6"},
    ],
)
def test_description_that_cannot_be_used_is_refused(tmp_path, changes):
    folder = as_lerobot(tmp_path / "data", "none", version="v2.1")
    path = folder / "meta" / "info.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))
    with pytest.raises(ROSConfigError, match="data"):
        open_dataset(folder, DatasetOptions())


def test_list_of_episodes_that_cannot_be_used_is_refused(tmp_path):
    folder = as_lerobot(tmp_path / "data", "none", version="v3.0")
    listed = folder / "meta" / "episodes" / "chunk-000" / "file-000.parquet"
    entries = pq.read_table(listed).to_pylist()
    pq.write_table(pa.Table.from_pylist([{**entries[0], "data/file_index": None}, entries[1]]), listed)
    with pytest.raises(ROSConfigError, match="without its place"):
        open_dataset(folder, DatasetOptions())
    listed.write_bytes(b"PAR1")
    with pytest.raises(ROSConfigError, match="cannot be read"):
        open_dataset(folder, DatasetOptions())
    shutil.rmtree(listed.parent)
    with pytest.raises(ROSConfigError, match="no list of episodes"):
        open_dataset(folder, DatasetOptions())
