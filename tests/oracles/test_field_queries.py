# SPDX-License-Identifier: Apache-2.0
"""A hundred thousand spheres and ten thousand capsules against points and voxels; `make test-queries` asks ten times.

Compared: `CollisionEnvironment` (spheres) and `_core.ObstacleField.distances` (capsules) with brute force over all
points and all voxels. Reference: SciPy's k-d tree for spheres and points, and distances over the whole set in NumPy,
with `numpy_distances.segment_box` for capsules and voxels. Nothing of it is shared with the core.
A missed collision is a contact that we do not report: none is allowed, at any distance. A false alarm is a contact that
is not there: how far from its obstacle the worst one is, is printed; it may be a nanometre, where a grid may
be a millimetre off its boxes.
"""

import os

import numpy as np
import pytest
from scipy.spatial import cKDTree

from lastgate import _core
from lastgate.planning.collision import CollisionEnvironment
from lastgate.world import Points, Voxels
from oracles.numpy_distances import point_segment, segment_box

SHARE = int(os.environ.get("LASTGATE_QUERY_SHARE", "1"))
BOUNDS = ((-2.0,) * 3, (2.0,) * 3)
FALSE_ALARM_M_MAX = 1e-9

CLOUDS = {
    "one point": lambda rng: np.array([[0.1, 0.2, 0.3]]),
    "duplicates": lambda rng: np.repeat(rng.uniform(-1, 1, (40, 3)), 50, axis=0),
    "collinear": lambda rng: np.linspace([-1.0, 0.0, 0.2], [1.0, 0.0, 0.2], 2000),
    "surface": lambda rng: rng.normal(size=(100_000, 3)) * [0.8, 0.8, 0.02],
    # Sixteenths are exact in any precision: queries then start in the very middle of what they ask about.
    "lattice": lambda rng: rng.integers(-16, 16, (5000, 3)) * 0.0625,
}
SOLID = 1


def random_spheres(rng, count, *, near, pitch_m):
    """Returns spheres all over and beyond the bounds, a third around obstacles, a tenth on multiples of the pitch."""
    spheres = np.column_stack([rng.uniform(-2.6, 2.6, (count, 3)), rng.uniform(0.0, 0.2, count)])
    third = count // 3
    spheres[:third, :3] = near[rng.integers(0, len(near), third)] + rng.normal(0.0, 0.1, (third, 3))
    tenth = count // 10
    spheres[:tenth, :3] = np.round(spheres[:tenth, :3] / pitch_m) * pitch_m
    spheres[::17, 3] = 0.0
    return np.ascontiguousarray(spheres)


def report(name, found, truth):
    """Requires no missed collision and no far false alarm among signed distances, and prints what there was."""
    missed_collisions = int(((truth <= 0.0) & ~(found <= 0.0)).sum())
    alarms = (truth > 0.0) & (found <= 0.0)
    worst_m = float(truth[alarms].max(initial=0.0))
    print(
        f"{name}: {len(truth)} queries, {int((truth <= 0.0).sum())} contacts, {missed_collisions} missed, "
        f"{int(alarms.sum())} false alarms, the farthest {worst_m:.1e} m from contact"
    )
    assert missed_collisions == 0
    assert worst_m <= FALSE_ALARM_M_MAX
    assert (truth <= 0.0).any(), "nothing was hit, so nothing could have been missed"
    assert (truth > 0.0).any()


@pytest.mark.parametrize("kind", CLOUDS)
def test_spheres_are_never_farther_from_points_than_brute_force_says(kind):
    rng = np.random.default_rng(41)
    cloud = np.ascontiguousarray(CLOUDS[kind](rng))
    radius_m = 0.0 if kind == "surface" else 0.01
    env = CollisionEnvironment.build(
        [], 0.05, BOUNDS, points=Points(xyz=cloud, stamp_s=0.0), point_radius_m=radius_m
    )
    spheres = random_spheres(rng, 10_000 * SHARE, near=cloud, pitch_m=0.0625)
    truth = cKDTree(cloud).query(spheres[:, :3])[0] - radius_m - spheres[:, 3]
    distances = env.distances(spheres)
    report(kind, distances, truth)
    assert (distances <= truth).all()
    assert np.abs(distances - truth).max() <= FALSE_ALARM_M_MAX
    assert (env.check_collision(spheres[:, np.newaxis].copy()) == (distances <= 0.0)).all()


@pytest.mark.parametrize("kind", ["one point", "duplicates", "collinear", "lattice"])
def test_capsules_are_never_farther_from_points_than_brute_force_says(kind):
    rng = np.random.default_rng(42)
    cloud = np.ascontiguousarray(CLOUDS[kind](rng))[:2000]
    field = _core.ObstacleField.from_points(cloud)
    spheres = random_spheres(rng, 1_250 * SHARE, near=cloud, pitch_m=0.0625)
    ends = np.hstack([spheres[:, :3], spheres[:, :3] + rng.uniform(-0.4, 0.4, (len(spheres), 3))])
    truth = np.concatenate(
        [
            point_segment(cloud[None], part[:, None, :3], part[:, None, 3:]).min(axis=1)
            for part in np.array_split(ends, max(len(ends) // 250, 1))
        ]
    )
    found = field.distances(ends, 100.0)
    assert np.abs(found - truth).max() <= FALSE_ALARM_M_MAX
    # Asked with a cut-off, as the gate does: what is nearer must be found, and nothing else.
    cutoff = field.distances(ends, 0.1)
    assert np.abs(cutoff - np.minimum(truth, 0.1)).max() <= FALSE_ALARM_M_MAX
    radius = np.maximum(spheres[:, 3], 0.02)
    report(kind, found - radius - 1e-11, truth - radius)


def random_grid(rng, resolution_m, outside):
    """Returns a grid with single voxels, a thick block and unknown voxels, its solid centres, and its bounds."""
    size = (18, 22, 27)
    occupancy = np.zeros(size, dtype=np.uint8)
    occupancy[rng.random(size) < 0.012] = SOLID
    occupancy[rng.random(size) < 0.003] = 255
    occupancy[6:11, 6:12, 6:13] = SOLID
    origin = -0.5 * resolution_m * np.array(size[::-1])
    voxels = Voxels(
        occupancy=occupancy,
        origin_xyz=tuple(origin.tolist()),
        resolution_m=resolution_m,
        stamp_s=0.0,
        outside=outside,
    )
    z, y, x = np.nonzero(voxels.blocks)
    centres = origin + (np.column_stack([x, y, z]) + 0.5) * resolution_m
    return voxels, centres, origin, origin + resolution_m * np.array(size[::-1])


@pytest.mark.parametrize("outside", ["free", "occupied"])
@pytest.mark.parametrize("resolution_m", [0.01, 0.05, 0.13])
def test_spheres_are_never_farther_from_voxels_than_brute_force_says(resolution_m, outside):
    rng = np.random.default_rng(43)
    voxels, centres, low, high = random_grid(rng, resolution_m, outside)
    env = CollisionEnvironment.build([], 0.05, BOUNDS, voxels=voxels)
    spheres = random_spheres(rng, 8_500 * SHARE, near=centres, pitch_m=resolution_m)
    spread = (high - low).max() / 3.0
    spheres[len(spheres) // 2 :, :3] *= spread / 1.5
    spheres[:, 3] *= min(1.0, 10 * resolution_m)
    voxel_array = cKDTree(centres)
    half_m, diagonal_m = resolution_m / 2, resolution_m * np.sqrt(3.0) / 2
    truth = np.empty(len(spheres))
    nearest_m = voxel_array.query(spheres[:, :3])[0]
    # A box is at most its half diagonal nearer than its middle: these are all that can be the nearest.
    for index, candidates in enumerate(
        voxel_array.query_ball_point(spheres[:, :3], nearest_m + 1.001 * diagonal_m)
    ):
        gap = np.maximum(np.abs(centres[candidates] - spheres[index, :3]) - half_m, 0.0)
        truth[index] = np.sqrt((gap**2).sum(axis=1).min())
    if outside == "occupied":
        inside_m = np.minimum(spheres[:, :3] - low, high - spheres[:, :3]).min(axis=1)
        truth = np.minimum(truth, np.maximum(inside_m, 0.0))
    report(f"{resolution_m} m, outside {outside}", env.distances(spheres), truth - spheres[:, 3])


@pytest.mark.parametrize("resolution_m", [0.02, 0.05, 0.13])
def test_capsules_are_never_farther_from_voxels_than_brute_force_says(resolution_m):
    rng = np.random.default_rng(44)
    voxels, centres, _, high = random_grid(rng, resolution_m, "free")
    env_field = _core.ObstacleField.from_voxels(
        voxels.occupancy,
        origin=voxels.origin_xyz,
        resolution_m=resolution_m,
        unknown_is_free=False,
        outside_is_free=True,
    )
    count = 1_670 * SHARE
    starts = random_spheres(rng, count, near=centres, pitch_m=resolution_m)[:, :3]
    starts[count // 2 :] *= high.max() / 2.0
    ends = np.ascontiguousarray(np.hstack([starts, starts + rng.uniform(-0.3, 0.3, (count, 3))]))
    diagonal_m = resolution_m * np.sqrt(3.0) / 2
    truth = np.full(count, np.inf)
    for part in np.array_split(np.arange(count), max(count // 200, 1)):
        to_middles = point_segment(centres[None], ends[part, None, :3], ends[part, None, 3:])
        row, voxel = np.nonzero(to_middles <= to_middles.min(axis=1, keepdims=True) + 1.001 * diagonal_m)
        middle = centres[voxel]
        segment = ends[part[row]]
        gaps = segment_box(segment[:, :3] - middle, segment[:, 3:] - middle, np.full(3, resolution_m / 2))
        np.minimum.at(truth, part[row], gaps)
    found = env_field.distances(ends, 100.0)
    assert np.abs(found - truth).max() <= FALSE_ALARM_M_MAX
    radius = rng.uniform(0.0, 0.1, count)
    report(f"{resolution_m} m", found - radius - 1e-11, truth - radius)
