# SPDX-License-Identifier: Apache-2.0
"""`pkg:` serves what a distribution itself shipped, wherever the wheel put it."""

import sysconfig
from pathlib import Path

import pytest

from lastgate.contracts.exceptions import ROSConfigError
from lastgate.tools.assets import resolve_asset
from lastgate.tools.assets.pkg_scheme import reference_to

ROBOTS = "pkg:example-robot-data/cmeel.prefix/share/example-robot-data/robots"


@pytest.fixture
def installed_wheel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A distribution with a file in site-packages, one in the data folder, and one that is not its own."""
    data = tmp_path / "environment"
    site = data / "lib" / "site-packages"
    for path in (
        site / "tiny_robot" / "arm.urdf",
        data / "share" / "tiny" / "arm.xml",
        site / "other" / "a.urdf",
    ):
        path.parent.mkdir(parents=True)
        path.write_text("<robot/>")
    (data.parent / "outside.urdf").write_text("<robot/>")
    metadata = site / "tiny_robot-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: tiny-robot\nVersion: 1.0\n")
    (metadata / "RECORD").write_text(
        "tiny_robot/arm.urdf,,\ntiny_robot/gone.urdf,,\n../../share/tiny/arm.xml,,\n../../../outside.urdf,,\n"
    )
    monkeypatch.syspath_prepend(str(site))
    real = sysconfig.get_path
    monkeypatch.setattr(
        sysconfig, "get_path", lambda name, *rest: str(data) if name == "data" else real(name, *rest)
    )
    return site


@pytest.mark.parametrize(
    ("ref", "kind"),
    [
        (f"{ROBOTS}/panda_description/urdf/panda.urdf", "urdf"),
        (f"{ROBOTS}/panda_description/srdf/panda.srdf", "srdf"),
        (
            f"{ROBOTS.replace('-robot-', '_Robot.')}/panda_description/urdf/panda.urdf".replace(
                "share/example_Robot.", "share/example-robot-"
            ),
            "urdf",
        ),
    ],
)
def test_file_of_a_real_wheel_is_found(ref: str, kind):
    assert resolve_asset(ref, kind).is_file()


def test_file_in_site_packages_is_found(installed_wheel: Path):
    expected = installed_wheel / "tiny_robot" / "arm.urdf"
    assert resolve_asset("pkg:tiny-robot/tiny_robot/arm.urdf", "urdf") == expected


def test_file_in_the_data_folder_is_found(installed_wheel: Path):
    assert resolve_asset("pkg:tiny-robot/share/tiny/arm.xml", "mjcf").read_text() == "<robot/>"


@pytest.mark.parametrize(
    ("file", "ref"),
    [
        ("lib/site-packages/tiny_robot/arm.urdf", "pkg:tiny-robot/tiny_robot/arm.urdf"),
        ("share/tiny/arm.xml", "pkg:tiny-robot/share/tiny/arm.xml"),
        ("lib/site-packages/other/a.urdf", None),
        ("../outside.urdf", None),
    ],
)
def test_installed_file_is_told_by_its_reference(installed_wheel: Path, file: str, ref: str | None):
    found = (installed_wheel.parents[1] / file).resolve()
    assert found.is_file()
    assert reference_to(found) == ref
    assert ref is None or resolve_asset(ref, "urdf" if ref.endswith("urdf") else "mjcf") == found


def test_file_of_another_distribution_is_refused(installed_wheel: Path):
    assert (installed_wheel / "other" / "a.urdf").is_file()
    with pytest.raises(ROSConfigError, match=r"tiny-robot 1\.0 ships no such file"):
        resolve_asset("pkg:tiny-robot/other/a.urdf", "urdf")


@pytest.mark.parametrize(
    "path", ["../outside.urdf", "tiny_robot/../../../outside.urdf", "/etc/passwd", "../../../outside.urdf"]
)
def test_path_out_of_the_distribution_is_refused(path: str, installed_wheel: Path):
    with pytest.raises(ROSConfigError, match=r"inside the installed distribution|relative"):
        resolve_asset(f"pkg:tiny-robot/{path}", "urdf")


def test_recorded_file_outside_site_packages_and_data_is_not_served(installed_wheel: Path):
    with pytest.raises(ROSConfigError, match="ships no such file"):
        resolve_asset("pkg:tiny-robot/outside.urdf", "urdf")


def test_missing_distribution_is_refused_with_the_pip_command():
    with pytest.raises(ROSConfigError, match="hint: pip install --no-deps no-such-robot-data"):
        resolve_asset("pkg:no-such-robot-data/arm.urdf", "urdf")


def test_wrong_path_names_the_right_one_first():
    with pytest.raises(ROSConfigError) as refusal:
        resolve_asset("pkg:example-robot-data/robots/panda_description/urdf/panda.urdf", "urdf")
    closest = str(refusal.value).partition("closest: ")[2]
    assert closest.startswith(f"`{ROBOTS.partition('/')[2]}/panda_description/urdf/panda.urdf`")


def test_recorded_file_that_is_gone_is_refused(installed_wheel: Path):
    # Python 3.12 leaves a recorded file that is gone out of the list; both ways name the reference.
    with pytest.raises(
        ROSConfigError, match=r"gone\.urdf`(: .* ships no such file| was installed and is gone)"
    ):
        resolve_asset("pkg:tiny-robot/tiny_robot/gone.urdf", "urdf")


def test_distribution_without_a_list_of_files_is_refused(installed_wheel: Path):
    (installed_wheel / "tiny_robot-1.0.dist-info" / "RECORD").unlink()
    with pytest.raises(ROSConfigError, match="has no list of its files"):
        resolve_asset("pkg:tiny-robot/tiny_robot/arm.urdf", "urdf")


@pytest.mark.library
@pytest.mark.parametrize(
    ("ref", "kind"),
    [
        ("pkg:airo-models/airo_models/arms/ur5e/ur5e.urdf", "urdf"),
        ("pkg:openarm-mujoco/share/openarm_mujoco/v2/openarm_bimanual.xml", "mjcf"),
        ("pkg:gym-aloha/gym_aloha/assets/bimanual_viperx_transfer_cube.xml", "mjcf"),
    ],
)
def test_file_of_a_library_wheel_is_found(ref: str, kind):
    assert resolve_asset(ref, kind).is_file()
