# SPDX-License-Identifier: Apache-2.0
"""Gaze: the view axis hits the target, and every degenerate case has its documented answer."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lastgate.contracts import ROSConfigError
from lastgate.planning.approach import compute_gaze_pose, look_at_quat

AXES = {"-z": (0.0, 0.0, -1.0), "+z": (0.0, 0.0, 1.0), "+x": (1.0, 0.0, 0.0)}
UPWARDS = {"-z": (0.0, 1.0, 0.0), "+z": (0.0, -1.0, 0.0), "+x": (0.0, 0.0, 1.0)}
coordinate = st.floats(-10.0, 10.0, allow_nan=False)
place = st.tuples(coordinate, coordinate, coordinate)


def turned(quat_wxyz, vector):
    """Rotates by the quaternion product q v q*, which look_at_quat does not use."""
    w, *xyz = quat_wxyz
    axis = np.array(xyz)
    t = 2.0 * np.cross(axis, vector)
    return np.array(vector) + w * t + np.cross(axis, t)


@pytest.mark.parametrize("view_axis", AXES)
@given(eye=place, target=place, up=place)
def test_w12_view_axis_hits_the_target_from_everywhere(view_axis, eye, target, up):
    quaternion = look_at_quat(eye, target, up=up, view_axis=view_axis)
    assert math.hypot(*quaternion) == pytest.approx(1.0, abs=1e-12)
    assert quaternion[0] >= 0.0
    away = np.array(target) / 2 - np.array(eye) / 2
    largest = np.abs(away).max()
    if largest > 0.0:
        forward = away / largest if largest > 1e-300 else away * 2.0**1000
        forward = forward / np.linalg.norm(forward)
        assert np.linalg.norm(turned(quaternion, AXES[view_axis]) - forward) <= 1e-9


@pytest.mark.parametrize("view_axis", AXES)
def test_up_is_up_in_the_image(view_axis):
    quaternion = look_at_quat((0.0, 0.0, 1.0), (2.0, 1.0, 0.5), view_axis=view_axis)
    upwards = turned(quaternion, UPWARDS[view_axis])
    assert upwards[2] > 0.9
    assert turned(quaternion, np.cross(AXES[view_axis], UPWARDS[view_axis]))[2] == pytest.approx(
        0.0, abs=1e-12
    )


@pytest.mark.parametrize(
    ("view_axis", "answer"), [("-z", (0, 1, 0, 0)), ("+z", (1, 0, 0, 0)), ("+x", (1, 0, 0, 0))]
)
def test_w13_eye_at_the_target_has_a_fixed_answer(view_axis, answer):
    assert look_at_quat((1.0, 2.0, 3.0), (1.0, 2.0, 3.0), view_axis=view_axis) == answer


def test_w14_straight_down_looks_down():
    quaternion = look_at_quat((0.0, 0.0, 1.0), (0.0, 0.0, 0.0), view_axis="+z")
    assert turned(quaternion, (0.0, 0.0, 1.0)) == pytest.approx((0.0, 0.0, -1.0), abs=1e-12)


def test_w15_camera_above_a_table():
    quaternion = look_at_quat((0.2, 0.0, 0.95), (0.65, 0.0, 0.05))
    assert quaternion == pytest.approx((0.68819, 0.16246, -0.16246, -0.68819), abs=1e-5)


def test_w16_gaze_pose_is_where_the_camera_is_and_looks_along_the_diagonal():
    pose = compute_gaze_pose((0.5, -0.2, 1.1), (1.5, -0.2, 0.1))
    x, y, z, w = pose.quat_xyzw
    assert pose.xyz == (0.5, -0.2, 1.1)
    assert pose.frame_id == "map"
    assert turned((w, x, y, z), (0.0, 0.0, 1.0)) == pytest.approx((math.sqrt(0.5), 0.0, -math.sqrt(0.5)))


@pytest.mark.parametrize("view_axis", AXES)
@pytest.mark.parametrize("along", [(0, 1, 0), (0, -1, 0), (1, 0, 0), (0, 0, 1), (0, 0, -1), (0.01, 1, 0)])
@pytest.mark.parametrize("length", [1.0, 2.0, 1e-3, 1e200, 1e-200])
def test_x33_up_along_the_gaze_or_not_of_unit_length_gives_a_unit_quaternion(view_axis, along, length):
    target = np.array(along, dtype=float)
    quaternion = look_at_quat((0.0, 0.0, 0.0), target, up=length * target, view_axis=view_axis)
    assert math.hypot(*quaternion) == pytest.approx(1.0, abs=1e-12)
    assert turned(quaternion, AXES[view_axis]) == pytest.approx(target / np.linalg.norm(target), abs=1e-9)


def test_length_of_up_does_not_matter():
    arguments = ((0.0, 0.0, 0.0), (1.0, 2.0, 0.3))
    short = look_at_quat(*arguments, up=(0.0, 0.3e-4, 1e-4))
    assert look_at_quat(*arguments, up=(0.0, 3.0, 10.0)) == pytest.approx(short, abs=1e-12)


def test_up_without_length_counts_as_parallel():
    arguments = ((0.0, 0.0, 0.0), (1.0, 0.0, 0.0))
    assert look_at_quat(*arguments, up=(0.0, 0.0, 0.0)) == look_at_quat(*arguments, up=(0.0, 1.0, 0.0))


@pytest.mark.parametrize("distance", [1e-320, 1e-300, 1e-160, 1e160, 1e300])
def test_tiny_and_huge_distances_keep_their_direction(distance):
    quaternion = look_at_quat((0.0, 0.0, 0.0), (distance, 0.0, 0.0), view_axis="+x")
    assert quaternion == pytest.approx((1.0, 0.0, 0.0, 0.0), abs=1e-12)


@pytest.mark.parametrize("name", ["eye_xyz", "target_xyz", "up"])
@pytest.mark.parametrize("bad", [math.nan, math.inf, True, "1", None])
def test_what_is_not_a_finite_number_is_refused_by_name(name, bad):
    arguments = {"eye_xyz": [0.0, 0.0, 0.0], "target_xyz": [1.0, 0.0, 0.0], "up": [0.0, 0.0, 1.0]}
    arguments[name][1] = bad
    with pytest.raises(ROSConfigError, match=rf"{name}\[1\]"):
        look_at_quat(**arguments)


def test_axis_that_no_camera_has_is_refused():
    with pytest.raises(ROSConfigError, match="view_axis"):
        look_at_quat((0, 0, 0), (1, 0, 0), view_axis="y")  # type: ignore[arg-type]
    with pytest.raises(ROSConfigError, match="three numbers"):
        look_at_quat((0, 0), (1, 0, 0))
