# SPDX-License-Identifier: Apache-2.0
"""Joint frames are composites at zero; what does not match by name or by axis is refused."""

from pathlib import Path

import numpy as np
import pytest

from lastgate.contracts.robot import RobotDescription
from lastgate.tools.lowering.joint_frames import fold_links, lower_joint_frames
from lastgate.tools.lowering.kinematics import KinematicTree
from lastgate.tools.lowering.lower import joints_with_frames, read_description
from lastgate.tools.lowering.manifest_splice import read_manifest
from lastgate.tools.lowering.urdf_reader import read_urdf


def robot_of(manifest: Path, **changes: object) -> RobotDescription:
    return read_manifest(manifest.read_text(), source=str(manifest)).model_copy(update=changes)


def test_single_joint_keeps_the_digits_of_the_file(planar_manifest: Path) -> None:
    frames, problems = lower_joint_frames(
        robot_of(planar_manifest), read_urdf(planar_manifest.parent / "planar.urdf")
    )
    assert problems == []
    assert frames["elbow"].xyz == (0.3, 0.0, 0.05)
    assert frames["elbow"].axis == (0.0, 0.0, 1.0)


def with_extra_link(manifest: Path, *, before: bool, xyz: str) -> Path:
    """Puts a turned fixed link before or after the elbow's own joint."""
    urdf = manifest.parent / "planar.urdf"
    text = urdf.read_text()
    half_turn = "0 0 3.14159265358979"
    extra = f'<link name="extra"/><joint name="x" type="fixed"><origin xyz="{xyz}" rpy="{half_turn}"/>'
    if before:
        text = text.replace(
            '<parent link="upper"/><child link="lower"/>', '<parent link="extra"/><child link="lower"/>'
        )
        text = text.replace("</robot>", f'{extra}<parent link="upper"/><child link="extra"/></joint></robot>')
    else:
        text = text.replace(
            '<parent link="upper"/><child link="lower"/>', '<parent link="upper"/><child link="extra"/>'
        )
        text = text.replace("</robot>", f'{extra}<parent link="extra"/><child link="lower"/></joint></robot>')
    urdf.write_text(text)
    return urdf


def test_turned_link_before_a_joint_is_folded_into_its_frame(planar_manifest: Path) -> None:
    urdf = with_extra_link(planar_manifest, before=True, xyz="0 0 0.1")
    frames, problems = lower_joint_frames(robot_of(planar_manifest), read_urdf(urdf))
    assert problems == []
    assert np.allclose(frames["elbow"].xyz, (-0.3, 0.0, 0.15))
    assert np.allclose(np.abs(frames["elbow"].rpy), (0.0, 0.0, np.pi))


def test_fixed_step_along_the_axis_is_folded_and_off_the_axis_is_refused(planar_manifest: Path) -> None:
    original = (planar_manifest.parent / "planar.urdf").read_text()
    urdf = with_extra_link(planar_manifest, before=False, xyz="0 0 0.1")
    frames, problems = lower_joint_frames(robot_of(planar_manifest), read_urdf(urdf))
    assert problems == []
    assert np.allclose(frames["elbow"].xyz, (0.3, 0.0, 0.15))
    urdf.write_text(original)
    urdf = with_extra_link(planar_manifest, before=False, xyz="0.01 0 0.1")
    _, problems = lower_joint_frames(robot_of(planar_manifest), read_urdf(urdf))
    assert "off its axis by 0.0100 m" in str(problems[0])


def test_moving_joint_the_manifest_does_not_list_is_refused(planar_manifest: Path) -> None:
    robot = robot_of(planar_manifest)
    shorter = robot.model_copy(update={"joints": robot.joints[:1]})
    _, problems = lower_joint_frames(shorter, read_urdf(planar_manifest.parent / "planar.urdf"))
    assert "joint `elbow` moves `lower` but robot `planar` does not list it" in str(problems[0])


def test_joint_type_that_differs_is_refused(planar_manifest: Path) -> None:
    robot = robot_of(planar_manifest)
    prismatic = tuple(
        j.model_copy(update={"joint_type": "prismatic"}) if j.name == "elbow" else j for j in robot.joints
    )
    _, problems = lower_joint_frames(
        robot.model_copy(update={"joints": prismatic}), read_urdf(planar_manifest.parent / "planar.urdf")
    )
    assert "`elbow` is prismatic in the manifest and revolute in the URDF" in str(problems[0])


def test_shapes_of_an_unlisted_fixed_link_are_carried_over(planar_manifest: Path) -> None:
    robot = robot_of(planar_manifest)
    without_tip = robot.model_copy(update={"joints": robot.joints[:2]})
    urdf = read_urdf(planar_manifest.parent / "planar.urdf")
    folded, problems = fold_links(without_tip, urdf)
    assert problems == []
    shapes = folded.shapes_by_link(urdf)["lower"]
    assert [shape.kind for shape in shapes] == ["box", "sphere"]
    assert shapes[1].origin[:3, 3] == pytest.approx([0.3, 0.0, 0.0])


def test_fixed_joint_between_moving_ones_keeps_the_columns_in_order(planar_manifest: Path) -> None:
    robot = robot_of(planar_manifest)
    frames = read_description(robot, planar_manifest.parent).frames
    tree = KinematicTree.of(robot.base_frame, joints_with_frames(robot, frames))
    assert [joint.column for joint in tree.joints] == [0, 1, None]
    tip = tree.placements(np.array([[0.0, np.pi / 2.0]]))["tip"][0, :3, 3]
    assert tip == pytest.approx([0.3, 0.3, 0.05])
