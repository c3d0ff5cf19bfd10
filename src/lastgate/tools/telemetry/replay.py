# SPDX-License-Identifier: Apache-2.0
"""Runs recorded verdicts again and compares all that was recorded of them, bit for bit."""

import math
import struct
from collections.abc import Callable
from dataclasses import dataclass, field

from lastgate import _core
from lastgate.contracts import ROSConfigError, violation_code_of
from lastgate.gate import Gate
from lastgate.tools.telemetry.recording_reader import RecordedCheck, Recording


@dataclass(frozen=True, slots=True)
class Difference:
    """A verdict that came out differently."""

    number: int
    recorded: str
    repeated: str


@dataclass(slots=True)
class ReplayOutcome:
    """The number of verdicts that came out the same.

    Attributes:
        left_out: Numbers of the checks that could not be run again, with the reason.
    """

    same: int = 0
    differences: list[Difference] = field(default_factory=list)
    left_out: list[tuple[int, str]] = field(default_factory=list)


def replay(recording: Recording, *, on_check: Callable[[], None] = lambda: None) -> ReplayOutcome:
    """Asks gates of the recorded models again, and compares all that the file says of each verdict.

    A verdict that was changed after it was recorded, or whose inputs were, is a difference too, as far as the file is
    bound (`Recording.bound`); so is one that is missing.
    """
    gates = {digest: model.gate() for digest, model in recording.models.items()}
    outcome = ReplayOutcome()
    for check in recording.checks:
        on_check()
        difference = (
            (Difference(check.number, described(check.verdict), check.fault) if check.fault else None)
            or (None if check.not_repeatable else _repeated(check, gates[check.model_digest]))
            or _contradiction(check)
        )
        if difference is not None:
            outcome.differences.append(difference)
        elif check.not_repeatable:
            outcome.left_out.append((check.number, check.not_repeatable))
        else:
            outcome.same += 1
    for number in recording.missing:
        outcome.differences.append(Difference(number, "a verdict", "it is not in the file any more"))
    return outcome


def _contradiction(check: RecordedCheck) -> Difference | None:
    """Returns where what is said beside the core's verdict is not what that says."""
    native = _verdict_of(check.verdict)
    if native is None:
        return Difference(check.number, described(check.verdict), "nothing can be compared with them")
    code = "" if native.accepted else str(violation_code_of(native.violation.code))
    clearance_m = native.min_clearance_m if native.accepted else float("nan")
    return _first_difference(
        check.number,
        ("accepted", check.accepted, native.accepted),
        ("code", check.code, code),
        ("min_clearance_m", _bits(check.min_clearance_m), _bits(clearance_m)),
    )


def _repeated(check: RecordedCheck, gate: Gate) -> Difference | None:
    try:
        verdict = check.run(gate)
        certificate = _certificate(check, gate) if check.certificate else b""
    except ROSConfigError as error:
        # What the gate took then and does not take now came out differently, whatever it would have said.
        return Difference(check.number, described(check.verdict), str(error))
    if verdict.to_bytes() != check.verdict:
        return Difference(check.number, described(check.verdict), described(verdict.to_bytes()))
    violation = None if verdict.accepted else verdict.violations[0]
    return _first_difference(
        check.number,
        ("sentence", check.sentence, "" if violation is None else violation.sentence()),
        (
            "evidence",
            check.evidence_json,
            "" if violation is None else violation.evidence().model_dump_json(),
        ),
        ("certificate", check.certificate, certificate),
    )


def _certificate(check: RecordedCheck, gate: Gate) -> bytes:
    assert check.chunk is not None  # `run` has refused it otherwise
    shown = gate.certify(check.chunk, state=check.state, world=check.world, now_s=check.now_s)
    return shown.to_json().encode()


def _first_difference(number: int, *compared: tuple[str, object, object]) -> Difference | None:
    for name, recorded, repeated in compared:
        if recorded != repeated:
            texts = [f"{name} {value!r}" for value in (recorded, repeated)]
            return Difference(number, *(text if len(text) < 400 else f"{text[:400]}…" for text in texts))
    return None


def _bits(number: float) -> str:
    """Returns a number so that not-a-number equals itself, and nothing else does."""
    return "nan" if math.isnan(number) else struct.pack("<d", number).hex()


def _verdict_of(verdict: bytes) -> _core.Verdict | None:
    try:
        return _core.Verdict.from_bytes(verdict)
    except ValueError:
        return None


def described(verdict: bytes) -> str:
    """Returns the core's verdict as one line of its numbers; bytes that are none are called so."""
    native = _verdict_of(verdict)
    if native is None:
        return "bytes that are no verdict of this version"
    if native.accepted:
        return f"accepted, clearance {native.min_clearance_m!r} m, {native.evaluations} evaluations"
    raw = native.violation
    return f"{violation_code_of(raw.code)} at step {raw.row}, value {raw.value!r}, {native.evaluations} evaluations"
