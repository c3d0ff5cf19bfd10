# SPDX-License-Identifier: Apache-2.0
"""`lastgate synth`: a dataset whose faults are known."""

import json
from pathlib import Path
from typing import Annotated

import typer

from lastgate.contracts.extras import install_command
from lastgate.tools.cli.messages import print_note
from lastgate.tools.cli.options import RobotOption


def synth_command(
    *,
    robot: RobotOption,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="DIR", help="A new folder.")],
    episodes: Annotated[int, typer.Option(metavar="N", help="How many episodes.")] = 100,
    faults: Annotated[
        int, typer.Option(metavar="K", help="How many planted faults, over all episodes.")
    ] = 20,
    seed: Annotated[int, typer.Option(metavar="S", help="The same seed gives the same dataset.")] = 1,
    fps: Annotated[
        float | None, typer.Option(metavar="HZ", help="Steps per second; 30 where the robot is fast enough.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print what was written as JSON.")] = False,
) -> int:
    """Writes a LeRobot v3 dataset with exactly so many planted, labelled faults, and the world it is in.

    Planted are jumps, limits, self-collisions, contacts between two steps, NaN and stale states; meta/faults.jsonl says
    where. `lastgate audit` holds its findings against these labels.
    """
    from lastgate.contracts import ROSConfigError
    from lastgate.robots import load_robot
    from lastgate.tools.cli.progress_bar import progress_bar

    try:
        from lastgate.tools.audit.synth.dataset import write_dataset
    except ModuleNotFoundError as error:
        raise ROSConfigError(
            f"datasets need {error.name}, which is not installed\n\nhint: {install_command('audit')}"
        ) from None
    if seed < 0:
        raise ROSConfigError(f"`--seed` must not be negative: `{seed}`")
    if fps is not None and not 0.0 < fps <= 1000.0:
        raise ROSConfigError(f"`--fps` must be above 0 and at most 1000: `{fps:g}`")
    with progress_bar("synth") as show:
        written = write_dataset(
            load_robot(robot), output, episodes=episodes, faults=faults, seed=seed, fps=fps, on_progress=show
        )
    if as_json:
        print(json.dumps(written, indent=2))
    else:
        print(
            f"{written['episodes']} episodes, {written['rows']} steps at {written['fps']:g} Hz, "
            f"{written['faults']} planted faults"
        )
        print_note(f"wrote {output}; audit it with its world: `--world {written['world']}`")
    return 0
