# SPDX-License-Identifier: Apache-2.0
"""MoveGroup goals, evaluated as MoveIt evaluates them.

Compared: what the constraints allow with what a gaze allows: any roll about the camera's axis, nothing else. The
checker below is written after MoveIt's own words: the turn from the wanted to the actual orientation, as three angles
about x, y and z in sequence, each within its tolerance; the point of the link in the sphere. Tolerance: that of the
constraints.
"""

import math

import numpy as np
import pytest

import lastgate as lg
from lastgate.planning.skills import build_joint_goal, build_look_at_goal, find_camera, move_group_goal
from lastgate.planning.skills.move_group import ORIENTATION_TOLERANCE_RAD, turned_about_free_axis
from lastgate.world.rigid_motion import composed, motion_of_xyz_rpy, rotation_of_quaternion
from unit.planning.skills.test_camera import with_sensor

EYE, TARGET = (0.3, 0.1, 0.6), (0.5, 0.0, 0.2)
MOUNTS = {
    "identity": [0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
    "shifted": [0.05, 0.0, 0.0, 0.0, 0.0, 0.0],
    "pitched": [0.05, 0.0, 0.0, 0.0, math.pi / 2, 0.0],
    "rolled": [0.0, 0.05, 0.02, math.pi / 2, 0.0, 0.0],
    "oblique": [0.04, -0.02, 0.05, 0.3, -0.5, 0.9],
}


def allows(goal, link_in_base):
    return any(
        all(_inside(c, link_in_base) for c in one["position_constraints"])
        and all(_is_turned(c, link_in_base) for c in one["orientation_constraints"])
        for one in goal["request"]["goal_constraints"]
    )


def _inside(constraint, link_in_base):
    offset = [constraint["target_point_offset"][axis] for axis in "xyz"]
    (sphere,), (pose,) = (
        constraint["constraint_region"]["primitives"],
        constraint["constraint_region"]["primitive_poses"],
    )
    centre = [pose["position"][axis] for axis in "xyz"]
    return math.dist(link_in_base[:, :3] @ offset + link_in_base[:, 3], centre) <= sphere["dimensions"][0]


def _is_turned(constraint, link_in_base):
    wanted = rotation_of_quaternion(tuple(constraint["orientation"][axis] for axis in "xyzw"))
    turn = wanted.T @ link_in_base[:, :3]
    about_y = math.asin(min(1.0, max(-1.0, turn[0, 2])))
    about_x, about_z = math.atan2(-turn[1, 2], turn[2, 2]), math.atan2(-turn[0, 1], turn[0, 0])
    angles = {"x": about_x, "y": about_y, "z": about_z}
    return all(abs(angle) <= constraint[f"absolute_{axis}_axis_tolerance"] for axis, angle in angles.items())


@pytest.fixture(params=MOUNTS)
def aimed(request, panda):
    robot = with_sensor(panda, origin_xyz_rpy=MOUNTS[request.param])
    pose = build_look_at_goal(robot, "wrist", eye_xyz=EYE, target_xyz=TARGET)
    return find_camera(robot, "wrist"), pose, move_group_goal(robot, pose, group_name="panda_arm")


def test_every_roll_about_the_camera_axis_is_allowed(aimed):
    mounted, pose, goal = aimed
    for turn in np.linspace(-math.pi, math.pi, 181):
        rolled = turned_about_free_axis(pose, float(turn))
        camera = composed(rolled, mounted.optical_in_link)
        assert camera[:, 3] == pytest.approx(EYE, abs=1e-9)
        assert allows(goal, rolled), f"roll {turn:.3f}"


def test_what_is_allowed_looks_at_the_target(aimed):
    mounted, pose, goal = aimed
    rng = np.random.default_rng(3)
    allowed = 0
    for _ in range(800):
        tilt = motion_of_xyz_rpy((0.0, 0.0, 0.0, *rng.normal(0.0, 0.25, 3)))
        rolled = composed(turned_about_free_axis(pose, float(rng.uniform(-math.pi, math.pi))), tilt)
        camera = composed(rolled, mounted.optical_in_link)
        if allows(goal, rolled):
            allowed += 1
            view = np.subtract(TARGET, EYE) / math.dist(TARGET, EYE)
            off = math.acos(min(1.0, float(camera[:, 2] @ view)))
            assert off <= math.sqrt(3.0) * ORIENTATION_TOLERANCE_RAD + 1e-9
    assert 10 < allowed < 600


def test_gaze_turned_away_is_not_allowed(aimed):
    _, pose, goal = aimed
    across = np.linalg.svd(np.array([pose.free_axis_in_link]))[2][1]
    for angle in (0.3, 1.0, 2.0, math.pi):
        c, s, k = math.cos(angle), math.sin(angle), across
        cross = np.array([[0, -k[2], k[1]], [k[2], 0, -k[0]], [-k[1], k[0], 0]])
        turn = np.eye(3) * c + s * cross + (1 - c) * np.outer(k, k)
        assert not allows(goal, composed(pose.link_in_base, np.column_stack([turn, np.zeros(3)])))


def test_w17_identity_mount_is_a_sphere_and_a_free_z(panda):
    robot = with_sensor(panda)
    pose = build_look_at_goal(robot, "wrist", eye_xyz=EYE, target_xyz=TARGET)
    goal = move_group_goal(robot, pose, group_name="panda_arm")
    (one,) = goal["request"]["goal_constraints"]
    assert one["position_constraints"][0]["constraint_region"]["primitives"][0]["type"] == 2
    assert one["orientation_constraints"][0]["absolute_z_axis_tolerance"] == math.pi
    assert one["orientation_constraints"][0]["absolute_x_axis_tolerance"] == ORIENTATION_TOLERANCE_RAD


def test_w18_pitched_mount_frees_x_of_the_link_not_z(panda):
    robot = with_sensor(panda, origin_xyz_rpy=MOUNTS["pitched"])
    pose = build_look_at_goal(robot, "wrist", eye_xyz=EYE, target_xyz=TARGET)
    (one,) = move_group_goal(robot, pose, group_name="arm")["request"]["goal_constraints"]
    assert one["orientation_constraints"][0]["absolute_x_axis_tolerance"] == math.pi
    assert one["orientation_constraints"][0]["absolute_z_axis_tolerance"] == ORIENTATION_TOLERANCE_RAD


def test_every_goal_is_planned_only(panda, aimed):
    joints = move_group_goal(panda, build_joint_goal(panda, {"panda_joint1": 0.5}), group_name="panda_arm")
    assert joints["planning_options"] == {"plan_only": True}
    assert joints["request"]["goal_constraints"][0]["joint_constraints"][0]["position"] == 0.5
    assert aimed[2]["planning_options"] == {"plan_only": True}


@pytest.mark.parametrize(
    "changes", [{"group_name": ""}, {"position_tolerance_m": 0.0}, {"orientation_tolerance_rad": math.nan}]
)
def test_goal_that_moveit_would_read_as_anything_is_refused(panda, changes):
    with pytest.raises(lg.ROSConfigError):
        move_group_goal(
            panda, build_joint_goal(panda, {"panda_joint1": 0.5}), **{"group_name": "arm"} | changes
        )
