# SPDX-License-Identifier: Apache-2.0
"""The core's distance of convex polytopes.

What is compared: its lower and upper bound on random hulls, many of them nearly touching. Reference: Coal's own
distance of the hulls it builds from the same points. Trusted on both sides: distances above zero; Coal's depths
are not used. Tolerance: Coal stops at 1e-6 of the distance.
"""

from typing import Any

import coal
import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import nnls

from lastgate import _core

Array = NDArray[np.float64]


def hull(points: Array) -> Any:
    vertices = coal.StdVec_Vec3s()
    for point in points:
        vertices.append(point)
    return coal.ConvexBase.convexHull(vertices, False, "Qt")


def random_rotation(rng: np.random.Generator) -> Array:
    turned, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    return np.ascontiguousarray(turned * np.sign(np.linalg.det(turned)))


def random_points(rng: np.random.Generator) -> Array:
    count = int(rng.integers(4, 64))
    return np.ascontiguousarray(rng.normal(size=(count, 3)) * rng.uniform(0.005, 0.3, 3))


def compare(count: int, seed: int) -> int:
    rng = np.random.default_rng(seed)
    request = coal.DistanceRequest()
    apart = 0
    asked = 0
    for index in range(count):
        first, second, turn = random_points(rng), random_points(rng), random_rotation(rng)
        shift = rng.normal(size=3) * 0.4
        result = coal.DistanceResult()
        shapes = (hull(first), hull(second))
        truth = coal.distance(
            shapes[0], coal.Transform3s(), shapes[1], coal.Transform3s(turn, shift), request, result
        )
        if index % 2 and truth > 0.0:
            # Once more nearly touching, where a bound is tight or wrong.
            shift -= (truth - rng.uniform(0.0, 0.001)) * (
                (result.getNearestPoint2() - result.getNearestPoint1()) / truth
            )
            result = coal.DistanceResult()
            truth = coal.distance(
                shapes[0], coal.Transform3s(), shapes[1], coal.Transform3s(turn, shift), request, result
            )
        pose = np.ascontiguousarray(np.c_[turn, shift].ravel())
        lower, upper, on_first, on_second, iterations = _core.convex_distance(first, second, pose)
        assert iterations <= 48
        # Coal stops a little above the truth now and then, and takes shapes that nearly touch for touching ones;
        # where the two do not agree a third program says who is right.
        if upper < truth - 1e-7 or lower > max(truth, 0.0) + 1e-6 * abs(truth) + 1e-9:
            truth = nearest_by_least_squares(first, second @ turn.T + shift)
            asked += 1
        assert lower <= max(truth, 0.0) + 1e-6 * abs(truth) + 1e-9, (seed, index, lower, truth)
        if truth > 1e-6:
            apart += 1
            assert lower >= truth - 2e-6 * truth - 1e-7, (seed, index, lower, upper, truth)
            gap = np.linalg.norm(np.array(on_first) - np.array(on_second))
            assert abs(gap - upper) < 1e-9
    # A checker that must be doubted often is none.
    assert asked <= count // 1000
    return apart


def nearest_by_least_squares(first: Array, second: Array) -> float:
    """Returns the distance of two hulls as that of the origin from the hull of all differences of their vertices."""
    differences = (first[:, None, :] - second[None]).reshape(-1, 3)
    heavy = 1e4  # on the row that asks the weights to sum to one
    weights, _ = nnls(
        np.vstack([differences.T, np.full(len(differences), heavy)]), np.array([0.0, 0.0, 0.0, heavy])
    )
    return float(np.linalg.norm(differences.T @ weights / weights.sum()))


def test_bound_is_never_above_coal_and_close_to_it() -> None:
    assert compare(2000, seed=1) > 1000


@pytest.mark.library
def test_bound_on_a_hundred_thousand_pairs_is_never_above_coal_and_close_to_it() -> None:
    assert sum(compare(10_000, seed=seed) for seed in range(2, 12)) > 50_000


def test_overlapping_flat_and_single_points_are_never_apart() -> None:
    still = np.ascontiguousarray(np.c_[np.eye(3), np.zeros(3)].ravel())
    cube = np.array([[x, y, z] for x in (-1.0, 1.0) for y in (-1.0, 1.0) for z in (-1.0, 1.0)])
    square = np.ascontiguousarray(cube[cube[:, 2] > 0.0])
    for other in (cube, 0.1 * cube, square, np.zeros((1, 3)), np.zeros((7, 3)), cube[:1], cube[:2]):
        assert _core.convex_distance(cube, np.ascontiguousarray(other), still)[0] <= 1e-12
    assert _core.convex_distance(square, np.zeros((7, 3)), still)[0] == pytest.approx(1.0)
