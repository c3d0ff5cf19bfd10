# SPDX-License-Identifier: Apache-2.0
"""JOINT_TORQUE: a torque says nothing about where the joints go, so everything the speed limits allow counts.

Compared: the verdict with random configurations of the reachable box, its vertices included. Tolerances: none
of an accepted box violates, to 1e-9 m. A rejected one holds a configuration within 0.1 mm of a violation of
the pair the verdict names, found by minimising that pair's distance over the box with SciPy.
"""

from collections import Counter

import numpy as np
import pytest
from scipy.optimize import minimize

import lastgate as lg
from oracles import library
from oracles.scenes import grazing_obstacle
from oracles.sweep_cases import Setup
from oracles.sweep_checker import BAND_M, COLLISIONS, MISSED_M

CHUNKS = 250
STEP_S = 0.02
SPEED = 1.0
INSIDE = 600


def _slow(robot):
    joints = tuple(j.model_copy(update={"velocity_limit": SPEED}) if j.is_moving else j for j in robot.joints)
    return robot.model_copy(update={"joints": joints})


def _box_samples(rng, centre, half):
    inside = rng.uniform(-1, 1, (INSIDE, len(centre)))
    vertices = rng.choice([-1.0, 1.0], (INSIDE // 2, len(centre)))
    return centre + half * np.vstack([np.zeros((1, len(centre))), inside, vertices])


def _least_in_box(brute, kind, pair, samples, bounds):
    """The least distance minus margin of one pair over the box, from the best samples downhill."""

    def gap(configuration):
        a, b = brute.capsule_axes(brute.kinematics.frames(configuration[None]))
        return float(brute.distance(kind, pair, a, b)[0]) - brute.margin_m[kind]

    a, b = brute.capsule_axes(brute.kinematics.frames(samples))
    gaps = brute.distance(kind, pair, a, b) - brute.margin_m[kind]
    best = float(gaps.min())
    for start in samples[np.argsort(gaps)[:3]]:
        if best <= BAND_M:
            break
        best = min(best, float(minimize(gap, start, bounds=bounds, method="L-BFGS-B").fun))
    return best


@pytest.mark.parametrize(
    "build", [library.scara, library.six_joint_arm, library.two_arms], ids=lambda build: build.__name__
)
def test_nothing_reachable_collides_when_accepted(build):
    setup = Setup(_slow(build()), world_margin_m=0.002)
    gate = lg.Gate(setup.gate.robot, step_s=STEP_S)
    counts = Counter()
    for index in range(CHUNKS):
        rng = np.random.default_rng([61, index])
        centre = setup.clear[rng.integers(len(setup.clear))]
        rows = rng.uniform(-50, 50, (int(rng.integers(1, 4)), gate.n_dof))
        half = np.full(gate.n_dof, SPEED * STEP_S * len(rows))
        if rng.random() < 0.9:  # otherwise a joint may be able to leave its limits, which decides first
            centre = np.clip(centre, setup.kinematics.lower + half, setup.kinematics.upper - half)
        near = grazing_obstacle(
            rng,
            setup.kinematics,
            setup.brute_without_world,
            centre - half,
            centre + half,
            gap_m=float(rng.uniform(-0.002, 0.03)),
        )
        obstacles = [near] if near else []
        state = lg.RobotState(positions=centre, stamp_s=0.0)
        chunk = lg.ActionChunk(rows, mode=lg.ControlMode.JOINT_TORQUE)

        verdict = gate.check(chunk, state=state, world=lg.World(primitives=obstacles, stamp_s=0.0), now_s=0.0)

        brute = setup.brute(obstacles)
        samples = _box_samples(rng, centre, half)
        if verdict.accepted:
            capsule_axes = brute.capsule_axes(setup.kinematics.frames(samples))
            for kind in ("self", "world"):
                gap_m = brute.least(kind, capsule_axes, np.arange(len(samples), dtype=float)).gap_m
                assert gap_m >= -MISSED_M, f"#{index}: MISSED, {kind} by {gap_m:.3e} m"
                assert verdict.min_clearance_m <= gap_m + MISSED_M, f"#{index}"
            counts["accepted"] += 1
            continue
        (violation,) = verdict.violations
        counts[str(violation.code)] += 1
        if violation.code == lg.ViolationCode.joint_position_limit:
            lower, upper = setup.kinematics.lower, setup.kinematics.upper
            assert ((centre - half < lower) | (centre + half > upper)).any(), f"#{index}"
        elif violation.code in COLLISIONS:
            kind = COLLISIONS[violation.code]
            pairs = brute.self_pairs if kind == "self" else brute.world_pairs
            names = [
                (
                    pair,
                    {
                        brute.volumes[pair[0]].name,
                        brute.volumes[pair[1]].name if kind == "self" else brute.obstacles[pair[1]].name,
                    },
                )
                for pair in pairs
            ]
            named = [pair for pair, both in names if both == {violation.subject, violation.against}]
            bounds = list(zip(centre - half, centre + half, strict=True))
            least_m = min(_least_in_box(brute, kind, pair, samples, bounds) for pair in named)
            assert least_m <= BAND_M, (
                f"#{index}: FALSE REJECTION, {violation.subject} / {violation.against} by {least_m:.3e} m"
            )
    print(build.__name__, dict(counts))
    assert counts["accepted"] > 50
    assert counts["self_collision"] + counts["world_collision"] > 30
    assert counts["budget_exceeded"] < 0.2 * CHUNKS


def test_torque_beyond_its_limit_is_rejected_and_at_its_limit_is_not():
    robot = _slow(library.scara())
    gate = lg.Gate(robot, step_s=STEP_S)
    state = lg.RobotState(positions=np.array([0.0, 0.5, -0.1, 0.0]), stamp_s=0.0)
    at_limit = lg.ActionChunk(np.full((1, 4), 100.0), mode=lg.ControlMode.JOINT_TORQUE)
    beyond = lg.ActionChunk(np.full((1, 4), np.nextafter(100.0, np.inf)), mode=lg.ControlMode.JOINT_TORQUE)
    assert gate.check(at_limit, state=state, world=lg.NO_WORLD, now_s=0.0).accepted
    assert (
        gate.check(beyond, state=state, world=lg.NO_WORLD, now_s=0.0).violations[0].code
        == lg.ViolationCode.joint_torque_limit
    )
