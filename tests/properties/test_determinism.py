# SPDX-License-Identifier: Apache-2.0
"""The same question gets the same bytes, and a harder question never gets a softer answer.

No reference is needed: verdicts are compared with verdicts. Tolerances: none, except where a path is cut in
two, which moves the sampled instants; there the answers may differ inside the 0.1 mm band in which both keep
the promise.
"""

import itertools
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from oracles import library
from oracles.brute_force import BruteForce
from oracles.numpy_kinematics import Kinematics
from oracles.pinocchio_model import random_configurations
from oracles.scenes import grazing_gap_m, grazing_obstacle, random_obstacle
from oracles.sweep_cases import Setup, short_steps

import lastgate as lg
from lastgate import _core

CASES = 150
BAND_M = 1e-4


@pytest.fixture(scope="module")
def setup():
    return Setup(library.panda(), world_margin_m=0.003)


def _case(setup, index):
    """A chunk with its state and its obstacles, near the edge of being refused."""
    rng = np.random.default_rng([23, index])
    path = short_steps(rng, setup)
    rows, grippers = setup.rows_of(path)
    path[:, 7] = path[0, 7]
    graze = grazing_obstacle(
        rng, setup.kinematics, setup.brute_without_world, path[0], path[1], gap_m=grazing_gap_m(rng)
    )
    obstacles = [*([graze] if graze else []), random_obstacle(rng, reach_m=1.0)]
    state = lg.RobotState(positions=rows[0], gripper_positions=grippers[0], stamp_s=0.0)
    return lg.ActionChunk(np.ascontiguousarray(rows[1:])), state, obstacles, path


def _world(obstacles, number=None):
    world = lg.World(primitives=obstacles, stamp_s=0.0)
    if number is not None:
        world.number = number  # the id is part of the verdict's bytes
    return world


def test_same_question_gets_the_same_bytes_from_two_gates_in_any_order(setup):
    cases = [_case(setup, index) for index in range(CASES)]
    worlds = [_world(case[2]) for case in cases]
    robot = setup.gate.robot

    def answers(gate, order):
        found = {}
        for index in order:
            chunk, state, _, _ = cases[index]
            found[index] = gate.check(chunk, state=state, world=worlds[index], now_s=0.0).to_bytes()
        return [found[index] for index in range(CASES)]

    forwards = answers(library.gate_of(robot), range(CASES))
    again = answers(setup.gate, range(CASES))
    backwards = answers(library.gate_of(robot), reversed(range(CASES)))
    shuffled = answers(setup.gate, np.random.default_rng(1).permutation(CASES).tolist())

    assert forwards == again == backwards == shuffled
    assert len(set(forwards)) > CASES / 2  # they are not all the same answer


def test_batch_answers_do_not_depend_on_their_neighbours(setup):
    rng = np.random.default_rng(3)
    rows = np.ascontiguousarray(random_configurations(setup.gate.robot, rng, 200)[:, :7])
    world = _world([random_obstacle(rng, reach_m=0.8) for _ in range(6)])

    together = setup.gate.check_batch(rows, world=world, gripper_positions=[0.02])

    order = rng.permutation(200)
    shuffled = setup.gate.check_batch(
        np.ascontiguousarray(rows[order]), world=world, gripper_positions=[0.02]
    )
    alone = [setup.gate.check_batch(rows[[k]], world=world, gripper_positions=[0.02]) for k in range(200)]
    assert np.array_equal(together.accepted[order], shuffled.accepted)
    assert np.array_equal(together.accepted, [bool(single.accepted[0]) for single in alone])
    assert 10 < together.accepted.sum() < 190


def test_clearance_of_a_configuration_does_not_depend_on_its_neighbours(setup):
    rng = np.random.default_rng(4)
    rows = np.ascontiguousarray(random_configurations(setup.gate.robot, rng, 200)[:, :7])
    world = _world([random_obstacle(rng, reach_m=0.8) for _ in range(6)])

    together = setup.gate.check_batch(rows, world=world, gripper_positions=[0.02]).clearance_m
    alone = [
        setup.gate.check_batch(rows[[k]], world=world, gripper_positions=[0.02]).clearance_m[0]
        for k in range(200)
    ]

    assert np.array_equal(together, alone)


def test_larger_margin_never_accepts_more(setup):
    margins = [0.0, 0.001, 0.003, 0.01, 0.03]
    robot = library.panda()
    gates = [
        library.gate_of(library.with_safety(robot, world_collision_margin_m=m, self_collision_margin_m=m))
        for m in margins
    ]
    changed = 0
    for index in range(CASES):
        chunk, state, obstacles, _ = _case(setup, index)
        answers = [
            gate.check(chunk, state=state, world=_world(obstacles), now_s=0.0).accepted for gate in gates
        ]
        assert answers == sorted(answers, reverse=True), (
            f"#{index}: {dict(zip(margins, answers, strict=True))}"
        )
        changed += len(set(answers)) > 1
    assert changed > 10


def test_another_obstacle_never_accepts_more(setup):
    changed = 0
    for index in range(CASES):
        chunk, state, _, _ = _case(setup, index)
        rng = np.random.default_rng([29, index])
        obstacles, answers = [], []
        for _ in range(8):
            obstacles = [random_obstacle(rng, reach_m=0.8), *obstacles]
            answers.append(setup.gate.check(chunk, state=state, world=_world(obstacles), now_s=0.0).accepted)
        assert answers == sorted(answers, reverse=True), f"#{index}: {answers}"
        changed += len(set(answers)) > 1
    assert changed > 10  # else no obstacle ever mattered


def test_order_of_obstacles_does_not_change_the_answer(setup):
    for index in range(CASES):
        chunk, state, obstacles, _ = _case(setup, index)
        forwards = setup.gate.check(chunk, state=state, world=_world(obstacles), now_s=0.0)
        backwards = setup.gate.check(chunk, state=state, world=_world(obstacles[::-1]), now_s=0.0)
        assert forwards.accepted == backwards.accepted, f"#{index}"
        assert forwards.certified_rows == backwards.certified_rows, f"#{index}"


def test_distance_of_two_segments_is_the_same_both_ways():
    rng = np.random.default_rng(5)
    for _ in range(5000):
        first, second = rng.uniform(-1, 1, (2, 6))
        if rng.random() < 0.3:  # parallel
            second[3:] = second[:3] + rng.uniform(-1, 1) * (first[3:] - first[:3])
        there, back = _core.distance_segments(first, second)[0], _core.distance_segments(second, first)[0]
        assert abs(there - back) <= 1e-14


def test_allowed_pair_is_allowed_in_either_order():
    robot = library.planar_arm((0.4, 0.3, 0.25))
    pairs = [*robot.allowed_collision_pairs]
    there = lg.AllowedCollisionPair(link_a="link1", link_b="link3", reason="junction")
    back = lg.AllowedCollisionPair(link_a="link3", link_b="link1", reason="junction")
    folded = lg.ActionChunk(np.array([[0.0, 2.9, 2.9]]))
    state = lg.RobotState(positions=np.array([0.0, 2.8, 2.8]), stamp_s=0.0)
    answers = []
    for extra in ([], [there], [back]):
        gate = library.gate_of(robot.model_copy(update={"allowed_collision_pairs": (*pairs, *extra)}))
        answers.append(gate.check(folded, state=state, world=lg.NO_WORLD, now_s=0.0).accepted)
    assert answers == [False, True, True]


def test_path_cut_in_two_gets_the_same_answer_outside_the_band(setup):
    differed = 0
    for index in range(CASES):
        chunk, state, obstacles, path = _case(setup, index)
        rng = np.random.default_rng([37, index])
        row = int(rng.integers(len(chunk.rows)))
        before = state.positions if row == 0 else chunk.rows[row - 1]
        between = before + float(rng.uniform(0.1, 0.9)) * (chunk.rows[row] - before)
        cut = lg.ActionChunk(np.insert(chunk.rows, row, between, axis=0))
        world = _world(obstacles)

        whole = setup.gate.check(chunk, state=state, world=world, now_s=0.0)
        halves = setup.gate.check(cut, state=state, world=world, now_s=0.0)

        if whole.accepted != halves.accepted:
            differed += 1
            brute = BruteForce(Kinematics(setup.gate.robot), obstacles, world_margin_m=0.003)
            least_m = min(
                brute.refined_gap(kind, a, b, brute.scan(kind, a, b))
                for a, b in itertools.pairwise(path)
                for kind in ("self", "world")
            )
            assert 0.0 <= least_m <= BAND_M, f"#{index}: least gap {least_m:.3e} m"
    print(f"{CASES} paths cut in two, {differed} answered differently inside the band")
    assert differed < 0.1 * CASES


# As the tool records them that compares the verdicts of two states of the code. Each build in a process of its own: a
# verdict says the number of its world, and a process counts its worlds.
RECORD = """
import runpy, sys
tool = runpy.run_path(sys.argv[1])
for label, verdict in tool["library_verdicts"]("panda_mobile", 200):
    print(label, verdict.accepted, tool["digest_of"](verdict).hex())
"""


def test_recorded_verdicts_of_every_simd_build_are_the_same():
    tool = Path(__file__).parents[2] / "tools" / "record_verdicts.py"
    builds = [name for name, build in _core.SimdBuild.__members__.items() if _core.has_simd_build(build)]
    found = {
        build: subprocess.run(
            [sys.executable, "-c", RECORD, str(tool)],
            env={**os.environ, "LASTGATE_SIMD": build},
            capture_output=True,
            text=True,
            check=True,
            timeout=120,
        ).stdout
        for build in builds
    }
    generic = found["generic"].splitlines()
    assert len(generic) == 200
    assert 10 <= sum(" True " in line for line in generic) <= 190
    assert all(lines == found["generic"] for lines in found.values())
