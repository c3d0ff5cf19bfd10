# SPDX-License-Identifier: Apache-2.0
"""The lowering cases a peer publishes, where no other suite has them by name (`grep -r test_l13_` finds the rest).

Where that peer exempts more than can be proved, the case holds what must be checked instead, and says so.
"""

import json
import re
from pathlib import Path

import pytest

import lastgate as lg
from lastgate.robots import find_manifest
from lastgate.robots.kernel_config import flat_config
from lastgate.tools.lowering.allowed_pairs import PairSorting, allow_junctions, sort_by_structure
from lastgate.tools.lowering.diagnostics import DescriptionError
from lastgate.tools.lowering.kinematics import KinematicTree
from lastgate.tools.lowering.lower import lower_robot, read_description
from lastgate.tools.lowering.mesh_contact import LinkMeshes
from lastgate.tools.lowering.rigid import transform
from lastgate.tools.lowering.shapes import LinkShapes, SourceShape
from lastgate.tools.lowering.srdf_reader import SrdfClaims
from lastgate.tools.lowering.sweep import SWEEP_SAMPLES, SWEEP_SEED, Sweep
from lastgate.tools.lowering.volumes import Volume

ARM = [f"panda_link{number}" for number in range(1, 8)]


@pytest.fixture(scope="module")
def panda_claims() -> SrdfClaims:
    """What the SRDF of the plain Panda disables."""
    claims = read_description(lg.load_robot("franka_panda"), find_manifest("franka_panda").parent).claims
    assert claims is not None
    return claims


def mobile_sorting(claims: SrdfClaims | None) -> PairSorting:
    """Sorts the pairs of the Panda on wheels, every link of which has volumes."""
    robot = lg.load_robot("panda_mobile")
    covered = {volume.link_name for volume in robot.collision_geometry}
    links = [link for link in robot.link_names if link in covered]
    return sort_by_structure(KinematicTree.of(robot.base_frame, robot.joints), links, claims)


def within_arm(sorting: PairSorting) -> list[tuple[str, str]]:
    return [pair for pair in sorted(sorting.allowed) if all(link in ARM for link in pair)]


def test_l07_srdf_pairs_of_an_arm_on_wheels_are_those_of_the_arm(panda_claims: SrdfClaims) -> None:
    sorting = mobile_sorting(panda_claims)
    claimed = {pair for pair in panda_claims.disabled if all(link in ARM for link in pair)}
    assert set(within_arm(sorting)) == claimed
    assert {("panda_link5", "panda_link7"), ("panda_link1", "panda_link4")} <= claimed
    # The wheels are not in that SRDF, so nothing but a joint excuses a pair with them.
    with_base = {pair: entry.reason for pair, entry in sorting.allowed.items() if "base" in pair}
    assert set(with_base.values()) == {"adjacent"}


def test_l08_without_its_srdf_only_neighbours_are_excused() -> None:
    allowed = within_arm(mobile_sorting(None))
    assert ("panda_link5", "panda_link6") in allowed
    assert ("panda_link1", "panda_link4") not in allowed
    # The peer excuses this pair too, because its volumes always overlap; the meshes meet in 7.6 % of states.
    assert ("panda_link5", "panda_link7") not in allowed


TWO_HINGES = """\
<mujoco><asset><mesh name="rod" vertex="0 -.02 -.02  0 .02 -.02  0 0 .02  .3 -.02 -.02  .3 .02 -.02  .3 0 .02"/></asset>
<worldbody><body name="stand"><geom type="mesh" mesh="rod"/>
  <body name="one" pos=".4 0 0"><joint name="hinge_x" axis="0 0 1" range="-3 3"/><geom type="mesh" mesh="rod"/>
    {middle}<body name="two" pos=".4 0 0">
      <joint name="hinge_y" axis="0 0 1" range="-3 3"/><geom type="mesh" mesh="rod"/>{tip}</body>{end}
  </body></body></worldbody></mujoco>
"""
TIP = '<body name="tip" pos=".4 0 0">{joint}<geom type="mesh" mesh="rod"/></body>'
HINGE = '<joint name="hinge_z" axis="0 0 1" range="-3 3"/>'


def hinge(name: str, parent: str, child: str, sim: str) -> dict[str, object]:
    ends = {"parent_link": parent, "child_link": child, "position_limits": (-3.0, 3.0), "velocity_limit": 1.0}
    return {"name": name, "joint_type": "revolute", "sim_joint_name": sim, **ends}


def weld(name: str, parent: str, child: str) -> dict[str, object]:
    return {"name": name, "joint_type": "fixed", "parent_link": parent, "child_link": child}


def from_mjcf(
    folder: Path, text: str, joints: list[dict[str, object]], **changes: object
) -> lg.RobotDescription:
    (folder / "arm.xml").write_text(text)
    assets = {"mjcf": "file:arm.xml"}
    return lg.RobotDescription(name="arm", base_frame="link0", assets=assets, joints=joints, **changes)


def armed(robot: lg.RobotDescription, folder: Path) -> lg.RobotDescription:
    lowered = lower_robot(robot, folder)
    changes = {"collision_geometry": tuple(lowered.geometry), "allowed_collision_pairs": tuple(lowered.pairs)}
    return robot.model_copy(update=changes)


def numbers(robot: lg.RobotDescription, key: str) -> list[int]:
    """Returns what the kernel is told about each link but the root."""
    found = re.search(rf"^{key}: (\[.*\])$", flat_config(robot, step_s=0.02), re.MULTILINE)
    assert found is not None
    return json.loads(found[1])[1:]


def test_l11_mjcf_of_meshes_alone_is_covered_where_the_peer_switches_the_check_off(tmp_path: Path) -> None:
    joints = [hinge("j1", "link0", "link1", "hinge_x"), hinge("j2", "link1", "link2", "hinge_y")]
    robot = armed(from_mjcf(tmp_path, TWO_HINGES.format(middle="", tip="", end=""), joints), tmp_path)
    assert {volume.link_name for volume in robot.collision_geometry} == {"link0", "link1", "link2"}
    assert lg.Gate(robot, step_s=0.02).joint_names == ("j1", "j2")


def test_l12_joints_are_matched_by_their_simulated_names_in_the_order_of_the_manifest(tmp_path: Path) -> None:
    joints = [hinge("j1", "link0", "link1", "hinge_x"), hinge("j2", "link1", "link2", "hinge_y")]
    robot = armed(from_mjcf(tmp_path, TWO_HINGES.format(middle="", tip="", end=""), joints), tmp_path)
    assert numbers(robot, "joint_dof") == [0, 1]
    assert len(set(numbers(robot, "joint_kind"))) == 1


def test_l12_third_body_without_a_column_stands_still(tmp_path: Path) -> None:
    joints = [hinge("j1", "link0", "link1", "hinge_x"), hinge("j2", "link1", "link2", "hinge_y")]
    text = TWO_HINGES.format(middle="", tip=TIP.format(joint=""), end="")
    robot = armed(from_mjcf(tmp_path, text, [*joints, weld("j3", "link2", "tip")]), tmp_path)
    assert numbers(robot, "joint_dof") == [0, 1, -1]


def test_l12_third_hinge_that_the_manifest_does_not_list_is_refused(tmp_path: Path) -> None:
    joints = [hinge("j1", "link0", "link1", "hinge_x"), hinge("j2", "link1", "link2", "hinge_y")]
    text = TWO_HINGES.format(middle="", tip=TIP.format(joint=HINGE), end="")
    with pytest.raises(DescriptionError, match="`hinge_z` moves `tip` but robot `arm` does not list it"):
        read_description(from_mjcf(tmp_path, text, joints), tmp_path)


def test_l12_welded_middle_keeps_the_columns_in_order(tmp_path: Path) -> None:
    middle = '<body name="middle" pos=".4 0 0"><geom type="mesh" mesh="rod"/>'
    joints = [
        hinge("j1", "link0", "link1", "hinge_x"),
        weld("weld", "link1", "middle"),
        hinge("j2", "middle", "link2", "hinge_y"),
    ]
    robot = armed(
        from_mjcf(tmp_path, TWO_HINGES.format(middle=middle, tip="", end="</body>"), joints), tmp_path
    )
    assert numbers(robot, "joint_dof") == [0, -1, 1]


def test_x16_mesh_links_with_box_pads_are_covered_whole(tmp_path: Path) -> None:
    pad = '<geom type="box" size=".01 .01 .01" pos=".3 0 0"/>'
    joints = [hinge("j1", "link0", "link1", "hinge_x"), hinge("j2", "link1", "link2", "hinge_y")]
    text = TWO_HINGES.format(middle="", tip=pad, end="")
    robot = armed(from_mjcf(tmp_path, text, joints), tmp_path)
    # The peer's model of this file is the pad alone; here the far end of every rod is inside a volume.
    assert {volume.link_name for volume in robot.collision_geometry} == {"link0", "link1", "link2"}


def test_x16_twin_pads_on_links_without_collision_shapes_are_refused(tmp_path: Path) -> None:
    pad = '<geom type="box" size=".01 .01 .01" pos=".3 0 0"/>'
    joints = [hinge("j1", "link0", "link1", "hinge_x"), hinge("j2", "link1", "link2", "hinge_y")]
    text = TWO_HINGES.format(middle="", tip=pad, end="").replace(
        '<geom type="mesh" mesh="rod"/>', '<geom type="mesh" mesh="rod" contype="0" conaffinity="0"/>'
    )
    with pytest.raises(
        DescriptionError, match="link `link1` moves with joint `j1` and has no collision shape"
    ):
        read_description(from_mjcf(tmp_path, text, joints), tmp_path)


@pytest.mark.parametrize(("elbow_y", "excused"), [(0.0, False), (0.25, True)])
def test_x36_pair_that_touches_in_the_neutral_pose_is_excused_only_if_its_meshes_never_meet(
    elbow_y: float, excused: bool
) -> None:
    """A torso, a shoulder and an elbow whose volumes overlap in every pose; the elbow's mesh is a sphere."""
    limits = {"position_limits": (-0.3, 0.3), "velocity_limit": 1.0, "joint_type": "revolute"}
    robot = lg.RobotDescription(
        name="shoulder",
        base_frame="torso",
        joints=[
            {"name": "a", "parent_link": "torso", "child_link": "shoulder", **limits},
            {
                "name": "b",
                "parent_link": "shoulder",
                "child_link": "elbow",
                "origin_xyz": (0, 0.1, 0),
                **limits,
            },
        ],
    )
    sphere = {link: transform((0.0, 0.0, 0.0), (0.0, 0.0, 0.0)) for link in ("torso", "shoulder")}
    sphere["elbow"] = transform((0.0, elbow_y, 0.0), (0.0, 0.0, 0.0))
    shapes = {link: LinkShapes.of(link, [SourceShape("sphere", at, (0.09,))]) for link, at in sphere.items()}
    fat = {
        link: [Volume(0.3, 0.0, (at[0, 3], at[1, 3], at[2, 3]), (0.0, 0.0, 0.0))]
        for link, at in sphere.items()
    }
    tree = KinematicTree.of("torso", robot.joints)
    meshes = LinkMeshes(shapes)
    sorting = sort_by_structure(tree, list(shapes), None)
    assert sorting.checked == [("elbow", "torso")]
    sweep = Sweep(tree, meshes, tree.samples(SWEEP_SAMPLES, SWEEP_SEED))
    allow_junctions(sorting, sweep, tree, meshes, fat)
    assert (("elbow", "torso") not in sorting.checked) == excused
    assert bool(sorting.notes) != excused
