# SPDX-License-Identifier: Apache-2.0
"""HDF5 as robomimic lays it out: one group per episode under `data`, with `actions` and `obs/...` in each."""

import math
import re
from pathlib import Path

import h5py
import numpy as np

from lastgate.contracts import ROSConfigError
from lastgate.contracts.arrays import Float64
from lastgate.tools.audit.dataset_options import DatasetOptions
from lastgate.tools.audit.datasets.file_bounds import EPISODES_MAX, require_table_bytes
from lastgate.tools.audit.episode import Episode, EpisodeRef, UnreadableEpisodeError

_STATE_KEYS = ("obs/joint_positions", "obs/robot0_joint_pos", "obs/joint_states", "obs/qpos")


class Hdf5Dataset:
    """Lists the groups under `data`, by the numbers in their names."""

    kind = "hdf5"
    robot_type = ""

    def __init__(self, path: Path, options: DatasetOptions) -> None:
        self._path = path
        self._action_key = options.action_key or "actions"
        self._state_keys = (options.state_key,) if options.state_key else _STATE_KEYS
        try:
            with h5py.File(path, "r") as file:
                groups = file.get("data") if _is_own(file, "data") else None
                if isinstance(groups, h5py.Group) and len(groups) > EPISODES_MAX:
                    raise ROSConfigError(f"{path}: has more than {EPISODES_MAX:,} episodes")
                names = sorted(groups, key=_number_in) if isinstance(groups, h5py.Group) else []
                rate = groups.attrs.get("control_freq") if isinstance(groups, h5py.Group) else None
        except OSError as error:
            raise ROSConfigError(f"{path}: {error}") from None
        if not names:
            raise ROSConfigError(f"{path}: has no episodes under `data`")
        self.step_s = options.step_s or (1.0 / float(rate) if rate else None)
        if self.step_s is None:
            raise ROSConfigError(f"{path}: does not say how far its rows are apart\n\nhint: `--rate-hz 20`")
        self.episodes = [
            EpisodeRef(number=number, name=name, file=path.name, key=f"data/{name}")
            for number, name in enumerate(names)
        ]

    def read(self, ref: EpisodeRef) -> Episode:
        """Reads one group."""
        try:
            with h5py.File(self._path, "r") as file:
                group = file[ref.key] if _is_own(file, ref.key) else None
                if not isinstance(group, h5py.Group):
                    raise UnreadableEpisodeError(f"{ref.file}:{ref.key}: is no group of this file")
                actions = _numbers(group, self._action_key, ref)
                found = [key for key in self._state_keys if key in group]
                states = _numbers(group, found[0], ref) if found else None
                stamps = _numbers(group, "obs/stamp_s", ref, dimensions=1)
        except (OSError, KeyError, ValueError, RuntimeError) as error:
            raise UnreadableEpisodeError(f"{ref.file}:{ref.key}: {error}") from None
        if actions is None and states is None:
            raise UnreadableEpisodeError(
                f"{ref.file}:{ref.key}: has neither `{self._action_key}` nor {' or '.join(self._state_keys)}"
            )
        count = len(actions if actions is not None else states)  # pyright: ignore[reportArgumentType]
        assert self.step_s is not None
        return Episode(
            times_s=self.step_s * np.arange(count, dtype=np.float64),
            actions=actions,
            states=states,
            stamps_s=stamps,
        )


def _number_in(name: str) -> tuple[int, str]:
    digits = re.search(r"(\d+)$", name)
    return (int(digits.group(1)) if digits else -1, name)


def _is_own(group: h5py.Group, key: str) -> bool:
    """Returns whether a path leads to something of this very file: links may name any file of the machine."""
    at: h5py.Group | None = group
    for part in key.split("/"):
        if not isinstance(at, h5py.Group) or not isinstance(at.get(part, getlink=True), h5py.HardLink):
            return False
        at = at[part]  # pyright: ignore[reportAssignmentType]
    return True


def _numbers(group: h5py.Group, key: str, ref: EpisodeRef, *, dimensions: int = 2) -> Float64 | None:
    if key not in group:
        return None
    if not _is_own(group, key):
        raise UnreadableEpisodeError(f"{ref.file}:{ref.key}: `{key}` is a link that leads elsewhere")
    found = group[key]
    if not isinstance(found, h5py.Dataset) or found.dtype.kind not in "iuf" or found.ndim != dimensions:
        raise UnreadableEpisodeError(
            f"{ref.file}:{ref.key}: `{key}` is no table of numbers with {dimensions} dimensions"
        )
    if found.external or found.is_virtual:
        raise UnreadableEpisodeError(f"{ref.file}:{ref.key}: `{key}` lies in other files, which are not read")
    require_table_bytes(math.prod(found.shape) * 8, f"{ref.file}:{ref.key}, `{key}`")
    return np.ascontiguousarray(found[()], dtype=np.float64)
