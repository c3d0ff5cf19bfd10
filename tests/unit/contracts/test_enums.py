# SPDX-License-Identifier: Apache-2.0
import pytest

from lastgate.contracts import ControlMode, FailureKind, ROSConfigError, Severity

JOINT_MODES = ["JOINT_POSITION", "JOINT_VELOCITY", "JOINT_TORQUE", "JOINT_TRAJECTORY", "DEX_HAND_JOINT"]


def test_control_modes_have_the_numbers_of_the_wire():
    assert {mode.name: mode.value for mode in ControlMode} == {
        "JOINT_POSITION": 0,
        "JOINT_VELOCITY": 1,
        "JOINT_TORQUE": 2,
        "JOINT_TRAJECTORY": 3,
        "CARTESIAN_POSE": 4,
        "CARTESIAN_DELTA": 5,
        "CARTESIAN_TWIST": 6,
        "BODY_TWIST": 7,
        "FOOT_PLACEMENT": 8,
        "GRIPPER_BINARY": 9,
        "GRIPPER_POSITION": 10,
        "DEX_HAND_JOINT": 11,
        "COMPOSITE_MODE": 12,
    }


def test_k09_failure_kinds_have_the_numbers_of_the_wire():
    assert [(kind.name, kind.value) for kind in FailureKind] == [
        ("TIMEOUT", 0),
        ("FORCE", 1),
        ("WORKSPACE", 2),
        ("PERCEPTION", 3),
        ("CRITIC", 4),
        ("CONTROLLER", 5),
        ("SELFVERIFY", 6),
        ("HUMAN", 7),
        ("WAM", 8),
        ("REASONER_TIMEOUT", 9),
        ("COLLISION", 10),
        ("SUPPRESSED_SUMMARY", 254),
    ]


def test_severities_have_the_numbers_of_the_wire():
    assert [(severity.name, severity.value) for severity in Severity] == [
        ("INFO", 0),
        ("WARN", 1),
        ("FAIL", 2),
        ("ABORT", 3),
    ]


@pytest.mark.parametrize("name", JOINT_MODES)
def test_a_joint_mode_row_is_as_wide_as_the_robot(name):
    assert ControlMode[name].row_width(7) == 7
    assert ControlMode[name].is_joint_mode


@pytest.mark.parametrize("name", JOINT_MODES)
@pytest.mark.parametrize("n_dof", [0, -1, True, 7.0, None, float("nan")])
def test_a_joint_mode_row_without_a_joint_count_is_refused(name, n_dof):
    with pytest.raises(ROSConfigError, match=name):
        ControlMode[name].row_width(n_dof)


@pytest.mark.parametrize(
    ("name", "width"),
    [
        ("CARTESIAN_POSE", 7),
        ("CARTESIAN_DELTA", 6),
        ("CARTESIAN_TWIST", 6),
        ("BODY_TWIST", 6),
        ("GRIPPER_BINARY", 1),
        ("GRIPPER_POSITION", 1),
        ("COMPOSITE_MODE", 1),
    ],
)
def test_other_rows_have_the_same_width_on_every_robot(name, width):
    assert {ControlMode[name].row_width(n_dof) for n_dof in (1, 6, 14)} == {width}
    assert not ControlMode[name].is_joint_mode


def test_a_foot_placement_row_has_no_layout():
    with pytest.raises(ROSConfigError, match="FOOT_PLACEMENT"):
        ControlMode.FOOT_PLACEMENT.row_width(12)
