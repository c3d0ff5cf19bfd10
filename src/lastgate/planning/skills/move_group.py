# SPDX-License-Identifier: Apache-2.0
"""A goal as the plain data of a `moveit_msgs/action/MoveGroup` goal, for robots that MoveIt plans for.

It always says `plan_only`: the plan comes back, and its steps cross the gate one by one. A MoveIt that executed
them itself would drive the arm past the gate.
"""

import math
from typing import Any

import numpy as np

from lastgate.contracts import RobotDescription, ROSConfigError
from lastgate.contracts.arrays import Float64
from lastgate.planning.skills.goals import JointGoal, PoseGoal
from lastgate.world.finite_numbers import require_positive
from lastgate.world.rigid_motion import composed, inverse, pose_of_motion

POSITION_TOLERANCE_M = 0.01
# 6 degrees; a camera of 58 degrees shows the target well inside the middle half of its image.
ORIENTATION_TOLERANCE_RAD = 0.1
JOINT_TOLERANCE = 0.001
SPEED_SHARE = 0.3
PLANNING_TIME_S = 5.0
PLANNING_ATTEMPTS = 5
# shape_msgs/SolidPrimitive and moveit_msgs/OrientationConstraint number their kinds so.
_SPHERE, _XYZ_EULER_ANGLES = 2, 0
# An axis written with seven digits is this close to an axis of its link.
_ALONG = 1.0 - 1e-9


def move_group_goal(
    robot: RobotDescription,
    goal: JointGoal | PoseGoal,
    *,
    group_name: str,
    position_tolerance_m: float = POSITION_TOLERANCE_M,
    orientation_tolerance_rad: float = ORIENTATION_TOLERANCE_RAD,
) -> dict[str, Any]:
    """Returns the fields of a MoveGroup goal; what is left out has the message's own default.

    Raises:
        ROSConfigError: A tolerance that is not above 0, or no group.
    """
    if not isinstance(group_name, str) or not group_name:
        raise ROSConfigError("group_name is empty: MoveIt plans for a named group of joints")
    position_m = require_positive(position_tolerance_m, name="position_tolerance_m")
    orientation_rad = require_positive(orientation_tolerance_rad, name="orientation_tolerance_rad")
    if isinstance(goal, JointGoal):
        constraints = [{"joint_constraints": _joint_constraints(goal)}]
    else:
        constraints = [
            {
                "position_constraints": [_position_constraint(robot, goal, position_m)],
                "orientation_constraints": [orientation],
            }
            for orientation in _orientation_constraints(robot, goal, orientation_rad)
        ]
    return {
        "request": {
            "group_name": group_name,
            # Any one of them is enough.
            "goal_constraints": constraints,
            "num_planning_attempts": PLANNING_ATTEMPTS,
            "allowed_planning_time": PLANNING_TIME_S,
            "max_velocity_scaling_factor": SPEED_SHARE,
            "max_acceleration_scaling_factor": SPEED_SHARE,
        },
        "planning_options": {"plan_only": True},
    }


def _joint_constraints(goal: JointGoal) -> list[dict[str, Any]]:
    return [
        {
            "joint_name": name,
            "position": position,
            "tolerance_above": JOINT_TOLERANCE,
            "tolerance_below": JOINT_TOLERANCE,
            "weight": 1.0,
        }
        for name, position in goal.positions.items()
    ]


def _position_constraint(robot: RobotDescription, goal: PoseGoal, tolerance_m: float) -> dict[str, Any]:
    """Keeps the point of the link in a sphere; the link's own origin may go round it with the roll."""
    x, y, z = goal.point_in_base.tolist()
    return {
        "header": {"frame_id": robot.base_frame},
        "link_name": goal.link,
        "target_point_offset": dict(zip("xyz", goal.point_in_link, strict=True)),
        "constraint_region": {
            "primitives": [{"type": _SPHERE, "dimensions": [tolerance_m]}],
            "primitive_poses": [
                {
                    "position": {"x": x, "y": y, "z": z},
                    "orientation": {"x": 0.0, "y": 0.0, "z": 0.0, "w": 1.0},
                }
            ],
        },
        "weight": 1.0,
    }


def _orientation_constraints(
    robot: RobotDescription, goal: PoseGoal, tolerance_rad: float
) -> list[dict[str, Any]]:
    """Returns alternatives that together allow every turn about the free axis, and no other.

    MoveIt has one tolerance per axis of the link. A free axis along the link's x or z is one of them. (About y it would
    free half a turn only: y is the middle one of its three angles.) Any other axis is allowed in turns so close that
    their tolerances meet.
    """
    axis = goal.free_axis_in_link
    tolerances = [tolerance_rad] * 3
    turns = [0.0]
    if axis is not None and max(abs(axis[0]), abs(axis[2])) >= _ALONG:
        tolerances[0 if abs(axis[0]) >= _ALONG else 2] = math.pi
    elif axis is not None:
        # A turn by an angle has no component above that angle; a tenth less, because three small turns in sequence
        # are not quite one.
        count = math.ceil(math.pi / (0.9 * tolerance_rad))
        turns = [2.0 * math.pi * index / count for index in range(count)]
    return [
        {
            "header": {"frame_id": robot.base_frame},
            "link_name": goal.link,
            "orientation": dict(zip("xyzw", _turned(goal, turn), strict=True)),
            "absolute_x_axis_tolerance": tolerances[0],
            "absolute_y_axis_tolerance": tolerances[1],
            "absolute_z_axis_tolerance": tolerances[2],
            "parameterization": _XYZ_EULER_ANGLES,
            "weight": 1.0,
        }
        for turn in turns
    ]


def _turned(goal: PoseGoal, turn_rad: float) -> tuple[float, float, float, float]:
    if goal.free_axis_in_link is None or turn_rad == 0.0:
        return goal.pose.quat_xyzw
    return pose_of_motion(turned_about_free_axis(goal, turn_rad)).quat_xyzw


def turned_about_free_axis(goal: PoseGoal, turn_rad: float) -> Float64:
    """Returns the link's 3 x 4 motion in the base frame after a turn about the free axis, through its point."""
    axis = np.array(goal.free_axis_in_link)
    cross = np.array([[0.0, -axis[2], axis[1]], [axis[2], 0.0, -axis[0]], [-axis[1], axis[0], 0.0]])
    turn = np.eye(3) + math.sin(turn_rad) * cross + (1.0 - math.cos(turn_rad)) * cross @ cross
    to_point = np.column_stack([np.eye(3), goal.point_in_link])
    about = composed(to_point, composed(np.column_stack([turn, np.zeros(3)]), inverse(to_point)))
    return composed(goal.link_in_base, about)
