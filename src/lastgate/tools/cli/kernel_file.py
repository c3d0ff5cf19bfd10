# SPDX-License-Identifier: Apache-2.0
"""`lastgate kernel config`: the flat YAML file that the native kernel reads."""

import os
from pathlib import Path
from typing import Annotated

import typer

from lastgate.tools.cli.messages import print_note
from lastgate.tools.cli.options import RobotOption, SkillOption
from lastgate.tools.cli.rate import require_rate

# Only to try the reader on a file that has no rate yet: it is not written.
_ANY_STEP_S = 0.02


def kernel_config_command(
    *,
    robot: RobotOption,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="F", help="The file to write; `-` is stdout.")
    ],
    rate_hz: Annotated[
        float | None,
        typer.Option(metavar="N", help="Steps per second; else `kernel run --config F` must be told."),
    ] = None,
    skill: SkillOption = None,
) -> int:
    """Writes the limits, volumes and pairs of a robot as the one file that a kernel is built from.

    The file is read back by the kernel's own reader before it is written; if that refuses it, nothing is
    written.
    """
    from lastgate.contracts import ROSConfigError
    from lastgate.gate import Gate
    from lastgate.robots import load_robot
    from lastgate.robots.kernel_config import flat_config
    from lastgate.tools.cli.skill_file import load_skill

    require_rate(rate_hz)
    description = load_robot(robot)
    manifest = None if skill is None else load_skill(skill)
    step_s = None if rate_hz is None else 1.0 / rate_hz
    # Building a gate runs the kernel's reader and refuses a robot that cannot be armed, at whatever rate.
    gate = Gate(description, step_s=_ANY_STEP_S if step_s is None else step_s, skill=manifest)
    text = flat_config(description, step_s=step_s, skill=manifest)
    if str(output) == "-":
        print(text, end="")
        return 0
    temporary = output.with_name(f".{output.name}.{os.getpid()}")
    try:
        temporary.write_text(text, encoding="utf-8")
        temporary.replace(output)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise ROSConfigError(f"cannot write `{output}`: {error.strerror}") from None
    print_note(
        f"{description.name}, {gate.n_dof} joints, {len(gate.checked_pairs)} checked pairs, "
        + (
            "no rate: `lastgate kernel run --config F --rate-hz N`"
            if rate_hz is None
            else f"{rate_hz:g} steps per second"
        )
    )
    print(output)
    return 0
