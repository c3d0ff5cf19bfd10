# SPDX-License-Identifier: Apache-2.0
"""The kernel as a process of its own, with nothing to set up: started here, spoken to through shared memory."""

import hashlib
import os
import subprocess
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from pathlib import Path
from types import TracebackType
from typing import Self

import numpy as np

from lastgate import _core
from lastgate.contracts import (
    ControlMode,
    Pose6D,
    RobotDescription,
    ROSConfigError,
    RSkillManifest,
    ViolationCode,
)
from lastgate.contracts.action import ActionChunk
from lastgate.contracts.arrays import Float64, require_array, require_number
from lastgate.contracts.attached_shape import AttachedShape
from lastgate.contracts.shapes import AttachableShape
from lastgate.gate import Gate
from lastgate.gate.declared_contact import DeclaredContact, contact_request, contacts_of, require_contacts
from lastgate.gate.naming import VerdictNames
from lastgate.gate.nav_goal import NavGoal
from lastgate.gate.skill_phase import SkillPhase
from lastgate.gate.verdict import Verdict, Violation
from lastgate.kernel.estop import ResetOutcome, stop_reason
from lastgate.kernel.process import (
    RESET_TIMEOUT_S,
    BroughtDeadman,
    KernelMessages,
    KernelSettings,
    default_state_dir,
    kernel_command,
    no_such_kernel,
    stop_kernel,
)
from lastgate.robots import load_robot
from lastgate.robots.attached_solid import native_shape
from lastgate.robots.kernel_config import flat_config
from lastgate.world import NO_WORLD, NoWorld, World

# A kernel answers in microseconds; one that has not for this long is not going to.
ANSWER_TIMEOUT_S = 1.0
END_TIMEOUT_S = 10.0


class KernelState(IntEnum):
    """Names the states of `SafetyStatus`."""

    UNCONFIGURED = _core.LifecycleState.unconfigured.value
    INACTIVE = _core.LifecycleState.inactive.value
    ACTIVE = _core.LifecycleState.active.value
    LATCHED = _core.LifecycleState.latched.value


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelStatus:
    """The state of the kernel, as it reports it.

    Attributes:
        reason: Of the stop that is latched; while none is, that chunks which break a rule pass, where they do.
        warn_only: They do: nothing is rejected.
    """

    state: KernelState
    source: str
    reason: str
    sequence: int
    passed: int
    dropped: int
    model_digest: str
    world_id: str
    warn_only: bool = False

    @property
    def latched(self) -> bool:
        """True while every chunk is rejected."""
        return self.state is KernelState.LATCHED


def _require_user(user: object, *, start: bool) -> str | int:
    if start:
        raise ROSConfigError("`trusted_user` is for a kernel that runs already: say `start=False`")
    if isinstance(user, bool) or not isinstance(user, str | int) or user == "":
        raise ROSConfigError(f"trusted_user must be a login name or a number, got {user!r}")
    return user


class KernelClient:
    """Starts the native kernel for one robot, hands chunks in and gets verdicts out.

    The kernel is another process: what crashes or hangs here cannot change what it decides. It ends with this
    object, unless another program started it. Its latch is on disk and does not: a stop must be reset, by `reset`,
    whichever kernel runs next.

    Stamps are seconds of the wall clock (`time.time()`), which every process shares.

    Args:
        robot: A name of the robot library, the path of a `robot.yaml`, or a `RobotDescription`.
        rate_hz: Steps per second: a chunk carries no time step.
        skill: Tightens the robot's envelope.
        settings: How the kernel responds and runs.
        instance: Under which name other programs find it; the robot's name when not given.
        state_dir: Where the latch is written down.
        deadman: Brings the deadman along that the robot's envelope requires: a process of its own that stops the robot
            while this program is held up. False where another one runs (`lastgate deadman`, which stops when accepted
            chunks cease), as is `required_sources` that name it: until then nothing passes.
        start: False to speak to a kernel that runs already (`lastgate up`, a service) and leave it running. Robot,
            rate and skill must be those it was started with; how it responds was said there.
        trusted_user: Whose kernel to believe with `start=False`, by login name or number; this program's user when not
            given, for root too.

    Raises:
        ROSConfigError: The robot cannot be armed, or a kernel of this name is already running; with `start=False`
            none is, or it runs another model.
    """

    def __init__(
        self,
        robot: str | Path | RobotDescription,
        *,
        rate_hz: float,
        skill: RSkillManifest | None = None,
        settings: KernelSettings | None = None,
        instance: str | None = None,
        state_dir: str | Path | None = None,
        spin_us: float = 200.0,
        deadman: bool = True,
        start: bool = True,
        trusted_user: str | int | None = None,
    ) -> None:
        robot = load_robot(robot)
        rate_hz = require_number(rate_hz, name="rate_hz")
        if not (np.isfinite(rate_hz) and rate_hz > 0.0):
            raise ROSConfigError(f"rate_hz must be a positive number, got {rate_hz!r}")
        # Building a gate here refuses, with names, what the kernel would refuse with numbers.
        self._gate = Gate(robot, step_s=1.0 / rate_hz, skill=skill)
        self._phase = SkillPhase(self._gate.robot, skill)
        text = flat_config(robot, step_s=1.0 / rate_hz, skill=skill)
        self.robot = robot
        self.instance = instance or robot.name
        if trusted_user is not None:
            self.instance = f"{self.instance}@{_require_user(trusted_user, start=start)}"
        self.model_digest = hashlib.sha256(text.encode()).hexdigest()
        if settings is not None and not isinstance(settings, KernelSettings):
            raise ROSConfigError(f"settings is a {type(settings).__name__}, expected KernelSettings")
        self._settings = settings or KernelSettings()
        self._spin_s = spin_us * 1e-6
        self._world: World | NoWorld | None = NO_WORLD if self._settings.without_world else None
        self._attachments: dict[str, int] = {}
        self._config = _core.read_config(text)
        self._names = VerdictNames(config=self._config, attachments=self._attachments)
        self._process: subprocess.Popen[str] | None = None
        self._deadman: BroughtDeadman | None = None
        if not isinstance(deadman, bool):
            raise ROSConfigError(f"deadman must be True or False, got {deadman!r}")
        if not start:
            if settings is not None or state_dir is not None:
                raise ROSConfigError(
                    "`settings` and `state_dir` are for a kernel that is started here, not with `start=False`"
                )
            self._channel = self._open_running_channel()
            return
        self._start_process(text, state_dir=state_dir, deadman=deadman)

    def _start_process(self, text: str, *, state_dir: str | Path | None, deadman: bool) -> None:
        with tempfile.TemporaryDirectory(prefix="lastgate-") as folder:
            config = Path(folder) / "kernel.yaml"
            config.write_text(text, encoding="utf-8")
            command = kernel_command(
                config=config,
                digest=self.model_digest,
                instance=self.instance,
                state_dir=default_state_dir() if state_dir is None else Path(state_dir),
                settings=self._settings,
            )
            self._process = subprocess.Popen(
                [*command, "--exit-with-parent", str(os.getpid())],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
            assert self._process.stderr is not None
            self._messages = KernelMessages(self._process.stderr)
            try:
                self._channel = self._open_channel(self._process)
                if deadman and self._waits_for_deadman:
                    self._bring_deadman()
            except BaseException:
                self._end_process()
                raise

    @property
    def n_dof(self) -> int:
        """Number of joints per step."""
        return self._gate.n_dof

    @property
    def joint_names(self) -> tuple[str, ...]:
        """Names of the joints, in the order of a step's columns."""
        return self._gate.joint_names

    @property
    def gripper_joint_names(self) -> tuple[str, ...]:
        """Names of the gripper's joints, in the order of `gripper_positions`."""
        return self._gate.gripper_joint_names

    @property
    def step_s(self) -> float:
        """Time from one step to the next."""
        return self._gate.step_s

    @property
    def deadman_pid(self) -> int | None:
        """Process of the deadman that this client started; None where there is none."""
        return None if self._deadman is None else self._deadman.pid

    @property
    def pid(self) -> int:
        """Process of the kernel; raises `ROSConfigError` where another program started it."""
        if self._process is None:
            raise ROSConfigError(f"the kernel `{self.instance}` was not started here")
        return self._process.pid

    def observe(
        self,
        positions: Float64,
        *,
        velocities: Float64 | None = None,
        gripper_positions: Float64 | None = None,
        stamp_s: float | None = None,
    ) -> None:
        """Tells the kernel what was measured, now unless `stamp_s` says when."""
        measured = require_array(positions, name="positions", dimensions=1)
        self._require_count(measured, self._gate.joint_names, name="positions")
        speeds = None
        names = list(self._gate.joint_names)
        if velocities is not None:
            speeds = require_array(velocities, name="velocities", dimensions=1)
            self._require_count(speeds, self._gate.joint_names, name="velocities")
        stamp = time.time() if stamp_s is None else require_number(stamp_s, name="stamp_s")
        self._channel.observe(
            _core.encode_joint_state(names, positions=measured, velocities=speeds, stamp_s=stamp)
        )
        if gripper_positions is not None:
            fingers = require_array(gripper_positions, name="gripper_positions", dimensions=1)
            self._require_count(fingers, self._gate.gripper_joint_names, name="gripper_positions")
            grippers = list(self._gate.gripper_joint_names)
            self._channel.observe(_core.encode_joint_state(grippers, positions=fingers, stamp_s=stamp))

    def publish_world(self, world: World | NoWorld) -> None:
        """Hands a world over, and returns when chunks are checked against it.

        Raises:
            ROSConfigError: Not a world, larger than a message may be, or the kernel does not take it.
        """
        if not isinstance(world, World | NoWorld):
            raise ROSConfigError(f"world is a {type(world).__name__}, expected a World or NO_WORLD")
        # In the base frame already, so that a kernel and a gate in this process compute with the same numbers.
        world = self._gate.world_in_base(world)
        try:
            sequence = self._channel.publish_world(world.to_message())
        except ValueError as error:
            raise ROSConfigError(f"world `{world.world_id}` cannot be handed over: {error}") from None
        if not self._channel.wait_world(sequence, ANSWER_TIMEOUT_S):
            raise ROSConfigError(f"the kernel `{self.instance}` did not take the world: {self._fate()}")
        self._world = world

    def submit(
        self,
        rows: Float64 | ActionChunk,
        *,
        mode: ControlMode | int | None = None,
        recovery: bool = False,
        declared_contacts: Sequence[DeclaredContact] = (),
        phase: str | None = None,
    ) -> Verdict:
        """Hands a chunk in and waits for the verdict. A kernel that does not answer is a rejection.

        `mode` says what bare steps mean, joint positions if left out; an `ActionChunk` has a mode of its own.
        `recovery`, `declared_contacts` and `phase` are those of `Gate.check`, and hold for this chunk only.

        Raises:
            ROSConfigError: Steps that cannot be read, a mode beside an `ActionChunk`, or a contact that names nothing.
        """
        if not isinstance(recovery, bool):
            raise ROSConfigError(f"recovery must be True or False, got {recovery!r}")
        if not isinstance(rows, ActionChunk):
            chunk = ActionChunk(rows, mode=ControlMode.JOINT_POSITION if mode is None else mode)
        elif mode is None:
            chunk = rows
        else:
            raise ROSConfigError(
                "mode belongs to bare arrays: the ActionChunk has one of its own, leave mode out"
            )
        payload = _core.encode_action_chunk(
            chunk.rows,
            control_mode=int(chunk.mode),
            stamp_s=time.time(),
            ee_name=chunk.ee_name,
            frame_id=chunk.frame_id,
            rskill_id=chunk.rskill_id,
            trace_id=chunk.trace_id,
        )
        self._phase.enter(phase, time.time())
        declared_contacts = contacts_of(declared_contacts)
        declared_contacts += self._phase.contacts(self._world, tuple(self._attachments))
        if recovery or declared_contacts:
            require_contacts(
                declared_contacts,
                link_names=self._gate.link_names,
                frames=self._gate.frames,
                attachments=self._attachments,
            )
            request = contact_request(
                payload, recovery=recovery, contacts=declared_contacts, frames=self._gate.frames
            )
            return self._decided(chunk, self._channel.submit_request, request, declared_contacts)
        return self._decided(chunk, self._channel.submit, payload)

    def submit_twist(self, twist: Sequence[float] | Float64) -> Verdict:
        """Hands in a base twist, as `/cmd_vel` carries it: linear x y z, then angular x y z, for one step.

        It passes as a twist, not as a chunk; the verdict is that of a BODY_TWIST chunk of one step.

        Raises:
            ROSConfigError: Not six numbers.
        """
        row = require_array(twist, name="twist", dimensions=1)
        if len(row) != 6:
            raise ROSConfigError(f"a twist is six numbers, got {len(row)}")
        chunk = ActionChunk(row[np.newaxis], mode=ControlMode.BODY_TWIST)
        return self._decided(chunk, self._channel.submit_twist, _core.encode_twist(row.tolist()))

    def attach(
        self,
        link: str,
        shape: AttachableShape,
        *,
        object_id: str,
        origin_xyz_rpy: Sequence[float] = (0.0,) * 6,
        touch_links: Sequence[str] = (),
    ) -> None:
        """Makes an attached object part of the robot, as `Gate.attach` does.

        A kernel that ends while something is held starts latched the next time: the next one would not check it.

        Raises:
            ROSConfigError: Unknown link, a shape that cannot be used, or more objects than there is room for.
        """
        held = AttachedShape.of(
            link, shape, object_id=object_id, origin_xyz_rpy=origin_xyz_rpy, touch_links=touch_links
        )
        numbers = native_shape(held.shape, held.origin_xyz_rpy)
        payload = _core.encode_attached_shape(
            object_id=held.object_id,
            link=held.link,
            radius_m=numbers.radius_m,
            ends=numbers.ends_m,
            touch_links=list(held.touch_links),
            solid=numbers.solid,
        )
        success, number, said = self._ask("attached_shape", payload)
        if not success:
            raise ROSConfigError(f"`{object_id}` cannot be attached to `{link}`: {said}")
        self._attachments[object_id] = number

    def detach(self, object_id: str) -> None:
        """Detaches an object; an unknown one raises `ROSConfigError`."""
        success, _, said = self._ask("detach", _core.encode_detach(object_id))
        if not success:
            raise ROSConfigError(f"`{object_id}` cannot be detached: {said}")
        self._attachments.pop(object_id, None)

    def check_nav_goal(self, pose: Pose6D) -> NavGoal:
        """Returns whether the base may be sent to a pose, by the map of the world that was published last."""
        if not isinstance(pose, Pose6D):
            raise ROSConfigError(f"pose is a {type(pose).__name__}, expected a Pose6D in the map's frame")
        goal = _core.encode_nav_goal(frame_id=pose.frame_id, xyz=pose.xyz, quat_xyzw=pose.quat_xyzw)
        success, _, said = self._ask("nav_goal", goal)
        return NavGoal(success, said)

    def _decided(
        self, chunk: ActionChunk, submit, payload: bytes, contacts: Sequence[DeclaredContact] = ()
    ) -> Verdict:
        native = _core.Verdict()
        try:
            answer = self._channel.wait_verdict(
                submit(payload), timeout_s=ANSWER_TIMEOUT_S, spin_s=self._spin_s
            )
        except ValueError as error:
            raise ROSConfigError(f"the chunk cannot be handed over: {error}") from None
        if answer is not None:
            native = answer.verdict
        violation = None if native.accepted else self._names.violation(native, chunk=chunk, world=self._world)
        if violation is not None and violation.code is ViolationCode.envelope_unconfigured:
            violation = self._with_what_is_missing(violation)
        return Verdict(
            native=native,
            chunk=chunk,
            violation=violation,
            joint_rows=np.empty((0, self.n_dof)),
            world_id="" if answer is None else self._world_id(),
            model_digest=self.model_digest,
            contacts_used=tuple(
                contact.name for index, contact in enumerate(contacts) if native.contacts_used >> index & 1
            ),
        )

    def _world_id(self) -> str:
        if self._world is not None:
            return self._world.world_id
        if self._process is not None:
            return ""
        # Of a kernel that others started, others may have published the world too.
        try:
            return self.status().world_id
        except ROSConfigError:
            return ""  # it ended after it had decided, which stands

    def _ask(self, question: str, payload: bytes) -> tuple[bool, int, str]:
        answer = self._channel.ask(question, payload, ANSWER_TIMEOUT_S)
        if answer is None:
            return False, 0, f"the kernel `{self.instance}` did not answer: {self._fate()}"
        return answer

    def estop(self, reason: str = "asked for by the program") -> None:
        """Stops, and returns when the kernel has latched. No reason stops as well, and so does one that is no text.

        Raises:
            ROSConfigError: The kernel is gone, or did not latch in time: nothing was stopped.
        """
        stop_kernel(self.instance, source=f"client-{self._channel.channel}", reason=stop_reason(reason))

    def reset(self) -> ResetOutcome:
        """Asks for the latch to be cleared; returns when the disk has kept that, or says what blocks it."""
        answer = self._channel.command("reset", RESET_TIMEOUT_S)
        if answer is None:
            return ResetOutcome(success=False, message=f"the kernel did not answer: {self._fate()}")
        success, message = answer
        return ResetOutcome(success=success, message=message)

    def status(self) -> KernelStatus:
        """Returns how the kernel stands.

        Raises:
            ROSConfigError: The kernel does not answer.
        """
        try:
            reader = _core.RingReader(self.instance, "statuses")
        except RuntimeError as error:
            raise ROSConfigError(f"the kernel `{self.instance}` cannot be asked: {error}") from None
        if self._channel.command("status", ANSWER_TIMEOUT_S) is None:
            raise ROSConfigError(f"the kernel `{self.instance}` did not answer: {self._fate()}")
        message = reader.read(ANSWER_TIMEOUT_S)
        fields = None if message is None else _core.read_safety_status(message[3])
        if fields is None:
            raise ROSConfigError(f"the kernel `{self.instance}` gave no status: {self._fate()}")
        status_block = _core.read_status_block(self.instance)
        is_warn_only = status_block is not None and status_block.warn_only
        return KernelStatus(
            state=KernelState(fields.state),
            source=fields.source,
            reason=fields.reason,
            sequence=fields.sequence,
            passed=fields.passed,
            dropped=fields.dropped,
            model_digest=fields.model_digest,
            world_id=fields.world_id,
            warn_only=is_warn_only,
        )

    def close(self) -> None:
        """Ends the kernel process; its latch stays on disk. One that others started goes on."""
        self._end_process()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def _waits_for_deadman(self) -> bool:
        """True if the envelope asks for a deadman of which the caller has not said that another brings it."""
        return self._config.deadman_required and "deadman" not in self._settings.required_sources

    def _bring_deadman(self) -> None:
        self._deadman = BroughtDeadman(self.instance)
        deadline = time.monotonic() + ANSWER_TIMEOUT_S
        while self.status().state is KernelState.INACTIVE:
            if time.monotonic() > deadline:
                return  # another required source is absent, and every verdict will say so
            time.sleep(0.002)

    def _with_what_is_missing(self, violation: Violation) -> Violation:
        status_block = _core.read_status_block(self.instance)
        if not self._config.deadman_required or status_block is None:
            return violation
        if any(source.name == "deadman" for source in status_block.sources):
            return violation
        return replace(
            violation,
            detail=f"{violation.detail}: the envelope requires a deadman and none runs; "
            f"start `lastgate deadman --robot {self.instance}`",
        )

    def _open_running_channel(self) -> "_core.ChannelClient":
        try:
            channel = _core.ChannelClient(self.instance)
        except (RuntimeError, ValueError) as error:
            raise no_such_kernel(self.instance, error) from None
        if not channel.kernel_is_alive:
            raise no_such_kernel(self.instance, f"the kernel `{self.instance}` is not alive")
        self._channel = channel
        if self.status().model_digest != self.model_digest:
            raise ROSConfigError(
                f"the kernel `{self.instance}` runs another model than `{self.robot.name}` at this rate: "
                "give the robot, rate_hz and skill that it was started with"
            )
        return channel

    def _open_channel(self, process: subprocess.Popen[str]) -> "_core.ChannelClient":
        assert process.stdout is not None
        # Memory of a kernel that was killed may still lie there; this line says that it is ours now.
        if not process.stdout.readline().startswith("ready"):
            said = self._messages.after_the_end(END_TIMEOUT_S).strip().removeprefix("error: ")
            hint = "\n\nhint: `start=False` speaks to it" if "already running" in said else ""
            raise ROSConfigError(f"the kernel for `{self.robot.name}` did not start: {said}{hint}")
        try:
            return _core.ChannelClient(self.instance)
        except RuntimeError as error:
            raise ROSConfigError(f"the kernel for `{self.robot.name}` did not start: {error}") from None

    def _end_process(self) -> None:
        if self._process is None:
            return
        if self._process.poll() is None:
            self._process.terminate()
            try:
                self._process.wait(END_TIMEOUT_S)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        if self._process.returncode != 0:  # one that ends in order removes it itself
            _core.remove_what_a_killed_kernel_left(self.instance)
        if self._process.stdout is not None:
            self._process.stdout.close()
        self._messages.close(END_TIMEOUT_S)
        if self._deadman is not None:
            self._deadman.end()
            self._deadman = None

    def _fate(self) -> str:
        if self._process is None:
            return "it is running" if self._channel.kernel_is_alive else "it has ended"
        code = self._process.poll()
        return "it is running" if code is None else f"it ended with code {code}"

    def _require_count(self, values: Float64, joints: tuple[str, ...], *, name: str) -> None:
        if len(values) != len(joints):
            raise ROSConfigError(
                f"{name} has {len(values)} numbers, needs {len(joints)}: {', '.join(joints) or 'none'}"
            )


__all__ = ["KernelClient", "KernelSettings", "KernelState", "KernelStatus"]
