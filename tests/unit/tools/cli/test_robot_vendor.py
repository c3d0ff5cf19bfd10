# SPDX-License-Identifier: Apache-2.0
"""`lastgate robot vendor-urdf`: data on stdout, messages on stderr, exit code 0 or 2, never a traceback."""

from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner, Result

from lastgate.tools.cli.robot_vendor import vendor_urdf_command

URDF = "<robot name='arm'><link name='a'/><joint name='a_joint' type='fixed'/></robot>"


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "up.urdf").write_text(URDF)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def _run(*arguments: str) -> Result:
    app = typer.Typer()
    app.command("vendor-urdf")(vendor_urdf_command)
    return CliRunner().invoke(app, arguments)


def test_file_is_written_into_the_working_folder_and_its_path_printed(work: Path):
    result = _run("arm", "--upstream", "file:up.urdf", "--rename", "_joint$=>", "--raw-text")
    assert result.exit_code == 0, result.stderr
    assert result.stdout == "arm.urdf\n"
    assert "joint a_joint is now a\n" in result.stderr
    assert "warning: arm.urdf: licence NOT FOUND" in result.stderr
    assert "<joint name='a' type='fixed'/>" in (work / "arm.urdf").read_text()


def test_folder_can_be_chosen_and_is_made(work: Path):
    result = _run("arm", "--upstream", "file:up.urdf", "-o", "mine/arm", "--licence", "MIT")
    assert (result.exit_code, result.stdout, result.stderr) == (0, "mine/arm/arm.urdf\n", "")


def test_second_run_says_that_nothing_was_written(work: Path):
    _run("arm", "--upstream", "file:up.urdf", "--licence", "MIT")
    result = _run("arm", "--upstream", "file:up.urdf", "--licence", "MIT")
    assert (result.exit_code, result.stdout) == (0, "arm.urdf\n")
    assert result.stderr == "already there and the same; nothing was written\n"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["arm", "--upstream", "file:gone.urdf"], "error: `file:gone.urdf`: no such file"),
        (["up", "--upstream", "file:up.urdf"], "error: `up.urdf` is already there and differs"),
        (["arm", "--upstream", "file:up.urdf", "--rename", "a"], "error: `--rename a`: write"),
        (["arm", "--upstream", "file:up.urdf", "--package", "a"], "error: `--package a`: write"),
        (["arm", "--upstream", "file:up.urdf", "--xacro-arg", "a"], "error: `--xacro-arg a`: write"),
        (["arm", "--upstream", "robot_descriptions:x"], "error: `robot_descriptions:x` is a legacy spelling"),
        (["no_such_robot"], "error: the robot library has no robot `no_such_robot`; closest: "),
    ],
)
def test_what_cannot_be_done_exits_with_2_and_one_sentence(arguments: list[str], said: str, work: Path):
    before = sorted(work.iterdir())
    result = _run(*arguments)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.startswith(said)
    assert "Traceback" not in result.stderr
    assert sorted(work.iterdir()) == before


def test_unknown_robot_is_told_how_to_name_an_upstream(work: Path):
    assert (
        "hint: say where it comes from: lastgate robot vendor-urdf no_such_robot --upstream REF"
        in _run("no_such_robot").stderr
    )


@pytest.fixture
def library(work: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A robot library of two: one with a URDF and one without."""
    for name, assets in (
        ("arm_robot", "{urdf: {ref: 'file:up.urdf'}}"),
        ("sim_robot", "{mjcf: 'openarm:cell'}"),
    ):
        (work / "robots" / name).mkdir(parents=True)
        (work / "robots" / name / "robot.yaml").write_text(f"name: {name}\nassets: {assets}\n")
    monkeypatch.setattr("importlib.resources.files", lambda _package: work)
    return work / "robots"


def test_robot_of_the_library_needs_no_upstream(library: Path, work: Path):
    result = _run("arm_robot", "--licence", "MIT")
    assert (result.exit_code, result.stdout, result.stderr) == (0, "arm_robot.urdf\n", "")
    assert "upstream: file:up.urdf" in (work / "arm_robot.urdf").read_text()


def test_robot_of_the_library_without_a_urdf_is_refused(library: Path):
    result = _run("sim_robot")
    assert result.exit_code == 2
    assert result.stderr.startswith("error: the manifest of `sim_robot` names no URDF")


def test_misspelt_robot_of_the_library_lists_the_closest_first(library: Path):
    assert "closest: `arm_robot`, `sim_robot`" in _run("arm_robto").stderr
