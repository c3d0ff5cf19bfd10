# SPDX-License-Identifier: Apache-2.0
"""Readers of recorded episodes, one file per format."""

from pathlib import Path

from lastgate.contracts import ROSConfigError
from lastgate.tools.audit.dataset_options import DatasetOptions
from lastgate.tools.audit.episode import Dataset

FORMATS = (
    "a LeRobot v2 or v3 folder (meta/info.json), a rosbag2 folder or .mcap file, a folder of those, "
    "a robomimic-style .hdf5 file, or a folder of .npz files"
)
_BAG_ENDINGS = (".mcap", ".db3")
_HDF5_ENDINGS = (".hdf5", ".h5")


def open_dataset(path: Path, options: DatasetOptions) -> Dataset:
    """Recognises a dataset by its files and lists its episodes.

    Raises:
        ROSConfigError: There is nothing there, or nothing that is known.
    """
    if not path.exists():
        raise ROSConfigError(f"{path}: no such file or folder")
    if path.is_file() and path.suffix in _HDF5_ENDINGS:
        from lastgate.tools.audit.datasets.hdf5 import Hdf5Dataset

        return Hdf5Dataset(path, options)
    if path.is_file() and path.suffix in _BAG_ENDINGS:
        return _bags(path.parent, [path.name], options)
    if (path / "meta" / "info.json").is_file():
        from lastgate.tools.audit.datasets.lerobot import LeRobotDataset

        return LeRobotDataset(path, options)
    if (path / "metadata.yaml").is_file():
        return _bags(path.parent, [path.name], options)
    if path.is_dir():
        bags = [p.name for p in sorted(path.iterdir()) if _is_bag(p)]
        if bags:
            return _bags(path, bags, options)
        if any(path.glob("*.npz")):
            from lastgate.tools.audit.datasets.npz import NpzDataset

            return NpzDataset(path, options)
    raise ROSConfigError(f"{path}: not a dataset that can be audited\n\nhint: {FORMATS}")


def _is_bag(path: Path) -> bool:
    return path.suffix in _BAG_ENDINGS or (path / "metadata.yaml").is_file()


def _bags(folder: Path, names: list[str], options: DatasetOptions) -> Dataset:
    from lastgate.tools.audit.datasets.bags import BagDataset

    return BagDataset(folder, names, options)
