# SPDX-License-Identifier: Apache-2.0
import math

import numpy as np
import pytest

import lastgate as lg
from lastgate.planning.skills import build_joint_goal, build_look_at_goal, build_pose_goal, find_camera
from lastgate.world.rigid_motion import composed
from unit.planning.skills.test_camera import with_sensor

EYE, TARGET = (0.3, 0.0, 0.6), (0.5, 0.0, 0.2)


def test_w17_identity_mount_looks_along_z_with_free_roll_about_it(panda):
    goal = build_look_at_goal(with_sensor(panda), "wrist", eye_xyz=EYE, target_xyz=TARGET)
    view = np.subtract(TARGET, EYE) / math.dist(TARGET, EYE)
    assert goal.link_in_base[:, 2] == pytest.approx(view, abs=1e-12)
    assert goal.point_in_base == pytest.approx(EYE, abs=1e-12)
    assert goal.free_axis_in_link == (0.0, 0.0, 1.0)


def test_w18_pose_of_the_link_carries_the_camera_to_its_gaze(panda):
    robot = with_sensor(panda, origin_xyz_rpy=[0.05, 0.0, 0.0, 0.0, math.pi / 2, 0.0])
    goal = build_look_at_goal(robot, "wrist", eye_xyz=EYE, target_xyz=TARGET)
    mounted = find_camera(robot, "wrist")
    camera = composed(goal.link_in_base, mounted.optical_in_link)
    assert camera == pytest.approx(mounted.gaze_in(eye_xyz=EYE, target_xyz=TARGET), abs=1e-12)
    # The camera's own axis is free, which is x of this link and not z.
    assert goal.free_axis_in_link == pytest.approx((1.0, 0.0, 0.0), abs=1e-12)


@pytest.mark.parametrize(
    "target", [(math.nan, 0, 0), (True, 0.0, 0.0), (0.5, 0.0), "abc", None, (math.inf, 0, 0)]
)
def test_target_that_is_no_place_is_refused(panda, target):
    with pytest.raises(lg.ROSConfigError, match="target_xyz"):
        build_look_at_goal(panda, "wrist", eye_xyz=EYE, target_xyz=target)


def test_target_at_the_eye_is_refused(panda):
    with pytest.raises(lg.ROSConfigError, match="from what it looks at"):
        build_look_at_goal(panda, "wrist", eye_xyz=EYE, target_xyz=EYE)


def test_joint_goal_at_its_limit_is_taken_and_one_ulp_beyond_is_refused(panda):
    upper = 2.8973
    assert build_joint_goal(panda, {"panda_joint1": upper}).positions == {"panda_joint1": upper}
    with pytest.raises(lg.ROSConfigError, match="panda_joint1"):
        build_joint_goal(panda, {"panda_joint1": math.nextafter(upper, math.inf)})


@pytest.mark.parametrize(
    "positions", [{}, [], {"elbow": 0.0}, {"panda_joint1": math.nan}, {"panda_joint1": True}]
)
def test_joint_goal_that_makes_no_sense_is_refused(panda, positions):
    with pytest.raises(lg.ROSConfigError):
        build_joint_goal(panda, positions)


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"link": "panda_arm"}, "no link `panda_arm`"),
        ({"pose": lg.Pose6D(xyz=(0, 0, 0), frame_id="map")}, "frame `map`"),
        ({"pose": (0, 0, 0)}, "expected a Pose6D"),
        ({"free_axis_in_link": (0.0, 0.0, 2.0)}, "length 1"),
        ({"free_axis_in_link": (0.0, 0.0, 0.0)}, "length 1"),
        ({"point_in_link": (math.nan, 0, 0)}, "point_in_link"),
    ],
)
def test_pose_goal_that_makes_no_sense_is_refused(panda, changes, why):
    arguments = {"link": "panda_hand", "pose": lg.Pose6D(xyz=(0.4, 0.0, 0.4))} | changes
    with pytest.raises(lg.ROSConfigError, match=why):
        build_pose_goal(panda, arguments.pop("link"), arguments.pop("pose"), **arguments)
