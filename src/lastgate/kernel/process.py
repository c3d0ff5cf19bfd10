# SPDX-License-Identifier: Apache-2.0
"""Starting the native kernel: its program, its settings, where its latch is written down."""

import logging
import os
import re
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from lastgate import _core
from lastgate.contracts import ROSConfigError
from lastgate.contracts.arrays import require_number
from lastgate.contracts.printable import printable
from lastgate.gate import chosen_simd
from lastgate.kernel.estop import OnStale, OnViolation

# What a kernel says goes where the rest of a Python program's messages go.
_log = logging.getLogger("lastgate.kernel")
_LINES_KEPT = 50
# A kernel latches within a millisecond; one that has not for this long is not going to.
STOP_TIMEOUT_S = 2.0
# The stop holds already; this is how long to wait for the disk before saying that it has not kept it yet.
KEPT_TIMEOUT_S = 0.5
# A reset is answered when the disk has kept it, which may take seconds on a busy one.
RESET_TIMEOUT_S = 10.0

# The latch file must outlive the process, and a reboot.
STATE_DIR_VARIABLE = "LASTGATE_STATE_DIR"


def kernel_program() -> Path:
    """Returns the path of the native program that was built with this package; it exists on Linux only."""
    if sys.platform != "linux":
        raise ROSConfigError(
            "the kernel process runs on Linux only: its shared memory and real-time threads are Linux's\n\n"
            "hint: `lastgate.Gate` checks the same in this process"
        )
    program = Path(_core.__file__).with_name("lastgate-kernel")
    if not program.is_file():
        raise ROSConfigError(f"the kernel program is missing beside {_core.__file__}: build lastgate again")
    return program


def deadman_program() -> Path:
    """Returns the path of the native deadman that was built with this package."""
    program = Path(_core.__file__).with_name("lastgate-deadman")
    if not program.is_file():
        raise ROSConfigError(f"the deadman program is missing beside {_core.__file__}: build lastgate again")
    return program


def gateway_program() -> Path:
    """Returns the path of the native gateway to ROS 2, where this package was built with one."""
    program = Path(_core.__file__).with_name("lastgate-gateway")
    if not program.is_file():
        raise ROSConfigError(
            "this lastgate was built without the gateway: Cyclone DDS was not there\n\n"
            "hint: `apt-get install cyclonedds-dev libfastrtps-dev`, then build lastgate again"
        )
    return program


def running_kernels(user: str = "") -> list[str]:
    """Returns the names of the kernels that run on this machine for a user, this one unless named.

    Those of another user, which only root can see, are called `NAME@USER`.
    """
    folder = _core.memory_folder(user)
    status_blocks = Path(folder).glob("lastgate.*.board") if folder else ()
    names = sorted(path.name.removeprefix("lastgate.").removesuffix(".board") for path in status_blocks)
    called = [f"{name}@{user}" if user else name for name in names]
    return [name for name in called if _core.kernel_is_alive(name)]


def kernels_of_others() -> list[str]:
    """Returns the kernels of other users that this one may name: all of them for root, none for any other user."""
    if os.geteuid() != 0:
        return []
    folders = Path("/dev/shm").glob("lastgate-*")
    users = {path.name.removeprefix("lastgate-").partition("-")[0] for path in folders} - {"0"}
    return [name for user in sorted(users) if user.isdigit() for name in running_kernels(user)]


def only_kernel() -> str:
    """Returns the name of the kernel that runs on this machine, if it is the only one."""
    running = running_kernels()
    if len(running) == 1:
        return running[0]
    found = (
        f"several kernels run: {', '.join(f'`{name}`' for name in running)}" if running else "no kernel runs"
    )
    others = kernels_of_others()
    if others:
        # Believing one that another user runs is for the caller to say.
        theirs = ", ".join(f"`--robot {name}`" for name in others)
        raise ROSConfigError(f"{found} for this user\n\nhint: other users run some: {theirs}")
    raise ROSConfigError(f"{found}\n\nhint: name one with `--robot NAME`; `lastgate kernel run` starts one")


def no_such_kernel(instance: str, error: Exception | str) -> ROSConfigError:
    """Returns what to raise where a kernel was asked for that is not there: how to start it, and which ones run."""
    running = ", ".join(f"`{name}`" for name in (*running_kernels(), *kernels_of_others()))
    others = f" starts it; running now: {running}" if running else ""
    name = instance.partition("@")[0]
    return ROSConfigError(f"{error}\n\nhint: `lastgate kernel run --robot {name} --rate-hz 50`{others}")


def stop_kernel(instance: str, *, source: str, reason: str, evidence: str = "") -> None:
    """Stops a running kernel, and returns when it is known to be latched, and would be after a power cut.

    Args:
        instance: The kernel.
        source: Who asks: the name of a registration that is taken for this stop and given back.
        reason: Shown in the status.
        evidence: The JSON of a `HumanEvidence` that is reported; empty for no report.

    Raises:
        ROSConfigError: There is no such kernel, or it did not latch in time.
    """
    try:
        event = _core.StopEvent(instance)
    except (RuntimeError, ValueError) as error:
        raise no_such_kernel(instance, f"nothing was stopped, use the hardware stop: {error}") from None
    registration = None
    try:
        registration = _core.Registration(instance, source)
        registration.press(reason, _core.FailureKind.human, evidence)
    except (RuntimeError, ValueError, TypeError):
        event.signal()  # no registration, or words that cannot be written: the source stays unknown, but it is a stop
    deadline = time.monotonic() + STOP_TIMEOUT_S
    while event.kernel_state != _core.LifecycleState.latched:
        if time.monotonic() > deadline or not event.kernel_is_alive:
            raise ROSConfigError(f"the kernel `{instance}` did not latch, use the hardware stop")
        time.sleep(0.002)
    deadline = time.monotonic() + KEPT_TIMEOUT_S
    while not event.latch_is_kept and event.kernel_is_alive:
        if time.monotonic() > deadline:
            _log.warning(
                "`%s` is latched, but its disk has not kept that yet: a power cut now may undo it", instance
            )
            break
        time.sleep(0.002)
    if registration is not None:
        registration.leave()


def default_state_dir() -> Path:
    """Returns where latches are written down unless the caller says otherwise."""
    named = os.environ.get(STATE_DIR_VARIABLE)
    if named:
        return Path(named)
    home = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(home) / "lastgate"


def require_instance(name: str) -> str:
    """Returns the name under which a kernel is found, or says which letters it may have."""
    if not re.fullmatch(r"[A-Za-z0-9_-]{1,64}", name):
        raise ROSConfigError(f"instance must be 1 to 64 letters, digits, `_` and `-`, got {name!r}")
    return name


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelSettings:
    """Settings of a kernel's responses and process; no setting turns a check off.

    Attributes:
        on_violation: `estop` latches; `hold` drops and reports. Neither lets the chunk through.
        on_stale: What missing, stale or overflowing data leads to: `estop`, `stop` or `drop`.
        warn_only: For simulation and bring-up: everything is checked, and passes with a warning.
        without_world: States that the world is not observed.
        reset_cooldown_s: A reset is refused this long after the most recent stop.
        required_sources: E-stop sources that must be alive before anything passes. A deadman that the envelope
            requires is one of them, named or not.
        required_actuators: Drivers that must acknowledge a stop before it can be reset.
        spin_us: How long the kernel looks for work before it sleeps; -1 never sleeps.
        sched_fifo: Real-time priority, 0 for none. Refused by the system: a warning.
        cpu: The processor to stay on, -1 for any.
        lock_memory: Keep all pages in memory.

    Raises:
        ROSConfigError: A setting of another type. What its value may be, the kernel says when it starts.
    """

    on_violation: str = OnViolation.ESTOP
    on_stale: str = OnStale.ESTOP
    warn_only: bool = False
    without_world: bool = False
    reset_cooldown_s: float = 0.5
    required_sources: Sequence[str] = ()
    required_actuators: Sequence[str] = ()
    spin_us: float = 50.0
    sched_fifo: int = 0
    cpu: int = -1
    lock_memory: bool = False

    def __post_init__(self) -> None:
        for name in ("warn_only", "without_world", "lock_memory"):
            # Of a file or an environment comes the text "false", which is true.
            if not isinstance(getattr(self, name), bool):
                raise ROSConfigError(f"{name} must be True or False, got {getattr(self, name)!r}")
        for name in ("required_sources", "required_actuators"):
            names = getattr(self, name)
            if isinstance(names, str) or not isinstance(names, Sequence):
                raise ROSConfigError(f"{name} must be a list of names, got {names!r}")
            if not all(isinstance(one, str) for one in names):
                raise ROSConfigError(f"{name} must be names, got {list(names)!r}")
        for name in ("reset_cooldown_s", "spin_us"):
            require_number(getattr(self, name), name=name)
        for name in ("sched_fifo", "cpu"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int):
                raise ROSConfigError(f"{name} must be a whole number, got {value!r}")

    def arguments(self) -> list[str]:
        """Returns the settings as the program reads them."""
        flags = {
            "--warn-only": self.warn_only,
            "--without-world": self.without_world,
            "--lock-memory": self.lock_memory,
        }
        return [
            *("--on-violation", str(self.on_violation)),
            *("--on-stale", str(self.on_stale)),
            *("--reset-cooldown-s", repr(float(self.reset_cooldown_s))),
            *("--spin-us", repr(float(self.spin_us))),
            *("--lanes", chosen_simd()),
            *(word for name in self.required_sources for word in ("--require-source", name)),
            *(word for name in self.required_actuators for word in ("--require-actuator", name)),
            *(("--sched-fifo", str(self.sched_fifo)) if self.sched_fifo else ()),
            *(("--cpu", str(self.cpu)) if self.cpu >= 0 else ()),
            *(flag for flag, wanted in flags.items() if wanted),
        ]


def kernel_command(
    *, config: Path, digest: str, instance: str, state_dir: Path, settings: KernelSettings
) -> list[str]:
    """Returns the command that starts a kernel from a flat configuration file.

    Raises:
        ROSConfigError: The folder for the latch cannot be made, or the instance has no usable name.
    """
    require_instance(instance)
    try:
        state_dir.parent.mkdir(parents=True, exist_ok=True)
        state_dir.mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        raise ROSConfigError(f"cannot make the folder `{state_dir}`: {error.strerror}") from None
    return [
        str(kernel_program()),
        *("--config", str(config)),
        *("--digest", digest),
        *("--instance", instance),
        *("--latch", str(state_dir / f"{instance}.latch")),
        *settings.arguments(),
    ]


class BroughtDeadman:
    """The deadman of a program that starts its own kernel: a native process that watches the program.

    It stops the robot while the program is stopped or held by a debugger, and ends with it. Its own death is a stop.

    Raises:
        ROSConfigError: It does not start.
    """

    def __init__(self, instance: str) -> None:
        self._process = subprocess.Popen(
            [str(deadman_program()), "--instance", instance, "--program", str(os.getpid())],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        assert self._process.stdout is not None
        said = self._process.stdout.readline()
        if said != "ready\n":
            self.end()
            raise ROSConfigError(f"the deadman of `{instance}` did not start: {said.strip()}")
        _log.info("a deadman watches this program for the kernel `%s`", instance)

    @property
    def pid(self) -> int:
        """The deadman's process."""
        return self._process.pid

    def end(self) -> None:
        """Ends it; the kernel must have ended before, which would miss it."""
        self._process.kill()
        self._process.wait()
        if self._process.stdout is not None:
            self._process.stdout.close()


class KernelMessages:
    """Reads what a kernel says on stderr, so that its pipe never fills; each line goes to `logging`."""

    def __init__(self, pipe: IO[str]) -> None:
        self._pipe = pipe
        self._lines: deque[str] = deque(maxlen=_LINES_KEPT)
        self._thread = threading.Thread(target=self._drain, name="lastgate-kernel-messages", daemon=True)
        self._thread.start()

    def _drain(self) -> None:
        for line in self._pipe:
            said = printable(line.rstrip("\n"))
            self._lines.append(said)
            _log.warning(said)

    def after_the_end(self, timeout_s: float) -> str:
        """Returns the last lines of a kernel that has ended."""
        self._thread.join(timeout_s)
        return "\n".join(self._lines)

    def close(self, timeout_s: float) -> None:
        """Waits for the last line and closes the pipe; the kernel must have ended."""
        self._thread.join(timeout_s)
        if not self._thread.is_alive():
            self._pipe.close()
