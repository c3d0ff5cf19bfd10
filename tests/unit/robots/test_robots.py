# SPDX-License-Identifier: Apache-2.0
"""Robots are loaded by name, by path or as they are; what cannot be loaded says why."""

from pathlib import Path

import pytest
from fixtures.analytic_robots import planar_two_link

import lastgate as lg
from lastgate.robots import LIBRARY_DIR, find_manifest, read_manifest

GOOD = """
name: one_link
base_frame: base
joints:
  - name: shoulder
    joint_type: revolute
    parent_link: base
    child_link: arm
    position_limits: [-1, 1]
    velocity_limit: 1
collision_geometry:
  - {link_name: arm, shape: {shape: sphere, radius_m: 0.1}}
"""


@pytest.fixture
def manifest(tmp_path: Path) -> Path:
    path = tmp_path / "my_arm" / "robot.yaml"
    path.parent.mkdir()
    path.write_text(GOOD, encoding="utf-8")
    return path


@pytest.mark.parametrize("name", lg.robot_names())
def test_every_robot_of_the_library_loads_and_is_named_like_its_folder(name):
    robot = lg.load_robot(name)
    assert robot.name == name
    if robot.collision_geometry:
        covered = {volume.link_name for volume in robot.collision_geometry}
        assert bool(lg.Gate(robot, step_s=0.02).checked_pairs) == (len(covered) > 1)
    else:
        with pytest.raises(lg.ROSConfigError, match="no volume covers the moving link"):
            lg.Gate(robot, step_s=0.02)


def test_library_holds_the_first_robot():
    assert "franka_panda" in lg.robot_names()
    panda = lg.Gate(lg.load_robot("franka_panda"), step_s=0.02)
    assert panda.joint_names == tuple(f"panda_joint{index}" for index in range(1, 8))
    assert panda.gripper_joint_names == ("panda_finger_joint1",)


def test_description_is_returned_as_it_is():
    robot = lg.RobotDescription(**planar_two_link())
    assert lg.load_robot(robot) is robot


def test_manifest_loads_by_file_and_by_folder_as_path_and_as_text(manifest):
    for where in (manifest, manifest.parent, str(manifest), str(manifest.parent)):
        assert lg.load_robot(where).name == "one_link"


def test_manifest_loads_by_file_name_in_the_working_folder(manifest, monkeypatch):
    monkeypatch.chdir(manifest.parent)
    assert lg.load_robot("robot.yaml").name == "one_link"


def test_folder_of_ones_own_robot_is_a_path_and_a_bare_name_of_it_is_told(manifest, monkeypatch):
    monkeypatch.chdir(manifest.parents[1])
    name = manifest.parent.name
    for path in (f"./{name}", f"{name}/", f"{name}/robot.yaml"):
        assert lg.load_robot(path).name == "one_link"
    with pytest.raises(lg.ROSConfigError, match=rf"your own is `{name}/robot\.yaml`"):
        lg.load_robot(name)
    monkeypatch.chdir(manifest.parent)
    assert lg.load_robot(".").name == "one_link"


def test_unknown_robot_suggests_the_nearest():
    with pytest.raises(lg.ROSConfigError, match="unknown robot: `franka_pnda`") as refusal:
        lg.load_robot("franka_pnda")
    assert "did you mean `franka_panda`?" in str(refusal.value)


@pytest.mark.parametrize(
    ("wanted", "meant"),
    [
        ("panda", "`franka_panda` or `panda_mobile`"),
        ("pnada", "`franka_panda` or `panda_mobile`"),
        ("UR5", "`ur5`"),
        ("so101", "`so101_follower`"),
    ],
)
def test_part_of_a_name_suggests_every_robot_that_has_it(wanted, meant):
    with pytest.raises(lg.ROSConfigError, match=rf"did you mean {meant}\?"):
        lg.load_robot(wanted)


@pytest.mark.parametrize("name", ["zzzzzzzz", "", ".", "franka_panda "])
def test_name_of_nothing_is_refused_with_the_robots_there_are(name):
    with pytest.raises(lg.ROSConfigError, match=r"robots: .*franka_panda"):
        lg.load_robot(name)


@pytest.mark.parametrize("missing", ["nowhere/robot.yaml", "nowhere.yaml", "no/such/folder"])
def test_missing_file_is_refused_with_its_path(tmp_path, missing):
    with pytest.raises(lg.ROSConfigError, match="no manifest at"):
        lg.load_robot(tmp_path / missing)


def test_name_cannot_leave_the_library():
    with pytest.raises(lg.ROSConfigError, match="no manifest at"):
        find_manifest("../robots/nowhere")
    assert find_manifest("franka_panda") == LIBRARY_DIR / "franka_panda" / "robot.yaml"


@pytest.mark.parametrize("other", [None, 7, {"name": "x"}, ["franka_panda"]])
def test_anything_else_is_refused_with_its_type(other):
    with pytest.raises(lg.ROSConfigError, match=f"robot is a {type(other).__name__}"):
        lg.load_robot(other)


def test_broken_yaml_is_refused_with_file_and_line(manifest):
    manifest.write_text(GOOD + "safety: [1, 2\nsensors: }\n", encoding="utf-8")
    with pytest.raises(lg.ROSConfigError, match="not a YAML file") as refusal:
        lg.load_robot(manifest)
    assert str(manifest) in str(refusal.value)
    assert "line 14" in str(refusal.value)


def test_key_that_stands_twice_is_refused(manifest):
    manifest.write_text(GOOD + "name: other\n", encoding="utf-8")
    with pytest.raises(lg.ROSConfigError, match="duplicate key"):
        lg.load_robot(manifest)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "the file is empty"),
        ("- 1\n", "a manifest is a mapping, this is a list"),
        ("just text\n", "a manifest is a mapping, this is a str"),
    ],
)
def test_file_that_is_no_mapping_is_refused(manifest, text, said):
    manifest.write_text(text, encoding="utf-8")
    with pytest.raises(lg.ROSConfigError, match=said):
        lg.load_robot(manifest)


def test_mapping_with_keys_that_are_no_words_is_refused(manifest):
    manifest.write_text("1: 2\n", encoding="utf-8")
    with pytest.raises(lg.ROSConfigError, match=r"robot\.yaml"):
        lg.load_robot(manifest)


def test_bytes_that_are_no_text_are_refused(manifest):
    manifest.write_bytes(b"name: \xff\xfe\n")
    with pytest.raises(lg.ROSConfigError, match="not a YAML file"):
        read_manifest(manifest)


def test_all_problems_of_a_manifest_are_listed_with_the_file(manifest):
    manifest.write_text(
        GOOD.replace("velocity_limit: 1", "velocity_limit: 0") + "colour: red\n", encoding="utf-8"
    )
    with pytest.raises(lg.ROSConfigError, match=r"joint `shoulder`.*velocity_limit") as refusal:
        lg.load_robot(manifest)
    lines = str(refusal.value).splitlines()
    assert all(line.startswith(f"{manifest}: ") for line in lines)
    assert any("colour" in line for line in lines)


def test_yaml_cannot_make_objects(manifest):
    manifest.write_text(GOOD + "provenance: !!python/object/apply:os.system ['true']\n", encoding="utf-8")
    with pytest.raises(lg.ROSConfigError, match="not a YAML file"):
        lg.load_robot(manifest)
