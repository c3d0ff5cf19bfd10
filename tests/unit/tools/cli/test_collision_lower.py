# SPDX-License-Identifier: Apache-2.0
"""`collision lower` and `check`: a diff by default, drift is 1, what cannot be checked is 2."""

import json
import re
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from lastgate.tools.assets import resolve_asset
from lastgate.tools.cli.collision_lower import check_command, lower_command
from lastgate.tools.cli.messages import print_error
from lastgate.tools.cli.robot_add import EXIT_REJECTS_EVERYTHING, add_command, grouped_warnings
from lastgate.tools.cli.robot_report import report_command

URDF = Path(__file__).parents[3] / "fixtures" / "robots" / "planar_two_link.urdf"
BROKEN = URDF.parent / "broken"


@pytest.fixture
def cli() -> typer.Typer:
    app = typer.Typer()
    app.command("lower")(lower_command)
    app.command("check")(check_command)
    app.command("add")(add_command)
    app.command("report")(report_command)
    return app


@pytest.fixture
def robot(tmp_path: Path, cli: typer.Typer) -> Path:
    """A robot that `add` has written."""
    (tmp_path / "arm.urdf").write_bytes(URDF.read_bytes())
    outcome = CliRunner().invoke(
        cli, ["add", "arm", "--urdf", "file:arm.urdf", "-o", str(tmp_path), "--samples", "200"]
    )
    assert outcome.exit_code == 0, outcome.output
    return tmp_path / "robot.yaml"


def test_added_robot_has_volumes_pairs_frames_report_and_picture(robot: Path) -> None:
    text = robot.read_text()
    assert "collision_geometry:" in text
    assert "allowed_collision_pairs:" in text
    assert "origin_xyz: [0.3, 0.0, 0.05]" in text
    page = (robot.parent / "arm_report.md").read_text()
    assert "contacts missed on checked pairs | 0" in page
    assert (robot.parent / "arm_report.png").read_bytes().startswith(b"\x89PNG")


def test_added_robot_checks_as_the_same(cli: typer.Typer, robot: Path) -> None:
    assert CliRunner().invoke(cli, ["check", "--robot", str(robot)]).exit_code == 0
    outcome = CliRunner().invoke(cli, ["lower", "--robot", str(robot)])
    assert (outcome.exit_code, outcome.stdout) == (0, "")
    assert "No change" in outcome.stderr


def test_l14_l15_l16_drifted_robot_shows_a_diff_and_changes_only_with_write(
    cli: typer.Typer, robot: Path
) -> None:
    whole = robot.read_text()
    drifted = "".join(line for line in whole.splitlines(True) if "link_b: upper" not in line)
    assert drifted != whole
    robot.write_text(drifted)
    dry = CliRunner().invoke(cli, ["lower", "--robot", str(robot)])
    assert dry.exit_code == 0
    assert "+  - {link_a: base, link_b: upper, reason: adjacent}" in dry.stdout
    assert "Dry run" in dry.stderr
    assert robot.read_text() == drifted
    assert CliRunner().invoke(cli, ["check", "--robot", str(robot)]).exit_code == 1
    assert CliRunner().invoke(cli, ["lower", "--robot", str(robot), "--write"]).exit_code == 0
    assert robot.read_text() == whole
    assert CliRunner().invoke(cli, ["check", "--robot", str(robot)]).exit_code == 0


def test_drift_as_json_is_json_alone_with_the_diff_among_the_messages(cli: typer.Typer, robot: Path) -> None:
    asked = ["check", "--robot", str(robot), "--json"]
    same = CliRunner().invoke(cli, asked)
    assert (same.exit_code, json.loads(same.stdout)) == (0, {"robots": {str(robot): "same"}})
    text = robot.read_text()
    robot.write_text("".join(line for line in text.splitlines(True) if "link_b: upper" not in line))
    drift = CliRunner().invoke(cli, asked)
    assert (drift.exit_code, json.loads(drift.stdout)) == (1, {"robots": {str(robot): "drift"}})
    assert "+  - {link_a: base, link_b: upper, reason: adjacent}" in drift.stderr
    plain = CliRunner().invoke(cli, asked[:-1])
    assert "+  - {link_a: base, link_b: upper, reason: adjacent}" in plain.stdout


def test_l17_scope_flags_together_are_refused(cli: typer.Typer, robot: Path) -> None:
    outcome = CliRunner().invoke(cli, ["lower", "--robot", str(robot), "--acm-only", "--geometry-only"])
    assert outcome.exit_code == 2
    assert "mutually exclusive" in outcome.stderr


def test_acm_only_leaves_drifted_volumes_alone(cli: typer.Typer, robot: Path) -> None:
    text = robot.read_text().replace("shape: sphere, radius_m: 0.03", "shape: sphere, radius_m: 0.04")
    assert text != robot.read_text()
    robot.write_text(text)
    assert CliRunner().invoke(cli, ["check", "--robot", str(robot), "--acm-only"]).exit_code == 0
    assert CliRunner().invoke(cli, ["check", "--robot", str(robot), "--geometry-only"]).exit_code == 1


def test_x35_asset_that_cannot_be_resolved_is_never_a_success(cli: typer.Typer, robot: Path) -> None:
    (robot.parent / "arm.urdf").unlink()
    outcome = CliRunner().invoke(cli, ["check", "--robot", str(robot)])
    assert outcome.exit_code == 2
    assert "arm.urdf" in outcome.stderr


@pytest.mark.parametrize("arguments", [[], ["--all", "--robot", "x"], ["--robot", "no_such_robot"]])
def test_x35_check_of_nothing_is_refused(cli: typer.Typer, arguments: list[str]) -> None:
    assert CliRunner().invoke(cli, ["check", *arguments]).exit_code == 2


@pytest.mark.parametrize(
    "name", ["limit_missing.urdf", "mesh_missing.urdf", "two_roots.urdf", "entity_bomb.urdf"]
)
def test_broken_description_is_refused_and_nothing_is_written(
    cli: typer.Typer, tmp_path: Path, name: str
) -> None:
    (tmp_path / "arm.urdf").write_bytes((BROKEN / name).read_bytes())
    outcome = CliRunner().invoke(cli, ["add", "arm", "--urdf", "file:arm.urdf", "-o", str(tmp_path)])
    assert outcome.exit_code == 2
    assert "arm.urdf" in outcome.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["arm.urdf"]


def test_add_does_not_overwrite_a_manifest(cli: typer.Typer, robot: Path) -> None:
    before = robot.read_bytes()
    outcome = CliRunner().invoke(cli, ["add", "arm", "--urdf", "file:arm.urdf", "-o", str(robot.parent)])
    assert outcome.exit_code == 2
    assert robot.read_bytes() == before


def test_report_prints_the_numbers_as_json(cli: typer.Typer, robot: Path) -> None:
    outcome = CliRunner().invoke(cli, ["report", str(robot), "--json", "--samples", "200"])
    assert outcome.exit_code == 0
    numbers = json.loads(outcome.stdout)
    assert numbers["meshes"]["missed"] == 0
    assert all(entry["contained"] for entry in numbers["links"])


PANDA_REF = (
    "pkg:example-robot-data/cmeel.prefix/share/example-robot-data/robots/panda_description/urdf/panda.urdf"
)
PANDA = resolve_asset(PANDA_REF, "urdf")


@pytest.mark.parametrize(
    ("ref", "hint"),
    [
        ("robots/arm.urdf", "write `--urdf file:arm.urdf`"),
        ("file:robots/arm.urdf", "write `--urdf file:arm.urdf`"),
        ("elsewhere.urdf", "copy it and its meshes below `robots`"),
        (f"file:{PANDA}", f"it belongs to an installed package: `--urdf {PANDA_REF}`"),
        (str(PANDA), f"it belongs to an installed package: `--urdf {PANDA_REF}`"),
    ],
)
def test_file_named_from_here_is_refused_with_the_spelling_that_works(
    cli: typer.Typer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ref: str, hint: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "robots").mkdir()
    for name in ("robots/arm.urdf", "elsewhere.urdf"):
        (tmp_path / name).write_bytes(URDF.read_bytes())
    outcome = CliRunner().invoke(cli, ["add", "arm", "--urdf", ref, "-o", "robots"])
    assert outcome.exit_code == 2
    assert hint in outcome.stderr


def test_bare_links_are_refused_with_the_option_that_covers_each(cli: typer.Typer, tmp_path: Path) -> None:
    text = URDF.read_text().replace(
        '<link name="upper">\n    <collision>', '<link name="upper">\n    <visual>'
    )
    text = text.replace(
        '</collision>\n  </link>\n  <link name="lower">', '</visual>\n  </link>\n  <link name="lower">'
    )
    start = text.index("<collision>", text.index('<link name="lower">'))
    text = text[:start] + text[text.index("</collision>", start) + len("</collision>") :]
    (tmp_path / "arm.urdf").write_text(text)
    arguments = ["add", "arm", "--urdf", "file:arm.urdf", "-o", str(tmp_path), "--samples", "100"]
    outcome = CliRunner().invoke(cli, arguments)
    assert outcome.exit_code == 2
    assert "`robot add --visual upper`" in outcome.stderr
    assert "`robot add --waive 'lower=REASON'`" in outcome.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["arm.urdf"]
    outcome = CliRunner().invoke(
        cli, [*arguments, "--visual", "upper", "--waive", "lower=a wire in this test"]
    )
    assert outcome.exit_code == 0, outcome.stderr


def test_part_that_is_drawn_beyond_its_volumes_is_told_and_covered_when_named(
    cli: typer.Typer, tmp_path: Path
) -> None:
    text = URDF.read_text().replace(
        '<link name="lower">',
        '<link name="lower">\n<visual><origin xyz="0 0 0.2"/><geometry><sphere radius="0.02"/></geometry></visual>',
    )
    text = text.replace(
        '<collision><geometry><sphere radius="0.03"/></geometry></collision>',
        '<visual><geometry><sphere radius="0.03"/></geometry></visual>',
    )
    (tmp_path / "arm.urdf").write_text(text)
    arguments = ["add", "arm", "--urdf", "file:arm.urdf", "--samples", "100"]
    told = CliRunner().invoke(cli, [*arguments, "-o", str(tmp_path)])
    assert told.exit_code == 0, told.stderr
    assert re.search(r"`lower` is drawn 1\d\d\.\d mm out of its volumes", told.stderr)
    assert "`--visual lower`" in told.stderr
    assert re.search(r"\| `lower` \|.*\| 1\d\d\.\d \|", (tmp_path / "arm_report.md").read_text())
    (tmp_path / "robot.yaml").unlink()
    quiet = CliRunner().invoke(
        cli, [*arguments, "-o", str(tmp_path), "--visual", "lower", "--waive", "tip=a wire here"]
    )
    assert quiet.exit_code == 0, quiet.stderr
    assert "out of its volumes" not in quiet.stderr
    assert "  drawn_waivers:\n    - {link: tip" in (tmp_path / "robot.yaml").read_text()


def test_joint_without_a_speed_is_refused_until_one_is_stated(cli: typer.Typer, tmp_path: Path) -> None:
    text = URDF.read_text()
    still = re.sub(r'velocity="[^"]*"', 'velocity="0"', text)
    assert still != text
    (tmp_path / "arm.urdf").write_text(still)
    arguments = ["add", "arm", "--urdf", "file:arm.urdf", "-o", str(tmp_path), "--samples", "100"]
    outcome = CliRunner().invoke(cli, [*arguments, "--velocity-limit", "elbow=2.5"])
    assert outcome.exit_code == 2
    assert "arm.urdf:16: joint `shoulder` needs a positive velocity limit" in outcome.stderr
    assert "`--velocity-limit 'shoulder=VALUE'` (rad/s)" in outcome.stderr
    assert "joint `elbow`" not in outcome.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["arm.urdf"]
    outcome = CliRunner().invoke(
        cli, [*arguments, "--velocity-limit", "elbow=2.5", "--velocity-limit", "*=1.5"]
    )
    assert outcome.exit_code == 0, outcome.stderr
    written = (tmp_path / "robot.yaml").read_text()
    assert re.findall(r"velocity_limit: (\S+)", written) == ["1.5", "2.5"]


def test_limits_that_look_like_degrees_are_warned_about_and_radians_are_not(
    cli: typer.Typer, tmp_path: Path
) -> None:
    arguments = ["add", "arm", "--urdf", "file:arm.urdf", "--samples", "100"]
    for folder, upper in (("rad", "2.9"), ("deg", "170")):
        (tmp_path / folder).mkdir()
        text = re.sub(r'upper="[^"]*"', f'upper="{upper}"', URDF.read_text(), count=1)
        (tmp_path / folder / "arm.urdf").write_text(text)
        outcome = CliRunner().invoke(cli, [*arguments, "-o", str(tmp_path / folder)])
        assert outcome.exit_code == 0, outcome.stderr
        assert ("are the limits of `shoulder` degrees" in outcome.stderr) == (folder == "deg")
        assert "100 random configurations against the meshes: 0 contacts missed" in outcome.stderr


def test_errors_with_one_hint_give_it_once_after_all_of_them(capsys: pytest.CaptureFixture[str]) -> None:
    print_error("a: one\n\nhint: do this\nb: two\n\nhint: do this\nc: three\n\nhint: do that")
    assert capsys.readouterr().err == (
        "error: a: one\nerror: b: two\nerror: c: three\n\nhint: do this\n\nhint: do that\n"
    )


def test_robot_no_gate_would_arm_with_is_not_written(cli: typer.Typer, tmp_path: Path) -> None:
    # Two links and one joint between three: whatever could meet is a neighbour, and the SRDF excuses the rest.
    (tmp_path / "arm.urdf").write_bytes(URDF.read_bytes())
    pairs = [("base", "lower"), ("base", "tip"), ("upper", "tip")]
    lines = "".join(f'<disable_collisions link1="{a}" link2="{b}" reason="Never"/>' for a, b in pairs)
    (tmp_path / "arm.srdf").write_text(f"<robot name='arm'>{lines}</robot>")
    arguments = ["add", "arm", "--urdf", "file:arm.urdf", "--srdf", "file:arm.srdf", "-o", str(tmp_path)]
    outcome = CliRunner().invoke(cli, arguments)
    assert outcome.exit_code == 2
    assert "there is nothing to check" in outcome.stderr
    assert not (tmp_path / "robot.yaml").exists()


def test_warnings_about_many_pairs_are_one_sentence() -> None:
    always = "volumes touch in every state and the meshes meet in some: the pair stays checked"
    notes = [f"`a` / `b{number}`: {always}" for number in range(50)] + ["`c` / `d`: the waiver is not needed"]
    assert grouped_warnings(notes) == [
        f"`a` / `b0`, `a` / `b1`, `a` / `b2` and 47 more pairs: {always}",
        "`c` / `d`: the waiver is not needed",
    ]


def test_robot_that_rejects_everything_says_what_to_do(cli: typer.Typer, tmp_path: Path) -> None:
    # A plate on the tip that the base never leaves, so that their meshes meet in every state.
    block = '<collision><geometry><box size="3 3 0.3"/></geometry></collision>'
    text = URDF.read_text().replace('<link name="tip">', f'<link name="tip">{block}')
    (tmp_path / "arm.urdf").write_text(text)
    outcome = CliRunner().invoke(
        cli, ["add", "arm", "--urdf", "file:arm.urdf", "-o", str(tmp_path), "--samples", "100"]
    )
    assert outcome.exit_code == EXIT_REJECTS_EVERYTHING, outcome.stderr
    assert "rejects all of 1000 random configurations, every one of them by `base` / `tip`" in outcome.stderr
    assert "`reason: waived`" in outcome.stderr
