# SPDX-License-Identifier: Apache-2.0
"""The black box of a running kernel."""

import time
from pathlib import Path
from types import TracebackType
from typing import Self

import numpy as np

from lastgate import _core
from lastgate.contracts import ControlMode, ROSConfigError
from lastgate.contracts.action import ActionChunk, RobotState
from lastgate.gate import Gate
from lastgate.kernel.ring_follower import ChannelMessages, chunk_of_message, open_ring
from lastgate.tools.telemetry.last_seconds import LastSeconds
from lastgate.tools.telemetry.recorded_world import recorded_world
from lastgate.tools.telemetry.recording_file import KernelWorld, RecordedInputs, RecordingFile
from lastgate.world import NO_WORLD, NoWorld, World

STATUS_TIMEOUT_S = 2.0
# A world is up to 16 MiB: the newest of each channel and a few before them.
_WORLDS_REMEMBERED_MAX = 16
# A channel keeps two worlds: a reader that polls this often sees every one of a stream of up to 100 Hz.
_WORLD_PERIOD_S = 0.01


class KernelRecorder:
    """Writes what a kernel decides, with what it says each verdict depended on.

    The kernel never waits for it: what is overwritten before it is read is counted in `lost`.

    Args:
        instance: The kernel's name.
        gate: Of the kernel's robot, rate and skill; lends names and the model.
        path: The MCAP file.
        last_s: As in `Recorder`.

    Raises:
        ROSConfigError: There is no such kernel, it was built from another model than the gate, or `last_s` is not a
            positive number.
    """

    def __init__(self, instance: str, gate: Gate, path: Path, *, last_s: float | None = None) -> None:
        self._last: LastSeconds[RecordedInputs] = LastSeconds(last_s)
        status = open_ring(instance, "statuses", start="newest").read(STATUS_TIMEOUT_S)
        told = None if status is None else _core.read_safety_status(status[3])
        if told is None:
            raise ROSConfigError(f"the kernel `{instance}` gives no status")
        if told.model_digest != gate.model_digest:
            raise ROSConfigError(
                f"the kernel `{instance}` was built from another model: it has {told.model_digest[:12]}, this "
                f"robot, rate and skill have {gate.model_digest[:12]}"
            )
        self._gate = gate
        self._inputs = open_ring(instance, "inputs")
        self._worlds = ChannelMessages(
            instance, "worlds", start="newest", remembered_max=_WORLDS_REMEMBERED_MAX
        )
        self._kernel_worlds: dict[tuple, KernelWorld] = {}
        self._file = RecordingFile(path, gate)

    @property
    def lost(self) -> int:
        """Number of verdicts that were overwritten before they could be read."""
        return self._inputs.lost

    @property
    def chain_head(self) -> str:
        """Last digest of the file's chain, as `Recorder.chain_head`."""
        return self._file.chain_head

    @property
    def written(self) -> int:
        """Number of verdicts in the file."""
        return self._file.checks

    def record(self, timeout_s: float) -> int:
        """Takes every verdict that comes within so long, and returns how many."""
        count = 0
        deadline = time.monotonic() + timeout_s
        while True:
            message = self._inputs.read(_WORLD_PERIOD_S)
            self._worlds.drain()
            told = None if message is None else _core.decode_inputs(message[3])
            if told is not None:
                for due in self._last.due(self._seen(told)):
                    self._file.write(due)
                count += 1
            if time.monotonic() >= deadline:
                return count

    def close(self) -> None:
        """Closes the file."""
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _seen(self, told: _core.InputFrame) -> RecordedInputs:
        reasons: list[str] = []
        payload = _chunk_message(told)
        if told.contact_count:
            reasons.append("a contact was declared, which is not recorded from a kernel")
        if told.attached_count:
            reasons.append("the robot held something, which is not recorded from a kernel")
        world = self._world_of(told, reasons)
        verdict = told.verdict
        if _is_stale_by_arrival(verdict, told.world_held_s):
            reasons.append("its world came too long ago, and only a kernel knows when one comes")
        chunk = _chunk_of(payload)
        if payload and chunk is None:
            reasons.append("its numbers do not fill its steps, and only a message can say so")
        code = sentence = evidence = ""
        if not verdict.accepted:
            code = _core.violation_word(verdict.violation.code)
            if chunk is not None and not told.attached_count:
                violation = self._gate.name_violation(verdict, chunk=chunk, world=self._named(world))
                sentence, evidence = violation.sentence(), violation.evidence().model_dump_json()
        return RecordedInputs(
            wall_ns=round(told.now_s * 1e9),
            chunk=payload,
            state=_state_of(told),
            world=world,
            now_s=told.now_s,
            recovery=told.recovery,
            held=(),
            contacts=(),
            verdict=verdict,
            duration_ns=0,
            code=code,
            sentence=sentence,
            evidence_json=evidence,
            not_repeatable="; ".join(reasons),
        )

    def _world_of(self, told: _core.InputFrame, reasons: list[str]) -> KernelWorld | NoWorld | None:
        if not told.world_given:
            return None
        if not told.world_sources:
            return NO_WORLD  # the kernel was told that the world is not observed
        sources = tuple(told.world_sources)
        known = self._kernel_worlds.get(sources)
        if known is not None:
            return known
        parts = []
        for kind, channel, sequence in sources:
            found = self._worlds.find(channel, sequence)
            if found is None:
                reasons.append("its world was handed over before the recording began")
                return None
            parts.append((kind, found[1]))
        made = KernelWorld(snapshot_id=told.world_id, parts=tuple(parts))
        while len(self._kernel_worlds) >= _WORLDS_REMEMBERED_MAX:
            del self._kernel_worlds[next(iter(self._kernel_worlds))]
        self._kernel_worlds[sources] = made
        return made

    def _named(self, world: KernelWorld | NoWorld | None) -> World | NoWorld | None:
        if not isinstance(world, KernelWorld):
            return world
        return recorded_world(world.parts, frames=self._gate.frames, snapshot_id=world.snapshot_id)


def _is_stale_by_arrival(verdict: _core.Verdict, held_s: float) -> bool:
    violation = verdict.violation
    unavailable = _core.violation_word(violation.code) == "world_unavailable"
    return not verdict.accepted and unavailable and held_s > 0.0 and violation.value == held_s


def _chunk_message(told: _core.InputFrame) -> bytes:
    if told.chunk_type == _core.MessageType.action_chunk:
        return told.chunk
    # A twist is evaluated as a chunk of one step.
    row = np.array([_core.decode_twist(told.chunk)], dtype=np.float64)
    return _core.encode_action_chunk(row, control_mode=ControlMode.BODY_TWIST.value, stamp_s=told.now_s)


def _chunk_of(payload: bytes) -> ActionChunk | None:
    told = _core.decode_action_chunk(payload) if payload else None
    if told is None:
        return None
    if len(told.flat) != told.horizon * told.n_dof:
        return None
    return chunk_of_message(told, steps=told.horizon)


def _state_of(told: _core.InputFrame) -> RobotState | None:
    if not told.state_given:
        return None

    def array(numbers: list[float]) -> np.ndarray | None:
        return np.array(numbers) if numbers else None

    return RobotState(
        positions=np.array(told.positions, dtype=np.float64),
        stamp_s=told.stamp_s,
        velocities=array(told.velocities),
        gripper_positions=array(told.gripper_positions),
        stamps_s=array(told.stamps_s),
    )


__all__ = ["KernelRecorder"]
