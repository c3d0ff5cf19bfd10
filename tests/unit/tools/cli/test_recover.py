# SPDX-License-Identifier: Apache-2.0
"""`lastgate recover`: the case that stops every owner of an SO-101, the folded rest pose in which meshes overlap."""

import json
from itertools import pairwise

import numpy as np
import pytest
from oracles.coal_robot import CoalRobot

import lastgate as lg

# What the sweep calls a violation already: within 0.1 mm.
RESOLUTION_M = 1e-4


@pytest.fixture(scope="module")
def gate() -> lg.Gate:
    return lg.Gate(lg.load_robot("so101_follower"), step_s=0.02)


def folded(gate: lg.Gate, seed: int) -> np.ndarray:
    """Returns the rest pose as drivers measure it, about -100, 97 and 70 degrees, each time a little different."""
    pose = np.deg2rad([0.0, -100.0, 97.0, 70.0, 0.0, 0.0])
    pose += np.random.default_rng(seed).uniform(-0.02, 0.02, 6)
    limits = {joint.name: joint.position_limits for joint in gate.robot.joints}
    ranges = np.array([limits[name] for name in gate.joint_names])
    return np.clip(pose, ranges[:, 0], ranges[:, 1])


def is_clear(gate: lg.Gate, positions: np.ndarray) -> bool:
    return bool(gate.check_batch(positions[np.newaxis].copy(), world=lg.NO_WORLD).accepted[0])


def nothing_goes_deeper(gate: lg.Gate, path: np.ndarray) -> None:
    """Coal, on the hulls, at the steps and half way between them."""
    robot = CoalRobot(gate)
    deepest = robot.distances(path[0].copy())
    for before, after in pairwise(path):
        for share in (0.5, 1.0):
            for pair, distance_m in robot.distances(before + share * (after - before)).items():
                assert distance_m >= min(deepest.get(pair, np.inf), 0.0) - RESOLUTION_M, pair


@pytest.mark.parametrize("seed", range(10))
def test_folded_arm_is_led_out_and_no_contact_gets_deeper(seed, gate, lastgate, tmp_path):
    measured, way = tmp_path / "measured.json", tmp_path / "way.json"
    start = folded(gate, seed)
    assert not is_clear(gate, start)
    path = [start]
    # Once, or once more from where a part of the way ended.
    for _ in range(4):
        measured.write_text(json.dumps({"positions": path[-1].tolist()}))
        told = lastgate("recover", "--robot", "so101_follower", "--state", measured, "--no-world", "-o", way)
        assert told.code == 0
        rows = json.loads(way.read_text())["rows"]
        if not rows:
            break
        path += [np.array(row) for row in rows]
    assert told.out.startswith("clear")
    assert is_clear(gate, path[-1])
    nothing_goes_deeper(gate, np.array(path))


def test_robot_that_stands_clear_has_nothing_to_leave(lastgate, tmp_path):
    measured = tmp_path / "measured.json"
    measured.write_text(json.dumps({"positions": [0.0, 0.0, 0.0, 0.5, 0.0, 0.0]}))
    told = lastgate("recover", "--robot", "so101_follower", "--state", measured, "--no-world", "--json")
    assert told.code == 0
    assert json.loads(told.out)["steps"] == []
