# SPDX-License-Identifier: Apache-2.0
"""`lastgate up`: the kernel, its e-stop sources and the page, started together and watched, never restarted."""

import os
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field
from typing import Annotated

import typer

from lastgate.contracts.extras import install_command
from lastgate.tools.cli.messages import print_note, print_warning
from lastgate.tools.cli.options import (
    PAGE_PORT,
    SAFE_ACTION_DEADLINE_S,
    DeadlineOption,
    InstanceNameOption,
    RobotOption,
    SkillOption,
    StateDirOption,
)
from lastgate.tools.cli.rate import require_rate

EXIT_MISSING = 3
_ARMED_WITHIN_S = 20.0
_END_WITHIN_S = 10.0
_POLL_EVERY_S = 0.1
# Any real-time priority puts the kernel before whatever draws, logs or plans here; a low one leaves room for the
# drivers and the network, which must come before it.
KERNEL_PRIORITY = 10


@dataclass(slots=True)
class _Member:
    """One process of the group."""

    name: str
    process: subprocess.Popen[str]
    reported: bool = field(default=False)

    @classmethod
    def start(cls, name: str, arguments: list[str], **options: object) -> "_Member":
        # A session of its own: Ctrl-C is for this program, which ends the kernel first.
        program = [sys.executable, "-m", "lastgate.tools.cli", *arguments]
        process = subprocess.Popen(program, text=True, start_new_session=True, **options)  # type: ignore[call-overload]
        return cls(name, process)

    def end(self) -> None:
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(_END_WITHIN_S)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        if self.process.stdout is not None:
            self.process.stdout.close()


RateHzOption = Annotated[
    float, typer.Option(metavar="N", help="Steps per second: a chunk carries no time step.")
]
DeadmanOption = Annotated[
    bool | None,
    typer.Option("--deadman/--no-deadman", help="Start a deadman; if not given, as the envelope says."),
]
PendantOption = Annotated[
    str | None,
    typer.Option("--pendant", metavar="DEVICE", help="A stop button, as for `lastgate pendant`."),
]
PageOption = Annotated[bool, typer.Option("--page/--no-page", help="Start `lastgate dashboard`.")]
PortOption = Annotated[int, typer.Option(metavar="P", help="Where the page listens.")]
SchedFifoOption = Annotated[
    int,
    typer.Option(metavar="PRIORITY", help="Real-time priority of the kernel, where allowed; 0 for none."),
]
KernelOptionsOption = Annotated[
    list[str] | None,
    typer.Argument(metavar="-- OPTIONS", help="Further options of `lastgate kernel run`."),
]


def up_command(
    *,
    robot: RobotOption,
    rate_hz: RateHzOption,
    skill: SkillOption = None,
    instance: InstanceNameOption = None,
    state_dir: StateDirOption = None,
    deadman: DeadmanOption = None,
    deadline_s: DeadlineOption = SAFE_ACTION_DEADLINE_S,
    pendant: PendantOption = None,
    page: PageOption = True,
    port: PortOption = PAGE_PORT,
    sched_fifo: SchedFifoOption = KERNEL_PRIORITY,
    kernel_options: KernelOptionsOption = None,
) -> int:
    """Starts the kernel, its e-stop sources and the page, and says which process is missing. None is restarted.

    Runs until Ctrl-C. Exits with 0; with 3 if the kernel ended or another process was gone by then; with 2 if something
    cannot be started.
    """
    from lastgate.contracts import intersect_envelopes
    from lastgate.robots import load_robot
    from lastgate.tools.cli.skill_file import load_skill

    require_rate(rate_hz)
    description = load_robot(robot)
    envelope = intersect_envelopes(description, None if skill is None else load_skill(skill))
    name = instance or description.name
    wants_deadman = envelope.deadman_required if deadman is None else deadman
    kernel = [
        "kernel",
        "run",
        "--robot",
        robot,
        "--rate-hz",
        str(rate_hz),
        "--instance",
        name,
        "--sched-fifo",
        str(sched_fifo),
        "--exit-with-parent",
        str(os.getpid()),
    ]
    kernel += ["--skill", str(skill)] if skill is not None else []
    kernel += ["--state-dir", str(state_dir)] if state_dir is not None else []
    kernel += ["--require-source", "deadman"] if wants_deadman else []
    kernel += ["--require-source", "pendant"] if pendant is not None else []
    others: dict[str, list[str]] = {}
    if wants_deadman:
        others["deadman"] = ["deadman", "--robot", name, "--safe-action-deadline-s", str(deadline_s)]
    if pendant is not None:
        others["pendant"] = ["pendant", "--robot", name, "--device", pendant]
    if sys.stdin.isatty():
        others["human"] = ["human", "--robot", name]
    if page and not _has_dashboard():
        print_warning(f"the page is not started: `{install_command('dashboard')}`, or say `--no-page`")
    elif page:
        others["dashboard"] = ["dashboard", "--robot", robot, "--instance", name, "--port", str(port)]
    if envelope.deadman_required and not wants_deadman:
        print_warning("the envelope requires a deadman and none is started: nothing passes until one runs")
    ending = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: ending.set())
    return _run(name, [*kernel, *(kernel_options or [])], others, ending)


def _has_dashboard() -> bool:
    from importlib.util import find_spec

    # Its extra may not be installed; the gate works without it.
    return all(
        find_spec(module) is not None for module in ("lastgate.tools.dashboard", "starlette", "uvicorn")
    )


def _run(
    name: str, kernel_arguments: list[str], others: dict[str, list[str]], ending: threading.Event
) -> int:
    kernel = _Member.start("kernel", kernel_arguments, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL)
    members = [kernel]
    try:
        assert kernel.process.stdout is not None
        if not kernel.process.stdout.readline().startswith("ready"):
            # It has said why on the stderr that we share.
            return kernel.process.wait()
        print_note(f"kernel: ready as `{name}`")
        for who, arguments in others.items():
            stdin = None if who == "human" else subprocess.DEVNULL
            members.append(_Member.start(who, arguments, stdin=stdin))
            print_note(f"{who}: started")
        standing = _Standing(name)
        _say_when_armed(standing, members, ending)
        while not ending.wait(_POLL_EVERY_S):
            _report_missing(members)
            if kernel.reported:
                break
            standing.follow()
        return EXIT_MISSING if any(member.reported for member in members) else 0
    finally:
        # The kernel first: without it nothing moves, and no source is missed.
        for member in members:
            member.end()
        if kernel.process.returncode != 0:  # one that ends in order removes it itself
            from lastgate import _core

            _core.remove_what_a_killed_kernel_left(name)


def _report_missing(members: list[_Member]) -> None:
    for member in members:
        code = member.process.poll()
        if code is not None and not member.reported:
            member.reported = True
            print_warning(f"{member.name} is gone (code {code}) and is not started again")


class _Standing:
    """Reports each time the kernel is armed and each time a stop latches, so that a late reader sees how it stands."""

    def __init__(self, name: str) -> None:
        from lastgate.contracts import ROSConfigError
        from lastgate.kernel.ring_follower import open_ring

        self._name = name
        self._said: tuple[object, ...] = ()
        try:
            self._statuses = open_ring(name, "statuses", start="newest")
        except ROSConfigError:
            self._statuses = None  # it ended just now, and is about to be missed

    def follow(self) -> bool:
        """Prints what has changed; returns whether the kernel has been armed or latched yet."""
        from lastgate import _core
        from lastgate.kernel.client import KernelState
        from lastgate.kernel.ring_follower import read_messages

        for message in [] if self._statuses is None else read_messages(self._statuses):
            fields = _core.read_safety_status(message.payload)
            if fields is None or fields.state not in (KernelState.LATCHED, KernelState.ACTIVE):
                continue
            is_latched = fields.state == KernelState.LATCHED
            now = (is_latched, fields.reason, fields.source) if is_latched else (is_latched,)
            if now == self._said:
                continue
            self._said = now
            if is_latched:
                print_warning(
                    f"a stop is latched: {fields.reason} ({fields.source}); "
                    f"`lastgate reset --robot {self._name}`"
                )
            else:
                print_note("armed")
        return bool(self._said)


def _say_when_armed(standing: _Standing, members: list[_Member], ending: threading.Event) -> None:
    deadline = time.monotonic() + _ARMED_WITHIN_S
    while time.monotonic() < deadline and not ending.is_set():
        _report_missing(members)
        if members[0].reported or standing.follow():
            return
        ending.wait(_POLL_EVERY_S)
    if not ending.is_set():
        print_warning("not armed: a required e-stop source is absent")
