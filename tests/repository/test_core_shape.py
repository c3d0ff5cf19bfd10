# SPDX-License-Identifier: Apache-2.0
"""The shape of the core: what must be written once is written once."""

import re
import runpy
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCES = ROOT / "core" / "src"
PUBLIC = ROOT / "core" / "include" / "lastgate"
SWEEP = SOURCES / "sweep"
PAIR_KIND = SWEEP / "pair_kind.hpp"
CORE = [
    path
    for folder in ("core/src", "core/include")
    for path in sorted((ROOT / folder).rglob("*"))
    if path.is_file()
]

FOLDERS = {"checks", "geometry", "paths", "planning", "robot", "simd", "sweep", "world"}
LOOSE = {"gate.cpp", "stream.cpp", "validation.cpp", "validation.hpp"}
PUBLIC_HEADERS_MAX = 8

# Rounding outside of the inequality: limits of joints, growth from row to row, and distances that planners are told.
ROUNDING_ELSEWHERE = {
    "core/src/checks/gate_setup.cpp",
    "core/src/planning/link_distance.cpp",
    "core/src/paths/joint_path.cpp",
    "core/src/sweep/recovery.cpp",
}


def files_with(pattern: str) -> list[str]:
    """Returns the files of the core in which a pattern occurs, once per occurrence."""
    return [
        str(path.relative_to(ROOT))
        for path in CORE
        for _ in re.finditer(pattern, re.sub(r"//.*", "", path.read_text()))
    ]


def test_inequality_of_clearance_is_defined_once():
    assert files_with(r"\bbool certified\(") == ["core/src/sweep/clearance.hpp"]
    assert files_with(r"\bbool violated\(") == ["core/src/sweep/clearance.hpp"]
    assert set(files_with(r"tolerance::rounding_m")) == {"core/src/sweep/clearance.hpp"} | ROUNDING_ELSEWHERE


def test_motion_bound_is_defined_once():
    assert files_with(r"\bdouble motion_bound\(") == ["core/src/sweep/motion_bound.hpp"]
    assert files_with(r"\bsum \+= step\[[^;]*\* \w*\.?reach\[") == ["core/src/sweep/motion_bound.hpp"]


def test_core_has_no_friends():
    assert files_with(r"\bfriend\b") == []


def test_core_is_sorted_by_what_decides():
    entries = list(SOURCES.iterdir())
    assert {path.name for path in entries if path.is_dir()} == FOLDERS
    assert {path.name for path in entries if path.is_file()} <= LOOSE
    assert {path.suffix for path in CORE} == {".cpp", ".hpp"}


def test_public_headers_are_few_and_name_no_private_one():
    headers = sorted(PUBLIC.iterdir())
    assert 0 < len(headers) <= PUBLIC_HEADERS_MAX
    included = [name for path in headers for name in re.findall(r'#include "([^"]+)"', path.read_text())]
    assert included
    assert {name for name in included if not (PUBLIC.parent / name).is_file()} == set()


def test_kernel_and_gateway_see_only_the_public_headers():
    sources = [path for folder in ("kernel", "gateway") for path in (ROOT / folder).rglob("*.[ch]pp")]
    named = {name for path in sources for name in re.findall(r'#include "([^"]+)"', path.read_text())}
    assert "lastgate/gate.hpp" in named
    assert {name for name in named if (SOURCES / name).is_file()} == set()


def namespaces_of(paths: list[Path]) -> set[str]:
    """Returns the namespaces of ours that some files open."""
    texts = [path.read_text() for path in paths]
    return {
        name for text in texts for name in re.findall(r"^namespace (lastgate[\w:]*) \{", text, re.MULTILINE)
    }


def test_internals_have_a_namespace_of_their_own():
    for folder in ("checks", "paths", "sweep"):
        assert namespaces_of(sorted((SOURCES / folder).rglob("*.[ch]pp"))) == {"lastgate::detail"}
    kernel = sorted(path for path in (ROOT / "kernel").glob("*.[ch]pp") if path.name != "test_point.hpp")
    assert namespaces_of(kernel) == {"lastgate::kernel"}
    assert namespaces_of(sorted((ROOT / "gateway").glob("*.[ch]pp"))) == {"lastgate::gateway"}


def test_every_kind_of_pair_has_one_file_and_one_line_of_the_table():
    listed = re.search(r"enum class PairKind[^{]*\{(.*)\};", PAIR_KIND.read_text())
    assert listed is not None
    kinds = re.findall(r"\w+", listed.group(1))
    table = re.findall(r"&(\w+)_pairs", (SWEEP / "pair_table.cpp").read_text())
    defined = [
        name
        for path in sorted((SWEEP / "pairs").glob("*.cpp"))
        for name in re.findall(r"^constinit const PairFunctions (\w+)_pairs", path.read_text(), re.MULTILINE)
    ]
    assert len(kinds) == len(table)
    assert sorted(table) == sorted(defined)


def test_every_file_of_the_core_is_in_the_reading_order_once():
    order = runpy.run_path(str(ROOT / "tools" / "reading_order.py"))
    listed = [path for part in (*order["ORDER"], order["DECIDES_NOTHING"]) for path in part.files()]
    assert sorted(listed) == sorted(CORE)


def test_every_function_of_the_core_is_called_somewhere():
    sources = [
        path for folder in ("core", "kernel", "bindings") for path in (ROOT / folder).rglob("*.[ch]pp")
    ]
    text = {path: re.sub(r"//.*", "", path.read_text()) for path in sources}
    used = Counter(name for body in text.values() for name in re.findall(r"\w+", body))
    declared = {
        name
        for path in CORE
        for name in re.findall(r"\b([a-z_]\w+)\([^;{}()]*\) (?:const )?noexcept", text[path])
    }
    assert len(declared) > 200
    assert sorted(name for name in declared if used[name] == 1) == []
