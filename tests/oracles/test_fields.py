# SPDX-License-Identifier: Apache-2.0
"""Fields of voxels and points against brute force over every voxel and point.

Compared: `_core.ObstacleField.distances` with the smallest distance to all boxes or points, computed without
blocks, surfaces or cut-offs. Reference: NumPy over the whole set. Tolerance: points 1e-12 m, rounding of the same
formula in another order. For voxels the reference checks 200 places of each segment and can only be too large, by
half a step of the segment at most; our distance may never be above it.
"""

import numpy as np
import pytest

from lastgate import _core

CUTOFF_M = 0.3


def point_distances(points, ends):
    a, b = ends[:, None, :3], ends[:, None, 3:]
    along = b - a
    length2 = (along**2).sum(-1)
    t = np.clip(((points[None] - a) * along).sum(-1) / np.where(length2 > 1e-18, length2, 1.0), 0.0, 1.0)
    t = np.where(length2 > 1e-18, t, 0.0)
    return np.linalg.norm(points[None] - (a + t[..., None] * along), axis=-1).min(axis=1)


def random_segments(rng, count, extent_m):
    ends = rng.uniform(-extent_m, extent_m, (count, 6))
    ends[:, 3:] = ends[:, :3] + rng.uniform(-0.25, 0.25, (count, 3))
    ends[::3, 3:] = ends[::3, :3]  # spheres
    return ends


CLOUDS = {
    "one point": lambda rng: np.array([[0.1, 0.2, 0.3]]),
    "duplicates": lambda rng: np.repeat(rng.uniform(-1, 1, (20, 3)), 50, axis=0),
    "collinear": lambda rng: np.linspace([-1.0, 0.0, 0.2], [1.0, 0.0, 0.2], 500),
    "coplanar": lambda rng: np.column_stack([rng.uniform(-1, 1, (2000, 2)), np.zeros(2000)]),
    "surface": lambda rng: rng.normal(size=(4000, 3)) * [0.8, 0.8, 0.02],
    "volume": lambda rng: rng.uniform(-1, 1, (3000, 3)),
    "far apart": lambda rng: rng.uniform(-1, 1, (200, 3)) + rng.choice([-50.0, 50.0], (200, 1)),
}


@pytest.mark.parametrize("kind", CLOUDS)
def test_distance_from_points_is_exact_below_the_cutoff(kind):
    rng = np.random.default_rng(20260610)
    points = np.ascontiguousarray(CLOUDS[kind](rng))
    field = _core.ObstacleField.from_points(points)
    ends = random_segments(rng, 1200, 1.4)
    ends[:500, :3] = points[rng.integers(0, len(points), 500)]  # on a point
    ends[:500, 3:] = ends[:500, :3] + rng.uniform(-0.1, 0.1, (500, 3))
    found = field.distances(ends, CUTOFF_M)
    truth = np.concatenate([point_distances(points, part) for part in np.array_split(ends, 60)])
    assert np.abs(found - np.minimum(truth, CUTOFF_M)).max() <= 1e-12
    clear = field.clearances(np.ascontiguousarray(ends[:, :3]))
    at_ends = np.concatenate(
        [point_distances(points, np.hstack([part, part])) for part in np.array_split(ends[:, :3], 60)]
    )
    assert (clear <= at_ends + 1e-12).all()
    print(
        kind,
        "near",
        int((truth < CUTOFF_M).sum()),
        "of",
        len(ends),
        "largest clearance given away",
        float((at_ends - clear).max()),
    )


def box_distances(centres, half_m, ends, samples=200):
    best = np.full(len(ends), np.inf)
    for t in np.linspace(0.0, 1.0, samples):
        place = ends[:, :3] + t * (ends[:, 3:] - ends[:, :3])
        gap = np.maximum(np.abs(centres[None] - place[:, None]) - half_m, 0.0)
        best = np.minimum(best, np.linalg.norm(gap, axis=-1).min(axis=1))
    return best


@pytest.mark.parametrize("outside", ["free", "occupied"])
@pytest.mark.parametrize("unknown", ["free", "occupied"])
@pytest.mark.parametrize("resolution_m", [0.03, 0.05, 0.11])
def test_distance_from_voxels_is_never_above_the_boxes_and_close_to_them(unknown, outside, resolution_m):
    rng = np.random.default_rng(7)
    size = (17, 21, 26)
    occupancy = np.zeros(size, dtype=np.uint8)
    occupancy[rng.uniform(size=size) < 0.01] = 100
    occupancy[rng.uniform(size=size) < 0.01] = 255
    occupancy[:3] = 255
    occupancy[5:11, 5:12, 5:13] = 1  # thick enough to have an inside
    origin = -0.5 * resolution_m * np.array(size[::-1])
    field = _core.ObstacleField.from_voxels(
        occupancy,
        origin=tuple(origin),
        resolution_m=resolution_m,
        unknown_is_free=unknown == "free",
        outside_is_free=outside == "free",
    )
    solid = (occupancy != 0) & ~((occupancy == 255) & (unknown == "free"))
    z, y, x = np.nonzero(solid)
    centres = origin + (np.column_stack([x, y, z]) + 0.5) * resolution_m
    ends = random_segments(rng, 160, 0.6 * resolution_m * 26)
    ends[:60, :3] = centres[rng.integers(0, len(centres), 60)]  # starts inside a solid voxel
    ends[60:90, :3] = (
        np.round((ends[60:90, :3] - origin) / resolution_m) * resolution_m + origin
    )  # on voxel vertices
    found = field.distances(np.ascontiguousarray(ends), CUTOFF_M)
    truth = box_distances(centres, resolution_m / 2, ends)
    if outside == "occupied":
        high = origin + resolution_m * np.array(size[::-1])
        inside = np.minimum(ends.reshape(-1, 2, 3) - origin, high - ends.reshape(-1, 2, 3)).min(axis=(1, 2))
        truth = np.minimum(truth, np.maximum(inside, 0.0))
    truth = np.minimum(truth, CUTOFF_M)
    step_m = np.linalg.norm(ends[:, 3:] - ends[:, :3], axis=1) / 199 / 2
    assert (found <= truth + 1e-12).all()
    assert (truth - found <= step_m + 1e-9).all(), "a false contact: nearer than any box"
    assert (found == 0.0).any()
    assert (found > 0.0).any()


def test_sparse_voxels_agree_with_the_same_grid_written_out():
    rng = np.random.default_rng(3)
    occupancy = np.full((40, 40, 40), 255, dtype=np.uint8)
    free = rng.integers(0, 40, (30000, 3)).astype(np.uint32)
    occupied = rng.integers(0, 40, (300, 3)).astype(np.uint32)
    occupancy[free[:, 2], free[:, 1], free[:, 0]] = 0
    occupancy[occupied[:, 2], occupied[:, 1], occupied[:, 0]] = 1
    ends = random_segments(rng, 2000, 1.2)
    for unknown_is_free in (False, True):
        shape = {
            "origin": (-1.0, -1.0, -1.0),
            "resolution_m": 0.05,
            "unknown_is_free": unknown_is_free,
            "outside_is_free": False,
        }
        dense = _core.ObstacleField.from_voxels(occupancy, **shape)
        sparse = _core.ObstacleField.from_sparse_voxels(occupied, free, size=(40, 40, 40), **shape)
        assert (dense.distances(ends, CUTOFF_M) == sparse.distances(ends, CUTOFF_M)).all()


def test_large_sparse_map_does_not_allocate_its_volume():
    voxel_array = np.random.default_rng(5).integers(0, 512, (20000, 3)).astype(np.uint32)
    none = np.zeros((0, 3), dtype=np.uint32)
    field = _core.ObstacleField.from_sparse_voxels(
        voxel_array,
        none,
        size=(512, 512, 512),
        origin=(-5.0, -5.0, -5.0),
        resolution_m=0.02,
        unknown_is_free=True,
        outside_is_free=True,
    )
    assert field.memory_bytes < 512**3 // 16


@pytest.mark.parametrize(
    "bad",
    [
        lambda: _core.ObstacleField.from_points(np.zeros((0, 3))),
        lambda: _core.ObstacleField.from_points(np.array([[0.0, np.nan, 0.0]])),
        lambda: _core.ObstacleField.from_points(np.array([[1e9, 0.0, 0.0]])),
        lambda: _grid(np.zeros((0, 4, 4), dtype=np.uint8)),
        lambda: _grid(np.zeros((4, 4, 4), dtype=np.uint8), resolution_m=0.0),
        lambda: _grid(np.zeros((4, 4, 4), dtype=np.uint8), resolution_m=float("nan")),
        lambda: _grid(np.zeros((4, 4, 4), dtype=np.uint8), origin=(float("inf"), 0.0, 0.0)),
    ],
)
def test_field_that_says_nothing_about_the_world_is_refused(bad):
    with pytest.raises(ValueError, match=r"."):
        bad()


def _grid(occupancy, *, resolution_m=0.1, origin=(0.0, 0.0, 0.0)):
    return _core.ObstacleField.from_voxels(
        occupancy, origin=origin, resolution_m=resolution_m, unknown_is_free=False, outside_is_free=False
    )
