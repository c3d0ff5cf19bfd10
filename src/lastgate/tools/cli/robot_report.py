# SPDX-License-Identifier: Apache-2.0
"""`lastgate robot report`: coverage, growth, pairs with reasons, both error rates and a picture."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lastgate.contracts.exceptions import ROSConfigError
from lastgate.tools.cli.messages import print_error, print_note

if TYPE_CHECKING:
    from lastgate.contracts.robot import RobotDescription
    from lastgate.tools.lowering.report import RobotReport
    from lastgate.tools.lowering.shapes import LinkShapes


def report_command(
    robot: Annotated[
        str, typer.Argument(metavar="R", help="A robot library name, a robot.yaml or its folder.")
    ],
    *,
    output_dir: Annotated[
        Path, typer.Option("--output-dir", "-o", metavar="DIR", help="Folder for page and picture.")
    ] = Path(),
    samples: Annotated[int, typer.Option(min=100, help="Random configurations for the error rates.")] = 2000,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the numbers as JSON and write nothing.")
    ] = False,
) -> None:
    """Measures a robot's volumes against its meshes and writes a page with a picture; prints its path.

    Exits with 2 if the manifest or one of its files cannot be used.
    """
    from lastgate.robots import find_manifest

    try:
        path = find_manifest(robot)
        if as_json:
            print(json.dumps(_report(path, samples=samples, notes=[])[0].as_json(), indent=2))
        else:
            print(write_report(path, output_dir, samples=samples, notes=[]))
    except ROSConfigError as error:
        print_error(str(error))
        raise typer.Exit(2) from error


def write_report(path: Path, folder: Path, *, samples: int, notes: list[str]) -> Path:
    """Writes `<robot>_report.md` and `<robot>_report.png`, and notes the error rates; returns the page."""
    from lastgate.tools.lowering.picture import save_picture

    report, robot, shapes = _report(path, samples=samples, notes=notes)
    folder.mkdir(parents=True, exist_ok=True)
    picture = folder / f"{robot.name}_report.png"
    save_picture(robot, shapes, picture)
    page = folder / f"{robot.name}_report.md"
    page.write_text(report.as_markdown(picture.name), encoding="utf-8")
    print_note(report.summary())
    return page


def _report(
    path: Path, *, samples: int, notes: list[str]
) -> tuple[RobotReport, RobotDescription, dict[str, LinkShapes]]:
    from lastgate.robots import load_robot
    from lastgate.tools.cli.collision_lower import load_text
    from lastgate.tools.cli.progress_bar import progress_bar
    from lastgate.tools.lowering.drawn import drawn_outside, drawn_shapes
    from lastgate.tools.lowering.lower import read_description
    from lastgate.tools.lowering.manifest_splice import read_manifest
    from lastgate.tools.lowering.measure import measure
    from lastgate.tools.lowering.report import report_robot

    robot = read_manifest(load_text(path), source=str(path))
    if not robot.collision_geometry:
        raise ROSConfigError(
            f"{path}: robot `{robot.name}` has no volumes yet\n\n"
            f"hint: lastgate collision lower --robot {path} --write"
        )
    description = read_description(robot, path.parent)
    with progress_bar(robot.name) as progress:
        # With its convex hulls, which the gate asks and the report of volumes does not.
        rates = measure(
            load_robot(path),
            path.parent,
            samples=samples,
            progress=lambda share: progress(f"{samples} configurations", share),
            with_neighbours=True,
        )
    drawn, unread = drawn_shapes(robot, path.parent)
    report = report_robot(
        robot,
        description.shapes,
        rates,
        [*notes, *(f"what is drawn was not measured: {problem}" for problem in unread)],
        drawn_outside_m=drawn_outside(drawn, robot.collision_geometry),
    )
    return report, robot, description.shapes
