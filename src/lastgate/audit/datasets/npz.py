# SPDX-License-Identifier: Apache-2.0
"""A folder of .npz files, one per episode: `action`, and if there are any `state`, `timestamp` and `stamp_s`."""

import zipfile
from pathlib import Path

import numpy as np

from lastgate.arrays import Float64
from lastgate.audit.dataset_options import DatasetOptions
from lastgate.audit.episode import Episode, EpisodeRef, UnreadableEpisodeError
from lastgate.contracts import ROSConfigError


class NpzDataset:
    """Lists the files of a folder, in the order of their names."""

    kind = "npz"

    def __init__(self, folder: Path, options: DatasetOptions) -> None:
        self._folder = folder
        self._action_key = options.action_key or "action"
        self._state_key = options.state_key or "state"
        self.step_s = options.step_s
        if self.step_s is None:
            raise ROSConfigError(
                f"{folder}: .npz files do not say how far their rows are apart\n\nhint: `--rate-hz 50`"
            )
        self.episodes = [
            EpisodeRef(number=number, name=path.stem, file=path.name)
            for number, path in enumerate(sorted(folder.glob("*.npz")))
        ]

    def read(self, ref: EpisodeRef) -> Episode:
        """Reads one file."""
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
                names = tuple(str(name) for name in arrays["names"]) if "names" in arrays.files else ()
        except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
            raise UnreadableEpisodeError(f"{ref.file}: {error}") from None
        if actions is None and states is None:
            raise UnreadableEpisodeError(
                f"{ref.file}: has neither `{self._action_key}` nor `{self._state_key}`"
            )
        count = len(actions if actions is not None else states)  # pyright: ignore[reportArgumentType]
        assert self.step_s is not None
        return Episode(
            times_s=self.step_s * np.arange(count, dtype=np.float64) if times is None else times,
            actions=actions,
            states=states,
            stamps_s=stamps,
            action_names=names,
            state_names=names,
        )


def _numbers(arrays: np.lib.npyio.NpzFile, key: str, *, dimensions: int, file: str) -> Float64 | None:
    if key not in arrays.files:
        return None
    found = arrays[key]
    if found.dtype.kind not in "iuf" or found.ndim != dimensions:
        raise UnreadableEpisodeError(
            f"{file}: `{key}` is {found.dtype} with {found.ndim} dimensions, expected numbers with {dimensions}"
        )
    return np.ascontiguousarray(found, dtype=np.float64)
