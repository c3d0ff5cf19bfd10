# SPDX-License-Identifier: Apache-2.0
"""Options that mean the same in several commands, each said once."""

from pathlib import Path
from typing import Annotated

import typer

# Where exporters of OpenTelemetry send spans unless they are told otherwise, so that the page gets them by itself.
PAGE_PORT = 4318
SAFE_ACTION_DEADLINE_S = 0.2

RobotOption = Annotated[
    str, typer.Option(metavar="R", help="A robot of the robot library, or the path of a robot.yaml.")
]
SkillOption = Annotated[
    Path | None, typer.Option(metavar="S", help="A skill whose envelope tightens the robot's.")
]
WorldOption = Annotated[
    Path | None, typer.Option(metavar="W", help="The obstacles: .json or .yaml by the WorldState schema.")
]
InstanceNameOption = Annotated[
    str | None, typer.Option(metavar="NAME", help="Under which name others find it; the robot's name.")
]
StateDirOption = Annotated[Path | None, typer.Option(metavar="DIR", help="Where the latch is written down.")]
DeadlineOption = Annotated[
    float, typer.Option("--safe-action-deadline-s", help="Longest pause between accepted chunks.")
]
