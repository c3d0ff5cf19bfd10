# SPDX-License-Identifier: Apache-2.0
# MuJoCo is a native module without type information.
# pyright: reportAttributeAccessIssue=false
"""A simulated robot that moves on accepted chunks only, and holds or brakes for everything else."""

from collections.abc import Sequence
from typing import Literal

import mujoco
import numpy as np

from lastgate import _core
from lastgate.contracts import ControlMode, ROSConfigError
from lastgate.contracts.action import ActionChunk, RobotState
from lastgate.contracts.arrays import Float64
from lastgate.gate import Gate, require_gate
from lastgate.gate.verdict import Unchecked, Verdict
from lastgate.integrations.declared_stop import StopLaw, StoppingMotion
from lastgate.integrations.driver import (
    SAFE_ACTION_PATIENCE_S,
    AcceptedChunk,
    DriverLogic,
    StopBehaviour,
    StopReason,
)
from lastgate.integrations.finger_path import FingerPath, finger_points, gripper_of
from lastgate.integrations.mujoco_actuator import MujocoActuator
from lastgate.integrations.rejection import NotExecuted, Rejection
from lastgate.integrations.renamed import renamed_arguments
from lastgate.kernel.client import KernelState
from lastgate.world import NoWorld, World

# How long a brake takes, along the path that was accepted before.
BRAKE_S = 0.1
# How far from where the check began a joint may be measured when a chunk is taken, in rad or m: what decision 0005
# gives a measured joint beyond its limit, for the same reasons.
START_SLACK = 0.005

_GRIPPER_MODES = (ControlMode.GRIPPER_BINARY, ControlMode.GRIPPER_POSITION)
_MOTION_MODES = (
    ControlMode.JOINT_POSITION,
    ControlMode.JOINT_TRAJECTORY,
    ControlMode.JOINT_VELOCITY,
    ControlMode.DEX_HAND_JOINT,
    ControlMode.CARTESIAN_POSE,
    ControlMode.CARTESIAN_DELTA,
    ControlMode.CARTESIAN_TWIST,
)


class MujocoHal:
    """Stands between a policy and the actuators of a MuJoCo model.

    What moves the joints are the joint steps of an accepted verdict, in every mode: what is executed was checked.
    Between two steps the set point goes straight, as the gate assumes, from where the check began. A verdict is
    executed once, and only if this HAL's own gate gave it.

    Arm and fingers move together only where that was checked: while the fingers move, or are not where they were sent,
    `state` leaves them out, and the gate checks the arm with every finger anywhere in its range. A gripper chunk is not
    executed while the arm moves on a chunk that was checked with the fingers where they were.

    A robot whose manifest declares a stop brakes so, for every reason to stop: a rejection, an e-stop, and the end of a
    chunk that no other one follows. `on_rejection` and `stop_behaviour` are for robots that declare none.

    Args:
        model: The simulated robot; joints have the names of the description, or its `sim_joint_name`.
        data: Its state; its time is the clock of everything here.
        gate: Decides.
        on_rejection: `hold` stops at once, as `stop_behaviour` says. `brake` slows down along what is left of the path
            accepted before, which was certified, and then holds. The fingers hold at once, in either case.
        stop_behaviour: How the arm stops for everything else: an e-stop, silence. The fingers hold.
        patience_s: How long the last step of a chunk is held before the silence counts as a stop.
        raise_on_rejection: Raises `RejectedChunkError` instead of returning the rejection.

    Raises:
        ROSConfigError: A joint has no actuator, one that cannot be understood or one whose range is too narrow; or the
            time step of the model is longer than a step of the gate.
    """

    @renamed_arguments(on_refusal="on_rejection", raise_on_refusal="raise_on_rejection")
    def __init__(
        self,
        model: mujoco.MjModel,
        data: mujoco.MjData,
        gate: Gate,
        *,
        on_rejection: Literal["hold", "brake"] = "hold",
        stop_behaviour: StopBehaviour = StopBehaviour.HOLD,
        patience_s: float = SAFE_ACTION_PATIENCE_S,
        raise_on_rejection: bool = False,
    ) -> None:
        require_gate(gate)
        if on_rejection not in ("hold", "brake"):
            raise ROSConfigError(f"on_rejection is `hold` or `brake`: `{on_rejection}`")
        if not 0.0 < model.opt.timestep <= gate.step_s:
            raise ROSConfigError(
                f"the time step of the model is {model.opt.timestep} s, a step of the gate {gate.step_s} s: "
                "steps would be skipped"
            )
        self._model = model
        self._data = data
        self._gate = gate
        config = _core.read_config(gate.flat_config)
        self._arm_columns = [config.dof_names.index(name) for name in gate.joint_names]
        self._finger_columns = [config.dof_names.index(name) for name in gate.gripper_joint_names]
        self._finger_speeds = np.array(config.velocity_max)[self._finger_columns]
        self._law = StopLaw.read(config)
        self._on_rejection = on_rejection
        self._raise_on_rejection = raise_on_rejection
        self.actuator = MujocoActuator(
            model,
            data,
            gate.robot,
            joint_names=gate.joint_names,
            gripper_joint_names=gate.gripper_joint_names,
            stop_behaviour=stop_behaviour,
        )
        self._patience_s = patience_s
        # As long as a driver may be away, or a chunk may wait for it.
        self._longest_s = patience_s + gate.step_s
        self.reset()

    def reset(self) -> None:
        """Forgets everything: after the simulation was reset."""
        self._gate.void_claims()
        self.actuator.reset()
        self._logic = DriverLogic(step_s=self._gate.step_s, patience_s=self._patience_s)
        self._number = 0
        self._ticked_s = self.now_s - self._model.opt.timestep
        self._path = np.empty((0, self._gate.n_dof))
        # How far along the path the set point is, in the time of the path.
        self._elapsed_s = 0.0
        self._braked_s: float | None = None
        self._stopping: StoppingMotion | None = None
        self._stopped_for_s = 0.0
        self._mode = ControlMode.JOINT_POSITION
        self._began_s = self.now_s
        self._is_clear_of_fingers = False
        self._fingers: FingerPath | None = None
        self._fingers_elapsed_s = 0.0

    # ---- What the policy sees ------------------------------------------------------------------------

    @property
    def state(self) -> RobotState:
        """What is measured now; fingers that move, or are not where they were sent, may be anywhere in their range."""
        return RobotState(
            positions=self.actuator.positions,
            velocities=self.actuator.velocities,
            gripper_positions=self.actuator.gripper_positions
            if self._finger_columns and self._fingers_stand()
            else None,
            stamp_s=self.now_s,
        )

    @property
    def now_s(self) -> float:
        """Simulated time."""
        return float(self._data.time)

    @property
    def set_point(self) -> Float64:
        """Set point that the joints were last sent to."""
        return self.actuator.set_point.copy()

    @property
    def standing(self) -> StopReason | None:
        """Reason why it stands, or None while it moves on an accepted chunk."""
        return None if self._moves else self._logic.reason

    def submit(
        self, chunk: ActionChunk | Float64, *, world: World | NoWorld | None
    ) -> Verdict | Rejection | NotExecuted:
        """Checks a chunk from the state as it is now, and takes it if it was accepted.

        Raises:
            RejectedChunkError: It was rejected or cannot be executed, and `raise_on_rejection` asks for an exception.
        """
        proposed = chunk if isinstance(chunk, ActionChunk) else ActionChunk(chunk)
        verdict = self._gate.check(proposed, state=self.state, world=world, now_s=self.now_s)
        return self.take(verdict)

    def take(self, verdict: Verdict) -> Verdict | Rejection | NotExecuted:
        """Takes what an accepted verdict let through; stops on a rejected one, and on one that cannot be executed."""
        self._number += 1
        event: Rejection | NotExecuted
        if not verdict.accepted:
            self._stop_for(StopReason.REJECTED)
            event = Rejection(number=self._number, now_s=self.now_s, verdict=verdict)
        else:
            why_not = self._why_not(verdict)
            if not why_not:
                self._begin(verdict)
                return verdict
            self._stop_for(StopReason.NOT_EXECUTED)
            event = NotExecuted(number=self._number, now_s=self.now_s, verdict=verdict, sentence=why_not)
        if self._raise_on_rejection:
            raise event.raised()
        return event

    def estop(self) -> None:
        """Stops as declared, fingers too, and forgets what was accepted; the next accepted chunk moves it again."""
        self._gate.void_claims()
        self._begin_declared_stop()
        self._logic.reason = StopReason.LATCHED
        self._logic.forget()
        self._path = self._path[:0]
        self._braked_s = None
        self._fingers = None

    # ---- Whether what runs is what was checked ---------------------------------------------------------

    def _why_not(self, verdict: Verdict) -> str:
        """Returns what is not as it was checked, or nothing."""
        checked_s = self._gate.claim(verdict)
        if checked_s is None:
            return "the verdict was taken before, is older than what moved or stopped it last, or is of another gate"
        if not 0.0 <= self.now_s - checked_s <= self._longest_s:
            return f"the verdict is {self.now_s - checked_s:.3f} s old, allowed {self._longest_s:.3f} s"
        assert verdict.path is not None
        mode = ControlMode(verdict.chunk.mode)
        start = verdict.path[0]
        moved = self._moved(self._gate.joint_names, self.actuator.positions, start[self._arm_columns])
        any_fingers = _is_clear_of_fingers(verdict)
        fingers = start[self._finger_columns]
        if not moved and not any_fingers:
            moved = self._moved(self._gate.gripper_joint_names, self.actuator.gripper_positions, fingers)
        if moved:
            return moved
        if mode in _GRIPPER_MODES:
            return self._why_not_fingers(verdict.chunk)
        if mode not in (*_MOTION_MODES, ControlMode.JOINT_TORQUE):
            return f"{mode.name} moves no joint of a simulated arm"
        if mode == ControlMode.JOINT_TORQUE:
            return self.actuator.out_of_range(verdict.chunk.rows)
        if not any_fingers and not self._fingers_stand():
            return "the fingers move, or are not where they were sent, and were checked standing"
        return ""

    def _why_not_fingers(self, chunk: ActionChunk) -> str:
        if self._arm_moves() and not self._is_clear_of_fingers:
            return "the arm moves on a chunk that was checked with the fingers where they were"
        for joint in gripper_of(self._gate.robot, chunk.ee_name).joints:
            if not self.actuator.drives(joint.name):
                return f"joint `{joint.name}` has no actuator of its own in the MuJoCo model"
        return ""

    def _moved(self, names: Sequence[str], measured: Float64, checked: Float64) -> str:
        for name, here, there in zip(names, measured, checked, strict=True):
            if not abs(here - there) <= START_SLACK:
                return f"joint `{name}` is at {here:.4f}, and the check began at {there:.4f}"
        return ""

    def _arm_moves(self) -> bool:
        is_on_its_way = self._logic.is_under_way and not self._is_at_the_end()
        is_braking = self._braked_s is not None and self._braked_s < BRAKE_S and not self._is_at_the_end()
        is_stopping = self._stopping is not None and self._stopped_for_s < self._stopping.duration_s
        return is_on_its_way or is_braking or is_stopping or not self.actuator.arm_stands()

    def _is_at_the_end(self) -> bool:
        return self._elapsed_s >= (len(self._path) - 1) * self._gate.step_s

    def _fingers_stand(self) -> bool:
        """Returns whether the fingers are where they were sent and stay there."""
        lag = np.abs(self.actuator.gripper_positions - self.actuator.gripper_set_point)
        return self._fingers is None and bool((lag <= START_SLACK).all()) and self.actuator.fingers_stand()

    # ---- What the simulation does --------------------------------------------------------------------

    def tick(self) -> bool:
        """Sets the controls for the next time step; tells whether it moves on an accepted chunk."""
        # A tick that comes late goes on by one step, not by the time that passed: the jump was not checked.
        passed_s = self.now_s - self._ticked_s
        ahead_s = min(max(passed_s, 0.0), self._gate.step_s)
        self._ticked_s = self.now_s
        if self._mode == ControlMode.JOINT_TORQUE and self._torques_are_spent():
            self._logic.forget()
        row = self._logic.row_at(now_s=self.now_s, kernel_alive=True, state=KernelState.ACTIVE)
        if not 0.0 <= passed_s <= self._longest_s:
            # The set point stood meanwhile: a motion would begin anew.
            self._fingers, self._stopping, self._path = None, None, self._path[:0]
        elif row is None:
            self._begin_declared_stop()
        elif self._law is not None and self._mode != ControlMode.JOINT_TORQUE and self._runs_out(ahead_s):
            row = None
        self._moves = row is not None or self._fingers is not None
        self._move_fingers(ahead_s)
        if row is not None and self._mode == ControlMode.JOINT_TORQUE:
            self.actuator.command(*row)
        elif row is not None:
            self._elapsed_s += ahead_s
            self._send(self._along(self._elapsed_s))
        elif self._stopping is not None:
            self._stopped_for_s += ahead_s
            self._send(self._stopping.at(self._stopped_for_s))
        elif self._braked_s is not None and len(self._path):
            self._elapsed_s += self._slowed(ahead_s)
            self._send(self._along(self._elapsed_s))
        else:
            self.actuator.stop()
        return self._moves

    def step(self) -> bool:
        """Does `tick` and one time step of the simulation."""
        moves = self.tick()
        mujoco.mj_step(self._model, self._data)
        return moves

    _moves = False

    def _begin(self, verdict: Verdict) -> None:
        mode = ControlMode(verdict.chunk.mode)
        # The first tick is for the time step that begins now.
        self._ticked_s = self.now_s - self._model.opt.timestep
        if mode in _GRIPPER_MODES:
            self._begin_fingers(verdict)
            return
        rows = verdict.chunk.rows
        if mode != ControlMode.JOINT_TORQUE:
            # Joint steps are places, whatever was proposed: the last one may be held.
            rows, mode = verdict.joint_rows, ControlMode.JOINT_POSITION
        assert verdict.path is not None
        start = verdict.path[0, self._arm_columns]
        self._mode = mode
        self._is_clear_of_fingers = _is_clear_of_fingers(verdict)
        self._braked_s = None
        self._stopping = None
        self._elapsed_s = 0.0
        self._path = np.vstack([start, rows])
        if mode != ControlMode.JOINT_TORQUE:
            self.actuator.begin_at(start)
        self._began_s = self.now_s
        self._logic.take(
            AcceptedChunk(sequence=self._number, origin=0, rows=rows, mode=mode, arrived_s=self.now_s)
        )

    def _begin_fingers(self, verdict: Verdict) -> None:
        names = self._gate.gripper_joint_names
        gripper = gripper_of(self._gate.robot, verdict.chunk.ee_name)
        moved = [names.index(joint.name) for joint in gripper.joints]
        # Fingers of another gripper hold where they were sent.
        start = self.actuator.gripper_set_point.copy()
        start[moved] = self.actuator.gripper_positions[moved]
        points = finger_points(verdict.chunk, gripper, joint_names=names, start=start)
        self._fingers = FingerPath(points, speeds=self._finger_speeds, step_s=self._gate.step_s)
        self._fingers_elapsed_s = 0.0

    def _move_fingers(self, ahead_s: float) -> None:
        if self._fingers is None:
            return
        self._fingers_elapsed_s += ahead_s
        self.actuator.gripper_set_point = self._fingers.at(self._fingers_elapsed_s)
        if self._fingers_elapsed_s >= self._fingers.duration_s:
            self._fingers = None

    def _torques_are_spent(self) -> bool:
        # What a torque may lead to was certified for the time of the chunk and no longer: its last step is not held.
        rows = len(self._path) - 1
        return self.now_s - self._began_s >= rows * self._gate.step_s - self._model.opt.timestep / 2

    def _send(self, set_point: Float64) -> None:
        self.actuator.command(set_point, ControlMode.JOINT_POSITION)

    def _along(self, elapsed_s: float) -> Float64:
        """Returns the set point so far along the path, straight from step to step."""
        share = min(max(elapsed_s / self._gate.step_s, 0.0), len(self._path) - 1.0)
        index = min(int(share), len(self._path) - 2)
        return self._path[index] + (share - index) * (self._path[index + 1] - self._path[index])

    def _stop_for(self, reason: StopReason) -> None:
        was_moving = (
            self._logic.row_at(now_s=self.now_s, kernel_alive=True, state=KernelState.ACTIVE) is not None
        )
        self._gate.void_claims()
        self._logic.forget()
        self._logic.reason = reason
        self._fingers = None
        can_brake = was_moving and self._mode != ControlMode.JOINT_TORQUE
        if self._law is not None:
            self._begin_declared_stop()
            return
        if self._on_rejection == "brake" and can_brake and self._braked_s is None:
            self._braked_s = 0.0

    def _runs_out(self, ahead_s: float) -> bool:
        """Begins the stop at the end of the path, as it was certified; returns whether this tick gets there."""
        end_s = (len(self._path) - 1) * self._gate.step_s
        left_s = end_s - self._elapsed_s
        if not ahead_s - left_s > 1e-6 * ahead_s:
            return False
        self._elapsed_s = end_s
        self._begin_declared_stop()
        self._stopped_for_s = -left_s
        self._logic.forget()
        self._logic.reason = StopReason.STARVED
        return True

    def _begin_declared_stop(self) -> None:
        """Brakes from the set point, along the path that was executed; a stop that has begun goes on."""
        is_braked = self._law is not None and self._mode != ControlMode.JOINT_TORQUE and len(self._path) > 1
        if self._stopping is not None or not is_braked:
            return
        assert self._law is not None
        self._stopping = StoppingMotion(
            self._path, step_s=self._gate.step_s, law=self._law, asked_s=self._elapsed_s
        )
        self._stopped_for_s = 0.0

    def _slowed(self, ahead_s: float) -> float:
        """Returns how far the path goes on in that time: its clock slows down to a standstill within `BRAKE_S`."""
        assert self._braked_s is not None
        before_s = self._braked_s
        self._braked_s = min(before_s + ahead_s, BRAKE_S)
        return (self._braked_s - before_s) * (1.0 - (before_s + self._braked_s) / (2.0 * BRAKE_S))


def _is_clear_of_fingers(verdict: Verdict) -> bool:
    """Returns whether the arm was checked with every finger anywhere in its range."""
    # What torques lead to is checked so in any case.
    return Unchecked.GRIPPER_STATE in verdict.unchecked or verdict.chunk.mode == ControlMode.JOINT_TORQUE
