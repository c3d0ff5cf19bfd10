# SPDX-License-Identifier: Apache-2.0
"""`lastgate kernel run`: becomes the native kernel process."""

import hashlib
import os
import tempfile
from pathlib import Path
from typing import Annotated

import typer

from lastgate.cli.options import InstanceNameOption, SkillOption, StateDirOption
from lastgate.cli.rate import require_rate


def kernel_run_command(
    *,
    robot: Annotated[
        str | None, typer.Option(metavar="R", help="A robot of the fleet, or the path of a robot.yaml.")
    ] = None,
    rate_hz: Annotated[
        float | None, typer.Option(metavar="N", help="Rows per second: a chunk carries no time step.")
    ] = None,
    skill: SkillOption = None,
    config: Annotated[
        Path | None,
        typer.Option(metavar="F", help="A file of `lastgate kernel config`, instead of a manifest."),
    ] = None,
    instance: InstanceNameOption = None,
    state_dir: StateDirOption = None,
    on_violation: Annotated[
        str, typer.Option(metavar="estop|hold", help="What a violation leads to.")
    ] = "estop",
    on_stale: Annotated[
        str, typer.Option(metavar="estop|stop|drop", help="What missing or stale data leads to.")
    ] = "estop",
    require_source: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="An e-stop source that must be alive; repeatable."),
    ] = None,
    require_actuator: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="A driver that must acknowledge; repeatable.")
    ] = None,
    reset_cooldown_s: Annotated[
        float,
        typer.Option(
            "--estop-reset-cooldown-s", "--reset-cooldown-s", help="No reset this soon after a stop."
        ),
    ] = 0.5,
    spin_us: Annotated[
        float, typer.Option(help="Look for work this long before sleeping; -1 always.")
    ] = 50.0,
    sched_fifo: Annotated[int, typer.Option(metavar="PRIORITY", help="Real-time priority; 0 for none.")] = 0,
    cpu: Annotated[int, typer.Option(metavar="N", help="The processor to stay on; -1 for any.")] = -1,
    lock_memory: Annotated[bool, typer.Option("--lock-memory", help="Keep all pages in memory.")] = False,
    exit_with_parent: Annotated[
        bool, typer.Option("--exit-with-parent", help="End when the program that started it ends.")
    ] = False,
    without_world: Annotated[
        bool, typer.Option("--without-world", help="State that nobody looks at the world.")
    ] = False,
    warn_only: Annotated[
        bool,
        typer.Option(
            "--warn-only", help="Simulation and bring-up: what is refused passes too, with a warning."
        ),
    ] = False,
) -> int:
    """Runs the kernel until it is told to end (SIGTERM, Ctrl-C). This process becomes it: no Python stays behind.

    A robot whose envelope says `deadman_required` is not armed until `lastgate deadman` runs.
    """
    from lastgate import _core
    from lastgate.cli.skill_file import load_skill
    from lastgate.contracts import ROSConfigError
    from lastgate.estop import respond_to
    from lastgate.gate import Gate
    from lastgate.kernel_config import flat_config, with_step
    from lastgate.kernel_process import KernelSettings, default_state_dir, kernel_command
    from lastgate.robots import load_robot

    if robot is None and config is None:
        raise ROSConfigError("name a robot (`--robot R --rate-hz N`) or a file (`--config F`)")
    require_rate(rate_hz)
    if config is not None and skill is not None:
        raise ROSConfigError(
            "`--skill` does not change what a file says: give it to `lastgate kernel config`, or leave out `--config`"
        )
    respond_to(_a_violation(), on_violation=on_violation, on_stale=on_stale)  # refuses words that are none
    if config is not None:
        try:
            text = config.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise ROSConfigError(f"cannot read `{config}`: {error}") from None
        if rate_hz is not None:
            try:
                text = with_step(text, 1.0 / rate_hz)
            except ROSConfigError as error:
                raise ROSConfigError(f"`{config}`: {error}; leave out `--rate-hz`") from None
    else:
        if rate_hz is None:
            raise ROSConfigError("`--rate-hz` must be given, a positive number: a chunk carries no time step")
        description = load_robot(str(robot))
        manifest = None if skill is None else load_skill(skill)
        Gate(description, step_s=1.0 / rate_hz, skill=manifest)  # refuses, with names, what cannot be armed
        text = flat_config(description, step_s=1.0 / rate_hz, skill=manifest)
    try:
        read = _core.read_config(text)
    except ValueError as error:
        hint = "\n\nhint: `--rate-hz N` supplies it" if "step_s" in str(error) and rate_hz is None else ""
        raise ROSConfigError(f"`{config}`: {error}{hint}") from None
    if config is not None and robot is not None and load_robot(robot).name != read.robot_name:
        raise ROSConfigError(f"`{config}` is for the robot `{read.robot_name}`, not for `{robot}`")
    sources = list(require_source or [])
    if read.deadman_required and "deadman" not in sources:
        sources.append("deadman")
    file, path = tempfile.mkstemp(prefix="lastgate-", suffix=".yaml")
    with os.fdopen(file, "w", encoding="utf-8") as handle:
        handle.write(text)
    settings = KernelSettings(
        on_violation=on_violation,
        on_stale=on_stale,
        warn_only=warn_only,
        without_world=without_world,
        reset_cooldown_s=reset_cooldown_s,
        required_sources=sources,
        required_actuators=list(require_actuator or []),
        spin_us=spin_us,
        sched_fifo=sched_fifo,
        cpu=cpu,
        lock_memory=lock_memory,
    )
    command = kernel_command(
        config=Path(path),
        digest=hashlib.sha256(text.encode()).hexdigest(),
        instance=instance or read.robot_name,
        state_dir=state_dir or default_state_dir(),
        settings=settings,
    )
    os.execv(command[0], [*command, "--remove-config", *(["--exit-with-parent"] if exit_with_parent else [])])


def _a_violation():
    from lastgate.contracts import ViolationCode

    return ViolationCode.self_collision
