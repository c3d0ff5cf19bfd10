# SPDX-License-Identifier: Apache-2.0
import pytest
from pydantic import ValidationError

from lastgate.contracts import AssetRef, AssetRefs, ROSConfigError, UrdfAsset, parse_asset_ref
from lastgate.contracts.asset_refs import ASSET_KINDS, SCHEMES

ACCEPTED = [
    ("rd:panda_description", "urdf", "rd", "panda_description"),
    ("rd:panda_mj_description", "mjcf", "rd", "panda_mj_description"),
    ("rd:panda_description", "srdf", "rd", "panda_description"),
    ("file:robot.urdf", "urdf", "file", "robot.urdf"),
    ("file:../shared/robot.srdf", "srdf", "file", "../shared/robot.srdf"),
    ("file:scenes/a:b.xml", "mjcf", "file", "scenes/a:b.xml"),
    ("pkg:example-robot-data/robots/panda.urdf", "urdf", "pkg", "example-robot-data/robots/panda.urdf"),
    ("gym_aloha:bimanual_viperx_transfer_cube", "mjcf", "gym_aloha", "bimanual_viperx_transfer_cube"),
    ("openarm:bimanual", "mjcf", "openarm", "bimanual"),
    ("menagerie:franka_emika_panda", "mjcf", "menagerie", "franka_emika_panda"),
    ("ros2://robot_description", "urdf", "ros2", "robot_description"),
]

UNSERVED = [
    (f"{scheme}:x" if scheme != "ros2" else "ros2://robot_description", kind)
    for scheme in ("gym_aloha", "openarm", "menagerie", "ros2")
    for kind in ASSET_KINDS
    if kind not in SCHEMES[scheme].kinds
]


@pytest.mark.parametrize(("ref", "kind", "scheme", "target"), ACCEPTED)
def test_a_reference_is_split_and_put_together_again(ref, kind, scheme, target):
    parsed = parse_asset_ref(ref, kind)
    assert parsed == AssetRef(scheme, target)
    assert str(parsed) == ref


@pytest.mark.parametrize(("ref", "kind"), UNSERVED)
def test_a_kind_the_scheme_does_not_serve_is_refused_with_those_it_serves(ref, kind):
    with pytest.raises(
        ROSConfigError, match=f"does not serve kind {kind}.*schemes for {kind}: `rd:<module>`"
    ):
        parse_asset_ref(ref, kind)


def test_the_four_special_schemes_leave_eight_combinations_unserved():
    assert len(UNSERVED) == 8


@pytest.mark.parametrize(
    ("legacy", "modern"),
    [
        ("robot_descriptions:ur5e_description", "rd:ur5e_description"),
        ("python:robot_descriptions.panda_description:URDF_PATH", "rd:panda_description"),
        ("python:some.other.module:PATH", "rd:<module>"),
        ("openarm_v2:bimanual", "openarm:bimanual"),
    ],
)
@pytest.mark.parametrize("kind", ASSET_KINDS)
def test_l20_a_legacy_spelling_is_refused_with_the_new_one(legacy, modern, kind):
    with pytest.raises(ROSConfigError, match=f"write `{modern}`; schemes for {kind}: `rd:<module>`"):
        parse_asset_ref(legacy, kind)


@pytest.mark.parametrize(
    "ref", ["robot.urdf", "/abs/robot.urdf", "http://host/robot.urdf", "RD:panda", ":x", "x:"]
)
def test_an_unknown_scheme_is_refused_with_the_list_of_schemes(ref):
    with pytest.raises(
        ROSConfigError, match="schemes for srdf: `rd:<module>`, `file:<relpath>`, `pkg:<distribution>/<path>`"
    ):
        parse_asset_ref(ref, "srdf")


def test_a_bare_path_is_refused_with_the_way_to_write_it():
    with pytest.raises(ROSConfigError, match=r"a file is written `file:robots/a\.srdf`"):
        parse_asset_ref("robots/a.srdf", "srdf")


@pytest.mark.parametrize("path", ["/abs/a.srdf", "~/a.srdf", "robots/", "a\\b.srdf"])
def test_a_bare_path_that_no_reference_may_hold_is_not_proposed_as_one(path):
    with pytest.raises(ROSConfigError, match="a file is written `file:<relpath>`"):
        parse_asset_ref(path, "srdf")


@pytest.mark.parametrize("scheme", ["rd", "file", "pkg", "gym_aloha", "openarm", "menagerie"])
def test_a_scheme_without_a_target_is_refused(scheme):
    with pytest.raises(
        ROSConfigError, match=r"nothing follows the scheme.*; schemes for mjcf: `rd:<module>`"
    ):
        parse_asset_ref(f"{scheme}:", "mjcf")


@pytest.mark.parametrize(
    "ref",
    [
        "file:/etc/robot.urdf",
        "file:C:/robot.urdf",
        "file:~/robot.urdf",
        "file:a\\b.urdf",
        "file:a\x00b.urdf",
        "file: a.urdf",
        "file:folder/",
        "file:..",
        "file:.",
        "rd:panda-description",
        "rd:os.path",
        "rd:../panda",
        "rd:9lives",
        "pkg:example-robot-data",
        "pkg:example-robot-data/",
        "pkg:/robots/a.urdf",
        "pkg:-bad-/a.urdf",
        "pkg:data/../../etc/passwd",
        "pkg:data//abs.urdf",
        "ros2:robot_description",
        "ros2://other_description",
        "ros2://",
    ],
)
def test_a_target_the_scheme_cannot_have_is_refused(ref):
    with pytest.raises(ROSConfigError, match=r"urdf reference.*; schemes for urdf: `rd:<module>`"):
        parse_asset_ref(ref, "urdf")


@pytest.mark.parametrize("ref", ["menagerie:a/b", "menagerie:..", "openarm:", "gym_aloha:a b"])
def test_a_model_name_with_a_path_in_it_is_refused(ref):
    with pytest.raises(ROSConfigError, match="cannot use mjcf reference"):
        parse_asset_ref(ref, "mjcf")


@pytest.mark.parametrize("ref", ["", None, 7, b"rd:x"])
def test_a_reference_that_is_not_text_is_refused(ref):
    with pytest.raises(ROSConfigError, match="must be a text"):
        parse_asset_ref(ref, "urdf")


def test_an_unknown_kind_is_refused_with_the_kinds():
    with pytest.raises(ROSConfigError, match="unknown asset kind: `usd`; kinds: urdf, mjcf, srdf"):
        parse_asset_ref("file:a.usd", "usd")


def test_a_manifest_with_good_references_is_accepted():
    refs = AssetRefs(urdf=UrdfAsset(ref="ros2://robot_description"), mjcf="menagerie:x", srdf="file:a.srdf")
    assert refs.urdf.ref == "ros2://robot_description"


def test_the_field_is_the_kind_and_every_wrong_reference_is_reported():
    with pytest.raises(ValidationError) as refusal:
        AssetRefs(urdf={"ref": "menagerie:x"}, mjcf="ros2://robot_description", srdf="openarm:x")
    text = str(refusal.value)
    assert "does not serve kind urdf" in text
    assert "does not serve kind mjcf" in text
    assert "does not serve kind srdf" in text


def test_a_urdf_written_as_text_is_refused_with_the_block_it_belongs_in():
    with pytest.raises(ValidationError, match=r"write `urdf: \{ref: rd:panda_description\}`"):
        AssetRefs(urdf="robot_descriptions:panda_description")
    with pytest.raises(ValidationError, match=r"write `urdf: \{ref: file:panda\.urdf\}`"):
        AssetRefs(urdf="panda.urdf")
    with pytest.raises(ValidationError, match=r"write `urdf: \{ref: file:<relpath>\}`"):
        AssetRefs(urdf="/opt/panda.urdf")
