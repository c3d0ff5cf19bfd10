# SPDX-License-Identifier: Apache-2.0
"""The robot library: one folder per robot, and the loader of manifests."""

import difflib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from lastgate.contracts import RobotDescription, ROSConfigError, config_error_from
from lastgate.contracts.convex_hulls import volumes_digest
from lastgate.robots.bounded_yaml import load_bounded_yaml
from lastgate.robots.convex_hulls_file import digest_of, load_convex_hulls

LIBRARY_DIR = Path(__file__).parent
MANIFEST_NAME = "robot.yaml"


def robot_names() -> tuple[str, ...]:
    """Returns the robots that come with lastgate."""
    return tuple(sorted(path.parent.name for path in LIBRARY_DIR.glob(f"*/{MANIFEST_NAME}")))


def find_manifest(robot: str | Path) -> Path:
    """Returns the manifest of a robot library robot by name, or the file itself.

    Raises:
        ROSConfigError: There is no such robot or file; the message lists the nearest names.
    """
    path = Path(robot)
    # `./mine` and `mine/` are paths too, though Path keeps a single name of them.
    here = str(robot) in (".", "..") and (path / MANIFEST_NAME).is_file()
    if path.suffix in (".yaml", ".yml") or len(path.parts) > 1 or "/" in str(robot) or here:
        if path.is_dir():
            path = path / MANIFEST_NAME
        if not path.is_file():
            raise ROSConfigError(f"no manifest at `{path}`")
        return path
    found = LIBRARY_DIR / str(robot) / MANIFEST_NAME
    if found.is_file():
        return found
    names = robot_names()
    meant = _likely_meant(str(robot), names)
    hint = (
        f"did you mean {' or '.join(f'`{name}`' for name in meant)}? "
        if meant
        else f"one of your own is named by the path of its {MANIFEST_NAME}. "
    )
    if (path / MANIFEST_NAME).is_file():
        hint = f"a name is a robot of the robot library; your own is `{path / MANIFEST_NAME}`. "
    raise ROSConfigError(f"unknown robot: `{robot}`\n\nhint: {hint}robots: {', '.join(names)}")


def _likely_meant(wanted: str, names: Sequence[str]) -> list[str]:
    """Returns the names most like the wanted one, as a whole or in one of their words: `pnada` is a panda."""

    def likeness(name: str) -> float:
        words = (name, *name.split("_"))
        return max(difflib.SequenceMatcher(None, wanted.lower(), word).ratio() for word in words)

    ranked = sorted(((likeness(name), name) for name in names), reverse=True)
    best = ranked[0][0] if ranked else 0.0
    return sorted(name for score, name in ranked if score >= 0.6 and score == best)


def read_manifest(path: Path) -> dict[str, Any]:
    """Parses a manifest file; text that is not a YAML mapping raises `ROSConfigError` with the line."""
    document = load_bounded_yaml(path)
    if document is None:
        raise ROSConfigError(f"{path}: the file is empty")
    if not isinstance(document, dict):
        raise ROSConfigError(f"{path}: a manifest is a mapping, this is a {type(document).__name__}")
    return document


def load_robot(robot: str | Path | RobotDescription) -> RobotDescription:
    """Loads a robot by robot library name or manifest path; a `RobotDescription` is returned as it is.

    One that was made of a manifest's keys knows no folder. Where the robot library has the very convex hulls that it
    names, it comes back with them.

    Raises:
        ROSConfigError: Unknown name, unreadable file, or a manifest with problems; all of them are listed.
    """
    if isinstance(robot, RobotDescription):
        return _with_hulls_of_the_library(robot)
    if not isinstance(robot, str | Path):
        raise ROSConfigError(
            f"robot is a {type(robot).__name__}, expected a name, a path or a RobotDescription"
        )
    path = find_manifest(robot)
    try:
        loaded = RobotDescription.model_validate(read_manifest(path))
    except ValidationError as error:
        raise config_error_from(error, source=str(path)) from None
    return _with_hulls(loaded, path.parent, source=str(path))


def _with_hulls_of_the_library(robot: RobotDescription) -> RobotDescription:
    named = robot.convex_pieces
    if named is None or robot.has_loaded_hulls or robot.name not in robot_names():
        return robot
    folder = LIBRARY_DIR / robot.name
    kept = folder / named.file
    # Any other file may lie anywhere: a caller that asks for its hulls is told that they were not loaded.
    if not kept.is_file() or digest_of(kept.read_text(encoding="utf-8")) != named.sha256:
        return robot
    return _with_hulls(robot, folder, source=f"robot `{robot.name}`")


def _with_hulls(loaded: RobotDescription, folder: Path, *, source: str) -> RobotDescription:
    named = loaded.convex_pieces
    if named is None:
        return loaded
    if named.volumes_sha256 != volumes_digest(loaded.collision_geometry):
        raise ROSConfigError(
            f"{source}: `collision_geometry` is not what was lowered with the convex hulls, which would overrule a "
            "volume that was added or changed by hand\n\n"
            "hint: attach what is mounted on a link (`Gate.attach`), or leave `convex_pieces` out, and the volumes "
            "alone decide; `lastgate collision lower` writes both anew"
        )
    return loaded.with_loaded_hulls(load_convex_hulls(named, folder))
