# SPDX-License-Identifier: Apache-2.0
"""Cases V01-V18 of the peer's validator, each with its opposite; E(n) is `analytic_robots.stacked(n)`."""

import numpy as np
import pytest
from fixtures.analytic_robots import at, check, code_of, gate_of, only_violation, stacked

import lastgate as lg
from lastgate import _core
from lastgate.contracts import ControlMode, FailureKind
from lastgate.robots.kernel_config import flat_config

POSE_INSIDE = [0.0, 0.0, 0.0, 1.0, 0.05, 0.0, 0.21]


def wrist(**safety: object) -> dict:
    """E(7) with slides instead of rings for x, y and z, so that poses and steps can be reached."""
    manifest = stacked(7)
    axes = ([1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0])
    for index, axis in enumerate(axes):
        manifest["joints"][index] |= {"joint_type": "prismatic", "axis_xyz": axis}
    return manifest | {"safety": manifest["safety"] | safety}


def test_v01_gate_without_degrees_of_freedom_cannot_be_built():
    """Ours is stricter: an unconfigured gate cannot exist, so nothing can be sent to one."""
    text = flat_config(lg.RobotDescription(**stacked(1)), step_s=0.1)
    for key in ("dof_names", "dof_in_rows", "position_min", "position_max", "velocity_max", "torque_max"):
        text = "".join(
            f"{key}: []\n" if line.startswith(f"{key}:") else line for line in text.splitlines(True)
        )
    config = _core.read_config(text)
    with pytest.raises(ValueError, match=r"driven by no degree of freedom|at least one degree of freedom"):
        _core.Gate(config)


def test_v01_zeroed_verdict_rejects_as_not_checked():
    verdict = _core.Verdict()
    assert not verdict.accepted
    assert verdict.violation.code == lg.ViolationCode.not_checked.number


def test_v01_twin_configured_gate_accepts():
    assert check(gate_of(stacked(1)), [[0.0]]).accepted


def test_v02_rows_inside_every_limit_are_accepted():
    verdict = check(gate_of(stacked(3)), [[0.0, 0.1, -0.1], [0.2, 0.0, 0.0]])
    assert verdict.accepted
    np.testing.assert_array_equal(verdict.chunk.rows, [[0.0, 0.1, -0.1], [0.2, 0.0, 0.0]])


def test_v03_position_beyond_its_limit_is_rejected_with_joint_step_value_and_limit():
    violation = only_violation(check(gate_of(stacked(3)), [[0.0, 0.1, -0.1], [5.0, 0.0, 0.0]]))
    assert (violation.code, violation.kind) == ("joint_position_limit", FailureKind.WORKSPACE)
    assert (violation.subject, violation.step) == ("j0", 1)
    assert (violation.value, violation.limit) == (5.0, 1.0)
    evidence = violation.evidence()
    assert (evidence.kind, evidence.joint, evidence.quantity) == ("joint_limit", "j0", "position")


def test_v03_twin_position_below_its_limit_is_rejected_with_the_lower_one():
    violation = only_violation(check(gate_of(stacked(3)), [[0.0, 0.1, -5.0]]))
    assert (violation.subject, violation.value, violation.limit) == ("j2", -5.0, -1.0)


def test_v04_nan_is_rejected_with_its_place():
    violation = only_violation(check(gate_of(stacked(3)), [[0.0, np.nan, -0.1]]))
    assert (violation.code, violation.kind) == ("nan_in_action", FailureKind.CONTROLLER)
    assert (violation.subject, violation.step) == ("j1", 0)
    assert violation.evidence().state == "nan_in_action"


def test_v04_twin_zero_in_the_same_element_is_accepted():
    assert check(gate_of(stacked(3)), [[0.0, 0.0, -0.1]]).accepted


def test_v05_too_few_columns_are_rejected_with_both_counts():
    violation = only_violation(check(gate_of(stacked(3)), [[0.0, 0.1]]))
    assert (violation.code, violation.kind) == ("ndof_mismatch", FailureKind.CONTROLLER)
    assert (violation.value, violation.limit) == (2.0, 3.0)
    assert violation.evidence().state == "ndof_mismatch"


def test_v05_twin_one_column_too_many_is_rejected_too():
    assert code_of(check(gate_of(stacked(3)), [[0.0, 0.1, 0.0, 0.0]])) == "ndof_mismatch"


def test_v06_five_numbers_for_two_rows_of_three_are_refused_when_the_chunk_is_made():
    """Ours differs: a chunk is a rectangle, so a short `flat` is refused before it can reach a gate."""
    with pytest.raises(lg.ROSConfigError, match="rows is not a rectangle of numbers"):
        lg.ActionChunk([[0.0, 0.1, 0.2], [0.0, 0.1]])


def test_v06_twin_six_numbers_are_accepted():
    assert check(gate_of(stacked(3)), [[0.0, 0.1, 0.0], [0.0, 0.1, 0.0]]).accepted


def test_v07_velocity_beyond_its_limit_is_rejected():
    gate = gate_of(stacked(3, velocity_limit=1.0))
    verdict = check(gate, [[0.5, -0.9, 0.99], [0.5, -0.5, 1.5]], ControlMode.JOINT_VELOCITY)
    violation = only_violation(verdict)
    assert (violation.code, violation.kind) == ("joint_velocity_limit", FailureKind.WORKSPACE)
    assert (violation.subject, violation.step, violation.value, violation.limit) == ("j2", 1, 1.5, 1.0)


def test_v07_twin_velocity_inside_its_limit_is_accepted():
    gate = gate_of(stacked(3, velocity_limit=1.0))
    assert check(gate, [[0.5, -0.9, 0.99], [0.5, -0.5, 0.9]], ControlMode.JOINT_VELOCITY).accepted


def test_v08_torque_beyond_its_limit_is_rejected():
    gate = gate_of(stacked(3, effort_limit=2.0))
    violation = only_violation(check(gate, [[0.5, 3.0, 0.5]], ControlMode.JOINT_TORQUE))
    assert (violation.code, violation.kind) == ("joint_torque_limit", FailureKind.FORCE)
    assert (violation.subject, violation.unit) == ("j1", "Nm")
    assert (violation.value, violation.limit) == (3.0, 2.0)


def test_v08_the_cap_of_the_envelope_counts_where_it_is_lower():
    gate = gate_of(stacked(3))  # effort_limit 5, max_torque_nm 3
    assert only_violation(check(gate, [[0.5, 4.0, 0.5]], ControlMode.JOINT_TORQUE)).limit == 3.0


def test_v08_twin_torque_inside_its_limit_is_accepted():
    gate = gate_of(stacked(3, effort_limit=2.0), step_s=0.01)
    assert check(gate, [[0.5, 2.0, 0.5]], ControlMode.JOINT_TORQUE).accepted


def test_v09_tool_speed_beyond_its_limit_is_rejected():
    violation = only_violation(
        check(gate_of(stacked(6)), [[1.0, 0.0, 0.0, 0.0, 0.0, 0.0]], ControlMode.CARTESIAN_TWIST)
    )
    assert (violation.code, violation.kind) == ("ee_speed", FailureKind.FORCE)
    assert (violation.subject, violation.value, violation.limit) == ("tool", 1.0, 0.5)
    assert violation.evidence().joint_or_ee == "tool"


def test_v09_twin_tool_speed_inside_its_limit_is_accepted():
    assert check(gate_of(wrist()), [[0.1, 0.0, 0.0, 0.0, 0.0, 0.0]], ControlMode.CARTESIAN_TWIST).accepted


def test_v10_pose_outside_the_box_is_rejected_for_the_tool():
    gate = gate_of(wrist(workspace_box_max_xyz=[0.4, 0.4, 0.5]))
    violation = only_violation(check(gate, [[0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 1.0]], ControlMode.CARTESIAN_POSE))
    assert (violation.code, violation.kind) == ("workspace_box", FailureKind.WORKSPACE)
    assert (violation.value, violation.limit) == (1.0, 0.5)
    evidence = violation.evidence()
    assert (evidence.ee_name, evidence.measured_xyz) == ("tool", (0.0, 0.0, 1.0))
    assert evidence.box_max == (0.4, 0.4, 0.5)


def test_v10_twin_pose_inside_the_box_is_accepted():
    gate = gate_of(wrist(workspace_box_max_xyz=[0.4, 0.4, 0.5]))
    assert check(gate, [POSE_INSIDE], ControlMode.CARTESIAN_POSE).accepted


def test_v11_mode_without_declared_bounds_is_rejected():
    """Ours differs: the peer lets a mode without bounds pass, here it cannot be enabled."""
    gate = gate_of(stacked(11, safety={}))
    violation = only_violation(check(gate, [[0.01, 0.02, 0.0, 0.0, 0.0, 0.0]], ControlMode.CARTESIAN_DELTA))
    assert (violation.code, violation.kind) == ("control_mode", FailureKind.CONTROLLER)
    evidence = violation.evidence()
    assert evidence.state == "dim_mismatch"
    assert evidence.detail.startswith("field=control_mode")


def test_v11_mode_without_declared_bounds_cannot_be_asked_for():
    """Ours differs: asking for a mode without its bounds is refused at construction, naming them."""
    manifest = stacked(11, safety={}) | {"control_modes": ["JOINT_POSITION", "CARTESIAN_DELTA"]}
    with pytest.raises(
        lg.ROSConfigError, match="CARTESIAN_DELTA needs max_cartesian_step_m, max_cartesian_step_rad"
    ):
        gate_of(manifest)


def test_v11_twin_mode_with_declared_bounds_is_accepted():
    assert check(gate_of(wrist()), [[0.01, 0.02, 0.0, 0.0, 0.0, 0.0]], ControlMode.CARTESIAN_DELTA).accepted


@pytest.mark.parametrize(
    "mode", [ControlMode.GRIPPER_POSITION, ControlMode.COMPOSITE_MODE, ControlMode.GRIPPER_BINARY]
)
@pytest.mark.parametrize(
    ("value", "outcome"), [(0.04, "accepted"), (1.01, "gripper_range"), (-0.01, "gripper_range")]
)
def test_v12_gripper_value_is_accepted_inside_its_range_only(mode, value, outcome):
    assert code_of(check(gate_of(stacked(11)), [[value]], mode)) == outcome


def test_v13_base_speed_inside_its_limit_is_accepted():
    assert check(gate_of(stacked(11)), [[0.1, 0.0, 0.0, 0.0, 0.0, 0.0]], ControlMode.BODY_TWIST).accepted


@pytest.mark.parametrize(
    ("row", "code"),
    [
        ([1.1, 0.0, 0.0, 0.0, 0.0, 0.0], "base_linear_speed"),
        ([0.0, 0.0, 0.0, 0.0, 0.0, -1.6], "base_angular_speed"),
        ([0.0, 0.0, 0.1, 0.0, 0.0, 0.0], "base_linear_speed"),
        ([0.0, 0.0, 0.0, 0.1, 0.0, 0.0], "base_angular_speed"),
        ([0.0, 0.0, 0.0, 0.0, 0.1, 0.0], "base_angular_speed"),
    ],
)
def test_v13_twin_base_that_is_too_fast_or_leaves_the_floor_is_rejected(row, code):
    violation = only_violation(check(gate_of(stacked(11)), [row], ControlMode.BODY_TWIST))
    assert (violation.code, violation.kind) == (code, FailureKind.FORCE)


def test_v14_nan_in_a_delta_is_rejected():
    verdict = check(gate_of(stacked(11)), [[0.01, np.nan, 0.0, 0.0, 0.0, 0.0]], ControlMode.CARTESIAN_DELTA)
    violation = only_violation(verdict)
    assert (violation.code, violation.subject) == ("nan_in_action", "dy")


def test_v14_twin_zero_delta_is_accepted():
    assert check(gate_of(stacked(11)), [[0.0] * 6], ControlMode.CARTESIAN_DELTA).accepted


def test_v15_seven_columns_for_eleven_joints_are_rejected():
    violation = only_violation(check(gate_of(stacked(11)), [[0.0] * 7]))
    assert (violation.code, violation.value, violation.limit) == ("ndof_mismatch", 7.0, 11.0)


def test_v15_twin_eleven_columns_are_accepted():
    assert check(gate_of(stacked(11)), [[0.0] * 11]).accepted


@pytest.mark.parametrize("width", [1, 3, 6, 7, 11])
def test_v16_foot_placement_is_rejected_at_any_width(width):
    violation = only_violation(check(gate_of(stacked(11)), [[0.0] * width], ControlMode.FOOT_PLACEMENT))
    assert (violation.code, violation.kind) == ("control_mode", FailureKind.CONTROLLER)


def test_v16_foot_placement_cannot_be_asked_for():
    with pytest.raises(ValueError, match="FOOT_PLACEMENT cannot be enabled"):
        lg.RobotDescription(**stacked(3), control_modes=["FOOT_PLACEMENT"])


@pytest.mark.parametrize("mode", range(13, 256))
def test_v16_unknown_mode_is_rejected(mode):
    violation = only_violation(check(gate_of(stacked(1)), [[0.0]], mode))
    assert (violation.code, violation.value) == ("control_mode", float(mode))
    assert str(mode) in violation.sentence()


def test_v16_twin_dexterous_hand_rows_are_checked_like_joint_rows():
    """Ours differs: the peer always rejects DEX_HAND_JOINT, here it is a joint row with joint limits."""
    gate = gate_of(stacked(3))
    assert check(gate, [[0.0, 0.1, 0.0]], ControlMode.DEX_HAND_JOINT).accepted
    assert code_of(check(gate, [[0.0, 5.0, 0.0]], ControlMode.DEX_HAND_JOINT)) == "joint_position_limit"


def test_v17_empty_configuration_is_refused():
    with pytest.raises(ValueError, match="`schema_version` is missing"):
        _core.read_config("")


def test_v18_position_max_of_another_length_is_refused_with_its_line():
    text = flat_config(lg.RobotDescription(**stacked(3)), step_s=0.1)
    lines = [
        "position_max: [1.0, 1.0]" if line.startswith("position_max") else line for line in text.splitlines()
    ]
    line = 1 + next(index for index, text in enumerate(lines) if text.startswith("position_max"))
    with pytest.raises(ValueError, match=f"line {line}: `position_max` needs 3 numbers and has 2"):
        _core.read_config("\n".join(lines))


def test_v17_v18_twin_configuration_that_python_wrote_is_read():
    text = flat_config(lg.RobotDescription(**stacked(3)), step_s=0.1)
    assert _core.read_config(text).position_max == [1.0, 1.0, 1.0]
    assert _core.Gate(_core.read_config(text)).checked_link_pairs


def test_measured_state_is_where_the_first_row_is_reached_from():
    gate = gate_of(stacked(3))
    row = [[0.5, 0.5, 0.5]]
    assert check(gate, row, state=at(0.45, 0.45, 0.45)).accepted
    assert code_of(check(gate, row, state=at(0.0, 0.5, 0.5))) == "joint_velocity_limit"
