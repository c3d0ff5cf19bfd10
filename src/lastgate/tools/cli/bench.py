# SPDX-License-Identifier: Apache-2.0
"""`lastgate bench`: how long the gate and its peers take, or how often they are wrong about the meshes."""

from __future__ import annotations

import datetime
import json
import os
import platform
import sys
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lastgate.contracts.exceptions import ROSConfigError
from lastgate.contracts.extras import install_command

if TYPE_CHECKING:
    from lastgate.tools.bench.speed import Timing


def bench_command(
    robots: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[R]...",
            help="Robot library names or manifests; if none, franka_panda, and with `--errors` all that have a URDF.",
        ),
    ] = None,
    *,
    as_json: Annotated[bool, typer.Option("--json", help="Print the times as JSON.")] = False,
    errors: Annotated[bool, typer.Option("--errors", help="Both error rates against the meshes.")] = False,
    samples: Annotated[int, typer.Option(min=10, help="Random configurations per robot.")] = 2000,
    near: Annotated[int, typer.Option(min=0, help="Configurations near contact, with the peers.")] = 500,
    steps: Annotated[int, typer.Option(min=0, help="Steps near contact.")] = 50,
    results: Annotated[
        Path | None, typer.Option(metavar="F", help="JSON file that keeps the numbers of every robot.")
    ] = None,
    page: Annotated[Path | None, typer.Option(metavar="F", help="Markdown page made of that file.")] = None,
) -> int:
    """Measures how long the gate takes, beside the peers that are installed, as a Python program sees them.

    With `--errors`: how often each checker of a robot misses a contact, and how often it rejects what is clear.

    Exits with 1 if the gate missed a contact, and with 2 if something could not be measured.
    """
    if not errors:
        if results is not None or page is not None:
            raise ROSConfigError("`--results` and `--page` keep error rates: say `--errors` too")
        return _print_speed(robots or ["franka_panda"], as_json=as_json)
    if as_json:
        raise ROSConfigError("`--errors` keeps its numbers as JSON with `--results F`, not with `--json`")
    if page is not None and results is None:
        raise ROSConfigError("`--page` is made of a results file: say `--results F` too")
    stored: dict[str, Any] = {}
    if results is not None and results.exists():
        stored = json.loads(results.read_text(encoding="utf-8"))
    missed = 0
    for name in robots or _robots_with_urdf():
        entry = _measure(name, samples=samples, near=near, steps=steps)
        missed += sum(
            checkers[checker]["misses"]
            for checkers in entry["errors"].values()
            for checker in checkers
            if checker.startswith(("tier", "spheres"))
        )
        stored[name] = entry
        if results is not None:
            results.write_text(json.dumps(stored, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    if page is not None:
        from lastgate.tools.lowering.error_page import render_page

        page.write_text(render_page(stored), encoding="utf-8")
    return 1 if missed else 0


def _print_speed(robots: list[str], *, as_json: bool) -> int:
    from lastgate.gate import Gate, chosen_simd
    from lastgate.robots import load_robot
    from lastgate.tools.bench.scene import STEP_S, scene_of
    from lastgate.tools.bench.speed import cases_of, measure
    from lastgate.tools.cli.progress_bar import progress_bar

    machine = f"{_processor()}, {os.cpu_count()} cores, SIMD build {chosen_simd()}"
    if not as_json:
        print(f"{machine}; all of it free of collisions, so that no checker stops early")
    tables: dict[str, list[dict[str, Any]]] = {}
    for name in robots:
        gate = Gate(load_robot(name), step_s=STEP_S)
        with progress_bar(name) as progress:
            cases, missing = cases_of(scene_of(gate))
            timings = measure(cases, progress=progress)
        for peer in missing:
            print(f"note: {peer} is not installed: {install_command('oracles')}", file=sys.stderr)
        tables[name] = [asdict(found) for found in timings]
        if not as_json:
            _print_timings(name, timings)
    if as_json:
        print(json.dumps({"machine": machine, "robots": tables}, indent=2))
    return 0


def _print_timings(name: str, timings: list[Timing]) -> None:
    print(f"\n{name:<50}{'p50 µs':>12}{'p99 µs':>12}{'µs per pose':>13}{'calls':>9}")
    for found in timings:
        times = (found.p50_us, found.p99_us, found.per_configuration_us)
        p50, p99, each = (f"{time_us:,.2f}" for time_us in times)
        print(f"{found.case:<50}{p50:>12}{p99:>12}{each:>13}{found.calls:>9,}")
    sys.stdout.flush()


def _robots_with_urdf() -> list[str]:
    from lastgate.robots import load_robot, robot_names

    return [name for name in robot_names() if load_robot(name).assets.urdf is not None]


def _measure(name: str, *, samples: int, near: int, steps: int) -> dict[str, Any]:
    from lastgate.robots import find_manifest, load_robot
    from lastgate.tools.assets.live_description import LiveDescription
    from lastgate.tools.assets.resolver import resolve_asset
    from lastgate.tools.cli.progress_bar import progress_bar
    from lastgate.tools.lowering.error_page import as_numbers
    from lastgate.tools.lowering.error_rates import (
        RobotUnderTest,
        measure_configurations,
        measure_segments,
        peers_of,
    )

    robot = load_robot(name)
    if robot.assets.urdf is None:
        raise ROSConfigError(
            f"robot `{robot.name}` has no URDF, which these checkers need\n\n"
            f"hint: `lastgate robot report {name}` holds it against the meshes of its MJCF"
        )
    urdf = resolve_asset(robot.assets.urdf.ref, "urdf", find_manifest(name).parent)
    if isinstance(urdf, LiveDescription):
        raise ROSConfigError(f"robot `{robot.name}` has a live description: vendor its URDF first")
    subject = RobotUnderTest(robot, urdf)
    with progress_bar(name) as progress:
        watch = partial(progress, f"{samples} random configurations")
        measured = {"random": measure_configurations(subject, subject.draw(samples), progress=watch)}
    _print(name, "random", measured["random"])
    if near:
        peers = peers_of(robot, urdf)
        with progress_bar(name) as progress:
            watch = partial(progress, f"{near} configurations near contact")
            measured["near"] = measure_configurations(
                subject, subject.draw_near(near), peers=peers, one_by_one=True, progress=watch
            )
        _print(name, "near contact", measured["near"])
    if steps:
        with progress_bar(name) as progress:
            watch = partial(progress, f"{steps} steps near contact")
            measured["steps"] = measure_segments(subject, subject.draw_near(steps), progress=watch)
        _print(name, "steps", measured["steps"])
    return {
        "date": datetime.date.today().isoformat(),
        "machine": f"{_processor()}, {os.cpu_count()} cores",
        "pieces": len(robot.loaded_hulls),
        "errors": {
            kind: {checker: as_numbers(found) for checker, found in checkers.items()}
            for kind, checkers in measured.items()
        },
    }


def _print(name: str, kind: str, checkers: dict[str, Any]) -> None:
    for checker, found in checkers.items():
        print(f"{name:16} {kind:12} {checker:24} {found}")
    sys.stdout.flush()


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.machine()
    named = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return named[0] if named else platform.machine()
