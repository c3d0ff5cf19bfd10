# SPDX-License-Identifier: Apache-2.0
"""No leaf of a map is lost on the way into a grid.

Compared: the volume of every leaf, sampled densely with its faces and vertices, with the voxels that are
    marked.
References: the samples themselves, and coal's distance between two boxes for the claim that no more is
    marked.
Tolerance: none for loss under `touching="occupied"`; a billionth of a voxel under `touching="free"`.
The reject twin is what others do: look up the map at the centres of voxels.
"""

import coal
import numpy as np
import pytest

from lastgate.world import GridLayout
from lastgate.world.freshness import StampedTransform
from lastgate.world.octree_leaves import OctreeLeaves
from lastgate.world.rasterise import rasterise_octree
from lastgate.world.rigid_motion import inverse, moved

VOXEL_M = 0.05
LAYOUT = GridLayout(origin_xyz=(-1.2, -1.2, -1.2), resolution_m=VOXEL_M, size_xyz=(48, 48, 48))
YAWS_DEG = [0.0, 15.0, 30.0, 45.0]
RATIOS = [0.4, 1.0, 2.5]
SAMPLES = np.stack(np.meshgrid(*[np.linspace(-0.5, 0.5, 9)] * 3), axis=-1).reshape(-1, 3)


def turned(yaw_deg: float) -> np.ndarray:
    c, s = np.cos(np.radians(yaw_deg)), np.sin(np.radians(yaw_deg))
    # Off the lattice of the grid, so that no angle is a lucky one.
    return np.array([[c, -s, 0, 0.013], [s, c, 0, -0.007], [0, 0, 1, 0.021]])


def turned_anyhow(seed: int) -> np.ndarray:
    rotation, _ = np.linalg.qr(np.random.default_rng(seed).normal(size=(3, 3)))
    return np.column_stack([rotation * np.sign(np.linalg.det(rotation)), (0.013, -0.007, 0.021)])


def leaves(ratio: float, *, count: int = 400) -> OctreeLeaves:
    """Returns occupied leaves on the lattice of a map, apart from each other."""
    size = ratio * VOXEL_M
    rng = np.random.default_rng(11)
    keys = np.unique(rng.integers(-int(0.6 / size), int(0.6 / size), size=(count, 3)), axis=0)
    return OctreeLeaves(
        centres_xyz=(keys + 0.5) * size,
        sizes_m=np.full(len(keys), size),
        states=np.ones(len(keys), np.uint8),
        stamp_s=0.0,
        frame_id="map",
    )


def uncovered_leaves(marked: np.ndarray, octree: OctreeLeaves, motion: np.ndarray) -> tuple[int, int]:
    """Returns how many leaves have a sample outside all marked voxels, and how many have every one there."""
    samples = moved(
        (octree.centres_xyz[:, None] + SAMPLES * octree.sizes_m[:, None, None]).reshape(-1, 3), motion
    )
    x, y, z = np.floor((samples - LAYOUT.origin_xyz) / VOXEL_M).astype(int).T
    covered = marked[z, y, x].reshape(len(octree), -1)
    return int((~covered.all(axis=1)).sum()), int((~covered.any(axis=1)).sum())


def marked_by_centre(octree: OctreeLeaves, motion: np.ndarray) -> np.ndarray:
    """The wrong way: a voxel is occupied if its centre lies in a leaf."""
    size = octree.sizes_m[0]
    centres = moved(LAYOUT.centres_xyz(np.arange(LAYOUT.voxel_count)), inverse(motion))
    looked_up = {tuple(key) for key in np.round(octree.centres_xyz / size - 0.5).astype(int).tolist()}
    keys = np.floor(centres / size).astype(int).tolist()
    return np.array([tuple(key) in looked_up for key in keys]).reshape(LAYOUT.shape)


MOTIONS = [pytest.param(turned(yaw), id=f"yaw {yaw:g}") for yaw in YAWS_DEG] + [
    pytest.param(turned_anyhow(seed), id=f"rotation {seed}") for seed in range(4)
]


@pytest.mark.parametrize("ratio", RATIOS)
@pytest.mark.parametrize("motion", MOTIONS)
@pytest.mark.parametrize("touching", ["occupied", "free"])
def test_no_leaf_loses_any_of_its_volume_at_any_rotation_and_ratio(motion, ratio, touching):
    octree = leaves(ratio)
    transform = StampedTransform.fixed(motion, parent_frame="", child_frame="map")
    result = rasterise_octree(LAYOUT, octree, transform=transform, touching=touching)
    assert uncovered_leaves(result.voxels.is_occupied, octree, motion) == (0, 0)
    assert result.outside_count == 0


@pytest.mark.parametrize("ratio", RATIOS)
@pytest.mark.parametrize("yaw_deg", [0.0, 90.0])
def test_no_leaf_of_an_aligned_map_loses_any_of_its_volume(ratio, yaw_deg):
    motion = np.round(turned(yaw_deg), 9)
    motion[:, 3] = 0.0
    octree = leaves(ratio)
    transform = StampedTransform.fixed(motion, parent_frame="", child_frame="map")
    result = rasterise_octree(LAYOUT, octree, transform=transform)
    assert uncovered_leaves(result.voxels.is_occupied, octree, motion) == (0, 0)


@pytest.mark.parametrize(
    ("yaw_deg", "ratio"), [(0.0, 0.4), (15.0, 0.4), (45.0, 0.4), (15.0, 1.0), (30.0, 1.0), (45.0, 1.0)]
)
def test_looking_up_voxel_centres_loses_whole_leaves_on_the_same_map(yaw_deg, ratio):
    octree = leaves(ratio)
    _, lost = uncovered_leaves(marked_by_centre(octree, turned(yaw_deg)), octree, turned(yaw_deg))
    assert lost > 0


@pytest.mark.parametrize("yaw_deg", YAWS_DEG)
def test_looking_up_voxel_centres_loses_parts_of_large_leaves_on_the_same_map(yaw_deg):
    octree = leaves(2.5)
    cut, _ = uncovered_leaves(marked_by_centre(octree, turned(yaw_deg)), octree, turned(yaw_deg))
    assert cut > 0


def test_coal_measures_the_gap_between_two_boxes_it_is_asked_about():
    assert gap_m(1.0, np.eye(3, 4), np.array([2.0, 0, 0]), 1.0) == pytest.approx(1.0)


def gap_m(size: float, motion: np.ndarray, voxel_centre: np.ndarray, voxel_m: float) -> float:
    result = coal.DistanceResult()
    request = coal.DistanceRequest()
    coal.distance(
        coal.Box(size, size, size),
        coal.Transform3s(motion[:, :3], motion[:, 3]),
        coal.Box(voxel_m, voxel_m, voxel_m),
        coal.Transform3s(np.eye(3), voxel_centre),
        request,
        result,
    )
    return result.min_distance


@pytest.mark.parametrize("ratio", RATIOS)
@pytest.mark.parametrize("seed", range(3))
def test_voxels_marked_for_one_leaf_are_those_coal_finds_in_contact_with_it(seed, ratio):
    # GJK stops within a micrometre; voxels nearer to the limit than that are left to the sampled test.
    undecided_m = 2e-6
    layout = GridLayout(origin_xyz=(-0.2, -0.2, -0.2), resolution_m=VOXEL_M, size_xyz=(8, 8, 8))
    motion = turned_anyhow(100 + seed)
    leaf = OctreeLeaves(
        centres_xyz=np.zeros((1, 3)),
        sizes_m=np.array([ratio * VOXEL_M]),
        states=np.ones(1, np.uint8),
        stamp_s=0.0,
        frame_id="map",
    )
    transform = StampedTransform.fixed(motion, parent_frame="", child_frame="map")
    marked = rasterise_octree(layout, leaf, transform=transform).voxels.is_occupied.reshape(-1)
    centres = layout.centres_xyz(np.arange(layout.voxel_count))
    gaps = np.array([gap_m(ratio * VOXEL_M, motion, centre, VOXEL_M) for centre in centres])
    assert marked[gaps < -undecided_m].all()
    assert not marked[gaps > undecided_m].any()
    assert (gaps < -undecided_m).any()
    assert (gaps > undecided_m).any()


def test_more_leaves_than_one_batch_mark_the_same_voxels(monkeypatch):
    octree, motion = leaves(2.5), turned(30.0)
    transform = StampedTransform.fixed(motion, parent_frame="", child_frame="map")
    whole = rasterise_octree(LAYOUT, octree, transform=transform).voxels.occupancy
    monkeypatch.setattr("lastgate.world.voxel_ranges.PAIRS_PER_BATCH", 500)
    assert np.array_equal(rasterise_octree(LAYOUT, octree, transform=transform).voxels.occupancy, whole)


if __name__ == "__main__":
    print("leaves with lost volume / leaves lost altogether, of all; by overlap, and by voxel centres")
    for ratio in RATIOS:
        octree = leaves(ratio)
        for name, motion in [(f"yaw {yaw:4.0f}", turned(yaw)) for yaw in YAWS_DEG] + [
            ("random 3-D", turned_anyhow(0))
        ]:
            transform = StampedTransform.fixed(motion, parent_frame="", child_frame="map")
            by_overlap = rasterise_octree(LAYOUT, octree, transform=transform).voxels.is_occupied
            ours = uncovered_leaves(by_overlap, octree, motion)
            theirs = uncovered_leaves(marked_by_centre(octree, motion), octree, motion)
            print(
                f"ratio {ratio:3.1f}  {name:10}  {len(octree):4} leaves   overlap {ours}   centres {theirs}"
            )
