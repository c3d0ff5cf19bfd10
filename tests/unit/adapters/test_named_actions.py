# SPDX-License-Identifier: Apache-2.0
"""Named numbers reach the gate as the joints they are, in its units; what is missing is refused."""

import numpy as np
import pytest
from paper_robots import gate_of, planar_two_link, sliders

import lastgate as lg
from lastgate.adapters.named_actions import JointUnit, NamedActionGate, degrees_except


def gated(**arguments) -> NamedActionGate:
    gate = gate_of(planar_two_link(), step_s=0.1)
    arguments = {"units": degrees_except(gate), "world": lg.NO_WORLD, "clock": lambda: 1.0} | arguments
    return NamedActionGate(gate, **arguments)


def test_degrees_are_turned_into_radians_and_back():
    named = gated()
    named.observe({"shoulder.pos": 90.0, "elbow.pos": -45.0, "camera": np.zeros((2, 2))})
    assert named.check({"shoulder.pos": 95.0, "elbow.pos": -45.0}) is None
    assert named.standing_still() == pytest.approx({"shoulder.pos": 90.0, "elbow.pos": -45.0})


def test_percent_is_of_the_range():
    gate = gate_of(planar_two_link(), step_s=0.1)
    named = gated(units=degrees_except(gate, percent=("elbow",)))
    named.observe({"shoulder.pos": 0.0, "elbow.pos": 50.0})  # the middle of -3 to 3
    assert named.check({"shoulder.pos": 0.0, "elbow.pos": 55.0}) is None
    assert named.check({"shoulder.pos": 0.0, "elbow.pos": 101.0}).code == "joint_position_limit"


@pytest.mark.parametrize(
    "action",
    [
        {},
        {"shoulder.pos": 0.0},
        {"shoulder.pos": 0.0, "elbow.pos": None},
        {"shoulder.pos": 0.0, "elbow.pos": "12"},
        {"shoulder.pos": 0.0, "elbow.pos": True},
        {"shoulder.pos": float("nan"), "elbow.pos": 0.0},
        {"shoulder.pos": 0.0, "elbow.pos": [1.0, 2.0]},
    ],
)
def test_action_with_something_missing_is_refused(action):
    named = gated()
    named.observe({"shoulder.pos": 0.0, "elbow.pos": 0.0})
    refusal = named.check(action)
    assert refusal.code == "nan_in_action"
    assert named.last_refusal is refusal
    assert named.refusals == 1


def test_action_without_an_observation_or_after_an_old_one_is_refused():
    times = iter([0.0, 0.1, 5.0])
    named = gated(clock=lambda: next(times))
    assert named.standing_still() is None
    assert named.check({"shoulder.pos": 0.0, "elbow.pos": 0.0}).code == "state_unavailable"
    named.observe({"shoulder.pos": 0.0, "elbow.pos": 0.0})
    assert named.check({"shoulder.pos": 0.0, "elbow.pos": 0.0}).code == "state_unavailable"


def test_observation_that_lost_its_joints_leaves_no_state():
    named = gated()
    named.observe({"shoulder.pos": 0.0, "elbow.pos": 0.0})
    named.observe({"camera": np.zeros((2, 2))})
    assert named.check({"shoulder.pos": 0.0, "elbow.pos": 0.0}).code == "state_unavailable"


def test_refusal_is_forgotten_when_the_next_action_passes():
    named = gated()
    named.observe({"shoulder.pos": 0.0, "elbow.pos": 0.0})
    assert named.check({"shoulder.pos": 170.0, "elbow.pos": 0.0}).code == "joint_velocity_limit"
    assert named.check({"shoulder.pos": 1.0, "elbow.pos": 0.0}) is None
    assert named.last_refusal is None


@pytest.mark.parametrize("unit", [JointUnit(0.0), JointUnit(float("nan")), JointUnit(1.0, float("inf"))])
def test_unit_without_meaning_is_refused(unit):
    with pytest.raises(lg.ROSConfigError, match="factor"):
        gated(units={"elbow": unit})


def test_unit_of_an_unknown_joint_is_refused():
    with pytest.raises(lg.ROSConfigError, match="wrist"):
        gated(units={"wrist": JointUnit()})
    with pytest.raises(lg.ROSConfigError, match="wrist"):
        degrees_except(gate_of(planar_two_link()), percent=("wrist",))
    with pytest.raises(lg.ROSConfigError, match=r"write percent=\('elbow',\)"):
        degrees_except(gate_of(planar_two_link()), percent="elbow")


def test_joint_that_slides_is_in_metres_unless_it_is_in_percent():
    gate = gate_of(sliders(0.0))
    (name,) = gate.joint_names
    assert degrees_except(gate)[name] == JointUnit(1.0)
    lower, upper = gate.robot.actuated_joints[0].position_limits
    assert degrees_except(gate, percent=(name,))[name] == JointUnit((upper - lower) / 100.0, lower)
