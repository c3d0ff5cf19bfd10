# SPDX-License-Identifier: Apache-2.0
"""Skills that plan a motion and send it through the gate: joints, a pose, a gaze, a place on the map.

A skill proposes. Its plan is certified by a gate that asks for some more distance, and then every step crosses the gate
again, from where the robot is measured to be at that moment.
"""

from lastgate.planning.skills.body import Body
from lastgate.planning.skills.camera import MountedCamera, find_camera
from lastgate.planning.skills.goals import (
    JointGoal,
    PoseGoal,
    build_joint_goal,
    build_look_at_goal,
    build_pose_goal,
)
from lastgate.planning.skills.look_at import LookAtPlan, look_at, plan_look_at
from lastgate.planning.skills.manifests import load_skill_manifest
from lastgate.planning.skills.move_group import move_group_goal
from lastgate.planning.skills.navigate import Drive, navigate_to
from lastgate.planning.skills.planner import MotionPlanner
from lastgate.planning.skills.trajectory import Replay, Trajectory, replay_trajectory

__all__ = [
    "Body",
    "Drive",
    "JointGoal",
    "LookAtPlan",
    "MotionPlanner",
    "MountedCamera",
    "PoseGoal",
    "Replay",
    "Trajectory",
    "build_joint_goal",
    "build_look_at_goal",
    "build_pose_goal",
    "find_camera",
    "load_skill_manifest",
    "look_at",
    "move_group_goal",
    "navigate_to",
    "plan_look_at",
    "replay_trajectory",
]
