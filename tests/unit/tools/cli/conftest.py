# SPDX-License-Identifier: Apache-2.0
"""A way to run the command line in this process, and the files it is run on."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from lastgate.tools.cli.app import run

TRANSCRIPT_FILES = Path(__file__).parents[3] / "transcripts" / "files"


@dataclass(frozen=True)
class Outcome:
    code: int
    out: str
    err: str


@pytest.fixture
def lastgate(capsys: pytest.CaptureFixture[str]) -> Callable[..., Outcome]:
    def invoke(*arguments: str | Path) -> Outcome:
        capsys.readouterr()
        code = run([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return Outcome(code, captured.out, captured.err)

    return invoke


@pytest.fixture
def planar_arm() -> Path:
    return TRANSCRIPT_FILES / "planar_arm.yaml"


@pytest.fixture
def pole() -> Path:
    return TRANSCRIPT_FILES / "pole.json"
