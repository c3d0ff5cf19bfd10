# SPDX-License-Identifier: Apache-2.0
"""The emergency-stop latch, without a clock and without a file; its rules are those of `kernel/latch.cpp`."""

import hashlib
import json
import math
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from numbers import Real
from typing import Annotated, Self

from pydantic import Field, ValidationError

from lastgate import _core
from lastgate.contracts.exceptions import ROSConfigError
from lastgate.contracts.schema import Flag, Schema, SchemaVersion, Text, describe_validation_error

# `SafetyStatus.sequence` is a uint32 on the wire.
_SEQUENCE_MODULUS = 2**32

# Long enough for a pressed button to stop bouncing, short enough not to be worked around.
DEFAULT_COOLDOWN_S = 0.5


class StopSource(StrEnum):
    """Names the sources every deployment has; any other name may be used as well."""

    KERNEL = "kernel"
    DEADMAN = "deadman"
    PENDANT = "pendant"
    HUMAN = "human"
    EXTERNAL = "external"


@dataclass(frozen=True, slots=True, kw_only=True)
class ResetOutcome:
    """The answer to a reset: whether the latch is clear now, and if not, everything that blocks it."""

    success: bool
    message: str

    # `while not kernel.reset()` would go on after a reset that was refused.
    def __bool__(self) -> bool:
        raise TypeError("a ResetOutcome has no truth value; read outcome.success")


class _LatchState(Schema):
    """The record on disk, so that a stop outlives the process."""

    schema_version: SchemaVersion
    latched: Flag
    sequence: Annotated[int, Field(strict=True, ge=0, lt=_SEQUENCE_MODULUS)]
    source: Text
    reason: Text
    asserted: dict[Text, Text]
    acknowledged: tuple[Text, ...]

    def _problems(self) -> list[str]:
        if self.asserted and not self.latched:
            return [f"sources are asserted while nothing is latched: {', '.join(self.asserted)}"]
        return []


class SafetyLatch:
    """Remembers that an emergency stop happened until a reset is both asked for and possible.

    Times are seconds of one clock that does not run backwards; if it does, time stands still for the latch,
    so the cooldown only gets longer. A stop is never refused: with a time that is not a number it latches all
    the same, and the cooldown begins with the next reset that is asked for. Long names and reasons are cut.
    """

    def __init__(
        self, *, cooldown_s: float = DEFAULT_COOLDOWN_S, required_actuators: Iterable[str] = ()
    ) -> None:
        """Makes a latch that is clear; a cooldown that is not a positive number raises `ROSConfigError`."""
        if isinstance(cooldown_s, bool) or not isinstance(cooldown_s, int | float):
            raise ROSConfigError(f"cooldown_s must be a number of seconds, got {cooldown_s!r}")
        if not (math.isfinite(cooldown_s) and cooldown_s > 0.0):
            raise ROSConfigError(f"cooldown_s must be finite and greater than 0, got {cooldown_s!r}")
        self._required = _require_actuators(required_actuators)
        self._native = _core.Latch(cooldown_s=float(cooldown_s))
        for name in self._required:
            self._native.require_actuator(name)

    @property
    def latched(self) -> bool:
        """True while every chunk is rejected."""
        return self._native.latched

    @property
    def sequence(self) -> int:
        """Number that grows by one with every latch and every clear, and wraps like a uint32."""
        return self._native.sequence

    @property
    def source(self) -> str:
        """Source of the latest stop; empty while clear."""
        return self._native.source

    @property
    def reason(self) -> str:
        """Reason of the latest stop; empty while clear."""
        return self._native.reason

    @property
    def asserted_sources(self) -> tuple[str, ...]:
        """Sources that still hold the stop, in alphabetical order."""
        return tuple(sorted(name for name, _ in self._native.asserted))

    @property
    def unacknowledged_actuators(self) -> tuple[str, ...]:
        """Required actuators that have not acknowledged this stop; none while clear."""
        if not self.latched:
            return ()
        acknowledged = self._native.acknowledged
        return tuple(name for name in self._required if name not in acknowledged)

    def trip(self, *, source: str, reason: str, now_s: float) -> None:
        """Latches for an event that is over at once: a violation, or a message on the stop topic."""
        self._native.trip(source=_plain_name(source), reason=_plain(reason), now_s=_time_or_nan(now_s))

    def assert_source(self, *, source: str, reason: str, now_s: float) -> None:
        """Latches for as long as the source holds it, and beyond: a held button, a missing heartbeat."""
        self._native.assert_source(
            source=_plain_name(source), reason=_plain(reason), now_s=_time_or_nan(now_s)
        )

    def release_source(self, *, source: str) -> bool:
        """Notes that a source no longer holds the stop, and tells whether it did; the latch stays."""
        return self._native.release_source(_plain_name(source))

    def acknowledge(self, *, actuator: str, sequence: int) -> bool:
        """Notes that an actuator has stopped, and tells whether that counts.

        `sequence` is the one the actuator answers to: a late answer to an earlier stop does not count.

        Raises:
            ROSConfigError: The actuator is not one of the required ones.
        """
        if actuator not in self._required:
            known = ", ".join(self._required) or "none"
            raise ROSConfigError(f"`{actuator}` is not a required actuator; required: {known}")
        if not 0 <= sequence < _SEQUENCE_MODULUS:
            return False
        return self._native.acknowledge(actuator=actuator, sequence=sequence)

    def reset(self, *, now_s: float) -> ResetOutcome:
        """Clears the latch if nothing blocks it; otherwise the message names everything that does."""
        success, message = self._native.reset(now_s=_time_or_nan(now_s))
        return ResetOutcome(success=success, message=message)

    def to_json(self) -> str:
        """Returns the state as text for a file, without times: the next process has another clock."""
        state = _LatchState(
            schema_version=1,
            latched=self.latched,
            sequence=self.sequence,
            source=self.source,
            reason=self.reason,
            asserted=dict(sorted(self._native.asserted)),
            acknowledged=tuple(sorted(self._native.acknowledged)) if self.latched else (),
        ).model_dump(mode="json")
        return json.dumps({"state": state, "digest": _digest(state)}, sort_keys=True)

    @classmethod
    def from_json(
        cls, text: str, *, cooldown_s: float = DEFAULT_COOLDOWN_S, required_actuators: Iterable[str] = ()
    ) -> Self:
        """Returns the latch that `to_json` wrote down; text that is damaged in any way gives a latched one.

        A stop that was written down cools down again, from the first reset that is asked for.
        """
        latch = cls(cooldown_s=cooldown_s, required_actuators=required_actuators)
        try:
            state = _read_state(text)
        except (ValueError, TypeError, RecursionError) as error:
            latch.trip(
                source=StopSource.KERNEL,
                reason=f"the stored latch state cannot be used: {error}",
                now_s=math.nan,
            )
            return latch
        latch._native.restore(
            latched=state.latched,
            sequence=state.sequence,
            source=state.source,
            reason=state.reason,
        )
        for source, reason in state.asserted.items():
            latch._native.restore_source(source=_plain_name(source), reason=reason)
        for actuator in state.acknowledged:
            latch._native.restore_acknowledgement(actuator)
        return latch


def _require_actuators(names: Iterable[str]) -> tuple[str, ...]:
    if isinstance(names, str):
        raise ROSConfigError(f"required_actuators must be a list of names, got {names!r}")
    required = tuple(dict.fromkeys(names))
    longest = _core.REGISTRATION_NAME_BYTES_MAX
    if len(required) > _core.SOURCES_MAX or not all(
        isinstance(name, str) and 1 <= len(name.encode(errors="replace")) <= longest for name in required
    ):
        raise ROSConfigError(
            f"required_actuators must be at most {_core.SOURCES_MAX} names of 1 to {longest} bytes, "
            f"got {list(required)!r}"
        )
    return required


def _plain_name(source: object) -> str:
    """Returns a name that fits into the latch; one that is too long keeps its beginning and stays one of its own."""
    name = _plain(source)
    if len(name.encode()) <= _core.REGISTRATION_NAME_BYTES_MAX:
        return name
    digest = hashlib.sha256(name.encode()).hexdigest()[:8]
    return name.encode()[:20].decode(errors="ignore") + f"#{digest}"


def _plain(text: object) -> str:
    # A stop with a name that is not text is still a stop, and must still fit into the file.
    return str(text).encode("utf-8", "replace").decode() or "unknown"


def _time_or_nan(now_s: object) -> float:
    if isinstance(now_s, bool) or not isinstance(now_s, Real):
        return math.nan
    try:
        return float(now_s)
    except (OverflowError, ValueError):
        return math.nan


def _digest(state: object) -> str:
    return hashlib.sha256(json.dumps(state, sort_keys=True).encode()).hexdigest()


def _read_state(text: str) -> _LatchState:
    document = json.loads(text)
    if not isinstance(document, dict) or set(document) != {"state", "digest"}:
        raise ValueError("it does not hold exactly a state and a digest")
    if document["digest"] != _digest(document["state"]):
        raise ValueError("its digest does not match")
    # JSON reads the same with other white space; a file that is not what was written was changed from outside.
    if json.dumps(document, sort_keys=True) != text:
        raise ValueError("it is not written as it was")
    try:
        return _LatchState.model_validate(document["state"])
    except ValidationError as error:
        raise ValueError("; ".join(describe_validation_error(error))) from None
