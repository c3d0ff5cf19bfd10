# SPDX-License-Identifier: Apache-2.0
"""What a driver behind DDS may send: steps of accepted chunks in their order, or the declared stop. Needs no ROS 2."""

from dataclasses import dataclass, field

import numpy as np

from lastgate.contracts import ControlMode, ROSConfigError
from lastgate.contracts.arrays import Float64
from lastgate.integrations.declared_stop import StopLaw
from lastgate.integrations.driver import AcceptedChunk, DriverLogic, require_reaction
from lastgate.kernel.client import KernelState

# Steps of these modes are joint positions, the one thing that a topic of positions can carry.
POSITION_MODES = (ControlMode.JOINT_POSITION, ControlMode.JOINT_TRAJECTORY, ControlMode.DEX_HAND_JOINT)


@dataclass(slots=True)
class WireLatch:
    """Whether a stop was heard, and whether the kernel has cleared it since.

    The stop and the status of the kernel come on two topics, which DDS does not order, and a source may publish the
    stop while the kernel is dead. So after a stop only a status of a *later* latch than the last known one counts, or
    of that one if it was known to be latched.
    """

    state: int = KernelState.UNCONFIGURED
    sequence: int = 0
    _needs_sequence: int | None = None

    def hear_status(self, state: int, sequence: int) -> None:
        """Takes a status of the kernel."""
        self.state, self.sequence = state, sequence
        needs = self._needs_sequence
        if needs is not None and state == KernelState.ACTIVE and sequence >= needs:
            self._needs_sequence = None

    def hear_stop(self) -> None:
        """Takes an e-stop of any publisher."""
        if self._needs_sequence is None:
            self._needs_sequence = self.sequence + (self.state != KernelState.LATCHED)

    @property
    def effective_state(self) -> int:
        """State that the driver must obey."""
        return self.state if self._needs_sequence is None else KernelState.LATCHED


@dataclass(slots=True, kw_only=True)
class WireDriver:
    """The set point of every tick, from what was heard.

    Attributes:
        joint_count: Width of a step; a chunk of another width stops.
        step_s: Time from one step to the next: that of the kernel.
        deceleration: Per joint, for a stop that slows down from the last command; None holds the last command.
        law: The stop that the robot's manifest declares, `StopLaw.of(robot)`, which was certified with the chunk. It
            takes the place of `deceleration`.
    """

    joint_count: int
    step_s: float
    patience_s: float
    deceleration: Float64 | None = None
    law: StopLaw | None = None
    latch: WireLatch = field(default_factory=WireLatch)
    logic: DriverLogic = field(init=False)
    _taken: int = field(default=0, init=False)
    _command: Float64 | None = field(default=None, init=False)
    _velocity: Float64 = field(init=False)
    _sent_s: float = field(default=0.0, init=False)

    def __post_init__(self) -> None:
        if self.deceleration is not None:
            limits = np.asarray(self.deceleration, dtype=np.float64)
            if limits.shape != (self.joint_count,) or not (np.isfinite(limits) & (limits > 0.0)).all():
                raise ROSConfigError(
                    f"deceleration is one positive number per joint, {self.joint_count} of them"
                )
            self.deceleration = limits
        if self.law is not None and self.law.deceleration.shape != (self.joint_count,):
            raise ROSConfigError(f"law is about {self.law.deceleration.size} joints, not {self.joint_count}")
        require_reaction(self.law, step_s=self.step_s)
        self.logic = DriverLogic(step_s=self.step_s, patience_s=self.patience_s, kernel_id=1, law=self.law)
        self._velocity = np.zeros(self.joint_count)

    def hear_chunk(self, *, mode: int, rows: int, width: int, flat: Float64, now_s: float) -> bool:
        """Takes a chunk that passed the kernel; False, and a stop, for one that cannot be sent as it was checked."""
        self._taken += 1
        values = np.asarray(flat, dtype=np.float64)
        is_sendable = mode in POSITION_MODES and rows > 0 and width == self.joint_count
        if not (is_sendable and values.size == rows * width and np.isfinite(values).all()):
            self.logic.refused += 1
            self.logic.forget()
            return False
        return self.logic.take(
            AcceptedChunk(
                sequence=self._taken,
                origin=1,
                rows=values.reshape(rows, width),
                mode=ControlMode(mode),
                arrived_s=now_s,
            )
        )

    def set_point(self, now_s: float) -> Float64 | None:
        """Returns what to send now; None while nothing was ever accepted."""
        found = self.logic.row_at(now_s=now_s, kernel_alive=True, state=int(self.latch.effective_state))
        elapsed_s = now_s - self._sent_s
        if found is not None:
            row, _ = found
            if self._command is None or not np.array_equal(row, self._command):
                # A step takes step_s, however often it is sent meanwhile.
                self._velocity = (
                    np.zeros_like(row) if self._command is None else (row - self._command) / self.step_s
                )
            self._command = row.copy()
        elif self.law is not None:
            braking = self.logic.braking()
            self._command = self._command if braking is None else braking[0].copy()
        elif self._command is not None:
            self._slow_down(elapsed_s)
        self._sent_s = now_s
        return None if self._command is None else self._command.copy()

    def _slow_down(self, elapsed_s: float) -> None:
        if self.deceleration is None or not 0.0 <= elapsed_s <= self.patience_s:
            self._velocity[:] = 0.0  # after a pause of its own the last command stays: nothing jumps
            return
        assert self._command is not None
        rest_s = np.minimum(elapsed_s, np.abs(self._velocity) / self.deceleration)
        signed = np.sign(self._velocity) * self.deceleration
        self._command = self._command + self._velocity * rest_s - 0.5 * signed * rest_s**2
        self._velocity = self._velocity - signed * rest_s
