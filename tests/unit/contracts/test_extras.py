# SPDX-License-Identifier: Apache-2.0
"""Hints name packages that an index has: never `lastgate[...]`, which may be in none."""

import re
import tomllib
from pathlib import Path

import pytest

from lastgate.contracts import extras

ROOT = Path(__file__).parents[3]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
PROMISED = {"demo", "lowering", "audit", "agent", "ros", "all"}


@pytest.fixture
def nothing_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(name: str) -> str:
        raise extras.PackageNotFoundError(name)

    monkeypatch.setattr(extras, "version", absent)


@pytest.mark.parametrize("extra", sorted(PROMISED))
def test_promised_extra_expands_to_packages(extra: str):
    requirements = extras.requirements_of(extra)
    assert requirements
    assert not [requirement for requirement in requirements if requirement.startswith("lastgate")]


def test_all_holds_what_the_other_promised_extras_hold():
    everything = set(extras.requirements_of("all"))
    assert all(set(extras.requirements_of(extra)) <= everything for extra in PROMISED)


@pytest.mark.usefixtures("nothing_installed")
def test_command_names_every_missing_package_once_and_quotes_versions():
    assert extras.install_command("ros", "record").count("mcap") == 1
    assert "'mcap>=1.2'" in extras.install_command("record")
    assert "lastgate" not in extras.install_command("all")


def test_command_names_only_what_is_missing(monkeypatch: pytest.MonkeyPatch):
    def only_mcap_is_absent(name: str) -> str:
        if name == "mcap":
            raise extras.PackageNotFoundError(name)
        return "1"

    monkeypatch.setattr(extras, "version", only_mcap_is_absent)
    assert extras.install_command("record") == "pip install 'mcap>=1.2'"
    assert extras.missing_packages("gymnasium") == []


def test_unknown_extra_asks_for_nothing():
    assert extras.requirements_of("no-such-extra") == []


def test_every_extra_that_the_code_names_exists():
    named = set()
    for path in (ROOT / "src" / "lastgate").rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        assert "pip install 'lastgate" not in text, path
        named |= {
            extra
            for call in re.findall(r"install_command\(([^)*]*)\)", text)
            for extra in re.findall(r"'([\w-]+)'", call)
        }
    assert named
    assert named <= set(PROJECT["optional-dependencies"])


def test_installation_without_extras_stays_small():
    assert [re.split(r"[<>=]", line)[0] for line in PROJECT["dependencies"]] == [
        "numpy",
        "pydantic",
        "ruamel.yaml",
        "typer",
        "rich",
    ]
