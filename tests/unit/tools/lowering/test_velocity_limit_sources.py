# SPDX-License-Identifier: Apache-2.0
"""Every velocity limit says where it comes from, and none of the library is the speed of a motor without load."""

import json
from pathlib import Path

import numpy as np
import pytest
from fixtures.analytic_robots import only_violation

import lastgate as lg
from lastgate.contracts.joints import OPERATING_RAD_S_MAX
from lastgate.tools.cli.app import run

URDF = Path(__file__).parents[3] / "fixtures" / "robots" / "planar_two_link.urdf"


@pytest.mark.parametrize("name", lg.robot_names())
def test_no_limit_of_the_library_is_beyond_what_robots_are_operated_at(name: str) -> None:
    robot = lg.load_robot(name)
    assert [joint.name for joint in robot.actuated_joints if joint.looks_like_motor_data] == []
    text = lg.robots.find_manifest(name).read_text(encoding="utf-8")
    assert text.count("velocity_limit: ") == text.count("velocity_limit_source: ")


@pytest.mark.parametrize(
    ("name", "joint"),
    [
        ("g1", "left_shoulder_pitch_joint"),
        ("openarm", "openarm_left_joint1"),
        ("so101_follower", "shoulder_pan"),
        ("h1", "left_elbow_joint"),
        ("gr1", "l_elbow_pitch"),
    ],
)
def test_joint_at_ten_radians_per_second_is_rejected_and_at_three_accepted(name: str, joint: str) -> None:
    gate = lg.Gate(lg.load_robot(name), step_s=0.01)
    column = gate.joint_names.index(joint)
    limits = {spec.name: spec.position_limits for spec in gate.robot.joints}
    start = np.array([float(np.clip(0.0, *(limits[other] or (0.0, 0.0)))) for other in gate.joint_names])
    state = lg.RobotState(positions=start, stamp_s=1.0)
    low, high = limits[joint] or (-1.0, 1.0)
    way = 1.0 if high - start[column] > 0.2 else -1.0

    def decided(speed_rad_s: float) -> lg.Verdict:
        row = start.copy()
        row[column] += way * 0.01 * speed_rad_s
        return gate.check(lg.ActionChunk(row[np.newaxis]), state=state, world=lg.NO_WORLD, now_s=1.0)

    assert low <= start[column] + way * 0.1 <= high
    violation = only_violation(decided(10.0))
    assert (violation.code, violation.subject) == ("joint_velocity_limit", joint)
    slower = decided(3.0)
    assert slower.accepted or only_violation(slower).code != "joint_velocity_limit"


def test_limit_that_no_source_vouches_for_is_an_assumption() -> None:
    fields = {"name": "j", "joint_type": "revolute", "parent_link": "a", "child_link": "b"}
    fields |= {"position_limits": (-1.0, 1.0)}
    assert lg.contracts.JointSpec(**fields, velocity_limit=1.0).velocity_limit_source == "assumed"
    assert not lg.contracts.JointSpec(**fields, velocity_limit=OPERATING_RAD_S_MAX).looks_like_motor_data
    assert lg.contracts.JointSpec(**fields, velocity_limit=6.4).looks_like_motor_data
    with pytest.raises(ValueError, match="velocity_limit_source"):
        lg.contracts.JointSpec(**fields, velocity_limit=1.0, velocity_limit_source="data sheet")


def test_robot_add_names_the_source_and_warns_about_motor_data(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = URDF.read_text().replace('velocity="2"', 'velocity="20.9"', 1)
    (tmp_path / "arm.urdf").write_text(text)
    arguments = ["robot", "add", "arm", "--urdf", "file:arm.urdf", "-o", str(tmp_path), "--samples", "100"]
    assert run(arguments) == 0
    assert "velocity limits of `shoulder` look like data of their motors" in capsys.readouterr().err
    robot = lg.load_robot(str(tmp_path / "robot.yaml"))
    assert [joint.velocity_limit_source for joint in robot.actuated_joints] == ["vendor", "vendor"]
    report = (tmp_path / "arm_report.md").read_text()
    assert "| `shoulder` | 20.9000 rad/s | vendor, **looks like data of its motor** |" in report
    assert "| `elbow` | 2.0000 rad/s | vendor |" in report
    assert run(["robot", "show", str(tmp_path / "robot.yaml")]) == 0
    shown = capsys.readouterr()
    assert "2.0000 rad/s (vendor)" in shown.out
    assert "look like data of their motors" in shown.err


def test_doctor_counts_the_sources(capsys: pytest.CaptureFixture[str]) -> None:
    run(["doctor", "--json"])
    findings = {finding["what"]: finding["detail"] for finding in json.loads(capsys.readouterr().out)}
    assert "speeds 7 vendor" in findings["robot xarm7"]
    assert "assumed" in findings["robot g1"]
