# SPDX-License-Identifier: Apache-2.0
"""A mesh name finds its file from the URDF upwards, and never a file it has no business with."""

from pathlib import Path

import pytest

from lastgate.contracts.exceptions import ROSConfigError
from lastgate.tools.assets import resolve_asset, resolve_mesh_uri
from lastgate.tools.assets.mesh_uri import parse_package_option
from lastgate.tools.assets.safe_xml import load_xml

ROBOTS = "pkg:example-robot-data/cmeel.prefix/share/example-robot-data/robots"


@pytest.fixture
def urdf(tmp_path: Path) -> Path:
    """workspace/arm_description/{urdf/arm.urdf, meshes/link.stl}, and secret.stl outside the workspace."""
    package = tmp_path / "workspace" / "arm_description"
    for path in (package / "urdf" / "arm.urdf", package / "meshes" / "link.stl", tmp_path / "secret.stl"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("content")
    return package / "urdf" / "arm.urdf"


@pytest.mark.parametrize(
    "uri",
    [
        "package://arm_description/meshes/link.stl",
        "package:///arm_description/meshes/link.stl",
        "../meshes/link.stl",
        "package://arm_description/urdf/../meshes/link.stl",
    ],
)
def test_mesh_of_the_own_package_is_found(uri: str, urdf: Path):
    assert resolve_mesh_uri(uri, urdf) == (urdf.parents[1] / "meshes" / "link.stl").resolve()


def test_absolute_file_name_inside_the_own_package_is_found(urdf: Path):
    mesh = urdf.parents[1] / "meshes" / "link.stl"
    assert resolve_mesh_uri(f"file://{mesh}", urdf) == mesh.resolve()
    assert resolve_mesh_uri(str(mesh), urdf) == mesh.resolve()


def test_mesh_of_a_package_beside_the_own_one_is_found(urdf: Path):
    mesh = urdf.parents[2] / "hand_description" / "finger.stl"
    mesh.parent.mkdir()
    mesh.write_text("content")
    assert resolve_mesh_uri("package://hand_description/finger.stl", urdf) == mesh.resolve()


def test_package_xml_names_a_folder_that_is_called_otherwise(urdf: Path):
    (urdf.parents[1] / "package.xml").write_text("<package><name>acme_arm</name></package>")
    assert resolve_mesh_uri("package://acme_arm/meshes/link.stl", urdf).name == "link.stl"
    with pytest.raises(ROSConfigError, match="no folder above the URDF is the package `acme_leg`"):
        resolve_mesh_uri("package://acme_leg/meshes/link.stl", urdf)


def test_named_package_folder_wins(urdf: Path, tmp_path: Path):
    mesh = tmp_path / "elsewhere" / "meshes" / "link.stl"
    mesh.parent.mkdir(parents=True)
    mesh.write_text("other")
    packages = dict([parse_package_option(f"arm_description={tmp_path / 'elsewhere'}")])
    assert resolve_mesh_uri("package://arm_description/meshes/link.stl", urdf, packages) == mesh.resolve()


def test_named_package_folder_without_the_mesh_is_refused_not_replaced(urdf: Path, tmp_path: Path):
    (tmp_path / "empty").mkdir()
    with pytest.raises(ROSConfigError, match="mesh not found"):
        resolve_mesh_uri(
            "package://arm_description/meshes/link.stl", urdf, {"arm_description": tmp_path / "empty"}
        )


def test_unknown_package_is_refused_with_the_option_that_helps(urdf: Path):
    with pytest.raises(ROSConfigError, match=r"hint: put the folder of the package.*/acme`") as refusal:
        resolve_mesh_uri("package://acme/link.stl", urdf)
    assert str(urdf) in str(refusal.value)


@pytest.mark.parametrize(
    "uri",
    ["package://arm_description/../../secret.stl", "package://arm_description/meshes/../../../secret.stl"],
)
def test_dots_out_of_the_package_are_refused(uri: str, urdf: Path):
    with pytest.raises(ROSConfigError, match="leads out of the package folder"):
        resolve_mesh_uri(uri, urdf)


def test_link_out_of_the_package_is_refused(urdf: Path, tmp_path: Path):
    (urdf.parents[1] / "meshes" / "linked.stl").symlink_to(tmp_path / "secret.stl")
    with pytest.raises(ROSConfigError, match="leads out of the package folder"):
        resolve_mesh_uri("package://arm_description/meshes/linked.stl", urdf)


@pytest.mark.parametrize("uri", ["../../../secret.stl", "file:///etc/passwd", "/etc/passwd"])
def test_mesh_outside_the_description_is_refused(uri: str, urdf: Path):
    with pytest.raises(ROSConfigError, match="lies outside the folder of its description"):
        resolve_mesh_uri(uri, urdf)


def test_mesh_outside_is_served_once_its_folder_is_named(urdf: Path, tmp_path: Path):
    packages = {"meshes": tmp_path}
    assert (
        resolve_mesh_uri(f"file://{tmp_path}/secret.stl", urdf, packages)
        == (tmp_path / "secret.stl").resolve()
    )


def test_missing_mesh_is_refused_with_the_closest_file(urdf: Path):
    with pytest.raises(
        ROSConfigError, match=r"mesh not found: `\.\./meshes/Link\.STL`\n\nhint: .* holds `link\.stl`"
    ):
        resolve_mesh_uri("../meshes/Link.STL", urdf)


@pytest.mark.parametrize("uri", ["model://arm/link.stl", "https://example.org/link.stl", "pkg://a/b"])
def test_other_scheme_is_refused_with_those_that_are_served(uri: str, urdf: Path):
    with pytest.raises(ROSConfigError, match=r"is not served\n\nhint: use `package://"):
        resolve_mesh_uri(uri, urdf)


@pytest.mark.parametrize(
    "uri", ["", " ", "package://", "package:///", "package://arm_description", "package://../x", "a\0b"]
)
def test_name_without_a_file_is_refused(uri: str, urdf: Path):
    with pytest.raises(ROSConfigError, match="mesh"):
        resolve_mesh_uri(uri, urdf)


def test_package_option_is_read(tmp_path: Path):
    assert parse_package_option(f"acme={tmp_path}") == ("acme", tmp_path.resolve())


@pytest.mark.parametrize("text", ["acme", "=x", "acme=", "a/b=.", "acme=/no/such/folder"])
def test_unusable_package_option_is_refused(text: str):
    with pytest.raises(ROSConfigError, match="--package"):
        parse_package_option(text)


@pytest.mark.parametrize(
    ("path", "count"),
    [
        ("panda_description/urdf/panda.urdf", 20),
        ("talos_data/robots/talos_full_v2.urdf", 95),
        ("so_arm_description/urdf/so101.urdf", 34),
    ],
)
def test_every_mesh_of_a_real_robot_is_found(path: str, count: int):
    urdf_path = resolve_asset(f"{ROBOTS}/{path}", "urdf")
    meshes = [mesh.get("filename", "") for mesh in load_xml(urdf_path).iter("mesh")]
    assert len(meshes) == count
    assert all(resolve_mesh_uri(uri, urdf_path).is_file() for uri in meshes)
