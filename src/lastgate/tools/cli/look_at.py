# SPDX-License-Identifier: Apache-2.0
"""`lastgate look-at`: turn a camera to a point. Exit 0 a motion, 1 there is none, 2 could not decide."""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lastgate.tools.cli.messages import paint, print_note, print_undecided
from lastgate.tools.cli.options import RobotOption, WorldOption

if TYPE_CHECKING:
    from lastgate.contracts.action import RobotState
    from lastgate.gate import Gate
    from lastgate.planning.skills import LookAtPlan
    from lastgate.world import NoWorld, World

STEP_S_DEFAULT = 0.02


def look_at_command(
    *,
    robot: RobotOption,
    target: Annotated[
        tuple[float, float, float],
        typer.Option(metavar="X Y Z", help="What to see, in the robot's base frame."),
    ],
    camera: Annotated[str, typer.Option(metavar="C", help="A camera among the robot's sensors.")],
    standoff: Annotated[
        float | None,
        typer.Option(metavar="M", help="Distance of the camera from it; the camera stays if not given."),
    ] = None,
    state: Annotated[
        Path | None, typer.Option(metavar="S", help="Where the arm is: .json, .yaml, .npy or .csv.")
    ] = None,
    world: WorldOption = None,
    step_s: Annotated[float, typer.Option(metavar="S", help="Time from step to step.")] = STEP_S_DEFAULT,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="F.csv", help="Write the steps, for `lastgate check`."),
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(metavar="F.png", help="Draw the arm, the way and the line of view.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print goal and steps as JSON.")] = False,
) -> int:
    """Plans a motion after which a camera looks at a point; the gate has accepted every segment of it.

    Nothing moves. Without --state the arm starts in the middle of its joint ranges, and without --world
    nothing but the robot itself is in the way; both are said on stderr.
    """
    from lastgate.contracts.exceptions import ROSError, ROSPlanningError

    try:
        report, plan = _answer(
            robot_name=robot,
            target=target,
            camera=camera,
            standoff_m=standoff,
            state_path=state,
            world_path=world,
            step_s=step_s,
            output=output,
            plot=plot,
        )
    except ROSPlanningError as error:
        if as_json:
            print(json.dumps({"ok": False, "decided": True, "error": str(error)}, indent=2))
        else:
            print(f"{paint('no motion', 'red', stream=sys.stdout)}: {error}")
        return 1
    except ROSError as error:
        if not as_json:
            raise
        print_undecided(error, ok=False)
        return 2
    if as_json:
        print(json.dumps(report, indent=2, allow_nan=False))
    else:
        _print(report, plan)
    return 0


def _answer(
    *,
    robot_name: str,
    target: tuple[float, float, float],
    camera: str,
    standoff_m: float | None,
    state_path: Path | None,
    world_path: Path | None,
    step_s: float,
    output: Path | None,
    plot: Path | None,
) -> tuple[dict[str, Any], "LookAtPlan"]:
    from lastgate.gate import Gate
    from lastgate.planning.skills import MotionPlanner, find_camera, load_skill_manifest, plan_look_at
    from lastgate.robots import load_robot

    description = load_robot(robot_name)
    mounted = find_camera(description, camera)
    gate = Gate(description, step_s=step_s, skill=load_skill_manifest("look_at"))
    start = _start(gate, state_path)
    around = _around(gate, world_path)
    plan = plan_look_at(
        MotionPlanner(gate),
        camera=camera,
        target_xyz=target,
        standoff_m=standoff_m,
        state=start,
        world=around,
        now_s=0.0,
    )
    if output is not None:
        _write_rows(output, plan)
    if plot is not None:
        from lastgate.planning.skills.plot import save_look_at_plot

        save_look_at_plot(plot, gate, mounted, plan, world=around)
    report = {
        "ok": True,
        "decided": True,
        "robot": description.name,
        "camera": camera,
        "target_xyz": list(plan.target_xyz),
        "eye_xyz": list(plan.eye_xyz),
        "distance_m": plan.distance_m,
        "off_axis_rad": plan.off_axis_rad,
        "goal": {
            "link": plan.goal.link,
            "pose": plan.goal.pose.model_dump(mode="json"),
            "free_axis_in_link": list(plan.goal.free_axis_in_link or ()),
        },
        "joint_names": list(plan.trajectory.joint_names),
        "step_s": plan.trajectory.step_s,
        "start": plan.trajectory.start.tolist(),
        "rows": plan.trajectory.rows.tolist(),
        "world_checked": world_path is not None,
        "plot": None if plot is None else str(plot),
    }
    return report, plan


def _start(gate: "Gate", state_path: Path | None) -> "RobotState":
    import numpy as np

    from lastgate.contracts.action import RobotState
    from lastgate.tools.cli.input_files import load_state

    if state_path is not None:
        read = load_state(state_path, joint_names=gate.joint_names)
        return RobotState(
            positions=read.positions,
            velocities=read.velocities,
            gripper_positions=read.gripper_positions,
            stamp_s=0.0,
        )
    print_note("no --state was given: the arm starts in the middle of its joint ranges")
    limits = {joint.name: joint.position_limits or (0.0, 0.0) for joint in gate.robot.actuated_joints}
    return RobotState(positions=np.array([0.5 * sum(limits[name]) for name in gate.joint_names]), stamp_s=0.0)


def _around(gate: "Gate", world_path: Path | None) -> "World | NoWorld":
    from lastgate.tools.cli.input_files import load_world
    from lastgate.world import NO_WORLD, World

    if world_path is None:
        print_note("no --world was given: nothing but the robot itself is in the way")
        return NO_WORLD
    read = load_world(world_path, robot=gate.robot)
    return World(primitives=read.collision_primitives, stamp_s=0.0, world_id=world_path.name)


def _write_rows(path: Path, plan: "LookAtPlan") -> None:
    from lastgate.contracts import ROSConfigError

    lines = [",".join(plan.trajectory.joint_names)]
    lines += [",".join(repr(float(value)) for value in row) for row in plan.trajectory.rows]
    try:
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    except OSError as error:
        raise ROSConfigError(f"`{path}` cannot be written: {error.strerror}") from None


def _print(report: dict[str, Any], plan: "LookAtPlan") -> None:
    x, y, z = plan.eye_xyz
    words = paint("found", "green", stream=sys.stdout)
    print(f"{words}: camera `{report['camera']}` looks at the target from {plan.distance_m:.3f} m")
    print(f"  eye       x {x:8.3f}  y {y:8.3f}  z {z:8.3f}")
    print(f"  off axis  {plan.off_axis_rad:.2e} rad")
    print(
        f"  motion    {len(plan.trajectory.rows)} steps, {plan.trajectory.duration_s:.2f} s, accepted by the gate"
    )
    ends = ", ".join(
        f"{name} {value:.3f}" for name, value in zip(report["joint_names"], plan.trajectory.end, strict=True)
    )
    print(f"  ends at   {ends}")
    if not report["world_checked"]:
        print("  not checked: obstacles, and whether something hides the target")
