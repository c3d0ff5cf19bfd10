# SPDX-License-Identifier: Apache-2.0
"""Speeds of a tool whose step turns far: a whole turn ends where it began, and is not standing still."""

import numpy as np
import pytest
from paper_robots import arm_of_one_link, at, check, code_of, gate_of

from lastgate.contracts import ControlMode

STEP_S = 1.0
REACH_M = 0.9


def arm(*, velocity_limit=20.0, **limits):
    manifest = arm_of_one_link(safety=limits)
    manifest["joints"][0] |= {"position_limits": [-30.0, 30.0], "velocity_limit": velocity_limit}
    return gate_of(manifest, step_s=STEP_S)


@pytest.mark.parametrize("turn", [3.0, np.pi, 6.2, 2 * np.pi, 4 * np.pi, -2 * np.pi])
def test_angular_speed_of_any_turn_is_that_of_the_whole_turn(turn):
    # One joint turns evenly, so its speed is the turn over the step at every instant.
    speed = abs(turn) / STEP_S
    assert check(arm(max_ee_angular_speed_rad_s=speed), [[turn]]).accepted
    assert code_of(check(arm(max_ee_angular_speed_rad_s=0.95 * speed), [[turn]])) == "ee_angular_speed"


@pytest.mark.parametrize("turn", [0.4, 3.0, np.pi, 6.2, 2 * np.pi, -2 * np.pi])
def test_speed_of_any_turn_is_that_of_the_arc(turn):
    speed = REACH_M * abs(turn) / STEP_S
    assert check(arm(max_ee_speed_m_s=speed), [[turn]]).accepted
    assert code_of(check(arm(max_ee_speed_m_s=0.95 * speed), [[turn]])) == "ee_speed"


@pytest.mark.parametrize("turn", [3.0, 2 * np.pi])
def test_acceleration_of_a_turn_is_that_of_the_circle(turn):
    # On a circle it is the square of the angular speed times the radius, however evenly the joint turns.
    acceleration = REACH_M * (turn / STEP_S) ** 2
    state = at(0.0, velocities=[turn / STEP_S])
    assert check(arm(max_ee_accel_m_s2=1.05 * acceleration), [[turn]], state=state).accepted
    verdict = check(arm(max_ee_accel_m_s2=0.95 * acceleration), [[turn]], state=state)
    assert code_of(verdict) == "ee_acceleration"


def test_integrated_velocities_are_held_to_it_too():
    gate = arm(max_ee_angular_speed_rad_s=1.0)
    assert code_of(check(gate, [[2 * np.pi]], ControlMode.JOINT_VELOCITY)) == "ee_angular_speed"
    assert check(gate, [[1.0]], ControlMode.JOINT_VELOCITY).accepted


def test_turn_without_limits_for_its_tool_costs_nothing():
    assert check(arm(), [[2 * np.pi]]).evaluations == check(arm(), [[0.1]]).evaluations


def test_step_that_turns_farther_than_the_budget_can_look_is_refused():
    # 19 rad are 38 parts a step, over 40 steps: more than the 300 configurations that may be looked at.
    manifest = arm_of_one_link(safety={"max_ee_accel_m_s2": 1e6})
    manifest["joints"][0] |= {"position_limits": [-30.0, 30.0], "velocity_limit": 40.0}
    rows = [[9.5 * (-1) ** index] for index in range(40)]
    assert code_of(check(gate_of(manifest, step_s=STEP_S, evaluations_max=300), rows)) == "budget_exceeded"
    assert check(gate_of(manifest, step_s=STEP_S), rows).accepted
