# SPDX-License-Identifier: Apache-2.0
"""A folder of .npz files, one per episode: `action`, and if there are any `state`, `timestamp` and `stamp_s`.

A calibration also reads `velocity` and `tool_pose`.
"""

import math
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np

from lastgate.contracts import ROSConfigError
from lastgate.contracts.arrays import Float64
from lastgate.tools.audit.dataset_options import DatasetOptions
from lastgate.tools.audit.datasets.file_bounds import require_regular_file, require_table_bytes
from lastgate.tools.audit.episode import Episode, EpisodeRef, UnreadableEpisodeError


class NpzDataset:
    """Lists the files of a folder, in the order of their names."""

    kind = "npz"
    robot_type = ""

    def __init__(self, folder: Path, options: DatasetOptions) -> None:
        self._folder = folder
        self._action_key = options.action_key or "action"
        self._state_key = options.state_key or "state"
        self.step_s = options.step_s
        if self.step_s is None:
            raise ROSConfigError(
                f"{folder}: .npz files do not say how far their rows are apart\n\nhint: `--rate-hz 50`"
            )
        self.episodes: list[EpisodeRef] = [
            EpisodeRef(number=number, name=path.stem, file=path.name)
            for number, path in enumerate(sorted(folder.glob("*.npz")))
        ]

    def read(self, ref: EpisodeRef) -> Episode:
        """Reads one file."""
        require_regular_file(self._folder / ref.file, ref.file)
        try:
            # allow_pickle stays off: a dataset must not be able to run code. Opened here, because NumPy leaves a file
            # that is cut off open.
            with (
                (self._folder / ref.file).open("rb") as file,
                np.load(file, allow_pickle=False) as arrays,
            ):
                actions = _numbers(arrays, self._action_key, dimensions=2, file=ref.file)
                states = _numbers(arrays, self._state_key, dimensions=2, file=ref.file)
                times = _numbers(arrays, "timestamp", dimensions=1, file=ref.file)
                stamps = _numbers(arrays, "stamp_s", dimensions=1, file=ref.file)
                speeds = _numbers(arrays, "velocity", dimensions=2, file=ref.file)
                tool = _numbers(arrays, "tool_pose", dimensions=2, file=ref.file)
                names = _names(arrays, file=ref.file)
        except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile, NotImplementedError) as error:
            raise UnreadableEpisodeError(f"{ref.file}: {error}") from None
        if actions is None and states is None:
            raise UnreadableEpisodeError(
                f"{ref.file}: has neither `{self._action_key}` nor `{self._state_key}`"
            )
        count = len(actions if actions is not None else states)  # pyright: ignore[reportArgumentType]
        if times is None:
            if self.step_s is None:
                raise UnreadableEpisodeError(f"{ref.file}: has no `timestamp`: say `--rate-hz 50`")
            times = self.step_s * np.arange(count, dtype=np.float64)
        return Episode(
            times_s=times,
            actions=actions,
            states=states,
            stamps_s=stamps,
            action_names=names,
            state_names=names,
            velocities=speeds,
            tool_poses=tool,
        )


class NpzFile(NpzDataset):
    """One .npz file; its rows may say their times themselves."""

    def __init__(self, path: Path, options: DatasetOptions) -> None:
        super().__init__(path.parent, replace(options, step_s=options.step_s or 1.0))
        self.step_s = options.step_s
        self.episodes = [EpisodeRef(number=0, name=path.stem, file=path.name)]


def _names(arrays: np.lib.npyio.NpzFile, *, file: str) -> tuple[str, ...]:
    if "names" not in arrays.files:
        return ()
    _require_header_fits(arrays, "names", file=file)
    found = arrays["names"]
    if found.dtype.kind != "U" or found.ndim != 1:
        raise UnreadableEpisodeError(f"{file}: `names` is {found.dtype}, expected a list of names")
    return tuple(str(name) for name in found)


def _require_header_fits(arrays: np.lib.npyio.NpzFile, key: str, *, file: str) -> None:
    """Refuses an array that is larger than any episode, or than its own member of the file.

    NumPy allocates what the header says before it reads a byte of it.
    """
    archive = arrays.zip
    assert archive is not None  # open as long as the file is
    member = next(name for name in (f"{key}.npy", key) if name in archive.namelist())
    declared = archive.getinfo(member).file_size
    require_table_bytes(declared, f"{file}, `{key}`")
    readers = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
    with archive.open(member) as raw:
        version = np.lib.format.read_magic(raw)
        if version not in readers:
            raise UnreadableEpisodeError(
                f"{file}: `{key}` is in version {version} of the format, which is not read"
            )
        shape, _, kind = readers[version](raw)
    size = math.prod(shape) * kind.itemsize
    require_table_bytes(size, f"{file}, `{key}`")
    if size > declared:
        raise UnreadableEpisodeError(f"{file}: `{key}` is said to hold {size:,} bytes and has {declared:,}")


def _numbers(arrays: np.lib.npyio.NpzFile, key: str, *, dimensions: int, file: str) -> Float64 | None:
    if key not in arrays.files:
        return None
    _require_header_fits(arrays, key, file=file)
    found = arrays[key]
    if found.dtype.kind not in "iuf" or found.ndim != dimensions:
        raise UnreadableEpisodeError(
            f"{file}: `{key}` is {found.dtype} with {found.ndim} dimensions, expected numbers with {dimensions}"
        )
    return np.ascontiguousarray(found, dtype=np.float64)
