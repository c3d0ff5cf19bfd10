# SPDX-License-Identifier: Apache-2.0
"""OctoMap's binary trees, written by OctoMap itself.

Compared: the leaves we read with the leaves `octomap-python` lists for the tree it wrote.
"""

import re

import numpy as np
import octomap
import pytest

from lastgate.contracts import ROSConfigError
from lastgate.world import GridLayout
from lastgate.world.octomap_file import load_octomap
from lastgate.world.rasterise import rasterise_octree
from lastgate.world.voxels import FREE, OCCUPIED, UNKNOWN

HEADER = b"# Octomap OcTree binary file\n# comment\nid OcTree\nsize %d\nres %s\ndata\n"


def written(path, tree):
    tree.updateInnerOccupancy()
    assert tree.writeBinary(str(path).encode())
    return path


def loaded(path, **options):
    return load_octomap(path, stamp_s=1.0, frame_id="map", **options)


def file_of(tmp_path, body, *, nodes, res=b"0.1"):
    path = tmp_path / "tree.bt"
    path.write_bytes(HEADER % (nodes, res) + body)
    return path


def leaves(octree, resolution_m):
    """Returns (doubled key of the centre, width in keys, occupied) of every leaf the file has."""
    known = octree.states != UNKNOWN
    keys = np.round(octree.centres_xyz[known] / resolution_m * 2).astype(int)
    widths = np.round(octree.sizes_m[known] / resolution_m).astype(int)
    return {
        (*key, int(width), int(state))
        for key, width, state in zip(keys.tolist(), widths, octree.states[known], strict=True)
    }


def leaves_of_octomap(tree, resolution_m):
    return {
        (
            *np.round(leaf.getCoordinate() / resolution_m * 2).astype(int).tolist(),
            round(leaf.getSize() / resolution_m),
            int(tree.isNodeOccupied(leaf)),
        )
        for leaf in tree.begin_leafs()
    }


@pytest.mark.parametrize("resolution_m", [0.05, 0.1, 0.25])
def test_leaves_of_a_scanned_room_are_those_octomap_lists(tmp_path, resolution_m):
    tree = octomap.OcTree(resolution_m)
    rng = np.random.default_rng(1)
    # Walls of a room around the sensor, so that there is much free space, and pruned leaves of many sizes.
    scan = rng.uniform(-2, 2, size=(1500, 3))
    scan[np.arange(1500), rng.integers(0, 3, 1500)] = rng.choice([-2.0, 2.0], 1500)
    tree.insertPointCloud(scan, np.array([0.1, 0.2, 0.3]))
    octree = loaded(written(tmp_path / "room.bt", tree))
    assert leaves(octree, resolution_m) == leaves_of_octomap(tree, resolution_m)
    assert (octree.frame_id, octree.stamp_s) == ("map", 1.0)
    if resolution_m < 0.25:
        assert len(set(np.round(octree.sizes_m[octree.states != UNKNOWN], 6))) > 1


def test_every_octant_is_placed_where_octomap_places_it(tmp_path):
    for x in (-1.25, 0.05, 3.15):
        for y in (-0.35, 2.05):
            for z in (-4.45, 0.15):
                tree = octomap.OcTree(0.1)
                tree.updateNode(np.array([x, y, z]), True)
                octree = loaded(written(tmp_path / "one.bt", tree))
                ((centre,), (size,)) = octree.of_state(OCCUPIED)
                assert centre == pytest.approx((x, y, z))
                assert size == pytest.approx(0.1)


def test_leaves_and_unknown_leaves_fill_the_tree_without_gap_or_overlap(tmp_path):
    tree = octomap.OcTree(0.1)
    for x in range(5):
        tree.updateNode(np.array([0.05 + 0.1 * x, 0.05, 0.05]), x % 2 == 0)
    octree = loaded(written(tmp_path / "row.bt", tree))
    assert (octree.sizes_m**3).sum() == pytest.approx(6553.6**3)
    assert octree.tiled_xyz == ((-3276.8,) * 3, (3276.8,) * 3)
    assert {state: int((octree.states == state).sum()) for state in (FREE, OCCUPIED)} == {
        FREE: 2,
        OCCUPIED: 3,
    }


def test_eight_equal_leaves_become_one_of_twice_the_size(tmp_path):
    tree = octomap.OcTree(0.1)
    for x in (0.05, 0.15):
        for y in (0.05, 0.15):
            for z in (0.05, 0.15):
                tree.updateNode(np.array([x, y, z]), True)
    ((centre,), (size,)) = loaded(written(tmp_path / "pruned.bt", tree)).of_state(OCCUPIED)
    assert (centre, size) == (pytest.approx((0.1, 0.1, 0.1)), pytest.approx(0.2))


def test_map_file_becomes_a_grid_that_is_free_only_where_the_map_is(tmp_path):
    tree = octomap.OcTree(0.1)
    for x in range(4):
        for y in range(4):
            for z in range(4):
                tree.updateNode(np.array([x, y, z]) * 0.1 + 0.05, bool(x == 3))
    octree = load_octomap(written(tmp_path / "map.bt", tree), stamp_s=1.0, frame_id="")
    layout = GridLayout(origin_xyz=(-0.1, 0.0, 0.0), resolution_m=0.1, size_xyz=(6, 4, 4))
    voxels = rasterise_octree(layout, octree, touching="free").voxels
    assert (voxels.occupancy == np.array([255, 0, 0, 0, 1, 255], np.uint8)).all()
    # Shifted by half a voxel, each voxel straddles two: it is as bad as the worse of them.
    half = GridLayout(origin_xyz=(-0.05, 0.1, 0.1), resolution_m=0.1, size_xyz=(5, 2, 2))
    voxels = rasterise_octree(half, octree, touching="free").voxels
    assert (voxels.occupancy == np.array([255, 0, 0, 1, 1], np.uint8)).all()


def test_tree_without_nodes_is_unknown_all_through(tmp_path):
    path = file_of(tmp_path, b"", nodes=0)
    octree = loaded(path)
    assert octree.states.tolist() == [UNKNOWN]
    path.write_bytes(path.read_bytes() + b"\0")
    with pytest.raises(ROSConfigError, match="no nodes, but there are bytes"):
        loaded(path)


def test_root_without_children_is_one_occupied_leaf_as_it_is_for_octomap(tmp_path):
    path = file_of(tmp_path, b"\0\0", nodes=1)
    tree = octomap.OcTree(0.1)
    assert tree.readBinary(str(path).encode())
    assert [tree.isNodeOccupied(leaf) for leaf in tree.begin_leafs()] == [True]
    octree = loaded(path)
    assert (octree.states.tolist(), octree.sizes_m.tolist()) == ([OCCUPIED], [pytest.approx(6553.6)])


def test_inner_node_without_children_is_refused_not_read_as_free_space(tmp_path):
    loaded(file_of(tmp_path, b"\x03\x00\x01\x00", nodes=3))
    path = file_of(tmp_path, b"\x03\x00\x00\x00", nodes=2)
    with pytest.raises(
        ROSConfigError, match=rf"byte {path.stat().st_size - 2}: a node claims to have children"
    ):
        loaded(path)


def test_every_truncation_of_a_real_file_is_refused_with_a_byte(tmp_path):
    tree = octomap.OcTree(0.1)
    tree.updateNode(np.array([0.05, 0.05, 0.05]), True)
    tree.updateNode(np.array([1.0, -2.0, 0.3]), False)
    path = written(tmp_path / "whole.bt", tree)
    whole = path.read_bytes()
    loaded(path)
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        with pytest.raises(ROSConfigError, match=r"whole\.bt: byte \d+: "):
            loaded(path)


def test_truncated_tree_is_refused_with_the_byte_where_the_file_ends(tmp_path):
    path = file_of(tmp_path, b"\x03\x00\x01", nodes=3)
    end = path.stat().st_size
    with pytest.raises(ROSConfigError, match=rf"byte {end}: the file ends inside the tree"):
        loaded(path)


def test_file_that_goes_on_after_its_tree_is_refused_with_the_byte(tmp_path):
    path = file_of(tmp_path, b"\x01\x00" + b"\x00", nodes=2)
    with pytest.raises(ROSConfigError, match=rf"byte {path.stat().st_size - 1}: the tree is complete"):
        loaded(path)


def test_tree_with_another_node_count_than_its_header_is_refused(tmp_path):
    loaded(file_of(tmp_path, b"\x05\x00", nodes=3))
    with pytest.raises(ROSConfigError, match="more nodes than the 2"):
        loaded(file_of(tmp_path, b"\x05\x00", nodes=2))
    with pytest.raises(ROSConfigError, match="after 3 nodes, its header says 4"):
        loaded(file_of(tmp_path, b"\x05\x00", nodes=4))


def test_tree_of_depth_sixteen_is_read_and_one_deeper_is_refused(tmp_path):
    chain = b"\x03\x00" * 15
    octree = loaded(file_of(tmp_path, chain + b"\x02\x00", nodes=17))
    assert octree.of_state(OCCUPIED)[1].tolist() == [pytest.approx(0.1)]
    path = file_of(tmp_path, chain + b"\x03\x00" + b"\x02\x00", nodes=18)
    with pytest.raises(ROSConfigError, match=rf"byte {path.stat().st_size - 4}: a node at depth 16"):
        loaded(path)


def test_tree_over_the_node_bound_is_refused_before_it_is_read(tmp_path):
    path = file_of(tmp_path, b"\x05\x00", nodes=3)
    loaded(path, nodes_max=3)
    with pytest.raises(ROSConfigError, match="3 nodes, at most 2"):
        loaded(path, nodes_max=2)
    with pytest.raises(ROSConfigError, match="999999999999 nodes, at most"):
        loaded(file_of(tmp_path, b"", nodes=999999999999))


@pytest.mark.parametrize(
    ("before", "after", "sentence"),
    [
        (b"# Octomap OcTree binary file", b"# something else", "byte 0: does not begin"),
        (b"# Octomap OcTree binary file", b"# Octomap OcTree file", "convert_octree"),
        (b"id OcTree", b"id SemanticTree", "byte 39: tree type `SemanticTree`"),
        (b"id OcTree\n", b"", "no `id` line"),
        (b"size 2\n", b"", "no `size` line"),
        (b"size 2", b"size two", "size `two`"),
        (b"size 2", b"size -2", "size `-2`"),
        (b"size 2", b"size 2\nsize 2", "each once"),
        (b"res 0.1", b"res 0", "res `0`"),
        (b"res 0.1", b"res -0.1", "res `-0.1`"),
        (b"res 0.1", b"res nan", "res `nan`"),
        (b"res 0.1", b"res inf", "res `inf`"),
        (b"res 0.1", b"res 0,1", "res `0,1`"),
        (b"res 0.1", b"res 1e9", "res `1e9`"),
        (b"res 0.1\n", b"", "no `res` line"),
        (b"data\n", b"", "no `data` line"),
        (b"# comment", b"resolution 3", "`resolution 3`"),
        (b"# comment", b"\xff\xfe", "is not one of"),
        (b"# comment\n", b"# c\n" * 20000, "no `data` line within 65536"),
    ],
)
def test_header_that_is_not_octomaps_is_refused_with_the_byte(tmp_path, before, after, sentence):
    path = file_of(tmp_path, b"\x01\x00", nodes=2)
    loaded(path)
    content = path.read_bytes()
    assert before in content
    path.write_bytes(content.replace(before, after))
    with pytest.raises(ROSConfigError, match=re.escape(sentence)):
        loaded(path)


def test_file_that_is_not_there_is_refused_by_name(tmp_path):
    with pytest.raises(ROSConfigError, match=r"absent\.bt: cannot be read"):
        loaded(tmp_path / "absent.bt")
    with pytest.raises(ROSConfigError, match="cannot be read"):
        loaded(tmp_path)


def test_damaged_files_are_read_or_refused_and_nothing_else(tmp_path):
    tree = octomap.OcTree(0.1)
    rng = np.random.default_rng(3)
    for xyz in rng.uniform(-1, 1, size=(60, 3)):
        tree.updateNode(xyz, bool(rng.random() < 0.5))
    path = written(tmp_path / "damaged.bt", tree)
    whole = path.read_bytes()
    refused = 0
    for _ in range(300):
        damaged = bytearray(whole)
        for at in rng.integers(0, len(whole), size=rng.integers(1, 4)):
            damaged[at] = rng.integers(0, 256)
        path.write_bytes(damaged)
        try:
            loaded(path)
        except ROSConfigError:
            refused += 1
    assert refused > 200
