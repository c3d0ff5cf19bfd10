# SPDX-License-Identifier: Apache-2.0
"""The worst moments of an audit as rejection reports: the episode is read again, and the gate asked again."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from lastgate.contracts.action import ActionChunk, RobotState
from lastgate.tools.audit.episode import Episode, UnreadableEpisodeError
from lastgate.tools.audit.examine import Examiner
from lastgate.tools.audit.job import OpenAudit
from lastgate.tools.telemetry.rejection_report import RejectionReport, rejection_report
from lastgate.world import World

# Steps of the chunk that the report shows, the rejected one among them.
ROWS_BEFORE = 8
ROWS_AFTER = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """One finding with its report; None where the moment cannot be shown as a chunk.

    Attributes:
        is_worst: The report shows the worst row; else where the gate rejects first in the rows around it.
        first_row: Row of the episode that the report calls step 0; None without a report.
    """

    finding: dict[str, Any]
    report: RejectionReport | None
    is_worst: bool = True
    first_row: int | None = None


def worst_moments(audit: OpenAudit, findings: list[dict[str, Any]]) -> list[Moment]:
    """Returns a report for each finding, in their order."""
    by_number = {ref.number: ref for ref in audit.refs}
    return [_moment(audit, by_number[finding["episode"]], finding) for finding in findings]


def _moment(audit: OpenAudit, ref: Any, finding: dict[str, Any]) -> Moment:
    if finding["code"] == "state_unavailable":
        return Moment(finding=finding, report=None)
    try:
        episode = audit.dataset.read(ref)
        if finding["path"] == "chunk":
            report, first_row = _chunk_report(audit.examiner, episode, finding["worst_row"])
            return Moment(finding=finding, report=report, first_row=first_row)
        path, gripper = audit.examiner.path_of(episode, finding["path"])
    except UnreadableEpisodeError:
        return Moment(finding=finding, report=None)
    # A path of actions begins at the measured state, before the first action.
    ahead = 1 if finding["path"] == "action" else 0
    at = finding["worst_row"] + ahead
    gate, world = audit.examiner.gate, audit.examiner.world
    nearby: RejectionReport | None = None
    nearby_row: int | None = None
    # Rows that are rejected themselves would hide this one, so the chunk may have to begin right before it, or on it.
    for before in (ROWS_BEFORE, 0, -1):
        start = min(max(0, at - 1 - before), len(path) - 1)
        first = min(start + 1, at)
        rows = np.ascontiguousarray(path[first : at + 1 + ROWS_AFTER])
        now_s = world.stamp_s if isinstance(world, World) else 0.0
        state = RobotState(
            positions=path[start].copy(),
            gripper_positions=None if gripper is None else gripper[start].copy(),
            stamp_s=now_s,
        )
        chunk = ActionChunk(rows)
        verdict = gate.check(chunk, state=state, world=world, now_s=now_s)
        if verdict.accepted or str(verdict.violations[0].code) != finding["code"]:
            continue
        violation = verdict.violations[0]
        report = rejection_report(gate, verdict, chunk=chunk, state=state, world=world)
        row = None if violation.step is None else first + violation.step
        if (row, violation.subject, violation.against) == (at, finding["subject"], finding["against"]):
            return Moment(finding=finding, report=report, first_row=first - ahead)
        if nearby is None:
            nearby, nearby_row = report, first - ahead
    return Moment(finding=finding, report=nearby, is_worst=False, first_row=nearby_row)


def _chunk_report(
    examiner: Examiner, episode: Episode, row: int
) -> tuple[RejectionReport | None, int | None]:
    """Returns the report of the chunk that holds a row, and the row that it begins at."""
    for first_row, told in examiner.chunk_moments(episode):
        if first_row <= row < first_row + len(told.chunk.rows):
            if told.state is None or told.verdict.accepted:
                return None, None
            report = rejection_report(
                examiner.gate, told.verdict, chunk=told.chunk, state=told.state, world=told.world
            )
            return report, first_row
    return None, None
