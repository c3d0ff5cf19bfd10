# SPDX-License-Identifier: Apache-2.0
"""Gripper rows are targets of fingers: which ways lead there, and what of them is certified when one is not clear."""

import numpy as np
import pytest
from paper_robots import allowed, at, ball, check, code_of, gate_of, gripper_arm, joint, sphere_on, world_of

from lastgate.contracts import ControlMode

# The finger's ball of 1 cm stands at y = 0.1 + its position, as high as the hand.
HAND_M = 0.5


def at_finger(position_m: float):
    return world_of(ball((0.0, 0.1 + position_m, HAND_M), 0.002, "pin"))


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
def test_finger_that_nobody_measured_may_stand_beyond_where_its_channel_sends_it(mode):
    manifest = gripper_arm()
    manifest["joints"][1]["position_limits"] = [0.0, 0.2]  # and the channel opens it to 0.04
    gate, row = gate_of(manifest), [[1.0]]
    assert code_of(check(gate, row, mode, state=at(HAND_M), world=at_finger(0.15))) == "world_collision"
    assert check(gate, row, mode, state=at(HAND_M), world=at_finger(0.25)).accepted
    # Measured inside the way of its channel it goes nowhere near.
    measured = at(HAND_M, gripper_positions=[0.02])
    assert check(gate, row, mode, state=measured, world=at_finger(0.15)).accepted


@pytest.mark.parametrize("mode", [ControlMode.GRIPPER_BINARY, ControlMode.GRIPPER_POSITION])
def test_fingers_that_nobody_measured_stand_each_for_itself(mode):
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
