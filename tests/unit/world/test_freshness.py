# SPDX-License-Identifier: Apache-2.0
"""What is made of several sources is as old as the oldest; a transform is a source."""

import numpy as np
import pytest

from lastgate.contracts import Pose6D, ROSConfigError, ROSPerceptionStale
from lastgate.world import GridLayout, Points, Voxels
from lastgate.world.freshness import (
    StampedTransform,
    oldest_stamp_s,
    points_in_frame,
    require_fresh,
    require_transform,
)
from lastgate.world.octree_leaves import OctreeLeaves
from lastgate.world.rasterise import merge_voxels, rasterise_octree, rasterise_points
from lastgate.world.rigid_motion import composed, moved, require_rigid_motion

LAYOUT = GridLayout(origin_xyz=(0.0, 0.0, 0.0), resolution_m=0.1, size_xyz=(4, 4, 4))
SHIFT = np.array([[1.0, 0, 0, 0.1], [0, 1.0, 0, 0], [0, 0, 1.0, 0]])


def cloud(stamp_s, frame_id=""):
    return Points(xyz=np.array([[0.05, 0.05, 0.05]]), stamp_s=stamp_s, frame_id=frame_id)


def test_grid_of_several_clouds_is_as_old_as_the_oldest():
    assert rasterise_points(LAYOUT, [cloud(10.0), cloud(7.0), cloud(9.0)]).voxels.stamp_s == 7.0


def test_cloud_that_is_sent_again_keeps_its_source_stamp_and_so_becomes_stale():
    grid = rasterise_points(LAYOUT, cloud(10.0)).voxels
    again = Voxels.in_layout(grid.layout, grid.occupancy, stamp_s=grid.stamp_s)
    require_fresh(name="the grid", stamp_s=again.stamp_s, now_s=10.4, age_s_max=0.5)
    with pytest.raises(ROSPerceptionStale, match=r"5\.0000 s old, allowed 0\.0000 to 0\.5000 s"):
        require_fresh(name="the grid", stamp_s=again.stamp_s, now_s=15.0, age_s_max=0.5)


def test_frozen_transform_ages_a_fresh_cloud():
    frozen = StampedTransform.of(SHIFT, parent_frame="", child_frame="odom", stamp_s=3.0)
    placed = points_in_frame(cloud(10.0, "odom"), frozen)
    assert placed.stamp_s == 3.0
    assert placed.frame_id == ""
    with pytest.raises(ROSPerceptionStale):
        require_fresh(name="the cloud", stamp_s=placed.stamp_s, now_s=10.0, age_s_max=0.5)


def test_fresh_transform_does_not_make_an_old_cloud_younger():
    live = StampedTransform.of(SHIFT, parent_frame="", child_frame="odom", stamp_s=10.0)
    assert points_in_frame(cloud(3.0, "odom"), live).stamp_s == 3.0


def test_frozen_transform_ages_a_map():
    frozen = StampedTransform.of(SHIFT, parent_frame="", child_frame="map", stamp_s=3.0)
    octree = OctreeLeaves(
        centres_xyz=np.zeros((1, 3)),
        sizes_m=np.array([0.1]),
        states=np.array([1], dtype=np.uint8),
        stamp_s=10.0,
        frame_id="map",
    )
    assert rasterise_octree(LAYOUT, octree, transform=frozen).voxels.stamp_s == 3.0


def test_fixed_mount_does_not_age_a_cloud():
    mount = StampedTransform.fixed(SHIFT, parent_frame="", child_frame="camera")
    placed = points_in_frame(cloud(10.0, "camera"), mount)
    assert placed.stamp_s == 10.0
    assert placed.xyz.tolist() == pytest.approx(np.array([[0.15, 0.05, 0.05]]))


def test_chain_of_transforms_is_as_old_as_its_oldest_link():
    outer = StampedTransform.of(SHIFT, parent_frame="", child_frame="odom", stamp_s=8.0)
    inner = StampedTransform.of(SHIFT, parent_frame="odom", child_frame="map", stamp_s=2.0)
    fixed = StampedTransform.fixed(SHIFT, parent_frame="map", child_frame="camera")
    chain = outer.after(inner).after(fixed)
    assert (chain.parent_frame, chain.child_frame, chain.stamp_s) == ("", "camera", 2.0)
    assert chain.child_in_parent[:, 3].tolist() == pytest.approx([0.3, 0, 0])


def test_chain_with_a_gap_is_refused():
    outer = StampedTransform.of(SHIFT, parent_frame="", child_frame="odom", stamp_s=8.0)
    with pytest.raises(ROSConfigError, match=r"`map`.*`odom`"):
        outer.after(StampedTransform.of(SHIFT, parent_frame="map", child_frame="camera", stamp_s=8.0))


def test_inverse_undoes_the_transform_and_keeps_its_stamp():
    transform = StampedTransform.of(
        Pose6D(xyz=(1, 2, 3), quat_xyzw=(0, 0, 0.6, 0.8)), parent_frame="", child_frame="odom", stamp_s=8.0
    )
    back = transform.inverted()
    assert np.allclose(composed(back.child_in_parent, transform.child_in_parent), np.eye(3, 4), atol=1e-15)
    assert (back.parent_frame, back.child_frame, back.stamp_s) == ("odom", "", 8.0)


@pytest.mark.parametrize("frame", ["odom", "Base", " "])
def test_cloud_in_another_frame_is_refused_without_a_transform(frame):
    with pytest.raises(ROSConfigError, match=rf"clouds\[1\] is in frame `{frame}`"):
        rasterise_points(LAYOUT, [cloud(1.0), cloud(1.0, frame)])


def test_transform_between_other_frames_is_refused():
    other = StampedTransform.of(SHIFT, parent_frame="", child_frame="map", stamp_s=3.0)
    with pytest.raises(ROSConfigError, match=r"`odom`.*`map`"):
        points_in_frame(cloud(1.0, "odom"), other)


def test_bare_matrix_is_refused_because_it_has_no_stamp():
    with pytest.raises(ROSConfigError, match="with its own stamp"):
        require_transform(SHIFT, into="", from_frame="odom", what="the cloud")


def test_transform_into_its_own_frame_is_refused():
    with pytest.raises(ROSConfigError, match="places nothing"):
        StampedTransform.of(SHIFT, parent_frame="map", child_frame="map", stamp_s=1.0)


@pytest.mark.parametrize("stamp_s", [float("nan"), float("inf"), None, "1"])
def test_measured_transform_without_a_finite_stamp_is_refused(stamp_s):
    with pytest.raises(ROSConfigError, match="stamp_s"):
        StampedTransform.of(SHIFT, parent_frame="", child_frame="map", stamp_s=stamp_s)


@pytest.mark.parametrize(
    ("matrix", "sentence"),
    [
        (np.eye(3), "shape"),
        (np.full((3, 4), np.nan), "finite"),
        (np.diag([2.0, 1, 1, 1]), "not a rotation"),
        (np.diag([-1.0, 1, 1, 1]), "mirrors"),
        (np.vstack([SHIFT, [0, 0, 1.0, 1.0]]), "last row"),
        ("here", "Pose6D"),
        ([[1, 0], [0, 1, 2]], "Pose6D"),
        (np.hstack([np.eye(3), [[2e6], [0], [0]]]), "at most"),
    ],
)
def test_pose_that_does_more_than_turn_and_shift_is_refused(matrix, sentence):
    with pytest.raises(ROSConfigError, match=sentence):
        require_rigid_motion(matrix, name="camera")


def test_pose_of_a_schema_and_its_matrix_move_points_alike():
    pose = Pose6D(xyz=(1, 2, 3), quat_xyzw=(0, 0, 0.6, 0.8))
    matrix = np.vstack([require_rigid_motion(pose, name="pose"), [0, 0, 0, 1]])
    points = np.array([[1.0, 0, 0], [0, 0, 1]])
    # A turn by 2 atan2(0.6, 0.8) around z: cos 0.28, sin 0.96.
    assert moved(points, require_rigid_motion(matrix, name="pose")) == pytest.approx(
        np.array([[1.28, 2.96, 3], [1, 2, 4]])
    )


@pytest.mark.parametrize("now_s", [9.9, float("nan")])
def test_stamp_from_the_future_or_a_clock_that_is_no_number_is_refused(now_s):
    with pytest.raises((ROSPerceptionStale, ROSConfigError)):
        require_fresh(name="the grid", stamp_s=10.0, now_s=now_s, age_s_max=0.5)


def test_no_stamp_at_all_is_refused():
    with pytest.raises(ROSConfigError, match="no stamps"):
        oldest_stamp_s([])
    with pytest.raises(ROSConfigError, match=r"stamps_s\[1\]"):
        oldest_stamp_s([1.0, float("nan")])


def test_merged_grids_are_occupied_if_one_says_so_and_as_old_as_the_oldest():
    first = Voxels.in_layout(
        LAYOUT, np.full(LAYOUT.shape, 255, np.uint8), stamp_s=5.0, unknown="free", outside="free"
    )
    voxel_array = np.full(LAYOUT.shape, 255, np.uint8)
    voxel_array[0, 0, :3] = 0, 9, 0
    other = np.zeros(LAYOUT.shape, np.uint8)
    other[0, 0, 2] = 1
    merged = merge_voxels([first, Voxels.in_layout(LAYOUT, voxel_array, stamp_s=4.0)])
    assert merged.occupancy[0, 0].tolist() == [0, 1, 0, 255]
    assert (merged.stamp_s, merged.unknown, merged.outside) == (4.0, "occupied", "occupied")
    merged = merge_voxels([merged, Voxels.in_layout(LAYOUT, other, stamp_s=6.0)])
    assert merged.occupancy[0, 0].tolist() == [0, 1, 1, 0]


def test_grids_with_other_voxels_are_not_merged():
    other = GridLayout(origin_xyz=(0.01, 0.0, 0.0), resolution_m=0.1, size_xyz=(4, 4, 4))
    grids = [
        Voxels.in_layout(layout, np.zeros((4, 4, 4), np.uint8), stamp_s=0.0) for layout in (LAYOUT, other)
    ]
    with pytest.raises(ROSConfigError, match=r"grids\[1\]"):
        merge_voxels(grids)
    with pytest.raises(ROSConfigError, match="no grids"):
        merge_voxels([])
    with pytest.raises(ROSConfigError, match="no clouds"):
        rasterise_points(LAYOUT, [])
