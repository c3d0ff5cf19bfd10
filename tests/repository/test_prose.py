# SPDX-License-Identifier: Apache-2.0
"""Words of the glossary about prose: docstrings are noun phrases or verbs, and every actor has a name."""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "lastgate"
# A property or a class is a thing, so its docstring is the thing's name; a function is what it does.
PREDICATES = re.compile(r"(Is|Are|Tells whether)\b")


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
        for path in sorted(PACKAGE.rglob("*.py"))
        for line, text in _documented(ast.parse(path.read_text(encoding="utf-8")))
        if PREDICATES.match(text)
    ]
    assert not found, "\n".join(found)


# Words that name no part of the system. A sentence about the kernel, a driver or a client says so.
NAMELESS = re.compile(r"\b(nobody|somebody|whoever|those who)\b", re.IGNORECASE)
SPOKEN = (
    "src/lastgate",
    "docs",
    "README.md",
    "SAFETY.md",
    "core",
    "kernel",
    "gateway",
    "bindings",
    "fitting",
)


def _spoken_files() -> list[Path]:
    endings = {".py", ".pyi", ".md", ".cpp", ".hpp", ".h", ".js", ".html", ".css", ".yaml"}
    return [
        path
        for name in SPOKEN
        for path in ([ROOT / name] if (ROOT / name).is_file() else sorted((ROOT / name).rglob("*")))
        if path.suffix in endings
    ]


def test_every_actor_is_named():
    found = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in _spoken_files()
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1)
        if NAMELESS.search(line)
    ]
    assert not found, "\n".join(found)
