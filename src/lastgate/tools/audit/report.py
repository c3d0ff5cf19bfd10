# SPDX-License-Identifier: Apache-2.0
"""The report of an audit: one HTML page that needs nothing else, without times: equal audits are equal files."""

from base64 import b64encode
from collections.abc import Iterable, Sequence
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any

from lastgate.tools.audit.moments import Moment
from lastgate.tools.audit.summary import AuditSummary

FINDINGS_SHOWN_MAX = 500
EPISODES_SHOWN_MAX = 200


def write_page(
    path: Path, summary: AuditSummary, moments: Sequence[Moment], *, title: str, facts: dict[str, str]
) -> None:
    """Writes the page."""
    style = (files("lastgate.tools.demo") / "report.css").read_text(encoding="utf-8")
    body = [
        f"<h1>{escape(title)}</h1>",
        f'<p class="soft">{escape("; ".join(f"{name}: {value}" for name, value in facts.items()))}</p>',
        _headline(summary),
        _cards(summary),
        "<h2>Findings by rule</h2>",
        _table(("rule", "findings"), ([code, count] for code, count in summary.by_code.items())),
        "<h2>The worst moments</h2>",
        *(_moment(moment) for moment in moments),
        "<h2>Episodes that could not be audited</h2>",
        _table(
            ("episode", "why"),
            ([one["name"], one["trouble"]] for one in summary.unreadable[:EPISODES_SHOWN_MAX]),
        ),
        "<h2>Findings</h2>",
        _shown_of(len(summary.findings), FINDINGS_SHOWN_MAX),
        _table(
            ("episode", "path", "rows", "rule", "what"),
            (
                [f["name"], f["path"], _rows_of(f), f["code"], f["sentence"]]
                for f in summary.findings[:FINDINGS_SHOWN_MAX]
            ),
        ),
    ]
    path.write_text(
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{escape(title)}</title>'
        f"<style>{style}</style><main>{''.join(body)}</main></html>\n",
        encoding="utf-8",
    )


def _headline(summary: AuditSummary) -> str:
    if summary.unreadable:
        text = f"{len(summary.unreadable)} of {summary.episodes} episodes could not be audited."
        return f'<p class="bad"><b>{text}</b></p>'
    if summary.findings:
        touched = len({finding["episode"] for finding in summary.findings})
        return f'<p class="bad"><b>{len(summary.findings)} findings in {touched} episodes.</b></p>'
    return '<p class="good"><b>Nothing was found.</b></p>'


def _cards(summary: AuditSummary) -> str:
    shown: list[tuple[str, Any]] = [
        ("episodes", summary.episodes),
        ("rows", summary.rows),
        ("clean episodes", summary.clean),
        ("findings", len(summary.findings)),
    ]
    if summary.score is not None:
        shown += [
            ("planted faults found", f"{summary.score.found} / {summary.score.planted}"),
            ("invented", summary.score.invented),
        ]
    if summary.cut_off:
        shown.append(("episodes with more findings than are kept", len(summary.cut_off)))
    cards = "".join(
        f'<div class="card"><b>{escape(str(value))}</b>{escape(name)}</div>' for name, value in shown
    )
    left_out = (
        f'<p class="soft">Not checked: {escape(", ".join(summary.unchecked))}.</p>'
        if summary.unchecked
        else ""
    )
    return f'<div class="cards">{cards}</div>{left_out}'


_FIRST_REJECTED = '<p class="soft">The picture shows the first row around it that the gate rejects.</p>'


def _moment(moment: Moment) -> str:
    finding = moment.finding
    head = f"{finding['name']}, row {finding['worst_row']}: {finding['sentence']}"
    picture = ""
    if moment.report is not None:
        data = b64encode(moment.report.png()).decode()
        picture = (
            f'<img alt="{escape(moment.report.sentence)}" style="max-width:100%" src="data:image/png;base64,{data}">'
            f"{'' if moment.is_worst else _FIRST_REJECTED}"
            f'<p class="soft">Step 0 of the picture is row {moment.first_row} of the episode.</p>'
            f"<pre>{escape(moment.report.evidence)}</pre>"
        )
    code = f'<b style="font-size:1rem;white-space:normal">{escape(finding["code"])}</b>'
    return f'<div class="card"><p>{code}{escape(head)}</p>{picture}</div>'


def _rows_of(finding: dict[str, Any]) -> str:
    first, last = finding["first_row"], finding["last_row"]
    return str(first) if first == last else f"{first} to {last}"


def _shown_of(count: int, at_most: int) -> str:
    return (
        f'<p class="soft">The first {at_most} of {count}; all are in findings.parquet.</p>'
        if count > at_most
        else ""
    )


def _table(head: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    lines = ["".join(f"<td>{escape(str(cell))}</td>" for cell in row) for row in rows]
    if not lines:
        return '<p class="soft">None.</p>'
    top = "".join(f"<th>{escape(name)}</th>" for name in head)
    return f'<div class="scroll"><table><tr>{top}</tr>{"".join(f"<tr>{line}</tr>" for line in lines)}</table></div>'
