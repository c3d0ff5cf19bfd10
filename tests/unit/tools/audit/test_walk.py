# SPDX-License-Identifier: Apache-2.0
"""A walk reports every run of rows that breaks a rule, once, and skips no instant between two steps."""

import numpy as np
import pytest

import lastgate as lg
from lastgate.tools.audit.findings import merge_rows
from lastgate.tools.audit.walk import REJECTIONS_MAX, PathWalker

START = np.array([0.0, -0.6, 0.0, -2.2, 0.0, 1.7, 0.785])


@pytest.fixture(scope="module")
def gate():
    return lg.Gate(lg.load_robot("franka_panda"), step_s=0.02)


def still(rows: int) -> np.ndarray:
    return np.tile(START, (rows, 1))


def found(gate, path, world=lg.NO_WORLD):
    walk = PathWalker(gate, world).walk(path)
    return [(f.code, f.first_row, f.last_row) for f in merge_rows("action", walk.found)]


def test_clean_path_of_many_chunks_has_no_findings(gate):
    path = still(1000)
    path[:, 0] += 0.3 * np.sin(np.arange(1000) / 50.0)
    walk = PathWalker(gate, lg.NO_WORLD).walk(path)
    assert walk.found == []
    assert walk.min_clearance_m > 0.0
    assert not walk.cut_off


@pytest.mark.parametrize("at", [1, 2, 255, 256, 257, 258, 511, 512, 513, 599])
def test_jump_at_the_edges_of_chunks_is_found_once(gate, at):
    path = still(600)
    path[at:, 0] += 0.3
    assert found(gate, path) == [("joint_velocity_limit", at, at)]


def test_faults_of_different_rules_in_one_chunk_are_all_found(gate):
    path = still(200)
    path[30:, 0] += 0.3  # a jump
    path[60, 3] = np.nan
    path[61, 2] = np.inf
    path[100:105, 3] = 0.1  # beyond its limit, and a jump to get there
    assert found(gate, path) == [
        ("joint_velocity_limit", 30, 30),
        ("nan_in_action", 60, 61),
        ("joint_position_limit", 100, 105),
    ]


def test_contact_between_two_steps_of_different_chunks_is_found(gate):
    # The arm swings past a bead between steps 256 and 257, where one chunk ends and the next begins.
    bead = lg.WorldCollisionPrimitive(
        shape=lg.SphereShape(shape="sphere", radius_m=0.001),
        pose=lg.Pose6D(xyz=tuple(gate.link_poses(START)["panda_hand"][:, 3])),
    )
    world = lg.World(primitives=[bead], stamp_s=0.0)
    path = still(400)
    path[:257, 0] -= 2.0
    path[257:, 0] += 2.0
    codes = [code for code, *_ in found(gate, path, world)]
    assert codes == [
        "joint_velocity_limit"
    ]  # too fast comes before the sweep, so the sweep is asked with a slow gate
    slow = lg.Gate(lg.load_robot("franka_panda"), step_s=10.0, evaluations_max=1_000_000)
    assert ("world_collision", 257, 257) in found(slow, path, world)


def test_start_that_is_no_number_is_said_and_the_rest_is_checked(gate):
    path = still(50)
    path[0, 0] = np.nan
    path[20:, 0] += 0.3
    assert found(gate, path) == [("state_unavailable", 1, 1), ("joint_velocity_limit", 20, 20)]


def test_recording_in_the_wrong_unit_is_cut_off(gate):
    path = np.rad2deg(still(3 * REJECTIONS_MAX))
    walk = PathWalker(gate, lg.NO_WORLD).walk(path)
    assert walk.cut_off
    assert len(walk.found) <= REJECTIONS_MAX + 1


def test_gripper_that_moves_counts_with_its_whole_range(gate):
    path = still(20)
    standing = np.full((20, 1), 0.02)
    assert (
        not PathWalker(gate, lg.NO_WORLD).walk(path, gripper=standing).unchecked & lg.Unchecked.GRIPPER_STATE
    )
    moving = np.linspace(0.0, 0.04, 20)[:, np.newaxis]
    assert PathWalker(gate, lg.NO_WORLD).walk(path, gripper=moving).unchecked & lg.Unchecked.GRIPPER_STATE
