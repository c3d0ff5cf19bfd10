# SPDX-License-Identifier: Apache-2.0
"""Words of the glossary about prose: docstrings are noun phrases or verbs, and every actor has a name."""

import ast
import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2]
# A property or a class is a thing, so its docstring is the thing's name; a function is what it does.
PREDICATES = re.compile(r"(Is|Are|Tells whether)\b")


def _tracked(*patterns: str) -> list[Path]:
    listed = subprocess.run(
        ["git", "-C", str(ROOT), "ls-files", "-z", "--", *patterns],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    return [ROOT / name for name in listed.split("\0") if name and (ROOT / name).is_file()]


def _documented(tree: ast.Module) -> list[tuple[int, str]]:
    """Returns line and docstring of everything that has one."""
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    return [
        (node.body[0].lineno, text)
        for node in ast.walk(tree)
        if isinstance(node, kinds) and (text := ast.get_docstring(node))
    ]


def test_no_docstring_starts_as_a_predicate():
    found = [
        f"{path.relative_to(ROOT)}:{line}: {text.splitlines()[0]}"
        for path in _tracked("*.py")
        for line, text in _documented(ast.parse(path.read_text(encoding="utf-8")))
        if PREDICATES.match(text)
    ]
    assert not found, "\n".join(found)


# Words that name no part of the system, as words of a sentence or inside a name. A sentence about the kernel, a driver
# or a client says so.
NAMELESS = re.compile(r"(?<![A-Za-z])(nobody|somebody|whoever|those[ _]who)(?![a-z])", re.IGNORECASE)
ENDINGS = (
    "*.py",
    "*.pyi",
    "*.md",
    "*.cpp",
    "*.hpp",
    "*.inc",
    "*.h",
    "*.js",
    "*.html",
    "*.css",
    "*.yaml",
    "*.toml",
)
# The files whose subject these words are, a fixture's name, and the list of changes, which quotes what was.
LEFT_OUT = re.compile(r"test_prose\.py$|names\.md$|test_urdf_reader\.py$|CHANGELOG\.md$")


def test_every_actor_is_named():
    found = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in _tracked(*ENDINGS, "Makefile", "CMakeLists.txt")
        if not LEFT_OUT.search(str(path))
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1)
        if NAMELESS.search(line)
    ]
    assert not found, "\n".join(found)


def test_nameless_actors_are_found_inside_names_too():
    assert NAMELESS.search("def test_world_that_nobody_filled(): ...")
    assert NAMELESS.search("Those who wait")
    assert not NAMELESS.search("somebodys")
