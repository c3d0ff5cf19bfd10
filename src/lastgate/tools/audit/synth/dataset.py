# SPDX-License-Identifier: Apache-2.0
"""Writes synthetic episodes as a LeRobot v3 dataset, one row group per episode, with labels and world beside it."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from lastgate.contracts import RobotDescription, ROSConfigError, ROSPlanningError, WorldState
from lastgate.tools.audit.fault_labels import FaultLabel, write_labels
from lastgate.tools.audit.synth.episodes import SyntheticEpisode, make_episodes
from lastgate.tools.audit.synth.roadmap import Roadmap, build_roadmap

# Tried in turn where no rate is asked for; slower robots pass nothing between steps that are close together.
RATES_HZ = (30.0, 10.0, 5.0)
EPISODES_PER_FILE = 1000
STAMP_COLUMN = "observation.stamp_s"
WORLD_FILE = "world.json"
TASK = "walk between poses"


def write_dataset(
    robot: RobotDescription,
    folder: Path,
    *,
    episodes: int,
    faults: int,
    seed: int,
    fps: float | None = None,
    on_progress: Callable[[str, float], None] = lambda stage, share: None,
) -> dict[str, Any]:
    """Writes the dataset and returns what is in it.

    Raises:
        ROSConfigError: The folder holds something already, or a count makes no sense.
        ROSPlanningError: The robot has no room for one of the faults.
    """
    if episodes < 1 or faults < 0:
        raise ROSConfigError("a dataset needs at least one episode, and faults cannot be fewer than none")
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ROSConfigError(f"{folder}: exists and is not empty\n\nhint: name a new folder")
    on_progress("finding clean ways", 0.0)
    roadmap = _roadmap(robot, fps=fps, seed=seed)
    (folder / "data" / "chunk-000").mkdir(parents=True)
    writer = _Writer(folder, roadmap)
    for episode in make_episodes(roadmap, episodes=episodes, faults=faults, seed=seed):
        writer.add(episode)
        on_progress("episodes", (episode.number + 1) / episodes)
    writer.close()
    return {
        "robot": robot.name,
        "episodes": episodes,
        "rows": writer.rows,
        "faults": len(writer.labels),
        "fps": round(1.0 / roadmap.gate.step_s, 9),
        "folder": str(folder),
        "world": str(folder / WORLD_FILE),
    }


def _roadmap(robot: RobotDescription, *, fps: float | None, seed: int) -> Roadmap:
    rates = RATES_HZ if fps is None else (fps,)
    for rate in rates[:-1]:
        try:
            return build_roadmap(robot, step_s=1.0 / rate, seed=seed)
        except ROSPlanningError:
            continue
    return build_roadmap(robot, step_s=1.0 / rates[-1], seed=seed)


class _Writer:
    def __init__(self, folder: Path, roadmap: Roadmap) -> None:
        self._folder = folder
        self._map = roadmap
        self._fps = 1.0 / roadmap.gate.step_s
        self._names = [*roadmap.gate.joint_names, *roadmap.gate.gripper_joint_names]
        width = len(self._names)
        self._schema = pa.schema(
            [
                ("action", pa.list_(pa.float32(), width)),
                ("observation.state", pa.list_(pa.float32(), width)),
                (STAMP_COLUMN, pa.float64()),
                ("timestamp", pa.float32()),
                ("frame_index", pa.int64()),
                ("episode_index", pa.int64()),
                ("index", pa.int64()),
                ("task_index", pa.int64()),
            ]
        )
        self._parquet: pq.ParquetWriter | None = None
        self._episodes: list[dict[str, Any]] = []
        self.labels: list[FaultLabel] = []
        self.rows = 0

    def add(self, episode: SyntheticEpisode) -> None:
        file_index = episode.number // EPISODES_PER_FILE
        if episode.number % EPISODES_PER_FILE == 0:
            self._close_file()
            path = self._folder / "data" / "chunk-000" / f"file-{file_index:03d}.parquet"
            self._parquet = pq.ParquetWriter(path, self._schema, use_dictionary=False)
        count = len(episode.actions)
        frames = np.arange(count)
        table = pa.table(
            [
                _rows_column(episode.actions),
                _rows_column(episode.states),
                pa.array(episode.stamps_s),
                pa.array((frames / self._fps).astype(np.float32)),
                pa.array(frames),
                pa.array(np.full(count, episode.number)),
                pa.array(self.rows + frames),
                pa.array(np.zeros(count, dtype=np.int64)),
            ],
            schema=self._schema,
        )
        assert self._parquet is not None
        self._parquet.write_table(table)
        self._episodes.append(
            {
                "episode_index": episode.number,
                "tasks": [TASK],
                "length": count,
                "data/chunk_index": 0,
                "data/file_index": file_index,
                "dataset_from_index": self.rows,
                "dataset_to_index": self.rows + count,
                "meta/episodes/chunk_index": 0,
                "meta/episodes/file_index": 0,
            }
        )
        self.labels += episode.labels
        self.rows += count

    def close(self) -> None:
        self._close_file()
        episodes = self._folder / "meta" / "episodes" / "chunk-000"
        episodes.mkdir(parents=True)
        pq.write_table(pa.Table.from_pylist(self._episodes), episodes / "file-000.parquet")
        pq.write_table(pa.table({"task_index": [0], "task": [TASK]}), self._folder / "meta" / "tasks.parquet")
        write_labels(self.labels, self._folder)
        world = WorldState(collision_primitives=self._map.obstacles)
        (self._folder / WORLD_FILE).write_text(world.model_dump_json(indent=2) + "\n", encoding="utf-8")
        # Written last: a dataset that was cut off has none, and is refused.
        (self._folder / "meta" / "info.json").write_text(json.dumps(self._info(), indent=2) + "\n")

    def _close_file(self) -> None:
        if self._parquet is not None:
            self._parquet.close()
            self._parquet = None

    def _info(self) -> dict[str, Any]:
        fps = round(self._fps, 9)
        vector = {"dtype": "float32", "shape": [len(self._names)], "names": self._names}
        number = {"dtype": "int64", "shape": [1], "names": None}
        return {
            "codebase_version": "v3.0",
            "robot_type": self._map.gate.robot.name,
            "total_episodes": len(self._episodes),
            "total_frames": self.rows,
            "total_tasks": 1,
            "chunks_size": EPISODES_PER_FILE,
            "data_files_size_in_mb": 100,
            "fps": int(fps) if fps == int(fps) else fps,
            "splits": {"train": f"0:{len(self._episodes)}"},
            "data_path": "data/chunk-{chunk_index:03d}/file-{file_index:03d}.parquet",
            "video_path": None,
            "features": {
                "action": vector,
                "observation.state": vector,
                STAMP_COLUMN: {"dtype": "float64", "shape": [1], "names": None},
                "timestamp": {"dtype": "float32", "shape": [1], "names": None},
                **dict.fromkeys(("frame_index", "episode_index", "index", "task_index"), number),
            },
        }


def _rows_column(rows: np.ndarray) -> pa.FixedSizeListArray:
    flat = pa.array(rows.astype(np.float32).reshape(-1))
    return pa.FixedSizeListArray.from_arrays(flat, rows.shape[1])
