# SPDX-License-Identifier: Apache-2.0
"""How messages look on stderr: colour on a terminal only, never under NO_COLOR."""

import json
import os
import sys
from typing import Any, TextIO

from lastgate.contracts.printable import printable

_LINES = "\n\t"
_CODES = {"red": "31", "green": "32", "yellow": "33", "bold": "1", "dim": "2"}


def paint(text: str, colour: str, *, stream: TextIO) -> str:
    """Returns the text in a colour if the stream is a terminal that wants it."""
    wanted = stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    return f"\x1b[{_CODES[colour]}m{text}\x1b[0m" if wanted else text


def print_error(text: str) -> None:
    """Prints `error: …`, and after a blank line the hint that the text may end with.

    Where several errors in one text have hints of their own, each hint is printed once, after all of them.
    """
    what, *blocks = printable(text, keep=_LINES).split("\n\nhint: ")
    hints: list[str] = []
    for block in blocks[:-1]:
        hint, _, more = block.partition("\n")
        hints.append(hint)
        what += f"\n{more}"
    lines = what.splitlines() or [""]
    marked = paint("error:", "red", stream=sys.stderr)
    print(f"{marked} {lines[0]}", file=sys.stderr)
    for line in lines[1:]:
        print(f"{marked} {line}" if ": " in line and not line.startswith(" ") else line, file=sys.stderr)
    for hint in dict.fromkeys(hints + blocks[-1:]):
        print_hint(hint)


def print_hint(text: str) -> None:
    """Prints a blank line and `hint: …`."""
    print(f"\n{paint('hint:', 'green', stream=sys.stderr)} {printable(text, keep=_LINES)}", file=sys.stderr)


def print_note(text: str) -> None:
    """Prints `note: …`, for what was assumed because the user did not say otherwise."""
    print(f"{paint('note:', 'yellow', stream=sys.stderr)} {printable(text, keep=_LINES)}", file=sys.stderr)


def print_warning(text: str) -> None:
    """Prints `warning: …`."""
    print(f"{paint('warning:', 'yellow', stream=sys.stderr)} {printable(text, keep=_LINES)}", file=sys.stderr)


def print_undecided(error: Exception, **said: Any) -> None:
    """Prints as JSON that there is no answer and why, and the error on stderr as well."""
    what, _, hint = str(error).partition("\n\nhint: ")
    print(json.dumps({**said, "decided": False, "error": what, "hint": hint or None}, indent=2))
    print_error(str(error))
