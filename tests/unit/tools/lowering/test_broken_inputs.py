# SPDX-License-Identifier: Apache-2.0
"""One defect per description, in each format, through the command a person runs.

Each is refused with exit code 2, the file and, where there is one, the line; nothing is written. Twins without the
defect are at the end, so that no refusal is for another reason.
"""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
import trimesh
import typer
from typer.testing import CliRunner

from lastgate.tools.cli.collision_lower import lower_command
from lastgate.tools.cli.robot_add import add_command

URDF = """\
<robot name="arm">
  <link name="base"><collision><geometry><mesh filename="part.stl"/></geometry></collision></link>
  <link name="upper"><collision><geometry><box size="0.3 0.04 0.04"/></geometry></collision></link>
  <link name="lower"><collision><origin xyz="0.3 0 0"/><geometry><sphere radius="0.03"/></geometry></collision></link>
  <joint name="shoulder" type="revolute"><parent link="base"/><child link="upper"/><origin xyz="0 0 0.05"/>
    <axis xyz="0 0 1"/><limit lower="-1" upper="1" velocity="2" effort="10"/></joint>
  <joint name="elbow" type="revolute"><parent link="upper"/><child link="lower"/><origin xyz="0.3 0 0"/>
    <axis xyz="0 0 1"/><limit lower="-3" upper="3" velocity="2" effort="10"/></joint>
</robot>
"""
SRDF = """\
<robot name="arm">
  <disable_collisions link1="upper" link2="lower" reason="Adjacent"/>
</robot>
"""
MJCF = """\
<mujoco>
  <asset><mesh name="part" file="part.stl"/></asset>
  <worldbody><body name="base"><geom type="mesh" mesh="part"/>
    <body name="upper" pos="0 0 1"><joint name="shoulder" axis="1 0 0" range="-1 1"/>
      <geom type="box" size="0.15 0.02 0.02"/>
      <body name="lower" pos="0.3 0 0"><joint name="elbow" axis="1 0 0" range="-1 1"/>
        <geom type="sphere" size="0.03"/></body>
    </body></body></worldbody>
</mujoco>
"""
LIMITS = "position_limits: [-1, 1], velocity_limit: 2"
MANIFEST = f"""\
name: arm
base_frame: base
assets: {{mjcf: "file:arm.xml"}}
joints:
  - {{name: shoulder, joint_type: revolute, parent_link: base, child_link: upper, {LIMITS}}}
  - {{name: elbow, joint_type: revolute, parent_link: upper, child_link: lower, {LIMITS}}}
"""
BOMB = '<!DOCTYPE r [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;">]>\n'
LONG = "x" * 100_000

Damage = Callable[[Path], None]


def edit(name: str, old: str, new: str) -> Damage:
    """Returns a damage that replaces a part of one file, which must be there."""

    def damage(folder: Path) -> None:
        text = (folder / name).read_text()
        assert old in text
        (folder / name).write_text(text.replace(old, new, 1))

    return damage


def remove_mesh(folder: Path) -> None:
    (folder / "part.stl").unlink()


def empty_mesh(folder: Path) -> None:
    (folder / "part.stl").write_bytes(b"")


def truncate_mesh(folder: Path) -> None:
    whole = (folder / "part.stl").read_bytes()
    (folder / "part.stl").write_bytes(whole[: len(whole) // 2])


def millimetres(folder: Path) -> None:
    trimesh.creation.box(extents=(50.0, 40_000.0, 50.0)).export(folder / "part.stl")


def huge(name: str) -> Damage:
    """Returns a damage that makes a file of 200 MB, which is one name."""

    def damage(folder: Path) -> None:
        with (folder / name).open("wb") as file:
            file.write(b"<robot name='")
            file.seek(200 * 1024 * 1024)
            file.write(b"'/>")

    return damage


def secret_mesh(folder: Path) -> None:
    """Puts a mesh where no description may reach, next to the folder of folders it lies in."""
    trimesh.creation.box(extents=(0.1, 0.1, 0.1)).export(folder.parents[1] / "secret.stl")


def traversal(name: str) -> Damage:
    def damage(folder: Path) -> None:
        secret_mesh(folder)
        edit(name, "part.stl", "../../secret.stl")(folder)

    return damage


URDF_DEFECTS: dict[str, tuple[Damage, str]] = {
    "mesh_missing": (remove_mesh, r"arm\.urdf:2: .*mesh not found: `part\.stl`"),
    "mesh_empty": (empty_mesh, r"arm\.urdf:2: .*empty file"),
    "mesh_truncated": (truncate_mesh, r"arm\.urdf:2: .*cut short"),
    "mesh_in_millimetres": (millimetres, r"arm\.urdf:2: .*40000\.0000 m long.*scale=\"0\.001"),
    "joint_type_unknown": (edit("arm.urdf", 'type="revolute"', 'type="hinge"'), r"arm\.urdf:5: .*`hinge`"),
    "mimic_cycle": (
        edit(
            "arm.urdf", '<limit lower="-1" upper="1" velocity="2" effort="10"/>', '<mimic joint="shoulder"/>'
        ),
        r"arm\.urdf:5: .*`shoulder` mimics `shoulder`",
    ),
    "limits_inverted": (edit("arm.urdf", 'lower="-1"', 'lower="2"'), r"arm\.urdf:6: .*lower < upper"),
    "link_twice": (
        edit("arm.urdf", 'link name="lower"', 'link name="upper"'),
        r"arm\.urdf:4: .*`upper` is declared",
    ),
    "two_roots": (edit("arm.urdf", "</robot>", '<link name="island"/></robot>'), r"arm\.urdf:1: .*2 roots"),
    "entity_bomb": (edit("arm.urdf", "<robot", BOMB + "<robot"), r"arm\.urdf:1: .*document type"),
    "name_of_200_megabytes": (huge("arm.urdf"), r"arm\.urdf: the file has 209715203 bytes"),
    "name_too_long": (
        edit("arm.urdf", 'link name="lower"', f'link name="{LONG}"'),
        r"arm\.urdf:4: .*256 is the limit",
    ),
    "path_traversal": (traversal("arm.urdf"), r"arm\.urdf:2: .*outside the folder"),
    "cut_off": (edit("arm.urdf", "</robot>", ""), r"arm\.urdf:10: not well-formed XML"),
    "origin_not_a_number": (
        edit("arm.urdf", 'origin xyz="0 0 0.05"', 'origin xyz="0 0 x"'),
        r"arm\.urdf:5: .*3 finite numbers",
    ),
}
SRDF_DEFECTS: dict[str, tuple[Damage, str]] = {
    "missing": (lambda folder: (folder / "arm.srdf").unlink(), r"`file:arm\.srdf`: no such file"),
    "empty": (
        lambda folder: (folder / "arm.srdf").write_text("") and None,
        r"arm\.srdf:1: the file is empty",
    ),
    "cut_off": (edit("arm.srdf", "</robot>", ""), r"arm\.srdf:4: not well-formed XML"),
    "entity_bomb": (edit("arm.srdf", "<robot", BOMB + "<robot"), r"arm\.srdf:1: .*document type"),
    "name_of_200_megabytes": (huge("arm.srdf"), r"arm\.srdf: the file has 209715203 bytes"),
    "name_too_long": (
        edit("arm.srdf", 'link2="lower"', f'link2="{LONG}"'),
        r"arm\.srdf:2: .*256 is the limit",
    ),
    "link_unknown": (edit("arm.srdf", 'link2="lower"', 'link2="lowr"'), r"arm\.srdf:2: .*`lowr`, not a link"),
    "link_missing": (
        edit("arm.srdf", ' link2="lower"', ""),
        r"arm\.srdf:2: .*`None`, not a link|arm\.srdf:2: .*link2",
    ),
    "pair_of_one_link": (edit("arm.srdf", 'link2="lower"', 'link2="upper"'), r"arm\.srdf:2: .*with itself"),
    "not_a_robot": (
        lambda folder: (folder / "arm.srdf").write_text("<group/>") and None,
        r"arm\.srdf:1: the root is <group>",
    ),
}
MJCF_DEFECTS: dict[str, tuple[Damage, str]] = {
    "mesh_missing": (remove_mesh, r"arm\.xml: .*part\.stl"),
    "mesh_empty": (empty_mesh, r"arm\.xml: .*part"),
    "mesh_truncated": (truncate_mesh, r"arm\.xml: .*part"),
    "mesh_in_millimetres": (millimetres, r"arm\.xml: .*40000\.0000 m long"),
    "joint_type_unknown": (
        edit("arm.xml", 'name="shoulder"', 'name="shoulder" type="rotary"'),
        r"arm\.xml: .*line 4",
    ),
    "limits_inverted": (
        edit("arm.xml", 'range="-1 1"', 'range="2 1"'),
        r"arm\.xml: .*shoulder.*line 4|arm\.xml: .*range",
    ),
    "body_twice": (
        edit("arm.xml", 'body name="lower"', 'body name="upper"'),
        r"arm\.xml: .*repeated name 'upper'",
    ),
    "entity_bomb": (edit("arm.xml", "<mujoco", BOMB + "<mujoco"), r"arm\.xml:1: .*document type"),
    "name_of_200_megabytes": (huge("arm.xml"), r"arm\.xml: the file has 209715203 bytes"),
    "name_too_long": (
        edit("arm.xml", 'body name="lower"', f'body name="{LONG}"'),
        r"arm\.xml:6: .*256 is the limit",
    ),
    "path_traversal": (traversal("arm.xml"), r"arm\.xml: .*secret\.stl.*outside"),
    "cut_off": (edit("arm.xml", "</mujoco>", ""), r"arm\.xml:10: not well-formed XML"),
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A sound robot in each format, two folders deep, so that a path can lead out of both."""
    inner = tmp_path / "robots" / "arm"
    inner.mkdir(parents=True)
    trimesh.creation.box(extents=(0.1, 0.1, 0.1)).export(inner / "part.stl")
    for name, text in (("arm.urdf", URDF), ("arm.srdf", SRDF), ("arm.xml", MJCF)):
        (inner / name).write_text(text)
    return inner


def add(folder: Path, *arguments: str) -> tuple[int, str]:
    app = typer.Typer()
    app.command()(add_command)
    outcome = CliRunner().invoke(
        app, ["arm", "--urdf", "file:arm.urdf", "-o", str(folder), "--samples", "100", *arguments]
    )
    return outcome.exit_code, outcome.stderr


def lower_mjcf(folder: Path) -> tuple[int, str]:
    (folder / "robot.yaml").write_text(MANIFEST)
    app = typer.Typer()
    app.command()(lower_command)
    outcome = CliRunner().invoke(app, ["--robot", str(folder / "robot.yaml"), "--write"])
    return outcome.exit_code, outcome.stderr


def state_of(folder: Path) -> dict[str, int]:
    return {path.name: path.stat().st_size for path in folder.iterdir()}


def require_refused(outcome: tuple[int, str], pattern: str) -> None:
    code, message = outcome
    assert code == 2, message
    assert re.search(pattern, message, re.DOTALL), message
    assert len(message) < 4000, "a message must not repeat what is too long to read"


@pytest.mark.parametrize("name", sorted(URDF_DEFECTS))
def test_broken_urdf_is_refused_and_nothing_is_written(folder: Path, name: str) -> None:
    damage, pattern = URDF_DEFECTS[name]
    damage(folder)
    before = state_of(folder)
    require_refused(add(folder), pattern)
    assert state_of(folder) == before


@pytest.mark.parametrize("name", sorted(SRDF_DEFECTS))
def test_broken_srdf_is_refused_and_nothing_is_written(folder: Path, name: str) -> None:
    damage, pattern = SRDF_DEFECTS[name]
    damage(folder)
    before = state_of(folder)
    require_refused(add(folder, "--srdf", "file:arm.srdf"), pattern)
    assert state_of(folder) == before


@pytest.mark.parametrize("name", sorted(MJCF_DEFECTS))
def test_broken_mjcf_is_refused_and_nothing_is_written(folder: Path, name: str) -> None:
    damage, pattern = MJCF_DEFECTS[name]
    damage(folder)
    before = state_of(folder)
    require_refused(lower_mjcf(folder), pattern)
    after = state_of(folder)
    assert after.pop("robot.yaml") == len(MANIFEST)
    assert after == before


def test_twin_sound_urdf_and_srdf_are_added(folder: Path) -> None:
    code, message = add(folder, "--srdf", "file:arm.srdf")
    assert code == 0, message


def test_twin_sound_mjcf_is_lowered(folder: Path) -> None:
    code, message = lower_mjcf(folder)
    assert code == 0, message
    assert "GENERATED (source: mjcf)" in (folder / "robot.yaml").read_text()
