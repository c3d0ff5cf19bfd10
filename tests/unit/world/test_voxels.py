# SPDX-License-Identifier: Apache-2.0
"""A grid says what it knows, and refuses what would make it say something else."""

import numpy as np
import pytest

from lastgate.contracts import ROSConfigError
from lastgate.world import GridLayout, Voxels
from lastgate.world.grid_layout import VOXELS_MAX

NOT_FINITE = [float("nan"), float("inf"), float("-inf")]


def grid(**changes):
    fields = {
        "occupancy": np.zeros((2, 3, 4), dtype=np.uint8),
        "origin_xyz": (0.0, 0.0, 0.0),
        "resolution_m": 0.1,
        "stamp_s": 1.0,
    }
    return Voxels(**(fields | changes))


def test_grid_with_default_words_counts_unknown_and_outside_as_occupied():
    voxels = grid()
    assert (voxels.unknown, voxels.outside, voxels.frame_id) == ("occupied", "occupied", "")


def test_grid_distinguishes_free_occupied_and_unknown():
    voxel_array = np.array([[[0, 1, 7, 254, 255]]], dtype=np.uint8)
    voxels = grid(occupancy=voxel_array)
    assert voxels.is_free.tolist() == [[[True, False, False, False, False]]]
    assert voxels.is_occupied.tolist() == [[[False, True, True, True, False]]]
    assert voxels.is_unknown.tolist() == [[[False, False, False, False, True]]]
    assert voxels.blocks.tolist() == [[[False, True, True, True, True]]]


def test_unknown_declared_free_does_not_block_but_stays_unknown():
    voxels = grid(occupancy=np.full((1, 1, 1), 255, dtype=np.uint8), unknown="free")
    assert not voxels.blocks.any()
    assert voxels.is_unknown.all()
    assert not voxels.is_free.any()


def test_later_change_of_the_callers_array_does_not_reach_the_grid():
    voxel_array = np.ones((1, 1, 1), dtype=np.uint8)
    voxels = grid(occupancy=voxel_array)
    voxel_array[:] = 0
    assert voxels.is_occupied.all()
    with pytest.raises(ValueError, match="read-only"):
        voxels.occupancy[0, 0, 0] = 0


def test_message_is_read_with_x_fastest():
    flat = bytearray(24)
    flat[1] = 1  # x = 1
    flat[4] = 2  # y = 1
    flat[12] = 3  # z = 1
    voxels = Voxels.from_message(
        flat, size_x=4, size_y=3, size_z=2, origin_xyz=(0.0, 0.0, 0.0), resolution_m=0.1, stamp_s=0.0
    )
    assert voxels.occupancy.shape == (2, 3, 4)
    assert (voxels.occupancy[0, 0, 1], voxels.occupancy[0, 1, 0], voxels.occupancy[1, 0, 0]) == (1, 2, 3)
    assert voxels.message_occupancy().tobytes() == bytes(flat)


@pytest.mark.parametrize(
    "as_type", [bytes, bytearray, memoryview, list, lambda voxel_array: np.frombuffer(voxel_array, np.uint8)]
)
def test_message_voxels_of_every_kind_are_taken(as_type):
    voxels = Voxels.from_message(
        as_type(bytes([0, 1, 255])),
        size_x=3,
        size_y=1,
        size_z=1,
        origin_xyz=(0, 0, 0),
        resolution_m=1,
        stamp_s=0,
    )
    assert voxels.message_occupancy().tolist() == [0, 1, 255]


@pytest.mark.parametrize("length", [0, 23, 25])
def test_message_of_another_length_than_its_sizes_is_refused(length):
    with pytest.raises(ROSConfigError, match=rf"holds {length} voxels.*4 \* 3 \* 2 = 24"):
        Voxels.from_message(
            bytes(length),
            size_x=4,
            size_y=3,
            size_z=2,
            origin_xyz=(0.0, 0.0, 0.0),
            resolution_m=0.1,
            stamp_s=0.0,
        )


@pytest.mark.parametrize(
    "cells", [[256], [-1], [0.5], "x", None, np.zeros(1, np.int8), np.zeros((1, 1), np.uint8)]
)
def test_message_voxels_that_are_not_bytes_are_refused(voxel_array):
    with pytest.raises(ROSConfigError, match="occupancy"):
        Voxels.from_message(
            voxel_array, size_x=1, size_y=1, size_z=1, origin_xyz=(0, 0, 0), resolution_m=1, stamp_s=0
        )


@pytest.mark.parametrize("shape", [(0, 0, 0), (0, 3, 4), (2, 0, 4), (2, 3, 0)])
def test_grid_without_voxels_is_refused(shape):
    with pytest.raises(ROSConfigError, match="without voxels"):
        grid(occupancy=np.zeros(shape, dtype=np.uint8))


@pytest.mark.parametrize("size", ["size_x", "size_y", "size_z"])
@pytest.mark.parametrize("value", [0, -1, True, 1.0, None])
def test_message_with_a_size_that_is_no_count_is_refused_by_name(size, value):
    sizes = {"size_x": 1, "size_y": 1, "size_z": 1} | {size: value}
    with pytest.raises(ROSConfigError, match=size):
        Voxels.from_message(b"\0", **sizes, origin_xyz=(0.0, 0.0, 0.0), resolution_m=0.1, stamp_s=0.0)


@pytest.mark.parametrize("dtype", [np.int8, np.bool_, np.float64, np.uint16])
def test_grid_of_another_dtype_is_refused_with_the_sentence_that_fixes_it(dtype):
    with pytest.raises(ROSConfigError, match=r"expected uint8.*astype\(np\.uint8\)"):
        grid(occupancy=np.zeros((1, 1, 1), dtype=dtype))


def test_strided_grid_is_refused_because_its_axes_may_be_swapped():
    with pytest.raises(ROSConfigError, match="ascontiguousarray"):
        grid(occupancy=np.zeros((2, 3, 4), dtype=np.uint8).T)


@pytest.mark.parametrize("occupancy", [b"\0", [[[0]]], None])
def test_grid_that_is_no_array_is_refused(occupancy):
    with pytest.raises(ROSConfigError, match="from_message"):
        grid(occupancy=occupancy)


@pytest.mark.parametrize("poison", [*NOT_FINITE, None, "0", True])
@pytest.mark.parametrize("field", ["resolution_m", "stamp_s"])
def test_number_that_is_not_finite_is_refused_by_name(field, poison):
    with pytest.raises(ROSConfigError, match=field):
        grid(**{field: poison})


@pytest.mark.parametrize("resolution_m", [0.0, -0.1])
def test_resolution_that_is_not_above_zero_is_refused(resolution_m):
    with pytest.raises(ROSConfigError, match="resolution_m"):
        grid(resolution_m=resolution_m)


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("poison", [*NOT_FINITE, 1e7])
def test_origin_that_is_not_finite_or_not_in_metres_is_refused_by_axis(axis, poison):
    origin = [0.0, 0.0, 0.0]
    origin[axis] = poison
    with pytest.raises(ROSConfigError, match=rf"origin_xyz\[{'xyz'[axis]}\]"):
        grid(origin_xyz=origin)


@pytest.mark.parametrize("field", ["unknown", "outside"])
@pytest.mark.parametrize("word", ["Free", "", None, "ignored"])
def test_word_that_is_neither_occupied_nor_free_is_refused(field, word):
    with pytest.raises(ROSConfigError, match=field):
        grid(**{field: word})


def test_frame_that_is_no_text_is_refused():
    with pytest.raises(ROSConfigError, match="frame_id"):
        grid(frame_id=None)


def test_layout_of_a_grid_says_where_its_voxels_are():
    layout = grid(origin_xyz=(1.0, 2.0, 3.0)).layout
    assert layout.size_xyz == (4, 3, 2)
    assert layout.maximum_xyz == pytest.approx((1.4, 2.3, 3.2))
    assert layout.centres_xyz(np.array([0, 1, 4, 12])).tolist() == pytest.approx(
        np.array([[1.05, 2.05, 3.05], [1.15, 2.05, 3.05], [1.05, 2.15, 3.05], [1.05, 2.05, 3.15]])
    )


def test_layout_around_a_box_contains_it_and_has_no_empty_layer():
    layout = GridLayout.around(minimum_xyz=(0.0, 0.0, 0.0), maximum_xyz=(1.2, 0.25, 0.1), resolution_m=0.1)
    assert layout.size_xyz == (12, 3, 1)


@pytest.mark.parametrize("maximum", [(0.0, 1.0, 1.0), (1.0, -1.0, 1.0)])
def test_layout_around_an_empty_box_is_refused(maximum):
    with pytest.raises(ROSConfigError, match="empty along"):
        GridLayout.around(minimum_xyz=(0.0, 0.0, 0.0), maximum_xyz=maximum, resolution_m=0.1)


def test_layout_at_the_bound_is_taken_and_one_voxel_more_is_refused():
    at_bound = GridLayout(origin_xyz=(0, 0, 0), resolution_m=0.01, size_xyz=(512, 512, 512))
    assert at_bound.voxel_count == VOXELS_MAX
    with pytest.raises(ROSConfigError, match="at most"):
        GridLayout(origin_xyz=(0, 0, 0), resolution_m=0.01, size_xyz=(513, 512, 512))


@pytest.mark.parametrize("size", [(1, 1), 3, "abc", (1, 1, 1, 1)])
def test_layout_needs_three_counts(size):
    with pytest.raises(ROSConfigError, match="size"):
        GridLayout(origin_xyz=(0, 0, 0), resolution_m=0.01, size_xyz=size)
