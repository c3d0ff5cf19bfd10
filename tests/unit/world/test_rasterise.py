# SPDX-License-Identifier: Apache-2.0
"""Points and leaves into voxels, on cases a human can check on paper."""

import itertools

import numpy as np
import pytest

from lastgate.contracts import ROSConfigError
from lastgate.world import GridLayout, Points, Voxels
from lastgate.world.freshness import StampedTransform
from lastgate.world.octree_leaves import OctreeLeaves
from lastgate.world.rasterise import rasterise_octree, rasterise_points

TWO = GridLayout(origin_xyz=(0.0, 0.0, 0.0), resolution_m=0.1, size_xyz=(2, 2, 2))
FOUR = GridLayout(origin_xyz=(0.0, 0.0, 0.0), resolution_m=0.25, size_xyz=(4, 4, 4))


def points(*xyz):
    return Points(xyz=np.array(xyz, dtype=np.float64).reshape(-1, 3), stamp_s=0.0)


def octree(*centre_size_state, frame_id="", tiled_xyz=None):
    return OctreeLeaves(
        centres_xyz=np.array([centre for centre, _, _ in centre_size_state], dtype=np.float64).reshape(-1, 3),
        sizes_m=np.array([size for _, size, _ in centre_size_state], dtype=np.float64),
        states=np.array([state for _, _, state in centre_size_state], dtype=np.uint8),
        stamp_s=0.0,
        frame_id=frame_id,
        tiled_xyz=tiled_xyz,
    )


def occupied(voxels):
    """Returns the occupied voxels as (x, y, z) indices."""
    return {(int(x), int(y), int(z)) for z, y, x in np.argwhere(voxels.is_occupied)}


def test_point_inside_a_voxel_marks_that_voxel_alone():
    assert occupied(rasterise_points(FOUR, points([0.3, 0.6, 0.9])).voxels) == {(1, 2, 3)}


def test_point_on_a_face_an_edge_or_a_corner_marks_every_voxel_it_touches():
    assert occupied(rasterise_points(FOUR, points([0.5, 0.1, 0.1])).voxels) == {(1, 0, 0), (2, 0, 0)}
    on_edge = {(1, 1, 0), (2, 1, 0), (1, 2, 0), (2, 2, 0)}
    assert occupied(rasterise_points(FOUR, points([0.5, 0.5, 0.1])).voxels) == on_edge
    on_vertex = set(itertools.product((1, 2), repeat=3))
    assert occupied(rasterise_points(FOUR, points([0.5, 0.5, 0.5])).voxels) == on_vertex


def test_point_on_a_boundary_that_binary_numbers_cannot_hold_marks_both_voxels():
    # 0.1 + 0.2 is 0.30000000000000004, on the other side of 3 * 0.1 or not; both voxels must know.
    layout = GridLayout(origin_xyz=(0.0, 0.0, 0.0), resolution_m=0.1, size_xyz=(10, 1, 1))
    for boundary in range(1, 10):
        for value in (
            boundary * 0.1,
            boundary / 10,
            np.nextafter(boundary * 0.1, 0),
            np.nextafter(boundary * 0.1, 9),
        ):
            marked = occupied(rasterise_points(layout, points([value, 0.05, 0.05])).voxels)
            assert marked == {(boundary - 1, 0, 0), (boundary, 0, 0)}, value


def test_point_a_micrometre_from_a_face_marks_one_voxel():
    assert occupied(rasterise_points(FOUR, points([0.5 - 1e-6, 0.1, 0.1])).voxels) == {(1, 0, 0)}


def test_point_outside_is_counted_and_one_on_the_outer_face_is_inside():
    result = rasterise_points(FOUR, points([1.0, 0.1, 0.1], [1.001, 0.1, 0.1], [-5.0, 0, 0]))
    assert occupied(result.voxels) == {(3, 0, 0)}
    assert result.outside_count == 2


def test_voxels_without_points_are_unknown_unless_the_caller_says_free():
    assert rasterise_points(FOUR, points([0.1, 0.1, 0.1])).voxels.is_unknown.sum() == 63
    assert rasterise_points(FOUR, points([0.1, 0.1, 0.1]), elsewhere="free").voxels.is_free.sum() == 63
    with pytest.raises(ROSConfigError, match="elsewhere"):
        rasterise_points(FOUR, points([0.1, 0.1, 0.1]), elsewhere="occupied")


def test_no_points_said_aloud_leave_a_grid_unknown():
    assert rasterise_points(FOUR, Points.none(stamp_s=0.0)).voxels.is_unknown.all()


def test_radius_marks_every_voxel_the_sphere_touches_and_no_other():
    # From the centre of voxel 1 the next face is 0.125 away, the next edge 0.177, the next corner 0.217.
    centre = [0.375, 0.375, 0.375]
    for radius_m, count in ((0.12, 1), (0.125, 7), (0.17, 7), (0.18, 19), (0.21, 19), (0.22, 27)):
        assert len(occupied(rasterise_points(FOUR, points(centre), radius_m=radius_m).voxels)) == count, (
            radius_m
        )


@pytest.mark.parametrize("radius_m", [-0.1, float("nan"), None])
def test_radius_that_is_no_length_is_refused(radius_m):
    with pytest.raises(ROSConfigError, match="radius_m"):
        rasterise_points(FOUR, points([0.1, 0.1, 0.1]), radius_m=radius_m)


@pytest.mark.parametrize("seed", range(3))
def test_every_point_of_a_random_cloud_lies_in_a_marked_voxel(seed):
    rng = np.random.default_rng(seed)
    layout = GridLayout(origin_xyz=(-1.0, -2.0, 0.5), resolution_m=0.07, size_xyz=(20, 30, 15))
    xyz = rng.uniform(layout.origin_xyz, layout.maximum_xyz, size=(20_000, 3))
    result = rasterise_points(layout, Points(xyz=xyz, stamp_s=0.0))
    x, y, z = np.floor((xyz - layout.origin_xyz) / layout.resolution_m).astype(int).T
    assert result.voxels.is_occupied[z, y, x].all()
    assert result.outside_count == 0
    assert result.voxels.is_occupied.sum() == len({*zip(x.tolist(), y.tolist(), z.tolist(), strict=True)})


@pytest.mark.parametrize(("origin", "move"), [((0.0, 0.0, 0.0), 0.0), ((1.0, 1.0, 1.0), 1.0)])
def test_octree_voxel_inside_one_voxel_marks_that_voxel_alone(origin, move):
    layout = GridLayout(origin_xyz=origin, resolution_m=0.1, size_xyz=(2, 2, 2))
    shift = np.eye(3, 4)
    shift[:, 3] = move
    transform = StampedTransform.fixed(shift, parent_frame="", child_frame="map")
    small = octree(((0.05, 0.05, 0.05), 0.05, 1), frame_id="map")
    assert occupied(rasterise_octree(layout, small, transform=transform).voxels) == {(0, 0, 0)}


@pytest.mark.parametrize("move", [0.0, 1.0])
def test_octree_voxel_that_is_one_voxel_marks_that_voxel_alone_when_touching_does_not_count(move):
    layout = GridLayout(origin_xyz=(move, move, move), resolution_m=0.1, size_xyz=(2, 2, 2))
    same = octree(((0.05 + move, 0.05 + move, 0.05 + move), 0.1, 1))
    assert occupied(rasterise_octree(layout, same, touching="free").voxels) == {(0, 0, 0)}
    assert len(occupied(rasterise_octree(layout, same).voxels)) == 8


def test_empty_tree_is_unknown_all_through_unless_the_caller_says_free():
    assert rasterise_octree(TWO, octree()).voxels.is_unknown.all()
    assert rasterise_octree(TWO, octree(), elsewhere="free").voxels.is_free.all()


def test_leaf_turned_by_45_degrees_marks_what_its_edge_reaches_and_not_the_corners_of_its_box():
    c = np.sqrt(0.5)
    turn = np.array([[c, -c, 0, 0.5], [c, c, 0, 0.5], [0, 0, 1, 0.125]])
    transform = StampedTransform.fixed(turn, parent_frame="", child_frame="map")
    # Edge 0.5: half a diagonal is 0.3536, so it reaches voxels 0 and 3 along the axes but not at the corners.
    result = rasterise_octree(
        FOUR, octree(((0, 0, 0), 0.5, 1), frame_id="map"), transform=transform, touching="free"
    )
    layer = {(x, y) for x, y, z in occupied(result.voxels) if z == 0}
    vertices = {(0, 0), (0, 3), (3, 0), (3, 3)}
    assert layer == set(itertools.product(range(4), repeat=2)) - vertices


def test_free_leaf_frees_only_voxels_that_lie_entirely_in_it():
    result = rasterise_octree(FOUR, octree(((0.3, 0.3, 0.3), 0.5, 0)))
    # From 0.05 to 0.55: only voxel 1 (0.25 to 0.5) is inside; voxel 0 and voxel 2 are not.
    assert {tuple(voxel) for voxel in np.argwhere(result.voxels.is_free)} == {(1, 1, 1)}


def test_voxel_half_in_unknown_space_is_unknown_in_a_tiled_map():
    tiled = octree(((0.3, 0.5, 0.5), 0.2, 255), tiled_xyz=((0.0, 0.0, 0.0), (0.9, 1.0, 1.0)))
    voxels = rasterise_octree(FOUR, tiled).voxels
    # The unknown leaf reaches from 0.2 to 0.4 along x and 0.4 to 0.6 along y; the map ends at x = 0.9.
    assert voxels.is_unknown[1:3, 1:3, 0:2].all()
    assert voxels.is_unknown[:, :, 3].all()
    assert voxels.is_free.sum() == 64 - 8 - 16


def test_grid_turned_onto_itself_by_90_degrees_keeps_every_state():
    rng = np.random.default_rng(5)
    occupancy = rng.choice(np.array([0, 1, 255], np.uint8), size=(4, 4, 4))
    source = Voxels.in_layout(
        GridLayout(origin_xyz=(-0.5, -0.5, 0.0), resolution_m=0.25, size_xyz=(4, 4, 4), frame_id="map"),
        occupancy,
        stamp_s=0.0,
    )
    turn = np.array([[0.0, -1, 0, 0], [1, 0, 0, 0], [0, 0, 1, 0]])
    target = GridLayout(origin_xyz=(-0.5, -0.5, 0.0), resolution_m=0.25, size_xyz=(4, 4, 4))
    transform = StampedTransform.fixed(turn, parent_frame="", child_frame="map")
    turned = rasterise_octree(
        target, OctreeLeaves.of_voxels(source), transform=transform, touching="free"
    ).voxels
    # (x, y) goes to (-y, x): the array's y axis becomes x reversed.
    assert np.array_equal(turned.occupancy, occupancy.transpose(0, 2, 1)[:, :, ::-1])


def test_map_in_another_frame_is_refused_without_a_transform():
    with pytest.raises(ROSConfigError, match="the map is in frame `map`"):
        rasterise_octree(TWO, octree(((0, 0, 0), 0.1, 1), frame_id="map"))


def test_leaf_that_cannot_be_in_metres_is_refused():
    with pytest.raises(ROSConfigError, match="in metres"):
        rasterise_octree(TWO, octree(((0, 0, 0), 1e-6, 1)))


def test_occupied_leaves_outside_the_grid_are_counted():
    result = rasterise_octree(
        TWO, octree(((0.05, 0.05, 0.05), 0.05, 1), ((5, 5, 5), 0.05, 1), ((9, 9, 9), 0.05, 0))
    )
    assert result.outside_count == 1


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"sizes_m": np.array([0.0])}, r"sizes_m\[0\]"),
        ({"sizes_m": np.array([np.nan])}, r"sizes_m\[0\]"),
        ({"sizes_m": np.array([np.inf])}, r"sizes_m\[0\]"),
        ({"sizes_m": np.array([0.1, 0.1])}, "as many"),
        ({"states": np.array([2], np.uint8)}, "states"),
        ({"states": np.array([1], np.int64)}, "states"),
        ({"centres_xyz": np.array([[np.nan, 0, 0]])}, r"centres_xyz\[0\]"),
        ({"stamp_s": float("nan")}, "stamp_s"),
        ({"tiled_xyz": ((0.0, 0, 0), (1.0, 1.0, 0.0))}, "empty box"),
    ],
)
def test_leaves_that_say_nothing_are_refused(change, sentence):
    fields = {
        "centres_xyz": np.zeros((1, 3)),
        "sizes_m": np.array([0.1]),
        "states": np.array([1], np.uint8),
        "stamp_s": 0.0,
    }
    with pytest.raises(ROSConfigError, match=sentence):
        OctreeLeaves(**(fields | change))


@pytest.mark.parametrize("word", ["ignored", None])
def test_touching_takes_two_words_only(word):
    with pytest.raises(ROSConfigError, match="touching"):
        rasterise_octree(TWO, octree(), touching=word)
