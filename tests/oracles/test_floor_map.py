# SPDX-License-Identifier: Apache-2.0
"""The occupancy map, against the boxes that its cells stand for.

Compared: distances of segments with the least over one box per blocked cell and four large ones around the map
(`numpy_distances.segment_box`, which lists features); verdicts about base motion with 2,000 samples of the true arc
per row against the same boxes. Tolerances: distances to 1e-9 m; an accepted chunk is clear on the arc to 1e-9 m, a
rejected one comes within 0.1 mm of its (widened) margin on the chord, as for every other obstacle.
"""

import math
from collections import Counter

import numpy as np
import pytest
from fixtures.analytic_robots import cart, sphere_on
from scipy.spatial.transform import Rotation

import lastgate as lg
from lastgate import _core
from lastgate.world.freshness import StampedTransform
from oracles.brute_force import SAMPLES, BruteForce
from oracles.numpy_distances import segment_box
from oracles.numpy_kinematics import Kinematics
from oracles.sweep_checker import BAND_M, MISSED_M
from oracles.test_body_twist_mode import _advance

STEP_S = 0.2
FAR_M = 50.0


def columns_of(blocked, resolution_m, low_m, high_m):
    """Centres and half sizes of the boxes that a map stands for, in its own frame."""
    rows, columns = blocked.shape
    width, height = columns * resolution_m, rows * resolution_m
    middle, tall = (low_m + high_m) / 2, (high_m - low_m) / 2
    boxes = [
        (
            ((c + 0.5) * resolution_m, (r + 0.5) * resolution_m, middle),
            (resolution_m / 2, resolution_m / 2, tall),
        )
        for r, c in np.argwhere(blocked)
    ]
    boxes += [
        ((-FAR_M, 0.0, middle), (FAR_M, 3 * FAR_M, tall)),
        ((width + FAR_M, 0.0, middle), (FAR_M, 3 * FAR_M, tall)),
        ((0.0, -FAR_M, middle), (3 * FAR_M, FAR_M, tall)),
        ((0.0, height + FAR_M, middle), (3 * FAR_M, FAR_M, tall)),
    ]
    return np.array([box[0] for box in boxes]), np.array([box[1] for box in boxes])


def random_map(rng, side, share):
    """Scattered cells and some solid blocks, whose inner cells no side view ever meets first."""
    blocked = rng.random((side, side)) < share
    for _ in range(2):
        row, column = rng.integers(0, side - 5, 2)
        blocked[row : row + 5, column : column + 5] = True
    return blocked


@pytest.mark.parametrize("cutoff_m", [0.1, 1.0, 5.0])
def test_distance_from_the_floor_is_that_of_its_boxes(cutoff_m):
    rng = np.random.default_rng([31, int(10 * cutoff_m)])
    counts = Counter()
    for _ in range(4):
        resolution_m = float(rng.choice([0.05, 0.1, 0.25]))
        side = int(rng.integers(8, 24))
        low_m, high_m = float(rng.uniform(-0.3, 0.1)), float(rng.uniform(0.2, 0.8))
        blocked = random_map(rng, side, 0.04)
        turn = Rotation.random(random_state=rng).as_matrix()
        in_base = np.column_stack([turn, rng.uniform(-2, 2, 3)])
        field = _core.ObstacleField.from_floor(
            np.ascontiguousarray(blocked[None].astype(np.uint8)),
            in_base,
            resolution_m=resolution_m,
            low_m=low_m,
            high_m=high_m,
        )
        extent_m = side * resolution_m
        a = rng.uniform((-0.2, -0.2, -1.0), (extent_m + 0.2, extent_m + 0.2, 1.6), (400, 3))
        b = a + rng.uniform(-0.6, 0.6, (400, 3)) * rng.choice([0.0, 0.2, 1.0], (400, 3))
        ends = np.concatenate([a @ turn.T + in_base[:, 3], b @ turn.T + in_base[:, 3]], axis=1)
        told_m = field.distances(np.ascontiguousarray(ends), cutoff_m)
        centres, halves = columns_of(blocked, resolution_m, low_m, high_m)
        true_m = np.min(
            [segment_box(a - centre, b - centre, half) for centre, half in zip(centres, halves, strict=True)],
            axis=0,
        )
        assert np.abs(told_m - np.minimum(true_m, cutoff_m)).max() <= 1e-9
        bound_m = field.clearances(np.ascontiguousarray(ends[:, :3]))
        point_m = np.min(
            [segment_box(a - centre, a - centre, half) for centre, half in zip(centres, halves, strict=True)],
            axis=0,
        )
        assert (bound_m <= point_m + 1e-9).all()
        counts["touching"] += int((true_m <= 0.0).sum())
        counts["near"] += int(((true_m > 0.0) & (true_m < cutoff_m)).sum())
        counts["bound above 0"] += int((bound_m > 0.0).sum())
    print(dict(counts))
    assert min(counts.values()) > 30


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"resolution_m": 0.0}, "resolution"),
        ({"resolution_m": math.nan}, "resolution"),
        ({"low_m": 1.0, "high_m": 0.0}, "heights"),
        ({"high_m": math.inf}, "heights"),
        ({"in_base": np.zeros((3, 4))}, "rotation"),
        ({"in_base": np.full((3, 4), math.nan)}, "rotation"),
        ({"in_base": np.column_stack([np.eye(3), [0.0, 0.0, 1e9]])}, "origin"),
        ({"in_base": np.eye(4)}, "3 x 4"),
        ({"blocked": np.zeros((2, 3, 3), dtype=np.uint8)}, "one layer"),
        ({"blocked": np.zeros((1, 0, 3), dtype=np.uint8)}, "no cells"),
    ],
)
def test_floor_that_cannot_be_used_is_refused(changes, why):
    good = {
        "blocked": np.zeros((1, 3, 3), dtype=np.uint8),
        "in_base": np.eye(3, 4),
        "resolution_m": 0.1,
        "low_m": 0.0,
        "high_m": 1.0,
    } | changes
    with pytest.raises(ValueError, match=why):
        _core.ObstacleField.from_floor(good.pop("blocked"), good.pop("in_base"), **good)


def _world(rng, side=16, resolution_m=0.25):
    """A map with the robot somewhere near its middle, and the boxes it stands for, in the base frame."""
    cells = np.where(random_map(rng, side, 0.02), 100, 0)
    cells[rng.random((side, side)) < 0.02] = -1
    cells[side // 2 - 2 : side // 2 + 2, side // 2 - 2 : side // 2 + 2] = 0
    low_m, high_m = -0.1, float(rng.choice([0.3, 0.6, 2.0]))
    yaw, origin_yaw = rng.uniform(-3, 3, 2)
    extent_m = side * resolution_m
    grid = lg.OccupancyGridIndex(cells, resolution_m, (1.0, -2.0), float(origin_yaw), stamp_s=0.0)
    (x,), (y,) = grid.in_map(
        np.array([side / 2 + rng.uniform(-1, 1)]), np.array([side / 2 + rng.uniform(-1, 1)])
    )
    turn = Rotation.from_euler("z", yaw).as_matrix()
    in_base = np.column_stack([turn, -turn @ (x, y, 0.0)])
    transform = StampedTransform.of(in_base, parent_frame="", child_frame="map", stamp_s=0.0)
    floor_map = lg.FloorMap(grid=grid, map_in_base=transform, height_m=(low_m, high_m), age_s_max=1.0)
    vertex = np.column_stack([Rotation.from_euler("z", origin_yaw).as_matrix(), (1.0, -2.0, 0.0)])
    quat = Rotation.from_euler("z", yaw + origin_yaw).as_quat()
    boxes = []
    for centre, half in zip(*columns_of(cells != 0, resolution_m, low_m, high_m), strict=True):
        in_map = vertex[:, :3] @ centre + vertex[:, 3]
        place = in_base[:, :3] @ in_map + in_base[:, 3]
        shape = lg.BoxShape(size_xyz_m=tuple(2 * half))
        boxes.append(
            lg.WorldCollisionPrimitive(shape=shape, pose=lg.Pose6D(xyz=tuple(place), quat_xyzw=tuple(quat)))
        )
    assert extent_m < FAR_M
    return floor_map, boxes


# Half a second each, nearly all of it sampling: the long run is `make test-library`.
@pytest.mark.parametrize(
    "chunks", [range(20), pytest.param(range(20, 320), marks=pytest.mark.library)], ids=len
)
def test_base_arcs_over_a_map_are_clear_when_accepted_and_blocked_when_rejected(chunks):
    robot = lg.RobotDescription(**cart())
    gate, kinematics = lg.Gate(robot, step_s=STEP_S), Kinematics(robot)
    counts = Counter()
    t = np.linspace(0.0, 1.0, SAMPLES)
    for index in chunks:
        rng = np.random.default_rng([53, index])
        floor_map, boxes = _world(rng)
        mast = rng.uniform(-2.5, 2.5, 1)
        rows = np.zeros((int(rng.integers(1, 5)), 6))
        rows[:, :2] = rng.uniform(-1, 1, (len(rows), 2)) * rng.choice([0.5, 1.4])
        rows[:, 5] = rng.uniform(-1, 1, len(rows)) * rng.choice([0.0, 1.0, 6.0])
        verdict = gate.check(
            lg.ActionChunk(rows, mode=lg.ControlMode.BODY_TWIST),
            state=lg.RobotState(positions=mast, stamp_s=0.0),
            world=lg.World(floor_map=floor_map, stamp_s=0.0),
            now_s=0.0,
        )
        brute = BruteForce(kinematics, boxes, mobile=True)
        still = np.broadcast_to(mast, (SAMPLES, 1))
        ends, arcs = [np.zeros(3)], []
        for twist in rows:
            arcs.append(_advance(ends[-1], twist, t * STEP_S))
            ends.append(arcs[-1][-1])
        if verdict.accepted:
            for arc in arcs:
                gap_m = brute.least(
                    "world", brute.capsule_axes(kinematics.frames(still, base_x_y_yaw=arc)), t
                ).gap_m
                assert gap_m >= -MISSED_M, f"#{index}: MISSED on the arc by {gap_m:.3e} m"
                assert verdict.min_clearance_m <= gap_m + MISSED_M, f"#{index}"
            counts["accepted"] += 1
            continue
        (violation,) = verdict.violations
        assert violation.code == "world_collision", f"#{index}: {verdict.explain()}"
        start, end = ends[violation.step], ends[violation.step + 1]
        brute.margin_m["world"] = violation.limit_min
        chord = start + t[:, None] * (end - start)
        gap_m = brute.least(
            "world", brute.capsule_axes(kinematics.frames(still, base_x_y_yaw=chord)), t
        ).gap_m
        step_m = (float(np.linalg.norm(end[:2] - start[:2])) + 0.6 * abs(end[2] - start[2])) / SAMPLES
        assert gap_m <= BAND_M + step_m / 2, f"#{index}: FALSE REJECTION, {gap_m:.3e} m"
        counts["rejected"] += 1
    print(dict(counts))
    assert min(counts["accepted"], counts["rejected"]) >= len(chunks) // 5


def _random_footprint(rng):
    """A disc, or a star around the origin: often not convex."""
    if rng.random() < 0.3:
        return {"footprint_radius": float(rng.uniform(0.1, 0.4))}
    angles = np.sort(rng.uniform(0.0, 2 * math.pi, int(rng.integers(4, 9))))
    # Without the origin inside, edges may cross.
    while np.diff(angles, append=angles[0] + 2 * math.pi).max() >= math.pi:
        angles = np.sort(rng.uniform(0.0, 2 * math.pi, len(angles)))
    radii = rng.uniform(0.1, 0.5, len(angles))
    return {"footprint_polygon": np.column_stack([radii * np.cos(angles), radii * np.sin(angles)]).tolist()}


def _is_free(floor_map, footprint, base_x_y_yaw, margin_m):
    grid, in_base = floor_map.grid, floor_map.map_in_base.child_in_parent
    base_x, base_y, base_yaw = base_x_y_yaw
    x, y, _ = in_base[:, :3].T @ ((base_x, base_y, 0.0) - in_base[:, 3])
    if "footprint_radius" in footprint:
        return grid.is_free(x, y, inflation_m=footprint["footprint_radius"] + margin_m)
    yaw = base_yaw - math.atan2(in_base[1, 0], in_base[0, 0])
    return grid.is_footprint_free(footprint["footprint_polygon"], x=x, y=y, yaw=yaw, margin_m=margin_m)


def test_footprints_on_arcs_touch_free_cells_only_when_accepted_and_others_when_rejected():
    """Every pose of 300 per row is asked of the map itself, whose polygons are held to exact ones elsewhere."""
    counts = Counter()
    t = np.linspace(0.0, 1.0, 300)
    for index in range(80):
        rng = np.random.default_rng([59, index])
        footprint = _random_footprint(rng)
        small = cart(
            collision_geometry=[sphere_on("base", 0.01), sphere_on("bar", 0.01)], footprint_radius=None
        )
        gate = lg.Gate(lg.RobotDescription(**{**small, **footprint}), step_s=STEP_S)
        floor_map, _ = _world(rng)
        rows = np.zeros((int(rng.integers(1, 4)), 6))
        rows[:, :2] = rng.uniform(-1, 1, (len(rows), 2)) * rng.choice([0.0, 0.5, 1.4])
        rows[:, 5] = rng.uniform(-1, 1, len(rows)) * rng.choice([0.0, 1.0, 6.0])
        verdict = gate.check(
            lg.ActionChunk(rows, mode=lg.ControlMode.BODY_TWIST),
            state=lg.RobotState(positions=np.zeros(1), stamp_s=0.0),
            world=lg.World(floor_map=floor_map, stamp_s=0.0),
            now_s=0.0,
        )
        ends, arcs = [np.zeros(3)], []
        for twist in rows:
            arcs.append(_advance(ends[-1], twist, t * STEP_S))
            ends.append(arcs[-1][-1])
        kind = next(iter(footprint))
        if verdict.accepted:
            missed = [base for arc in arcs for base in arc if not _is_free(floor_map, footprint, base, 0.0)]
            assert not missed, f"#{index}: MISSED at {missed[0]}"
            counts[f"{kind} accepted"] += 1
            continue
        (violation,) = verdict.violations
        assert violation.code == "world_collision", f"#{index}: {verdict.explain()}"
        start, end = ends[violation.step], ends[violation.step + 1]
        step_m = (float(np.linalg.norm(end[:2] - start[:2])) + 0.5 * abs(end[2] - start[2])) / len(t)
        margin_m = violation.limit_min + BAND_M + step_m / 2
        chord = start + t[:, None] * (end - start)
        assert not all(_is_free(floor_map, footprint, base, margin_m) for base in chord), (
            f"#{index}: FALSE REJECTION"
        )
        counts[f"{kind} rejected"] += 1
    print(dict(counts))
    assert len(counts) == 4
    assert min(counts.values()) >= 5
