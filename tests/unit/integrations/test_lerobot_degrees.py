# SPDX-License-Identifier: Apache-2.0
"""LeRobot's degrees on the two SO arms: from the middle of the range, whatever a URDF calls zero."""

import numpy as np
import pytest

import lastgate as lg
from lastgate.integrations.named_actions import degrees_except

JOINTS = ("shoulder_pan", "shoulder_lift", "elbow_flex", "wrist_flex", "wrist_roll", "gripper")
# What stands in front of the arm, and to its left, in each base frame.
FORWARD = {"so100_follower": (0.0, -1.0, 0.0), "so101_follower": (1.0, 0.0, 0.0)}
LEFT = {"so100_follower": (1.0, 0.0, 0.0), "so101_follower": (0.0, 1.0, 0.0)}
# Both arms were measured for the same printed parts; the ranges in their files are rounded to some degrees.
AGREEMENT_DEG = 8.0


def positions(gate: lg.Gate, degrees: tuple[float, ...]) -> np.ndarray:
    units = degrees_except(gate, percent=("gripper",))
    return np.array(
        [
            units[name].factor * number + units[name].offset
            for name, number in zip(JOINTS, degrees, strict=True)
        ]
    )


def directions(robot: str, degrees: tuple[float, ...]) -> np.ndarray:
    """Returns the elevations of upper arm, forearm and hand, and the bearing of the arm, in degrees."""
    gate = lg.Gate(lg.load_robot(robot), step_s=0.02)
    poses = gate.link_poses(positions(gate, degrees))
    at = {joint.name: poses[joint.child_link][:, 3] for joint in gate.robot.joints}
    forward, left, up = np.array(FORWARD[robot]), np.array(LEFT[robot]), np.array([0.0, 0.0, 1.0])
    # The axis that lifts the arm points to its left.
    lift = next(joint for joint in gate.robot.joints if joint.name == "shoulder_lift")
    axis = poses[lift.child_link][:, :3] @ np.array(lift.axis_xyz)
    bearing = np.arctan2(-(axis @ forward), axis @ left)
    ahead = np.cos(bearing) * forward + np.sin(bearing) * left
    steps = [("shoulder_lift", "elbow_flex"), ("elbow_flex", "wrist_flex"), ("wrist_flex", "wrist_roll")]
    rises = [np.arctan2((at[b] - at[a]) @ up, (at[b] - at[a]) @ ahead) for a, b in steps]
    return np.degrees([*rises, bearing])


def test_degrees_of_so100_count_from_the_middle_of_each_range() -> None:
    gate = lg.Gate(lg.load_robot("so100_follower"), step_s=0.02)
    limits = {joint.name: joint.position_limits for joint in gate.robot.joints}
    middle = [sum(limits[name]) / 2.0 for name in JOINTS[:5]]
    assert np.allclose(positions(gate, (0.0,) * 6)[:5], middle, atol=1e-9)


def test_rest_pose_of_so100_is_the_zero_of_its_urdf() -> None:
    gate = lg.Gate(lg.load_robot("so100_follower"), step_s=0.02)
    folded = positions(gate, (0.0, -100.2676, 90.0, 37.2423, 0.0, 0.0))
    assert np.allclose(folded[:5], 0.0, atol=1e-4)


def test_shoulder_of_so100_turns_the_other_way_round_than_its_urdf_counts() -> None:
    gate = lg.Gate(lg.load_robot("so100_follower"), step_s=0.02)
    assert np.degrees(positions(gate, (30.0, 0.0, 0.0, 0.0, 0.0, 0.0))[0]) == pytest.approx(-30.0)


@pytest.mark.parametrize(
    "degrees",
    [
        (0.0, 0.0, 0.0, 0.0, 0.0, 0.0),
        (30.0, 0.0, 0.0, 0.0, 0.0, 0.0),
        (-40.0, -50.0, 60.0, 20.0, 0.0, 50.0),
        (0.0, -90.0, 85.0, 30.0, 0.0, 0.0),
        (10.0, 40.0, -50.0, -30.0, 0.0, 20.0),
    ],
)
def test_same_degrees_pose_both_arms_alike(degrees: tuple[float, ...]) -> None:
    apart = directions("so100_follower", degrees) - directions("so101_follower", degrees)
    apart = (apart + 180.0) % 360.0 - 180.0
    assert np.abs(apart).max() < AGREEMENT_DEG


def test_degrees_of_so101_are_those_of_its_urdf() -> None:
    gate = lg.Gate(lg.load_robot("so101_follower"), step_s=0.02)
    assert np.allclose(
        positions(gate, (10.0, 20.0, -30.0, 40.0, 50.0, 0.0))[:5], np.radians([10, 20, -30, 40, 50])
    )


def test_sliding_joint_has_no_degrees_to_count() -> None:
    fields = {"name": "lift", "joint_type": "prismatic", "parent_link": "a", "child_link": "b"}
    fields |= {"position_limits": (0.0, 0.3), "velocity_limit": 0.1}
    assert lg.contracts.JointSpec(**fields).degrees_zero == 0.0
    with pytest.raises(ValueError, match="has no degrees"):
        lg.contracts.JointSpec(**fields, degrees_zero=0.1)
