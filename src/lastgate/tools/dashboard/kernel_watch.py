# SPDX-License-Identifier: Apache-2.0
"""Watches a running kernel through its rings. It writes nothing, holds no channel and never makes the kernel wake
it."""

import threading
import time
from collections.abc import Callable

from lastgate import _core
from lastgate.contracts import ControlMode, RobotDescription, ROSConfigError
from lastgate.contracts.action import ActionChunk, RobotState
from lastgate.gate.verdict import Verdict
from lastgate.kernel.client import KernelState
from lastgate.kernel.process import running_kernels
from lastgate.kernel.ring_follower import (
    ChannelMessages,
    chunk_of_message,
    open_channels,
    open_ring,
    read_messages,
)
from lastgate.robots import load_robot
from lastgate.tools.dashboard.event_log import Picture
from lastgate.tools.dashboard.robot_scene import RobotScene
from lastgate.tools.dashboard.store import GateStatus, LiveStore, StateWord
from lastgate.tools.dashboard.world_view import WorldView
from lastgate.world import NoWorld, World

# The rings keep 1,024 verdicts and eight chunks: nothing is lost up to 200 chunks a second, and of faster streams the
# verdicts are not.
POLL_S = 0.04
STATUS_BLOCK_EVERY_S = 0.2
# A world of more bytes than this is read once a second.
LARGE_WORLD_BYTES = 1_000_000
CHUNKS_KEPT = 64
_STATE_WORDS: dict[KernelState, StateWord] = {
    KernelState.UNCONFIGURED: "unconfigured",
    KernelState.INACTIVE: "inactive",
    KernelState.ACTIVE: "active",
    KernelState.LATCHED: "latched",
}


WARN_ONLY_NOTE = "WARN ONLY: chunks that break a rule pass"


class _Rings:
    """Every ring of one life of a kernel."""

    def __init__(self, instance: str) -> None:
        # What happened before the page opened belongs into the event log too, as far back as the rings go.
        self.traces = open_ring(instance, "traces", start="oldest")
        self.statuses = open_ring(instance, "statuses", start="oldest")
        self.failures = open_ring(instance, "failures", start="oldest")
        self.chunks = ChannelMessages(instance, "chunks", start="oldest", remembered_max=CHUNKS_KEPT)
        self.states = open_channels(instance, "states", start="oldest")
        self.worlds = open_channels(instance, "worlds", start="oldest")


class KernelWatch:
    """Fills a store from a kernel, over its restarts, until it is closed.

    Args:
        instance: The kernel's name; None takes the only one that runs.
        robot: What to draw, for a kernel whose robot is not of the robot library.
        on_instance: Called with the name of the watched kernel, first here and then whenever it changes.
    """

    def __init__(
        self,
        store: LiveStore,
        *,
        instance: str | None = None,
        robot: RobotDescription | None = None,
        on_instance: Callable[[str | None], None] = lambda _: None,
    ) -> None:
        self._store = store
        self._wanted = instance
        self._given_robot = robot
        self._scene: RobotScene | None = None
        self._note = ""
        self.instance: str | None = instance
        self._on_instance = on_instance
        on_instance(instance)
        self._kernel_id: int | None = None
        self._rings: _Rings | None = None
        self._status: _core.SafetyStatusMessage | None = None
        self._forget()
        self._stops_listed: set[tuple[int, str, str]] = set()
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._run, name="kernel-watch", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stops watching."""
        self._end.set()
        self._thread.join()

    def _forget(self) -> None:
        self._measured: dict[str, float] = {}
        self._world: WorldView | None = None
        self._built_world: tuple[WorldView, World | NoWorld | None] | None = None
        self._next_world_s = 0.0
        self._lost_noted = 0

    def _run(self) -> None:
        next_status_block_s = 0.0
        while not self._end.wait(POLL_S):
            if time.monotonic() >= next_status_block_s:
                next_status_block_s = time.monotonic() + STATUS_BLOCK_EVERY_S
                self._poll_status_block()
            if self._rings is not None:
                self._read(self._rings)

    # ---- Which kernel, and how it stands ---------------------------------------------------------------

    def _poll_status_block(self) -> None:
        if self._wanted is None:
            names = running_kernels()
            if self.instance not in names:
                chosen = names[0] if len(names) == 1 else None
                if chosen != self.instance:
                    self.instance = chosen
                    self._on_instance(chosen)
            if self.instance is None:
                self._rings = None
                several = f"several kernels run here: {', '.join(names)}. Choose one with --instance"
                self._store.note_status(GateStatus(note=several if names else "no kernel runs here"))
                return
        assert self.instance is not None
        status_block = _core.read_status_block(self.instance)
        if status_block is None or not status_block.alive:
            state: StateWord = "none" if self._kernel_id is None else "lost"
            self._store.note_status(
                GateStatus(state=state, name=self.instance, note=f"the kernel `{self.instance}` is not alive")
            )
            return
        if status_block.kernel_id != self._kernel_id:
            self._attach(status_block)
        self._show_status(status_block)

    def _attach(self, status_block: _core.StatusBlockState) -> None:
        assert self.instance is not None
        try:
            self._rings = _Rings(self.instance)
        except ROSConfigError:  # it ended or started in this very moment
            self._rings = None
            return
        self._kernel_id = status_block.kernel_id
        self._status = None
        self._forget()
        self._note = ""
        try:
            robot = self._given_robot or load_robot(status_block.robot)
            if robot.name != status_block.robot:
                raise ROSConfigError(f"the kernel guards `{status_block.robot}`, not `{robot.name}`")
            if self._scene is None or self._scene.robot.name != robot.name:
                self._scene = RobotScene(robot)
        except ROSConfigError as error:
            self._scene = None
            self._note = f"the robot cannot be drawn: {str(error).splitlines()[0]}"
        self._store.set_scene(self._scene)

    def _show_status(self, status_block: _core.StatusBlockState) -> None:
        said = self._status
        state = KernelState(status_block.state)
        self._store.note_status(
            GateStatus(
                state=_STATE_WORDS[state],
                name=self.instance or "",
                source=said.source if said is not None and state is KernelState.LATCHED else "",
                reason="" if said is None else said.reason,
                model_digest=status_block.model_digest,
                held=tuple(
                    (registration.name, registration.reason)
                    for registration in status_block.sources
                    if registration.asserted
                ),
                sources=tuple(registration.name for registration in status_block.sources),
                actuators=tuple(registration.name for registration in status_block.actuators),
                note=" · ".join(filter(None, (WARN_ONLY_NOTE if status_block.warn_only else "", self._note))),
            )
        )

    # ---- What went through it --------------------------------------------------------------------------

    def _read(self, rings: _Rings) -> None:
        # Traces before chunks: whatever chunk a trace speaks of is in its ring by then.
        traces = read_messages(rings.traces)
        rings.chunks.drain()
        self._read_states(rings)
        self._read_worlds(rings)
        for index, message in enumerate(traces):
            trace = _core.decode_trace(message.payload)
            if trace is not None:
                self._note_trace(rings, trace, is_newest=index == len(traces) - 1)
        if rings.traces.lost > self._lost_noted:
            self._store.note_lost(rings.traces.lost - self._lost_noted)
            self._lost_noted = rings.traces.lost
        for message in read_messages(rings.statuses):
            fields = _core.read_safety_status(message.payload)
            if fields is not None:
                self._status = fields
                self._list_stop(fields)
        for message in read_messages(rings.failures):
            if self._scene is None:
                self._list_failure(_core.decode_failure_trigger(message.payload))

    def _read_states(self, rings: _Rings) -> None:
        stamp_s = None
        for ring in rings.states:
            for message in read_messages(ring):
                fields = _core.decode_joint_state(message.payload)
                if fields is not None:
                    self._measured.update(zip(fields.names, fields.positions, strict=True))
                    stamp_s = fields.stamp_s if stamp_s is None else max(stamp_s, fields.stamp_s)
        arranged = None if self._scene is None else self._scene.arranged(self._measured)
        if stamp_s is not None and arranged is not None:
            self._store.note_state(*arranged, stamp_s=stamp_s)

    def _read_worlds(self, rings: _Rings) -> None:
        if time.monotonic() < self._next_world_s:
            return
        newest = None
        for ring in rings.worlds:
            for message in read_messages(ring):
                view = WorldView.of_message(message.kind, message.payload, before=self._world)
                if view is not None and (newest is None or message.written_s >= newest):
                    self._world, newest = view, message.written_s
                if len(message.payload) > LARGE_WORLD_BYTES:
                    self._next_world_s = time.monotonic() + 1.0
        if newest is not None and self._world is not None:
            self._store.note_world(self._world, is_stamped=True)

    def _note_trace(self, rings: _Rings, trace: _core.TraceFrame, *, is_newest: bool) -> None:
        native = trace.verdict
        self._store.note_seen(trace.begun_wall_s)
        chunk = None if self._scene is None else _chunk(rings, trace)
        world = None if native.accepted else self._world_to_ask()
        named = None if self._scene is None or chunk is None else self._named(native, chunk, world)
        if named is None or self._scene is None or chunk is None:
            word = _core.violation_word(native.violation.code)
            self._store.note_unnamed_check(
                accepted=native.accepted,
                while_latched=word == "estop_latched",
                clearance_m=native.min_clearance_m if native.accepted else None,
                duration_us=trace.duration_s * 1e6,
            )
            if self._scene is not None and not native.accepted and word != "estop_latched":
                self._list_unnamed(native, trace, word)
            return
        shown = is_newest or not native.accepted
        self._store.note_check(
            named,
            rows=self._scene.joint_rows(chunk) if shown else None,
            draw=shown,
            duration_us=trace.duration_s * 1e6,
            time_s=trace.begun_wall_s,
            rskill_id=trace.rskill_id,
            trace_id=trace.trace_id,
            picture=None if native.accepted else self._picture(named, chunk, world),
        )

    def _named(
        self, native: _core.Verdict, chunk: ActionChunk, world: World | NoWorld | None
    ) -> Verdict | None:
        assert self._scene is not None
        digest = "" if self._status is None else self._status.model_digest
        try:
            return self._scene.verdict(native, chunk=chunk, world=world, model_digest=digest)
        except (LookupError, ValueError):
            return None  # an index that only the kernel knows, such as an attached object

    def _world_to_ask(self) -> World | NoWorld | None:
        """Returns the newest world as one that can be asked for names; built once, and for rejections only."""
        view = self._world
        if view is None:
            return None
        if self._built_world is None or self._built_world[0] is not view:
            try:
                built = view.to_world()
            except ROSConfigError:
                built = None  # the kernel does not take it either
            self._built_world = view, built
        return self._built_world[1]

    def _picture(self, verdict: Verdict, chunk: ActionChunk, world: World | NoWorld | None) -> Picture | None:
        scene = self._scene
        arranged = None if scene is None else scene.arranged(self._measured)
        if scene is None or arranged is None:
            return None
        positions, fingers = arranged
        state = RobotState(positions=positions, gripper_positions=fingers, stamp_s=0.0)
        return lambda: scene.picture(verdict, chunk=chunk, state=state, world=world)

    def _list_unnamed(self, native: _core.Verdict, trace: _core.TraceFrame, word: str) -> None:
        raw = native.violation
        where = "" if raw.row == _core.NONE else f" at step {raw.row}"
        self._store.event_log.add(
            time_s=trace.begun_wall_s,
            source="kernel",
            code=word,
            sentence=f"{word}{where}: {raw.value:.4f}, allowed {raw.limit_min:.4f} to {raw.limit_max:.4f}; "
            "the chunk was overwritten before it could be read, or names something only the kernel knows",
            rskill_id=trace.rskill_id,
            trace_id=trace.trace_id,
        )

    def _list_failure(self, failure: _core.FailureTriggerMessage | None) -> None:
        if failure is not None:
            self._store.event_log.add(
                time_s=failure.stamp_s,
                source="kernel",
                code=f"failure kind {failure.kind}",
                sentence=failure.evidence_json,
                rskill_id=failure.rskill_id,
                trace_id=failure.trace_id,
                evidence=failure.evidence_json,
            )

    def _list_stop(self, status: _core.SafetyStatusMessage) -> None:
        """Lists stops that no chunk caused: those of chunks are listed with the chunk."""
        key = (status.sequence, status.source, status.reason)
        if status.state != KernelState.LATCHED or status.source in ("", "kernel"):
            return
        if key in self._stops_listed or len(self._stops_listed) > 100_000:
            return
        self._stops_listed.add(key)
        self._store.event_log.add(
            time_s=status.stamp_s,
            source="kernel",
            code="stop",
            sentence=f"{status.source}: {status.reason or 'no reason given'}",
        )


def _chunk(rings: _Rings, trace: _core.TraceFrame) -> ActionChunk | None:
    found = rings.chunks.find(trace.channel, trace.chunk_sequence)
    if found is None or found[0] != _core.MessageType.action_chunk:
        return None
    fields = _core.decode_action_chunk(found[1])
    if fields is None:
        return None
    width = fields.n_dof
    if fields.control_mode not in set(ControlMode) or not width or len(fields.flat) % width:
        return None
    try:
        return chunk_of_message(fields, steps=len(fields.flat) // width)
    except ROSConfigError:
        return None
