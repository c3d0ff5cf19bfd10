# SPDX-License-Identifier: Apache-2.0
"""Obstacles, bounds and robots that cannot be used are refused with the sentence that fixes it."""

import math

import numpy as np
import pytest

import lastgate as lg
from lastgate import _core
from lastgate.planning.collision import CollisionEnvironment

BOUNDS = ((-1.0, -1.0, -1.0), (1.0, 1.0, 1.0))
ONE = np.array([[0.0, 0.0, 0.0, 0.1]])


def refused(match, *, spheres=ONE, resolution_m=0.05, bounds=BOUNDS, **more):
    with pytest.raises(lg.ROSConfigError, match=match):
        CollisionEnvironment.build(spheres, resolution_m, bounds, **more)


@pytest.mark.parametrize("resolution_m", [0.0, -0.05, math.nan, math.inf, "fine", None, True, 1e9])
def test_resolution_that_is_no_length_is_refused(resolution_m):
    refused("resolution_m", resolution_m=resolution_m)


@pytest.mark.parametrize(
    ("bounds", "match"),
    [
        (((1.0, -1.0, -1.0), (-1.0, 1.0, 1.0)), "empty along x.*lower corner comes first"),
        (((0.0, 0.0, 0.0), (0.0, 1.0, 1.0)), "empty along x"),
        (((-1.0, -1.0, math.nan), (1.0, 1.0, 1.0)), r"bounds\[0\]\[z\] must be a finite number"),
        (((-1.0, -1.0), (1.0, 1.0)), r"bounds\[0\] must be three numbers"),
        (((-1.0, -1.0, -1.0),), "two corners"),
        (10.0, "two corners"),
        (((-1.0, -1.0, -1.0), (1.0, 1.0, 1e9)), "is it in metres"),
    ],
)
def test_bounds_that_enclose_nothing_are_refused(bounds, match):
    refused(match, bounds=bounds)


@pytest.mark.parametrize(
    ("spheres", "match"),
    [
        (ONE.astype(np.float32), r"float32.*astype\(np.float64\)"),
        (np.zeros((3, 3)), r"expected \(M, 4\).*column_stack"),
        (np.zeros(4), "np.newaxis"),
        (np.zeros((4, 8))[:, ::2], "ascontiguousarray"),
        (np.array([[0.0, 0.0, 0.0, -0.1]]), "radius"),
        (np.array([[0.0, 0.0, 2e4, 0.1]]), "at most"),
        ("spheres", "str"),
        ([["a", "b", "c", "d"]], "not a rectangle of numbers"),
    ],
)
def test_spheres_of_another_kind_are_refused(spheres, match):
    refused(match, spheres=spheres)
    with pytest.raises(lg.ROSConfigError, match=match):
        CollisionEnvironment.build(ONE, 0.05, BOUNDS).check_collision(spheres)
    with pytest.raises(lg.ROSConfigError, match=match):
        CollisionEnvironment.build(ONE, 0.05, BOUNDS).min_distance(spheres)


def test_sets_of_another_shape_are_refused():
    env = CollisionEnvironment.build(ONE, 0.05, BOUNDS)
    with pytest.raises(lg.ROSConfigError, match=r"expected \(N, M, 4\)"):
        env.check_collision(np.zeros((2, 3, 3)))
    with pytest.raises(lg.ROSConfigError, match="float32"):
        env.check_collision(np.zeros((2, 3, 4), dtype=np.float32))
    poisoned = np.zeros((2, 3, 4))
    poisoned[1, 2, 0] = np.nan
    with pytest.raises(lg.ROSConfigError, match="finite"):
        env.min_distance(poisoned)


def test_lists_are_taken_like_arrays():
    env = CollisionEnvironment.build([[0, 0, 0, 0.1]], 0.05, BOUNDS)
    assert env.check_collision([[0.0, 0.0, 0.15, 0.1]])
    assert not env.check_collision([[0.0, 0.0, 0.25, 0.1]])


@pytest.mark.parametrize("margin_m", [-0.1, math.nan, math.inf, "wide"])
def test_margin_that_is_no_length_is_refused(margin_m):
    with pytest.raises(lg.ROSConfigError, match="margin_m"):
        CollisionEnvironment.build(ONE, 0.05, BOUNDS).check_collision(ONE, margin_m=margin_m)


def test_other_sources_are_evaluated_too():
    refused("ids for 1 spheres", ids=["a", "b"])
    refused("WorldCollisionPrimitive", primitives=["box"])
    refused("expected Voxels", voxels=np.zeros((2, 2, 2), dtype=np.uint8))
    refused("expected float64", points=np.zeros((2, 3), dtype=np.float32))
    refused("not finite", points=np.array([[0.0, np.nan, 0.0]]))
    refused("point_radius_m", points=np.zeros((1, 3)), point_radius_m=-1.0)
    refused("outside", outside="nowhere")


def test_changed_voxels_make_the_same_grid_as_all_of_them_again():
    rng = np.random.default_rng(11)
    occupancy = (rng.random((30, 30, 30)) < 0.02).astype(np.uint8)
    shape = {
        "origin": (0.0, 0.0, 0.0),
        "resolution_m": 0.05,
        "unknown_is_free": False,
        "outside_is_free": True,
    }
    field = _core.ObstacleField.from_voxels(occupancy, **shape)
    added, removed = rng.integers(0, 30, (2, 40, 3)).astype(np.uint32)
    changed = occupancy.copy()
    changed[removed[:, 2], removed[:, 1], removed[:, 0]] = 0
    changed[added[:, 2], added[:, 1], added[:, 0]] = 1
    ends = np.repeat(rng.uniform(-0.2, 1.7, (2000, 3)), 2, axis=0).reshape(2000, 6)
    expected = _core.ObstacleField.from_voxels(changed, **shape).distances(ends, 0.5)
    assert (field.with_voxels(added, removed).distances(ends, 0.5) == expected).all()
    assert not (field.distances(ends, 0.5) == expected).all()
    outside = np.array([[30, 0, 0]], dtype=np.uint32)
    with pytest.raises(ValueError, match="outside the grid"):
        field.with_voxels(outside, outside)
    with pytest.raises(ValueError, match="no voxels"):
        _core.ObstacleField.from_points(np.zeros((1, 3))).with_voxels(added, removed)
