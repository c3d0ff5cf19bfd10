# SPDX-License-Identifier: Apache-2.0
# MuJoCo is a native module without type information.
# pyright: reportAttributeAccessIssue=false
"""Sends joint set points to the actuators of a MuJoCo model, whatever kind they are."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import mujoco
import numpy as np

from lastgate.contracts import ControlMode, JointSpec, RobotDescription, ROSConfigError
from lastgate.contracts.arrays import Float64
from lastgate.integrations.driver import StopBehaviour

# For torque motors: the closed loop of one joint answers like a critically damped spring of this frequency.
TORQUE_LOOP_RAD_S = 40.0
# For velocity servos: an error of position is worked off with this time constant.
VELOCITY_LOOP_S = 0.05
# How long a ramp takes, whatever it starts from: the set point goes on by half of what it would have in that time.
RAMP_S = 0.1
# Slower than this in every joint is standing.
STANDING_RAD_S = 0.01


class ActuatorKind(StrEnum):
    """Meanings of an actuator's control."""

    POSITION = "position"
    VELOCITY = "velocity"
    TORQUE = "torque"


@dataclass(frozen=True, slots=True)
class _Channel:
    """One joint with its actuator: where both lie in the model's arrays."""

    joint: str
    qpos: int
    qvel: int
    actuator: int
    kind: ActuatorKind
    scale: float  # joint units per unit of control (position, velocity) or torque per unit of control


class MujocoActuator:
    """Drives the joints of one robot in one model; is an `Actuator` of `lastgate.integrations.driver`.

    Set points are positions, for every kind of actuator: a velocity servo is given the speed of the set point and what
    brings the joint back to it, a motor the torque of a critically damped spring and of gravity. Joints that mimic
    another one follow it. In `JOINT_TORQUE` a step goes to the motors as it is. Those not among `modes` are for
    `MujocoHal`, which has the joint steps of the verdict.

    Args:
        joint_names: In the order of a step.
        gripper_joint_names: In the order of `RobotState.gripper_positions`.
        stop_behaviour: What `stop` does. A ramp begins with the measured speed, ends within the joint's limits and
            then holds; it leaves the path that was checked by at most speed * `RAMP_S` / 2.

    Raises:
        ROSConfigError: A joint that steps command has no actuator, one that cannot be understood, or one whose control
            range is narrower than the joint's limits; or it should damp and is a position servo, which falls without a
            set point.
    """

    modes = (
        ControlMode.JOINT_POSITION,
        ControlMode.JOINT_TRAJECTORY,
        ControlMode.DEX_HAND_JOINT,
        ControlMode.JOINT_TORQUE,
    )

    def __init__(
        self,
        model: mujoco.MjModel,
        data: mujoco.MjData,
        robot: RobotDescription,
        *,
        joint_names: Sequence[str],
        gripper_joint_names: Sequence[str] = (),
        stop_behaviour: StopBehaviour = StopBehaviour.HOLD,
    ) -> None:
        self._model = model
        self._data = data
        self._specs = {joint.name: joint for joint in robot.joints}
        self._joints = [self._channel(name, required=True) for name in joint_names]
        self._gripper = [self._channel(name, required=False) for name in gripper_joint_names]
        self._gripper_names = tuple(gripper_joint_names)
        self._mimics = self._find_mimics(gripper_joint_names)
        self._velocity = np.zeros(len(self._joints))
        self._torque_rows = False
        if stop_behaviour not in tuple(StopBehaviour):
            raise ROSConfigError(f"stop_behaviour is `hold`, `ramp` or `damp`: `{stop_behaviour}`")
        self._stop_behaviour = StopBehaviour(stop_behaviour)
        if self._stop_behaviour == StopBehaviour.DAMP and ActuatorKind.POSITION in self.kinds:
            raise ROSConfigError("a position servo cannot damp: it can hold or ramp")
        self.reset()

    @property
    def kinds(self) -> tuple[ActuatorKind, ...]:
        """Kind of each joint's actuator."""
        return tuple(channel.kind for channel in self._joints if channel is not None)

    def reset(self) -> None:
        """Takes where the joints are as the set point: after the simulation was reset."""
        self.set_point = self.positions
        self.gripper_set_point = self.gripper_positions
        self._velocity[:] = 0.0
        self._stopping_since_s: float | None = None

    @property
    def positions(self) -> Float64:
        """Measured positions of the joints."""
        return np.array([self._data.qpos[channel.qpos] for channel in self._joints if channel is not None])

    @property
    def velocities(self) -> Float64:
        """Measured velocities of the joints."""
        return np.array([self._data.qvel[channel.qvel] for channel in self._joints if channel is not None])

    @property
    def gripper_positions(self) -> Float64:
        """Measured positions of the gripper's joints."""
        return np.array([self._data.qpos[self._qpos_of(name)] for name in self._gripper_names])

    # ---- Actuator ------------------------------------------------------------------------------------

    def command(self, row: Float64, mode: ControlMode) -> None:
        """Sends one set point: positions, or torques in `JOINT_TORQUE`.

        Raises:
            ROSConfigError: A step of another mode or width, or with a number that is not finite; nothing is sent.
        """
        if mode not in self.modes or row.shape != (len(self._joints),) or not np.isfinite(row).all():
            raise ROSConfigError(
                f"a step of {ControlMode(mode).name} with shape {row.shape} sets no {len(self._joints)} joints"
            )
        self._torque_rows = mode == ControlMode.JOINT_TORQUE
        self._stopping_since_s = None
        if self._torque_rows:
            self._send_torques(row)
        else:
            self._velocity = (row - self.set_point) / self._model.opt.timestep
            self.set_point = np.array(row, dtype=np.float64)
            self._send_set_point()
        self._send_gripper()

    def begin_at(self, positions: Float64) -> None:
        """Takes positions as the set point that the next command goes on from."""
        self.set_point = np.array(positions, dtype=np.float64)

    def stop(self) -> None:
        """Does one tick of the declared stop, from the last set point; after torques, from where the joints are."""
        if self._stopping_since_s is None:
            self._begin_stop()
        if self._stop_behaviour == StopBehaviour.DAMP:
            self._damp()
        else:
            self._slow_down()
            self._send_set_point()
        self._send_gripper()

    def is_stopped(self) -> bool:
        """Returns whether every joint stands, fingers too."""
        return self.arm_stands() and self.fingers_stand()

    def arm_stands(self) -> bool:
        """Returns whether every joint of a step stands."""
        return bool((np.abs(self.velocities) <= STANDING_RAD_S).all())

    def fingers_stand(self) -> bool:
        """Returns whether every finger that is driven stands."""
        driven = [*self._gripper, *(channel for channel, *_ in self._mimics)]
        return all(
            abs(float(self._data.qvel[channel.qvel])) <= STANDING_RAD_S
            for channel in driven
            if channel is not None
        )

    def drives(self, joint: str) -> bool:
        """Returns whether a joint of the gripper has an actuator of its own."""
        return any(channel is not None and channel.joint == joint for channel in self._gripper)

    def out_of_range(self, torques: Float64) -> str:
        """Returns which joint's motor cannot be sent one of these torques, in a sentence, or nothing."""
        for channel, column in zip(self._joints, torques.T, strict=True):
            assert channel is not None
            if not self._reaches(channel, float(column.min()), float(column.max())):
                return f"the control range of joint `{channel.joint}` is narrower than its torques"
        return ""

    # ---- The model -----------------------------------------------------------------------------------

    def _sim_name(self, name: str) -> str:
        spec: JointSpec | None = self._specs.get(name)
        return name if spec is None or spec.sim_joint_name is None else spec.sim_joint_name

    def _joint_id(self, name: str) -> int:
        index = mujoco.mj_name2id(self._model, mujoco.mjtObj.mjOBJ_JOINT, self._sim_name(name))
        if index < 0:
            raise ROSConfigError(f"the MuJoCo model has no joint `{self._sim_name(name)}`")
        return index

    def _qpos_of(self, name: str) -> int:
        return int(self._model.jnt_qposadr[self._joint_id(name)])

    def _channel(self, name: str, *, required: bool) -> _Channel | None:
        joint = self._joint_id(name)
        on_joint = (int(mujoco.mjtTrn.mjTRN_JOINT), int(mujoco.mjtTrn.mjTRN_JOINTINPARENT))
        found = [
            index
            for index in range(self._model.nu)
            if int(self._model.actuator_trntype[index]) in on_joint
            and int(self._model.actuator_trnid[index][0]) == joint
        ]
        if len(found) != 1:
            if not found and not required:
                return None
            raise ROSConfigError(
                f"joint `{name}` has {len(found)} actuators of its own in the MuJoCo model, needs 1"
            )
        kind, scale = self._kind_of(found[0], name)
        channel = _Channel(
            name,
            int(self._model.jnt_qposadr[joint]),
            int(self._model.jnt_dofadr[joint]),
            found[0],
            kind,
            scale,
        )
        self._require_range(channel)
        return channel

    def _require_range(self, channel: _Channel) -> None:
        """Refuses a servo that cannot be sent wherever the gate may let it go: it would leave the path unnoticed."""
        spec = self._specs[channel.joint]
        low, high = -math.inf, math.inf
        if channel.kind == ActuatorKind.POSITION and spec.position_limits is not None:
            low, high = spec.position_limits
        elif channel.kind == ActuatorKind.VELOCITY and spec.velocity_limit is not None:
            low, high = -spec.velocity_limit, spec.velocity_limit
        elif channel.kind == ActuatorKind.TORQUE:
            return  # a motor that is too weak lags; torques that were proposed are compared when they are taken
        if not self._reaches(channel, low, high):
            reached = sorted(channel.scale * self._model.actuator_ctrlrange[channel.actuator])
            raise ROSConfigError(
                f"the control range of joint `{channel.joint}` ends at {channel.kind} {reached[0]:.6g} and "
                f"{reached[1]:.6g}, its limits are {low:.6g} and {high:.6g}: narrow the limits or widen the range"
            )

    def _reaches(self, channel: _Channel, low: float, high: float) -> bool:
        if not self._model.actuator_ctrllimited[channel.actuator]:
            return True
        bottom, top = sorted(channel.scale * self._model.actuator_ctrlrange[channel.actuator])
        # A range that was written with fewer digits than the limit, or computed through a gear, differs by that.
        rounding = 1e-6 * (1.0 + max(abs(bottom), abs(top)))
        return bool(bottom - rounding <= low and high <= top + rounding)

    def _kind_of(self, actuator: int, joint: str) -> tuple[ActuatorKind, float]:
        """Reads from gain and bias what the control means: force = gain * ctrl + b0 + b1 * length + b2 * velocity."""
        model = self._model
        gear = float(model.actuator_gear[actuator][0])
        gain = float(model.actuator_gainprm[actuator][0])
        bias = model.actuator_biasprm[actuator]
        fixed = int(model.actuator_gaintype[actuator]) == int(mujoco.mjtGain.mjGAIN_FIXED)
        direct = int(model.actuator_dyntype[actuator]) == int(mujoco.mjtDyn.mjDYN_NONE)
        if not (fixed and direct and gear and gain):
            raise ROSConfigError(
                f"the actuator of joint `{joint}` has a state or a gain that is not constant"
            )
        if int(model.actuator_biastype[actuator]) == int(mujoco.mjtBias.mjBIAS_NONE):
            return ActuatorKind.TORQUE, gain * gear
        if int(model.actuator_biastype[actuator]) == int(mujoco.mjtBias.mjBIAS_AFFINE) and bias[0] == 0.0:
            if bias[1] < 0.0:
                # Balanced where gain * ctrl = -b1 * gear * position.
                return ActuatorKind.POSITION, gain / (-float(bias[1]) * gear)
            if bias[1] == 0.0 and bias[2] < 0.0:
                return ActuatorKind.VELOCITY, gain / (-float(bias[2]) * gear)
        raise ROSConfigError(f"the actuator of joint `{joint}` is no position servo, velocity servo or motor")

    def _find_mimics(self, leaders: Sequence[str]) -> list[tuple[_Channel, int, float, float]]:
        """Returns followers with an actuator of their own: channel, index of the leader, multiplier, offset."""
        found = []
        for joint in self._specs.values():
            if joint.mimic is None or joint.mimic.joint not in leaders:
                continue
            if mujoco.mj_name2id(self._model, mujoco.mjtObj.mjOBJ_JOINT, self._sim_name(joint.name)) < 0:
                continue
            channel = self._channel(joint.name, required=False)
            if channel is not None:
                leader = list(leaders).index(joint.mimic.joint)
                found.append((channel, leader, joint.mimic.multiplier, joint.mimic.offset))
        return found

    # ---- Control -------------------------------------------------------------------------------------

    def _begin_stop(self) -> None:
        if self._torque_rows:
            self._torque_rows = False
            self.set_point = self.positions
        self._stopping_since_s = float(self._data.time)
        self._stop_from = self.set_point.copy()
        ramps = self._stop_behaviour == StopBehaviour.RAMP
        self._stop_speed = self.velocities if ramps else np.zeros(len(self._joints))

    def _slow_down(self) -> None:
        """Moves the set point as far as a speed that falls to nothing within `RAMP_S` has come."""
        assert self._stopping_since_s is not None
        passed_s = min(float(self._data.time) + self._model.opt.timestep - self._stopping_since_s, RAMP_S)
        target = self._stop_from + self._stop_speed * (passed_s - passed_s**2 / (2.0 * RAMP_S))
        self._velocity = self._stop_speed * (1.0 - passed_s / RAMP_S)
        for index, channel in enumerate(self._joints):
            assert channel is not None
            limits = self._specs[channel.joint].position_limits
            if limits is not None:
                # Never further out than a limit, nor than it already was.
                low = min(limits[0], self._stop_from[index])
                target[index] = min(max(target[index], low), max(limits[1], self._stop_from[index]))
        self.set_point = target

    def _damp(self) -> None:
        self.set_point = self.positions
        self._velocity[:] = 0.0
        self._send_set_point()

    def _send_set_point(self) -> None:
        for channel, position, velocity in zip(self._joints, self.set_point, self._velocity, strict=True):
            assert channel is not None
            self._send(channel, float(position), float(velocity))

    def _send_gripper(self) -> None:
        for channel, position in zip(self._gripper, self.gripper_set_point, strict=True):
            if channel is not None:
                self._send(channel, float(position), 0.0)
        for channel, leader, multiplier, offset in self._mimics:
            self._send(channel, multiplier * float(self.gripper_set_point[leader]) + offset, 0.0)

    def _send(self, channel: _Channel, position: float, velocity: float) -> None:
        error = position - float(self._data.qpos[channel.qpos])
        match channel.kind:
            case ActuatorKind.POSITION:
                control = position / channel.scale
            case ActuatorKind.VELOCITY:
                control = (velocity + error / VELOCITY_LOOP_S) / channel.scale
            case ActuatorKind.TORQUE:
                control = self._holding_torque(channel, error, velocity) / channel.scale
        self._data.ctrl[channel.actuator] = self._within_range(channel.actuator, control)

    def _holding_torque(self, channel: _Channel, error: float, velocity: float) -> float:
        inertia = self._inertia(channel.qvel)
        speed_error = velocity - float(self._data.qvel[channel.qvel])
        wanted = TORQUE_LOOP_RAD_S**2 * error + 2.0 * TORQUE_LOOP_RAD_S * speed_error
        # Gravity and what the other joints do to this one, less what the model carries by itself.
        carried = float(self._data.qfrc_bias[channel.qvel] - self._data.qfrc_passive[channel.qvel])
        return inertia * wanted + carried

    def _inertia(self, dof: int) -> float:
        # The diagonal of the joint-space inertia: what one joint feels while the others stand.
        column = np.zeros(self._model.nv)
        unit = np.zeros(self._model.nv)
        unit[dof] = 1.0
        mujoco.mj_mulM(self._model, self._data, column, unit)
        return float(column[dof])

    def _send_torques(self, row: Float64) -> None:
        for channel, torque in zip(self._joints, row, strict=True):
            assert channel is not None
            if channel.kind != ActuatorKind.TORQUE:
                raise ROSConfigError(
                    f"joint `{channel.joint}` has a {channel.kind} servo, which takes no torque"
                )
            self._data.ctrl[channel.actuator] = self._within_range(
                channel.actuator, float(torque) / channel.scale
            )

    def _within_range(self, actuator: int, control: float) -> float:
        # Set points are inside: the range was compared with the limits. A loop that asks for more saturates.
        if not self._model.actuator_ctrllimited[actuator]:
            return control
        low, high = self._model.actuator_ctrlrange[actuator]
        return float(min(max(control, low), high))
