# SPDX-License-Identifier: Apache-2.0
"""Renaming changes joint names and not one other byte."""

import re
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lastgate.contracts.exceptions import ROSConfigError
from lastgate.tools.assets import resolve_asset
from lastgate.tools.assets.joint_rename import parse_rename, rename_joints

ROBOTS = "pkg:example-robot-data/cmeel.prefix/share/example-robot-data/robots"

# One joint name in every place a name can stand; what must change is marked with « ».
MARKED = (
    "<?xml version='1.0' encoding='utf-8'?>\r\n"
    '<!-- elbow_joint and <joint name="elbow_joint"/> in a comment, \u00e9 -->\r\n'
    '<robot name="elbow_joint" xmlns:x="elbow_joint">\r\n'
    '  <link name="elbow_joint"><visual><geometry>\t<mesh filename="package://elbow_joint/elbow_joint.stl"/>'
    "</geometry></visual></link>\r\n"
    '  <joint   type = "revolute"\r\n     name\t= \'«elbow_joint»\' ><parent link="elbow_joint"/>'
    '<child link="b"/></joint>\n'
    '  <joint name="«wrist_joint»" type="revolute"><mimic multiplier="2" joint="«elbow_joint»" offset="1"/>'
    "</joint>\r\n"
    '  <transmission name="elbow_joint"><joint name="«elbow_joint»"><hardwareInterface>elbow_joint'
    '</hardwareInterface></joint><actuator name="elbow_joint"/></transmission>\r\n'
    '  <ros2_control name="elbow_joint"><joint name="«wrist_joint»"/></ros2_control>\r\n'
    '  <plugin note=\' name="elbow_joint" joint="elbow_joint" \'>'
    '<![CDATA[<joint name="elbow_joint"/>]]></plugin>\r\n'
    "</robot>\r\n"
)
PLACES = 5


def _with_names(rename: Callable[[str], str]) -> bytes:
    return re.sub("«(.*?)»", lambda place: rename(place[1]), MARKED).encode()


ORIGINAL = _with_names(lambda name: name)


def test_every_reference_is_renamed_and_nothing_else_changes():
    renamed = rename_joints(ORIGINAL, [parse_rename("_joint$=>")], source="arm.urdf")
    assert MARKED.count("«") == PLACES
    assert renamed.data == _with_names(lambda name: name.removesuffix("_joint"))
    assert renamed.new_name_by_old == {"elbow_joint": "elbow", "wrist_joint": "wrist"}


def test_no_rename_changes_no_byte():
    assert rename_joints(ORIGINAL, [], source="arm.urdf").data == ORIGINAL


def test_joint_the_pattern_does_not_match_keeps_its_name():
    renamed = rename_joints(ORIGINAL, [parse_rename("^wrist_=>hand_")], source="arm.urdf")
    assert renamed.new_name_by_old == {"wrist_joint": "hand_joint"}
    assert renamed.data.count(b"elbow_joint") == ORIGINAL.count(b"elbow_joint")


def test_renames_apply_one_after_the_other():
    renames = [parse_rename("_joint$=>"), parse_rename(r"^(\w+)=>left_\1")]
    renamed = rename_joints(ORIGINAL, renames, source="arm.urdf")
    assert renamed.new_name_by_old == {"elbow_joint": "left_elbow", "wrist_joint": "left_wrist"}


def test_anchored_pattern_renames_one_joint_and_its_references():
    document = b"<robot><joint name='%s'/><joint name='11'><mimic joint='%s'/></joint></robot>"
    renamed = rename_joints(document % (b"1", b"1"), [parse_rename("^1$=>shoulder_pan")], source="arm.urdf")
    assert renamed.data == document % (b"shoulder_pan", b"shoulder_pan")


def test_escaped_name_is_recognised():
    data = b"<robot><joint name='a&#95;b'/><x><y joint=\"a_b\"/></x></robot>"
    renamed = rename_joints(data, [parse_rename("a_b=>c")], source="arm.urdf")
    assert renamed.data == b"<robot><joint name='c'/><x><y joint=\"c\"/></x></robot>"


def test_byte_order_mark_stays():
    data = b"\xef\xbb\xbf<robot><joint name='a'/></robot>"
    assert rename_joints(data, [parse_rename("a=>b")], source="arm.urdf").data == data.replace(b"'a'", b"'b'")


def test_latin_1_file_keeps_its_bytes():
    data = "<?xml version='1.0' encoding='ISO-8859-1'?><robot><!-- é --><joint name='é'/></robot>".encode(
        "latin-1"
    )
    renamed = rename_joints(data, [parse_rename("é=>ü")], source="arm.urdf")
    assert renamed.data == data.replace(b"'\xe9'", b"'\xfc'")


def test_gazebo_reference_to_a_renamed_joint_is_left_and_reported():
    data = (
        b"<robot><link name='a'/><joint name='a'/><joint name='b'/>\n"
        b"<gazebo reference='a'/>\n<gazebo reference='b'/></robot>"
    )
    renamed = rename_joints(data, [parse_rename("$=>_joint")], source="arm.urdf")
    assert b"<gazebo reference='a'/>\n<gazebo reference='b'/>" in renamed.data
    (note,) = renamed.notes
    assert note.startswith("arm.urdf:3: <gazebo> refers to the renamed joint `b`")


def test_rename_that_changes_nothing_is_refused_with_the_joints():
    with pytest.raises(
        ROSConfigError, match="no joint is changed by `elbo_`; joints: `elbow_joint`, `wrist_joint`"
    ):
        rename_joints(ORIGINAL, [parse_rename("elbo_=>x")], source="arm.urdf")


def test_two_joints_with_one_name_are_refused():
    with pytest.raises(
        ROSConfigError, match="joints `elbow_joint` and `wrist_joint` would both be called `joint`"
    ):
        rename_joints(ORIGINAL, [parse_rename("^.*_=>")], source="arm.urdf")


def test_all_problems_are_reported_at_once():
    renames = [
        parse_rename("nothing=>x"),
        parse_rename("^elbow_joint$=>"),
        parse_rename("^wrist_joint$=>a b"),
    ]
    with pytest.raises(ROSConfigError) as refusal:
        rename_joints(ORIGINAL, renames, source="arm.urdf")
    problems = str(refusal.value).splitlines()
    assert len(problems) == 3
    assert "`nothing`" in problems[0]
    assert "joint `elbow_joint` cannot be called ``" in problems[1]
    assert "joint `wrist_joint` cannot be called `a b`" in problems[2]


@pytest.mark.parametrize("text", ["a", "=>b", "", "(=>b", r"a=>\2", r"a=>\g<x>"])
def test_unreadable_rename_is_refused(text: str):
    with pytest.raises(ROSConfigError, match="--rename"):
        parse_rename(text)


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"<mujoco><joint name='a'/></mujoco>", "the root element is <mujoco>"),
        ("<?xml version='1.0' encoding='utf-16'?><robot/>".encode("utf-16"), "encoded as utf-16"),
        (b"<robot><joint name='a'></robot>", "not well-formed"),
        (b"<!DOCTYPE robot [<!ENTITY a 'b'>]><robot><joint name='&a;'/></robot>", "document type"),
    ],
)
def test_file_that_cannot_be_edited_is_refused(data: bytes, why: str):
    with pytest.raises(ROSConfigError, match=why):
        rename_joints(data, [parse_rename("a=>b")], source="arm.urdf")


@pytest.mark.parametrize(
    "path",
    [
        "so_arm_description/urdf/so100.urdf",
        "g1_description/urdf/g1_29dof_rev_1_0.urdf",
        "talos_data/robots/talos_full_v2.urdf",
    ],
)
def test_renaming_there_and_back_gives_the_real_file_back(path: str):
    original = resolve_asset(f"{ROBOTS}/{path}", "urdf").read_bytes()
    there = rename_joints(original, [parse_rename("^=>zz_")], source=path)
    back = rename_joints(there.data, [parse_rename("^zz_=>")], source=path)
    assert there.data != original
    assert there.new_name_by_old
    assert back.data == original


@given(
    before=st.text(alphabet=" \t\r\n", max_size=3),
    comment=st.text(alphabet="abj<>\"'= \n", max_size=20),
    quote=st.sampled_from("\"'"),
    name=st.text(alphabet="abcxyz_0129é/.", min_size=1, max_size=8),
)
def test_any_layout_keeps_every_other_byte(before: str, comment: str, quote: str, name: str):
    tag = f"<joint {before}a={quote} name=x {quote} name{before}={before}{quote}%s{quote}{before}/>"
    document = f"<robot><!--{comment}-->{tag}<link name={quote}{name}{quote}/></robot>"
    original = (document % name).encode()
    renamed = rename_joints(original, [parse_rename(".+=>renamed")], source="arm.urdf")
    assert renamed.data == (document % "renamed").encode()
