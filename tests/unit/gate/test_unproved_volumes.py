# SPDX-License-Identifier: Apache-2.0
"""Volumes drawn by hand are marked wherever a robot is listed, and in every verdict."""

import json

import numpy as np
import pytest

import lastgate as lg
from lastgate.gate.verdict import Unchecked
from lastgate.tools.cli.app import run

DRAWN = ("google_robot", "rizon4")


def verdict_of(name: str) -> lg.Verdict:
    gate = lg.Gate(lg.load_robot(name), step_s=0.02)
    middle = [
        sum(joint.position_limits or (0.0, 0.0)) / 2.0
        for joint in gate.robot.actuated_joints
        if joint.name in gate.joint_names
    ]
    row = np.array([middle])
    state = lg.RobotState(positions=row[0], stamp_s=1.0)
    return gate.check(lg.ActionChunk(row), state=state, world=lg.NO_WORLD, now_s=1.0)


@pytest.mark.parametrize("name", DRAWN)
def test_verdict_of_a_robot_drawn_by_hand_says_so(name: str) -> None:
    verdict = verdict_of(name)
    assert Unchecked.UNPROVED_VOLUMES in verdict.unchecked
    assert "unproved_volumes" in verdict.explain()


@pytest.mark.parametrize("name", ["franka_panda", "so101_follower"])
def test_verdict_of_a_lowered_robot_does_not(name: str) -> None:
    assert Unchecked.UNPROVED_VOLUMES not in verdict_of(name).unchecked


def test_list_and_doctor_mark_them_and_count_them_apart(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["robot", "list", "--json"]) == 0
    entries = json.loads(capsys.readouterr().out)
    assert tuple(entry["name"] for entry in entries if entry["unproved_volumes"]) == DRAWN
    assert run(["robot", "list"]) == 0
    listed = capsys.readouterr()
    marked = [line.split()[0] for line in listed.out.splitlines() if "hand-drawn volumes, not proved" in line]
    assert tuple(marked) == DRAWN
    assert f"{len(entries) - len(DRAWN)} robots; not counted" in listed.err
    run(["doctor"])
    doctor = capsys.readouterr().out
    assert sum("volumes not proved" in line for line in doctor.splitlines()) == len(DRAWN)


def test_every_shipped_robot_without_generated_volumes_is_marked_or_has_no_description() -> None:
    for name in lg.robot_names():
        robot = lg.load_robot(name)
        generated = "GENERATED" in lg.robots.find_manifest(name).read_text(encoding="utf-8")
        described = robot.assets.urdf is not None or robot.assets.mjcf is not None
        assert generated or not described or robot.unproved_volumes is not None, name
