# SPDX-License-Identifier: Apache-2.0
"""What a `safety.check` span says about one chunk."""

import math
from dataclasses import dataclass

from lastgate import _core
from lastgate.contracts import (
    CATALOGUE,
    CollisionEvidence,
    ControllerEvidence,
    FailureEvidence,
    ForceEvidence,
    JointLimitEvidence,
    ViolationCode,
    WorkspaceEvidence,
    violation_code_of,
)

SPAN_NAME = "safety.check"
VIOLATION_EVENT = "openral.event.safety_violation"

Attribute = str | bool | int | float

# Nothing was found wrong with a chunk that is rejected for these; the robot is not to move at all.
_DROPPED_UNSEEN = {ViolationCode.estop_latched, ViolationCode.envelope_unconfigured}
# By the stage of the validation order that decided; every other stage is about the envelope.
_CHECK_NAME_OF_STAGE = {7: "state", 9: "world", 10: "self_collision", 11: "world_collision"}


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedChunk:
    """One chunk as telemetry knows it, from a gate in this process or from a kernel's ring.

    Attributes:
        begun_ns: Wall clock, since 1970.
        traceparent: As the chunk carried it; the span's parent when it is one.
        warn_only: The chunk went through although it was rejected.
        evidence: Names what the verdict numbers; None when the chunk was accepted or it was not kept.
        sentence: The violation in words; empty where only numbers are known.
    """

    begun_ns: int
    duration_ns: int
    verdict: _core.Verdict
    traceparent: str = ""
    rskill_id: str = ""
    warn_only: bool = False
    evidence: FailureEvidence | None = None
    sentence: str = ""


def severity_of(checked: CheckedChunk) -> str:
    """Returns `info`, `warn` (nothing is wrong with the chunk, or the gate only warns) or `violation`."""
    if checked.verdict.accepted:
        return "info"
    if checked.warn_only or violation_code_of(checked.verdict.violation.code) in _DROPPED_UNSEEN:
        return "warn"
    return "violation"


def attributes_of(checked: CheckedChunk) -> dict[str, Attribute]:
    """Returns the span's attributes, by the names of the contract."""
    verdict = checked.verdict
    told: dict[str, Attribute] = {
        "safety.check_name": _CHECK_NAME_OF_STAGE.get(verdict.stage, "envelope"),
        "safety.kernel": "cpp",
        "safety.clamped": False,
        "safety.severity": severity_of(checked),
        "safety.duration_us": checked.duration_ns / 1000.0,
        "rskill.id": checked.rskill_id,
    }
    if verdict.accepted:
        told["safety.min_clearance_m"] = verdict.min_clearance_m
        return told
    raw = verdict.violation
    code = violation_code_of(raw.code)
    told["safety.drop_reason"] = str(code)
    if code in _DROPPED_UNSEEN:
        return told
    told["safety.violation_reason"] = checked.sentence or _sentence(checked.evidence) or str(code)
    limit = raw.limit_min if raw.value < raw.limit_min else raw.limit_max
    for name, number in (("value", raw.value), ("limit", limit)):
        # Neither NaN nor infinity survives a collector that speaks JSON.
        if math.isfinite(number):
            told[f"safety.violation_{name}"] = number
    evidence = checked.evidence
    if evidence is None:
        return told
    told["safety.evidence"] = evidence.model_dump_json()
    match evidence:
        case CollisionEvidence():
            told["safety.collision_mode"] = evidence.collision_kind
            told["safety.check_name"] = f"{evidence.collision_kind}_collision"
            told["safety.violation_joint"] = evidence.link_a
            told["safety.violation_against"] = evidence.link_b_or_object
        case JointLimitEvidence():
            told["safety.violation_joint"] = evidence.joint
        case WorkspaceEvidence():
            told["safety.violation_joint"] = evidence.ee_name
        case ForceEvidence():
            told["safety.violation_joint"] = evidence.joint_or_ee
    return told


def _sentence(evidence: FailureEvidence | None) -> str:
    """Returns what evidence says, in words, for a verdict of which nothing else is known."""
    match evidence:
        case CollisionEvidence():
            return (
                f"{evidence.link_a} / {evidence.link_b_or_object} are {evidence.min_distance_m:.4f} m apart "
                f"on the way to step {evidence.horizon_step}"
            )
        case JointLimitEvidence():
            unit = evidence.unit
            return (
                f"{evidence.joint} at step {evidence.horizon_step} is {evidence.measured:.4f} {unit}, "
                f"allowed {evidence.limit_min:.4f} to {evidence.limit_max:.4f} {unit}"
            )
        case WorkspaceEvidence():
            return f"{evidence.ee_name} leaves the workspace box"
        case ForceEvidence():
            return f"{evidence.joint_or_ee} is {evidence.measured_n:.4f}, allowed {evidence.limit_n:.4f}"
        case ControllerEvidence():
            return evidence.detail
    return ""


def event_attributes_of(checked: CheckedChunk) -> dict[str, Attribute] | None:
    """Returns what the violation event says; None where the span carries none."""
    if severity_of(checked) != "violation":
        return None
    entry = CATALOGUE[violation_code_of(checked.verdict.violation.code)]
    return {"safety.kind": entry.kind.name, "safety.field": entry.field or str(entry.code)}
