# SPDX-License-Identifier: Apache-2.0
"""Writes docs/requirements.md: each requirement behind a code in a test name, with the tests that carry it.

The sentences stand in docs/requirements.toml; the tests are found by their names. `--check` writes nothing.
"""

import argparse
import ast
import re
import runpy
import sys
import tomllib
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "docs" / "requirements.toml"
PAGE = ROOT / "docs" / "requirements.md"
PLANNING = ROOT / "tests" / "conformance" / "test_planning_case_index.py"
CODES = re.compile(r"test_((?:[a-z]\d\d_)+)")
CODE = re.compile(r"[a-z]\d\d")
HEAD = """# Requirements

A letter with a number in a test name (`x20`, `k04`) is a requirement of this list; the tests that carry it stand beside
it. The sentences stand in `docs/requirements.toml`; `make generate` writes this page and finds the tests.
"""


def sentences() -> dict[str, tuple[str, dict[str, str]]]:
    """Returns title and requirements of every letter."""
    read = tomllib.loads(SOURCE.read_text(encoding="utf-8"))
    return {
        letter: (table["title"], {code: text for code, text in table.items() if code != "title"})
        for letter, table in read.items()
        if letter != "elsewhere"
    }


def elsewhere() -> dict[str, str]:
    """Returns where a requirement is held, or why it is not, for those that no test name carries."""
    return tomllib.loads(SOURCE.read_text(encoding="utf-8"))["elsewhere"]


def test_functions() -> dict[str, list[str]]:
    """Returns the names of the test functions of every test file, by its path."""
    return {
        str(path.relative_to(ROOT)): [
            node.name
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
        ]
        for path in sorted((ROOT / "tests").rglob("test_*.py"))
    }


def tests_by_code() -> dict[str, list[tuple[str, str]]]:
    """Returns file and name of every test that carries a code."""
    found: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for file, names in test_functions().items():
        for name in names:
            if carried := CODES.match(name):
                for code in CODE.findall(carried[1]):
                    found[code].append((file, name))
    return found


def planning_cases() -> tuple[dict[int, tuple[str, str]], dict[int, str]]:
    """Returns the numbered cases about planning: the test of each, or why it has none."""
    scope = runpy.run_path(str(PLANNING))
    return scope["CASES"], scope["NO_COUNTERPART"]


def _cell(tests: list[tuple[str, str]], reason: str) -> str:
    return "<br>".join(f"`{file}::{name}`" for file, name in tests) or reason


def page() -> str:
    """Returns the text of the page."""
    tests, other = tests_by_code(), elsewhere()
    lines = [HEAD]
    for title, table in sentences().values():
        lines += [f"## {title}\n", "| code | requirement | tests |", "| --- | --- | --- |"]
        lines += [
            f"| `{code}` | {text} | {_cell(tests.get(code, []), other.get(code, ''))} |"
            for code, text in table.items()
        ]
        lines.append("")
    cases, absent = planning_cases()
    lines += [
        "## Planning queries\n",
        "The numbers behind `case_`: answers that planners ask for. The test is the sentence.\n",
        "| case | tests |",
        "| --- | --- |",
    ]
    for number in sorted({*cases, *absent}):
        held = f"`tests/{cases[number][0]}::{cases[number][1]}`" if number in cases else absent[number]
        lines.append(f"| `case_{number:02}` | {held} |")
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--check", action="store_true", help="compare, write nothing, exit 1 if the page is old"
    )
    if parser.parse_args().check:
        if PAGE.read_text(encoding="utf-8") == page():
            return 0
        print("docs/requirements.md is old: run `make generate`", file=sys.stderr)
        return 1
    PAGE.write_text(page(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
