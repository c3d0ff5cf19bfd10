# SPDX-License-Identifier: Apache-2.0
"""The two points a verdict shows, where the volumes overlap so far that the link's axis is inside the
obstacle.

Expected by hand: the points lie on the two surfaces along the line of least separation, so they are as far
apart as the reported depth. Tolerance: 1e-9 m, double rounding with room.
"""

import numpy as np
import pytest

import lastgate as lg
from oracles import library

# The bar of the one-joint robot points along x at z = 0 with radius 0.03.
BAR_RADIUS_M = 0.03


def _violation(primitive):
    gate = library.gate_of(library.one_joint_arm())
    state = lg.RobotState(positions=np.zeros(1), stamp_s=0.0)
    world = lg.World(primitives=[primitive], stamp_s=0.0)
    (violation,) = gate.check(
        lg.ActionChunk(np.zeros((1, 1))), state=state, world=world, now_s=0.0
    ).violations
    return violation


def _sphere(height_m):
    return lg.WorldCollisionPrimitive(
        shape=lg.SphereShape(radius_m=0.1), pose=lg.Pose6D(xyz=(0.4, 0.0, height_m))
    )


def _table(height_m):
    return lg.WorldCollisionPrimitive(shape=lg.HalfSpaceShape(), pose=lg.Pose6D(xyz=(0.0, 0.0, height_m)))


@pytest.mark.parametrize("height_m", [0.12, 0.06], ids=["axis outside", "axis inside"])
def test_witness_points_in_a_sphere_are_the_depth_apart(height_m):
    violation = _violation(_sphere(height_m))

    assert violation.value == pytest.approx(height_m - 0.1 - BAR_RADIUS_M, abs=1e-9)
    assert violation.witness_a == pytest.approx((0.4, 0.0, BAR_RADIUS_M), abs=1e-9)
    assert violation.witness_b == pytest.approx((0.4, 0.0, height_m - 0.1), abs=1e-9)


@pytest.mark.parametrize("height_m", [-0.02, 0.01], ids=["axis above", "axis below"])
def test_witness_points_in_a_table_are_the_depth_apart(height_m):
    violation = _violation(_table(height_m))

    assert violation.value == pytest.approx(-height_m - BAR_RADIUS_M, abs=1e-9)
    assert violation.witness_a[2] == pytest.approx(-BAR_RADIUS_M, abs=1e-9)
    assert violation.witness_b[2] == pytest.approx(height_m, abs=1e-9)
