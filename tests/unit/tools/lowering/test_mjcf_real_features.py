# SPDX-License-Identifier: Apache-2.0
"""MJCF as robots are really written: parts, includes, classes, free bodies, couplings, bases that drive."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lastgate.contracts.exceptions import ROSConfigError
from lastgate.contracts.robot import RobotDescription
from lastgate.tools.lowering.diagnostics import DescriptionError
from lastgate.tools.lowering.lower import lower_robot, read_description

BASE = """\
<mujoco>
  <worldbody>
    <body name="drive">
      <joint name="forward" type="slide" axis="1 0 0" pos="-0.2 0 0"/>
      <joint name="side" type="slide" axis="0 1 0" pos="-0.2 0 0"/>
      <joint name="yaw" type="hinge" axis="0 0 1" pos="-0.2 0 0"/>
      <geom type="box" size="0.3 0.2 0.1"/>
      <body name="deck" pos="0 0 0.1"><geom type="cylinder" size="0.1 0.05"/></body>
    </body>
  </worldbody>
</mujoco>
"""
ARM = """\
<mujoco>
  <worldbody>
    <body name="root">
      <body name="upper" pos="0 0 0.1">
        <joint name="turn" axis="0 0 1" range="-1 1"/>
        <geom type="capsule" size="0.03 0.1" pos="0 0 0.15"/>
        <body name="palm" pos="0 0 0.3"><geom type="box" size="0.05 0.05 0.01"/></body>
      </body>
    </body>
  </worldbody>
</mujoco>
"""
GRIPPER = """\
<mujoco>
  <worldbody>
    <body name="left" pos="0 0.02 0.02">
      <joint name="left_slide" type="slide" axis="0 1 0" range="0 0.03"/>
      <geom type="box" size="0.01 0.005 0.03" pos="0 0 0.04"/>
    </body>
    <body name="right" pos="0 -0.02 0.02">
      <joint name="right_slide" type="slide" axis="0 1 0" range="-0.03 0"/>
      <geom type="box" size="0.01 0.005 0.03" pos="0 0 0.04"/>
    </body>
  </worldbody>
  <equality><joint joint1="right_slide" joint2="left_slide" polycoef="0 -1 0 0 0"/></equality>
</mujoco>
"""


def joint(
    name: str, kind: str, parent: str, child: str, limits: tuple[float, float] | None = None
) -> dict[str, Any]:
    spec: dict[str, Any] = {"name": name, "joint_type": kind, "parent_link": parent, "child_link": child}
    return spec | ({"position_limits": limits, "velocity_limit": 1.0} if limits else {})


def mobile_arm(folder: Path, **changes: Any) -> RobotDescription:
    for name, text in (("base.xml", BASE), ("arm.xml", ARM), ("gripper.xml", GRIPPER)):
        if not (folder / name).exists():
            (folder / name).write_text(text)
    follower = joint("right", "prismatic", "a_upper", "finger_b", (-0.03, 0.0))
    values: dict[str, Any] = {
        "name": "mobile_arm",
        "base_frame": "drive",
        "assets": {
            "mjcf": "file:base.xml",
            "mjcf_mounts": [
                {
                    "ref": "file:arm.xml",
                    "on_body": "deck",
                    "prefix": "a_",
                    "xyz_rpy": (0, 0, 0.05, 0, 0, np.pi / 2),
                },
                {"ref": "file:gripper.xml", "on_body": "a_palm", "prefix": "g_"},
            ],
        },
        "joints": [
            joint("turn", "revolute", "drive", "a_upper", (-1.0, 1.0)) | {"sim_joint_name": "a_turn"},
            joint("left", "prismatic", "a_upper", "finger_a", (0.0, 0.03))
            | {"sim_joint_name": "g_left_slide"},
            follower | {"sim_joint_name": "g_right_slide", "mimic": {"joint": "left", "multiplier": -1.0}},
        ],
        "end_effectors": [
            {
                "name": "gripper",
                "link": "a_upper",
                "gripper": {
                    "channel_closed": 0.0,
                    "channel_open": 1.0,
                    "joints": [{"name": "left", "position_closed": 0.0, "position_open": 0.03}],
                },
            }
        ],
    }
    return RobotDescription(**(values | changes))


def test_parts_are_mounted_in_their_place_with_their_prefix(tmp_path: Path) -> None:
    description = read_description(mobile_arm(tmp_path), tmp_path)
    assert set(description.shapes) == {"drive", "a_upper", "finger_a", "finger_b"}
    # The base frame is on the axis the drive turns about; the arm stands 0.1 + 0.05 + 0.1 above it, turned.
    assert description.frames["turn"].xyz == pytest.approx((0.2, 0.0, 0.25))
    assert description.frames["turn"].rpy == pytest.approx((0.0, 0.0, np.pi / 2.0))
    assert description.frames["left"].xyz == pytest.approx((0.0, 0.02, 0.32))


def test_joints_of_the_base_itself_are_no_rows_and_no_problem(tmp_path: Path) -> None:
    robot = mobile_arm(tmp_path)
    assert [spec.name for spec in robot.actuated_joints] == ["turn", "left"]
    assert {source.kind for source in read_description(robot, tmp_path).shapes["drive"].sources} == {
        "box",
        "cylinder",
    }


def test_fingers_of_one_gripper_may_meet_and_nothing_else_may(tmp_path: Path) -> None:
    pairs = {entry.links: entry for entry in lower_robot(mobile_arm(tmp_path), tmp_path).pairs}
    assert pairs["finger_a", "finger_b"].detail == "fingers of gripper, which close on each other"
    (tmp_path / "other").mkdir()
    free = lower_robot(mobile_arm(tmp_path / "other", end_effectors=[]), tmp_path / "other")
    assert not [entry for entry in free.pairs if entry.reason == "waived"]


def test_waived_pair_stays_waived_with_its_words(tmp_path: Path) -> None:
    words = {
        "link_a": "drive",
        "link_b": "finger_a",
        "reason": "waived",
        "detail": "a cover keeps them apart",
    }
    needless = words | {"link_b": "a_upper"}
    lowered = lower_robot(mobile_arm(tmp_path, allowed_collision_pairs=[words, needless]), tmp_path)
    assert {e.links: e.detail for e in lowered.pairs if e.reason == "waived"} == {
        ("drive", "finger_a"): "a cover keeps them apart",
        ("finger_a", "finger_b"): "fingers of gripper, which close on each other",
    }
    assert any("`a_upper` / `drive`: the waiver is not needed" in note for note in lowered.notes)


@pytest.mark.parametrize(
    ("file", "old", "new", "message"),
    [
        (
            "gripper.xml",
            'polycoef="0 -1 0 0 0"',
            'polycoef="0 -2 0 0 0"',
            r"multiplier -1 .* equality has -2",
        ),
        ("gripper.xml", 'polycoef="0 -1 0 0 0"', 'polycoef="0 -1 0.5 0 0"', "not linear"),
        (
            "gripper.xml",
            'joint1="right_slide" joint2="left_slide" polycoef="0 -1',
            'joint1="left_slide" joint2="right_slide" polycoef="0.1 -1',
            "offset",
        ),
        ("gripper.xml", 'name="left_slide"', 'name="other" ', "no joint `g_left_slide`|cannot compile"),
        ("arm.xml", 'name="palm"', 'name="hand"', "no.* body `a_palm`"),
        ("arm.xml", "<worldbody>", "<worldbody><nonsense/>", r"arm\.xml.*cannot compile"),
        (
            "arm.xml",
            '<geom type="box"',
            '<joint name="wrist" axis="1 0 0"/><geom type="box"',
            "`a_wrist` moves `a_palm`",
        ),
        (
            "arm.xml",
            '<geom type="box"',
            '<joint name="wrist" type="ball"/><geom type="box"',
            "`a_wrist` moves `a_palm`",
        ),
    ],
)
def test_parts_that_do_not_fit_are_refused(
    tmp_path: Path, file: str, old: str, new: str, message: str
) -> None:
    robot = mobile_arm(tmp_path)
    text = (tmp_path / file).read_text()
    assert old in text
    (tmp_path / file).write_text(text.replace(old, new))
    with pytest.raises(DescriptionError, match=message):
        read_description(robot, tmp_path)


def test_coupling_the_other_way_round_is_the_same_coupling(tmp_path: Path) -> None:
    turned = 'joint1="left_slide" joint2="right_slide" polycoef="0 -1 0 0 0"'
    (tmp_path / "gripper.xml").write_text(
        GRIPPER.replace('joint1="right_slide" joint2="left_slide" polycoef="0 -1 0 0 0"', turned)
    )
    assert "right" in read_description(mobile_arm(tmp_path), tmp_path).frames


def test_link_that_hangs_elsewhere_in_the_file_is_refused(tmp_path: Path) -> None:
    robot = mobile_arm(tmp_path)
    moved = [
        spec.model_copy(update={"parent_link": "finger_a"}) if spec.name == "right" else spec
        for spec in robot.joints
    ]
    with pytest.raises(DescriptionError, match="hangs `finger_b` on `a_upper`, not on `finger_a`"):
        read_description(robot.model_copy(update={"joints": tuple(moved)}), tmp_path)


def test_mounts_without_a_file_to_mount_on_are_refused() -> None:
    with pytest.raises(ValueError, match="`mjcf_mounts` needs an `mjcf`"):
        RobotDescription(
            name="x",
            base_frame="a",
            joints=[joint("j", "revolute", "a", "b", (-1.0, 1.0))],
            assets={"mjcf_mounts": [{"ref": "file:a.xml", "on_body": "b", "prefix": "p_"}]},
        )


@pytest.mark.parametrize("ref", ["ros2://robot_description", "arm.xml", "robot_descriptions:x"])
def test_mount_of_a_reference_that_is_no_mjcf_is_refused(ref: str) -> None:
    with pytest.raises((ValueError, ROSConfigError), match="mjcf"):
        RobotDescription(
            name="x",
            base_frame="a",
            joints=[joint("j", "revolute", "a", "b", (-1.0, 1.0))],
            assets={"mjcf": "file:a.xml", "mjcf_mounts": [{"ref": ref, "on_body": "b", "prefix": "p_"}]},
        )


SCENE = """\
<mujoco>
  <default>
    <default class="drawn"><geom contype="0" conaffinity="0" group="2"/></default>
    <default class="hard"><geom group="3"/></default>
  </default>
  <asset><mesh name="wedge" scale="0.001 0.001 0.001" vertex="0 0 0  100 0 0  0 100 0  0 0 100  100 100 100"/></asset>
  <worldbody>
    <body name="table"><geom type="box" size="1 1 0.01"/></body>
    <body name="cube" pos="0 0 1"><freejoint/><geom type="box" size="0.02 0.02 0.02"/></body>
    <body name="sphere" pos="0 1 1"><freejoint/><geom type="sphere" size="0.02"/></body>
    <body name="target" mocap="true"><geom class="drawn" type="sphere" size="0.05"/></body>
    <body name="drawer" pos="1 0 0"><joint name="pull" type="slide"/><geom type="box" size="0.1 0.1 0.1"/></body>
    <include file="robot.xml"/>
  </worldbody>
</mujoco>
"""
INCLUDED = """\
<mujocoinclude>
  <body name="stand" pos="0 0 0.5"><freejoint/>
    <geom class="drawn" type="box" size="0.5 0.5 0.5"/>
    <geom class="hard" type="sphere" size="0.05"/>
    <body name="link" pos="0 0 0.1">
      <joint name="hinge" axis="0 0 1" range="-1 1"/>
      <geom class="hard" type="mesh" mesh="wedge"/>
    </body>
  </body>
</mujocoinclude>
"""


def in_scene(folder: Path, base_frame: str = "stand") -> RobotDescription:
    (folder / "scene.xml").write_text(SCENE)
    (folder / "robot.xml").write_text(INCLUDED)
    return RobotDescription(
        name="one",
        base_frame=base_frame,
        assets={"mjcf": "file:scene.xml"},
        joints=[joint("hinge", "revolute", base_frame, "link", (-1.0, 1.0))],
    )


def test_scene_around_an_included_robot_is_not_the_robot(tmp_path: Path) -> None:
    shapes = read_description(in_scene(tmp_path), tmp_path).shapes
    assert {link: [s.kind for s in found.sources] for link, found in shapes.items()} == {
        "stand": ["sphere"],
        "link": ["mesh"],
    }
    # Written in millimetres, scaled in the file.
    assert float(np.abs(shapes["link"].triangles).max()) == pytest.approx(0.1)


WARNED = """\
<mujoco>
  <asset><model name="arm" file="arm.xml"/></asset>
  <worldbody><body name="drive"><attach model="arm" body="root" prefix=""/></body></worldbody>
</mujoco>
"""


def test_reading_a_file_mujoco_warns_of_leaves_no_log_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "arm.xml").write_text(ARM)
    (tmp_path / "warned.xml").write_text(WARNED)
    robot = RobotDescription(
        name="warned",
        base_frame="drive",
        assets={"mjcf": "file:warned.xml"},
        joints=[joint("turn", "revolute", "drive", "upper", (-1.0, 1.0))],
    )
    empty = tmp_path / "empty"
    empty.mkdir()
    monkeypatch.chdir(empty)
    assert set(read_description(robot, tmp_path).shapes) == {"upper"}
    assert not list(empty.iterdir())
