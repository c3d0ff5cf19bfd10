# SPDX-License-Identifier: Apache-2.0
"""One grammar for all kinds of file; what it does not serve is refused with what it does."""

import subprocess
import sys
from pathlib import Path

import pytest

from lastgate.contracts.exceptions import ROSConfigError
from lastgate.tools.assets import LiveDescription, resolve_asset

PANDA_REF = (
    "pkg:example-robot-data/cmeel.prefix/share/example-robot-data/robots/panda_description/urdf/panda.urdf"
)


def test_panda_urdf_of_an_installed_wheel_is_found():
    path = resolve_asset(PANDA_REF, "urdf")
    assert path.read_bytes().startswith(b"<?xml")
    assert path.name == "panda.urdf"


def test_manifest_folder_may_be_given_as_text(tmp_path: Path):
    (tmp_path / "arm.urdf").write_text("<robot/>")
    assert resolve_asset("file:arm.urdf", "urdf", str(tmp_path)) == (tmp_path / "arm.urdf").resolve()


@pytest.mark.parametrize(
    "ref", ["panda.urdf", "", "http://example.org/a.urdf", "rd", "package://a/b.urdf", "RD:panda_description"]
)
def test_unknown_scheme_is_refused_and_the_schemes_are_listed(ref: str, tmp_path: Path):
    with pytest.raises(ROSConfigError) as refusal:
        resolve_asset(ref, "urdf", tmp_path)
    for scheme in ("rd:<module>", "file:<relpath>", "pkg:<distribution>/<path>", "ros2://robot_description"):
        assert scheme in str(refusal.value)


@pytest.mark.parametrize(
    ("ref", "kind"),
    [
        ("gym_aloha:bimanual_viperx_transfer_cube", "urdf"),
        ("openarm:bimanual", "srdf"),
        ("menagerie:unitree_h1", "urdf"),
        ("ros2://robot_description", "mjcf"),
        ("ros2://robot_description", "srdf"),
    ],
)
def test_kind_the_scheme_does_not_serve_is_refused_before_anything_is_looked_up(ref: str, kind: str):
    with pytest.raises(ROSConfigError, match=f"does not serve kind {kind}"):
        resolve_asset(ref, kind)  # type: ignore[arg-type]


def test_unknown_kind_is_refused():
    with pytest.raises(ROSConfigError, match="unknown asset kind: `usd`"):
        resolve_asset(PANDA_REF, "usd")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("legacy", "modern"),
    [
        ("robot_descriptions:panda_description", "rd:panda_description"),
        ("python:robot_descriptions.panda_description:URDF_PATH", "rd:panda_description"),
    ],
)
def test_l19_legacy_spelling_is_refused_with_the_spelling_that_works(legacy: str, modern: str):
    with pytest.raises(ROSConfigError, match=f"`{modern}`"):
        resolve_asset(legacy, "urdf")


def test_l19_live_description_is_passed_through_as_its_own_text():
    live = resolve_asset("ros2://robot_description", "urdf")
    assert isinstance(live, LiveDescription)
    assert isinstance(live, Path)
    assert str(live) == "ros2://robot_description"


def test_live_description_opened_as_a_file_is_refused_with_a_sentence(tmp_path: Path, monkeypatch):
    # A file that has the name the reference would collapse to must not be taken for the robot.
    (tmp_path / "ros2:").mkdir()
    (tmp_path / "ros2:" / "robot_description").write_text("<robot/>")
    monkeypatch.chdir(tmp_path)
    live = resolve_asset("ros2://robot_description", "urdf")
    assert not live.exists()
    assert not live.is_file()
    with pytest.raises(ROSConfigError, match="is not a file"):
        live.read_text()
    with pytest.raises(ROSConfigError, match="is not a file"):
        open(live)  # noqa: SIM115


def test_resolver_imports_without_any_extra():
    blocked = (
        "lxml",
        "mujoco_menagerie",
        "robot_descriptions",
        "xacrodoc",
        "typer",
        "rich",
        "trimesh",
        "scipy",
    )
    program = (
        f"import sys; sys.modules.update(dict.fromkeys({blocked!r}))\n"
        "from lastgate.tools.assets import resolve_asset\n"
        f"print(resolve_asset({PANDA_REF!r}, 'urdf').name)"
    )
    finished = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (finished.stdout, finished.stderr) == ("panda.urdf\n", "")
