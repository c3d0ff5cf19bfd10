# SPDX-License-Identifier: Apache-2.0
"""`lastgate explain`: what a violation means, and what to do."""

import json
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from lastgate.contracts import ViolationEntry

# Wide enough for two columns of prose, narrow enough to read; the same everywhere, so that text can be
# compared.
WIDTH = 100


def explain_command(
    code: Annotated[
        str | None,
        typer.Argument(metavar="CODE", help="A code such as self_collision; all of them if none is given."),
    ] = None,
    *,
    record: Annotated[
        str | None,
        typer.Option(metavar="F#N", help="Instead: check N of a recording, with evidence and picture."),
    ] = None,
    png: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Where the picture goes; else into this folder.")
    ] = None,
    html: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="With --record: the moment as a view that turns, in one file."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the entry as JSON.")] = False,
) -> int:
    """Says what a violation code means: what is checked, why, the limits of the check, and what to do."""
    from lastgate.contracts.exceptions import ROSConfigError

    if record is not None:
        from lastgate.tools.cli.recordings import explain_recorded

        if code is not None:
            raise ROSConfigError("name either a code or a recording")
        return explain_recorded(record, png=png, html=html, as_json=as_json)
    if png is not None or html is not None:
        option = "--png" if html is None else "--html"
        raise ROSConfigError(f"`{option}` needs `--record F#N`: a code has no picture")
    from lastgate.contracts.violations import CATALOGUE, find_violation

    if code is None:
        _print_all(list(CATALOGUE.values()), as_json=as_json)
        return 0
    entry = find_violation(code)
    if as_json:
        print(json.dumps(_as_json(entry), indent=2))
        return 0
    for paragraph in entry.render().rstrip("\n").split("\n"):
        indent = "  " if paragraph.startswith("  ") else ""
        print(textwrap.fill(paragraph.strip(), WIDTH, initial_indent=indent, subsequent_indent=indent))
    return 0


def _print_all(entries: "list[ViolationEntry]", *, as_json: bool) -> None:
    if as_json:
        print(json.dumps([_as_json(entry) for entry in entries], indent=2))
        return
    width = max(len(entry.code) for entry in entries)
    for entry in entries:
        about = textwrap.shorten(entry.what_it_checks, WIDTH - width - 2, placeholder=" …")
        print(f"{entry.code:<{width}}  {about}")


def _as_json(entry: "ViolationEntry") -> dict[str, Any]:
    return {
        "code": str(entry.code),
        "number": entry.code.number,
        "kind": entry.kind.name,
        "state": entry.state,
        "field": entry.field,
        "what_it_checks": entry.what_it_checks,
        "why_it_matters": entry.why_it_matters,
        "known_limits": entry.known_limits,
        "example": entry.example,
        "what_to_do": entry.what_to_do,
    }
