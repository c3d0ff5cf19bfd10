# SPDX-License-Identifier: Apache-2.0
"""A value at its limit passes, the next number beyond it is rejected; touching is contact."""

import numpy as np
import pytest
from fixtures.analytic_robots import (
    NOW_S,
    PAPER_SAFETY,
    arm_of_one_link,
    at,
    check,
    code_of,
    gate_of,
    only_violation,
    sliders,
    sphere,
    stacked,
    world_of,
)

import lastgate as lg
from lastgate.contracts import ControlMode

# What cannot be told from touching by 0.1 mm is rejected too.
RESOLUTION_M = 1e-4


def beyond(limit: float) -> float:
    return float(np.nextafter(limit, np.copysign(np.inf, limit)))


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize(
    "mode", [ControlMode.JOINT_POSITION, ControlMode.JOINT_TRAJECTORY, ControlMode.DEX_HAND_JOINT]
)
def test_position_at_its_limit_is_accepted_and_one_ulp_beyond_is_rejected(mode, sign):
    gate = gate_of(stacked(3, safety={}, velocity_limit=100.0))
    assert check(gate, [[0.0, sign * 1.0, 0.0]], mode).accepted
    violation = only_violation(check(gate, [[0.0, beyond(sign * 1.0), 0.0]], mode))
    assert (violation.code, violation.subject, violation.limit) == ("joint_position_limit", "j1", sign)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_velocity_at_its_limit_is_accepted_and_one_ulp_beyond_is_rejected(sign):
    gate = gate_of(stacked(3, safety={}))
    assert check(gate, [[0.0, sign * 3.15, 0.0]], ControlMode.JOINT_VELOCITY).accepted
    verdict = check(gate, [[0.0, beyond(sign * 3.15), 0.0]], ControlMode.JOINT_VELOCITY)
    assert (code_of(verdict), verdict.stage) == ("joint_velocity_limit", 6)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_torque_at_its_limit_is_accepted_and_one_ulp_beyond_is_rejected(sign):
    gate = gate_of(stacked(3, safety={}), step_s=0.01)
    assert check(gate, [[0.0, sign * 5.0, 0.0]], ControlMode.JOINT_TORQUE).accepted
    verdict = check(gate, [[0.0, beyond(sign * 5.0), 0.0]], ControlMode.JOINT_TORQUE)
    assert (code_of(verdict), verdict.stage) == ("joint_torque_limit", 6)


@pytest.mark.parametrize("step_s", [0.1, 0.02, 1 / 3, 0.033])
@pytest.mark.parametrize("start", [0.0, 0.37, -0.9])
def test_step_at_the_velocity_limit_is_accepted_and_a_micrometre_beyond_is_rejected(step_s, start):
    """The quotient (q1 - q0) / step carries roundings, so the twin stands 1e-12 beyond instead of one ulp."""
    gate = gate_of(stacked(3, safety={}, velocity_limit=0.25), step_s=step_s)
    state = at(0.0, start, 0.0)
    target = start + 0.25 * step_s
    assert check(gate, [[0.0, target, 0.0]], state=state).accepted
    verdict = check(gate, [[0.0, target + 1e-12, 0.0]], state=state)
    assert (code_of(verdict), verdict.stage) == ("joint_velocity_limit", 8)


def test_speed_factor_of_the_envelope_counts():
    gate = gate_of(stacked(3, safety={"max_joint_speed_factor": 0.5}))
    assert check(gate, [[0.0, 1.575, 0.0]], ControlMode.JOINT_VELOCITY).accepted
    assert (
        code_of(check(gate, [[0.0, beyond(1.575), 0.0]], ControlMode.JOINT_VELOCITY))
        == "joint_velocity_limit"
    )


def test_step_from_row_to_row_has_the_same_limit_as_the_first():
    gate = gate_of(stacked(3, safety={}, velocity_limit=1.0))
    assert check(gate, [[0.1, 0.0, 0.0], [0.2, 0.0, 0.0]]).accepted
    violation = only_violation(check(gate, [[0.1, 0.0, 0.0], [0.21, 0.0, 0.0]]))
    assert (violation.code, violation.step) == ("joint_velocity_limit", 1)


@pytest.mark.parametrize(("change", "outcome"), [(0.1, "accepted"), (0.1001, "joint_acceleration_limit")])
def test_acceleration_at_its_limit_is_accepted_and_beyond_it_is_rejected(change, outcome):
    # Velocities 0.2 then 0.2 + change, over 0.1 s each: the limit of 1 allows a change of 0.1.
    gate = gate_of(stacked(3, safety={}, acceleration_limit=1.0))
    rows = [[0.02, 0.0, 0.0], [0.02 + (0.2 + change) * 0.1, 0.0, 0.0]]
    verdict = check(gate, rows, state=at(0.0, 0.0, 0.0, velocities=[0.2, 0.0, 0.0]))
    assert code_of(verdict) == outcome


@pytest.mark.parametrize(("velocity", "outcome"), [(0.2, "accepted"), (-0.2, "joint_acceleration_limit")])
def test_measured_velocity_counts_for_the_first_acceleration(velocity, outcome):
    gate = gate_of(stacked(3, safety={}, acceleration_limit=1.0))
    verdict = check(gate, [[0.02, 0.0, 0.0]], state=at(0.0, 0.0, 0.0, velocities=[velocity, 0.0, 0.0]))
    assert code_of(verdict) == outcome
    assert not verdict.unchecked & lg.Unchecked.INITIAL_ACCELERATION


def test_without_measured_velocities_the_verdict_says_that_the_first_acceleration_was_not_checked():
    gate = gate_of(stacked(3, safety={}, acceleration_limit=1.0))
    assert check(gate, [[0.3, 0.0, 0.0]]).unchecked & lg.Unchecked.INITIAL_ACCELERATION


def test_acceleration_limit_of_some_joints_only_is_refused_naming_the_others():
    manifest = stacked(3)
    manifest["joints"][1]["acceleration_limit"] = 1.0
    with pytest.raises(lg.ROSConfigError, match="declares acceleration_limit for j1 and not for j0, j2"):
        gate_of(manifest)


CARTESIAN_LIMITS = [
    (ControlMode.CARTESIAN_TWIST, 0, "max_ee_speed_m_s", "ee_speed"),
    (ControlMode.CARTESIAN_TWIST, 5, "max_ee_angular_speed_rad_s", "ee_angular_speed"),
    (ControlMode.CARTESIAN_DELTA, 2, "max_cartesian_step_m", "cartesian_step"),
    (ControlMode.CARTESIAN_DELTA, 5, "max_cartesian_step_rad", "cartesian_rotation_step"),
    (ControlMode.BODY_TWIST, 0, "max_base_linear_speed_m_s", "base_linear_speed"),
    (ControlMode.BODY_TWIST, 1, "max_base_linear_speed_m_s", "base_linear_speed"),
    (ControlMode.BODY_TWIST, 5, "max_base_angular_speed_rad_s", "base_angular_speed"),
]


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize(("mode", "column", "field", "code"), CARTESIAN_LIMITS)
def test_row_at_its_limit_passes_its_stage_and_one_ulp_beyond_is_rejected(mode, column, field, code, sign):
    gate = gate_of(stacked(5), step_s=0.01)
    row = np.zeros(6)
    row[column] = sign * PAPER_SAFETY[field]
    at_limit = check(gate, [row.tolist()], mode)
    assert at_limit.stage > 6, at_limit.explain()
    row[column] = beyond(row[column])
    verdict = check(gate, [row.tolist()], mode)
    assert (code_of(verdict), verdict.stage) == (code, 6)
    assert only_violation(verdict).limit == PAPER_SAFETY[field] * (
        sign if code == "base_angular_speed" else 1.0
    )


def test_two_components_are_measured_by_their_length():
    gate = gate_of(stacked(5))
    row = [[0.03, 0.0, 0.0401, 0.0, 0.0, 0.0]]
    violation = only_violation(check(gate, row, ControlMode.CARTESIAN_DELTA))
    assert (violation.code, violation.subject) == ("cartesian_step", "tool")
    assert violation.value == pytest.approx(np.hypot(0.03, 0.0401))


@pytest.mark.parametrize("mode", [ControlMode.GRIPPER_POSITION, ControlMode.COMPOSITE_MODE])
@pytest.mark.parametrize(("value", "outcome"), [(0.0, "accepted"), (1.0, "accepted")])
def test_gripper_at_its_limit_is_accepted(mode, value, outcome):
    assert code_of(check(gate_of(stacked(3)), [[value]], mode)) == outcome


@pytest.mark.parametrize(
    "mode", [ControlMode.GRIPPER_POSITION, ControlMode.COMPOSITE_MODE, ControlMode.GRIPPER_BINARY]
)
@pytest.mark.parametrize("value", [np.nextafter(0.0, -1.0), np.nextafter(1.0, 2.0)])
def test_gripper_one_ulp_beyond_its_limit_is_rejected(mode, value):
    assert code_of(check(gate_of(stacked(3)), [[float(value)]], mode)) == "gripper_range"


def lift(**safety: object) -> dict:
    """One slide along z with a tool on it: tool height is joint position, exactly."""
    manifest = sliders(0.0, safety=safety)
    manifest["joints"][0] |= {"axis_xyz": [0.0, 0.0, 1.0]}
    return manifest | {"end_effectors": [{"name": "tip", "link": "post0"}]}


def test_tool_speed_in_joint_modes_is_accepted_at_its_limit_and_rejected_beyond():
    gate = gate_of(lift(max_ee_speed_m_s=0.5), step_s=0.125)
    assert check(gate, [[0.0625], [0.125]]).accepted
    violation = only_violation(check(gate, [[0.0625], [beyond(0.125)]]))
    assert (violation.code, violation.subject, violation.step) == ("ee_speed", "tip", 1)


def test_tool_angular_speed_in_joint_modes_is_rejected_beyond_its_limit():
    gate = gate_of(arm_of_one_link(safety={"max_ee_angular_speed_rad_s": 1.0}))
    assert check(gate, [[0.0999]]).accepted
    assert code_of(check(gate, [[0.1001]])) == "ee_angular_speed"


def test_tool_acceleration_in_joint_modes_is_accepted_at_its_limit_and_rejected_beyond():
    gate = gate_of(lift(max_ee_accel_m_s2=2.0), step_s=0.125)
    # Speeds 0.25 m/s and 0.5 m/s: a change of 0.25 m/s in 0.125 s.
    assert check(gate, [[0.03125], [0.09375]]).accepted
    violation = only_violation(check(gate, [[0.03125], [0.0938]]))
    assert (violation.code, violation.subject, violation.step) == ("ee_acceleration", "tip", 1)


@pytest.mark.parametrize(("velocity", "outcome"), [(0.25, "accepted"), (0.0, "ee_acceleration")])
def test_measured_velocity_counts_for_the_first_tool_acceleration(velocity, outcome):
    gate = gate_of(lift(max_ee_accel_m_s2=2.0), step_s=0.125)
    verdict = check(gate, [[0.0625]], state=at(0.0, velocities=[velocity]))
    assert code_of(verdict) == outcome


BOX = {"workspace_box_min_xyz": [-1.0, -1.0, -1.0], "workspace_box_max_xyz": [1.0, 1.0, 0.5]}


def test_tool_that_rests_on_the_wall_of_its_box_is_accepted():
    assert check(gate_of(lift(**BOX)), [[0.5]], state=at(0.5)).accepted


def test_tool_that_moves_to_the_wall_of_its_box_is_rejected_within_the_resolution():
    """A sweep tells inside from outside to 0.1 mm; commanded poses are compared exactly."""
    gate = gate_of(lift(**BOX))
    assert check(gate, [[0.5 - 2 * RESOLUTION_M]]).accepted
    assert "within 0.1 mm of the wall" in only_violation(check(gate, [[0.5]])).sentence()


def test_tool_beyond_the_wall_of_its_box_is_rejected_with_where_it_is():
    violation = only_violation(check(gate_of(lift(**BOX)), [[0.5001]]))
    assert (violation.code, violation.subject) == ("workspace_box", "tip")
    assert violation.evidence().measured_xyz[2] == pytest.approx(0.5001)


def test_tool_that_leaves_the_box_between_two_steps_inside_it_is_rejected():
    arm = {"workspace_box_min_xyz": [-1.0, -1.0, -1.0], "workspace_box_max_xyz": [0.85, 1.0, 1.0]}
    gate = gate_of(arm_of_one_link(safety=arm))
    violation = only_violation(check(gate, [[0.5]], state=at(-0.5)))
    assert (violation.code, violation.step) == ("workspace_box", 0)
    assert 0.0 < violation.segment_t < 1.0
    assert check(gate, [[0.5]], state=at(0.4)).accepted


@pytest.mark.parametrize(("axis", "value"), [(4, -0.4), (5, 0.4), (6, 0.0), (6, 0.6)])
def test_commanded_pose_on_the_wall_of_the_box_passes_its_stage_and_one_ulp_beyond_is_rejected(axis, value):
    gate = gate_of(stacked(5))
    row = [0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.3]
    row[axis] = value
    assert check(gate, [row], ControlMode.CARTESIAN_POSE).stage > 6
    row[axis] = float(np.nextafter(value, value + np.sign(value - 0.3)))
    assert code_of(check(gate, [row], ControlMode.CARTESIAN_POSE)) == "workspace_box"


@pytest.mark.parametrize(("scale", "stage"), [(0.9991, 8), (1.0009, 8), (0.998, 6), (1.002, 6), (0.0, 6)])
def test_quaternion_off_unit_length_is_rejected(scale, stage):
    row = [0.0, 0.0, 0.0, scale, 0.05, 0.0, 0.15]
    verdict = check(gate_of(stacked(5)), [row], ControlMode.CARTESIAN_POSE)
    assert (verdict.stage > 6) == (stage > 6)
    if stage == 6:
        assert code_of(verdict) == "quaternion_norm"


# ---- Ages: exact in binary, so that the limit itself can be hit ---

AGES = {"state_age_s_max": 0.25, "world_age_s_max": 0.5}


def test_state_at_its_greatest_age_is_accepted_and_older_is_rejected():
    gate = gate_of(sliders(0.0, safety=AGES))
    assert check(gate, [[0.0]], state=at(0.0, stamp_s=NOW_S - 0.25)).accepted
    older = float(np.nextafter(NOW_S - 0.25, 0.0))
    assert code_of(check(gate, [[0.0]], state=at(0.0, stamp_s=older))) == "state_unavailable"


def test_world_at_its_greatest_age_is_accepted_and_older_is_rejected():
    gate = gate_of(sliders(0.0, safety=AGES))
    assert check(gate, [[0.0]], world=world_of(stamp_s=NOW_S - 0.5)).accepted
    older = float(np.nextafter(NOW_S - 0.5, 0.0))
    assert code_of(check(gate, [[0.0]], world=world_of(stamp_s=older))) == "world_unavailable"


# ---- Touching ---


@pytest.mark.parametrize(("gap_m", "outcome"), [(0.0, "world_collision"), (2 * RESOLUTION_M, "accepted")])
def test_touching_an_obstacle_is_contact(gap_m, outcome):
    world = world_of(sphere((0.25 + gap_m, 0.0, 0.0), 0.125))
    gate = gate_of(sliders(0.0, radius_m=0.125))
    assert code_of(check(gate, [[0.0]], world=world)) == outcome


@pytest.mark.parametrize(("gap_m", "outcome"), [(0.0, "self_collision"), (2 * RESOLUTION_M, "accepted")])
def test_touching_itself_is_contact(gap_m, outcome):
    gate = gate_of(sliders(0.0, 0.25 + gap_m, radius_m=0.125))
    assert code_of(check(gate, [[0.0, 0.0]])) == outcome


@pytest.mark.parametrize(("gap_m", "outcome"), [(0.0, "world_collision"), (2 * RESOLUTION_M, "accepted")])
def test_coming_as_close_as_the_margin_is_a_violation(gap_m, outcome):
    gate = gate_of(sliders(0.0, radius_m=0.125, safety={"world_collision_margin_m": 0.25}))
    assert code_of(check(gate, [[0.0]], world=world_of(sphere((0.5 + gap_m, 0.0, 0.0), 0.125)))) == outcome


@pytest.mark.parametrize(
    ("stop_x", "outcome"), [(0.75, "world_collision"), (0.75 - 2 * RESOLUTION_M, "accepted")]
)
def test_moving_until_touching_is_contact(stop_x, outcome):
    gate = gate_of(sliders(0.0, radius_m=0.125))
    assert code_of(check(gate, [[0.25], [stop_x]], world=world_of(sphere((1.0, 0.0, 0.0), 0.125)))) == outcome
