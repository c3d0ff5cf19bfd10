# SPDX-License-Identifier: Apache-2.0
"""`lastgate kernel run`: becomes the native kernel process."""

import hashlib
import os
import tempfile
from pathlib import Path
from typing import Annotated

import typer

from lastgate.tools.cli.options import InstanceNameOption, SkillOption, StateDirOption
from lastgate.tools.cli.rate import require_rate

RobotNameOption = Annotated[
    str | None, typer.Option(metavar="R", help="A robot of the robot library, or the path of a robot.yaml.")
]
RateOption = Annotated[
    float | None, typer.Option(metavar="N", help="Steps per second: a chunk carries no time step.")
]
ConfigOption = Annotated[
    Path | None,
    typer.Option(metavar="F", help="A file of `lastgate kernel config`, instead of a manifest."),
]
OnViolationOption = Annotated[str, typer.Option(metavar="estop|hold", help="What a violation leads to.")]
OnStaleOption = Annotated[
    str, typer.Option(metavar="estop|stop|drop", help="What missing or stale data leads to.")
]
RequireSourceOption = Annotated[
    list[str] | None,
    typer.Option(metavar="NAME", help="An e-stop source that must be alive; repeatable."),
]
RequireActuatorOption = Annotated[
    list[str] | None, typer.Option(metavar="NAME", help="A driver that must acknowledge; repeatable.")
]
ResetCooldownOption = Annotated[
    float,
    typer.Option("--estop-reset-cooldown-s", "--reset-cooldown-s", help="No reset this soon after a stop."),
]
SpinOption = Annotated[float, typer.Option(help="Look for work this long before sleeping; -1 always.")]
PriorityOption = Annotated[int, typer.Option(metavar="PRIORITY", help="Real-time priority; 0 for none.")]
ProcessorOption = Annotated[int, typer.Option(metavar="N", help="The processor to stay on; -1 for any.")]
LockMemoryOption = Annotated[bool, typer.Option("--lock-memory", help="Keep all pages in memory.")]
ParentOption = Annotated[
    int | None,
    typer.Option(metavar="PID", help="End when the program that starts it, which has this number, ends."),
]
WithoutWorldOption = Annotated[
    bool, typer.Option("--without-world", help="State that the world is not observed.")
]
WarnOnlyOption = Annotated[
    bool,
    typer.Option("--warn-only", help="Simulation and bring-up: what is rejected passes too, with a warning."),
]


def kernel_run_command(
    *,
    robot: RobotNameOption = None,
    rate_hz: RateOption = None,
    skill: SkillOption = None,
    config: ConfigOption = None,
    instance: InstanceNameOption = None,
    state_dir: StateDirOption = None,
    on_violation: OnViolationOption = "estop",
    on_stale: OnStaleOption = "estop",
    require_source: RequireSourceOption = None,
    require_actuator: RequireActuatorOption = None,
    reset_cooldown_s: ResetCooldownOption = 0.5,
    spin_us: SpinOption = 50.0,
    sched_fifo: PriorityOption = 0,
    cpu: ProcessorOption = -1,
    lock_memory: LockMemoryOption = False,
    exit_with_parent: ParentOption = None,
    without_world: WithoutWorldOption = False,
    warn_only: WarnOnlyOption = False,
) -> int:
    """Runs the kernel until it is told to end (SIGTERM, Ctrl-C). This process becomes it: no Python stays behind.

    A robot whose envelope says `deadman_required` is not armed until `lastgate deadman` runs.
    """
    from lastgate.kernel.estop import respond_to
    from lastgate.kernel.process import KernelSettings, default_state_dir, kernel_command

    _require_one_source(robot=robot, config=config, skill=skill)
    require_rate(rate_hz)
    respond_to(_a_violation(), on_violation=on_violation, on_stale=on_stale)  # refuses words that are none
    text = (
        _text_for_robot(str(robot), rate_hz=rate_hz, skill=skill)
        if config is None
        else _text_of_file(config, rate_hz=rate_hz)
    )
    robot_name = _robot_name_in(text, source=config, has_rate=rate_hz is not None)
    if config is not None and robot is not None:
        _require_same_robot(robot, robot_name, config=config)
    file, path = tempfile.mkstemp(prefix="lastgate-", suffix=".yaml")
    with os.fdopen(file, "w", encoding="utf-8") as handle:
        handle.write(text)
    settings = KernelSettings(
        on_violation=on_violation,
        on_stale=on_stale,
        warn_only=warn_only,
        without_world=without_world,
        reset_cooldown_s=reset_cooldown_s,
        required_sources=list(require_source or []),
        required_actuators=list(require_actuator or []),
        spin_us=spin_us,
        sched_fifo=sched_fifo,
        cpu=cpu,
        lock_memory=lock_memory,
    )
    command = kernel_command(
        config=Path(path),
        digest=hashlib.sha256(text.encode()).hexdigest(),
        instance=instance or robot_name,
        state_dir=state_dir or default_state_dir(),
        settings=settings,
    )
    parent = [] if exit_with_parent is None else ["--exit-with-parent", str(exit_with_parent)]
    os.execv(command[0], [*command, "--remove-config", *parent])


def _require_one_source(*, robot: str | None, config: Path | None, skill: Path | None) -> None:
    from lastgate.contracts import ROSConfigError

    if robot is None and config is None:
        raise ROSConfigError("name a robot (`--robot R --rate-hz N`) or a file (`--config F`)")
    if config is not None and skill is not None:
        raise ROSConfigError(
            "`--skill` does not change what a file says: give it to `lastgate kernel config`, or leave out `--config`"
        )


def _text_of_file(config: Path, *, rate_hz: float | None) -> str:
    from lastgate.contracts import ROSConfigError
    from lastgate.robots.kernel_config import with_step

    try:
        text = config.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ROSConfigError(f"cannot read `{config}`: {error}") from None
    if rate_hz is None:
        return text
    try:
        return with_step(text, 1.0 / rate_hz)
    except ROSConfigError as error:
        raise ROSConfigError(f"`{config}`: {error}; leave out `--rate-hz`") from None


def _text_for_robot(robot: str, *, rate_hz: float | None, skill: Path | None) -> str:
    from lastgate.contracts import ROSConfigError
    from lastgate.gate import Gate
    from lastgate.robots import load_robot
    from lastgate.robots.kernel_config import flat_config
    from lastgate.tools.cli.skill_file import load_skill

    if rate_hz is None:
        raise ROSConfigError("`--rate-hz` must be given, a positive number: a chunk carries no time step")
    description = load_robot(robot)
    manifest = None if skill is None else load_skill(skill)
    Gate(description, step_s=1.0 / rate_hz, skill=manifest)  # refuses, with names, what cannot be armed
    return flat_config(description, step_s=1.0 / rate_hz, skill=manifest)


def _robot_name_in(text: str, *, source: Path | None, has_rate: bool) -> str:
    from lastgate import _core
    from lastgate.contracts import ROSConfigError

    try:
        return _core.read_config(text).robot_name
    except ValueError as error:
        hint = "" if has_rate or "step_s" not in str(error) else "\n\nhint: `--rate-hz N` supplies it"
        raise ROSConfigError(f"`{source}`: {error}{hint}") from None


def _require_same_robot(robot: str, robot_name: str, *, config: Path) -> None:
    from lastgate.contracts import ROSConfigError
    from lastgate.robots import load_robot

    if load_robot(robot).name != robot_name:
        raise ROSConfigError(f"`{config}` is for the robot `{robot_name}`, not for `{robot}`")


def _a_violation():
    from lastgate.contracts import ViolationCode

    return ViolationCode.self_collision
