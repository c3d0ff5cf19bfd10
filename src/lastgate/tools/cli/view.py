# SPDX-License-Identifier: Apache-2.0
"""`lastgate view`: robot and world in the browser before anything runs."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lastgate.tools.cli.messages import print_hint, print_note
from lastgate.tools.cli.options import RobotOption, WorldOption

if TYPE_CHECKING:
    from lastgate.contracts.action import ActionChunk, RobotState
    from lastgate.gate import Gate
    from lastgate.gate.verdict import Verdict
    from lastgate.world import NoWorld, World

# What is drawn does not depend on it, and a robot that stands still does not move in it.
_STEP_S = 0.02


def view_command(
    *,
    robot: RobotOption,
    world: WorldOption = None,
    state: Annotated[
        Path | None,
        typer.Option(metavar="S", help="Where the robot stands: .json, .yaml, .npy or .csv; else mid-range."),
    ] = None,
    port: Annotated[
        int, typer.Option(metavar="P", help="Where to listen on this machine; 0 takes a free port.")
    ] = 0,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="FILE", help="Write one file for a browser, serve nothing."),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print what would be shown as JSON, serve nothing.")
    ] = False,
) -> int:
    """Shows robot, volumes, zones and world in the browser, and says whether the robot may stand there.

    A world, state or robot.yaml that is saved again is shown at once. Nothing moves, and no kernel is needed.
    """
    from lastgate.robots import find_manifest
    from lastgate.tools.cli.until_asked import until_asked
    from lastgate.tools.dashboard.one_file import one_file
    from lastgate.tools.dashboard.still_server import FollowedScene, StillServer

    manifest = find_manifest(robot)
    followed = FollowedScene(
        lambda: _scene(robot, manifest, world_path=world, state_path=state),
        [path for path in (manifest, world, state) if path is not None],
    )
    if as_json:
        print(json.dumps(followed.scene, indent=2, allow_nan=False))
        return 0
    if output is not None:
        write_file(output, one_file(followed.scene, title=f"lastgate: {followed.scene['title']}"))
        return 0
    server = StillServer(followed, port=port)
    try:
        print(server.url, flush=True)
        print_note("open it in a browser of this machine; Ctrl-C ends it")
        if world is None:
            print_hint("`--world table.yaml` shows what stands around the robot, and again when it is saved")
        with until_asked(None) as go_on:
            while go_on():
                server.wait(0.2)
    finally:
        server.close()
    return 0


def _scene(
    robot_name: str, manifest: Path, *, world_path: Path | None, state_path: Path | None
) -> dict[str, Any]:
    from lastgate.contracts.action import RobotState
    from lastgate.gate import Gate
    from lastgate.robots import load_robot
    from lastgate.tools.cli.gate_inputs import state_of_file, world_of_file
    from lastgate.tools.cli.input_files import load_state, load_world
    from lastgate.tools.dashboard.still_scene import StillScene, middle_of_ranges

    robot = load_robot(robot_name)
    gate = Gate(robot, step_s=_STEP_S)
    world_file = None if world_path is None else load_world(world_path, robot=robot)
    state_file = None if state_path is None else load_state(state_path, joint_names=gate.joint_names)
    stamps = [f.stamp_s for f in (world_file, state_file) if f is not None and f.stamp_s is not None]
    now_s = max(stamps, default=0.0)
    notes: list[str] = []
    world = world_of_file(world_file, path=world_path, robot=robot, now_s=now_s, no_world=True, notes=notes)
    if state_file is None:
        notes.append("no state was given: every joint stands in the middle of its range")
        state = RobotState(positions=middle_of_ranges(gate), stamp_s=now_s)
    else:
        state = state_of_file(state_file, now_s)
    scene = StillScene(gate, manifest_dir=manifest.parent)
    return scene.standing(state, world, notes=notes, now_s=now_s)


def write_checked_view(
    path: Path,
    gate: "Gate",
    verdict: "Verdict",
    *,
    robot_name: str | None,
    chunk: "ActionChunk",
    state: "RobotState | None",
    world: "World | NoWorld | None",
) -> None:
    """Writes a chunk that was checked as one file for a browser, and says so.

    Args:
        robot_name: As `--robot` takes it; None shows no meshes.

    Raises:
        ROSConfigError: The file cannot be written.
    """
    from lastgate.robots import find_manifest
    from lastgate.tools.dashboard.one_file import one_file
    from lastgate.tools.dashboard.still_scene import StillScene

    folder = None if robot_name is None else find_manifest(robot_name).parent
    scene = StillScene(gate, manifest_dir=folder).checked(verdict, chunk=chunk, state=state, world=world)
    write_file(path, one_file(scene, title=f"lastgate: {scene['verdict']['code']}"))


def write_file(path: Path, text: str) -> None:
    """Writes a page and says where; a folder that cannot be written raises `ROSConfigError`."""
    from lastgate.contracts import ROSConfigError

    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise ROSConfigError(f"cannot write `{path}`: {error.strerror}") from None
    print_note(f"wrote `{path}`: open it in a browser")
