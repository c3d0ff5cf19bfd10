# SPDX-License-Identifier: Apache-2.0
"""MJCF: links are matched through their joints, every collision geom is covered, claims stay claims."""

from pathlib import Path

import numpy as np
import pytest

from lastgate.contracts.robot import RobotDescription
from lastgate.tools.lowering.diagnostics import DescriptionError
from lastgate.tools.lowering.lower import lower_robot, read_description

MJCF = """\
<mujoco>
  <asset><mesh name="wedge" vertex="0 0 0  0.1 0 0  0 0.1 0  0 0 0.1  0.1 0.1 0.1"/></asset>
  <worldbody>
    <geom type="plane" size="1 1 0.1"/>
    <body name="pedestal" pos="0 0 0.5">
      <geom type="cylinder" size="0.05 0.1"/>
      <body name="first" pos="0 0 0.1">
        <joint name="hinge_a" axis="0 0 1" pos="0.02 0 0" range="-1 1"/>
        <geom type="capsule" size="0.03 0.1" pos="0 0 0.1"/>
        <geom type="box" size="0.01 0.02 0.03" pos="0 0 0.2" contype="0" conaffinity="0"/>
        <body name="second" pos="0 0 0.3" quat="0.7071067811865476 0 0.7071067811865476 0">
          <joint name="hinge_b" axis="0 1 0" range="-1 1"/>
          <geom type="mesh" mesh="wedge"/>
          <body name="pad" pos="0.1 0 0"><geom type="box" size="0.01 0.01 0.01"/></body>
        </body>
      </body>
    </body>
    <body name="table" pos="2 0 0"><geom type="box" size="0.5 0.5 0.5"/></body>
  </worldbody>
  <contact><exclude body1="pedestal" body2="second"/></contact>
</mujoco>
"""


def robot(folder: Path, text: str = MJCF, **changes: object) -> RobotDescription:
    (folder / "arm.xml").write_text(text)
    joints = [
        {
            "name": name,
            "sim_joint_name": sim,
            "joint_type": "revolute",
            "parent_link": parent,
            "child_link": child,
            "position_limits": (-1.0, 1.0),
            "velocity_limit": 1.0,
        }
        for name, sim, parent, child in (
            ("j1", "hinge_a", "link0", "link1"),
            ("j2", "hinge_b", "link1", "link2"),
        )
    ]
    values = {
        "name": "arm",
        "base_frame": "link0",
        "assets": {"mjcf": "file:arm.xml"},
        "joints": joints,
        **changes,
    }
    return RobotDescription(**values)


def test_links_are_matched_through_their_joints(tmp_path: Path) -> None:
    description = read_description(robot(tmp_path), tmp_path)
    assert set(description.shapes) == {"link0", "link1", "link2"}
    assert [source.kind for source in description.shapes["link2"].sources] == ["mesh", "box"]
    assert [source.kind for source in description.shapes["link1"].sources] == ["capsule"]
    assert description.excluded == {("link0", "link2")}


def test_link_frame_sits_where_its_joint_turns(tmp_path: Path) -> None:
    frames = read_description(robot(tmp_path), tmp_path).frames
    assert frames["j1"].xyz == pytest.approx((0.02, 0.0, 0.1))
    assert frames["j2"].xyz == pytest.approx((-0.02, 0.0, 0.3))
    assert frames["j2"].rpy == pytest.approx((0.0, np.pi / 2.0, 0.0))


def test_lowered_mjcf_covers_meshes_and_keeps_an_excluded_pair_checked(tmp_path: Path) -> None:
    lowered = lower_robot(robot(tmp_path), tmp_path)
    assert lowered.source == "mjcf"
    assert all(proof.proved for proof in lowered.proofs)
    assert {volume.link_name for volume in lowered.geometry} == {"link0", "link1", "link2"}
    allowed = {entry.links: entry.reason for entry in lowered.pairs}
    assert allowed.get(("link0", "link2")) in (None, "proved-never")
    assert ("link0", "link2") in allowed or any("proves nothing" in note for note in lowered.notes)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('name="hinge_b"', 'name="other"', "no joint `hinge_b`"),
        ('axis="0 0 1" pos="0.02 0 0"', 'axis="0 0 1" ref="0.3"', "`ref`"),
        (
            '<joint name="hinge_b" axis="0 1 0" range="-1 1"/>',
            '<joint name="hinge_b" type="slide" range="-1 1"/>',
            "another type",
        ),
        ('<geom type="mesh" mesh="wedge"/>', '<geom type="plane" size="1 1 1"/>', "not read|cannot compile"),
        ("<mujoco>", "<mujoco><nonsense/>", "MuJoCo cannot compile"),
    ],
)
def test_mjcf_that_does_not_match_is_refused(tmp_path: Path, old: str, new: str, message: str) -> None:
    with pytest.raises(DescriptionError, match=message):
        read_description(robot(tmp_path, MJCF.replace(old, new)), tmp_path)


def test_moving_link_with_visual_geoms_only_is_refused_until_named(tmp_path: Path) -> None:
    text = MJCF.replace('<geom type="capsule"', '<geom contype="0" conaffinity="0" type="capsule"')
    with pytest.raises(
        DescriptionError, match="link `link1` moves with joint `j1` and has no collision shape"
    ):
        read_description(robot(tmp_path, text), tmp_path)
    covered = read_description(robot(tmp_path, text, lowering={"visual_links": ["link1"]}), tmp_path)
    assert len(covered.shapes["link1"].sources) == 2


def test_visual_link_that_the_robot_does_not_have_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DescriptionError, match="visual_links names `link9`, which no body carries"):
        read_description(robot(tmp_path, lowering={"visual_links": ["link9"]}), tmp_path)
