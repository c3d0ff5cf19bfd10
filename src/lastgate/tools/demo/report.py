# SPDX-License-Identifier: Apache-2.0
"""The report of a run: one HTML file that needs nothing else, and the same numbers as JSON."""

import base64
import json
import os
import platform
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from html import escape
from importlib.metadata import version
from pathlib import Path
from typing import Any

from lastgate.contracts import ROSConfigError
from lastgate.tools.demo.charts import check_time_chart, clearance_chart
from lastgate.tools.demo.policy import FAULT_MEANS, Fault
from lastgate.tools.demo.run import Decision, Record, is_clean, summarize

_STYLE = Path(__file__).with_name("report.css").read_text(encoding="utf-8")


def environment() -> dict[str, str]:
    """Says what the numbers were measured on."""
    return {
        "lastgate": version("lastgate"),
        "mujoco": version("mujoco"),
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "cpu": _cpu_name(),
        "cores": str(os.cpu_count()),
    }


def _cpu_name() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    named = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return named[0] if named else platform.processor() or "unknown"


def report_json(record: Record) -> str:
    """Returns the whole run as JSON: the summary and every decision."""
    document = {
        "summary": summarize(record),
        "environment": environment(),
        "decisions": [asdict(decision) for decision in list(record.decisions)],
    }
    return json.dumps(document, indent=1, allow_nan=False) + "\n"


def write_report(record: Record, folder: Path) -> tuple[Path, Path]:
    """Writes `demo.html` and `demo.json`; a folder that cannot be written raises `ROSConfigError`."""
    page, data = folder / "demo.html", folder / "demo.json"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        page.write_text(render_page(record), encoding="utf-8")
        data.write_text(report_json(record), encoding="utf-8")
    except OSError as error:
        raise ROSConfigError(f"cannot write the report to `{folder}`: {error.strerror}") from None
    return page, data


def render_page(record: Record) -> str:
    """Returns the page."""
    decisions = list(record.decisions)
    summary = summarize(record)
    title = "lastgate demo"
    machine = environment()
    body = [
        f"<h1>{title}</h1>",
        f'<p class="soft">A simulated Franka Panda, a policy that sometimes misbehaves, and the gate '
        f"between them: {summary['simulated_s']:.1f} s of simulated time, seed {summary['seed']}.</p>",
        _headline(summary),
        _cards(summary),
        "<h2>What the policy planted, and what became of it</h2>",
        _planted_table(summary),
        "<h2>Clearance of accepted chunks over time</h2>",
        '<p class="soft">Each dot is a chunk: the distance beyond the margin that every checked pair keeps '
        "along the whole of it, never above the truth. Each red stroke is a rejection.</p>",
        clearance_chart(decisions, simulated_s=summary["simulated_s"]),
        "<h2>Time of one check, from Python</h2>",
        '<p class="soft">Wall-clock time, so whatever else the machine was doing is in it.</p>',
        check_time_chart([d.check_us for d in decisions]),
        "<h2>Rejections</h2>",
        _rejection_table(decisions),
        _rejection_reports(record),
        "<h2>Contacts that MuJoCo saw</h2>",
        _contact_table(summary),
        "<h2>What this does not show</h2>",
        "<p>The servos of a simulation follow their targets closely, the obstacles stand still, and the "
        "world is known exactly. None of that holds for a robot in a room. The labels in the first column "
        "are the policy's own; "
        "whether a planted collision collides was asked of MuJoCo, which has the meshes.</p>",
        f'<p class="soft">{escape(", ".join(f"{key} {value}" for key, value in machine.items()))}</p>',
    ]
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{title}</title><style>{_STYLE}</style></head>\n<body><main>\n"
        + "\n".join(body)
        + "\n</main></body></html>\n"
    )


def _headline(summary: dict[str, Any]) -> str:
    contacts = summary["contacts_robot_world"] + summary["contacts_robot_robot"]
    sentence = (
        f"{summary['planted_refused']} of {summary['planted']} planted chunks were rejected, "
        f"{summary['good_refused']} of {summary['good']} good ones were, and MuJoCo saw "
        f"{contacts} contact{'s' if contacts != 1 else ''}."
    )
    return f'<p class="{"good" if is_clean(summary) else "bad"}"><b>{sentence}</b></p>'


def _cards(summary: dict[str, Any]) -> str:
    smallest = summary["smallest_clearance_m"]
    false_rejections = summary["good_refused"] - summary["good_refused_that_touch_in_mujoco"]
    cards = (
        (summary["chunks"], "chunks proposed"),
        (summary["accepted"], "accepted"),
        (summary["refused"], "rejected"),
        (f"{summary['planted_accepted']} of {summary['planted']}", "missed: planted chunks accepted"),
        (
            f"{false_rejections} of {summary['good']}",
            "false rejections: good chunks rejected that touch nothing",
        ),
        (
            "–" if smallest is None else f"{smallest * 1000:.1f} mm",
            "smallest clearance accepted, beyond the margin",
        ),
        (f"{summary['check_us']['p50']:.0f} µs", "check, median"),
        (f"{summary['check_us']['p99']:.0f} µs", "check, 99 %"),
    )
    return (
        '<div class="cards">'
        + "".join(f'<div class="card"><b>{n}</b>{escape(t)}</div>' for n, t in cards)
        + "</div>"
    )


def _table(head: Sequence[tuple[str, str]], rows: Iterable[Sequence[str]]) -> str:
    """Returns a table; `head` is (title, cell class) per column, cells are HTML already."""
    titles = "".join(f'<th class="{kind}">{escape(title)}</th>' for title, kind in head)
    lines = [
        "<tr>"
        + "".join(f'<td class="{kind}">{cell}</td>' for cell, (_, kind) in zip(row, head, strict=True))
        + "</tr>"
        for row in rows
    ]
    body = "".join(lines)
    return f'<div class="scroll"><table><thead><tr>{titles}</tr></thead><tbody>{body}</tbody></table></div>'


def _planted_table(summary: dict[str, Any]) -> str:
    rows = []
    for kind, counts in summary["planted_by_kind"].items():
        reasons = ", ".join(f"<code>{escape(code)}</code>" for code in counts["reasons"]) or "–"
        whole = counts["refused"] == counts["proposed"]
        refused = f'<span class="{"good" if whole else "bad"}">{counts["refused"]}</span>'
        rows.append(
            (f"<code>{kind}</code>", FAULT_MEANS[Fault(kind)], str(counts["proposed"]), refused, reasons)
        )
    head = (
        ("kind", ""),
        ("what is wrong with it", ""),
        ("proposed", "n"),
        ("rejected", "n"),
        ("reasons given", ""),
    )
    return _table(head, rows)


def _rejection_table(decisions: Sequence[Decision]) -> str:
    rejected = [d for d in decisions if not d.accepted]
    rows = [
        (f"{d.time_s:.2f} s", f"<code>{d.fault}</code>", f"<code>{escape(d.code)}</code>", escape(d.sentence))
        for d in rejected
    ]
    return _table((("time", "n"), ("planted", ""), ("code", ""), ("what the gate says", "")), rows)


def _rejection_reports(record: Record) -> str:
    """Returns the first rejection of each kind with its picture and its evidence."""
    parts = [
        '<p class="soft">The first of each kind, at the moment the rule is broken: what is to blame in red, what it '
        "meets in blue.</p>"
    ]
    for (fault, _), card in record.cards.items():
        try:
            encoded = base64.b64encode(card.png()).decode()
        except ROSConfigError as error:
            parts.append(f"<p>No pictures: {escape(str(error))}</p>")
            break
        parts.append(
            f'<figure><img alt="{escape(card.sentence)}" src="data:image/png;base64,{encoded}">'
            f"<figcaption><code>{escape(fault)}</code> {escape(card.sentence)}"
            f"<details><summary>evidence</summary><pre>{escape(card.evidence)}</pre></details></figcaption></figure>"
        )
    return "\n".join(parts)


def _contact_table(summary: dict[str, Any]) -> str:
    touched = summary["first_contact_s"]
    if not touched:
        return "<p>None, in any simulation step.</p>"
    rows = [(escape(pair), f"{time_s:.3f} s") for pair, time_s in touched.items()]
    return _table((("pair", ""), ("first seen at", "n")), rows)
