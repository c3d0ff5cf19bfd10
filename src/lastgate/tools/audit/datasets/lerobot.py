# SPDX-License-Identifier: Apache-2.0
"""LeRobot datasets: v2 has one parquet file per episode, v3 many episodes per file and a table that says where."""

import json
import math
import re
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from lastgate.contracts import ROSConfigError
from lastgate.contracts.arrays import Float64
from lastgate.tools.audit.dataset_options import DatasetOptions
from lastgate.tools.audit.datasets.file_bounds import (
    DESCRIPTION_BYTES_MAX,
    EPISODES_MAX,
    is_inside,
    require_regular_file,
    require_table_bytes,
)
from lastgate.tools.audit.episode import Episode, EpisodeRef, UnreadableEpisodeError

STAMP_COLUMN = "observation.stamp_s"
_EPISODE_COLUMNS = [
    "episode_index",
    "length",
    "data/chunk_index",
    "data/file_index",
    "dataset_from_index",
    "dataset_to_index",
]
# Numbers in a path, padded with zeros: a field of any width would be a string of any length.
_DATA_PATH = re.compile(
    r"[^{}]*(?:\{(?:chunk_index|file_index|episode_chunk|episode_index)(?::0?\d{1,2}d)?\}[^{}]*)*"
)
# Whatever pyarrow raises on bytes that are no parquet.
_PARQUET_ERRORS = (pa.ArrowException, OSError, ValueError, KeyError)


class LeRobotDataset:
    """Reads meta/info.json and the list of episodes; rows are read one episode at a time."""

    kind = "lerobot"

    def __init__(self, folder: Path, options: DatasetOptions) -> None:
        self._folder = folder
        self._action_key = options.action_key or "action"
        self._state_key = options.state_key or "observation.state"
        info = self._read_info()
        self._features: dict[str, Any] = info["features"]
        self.step_s: float | None = options.step_s or 1.0 / float(info["fps"])
        self._data_path: str = info["data_path"]
        self.robot_type = str(info.get("robot_type") or "")
        version = str(info.get("codebase_version", ""))
        if version.startswith("v3"):
            self.episodes = self._list_v3()
        elif version.startswith("v2"):
            self.episodes = self._list_v2(info)
        else:
            raise ROSConfigError(
                f"{folder}: codebase_version `{version}` is not one of those that are read\n\n"
                "hint: v2.0, v2.1 and v3.0 are; LeRobot converts older ones"
            )

    def _read_info(self) -> dict[str, Any]:
        path = self._folder / "meta" / "info.json"
        try:
            if path.stat().st_size > DESCRIPTION_BYTES_MAX:
                raise ValueError(f"is larger than {DESCRIPTION_BYTES_MAX:,} bytes")
            info = json.loads(path.read_text(encoding="utf-8"))
            usable = 0 < float(info["fps"]) < math.inf and isinstance(info["data_path"], str)
            usable &= isinstance(info["features"], dict)
        except (OSError, ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
            why = f"`{error.args[0]}` is missing" if isinstance(error, KeyError) else str(error)
            raise ROSConfigError(f"{path}: not the description of a LeRobot dataset: {why}") from None
        if not usable:
            raise ROSConfigError(f"{path}: fps, features or data_path cannot be used")
        if not _DATA_PATH.fullmatch(info["data_path"]):
            raise ROSConfigError(f"{path}: data_path `{info['data_path'][:200]}` names no file of an episode")
        if not is_inside(info["data_path"]):
            raise ROSConfigError(f"{path}: data_path `{info['data_path'][:200]}` leads out of the dataset")
        return info

    def _list_v3(self) -> list[EpisodeRef]:
        folder = self._folder / "meta" / "episodes"
        paths = sorted(folder.rglob("*.parquet"))
        if not paths:
            raise ROSConfigError(f"{folder}: no list of episodes")
        refs: list[EpisodeRef] = []
        file_starts: dict[str, int] = {}
        for path in paths:
            for entry in _read_list(path):
                if not all(isinstance(entry[column], int) for column in _EPISODE_COLUMNS):
                    raise ROSConfigError(f"{path}: an episode without its place in the files")
                file = self._file_of(
                    chunk_index=entry["data/chunk_index"], file_index=entry["data/file_index"]
                )
                # The indices count through the whole dataset; the first episode of a file tells where it begins.
                begin = file_starts.setdefault(file, entry["dataset_from_index"])
                refs.append(
                    EpisodeRef(
                        number=entry["episode_index"],
                        name=f"episode {entry['episode_index']}",
                        file=file,
                        rows=(entry["dataset_from_index"] - begin, entry["dataset_to_index"] - begin),
                    )
                )
            _require_episode_count(len(refs), path)
        return sorted(refs, key=lambda ref: ref.number)

    def _list_v2(self, info: dict[str, Any]) -> list[EpisodeRef]:
        total, per_chunk = info.get("total_episodes"), info.get("chunks_size", 1000)
        if not isinstance(total, int) or not isinstance(per_chunk, int) or per_chunk < 1:
            raise ROSConfigError(f"{self._folder}: total_episodes or chunks_size cannot be used")
        _require_episode_count(total, self._folder)
        refs = []
        for number in range(total):
            file = self._file_of(episode_chunk=number // per_chunk, episode_index=number)
            refs.append(EpisodeRef(number=number, name=f"episode {number}", file=file))
        return refs

    def _file_of(self, **numbers: int) -> str:
        try:
            return self._data_path.format(**numbers)
        except (LookupError, ValueError, AttributeError):
            raise ROSConfigError(
                f"{self._folder}: data_path `{self._data_path}` names no file of an episode"
            ) from None

    def read(self, ref: EpisodeRef) -> Episode:
        """Reads the rows of one episode, and of those columns that are checked."""
        path = self._folder / ref.file
        wanted = [self._action_key, self._state_key, STAMP_COLUMN, "timestamp", "episode_index"]
        require_regular_file(path, ref.file)
        try:
            parquet = _open_parquet(str(path))
            columns = [name for name in wanted if name in parquet.schema_arrow.names]
            table = self._read_rows(parquet, ref, columns)
        except _PARQUET_ERRORS as error:
            raise UnreadableEpisodeError(f"{ref.file}: {_first_line(error)}") from None
        if table.num_rows == 0:
            raise UnreadableEpisodeError(f"{ref.file}: the episode has no rows")
        if ref.rows is not None and "episode_index" in columns:
            numbers = table["episode_index"].to_numpy()
            if not (numbers == ref.number).all():
                raise UnreadableEpisodeError(
                    f"{ref.file}: rows {ref.rows[0]} to {ref.rows[1]} belong to episode {numbers[0]} too"
                )
        actions = _matrix(table, self._action_key, ref)
        states = _matrix(table, self._state_key, ref)
        if actions is None and states is None:
            raise UnreadableEpisodeError(
                f"{ref.file}: has neither a column `{self._action_key}` nor `{self._state_key}`"
            )
        assert self.step_s is not None
        # Timestamps are float32 and the rate is exact.
        times_s = self.step_s * np.arange(table.num_rows, dtype=np.float64)
        stamps = table[STAMP_COLUMN].to_numpy().astype(np.float64) if STAMP_COLUMN in columns else None
        return Episode(
            times_s=times_s,
            actions=actions,
            states=states,
            stamps_s=stamps,
            action_names=self._names_of(self._action_key),
            state_names=self._names_of(self._state_key),
        )

    def _read_rows(self, parquet: pq.ParquetFile, ref: EpisodeRef, columns: list[str]) -> pa.Table:
        if ref.rows is None:
            _require_columns_fit(parquet, range(parquet.metadata.num_row_groups), columns, ref)
            return parquet.read(columns=columns, use_threads=False)
        first, last = ref.rows
        starts = _row_group_starts(parquet)
        if not 0 <= first <= last <= starts[-1]:
            raise UnreadableEpisodeError(
                f"{ref.file}: has {starts[-1]} rows, the episode is said to be rows {first} to {last}"
            )
        groups = [g for g in range(len(starts) - 1) if starts[g] < last and first < starts[g + 1]]
        if not groups:
            return parquet.schema_arrow.empty_table().select(columns)
        _require_columns_fit(parquet, groups, columns, ref)
        table = parquet.read_row_groups(groups, columns=columns, use_threads=False)
        return table.slice(first - starts[groups[0]], last - first)

    def _names_of(self, key: str) -> tuple[str, ...]:
        feature = self._features.get(key)
        names = feature.get("names") if isinstance(feature, dict) else None
        # Older datasets put the list under the name of an axis.
        if isinstance(names, dict) and len(names) == 1:
            names = next(iter(names.values()))
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            return ()
        return tuple(names)


def _read_list(path: Path) -> list[dict[str, Any]]:
    try:
        require_regular_file(path, path.name)
        _require_episode_count(pq.read_metadata(path).num_rows, path)
        return pq.read_table(path, columns=_EPISODE_COLUMNS).to_pylist()
    except (*_PARQUET_ERRORS, UnreadableEpisodeError) as error:
        raise ROSConfigError(f"{path}: the list of episodes cannot be read: {error}") from None


def _require_episode_count(count: int, where: Path) -> None:
    if not 0 <= count <= EPISODES_MAX:
        raise ROSConfigError(
            f"{where}: is said to have {count:,} episodes, and at most {EPISODES_MAX:,} are audited at once"
        )


def _require_columns_fit(
    parquet: pq.ParquetFile, groups: Iterable[int], columns: list[str], ref: EpisodeRef
) -> None:
    """Refuses columns that would not fit into memory: a run of equal numbers takes no room in the file."""
    metadata = parquet.metadata
    for group in groups:
        for index in range(metadata.num_columns):
            chunk = metadata.row_group(group).column(index)
            if chunk.path_in_schema.split(".list.")[0] in columns:
                size = max(chunk.total_uncompressed_size, 8 * chunk.num_values)
                require_table_bytes(size, f"{ref.file}, column `{chunk.path_in_schema}`")


@lru_cache(maxsize=2)
def _open_parquet(path: str) -> pq.ParquetFile:
    # Episodes are read in order, so one open file and the one before are enough.
    # Mapped and not read ahead: a row group is small, and threads that read ahead cost more than they bring.
    return pq.ParquetFile(path, memory_map=True, pre_buffer=False)


def _row_group_starts(parquet: pq.ParquetFile) -> list[int]:
    cached = _STARTS.get(id(parquet.metadata))
    if cached is not None and cached[0] is parquet.metadata:
        return cached[1]
    metadata = parquet.metadata
    starts = [0]
    for group in range(metadata.num_row_groups):
        starts.append(starts[-1] + metadata.row_group(group).num_rows)
    _STARTS.clear()
    _STARTS[id(metadata)] = (metadata, starts)
    return starts


_STARTS: dict[int, tuple[pq.FileMetaData, list[int]]] = {}


def _matrix(table: pa.Table, key: str, ref: EpisodeRef) -> Float64 | None:
    """Returns a column of equally long lists as (rows, width); missing numbers become NaN."""
    if key not in table.column_names:
        return None
    column = table[key].combine_chunks()
    if isinstance(column, pa.ChunkedArray):
        column = pa.concat_arrays(column.chunks)
    kind = column.type
    if not (
        pa.types.is_fixed_size_list(kind) or pa.types.is_list(kind) or pa.types.is_large_list(kind)
    ) or not (pa.types.is_floating(kind.value_type) or pa.types.is_integer(kind.value_type)):
        raise UnreadableEpisodeError(f"{ref.file}: column `{key}` holds {kind}, expected lists of numbers")
    if column.null_count:
        raise UnreadableEpisodeError(f"{ref.file}: column `{key}` has rows without a value")
    flat = column.flatten()
    numbers = flat.to_numpy(zero_copy_only=False).astype(np.float64)
    if pa.types.is_fixed_size_list(kind):
        width = kind.list_size
    else:
        lengths = np.unique(column.value_lengths().to_numpy(zero_copy_only=False))
        if len(lengths) != 1:
            raise UnreadableEpisodeError(
                f"{ref.file}: column `{key}` has rows of different widths: {lengths[0]} and {lengths[-1]}"
            )
        width = int(lengths[0])
    if width == 0 or numbers.size != len(column) * width:
        raise UnreadableEpisodeError(f"{ref.file}: column `{key}` is no table of numbers")
    return numbers.reshape(len(column), width)


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]
