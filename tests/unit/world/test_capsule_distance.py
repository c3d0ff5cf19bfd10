# SPDX-License-Identifier: Apache-2.0
"""Distances from a segment to points and voxels, against coal and against sampling."""

import coal
import numpy as np
import pytest

from lastgate.world.capsule_distance import (
    farthest_vertex_to_segment_m,
    points_to_segment_m,
    voxels_to_segment_m,
)

A, B = np.array([0.0, 0.0, 0.0]), np.array([1.0, 0.0, 0.0])


@pytest.mark.parametrize(
    ("point", "distance"),
    [((0.5, 0.3, 0.4), 0.5), ((-3.0, 4.0, 0.0), 5.0), ((2.0, 0.0, 0.0), 1.0), ((0.2, 0.0, 0.0), 0.0)],
)
def test_point_beside_beyond_and_on_a_segment(point, distance):
    assert points_to_segment_m(np.array([point]), start=A, end=B) == pytest.approx([distance])


def test_segment_without_length_is_a_point():
    assert points_to_segment_m(np.array([[3.0, 4.0, 0.0]]), start=A, end=A) == pytest.approx([5.0])
    assert voxels_to_segment_m(np.array([[3.0, 0.0, 0.0]]), half_m=1.0, start=A, end=A) == pytest.approx(
        [2.0]
    )


@pytest.mark.parametrize(
    ("centre", "distance"),
    [
        ((0.5, 2.0, 0.0), 1.5),
        ((0.5, 3.5, 4.5), 5.0),
        ((2.0, 0.0, 0.0), 0.5),
        ((4.5, 4.5, 0.0), 5.0),
        ((0.5, 0.5, 0.0), 0.0),
        ((0.5, 0.2, 0.1), 0.0),
    ],
)
def test_voxel_beside_beyond_touching_and_around_a_segment(centre, distance):
    assert voxels_to_segment_m(np.array([centre]), half_m=0.5, start=A, end=B) == pytest.approx([distance])


@pytest.mark.parametrize("seed", range(5))
def test_distance_of_voxels_is_what_coal_says_and_never_more_than_any_sample(seed):
    rng = np.random.default_rng(seed)
    start, end = rng.uniform(-1, 1, size=(2, 3))
    centres = rng.uniform(-2, 2, size=(60, 3))
    ours = voxels_to_segment_m(centres, half_m=0.3, start=start, end=end)
    along = start + np.linspace(0, 1, 2001)[:, None] * (end - start)
    beyond = np.maximum(np.abs(along - centres[:, None]) - 0.3, 0.0)
    sampled = np.linalg.norm(beyond, axis=2).min(axis=1)
    assert (ours <= sampled + 1e-12).all()
    assert (ours >= sampled - 2e-3).all()
    # A capsule of radius r is r nearer than its axis; coal measures capsules along z.
    length = np.linalg.norm(end - start)
    z = (end - start) / length
    x = np.cross(z, np.eye(3)[np.argmin(np.abs(z))])
    x /= np.linalg.norm(x)
    placed = coal.Transform3s(np.column_stack([x, np.cross(z, x), z]), (start + end) / 2)
    for centre, distance in zip(centres, ours, strict=True):
        if distance > 0.02:
            result = coal.DistanceResult()
            box = coal.Transform3s(np.eye(3), centre)
            coal.distance(
                coal.Capsule(0.01, length),
                placed,
                coal.Box(0.6, 0.6, 0.6),
                box,
                coal.DistanceRequest(),
                result,
            )
            assert result.min_distance == pytest.approx(distance - 0.01, abs=2e-6)


@pytest.mark.parametrize("seed", range(3))
def test_no_sample_of_a_voxel_is_farther_than_its_farthest_vertex(seed):
    rng = np.random.default_rng(seed)
    start, end = rng.uniform(-1, 1, size=(2, 3))
    centres = rng.uniform(-2, 2, size=(20, 3))
    farthest = farthest_vertex_to_segment_m(centres, half_m=0.3, start=start, end=end)
    samples = centres[:, None] + rng.uniform(-0.3, 0.3, size=(2000, 3))
    assert (points_to_segment_m(samples, start=start, end=end).max(axis=1) <= farthest).all()
    vertices = np.stack(np.meshgrid(*[(-0.3, 0.3)] * 3), axis=-1).reshape(-1, 3)
    assert farthest == pytest.approx(
        points_to_segment_m(centres[:, None] + vertices, start=start, end=end).max(axis=1)
    )
