# SPDX-License-Identifier: Apache-2.0
"""The two things a page can do: stop, and ask for a reset."""

import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from lastgate import _core
from lastgate.contracts import HumanEvidence, ROSConfigError
from lastgate.kernel.estop import ResetOutcome, SafetyLatch, stop_reason
from lastgate.kernel.process import RESET_TIMEOUT_S, stop_kernel

if TYPE_CHECKING:  # the stop button's process has no use for what a watch needs
    from lastgate.tools.dashboard.kernel_watch import KernelWatch

REASON_CHARACTERS_MAX = 120
# One registration on the status block for all pages of a machine would refuse the second person; two presses may come
# at once.
_REGISTRATIONS = 100


class Control(Protocol):
    """The target of the page's buttons. Both answers say in words what happened."""

    def estop(self, reason: str) -> ResetOutcome:
        """Stops; success means that it is known to be latched."""
        ...

    def reset(self) -> ResetOutcome:
        """Asks for the latch to be cleared."""
        ...


class NoControl:
    """The target of a page that watches nothing that could be stopped."""

    def estop(self, reason: str) -> ResetOutcome:
        """Says that nothing was stopped."""
        return ResetOutcome(
            success=False, message="nothing was stopped: no kernel is watched here. Use the hardware stop"
        )

    def reset(self) -> ResetOutcome:
        """Says that there is nothing to reset."""
        return ResetOutcome(success=False, message="no kernel is watched here, there is nothing to reset")


class KernelControl:
    """Acts on a running kernel: a stop through a registration on its status block, a reset through a channel that is
    given back."""

    def __init__(self, instance: str) -> None:
        self._instance = instance

    def estop(self, reason: str) -> ResetOutcome:
        """Stops, and waits until the kernel says that it is latched."""
        reason = stop_reason(reason)[:REASON_CHARACTERS_MAX]
        evidence = HumanEvidence(actor="dashboard", reason=reason).model_dump_json()
        source = f"dashboard-{time.monotonic_ns() % _REGISTRATIONS}"
        try:
            stop_kernel(self._instance, source=source, reason=reason, evidence=evidence)
        except ROSConfigError as error:
            # A person at the page does not type commands, so without the hint.
            return ResetOutcome(success=False, message=str(error).partition("\n\nhint: ")[0])
        return ResetOutcome(success=True, message="latched")

    def reset(self) -> ResetOutcome:
        """Asks the kernel, which says what blocks it."""
        try:
            # Held for one question: proposers need the channels, of which there are few.
            answer = _core.ChannelClient(self._instance).command("reset", RESET_TIMEOUT_S)
        except (RuntimeError, ValueError) as error:
            return ResetOutcome(success=False, message=f"reset refused: {error}")
        if answer is None:
            return ResetOutcome(success=False, message="reset refused: the kernel did not answer")
        success, message = answer
        return ResetOutcome(success=success, message=message)


class WatchedControl:
    """Acts on whichever kernel is watched at the moment."""

    def __init__(self, watch: "KernelWatch") -> None:
        self._watch = watch

    def estop(self, reason: str) -> ResetOutcome:
        """Stops that kernel."""
        return self._control().estop(reason)

    def reset(self) -> ResetOutcome:
        """Asks that kernel."""
        return self._control().reset()

    def _control(self) -> Control:
        instance = self._watch.instance
        return NoControl() if instance is None else KernelControl(instance)


class LatchControl:
    """Acts on a latch of this process, which its owner reads from another thread."""

    def __init__(
        self, latch: SafetyLatch | None = None, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._latch = latch or SafetyLatch()
        self._clock = clock
        self._lock = threading.Lock()

    def estop(self, reason: str) -> ResetOutcome:
        """Latches."""
        with self._lock:
            self._latch.trip(source="dashboard", reason=stop_reason(reason), now_s=self._clock())
        return ResetOutcome(success=True, message="latched")

    def reset(self) -> ResetOutcome:
        """Clears the latch if nothing blocks it."""
        with self._lock:
            return self._latch.reset(now_s=self._clock())

    @property
    def latched(self) -> bool:
        """True while every chunk is rejected."""
        return self._latch.latched

    @property
    def sequence(self) -> int:
        """Number that grows with every latch and every clear."""
        return self._latch.sequence

    @property
    def source(self) -> str:
        """Source of the latest stop."""
        return self._latch.source

    @property
    def reason(self) -> str:
        """Reason of the latest stop."""
        return self._latch.reason
