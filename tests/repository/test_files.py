# SPDX-License-Identifier: Apache-2.0
"""Rules about the files themselves that a person would forget to check."""

import ast
import importlib.util
import json
import os
import re
import subprocess
import sys
import tomllib
from collections import Counter
from pathlib import Path
from types import ModuleType

import pytest

import lastgate

ROOT = Path(__file__).parents[2]
SOURCE_ENDINGS = {".py", ".cpp", ".hpp", ".h", ".pyi"}
FUNCTION_LINES_MAX = 70


def tracked_files() -> list[Path]:
    """Returns every tracked file; outside a checkout, everything that is not built."""
    listed = subprocess.run(
        ["git", "-C", str(ROOT), "ls-files", "-z"], capture_output=True, text=True, check=False
    )
    if listed.returncode == 0:
        return [ROOT / name for name in listed.stdout.split("\0") if name and (ROOT / name).is_file()]
    hidden = {".venv", "build", ".git", "reports"}
    return [
        path for path in ROOT.rglob("*") if path.is_file() and not hidden & set(path.relative_to(ROOT).parts)
    ]


def text_of(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        return None


def load_tool(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"tool_{name}", ROOT / "tools" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_every_source_file_names_its_licence():
    bare = []
    for path in tracked_files():
        if path.suffix in SOURCE_ENDINGS and path.stat().st_size > 0:
            head = "".join((text_of(path) or "").splitlines(keepends=True)[:3])
            if "SPDX-License-Identifier: Apache-2.0" not in head:
                bare.append(str(path.relative_to(ROOT)))
    assert bare == []


def test_nothing_is_left_to_be_fixed():
    mark = "FIX" + "ME"
    found = [str(path.relative_to(ROOT)) for path in tracked_files() if mark in (text_of(path) or "")]
    assert found == []


def test_no_file_speaks_of_one_machine():
    # Home folders, worktrees and package mirrors say something about a person, never about the project.
    private = re.compile(
        r"/(?:home|Users|root)/\w+|(?<![\w.])/work/|\bindex-url\b|https?://[\w.-]*(?:mirror|nexus|artifactory)[\w.-]*"
    )
    offenders = []
    for path in tracked_files():
        if path == Path(__file__):
            continue
        for number, line in enumerate((text_of(path) or "").splitlines(), start=1):
            if private.search(line):
                offenders.append(f"{path.relative_to(ROOT)}:{number}: {line.strip()[:100]}")
    assert offenders == []


def test_decisions_have_numbers_of_their_own():
    numbers = [path.name[:4] for path in (ROOT / "docs" / "decisions").glob("*.md")]
    assert all(number.isdigit() for number in numbers)
    assert [number for number, count in Counter(numbers).items() if count > 1] == []


def test_version_is_the_same_everywhere():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["version"] == lastgate.__version__
    assert load_tool("release_version").problems(None, changelog="") == []


def test_release_needs_its_tag_and_its_changelog_to_name_the_version():
    problems = load_tool("release_version").problems
    version = lastgate.__version__
    assert problems(f"v{version}", changelog=f"# Changelog\n\n## {version} (2026-01-01)\n") == []
    assert problems(f"v{version}", changelog="# Changelog\n\n## Unreleased\n") != []
    assert problems("v0.0.0", changelog=f"## {version} (2026-01-01)\n") == [
        f"the tag is v0.0.0, pyproject.toml says {version}"
    ]


# What may hold braces and parentheses that mean nothing: comments, strings, characters, preprocessor lines.
_SILENT = re.compile(
    r"""//[^\n]*|/\*.*?\*/|R"\(.*?\)"|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])+'|^[ \t]*\#(?:[^\n]*\\\n)*[^\n]*""",
    re.DOTALL | re.MULTILINE,
)
# Of what stands before a brace: no function, whatever parentheses there are. A `struct` may be a return type.
_NO_FUNCTION = re.compile(
    r"\s*(?:extern|namespace|enum|union|(?:template\s*<[^;{]*>\s*)?(?:class|struct)\b(?!(?:(?!alignas)[\s\S])*\)))"
)


def _closing_brace(text: str, opening: int) -> int:
    depth = 0
    for at in range(opening, len(text)):
        depth += {"{": 1, "}": -1}.get(text[at], 0)
        if depth == 0:
            return at
    return len(text) - 1


def function_lengths(text: str) -> list[tuple[int, int]]:
    """Returns first line and length of every C++ function, from the first line of its signature to the closing brace.

    A brace with a parenthesis somewhere between it and the end of the statement before it opens a function.
    """
    text = _SILENT.sub(lambda silent: re.sub(r"[^\n]", " ", silent[0]), text)
    found = []
    head = at = open_parentheses = 0
    while at < len(text):
        character = text[at]
        open_parentheses += {"(": 1, ")": -1}.get(character, 0)
        before = text[head:at] if character == "{" else ""
        if character in ";}" and open_parentheses == 0:
            head = at + 1
        elif character == "{" and (
            open_parentheses or re.search(r"[\w>]$|=\s*$", before)
        ):  # an initialiser, `a_{1}` or `= {`
            at = _closing_brace(text, at)
        elif character == "{" and ")" in before and not _NO_FUNCTION.match(before):
            first = head + len(before) - len(before.lstrip())
            at = _closing_brace(text, at)
            found.append((text.count("\n", 0, first) + 1, text.count("\n", first, at) + 1))
            head = at + 1
        elif character == "{":
            head = at + 1
        at += 1
    return found


def python_function_lengths(text: str) -> list[tuple[int, int]]:
    """Returns first line and length of every Python function, signature and docstring included."""
    return [
        (node.lineno, (node.end_lineno or node.lineno) - node.lineno + 1)
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]


def test_no_native_function_is_longer_than_a_page():
    sources = [
        path
        for folder in ("core", "kernel", "gateway", "fitting")
        for path in (ROOT / folder).rglob("*")
        if path.suffix in {".cpp", ".hpp"}
    ]
    long = [
        f"{path.relative_to(ROOT)}:{first}: {length} lines"
        for path in sources
        for first, length in function_lengths(path.read_text())
        if length > FUNCTION_LINES_MAX
    ]
    assert long == []


def test_no_python_function_is_longer_than_a_page():
    long = [
        f"{path.relative_to(ROOT)}:{first}: {length} lines"
        for path in (ROOT / "src").rglob("*.py")
        for first, length in python_function_lengths(path.read_text(encoding="utf-8"))
        if length > FUNCTION_LINES_MAX
    ]
    assert long == []


def test_function_that_is_too_long_is_seen():
    text = "void check() noexcept {\n" + "    step();\n" * 80 + "}\n"
    assert function_lengths(text) == [(1, 82)]
    assert python_function_lengths("def check(\n    a,\n):\n" + "    step()\n" * 80) == [(1, 83)]


@pytest.mark.parametrize(
    "signature",
    [
        "Verdict check(const Chunk& chunk,\n              double now_s) noexcept {",
        "Gate::Gate(const Model& model)\n    : model_(model), count_{0} {",
        "template <typename T>\nstruct Pair make(T a,\n                 T b) {",
        "auto Gate::path() const\n    -> std::span<const double> {",
    ],
)
def test_function_with_a_wrapped_signature_is_measured(signature):
    text = "namespace a {\nint zero = 0;\n\n" + signature + "\n" + "    step({1}, '{');\n" * 80 + "}\n}\n"
    assert function_lengths(text) == [(4, 82 + signature.count("\n"))]


def test_member_function_is_measured_apart_from_its_class():
    text = "class Gate {\n    int a() { return 1; }\n    int b(int c\n          = {}) {\n        return c;\n    }\n};\n"
    assert function_lengths(text) == [(2, 1), (3, 4)]


def test_functions_of_the_core_are_seen():
    assert len(function_lengths((ROOT / "core" / "src" / "checks" / "gate_setup.cpp").read_text())) >= 10
    found = sum(len(function_lengths(path.read_text())) for path in (ROOT / "core").rglob("*.cpp"))
    assert found >= 500


@pytest.mark.parametrize("name", load_tool("generate_stubs").MODULES)
def test_committed_stub_is_what_the_native_module_says(name):
    stubs = load_tool("generate_stubs")
    committed = stubs.stub_path(name).read_text()
    assert committed == stubs.stub_text(name), "the stub is old: run `make generate`"


def test_modules_that_are_checked_strictly_exist():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["basedpyright"]
    assert len(settings["strict"]) >= 30
    assert [path for path in settings["strict"] if not (ROOT / path).is_file()] == []


def test_package_says_that_it_is_typed():
    assert (ROOT / "src" / "lastgate" / "py.typed").exists()


canary = load_tool("canary")


@pytest.mark.parametrize("fault", canary.FAULTS, ids=lambda fault: fault.name)
def test_planted_fault_still_finds_its_place(fault):
    assert fault.planted((ROOT / fault.file).read_text()) != (ROOT / fault.file).read_text()


def test_fault_that_finds_no_place_or_two_is_refused():
    fault = canary.Fault("example", "none", r"a < b", "a > b")
    with pytest.raises(ValueError, match="matches 0 times"):
        fault.planted("if (a <= b)")
    with pytest.raises(ValueError, match="matches 2 times"):
        fault.planted("a < b; a < b")


def test_type_hashes_are_those_of_the_message_files():
    hashes = load_tool("generate_type_hashes")
    assert hashes.TARGET.read_text() == hashes.text(), "run `make generate`"


def test_library_page_is_what_the_stored_numbers_say():
    library = load_tool("measure_library")
    results = json.loads(library.RESULTS.read_text())
    assert library.PAGE.read_text() == library.page(results), "run `python tools/measure_library.py --render`"
    assert all(row["missed"] == 0 and row["hidden"] == 0 for row in results.values())


def test_error_page_is_what_the_stored_counts_say():
    from lastgate.tools.lowering.error_page import render_page
    from lastgate.tools.lowering.error_rates import CHECKERS

    results = json.loads((ROOT / "benchmarks" / "error_rates.json").read_text())
    assert (ROOT / "docs" / "error-rates.md").read_text() == render_page(results), (
        "run `lastgate bench --errors`"
    )
    named = {name for robot in results.values() for kind in robot["errors"].values() for name in kind}
    assert named <= set(CHECKERS), "a checker would be left out of the page"


@pytest.mark.parametrize("script", ["render.py", "latency.py"])
def test_benchmark_page_is_what_the_result_files_say(script):
    done = subprocess.run(
        [sys.executable, str(ROOT / "benchmarks" / script), "--check"],
        check=False,
        env={**os.environ, "PYTHONWARNINGS": "error"},
    )
    assert done.returncode == 0, (
        "docs/benchmarks.md or docs/latency.md is old: run `make generate` or `make -C benchmarks latency`"
    )
