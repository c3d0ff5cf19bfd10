# SPDX-License-Identifier: Apache-2.0
"""Gripper commands: the fingers are swept from where they are to where the channel sends them.

The positions a channel means are computed here from the manifest; the rest is `sweep_checker.py`. A binary
command and an unmeasured gripper leave every finger position open, so every one of them is sampled.
"""

from collections import Counter

import numpy as np
import pytest

import lastgate as lg
from oracles import library
from oracles.brute_force import SAMPLES, BruteForce
from oracles.numpy_kinematics import Kinematics
from oracles.scenes import primitive
from oracles.sweep_checker import MISSED_M, Checker

CHUNKS = 300
MARGIN_M = 0.002
HOME = np.array([0.4])


@pytest.fixture(scope="module")
def gate():
    return library.gate_of(library.gripper_arm(world_collision_margin_m=MARGIN_M))


def _obstacle_near_fingers(rng, kinematics):
    """A small thing somewhere around where the fingers may be."""
    frames = kinematics.frames(np.array([[*HOME, 0.02]]))
    local = np.array([rng.uniform(0.03, 0.15), rng.uniform(-0.09, 0.09), rng.uniform(-0.03, 0.03)])
    centre = frames.place("palm", local)[0]
    if rng.random() < 0.5:
        return primitive(lg.SphereShape(radius_m=float(rng.uniform(0.002, 0.01))), centre)
    return primitive(
        lg.BoxShape(size_xyz_m=tuple(rng.uniform(0.004, 0.02, 3).tolist())), centre, rng.normal(size=3)
    )


def _finger_path(opening_m, channels):
    # Half the channel is one finger's travel: the manifest maps 0 … 0.08 to 0 … 0.04.
    fingers = [opening_m, *(0.5 * np.asarray(channels))]
    return np.column_stack([np.tile(HOME, (len(fingers), 1)), fingers])


def test_gripper_positions_are_swept(gate):
    kinematics, checker = Kinematics(gate.robot), Checker()
    for index in range(CHUNKS):
        rng = np.random.default_rng([53, index])
        opening_m, channels = float(rng.uniform(0, 0.04)), rng.uniform(0.0, 0.08, int(rng.integers(1, 4)))
        obstacles = [_obstacle_near_fingers(rng, kinematics)]
        state = lg.RobotState(positions=HOME, gripper_positions=[opening_m], stamp_s=0.0)
        chunk = lg.ActionChunk(channels[:, None].copy(), mode=lg.ControlMode.GRIPPER_POSITION)

        verdict = gate.check(chunk, state=state, world=lg.World(primitives=obstacles, stamp_s=0.0), now_s=0.0)

        brute = BruteForce(kinematics, obstacles, world_margin_m=MARGIN_M)
        check = checker.accepted if verdict.accepted else checker.rejected
        check(verdict, brute, _finger_path(opening_m, channels), f"#{index}")
    print(checker.summary("gripper positions"))
    assert checker.counts["chunks accepted"] > 30
    assert checker.counts["segments rejected"] > 30


def _least_over_all_openings(brute, kind):
    t = np.linspace(0.0, 1.0, SAMPLES)
    path = _finger_path(0.0, [0.08])
    return brute.least(kind, brute.capsule_axes(brute.frames_at(path[0], path[1], t)), t).gap_m


@pytest.mark.parametrize("mode", ["GRIPPER_BINARY", "JOINT_POSITION"])
def test_fingers_that_may_be_anywhere_are_clear_everywhere_when_accepted(gate, mode):
    # Binary: either end is meant. Joint rows without a measured gripper: where the fingers are is not known.
    mode = lg.ControlMode[mode]
    kinematics, counts = Kinematics(gate.robot), Counter()
    for index in range(CHUNKS):
        rng = np.random.default_rng([59, index])
        obstacles = [_obstacle_near_fingers(rng, kinematics)]
        binary = mode == lg.ControlMode.GRIPPER_BINARY
        rows = rng.choice([0.0, 1.0], (1, 1)) if binary else HOME[None].copy()
        measured = [float(rng.uniform(0, 0.04))] if binary else None
        state = lg.RobotState(positions=HOME, gripper_positions=measured, stamp_s=0.0)

        verdict = gate.check(
            lg.ActionChunk(rows, mode=mode),
            state=state,
            world=lg.World(primitives=obstacles, stamp_s=0.0),
            now_s=0.0,
        )

        brute = BruteForce(kinematics, obstacles, world_margin_m=MARGIN_M)
        least_m = min(_least_over_all_openings(brute, kind) for kind in ("self", "world"))
        if verdict.accepted:
            assert least_m >= -MISSED_M, f"#{index}: MISSED by {least_m:.3e} m"
            assert verdict.min_clearance_m <= least_m + MISSED_M
            counts["accepted"] += 1
        else:
            counts["rejected"] += 1
            counts["rejected although clear by more than 0.1 mm"] += least_m > 1e-4
    print(mode.name, dict(counts))
    assert counts["rejected"] > 30
    assert counts["accepted"] > 10


def test_binary_command_beside_an_obstacle_that_no_opening_reaches_is_accepted(gate):
    kinematics = Kinematics(gate.robot)
    # 8 mm beyond the finger tips' reach, straight ahead: opening and closing moves no finger towards it.
    frames = kinematics.frames(np.array([[*HOME, 0.02]]))
    brute = BruteForce(kinematics, [], world_margin_m=MARGIN_M)
    ahead = frames.rotation["palm"][0][:, 0]
    ends = zip(*brute.capsule_axes(frames), brute.volumes, strict=True)
    tip_m = max(float(max(a[0] @ ahead, b[0] @ ahead)) + volume.radius_m for a, b, volume in ends)
    base = frames.place("palm", np.zeros(3))[0]
    centre = base + (tip_m - float(base @ ahead) + MARGIN_M + 0.008) * ahead
    table = primitive(lg.HalfSpaceShape(), centre, -ahead)
    state = lg.RobotState(positions=HOME, gripper_positions=[0.02], stamp_s=0.0)
    chunk = lg.ActionChunk(np.zeros((1, 1)), mode=lg.ControlMode.GRIPPER_BINARY)
    placed = BruteForce(kinematics, [table], world_margin_m=MARGIN_M)
    assert _least_over_all_openings(placed, "world") > 1e-3

    assert gate.check(chunk, state=state, world=lg.World(primitives=[table], stamp_s=0.0), now_s=0.0).accepted
