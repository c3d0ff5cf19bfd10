# SPDX-License-Identifier: Apache-2.0
"""Hulls that are joined contain what they contained before, and the ones that add least are joined first."""

import numpy as np
import pytest
from scipy.spatial import ConvexHull

from lastgate.tools.lowering.joined_hulls import joined_hulls


def box(low: tuple[float, float, float], size_m: float = 0.1) -> np.ndarray:
    """Returns the vertices of a cube, by its lowest one."""
    steps = [[x, y, z] for x in (0.0, 1.0) for y in (0.0, 1.0) for z in (0.0, 1.0)]
    return np.array(low) + size_m * np.array(steps)


def volume_m3(hulls: list[np.ndarray]) -> float:
    return sum(float(ConvexHull(vertices).volume) for vertices in hulls)


def is_inside(points: np.ndarray, hulls: list[np.ndarray]) -> bool:
    """Returns whether one of the hulls contains all the points."""
    faces = [ConvexHull(vertices).equations for vertices in hulls]
    return any(bool((points @ face[:, :3].T + face[:, 3] <= 1e-9).all()) for face in faces)


def test_a_cube_that_was_cut_is_whole_again() -> None:
    eighths = [box((x, y, z), 0.05) for x in (0.0, 0.05) for y in (0.0, 0.05) for z in (0.0, 0.05)]
    whole = joined_hulls(eighths, count_max=1, vertices_max=256)
    assert len(whole) == 1
    assert volume_m3(whole) == pytest.approx(0.001, rel=1e-9)


def test_what_adds_nothing_is_joined_before_what_does() -> None:
    # An L of three cubes: two of them in a row make a box, and only the last join fills the notch.
    vertex, along, up = box((0.0, 0.0, 0.0)), box((0.1, 0.0, 0.0)), box((0.0, 0.0, 0.1))
    two = joined_hulls([along, vertex, up], count_max=2, vertices_max=256)
    assert len(two) == 2
    assert volume_m3(two) == pytest.approx(0.003, rel=1e-9)
    one = joined_hulls([along, vertex, up], count_max=1, vertices_max=256)
    assert volume_m3(one) == pytest.approx(0.0035, rel=1e-9)


@pytest.mark.parametrize("count_max", [1, 3, 7, 19, 20, 50])
def test_everything_stays_contained_in_as_many_hulls_as_allowed(count_max: int) -> None:
    random = np.random.default_rng(count_max)
    clouds = [
        random.uniform(-0.2, 0.2, 3) + random.normal(scale=0.02, size=(random.integers(4, 40), 3))
        for _ in range(20)
    ]
    hulls = joined_hulls(clouds, count_max=count_max, vertices_max=256)
    assert len(hulls) == min(count_max, 20)
    assert all(is_inside(cloud, hulls) for cloud in clouds)
    # Reject twin: a point that no cloud comes near is in none.
    assert not is_inside(np.array([[1.0, 1.0, 1.0]]), hulls)


def test_what_is_far_apart_is_joined_only_when_nothing_else_is_left() -> None:
    # Two cubes 5 mm apart, and one that stands 1 m away; the first two add little, yet they are not near.
    clouds = [box((0.0, 0.0, 0.0)), box((0.105, 0.0, 0.0)), box((1.0, 0.0, 0.0))]
    two = joined_hulls(clouds, count_max=2, vertices_max=256)
    assert volume_m3(two) == pytest.approx(0.205 * 0.01 + 0.001, rel=1e-9)
    assert len(joined_hulls(clouds, count_max=1, vertices_max=256)) == 1


def test_a_join_that_needs_too_many_vertices_comes_last() -> None:
    # Two halves of a drum add nothing to each other but have too many vertices; two cubes with a gap have eight.
    angle = np.linspace(0.0, np.pi, 21)
    half = np.array([[0.1 * np.cos(a), 0.1 * np.sin(a), z] for a in angle for z in (0.0, 0.1)])
    other = half * np.array([1.0, -1.0, 1.0])
    cubes = [box((0.5, 0.0, 0.0)), box((0.601, 0.0, 0.0))]
    drum_m3, cubes_m3 = volume_m3([half, other]), 0.002
    few = joined_hulls([half, other, *cubes], count_max=3, vertices_max=60)
    assert volume_m3(few) == pytest.approx(drum_m3 + cubes_m3 + 1e-5, rel=1e-9)
    # Reject twin: with room for the vertices, the drum is joined, which adds nothing.
    many = joined_hulls([half, other, *cubes], count_max=3, vertices_max=256)
    assert volume_m3(many) == pytest.approx(drum_m3 + cubes_m3, rel=1e-9)


def test_flat_and_repeated_clouds_are_joined_like_others() -> None:
    sheet = box((0.0, 0.0, 0.0))[::2]
    hulls = joined_hulls([sheet, sheet.copy(), box((0.0, 0.0, 0.0))], count_max=1, vertices_max=256)
    assert is_inside(sheet, hulls)
    assert volume_m3(hulls) == pytest.approx(0.001, rel=1e-9)


def test_nothing_is_joined_to_nothing() -> None:
    assert joined_hulls([], count_max=4, vertices_max=256) == []
