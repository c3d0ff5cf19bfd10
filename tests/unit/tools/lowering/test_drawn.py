# SPDX-License-Identifier: Apache-2.0
"""What a description only draws: fixed parts are covered, moving ones refused, and what stands out is measured."""

from pathlib import Path

import numpy as np
import pytest

import lastgate as lg
from lastgate.contracts.exceptions import ROSConfigError
from lastgate.contracts.robot import RobotDescription
from lastgate.tools.lowering.diagnostics import DescriptionError
from lastgate.tools.lowering.drawn import DRAWN_OUTSIDE_MAX_M, drawn_outside, drawn_shapes, far_out
from lastgate.tools.lowering.lower import read_description

TOOL = '<geometry><box size="0.05 0.05 0.4"/></geometry>'
URDF = """<robot name="arm">
  <link name="base">{base}</link>
  <link name="arm"><collision><geometry><box size="0.1 0.1 0.1"/></geometry></collision>
    <visual><geometry><box size="0.1 0.1 0.12"/></geometry></visual></link>
  <link name="tool"><visual><origin xyz="0 0 0.2"/>{tool}</visual></link>
  <link name="lamp"><visual><geometry><sphere radius="0.03"/></geometry></visual></link>
  <joint name="turn" type="{turn}"><parent link="base"/><child link="arm"/><origin xyz="0 0 0.5"/><axis xyz="0 0 1"/>
    <limit lower="-1" upper="1" velocity="1" effort="1"/></joint>
  <joint name="mount" type="{mount}"><parent link="arm"/><child link="tool"/><axis xyz="0 0 1"/>
    <limit lower="-1" upper="1" velocity="1" effort="1"/></joint>
  <joint name="post" type="fixed"><parent link="base"/><child link="lamp"/><origin xyz="0.4 0 0.9"/></joint>
</robot>
"""
BASE = '<collision><geometry><box size="0.2 0.2 0.2"/></geometry></collision>'


def arm(folder: Path, *, base: str = BASE, mount: str = "fixed", **changes: object) -> RobotDescription:
    (folder / "arm.urdf").write_text(URDF.format(tool=TOOL, base=base, turn="revolute", mount=mount))
    joints = [("turn", "base", "arm")] + ([] if mount == "fixed" else [("mount", "arm", "tool")])
    return RobotDescription(
        **{
            "name": "arm",
            "assets": {"urdf": {"ref": "file:arm.urdf"}},
            "base_frame": "base",
            "joints": [
                {
                    "name": name,
                    "joint_type": "revolute",
                    "parent_link": parent,
                    "child_link": child,
                    "axis_xyz": [0, 0, 1],
                    "position_limits": [-1, 1],
                    "velocity_limit": 1.0,
                }
                for name, parent, child in joints
            ],
            **changes,
        }
    )


def top_m(robot: RobotDescription, folder: Path, link: str) -> float:
    return float(read_description(robot, folder).shapes[link].triangles[:, :, 2].max())


def test_tool_that_is_only_drawn_on_a_fixed_joint_belongs_to_the_link_that_carries_it(tmp_path: Path) -> None:
    assert top_m(arm(tmp_path), tmp_path, "arm") == pytest.approx(0.4)
    waiver = {"drawn_waivers": [{"link": "tool", "reason": "a drawing of what may be mounted"}]}
    assert top_m(arm(tmp_path, lowering=waiver), tmp_path, "arm") == pytest.approx(0.05)


def test_part_that_is_only_drawn_and_never_moves_belongs_to_the_base(tmp_path: Path) -> None:
    shapes = read_description(arm(tmp_path), tmp_path).shapes["base"]
    (lamp,) = shapes.round_shapes
    assert lamp.start == pytest.approx([0.4, 0.0, 0.9])
    waiver = {"drawn_waivers": [{"link": "lamp", "reason": "hangs elsewhere"}]}
    assert not read_description(arm(tmp_path, lowering=waiver), tmp_path).shapes["base"].round_shapes


def test_base_that_is_only_drawn_is_covered(tmp_path: Path) -> None:
    drawn = BASE.replace("collision", "visual")
    assert len(read_description(arm(tmp_path, base=drawn), tmp_path).shapes["base"].triangles) == 12


def test_tool_that_is_only_drawn_and_moves_by_its_own_joint_is_refused_until_named(tmp_path: Path) -> None:
    with pytest.raises(
        DescriptionError, match="link `tool` moves with joint `mount` and has no collision shape"
    ):
        read_description(arm(tmp_path, mount="revolute"), tmp_path)
    named = arm(tmp_path, mount="revolute", lowering={"visual_links": ["tool"]})
    assert top_m(named, tmp_path, "tool") == pytest.approx(0.4)


def test_waiver_of_something_that_is_not_drawn_is_refused(tmp_path: Path) -> None:
    waiver = {"drawn_waivers": [{"link": "tol", "reason": "misspelt"}]}
    with pytest.raises(ROSConfigError, match="drawn_waivers` names `tol`, of which nothing is drawn"):
        read_description(arm(tmp_path, lowering=waiver), tmp_path)


@pytest.mark.parametrize(("waived", "meets"), [(False, True), (True, False)])
def test_oracle_meets_what_was_covered_and_not_what_was_waived(
    tmp_path: Path, waived: bool, meets: bool
) -> None:
    from lastgate.tools.lowering.mesh_truth import MeshTruth

    waiver = {"drawn_waivers": [{"link": "tool", "reason": "a drawing"}]}
    robot = arm(tmp_path, lowering=waiver if waived else {})
    text = (tmp_path / "arm.urdf").read_text()
    (tmp_path / "arm.urdf").write_text(text.replace('xyz="0.4 0 0.9"', 'xyz="0.0 0 0.8"'))
    assert (MeshTruth(robot, tmp_path / "arm.urdf").touching(np.zeros(1)) is not None) == meets


def test_link_that_is_drawn_beyond_its_volumes_is_measured(tmp_path: Path) -> None:
    robot = arm(tmp_path)
    drawn, unread = drawn_shapes(robot, tmp_path)
    assert unread == []
    volumes = [
        {"link_name": "arm", "shape": {"shape": "sphere", "radius_m": 0.1}},
        {"link_name": "base", "shape": {"shape": "sphere", "radius_m": 1.2}},
    ]
    robot = robot.model_copy(
        update={"collision_geometry": arm(tmp_path, collision_geometry=volumes).collision_geometry}
    )
    found = drawn_outside(drawn, robot.collision_geometry)
    assert found["arm"] == pytest.approx(np.linalg.norm([0.025, 0.025, 0.4]) - 0.1, abs=1e-4)
    assert found["base"] == 0.0
    measured = robot.model_copy(update={"drawn_outside_m": found})
    assert far_out(measured) == {"arm": found["arm"]}
    assert found["arm"] > DRAWN_OUTSIDE_MAX_M


# Their volumes are drawn by hand, or their files are not installed: there is nothing to measure against.
NOT_MEASURED = {"google_robot", "pusht_2d", "rizon4"}


@pytest.mark.parametrize("name", lg.robot_names())
def test_no_robot_of_the_library_is_drawn_far_out_of_its_volumes_without_a_reason(name: str) -> None:
    robot = lg.load_robot(name)
    assert (robot.drawn_outside_m is None) == (name in NOT_MEASURED)
    waived = {waiver.link: waiver.reason for waiver in robot.lowering.drawn_waivers}
    assert far_out(robot).keys() <= waived.keys()
    assert all(len(reason.split()) >= 5 for reason in waived.values())


MJCF = """<mujoco><worldbody><body name="base"><geom type="box" size="0.1 0.1 0.1"/>
  <body name="arm" pos="0 0 0.5"><joint name="turn" axis="0 0 1" range="-1 1"/><geom type="box" size="0.05 0.05 0.05"/>
    <body name="tool" pos="0 0 0.2"><geom type="box" size="0.025 0.025 0.2" contype="0" conaffinity="0"/></body>
  </body></body></worldbody></mujoco>"""


@pytest.mark.parametrize(("waived", "top"), [(False, 0.4), (True, 0.05)])
def test_body_of_an_mjcf_that_is_only_drawn_belongs_to_the_link_that_carries_it(
    tmp_path: Path, waived: bool, top: float
) -> None:
    (tmp_path / "arm.xml").write_text(MJCF)
    waiver = {"drawn_waivers": [{"link": "tool", "reason": "a drawing"}]}
    robot = arm(tmp_path, lowering=waiver if waived else {}, assets={"mjcf": "file:arm.xml"})
    assert top_m(robot, tmp_path, "arm") == pytest.approx(top)
    drawn, _ = drawn_shapes(robot, tmp_path)
    assert list(drawn) == ["arm"]
