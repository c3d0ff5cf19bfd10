# SPDX-License-Identifier: Apache-2.0
"""Hostile datasets: each holds one bad episode, or says that it holds more than any disk."""

import json
import os
import struct
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from hostile.corpus import npy_header

ROWS = np.tile(np.array([0.0, -0.6, 0.0, -2.2, 0.0, 1.7, 0.785]), (4, 1))


def _zip_with(path: Path, members: dict[str, bytes]) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)


NAMES = [f"panda_joint{number}" for number in range(1, 8)]


def _good_episode(folder: Path) -> None:
    np.savez(folder / "z_good.npz", action=ROWS, state=ROWS, names=np.array(NAMES))


def npz_of_a_trillion_rows(folder: Path) -> Path:
    _zip_with(folder / "a.npz", {"action.npy": npy_header("(1000000000000, 7)")})
    _good_episode(folder)
    return folder


def npz_that_unpacks_to_a_gigabyte(folder: Path) -> Path:
    # Whole as an archive: a hundred kilobytes on disk that unpack to what the header says, and to more than is allowed.
    rows = 18_000_000
    with (
        zipfile.ZipFile(folder / "a.npz", "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive,
        archive.open("action.npy", "w", force_zip64=True) as member,
    ):
        member.write(npy_header(f"({rows}, 7)"))
        left = rows * 7 * 8
        while left > 0:
            left -= member.write(b"\0" * min(left, 16 * 1024 * 1024))
    _good_episode(folder)
    return folder


def npz_of_objects(folder: Path) -> Path:
    _zip_with(folder / "a.npz", {"action.npy": npy_header("(4, 7)", "'|O'") + b"cos\nsystem\n(S'true'\ntR."})
    _good_episode(folder)
    return folder


def npz_with_a_deep_header(folder: Path) -> Path:
    text = "(" * 5_000
    head = b"\x93NUMPY\x02\x00" + struct.pack("<I", len(text)) + text.encode()
    _zip_with(folder / "a.npz", {"action.npy": head})
    _good_episode(folder)
    return folder


def npz_that_is_a_fifo(folder: Path) -> Path:
    os.mkfifo(folder / "a.npz")
    _good_episode(folder)
    return folder


def npz_that_is_an_endless_device(folder: Path) -> Path:
    (folder / "a.npz").symlink_to("/dev/zero")
    _good_episode(folder)
    return folder


def _lerobot(folder: Path, **changes: Any) -> Path:
    meta = folder / "meta"
    meta.mkdir()
    (folder / "data").mkdir()
    features = {
        key: {"dtype": "float64", "shape": [7], "names": NAMES} for key in ("action", "observation.state")
    }
    info = {
        "codebase_version": "v2.1",
        "fps": 30,
        "total_episodes": 1,
        "chunks_size": 1000,
        "data_path": "data/episode_{episode_index:06d}.parquet",
        "features": features,
    }
    (meta / "info.json").write_text(json.dumps(info | changes))
    (meta / "episodes.jsonl").write_text('{"episode_index": 0, "length": 4}\n')
    column = pa.array(ROWS.tolist(), type=pa.list_(pa.float64()))
    table = pa.table({"action": column, "observation.state": column, "timestamp": np.arange(4) / 30.0})
    pq.write_table(table, folder / "data" / "episode_000000.parquet")
    return folder


def lerobot_of_a_trillion_episodes(folder: Path) -> Path:
    _lerobot(folder, total_episodes=10**12)
    (folder / "meta" / "episodes.jsonl").unlink()
    return folder


def lerobot_with_an_absolute_path(folder: Path) -> Path:
    return _lerobot(folder, data_path="/etc/passwd")


def lerobot_that_climbs_out(folder: Path) -> Path:
    return _lerobot(folder, data_path="../../../../../../etc/passwd")


def lerobot_whose_path_is_a_format_bomb(folder: Path) -> Path:
    return _lerobot(folder, data_path="{episode_index:>9999999999}")


def lerobot_whose_path_reads_attributes(folder: Path) -> Path:
    return _lerobot(folder, data_path="{episode_index.__class__.__mro__}")


def lerobot_of_noise(folder: Path) -> Path:
    _lerobot(folder)
    (folder / "data" / "episode_000000.parquet").write_bytes(
        b"PAR1" + bytes(range(256)) * 16 + b"\xff\xff\xff\x7fPAR1"
    )
    return folder


def lerobot_with_deep_metadata(folder: Path) -> Path:
    _lerobot(folder)
    (folder / "meta" / "info.json").write_bytes(b"[" * 200_000)
    return folder


def lerobot_that_is_a_fifo(folder: Path) -> Path:
    _lerobot(folder)
    file = folder / "data" / "episode_000000.parquet"
    file.unlink()
    os.mkfifo(file)
    return folder


def lerobot_with_infinite_rate(folder: Path) -> Path:
    return _lerobot(folder, fps=1e308)


def good_npz(folder: Path) -> Path:
    _good_episode(folder)
    return folder


def good_lerobot(folder: Path) -> Path:
    return _lerobot(folder)


DATASETS = {
    make.__name__: make
    for make in (
        npz_of_a_trillion_rows,
        npz_that_unpacks_to_a_gigabyte,
        npz_of_objects,
        npz_with_a_deep_header,
        npz_that_is_a_fifo,
        npz_that_is_an_endless_device,
        lerobot_of_a_trillion_episodes,
        lerobot_with_an_absolute_path,
        lerobot_that_climbs_out,
        lerobot_whose_path_is_a_format_bomb,
        lerobot_whose_path_reads_attributes,
        lerobot_of_noise,
        lerobot_with_deep_metadata,
        lerobot_that_is_a_fifo,
        lerobot_with_infinite_rate,
    )
}
