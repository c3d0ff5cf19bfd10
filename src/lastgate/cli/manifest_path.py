# SPDX-License-Identifier: Apache-2.0
"""Which manifest a command means: a path, or the name of a robot of the fleet."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

from lastgate.assets.closest_names import quote_closest
from lastgate.contracts.exceptions import ROSConfigError


def fleet_manifests() -> dict[str, Path]:
    """Returns the manifests that ship with lastgate, by name."""
    fleet = Path(str(resources.files("lastgate"))) / "robots"
    return {path.parent.name: path for path in sorted(fleet.glob("*/robot.yaml"))}


def find_manifest(robot: str) -> Path:
    """Returns the manifest for a path, a folder that holds one, or a name of the fleet."""
    path = Path(robot)
    if path.is_dir() and (path / "robot.yaml").is_file():
        return path / "robot.yaml"
    if path.is_file():
        return path
    fleet = fleet_manifests()
    if robot in fleet:
        return fleet[robot]
    raise ROSConfigError(f"there is no manifest `{robot}`, and the fleet's robots are {quote_closest(robot, fleet)}")


def load_manifest(path: Path) -> str:
    """Returns a manifest's text with its line ends untouched."""
    try:
        return path.read_bytes().decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ROSConfigError(f"{path}: cannot be read: {error}") from error
