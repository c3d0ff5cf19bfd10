# SPDX-License-Identifier: Apache-2.0
"""`lastgate mcp`: the tools of an agent over the Model Context Protocol, on stdin and stdout."""

import importlib
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from lastgate.integrations.agent import AgentTools

STEP_S_DEFAULT = 0.02


RobotOption = Annotated[
    str | None, typer.Option(metavar="R", help="A robot of the robot library, or a robot.yaml.")
]
MemoryOption = Annotated[
    str, typer.Option(metavar="F", help="SQLite file of what was seen; made if it is not there.")
]
MapPathOption = Annotated[
    Path | None,
    typer.Option("--map", metavar="M", help="The .yaml of a map, for a body whose world has none."),
]
BodyOption = Annotated[
    str | None,
    typer.Option(metavar="MODULE:FUNCTION", help="Called with the gate; returns the robot that moves."),
]
DetectorOption = Annotated[
    str | None,
    typer.Option(metavar="MODULE:FUNCTION", help="Returns what finds things in images."),
]
InstanceOption = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="The kernel whose stops stop the tools; else every kernel of the robot that runs.",
    ),
]
SimulateOption = Annotated[
    bool, typer.Option("--simulate", help="A simulated mobile arm in a flat with things in it.")
]
ReadOnlyOption = Annotated[
    bool, typer.Option("--read-only", help="Leave out every tool that moves the robot.")
]
StepSOption = Annotated[float, typer.Option(metavar="S", help="Time from step to step.")]


def mcp_command(
    *,
    robot: RobotOption = None,
    memory: MemoryOption = ":memory:",
    map_path: MapPathOption = None,
    body: BodyOption = None,
    detector: DetectorOption = None,
    instance: InstanceOption = None,
    simulate: SimulateOption = False,
    read_only: ReadOnlyOption = False,
    step_s: StepSOption = STEP_S_DEFAULT,
) -> int:
    """Serves recall_object, resolve_place, locate_in_view, and, if there is a robot, navigate_to, look_at, execute.

    Every motion crosses the gate, and nothing moves while a kernel of the robot is latched. Without --body and
    --simulate nothing can move, and only what looks things up in memory and on the map is served.
    """
    from lastgate.contracts import ROSConfigError
    from lastgate.integrations.agent.server import build_server
    from lastgate.kernel.process import require_instance

    if simulate and (robot or body or map_path):
        raise ROSConfigError("`--simulate` brings its own robot, body and map\n\nhint: leave the others out")
    if robot is None and not simulate:
        raise ROSConfigError("`--robot` is missing\n\nhint: `--simulate` brings one of its own")
    if instance is not None:
        if simulate:
            raise ROSConfigError("`--simulate` has no kernel\n\nhint: leave `--instance` out")
        require_instance(instance)
    # Found before a client connects, so that a wrong name is said on this terminal.
    make_body = None if body is None else _load(body, option="--body")
    make_detector = None if detector is None else _load(detector, option="--detector")
    if not simulate:
        from lastgate.robots import load_robot

        load_robot(robot or "")

    def make_tools(is_cancelled: Callable[[], bool]) -> "AgentTools":
        if simulate:
            return _simulated(memory, make_detector, step_s, is_cancelled)
        return _for_robot(
            robot or "",
            memory=memory,
            map_path=map_path,
            make_body=make_body,
            make_detector=make_detector,
            step_s=step_s,
            is_cancelled=is_cancelled,
            instance=instance,
        )

    server = build_server(make_tools, may_move=not read_only and (simulate or body is not None))
    try:
        server.run("stdio")
    except BaseExceptionGroup as group:
        # The server's tasks wrap whatever ends them; one cause in any number of wrappers is that cause.
        cause: BaseException = group
        while isinstance(cause, BaseExceptionGroup) and len(cause.exceptions) == 1:
            cause = cause.exceptions[0]
        raise cause from None
    return 0


def _simulated(
    memory: str, make_detector: Callable[[], Any] | None, step_s: float, is_cancelled: Callable[[], bool]
) -> "AgentTools":
    from lastgate.gate import Gate
    from lastgate.integrations.agent import AgentTools, SegmentationDetector, SpatialMemory
    from lastgate.tools.demo.mobile_arm import SimulatedMobileArm, mobile_robot, remember_the_flat

    gate = Gate(mobile_robot(), step_s=step_s)
    kept = SpatialMemory(memory)
    remember_the_flat(kept)
    return AgentTools(
        kept,
        gate,
        body=SimulatedMobileArm(gate),
        detector=SegmentationDetector() if make_detector is None else make_detector(),
        is_cancelled=is_cancelled,
    )


def _for_robot(
    robot: str,
    *,
    memory: str,
    map_path: Path | None,
    make_body: Callable[..., Any] | None,
    make_detector: Callable[[], Any] | None,
    step_s: float,
    is_cancelled: Callable[[], bool],
    instance: str | None,
) -> "AgentTools":
    from lastgate.gate import Gate
    from lastgate.integrations.agent import AgentTools, SpatialMemory
    from lastgate.integrations.agent.kernel_latch import KernelLatch
    from lastgate.planning.approach import OccupancyGridIndex
    from lastgate.robots import load_robot

    gate = Gate(load_robot(robot), step_s=step_s)
    return AgentTools(
        SpatialMemory(memory),
        gate,
        body=None if make_body is None else make_body(gate),
        detector=None if make_detector is None else make_detector(),
        grid=None if map_path is None else OccupancyGridIndex.from_file(map_path),
        is_cancelled=is_cancelled,
        kernel=KernelLatch(gate.robot.name, instance=instance),
    )


def _load(spelled: str, *, option: str) -> Callable[..., Any]:
    from lastgate.contracts import ROSConfigError

    module_name, _, name = spelled.partition(":")
    if not module_name or not name:
        raise ROSConfigError(f"`{option}` is MODULE:FUNCTION, got `{spelled}`")
    try:
        found = getattr(importlib.import_module(module_name), name, None)
    except ImportError as error:
        raise ROSConfigError(f"`{option} {spelled}`: {error}") from None
    if not callable(found):
        raise ROSConfigError(f"`{option} {spelled}`: module `{module_name}` has no function `{name}`")

    def call(*arguments: Any) -> Any:
        try:
            return found(*arguments)
        except Exception as error:
            raise ROSConfigError(f"`{option} {spelled}` failed: {type(error).__name__}: {error}") from error

    return call
