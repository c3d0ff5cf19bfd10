# SPDX-License-Identifier: Apache-2.0
"""One table of violations, from which C++, Python and the reference page are written."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import generate_violations  # noqa: E402

TEXT = generate_violations.TABLE.read_text(encoding="utf-8")
ENTRY = """
[[violation]]
code = "jerk_limit"
number = 26
stages = [8]
kind = "WORKSPACE"
what_it_checks = "a"
why_it_matters = "b"
known_limits = "c"
example = "d"
what_to_do = "e"
"""


def test_files_that_are_written_from_the_table_are_current():
    script = ROOT / "tools" / "generate_violations.py"
    done = subprocess.run([sys.executable, script, "--check"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_one_entry_is_all_that_a_new_code_needs():
    entries = generate_violations.read_table(TEXT + ENTRY)
    assert "    jerk_limit = 26,\n" in generate_violations.enumeration(entries)
    assert ".code = ViolationCode::jerk_limit" in generate_violations.kernel_table(entries)
    assert '    jerk_limit = "jerk_limit", 26\n' in generate_violations.members(entries)
    assert "ViolationCode.jerk_limit" in generate_violations.python_texts(entries)
    assert "## jerk_limit" in generate_violations.page(entries)


@pytest.mark.parametrize(
    ("before", "after", "why"),
    [
        ("number = 26", "number = 54", "number `54` is used twice"),
        ("jerk_limit", "keep_in_zone", "code `keep_in_zone` is used twice"),
        ("jerk_limit", "SeamJump", "lower-case words"),
        ('example = "d"\n', "", "`example` is missing"),
        ('example = "d"', 'example = "d"\nadvise = "x"', "`advise` is no key"),
        ("WORKSPACE", "SEAM", "kind `SEAM` is none of"),
    ],
)
def test_entry_that_cannot_be_used_is_refused(before, after, why):
    with pytest.raises(SystemExit, match=why):
        generate_violations.read_table(TEXT + ENTRY.replace(before, after))
