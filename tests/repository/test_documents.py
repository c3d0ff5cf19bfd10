# SPDX-License-Identifier: Apache-2.0
"""The documents are true where a machine can tell: programs run, links lead somewhere, tests exist."""

import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
PYTHON_BLOCK = re.compile(r"```python\n(.*?)```", re.DOTALL)
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
TEST_NAME = re.compile(r"`((?:tests|core|kernel)/[\w./-]+?\.(?:py|cpp))(?:::(\w+))?`")


def _run(arguments: list[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-W", "error", *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


def _blocks() -> list[tuple[str, str]]:
    return [
        (path.name, block)
        for path in DOCUMENTS
        for block in PYTHON_BLOCK.findall(path.read_text(encoding="utf-8"))
    ]


def test_readme_has_a_python_block_and_at_most_150_lines():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert PYTHON_BLOCK.search(text)
    assert len(text.splitlines()) <= 150


@pytest.mark.parametrize(("name", "block"), _blocks(), ids=lambda value: value if len(value) < 40 else "")
def test_python_block_runs(name: str, block: str):
    done = _run(["-c", block])
    assert done.returncode == 0, f"{name}: {done.stderr}"
    assert done.stdout


def test_python_block_of_the_readme_is_accepted():
    (block,) = PYTHON_BLOCK.findall((ROOT / "README.md").read_text(encoding="utf-8"))
    assert _run(["-c", block]).stdout.startswith("True Accepted: ")


def test_there_are_examples():
    assert {path.stem for path in EXAMPLES} >= {"check_a_chunk", "feed_bad_chunks", "add_the_world"}


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example_runs(path: Path):
    done = _run([str(path)])
    assert done.returncode == 0, done.stderr
    assert done.stdout


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example_is_short_and_begins_with_its_page(path: Path):
    lines = path.read_text(encoding="utf-8").splitlines()
    assert len(lines) <= 60
    assert lines[1].startswith('"""')


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_relative_links_lead_somewhere(path: Path):
    text = path.read_text(encoding="utf-8")
    lost = []
    for target in LINK.findall(text):
        if "://" in target:
            continue
        file, _, anchor = target.partition("#")
        found = path.parent / file if file else path
        if not found.exists() or (anchor and anchor not in _anchors(found)):
            lost.append(target)
    assert not lost


def _anchors(path: Path) -> set[str]:
    titles = re.findall(r"^#+ (.+)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def test_every_test_named_in_the_documents_exists():
    missing = []
    for path in DOCUMENTS:
        for file, name in TEST_NAME.findall(path.read_text(encoding="utf-8")):
            text = (ROOT / file).read_text(encoding="utf-8") if (ROOT / file).is_file() else None
            if text is None or (name and not re.search(rf"^def {name}\(", text, re.MULTILINE)):
                missing.append(f"{path.name}: {file}::{name}")
    assert not missing


def test_every_claim_of_safety_md_names_a_test():
    section = (ROOT / "SAFETY.md").read_text(encoding="utf-8").split("## Not claimed")[0]
    rows = [
        line
        for line in section.splitlines()
        if line.startswith("| ") and not line.startswith(("| Claim", "| ---"))
    ]
    assert len(rows) >= 15
    assert [row for row in rows if not TEST_NAME.search(row)] == []


def test_generated_blocks_of_the_readme_are_up_to_date():
    done = _run(["tools/generate_documents.py", "--check"])
    assert done.returncode == 0, done.stderr


def test_rejection_shown_in_the_readme_is_one_that_looking_at_rows_would_miss():
    from lastgate.demo.panda_scene import PandaScene, table_world
    from lastgate.robots import load_robot

    files = ROOT / "examples" / "files"
    rows = np.loadtxt(files / "swing.csv", delimiter=",", skiprows=1)
    start = np.array(json.loads((files / "measured.json").read_text())["positions"])
    scene = PandaScene(load_robot("franka_panda"), table_world())
    assert not any(scene.contacts_at(row) for row in rows)
    assert scene.contacts_along(start, rows, looks_per_row=16).robot_world
