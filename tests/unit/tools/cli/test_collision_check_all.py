# SPDX-License-Identifier: Apache-2.0
"""`collision check --all`: a whole robot library in one run, and no file that is missing passes for a success."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from lastgate.tools.cli.app import run

URDF = Path(__file__).parents[3] / "fixtures" / "robots" / "planar_two_link.urdf"
BY_HAND = """
name: by_hand
base_frame: base
joints:
  - {name: turn, joint_type: revolute, parent_link: base, child_link: arm, position_limits: [-1, 1], velocity_limit: 1}
collision_geometry:
  - {link_name: arm, shape: {shape: sphere, radius_m: 0.1}}
"""


@pytest.fixture(scope="module")
def lowered(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with one robot that lowers to what it says."""
    folder = tmp_path_factory.mktemp("lowered")
    (folder / "arm.urdf").write_bytes(URDF.read_bytes())
    assert run(["robot", "add", "arm", "--urdf", "file:arm.urdf", "-o", str(folder), "--samples", "100"]) == 0
    return folder


@pytest.fixture
def library(tmp_path: Path, lowered: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A robot library of one lowered and one hand-written robot."""
    shutil.copytree(lowered, tmp_path / "library" / "arm")
    (tmp_path / "library" / "by_hand").mkdir()
    (tmp_path / "library" / "by_hand" / "robot.yaml").write_text(BY_HAND)
    monkeypatch.setattr("lastgate.robots.LIBRARY_DIR", tmp_path / "library")
    return tmp_path / "library"


def with_assets(library: Path, name: str, assets: str) -> None:
    (library / name).mkdir()
    text = BY_HAND.replace("by_hand", name) + f"assets: {assets}\n"
    (library / name / "robot.yaml").write_text(text)


Invoke = Callable[..., tuple[int, str, str]]


@pytest.fixture
def check_all(library: Path, capsys: pytest.CaptureFixture[str]) -> Invoke:
    def invoke(*arguments: str) -> tuple[int, str, str]:
        capsys.readouterr()
        code = run(["collision", "check", "--all", *arguments])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return invoke


def test_library_whose_files_are_all_there_and_that_did_not_drift_is_0(check_all: Invoke) -> None:
    code, _, messages = check_all()
    assert code == 0, messages
    assert "same: 1 (arm)" in messages
    assert "by hand: 1 (by_hand)" in messages


def test_every_missing_file_is_named_and_the_rest_still_compared(library: Path, check_all: Invoke) -> None:
    with_assets(
        library,
        "parts",
        '{mjcf: "pkg:no-such-base/base.xml", mjcf_mounts: '
        '[{ref: "pkg:no-such-arm/arm.xml", on_body: deck, prefix: a_}]}',
    )
    with_assets(library, "two", '{urdf: {ref: "pkg:no-such-urdf/a.urdf"}, srdf: "pkg:no-such-srdf/a.srdf"}')
    code, printed, messages = check_all("--json")
    assert code == 2
    for distribution in ("no-such-base", "no-such-arm", "no-such-urdf", "no-such-srdf"):
        assert f"needs the distribution {distribution}, which is not installed" in messages
    assert {Path(path).parent.name: word for path, word in json.loads(printed)["robots"].items()} == {
        "arm": "same",
        "by_hand": "by hand",
        "parts": "unresolved",
        "two": "unresolved",
    }


def test_robot_that_says_it_is_drawn_by_hand_holds_nothing_up_and_is_listed(
    library: Path, check_all: Invoke
) -> None:
    with_assets(library, "drawn", '{mjcf: "pkg:no-such-wheel/a.xml"}')
    manifest = library / "drawn" / "robot.yaml"
    assert check_all()[0] == 2
    manifest.write_text(manifest.read_text() + "unproved_volumes: drawn by hand\n")
    code, _, messages = check_all()
    assert code == 0, messages
    assert "hand-drawn: 1 (drawn)" in messages


def test_missing_file_outweighs_drift(library: Path, check_all: Invoke) -> None:
    with_assets(library, "gone", '{mjcf: "pkg:no-such-wheel/a.xml"}')
    drift(library)
    assert check_all()[0] == 2


def test_drift_in_one_robot_is_1(library: Path, check_all: Invoke) -> None:
    drift(library)
    code, printed, messages = check_all()
    assert code == 1
    assert "+  - {link_a: base, link_b: upper, reason: adjacent}" in printed
    assert "drift: 1 (arm)" in messages


def test_library_with_nothing_to_compare_is_2(library: Path, check_all: Invoke) -> None:
    shutil.rmtree(library / "arm")
    code, _, messages = check_all()
    assert code == 2
    assert "nothing was checked" in messages


def test_manifest_that_is_broken_is_2(library: Path, check_all: Invoke) -> None:
    (library / "by_hand" / "robot.yaml").write_text("name: [")
    code, _, messages = check_all()
    assert code == 2
    assert "by_hand" in messages
    assert "unresolved: 1 (by_hand)" in messages


def drift(library: Path) -> None:
    manifest = library / "arm" / "robot.yaml"
    lines = manifest.read_text().splitlines(keepends=True)
    kept = [line for line in lines if "link_b: upper" not in line]
    assert kept != lines
    manifest.write_text("".join(kept))
