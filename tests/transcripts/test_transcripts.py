# SPDX-License-Identifier: Apache-2.0
"""Whole terminal sessions, compared word for word.

Each .txt file beside this one is a session: lines that begin with `$ ` are typed, what follows is what
the terminal shows, and `$ echo $?` shows the exit code of the command before it. A line that ends in `…`
is compared up to there: a bound that may become tighter, or the list of a growing robot library. The sessions run
in `files/`. After a change that is meant, `python tests/transcripts/test_transcripts.py` writes them
anew; read the difference before you commit it.
"""

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
SESSIONS = sorted(HERE.glob("*.txt"))
COMMAND = Path(sys.executable).parent / "lastgate"


def play(session: str) -> str:
    shown: list[str] = []
    code = 0
    typed = [line[2:] for line in session.splitlines() if line.startswith("$ ")]
    for line in typed:
        shown.append(f"$ {line}\n")
        if line == "echo $?":
            shown.append(f"{code}\n")
            continue
        program, *arguments = shlex.split(line)
        assert program == "lastgate"
        done = subprocess.run(
            [COMMAND, *arguments],
            cwd=HERE / "files",
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            timeout=120,
            env={**os.environ, "COLUMNS": "100", "TERM": "xterm"},
        )
        code = done.returncode
        shown.append(done.stdout)
    return "".join(shown)


def settle(shown: str, session: str) -> str:
    """Returns what was shown, with the lines that the session leaves open written as it writes them."""
    openings = [line[:-1] for line in session.splitlines() if line.endswith("…")]
    lines = []
    for line in shown.splitlines():
        opening = next((start for start in openings if line.startswith(start)), None)
        lines.append(line if opening is None else f"{opening}…")
    return "".join(f"{line}\n" for line in lines)


def test_there_are_sessions():
    assert len(SESSIONS) >= 6


@pytest.mark.parametrize("path", SESSIONS, ids=lambda path: path.stem)
def test_terminal_shows_what_the_transcript_says(path: Path):
    session = path.read_text(encoding="utf-8")
    assert settle(play(session), session) == session


if __name__ == "__main__":
    for each in SESSIONS:
        wanted = each.read_text(encoding="utf-8")
        each.write_text(settle(play(wanted), wanted), encoding="utf-8")
