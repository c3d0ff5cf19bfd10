# SPDX-License-Identifier: Apache-2.0
"""Cartesian rows: what is resolved is what was asked for, and what is resolved is what is checked.

Compared: the tool pose of every resolved row with the requested one, placed by Pinocchio; the resolved joint
path with brute force, as in `test_sweep.py`. Tolerances: 1 cm is the largest residual a row may have, and an
accepted path keeps at least its residual as extra clearance (1e-9 m for rounding), and what remains of a turn times the
reach of what the tool's body carries; most rows are reached to 1e-5 m, the solver's own bound.
"""

import itertools
from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import lastgate as lg
from lastgate.gate.verdict import joint_rows_to_draw
from oracles import library
from oracles.pinocchio_model import PinocchioRobot
from oracles.scenes import grazing_gap_m, grazing_obstacle
from oracles.sweep_cases import Setup
from oracles.sweep_checker import COLLISIONS, MISSED_M, Checker

CHUNKS = 200
RESIDUAL_M = 0.01
REACHED_M = 1e-5
STEP_S = 0.5

BOUNDS = {
    "workspace_box_min_xyz": (-2.0, -2.0, -2.0),
    "workspace_box_max_xyz": (2.0, 2.0, 2.0),
    "max_ee_speed_m_s": 50.0,
    "max_ee_angular_speed_rad_s": 50.0,
    "max_cartesian_step_m": 0.3,
    "max_cartesian_step_rad": 1.0,
}


class _Tool:
    """The tool of a robot, placed by Pinocchio."""

    def __init__(self, robot):
        self.reference = PinocchioRobot.of_description(robot)
        (self.effector,) = robot.end_effectors
        self.offset = np.array(self.effector.tool_xyz_rpy[:3])
        self.turn = Rotation.from_euler("xyz", self.effector.tool_xyz_rpy[3:]).as_matrix()

    def pose(self, configuration):
        link = self.reference.link_poses(configuration)[self.effector.link]
        return link[:, :3] @ self.turn, link[:, :3] @ self.offset + link[:, 3]


def _reach_m(setup, tool, configuration):
    """How far from the tool the volumes reach that move with it: those of its body and of what hangs on it."""
    robot, rigid_with = setup.gate.robot, setup.kinematics.rigid_with
    parent = {joint.child_link: joint.parent_link for joint in robot.joints}

    def is_carried(link):
        while link is not None and rigid_with[link] != rigid_with[tool.effector.link]:
            link = parent.get(link)
        return link is not None

    brute, at = setup.brute_without_world, tool.pose(configuration)[1]
    ends = zip(*brute.capsule_axes(setup.kinematics.frames(configuration[None])), brute.volumes, strict=True)
    return max(
        max(float(np.linalg.norm(end[0] - at)) for end in (a, b)) + volume.radius_m
        for a, b, volume in ends
        if is_carried(volume.link)
    )


def _draw_rows(rng, mode, tool, start):
    """Rows of a mode, and the frame they are written in."""
    rows = int(rng.integers(1, 4))
    moves = rng.normal(size=(rows, 6))
    moves[:, :3] *= rng.choice([0.01, 0.05])
    moves[:, 3:] *= rng.choice([0.0, 0.1])
    in_tool = bool(rng.random() < 0.5)
    if mode == lg.ControlMode.CARTESIAN_DELTA:
        return moves, in_tool
    if mode == lg.ControlMode.CARTESIAN_TWIST:
        return moves / STEP_S, in_tool
    turn, at = tool.pose(start)
    poses = []
    for move in moves:
        turn, at = Rotation.from_rotvec(move[3:]).as_matrix() @ turn, at + move[:3]
        poses.append([*Rotation.from_matrix(turn).as_quat(), *at])
    return np.array(poses), False


def _requested(mode, row, before, in_tool):
    turn, at = before
    if mode == lg.ControlMode.CARTESIAN_POSE:
        return Rotation.from_quat(row[:4]).as_matrix(), row[4:]
    scale = STEP_S if mode == lg.ControlMode.CARTESIAN_TWIST else 1.0
    move, rotate = scale * row[:3], scale * row[3:]
    if in_tool:
        move, rotate = turn @ move, turn @ rotate
    return Rotation.from_rotvec(rotate).as_matrix() @ turn, at + move


def _in_the_way(rng, setup, path):
    """An obstacle that grazes the first segment; one deep inside the arm is drawn again."""
    for _ in range(6):
        obstacle = grazing_obstacle(
            rng, setup.kinematics, setup.brute_without_world, path[0], path[1], gap_m=grazing_gap_m(rng)
        )
        if obstacle is None:
            continue
        brute = setup.brute([obstacle])
        if all(brute.scan("world", *ends, samples=40).gap_m > -3e-3 for ends in pairwise(path)):
            break
    return obstacle


@pytest.mark.parametrize("name", ["six joints", "panda"])
@pytest.mark.parametrize("mode", ["CARTESIAN_DELTA", "CARTESIAN_TWIST", "CARTESIAN_POSE"])
def test_cartesian_rows_are_reached_and_swept(name, mode):
    mode = lg.ControlMode[mode]
    robot = library.six_joint_arm() if name == "six joints" else library.panda()
    setup = Setup(library.with_safety(robot, **BOUNDS), world_margin_m=0.005)
    gate = lg.Gate(setup.gate.robot, step_s=STEP_S)
    tool, checker, counts = _Tool(robot), Checker(), Counter()
    worst_turn_rad = 0.0
    for index in range(CHUNKS):
        rng = np.random.default_rng([17, int(mode), index])
        start = setup.clear[rng.integers(len(setup.clear))]
        rows, in_tool = _draw_rows(rng, mode, tool, start)
        chunk = lg.ActionChunk(
            np.ascontiguousarray(rows), mode=mode, frame_id=tool.effector.name if in_tool else ""
        )
        state_rows, grippers = setup.rows_of(start[None])
        state = lg.RobotState(
            positions=state_rows[0], gripper_positions=grippers[0] if grippers.size else None, stamp_s=0.0
        )
        # Resolve once in an empty world to know where the path goes, then put something in its way.
        first = gate.check(chunk, state=state, world=lg.NO_WORLD, now_s=0.0)
        if not first.accepted and first.violations[0].code not in COLLISIONS:
            counts[str(first.violations[0].code)] += 1
            continue
        path = np.vstack([start, np.repeat(start[None], len(rows), axis=0)])
        names = [j.name for j in robot.actuated_joints]
        path[1:, [names.index(n) for n in gate.joint_names]] = joint_rows_to_draw(first)
        residual_m, widened_m, before = 0.0, 0.0, tool.pose(start)
        for row, configuration in zip(rows, path[1:], strict=True):
            wanted, reached = _requested(mode, row, before, in_tool), tool.pose(configuration)
            move_m = float(np.linalg.norm(wanted[1] - reached[1]))
            turn_rad = float(np.linalg.norm(Rotation.from_matrix(wanted[0].T @ reached[0]).as_rotvec()))
            residual_m, worst_turn_rad = max(residual_m, move_m), max(worst_turn_rad, turn_rad)
            widened_m = max(widened_m, move_m + turn_rad * _reach_m(setup, tool, configuration))
            before = reached
        assert residual_m <= RESIDUAL_M, f"#{index}: {residual_m}"
        counts["reached to 1e-5 m"] += residual_m <= REACHED_M
        counts["resolved"] += 1
        obstacle = _in_the_way(rng, setup, path)
        world = lg.World(primitives=[obstacle] if obstacle else [], stamp_s=0.0)

        verdict = gate.check(chunk, state=state, world=world, now_s=0.0)

        label = f"{name} {mode.name} #{index}"
        assert np.array_equal(joint_rows_to_draw(verdict), joint_rows_to_draw(first)), label
        brute = setup.brute(world.primitives)
        if verdict.accepted:
            checker.accepted(verdict, brute, path, label)
            least_m = min(
                brute.scan(kind, a, b).gap_m
                for a, b in itertools.pairwise(path)
                for kind in ("self", "world")
            )
            assert least_m >= widened_m - MISSED_M, f"{label}: residual {widened_m} is not kept as clearance"
        else:
            # The residual widens the margin; the rejection is held to the margin it names.
            required_m = verdict.violations[0].limit_min
            kind = COLLISIONS[verdict.violations[0].code]
            assert required_m - brute.margin_m[kind] == pytest.approx(widened_m, abs=1e-9), label
            brute.margin_m[kind] = required_m
            checker.rejected(verdict, brute, path, label)
    print(
        checker.summary(f"{name} {mode.name}"), dict(counts), f"worst turn residual {worst_turn_rad:.2e} rad"
    )
    assert counts["resolved"] > 0.5 * CHUNKS
    assert counts["reached to 1e-5 m"] > 0.9 * counts["resolved"]
    assert checker.counts["chunks accepted"] >= 15
    assert checker.counts["segments rejected"] > 20
