# SPDX-License-Identifier: Apache-2.0
"""`lastgate approach`: where to stand to see a target. Exit 0 a pose, 1 blocked, 2 could not decide."""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lastgate.tools.cli.messages import paint, print_hint, print_undecided

if TYPE_CHECKING:
    from lastgate.contracts import ApproachViewpoint

BLOCKED = "approach BLOCKED on the occupancy grid"


def approach_command(
    *,
    map_path: Annotated[
        Path,
        typer.Option("--map", metavar="M", help="The .yaml of a map_server pair (.yaml and .pgm or .png)."),
    ],
    target: Annotated[
        tuple[float, float, float], typer.Option(metavar="X Y Z", help="What to see, in the map's frame.")
    ],
    standoff: Annotated[float, typer.Option(metavar="M", help="How far from it to stand.")] = 0.6,
    min_standoff: Annotated[
        float | None, typer.Option(metavar="M", help="Nearest; half of --standoff if not given.")
    ] = None,
    max_standoff: Annotated[
        float | None, typer.Option(metavar="M", help="Farthest; twice --standoff if not given.")
    ] = None,
    from_xy: Annotated[
        tuple[float, float] | None,
        typer.Option(
            "--from", metavar="X Y", help="Where the robot is: the side to stand on, and it must get there."
        ),
    ] = None,
    radius: Annotated[float, typer.Option(metavar="M", help="How far from the ideal pose to look.")] = 2.0,
    inflation: Annotated[
        float | None, typer.Option(metavar="M", help="Radius that must be free; 0.25 unless --robot says.")
    ] = None,
    robot: Annotated[
        str | None,
        typer.Option(metavar="R", help="A robot of the robot library or a robot.yaml, for its footprint."),
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(metavar="F.png", help="Draw map, poses and line of sight.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the poses as JSON.")] = False,
) -> int:
    """Finds the pose nearest to the ideal one that is free on a map, sees the target and keeps its stand-off.

    Unknown and unmapped space counts as occupied. Without --from the robot is taken to come from -x, and
    whether it can get there is not checked.
    """
    from lastgate.contracts.exceptions import ROSError

    try:
        report, ideal, refined = _answer(
            map_path=map_path,
            target=target,
            standoff_m=standoff,
            standoffs_m=(min_standoff, max_standoff),
            from_xy=from_xy,
            radius_m=radius,
            inflation_m=inflation,
            robot_name=robot,
            plot=plot,
        )
    except ROSError as error:
        if not as_json:
            raise
        print_undecided(error, ok=False)
        return 2
    if as_json:
        print(json.dumps(report, indent=2, allow_nan=False))
    else:
        _print(report, ideal, refined)
    return 0 if refined is not None else 1


def _answer(
    *,
    map_path: Path,
    target: tuple[float, float, float],
    standoff_m: float,
    standoffs_m: tuple[float | None, float | None],
    from_xy: tuple[float, float] | None,
    radius_m: float,
    inflation_m: float | None,
    robot_name: str | None,
    plot: Path | None,
) -> tuple[dict[str, Any], "ApproachViewpoint", "ApproachViewpoint | None"]:
    from lastgate.planning.approach import (
        OccupancyGridIndex,
        compute_approach_viewpoint,
        refine_approach_pose,
    )
    from lastgate.planning.approach.refine import INFLATION_M_DEFAULT, STANDOFF_SHARE_MAX, STANDOFF_SHARE_MIN

    disc_m, vertices = _footprint(robot_name, inflation_m)
    disc_m = INFLATION_M_DEFAULT if disc_m is None else disc_m
    grid = OccupancyGridIndex.from_file(map_path)
    ideal = compute_approach_viewpoint(target, from_xy, standoff_m=standoff_m)
    refined = refine_approach_pose(
        grid,
        ideal,
        target,
        max_radius_m=radius_m,
        min_standoff_m=standoffs_m[0],
        max_standoff_m=standoffs_m[1],
        inflation_m=disc_m,
        footprint_xy=vertices,
        reachable_from_xy=from_xy,
    )
    least_m = STANDOFF_SHARE_MIN * standoff_m if standoffs_m[0] is None else standoffs_m[0]
    most_m = STANDOFF_SHARE_MAX * standoff_m if standoffs_m[1] is None else standoffs_m[1]
    if plot is not None:
        from lastgate.planning.approach.plot import save_approach_plot

        save_approach_plot(
            plot,
            grid,
            ideal=ideal,
            refined=refined,
            target_xyz=target,
            standoffs_m=(least_m, most_m),
            inflation_m=disc_m,
            around_m=1.3 * max(most_m, standoff_m + radius_m),
        )
    report = {
        "ok": refined is not None,
        "decided": True,
        "answer": "blocked" if refined is None else "ideal" if refined is ideal else "refined",
        "map": str(map_path),
        "target_xyz": list(target),
        "standoff_m": [least_m, most_m],
        "ideal": ideal.model_dump(mode="json"),
        "refined": None if refined is None else refined.model_dump(mode="json"),
        "reachability_checked": from_xy is not None,
        "plot": None if plot is None else str(plot),
    }
    return report, ideal, refined


def _footprint(
    robot_name: str | None, inflation_m: float | None
) -> tuple[float | None, list[list[float]] | None]:
    from lastgate.contracts.exceptions import ROSConfigError
    from lastgate.robots import load_robot

    if robot_name is None:
        return inflation_m, None
    if inflation_m is not None:
        raise ROSConfigError(
            "`--robot` and `--inflation` both say how wide it is\n\nhint: leave one of them out"
        )
    robot = load_robot(robot_name)
    if robot.footprint_polygon is not None:
        return robot.footprint_radius, [list(vertex) for vertex in robot.footprint_polygon]
    if robot.footprint_radius is not None:
        return robot.footprint_radius, None
    raise ROSConfigError(
        f"robot `{robot.name}` declares neither footprint_radius nor footprint_polygon\n\n"
        "hint: say how wide it is with `--inflation`"
    )


def _print(report: dict[str, Any], ideal: "ApproachViewpoint", refined: "ApproachViewpoint | None") -> None:
    if refined is None:
        print(paint(BLOCKED, "red", stream=sys.stdout))
        print(f"  ideal    {_pose(ideal)}")
        sys.stdout.flush()
        print_hint("a larger --radius or --max-standoff allows more places")
        return
    unchanged = refined is ideal
    word = (
        "the ideal pose is free and sees the target" if unchanged else "moved to the nearest pose that does"
    )
    print(f"{paint(report['answer'], 'green', stream=sys.stdout)}: {word}")
    print(f"  ideal    {_pose(ideal)}")
    if not unchanged:
        print(f"  refined  {_pose(refined)}")
    if not report["reachability_checked"]:
        print("  not checked: whether the robot can get there")


def _pose(viewpoint: "ApproachViewpoint") -> str:
    from lastgate.planning.approach.viewpoint import yaw_of

    x, y, _ = viewpoint.pose.xyz
    return (
        f"x {x:8.3f}  y {y:8.3f}  yaw {yaw_of(viewpoint.pose):6.3f}  stand-off {viewpoint.standoff_m:.3f} m"
    )
