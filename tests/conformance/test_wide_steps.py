# SPDX-License-Identifier: Apache-2.0
"""Speeds of a tool whose step turns far: a whole turn ends where it began, and is not standing still."""

import numpy as np
import pytest
from fixtures.analytic_robots import allowed, arm_of_one_link, at, check, code_of, gate_of, planar_two_link

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


def folding(**limits):
    """An arm of two links of 1 m, and its tool at the end of both."""
    manifest = planar_two_link(safety=limits, allowed_collision_pairs=[allowed("upper_arm", "forearm")])
    for part in manifest["joints"]:
        part |= {"position_limits": [-6.0, 6.0], "velocity_limit": 20.0}
    return manifest


# Two joints turn by 0.16 and -0.32 rad and fold the arm: the tool, far out, runs along a line and back to where it was.
OUT, BACK = [0.08, -0.16], [-0.08, 0.16]


@pytest.mark.parametrize(
    ("limits", "code"),
    [
        ({"max_ee_speed_m_s": 0.01}, "ee_speed"),
        ({"max_ee_speed_m_s": 1.0}, "accepted"),
        ({"max_ee_accel_m_s2": 0.5}, "ee_acceleration"),
        ({"max_ee_accel_m_s2": 50.0}, "accepted"),
    ],
)
def test_tool_that_goes_out_and_back_within_one_step_is_not_standing_still(limits, code):
    gate = gate_of(folding(**limits), step_s=0.1)
    assert code_of(check(gate, [BACK], state=at(*OUT))) == code


def test_tool_that_keeps_its_orientation_while_its_joints_turn_is_not_turning():
    # The second joint turns as fast as the first and the other way. Together they could move the tool at 1.5 m/s.
    gate = gate_of(folding(max_ee_speed_m_s=0.6, max_ee_angular_speed_rad_s=0.01), step_s=1.0)
    assert check(gate, [[0.5, -0.5], [1.0, -1.0]]).accepted
    assert code_of(check(gate, [[0.5, -0.47]])) == "ee_angular_speed"


def test_step_that_turns_farther_than_the_budget_can_check_is_refused():
    # The tool stays below the limit and its bounds do not show it: more than 300 configurations must be checked.
    rows = [[3.0 * (-1) ** index, -4.0 * (-1) ** index] for index in range(40)]
    manifest = folding(max_ee_speed_m_s=11.0)
    few = gate_of(manifest, step_s=STEP_S, evaluations_max=300)
    assert code_of(check(few, rows)) == "budget_exceeded"
    assert check(gate_of(manifest, step_s=STEP_S), rows).accepted
