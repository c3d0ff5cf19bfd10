# SPDX-License-Identifier: Apache-2.0
"""The site builds strictly, needs no network, has every public name, and shows commands that exist."""

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
import typer

import lastgate
from lastgate.tools.cli.app import app

ROOT = Path(__file__).parents[2]
DOCUMENTS = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")])
SHELL = re.compile(r"^ *```(?:sh|console)\n(.*?)^ *```", re.DOTALL | re.MULTILINE)
RUN = re.compile(r"^```sh\n(.*?)^```", re.DOTALL | re.MULTILINE)


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", folder],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
    )
    assert done.returncode == 0, done.stderr
    return folder


def test_every_public_name_has_a_place_in_the_reference(site):
    page = (site / "reference" / "python.html").read_text(encoding="utf-8")
    headings = set(re.findall(r'<h2 id="([\w.]+)"', page)) | set(re.findall(r'id="(lastgate\.\w+)"', page))
    described = headings | {name.replace("lastgate", "lastgate.") for name in headings if "." not in name}
    missing = [
        name
        for name in lastgate.__all__
        if name != "__version__"
        and f"lastgate.{name}" not in described
        and f"lastgate{name.lower()}" not in headings
    ]
    assert missing == []


def test_pages_ask_no_other_server_for_anything(site):
    loads = re.compile(
        r'<(?:script|img|iframe)[^>]+src="?(https?:[^" >]+)|<link[^>]+rel="?stylesheet"?[^>]+href="?(https?:[^" >]+)'
    )
    found = [
        (path.relative_to(site).as_posix(), *match)
        for path in site.rglob("*.html")
        for match in loads.findall(path.read_text(encoding="utf-8"))
    ]
    assert found == []
    assert (site / "search").is_dir()


def test_links_between_pages_lead_somewhere(site):
    lost = []
    for path in site.rglob("*.html"):
        for target in re.findall(r'href="?([^" >]+)', path.read_text(encoding="utf-8")):
            file = target.partition("#")[0].partition("?")[0]
            if file and "://" not in file and not file.startswith(("mailto:", "data:", "/")):
                there = (path.parent / file).resolve()
                if not there.exists():
                    lost.append(f"{path.relative_to(site)}: {target}")
    assert lost == []


# ---- Commands ------------------------------------------------------------------------------------------


def shown_commands() -> Iterator[tuple[str, list[str]]]:
    for path in DOCUMENTS:
        for block in SHELL.findall(path.read_text(encoding="utf-8")):
            for line in block.replace("\\\n", " ").splitlines():
                for part in re.split(r"&&|\|\||\||;|&", line.strip().removeprefix("$ ").partition(" #")[0]):
                    try:
                        words = shlex.split(part)
                    except ValueError:  # a part of a quoted argument
                        continue
                    if words and words[0] == "lastgate":
                        yield path.relative_to(ROOT).as_posix(), words[1:]


def unknown_words(words: list[str]) -> list[str]:
    """Returns the words of a command line that the command line would not understand."""
    command: click.Command = typer.main.get_command(app)
    rest = list(words)
    while rest and getattr(command, "commands", None):
        child = command.commands.get(rest[0])  # pyright: ignore[reportAttributeAccessIssue]
        if child is None:
            return [] if rest[0].startswith("-") or rest[0].isupper() else [rest[0]]
        command, rest = child, rest[1:]
    known = {
        option for parameter in command.params for option in [*parameter.opts, *parameter.secondary_opts]
    }
    asked = [word.partition("=")[0] for word in rest if re.match(r"--?[a-z]", word)]
    return [word for word in asked if word not in known and word not in ("--help", "-h")]


def test_commands_of_the_documents_exist_with_their_options():
    shown = list(shown_commands())
    assert len(shown) >= 30
    wrong = [
        f"{path}: lastgate {shlex.join(words)}: {unknown_words(words)}"
        for path, words in shown
        if unknown_words(words)
    ]
    assert wrong == []


def test_command_that_does_not_exist_is_noticed():
    assert unknown_words(["chekc", "chunk.csv"]) == ["chekc"]
    assert unknown_words(["check", "chunk.csv", "--robto", "r"]) == ["--robto"]
    assert unknown_words(["check", "chunk.csv", "--robot", "r", "--html", "x.html"]) == []


TUTORIALS = sorted((ROOT / "docs" / "tutorials").glob("*.md"))


@pytest.mark.parametrize(
    "path",
    [path for path in TUTORIALS if RUN.search(path.read_text(encoding="utf-8"))],
    ids=lambda path: path.stem,
)
def test_shell_blocks_of_a_tutorial_run_one_after_the_other(path, tmp_path):
    script = "\n".join(RUN.findall(path.read_text(encoding="utf-8")))
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=400,
        env={**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"},
    )
    assert done.returncode == 0, done.stderr
