# SPDX-License-Identifier: Apache-2.0
"""`lastgate shadow`: what a gate that only watched would have rejected, and what other margins would have."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from lastgate.tools.cli.messages import print_note
from lastgate.tools.cli.options import RobotOption


def shadow_command(
    log: Annotated[
        Path, typer.Argument(metavar="LOG", help="The log of a `lastgate.integrations.shadow.Shadow`.")
    ],
    *,
    robot: RobotOption,
    margins: Annotated[
        str, typer.Option(metavar="M,M,…", help="Margins to try, in millimetres.")
    ] = "0,5,10,20,30",
    as_json: Annotated[bool, typer.Option("--json", help="Print the numbers as JSON.")] = False,
) -> int:
    """Counts what would have been rejected per hour, by reason, and tries other margins on the same log."""
    from lastgate.contracts import ROSConfigError
    from lastgate.robots import load_robot
    from lastgate.tools.audit.shadow_report import NEAR_M, report_shadow

    try:
        margins_m = [float(margin) / 1000.0 for margin in margins.split(",")]
    except ValueError:
        raise ROSConfigError(f"`--margins` is a list of millimetres like 0,5,10: `{margins}`") from None
    if not all(0.0 <= margin <= 1.0 for margin in margins_m):
        raise ROSConfigError(f"`--margins` lie between 0 and 1000 mm: `{margins}`")
    report = report_shadow(log, load_robot(robot), margins_m=margins_m)
    if as_json:
        print(json.dumps(asdict(report), indent=2))
        return 0
    print(f"{report.proposals} proposals in {report.hours:.3f} h, {report.refused} would have been rejected")
    for code, count in report.refused_by_reason.items():
        print(
            f"  {code:<26} {count:>6}, {report.refused_per_hour[code]:.1f} per hour: {report.examples[code]}"
        )
    for row in report.sweep:
        print(
            f"at {row.margin_m * 1000:g} mm: {row.refused_per_hour:.1f} rejections per hour, "
            f"{row.near_contacts} near contacts"
        )
    if report.sweep:
        print_note(f"a near contact is accepted and comes nearer than {NEAR_M * 1000:g} mm")
    for margin in report.skipped_margins_m:
        print_note(f"{margin * 1000:g} mm is less than the robot itself asks for, and was not tried")
    if report.left_out_of_sweep:
        print_note(
            f"{report.left_out_of_sweep} proposals are not in the sweep: their world is not in the log"
        )
    return 0
