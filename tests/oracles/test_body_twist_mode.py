# SPDX-License-Identifier: Apache-2.0
"""BODY_TWIST: the base drives arcs; the gate checks chords and widens the margin by what lies between.

Compared: the true arc of a constant twist, integrated here in closed form and sampled 2,000 times per row,
with the verdict. Tolerances: an accepted chunk is clear on the arc to 1e-9 m. A rejection names the widened
margin; on the chord that the gate checks, some instant comes within 0.1 mm of it, and the widening is never
more than the arc can stray from the chord, bounded here by half the step times the turn.
"""

from collections import Counter

import numpy as np

import lastgate as lg
from oracles import library
from oracles.brute_force import SAMPLES, BruteForce
from oracles.numpy_kinematics import Kinematics
from oracles.scenes import random_obstacle
from oracles.sweep_checker import BAND_M, COLLISIONS, MISSED_M

CHUNKS = 500
STEP_S = 0.2
MARGIN_M = 0.004


def _advance(base, twist, t):
    """Poses (x, y, yaw) a constant twist in the base's own axes leads to after each of the times."""
    x, y, yaw = base
    turn = twist[5] * t
    small = np.abs(turn) < 1e-9
    safe = np.where(small, 1.0, turn)
    sine = np.where(small, 1.0, np.sin(safe) / safe)
    cosine = np.where(small, 0.5 * turn, (1.0 - np.cos(safe)) / safe)
    ahead = t * (sine * twist[0] - cosine * twist[1])
    aside = t * (cosine * twist[0] + sine * twist[1])
    return np.column_stack(
        [
            x + np.cos(yaw) * ahead - np.sin(yaw) * aside,
            y + np.sin(yaw) * ahead + np.cos(yaw) * aside,
            yaw + turn,
        ]
    )


def _mobile_arm():
    base = {
        "max_base_linear_speed_m_s": 5.0,
        "max_base_angular_speed_rad_s": 20.0,
        "world_collision_margin_m": MARGIN_M,
    }
    robot = library.planar_arm((0.3, 0.2))
    # The base sphere becomes a chassis: with a mobile base the root is checked against the world too.
    return library.with_safety(robot, **base)


def _in_plane(obstacle, height_m):
    """The same obstacle at the height of the arm, where it can be hit."""
    x, y, _ = obstacle.pose.xyz
    return obstacle.model_copy(update={"pose": obstacle.pose.model_copy(update={"xyz": (x, y, height_m)})})


def test_base_arcs_are_clear_when_accepted_and_blocked_when_rejected():
    robot = _mobile_arm()
    gate, kinematics = lg.Gate(robot, step_s=STEP_S), Kinematics(robot)
    counts, widest_m = Counter(), 0.0
    for index in range(CHUNKS):
        rng = np.random.default_rng([47, index])
        arm = rng.uniform(-1.5, 1.5, 2)
        rows = np.zeros((int(rng.integers(1, 4)), 6))
        rows[:, :2] = rng.uniform(-1, 1, (len(rows), 2)) * rng.choice([0.3, 2.0])
        rows[:, 5] = rng.uniform(-1, 1, len(rows)) * rng.choice([0.0, 1.0, 10.0])
        obstacles = [
            _in_plane(random_obstacle(rng, reach_m=1.0), float(rng.uniform(-0.08, 0.08))) for _ in range(4)
        ]
        state = lg.RobotState(positions=arm, stamp_s=0.0)
        chunk = lg.ActionChunk(rows, mode=lg.ControlMode.BODY_TWIST)

        verdict = gate.check(chunk, state=state, world=lg.World(primitives=obstacles, stamp_s=0.0), now_s=0.0)

        brute = BruteForce(kinematics, obstacles, world_margin_m=MARGIN_M, mobile=True)
        base, t = np.zeros(3), np.linspace(0.0, 1.0, SAMPLES)
        still = np.broadcast_to(arm, (SAMPLES, 2))
        ends, arcs = [base], []
        for twist in rows:
            arcs.append(_advance(base, twist, t * STEP_S))
            base = arcs[-1][-1]
            ends.append(base)
        if verdict.accepted:
            for arc in arcs:
                frames = kinematics.frames(still, base_x_y_yaw=arc)
                for kind in ("self", "world"):
                    gap_m = brute.least(kind, brute.capsule_axes(frames), t).gap_m
                    assert gap_m >= -MISSED_M, f"#{index}: MISSED on the arc by {gap_m:.3e} m"
                    assert verdict.min_clearance_m <= gap_m + MISSED_M, f"#{index}"
            counts["arcs accepted"] += len(arcs)
            continue
        (violation,) = verdict.violations
        kind = COLLISIONS[violation.code]
        length_m = np.linalg.norm(rows[:, :2], axis=1) * STEP_S
        widening_m = violation.limit_min - brute.margin_m[kind]
        assert -1e-15 <= widening_m <= float((length_m * np.abs(rows[:, 5]) * STEP_S).max()) / 2 + 1e-12, (
            f"#{index}"
        )
        widest_m = max(widest_m, widening_m)
        start, end = ends[violation.step], ends[violation.step + 1]
        brute.margin_m[kind] = violation.limit_min
        chord = start + t[:, None] * (end - start)
        gap_m = brute.least(kind, brute.capsule_axes(kinematics.frames(still, base_x_y_yaw=chord)), t).gap_m
        step_m = (float(np.linalg.norm(end[:2] - start[:2])) + 0.6 * abs(end[2] - start[2])) / SAMPLES
        assert gap_m <= BAND_M + step_m / 2, (
            f"#{index}: FALSE REJECTION, {gap_m:.3e} m"
        )  # the minimum may lie between two samples
        counts["rejected"] += 1
        counts[f"rejected {kind}"] += 1
    print(dict(counts), f"widest margin added {widest_m:.4f} m")
    assert counts["arcs accepted"] > 100
    assert counts["rejected"] > 100


def test_base_that_stands_still_is_checked_with_its_arm():
    robot = _mobile_arm()
    gate = lg.Gate(robot, step_s=STEP_S)
    state = lg.RobotState(positions=np.zeros(2), stamp_s=0.0)
    chunk = lg.ActionChunk(np.zeros((1, 6)), mode=lg.ControlMode.BODY_TWIST)

    def sphere_at(x):
        shape = lg.SphereShape(radius_m=0.05)
        return lg.World(
            primitives=[lg.WorldCollisionPrimitive(shape=shape, pose=lg.Pose6D(xyz=(x, 0.0, 0.0)))],
            stamp_s=0.0,
        )

    assert gate.check(chunk, state=state, world=sphere_at(0.7), now_s=0.0).accepted
    assert not gate.check(chunk, state=state, world=sphere_at(0.5), now_s=0.0).accepted
