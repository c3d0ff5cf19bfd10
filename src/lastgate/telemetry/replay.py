# SPDX-License-Identifier: Apache-2.0
"""Runs recorded verdicts again and compares them, bit for bit."""

from collections.abc import Callable
from dataclasses import dataclass, field

from lastgate import _core
from lastgate.contracts import ROSConfigError, violation_code_of
from lastgate.telemetry.recording_reader import Recording


@dataclass(frozen=True, slots=True)
class Difference:
    """Is a verdict that came out differently."""

    number: int
    recorded: str
    repeated: str


@dataclass(slots=True)
class ReplayOutcome:
    """Says how many verdicts came out the same.

    Attributes:
        left_out: Numbers of the checks that could not be run again, with the reason.
    """

    same: int = 0
    differences: list[Difference] = field(default_factory=list)
    left_out: list[tuple[int, str]] = field(default_factory=list)


def replay(recording: Recording, *, on_check: Callable[[], None] = lambda: None) -> ReplayOutcome:
    """Asks gates of the recorded models again, and compares all that the core says."""
    gates = {digest: model.gate() for digest, model in recording.models.items()}
    outcome = ReplayOutcome()
    for check in recording.checks:
        on_check()
        if check.not_repeatable:
            outcome.left_out.append((check.number, check.not_repeatable))
            continue
        try:
            repeated = check.run(gates[check.model_digest]).to_bytes()
        except ROSConfigError as error:
            # What the gate took then and does not take now came out differently, whatever it would have said.
            outcome.differences.append(Difference(check.number, described(check.verdict), str(error)))
            continue
        if repeated == check.verdict:
            outcome.same += 1
        else:
            outcome.differences.append(
                Difference(check.number, described(check.verdict), described(repeated))
            )
    return outcome


def described(verdict: bytes) -> str:
    """Returns the core's verdict as one line of its numbers; bytes that are none are called so."""
    try:
        native = _core.Verdict.from_bytes(verdict)
    except ValueError:
        return "bytes that are no verdict of this version"
    if native.accepted:
        return f"accepted, clearance {native.min_clearance_m!r} m, {native.evaluations} evaluations"
    raw = native.violation
    return f"{violation_code_of(raw.code)} at row {raw.row}, value {raw.value!r}, {native.evaluations} evaluations"
