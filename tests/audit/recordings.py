# SPDX-License-Identifier: Apache-2.0
"""A small dataset with known faults, and the same episodes in the other formats."""

import json
import os
import signal
from multiprocessing.connection import Connection
from pathlib import Path

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from rosbags.rosbag2 import StoragePlugin, Writer
from rosbags.typesys import Stores, get_typestore

from lastgate.robots import load_robot
from lastgate.tools.audit import job as audit_job
from lastgate.tools.audit import limited_process
from lastgate.tools.audit.dataset_options import DatasetOptions
from lastgate.tools.audit.datasets import open_dataset
from lastgate.tools.audit.episode import Episode
from lastgate.tools.audit.job import AuditJob, PartResult
from lastgate.tools.audit.synth.dataset import WORLD_FILE, write_dataset

ROBOT = "franka_panda"
EPISODES = 20
FAULTS = 12
FPS = 30.0


def write_small(folder: Path) -> Path:
    """Writes twenty episodes with two faults of each kind."""
    write_dataset(load_robot(ROBOT), folder, episodes=EPISODES, faults=FAULTS, seed=3, fps=FPS)
    return folder


def job_for(folder: Path, *, dataset: Path | None = None, **fields) -> AuditJob:
    """Returns the job that audits a dataset in the world of the small one."""
    return AuditJob(
        dataset=str(dataset or folder),
        robot=ROBOT,
        world_json=(folder / WORLD_FILE).read_text(),
        world_name="synth",
        **fields,
    )


def episodes_of(folder: Path) -> list[Episode]:
    dataset = open_dataset(folder, DatasetOptions())
    return [dataset.read(ref) for ref in dataset.episodes]


def as_npz(folder: Path, target: Path) -> Path:
    target.mkdir()
    for number, episode in enumerate(episodes_of(folder)):
        np.savez(
            target / f"episode_{number:03d}.npz",
            action=episode.actions,
            state=episode.states,
            stamp_s=episode.stamps_s,
            names=np.array(episode.action_names),
        )
    return target


def as_hdf5(folder: Path, target: Path) -> Path:
    with h5py.File(target, "w") as file:
        data = file.create_group("data")
        data.attrs["control_freq"] = FPS
        for number, episode in enumerate(episodes_of(folder)):
            group = data.create_group(f"demo_{number}")
            group["actions"] = episode.actions
            group["obs/joint_positions"] = episode.states
            group["obs/stamp_s"] = episode.stamps_s
    return target


def as_lerobot_v2(folder: Path, target: Path) -> Path:
    info = json.loads((folder / "meta" / "info.json").read_text())
    info["codebase_version"] = "v2.1"
    info["data_path"] = "data/chunk-{episode_chunk:03d}/episode_{episode_index:06d}.parquet"
    (target / "meta").mkdir(parents=True)
    (target / "meta" / "info.json").write_text(json.dumps(info))
    (target / "data" / "chunk-000").mkdir(parents=True)
    table = pq.read_table(folder / "data" / "chunk-000" / "file-000.parquet")
    numbers = table["episode_index"].to_numpy()
    width = len(info["features"]["action"]["names"])
    for number in range(info["total_episodes"]):
        part = table.filter(pa.array(numbers == number))
        # Version 2 stores lists of any length.
        for key in ("action", "observation.state"):
            values = part[key].combine_chunks().flatten()
            lists = pa.ListArray.from_arrays(pa.array(np.arange(len(part) + 1) * width, pa.int32()), values)
            part = part.set_column(part.column_names.index(key), key, lists)
        pq.write_table(part, target / "data" / "chunk-000" / f"episode_{number:06d}.parquet")
    return target


def as_bags(folder: Path, target: Path, *, storage: StoragePlugin, episodes: int) -> Path:
    store = get_typestore(Stores.ROS2_HUMBLE)
    joints, header, stamp = (
        store.types[name]
        for name in ("sensor_msgs/msg/JointState", "std_msgs/msg/Header", "builtin_interfaces/msg/Time")
    )

    def message(names, positions, time_s):
        at = stamp(sec=int(time_s), nanosec=round((time_s - int(time_s)) * 1e9))
        empty = np.empty(0)
        value = joints(
            header=header(stamp=at, frame_id=""),
            name=list(names),
            position=positions,
            velocity=empty,
            effort=empty,
        )
        return store.serialize_cdr(value, "sensor_msgs/msg/JointState")

    target.mkdir()
    for number, episode in enumerate(episodes_of(folder)[:episodes]):
        with Writer(target / f"episode_{number:03d}", version=9, storage_plugin=storage) as writer:
            states = writer.add_connection("/joint_states", "sensor_msgs/msg/JointState", typestore=store)
            commands = writer.add_connection("/joint_commands", "sensor_msgs/msg/JointState", typestore=store)
            for row in range(len(episode.times_s)):
                now_s = 100.0 + episode.times_s[row]
                logged_ns = round(now_s * 1e9)
                names = episode.action_names
                stamp_s = 100.0 + episode.stamps_s[row]
                writer.write(states, logged_ns - 1000, message(names, episode.states[row], stamp_s))
                writer.write(commands, logged_ns, message(names, episode.actions[row], now_s))
    return target


def serve_and_die_once(job: AuditJob, channel: Connection) -> None:
    """`serve_episodes` of a process that is killed the first time it is started."""
    died = Path(job.dataset) / "died"
    if not died.exists():
        died.touch()
        channel.send(None)
        channel.recv()
        os.kill(os.getpid(), signal.SIGKILL)
    limited_process.serve_episodes(job, channel)


def die_once(job: AuditJob, part: int) -> PartResult:
    """`audit_part` of a Ray worker that is killed the first time it is given part 1."""
    died = Path(job.dataset) / "died"
    if part == 1 and not died.exists():
        died.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    audit_job.EPISODES_PER_PART = 4
    return limited_process.audit_part(job, part)
