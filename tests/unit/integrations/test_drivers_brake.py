# SPDX-License-Identifier: Apache-2.0
"""Drivers of a robot that declares a stop brake so for every reason to stop, and from the last command."""

import mujoco
import numpy as np
import pytest
from fixtures.analytic_robots import gate_of, joint, planar_two_link
from fixtures.mujoco_arms import STEP_S, ramp, two_link_model

import lastgate as lg
from lastgate.contracts import ControlMode
from lastgate.integrations.declared_stop import StopLaw, StoppingMotion
from lastgate.integrations.driver import AcceptedChunk, DriverLogic, StopReason
from lastgate.integrations.mujoco_hal import MujocoHal
from lastgate.kernel.client import KernelState

TICK_S = 0.002
ROWS = ramp(16, speed=1.0)
PATH = np.vstack([np.zeros(2), ROWS])
LAWS = {
    kind: StopLaw(kind=kind, reaction_s=0.01, deceleration=np.array([5.0, 10.0]))
    for kind in ("path", "joint")
}
# What the kernel and the chunk look like when a stop is due, and what the driver then calls it.
CUTS = {
    "e-stop": ({"state": KernelState.LATCHED}, StopReason.LATCHED),
    "kernel dead": ({"kernel_alive": False}, StopReason.KERNEL_GONE),
    "state or world stale": ({"stopped_at": 1}, StopReason.UNINFORMED),
    "kernel inactive": ({"state": KernelState.INACTIVE}, StopReason.INACTIVE),
}


def logic(law: StopLaw | None, rows: np.ndarray = ROWS, mode=ControlMode.JOINT_POSITION) -> DriverLogic:
    made = DriverLogic(step_s=STEP_S, law=law)
    assert made.take(AcceptedChunk(sequence=1, origin=0, rows=rows, mode=mode, arrived_s=0.0))
    return made


def drive(made: DriverLogic, *, until_s: float, then_s: float = 1.0, **cut) -> np.ndarray:
    """What is commanded tick by tick: along the chunk, and from `until_s` on whatever the driver does with the cut."""
    sent: list[np.ndarray] = []
    for tick in range(round((until_s + then_s) / TICK_S)):
        now_s = tick * TICK_S
        how = {"kernel_alive": True, "state": KernelState.ACTIVE} | (cut if now_s >= until_s else {})
        found = made.row_at(now_s=now_s, measured=np.zeros(2), **how) or made.braking()
        sent.append(sent[-1] if found is None else found[0])
    return np.array(sent)


@pytest.mark.parametrize("kind", ["path", "joint"])
@pytest.mark.parametrize("cut", CUTS)
@pytest.mark.parametrize("until_s", [0.001, 0.05, 0.111, 0.2, 0.315])
def test_every_reason_to_stop_ends_where_the_declared_stop_does(kind, cut, until_s):
    made = logic(LAWS[kind])
    how, reason = CUTS[cut]
    sent = drive(made, until_s=until_s, **how)
    assert made.reason is reason
    asked_s = np.ceil(until_s / TICK_S - 1e-9) * TICK_S
    rest = StoppingMotion(PATH, step_s=STEP_S, law=LAWS[kind], asked_s=asked_s)
    led_s = np.ceil(asked_s / STEP_S - 1e-9) * STEP_S
    expected = rest.at(9.0, not_before_s=led_s)
    np.testing.assert_allclose(sent[-1], expected, atol=1e-9)
    # No set point ever goes back, and none lies off the line that was checked.
    assert (np.diff(sent, axis=0) * [1.0, -1.0] >= -1e-12).all()
    if kind == "path":
        np.testing.assert_allclose(sent[:, 0], -sent[:, 1], atol=1e-9)


def test_driver_without_a_law_leaves_the_stop_to_its_actuator():
    made = logic(None)
    drive(made, until_s=0.1, state=KernelState.LATCHED)
    assert made.braking() is None


@pytest.mark.parametrize("kind", ["path", "joint"])
def test_end_of_the_stream_brakes_from_the_end_of_the_chunk_at_once(kind):
    made = logic(LAWS[kind])
    sent = drive(made, until_s=0.5)
    assert made.reason is StopReason.STARVED
    gone = 0.01 + (0.1 if kind == "path" else np.array([0.1, 0.05]))
    np.testing.assert_allclose(sent[-1], ROWS[-1] + gone * np.array([1.0, -1.0]), atol=1e-9)


def test_chunk_that_ends_at_rest_stands_where_it_ends():
    rows = np.vstack([ROWS, ROWS[-1:]])
    np.testing.assert_allclose(drive(logic(LAWS["path"], rows), until_s=0.5)[-1], ROWS[-1], atol=1e-12)


def test_new_chunk_ends_the_stop_and_is_executed():
    made = logic(LAWS["path"])
    drive(made, until_s=0.33, then_s=0.02)
    assert made.braking() is not None
    rows = np.tile(ROWS[-1], (3, 1))
    assert made.take(
        AcceptedChunk(sequence=2, origin=0, rows=rows, mode=ControlMode.JOINT_POSITION, arrived_s=0.36)
    )
    found = made.row_at(now_s=0.36, kernel_alive=True, state=KernelState.ACTIVE)
    assert found is not None
    assert np.array_equal(found[0], rows[0])
    assert made.braking() is None


def test_driver_that_was_away_holds_instead_of_moving_again():
    made = logic(LAWS["path"])
    for tick in range(50):
        made.row_at(now_s=tick * TICK_S, kernel_alive=True, state=KernelState.ACTIVE)
    assert made.row_at(now_s=5.0, kernel_alive=True, state=KernelState.ACTIVE) is None
    assert made.reason is StopReason.PAUSED
    assert made.braking() is None


def test_speeds_fall_to_nothing_within_their_limits():
    rows = np.tile([1.0, -2.0], (10, 1))
    made = logic(LAWS["path"], rows, ControlMode.JOINT_VELOCITY)
    sent = drive(made, until_s=0.05, state=KernelState.LATCHED)
    np.testing.assert_allclose(sent[-1], 0.0, atol=1e-12)
    slowing = np.abs(np.diff(sent[round(0.05 / TICK_S) :], axis=0)) / TICK_S
    assert (slowing <= np.array([5.0, 10.0]) * (1.0 + 1e-6)).all()
    # The brake takes 0.2 s at half the speed, after the reaction.
    gone = sent[round(0.05 / TICK_S) :].sum(axis=0) * TICK_S
    assert (np.abs(gone) <= np.array([1.0, 2.0]) * (0.01 + 0.1) + 1e-9).all()


def hal(kind: str = "path", **arguments) -> MujocoHal:
    model = two_link_model("position")
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    limits = {"effort_limit": 50.0}
    manifest = planar_two_link(
        joints=[
            joint("shoulder", "base", "upper_arm", deceleration_limit=5.0, **limits),
            joint(
                "elbow", "upper_arm", "forearm", origin_xyz=[1.0, 0.0, 0.0], deceleration_limit=10.0, **limits
            ),
        ],
        stop={"kind": kind, "reaction_s": 0.01},
    )
    return MujocoHal(model, data, gate_of(manifest, step_s=STEP_S), **arguments)


def set_points(moving: MujocoHal, seconds: float) -> np.ndarray:
    found = [moving.set_point]
    for _ in range(round(seconds / TICK_S)):
        moving.step()
        found.append(moving.set_point)
    return np.array(found)


def rejected(moving: MujocoHal) -> None:
    assert not moving.submit(np.full((1, 2), np.nan), world=lg.NO_WORLD).accepted


@pytest.mark.parametrize("kind", ["path", "joint"])
@pytest.mark.parametrize("why", [MujocoHal.estop, rejected])
def test_simulated_arm_brakes_as_declared(kind, why):
    moving = hal(kind)
    assert moving.submit(ROWS, world=lg.NO_WORLD).accepted
    before = set_points(moving, 0.1)[-1]
    why(moving)
    after = set_points(moving, 1.0)
    gone = 0.01 + (0.1 if kind == "path" else np.array([0.1, 0.05]))
    np.testing.assert_allclose(after[-1], before + gone * np.array([1.0, -1.0]), atol=1e-9)
    speeds = np.diff(after, axis=0) / TICK_S
    # A tick in which the brake begins brakes for a part of it.
    assert (np.abs(np.diff(speeds, axis=0)) / TICK_S <= np.array([5.0, 10.0]) * (1.0 + 1e-6)).all()
    assert moving.actuator.is_stopped()


def test_simulated_arm_brakes_behind_the_end_of_its_chunk():
    moving = hal()
    assert moving.submit(ROWS, world=lg.NO_WORLD).accepted
    sent = set_points(moving, 1.0)
    np.testing.assert_allclose(sent[-1], ROWS[-1] + 0.11 * np.array([1.0, -1.0]), atol=1e-9)
    assert moving.standing is StopReason.STARVED
    assert (np.abs(np.diff(sent, n=2, axis=0)[1:]) / TICK_S**2 <= np.array([5.0, 10.0]) * (1.0 + 1e-6)).all()


def test_stop_is_anchored_to_the_last_command_and_not_to_what_is_measured():
    moving = hal()
    assert moving.submit(ROWS, world=lg.NO_WORLD).accepted
    before = set_points(moving, 0.1)[-1]
    lag = before - moving.actuator.positions
    assert np.abs(lag).max() > 1e-4
    moving.estop()
    moving.tick()
    assert (np.abs(moving.set_point - before) <= TICK_S * 1.0 + 1e-12).all()
