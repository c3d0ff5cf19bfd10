# SPDX-License-Identifier: Apache-2.0
"""`check_batch` against measuring every pair of every configuration.

Tolerances: never above the true clearance by more than 1e-9 m (double rounding). Below it: where a
configuration is within 1 mm of its margin the double path answers, to 1e-6 m; farther away the single-
precision lanes may answer, whose proven rounding bound for a metre-sized arm is below 0.2 mm.
"""

import numpy as np
import pytest

import lastgate as lg
from oracles import library
from oracles.brute_force import BruteForce
from oracles.numpy_kinematics import Kinematics
from oracles.pinocchio_model import random_configurations
from oracles.scenes import primitive, unit

CONFIGURATIONS = 20_000
EXACT_M = 1e-9
NEAR_M = 1e-3
LANE_M = 2e-4


def _fourteen_primitives(rng):
    shapes = [lg.SphereShape(radius_m=r) for r in (0.05, 0.08, 0.12, 0.03)]
    shapes += [
        lg.CapsuleShape(radius_m=r, length_m=length)
        for r, length in ((0.03, 0.4), (0.05, 0.2), (0.002, 1.0), (0.06, 0.1))
    ]
    shapes += [
        lg.BoxShape(size_xyz_m=size)
        for size in ((0.1, 0.2, 0.3), (0.05, 0.4, 0.05), (0.2, 0.2, 0.02), (0.1, 0.1, 0.1), (0.3, 0.05, 0.2))
    ]
    placed = []
    for shape in shapes:
        direction = rng.normal(size=3)
        centre = direction / np.linalg.norm(direction) * rng.uniform(0.55, 1.0) + [0.0, 0.0, 0.4]
        placed.append(primitive(shape, centre, rng.normal(size=3), spin=float(rng.uniform(0, 6))))
    table = primitive(lg.HalfSpaceShape(), np.array([0.0, 0.0, -0.25]))
    return (*placed, table)


def _true_clearance(brute, configurations):
    """The least distance minus margin of every configuration, over self and world.

    A pair is measured where its bounding spheres do not already show it farther away than the least so far.
    """
    least = np.full(len(configurations), np.inf)
    a, b = brute.capsule_axes(brute.kinematics.frames(configurations))
    middle = (a + b) / 2
    for kind, pairs in (("self", brute.self_pairs), ("world", brute.world_pairs)):
        for pair in pairs:
            i, j = pair
            first = brute.volumes[i]
            if kind == "self":
                second = brute.volumes[j]
                floor = (
                    np.linalg.norm(middle[i] - middle[j], axis=1) - first.half_length_m - second.half_length_m
                )
                solid_m = first.radius_m + second.radius_m
            else:
                floor, _ = brute.obstacles[j].bounds(a[i], b[i], 2 * first.half_length_m)
                solid_m = first.radius_m + brute.obstacles[j].radius_m
            open_to = floor - solid_m - brute.margin_m[kind] <= least
            if open_to.any():
                gaps = brute.distance(kind, pair, a[:, open_to], b[:, open_to]) - brute.margin_m[kind]
                least[open_to] = np.minimum(least[open_to], gaps)
    return least


def _large_primitives(rng):
    """Returns spheres that are nearly walls, and turned plates and beams: their numbers dwarf the distances."""
    placed = []
    for radius_m in (0.4, 2.0, 9.0, 30.0):
        out = unit(rng.normal(size=3))
        centre = [0.0, 0.0, 0.4] + out * (radius_m + rng.uniform(0.7, 0.95))
        placed.append(primitive(lg.SphereShape(radius_m=radius_m), centre))
    for size in ((8.0, 8.0, 0.02), (0.05, 12.0, 0.05), (6.0, 0.3, 2.0), (20.0, 20.0, 20.0)):
        out = unit(rng.normal(size=3))
        centre = [0.0, 0.0, 0.4] + out * (size[2] / 2 + rng.uniform(0.7, 0.95))
        placed.append(primitive(lg.BoxShape(size_xyz_m=size), centre, out, spin=float(rng.uniform(0, 6))))
    return tuple(placed)


# A sphere whose middle is 31 m away is seen from the body, whose rotation is off by 64 u per joint (lanes.cpp).
LARGE_LANE_M = LANE_M + 9 * 64 * 2.0**-24 * 31.0


@pytest.mark.parametrize(
    ("make_primitives", "lane_m"), [(_fourteen_primitives, LANE_M), (_large_primitives, LARGE_LANE_M)]
)
def test_twenty_thousand_configurations_are_evaluated_as_measured(make_primitives, lane_m):
    rng = np.random.default_rng(20260610)
    margins = {"self_margin_m": 0.001, "world_margin_m": 0.01}
    robot = library.panda(self_collision_margin_m=0.001, world_collision_margin_m=0.01)
    primitives = make_primitives(rng)
    gate = library.gate_of(robot)
    full = random_configurations(robot, rng, CONFIGURATIONS)
    full[:, 7] = 0.02
    brute = BruteForce(Kinematics(robot), primitives, **margins)
    true = _true_clearance(brute, full)

    batch = gate.check_batch(
        np.ascontiguousarray(full[:, :7]),
        world=lg.World(primitives=primitives, stamp_s=0.0),
        gripper_positions=[0.02],
    )

    below_m = np.minimum(true, 1.0) - batch.clearance_m
    positive = (true > 0.0) & (true < 0.5)
    near = np.abs(true) < NEAR_M
    print(
        f"{CONFIGURATIONS} configurations: {batch.accepted.sum()} accepted, {(true <= 0).sum()} in contact, "
        f"{near.sum()} within 1 mm; clearance below the truth by at most {below_m[positive].max():.2e} m, "
        f"median {np.median(below_m[positive]):.2e} m"
    )
    undecided = np.abs(true) <= 2 * EXACT_M  # touching to rounding: both answers are right
    assert np.array_equal(batch.accepted[~undecided], (true > 0.0)[~undecided])
    assert below_m.min() >= -EXACT_M
    assert batch.accepted.sum() > 2000
    assert (true <= 0.0).sum() > 2000
    assert np.abs(below_m[near]).max() <= lane_m
    assert below_m[positive].max() <= lane_m  # boxes included: their distance is found in closed form
    contact = true < -NEAR_M
    assert np.abs(below_m[contact]).max() <= 1e-6  # the double path answers for every contact
