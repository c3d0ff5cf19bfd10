# SPDX-License-Identifier: Apache-2.0
"""`lastgate demo`: the main job in simulation, with a ticker, a summary and a report."""

import math
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lastgate.contracts.extras import install_command
from lastgate.tools.cli.messages import paint, print_error, print_note, print_warning
from lastgate.tools.cli.options import PAGE_PORT

if TYPE_CHECKING:
    from lastgate.tools.demo.run import Decision, Record


def demo_command(
    *,
    headless: Annotated[
        bool, typer.Option("--headless", help="No window, as fast as the machine can.")
    ] = False,
    seconds: Annotated[float, typer.Option(metavar="N", help="How long, in simulated seconds.")] = 20.0,
    port: Annotated[
        int | None,
        typer.Option(
            metavar="P",
            help="Where the live page listens on this machine; 0 takes a free port. With --headless there is "
            "no page unless a port is given.",
        ),
    ] = None,
    seed: Annotated[int, typer.Option(metavar="S", help="The same seed proposes the same chunks.")] = 1,
    report: Annotated[
        Path, typer.Option(metavar="DIR", help="Folder for the report and the recording.")
    ] = Path("reports"),
) -> int:
    """Runs a simulated Franka Panda, a policy that sometimes misbehaves, and the gate between them.

    Exits with 0 if every planted chunk was rejected, no good one was, and MuJoCo saw no contact; else with 1.
    """
    from lastgate.contracts import ROSConfigError

    if not (math.isfinite(seconds) and seconds > 0.0):
        raise ROSConfigError(f"`--seconds` must be a positive number: `{seconds:g}`")
    if seed < 0:
        raise ROSConfigError(f"`--seed` must not be negative: `{seed}`")
    try:
        from lastgate.tools.demo.live_page import LivePage
        from lastgate.tools.demo.report import write_report
        from lastgate.tools.demo.run import Simulation, is_clean, summarize
        from lastgate.tools.demo.viewer import open_viewer
    except ModuleNotFoundError as error:
        raise ROSConfigError(
            f"the demo needs {error.name}, which is not installed\n\nhint: {install_command('demo')}"
        ) from None
    simulation = Simulation(seed=seed, black_box=report / "demo.mcap" if _can_record() else None)
    viewer, reason = (None, "") if headless else open_viewer(simulation.scene)
    if reason:
        print_note(f"{reason}; running headless")
    page = None
    try:
        if port is not None or not headless:
            page = _open_page(LivePage, simulation, port)
        record = _run_with_ticker(simulation, seconds, viewer=viewer, in_real_time=not headless)
    finally:
        _end_recording(simulation)
        if page is not None:
            page.close()
        if viewer is not None:
            viewer.close()
    summary = summarize(record)
    written = write_report(record, report)
    _print_summary(summary)
    recorded = report / "demo.mcap"
    for path in (*written, *([recorded] if recorded.exists() else [])):
        print_note(f"wrote {path}")
    if is_clean(summary):
        return 0
    print_error(
        "the gate did not do its job here: see the lines above\n\n"
        "hint: keep the report, and report it as a bug in lastgate"
    )
    return 1


def _end_recording(simulation: Any) -> None:
    from lastgate.contracts import ROSConfigError

    try:
        simulation.close()
    except ROSConfigError as error:  # what the run showed is still worth a report
        print_warning(str(error))


def _can_record() -> bool:
    """Returns whether the `record` extra is installed; without it the demo runs all the same."""
    from importlib.util import find_spec

    return all(find_spec(name) is not None for name in ("mcap", "rosbags"))


def _open_page(live_page: Any, simulation: Any, port: int | None) -> Any:
    from lastgate.contracts import ROSConfigError
    from lastgate.kernel.process import default_state_dir

    try:
        page = live_page(simulation, port=PAGE_PORT if port is None else port, folder=default_state_dir())
    except ROSConfigError:
        if port is not None:
            raise
        # The user did not ask for that port; it may be taken by the page of a kernel.
        page = live_page(simulation, port=0, folder=default_state_dir())
    print_note(f"the page is at {page.url}#token={page.token.text} while this runs")
    return page


def _run_with_ticker(simulation: Any, seconds: float, *, viewer: Any, in_real_time: bool) -> "Record":
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True, highlight=False)
    columns = (
        TextColumn("{task.completed:5.1f} s"),
        BarColumn(bar_width=30),
        TextColumn("{task.fields[counts]}"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, disable=not console.is_terminal, transient=True) as progress:
        task = progress.add_task("", total=seconds, counts="")

        def tick(decision: "Decision") -> None:
            rejected = sum(not d.accepted for d in simulation.record.decisions) + (not decision.accepted)
            progress.update(task, counts=f"{decision.number} chunks, {rejected} rejected")
            if not decision.accepted or decision.fault != "none":
                console.print(_ticker_line(decision), markup=False, soft_wrap=True)

        return simulation.run(
            seconds, on_decision=tick, on_control_step=_pace(progress, task, viewer, in_real_time)
        )


def _pace(progress: Any, task: Any, viewer: Any, in_real_time: bool) -> Callable[[float], bool]:
    """Returns what is called after each control step: it keeps real time when there is something to watch."""
    began = time.monotonic()

    def after_step(time_s: float) -> bool:
        progress.update(task, completed=time_s)
        if viewer is not None:
            viewer.sync()
        if in_real_time:
            time.sleep(max(0.0, began + time_s - time.monotonic()))
        return viewer is None or bool(viewer.is_running())

    return after_step


def _ticker_line(decision: "Decision") -> str:
    verdict = "accepted" if decision.accepted else "rejected"
    return f"{decision.time_s:7.2f} s  {verdict}  {decision.fault:<14}  {decision.code}: {decision.sentence}"


def _print_summary(summary: dict[str, Any]) -> None:
    contacts_world, contacts_self = summary["contacts_robot_world"], summary["contacts_robot_robot"]
    rows: list[tuple[str, str, bool]] = [
        ("simulated time", f"{summary['simulated_s']:.1f} s in {summary['wall_s']:.1f} s", True),
        ("chunks proposed", str(summary["chunks"]), True),
        ("accepted", str(summary["accepted"]), True),
        ("rejected", str(summary["refused"]), True),
        *((f"  {code}", str(count), True) for code, count in summary["refused_by_reason"].items()),
        (
            "bad chunks rejected",
            f"{summary['planted_refused']} of {summary['planted']}",
            summary["planted_accepted"] == 0,
        ),
        (
            "  that touch, says MuJoCo",
            f"{summary['planted_collisions_that_touch_in_mujoco']} of "
            f"{summary['planted_collisions']} planted collisions",
            summary["planted_collisions_that_touch_in_mujoco"] == summary["planted_collisions"],
        ),
        (
            "good chunks rejected",
            f"{summary['good_refused']} of {summary['good']}",
            summary["good_refused"] == 0,
        ),
        ("contacts robot-world", str(contacts_world), contacts_world == 0),
        ("contacts robot-robot", str(contacts_self), contacts_self == 0),
        ("check time, median", f"{summary['check_us']['p50']:.0f} µs", True),
        ("check time, 99 %", f"{summary['check_us']['p99']:.0f} µs", True),
    ]
    if summary["smallest_clearance_m"] is not None:
        rows.append(
            ("smallest clearance", f"{summary['smallest_clearance_m'] * 1000:.1f} mm beyond the margin", True)
        )
    for name, value, is_good in rows:
        print(f"{name:<26}  {value if is_good else paint(value, 'red', stream=sys.stdout)}")
