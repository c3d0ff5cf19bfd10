# SPDX-License-Identifier: Apache-2.0
"""Named numbers reach the gate as the joints they are, in its units; what is missing is refused."""

import numpy as np
import pytest
from fixtures.analytic_robots import gate_of, planar_two_link, sliders

import lastgate as lg
from lastgate.integrations.named_actions import JointUnit, NamedActionGate, degrees_except


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
        {"shoulder.pos": 0.0, "elbow.pos": np.array([1.0])},
        {"shoulder.pos": 0.0, "elbow.pos": np.complex128(1.0 + 2.0j)},
        {"shoulder.pos": 0.0, "elbow.pos": 1.0 + 2.0j},
        {"shoulder.pos": 0.0, "elbow.pos": np.bool_(True)},
        {"shoulder.pos": 0.0, "elbow.pos": np.ma.masked},
        {"shoulder.pos": 0.0, "elbow.pos": np.ma.array(1.0, mask=True)},
        {"shoulder.pos": 0.0, "elbow.pos": 10**400},
    ],
)
def test_action_with_something_missing_is_refused(action):
    named = gated()
    named.observe({"shoulder.pos": 0.0, "elbow.pos": 0.0})
    refusal = named.check(action)
    assert refusal.code == "nan_in_action"
    assert named.last_rejection is refusal
    assert named.rejections == 1


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
    assert named.last_rejection is None


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


@pytest.mark.parametrize("number", [1.0, 1, np.float32(1.0), np.array(1.0), np.int64(1)], ids=repr)
def test_single_number_of_any_real_type_is_taken(number):
    named = gated()
    named.observe({"shoulder.pos": 0.0, "elbow.pos": 0.0})
    assert named.check({"shoulder.pos": 0.0, "elbow.pos": number}) is None
    assert named.checked_action == {"shoulder.pos": 0.0, "elbow.pos": 1.0}


# ---- Standing still --------------------------------------------------------------------------------------

STILL = {"shoulder.pos": 10.0, "elbow.pos": -20.0}


@pytest.mark.parametrize(
    "observation",
    [
        {"shoulder.pos": float("nan"), "elbow.pos": 0.0},
        {"shoulder.pos": 0.0, "elbow.pos": float("inf")},
        {"shoulder.pos": 0.0},
        {},
    ],
    ids=str,
)
def test_standing_still_holds_nothing_of_a_state_that_is_not_whole(observation):
    named = gated()
    named.observe(observation)
    assert named.check(STILL).code == "state_unavailable"
    assert named.standing_still() is None  # nothing was measured or accepted before
    named.observe(STILL)
    named.observe(observation)
    assert named.standing_still() == pytest.approx(STILL)  # the last whole measurement
    named.observe(STILL)
    goal = {"shoulder.pos": 12.0, "elbow.pos": -22.0}
    assert named.check(goal) is None
    named.observe(observation)
    assert named.check(goal).code == "state_unavailable"
    assert named.standing_still() == pytest.approx(goal)  # the motors are on their way there


# ---- Keys that the gate does not know ----------------------------------------------------------------------


@pytest.mark.parametrize("extra", ["x.vel", "theta.vel", "elbow", "wrist.pos", 7])
def test_action_with_a_key_that_the_gate_does_not_know_is_rejected(extra):
    named = gated()
    named.observe(STILL)
    refusal = named.check({**STILL, extra: 0.5})
    assert refusal.code == "not_checked"
    assert f"does not know {extra}" in refusal.sentence
    assert named.checked_action is None
    assert named.rejections == 1
    assert not refusal.verdict.accepted
    assert named.check(STILL) is None


def test_declared_key_passes_and_is_named_as_unchecked():
    named = gated(unchecked_keys=("x.vel", "theta.vel"))
    named.observe(STILL)
    assert named.check({**STILL, "x.vel": 0.5}) is None
    assert named.last_unchecked == ("x.vel",)
    assert named.checked_action == {**STILL, "x.vel": 0.5}
    assert named.check(STILL) is None
    assert named.last_unchecked == ()
    assert named.check({**STILL, "y.vel": 0.5}).code == "not_checked"


@pytest.mark.parametrize("value", [float("nan"), float("inf"), None, "0.5", True, 1j, [0.5]], ids=repr)
def test_declared_key_that_is_no_finite_number_is_rejected(value):
    named = gated(unchecked_keys=("x.vel",))
    named.observe(STILL)
    refusal = named.check({**STILL, "x.vel": value})
    assert refusal.code == "not_checked"
    assert "x.vel is no finite number" in refusal.sentence


def test_declared_key_stands_still_with_the_number_that_was_given_or_not_at_all():
    named = gated(unchecked_keys={"x.vel": 0.0})
    named.observe(STILL)
    assert named.check({**STILL, "x.vel": 0.5, "elbow.pos": 170.0}) is not None
    assert named.last_unchecked == ()
    assert named.standing_still() == pytest.approx({**STILL, "x.vel": 0.0})
    named = gated(unchecked_keys=("x.vel",))
    named.observe(STILL)
    assert named.standing_still() == pytest.approx(STILL)


@pytest.mark.parametrize(
    "keys", ["x.vel", ("elbow.pos",), {"x.vel": float("nan")}, {"x.vel": "0"}, (3,)], ids=repr
)
def test_declaration_that_makes_no_sense_is_refused(keys):
    with pytest.raises(lg.ROSConfigError, match="unchecked_keys"):
        gated(unchecked_keys=keys)


def test_action_that_changes_afterwards_changes_nothing_that_was_checked():
    named = gated()
    named.observe(STILL)
    action = dict(STILL)
    assert named.check(action) is None
    action["elbow.pos"] = 170.0
    assert named.checked_action == STILL


def test_action_that_is_no_mapping_is_rejected():
    named = gated()
    named.observe(STILL)
    assert "does not know a list" in named.check([10.0, -20.0]).sentence
    assert named.check(STILL) is None
