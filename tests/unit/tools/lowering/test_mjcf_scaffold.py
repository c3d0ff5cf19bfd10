# SPDX-License-Identifier: Apache-2.0
"""A robot that has an MJCF and no URDF: what its first manifest says, and what it refuses to guess."""

import re
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

import lastgate as lg
from lastgate.contracts.robot import RobotDescription
from lastgate.tools.cli.collision_lower import check_command
from lastgate.tools.cli.robot_add import add_command
from lastgate.tools.lowering.diagnostics import DescriptionError
from lastgate.tools.lowering.manifest_splice import read_manifest
from lastgate.tools.lowering.mjcf_model import compile_mjcf
from lastgate.tools.lowering.mjcf_scaffold import manifest_from_mjcf

ARM = """\
<mujoco>
  <compiler angle="radian"/>
  <worldbody>
    <geom type="plane" size="1 1 0.1"/>
    <body name="stand">
      <geom type="cylinder" size="0.05 0.2"/>
      <body name="upper" pos="0.06 0 0">
        <joint name="shoulder" axis="0 0 1" range="-2.5 2.5"/>
        <geom type="capsule" size="0.02" fromto="0.03 0 0 0.2 0 0"/>
        <body name="cable" pos="0 0 0.03"><geom type="sphere" size="0.01"/>
          <body name="fore" pos="0.25 0 -0.03">
            <joint name="elbow" axis="0 0 1"/>
            <geom type="box" size="0.08 0.02 0.02" pos="0.1 0 0"/>
            <body name="left" pos="0.2 0.03 0">
              <joint name="open" type="slide" axis="0 1 0" range="0 0.04"/><geom type="sphere" size="0.01"/>
            </body>
            <body name="right" pos="0.2 -0.03 0">
              <joint name="follow" type="slide" axis="0 1 0" range="-0.04 0"/><geom type="sphere" size="0.01"/>
            </body>
          </body>
        </body>
      </body>
    </body>
    <body name="cup" pos="1 0 0"><freejoint name="lies"/><geom type="sphere" size="0.1"/></body>
  </worldbody>
  <equality><joint joint1="follow" joint2="open" polycoef="0 -1 0 0 0"/></equality>
</mujoco>
"""
LIMITS = ("shoulder=2.0", "elbow=2.5", "open=0.1")


def manifest_of(folder: Path, text: str, limits: tuple[str, ...] = LIMITS) -> RobotDescription:
    (folder / "arm.xml").write_text(text)
    written = manifest_from_mjcf(
        "arm", compile_mjcf(folder / "arm.xml"), mjcf_ref="file:arm.xml", velocity_limits=limits
    )
    return read_manifest(written, source="test")


def test_joints_limits_and_couplings_are_those_of_the_file(tmp_path: Path) -> None:
    robot = manifest_of(tmp_path, ARM)
    assert robot.base_frame == "stand"
    shoulder, elbow, slide, follow = robot.joints
    assert [joint.name for joint in robot.joints] == ["shoulder", "elbow", "open", "follow"]
    assert (shoulder.joint_type, shoulder.position_limits, shoulder.velocity_limit) == (
        "revolute",
        (-2.5, 2.5),
        2.0,
    )
    # The cable turns with the upper arm: it is no link of its own, and nothing hangs on it.
    assert (elbow.joint_type, elbow.parent_link, elbow.position_limits) == ("continuous", "upper", None)
    assert (slide.joint_type, slide.position_limits) == ("prismatic", (0.0, 0.04))
    assert follow.mimic is not None
    assert (follow.mimic.joint, follow.mimic.multiplier, follow.mimic.offset) == ("open", -1.0, 0.0)


def test_floating_body_is_the_base_and_its_free_joint_no_row(tmp_path: Path) -> None:
    text = ARM.replace('<body name="stand">', '<body name="stand"><freejoint name="float"/>')
    robot = manifest_of(tmp_path, text)
    assert robot.base_frame == "stand"
    assert "float" not in [joint.name for joint in robot.joints]


def test_robot_of_two_trees_stands_in_the_world(tmp_path: Path) -> None:
    second = '<body name="other" pos="0 1 0"><joint name="turn" axis="0 0 1" range="-1 1"/><geom size="0.1"/></body>'
    robot = manifest_of(
        tmp_path, ARM.replace('<body name="cup"', f'{second}<body name="cup"'), (*LIMITS, "turn=1")
    )
    assert robot.base_frame == "world"
    assert robot.joints[-1].parent_link == "world"


@pytest.mark.parametrize(
    ("old", "new", "limits", "message"),
    [
        (
            "",
            "",
            LIMITS[1:],
            "`shoulder`: an MJCF says nothing about speed, so state .*shoulder=VALUE.*rad/s",
        ),
        ("", "", LIMITS[:2], "`open`: an MJCF says nothing about speed, .*m/s"),
        (
            'name="elbow" axis="0 0 1"',
            'name="shoulder_2" axis="0 0 1"',
            LIMITS[2:],
            r"one limit for all 2 joints: `--velocity-limit 'shoulder\*=VALUE'` \(rad/s\)",
        ),
        ("", "", (*LIMITS, "absent=1.0"), "`--velocity-limit absent=…` matches no moving joint"),
        (
            'type="slide" axis="0 1 0" range="0 0.04"',
            'type="slide" axis="0 1 0"',
            LIMITS,
            "`open` slides and has no",
        ),
        (
            'name="elbow" axis="0 0 1"',
            'name="elbow" type="ball"',
            LIMITS,
            "`elbow` .* neither a hinge nor a slide",
        ),
        ('<joint name="elbow"', "<joint", LIMITS, "joint and body need names"),
        ('<body name="fore"', "<body", LIMITS, "joint and body need names"),
    ],
)
def test_what_cannot_be_taken_over_is_refused(
    tmp_path: Path, old: str, new: str, limits: tuple[str, ...], message: str
) -> None:
    with pytest.raises(DescriptionError) as refusal:
        manifest_of(tmp_path, ARM.replace(old, new) if old else ARM, limits)
    assert re.search(message, str(refusal.value)), refusal.value


def test_all_missing_limits_are_named_in_one_run(tmp_path: Path) -> None:
    with pytest.raises(DescriptionError) as refusal:
        manifest_of(tmp_path, ARM, ())
    assert len(refusal.value.diagnostics) == 3


@pytest.fixture
def cli() -> typer.Typer:
    app = typer.Typer()
    app.command("add")(add_command)
    app.command("check")(check_command)
    return app


def test_added_mjcf_robot_arms_and_checks_as_the_same(cli: typer.Typer, tmp_path: Path) -> None:
    (tmp_path / "arm.xml").write_text(ARM)
    arguments = ["add", "arm", "--mjcf", "file:arm.xml", "-o", str(tmp_path), "--samples", "200"]
    outcome = CliRunner().invoke(cli, [*arguments, "--velocity-limit", "*=0.5"])
    assert outcome.exit_code == 0, outcome.stderr
    robot = tmp_path / "robot.yaml"
    assert lg.Gate(lg.load_robot(robot), step_s=0.02).joint_names == ("shoulder", "elbow", "open")
    assert "contacts missed on checked pairs | 0" in (tmp_path / "arm_report.md").read_text()
    assert (tmp_path / "arm_report.png").read_bytes().startswith(b"\x89PNG")
    assert CliRunner().invoke(cli, ["check", "--robot", str(robot)]).exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "say what describes the robot"),
        (["--mjcf", "file:arm.xml"], "an MJCF says nothing about speed"),
        (["--mjcf", "file:arm.xml", "--srdf", "file:arm.srdf"], "give `--urdf REF` with it"),
        (["--mjcf", "file:arm.xml", "--velocity-limit", "shoulder"], "write `--velocity-limit JOINT=VALUE`"),
        (["--mjcf", "file:arm.xml", "--velocity-limit", "*=0"], "a positive number"),
        (["--mjcf", "file:arm.xml", "--velocity-limit", "*=inf"], "a positive number"),
        (["--mjcf", "file:arm.xml", "--velocity-limit", "*=nan"], "a positive number"),
    ],
)
def test_incomplete_arguments_are_refused_and_nothing_is_written(
    cli: typer.Typer, tmp_path: Path, arguments: list[str], message: str
) -> None:
    (tmp_path / "arm.xml").write_text(ARM)
    outcome = CliRunner().invoke(cli, ["add", "arm", "-o", str(tmp_path), *arguments])
    assert outcome.exit_code == 2
    assert message in outcome.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["arm.xml"]
