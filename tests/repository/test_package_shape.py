# SPDX-License-Identifier: Apache-2.0
"""The top of the package stays small, and modules that moved are still found under their old paths."""

import subprocess
import sys
from pathlib import Path

import pytest

from lastgate.contracts.renamed_modules import CONTRACT_PATHS, MOVED_MODULES, path_of_today

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "lastgate"
ENTRIES_MAX = 12

CONTRACT_IMPORTS = """
from lastgate.approach import (OccupancyGridIndex, compute_approach_viewpoint, compute_gaze_pose, line_of_sight,
                               look_at_quat, refine_approach_pose)
from lastgate.assets import resolve_asset
from lastgate.collision import (AllowedCollisionMatrix, CCDConfig, CollisionEnvironment, ContinuousCollisionDetector,
                                RobotSphereModel, SphereGenConfig, TwoTierCollisionChecker)
import lastgate.planning.collision
import lastgate.tools.assets.resolver
assert CollisionEnvironment is lastgate.planning.collision.CollisionEnvironment
assert lastgate.collision is lastgate.planning.collision
assert resolve_asset is lastgate.tools.assets.resolver.resolve_asset
"""

OLD_IMPORTS = """
import importlib, sys, warnings
import lastgate
for old, new in {moved!r}.items():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = importlib.import_module(old)
    assert found is importlib.import_module(new), old
    said = [str(one.message) for one in caught if one.category is DeprecationWarning]
    assert f"write {{new}} instead of {{old}}" in said, (old, said)
    assert found.__spec__.name == new, found.__spec__
"""


def folders_with_files(root: Path, pattern: str) -> set[str]:
    return {path.parent.relative_to(root).as_posix() for path in root.rglob(pattern)}


def test_unit_tests_mirror_the_package():
    tests = folders_with_files(ROOT / "tests" / "unit", "test_*.py")
    assert len(tests) >= 15
    assert tests <= folders_with_files(PACKAGE, "*.py")


def run_python(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, check=False, timeout=120
    )


def test_top_of_the_package_has_few_entries():
    entries = sorted(path.name for path in PACKAGE.iterdir() if path.name != "__pycache__")
    assert len(entries) <= ENTRIES_MAX, entries


# The client asks for one status; the driver has the path from a verdict to the motors to itself.
RING_READERS = {"kernel/ring_follower.py", "kernel/client.py", "integrations/driver.py"}


def test_ring_buffers_are_followed_in_one_place():
    found = {
        path.relative_to(PACKAGE).as_posix()
        for path in PACKAGE.rglob("*.py")
        if "RingReader(" in path.read_text(encoding="utf-8")
    }
    assert found == RING_READERS


def test_import_paths_of_the_contract_give_the_same_objects_and_no_warning():
    done = run_python("-W", "error", "-c", CONTRACT_IMPORTS)
    assert done.returncode == 0, done.stderr


def test_old_import_paths_give_the_same_modules_and_a_warning():
    # Parents first, so that every warning is that of its own line.
    done = run_python("-c", OLD_IMPORTS.format(moved=dict(sorted(MOVED_MODULES.items()))))
    assert done.returncode == 0, done.stderr


def test_module_below_an_old_path_is_not_loaded_twice():
    program = (
        "from lastgate.collision.environment import CollisionEnvironment as old\n"
        "from lastgate.planning.collision.environment import CollisionEnvironment as new\n"
        "assert old is new"
    )
    assert run_python("-W", "error", "-c", program).returncode == 0


def test_program_is_started_under_its_old_path():
    done = run_python("-m", "lastgate.cli", "--version")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("path", ["lastgate.collision.nothing", "lastgate.cli.nothing", "lastgate.nothing"])
def test_module_that_never_was_is_not_found(path):
    done = run_python("-c", f"import {path}")
    assert done.returncode == 1
    assert f"No module named '{path}'" in done.stderr


@pytest.mark.parametrize("path", ["lastgate", "lastgate.gate", "lastgate.collisions", "numpy", "cli"])
def test_other_paths_are_left_alone(path):
    assert path_of_today(path) is None


def test_every_path_that_moved_is_on_the_page():
    page = (ROOT / "docs" / "reference" / "names.md").read_text(encoding="utf-8")
    missing = [
        old
        for old, new in {**MOVED_MODULES, **CONTRACT_PATHS}.items()
        if f"| `{old}` | `{new}` |" not in page
    ]
    assert missing == []
