# SPDX-License-Identifier: Apache-2.0
"""A first run stays small: robots' files beyond one wheel come with `make test-library`, which CI runs whole."""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def distributions(extra: str) -> set[str]:
    listed = subprocess.run(
        [sys.executable, ROOT / "tools" / "requirements.py", extra],
        check=True,
        capture_output=True,
        text=True,
    )
    return {
        re.split(r"[<>=!~;\[ ]", line, maxsplit=1)[0] for line in listed.stdout.split("\n") if line.strip()
    }


def test_make_test_needs_no_robot_package_beyond_one() -> None:
    library = distributions("fleet-data")
    assert {"robosuite", "gym-aloha", "openarm-mujoco"} <= library
    assert "example-robot-data" in distributions("dev")
    assert distributions("dev") & library == set()


def test_ci_runs_the_library_whole() -> None:
    lines = (ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines()
    assert "make test-library" in lines
