# SPDX-License-Identifier: Apache-2.0
"""The tool stays inside its box at every instant, both sides, against sampling.

Tolerances: an accepted path is sampled inside to 1e-9 m (two double computations); a rejected one has an
instant within 0.1 mm of a wall, which is the promise. The reported point is where the tool is at the reported
instant: 1e-6 m.
"""

from collections import Counter

import numpy as np
import pytest

import lastgate as lg
from oracles import library
from oracles.numpy_kinematics import Kinematics, rotation_of_rpy
from oracles.pinocchio_model import random_configurations

CHUNKS = 1500
SAMPLES = 2000


def _depth_inside_m(kinematics, box, start, end, t):
    """How far the tool is from the nearest wall, negative outside, at instants of a segment."""
    (effector,) = kinematics.robot.end_effectors
    frames = kinematics.frames(start + t[:, None] * (end - start))
    tool = frames.place(effector.link, np.array(effector.tool_xyz_rpy[:3]))
    return np.minimum(tool - box[0], box[1] - tool).min(axis=1), tool


def _least_depth_m(kinematics, box, start, end):
    t = np.linspace(0.0, 1.0, SAMPLES)
    depth, _ = _depth_inside_m(kinematics, box, start, end, t)
    first_outside = float(t[np.argmax(depth < -1e-9)]) if (depth < -1e-9).any() else np.inf
    best, centre, width = float(depth.min()), float(t[depth.argmin()]), 1.0 / SAMPLES
    for _ in range(3):
        near = np.clip(np.linspace(centre - width, centre + width, 41), 0.0, 1.0)
        depth, _ = _depth_inside_m(kinematics, box, start, end, near)
        centre, width = float(near[depth.argmin()]), width / 20
        best = min(best, float(depth.min()))
    return best, first_outside


@pytest.mark.parametrize(
    "build",
    [library.one_joint_arm, lambda: library.planar_arm((0.5, 0.4)), library.scara, library.six_joint_arm],
    ids=["one joint", "planar 2R", "scara", "six joints"],
)
def test_tool_stays_inside_its_box_at_every_instant(build):
    robot = build()
    # Without shapes that could collide, the box is all there is to break.
    small = [g.model_copy(update={"shape": lg.SphereShape(radius_m=1e-4)}) for g in robot.collision_geometry]
    robot = robot.model_copy(update={"collision_geometry": tuple(small)})
    counts = Counter()
    gates = []
    for number in range(12):
        rng = np.random.default_rng([3, number])
        middle = random_configurations(robot, rng, 1, turns=0.5)[0]
        kinematics = Kinematics(robot)
        _, tool = _depth_inside_m(kinematics, (0.0, 0.0), middle, middle, np.zeros(1))
        low, high = tool[0] - rng.uniform(0.05, 0.7, 3), tool[0] + rng.uniform(0.05, 0.7, 3)
        limits = {"workspace_box_min_xyz": tuple(low.tolist()), "workspace_box_max_xyz": tuple(high.tolist())}
        gates.append((library.gate_of(library.with_safety(robot, **limits)), kinematics, (low, high), middle))
    for index in range(CHUNKS):
        rng = np.random.default_rng([5, index])
        gate, kinematics, box, middle = gates[index % len(gates)]
        start = _graze(rng, kinematics, box, middle)
        step = float(rng.choice([0.05, 0.5, 3.0, 2 * np.pi]))
        end = np.clip(start + rng.uniform(-step, step, len(start)), kinematics.lower, kinematics.upper)
        state = lg.RobotState(positions=start, stamp_s=0.0)

        verdict = gate.check(lg.ActionChunk(end[None]), state=state, world=lg.NO_WORLD, now_s=0.0)

        least_m, first_outside = _least_depth_m(kinematics, box, start, end)
        code = None if verdict.accepted else verdict.violations[0].code
        if code == lg.ViolationCode.workspace_box:
            (violation,) = verdict.violations
            assert least_m <= 1e-4, f"#{index}: the tool never comes nearer to a wall than {least_m:.3e} m"
            assert violation.first_contact_t <= first_outside + 1e-12
            depth, tool = _depth_inside_m(kinematics, box, start, end, np.array([violation.segment_t]))
            assert violation.value == pytest.approx(float(depth[0]), abs=1e-6)
            assert np.array(violation.measured_xyz) == pytest.approx(tool[0], abs=1e-6)
            counts["rejected"] += 1
            counts["rejected by less than 1 mm"] += least_m > -1e-3
        else:
            assert code in (None, lg.ViolationCode.self_collision), verdict.explain()
            assert least_m >= -1e-9, f"#{index}: MISSED, the tool is {-least_m:.3e} m outside"
            counts["inside"] += 1
            counts["inside by less than 1 mm"] += least_m < 1e-3
    print(robot.name, dict(counts))
    assert counts["inside"] > 100
    assert counts["rejected"] > 100


def _graze(rng, kinematics, box, middle):
    """A start configuration inside the box, often with the tool within a millimetre of a wall."""
    for _ in range(50):
        other = middle + rng.uniform(-1, 1, len(middle))
        t = np.linspace(0.0, 1.0, 400)
        depth, _ = _depth_inside_m(kinematics, box, middle, other, t)
        if depth.min() < 0.0:
            last = int(np.argmax(depth < 0.0)) - 1
            if last > 0:
                return np.clip(middle + t[last] * (other - middle), kinematics.lower, kinematics.upper)
    return middle


def test_tool_offset_turns_with_its_link():
    # The twin of the sampling above for the one number it takes on trust: where the tool point is.
    robot = library.six_joint_arm()
    gate = library.gate_of(robot)
    row = np.array([0.3, -0.8, 0.9, 0.2, -0.4, 1.1])
    pose = gate.link_poses(row)["w3"]
    frames = Kinematics(robot).frames(row[None])
    offset = np.array(robot.end_effectors[0].tool_xyz_rpy[:3])
    assert pose[:, :3] @ offset + pose[:, 3] == pytest.approx(frames.place("w3", offset)[0], abs=1e-9)
    assert np.allclose(rotation_of_rpy((0.0, 0.0, 0.0)), np.eye(3))
