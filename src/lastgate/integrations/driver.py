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
from lastgate.contracts import ControlMode, ROSConfigError
from lastgate.contracts.arrays import Float64, require_array
from lastgate.integrations.declared_stop import StopLaw, StoppingMotion
from lastgate.kernel.client import KernelState

# How long the last step of a chunk is held before the silence counts as a stop; as long as a deadman waits.
SAFE_ACTION_PATIENCE_S = 0.2
# A poll that is late by up to this share of a step does not delay the steps behind it: so late is a driver that ticks
# ten times per step. A poll that is later delays them all, so two steps are never nearer in time than 0.9 of a step.
LATE_SHARE = 0.1
# The clock of a driver and the sum of its steps round differently: by far less than this share of a step.
ROUNDING_SHARE = 1e-6
# A speed or force lasts at most this share of a step longer than it was checked for: a driver ticks twice per step.
OVERRUN_SHARE = 0.5

# The steps of these modes are places: held, they lead no further. All others are speeds, forces or distances to go on.
PLACE_MODES = (
    ControlMode.JOINT_POSITION,
    ControlMode.JOINT_TRAJECTORY,
    ControlMode.DEX_HAND_JOINT,
    ControlMode.CARTESIAN_POSE,
    ControlMode.GRIPPER_BINARY,
    ControlMode.GRIPPER_POSITION,
    ControlMode.COMPOSITE_MODE,
)
_JOINT_PLACE_MODES = PLACE_MODES[:3]
# Steps from which a driver can brake by itself as declared: it knows where the joints were sent, or how fast.
_BRAKED_MODES = (*_JOINT_PLACE_MODES, ControlMode.JOINT_VELOCITY)
_MODES = frozenset(int(mode) for mode in ControlMode)


class StopReason(StrEnum):
    """Reasons why a driver stands."""

    NOTHING_YET = "no accepted chunk yet"
    LATCHED = "a stop is latched"
    INACTIVE = "the kernel is not active"
    REPLACED = "another driver has its registration"
    KERNEL_GONE = "the kernel is gone"
    STARVED = "no accepted chunk in time"
    PAUSED = "this driver did not poll for too long"
    REJECTED = "a chunk was rejected"
    REFUSED = REJECTED  # deprecated alias, kept for one release
    UNINFORMED = "what must be known is missing or too old"
    ELSEWHERE = "the robot is not where the chunk was checked from"
    NOT_EXECUTED = "an accepted chunk could not be executed as it was checked"


class StopBehaviour(StrEnum):
    """The way something that moves comes to rest: declared once, and the same for every reason to stop."""

    HOLD = "hold"  # the last set point stays
    RAMP = "ramp"  # the set point slows down from the last one
    DAMP = "damp"  # nothing pulls anywhere; speed is resisted, and weight carried


class Actuator(Protocol):
    """Something that moves: one set point per tick, and a stop that starts from the last one.

    A driver that is given a `reach` also reads its `positions`: where the joints were measured, in the order of a step.
    One that has `modes` is sent steps of these modes alone: a chunk of another is not executed, and stops it.
    """

    def command(self, row: Float64, mode: ControlMode) -> None:
        """Sends one step of an accepted chunk; whatever this mode does not move holds, for so it was checked."""
        ...

    def stop(self) -> None:
        """Does one tick of its `StopBehaviour`. Called every tick while it stands."""
        ...

    def is_stopped(self) -> bool:
        """Returns whether it has come to rest; only then is a stop acknowledged."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class AcceptedChunk:
    """A chunk as it left the kernel."""

    sequence: int
    origin: int
    rows: Float64
    mode: ControlMode
    arrived_s: float


@dataclass(slots=True)
class _UnderWay:
    """The chunk whose steps are sent, and the latest one."""

    rows: Float64
    path: Float64
    mode: ControlMode
    index: int
    sent_s: float


@dataclass(slots=True, kw_only=True)
class DriverLogic:
    """Decides, tick by tick, whether to send a step and which.

    Steps are sent in their order, none is left out, and none is sent before its time. After a poll that was late the
    next step is the next one, and those behind it are as much later: the clock never picks a step, so what is between
    two commands is what was checked between two steps.

    Attributes:
        step_s: Time from one step to the next: that of the kernel.
        patience_s: How long the last step of a chunk is held while no new one comes, and how far a chunk may fall
            behind its own time.
        reach: How far from where a joint was measured the first step of a chunk of joint positions may send it, one per
            joint: its velocity limit times `step_s`, and how far it lags. None compares nothing.
        law: How the robot stops. Joints that move then brake so, for every reason to stop, from the last command:
            `braking` says where to; the end of a chunk is such a reason at once, for that is what was certified. None
            leaves the stop to the actuator.
    """

    step_s: float
    patience_s: float = SAFE_ACTION_PATIENCE_S
    kernel_id: int = 0
    reach: Float64 | None = None
    law: StopLaw | None = None
    refused: int = field(default=0, init=False)
    _chunk: AcceptedChunk | None = field(default=None, init=False)
    _latest_sequence: int = field(default=0, init=False)
    _polled_s: float = field(default=-math.inf, init=False)
    _index: int = field(default=0, init=False)
    # When the step behind that of `_index` may be sent; None while the chunk is not begun.
    _due_s: float | None = field(default=None, init=False)
    _under_way: _UnderWay | None = field(default=None, init=False)
    _stopping: StoppingMotion | None = field(default=None, init=False)
    _stopping_mode: ControlMode = field(default=ControlMode.JOINT_POSITION, init=False)
    # The path time of the last command, which the set point leads by up to a step.
    _stopping_from_s: float = field(default=0.0, init=False)
    _stopped_for_s: float = field(default=0.0, init=False)
    _tick_s: float = field(default=0.0, init=False)
    reason: StopReason = field(default=StopReason.NOTHING_YET, init=False)

    def __post_init__(self) -> None:
        if not (self.step_s > 0.0 and self.patience_s > 0.0):
            raise ROSConfigError("step_s and patience_s must be positive numbers of seconds")
        if self.reach is not None:
            self.reach = require_array(self.reach, name="reach", dimensions=1)
            if not (np.isfinite(self.reach) & (self.reach > 0.0)).all():
                raise ROSConfigError("reach is one positive number per joint")

    def take(self, chunk: AcceptedChunk) -> bool:
        """Takes a chunk in place of the one before, whatever that one moved, unless another kernel wrote it or it is
        not newer than the last."""
        if chunk.origin != self.kernel_id or chunk.sequence <= self._latest_sequence:
            self.refused += 1
            return False
        self._latest_sequence = chunk.sequence
        self._chunk = chunk
        self._index, self._due_s = 0, None
        return True

    @property
    def is_under_way(self) -> bool:
        """True while there is a chunk to execute; its last step may be held."""
        return self._chunk is not None

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
        measured: Float64 | None = None,
    ) -> tuple[Float64, ControlMode] | None:
        """Returns the step to send now, or None to stop; `reason` says why.

        A driver that has not asked for longer than the patience and a step stops too.

        Args:
            now_s: A clock that does not run backwards.
            kernel_alive: The kernel beats.
            state: A `KernelState`; chunks that the kernel accepted are followed while it is active, and in no other.
            stopped_at: After the chunk with this number came a controlled stop; later ones move again.
            measured: Where the joints are; compared with the first step of a chunk if there is a `reach`.
        """
        polled_s, self._polled_s = self._polled_s, now_s
        reason = self._blocked(kernel_alive=kernel_alive, state=state, stopped_at=stopped_at)
        if reason is None:
            assert self._chunk is not None
            reason = self._advance(self._chunk, now_s=now_s, polled_s=polled_s, measured=measured)
        if reason is None:
            assert self._chunk is not None
            return self._sent(self._chunk, now_s=now_s, measured=measured)
        self.reason = reason
        self.forget()
        self._brake(now_s=now_s, polled_s=polled_s)
        return None

    def braking(self) -> tuple[Float64, ControlMode] | None:
        """Returns what to send while `row_at` returns None and the joints brake as declared; None when they stand.

        After a pause of the driver that is longer than its patience the last command stays: nothing jumps.
        """
        if self._stopping is None:
            return None
        if self._stopping_mode == ControlMode.JOINT_VELOCITY:
            # The speed lasts until the next tick, by which it has to be this low.
            return self._stopping.velocity_at(self._stopped_for_s + self._tick_s), self._stopping_mode
        return self._stopping.at(self._stopped_for_s, not_before_s=self._stopping_from_s), self._stopping_mode

    def _sent(
        self, chunk: AcceptedChunk, *, now_s: float, measured: Float64 | None
    ) -> tuple[Float64, ControlMode]:
        """Returns the step of `_index`, and remembers what a stop would start from."""
        row = chunk.rows[self._index]
        self._stopping = None
        if self.law is None or chunk.mode not in _BRAKED_MODES or len(self.law.deceleration) != len(row):
            self._under_way = None
        elif self._under_way is None or self._under_way.rows is not chunk.rows:
            self._under_way = _UnderWay(chunk.rows, self._path_of(chunk, measured), chunk.mode, 0, now_s)
        elif self._under_way.index != self._index:
            self._under_way.index, self._under_way.sent_s = self._index, now_s
        return row, chunk.mode

    def _path_of(self, chunk: AcceptedChunk, measured: Float64 | None) -> Float64:
        """Returns where the chunk begins and its steps; speeds are added up from zero."""
        if chunk.mode == ControlMode.JOINT_VELOCITY:
            steps = np.cumsum(chunk.rows * self.step_s, axis=0)
            return np.vstack([np.zeros(steps.shape[1]), steps])
        last = self._under_way
        if measured is not None and len(measured) == chunk.rows.shape[1]:
            start = measured
        elif last is not None and last.mode != ControlMode.JOINT_VELOCITY:
            start = last.rows[last.index]
        else:
            start = chunk.rows[0]
        return np.vstack([start, chunk.rows])

    def _brake(self, *, now_s: float, polled_s: float) -> None:
        """Begins the declared stop, or goes on with it by the time that passed."""
        passed_s = now_s - polled_s
        is_paused = not 0.0 <= passed_s <= self.patience_s + self.step_s
        if self._stopping is not None:
            stands = self._stopped_for_s >= self._stopping.duration_s
            if is_paused or stands:
                self._stopping = None
            else:
                self._tick_s = min(passed_s, self.step_s)
                self._stopped_for_s += self._tick_s
            return
        last, self._under_way = self._under_way, None
        # Where the joints stood for longer than a step they need no braking, and a motion would begin anew.
        if last is None or self.law is None or not 0.0 <= now_s - last.sent_s <= 2.0 * self.step_s:
            return
        # Just behind the step at least: the joints were sent on along this segment.
        into_s = min(max(now_s - last.sent_s, ROUNDING_SHARE * self.step_s), self.step_s)
        asked_s = last.index * self.step_s + into_s
        self._stopping = StoppingMotion(last.path, step_s=self.step_s, law=self.law, asked_s=asked_s)
        self._stopping_mode, self._stopped_for_s = last.mode, 0.0
        self._tick_s = min(max(passed_s, 0.0), self.step_s)
        self._stopping_from_s = (last.index + 1) * self.step_s

    def _blocked(self, *, kernel_alive: bool, state: int, stopped_at: int) -> StopReason | None:
        if not kernel_alive:
            return StopReason.KERNEL_GONE
        if state != KernelState.ACTIVE:
            return StopReason.LATCHED if state == KernelState.LATCHED else StopReason.INACTIVE
        if self._chunk is None:
            return StopReason.NOTHING_YET if self._latest_sequence == 0 else self.reason
        return StopReason.UNINFORMED if self._chunk.sequence <= stopped_at else None

    def _advance(
        self, chunk: AcceptedChunk, *, now_s: float, polled_s: float, measured: Float64 | None
    ) -> StopReason | None:
        """Goes on by one step or by none; returns why that must not be."""
        is_last = self._index == len(chunk.rows) - 1
        brakes = self.law is not None and chunk.mode in _BRAKED_MODES
        too_late = StopReason.STARVED if is_last else StopReason.PAUSED
        longest_s = self.patience_s + self.step_s
        if not (now_s - chunk.arrived_s >= 0.0 and now_s - max(polled_s, chunk.arrived_s) <= longest_s):
            return too_late
        reason = None
        if self._due_s is None:
            if not self._is_in_reach(chunk, measured):
                return StopReason.ELSEWHERE
            self._due_s = self._next_due_s(chunk.arrived_s, now_s)
        elif now_s >= self._due_s - ROUNDING_SHARE * self.step_s:
            if is_last and brakes:
                return StopReason.STARVED
            if chunk.mode in PLACE_MODES:
                self._go_on(chunk, self._next_due_s(self._due_s, now_s))
            else:
                is_too_long = now_s - self._due_s > (OVERRUN_SHARE + ROUNDING_SHARE) * self.step_s
                reason = too_late if is_last or is_too_long else None
                self._go_on(chunk, self._due_s + self.step_s)
        # Late by parts is late as well: what was checked was checked for the world of its own time.
        is_behind = not now_s - chunk.arrived_s - self._index * self.step_s <= longest_s
        return too_late if reason is None and is_behind else reason

    def _go_on(self, chunk: AcceptedChunk, due_s: float) -> None:
        if self._index < len(chunk.rows) - 1:
            self._index += 1
            self._due_s = due_s

    def _next_due_s(self, due_s: float, now_s: float) -> float:
        """Returns when the step after one is due that was due then and is sent now."""
        return max(due_s, now_s - LATE_SHARE * self.step_s) + self.step_s

    def _is_in_reach(self, chunk: AcceptedChunk, measured: Float64 | None) -> bool:
        if self.reach is None or chunk.mode not in _JOINT_PLACE_MODES:
            return True
        if measured is None or not len(measured) == len(self.reach) == chunk.rows.shape[1]:
            return False
        return bool((np.abs(chunk.rows[0] - measured) <= self.reach).all())


def require_reaction(law: StopLaw | None, *, step_s: float) -> None:
    """Refuses a law that a driver of whole steps cannot keep.

    Its last command leads the path by up to a step. With a shorter reaction the place that was commanded could lie
    behind the one where the declared stop rests.

    Raises:
        ROSConfigError: The law reacts within less than a step.
    """
    if law is not None and not law.reaction_s >= step_s * (1.0 - ROUNDING_SHARE):
        raise ROSConfigError(
            f"the declared stop reacts within {law.reaction_s:.4f} s, a driver of whole steps within {step_s:.4f} s\n\n"
            "hint: declare a `reaction_s` of at least one step"
        )


class SafeActionDriver:
    """Connects an actuator to a running kernel.

    Args:
        instance: The kernel: its robot's name, or its own.
        actuator: What moves.
        name: The driver's registration at the kernel; name it in `required_actuators` to have stops acknowledged by it.
        step_s: Time from one step to the next: that of the kernel.
        reach: How far the first step of a chunk may be from the actuator's `positions`, one number per joint: velocity
            limit times `step_s`, and how far a joint lags. Without it a chunk begins wherever the robot is.
        law: How the robot stops, `StopLaw.of(robot)`: the actuator is sent the set points of that stop, and its own
            `stop` once they stand. Without it, and for steps that are neither joint positions nor speeds of joints, its
            own `stop` has to do what was declared.

    Raises:
        ROSConfigError: There is no such kernel, or the registration is taken; there is a reach and nothing that
        measures; the law reacts within less than a step.
    """

    def __init__(
        self,
        instance: str,
        actuator: Actuator,
        *,
        name: str,
        step_s: float,
        patience_s: float = SAFE_ACTION_PATIENCE_S,
        reach: Float64 | None = None,
        law: StopLaw | None = None,
    ) -> None:
        require_reaction(law, step_s=step_s)
        if reach is not None and not hasattr(actuator, "positions"):
            raise ROSConfigError(f"driver `{name}` has a reach, and its actuator has no `positions`")
        self._instance = instance
        self._name = name
        self._actuator = actuator
        self._modes = frozenset(getattr(actuator, "modes", ControlMode))
        self.logic = DriverLogic(step_s=step_s, patience_s=patience_s, reach=reach, law=law)
        self._connect()

    def tick(self) -> bool:
        """Sends one step or does one tick of the stop; tells which: True when it moved."""
        self._registration.beat()
        if not self._registration.is_mine:
            # Paused for so long that another took over. Two may not pull at one arm.
            self.logic.forget()
            self.logic.reason = StopReason.REPLACED
            self._actuator.stop()
            return False
        while (message := self._reader.read(0.0)) is not None:
            # What passed for the base is for another driver.
            if self._reader.last_type == _core.MessageType.action_chunk:
                self._take(*message)
        state = self._registration.kernel_state
        found = self.logic.row_at(
            now_s=time.monotonic(),
            kernel_alive=self._registration.kernel_is_alive,
            state=state,
            stopped_at=self._registration.stopped_at,
            measured=getattr(self._actuator, "positions", None),
        )
        if found is not None:
            self._actuator.command(*found)
            return True
        # Read before the actuator is asked: a stop that comes in between is another one.
        sequence = self._registration.latch_sequence
        braking = self.logic.braking()
        if braking is None:
            self._actuator.stop()
        else:
            self._actuator.command(*braking)
        # An arm that brakes has not come to rest, whatever it says of itself.
        if braking is None and state == KernelState.LATCHED and self._actuator.is_stopped():
            self._registration.acknowledge(sequence)
        return False

    @property
    def kernel_is_alive(self) -> bool:
        """True while the kernel whose chunks are taken runs; another one needs `reconnect`."""
        return self._registration.kernel_is_alive

    def reconnect(self) -> None:
        """Takes a registration at the kernel that runs now; what the one before accepted is forgotten."""
        self._connect()

    def close(self) -> None:
        """Leaves the registration; the actuator is stopped first."""
        self._actuator.stop()
        self._registration.leave()

    def _connect(self) -> None:
        try:
            self._registration = _core.Registration(self._instance, self._name, actuator=True)
            self._reader = _core.RingReader(self._instance, "safe_actions")
        except (RuntimeError, ValueError) as error:
            raise ROSConfigError(f"driver `{self._name}`: {error}") from None
        self.logic = DriverLogic(
            step_s=self.logic.step_s,
            patience_s=self.logic.patience_s,
            kernel_id=self._registration.kernel_id,
            reach=self.logic.reach,
            law=self.logic.law,
        )

    def _take(self, sequence: int, origin: int, written_s: float, payload: bytes) -> None:
        fields = _core.decode_action_chunk(payload)
        rows = None if fields is None else _rows_of(fields)
        if fields is None or rows is None:
            self._refuse(StopReason.REJECTED)
            return
        mode = ControlMode(fields.control_mode)
        if mode not in self._modes:
            self._refuse(StopReason.NOT_EXECUTED)
            return
        self.logic.take(
            AcceptedChunk(sequence=sequence, origin=origin, rows=rows, mode=mode, arrived_s=written_s)
        )

    def _refuse(self, reason: StopReason) -> None:
        self.logic.refused += 1
        self.logic.reason = reason
        self.logic.forget()


def _rows_of(fields: _core.ActionChunkMessage) -> Float64 | None:
    """Returns the steps of a message; None where nothing can be sent.

    A kernel that only warns passes what it rejected too: modes that do not exist, and numbers that are none.
    """
    if not fields.horizon or not fields.n_dof or fields.control_mode not in _MODES:
        return None
    rows = np.array(fields.flat).reshape(fields.horizon, fields.n_dof)
    return rows if np.isfinite(rows).all() else None
