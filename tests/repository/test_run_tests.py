# SPDX-License-Identifier: Apache-2.0
"""A test that fails once and passes alone is named; one that fails twice is a failure."""

import subprocess
import sys
from pathlib import Path

import pytest

TOOL = Path(__file__).parents[2] / "tools" / "run_tests.py"

FAILS_ONCE = """
from pathlib import Path

def test_of_a_busy_machine():
    seen = Path("seen")
    was_there = seen.exists()
    seen.touch()
    assert was_there
"""
ALWAYS_FAILS = """
def test_of_a_fault():
    assert False
"""
MANY_FAIL = """
import pytest
from pathlib import Path

@pytest.mark.parametrize("number", range(4))
def test_of_many(number):
    seen = Path(f"seen{number}")
    was_there = seen.exists()
    seen.touch()
    assert was_there
"""


@pytest.fixture
def run(tmp_path: Path):
    """Runs the tool on a file of tests; returns its exit code and what it printed."""

    def run_it(text: str) -> tuple[int, str]:
        (tmp_path / "test_it.py").write_text(text, encoding="utf-8")
        done = subprocess.run(
            [sys.executable, TOOL, "-q", "test_it.py"],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        return done.returncode, done.stdout

    return run_it


def test_test_that_fails_once_passes_and_is_named(run):
    code, printed = run(FAILS_ONCE)
    assert code == 0
    assert "== passed alone, failed beside others: test_it.py::test_of_a_busy_machine" in printed


def test_test_that_fails_twice_is_a_failure(run):
    code, printed = run(ALWAYS_FAILS)
    assert code == 1
    assert "again, alone: test_it.py::test_of_a_fault" in printed
    assert "passed alone" not in printed


def test_many_failures_are_not_run_again(run):
    code, printed = run(MANY_FAIL)
    assert code == 1
    assert "again, alone" not in printed


def test_file_that_cannot_be_collected_is_not_run_again(run):
    code, printed = run("import no_such_module_anywhere\n")
    assert code not in (0, 1)
    assert "again, alone" not in printed
