# SPDX-License-Identifier: Apache-2.0
"""`lastgate collision lower` and `lastgate collision check`."""

from __future__ import annotations

import difflib
import io
import json
import multiprocessing
import os
import sys
import tempfile
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from contextlib import redirect_stderr, redirect_stdout
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from lastgate.contracts.exceptions import ROSConfigError

RobotOption = Annotated[
    str | None, typer.Option("--robot", metavar="F", help="A robot.yaml, its folder, or a fleet name.")
]
AcmOnly = Annotated[bool, typer.Option("--acm-only", help="Only the allowed pairs.")]
GeometryOnly = Annotated[bool, typer.Option("--geometry-only", help="Only volumes and joint frames.")]


def lower_command(
    robot: RobotOption = None,
    *,
    write: Annotated[
        bool, typer.Option("--write", help="Change the manifest; without it only the diff is shown.")
    ] = False,
    acm_only: AcmOnly = False,
    geometry_only: GeometryOnly = False,
) -> None:
    """Lowers a robot's description into its manifest: prints a unified diff, and writes it only when told to.

    Exits with 2, having written nothing, if the manifest, an asset or a proof fails.
    """
    try:
        _require_one_scope(acm_only=acm_only, geometry_only=geometry_only)
        path = _require_robot(robot)
        before, after, notes = relowered(path, acm_only=acm_only, geometry_only=geometry_only)
        for note in notes:
            print(f"warning: {note}", file=sys.stderr)
        if before == after:
            print(f"No change: {path} is what its description lowers to", file=sys.stderr)
            return
        sys.stdout.write(unified_diff(before, after, path))
        if write:
            replace_file(path, after)
            print(f"wrote {path}", file=sys.stderr)
        else:
            print("Dry run: nothing was written; --write changes the file", file=sys.stderr)
    except ROSConfigError as error:
        print(f"error: {error}", file=sys.stderr)
        raise typer.Exit(2) from error


def check_command(
    robot: RobotOption = None,
    *,
    every: Annotated[bool, typer.Option("--all", help="Every robot of the fleet.")] = False,
    acm_only: AcmOnly = False,
    geometry_only: GeometryOnly = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the outcome as JSON.")] = False,
) -> None:
    """Re-lowers and compares: 0 the same, 1 drift, 2 something could not be checked or nothing was.

    With `--all`, files that are not installed are named before anything is compared, and the rest is compared
    still: what is wrong with the fleet takes one run to learn.
    """
    from lastgate.robots import find_manifest, robot_names

    try:
        _require_one_scope(acm_only=acm_only, geometry_only=geometry_only)
        if every == (robot is not None):
            raise ROSConfigError("say either `--robot F` or `--all`")
        paths = [find_manifest(name) for name in robot_names()] if every else [_require_robot(robot)]
    except ROSConfigError as error:
        print(f"error: {error}", file=sys.stderr)
        raise typer.Exit(2) from error
    outcomes: dict[str, str] = {}
    for path in paths:
        if not _has_all_files(path):
            outcomes[str(path)] = "unresolved"
    there = [path for path in paths if str(path) not in outcomes]
    compare = partial(_check_one, acm_only=acm_only, geometry_only=geometry_only, every=every)
    outcomes |= dict(zip(map(str, there), _over_processes(compare, there), strict=True))
    outcomes = {str(path): outcomes[str(path)] for path in paths}
    if as_json:
        print(json.dumps({"robots": outcomes}, indent=2))
    if every:
        _print_summary(outcomes)
    compared = [outcome for outcome in outcomes.values() if outcome in ("same", "drift")]
    if "unresolved" in outcomes.values() or not compared:
        if not compared:
            print("error: nothing was checked", file=sys.stderr)
        raise typer.Exit(2)
    if "drift" in compared:
        raise typer.Exit(1)


def _has_all_files(path: Path) -> bool:
    """Tells whether every file a manifest names is there, and prints each that is not."""
    from lastgate.assets.resolver import unresolved_assets
    from lastgate.lowering.manifest_splice import read_manifest

    try:
        problems = unresolved_assets(read_manifest(load_text(path), source=str(path)).assets, path.parent)
    except ROSConfigError as error:
        problems = [str(error)]
    for problem in problems:
        print(f"error: {path}: {problem}", file=sys.stderr)
    return not problems


def _print_summary(outcomes: dict[str, str]) -> None:
    for word in ("same", "drift", "unresolved", "by hand"):
        names = [Path(path).parent.name for path, outcome in outcomes.items() if outcome == word]
        if names:
            print(f"{word}: {len(names)} ({', '.join(names)})", file=sys.stderr)


def _over_processes(compare: Callable[[Path], str], paths: list[Path]) -> list[str]:
    """Returns the outcome per manifest, computed on every core; what is printed keeps the order of the manifests.

    A robot is lowered within one process, so the number of processes cannot change a result.
    """
    from lastgate.cli.progress_bar import progress_bar

    workers = min(len(paths), os.cpu_count() or 1)
    if workers < 2:
        return [compare(path) for path in paths]
    outcomes: list[str] = []
    # Forking a process that has threads (BLAS, the progress bar) can hang; a spawned one starts clean.
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, mp_context=spawn) as pool, progress_bar("fleet") as progress:
        for outcome, printed, messages in pool.map(partial(_captured, compare), paths):
            sys.stdout.write(printed)
            sys.stderr.write(messages)
            outcomes.append(outcome)
            progress(f"{len(outcomes)} of {len(paths)} robots", len(outcomes) / len(paths))
    return outcomes


def _captured(compare: Callable[[Path], str], path: Path) -> tuple[str, str, str]:
    """Returns the outcome for one manifest and what was printed on the way."""
    with redirect_stdout(io.StringIO()) as printed, redirect_stderr(io.StringIO()) as messages:
        outcome = compare(path)
    return outcome, printed.getvalue(), messages.getvalue()


def _check_one(path: Path, *, acm_only: bool, geometry_only: bool, every: bool) -> str:
    from lastgate.lowering.manifest_splice import read_manifest

    try:
        assets = read_manifest(load_text(path), source=str(path)).assets
        if every and assets.urdf is None and assets.mjcf is None:
            print(f"{path}: written by hand, nothing to compare with", file=sys.stderr)
            return "by hand"
        before, after, _ = relowered(path, acm_only=acm_only, geometry_only=geometry_only)
    except ROSConfigError as error:
        print(f"error: {error}", file=sys.stderr)
        return "unresolved"
    if before == after:
        print(f"{path}: same", file=sys.stderr)
        return "same"
    print(f"{path}: drift", file=sys.stderr)
    sys.stdout.write(unified_diff(before, after, path))
    return "drift"


def relowered(path: Path, *, acm_only: bool, geometry_only: bool) -> tuple[str, str, list[str]]:
    """Returns a manifest's text, the text it lowers to, and what a person should know about it."""
    from lastgate.cli.progress_bar import progress_bar
    from lastgate.lowering.lower import lower_robot, sort_pairs_of_manifest
    from lastgate.lowering.manifest_splice import read_manifest, splice

    text = load_text(path)
    robot = read_manifest(text, source=str(path))
    with progress_bar(robot.name) as progress:
        if acm_only and robot.collision_geometry:
            lowered = sort_pairs_of_manifest(robot, path.parent, progress=progress)
        else:
            lowered = lower_robot(robot, path.parent, progress=progress)
    after = splice(
        text,
        source=str(path),
        acm_source=lowered.source,
        frames=None if acm_only else lowered.frames,
        geometry=None if acm_only else lowered.geometry,
        pairs=None if geometry_only else lowered.pairs,
    )
    return text, after, lowered.notes


def load_text(path: Path) -> str:
    """Returns a manifest's text with its line ends untouched."""
    try:
        return path.read_bytes().decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ROSConfigError(f"{path}: cannot be read: {error}") from error


def unified_diff(before: str, after: str, path: Path) -> str:
    """Returns the difference between two manifest texts in unified form."""
    return "".join(
        difflib.unified_diff(before.splitlines(True), after.splitlines(True), f"{path}", f"{path} (lowered)")
    )


def replace_file(path: Path, text: str) -> None:
    """Replaces a file's content at once: readers see the old text or the new, never a part."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=path.name, suffix=".tmp")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(text.encode("utf-8"))
        if path.exists():
            os.chmod(name, path.stat().st_mode & 0o777)
        else:
            os.chmod(name, 0o644)
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _require_robot(robot: str | None) -> Path:
    from lastgate.robots import find_manifest

    if robot is None:
        raise ROSConfigError("say which robot: `--robot F`")
    return find_manifest(robot)


def _require_one_scope(*, acm_only: bool, geometry_only: bool) -> None:
    if acm_only and geometry_only:
        raise ROSConfigError("`--acm-only` and `--geometry-only` are mutually exclusive")
