# SPDX-License-Identifier: Apache-2.0
"""What a simulated robot does is what was checked: arm and fingers together, once, from where it was checked."""

import mujoco
import numpy as np
import pytest
from fixtures.analytic_robots import cart, gate_of, gripper_arm, planar_two_link, sphere
from fixtures.mujoco_arms import STEP_S, gripper_hal, ramp, steps, two_link, two_link_model

import lastgate as lg
from lastgate.integrations.driver import StopReason
from lastgate.integrations.mujoco_hal import BRAKE_S, MujocoHal

TIMESTEP_S = 0.002
FINGER_SPEED = 0.2
OPEN = lg.ActionChunk([[1.0]], mode=lg.ControlMode.GRIPPER_POSITION)
CLOSED = lg.ActionChunk([[0.0]], mode=lg.ControlMode.GRIPPER_POSITION)
# Beside the way of the hand when its finger is closed, and in the way of the open finger.
BESIDE = sphere((0.0, 0.15, 0.5), 0.01, "peg")
LIFT = np.linspace(0.01, 0.6, 60)[:, np.newaxis]


def beside(hal: MujocoHal) -> lg.World:
    return lg.World(primitives=[BESIDE], stamp_s=hal.now_s)


def not_executed(answer) -> bool:
    return not answer.accepted and answer.code == "not_executed"


def check(hal: MujocoHal, rows=None, *, gate=None, **state) -> lg.Verdict:
    measured = {"positions": hal.actuator.positions, "velocities": hal.actuator.velocities} | state
    chunk = rows if isinstance(rows, lg.ActionChunk) else lg.ActionChunk(ramp() if rows is None else rows)
    verdict = (gate or hal._gate).check(
        chunk,
        state=lg.RobotState(**measured, stamp_s=hal.now_s),
        world=lg.NO_WORLD,
        now_s=hal.now_s,
    )
    assert verdict.accepted, verdict.violations
    return verdict


# ---- Arm and fingers -------------------------------------------------------------------------------------


@pytest.mark.parametrize("on_rejection", ["hold", "brake"])
def test_gripper_chunk_is_not_executed_while_the_arm_moves_on_one_checked_with_the_fingers_closed(
    on_rejection,
):
    hal, _, data = gripper_hal(on_rejection=on_rejection)
    assert hal.submit(LIFT, world=beside(hal)).accepted
    steps(hal, 0.3)
    answer = hal.submit(OPEN, world=beside(hal))
    assert not_executed(answer)
    assert "the arm moves" in answer.sentence
    steps(hal, BRAKE_S + 0.5)
    assert np.abs(data.qpos[1:]).max() < 1e-3  # fingers
    assert data.qpos[0] < 0.4  # and the arm stopped before the peg
    assert hal.standing is StopReason.NOT_EXECUTED


def test_gripper_chunk_is_executed_when_the_arm_has_come_to_rest():
    hal, _, data = gripper_hal()
    assert hal.submit(LIFT[:20], world=beside(hal)).accepted
    steps(hal, 20 * STEP_S + 1.0)
    assert hal.submit(OPEN, world=beside(hal)).accepted
    steps(hal, 1.0)
    assert data.qpos[1] == pytest.approx(0.04, abs=1e-3)


def test_arm_chunk_while_the_fingers_move_is_checked_with_the_fingers_anywhere():
    hal, _, _ = gripper_hal()
    assert hal.submit(OPEN, world=beside(hal)).accepted
    steps(hal, 0.01)
    assert hal.state.gripper_positions is None
    answer = hal.submit(LIFT, world=beside(hal))
    assert not answer.accepted
    assert answer.code == "world_collision"


def test_arm_and_fingers_move_together_where_that_was_checked():
    hal, _, data = gripper_hal()
    assert hal.submit(OPEN, world=lg.NO_WORLD).accepted
    steps(hal, 0.01)
    verdict = hal.submit(LIFT, world=lg.NO_WORLD)
    assert verdict.accepted
    assert lg.Unchecked.GRIPPER_STATE in verdict.unchecked
    assert hal.submit(CLOSED, world=lg.NO_WORLD).accepted  # the arm was checked for that, too
    assert hal.submit(OPEN, world=lg.NO_WORLD).accepted
    steps(hal, 60 * STEP_S + 0.5)
    assert data.qpos == pytest.approx([0.6, 0.04, -0.04], abs=2e-3)


def test_arm_chunk_checked_with_standing_fingers_is_not_executed_while_they_move():
    hal, _, _ = gripper_hal()
    hal.submit(OPEN, world=lg.NO_WORLD)
    steps(hal, 0.01)
    verdict = check(hal, LIFT, gripper_positions=hal.actuator.gripper_positions)
    assert "fingers" in hal.take(verdict).sentence
    held = hal.actuator.gripper_set_point.copy()
    steps(hal, 0.5)
    assert (hal.actuator.gripper_set_point == held).all()  # which stopped them as well
    verdict = check(hal, LIFT, gripper_positions=hal.actuator.gripper_positions)
    assert hal.take(verdict).accepted


def test_fingers_that_hold_something_apart_are_checked_anywhere():
    hal, _, data = gripper_hal()
    assert hal.state.gripper_positions is not None
    hal.submit(OPEN, world=lg.NO_WORLD)
    steps(hal, 1.0)
    assert hal.state.gripper_positions == pytest.approx([0.04], abs=1e-3)
    data.qpos[1] = 0.02  # something keeps the finger from where it was sent
    assert hal.state.gripper_positions is None
    assert lg.Unchecked.GRIPPER_STATE in hal.submit(LIFT, world=lg.NO_WORLD).unchecked


# ---- Fingers ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", [lg.ControlMode.GRIPPER_POSITION, lg.ControlMode.GRIPPER_BINARY])
def test_fingers_are_sent_no_faster_than_they_may_move(mode):
    hal, _, _ = gripper_hal()
    assert hal.submit(lg.ActionChunk([[1.0]], mode=mode), world=lg.NO_WORLD).accepted
    sent, measured = [hal.actuator.gripper_set_point[0]], []
    for _ in range(200):
        hal.step()
        sent.append(hal.actuator.gripper_set_point[0])
        measured.append(hal._data.qvel[1])
    assert np.abs(np.diff(sent)).max() <= FINGER_SPEED * TIMESTEP_S + 1e-12
    assert sent[-1] == pytest.approx(0.04)
    assert np.max(measured) < 1.2 * FINGER_SPEED  # as fast as the servo follows
    assert sent[round(0.2 / TIMESTEP_S) + 1] == pytest.approx(0.04)  # and no slower than it must be


def test_every_step_of_a_gripper_chunk_is_sent_and_in_its_time():
    hal, _, _ = gripper_hal()
    rows = [[0.05], [0.10], [0.05], [0.0], [0.02]]  # 2 mm per step of 20 ms: slower than the limit
    assert hal.submit(lg.ActionChunk(rows, mode=lg.ControlMode.GRIPPER_POSITION), world=lg.NO_WORLD).accepted
    sent = []
    for _ in range(50):
        hal.step()
        sent.append(hal.actuator.gripper_set_point[0])
    at_steps = np.array(sent)[9::10]
    assert at_steps == pytest.approx(0.04 * np.array(rows)[:, 0], abs=1e-9)


@pytest.mark.parametrize("stop", ["estop", "rejected", "not executed"])
def test_stop_stops_the_fingers(stop):
    hal, _, data = gripper_hal()
    old = check(hal, LIFT, gripper_positions=[0.0])
    hal.submit(OPEN, world=lg.NO_WORLD)
    steps(hal, 0.05)
    if stop == "estop":
        hal.estop()
    elif stop == "rejected":
        hal.submit(np.full((4, 1), np.nan), world=lg.NO_WORLD)
    else:
        assert not_executed(hal.take(old))
    held = hal.actuator.gripper_set_point.copy()
    assert 0.005 < held[0] < 0.015
    assert not hal.actuator.is_stopped()  # they still move, and a stop is not acknowledged
    steps(hal, 0.5)
    assert (hal.actuator.gripper_set_point == held).all()
    assert data.qpos[1] == pytest.approx(held[0], abs=1e-3)
    assert hal.actuator.is_stopped()
    assert hal.submit(OPEN, world=lg.NO_WORLD).accepted  # and the next chunk moves them again
    steps(hal, 0.5)
    assert data.qpos[1] == pytest.approx(0.04, abs=1e-3)


def test_gripper_chunk_for_a_finger_without_an_actuator_is_not_executed():
    model = mujoco.MjModel.from_xml_string(
        """<mujoco><option gravity="0 0 0"/><worldbody><body><joint name="lift" type="slide" axis="0 0 1"/>
        <geom size="0.03"/><body pos="0 0.1 0"><joint name="finger_joint" type="slide" axis="0 1 0"/><geom size="0.01"/>
        </body></body></worldbody><actuator><position joint="lift" kp="1000" kv="40"/></actuator></mujoco>"""
    )
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    hal = MujocoHal(model, data, gate_of(gripper_arm(), step_s=STEP_S))
    answer = hal.submit(OPEN, world=lg.NO_WORLD)
    assert not_executed(answer)
    assert "`finger_joint` has no actuator" in answer.sentence
    assert hal.submit(LIFT[:4], world=lg.NO_WORLD).accepted


# ---- Once, by its own gate, in time ------------------------------------------------------------------------


def test_verdict_is_taken_once():
    hal, _ = two_link()
    verdict = check(hal)
    assert hal.take(verdict).accepted
    steps(hal, 0.2)
    before = hal.set_point
    assert not_executed(hal.take(verdict))
    hal.tick()
    assert np.abs(hal.set_point - before).max() < 0.01  # it does not begin again where it is not
    steps(hal, 0.5)
    assert hal.submit(hal.state.positions + ramp(), world=lg.NO_WORLD).accepted


def test_verdict_is_taken_once_even_where_the_arm_has_not_moved():
    # Place and age are as they were checked, so nothing but the claim tells the second time from the first.
    hal, _ = two_link()
    verdict = check(hal)
    assert hal.take(verdict).accepted
    again = hal.take(verdict)
    assert not_executed(again)
    assert "taken before" in again.sentence


def test_verdict_of_another_gate_is_not_executed():
    hal, _ = two_link()
    other, _ = two_link()
    verdict = check(hal, gate=other._gate)
    answer = hal.take(verdict)
    assert not_executed(answer)
    assert "another gate" in answer.sentence
    assert other.take(verdict).accepted
    assert hal.take(check(hal)).accepted


def test_two_simulated_robots_of_one_gate_do_not_both_take_a_verdict():
    hal, _ = two_link()
    model = two_link_model("position")
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    twin = MujocoHal(model, data, hal._gate)
    verdict = check(hal)
    assert hal.take(verdict).accepted
    assert not_executed(twin.take(verdict))


@pytest.mark.parametrize(("waited_s", "is_executed"), [(0.2, True), (0.3, False)])
def test_verdict_that_lay_too_long_is_not_executed(waited_s, is_executed):
    hal, _ = two_link()
    verdict = check(hal)
    steps(hal, waited_s)
    assert hal.take(verdict).accepted is is_executed


@pytest.mark.parametrize("stop", ["estop", "rejected", "reset"])
def test_verdict_of_before_a_stop_is_not_executed_after_it(stop):
    hal, _ = two_link()
    verdict = check(hal)
    if stop == "estop":
        hal.estop()
    elif stop == "rejected":
        hal.submit(np.full((4, 2), np.nan), world=lg.NO_WORLD)
    else:
        hal.reset()
    assert not_executed(hal.take(verdict))
    assert hal.take(check(hal)).accepted


def test_verdict_is_not_executed_after_a_later_one():
    hal, _ = two_link()
    first, second, third = check(hal), check(hal), check(hal)
    assert hal.take(second).accepted
    assert hal.take(third).accepted
    assert not_executed(hal.take(first))


def test_exception_for_what_is_not_executed_only_when_asked_for():
    hal, _ = two_link(raise_on_rejection=True)
    verdict = check(hal)
    hal.take(verdict)
    with pytest.raises(lg.RejectedChunkError, match=r"not_executed.*taken before"):
        hal.take(verdict)


# ---- From where it was checked -----------------------------------------------------------------------------


@pytest.mark.parametrize(("moved", "is_executed"), [(0.0049, True), (0.0051, False), (-0.2, False)])
def test_chunk_is_executed_only_where_the_check_began(moved, is_executed):
    hal, data = two_link()
    verdict = check(hal)
    data.qpos[1] = moved
    answer = hal.take(verdict)
    assert answer.accepted is is_executed
    if not is_executed:
        assert "`elbow`" in answer.sentence


@pytest.mark.parametrize("kind", ["position", "velocity", "torque"])
def test_path_begins_where_the_check_began_and_not_at_the_last_set_point(kind):
    hal, data = two_link(kind)
    data.qpos[:2] = [0.1, -0.1]  # pushed; the set point is still at zero
    mujoco.mj_forward(hal._model, data)
    assert hal.submit(data.qpos[:2] + ramp(), world=lg.NO_WORLD).accepted
    sent = []
    for _ in range(40):
        hal.step()
        sent.append(hal.set_point)
    expected = np.array([0.1, -0.1]) + np.outer(np.arange(1, 41) * TIMESTEP_S, [1.0, -1.0])
    assert np.allclose(sent, expected, atol=1e-9)


def test_ticks_that_come_late_skip_nothing():
    for pause_ms in range(2, 301, 2):
        hal, data = two_link()
        rows = ramp()
        rows[::2, 1] *= 0.5  # a path with vertices
        path = np.vstack([np.zeros(2), rows])
        assert hal.submit(rows, world=lg.NO_WORLD).accepted
        sent = [np.zeros(2)]
        for tick in range(60):
            data.time += pause_ms / 1000.0 if tick == 17 else 0.0
            hal.step()
            sent.append(hal.set_point)
        moved = np.abs(np.diff(sent, axis=0))
        assert moved.max() <= np.abs(np.diff(path, axis=0)).max() + 1e-12
        if pause_ms > 220:
            assert hal.standing is StopReason.PAUSED
        for point in sent:
            share = np.clip(point[0] / rows[0, 0], 0.0, len(rows))
            assert point[1] == pytest.approx(np.interp(share, np.arange(len(path)), path[:, 1]), abs=1e-9)


# ---- Models that cannot do what was checked ----------------------------------------------------------------


def with_control_range(kind: str, low: float, high: float) -> MujocoHal:
    model = two_link_model(kind)
    model.actuator_ctrllimited[1] = True
    model.actuator_ctrlrange[1] = (low, high)
    return MujocoHal(model, mujoco.MjData(model), gate_of(planar_two_link(), step_s=STEP_S))


@pytest.mark.parametrize(
    ("kind", "low", "high"),
    [
        ("position", -2.9, 3.0),
        ("position", -3.0, 2.9),
        ("velocity", -9.0, 10.0),
        ("geared position", -3.0, 3.0),
    ],
)
def test_control_range_that_is_narrower_than_the_limits_is_refused(kind, low, high):
    with pytest.raises(lg.ROSConfigError, match=r"control range of joint `elbow`"):
        with_control_range(kind, low, high)


@pytest.mark.parametrize(
    ("kind", "low", "high"),
    [
        ("position", -3.0, 3.0),
        ("velocity", -10.0, 10.0),
        ("geared position", -9.0, 9.0),
        ("torque", -1.0, 1.0),
    ],
)
def test_control_range_as_wide_as_the_limits_is_taken(kind, low, high):
    assert with_control_range(kind, low, high).standing is StopReason.NOTHING_YET


@pytest.mark.parametrize(("torque", "is_executed"), [(4.0, True), (4.1, False)])
def test_torques_beyond_the_control_range_are_not_executed(torque, is_executed):
    hal, _ = two_link("torque")
    hal._model.actuator_ctrllimited[0] = True
    hal._model.actuator_ctrlrange[0] = (-2.0, 2.0)  # gear 2
    chunk = lg.ActionChunk(np.tile([torque, 0.0], (3, 1)), mode=lg.ControlMode.JOINT_TORQUE)
    assert hal.submit(chunk, world=lg.NO_WORLD).accepted is is_executed


@pytest.mark.parametrize(("timestep_s", "is_taken"), [(STEP_S, True), (1.01 * STEP_S, False), (0.0, False)])
def test_time_step_longer_than_a_step_is_refused(timestep_s, is_taken):
    model = two_link_model("position")
    model.opt.timestep = timestep_s
    gate = gate_of(planar_two_link(), step_s=STEP_S)
    if is_taken:
        assert MujocoHal(model, mujoco.MjData(model), gate).standing is StopReason.NOTHING_YET
    else:
        with pytest.raises(lg.ROSConfigError, match="time step of the model"):
            MujocoHal(model, mujoco.MjData(model), gate)


def test_chunk_of_the_base_is_not_executed():
    model = mujoco.MjModel.from_xml_string(
        """<mujoco><worldbody><body><joint name="mast" axis="0 0 1" armature="1"/><geom size="0.1"/></body></worldbody>
        <actuator><position joint="mast" kp="500" kv="50"/></actuator></mujoco>"""
    )
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    hal = MujocoHal(model, data, gate_of(cart(), step_s=STEP_S))
    answer = hal.submit(
        lg.ActionChunk([[0.1, 0.0, 0.0, 0.0, 0.0, 0.0]], mode=lg.ControlMode.BODY_TWIST), world=lg.NO_WORLD
    )
    assert not_executed(answer)
    assert "BODY_TWIST" in answer.sentence
    assert hal.submit(np.array([[0.01]]), world=lg.NO_WORLD).accepted


@pytest.mark.parametrize(
    ("row", "mode"),
    [
        ([1.0], lg.ControlMode.GRIPPER_POSITION),
        ([0.1, 0.1], lg.ControlMode.JOINT_VELOCITY),
        ([0.1, 0.1], lg.ControlMode.CARTESIAN_DELTA),
        ([0.1], lg.ControlMode.JOINT_POSITION),
        ([0.1, 0.1, 0.1], lg.ControlMode.JOINT_TORQUE),
        ([0.1, np.nan], lg.ControlMode.JOINT_POSITION),
    ],
)
def test_step_that_is_no_set_point_of_the_joints_is_not_sent(row, mode):
    hal, data = two_link("torque")
    controls, set_point = data.ctrl.copy(), hal.set_point
    with pytest.raises(lg.ROSConfigError, match=mode.name):
        hal.actuator.command(np.array(row), mode)
    assert (data.ctrl == controls).all()
    assert (hal.set_point == set_point).all()
    hal.actuator.command(set_point + 0.1, lg.ControlMode.JOINT_TRAJECTORY)
    assert (hal.set_point == set_point + 0.1).all()
