# SPDX-License-Identifier: Apache-2.0
"""The gate: one robot, one step length, one answer per chunk."""

import hashlib
from collections.abc import Sequence
from typing import Self, overload
from weakref import WeakKeyDictionary

import numpy as np

from lastgate import _core
from lastgate._core import BatchVerdict
from lastgate.certificate import Certificate, certificate_of
from lastgate.contracts import (
    ControlMode,
    Pose6D,
    RobotDescription,
    RobotFrames,
    ROSConfigError,
    RSkillManifest,
    ViolationCode,
)
from lastgate.contracts.action import ActionChunk, RobotState, RunningMotion
from lastgate.contracts.arrays import Float64, require_array, require_number
from lastgate.contracts.attached_shape import AttachedShape
from lastgate.contracts.renamed_names import with_old_attributes
from lastgate.contracts.shapes import AttachableShape
from lastgate.gate.attached_objects import AttachedObjects
from lastgate.gate.coverage import require_coverage
from lastgate.gate.declared_contact import DeclaredContact, contacts_of, native_contacts
from lastgate.gate.naming import VerdictNames, name_indices
from lastgate.gate.nav_goal import NavGoal, evaluate_nav_goal
from lastgate.gate.proposals import Proposal
from lastgate.gate.propose import SearchSpace, proposals_of
from lastgate.gate.simd_choice import simd_build
from lastgate.gate.skill_phase import SkillPhase
from lastgate.gate.stream import Stream
from lastgate.gate.time_stretch import StepLimits
from lastgate.gate.tool_speed import ToolLimits
from lastgate.gate.verdict import CertifiedStop, Verdict, Violation
from lastgate.robots import load_robot
from lastgate.robots.kernel_config import EVALUATIONS_MAX, flat_config, gripper_joint_names
from lastgate.world import NO_WORLD, FloorMap, NoWorld, World


def _as_slice(columns: list[int]) -> slice | list[int]:
    """Returns columns that lie side by side as a slice, which NumPy reads without a copy."""
    together = slice(columns[0], columns[-1] + 1) if columns else slice(0)
    return together if columns == list(range(together.start or 0, together.stop)) else columns


def require_gate(gate: object) -> None:
    """Raises `ROSConfigError` with what to write where a caller passes the name of a robot, or a robot, as the gate."""
    if not isinstance(gate, Gate):
        raise ROSConfigError(
            f"gate is a {type(gate).__name__}, expected a Gate: use lastgate.Gate(lastgate.load_robot(...), step_s=...)"
        )


def _require_arguments(chunk: object, state: object, running: object, *, recovery: object) -> None:
    if not isinstance(chunk, ActionChunk):
        raise ROSConfigError(
            f"chunk is a {type(chunk).__name__}, expected an ActionChunk: use lastgate.ActionChunk(rows, mode=...)"
        )
    if state is not None and not isinstance(state, RobotState):
        raise ROSConfigError(f"state is a {type(state).__name__}, expected a RobotState")
    if not isinstance(recovery, bool):
        raise ROSConfigError(f"recovery must be True or False, got {recovery!r}")
    if running is not None and not isinstance(running, RunningMotion):
        raise ROSConfigError(
            f"running is a {type(running).__name__}, expected a RunningMotion: use "
            "lastgate.RunningMotion(rows, started_s=...)"
        )


@with_old_attributes
class Gate:
    """Accepts chunks whole or rejects them whole, for one robot.

    Allocates here and never again; belongs to one thread. A second thread that comes in while the first is inside, or a
    signal handler, gets `ConcurrentUseError`: make one gate per thread.

    Args:
        robot: The robot, with volumes for every moving link.
        step_s: Time from one step to the next. A chunk carries none, so the gate must be told.
        skill: Tightens the robot's envelope.
        evaluations_max: Configurations one check may evaluate before it rejects with `budget_exceeded`.

    Raises:
        ROSConfigError: The robot cannot be armed; the message names the joint, link or field.
        ConcurrentUseError: From every method that reads or writes the gate's memory, for the second caller at a time.
    """

    def __init__(
        self,
        robot: RobotDescription,
        *,
        step_s: float,
        skill: RSkillManifest | None = None,
        evaluations_max: int = EVALUATIONS_MAX,
    ) -> None:
        if not isinstance(robot, RobotDescription):
            raise ROSConfigError(
                f"robot is a {type(robot).__name__}, expected a RobotDescription: use lastgate.load_robot(...)"
            )
        step_s = require_number(step_s, name="step_s")
        robot = load_robot(robot)
        text = flat_config(robot, step_s=step_s, skill=skill, evaluations_max=evaluations_max)
        self.skill = skill
        self._phase = SkillPhase(robot, skill)
        self._arm(robot, text)

    @classmethod
    def from_flat_config(cls, robot: RobotDescription, text: str) -> Self:
        """Returns the gate that a flat config describes, as a recording keeps it; `robot` lends it names and shapes.

        Raises:
            ROSConfigError: The text cannot be used, or is about another robot.
        """
        gate = cls.__new__(cls)
        gate.skill = None
        gate._phase = SkillPhase(robot, None)
        gate._arm(robot, text)
        wanted = [joint.name for joint in robot.actuated_joints]
        if list(gate.link_names) != list(robot.link_names) or gate._config.dof_names != wanted:
            raise ROSConfigError(
                f"the flat config is not about robot `{robot.name}`: it has other links or joints"
            )
        return gate

    def _arm(self, robot: RobotDescription, text: str) -> None:
        require_coverage(robot)
        try:
            self._config = _core.read_config(text)
            self._native = _core.Gate(self._config, simd=simd_build())
        except ValueError as error:
            raise ROSConfigError(
                f"robot `{robot.name}` cannot be armed: {name_indices(str(error), robot)}"
            ) from None
        # Neighbours, and pairs proved never to meet, may be all a small robot has; one that has no other pair left and
        # excuses some on a claim was waved through.
        if not self._native.checked_link_pairs and any(
            pair.reason not in ("adjacent", "proved-never") for pair in robot.allowed_collision_pairs
        ):
            raise ROSConfigError(
                f"robot `{robot.name}` cannot be armed: all of its pairs are allowed, so there is nothing to check"
            )
        self._check_few = self._native.check_few
        # The core keeps a second caller out of its memory; this keeps one out between two calls of the core, where a
        # verdict would get the path of another chunk, or two objects the same number.
        self._entry = _core.Entry("this gate")
        self.robot = robot
        self.frames = RobotFrames.of(robot)
        self.step_s = self._config.step_s
        self.flat_config = text
        self.model_digest = hashlib.sha256(text.encode()).hexdigest()
        in_gripper = gripper_joint_names(robot)
        joints = [joint.name for joint in robot.actuated_joints]
        self.joint_names = tuple(name for name in joints if name not in in_gripper)
        self.gripper_joint_names = tuple(name for name in joints if name in in_gripper)
        self._row_columns = _as_slice([index for index, name in enumerate(joints) if name not in in_gripper])
        self.link_names = tuple(self._config.link_names)
        self.effector_names = tuple(self._config.effector_names)
        self._held = AttachedObjects(self._native, robot_name=robot.name, link_names=self.link_names)
        # The last one found usable: planners ask about one many times. Never None, which is no world to ask about.
        # One object, so that no other thread sees one world with the tables of another.
        self._usable: tuple[World | NoWorld, _core.WorldSnapshot] = (NO_WORLD, NO_WORLD.native)
        self._names = VerdictNames(config=self._config, attachments=self._held.numbers)
        # Accepted verdicts that are still there and were not claimed, and the time they were given at.
        self._unclaimed: WeakKeyDictionary[Verdict, float] = WeakKeyDictionary()

    @property
    def n_dof(self) -> int:
        """Number of joints per step."""
        return len(self.joint_names)

    def check(
        self,
        chunk: ActionChunk,
        *,
        state: RobotState | None,
        world: World | NoWorld | None,
        now_s: float,
        recovery: bool = False,
        declared_contacts: Sequence[DeclaredContact] = (),
        running: RunningMotion | None = None,
        handover_s: float = 0.0,
        phase: str | None = None,
    ) -> Verdict:
        """Decides about one chunk, from the measured state through its last step, between the steps too.

        Args:
            chunk: What is proposed.
            state: What was measured; None rejects with `state_unavailable`.
            world: What else is there, or `NO_WORLD`, explicitly; None rejects with `world_unavailable`.
            now_s: The time, on the clock of the stamps.
            recovery: Asks for the retreat rule: pairs that start inside their margin may only move apart, at a
                quarter of the speed limits.
            declared_contacts: Touching that is meant; `Verdict.contacts_used` names those that were needed.
            running: The motion that the chunk replaces. The path then leads from the measured state along what that
                motion still does, and from where it will be at the hand-over through the chunk; a jump there is
                rejected with `seam_jump`. For steps of joint positions; any other mode is rejected.
            handover_s: How long after `now_s` the chunk takes over.
            phase: What the skill is doing: `approach`, `grasp`, `carry`, `place` or `push`. The contacts that its
                manifest declares for it count as well, from the first check that names it until they expire.

        Raises:
            ROSConfigError: An argument of another type, or a declared contact that names what does not exist.
            ConcurrentUseError: Another thread is inside this gate.
        """
        with self._entry:
            return self._decide(
                chunk,
                state=state,
                world=world,
                now_s=now_s,
                recovery=recovery,
                declared_contacts=contacts_of(declared_contacts)
                + self._contacts_in_phase(phase, world=world, now_s=now_s),
                running=running,
                handover_s=handover_s,
            )

    def contacts_in_phase(
        self, phase: str | None, *, world: World | NoWorld | None, now_s: float
    ) -> tuple[DeclaredContact, ...]:
        """Returns what the skill declares in a phase, for a check at `now_s`; another phase than before begins.

        Raises:
            ROSConfigError: There is no such phase.
        """
        with self._entry:
            return self._contacts_in_phase(phase, world=world, now_s=now_s)

    def _contacts_in_phase(
        self, phase: str | None, *, world: World | NoWorld | None, now_s: float
    ) -> tuple[DeclaredContact, ...]:
        self._phase.enter(phase, require_number(now_s, name="now_s"))
        return self._phase.contacts(world, tuple(self._held.numbers))

    def propose(
        self,
        chunk: ActionChunk,
        *,
        state: RobotState | None,
        world: World | NoWorld | None,
        now_s: float,
        declared_contacts: Sequence[DeclaredContact] = (),
        phase: str | None = None,
    ) -> tuple[Proposal, ...]:
        """Returns ways on from a chunk that `check` rejects, each accepted already: `prefix`, `slower`, `retreat`.

        It searches, which `check` never does, and it changes nothing: the caller submits a proposal or leaves it.
        There is none for a chunk that `check` accepts, and none where no way on was found.

        Args:
            chunk, state, world, now_s, declared_contacts, phase: Those of `check`. Only a retreat needs no chunk that
                can be read: it begins where the robot stands.
        """
        contacts = contacts_of(declared_contacts)

        def ask(candidate: ActionChunk, *, state: RobotState | None, recovery: bool) -> Verdict:
            return self._decide(
                candidate,
                state=state,
                world=world,
                now_s=now_s,
                recovery=recovery,
                declared_contacts=() if recovery else contacts,
            )

        with self._entry:
            contacts += self._contacts_in_phase(phase, world=world, now_s=now_s)
            space = SearchSpace(
                native=self._native,
                columns=self._row_columns,
                limits=StepLimits.of(self._config, columns=self._row_columns),
                tools=ToolLimits.of(self._config, self.robot),
            )
            return proposals_of(space, ask, chunk, state)

    def _decide(
        self,
        chunk: ActionChunk,
        *,
        state: RobotState | None,
        world: World | NoWorld | None,
        now_s: float,
        recovery: bool = False,
        declared_contacts: Sequence[DeclaredContact] = (),
        running: RunningMotion | None = None,
        handover_s: float = 0.0,
    ) -> Verdict:
        _require_arguments(chunk, state, running, recovery=recovery)
        world = self.world_in_base(world)
        contact_names, contacts = (
            native_contacts(
                declared_contacts,
                link_names=self.link_names,
                frames=self.frames,
                attachments=self._held.numbers,
                world=world,
            )
            if len(declared_contacts)
            else ([], [])
        )
        effector = self._effector_index(chunk.ee_name)
        native = self._native.check(
            chunk.rows,
            control_mode=int(chunk.mode),
            effector=effector,
            frame=self._frame_index(chunk.frame_id, effector),
            positions=None if state is None else state.positions,
            velocities=None if state is None else state.velocities,
            gripper_positions=None if state is None else state.gripper_positions,
            stamps_s=None if state is None else state.stamps_s,
            stamp_s=0.0 if state is None else state.stamp_s,
            world=self._native_world(world),
            now_s=require_number(now_s, name="now_s"),
            recovery=recovery,
            contacts=contacts,
            running_rows=None if running is None else running.rows,
            running_start=None if running is None else running.start,
            running_started_s=0.0 if running is None else running.started_s,
            handover_s=require_number(handover_s, name="handover_s"),
        )
        violation = None if native.accepted else self._names.violation(native, chunk=chunk, world=world)
        path = self._native.path if native.stage > 8 else None
        first, last = self._native.lead_rows + 1, self._native.motion_rows + 1
        verdict = Verdict(
            native=native,
            chunk=chunk,
            violation=violation,
            joint_rows=np.empty((0, self.n_dof)) if path is None else path[first:last, self._row_columns],
            path=None if path is None else path[:last],
            stop=self._stop_along(path[last - 1 :]) if native.stop_certified and path is not None else None,
            world_id="" if world is None else world.world_id,
            model_digest=self.model_digest,
            contacts_used=tuple(
                name for index, name in enumerate(contact_names) if native.contacts_used >> index & 1
            ),
        )
        if verdict.accepted:
            self._unclaimed[verdict] = float(now_s)
        return verdict

    def _stop_along(self, path: Float64) -> CertifiedStop:
        """Returns the stop that the last check certified, with the rows beyond the last step."""
        distance = np.array(self._native.stop_distance)
        return CertifiedStop(time_s=self._native.stop_time_s, distance=distance, path=path)

    def claim(self, verdict: Verdict) -> float | None:
        """Returns the `now_s` of an accepted verdict of this very gate, once: what executes a verdict asks first.

        A verdict of another gate, of a kernel, a rejected one, a copy, one that was claimed before and one that is
        older than a claimed one gets None.
        """
        with self._entry:
            unclaimed = self._unclaimed
            if verdict not in unclaimed:
                return None
            # In the order they were given.
            for other in list(unclaimed):
                checked_s = unclaimed.pop(other)
                if other is verdict:
                    return checked_s
            return None

    def void_claims(self) -> None:
        """Lets no verdict be claimed that was given so far: after a stop nothing old is executed.

        Any thread may call it, also while another one is inside this gate: a stop waits for nothing.
        """
        self._unclaimed = WeakKeyDictionary()

    @overload
    def world_in_base(self, world: World) -> World: ...
    @overload
    def world_in_base(self, world: NoWorld) -> NoWorld: ...
    @overload
    def world_in_base(self, world: None) -> None: ...
    def world_in_base(self, world: World | NoWorld | None) -> World | NoWorld | None:
        """Returns a world of the root frame in the base frame; any other, and one that cannot be turned, as it is."""
        if (
            isinstance(world, World)
            and self.frames.is_root(world.frame_id)
            and not world.turn_problem(self.frames)
        ):
            return world.moved_into_base(self.frames)
        return world

    def frame_problem(self, world: World) -> str | None:
        """Returns why a world cannot be used by its frame, as what follows its name in a sentence, or None."""
        if self.frames.is_root(world.frame_id):
            return world.turn_problem(self.frames)
        return self.frames.problem(world.frame_id)

    def name_violation(
        self, native: _core.Verdict, *, chunk: ActionChunk, world: World | NoWorld | None
    ) -> Violation:
        """Returns the violation of a rejected native verdict, such as a kernel's, with names instead of numbers."""
        return self._names.violation(native, chunk=chunk, world=world)

    def certify(
        self,
        chunk: ActionChunk,
        *,
        state: RobotState | None,
        world: World | NoWorld | None,
        now_s: float,
    ) -> Certificate:
        """Checks a chunk and writes down why it is clear, by a sweep of its own; `check` itself records nothing.

        Raises:
            ROSConfigError: The chunk is rejected, or accepted for reasons that a certificate cannot give: Cartesian
                rows or voxels.
        """
        with self._entry:
            world = self.world_in_base(world)
            verdict = self._decide(chunk, state=state, world=world, now_s=now_s)
            return certificate_of(self, verdict, NO_WORLD if world is None else world, self._native)

    def check_batch(
        self,
        configurations: Float64,
        *,
        world: World | NoWorld,
        gripper_positions: Sequence[float] | Float64 | None = None,
    ) -> BatchVerdict:
        """Checks single configurations, (N, n_dof): limits, self, world. No motion, no state, no freshness.

        Raises:
            ROSConfigError: The array is not float64, contiguous and (N, n_dof), or the world cannot be used.
        """
        # A few configurations of a world already known are checked as they are, under the interpreter's lock;
        # whatever the core cannot read is said in words below.
        usable, usable_native = self._usable
        if world is usable:
            verdict = self._check_few(configurations, gripper_positions, usable_native, self, world)
            if verdict is not None:
                return verdict
        # A copy keeps other threads out while a large batch runs without the lock.
        rows = require_array(configurations, name="configurations", dimensions=2, columns=self.n_dof)
        native = self._usable_native(world)
        gripper = self._grippers(gripper_positions)
        accepted = np.empty(len(rows), dtype=np.bool_)
        clearance_m = np.empty(len(rows))
        self._native.check_configurations(
            rows, gripper_positions=gripper, world=native, accepted=accepted, clearance_m=clearance_m
        )
        return BatchVerdict(
            accepted, clearance_m, gate=self, world=world, configurations=rows, gripper_positions=gripper
        )

    def explain_configuration(
        self,
        configuration: Float64,
        *,
        world: World | NoWorld,
        gripper_positions: Sequence[float] | Float64 | None = None,
    ) -> Violation | None:
        """Returns why `check_batch` rejects a configuration, or None where it accepts.

        Of several pairs the first is named, in the order of the stages. `BatchVerdict.pair` asks this.

        Raises:
            ROSConfigError: The array is not float64, contiguous and one number per joint, or the world cannot be used.
        """
        row = require_array(configuration, name="configuration", dimensions=1)
        self._require_count(len(row), self.joint_names, name="configuration")
        with self._entry:
            native = self._native.explain_configuration(
                row, gripper_positions=self._grippers(gripper_positions), world=self._usable_native(world)
            )
            if native.accepted:
                return None
            return self._names.violation(native, chunk=ActionChunk(row[None]), world=world)

    def stream(
        self, *, state: RobotState | None = None, mode: ControlMode = ControlMode.JOINT_POSITION
    ) -> Stream:
        """Returns a stream of joint positions, one step at a time; see `Stream`.

        Args:
            state: The measured state that the first step leads from; it may also be given to `Stream.begin`.
            mode: A mode whose steps are joint positions.

        Raises:
            ROSConfigError: The state does not fit the robot, or the mode has no joint positions.
        """
        return Stream(
            self._native,
            names=self._names,
            model_digest=self.model_digest,
            n_dof=self.n_dof,
            # The overloads of the method itself are for callers who know which of the three they have.
            place=lambda world: self.world_in_base(world),  # noqa: PLW0108
            read=self._native_world,
            state=state,
            mode=mode,
        )

    def _grippers(self, positions: Sequence[float] | Float64 | None) -> Float64 | None:
        if positions is None:
            return None
        gripper = require_array(positions, name="gripper_positions", dimensions=1)
        self._require_count(len(gripper), self.gripper_joint_names, name="gripper_positions")
        return gripper

    def check_nav_goal(self, pose: Pose6D, *, floor_map: FloorMap | None, now_s: float) -> NavGoal:
        """Returns whether the base may be sent to a pose in the map's frame: its footprint touches free cells only.

        The way there is not checked: every chunk of it is checked by `check`.

        Args:
            pose: Where the base is to stand, level.
            floor_map: The map; None is not a free map, the answer is no.
            now_s: The time, on the clock of the map's stamp.

        Raises:
            ROSConfigError: An argument is not what it is called.
        """
        return evaluate_nav_goal(
            self._config, pose, floor_map=floor_map, now_s=require_number(now_s, name="now_s")
        )

    def attach(
        self,
        link: str,
        shape: AttachableShape,
        *,
        object_id: str,
        origin_xyz_rpy: Sequence[float] = (0.0,) * 6,
        touch_links: Sequence[str] = (),
    ) -> None:
        """Makes an attached object part of the robot: it counts in self, world and sweep checks.

        Args:
            link: The link it moves with; that link is always allowed to touch it.
            shape: A sphere, capsule, box, cylinder or convex hull; several under one `object_id` make one object.
            origin_xyz_rpy: Its pose in the link's frame.
            touch_links: Other links that may touch it, such as the fingers that hold it.

        Raises:
            ROSConfigError: Unknown link, a shape that cannot be used, or more objects than the gate has room for.
        """
        held = AttachedShape.of(
            link, shape, object_id=object_id, origin_xyz_rpy=origin_xyz_rpy, touch_links=touch_links
        )
        with self._entry:
            self._held.attach(held)

    def detach(self, object_id: str) -> None:
        """Detaches an object; an unknown one raises `ROSConfigError`."""
        with self._entry:
            self._held.detach(object_id)

    @property
    def attached(self) -> tuple[AttachedShape, ...]:
        """Every shape that is attached at the moment, in the order it was attached."""
        return tuple(held for _, held in self._held.shapes)

    @property
    def attached_shapes(self) -> tuple[tuple[int, AttachedShape], ...]:
        """The same with the number under which verdicts of the core speak of each object."""
        return self._held.shapes

    def hold(self, shapes: Sequence[tuple[int, AttachedShape]]) -> None:
        """Holds exactly these, under these numbers, as `attached_shapes` gave them: for replaying a recording.

        Raises:
            ROSConfigError: A number is used twice, or a shape cannot be attached.
        """
        with self._entry:
            self._held.replace(shapes)

    def link_poses(
        self,
        configuration: Sequence[float] | Float64,
        *,
        gripper_positions: Sequence[float] | Float64 | None = None,
    ) -> dict[str, Float64]:
        """Returns each link's 3 x 4 pose in the base frame at one configuration; grippers stand at 0 unless given.

        Raises:
            ROSConfigError: Not one number per joint.
        """
        positions = require_array(configuration, name="configuration", dimensions=1)
        self._require_count(len(positions), self.joint_names, name="configuration")
        row = positions[np.newaxis, :]
        gripper = None
        if gripper_positions is not None:
            fingers = require_array(gripper_positions, name="gripper_positions", dimensions=1)
            self._require_count(len(fingers), self.gripper_joint_names, name="gripper_positions")
            gripper = fingers[np.newaxis, :]
        return {
            link: poses[0] for link, poses in self.link_poses_batch(row, gripper_positions=gripper).items()
        }

    def link_poses_batch(
        self, configurations: Float64, *, gripper_positions: Float64 | None = None
    ) -> dict[str, Float64]:
        """Returns each link's poses in the base frame, (N, 3, 4), at (N, n_dof) configurations.

        Args:
            configurations: One row per configuration, in `joint_names` order.
            gripper_positions: (N, gripper joints), in `gripper_joint_names` order; they stand at 0 unless given.

        Raises:
            ROSConfigError: An array is not float64, contiguous and of that shape.
        """
        return self.link_poses_on_path(self.as_path(configurations, gripper_positions=gripper_positions))

    def as_path(self, configurations: Float64, *, gripper_positions: Float64 | None = None) -> Float64:
        """Returns configurations as rows like those of `Verdict.path`, with the arguments of `link_poses_batch`.

        Raises:
            ROSConfigError: An array is not float64, contiguous and of that shape.
        """
        rows = require_array(configurations, name="configurations", dimensions=2)
        grippers = np.zeros((len(rows), len(self.gripper_joint_names)))
        if gripper_positions is not None:
            grippers = require_array(gripper_positions, name="gripper_positions", dimensions=2)
        if rows.shape[1] != self.n_dof or grippers.shape != (len(rows), len(self.gripper_joint_names)):
            raise ROSConfigError(
                f"configurations is {rows.shape} and gripper_positions {grippers.shape}; this robot has "
                f"{self.n_dof} joints and {len(self.gripper_joint_names)} gripper joints"
            )
        joints = [joint.name for joint in self.robot.actuated_joints]
        variables = np.zeros((len(rows), self._native.variable_count))  # a mobile base stands at the origin
        variables[:, self._row_columns] = rows
        variables[:, [joints.index(name) for name in self.gripper_joint_names]] = grippers
        return variables

    def link_poses_on_path(self, path: Float64) -> dict[str, Float64]:
        """Returns each link's poses, (N, 3, 4), where the base stood at first, at N rows like those of `Verdict.path`.

        Raises:
            ROSConfigError: The array is not float64, contiguous and one column per variable.
        """
        try:
            frames = self._native.link_frames(require_array(path, name="path", dimensions=2))
        except ValueError as error:
            raise ROSConfigError(f"path cannot be used: {error}") from None
        return {link: frames[:, index] for index, link in enumerate(self.link_names)}

    @property
    def checked_pairs(self) -> tuple[tuple[str, str], ...]:
        """Every pair of links whose volumes are compared."""
        pairs = {(self.link_names[a], self.link_names[b]) for a, b in self._native.checked_link_pairs}
        return tuple(sorted(pairs))

    def _require_count(self, count: int, joints: Sequence[str], *, name: str) -> None:
        if count != len(joints):
            raise ROSConfigError(
                f"{name} has {count} numbers, needs {len(joints)}: {', '.join(joints) or 'none'}"
            )

    def _effector_index(self, ee_name: str) -> int:
        if ee_name in self.effector_names:
            return self.effector_names.index(ee_name)
        return 0 if not ee_name and len(self.effector_names) == 1 else _core.NONE

    def _frame_index(self, frame_id: str, effector: int) -> _core.CartesianFrame:
        if frame_id in ("", self.robot.base_frame):
            return _core.CartesianFrame.base
        # The core turns steps by the axes of the effector they move; another effector's axes are not these.
        own = effector < len(self.effector_names) and frame_id == self.effector_names[effector]
        return _core.CartesianFrame.tool if own else _core.CartesianFrame.unknown

    def _native_world(self, world: World | NoWorld | None) -> _core.WorldSnapshot | None:
        if world is None:
            return None
        if isinstance(world, World) and not self._is_in_base(world):
            return world.native_elsewhere
        if isinstance(world, World | NoWorld):
            return world.native
        raise ROSConfigError(f"world is a {type(world).__name__}, expected a World or NO_WORLD")

    def _usable_native(self, world: World | NoWorld) -> _core.WorldSnapshot:
        """Returns a world as the core reads it, in the base frame; one that cannot be used raises `ROSConfigError`."""
        placed = self.world_in_base(world)
        native = self._native_world(placed)
        if native is None:
            raise ROSConfigError("world `None` cannot be used: expected a World or NO_WORLD")
        if isinstance(placed, World):
            problem = self.frame_problem(placed)
            if problem is not None:
                raise ROSConfigError(f"world `{world.world_id}` cannot be used: it {problem}")
            if not placed.native.usable or placed.native.overflowing:
                raise ROSConfigError(f"world `{world.world_id}` cannot be used: empty or over capacity")
        self._usable = (world, native)
        return native

    def _is_in_base(self, world: World) -> bool:
        return world.frame_id == self.robot.base_frame or not (world.frame_id or self.frames.must_be_named)


__all__ = ["BatchVerdict", "Gate", "ViolationCode"]
