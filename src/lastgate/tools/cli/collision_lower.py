# SPDX-License-Identifier: Apache-2.0
"""`lastgate collision lower` and `lastgate collision check`."""

from __future__ import annotations

import difflib
import io
import json
import multiprocessing
import os
import re
import sys
import tempfile
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from lastgate.contracts.exceptions import ROSConfigError
from lastgate.tools.cli.messages import print_error, print_warning

if TYPE_CHECKING:
    from lastgate.contracts.convex_hulls import ConvexHullsFile
    from lastgate.tools.lowering.lower import LoweredRobot

# What is lowered again: everything, or one part of it.
Scope = Literal["all", "pairs", "geometry", "hulls"]

RobotOption = Annotated[
    str | None,
    typer.Option("--robot", metavar="F", help="A robot.yaml, its folder, or a robot library name."),
]
AcmOnly = Annotated[bool, typer.Option("--acm-only", help="Only the allowed pairs.")]
GeometryOnly = Annotated[bool, typer.Option("--geometry-only", help="Only volumes and joint frames.")]
HullsOnly = Annotated[bool, typer.Option("--pieces-only", help="Only the convex hulls.")]


def lower_command(
    robot: RobotOption = None,
    *,
    write: Annotated[
        bool, typer.Option("--write", help="Change the manifest; without it only the diff is shown.")
    ] = False,
    acm_only: AcmOnly = False,
    geometry_only: GeometryOnly = False,
    hulls_only: HullsOnly = False,
) -> None:
    """Lowers a robot's description into its manifest: prints a unified diff, and writes it only when told to.

    Exits with 2, having written nothing, if the manifest, an asset or a proof fails.
    """
    try:
        scope = _require_one_scope(acm_only=acm_only, geometry_only=geometry_only, hulls_only=hulls_only)
        path = _require_robot(robot)
        files, notes = relowered(path, scope=scope)
        for note in notes:
            print_warning(note)
        changed = [file for file in files if file.before != file.after]
        if not changed:
            print(f"No change: {path} is what its description lowers to", file=sys.stderr)
            return
        for file in changed:
            sys.stdout.write(unified_diff(file.before, file.after, file.path))
        if write:
            # The hulls before the manifest that names them: a reader in between sees a digest that differs.
            for file in reversed(changed):
                replace_file(file.path, file.after)
                print(f"wrote {file.path}", file=sys.stderr)
        else:
            print("Dry run: nothing was written; --write changes the file", file=sys.stderr)
    except ROSConfigError as error:
        print_error(str(error))
        raise typer.Exit(2) from error


def check_command(
    robot: RobotOption = None,
    *,
    every: Annotated[bool, typer.Option("--all", help="Every robot of the robot library.")] = False,
    acm_only: AcmOnly = False,
    geometry_only: GeometryOnly = False,
    hulls_only: HullsOnly = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the outcome as JSON.")] = False,
) -> None:
    """Re-lowers and compares: 0 the same, 1 drift, 2 something could not be checked or nothing was.

    With `--all`, files that are not installed are named before anything is compared, and the rest is still
    compared, so that one run shows all that is wrong with the robot library. Robots whose manifest says that their
    volumes are drawn by hand are listed as such and hold nothing up.
    """
    from lastgate.robots import find_manifest, robot_names

    try:
        scope = _require_one_scope(acm_only=acm_only, geometry_only=geometry_only, hulls_only=hulls_only)
        if every == (robot is not None):
            raise ROSConfigError("say either `--robot F` or `--all`")
        paths = [find_manifest(name) for name in robot_names()] if every else [_require_robot(robot)]
    except ROSConfigError as error:
        print_error(str(error))
        raise typer.Exit(2) from error
    outcomes: dict[str, str] = {}
    for path in paths:
        if every and _is_drawn_by_hand(path):
            print(f"{path}: volumes drawn by hand, nothing proves them", file=sys.stderr)
            outcomes[str(path)] = "hand-drawn"
        elif not _has_all_files(path):
            outcomes[str(path)] = "unresolved"
    there = [path for path in paths if str(path) not in outcomes]
    compare = partial(_check_one, scope=scope, every=every, as_json=as_json)
    outcomes |= dict(zip(map(str, there), _over_processes(compare, there), strict=True))
    outcomes = {str(path): outcomes[str(path)] for path in paths}
    if as_json:
        print(json.dumps({"robots": outcomes}, indent=2))
    if every:
        _print_summary(outcomes)
    compared = [outcome for outcome in outcomes.values() if outcome in ("same", "drift")]
    if "unresolved" in outcomes.values() or not compared:
        if not compared:
            print_error("nothing was checked")
        raise typer.Exit(2)
    if "drift" in compared:
        raise typer.Exit(1)


def _is_drawn_by_hand(path: Path) -> bool:
    """Returns whether a manifest says of its own volumes that nothing proves them: there is nothing to hold them to."""
    from lastgate.tools.lowering.manifest_splice import read_manifest

    try:
        return read_manifest(load_text(path), source=str(path)).unproved_volumes is not None
    except ROSConfigError:
        return False  # the next reader says what is wrong with it


def _has_all_files(path: Path) -> bool:
    """Returns whether every file a manifest names is there, and prints each that is not."""
    from lastgate.tools.assets.resolver import unresolved_assets
    from lastgate.tools.lowering.manifest_splice import read_manifest

    try:
        problems = unresolved_assets(read_manifest(load_text(path), source=str(path)).assets, path.parent)
    except ROSConfigError as error:
        print_error(str(error))
        return False
    for problem in problems:
        print_error(f"{path}: {problem}")
    return not problems


def _print_summary(outcomes: dict[str, str]) -> None:
    for word in ("same", "drift", "unresolved", "by hand", "hand-drawn"):
        names = [Path(path).parent.name for path, outcome in outcomes.items() if outcome == word]
        if names:
            print(f"{word}: {len(names)} ({', '.join(names)})", file=sys.stderr)


def _over_processes(compare: Callable[[Path], str], paths: list[Path]) -> list[str]:
    """Returns the outcome per manifest, computed on every core; what is printed keeps the order of the manifests.

    A robot is lowered within one process, so the number of processes cannot change a result.
    """
    from lastgate.tools.cli.progress_bar import progress_bar

    # The cores this process may use, which a container or a batch system may have made fewer.
    workers = min(
        len(paths), len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    )
    if workers < 2:
        return [compare(path) for path in paths]
    outcomes: list[str] = []
    # Forking a process that has threads (BLAS, the progress bar) can hang; a spawned one starts clean.
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, mp_context=spawn) as pool, progress_bar("library") as progress:
        # The largest first: a long one that starts last keeps a single core busy while the others wait.
        started = {
            path: pool.submit(_captured, compare, path) for path in sorted(paths, key=_size, reverse=True)
        }
        for path in paths:
            outcome, printed, messages = started[path].result()
            sys.stdout.write(printed)
            sys.stderr.write(messages)
            outcomes.append(outcome)
            progress(f"{len(outcomes)} of {len(paths)} robots", len(outcomes) / len(paths))
    return outcomes


def _size(path: Path) -> int:
    """Returns how much there is to compare for one manifest, in bytes."""
    return sum(file.stat().st_size for file in path.parent.iterdir() if file.is_file())


def _captured(compare: Callable[[Path], str], path: Path) -> tuple[str, str, str]:
    """Returns the outcome for one manifest and what was printed on the way."""
    with redirect_stdout(io.StringIO()) as printed, redirect_stderr(io.StringIO()) as messages:
        outcome = compare(path)
    return outcome, printed.getvalue(), messages.getvalue()


def _check_one(path: Path, *, scope: Scope, every: bool, as_json: bool) -> str:
    from lastgate.tools.lowering.manifest_splice import read_manifest

    try:
        assets = read_manifest(load_text(path), source=str(path)).assets
        if every and assets.urdf is None and assets.mjcf is None:
            print(f"{path}: written by hand, nothing to compare with", file=sys.stderr)
            return "by hand"
        files, _ = relowered(path, scope=scope)
    except ROSConfigError as error:
        print_error(str(error))
        return "unresolved"
    changed = [file for file in files if file.before != file.after]
    if not changed:
        print(f"{path}: same", file=sys.stderr)
        return "same"
    print(f"{path}: drift", file=sys.stderr)
    # A program that reads JSON reads nothing else from stdout.
    shown = sys.stderr if as_json else sys.stdout
    for file in changed:
        shown.write(unified_diff(file.before, file.after, file.path))
    return "drift"


@dataclass(frozen=True)
class LoweredFile:
    """A file as it stands and as its description lowers to."""

    path: Path
    before: str
    after: str


def relowered(path: Path, *, scope: Scope) -> tuple[list[LoweredFile], list[str]]:
    """Returns a manifest and its hulls, before and after, and what a person should know about them."""
    from lastgate.tools.cli.progress_bar import progress_bar
    from lastgate.tools.lowering.convex_file import lower_convex_hulls
    from lastgate.tools.lowering.lower import lower_robot, read_description, sort_pairs_of_manifest
    from lastgate.tools.lowering.manifest_splice import read_manifest, splice

    before = load_text(path)
    robot = read_manifest(before, source=str(path))
    files: list[LoweredFile] = []
    lowered: LoweredRobot | None = None
    named: ConvexHullsFile | None = None
    with progress_bar(robot.name) as progress:
        if scope != "hulls":
            pairs_alone = scope == "pairs" and robot.collision_geometry
            lower = sort_pairs_of_manifest if pairs_alone else lower_robot
            lowered = lower(robot, path.parent, progress=progress)
        if scope in ("all", "hulls"):
            progress("cutting the links into convex hulls", 0.95)
            shapes = lowered.shapes if lowered else read_description(robot, path.parent).shapes
            named, text = lower_convex_hulls(robot, shapes)
            beside = path.parent / named.file
            files.append(LoweredFile(beside, load_text(beside) if beside.exists() else "", text))
    # Lowered volumes are proved, so what the manifest says of the drawn ones goes with them.
    relowers_volumes = lowered is not None and scope in ("all", "geometry")
    kept = re.sub(r"^unproved_volumes:.*\n", "", before, flags=re.MULTILINE) if relowers_volumes else before
    after = splice(
        kept,
        source=str(path),
        acm_source=lowered.source if lowered else "",
        frames=lowered.frames if lowered and scope != "pairs" else None,
        geometry=lowered.geometry if lowered and scope != "pairs" else None,
        pairs=lowered.pairs if lowered and scope != "geometry" else None,
        hulls=named,
        drawn_outside_m=lowered.drawn_outside_m if lowered and scope != "pairs" else None,
    )
    return [LoweredFile(path, before, after), *files], lowered.notes if lowered else []


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


def _require_one_scope(*, acm_only: bool, geometry_only: bool, hulls_only: bool) -> Scope:
    if acm_only + geometry_only + hulls_only > 1:
        raise ROSConfigError("`--acm-only`, `--geometry-only` and `--pieces-only` are mutually exclusive")
    if acm_only:
        return "pairs"
    if geometry_only:
        return "geometry"
    return "hulls" if hulls_only else "all"
