# SPDX-License-Identifier: Apache-2.0
# MuJoCo is a native module without type information.
# pyright: reportAttributeAccessIssue=false
"""A simulated robot that moves on accepted chunks only, and holds or brakes for everything else."""

from typing import Literal

import mujoco
import numpy as np

from lastgate.action import ActionChunk, RobotState
from lastgate.adapters.driver import (
    SAFE_ACTION_PATIENCE_S,
    AcceptedChunk,
    DriverLogic,
    StopBehaviour,
    StopReason,
)
from lastgate.adapters.mujoco_actuator import MujocoActuator
from lastgate.adapters.refusal import Refusal
from lastgate.arrays import Float64
from lastgate.contracts import ControlMode, EndEffector, ROSConfigError
from lastgate.gate import Gate, require_gate
from lastgate.kernel_client import KernelState
from lastgate.verdict import Verdict
from lastgate.world import NoWorld, World

# How long a brake takes, along the path that was accepted before.
BRAKE_S = 0.1

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

    What moves the joints are the joint rows of an accepted verdict, in every mode: what is executed was checked.
    Between two rows the set point goes straight, as the gate assumes.

    Args:
        model: The simulated robot; joints have the names of the description, or its `sim_joint_name`.
        data: Its state; its time is the clock of everything here.
        gate: Decides.
        on_refusal: `hold` stops at once, as `stop_behaviour` says. `brake` slows down along what is left of the path
            accepted before, which was shown clear, and then holds.
        stop_behaviour: How it stops for everything else: an e-stop, silence.
        patience_s: How long the last row of a chunk is held before the silence counts as a stop.
        raise_on_refusal: Raises `RejectedChunkError` instead of returning the refusal.

    Raises:
        ROSConfigError: A joint has no actuator, or one that cannot be understood.
    """

    def __init__(
        self,
        model: mujoco.MjModel,
        data: mujoco.MjData,
        gate: Gate,
        *,
        on_refusal: Literal["hold", "brake"] = "hold",
        stop_behaviour: StopBehaviour = StopBehaviour.HOLD,
        patience_s: float = SAFE_ACTION_PATIENCE_S,
        raise_on_refusal: bool = False,
    ) -> None:
        require_gate(gate)
        if on_refusal not in ("hold", "brake"):
            raise ROSConfigError(f"on_refusal is `hold` or `brake`: `{on_refusal}`")
        self._model = model
        self._data = data
        self._gate = gate
        self._on_refusal = on_refusal
        self._raise_on_refusal = raise_on_refusal
        self.actuator = MujocoActuator(
            model,
            data,
            gate.robot,
            joint_names=gate.joint_names,
            gripper_joint_names=gate.gripper_joint_names,
            stop_behaviour=stop_behaviour,
        )
        self._patience_s = patience_s
        self.reset()

    def reset(self) -> None:
        """Forgets everything: after the simulation was reset."""
        self.actuator.reset()
        self._logic = DriverLogic(step_s=self._gate.step_s, patience_s=self._patience_s)
        self._number = 0
        self._path = np.empty((0, self._gate.n_dof))
        self._began_s = 0.0
        self._braking_since_s: float | None = None
        self._mode = ControlMode.JOINT_POSITION

    # ---- What the policy sees ------------------------------------------------------------------------

    @property
    def state(self) -> RobotState:
        """Is what is measured now."""
        has_gripper = bool(self._gate.gripper_joint_names)
        return RobotState(
            positions=self.actuator.positions,
            velocities=self.actuator.velocities,
            gripper_positions=self.actuator.gripper_positions if has_gripper else None,
            stamp_s=self.now_s,
        )

    @property
    def now_s(self) -> float:
        """Is the simulated time."""
        return float(self._data.time)

    @property
    def set_point(self) -> Float64:
        """Is where the joints were last sent."""
        return self.actuator.set_point.copy()

    @property
    def standing(self) -> StopReason | None:
        """Says why it stands, or None while it moves on an accepted chunk."""
        return None if self._moves else self._logic.reason

    def submit(self, chunk: ActionChunk | Float64, *, world: World | NoWorld | None) -> Verdict | Refusal:
        """Checks a chunk from the state as it is now, and takes it if it was accepted.

        Raises:
            RejectedChunkError: It was refused, and `raise_on_refusal` asks for an exception.
        """
        proposed = chunk if isinstance(chunk, ActionChunk) else ActionChunk(chunk)
        verdict = self._gate.check(proposed, state=self.state, world=world, now_s=self.now_s)
        return self.take(verdict)

    def take(self, verdict: Verdict) -> Verdict | Refusal:
        """Takes what an accepted verdict let through; stops on a refused one."""
        self._number += 1
        if not verdict.accepted:
            self._refuse()
            refusal = Refusal(number=self._number, now_s=self.now_s, verdict=verdict)
            if self._raise_on_refusal:
                raise refusal.raised()
            return refusal
        mode = ControlMode(verdict.chunk.mode)
        if mode in _GRIPPER_MODES:
            self._take_gripper(verdict.chunk)
            return verdict
        if mode == ControlMode.JOINT_TORQUE:
            rows = verdict.chunk.rows
        elif mode in _MOTION_MODES:
            rows = verdict.joint_rows
        else:
            raise ROSConfigError(f"{mode.name} moves no joint of a simulated arm")
        self._mode = mode
        self._braking_since_s = None
        self._began_s = self.now_s
        self._path = np.vstack([self.actuator.set_point, rows])
        self._logic.take(
            AcceptedChunk(sequence=self._number, origin=0, rows=rows, mode=mode, arrived_s=self.now_s)
        )
        return verdict

    def estop(self) -> None:
        """Stops as declared and forgets what was accepted; the next accepted chunk moves it again."""
        self._logic.reason = StopReason.LATCHED
        self._logic.forget()
        self._path = self._path[:0]
        self._braking_since_s = None

    # ---- What the simulation does --------------------------------------------------------------------

    def tick(self) -> bool:
        """Sets the controls for the next time step; tells whether it moves on an accepted chunk."""
        if self._mode == ControlMode.JOINT_TORQUE and self._torques_are_spent():
            self._logic.forget()
        row = self._logic.row_at(now_s=self.now_s, kernel_alive=True, state=KernelState.ACTIVE)
        self._moves = row is not None
        if row is not None and self._mode == ControlMode.JOINT_TORQUE:
            self.actuator.command(*row)
        elif row is not None:
            self._send(self._along(self.now_s + self._model.opt.timestep - self._began_s))
        elif self._braking_since_s is not None and len(self._path):
            self._send(self._along(self._braked_s()))
        else:
            self.actuator.stop()
        return self._moves

    def step(self) -> bool:
        """Does `tick` and one time step of the simulation."""
        moves = self.tick()
        mujoco.mj_step(self._model, self._data)
        return moves

    _moves = False

    def _torques_are_spent(self) -> bool:
        # What a torque may lead to was shown for the time of the chunk and no longer: its last row is not held.
        rows = len(self._path) - 1
        return self.now_s - self._began_s >= rows * self._gate.step_s - self._model.opt.timestep / 2

    def _send(self, set_point: Float64) -> None:
        self.actuator.command(set_point, ControlMode.JOINT_POSITION)

    def _along(self, elapsed_s: float) -> Float64:
        """Returns the set point so long after the chunk began, straight from row to row."""
        share = min(max(elapsed_s / self._gate.step_s, 0.0), len(self._path) - 1.0)
        index = min(int(share), len(self._path) - 2)
        return self._path[index] + (share - index) * (self._path[index + 1] - self._path[index])

    def _refuse(self) -> None:
        was_moving = (
            self._logic.row_at(now_s=self.now_s, kernel_alive=True, state=KernelState.ACTIVE) is not None
        )
        self._logic.forget()
        self._logic.reason = StopReason.REFUSED
        can_brake = was_moving and self._mode != ControlMode.JOINT_TORQUE
        if self._on_refusal == "brake" and can_brake and self._braking_since_s is None:
            self._braking_since_s = self.now_s

    def _braked_s(self) -> float:
        """Returns how far along the path the brake has come: the clock of the path slows down to a standstill."""
        assert self._braking_since_s is not None
        begun_s = self._braking_since_s - self._began_s
        passed_s = min(self.now_s + self._model.opt.timestep - self._braking_since_s, BRAKE_S)
        return begun_s + passed_s - passed_s**2 / (2.0 * BRAKE_S)

    def _take_gripper(self, chunk: ActionChunk) -> None:
        effector = self._effector(chunk.ee_name)
        assert effector.gripper is not None
        gripper = effector.gripper
        channel = float(chunk.rows[-1, 0])
        closed, opened = gripper.channel_closed, gripper.channel_open
        share = (
            channel if chunk.mode == ControlMode.GRIPPER_BINARY else (channel - closed) / (opened - closed)
        )
        target = self.actuator.gripper_set_point.copy()
        for joint in gripper.joints:
            index = self._gate.gripper_joint_names.index(joint.name)
            target[index] = joint.position_closed + share * (joint.position_open - joint.position_closed)
        self.actuator.command_gripper(target)

    def _effector(self, name: str) -> EndEffector:
        with_gripper = [end for end in self._gate.robot.end_effectors if end.gripper is not None]
        return next(end for end in with_gripper if name in ("", end.name))
