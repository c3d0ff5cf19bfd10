# SPDX-License-Identifier: Apache-2.0
"""`lastgate limits`: margins and limits from recordings, as a diff that is never applied."""

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from lastgate.tools.cli.audit import audit_job
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
from lastgate.tools.cli.messages import print_note, print_warning
from lastgate.tools.cli.options import RobotOption

if TYPE_CHECKING:
    from lastgate.tools.audit.limits import LimitsReport


def limits_command(
    dataset: DatasetArgument,
    *,
    robot: RobotOption,
    quantile: Annotated[
        float, typer.Option(metavar="Q", help="The share of rows that a proposal has to cover.")
    ] = 0.999,
    rate_hz: RateOption = None,
    degrees: DegreesOption = False,
    units: UnitsOption = None,
    columns: ColumnsOption = None,
    joint_map: JointMapOption = None,
    action_key: ActionKeyOption = "",
    state_key: StateKeyOption = "",
    episodes: EpisodesOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the numbers as JSON.")] = False,
) -> int:
    """Proposes speed and acceleration limits and a tracking margin from what was seen, as a diff of the manifest.

    Every fifth episode is held out and shows how much of it the proposal covers. Nothing is written.
    """
    from lastgate.tools.cli.progress_bar import progress_bar

    job = audit_job(
        dataset=dataset,
        robot=robot,
        rate_hz=rate_hz,
        degrees=degrees,
        units=units,
        columns=columns,
        joint_map=joint_map,
        action_key=action_key,
        state_key=state_key,
        episodes=episodes,
    )
    from lastgate.tools.audit.job import opened
    from lastgate.tools.audit.limits import HEADROOM, propose_limits
    from lastgate.tools.audit.limits_diff import propose_diff

    with progress_bar("limits") as show:
        report = propose_limits(opened(job), quantile=quantile, on_progress=show)
    diff = propose_diff(robot, report)
    if as_json:
        print(json.dumps({**asdict(report), "diff": diff}, indent=2))
        return 0
    _print_limits(report, quantile=quantile)
    print(diff)
    print_note(
        f"limits are what was seen times {HEADROOM:g}, never above what is declared; nothing was written"
    )
    for trouble in report.unreadable[:5]:
        print_warning(trouble)
    if len(report.unreadable) > 5:
        print_warning(f"and {len(report.unreadable) - 5} more episodes could not be used")
    return 0


def _print_limits(report: "LimitsReport", *, quantile: float) -> None:
    print(f"{report.episodes} episodes, {report.rows} rows; {quantile:.4g} of the rows lie within:")
    print(f"{'joint':<24} {'tracking error':>15} {'speed':>10} {'declared':>10} {'acceleration':>13}")
    for joint in report.joints:
        error = (
            "not known" if joint.tracking_error is None else f"{joint.tracking_error[f'{quantile:g}']:.4f}"
        )
        declared = "none" if joint.velocity_declared is None else f"{joint.velocity_declared:.4f}"
        print(
            f"{joint.joint:<24} {error:>15} {joint.velocity_seen:>10.4f} {declared:>10} "
            f"{joint.acceleration_seen:>13.4f}"
        )
    cover = report.coverage
    print(f"held out: {cover.episodes} episodes, {cover.rows} rows, of which the proposal covers")
    print(f"  speed                  {cover.velocity:.5f}")
    print(f"  acceleration           {cover.acceleration:.5f}")
    if cover.margin is not None and report.margin_m is not None:
        print(f"  margin of {report.margin_m * 1000:g} mm         {cover.margin:.5f}")
