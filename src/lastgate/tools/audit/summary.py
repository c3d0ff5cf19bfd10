# SPDX-License-Identifier: Apache-2.0
"""The counts of an audit, from its finished parts."""

from collections import Counter
from dataclasses import asdict, dataclass, field
from typing import Any

from lastgate.tools.audit.fault_labels import FaultLabel, LabelScore, score_findings
from lastgate.tools.audit.parts import PartStore


@dataclass(slots=True)
class AuditSummary:
    """The summary that is printed and shown; everything in it follows from the parts."""

    episodes: int = 0
    rows: int = 0
    clean: int = 0
    findings: list[dict[str, Any]] = field(default_factory=list)
    unreadable: list[dict[str, Any]] = field(default_factory=list)
    cut_off: list[int] = field(default_factory=list)
    by_code: dict[str, int] = field(default_factory=dict)
    unchecked: list[str] = field(default_factory=list)
    smallest_clearance_m: float | None = None
    score: LabelScore | None = None

    def worst(self, per_code: int) -> list[dict[str, Any]]:
        """Returns the findings farthest beyond their limit, so many of each rule."""
        chosen: list[dict[str, Any]] = []
        for code in self.by_code:
            of_code = [finding for finding in self.findings if finding["code"] == code]
            of_code.sort(key=lambda f: (-f["excess"], f["episode"], f["first_row"]))
            chosen += of_code[:per_code]
        return chosen

    def as_dict(self) -> dict[str, Any]:
        """Returns what `--json` prints."""
        document = asdict(self)
        if self.score is not None:
            document["score"]["missed"] = [asdict(label) for label in self.score.missed]
        return document


def summarize(store: PartStore, parts: int, labels: tuple[FaultLabel, ...] | None) -> AuditSummary:
    """Counts the finished parts, in the order of the dataset."""
    summary = AuditSummary()
    codes: Counter[str] = Counter()
    unchecked: set[str] = set()
    for part in range(parts):
        for result in store.load(part):
            summary.episodes += 1
            summary.rows += result["rows"]
            summary.clean += not result["findings"] and not result["trouble"]
            unchecked.update(result["unchecked"])
            if result["trouble"]:
                summary.unreadable.append(
                    {"episode": result["episode"], "name": result["name"], "trouble": result["trouble"]}
                )
            if result["cut_off"]:
                summary.cut_off.append(result["episode"])
            clearance = result["min_clearance_m"]
            if clearance is not None and (
                summary.smallest_clearance_m is None or clearance < summary.smallest_clearance_m
            ):
                summary.smallest_clearance_m = clearance
            for finding in result["findings"]:
                codes[finding["code"]] += 1
                summary.findings.append({"episode": result["episode"], "name": result["name"], **finding})
    summary.by_code = dict(sorted(codes.items(), key=lambda item: (-item[1], item[0])))
    summary.unchecked = sorted(unchecked)
    if labels is not None:
        seen = {result["episode"] for part in range(parts) for result in store.load(part)}
        summary.score = score_findings(
            [label for label in labels if label.episode in seen],
            [(f["episode"], f["first_row"], f["last_row"], f["code"]) for f in summary.findings],
        )
    return summary
