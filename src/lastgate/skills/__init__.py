# SPDX-License-Identifier: Apache-2.0
"""Skills that plan a motion and send it through the gate: joints, a pose, a gaze, a place on the map.

A skill proposes. Its plan is shown by a gate that asks for some more distance, and then every step crosses the gate
again, from where the robot is measured to be at that moment.
"""

from lastgate.skills.body import Body
from lastgate.skills.camera import MountedCamera, find_camera
from lastgate.skills.goals import JointGoal, PoseGoal, build_joint_goal, build_look_at_goal, build_pose_goal
from lastgate.skills.look_at import LookAtPlan, look_at, plan_look_at
from lastgate.skills.manifests import load_skill_manifest
from lastgate.skills.move_group import move_group_goal
from lastgate.skills.navigate import Drive, navigate_to
from lastgate.skills.planner import MotionPlanner
from lastgate.skills.trajectory import Replay, Trajectory, replay_trajectory

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
