# SPDX-License-Identifier: Apache-2.0
"""`lastgate audit`: recorded episodes through the gate. Exit 0 clean, 1 findings, 2 not all could be audited."""

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lastgate.contracts.extras import install_command
from lastgate.contracts.printable import printable
from lastgate.tools.cli.dataset_arguments import (
    ActionKeyOption,
    ColumnsOption,
    DatasetArgument,
    DegreesOption,
    EpisodesOption,
    JointMapOption,
    RateOption,
    StateKeyOption,
    UnitsOption,
)
from lastgate.tools.cli.messages import paint, print_error, print_note
from lastgate.tools.cli.options import RobotOption, WorldOption

if TYPE_CHECKING:
    from lastgate.tools.audit.job import AuditJob
    from lastgate.tools.audit.run import AuditRun

FINDINGS_PRINTED = 10


PathOption = Annotated[str, typer.Option(metavar="P", help="What to check: action, state or both.")]
HorizonOption = Annotated[
    int | None,
    typer.Option(metavar="H", help="Steps per chunk of the policy: each then starts at the measured state."),
]
WorkersOption = Annotated[
    int | None, typer.Option(metavar="N", help="Processes; as many as there are cores if not given.")
]
RayOption = Annotated[
    str | None, typer.Option(metavar="A", help="Do it on Ray: `local`, or the address of a cluster.")
]
WorstOption = Annotated[
    int, typer.Option(metavar="N", help="Moments of each rule that the report shows as pictures.")
]
OutputOption = Annotated[
    Path | None, typer.Option("--output", "-o", metavar="DIR", help="Folder for the report.")
]
AsJsonOption = Annotated[bool, typer.Option("--json", help="Print the findings as JSON.")]


def audit_command(
    dataset: DatasetArgument,
    *,
    robot: RobotOption,
    world: WorldOption = None,
    path: PathOption = "action",
    horizon: HorizonOption = None,
    rate_hz: RateOption = None,
    degrees: DegreesOption = False,
    units: UnitsOption = None,
    columns: ColumnsOption = None,
    joint_map: JointMapOption = None,
    action_key: ActionKeyOption = "",
    state_key: StateKeyOption = "",
    episodes: EpisodesOption = None,
    workers: WorkersOption = None,
    ray: RayOption = None,
    worst: WorstOption = 2,
    output: OutputOption = None,
    as_json: AsJsonOption = False,
) -> int:
    """Sends every episode's rows through the gate, from the measured state on and between the steps too.

    Writes report.html, findings.parquet and episodes.parquet. A run that was cut off goes on where it was when the same
    command is given again. An episode that cannot be read is reported, and the audit goes on.
    """
    from lastgate.contracts import ROSConfigError
    from lastgate.tools.cli.progress_bar import progress_bar

    job = audit_job(
        dataset=dataset,
        robot=robot,
        world=world,
        path=path,
        horizon=horizon,
        rate_hz=rate_hz,
        degrees=degrees,
        units=units,
        columns=columns,
        joint_map=joint_map,
        action_key=action_key,
        state_key=state_key,
        episodes=episodes,
    )
    try:
        from lastgate.tools.audit.run import run_audit
    except ModuleNotFoundError as error:
        raise ROSConfigError(
            f"audits need {error.name}, which is not installed\n\nhint: {install_command('audit')}"
        ) from None
    if workers is not None and workers < 1:
        raise ROSConfigError(f"`--workers` must be at least 1: `{workers}`")
    folder = output or Path("reports") / f"audit-{dataset.resolve().stem}"
    with progress_bar("audit") as show:
        run = run_audit(
            job,
            folder,
            workers=workers or len(os.sched_getaffinity(0)),
            ray=ray,
            worst_per_rule=max(0, worst),
            on_progress=show,
        )
    return _answer(run, folder, has_world=world is not None, as_json=as_json)


def _answer(run: "AuditRun", folder: Path, *, has_world: bool, as_json: bool) -> int:
    summary = run.summary
    if as_json:
        print(
            json.dumps(
                {"report": str(folder / "report.html"), **summary.as_dict()}, indent=2, allow_nan=False
            )
        )
    else:
        _print_summary(run)
    print_note(f"wrote {folder / 'report.html'}, findings.parquet and episodes.parquet")
    sys.stdout.flush()
    if not has_world:
        print_note("no --world was given: obstacles were NOT checked")
    if summary.unreadable:
        print_error(
            f"{len(summary.unreadable)} of {summary.episodes} episodes could not be audited, first "
            f"{summary.unreadable[0]['name']}: {summary.unreadable[0]['trouble']}"
        )
        return 2
    return 1 if summary.findings else 0


def audit_job(
    *,
    dataset: Path,
    robot: str,
    world: Path | None = None,
    path: str = "action",
    horizon: int | None = None,
    rate_hz: float | None = None,
    degrees: bool = False,
    units: str | None = None,
    columns: str | None = None,
    joint_map: str | None = None,
    action_key: str = "",
    state_key: str = "",
    episodes: int | None = None,
) -> "AuditJob":
    """Returns the job that the options describe; one that makes no sense raises `ROSConfigError`."""
    from lastgate.contracts import ROSConfigError

    try:
        from lastgate.tools.audit.dataset_options import DatasetOptions
        from lastgate.tools.audit.examine import ExamineOptions
        from lastgate.tools.audit.job import AuditJob
        from lastgate.tools.audit.joint_units import parse_units
    except ModuleNotFoundError as error:
        raise ROSConfigError(
            f"audits need {error.name}, which is not installed\n\nhint: {install_command('audit')}"
        ) from None
    from lastgate.robots import load_robot
    from lastgate.tools.cli.input_files import load_world

    if path not in ("action", "state", "both"):
        raise ROSConfigError(f"`--path` is action, state or both: `{path}`")
    if horizon is not None and horizon < 1:
        raise ROSConfigError(f"`--horizon` must be at least 1: `{horizon}`")
    if rate_hz is not None and not 0.0 < rate_hz <= 1.0e5:
        raise ROSConfigError(f"`--rate-hz` must be a positive number: `{rate_hz:g}`")
    if episodes is not None and episodes < 1:
        raise ROSConfigError(f"`--episodes` must be at least 1: `{episodes}`")
    if degrees and units is not None:
        raise ROSConfigError("`--degrees` is `--units degrees`: give one of the two")
    if columns is not None and joint_map is not None:
        raise ROSConfigError("`--columns` and `--joint-map` say the same: give one of the two")
    state = None if world is None else load_world(world, robot=load_robot(robot))
    return AuditJob(
        dataset=str(dataset),
        robot=robot,
        world_json=None if state is None else state.model_dump_json(),
        world_name="world" if world is None else world.stem,
        source=DatasetOptions(
            action_key=action_key, state_key=state_key, step_s=None if rate_hz is None else 1.0 / rate_hz
        ),
        options=ExamineOptions(
            path=path,  # pyright: ignore[reportArgumentType]
            horizon=horizon,
            units=parse_units("degrees" if degrees else units or "si"),
            columns=None if columns is None else _column_numbers(columns),
            joint_map=None if joint_map is None else parse_joint_map(joint_map),
        ),
        episodes_max=episodes,
    )


def _column_numbers(text: str) -> tuple[int, ...]:
    from lastgate.contracts import ROSConfigError

    try:
        return tuple(int(column) for column in text.split(","))
    except ValueError:
        raise ROSConfigError(f"`--columns` is a list of numbers like 0,1,2: `{text}`") from None


def parse_joint_map(text: str) -> tuple[tuple[str, str], ...]:
    """Returns the joint of each column in `0=shoulder,1=elbow`."""
    from lastgate.contracts import ROSConfigError

    pairs = [tuple(part.strip() for part in entry.partition("=")[::2]) for entry in text.split(",")]
    if not all(column and joint for column, joint in pairs):
        raise ROSConfigError(f"`--joint-map` is a list like 0=shoulder,1=elbow: `{text}`")
    columns = [column for column, _ in pairs]
    if len(set(columns)) != len(columns):
        raise ROSConfigError(f"`--joint-map` names a column twice: `{text}`")
    return tuple((column, joint) for column, joint in pairs)


def _print_summary(run: "AuditRun") -> None:
    summary = run.summary
    rows: list[tuple[str, Any, bool]] = [
        ("episodes", summary.episodes, True),
        ("rows", summary.rows, True),
        ("clean episodes", summary.clean, True),
        ("findings", len(summary.findings), not summary.findings),
        *((f"  {code}", count, False) for code, count in summary.by_code.items()),
        ("could not be audited", len(summary.unreadable), not summary.unreadable),
    ]
    if summary.cut_off:
        rows.append(("more findings than kept", f"{len(summary.cut_off)} episodes", False))
    if summary.score is not None:
        score = summary.score
        rows += [
            ("planted faults found", f"{score.found} of {score.planted}", score.found == score.planted),
            ("findings not planted", score.invented, not score.invented),
        ]
    if run.reused_parts:
        rows.append(("parts done before", run.reused_parts, True))
    if run.rows_now and run.cpu_s > 0.0:
        rows += [
            ("rows per second of a core", f"{run.rows_now / run.cpu_s:,.0f}", True),
            ("time", f"{run.wall_s:.1f} s, {run.cpu_s:.1f} s of processor time", True),
        ]
    for name, value, is_good in rows:
        text = str(value)
        print(f"{name:<26}  {text if is_good else paint(text, 'red', stream=sys.stdout)}")
    for finding in summary.findings[:FINDINGS_PRINTED]:
        # Names of episodes, links and obstacles come from files.
        said = f"{finding['name']}, row {finding['first_row']}: {finding['code']}: {finding['sentence']}"
        print(printable(said))
    left = len(summary.findings) - FINDINGS_PRINTED
    if left > 0:
        print(f"and {left} more, in the report")
    if summary.unchecked:
        print(f"not checked: {', '.join(summary.unchecked)}")
