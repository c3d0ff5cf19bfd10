# SPDX-License-Identifier: Apache-2.0
"""`collision check --all`: a whole fleet in one run, and no file that is missing passes for a success."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from lastgate.cli.app import run

URDF = Path(__file__).parents[2] / "robots" / "planar_two_link.urdf"
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
def fleet(tmp_path: Path, lowered: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A fleet of one lowered and one hand-written robot."""
    shutil.copytree(lowered, tmp_path / "fleet" / "arm")
    (tmp_path / "fleet" / "by_hand").mkdir()
    (tmp_path / "fleet" / "by_hand" / "robot.yaml").write_text(BY_HAND)
    monkeypatch.setattr("lastgate.robots.FLEET_DIR", tmp_path / "fleet")
    return tmp_path / "fleet"


def with_assets(fleet: Path, name: str, assets: str) -> None:
    (fleet / name).mkdir()
    text = BY_HAND.replace("by_hand", name) + f"assets: {assets}\n"
    (fleet / name / "robot.yaml").write_text(text)


Invoke = Callable[..., tuple[int, str, str]]


@pytest.fixture
def check_all(fleet: Path, capsys: pytest.CaptureFixture[str]) -> Invoke:
    def invoke(*arguments: str) -> tuple[int, str, str]:
        capsys.readouterr()
        code = run(["collision", "check", "--all", *arguments])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return invoke


def test_fleet_whose_files_are_all_there_and_that_did_not_drift_is_0(check_all: Invoke) -> None:
    code, _, messages = check_all()
    assert code == 0, messages
    assert "same: 1 (arm)" in messages
    assert "by hand: 1 (by_hand)" in messages


def test_every_missing_file_is_named_and_the_rest_still_compared(fleet: Path, check_all: Invoke) -> None:
    with_assets(
        fleet,
        "parts",
        '{mjcf: "pkg:no-such-base/base.xml", mjcf_mounts: '
        '[{ref: "pkg:no-such-arm/arm.xml", on_body: deck, prefix: a_}]}',
    )
    with_assets(fleet, "two", '{urdf: {ref: "pkg:no-such-urdf/a.urdf"}, srdf: "pkg:no-such-srdf/a.srdf"}')
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


def test_missing_file_outweighs_drift(fleet: Path, check_all: Invoke) -> None:
    with_assets(fleet, "gone", '{mjcf: "pkg:no-such-wheel/a.xml"}')
    drift(fleet)
    assert check_all()[0] == 2


def test_drift_in_one_robot_is_1(fleet: Path, check_all: Invoke) -> None:
    drift(fleet)
    code, printed, messages = check_all()
    assert code == 1
    assert "+  - {link_a: base, link_b: upper, reason: adjacent}" in printed
    assert "drift: 1 (arm)" in messages


def test_fleet_with_nothing_to_compare_is_2(fleet: Path, check_all: Invoke) -> None:
    shutil.rmtree(fleet / "arm")
    code, _, messages = check_all()
    assert code == 2
    assert "nothing was checked" in messages


def test_manifest_that_is_broken_is_2(fleet: Path, check_all: Invoke) -> None:
    (fleet / "by_hand" / "robot.yaml").write_text("name: [")
    code, _, messages = check_all()
    assert code == 2
    assert "by_hand" in messages
    assert "unresolved: 1 (by_hand)" in messages


def drift(fleet: Path) -> None:
    manifest = fleet / "arm" / "robot.yaml"
    lines = manifest.read_text().splitlines(keepends=True)
    kept = [line for line in lines if "link_b: upper" not in line]
    assert kept != lines
    manifest.write_text("".join(kept))
