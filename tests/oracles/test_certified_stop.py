# SPDX-License-Identifier: Apache-2.0
"""Declared stops, simulated from random instants of chunks near obstacles: where the gate certified the stop, no
instant of any stop touches anything.

Links are placed by Pinocchio, and distances of spheres from capsules are worked out in NumPy. What is simulated is the
definition (`fixtures/declared_stops.py`), not what the gate sweeps.
"""

from dataclasses import dataclass, field

import numpy as np
import pytest
from fixtures.declared_stops import Stops, of_volumes_alone, with_stop

import lastgate as lg
from oracles.numpy_distances import point_segment
from oracles.numpy_kinematics import rotation_of_rpy
from oracles.pinocchio_model import PinocchioRobot

STEP_S = 0.02
STEPS = 12
CHUNKS = 150
REACTION_S = 0.015
DECELERATION = 8.0
HOME = np.array([0.0, -0.785, 0.0, -2.0, 0.0, 1.571, 0.785])
# What the gate cannot tell from contact, it may reject: a tenth of a millimetre.
RESOLUTION_M = 1e-4


class Arm:
    """The Panda, placed by Pinocchio, with the volumes of its manifest."""

    def __init__(self) -> None:
        self.robot = of_volumes_alone(lg.load_robot("franka_panda"))
        self.pinocchio = PinocchioRobot.of_description(self.robot)
        self.volumes = []
        for geometry in self.robot.collision_geometry:
            half = 0.5 * getattr(geometry.shape, "length_m", 0.0)
            centre = np.array(geometry.origin_xyz_rpy[:3])
            along = half * rotation_of_rpy(tuple(geometry.origin_xyz_rpy[3:]))[:, 2]
            self.volumes.append((geometry.link_name, centre - along, centre + along, geometry.shape.radius_m))
        self.limits = np.array([joint.position_limits for joint in self.robot.actuated_joints])
        self.names = [joint.name for joint in self.robot.actuated_joints]

    def axes(self, configuration: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        poses = self.pinocchio.link_poses(configuration)
        first = [poses[link][:, :3] @ a + poses[link][:, 3] for link, a, _, _ in self.volumes]
        second = [poses[link][:, :3] @ b + poses[link][:, 3] for link, _, b, _ in self.volumes]
        return np.array(first), np.array(second), np.array([radius for *_, radius in self.volumes])

    def clearance_m(self, configurations: np.ndarray, centre: np.ndarray, radius_m: float) -> float:
        """Least distance of any volume that moves from a sphere; negative where they overlap."""
        least = np.inf
        for configuration in configurations:
            a, b, radii = self.axes(configuration)
            apart = np.concatenate(
                [point_segment(centre[None], a[i : i + 1], b[i : i + 1]) for i in range(len(a))]
            )
            least = min(least, float((apart - radii - radius_m)[1:].min()))
        return least


@dataclass
class Counts:
    """What became of the chunks whose own path is clear."""

    clear: int = 0
    accepted: int = 0
    rejected: int = 0
    would_collide: int = 0
    needlessly: int = 0
    least_m: float = np.inf
    prefixes: list[int] = field(default_factory=list)


def test_no_instant_of_a_certified_stop_touches_anything():
    for kind in ("path", "joint"):
        arm = Arm()
        bare = lg.Gate(arm.robot, step_s=STEP_S)
        gate = lg.Gate(
            with_stop(arm.robot, kind, reaction_s=REACTION_S, deceleration=DECELERATION), step_s=STEP_S
        )
        counts = Counts()
        for index in range(CHUNKS):
            run_one(arm, bare, gate, kind, np.random.default_rng([20, index]), counts)
        print(kind, counts)
        # The test is not empty: without the check a share of the same stops touches the obstacle.
        assert counts.would_collide >= 0.1 * counts.clear > 0
        assert counts.accepted >= 0.1 * counts.clear
        assert counts.needlessly <= 0.1 * counts.rejected
        assert max(counts.prefixes) > min(counts.prefixes)


def run_one(
    arm: Arm, bare: lg.Gate, gate: lg.Gate, kind: str, rng: np.random.Generator, counts: Counts
) -> None:
    rows, start = random_chunk(rng, arm)
    fingers = np.full(len(arm.names) - len(start), 0.02)
    stops = Stops(kind, np.vstack([start, rows]), STEP_S, REACTION_S, np.full(len(start), DECELERATION))  # type: ignore[arg-type]
    # Near what a stop from the last step would reach.
    late = stops.simulate(stops.end_s, np.array([rng.uniform(0.1, 1.0) * stops.duration_s(stops.end_s)]))[0]
    a, b, radii = arm.axes(np.concatenate([late, fingers]))
    volume = int(rng.integers(2, len(radii)))
    share, radius_m = rng.random(), rng.uniform(0.02, 0.06)
    towards = rng.normal(size=3)
    towards /= np.linalg.norm(towards)
    # Touching, nearly touching, or a little away, so that a good half of all stops is clear.
    apart_m = radii[volume] + radius_m + rng.uniform(-0.004, 0.02)
    centre = a[volume] + share * (b[volume] - a[volume]) + apart_m * towards
    world = lg.World(
        primitives=[
            lg.WorldCollisionPrimitive(
                shape=lg.SphereShape(radius_m=radius_m),
                pose=lg.Pose6D(xyz=tuple(centre), quat_xyzw=(0, 0, 0, 1), frame_id=arm.robot.base_frame),
                object_id="thing",
            )
        ],
        stamp_s=0.0,
        frame_id=arm.robot.base_frame,
    )
    state = lg.RobotState(positions=start, stamp_s=0.0, gripper_positions=fingers)
    given = {"state": state, "world": world, "now_s": 0.0}
    if not bare.check(lg.ActionChunk(rows), **given).accepted:
        return
    verdict = gate.check(lg.ActionChunk(rows), **given)
    counts.clear += 1

    def least(asked: np.ndarray, instants: int) -> float:
        motions = [stops.simulate(t, stops.instants(t, instants)) for t in asked]
        whole = np.concatenate(motions)
        padded = np.concatenate([whole, np.tile(fingers, (len(whole), 1))], axis=1)
        inside = (whole >= arm.limits[:7, 0]).all() and (whole <= arm.limits[:7, 1]).all()
        return arm.clearance_m(padded, centre, radius_m) if inside else -1.0

    ends = STEP_S * np.arange(1, STEPS + 1)
    nearest_m = least(np.concatenate([[stops.end_s], ends[-3:] - 1e-9, rng.uniform(0, stops.end_s, 4)]), 25)
    counts.would_collide += nearest_m < 0.0
    if verdict.accepted:
        counts.accepted += 1
        counts.least_m = min(counts.least_m, nearest_m)
        assert nearest_m > 0.0
        assert verdict.stop_certified
        return
    counts.rejected += 1
    assert verdict.violations[0].code == lg.ViolationCode.stop_not_certified
    counts.needlessly += nearest_m > 20 * RESOLUTION_M
    counts.prefixes.append(verdict.certified_rows)
    assert verdict.certified_rows < STEPS
    # The promise that is left: a stop from any step that was certified is clear.
    if verdict.certified_rows:
        assert least(rng.uniform(0.0, STEP_S * verdict.certified_rows, 6), 25) > 0.0


def random_chunk(rng: np.random.Generator, arm: Arm) -> tuple[np.ndarray, np.ndarray]:
    """Steps whose speeds change a little from one to the next, well inside the limits."""
    start = HOME + rng.uniform(-0.7, 0.7, 7)
    velocity = rng.uniform(-1.0, 1.0, 7) * rng.choice([0.3, 1.0])
    change = rng.normal(size=7) * 0.05
    rows = start + STEP_S * np.cumsum(velocity + change * np.arange(STEPS)[:, None], axis=0)
    return np.clip(rows, arm.limits[:7, 0], arm.limits[:7, 1]), start


@pytest.mark.parametrize("kind", ["path", "joint"])
def test_stop_takes_the_time_and_the_way_that_the_verdict_says(kind):
    arm = Arm()
    gate = lg.Gate(
        with_stop(arm.robot, kind, reaction_s=REACTION_S, deceleration=DECELERATION), step_s=STEP_S
    )
    compared = 0
    for index in range(60):
        rng = np.random.default_rng([21, index])
        rows, start = random_chunk(rng, arm)
        state = lg.RobotState(positions=start, stamp_s=0.0)
        verdict = gate.check(lg.ActionChunk(rows), state=state, world=lg.NO_WORLD, now_s=0.0)
        if not verdict.accepted:
            continue
        compared += 1
        stops = Stops(kind, np.vstack([start, rows]), STEP_S, REACTION_S, np.full(7, DECELERATION))
        grid = STEP_S * np.arange(STEPS + 1)
        asked = np.unique(
            np.concatenate([grid, np.maximum(grid - 1e-9, 0.0), np.linspace(0.0, stops.end_s, 400)])
        )
        ways, longest_s = [], 0.0
        for asked_s in asked:
            # Segments of the path are monotone, so the way adds up from few instants.
            times = np.unique(
                np.concatenate([stops.instants(asked_s, 120), [REACTION_S], np.maximum(grid - asked_s, 0.0)])
            )
            motion = stops.simulate(asked_s, times[times <= stops.duration_s(asked_s)])
            ways.append(np.abs(np.diff(motion, axis=0)).sum(axis=0))
            longest_s = max(longest_s, stops.duration_s(asked_s))
            decelerates_within(stops, asked_s)
        farthest = np.max(ways, axis=0)
        assert verdict.stop_time_s == pytest.approx(longest_s, rel=1e-9)
        assert (farthest <= verdict.stop_distance + 1e-12).all()
        assert farthest == pytest.approx(verdict.stop_distance, rel=0.02, abs=1e-4)
    assert compared > 30


def decelerates_within(stops: Stops, asked_s: float) -> None:
    """No joint changes its speed faster than declared, wherever the path itself runs straight."""
    step_s = stops.duration_s(asked_s) / 200
    if step_s == 0.0:
        return
    times = REACTION_S + step_s * np.arange(1, 190)
    times = times[times + step_s < stops.duration_s(asked_s)]
    before, here, after = (stops.simulate(asked_s, times + shift) for shift in (-step_s, 0.0, step_s))
    change = np.abs(after - 2 * here + before) / step_s**2
    if stops.kind == "path":
        braking = stops.braking_s(asked_s)
        since = times - REACTION_S
        along = asked_s + REACTION_S + since - since**2 / (2 * braking)
        inside = np.abs(along / STEP_S - np.round(along / STEP_S)) * STEP_S > 2 * step_s
        inside |= along > stops.end_s + 2 * step_s
        change = change[inside]
    assert (change <= DECELERATION * (1 + 1e-6) + 1e-6).all()
