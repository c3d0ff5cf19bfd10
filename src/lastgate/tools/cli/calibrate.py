# SPDX-License-Identifier: Apache-2.0
"""`lastgate calibrate check`: do recorded joints fit the manifest? Exit 0 fine, 1 fault found, 2 cannot tell."""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lastgate.contracts.printable import printable
from lastgate.tools.cli.audit import parse_joint_map
from lastgate.tools.cli.dataset_arguments import (
    ActionKeyOption,
    DegreesOption,
    JointMapOption,
    RateOption,
    StateKeyOption,
    UnitsOption,
)
from lastgate.tools.cli.messages import paint, print_note
from lastgate.tools.cli.options import RobotOption

if TYPE_CHECKING:
    from lastgate.tools.audit.calibration import CalibrationReport

EXITS = {"fits": 0, "fault": 1, "cannot tell": 2}
COLOURS = {"fits": "green", "fault": "red", "cannot tell": "yellow"}


def calibrate_check_command(
    log: Annotated[
        Path,
        typer.Argument(
            metavar="LOG", help="An .npz file of one motion, or a dataset; its first episode is read."
        ),
    ],
    *,
    robot: RobotOption,
    rate_hz: RateOption = None,
    degrees: DegreesOption = False,
    units: UnitsOption = None,
    joint_map: JointMapOption = None,
    action_key: ActionKeyOption = "",
    state_key: StateKeyOption = "",
    tool_link: Annotated[
        str,
        typer.Option(
            metavar="L", help="Link that carries the recorded tool; the first end effector's if not given."
        ),
    ] = "",
    as_json: Annotated[bool, typer.Option("--json", help="Print the answers as JSON.")] = False,
) -> int:
    """Says per joint whether zero, sign, unit, order and scale of recorded motion fit the manifest.

    The robot was inside its limits, clear of itself, and its tool was where it was seen (`tool_pose`): positions that
    say otherwise are wrong. Commands and reported velocities can show a fault, too. What nothing distinguishes is
    answered with "cannot tell" and the reason.
    """
    from lastgate.contracts import ROSConfigError
    from lastgate.gate import Gate
    from lastgate.robots import load_robot
    from lastgate.tools.audit.calibration import check_calibration, load_motion
    from lastgate.tools.audit.dataset_options import DatasetOptions
    from lastgate.tools.audit.joint_units import parse_units

    if degrees and units is not None:
        raise ROSConfigError("`--degrees` is `--units degrees`: give one of the two")
    if rate_hz is not None and not 0.0 < rate_hz <= 1.0e5:
        raise ROSConfigError(f"`--rate-hz` must be a positive number: `{rate_hz:g}`")
    gate = Gate(load_robot(robot), step_s=0.02)
    motion = load_motion(
        log,
        gate,
        options=DatasetOptions(
            action_key=action_key, state_key=state_key, step_s=None if rate_hz is None else 1.0 / rate_hz
        ),
        units=parse_units("degrees" if degrees else units or "si"),
        joint_map=None if joint_map is None else parse_joint_map(joint_map),
        tool_link=tool_link,
    )
    report = check_calibration(gate, motion)
    if as_json:
        print(json.dumps(_as_dict(report), indent=2, allow_nan=False))
    else:
        _print_report(report)
    sys.stdout.flush()
    if motion.tool is None:
        print_note("no `tool_pose` was recorded: poses of the tool settle most of what stays open")
    return EXITS[report.outcome]


def _as_dict(report: "CalibrationReport") -> dict:
    return {
        "robot": report.robot,
        "outcome": report.outcome,
        "rows": report.rows,
        "seconds": report.seconds,
        "contradiction": report.contradiction,
        "explanations": [fault.words for fault in report.explanations],
        "joints": {
            joint: {
                kind.value: {"outcome": answer.outcome, "reason": answer.reason}
                for kind, answer in of.items()
            }
            for joint, of in report.joints.items()
        },
    }


def _print_report(report: "CalibrationReport") -> None:
    width = max(len(name) for name in report.joints)
    kinds = list(next(iter(report.joints.values())))
    print(f"{report.robot}: {report.rows} rows over {report.seconds:.1f} s")
    print(f"{'joint':<{width}}  {'  '.join(f'{kind.value:<11}' for kind in kinds)}".rstrip())
    for joint, answers in report.joints.items():
        columns = "  ".join(
            paint(f"{answer.outcome:<11}", COLOURS[answer.outcome], stream=sys.stdout)
            for answer in answers.values()
        )
        print(f"{printable(joint):<{width}}  {columns}".rstrip())
    if report.contradiction:
        print(f"fault found: {printable(report.contradiction)}")
        for fault in report.explanations:
            print(f"  would explain it: {printable(fault.words)}")
        if not report.explanations:
            print("  no single fault of one joint would explain it")
        return
    for joint, answers in report.joints.items():
        for kind, answer in answers.items():
            if answer.outcome == "cannot tell":
                print(f"cannot tell the {kind.value} of {printable(joint)}: {printable(answer.reason)}")
