# SPDX-License-Identifier: Apache-2.0
"""A gated LeRobot robot sends the checked copy and nothing of a rejected action.

LeRobot's base classes are stood in for by empty ones; `tests/real_packages` has the real ones.
"""

import importlib
import sys
from types import ModuleType

import numpy as np
import pytest
from fixtures.analytic_robots import gate_of, planar_two_link

import lastgate as lg
from lastgate.integrations.named_actions import NamedActionGate, degrees_except

MODULE = "lastgate.integrations.lerobot_robot"
STILL = {"shoulder.pos": 10.0, "elbow.pos": -20.0}
BROKEN = {"shoulder.pos": float("nan"), "elbow.pos": 0.0}
TOO_FAR = {**STILL, "elbow.pos": 150.0}


@pytest.fixture
def lerobot(monkeypatch):
    class Registry:
        @staticmethod
        def register(_):
            return lambda cls: cls

    class Step:
        transition: dict

    stand_ins = {
        "lerobot": {},
        "lerobot.robots": {},
        "lerobot.robots.robot": {"Robot": object},
        "lerobot.processor": {
            "ProcessorStepRegistry": Registry,
            "RobotActionProcessorStep": Step,
            "TransitionKey": type("TransitionKey", (), {"OBSERVATION": "observation"}),
        },
    }
    for name, members in stand_ins.items():
        module = ModuleType(name)
        module.__dict__.update(members)
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.delitem(sys.modules, MODULE, raising=False)
    yield importlib.import_module(MODULE)
    sys.modules.pop(MODULE, None)


class Follower:
    name = "paper"

    def __init__(self):
        self.sent: list[dict] = []
        self.observation = dict(STILL)

    def get_observation(self):
        return self.observation

    def send_action(self, action):
        self.sent.append(action)
        return action


def named(**arguments) -> NamedActionGate:
    gate = gate_of(planar_two_link(), step_s=0.1)
    return NamedActionGate(
        gate, units=degrees_except(gate), world=lg.NO_WORLD, clock=lambda: 1.0, **arguments
    )


def test_robot_is_sent_the_copy_that_was_checked(lerobot):
    robot = lerobot.GatedRobot(Follower(), named())
    robot.get_observation()
    action = {**STILL, "elbow.pos": np.array(-21.0)}
    robot.send_action(action)
    action["elbow.pos"][...] = 150.0
    assert robot.robot.sent == [{**STILL, "elbow.pos": -21.0}]


@pytest.mark.parametrize("extra", [{"x.vel": 0.5}, {"theta.vel": 9.0}])
def test_robot_is_not_sent_what_the_gate_does_not_know(lerobot, extra):
    robot = lerobot.GatedRobot(Follower(), named())
    robot.get_observation()
    assert robot.send_action({**STILL, **extra}) == pytest.approx(STILL)
    assert robot.robot.sent == []
    assert robot.gate.last_rejection.code == "not_checked"
    declared = lerobot.GatedRobot(Follower(), named(unchecked_keys=tuple(extra)))
    declared.get_observation()
    declared.send_action({**STILL, **extra})
    assert declared.robot.sent == [{**STILL, **extra}]
    assert declared.gate.last_unchecked == tuple(extra)


def test_what_a_rejected_action_returns_is_finite(lerobot):
    robot = lerobot.GatedRobot(Follower(), named())
    robot.get_observation()
    robot.robot.observation = dict(BROKEN)
    robot.get_observation()
    assert robot.send_action(STILL) == pytest.approx(STILL)
    assert robot.robot.sent == []


def run_step(lerobot, step, action, observation=None):
    step.transition = {"observation": STILL if observation is None else observation}
    return step.action(action)


def test_step_hands_nothing_of_a_rejected_action_on(lerobot):
    step = lerobot.GateStep(gate=named())
    assert run_step(lerobot, step, {**TOO_FAR, "x.vel": 0.5}) == pytest.approx(STILL)
    step = lerobot.GateStep(gate=named(unchecked_keys={"x.vel": 0.0}))
    assert run_step(lerobot, step, {**TOO_FAR, "x.vel": 0.5}) == pytest.approx({**STILL, "x.vel": 0.0})
    assert run_step(lerobot, step, {**STILL, "x.vel": 0.5}) == {**STILL, "x.vel": 0.5}


def test_step_after_a_broken_observation_stands_where_the_motors_were_sent(lerobot):
    step = lerobot.GateStep(gate=named())
    with pytest.raises(lg.ROSConfigError, match="nothing was measured"):
        run_step(lerobot, step, STILL, BROKEN)
    goal = {**STILL, "elbow.pos": -21.0}
    assert run_step(lerobot, step, goal) == goal
    assert run_step(lerobot, step, STILL, BROKEN) == pytest.approx(goal)


def test_step_hands_on_a_copy(lerobot):
    step = lerobot.GateStep(gate=named())
    action = dict(STILL)
    passed = run_step(lerobot, step, action)
    action["elbow.pos"] = 150.0
    assert passed == STILL
