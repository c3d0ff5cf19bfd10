# SPDX-License-Identifier: Apache-2.0
"""One pose per robot that is clear of itself and one that is not: facts about the meshes.

tests/library shows both against the meshes; tests/unit holds the gate to them without any robot's files.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class LibraryPose:
    """Joints that are not named stand at zero; `folded` is on top of `home` and meets on one of `meets`."""

    home: dict[str, float]
    folded: dict[str, float]
    meets: frozenset[tuple[str, str]]


def _pairs(*pairs: tuple[str, str]) -> frozenset[tuple[str, str]]:
    return frozenset(pairs)


_BOTH = ("left", "right")

LIBRARY_POSES = {
    # gym-aloha's start pose; then both arms stretched towards each other.
    "aloha_bimanual": LibraryPose(
        home={
            f"vx300s_{side}/{joint}": value
            for side in _BOTH
            for joint, value in (
                ("shoulder", -0.96),
                ("elbow", 1.16),
                ("wrist_angle", -0.3),
                ("left_finger", 0.04),
            )
        },
        folded={f"vx300s_{side}/{joint}": 0.0 for side in _BOTH for joint in ("shoulder", "elbow")},
        meets=_pairs(("vx300s_left/gripper_link", "vx300s_right/gripper_link")),
    ),
    # Standing with the arms a little out; then the left forearm into the body.
    "gr1": LibraryPose(
        home={"l_shoulder_roll": 0.2, "r_shoulder_roll": -0.2},
        folded={"l_shoulder_roll": 0.0, "l_shoulder_yaw": -1.5, "l_elbow_pitch": -1.5},
        meets=_pairs(("l_hand_yaw", "torso_waist_roll")),
    ),
    # Standing with the arms a little out; then the left forearm into the body.
    "h1": LibraryPose(
        home={"left_shoulder_roll_joint": 0.2, "right_shoulder_roll_joint": -0.2},
        folded={"left_shoulder_roll_joint": 0.0, "left_shoulder_yaw_joint": -1.08},
        meets=_pairs(("left_elbow_link", "torso_link")),
    ),
    # Forearms forward; then both turned inwards until the arms meet: a pair across arms.
    "openarm": LibraryPose(
        home={
            "openarm_left_joint4": 1.0,
            "openarm_right_joint4": 1.0,
            "openarm_left_finger_joint1": 0.3,
            "openarm_right_finger_joint1": -0.3,
        },
        folded={"openarm_left_joint3": 1.2, "openarm_right_joint3": -1.2},
        meets=_pairs(("openarm_left_link5", "openarm_right_link5")),
    ),
    # robosuite's start pose; then the elbow onto the column.
    "panda_mobile": LibraryPose(
        home={
            "torso_height": 0.2,
            "panda_joint4": -2.618,
            "panda_joint6": 2.742,
            "panda_joint7": 0.785,
            "panda_finger_joint1": 0.02,
        },
        folded={"panda_joint2": 1.7, "panda_joint6": 1.0},
        meets=_pairs(("panda_link5", "support")),
    ),
    # Elbow up; then folded onto the upper arm.
    "ur10e": LibraryPose(
        home={
            "shoulder_lift_joint": -1.57,
            "elbow_joint": 1.57,
            "wrist_1_joint": -1.57,
            "wrist_2_joint": -1.57,
        },
        folded={"elbow_joint": 3.0},
        meets=_pairs(("forearm_link", "shoulder_link")),
    ),
    # Elbow up; then the forearm onto the shoulder.
    "ur5e": LibraryPose(
        home={
            "shoulder_lift_joint": -1.57,
            "elbow_joint": 1.57,
            "wrist_1_joint": -1.57,
            "wrist_2_joint": -1.57,
        },
        folded={"elbow_joint": 3.0},
        meets=_pairs(("forearm_link", "shoulder_link")),
    ),
    # robosuite's start pose; then bent forward into its own base.
    "sawyer": LibraryPose(
        home={"right_j1": -1.18, "right_j3": 2.18, "right_j5": 0.57, "right_j6": 3.31},
        folded={"right_j1": 1.6},
        meets=_pairs(("right_arm_base_link", "right_l4")),
    ),
    # Forearm level; then the gripper into the base.
    "widowx": LibraryPose(
        home={"shoulder": -0.8, "elbow": 0.8, "wrist_angle": 0.5, "left_finger": 0.02},
        folded={"shoulder": 0.3, "elbow": 1.4},
        meets=_pairs(("wx250s/base_link", "wx250s/gripper_bar_link")),
    ),
}
