# SPDX-License-Identifier: Apache-2.0
"""Cases X10-X13 and X16 that concern the world and the volumes: what the nearest peer lets pass, and their twins.

X10 of the 2-D grid is in `tests/unit/contracts/test_world.py`, X23 in `test_state_and_world.py`, X13 at every
rotation and ratio in `tests/unit/world/test_leaf_loss.py`, the lowering half of X16 in
`tests/unit/tools/lowering/test_mjcf_reader.py`.
"""

import numpy as np
import pytest
from fixtures.analytic_robots import (
    NOW_S,
    allowed,
    check,
    code_of,
    gate_of,
    only_violation,
    planar_two_link,
    sliders,
    sphere_on,
)

import lastgate as lg
from lastgate import _core
from lastgate.world import GridLayout
from lastgate.world.freshness import StampedTransform, points_in_frame
from lastgate.world.octree_leaves import OctreeLeaves
from lastgate.world.rasterise import rasterise_octree

# 4 m wide voxels of 10 cm around the post, which reaches 0.3 m up and down and 0.1 m around itself.
SHAPE = (20, 20, 40)
ORIGIN = (-1.0, -1.0, -1.0)


def grid(voxel_array: np.ndarray | None = None, *, stamp_s: float = NOW_S, **fields: object) -> lg.Voxels:
    occupancy = np.zeros(SHAPE, dtype=np.uint8) if voxel_array is None else voxel_array
    return lg.Voxels(occupancy=occupancy, origin_xyz=ORIGIN, resolution_m=0.1, stamp_s=stamp_s, **fields)


def outcome(voxels: lg.Voxels, to: float = 0.3, **fields: object) -> str:
    world = lg.World(voxels=voxels, stamp_s=NOW_S, **fields)
    return code_of(check(gate_of(sliders(0.0)), [[to]], world=world))


# ---- X10: a grid without voxels, or in another frame ---


def test_x10_grid_without_voxels_is_not_a_free_world():
    assert outcome(grid()) == "accepted"
    for shape in ((0, 0, 0), (0, 20, 40), (20, 20, 0)):
        with pytest.raises(lg.ROSConfigError, match="a grid without voxels says nothing about the world"):
            grid(np.zeros(shape, dtype=np.uint8))
    with pytest.raises(ValueError, match="a grid without voxels is not a free world"):
        _core.ObstacleField.from_sparse_voxels(
            np.zeros((0, 3), dtype=np.uint32),
            np.zeros((0, 3), dtype=np.uint32),
            size=(0, 0, 0),
            origin=ORIGIN,
            resolution_m=0.1,
            unknown_is_free=False,
            outside_is_free=False,
        )


@pytest.mark.parametrize(
    ("frame", "expected"), [("", "accepted"), ("base", "accepted"), ("map", "world_unavailable")]
)
def test_x10_grid_in_another_frame_is_unavailable(frame, expected):
    assert outcome(grid(frame_id=frame), frame_id=frame) == expected


def test_x10_grid_in_another_frame_than_its_world_is_refused():
    with pytest.raises(lg.ROSConfigError, match="voxels are in frame `map`, the world is in the base frame"):
        lg.World(voxels=grid(frame_id="map"), stamp_s=NOW_S)


def test_x10_world_that_no_source_filled_is_not_an_empty_one():
    gate = gate_of(sliders(0.0))
    violation = only_violation(check(gate, [[0.3]], world=lg.World(stamp_s=NOW_S)))
    assert violation.code == "world_unavailable"
    assert "the world was not filled" in violation.sentence()
    assert check(gate, [[0.3]], world=lg.World(primitives=[], stamp_s=NOW_S)).accepted
    with pytest.raises(lg.ROSConfigError, match="cannot be used"):
        gate.check_batch(np.array([[0.0]]), world=lg.World(stamp_s=NOW_S))


def test_x10_cloud_without_points_must_say_that_it_means_it():
    gate = gate_of(sliders(0.0))
    with pytest.raises(lg.ROSConfigError, match="the cloud has no points"):
        lg.World(points=np.empty((0, 3)), stamp_s=NOW_S)
    meant = lg.Points.none(stamp_s=NOW_S)
    assert check(gate, [[0.3]], world=lg.World(points=meant, stamp_s=NOW_S)).accepted
    # A sensor that saw nothing long ago sees nothing now, and that is another thing.
    old = lg.Points.none(stamp_s=NOW_S - 9.0)
    assert code_of(check(gate, [[0.3]], world=lg.World(points=old, stamp_s=NOW_S))) == "world_unavailable"


# ---- X11: unknown voxels where the arm must go ---


def with_unknown_ahead() -> np.ndarray:
    voxel_array = np.zeros(SHAPE, dtype=np.uint8)
    voxel_array[:, :, 13:] = 255  # from x = 0.3 on
    return voxel_array


def test_x11_unknown_voxels_block_unless_the_snapshot_says_otherwise():
    assert outcome(grid(with_unknown_ahead()), to=0.15) == "accepted"
    assert outcome(grid(with_unknown_ahead()), to=0.3) == "world_collision"
    assert outcome(grid(with_unknown_ahead(), unknown="free"), to=0.3) == "accepted"


def test_x11_space_beyond_the_grid_blocks_unless_the_snapshot_says_otherwise():
    assert outcome(grid(), to=2.85) == "accepted"
    assert outcome(grid(), to=2.95) == "world_collision"
    assert outcome(grid(outside="free"), to=2.95) == "accepted"


# ---- X12: what is sent again keeps the age of its source ---


def test_x12_grid_sent_again_with_an_old_sensor_stamp_is_unavailable():
    assert outcome(grid(stamp_s=NOW_S - 0.4)) == "accepted"
    assert outcome(grid(stamp_s=NOW_S - 0.6)) == "voxel_unavailable"
    assert outcome(grid(stamp_s=NOW_S + 0.1)) == "voxel_unavailable"


def test_x12_cloud_placed_by_a_frozen_transform_is_unavailable():
    gate = gate_of(sliders(0.0))
    cloud = lg.Points(xyz=np.array([[2.0, 0.0, 0.0]]), stamp_s=NOW_S, frame_id="odom")
    for stamp_s, expected in ((NOW_S, "accepted"), (NOW_S - 9.0, "world_unavailable")):
        transform = StampedTransform.of(np.eye(4)[:3], parent_frame="", child_frame="odom", stamp_s=stamp_s)
        world = lg.World(points=points_in_frame(cloud, transform), stamp_s=NOW_S)
        assert code_of(check(gate, [[0.3]], world=world)) == expected


def test_x12_grid_placed_by_a_frozen_transform_is_unavailable():
    gate = gate_of(sliders(0.0))
    octree = OctreeLeaves(
        centres_xyz=np.array([[2.0, 0.0, 0.0]]),
        sizes_m=np.array([0.1]),
        states=np.array([1], dtype=np.uint8),
        stamp_s=NOW_S,
        frame_id="map",
    )
    layout = GridLayout(origin_xyz=ORIGIN, resolution_m=0.1, size_xyz=(40, 20, 20))
    for stamp_s, expected in ((NOW_S, "accepted"), (NOW_S - 9.0, "voxel_unavailable")):
        transform = StampedTransform.of(np.eye(4)[:3], parent_frame="", child_frame="map", stamp_s=stamp_s)
        voxels = rasterise_octree(layout, octree, transform=transform, elsewhere="free").voxels
        assert code_of(check(gate, [[0.3]], world=lg.World(voxels=voxels, stamp_s=NOW_S))) == expected


# ---- X13: a map turned against the grid ---


@pytest.mark.parametrize("yaw_deg", [0.0, 15.0, 30.0, 45.0])
def test_x13_every_leaf_of_a_turned_map_stops_the_post(yaw_deg):
    yaw = np.radians(yaw_deg)
    turn = np.array(
        [[np.cos(yaw), -np.sin(yaw), 0.0, 0.0], [np.sin(yaw), np.cos(yaw), 0.0, 0.0], [0.0, 0.0, 1.0, 0.0]]
    )
    layout = GridLayout(origin_xyz=(-0.5, -0.6, -0.6), resolution_m=0.1, size_xyz=(30, 12, 12))
    gate = gate_of(sliders(0.0), step_s=1.0)
    transform = StampedTransform.fixed(turn, parent_frame="", child_frame="map")
    for x_m in np.arange(0.5, 2.3, 0.09):
        in_map = turn[:, :3].T @ np.array([x_m, 0.0, 0.0])
        leaf = (np.floor(in_map / 0.04) + 0.5) * 0.04  # the leaf that holds this place of the post's way
        octree = OctreeLeaves(
            centres_xyz=leaf[None],
            sizes_m=np.array([0.04]),
            states=np.array([1], dtype=np.uint8),
            stamp_s=NOW_S,
            frame_id="map",
        )
        voxels = rasterise_octree(layout, octree, transform=transform, elsewhere="free").voxels
        world = lg.World(voxels=voxels, stamp_s=NOW_S)
        assert code_of(check(gate, [[2.3]], world=world)) == "world_collision"
        assert check(gate, [[max(x_m - 0.4, 0.0)]], world=world).accepted


# ---- X16: a description whose links have meshes and whose pads are boxes ---


def test_x16_robot_with_volumes_on_its_pads_only_is_refused_by_the_links_it_leaves_out():
    manifest = planar_two_link()
    pad = {"name": "pad_mount", "joint_type": "fixed", "parent_link": "forearm", "child_link": "pad"}
    with_pad = manifest["collision_geometry"] + [sphere_on("pad", 0.01)]
    covered = manifest | {"joints": [*manifest["joints"], pad], "collision_geometry": with_pad}
    assert gate_of(covered).link_names[-1] == "pad"
    pads_only = covered | {"collision_geometry": [sphere_on("pad", 0.01)]}
    with pytest.raises(lg.ROSConfigError, match="`upper_arm`, `forearm`"):
        gate_of(pads_only)


def test_x16_robot_whose_pairs_are_all_waved_through_is_refused():
    with pytest.raises(lg.ROSConfigError, match="all of its pairs are allowed, so there is nothing to check"):
        gate_of(sliders(0.0, 0.5) | {"allowed_collision_pairs": [allowed("post0", "post1", "srdf-disabled")]})
    assert gate_of(sliders(0.0, 0.5)).checked_pairs == (("post0", "post1"),)
