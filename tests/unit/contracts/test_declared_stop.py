# SPDX-License-Identifier: Apache-2.0
"""How a robot stops: declared whole, with a source for each number, or not declared."""

import math
from typing import Any

import pytest
from fixtures.analytic_robots import gripper_arm
from pydantic import ValidationError

import lastgate as lg
from lastgate import _core
from lastgate.contracts import DeclaredStop
from lastgate.tools.cli.app import run

PATH = {"kind": "path", "reaction_s": 0.02}


def arm(stop: dict[str, Any] | None = None, **limits: float) -> dict[str, Any]:
    """An arm with a gripper; each named joint brakes with its number."""
    manifest = gripper_arm()
    for joint in manifest["joints"]:
        if joint["name"] in limits:
            joint["deceleration_limit"] = limits[joint["name"]]
    return manifest | ({} if stop is None else {"stop": stop})


def test_stop_that_is_not_declared_is_absent():
    robot = lg.RobotDescription(**arm())
    assert robot.stop is None
    assert {joint.deceleration_limit for joint in robot.joints} == {None}


def test_fingers_need_no_deceleration_and_joints_of_the_steps_do():
    robot = lg.RobotDescription(**arm(PATH, lift=2.0))
    assert robot.stop == DeclaredStop(kind="path", reaction_s=0.02)
    with pytest.raises(ValidationError, match="deceleration_limit` of every joint that steps move: `lift`"):
        lg.RobotDescription(**arm(PATH, finger_joint=2.0))


@pytest.mark.parametrize("number", [0.0, -1.0, math.nan, math.inf])
def test_deceleration_that_is_no_number_above_zero_is_refused(number):
    lg.RobotDescription(**arm(PATH, lift=5e-324))
    with pytest.raises(ValidationError, match="deceleration_limit"):
        lg.RobotDescription(**arm(PATH, lift=number))


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"kind": "hard"}, "'path' or 'joint'"),
        ({"reaction_s": -1e-9}, "reaction_s"),
        ({"reaction_s": math.nan}, "reaction_s"),
        ({"base_deceleration_m_s2": 1.0}, "base_angular_deceleration_rad_s2` is missing"),
        ({"base_angular_deceleration_rad_s2": 1.0}, "base_deceleration_m_s2` is missing"),
        ({"base_deceleration_m_s2": 0.0, "base_angular_deceleration_rad_s2": 1.0}, "base_deceleration_m_s2"),
        ({"reaction": 0.02}, "reaction"),
    ],
)
def test_stop_with_one_wrong_number_is_refused(change, why):
    whole = PATH | {"base_deceleration_m_s2": 1.0, "base_angular_deceleration_rad_s2": 1.0}
    assert DeclaredStop(**whole).kind == "path"
    with pytest.raises(ValidationError, match=why):
        DeclaredStop(**(PATH | change))


def test_source_is_one_of_three_and_an_assumption_unless_named():
    manifest = arm(PATH, lift=2.0)
    lift = next(joint for joint in manifest["joints"] if joint["name"] == "lift")
    assert lg.contracts.JointSpec(**lift).deceleration_limit_source == "assumed"
    assert lg.contracts.JointSpec(**lift, deceleration_limit_source="vendor").deceleration_limit == 2.0
    with pytest.raises(ValidationError, match="deceleration_limit_source"):
        lg.contracts.JointSpec(**lift, deceleration_limit_source="data sheet")


def test_gate_reads_the_numbers_of_the_manifest():
    gate = lg.Gate(lg.RobotDescription(**arm(PATH, lift=2.0)), step_s=0.02)
    read = _core.read_config(gate.flat_config)
    assert (read.stop_kind, read.stop_reaction_s) == ("path", 0.02)
    assert read.deceleration_max == [2.0 if name == "lift" else 0.0 for name in read.dof_names]


def test_robot_show_prints_the_numbers_and_where_each_comes_from(tmp_path, capsys):
    manifest = lg.RobotDescription(**arm(PATH, lift=2.0)).model_dump_json(exclude_none=True)
    (tmp_path / "robot.yaml").write_text(manifest)
    assert run(["robot", "show", str(tmp_path / "robot.yaml")]) == 0
    shown = capsys.readouterr().out
    assert "stop\n  path, reaction 0.0200 s\n" in shown
    assert "2.0000 m/s^2 (assumed)" in shown
    (tmp_path / "robot.yaml").write_text(lg.RobotDescription(**arm()).model_dump_json(exclude_none=True))
    assert run(["robot", "show", str(tmp_path / "robot.yaml")]) == 0
    assert "stop\n  not declared: no verdict says that the robot can stop" in capsys.readouterr().out
