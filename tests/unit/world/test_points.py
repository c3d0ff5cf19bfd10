# SPDX-License-Identifier: Apache-2.0
"""A cloud is finite, counted, and never empty by accident."""

import numpy as np
import pytest

from lastgate.contracts import ROSConfigError
from lastgate.world import Points

POISON = [float("nan"), float("inf"), float("-inf")]


@pytest.mark.parametrize(
    "xyz",
    [np.zeros((1, 3)), np.zeros((50, 3)), np.column_stack([np.arange(9.0), np.zeros(9), np.zeros(9)])],
    ids=["single point", "duplicates", "collinear"],
)
def test_degenerate_clouds_keep_every_point(xyz):
    assert np.array_equal(Points(xyz=xyz, stamp_s=0.0).xyz, xyz)


def test_rows_of_numbers_are_a_cloud():
    points = Points(xyz=[[0.0, 1, 2.5], (3.0, 4.0, 5.0)], stamp_s=0.0)
    assert (points.xyz.dtype, points.xyz.tolist()) == (np.float64, [[0.0, 1.0, 2.5], [3.0, 4.0, 5.0]])


def test_hundred_thousand_points_are_taken():
    xyz = np.random.default_rng(0).normal(size=(100_000, 3))
    assert len(Points(xyz=xyz, stamp_s=0.0)) == 100_000


@pytest.mark.parametrize("poison", POISON)
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_point_that_is_not_finite_is_refused_by_its_row(axis, poison):
    xyz = np.zeros((5, 3))
    xyz[3, axis] = poison
    with pytest.raises(ROSConfigError, match=r"xyz\[3\].*1 of 5"):
        Points(xyz=xyz, stamp_s=0.0)


def test_point_in_millimetres_far_beyond_any_robot_is_refused():
    with pytest.raises(ROSConfigError, match="farther"):
        Points(xyz=np.array([[0.0, 0.0, 2e6]]), stamp_s=0.0)


def test_sensor_points_that_are_not_finite_are_dropped_and_counted_when_asked():
    xyz = np.zeros((4, 3), dtype=np.float32)
    xyz[1, 0], xyz[2, 2] = np.nan, np.inf
    points = Points.from_sensor(xyz, stamp_s=0.0, drop_invalid=True)
    assert (len(points), points.dropped_count) == (2, 2)


def test_signalling_nan_of_a_damaged_message_is_dropped_without_a_warning():
    xyz = np.array([0x3F800000] * 5 + [0x7F800001], dtype=np.uint32).view(np.float32).reshape(2, 3)
    points = Points.from_sensor(xyz, stamp_s=0.0, drop_invalid=True)
    assert (points.xyz.tolist(), points.dropped_count) == ([[1.0, 1.0, 1.0]], 1)


def test_sensor_points_that_are_not_finite_are_refused_when_not_asked():
    with pytest.raises(ROSConfigError, match="drop_invalid=True"):
        Points.from_sensor(np.full((4, 3), np.nan, dtype=np.float32), stamp_s=0.0)


def test_sensor_whose_points_are_all_dropped_is_refused_not_taken_for_an_empty_room():
    with pytest.raises(ROSConfigError, match=r"no points \(4 were dropped\)"):
        Points.from_sensor(np.full((4, 3), np.nan, dtype=np.float32), stamp_s=0.0, drop_invalid=True)


def test_empty_cloud_is_refused_and_taken_when_said_aloud():
    with pytest.raises(ROSConfigError, match=r"Points\.none"):
        Points(xyz=np.empty((0, 3)), stamp_s=0.0)
    assert len(Points.none(stamp_s=0.0)) == 0


@pytest.mark.parametrize("word", ["false", "true", 0, 1, None])
def test_switch_of_a_cloud_is_true_or_false_and_nothing_that_python_calls_so(word):
    with pytest.raises(ROSConfigError, match="declared_empty must be True or False"):
        Points(xyz=np.empty((0, 3)), stamp_s=0.0, declared_empty=word)
    with pytest.raises(ROSConfigError, match="drop_invalid must be True or False"):
        Points.from_sensor(np.zeros((1, 3)), stamp_s=0.0, drop_invalid=word)


def test_organised_cloud_of_a_driver_is_flattened_row_by_row():
    image = np.arange(24, dtype=np.float32).reshape(2, 4, 3)
    assert np.array_equal(Points.from_sensor(image, stamp_s=0.0).xyz, np.arange(24.0).reshape(8, 3))


@pytest.mark.parametrize("shape", [(3,), (4, 4), (2, 2, 4), (1, 1, 1, 3), (0,)])
def test_sensor_array_of_another_shape_is_refused(shape):
    with pytest.raises(ROSConfigError, match="expected"):
        Points.from_sensor(np.zeros(shape), stamp_s=0.0)


@pytest.mark.parametrize(
    "dtype", [np.complex128, np.bool_, object, "U3", [("x", float), ("y", float), ("z", float)]]
)
def test_sensor_array_that_is_not_made_of_real_numbers_is_refused(dtype):
    with pytest.raises(ROSConfigError, match="real numbers"):
        Points.from_sensor(np.zeros((2, 3), dtype=dtype), stamp_s=0.0)


@pytest.mark.parametrize(
    ("xyz", "sentence"),
    [
        (np.zeros((2, 3), dtype=np.float32), "astype"),
        (np.zeros((2, 4)), "expected \\(N, 3\\)"),
        (np.zeros(6), "reshape"),
        ([[0.0, 0.0]], "expected \\(N, 3\\)"),
        ([0.0, 0.0, 0.0], "for a single row"),
        ([[0.0, 0.0, 0.0], [0.0]], "rectangle"),
        ([["0", "0", "0"]], "strings"),
        ([[np.float32(0.0)] * 3], "float32"),
        ([[0.0, 0.0, float("nan")]], "not finite"),
        ([], "no points"),
        (None, "asarray"),
    ],
)
def test_array_of_another_kind_is_refused_with_the_sentence_that_fixes_it(xyz, sentence):
    with pytest.raises(ROSConfigError, match=sentence):
        Points(xyz=xyz, stamp_s=0.0)


@pytest.mark.parametrize("stamp_s", [*POISON, None, "now"])
def test_stamp_that_is_not_finite_is_refused(stamp_s):
    with pytest.raises(ROSConfigError, match="stamp_s"):
        Points(xyz=np.zeros((1, 3)), stamp_s=stamp_s)


def test_crop_keeps_the_two_of_five_points_inside_and_both_faces():
    xyz = np.array([[0.0, 0, 0], [1.0, 1.0, 1.0], [1.0 + 1e-12, 0, 0], [0, -9.0, 0], [0, 0, 9.0]])
    cropped = Points(xyz=xyz, stamp_s=3.0, frame_id="map").cropped(
        minimum_xyz=(-1, -1, -1), maximum_xyz=(1, 1, 1)
    )
    assert cropped.xyz.tolist() == [[0.0, 0, 0], [1.0, 1.0, 1.0]]
    assert (cropped.stamp_s, cropped.frame_id) == (3.0, "map")


def test_crop_that_leaves_nothing_is_empty_and_says_so():
    cropped = Points(xyz=np.array([[9.0, 0, 0]]), stamp_s=0.0).cropped(
        minimum_xyz=(0, 0, 0), maximum_xyz=(1, 1, 1)
    )
    assert len(cropped) == 0
    assert cropped.declared_empty


@pytest.mark.parametrize("vertex", [(0, 1, 1), (1, 1, float("nan")), (1, 1), (1, 1, -1)])
def test_crop_to_a_box_that_is_none_is_refused(vertex):
    with pytest.raises(ROSConfigError, match=r"empty along|maximum_xyz"):
        Points(xyz=np.zeros((1, 3)), stamp_s=0.0).cropped(minimum_xyz=(0, 0, 0), maximum_xyz=vertex)


def test_later_change_of_the_callers_array_does_not_reach_the_cloud():
    xyz = np.zeros((1, 3))
    points = Points(xyz=xyz, stamp_s=0.0)
    xyz[:] = 9.0
    assert not points.xyz.any()
    assert not points.xyz.flags.writeable
