# SPDX-License-Identifier: Apache-2.0
"""The driver's side of the gate: moves on accepted chunks of one kernel, and stops for everything else.

`DriverLogic` is pure; `SafeActionDriver` puts the kernel's shared memory around it. A driver for real hardware
gives it an `Actuator` and calls `tick` at its own rate.
"""

import math
import time
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

import numpy as np

from lastgate import _core
from lastgate.arrays import Float64
from lastgate.contracts import ControlMode, ROSConfigError
from lastgate.kernel_client import KernelState

# How long the last row of a chunk is held before the silence counts as a stop; as long as a deadman waits.
SAFE_ACTION_PATIENCE_S = 0.2


class StopReason(StrEnum):
    """Says why a driver stands."""

    NOTHING_YET = "no accepted chunk yet"
    LATCHED = "a stop is latched"
    INACTIVE = "the kernel is not active"
    REPLACED = "another driver has its seat"
    KERNEL_GONE = "the kernel is gone"
    STARVED = "no accepted chunk in time"
    PAUSED = "this driver did not look for too long"
    REFUSED = "a chunk was refused"
    UNINFORMED = "what must be known is missing or too old"


class StopBehaviour(StrEnum):
    """Is how something that moves comes to rest: declared once, and the same for every reason to stop."""

    HOLD = "hold"  # the last set point stays
    RAMP = "ramp"  # the set point slows down from the last one
    DAMP = "damp"  # nothing pulls anywhere; speed is resisted, and weight carried


class Actuator(Protocol):
    """Is what moves: one set point per tick, and a stop that starts from the last one."""

    def command(self, row: Float64, mode: ControlMode) -> None:
        """Sends one row of an accepted chunk."""
        ...

    def stop(self) -> None:
        """Does one tick of its `StopBehaviour`. Called every tick while it stands."""
        ...

    def is_stopped(self) -> bool:
        """Tells whether it has come to rest; only then is a stop acknowledged."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class AcceptedChunk:
    """Is a chunk as it left the kernel."""

    sequence: int
    origin: int
    rows: Float64
    mode: ControlMode
    arrived_s: float


@dataclass(slots=True, kw_only=True)
class DriverLogic:
    """Decides, tick by tick, whether to send a row and which.

    Attributes:
        step_s: Time from one row to the next: that of the kernel.
        patience_s: How long the last row of a chunk is held while no new one comes.
    """

    step_s: float
    patience_s: float = SAFE_ACTION_PATIENCE_S
    kernel_id: int = 0
    refused: int = field(default=0, init=False)
    _chunk: AcceptedChunk | None = field(default=None, init=False)
    _latest_sequence: int = field(default=0, init=False)
    _looked_s: float = field(default=-math.inf, init=False)
    reason: StopReason = field(default=StopReason.NOTHING_YET, init=False)

    def __post_init__(self) -> None:
        if not (self.step_s > 0.0 and self.patience_s > 0.0):
            raise ROSConfigError("step_s and patience_s must be positive numbers of seconds")

    def take(self, chunk: AcceptedChunk) -> bool:
        """Takes a chunk, unless another kernel wrote it or it is not newer than the last."""
        if chunk.origin != self.kernel_id or chunk.sequence <= self._latest_sequence:
            self.refused += 1
            return False
        self._latest_sequence = chunk.sequence
        self._chunk = chunk
        return True

    def forget(self) -> None:
        """Drops what was accepted: after a stop nothing old is resumed."""
        self._chunk = None

    def row_at(
        self,
        *,
        now_s: float,
        kernel_alive: bool,
        state: int,
        stopped_at: int = 0,
    ) -> tuple[Float64, ControlMode] | None:
        """Returns the row to send now, or None to stop; `reason` says why.

        Whoever has not asked for longer than the patience and a step stops too: the row that is due now is far from
        where they left off, and nobody has checked that way.

        Args:
            now_s: A clock that does not run backwards.
            kernel_alive: The kernel beats.
            state: A `KernelState`; chunks that the kernel accepted are followed while it is active, and in no other.
            stopped_at: After the chunk with this number came a controlled stop; later ones move again.
        """
        looked_s, self._looked_s = self._looked_s, now_s
        if not kernel_alive:
            self.reason = StopReason.KERNEL_GONE
        elif state != KernelState.ACTIVE:
            self.reason = StopReason.LATCHED if state == KernelState.LATCHED else StopReason.INACTIVE
        elif self._chunk is None:
            self.reason = StopReason.NOTHING_YET if self._latest_sequence == 0 else self.reason
        elif self._chunk.sequence <= stopped_at:
            self.reason = StopReason.UNINFORMED
        elif (
            not 0.0 <= now_s - self._chunk.arrived_s <= self.patience_s + len(self._chunk.rows) * self.step_s
        ):
            self.reason = StopReason.STARVED
        elif not now_s - max(looked_s, self._chunk.arrived_s) <= self.patience_s + self.step_s:
            self.reason = StopReason.PAUSED
        else:
            index = min(int((now_s - self._chunk.arrived_s) / self.step_s), len(self._chunk.rows) - 1)
            return self._chunk.rows[index], self._chunk.mode
        self.forget()
        return None


class SafeActionDriver:
    """Connects an actuator to a running kernel.

    Args:
        instance: The kernel: its robot's name, or its own.
        actuator: What moves.
        name: The driver's seat at the kernel; name it in `required_actuators` to have stops acknowledged by it.
        step_s: Time from one row to the next: that of the kernel.

    Raises:
        ROSConfigError: There is no such kernel, or the seat is taken.
    """

    def __init__(
        self,
        instance: str,
        actuator: Actuator,
        *,
        name: str,
        step_s: float,
        patience_s: float = SAFE_ACTION_PATIENCE_S,
    ) -> None:
        self._instance = instance
        self._name = name
        self._actuator = actuator
        self.logic = DriverLogic(step_s=step_s, patience_s=patience_s)
        self._connect()

    def tick(self) -> bool:
        """Sends one row or does one tick of the stop; tells which: True when it moved."""
        self._seat.beat()
        if not self._seat.is_mine:
            # Paused for so long that another took over. Two may not pull at one arm.
            self.logic.forget()
            self.logic.reason = StopReason.REPLACED
            self._actuator.stop()
            return False
        while (message := self._reader.read(0.0)) is not None:
            # What passed for the base is for another driver.
            if self._reader.last_type == _core.MESSAGE_ACTION_CHUNK:
                self._take(*message)
        state = self._seat.kernel_state
        found = self.logic.row_at(
            now_s=time.monotonic(),
            kernel_alive=self._seat.kernel_is_alive,
            state=state,
            stopped_at=self._seat.stopped_at,
        )
        if found is not None:
            self._actuator.command(*found)
            return True
        # Read before the actuator is asked: a stop that comes in between is another one.
        sequence = self._seat.latch_sequence
        self._actuator.stop()
        if state == KernelState.LATCHED and self._actuator.is_stopped():
            self._seat.acknowledge(sequence)
        return False

    @property
    def kernel_is_alive(self) -> bool:
        """Tells whether the kernel whose chunks are taken is there; a new one needs `reconnect`."""
        return self._seat.kernel_is_alive

    def reconnect(self) -> None:
        """Takes a seat at the kernel that runs now; what the one before accepted is forgotten."""
        self._connect()

    def close(self) -> None:
        """Leaves the seat; the actuator is stopped first."""
        self._actuator.stop()
        self._seat.leave()

    def _connect(self) -> None:
        try:
            self._seat = _core.Seat(self._instance, self._name, actuator=True)
            self._reader = _core.RingReader(self._instance, "safe_actions")
        except (RuntimeError, ValueError) as error:
            raise ROSConfigError(f"driver `{self._name}`: {error}") from None
        self.logic = DriverLogic(
            step_s=self.logic.step_s, patience_s=self.logic.patience_s, kernel_id=self._seat.kernel_id
        )

    def _take(self, sequence: int, origin: int, written_s: float, payload: bytes) -> None:
        fields = _core.decode_action_chunk(payload)
        if fields is None or not fields["horizon"] or not fields["n_dof"]:
            self.logic.refused += 1
            return
        rows = np.array(fields["flat"]).reshape(fields["horizon"], fields["n_dof"])
        self.logic.take(
            AcceptedChunk(
                sequence=sequence,
                origin=origin,
                rows=rows,
                mode=ControlMode(fields["control_mode"]),
                arrived_s=written_s,
            )
        )
