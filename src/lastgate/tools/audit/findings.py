# SPDX-License-Identifier: Apache-2.0
"""What an audit finds: runs of neighbouring rows that break the same rule."""

import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from typing import Any

from lastgate.gate.verdict import Violation


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One run of steps of an episode that break the same rule.

    Attributes:
        path: Which path was checked: `action`, `state` or `chunk`.
        first_row: First row of the episode that breaks it, or that is reached through breaking it.
        last_row: Last one of the run.
        code: The rule.
        subject: The joint or link, at the worst row.
        against: The other link or the obstacle, where there is one.
        value: The worst value of the run.
        excess: How far it is beyond the limit, in `unit`: what findings of one rule are ordered by.
        worst_row: Where that is.
    """

    path: str
    first_row: int
    last_row: int
    code: str
    subject: str
    against: str
    value: float | None
    limit: float | None
    unit: str
    excess: float
    worst_row: int
    sentence: str

    def as_dict(self) -> dict[str, Any]:
        """Returns the fields as plain values."""
        return asdict(self)


@dataclass(slots=True, kw_only=True)
class EpisodeResult:
    """The result of auditing one episode; it holds no times, so that two runs write the same.

    Attributes:
        rows: How many rows were checked.
        trouble: Why it could not be audited; empty where it could.
        cut_off: There were more findings than are kept for one episode.
        min_clearance_m: The smallest clearance of what was accepted; None where nothing was.
    """

    episode: int
    name: str
    rows: int = 0
    trouble: str = ""
    cut_off: bool = False
    min_clearance_m: float | None = None
    unchecked: list[str] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class RowViolation:
    """One rejection, at a step of the episode."""

    row: int
    violation: Violation


def merge_rows(path: str, found: Iterable[RowViolation]) -> list[Finding]:
    """Makes one finding of each run of neighbouring rows that break the same rule."""
    by_code: dict[str, list[RowViolation]] = {}
    for one in found:
        by_code.setdefault(str(one.violation.code), []).append(one)
    findings: list[Finding] = []
    for code in sorted(by_code):
        run: list[RowViolation] = []
        for one in sorted(by_code[code], key=lambda o: o.row):
            if run and one.row > run[-1].row + 1:
                findings.append(_finding(path, run))
                run = []
            run.append(one)
        findings.append(_finding(path, run))
    return sorted(findings, key=lambda f: (f.first_row, f.code))


def _finding(path: str, run: list[RowViolation]) -> Finding:
    worst = max(run, key=lambda one: (_excess(one.violation), -one.row))
    violation = worst.violation
    return Finding(
        path=path,
        first_row=run[0].row,
        last_row=run[-1].row,
        code=str(violation.code),
        subject=violation.subject,
        against=violation.against,
        value=_finite(violation.value),
        limit=_finite(violation.limit),
        unit=violation.unit,
        excess=_excess(violation),
        worst_row=worst.row,
        sentence=_sentence(violation, worst.row),
    )


def _sentence(violation: Violation, row: int) -> str:
    """Returns the gate's sentence with the chunk's step replaced by the row of the episode."""
    text = violation.sentence()
    if violation.step is None:
        return text
    return text.replace(f"step {violation.step}", f"row {row}")


def _excess(violation: Violation) -> float:
    distance = violation.limit_min - violation.value
    if violation.value > violation.limit_max:
        distance = violation.value - violation.limit_max
    return distance if math.isfinite(distance) else 0.0


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
