# SPDX-License-Identifier: Apache-2.0
"""Retreats among points and voxels, against checking every obstacle on its own, at many instants.

Accepted as a recovery: no point and no solid voxel, inner ones included, ever comes closer to a volume than the
margin or, where it was closer when the motion began, than it was then. The slow program knows nothing of fields,
of contacts or of pairs: it compares each volume with each obstacle.
"""

import itertools
from dataclasses import dataclass

import numpy as np
import pytest
from fixtures.analytic_robots import at, capsule_on, check, gate_of, joint, sphere_on
from numpy.typing import NDArray

import lastgate as lg
from oracles.numpy_distances import point_segment, segment_box
from oracles.sweep_checker import BAND_M

Array = NDArray[np.float64]

SLIDE = {"joint_type": "prismatic", "position_limits": [-2.0, 2.0], "velocity_limit": 100.0}
HALF_FINGER_M, FINGER_RADIUS_M, PALM_RADIUS_M = 0.05, 0.01, 0.03
FINGER_AT_M = 0.08
INSTANTS_PER_STEP = 40
CASES = 250


def hand(margin_m: float) -> lg.Gate:
    """Returns a hand on two slides and a wrist: a sphere as its palm, a capsule as its finger."""
    manifest = {
        "name": "hand_on_slides",
        "base_frame": "base",
        "joints": [
            joint("along_x", "base", "carriage", **SLIDE, axis_xyz=[1.0, 0.0, 0.0]),
            joint("along_y", "carriage", "arm", **SLIDE, axis_xyz=[0.0, 1.0, 0.0]),
            joint("wrist", "arm", "palm", velocity_limit=1000.0),
        ],
        "collision_geometry": [
            sphere_on("carriage", 0.001, (0.0, 0.0, 5.0)),
            sphere_on("arm", 0.001, (0.0, 0.0, 6.0)),
            sphere_on("palm", PALM_RADIUS_M),
            capsule_on(
                "palm", FINGER_RADIUS_M, 2 * HALF_FINGER_M, (FINGER_AT_M, 0.0, 0.0), (0.0, np.pi / 2, 0.0)
            ),
        ],
        "safety": {"world_collision_margin_m": margin_m} if margin_m else {},
    }
    return gate_of(manifest)


def axes_at(configurations: Array) -> list[tuple[Array, Array, float]]:
    """Returns both ends of each capsule axis, an instant per row, and its radius."""
    x, y, turn = configurations.T
    origin = np.stack([x, y, np.zeros_like(x)], axis=-1)
    along = np.stack([np.cos(turn), np.sin(turn), np.zeros_like(x)], axis=-1)
    finger = FINGER_AT_M - HALF_FINGER_M, FINGER_AT_M + HALF_FINGER_M
    return [
        (origin, origin, PALM_RADIUS_M),
        (origin + finger[0] * along, origin + finger[1] * along, FINGER_RADIUS_M),
    ]


@dataclass(frozen=True)
class Scene:
    """A world of one field, and its obstacles one by one: centres, and half an edge or nothing."""

    world: lg.World
    centres: Array
    half_m: float

    def distances(self, configurations: Array) -> Array:
        """Returns the distance of every volume from every obstacle: (volumes, instants, obstacles)."""
        found = []
        for a, b, radius_m in axes_at(configurations):
            from_a = a[:, None] - self.centres
            from_b = b[:, None] - self.centres
            if self.half_m:
                shape = from_a.shape[:2]
                flat = segment_box(from_a.reshape(-1, 3), from_b.reshape(-1, 3), np.full(3, self.half_m))
                found.append(flat.reshape(shape) - radius_m)
            else:
                found.append(point_segment(np.zeros(3), from_a, from_b) - radius_m)
        return np.array(found)


def draw_points(rng: np.random.Generator, start: Array, margin_m: float) -> Scene:
    count = int(rng.integers(2, 12))
    a, b, radius_m = axes_at(start[None])[int(rng.integers(2))]
    share = rng.uniform(0.0, 1.0, (count, 1))
    way = rng.normal(size=(count, 3)) * [1.0, 1.0, 0.3]
    way /= np.linalg.norm(way, axis=1, keepdims=True)
    # Some inside the margin or the volume itself, the rest a few millimetres to centimetres clear of it.
    gaps = radius_m + rng.choice([-0.006, 0.5 * margin_m, margin_m + 0.012, margin_m + 0.03], (count, 1))
    centres = a + share * (b - a) + np.maximum(gaps, 0.002) * way
    return Scene(lg.World(points=centres, stamp_s=100.0), centres, 0.0)


def draw_voxels(rng: np.random.Generator, start: Array, margin_m: float) -> Scene:
    edge_m, count = float(rng.choice([0.01, 0.02, 0.04])), 24
    a, b, radius_m = axes_at(start[None])[int(rng.integers(2))]
    way = rng.normal(size=3) * [1.0, 1.0, 0.2]
    way /= np.linalg.norm(way)
    touched = a[0] + rng.uniform() * (b[0] - a[0]) + (radius_m + rng.uniform(-0.005, margin_m)) * way
    # A block of voxels with its nearest vertex where it is touched, and single ones elsewhere.
    voxel = np.full(3, count // 2)
    origin = touched + np.minimum(0.0, np.sign(way)) * edge_m - voxel * edge_m
    solid = np.zeros((count, count, count), dtype=np.uint8)
    block = int(rng.integers(1, 5))
    low = np.where(way < 0.0, voxel - block + 1, voxel)
    solid[low[2] : low[2] + block, low[1] : low[1] + block, low[0] : low[0] + block] = rng.choice([1, 255])
    for x, y, z in rng.integers(0, count, (int(rng.integers(0, 40)), 3)):
        solid[z, y, x] = rng.choice([1, 255])
    voxels = lg.Voxels(
        occupancy=solid,
        origin_xyz=tuple(origin.tolist()),
        resolution_m=edge_m,
        stamp_s=100.0,
        outside="free",
    )
    centres = origin + (np.argwhere(solid)[:, ::-1] + 0.5) * edge_m
    return Scene(lg.World(voxels=voxels, stamp_s=100.0), centres, edge_m / 2)


def retreat(rng: np.random.Generator, scene: Scene, start: Array) -> Array:
    """Returns the rows of a motion that leads, more or less, away from the obstacle that is nearest."""
    nearest = scene.distances(start[None]).min(axis=(0, 1)).argmin()
    away = start[:2] - scene.centres[nearest, :2] + rng.normal(0.0, 0.02, 2)
    away /= max(float(np.linalg.norm(away)), 1e-9)
    step_m, turn = rng.choice([0.002, 0.01, 0.03]), rng.choice([0.0, 0.0, 0.05]) * rng.normal()
    shares = np.arange(1, int(rng.integers(2, 7)))[:, None]
    bend = rng.normal(0.0, 0.002, 2) * shares**2
    return start + np.hstack([shares * step_m * away + bend, shares * turn])


DRAW = {"points": draw_points, "cells": draw_voxels}


def worst_approach_m(scene: Scene, path: Array, margin_m: float) -> float:
    """Returns by how much any obstacle comes closer than its margin or its own start, at most."""
    t = np.linspace(0.0, 1.0, INSTANTS_PER_STEP)[:, None]
    instants = np.concatenate([a + t * (b - a) for a, b in itertools.pairwise(path)])
    needed = np.minimum(margin_m, scene.distances(path[:1]))
    return float((needed - scene.distances(instants)).max())


@pytest.mark.parametrize("margin_m", [0.0, 0.02])
@pytest.mark.parametrize("field", DRAW)
def test_no_obstacle_of_a_field_comes_closer_during_an_accepted_recovery(field, margin_m):
    gate = hand(margin_m)
    recovered = rejected = 0
    for index in range(CASES):
        rng = np.random.default_rng([20260612, list(DRAW).index(field), index])
        start = rng.uniform([-0.2, -0.2, -1.0], [0.2, 0.2, 1.0])
        scene = DRAW[field](rng, start, margin_m)
        rows = retreat(rng, scene, start)
        verdict = check(gate, rows, state=at(*start), world=scene.world, recovery=True)
        rejected += not verdict.accepted
        if not verdict.accepted:
            continue
        recovered += verdict.recovery
        closer_m = worst_approach_m(scene, np.vstack([start, rows]), margin_m)
        assert closer_m <= BAND_M, f"{field} #{index}: {closer_m:.6f} m closer than it may come"
    print(f"{field}, margin {margin_m}: {recovered} recoveries accepted, {rejected} rejected")
    assert min(recovered, rejected) >= 15
