# SPDX-License-Identifier: Apache-2.0
"""Commands that lower start again where OpenBLAS would add in another order, and only there, and only once."""

import os
import sys
from pathlib import Path

import pytest

from lastgate import cli
from lastgate.cli import common_sums

LOWER = ["lastgate", "collision", "lower", "--robot", "ur5"]


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[tuple[list[str], dict[str, str]]]:
    """Is what was started in place of this process; the command itself is not run."""
    found: list[tuple[list[str], dict[str, str]]] = []
    monkeypatch.delenv("OPENBLAS_CORETYPE", raising=False)
    monkeypatch.setattr(os, "execve", lambda _, program, environment: found.append((program, environment)))
    monkeypatch.setattr("lastgate.cli.app.run", lambda _: 0)
    return found


def run_on(monkeypatch: pytest.MonkeyPatch, arguments: list[str], *, wider: bool) -> None:
    monkeypatch.setattr(common_sums, "has_wider_sums", lambda: wider)
    monkeypatch.setattr(sys, "argv", arguments)
    with pytest.raises(SystemExit):
        cli.main()


def test_lowering_starts_again_with_the_common_order(started, monkeypatch):
    run_on(monkeypatch, LOWER, wider=True)
    ((program, environment),) = started
    assert program == [sys.executable, "-m", "lastgate.cli", *LOWER[1:]]
    assert environment["OPENBLAS_CORETYPE"] == "Haswell"


def test_processor_with_the_common_order_starts_nothing_again(started, monkeypatch):
    run_on(monkeypatch, LOWER, wider=False)
    assert started == []


def test_order_that_somebody_chose_is_left_alone(started, monkeypatch):
    monkeypatch.setenv("OPENBLAS_CORETYPE", "SkylakeX")
    run_on(monkeypatch, LOWER, wider=True)
    assert started == []


def test_command_that_does_not_lower_starts_nothing_again(started, monkeypatch):
    run_on(monkeypatch, ["lastgate", "robot", "list"], wider=True)
    assert started == []


@pytest.mark.parametrize(
    ("text", "wider"), [("flags\t: fma avx2\n", False), ("flags\t: avx2 avx512f avx512dq\n", True)]
)
def test_wider_sums_are_those_of_a_processor_with_avx_512(tmp_path: Path, text: str, wider: bool):
    (tmp_path / "cpuinfo").write_text(text)
    assert common_sums.has_wider_sums(tmp_path / "cpuinfo") is wider
    assert not common_sums.has_wider_sums(tmp_path / "nowhere")
