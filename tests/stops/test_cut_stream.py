# SPDX-License-Identifier: Apache-2.0
"""A share of the cuts that `make stops` makes, and the simulation held against what it should notice."""

import numpy as np
import pytest

from stops.cut_stream import CUTS, ROBOTS, STEP_S, Cut, Stage, Tally, run

CERTIFIED_CUTS = 240


def test_robot_whose_stop_was_certified_touches_nothing_and_goes_no_farther_than_certified():
    tally = run(CERTIFIED_CUTS, seed=20, tally=Tally())
    assert tally.certified >= CERTIFIED_CUTS
    assert tally.contacts_certified == 0
    assert tally.beyond_certified == 0
    # The twin: where no stop was certified, cuts do collide, or nothing would have been shown.
    assert tally.contacts_without_check >= 0.01 * tally.cuts


@pytest.mark.parametrize("kind", CUTS)
def test_cut_moves_the_arm_on_and_brings_it_to_rest(kind):
    stage = Stage("franka_panda", np.random.default_rng(3))
    start = stage.start()
    path = start + np.outer(np.arange(11) * STEP_S, 0.5 * stage.speed * stage.moves)
    _, gone = stage.cut(path, kind, 0.5)
    assert stage.law is not None
    speed = 0.5 * stage.speed[stage.columns]
    expected = speed * (stage.law.reaction_s + 0.5 * (speed / stage.law.deceleration).max())
    # The driver learns of a cut at its next tick, and asks for the stop then.
    np.testing.assert_allclose(gone, expected, atol=1e-9)


def test_solid_on_the_way_of_a_stop_is_noticed():
    stage = Stage("franka_panda", np.random.default_rng(3))
    start = stage.start()
    path = start + np.outer(np.arange(11) * STEP_S, 0.3 * stage.speed * stage.moves)
    stage.mujoco.place(path[-1])
    part = stage.mujoco.part(stage.random)
    middle, _ = stage.mujoco.part_at(part, path[-1])
    assert not stage.cut(path, "stream ends", 1.0)[0]
    stage.mujoco.move_solid("obstacle", middle, 0.05)
    assert stage.cut(path, "stream ends", 1.0)[0]


def test_tally_counts_what_goes_wrong():
    tally = Tally()
    tally.add(Cut("franka_panda", "e-stop", 0.5, certified=True, touched=True, beyond=0.01))
    tally.add(Cut("franka_panda", "e-stop", 0.5, certified=False, touched=True, beyond=-np.inf))
    assert (tally.contacts_certified, tally.beyond_certified, tally.contacts_without_check) == (1, 1, 2)


@pytest.mark.parametrize("name", ROBOTS)
def test_links_stand_in_the_simulation_where_the_gate_has_them(name):
    stage = Stage(name, np.random.default_rng(1))
    start = stage.start()
    fingers = [stage.names.index(finger) for finger in stage.gate.gripper_joint_names]
    poses = stage.gate.link_poses(
        np.ascontiguousarray(start[stage.columns]), gripper_positions=start[fingers] if fingers else None
    )
    stage.mujoco.place(start)
    for link, pose in poses.items():
        body = stage.mujoco.data.body(f"link {link}")
        np.testing.assert_allclose(body.xpos, pose[:3, 3], atol=1e-6)
        np.testing.assert_allclose(body.xmat.reshape(3, 3), pose[:3, :3], atol=1e-6)
