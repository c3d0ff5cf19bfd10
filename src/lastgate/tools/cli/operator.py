# SPDX-License-Identifier: Apache-2.0
"""What a person at the machine may ask: stop, reset, how do things stand. And the e-stop sources, each a process."""

import json
import time
from typing import TYPE_CHECKING, Annotated

import typer

from lastgate.contracts.printable import printable
from lastgate.tools.cli.messages import print_error, print_hint, print_note, print_warning
from lastgate.tools.cli.options import SAFE_ACTION_DEADLINE_S, DeadlineOption

if TYPE_CHECKING:
    from lastgate._core import Registration

ANSWER_TIMEOUT_S = 2.0

Instance = Annotated[
    str | None,
    typer.Option(
        "--robot",
        "--instance",
        metavar="NAME",
        help="The kernel: its robot's name, or its own; NAME@USER for another user's; else the only one.",
    ),
]
InstanceOrAll = Annotated[
    str | None,
    typer.Option(
        "--robot",
        "--instance",
        metavar="NAME",
        help="The kernel: its robot's name, or its own; NAME@USER for another user's; else every one.",
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print the answer as JSON.")]


def _native(instance: str, make):
    from lastgate.kernel.process import no_such_kernel

    try:
        return make(instance)
    except (RuntimeError, ValueError) as error:
        raise no_such_kernel(instance, error) from None


def estop_command(
    *,
    robot: InstanceOrAll = None,
    reason: Annotated[
        str, typer.Option(help="Shown in the status and in reports.")
    ] = "asked for on the command line",
) -> int:
    """Stops the robot. Every user may; it stays stopped until `lastgate reset` succeeds."""
    from lastgate.contracts import ROSConfigError
    from lastgate.kernel.process import only_kernel, running_kernels

    # An operator who does not name a robot wants none to move: asking back would cost the time that matters.
    names = [robot] if robot is not None else running_kernels() or [only_kernel()]
    failures: list[ROSConfigError] = []
    for name in names:
        try:
            _stop(name, reason)
        except ROSConfigError as error:
            failures.append(error)  # and the others must be stopped still
    if len(failures) > 1:
        raise ROSConfigError("\n".join(str(error).partition("\n\nhint: ")[0] for error in failures))
    if failures:
        raise failures[0]
    print("latched")
    return 0


def _stop(robot: str, reason: str) -> None:
    from lastgate.contracts import HumanEvidence
    from lastgate.kernel.estop import stop_reason
    from lastgate.kernel.process import stop_kernel

    reason = stop_reason(reason)
    evidence = HumanEvidence(actor="operator", reason=reason).model_dump_json()
    stop_kernel(robot, source=f"operator-{time.monotonic_ns() % 10**9}", reason=reason, evidence=evidence)


def reset_command(*, robot: Instance = None) -> int:
    """Asks for the latch to be cleared, and says what blocks it; exit code 1 when it is refused."""
    from lastgate import _core
    from lastgate.contracts import ROSConfigError
    from lastgate.kernel.process import RESET_TIMEOUT_S, only_kernel

    robot = robot or only_kernel()
    channel = _native(robot, _core.ChannelClient)
    answer = channel.command("reset", RESET_TIMEOUT_S)
    if answer is None:
        raise ROSConfigError(f"the kernel `{robot}` did not answer")
    print(printable(answer[1]))
    return 0 if answer[0] else 1


def status_command(*, robot: Instance = None, as_json: AsJson = False) -> int:
    """Prints how the kernel stands; exit code 1 while a stop is latched."""
    from lastgate import _core
    from lastgate.contracts import ROSConfigError
    from lastgate.kernel.client import KernelState
    from lastgate.kernel.process import only_kernel
    from lastgate.kernel.ring_follower import open_ring

    robot = robot or only_kernel()
    reader = open_ring(robot, "statuses", start="newest")
    message = reader.read(ANSWER_TIMEOUT_S) if _core.kernel_is_alive(robot) else None
    fields = None if message is None else _core.read_safety_status(message[3])
    if fields is None:
        raise ROSConfigError(f"the kernel `{robot}` is not alive")
    status_block = _core.read_status_block(robot)
    state = KernelState(fields.state)
    is_warn_only = status_block is not None and status_block.warn_only
    if as_json:
        print(
            json.dumps(
                {
                    "stamp_s": fields.stamp_s,
                    "state": state.name.lower(),
                    "source": fields.source,
                    "reason": fields.reason,
                    "sequence": fields.sequence,
                    "passed": fields.passed,
                    "dropped": fields.dropped,
                    "model_digest": fields.model_digest,
                    "world_id": fields.world_id,
                    "warn_only": is_warn_only,
                }
            )
        )
    else:
        why = f": {fields.reason} ({fields.source})" if fields.reason else ""
        print(printable(f"{state.name.lower()}{why}, {fields.passed} passed, {fields.dropped} dropped"))
    if is_warn_only:
        print_warning("warn only: chunks that break a rule pass")
    if state is KernelState.INACTIVE:
        # It drops everything without a report, and nothing else says what it waits for.
        print_hint(f"a required source has never come, such as `lastgate deadman --robot {robot}`")
    return 1 if state is KernelState.LATCHED else 0


def deadman_command(
    *,
    robot: Instance = None,
    deadline_s: DeadlineOption = SAFE_ACTION_DEADLINE_S,
    check_period_s: Annotated[float, typer.Option(help="How often to poll.")] = 0.05,
) -> int:
    """Stops the robot when accepted chunks cease; armed again after every reset."""
    from lastgate import _core
    from lastgate.kernel.client import KernelState
    from lastgate.kernel.estop.deadman import Deadman
    from lastgate.kernel.process import only_kernel
    from lastgate.kernel.ring_follower import open_ring

    robot = robot or only_kernel()
    deadman = Deadman(deadline_s=deadline_s)
    registration = _native(robot, lambda name: _core.Registration(name, "deadman"))
    reader = open_ring(robot, "safe_actions")
    print_note(f"deadman: {deadline_s:g} s between accepted chunks of `{robot}`")
    while registration.kernel_is_alive and registration.is_mine:
        registration.beat()
        # Waits for the next chunk or for the period, whichever comes first.
        message = reader.read(check_period_s)
        now_s = time.monotonic()
        if message is not None:
            deadman.safe_action(now_s=message[2])
        evidence = deadman.poll(active=registration.kernel_state == KernelState.ACTIVE, now_s=now_s)
        if evidence is not None:
            registration.press(
                "no accepted chunk in time", _core.FailureKind.timeout, evidence.model_dump_json()
            )
    print_warning(_why_over(robot, registration))
    return 3


def _why_over(robot: str, registration: "Registration") -> str:
    if not registration.kernel_is_alive:
        return f"the kernel `{robot}` is gone"
    return "this process was paused for so long that another has taken its registration"


def human_command(*, robot: InstanceOrAll = None) -> int:
    """Reads lines from stdin: each one is a stop, with the line as its reason.

    A stop that fails is reported, and the next line is still heard; the exit code is then 2.
    """
    import io
    import sys

    from lastgate.contracts import ROSConfigError
    from lastgate.kernel.process import running_kernels

    if isinstance(sys.stdin, io.TextIOWrapper):
        sys.stdin.reconfigure(errors="replace")
    running = running_kernels()
    if not running or (robot is not None and robot not in running):
        # Not an error: a kernel may be started while this listens.
        named = "no kernel runs" if robot is None else f"no kernel `{robot}` runs"
        print_warning(f"{named}: a line would stop nothing")
    failed = False
    for line in sys.stdin:
        try:
            estop_command(robot=robot, reason=line.strip() or "human")
        except ROSConfigError as error:
            failed = True
            print_error(str(error))
    return 2 if failed else 0


def pendant_command(
    *,
    device: Annotated[
        str,
        typer.Option(
            metavar="D",
            help="/dev/gpiochipN:LINE, /dev/input/eventN:KEY, or a serial port (button from RTS to CTS).",
        ),
    ],
    robot: Instance = None,
    active_high: Annotated[
        bool, typer.Option("--active-high", help="The contact closes when pressed.")
    ] = False,
) -> int:
    """Stops the robot while a real button is pressed, cut off or unplugged; a held button blocks every reset."""
    from lastgate import _core
    from lastgate.kernel.estop.pendant import POLL_PERIOD_S, Pendant
    from lastgate.kernel.process import only_kernel

    robot = robot or only_kernel()
    with Pendant(device, active_low=not active_high) as pendant:
        # Checked first: a kernel that waits for its pendant must not be armed while the button is down.
        held = pendant.pressed()
        holding = (pendant.trouble or "the pendant is pressed") if held else ""
        registration = _native(robot, lambda name: _core.Registration(name, "pendant", holding=holding))
        if held:
            print_warning(pendant.trouble or "pressed")
        while registration.kernel_is_alive and registration.is_mine:
            time.sleep(POLL_PERIOD_S)
            pressed = pendant.pressed()
            if pressed and not held:
                registration.hold(pendant.trouble or "the pendant is pressed")
                print_warning(pendant.trouble or "pressed")
            elif held and not pressed:
                registration.release()
                print_note("released")
            held = pressed
            registration.beat()
    print_warning(_why_over(robot, registration))
    return 3
