# SPDX-License-Identifier: Apache-2.0
"""Gripper rows are targets of fingers: which ways lead there, and what of them is certified when one is not clear."""

import numpy as np
import pytest
from fixtures.analytic_robots import (
    allowed,
    at,
    check,
    code_of,
    gate_of,
    gripper_arm,
    joint,
    sphere,
    sphere_on,
    world_of,
)

import lastgate as lg
from lastgate.contracts import ControlMode

# The finger's sphere of 1 cm stands at y = 0.1 + its position, as high as the hand.
HAND_M = 0.5


def at_finger(position_m: float):
    return world_of(sphere((0.0, 0.1 + position_m, HAND_M), 0.002, "pin"))


def two_fingers():
    """Two fingers on one channel, along y at x = 0.1 and along x at y = 0.1: they touch with both at 0.1."""
    manifest = gripper_arm()
    slide = {"joint_type": "prismatic", "velocity_limit": 0.2, "position_limits": [0.0, 0.2]}
    manifest["joints"][1:] = [
        joint("along_y", "hand", "finger", axis_xyz=[0.0, 1.0, 0.0], origin_xyz=[0.1, 0.0, 0.0], **slide),
        joint("along_x", "hand", "thumb", axis_xyz=[1.0, 0.0, 0.0], origin_xyz=[0.0, 0.1, 0.0], **slide),
    ]
    manifest["collision_geometry"].append(sphere_on("thumb", 0.01))
    manifest["allowed_collision_pairs"] = [allowed("hand", "finger"), allowed("hand", "thumb")]
    manifest["end_effectors"][0]["gripper"]["joints"] = [
        {"name": "along_y", "position_closed": 0.0, "position_open": 0.2},
        {"name": "along_x", "position_closed": 0.0, "position_open": 0.02},
    ]
    return gate_of(manifest)


@pytest.mark.parametrize("mode", [ControlMode.GRIPPER_BINARY, ControlMode.GRIPPER_POSITION])
@pytest.mark.parametrize("rows", [1, 2, 3, 4])
def test_no_row_is_certified_where_rows_are_not_what_is_swept(mode, rows):
    fingers = [0.0] if mode == ControlMode.GRIPPER_BINARY else None
    state = at(HAND_M, gripper_positions=fingers)
    verdict = check(gate_of(gripper_arm()), np.ones((rows, 1)), mode, state=state, world=at_finger(0.03))
    assert code_of(verdict) == "world_collision"
    assert verdict.certified_rows == 0


def test_rows_of_measured_fingers_are_certified_up_to_the_contact():
    state = at(HAND_M, gripper_positions=[0.0])
    rows = [[0.0], [0.2], [1.0]]
    verdict = check(
        gate_of(gripper_arm()), rows, ControlMode.GRIPPER_POSITION, state=state, world=at_finger(0.03)
    )
    assert code_of(verdict) == "world_collision"
    assert verdict.certified_rows == 2


@pytest.mark.parametrize("mode", [ControlMode.GRIPPER_BINARY, ControlMode.GRIPPER_POSITION])
def test_finger_that_no_sensor_measured_may_stand_beyond_where_its_channel_sends_it(mode):
    manifest = gripper_arm()
    manifest["joints"][1]["position_limits"] = [0.0, 0.2]  # and the channel opens it to 0.04
    gate, row = gate_of(manifest), [[1.0]]
    assert code_of(check(gate, row, mode, state=at(HAND_M), world=at_finger(0.15))) == "world_collision"
    assert check(gate, row, mode, state=at(HAND_M), world=at_finger(0.25)).accepted
    # Measured inside the way of its channel it goes nowhere near.
    measured = at(HAND_M, gripper_positions=[0.02])
    assert check(gate, row, mode, state=measured, world=at_finger(0.15)).accepted


@pytest.mark.parametrize("mode", [ControlMode.GRIPPER_BINARY, ControlMode.GRIPPER_POSITION])
def test_fingers_that_no_sensor_measured_stand_each_for_itself(mode):
    # Where the channel sends them they are never near each other; elsewhere in their ranges they touch.
    gate = two_fingers()
    measured = check(gate, [[1.0]], mode, state=at(HAND_M, gripper_positions=[0.0, 0.0]))
    assert measured.accepted, measured.explain()
    assert code_of(check(gate, [[1.0]], mode, state=at(HAND_M))) == "self_collision"


def test_binary_command_is_swept_from_the_measured_fingers_to_either_end():
    # From (0, 0.2) to closed nothing is in the way, and nothing between closed and open; from (0, 0.2) to open it is.
    gate = two_fingers()
    state = at(HAND_M, gripper_positions=[0.0, 0.2])
    closing = check(gate, [[0.0]], ControlMode.GRIPPER_POSITION, state=state)
    assert closing.accepted, closing.explain()
    assert code_of(check(gate, [[1.0]], ControlMode.GRIPPER_POSITION, state=state)) == "self_collision"
    assert code_of(check(gate, [[1.0]], ControlMode.GRIPPER_BINARY, state=state)) == "self_collision"


@pytest.mark.parametrize(
    ("measured", "pin_m", "code"),
    [
        (0.04, 0.0565, "accepted"),
        (0.0449, 0.0565, "world_collision"),  # resting a little beyond its stop, it is where it was measured
        (0.08, 0.08, "joint_position_limit"),
        (-0.04, 0.08, "joint_position_limit"),
        (None, 0.0565, "accepted"),
    ],
)
def test_torque_starts_from_the_fingers_that_were_measured(measured, pin_m, code):
    manifest = gripper_arm()
    for each in manifest["joints"]:
        each["effort_limit"] = 10.0
    manifest["joints"][0]["velocity_limit"] = 0.1
    state = at(HAND_M, gripper_positions=None if measured is None else [measured])
    gate = gate_of(manifest, step_s=0.01)
    assert (
        code_of(check(gate, [[0.0]], ControlMode.JOINT_TORQUE, state=state, world=at_finger(pin_m))) == code
    )


def wide_channel(gripper_max: float):
    """The channel runs from 0 to 1 and opens the finger to its limit of 4 cm."""
    return gripper_arm(safety={"gripper_min": 0.0, "gripper_max": gripper_max})


def test_gripper_range_that_sends_a_finger_beyond_its_limit_is_refused_with_the_fix():
    with pytest.raises(ValueError, match=r"`gripper_max`.*narrow gripper_min and gripper_max to the channel"):
        gate_of(wide_channel(1.5))
    with pytest.raises(ValueError, match="`gripper_min`"):
        gate_of(gripper_arm(safety={"gripper_min": -0.1, "gripper_max": 1.0}))
    assert gate_of(wide_channel(1.0))
    # A finger that its channel opens half way may be sent farther.
    manifest = wide_channel(1.5)
    manifest["joints"][1]["position_limits"] = [0.0, 0.06]
    assert gate_of(manifest)


@pytest.mark.parametrize("mode", [ControlMode.GRIPPER_POSITION, ControlMode.COMPOSITE_MODE])
@pytest.mark.parametrize("fingers", [None, [0.0]])
def test_command_up_to_the_limit_of_a_finger_is_accepted(mode, fingers):
    gate = gate_of(wide_channel(1.0))
    state = at(HAND_M, gripper_positions=fingers)
    assert check(gate, [[1.0]], mode, state=state).accepted
    assert code_of(check(gate, [[1.01]], mode, state=state)) == "gripper_range"


def tool_on_the_finger():
    """The hand turns about z and slides along y; its tool is the finger, which slides along y too."""
    manifest = gripper_arm(
        safety={
            "gripper_min": 0.0,
            "gripper_max": 1.0,
            "workspace_box_min_xyz": [-2.0, -2.0, -2.0],
            "workspace_box_max_xyz": [2.0, 2.0, 2.0],
            "max_cartesian_step_m": 0.1,
            "max_cartesian_step_rad": 0.1,
            "max_ee_speed_m_s": 1.0,
            "max_ee_angular_speed_rad_s": 1.0,
        }
    )
    manifest["end_effectors"].append({"name": "fingertip", "link": "finger"})
    return gate_of(manifest)


CARTESIAN_ROWS = {
    ControlMode.CARTESIAN_POSE: [[0.0, 0.0, 0.0, 1.0, 0.0, 0.12, 0.51]],
    ControlMode.CARTESIAN_DELTA: [[0.0, 0.0, 0.01, 0.0, 0.0, 0.0]],
    ControlMode.CARTESIAN_TWIST: [[0.0, 0.0, 0.1, 0.0, 0.0, 0.0]],
}


@pytest.mark.parametrize("mode", CARTESIAN_ROWS)
def test_tool_on_a_finger_that_was_not_measured_is_not_followed(mode):
    gate, row = tool_on_the_finger(), CARTESIAN_ROWS[mode]
    label = {"ee_name": "fingertip", "frame_id": "base"}
    verdict = check(gate, row, mode, state=at(HAND_M), **label)
    assert code_of(verdict) == "state_unavailable"
    assert "the tool moves with a joint that was not measured (finger_joint)" in verdict.explain()
    assert check(gate, row, mode, state=at(HAND_M, gripper_positions=[0.02]), **label).accepted


def test_tool_beside_a_finger_that_was_not_measured_is_followed():
    row = CARTESIAN_ROWS[ControlMode.CARTESIAN_DELTA]
    label = {"ee_name": "gripper", "frame_id": "base"}
    assert check(tool_on_the_finger(), row, ControlMode.CARTESIAN_DELTA, state=at(HAND_M), **label).accepted


def fingertip_with_limits():
    manifest = gripper_arm(
        safety={
            "gripper_min": 0.0,
            "gripper_max": 1.0,
            "max_ee_speed_m_s": 0.05,
            "max_ee_angular_speed_rad_s": 1.0,
            "max_ee_accel_m_s2": 1.0,
        }
    )
    manifest["end_effectors"][0]["link"] = "finger"
    manifest["joints"][0]["acceleration_limit"] = manifest["joints"][1]["acceleration_limit"] = 1.0
    return gate_of(manifest, step_s=0.02)


SPEEDS = (
    lg.Unchecked.EE_SPEED,
    lg.Unchecked.EE_ANGULAR_SPEED,
    lg.Unchecked.EE_ACCELERATION,
    lg.Unchecked.JOINT_ACCELERATION,
)


@pytest.mark.parametrize("fingers", [[0.0], None])
@pytest.mark.parametrize(
    "mode", [ControlMode.GRIPPER_BINARY, ControlMode.GRIPPER_POSITION, ControlMode.COMPOSITE_MODE]
)
def test_speeds_of_a_gripper_command_are_listed_as_unchecked(mode, fingers):
    # 4 cm in a step of 20 ms: a command says where fingers go and not how fast, so no limit of speed was held.
    verdict = check(fingertip_with_limits(), [[1.0]], mode, state=at(HAND_M, gripper_positions=fingers))
    assert verdict.accepted
    assert all(speed in verdict.unchecked for speed in SPEEDS)


def test_speeds_of_a_joint_command_are_checked_and_not_listed():
    gate, state = fingertip_with_limits(), at(HAND_M, velocities=[0.0], gripper_positions=[0.0])
    verdict = check(gate, [[HAND_M + 1e-4]], state=state)
    assert verdict.accepted
    assert not any(speed in verdict.unchecked for speed in SPEEDS)
    assert code_of(check(gate, [[HAND_M + 2e-3]], state=state)) in ("ee_speed", "joint_acceleration_limit")
