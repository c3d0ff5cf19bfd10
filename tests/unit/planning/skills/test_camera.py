# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest

import lastgate as lg
from lastgate.planning.skills import find_camera

AXES = {
    "+x": (1, 0, 0),
    "-x": (-1, 0, 0),
    "+y": (0, 1, 0),
    "-y": (0, -1, 0),
    "+z": (0, 0, 1),
    "-z": (0, 0, -1),
}


def with_sensor(panda, **changes):
    sensor = {"name": "wrist", "kind": "camera", "link": "panda_hand", **changes}
    return lg.RobotDescription.model_validate(
        panda.model_dump() | {"sensors": [sensor], "convex_pieces": None, "lowering": {}}
    )


def test_w19_unknown_camera_is_refused_with_the_sensors_that_there_are(panda):
    with pytest.raises(
        lg.ROSConfigError, match=r"has no sensor `head`; its sensors: `wrist` \(depth_camera\)"
    ):
        find_camera(panda, "head")


def test_sensor_that_does_not_look_is_refused(panda):
    robot = with_sensor(panda, kind="force_torque")
    with pytest.raises(lg.ROSConfigError, match="cannot look with the force_torque sensor `wrist`"):
        find_camera(robot, "wrist")


@pytest.mark.parametrize("axis", AXES)
def test_optical_frame_looks_along_the_declared_axis_and_is_a_rotation(panda, axis):
    mounted = find_camera(with_sensor(panda, optical_axis=axis), "wrist")
    assert mounted.axis_in_link.tolist() == list(AXES[axis])
    rotation = mounted.optical_in_link[:, :3]
    assert np.array_equal(rotation @ rotation.T, np.eye(3))
    assert np.linalg.det(rotation) == pytest.approx(1.0)


def test_mount_turns_the_axis_and_places_the_eye(panda):
    robot = with_sensor(panda, origin_xyz_rpy=[0.05, 0.0, 0.1, 0.0, np.pi / 2, 0.0])
    mounted = find_camera(robot, "wrist")
    assert mounted.eye_in_link.tolist() == [0.05, 0.0, 0.1]
    assert mounted.axis_in_link == pytest.approx([1.0, 0.0, 0.0])


def test_eye_at_the_target_is_refused_and_one_a_centimetre_away_looks(panda):
    mounted = find_camera(panda, "wrist")
    with pytest.raises(lg.ROSConfigError, match=r"would be 0\.0000 m from what it looks at"):
        mounted.gaze_in(eye_xyz=(0.5, 0.0, 0.3), target_xyz=(0.5, 0.0, 0.3))
    gaze = mounted.gaze_in(eye_xyz=(0.5, 0.0, 0.3), target_xyz=(0.5, 0.0, 0.29))
    assert gaze[:, 2] == pytest.approx([0.0, 0.0, -1.0])
