# SPDX-License-Identifier: Apache-2.0
"""What a gate would have done: rejections per hour by reason, and the same log under other margins."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from lastgate.contracts import (
    RobotDescription,
    ROSConfigError,
    RSkillManifest,
    SafetyEnvelope,
    intersect_envelopes,
)
from lastgate.gate import Gate
from lastgate.integrations.shadow_log import LoggedCheck, read_log

# Nearer than this is a near contact: servos add about as much on their own.
NEAR_M = 0.002
MARGINS_M = (0.0, 0.005, 0.01, 0.02, 0.03)


@dataclass(frozen=True, slots=True, kw_only=True)
class MarginRow:
    """One line of the sweep.

    Attributes:
        rejected: Proposals that a gate with this margin rejects.
        near_contacts: Proposals it accepts although the motion comes nearer than `NEAR_M` to something.
    """

    margin_m: float
    refused: int
    refused_per_hour: float
    near_contacts: int


@dataclass(slots=True, kw_only=True)
class ShadowReport:
    """The contents of a shadow log in numbers.

    Attributes:
        hours: From the first proposal to the last.
        left_out_of_sweep: Proposals whose world cannot be built again from the log.
        skipped_margins_m: Below what the robot itself asks for.
    """

    robot: str
    proposals: int = 0
    hours: float = 0.0
    refused: int = 0
    refused_per_hour: dict[str, float] = field(default_factory=dict)
    refused_by_reason: dict[str, int] = field(default_factory=dict)
    examples: dict[str, str] = field(default_factory=dict)
    sweep: list[MarginRow] = field(default_factory=list)
    left_out_of_sweep: int = 0
    skipped_margins_m: list[float] = field(default_factory=list)


def report_shadow(
    log: Path, robot: RobotDescription, *, margins_m: Sequence[float] = MARGINS_M
) -> ShadowReport:
    """Reads a log twice: once for what was decided then, once for what other margins decide.

    Raises:
        ROSConfigError: Not a log, of another robot, or too short to speak of hours.
    """
    head, checks = read_log(log)
    if head.get("robot") != robot.name:
        raise ROSConfigError(f"{log}: is of robot `{head.get('robot')}`, not of `{robot.name}`")
    report = ShadowReport(robot=robot.name)
    first_s = last_s = None
    reasons: Counter[str] = Counter()
    for check in checks:
        first_s = check.now_s if first_s is None else first_s
        last_s = check.now_s
        report.proposals += 1
        if check.code:
            reasons[check.code] += 1
            report.examples.setdefault(check.code, check.sentence)
    if first_s is None or last_s is None or not last_s > first_s:
        raise ROSConfigError(f"{log}: has fewer than two proposals at different times")
    # The last proposal takes as long as the ones before did, on average.
    report.hours = (last_s - first_s) * report.proposals / (report.proposals - 1) / 3600.0
    report.refused = sum(reasons.values())
    report.refused_by_reason = dict(sorted(reasons.items(), key=lambda item: (-item[1], item[0])))
    report.refused_per_hour = {code: n / report.hours for code, n in report.refused_by_reason.items()}
    _sweep(log, robot, float(head["step_s"]), margins_m, report)
    return report


def _sweep(
    log: Path, robot: RobotDescription, step_s: float, margins_m: Sequence[float], report: ShadowReport
) -> None:
    own = intersect_envelopes(robot, None)
    own_m = max(own.self_collision_margin_m, own.world_collision_margin_m)
    report.skipped_margins_m = [margin for margin in margins_m if margin < own_m]
    gates = {m: _gate(robot, step_s, m) for m in margins_m if m >= own_m}
    # What stays clear by this much is no near contact.
    near_gate = _gate(robot, step_s, max(NEAR_M, own_m))
    refused: Counter[float] = Counter()
    near: Counter[float] = Counter()
    for check in read_log(log)[1]:
        if check.chunk is None or not check.world_is_whole:
            report.left_out_of_sweep += 1
            continue
        accepted = [margin for margin, gate in gates.items() if _accepts(gate, check)]
        refused.update(set(gates) - set(accepted))
        if accepted and not _accepts(near_gate, check):
            near.update(accepted)
    report.sweep = [
        MarginRow(
            margin_m=margin,
            refused=refused[margin],
            refused_per_hour=refused[margin] / report.hours,
            near_contacts=near[margin],
        )
        for margin in gates
    ]


def _gate(robot: RobotDescription, step_s: float, margin_m: float) -> Gate:
    margins = SafetyEnvelope(self_collision_margin_m=margin_m, world_collision_margin_m=margin_m)
    skill = RSkillManifest(name="margin-sweep", version="1.0.0", envelope=margins)
    return Gate(robot, step_s=step_s, skill=skill)


def _accepts(gate: Gate, check: LoggedCheck) -> bool:
    assert check.chunk is not None
    return gate.check(check.chunk, state=check.state, world=check.world, now_s=check.now_s).accepted
