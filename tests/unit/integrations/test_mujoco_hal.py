# SPDX-License-Identifier: Apache-2.0
"""The simulated robot moves on accepted chunks, along the rows that were checked, and stands for everything else."""

import mujoco
import numpy as np
import pytest
from fixtures.analytic_robots import gate_of, planar_two_link, sphere
from fixtures.mujoco_arms import SERVOS, STEP_S, gripper_hal, ramp, steps, two_link

import lastgate as lg
from lastgate.integrations.driver import StopBehaviour, StopReason
from lastgate.integrations.mujoco_actuator import RAMP_S, ActuatorKind
from lastgate.integrations.mujoco_hal import BRAKE_S, MujocoHal
from lastgate.integrations.rejection import Rejection


@pytest.mark.parametrize("kind", list(SERVOS))
def test_accepted_chunk_is_executed_by_every_kind_of_actuator(kind):
    hal, _ = two_link(kind)
    assert hal.actuator.kinds == (ActuatorKind(kind.split()[-1]),) * 2
    assert hal.submit(ramp(), world=lg.NO_WORLD).accepted
    steps(hal, 16 * STEP_S + 0.15)
    assert np.allclose(hal.state.positions, ramp()[-1], atol=0.02)
    assert hal.standing is None


@pytest.mark.parametrize("kind", list(SERVOS))
def test_rejected_chunk_moves_nothing(kind):
    hal, _ = two_link(kind)
    bad = ramp()
    bad[7, 1] = np.nan
    refusal = hal.submit(bad, world=lg.NO_WORLD)
    assert isinstance(refusal, Rejection)
    assert (refusal.code, refusal.number) == ("nan_in_action", 1)
    steps(hal, 0.3)
    assert np.abs(hal.state.positions).max() < 0.005
    assert hal.standing == StopReason.NOTHING_YET


def test_set_points_are_the_rows_and_straight_lines_between_them():
    hal, data = two_link()
    rows = ramp(4)
    rows[:, 0] = [0.01, 0.03, 0.02, 0.05]
    hal.submit(rows, world=lg.NO_WORLD)
    seen = []
    for _ in range(40):
        hal.step()
        seen.append((data.time, *hal.set_point))
    path = np.vstack([np.zeros(2), rows])
    for time_s, *point in seen:
        expected = [np.interp(time_s / STEP_S, np.arange(5), path[:, j]) for j in range(2)]
        assert np.allclose(point, expected, atol=1e-9)


def test_starved_robot_holds_after_its_patience_and_forgets():
    hal, _ = two_link()
    hal.submit(ramp(4), world=lg.NO_WORLD)
    steps(hal, 4 * STEP_S + 0.19)
    assert hal.standing is None
    steps(hal, 0.05)
    assert hal.standing == StopReason.STARVED
    held = hal.set_point
    steps(hal, 0.5)
    assert (hal.set_point == held).all()
    assert hal.actuator.is_stopped()


def test_refusal_on_the_way_holds_at_once():
    hal, _ = two_link(on_rejection="hold")
    hal.submit(ramp(), world=lg.NO_WORLD)
    steps(hal, 0.1)
    held = hal.set_point
    hal.submit(np.full((4, 2), np.nan), world=lg.NO_WORLD)
    assert hal.standing is None or hal.standing == StopReason.REJECTED
    steps(hal, 0.3)
    assert hal.standing == StopReason.REJECTED
    assert (hal.set_point == held).all()


def test_brake_ends_on_the_accepted_path_at_rest_and_not_at_once():
    hal, _ = two_link(on_rejection="brake")
    rows = ramp(speed=1.0)
    hal.submit(rows, world=lg.NO_WORLD)
    steps(hal, 0.1)
    before = hal.set_point
    hal.submit(np.full((4, 2), np.nan), world=lg.NO_WORLD)
    points = []
    for _ in range(round(BRAKE_S / 0.002) + 20):
        hal.step()
        points.append(hal.set_point)
    gone = np.array(points)[:, 0] - before[0]
    assert (np.diff(gone) >= -1e-12).all()
    assert gone[-1] == pytest.approx(1.0 * BRAKE_S / 2, abs=1e-6)
    assert gone[-1] == gone[-10]
    assert np.allclose(np.array(points)[:, 0], -np.array(points)[:, 1])  # both joints, in step: on the path
    assert hal.standing == StopReason.REJECTED


def test_brake_never_leaves_the_end_of_the_accepted_path():
    hal, _ = two_link(on_rejection="brake")
    hal.submit(ramp(4), world=lg.NO_WORLD)
    steps(hal, 4 * STEP_S - 0.01)
    hal.submit(np.full((4, 2), np.nan), world=lg.NO_WORLD)
    steps(hal, 0.4)
    assert np.allclose(hal.set_point, ramp(4)[-1], atol=1e-12)


def test_accepted_chunk_after_a_rejection_moves_again():
    hal, _ = two_link()
    hal.submit(np.full((4, 2), np.nan), world=lg.NO_WORLD)
    steps(hal, 0.1)
    assert hal.submit(ramp(), world=lg.NO_WORLD).accepted
    steps(hal, 16 * STEP_S + 0.15)
    assert np.allclose(hal.state.positions, ramp()[-1], atol=0.02)


def test_estop_forgets_what_was_accepted():
    hal, _ = two_link()
    hal.submit(ramp(), world=lg.NO_WORLD)
    steps(hal, 0.1)
    hal.estop()
    held = hal.set_point
    steps(hal, 0.2)
    assert (hal.set_point == held).all()
    assert hal.standing == StopReason.LATCHED


@pytest.mark.parametrize("kind", list(SERVOS))
def test_ramp_slows_down_from_the_last_set_point_and_then_holds(kind):
    hal, _ = two_link(kind, stop_behaviour=StopBehaviour.RAMP)
    hal.submit(ramp(), world=lg.NO_WORLD)
    steps(hal, 0.16)
    last, speed = hal.set_point, hal.state.velocities
    hal.estop()
    points = [last]
    for _ in range(round(RAMP_S / 0.002) + 20):
        hal.step()
        points.append(hal.set_point)
    gone = (np.array(points) - last) * np.sign(speed)
    assert (np.diff(gone, axis=0) >= -1e-12).all()
    # Never a step that is longer than the first, which is the measured speed.
    assert (np.diff(gone, axis=0).max(axis=0) <= np.abs(speed) * 0.002 + 1e-12).all()
    assert gone[-1] == pytest.approx(np.abs(speed) * RAMP_S / 2, rel=1e-6)
    assert (gone[-1] == gone[-10]).all()
    steps(hal, 0.5)
    assert hal.actuator.is_stopped()
    assert np.allclose(hal.state.positions, points[-1], atol=0.02)
    assert hal.standing == StopReason.LATCHED


def test_ramp_ends_at_the_limits_of_the_joint():
    hal, data = two_link(stop_behaviour=StopBehaviour.RAMP)
    (_, high) = next(joint for joint in hal._gate.robot.joints if joint.name == "shoulder").position_limits
    data.qpos[0] = high - 0.001
    data.qvel[0] = 5.0
    hal.reset()
    steps(hal, 0.01)
    assert hal.set_point[0] == high
    assert hal.set_point[0] > high - 0.001


@pytest.mark.parametrize("kind", ["velocity", "torque"])
def test_damped_joints_come_to_rest_and_are_pulled_nowhere(kind):
    hal, data = two_link(kind, stop_behaviour=StopBehaviour.DAMP)
    hal.submit(ramp(), world=lg.NO_WORLD)
    steps(hal, 0.16)
    hal.estop()
    steps(hal, 0.5)
    assert hal.actuator.is_stopped()
    # Pushed, they stay where they were pushed to; a joint that is held comes back.
    pushed = hal.state.positions + 0.2
    data.qpos[:2] = pushed
    steps(hal, 0.5)
    assert np.allclose(hal.state.positions, pushed, atol=0.01)
    held, held_data = two_link(kind)
    held.step()
    held_data.qpos[:2] = 0.2
    steps(held, 0.5)
    assert np.allclose(held.state.positions, 0.0, atol=0.01)


@pytest.mark.parametrize("behaviour", list(StopBehaviour))
def test_chunk_after_a_stop_of_any_kind_moves_again(behaviour):
    hal, _ = two_link("torque", stop_behaviour=behaviour)
    hal.submit(ramp(), world=lg.NO_WORLD)
    steps(hal, 0.1)
    hal.estop()
    steps(hal, 0.5)
    rows = hal.state.positions + ramp(4, speed=0.5)
    assert hal.submit(rows, world=lg.NO_WORLD).accepted
    steps(hal, 4 * STEP_S + 0.15)
    assert np.allclose(hal.state.positions, rows[-1], atol=0.02)


def test_stop_that_cannot_be_done_is_refused():
    with pytest.raises(lg.ROSConfigError, match="position servo cannot damp"):
        two_link("position", stop_behaviour=StopBehaviour.DAMP)
    with pytest.raises(lg.ROSConfigError, match="`hold`, `ramp` or `damp`"):
        two_link("torque", stop_behaviour="panic")


def test_exception_only_when_asked_for():
    hal, _ = two_link(raise_on_rejection=True)
    with pytest.raises(lg.RejectedChunkError, match="nan_in_action"):
        hal.submit(np.full((4, 2), np.nan), world=lg.NO_WORLD)


def test_world_that_is_in_the_way_is_rejected_and_not_touched():
    hal, data = two_link()
    world = lg.World(primitives=[sphere((0.6, 0.25, 0.0), 0.1)], stamp_s=data.time)
    refusal = hal.submit(ramp(64, speed=0.5), world=world)
    assert isinstance(refusal, Rejection)
    assert refusal.code == "world_collision"


def test_velocity_rows_are_executed_as_the_path_that_was_checked():
    hal, _ = two_link("velocity")
    rows = np.tile([0.5, -0.25], (10, 1))
    assert hal.submit(lg.ActionChunk(rows, mode=lg.ControlMode.JOINT_VELOCITY), world=lg.NO_WORLD).accepted
    steps(hal, 10 * STEP_S + 0.15)
    assert np.allclose(hal.state.positions, [0.1, -0.05], atol=0.01)


def test_torques_go_to_motors_for_the_time_of_the_chunk_and_no_longer():
    hal, data = two_link("torque")
    chunk = lg.ActionChunk(np.tile([4.0, -2.0], (3, 1)), mode=lg.ControlMode.JOINT_TORQUE)
    verdict = hal.submit(chunk, world=lg.NO_WORLD)
    assert not isinstance(verdict, Rejection), verdict.sentence
    hal.tick()
    assert data.ctrl.tolist() == [2.0, -1.0]  # gear 2
    steps(hal, 3 * STEP_S + 0.002)
    assert hal.standing is not None
    held = hal.set_point
    steps(hal, 1.0)
    assert np.allclose(hal.state.positions, held, atol=0.05)


def test_torques_for_a_servo_are_refused_by_name():
    hal, _ = two_link("position")
    chunk = lg.ActionChunk(np.zeros((3, 2)), mode=lg.ControlMode.JOINT_TORQUE)
    hal.submit(chunk, world=lg.NO_WORLD)
    with pytest.raises(lg.ROSConfigError, match=r"shoulder.*takes no torque"):
        hal.tick()


# ---- Grippers --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("mode", "channel", "opening_m"),
    [
        (lg.ControlMode.GRIPPER_POSITION, 0.5, 0.02),
        (lg.ControlMode.GRIPPER_POSITION, 1.0, 0.04),
        (lg.ControlMode.GRIPPER_BINARY, 1.0, 0.04),
        (lg.ControlMode.GRIPPER_BINARY, 0.0, 0.0),
    ],
)
def test_gripper_command_moves_the_finger_and_the_one_that_mimics_it(mode, channel, opening_m):
    hal, _, data = gripper_hal()
    hal.submit(lg.ActionChunk([[channel]], mode=mode), world=lg.NO_WORLD)
    steps(hal, 1.0)
    assert data.qpos[1:] == pytest.approx([opening_m, -opening_m], abs=0.001)
    assert hal.state.gripper_positions == pytest.approx([opening_m], abs=0.001)


def test_gripper_beyond_its_range_is_rejected_and_does_not_move():
    hal, _, data = gripper_hal()
    refusal = hal.submit(lg.ActionChunk([[1.5]], mode=lg.ControlMode.GRIPPER_POSITION), world=lg.NO_WORLD)
    assert isinstance(refusal, Rejection)
    assert refusal.code == "gripper_range"
    steps(hal, 0.3)
    assert np.abs(data.qpos).max() < 1e-6


# ---- Models that cannot be driven ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("actuators", "says"),
    [
        ("", "`shoulder` has 0 actuators"),
        ('<motor joint="shoulder"/><motor joint="shoulder"/>', "`shoulder` has 2 actuators"),
        ('<general joint="shoulder" dyntype="filter" dynprm="1"/>', "not constant"),
        ('<general joint="shoulder" biastype="affine" biasprm="1 0 0"/>', "no position servo"),
        ('<motor joint="shoulder"/>', "`elbow` has 0 actuators"),
    ],
)
def test_joint_that_cannot_be_driven_is_named(actuators, says):
    model = mujoco.MjModel.from_xml_string(
        f"""<mujoco><worldbody><body><joint name="shoulder" axis="0 0 1"/><geom size="0.1"/><body pos="1 0 0">
        <joint name="elbow" axis="0 0 1"/><geom size="0.1"/></body></body></worldbody>
        <actuator>{actuators}</actuator></mujoco>"""
    )
    with pytest.raises(lg.ROSConfigError, match=says):
        MujocoHal(model, mujoco.MjData(model), gate_of(planar_two_link(), step_s=STEP_S))


def test_model_without_the_joint_is_refused():
    model = mujoco.MjModel.from_xml_string("<mujoco/>")
    with pytest.raises(lg.ROSConfigError, match="no joint `shoulder`"):
        MujocoHal(model, mujoco.MjData(model), gate_of(planar_two_link(), step_s=STEP_S))


def test_word_for_the_stop_is_checked():
    with pytest.raises(lg.ROSConfigError, match="`hold` or `brake`"):
        two_link(on_rejection="panic")
