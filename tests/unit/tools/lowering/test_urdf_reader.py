# SPDX-License-Identifier: Apache-2.0
"""The strict URDF reader: what is sound is read whole, each defect is refused with its line."""

import re
from pathlib import Path

import numpy as np
import pytest

from lastgate.contracts.exceptions import ROSConfigError
from lastgate.contracts.joints import JointSpec
from lastgate.tools.lowering.corrected_urdf import write_corrected_urdf
from lastgate.tools.lowering.diagnostics import DescriptionError
from lastgate.tools.lowering.manifest_splice import read_manifest
from lastgate.tools.lowering.urdf_reader import read_urdf

BROKEN = Path(__file__).parents[3] / "fixtures" / "robots" / "broken"


def test_sound_urdf_is_read_whole(planar_urdf: Path) -> None:
    model = read_urdf(planar_urdf)
    assert model.root == "base"
    assert [joint.name for joint in model.joints] == ["shoulder", "elbow", "tip_joint"]
    assert model.joints[1].limits == (-2.8, 2.8)
    assert model.joints[1].xyz == (0.3, 0.0, 0.05)
    assert [shape.kind for shape in model.collisions["tip"]] == ["sphere"]


DEFECTS = {
    "limit_lower_above_upper.urdf": (r":18: .*shoulder.*lower < upper.*3\.0000 and -3\.0000"),
    "limit_missing.urdf": r":16: .*revolute joint `shoulder` has no <limit>",
    "limit_not_a_number.urdf": r":18: .*`lower`.*`nan`",
    "joint_type_unknown.urdf": r":20: .*`elbow`.*unknown type `hinge`; known: revolute",
    "joint_parent_unknown.urdf": r":20: .*`elbow`.*parent `uper` is not a link",
    "link_declared_twice.urdf": r":13: .*`lower` is declared twice, first in line 10",
    "two_roots.urdf": r"2 roots: `base`, `island`",
    "ring_beside_the_root.urdf": r"no chain of joints leads from the root `base` to `upper`, `lower`, `tip`: .* ring",
    "axis_of_length_zero.urdf": r":17: .*`shoulder`.*axis of length zero",
    "mesh_missing.urdf": r":5: .*link `base`.*no_such_mesh\.stl",
    "mesh_outside_its_folder.urdf": r":5: .*link `base`.*outside",
    "box_without_size.urdf": r":5: .*<box> has no `size`",
    "sphere_radius_negative.urdf": r":14: .*`radius`.*positive.*-0\.03",
    "shape_unknown.urdf": r":14: .*unknown shape <torus>",
    "xacro_unexpanded.urdf": r":21: .*xacro.*vendor-urdf",
    "mimic_cycle.urdf": r"`shoulder` mimics `elbow`, which itself mimics `shoulder`",
    "mimic_of_nothing.urdf": r"`shoulder` mimics `nobody`",
    "entity_bomb.urdf": r":2: .*document type",
}


@pytest.mark.parametrize("name", sorted(DEFECTS))
def test_broken_urdf_is_refused_with_its_place(name: str) -> None:
    with pytest.raises(ROSConfigError) as refusal:
        read_urdf(BROKEN / name)
    message = str(refusal.value)
    assert name in message
    assert re.search(DEFECTS[name], message, re.DOTALL), message


def test_every_broken_fixture_has_a_test() -> None:
    assert {path.name for path in BROKEN.glob("*.urdf")} == set(DEFECTS) | {"three_defects.urdf"}


def test_all_defects_of_one_file_are_reported_in_one_run() -> None:
    with pytest.raises(DescriptionError) as refusal:
        read_urdf(BROKEN / "three_defects.urdf")
    lines = [diagnostic.line or 0 for diagnostic in refusal.value.diagnostics]
    assert sorted(lines) == [14, 18, 20]


def test_huge_name_is_refused(tmp_path: Path, planar_urdf: Path) -> None:
    text = planar_urdf.read_text().replace('name="tip"', f'name="{"x" * 100_000}"')
    (tmp_path / "huge.urdf").write_text(text)
    with pytest.raises(ROSConfigError, match="256 is the limit"):
        read_urdf(tmp_path / "huge.urdf")


def test_visual_shapes_are_read_for_named_links_and_for_fixed_ones_that_have_no_other(
    tmp_path: Path, planar_urdf: Path
) -> None:
    text = planar_urdf.read_text().replace("collision", "visual")
    path = tmp_path / "visual.urdf"
    path.write_text(text)
    bare = read_urdf(path).collisions
    # A joint moves the bars: what covers them is for a person to say.
    assert (bare["upper"], bare["lower"]) == ([], [])
    assert [shape.kind for shape in bare["tip"]] == ["sphere"]
    assert read_urdf(path, left_out=frozenset({"tip"})).collisions["tip"] == []
    covered = read_urdf(path, visual_links=frozenset({"upper"})).collisions["upper"]
    assert [shape.kind for shape in covered] == ["box"]


def test_axis_is_normalised_and_defaults_to_x(tmp_path: Path, planar_urdf: Path) -> None:
    text = planar_urdf.read_text().replace('<axis xyz="0 0 1"/>', '<axis xyz="0 3 4"/>', 1)
    text = text.replace('<axis xyz="0 0 1"/>', "", 1)
    (tmp_path / "axis.urdf").write_text(text)
    joints = read_urdf(tmp_path / "axis.urdf").joints
    assert np.allclose(joints[0].axis, (0.0, 0.6, 0.8))
    assert joints[1].axis == (1.0, 0.0, 0.0)


FINGER = JointSpec(
    name="tip_joint",
    joint_type="prismatic",
    parent_link="lower",
    child_link="tip",
    axis_xyz=(0.0, 1.0, 0.0),
    position_limits=(0.0, 0.02),
    velocity_limit=0.1,
)


def test_corrected_joint_is_read_for_its_place_only(planar_urdf: Path) -> None:
    assert read_urdf(planar_urdf).joints[2].joint_type == "fixed"
    joint = read_urdf(planar_urdf, corrected={"tip_joint": FINGER}).joints[2]
    assert (joint.joint_type, joint.axis, joint.limits) == ("prismatic", (0.0, 1.0, 0.0), (0.0, 0.02))
    assert (joint.parent, joint.child, joint.xyz) == ("lower", "tip", (0.3, 0.0, 0.0))


def test_correction_mends_what_is_refused_without_it() -> None:
    broken = BROKEN / "limit_lower_above_upper.urdf"
    shoulder = FINGER.model_copy(update={"name": "shoulder", "joint_type": "revolute"})
    with pytest.raises(DescriptionError, match="lower < upper"):
        read_urdf(broken)
    assert read_urdf(broken, corrected={"shoulder": shoulder}).joints[0].limits == (0.0, 0.02)


def test_correction_of_a_joint_the_file_does_not_have_is_refused(planar_urdf: Path) -> None:
    with pytest.raises(DescriptionError, match="corrects joint `thumb`, which this file does not have"):
        read_urdf(planar_urdf, corrected={"thumb": FINGER})


def test_corrected_urdf_is_written_for_other_engines(planar_manifest: Path, tmp_path: Path) -> None:
    text = (
        planar_manifest.read_text() + "lowering:\n  corrected_joints: [{joint: elbow, reason: it slides}]\n"
    )
    robot = read_manifest(text.replace("revolute", "prismatic"), source="r")
    urdf = planar_manifest.parent / "planar.urdf"
    folder = tmp_path / "written"
    folder.mkdir()
    written = read_urdf(write_corrected_urdf(robot, urdf, folder))
    assert [joint.joint_type for joint in written.joints] == ["revolute", "prismatic", "fixed"]
    plain = robot.model_copy(update={"lowering": robot.lowering.model_copy(update={"corrected_joints": ()})})
    assert write_corrected_urdf(plain, urdf, folder) == urdf


def test_prefix_that_is_not_bound_is_ignored_where_urdf_has_a_word_and_refused_where_it_is_the_shape(
    tmp_path: Path, planar_urdf: Path
) -> None:
    """Other programs keep their own words in a URDF; none of them may replace one of ours."""
    text = planar_urdf.read_text()
    (tmp_path / "extra.urdf").write_text(
        text.replace("<limit ", '<limit drake:acceleration="2.5" ').replace("</robot>", "<drake:x/></robot>")
    )
    assert read_urdf(tmp_path / "extra.urdf").joints[0].velocity == 2.0
    (tmp_path / "shape.urdf").write_text(
        text.replace('<sphere radius="0.03"/>', '<drake:capsule radius="1"/>')
    )
    with pytest.raises(DescriptionError, match=r"unknown shape <drake:capsule>"):
        read_urdf(tmp_path / "shape.urdf")
    (tmp_path / "limit.urdf").write_text(
        text.replace('lower="-3" upper="3"', 'drake:lower="-3" drake:upper="3"')
    )
    with pytest.raises(DescriptionError, match=r"`shoulder` needs lower < upper"):
        read_urdf(tmp_path / "limit.urdf")


@pytest.mark.parametrize(
    ("link", "what"), [("absent", "not a link of this file"), ("tip", "no visual shape")]
)
def test_visual_link_that_has_nothing_to_cover_is_refused(planar_urdf: Path, link: str, what: str) -> None:
    with pytest.raises(DescriptionError, match=f"`{link}`, which .*{what}"):
        read_urdf(planar_urdf, visual_links=frozenset({link}))
