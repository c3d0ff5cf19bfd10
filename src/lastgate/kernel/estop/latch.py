# SPDX-License-Identifier: Apache-2.0
"""The emergency-stop latch: a pure state machine that has no clock and opens no file."""

import hashlib
import json
import math
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from numbers import Real
from typing import Annotated, Self

from pydantic import Field, ValidationError

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
    the same, and the cooldown begins with the next reset that is asked for.
    """

    def __init__(
        self, *, cooldown_s: float = DEFAULT_COOLDOWN_S, required_actuators: Iterable[str] = ()
    ) -> None:
        """Makes a latch that is clear; a cooldown that is not a positive number raises `ROSConfigError`."""
        if isinstance(cooldown_s, bool) or not isinstance(cooldown_s, int | float):
            raise ROSConfigError(f"cooldown_s must be a number of seconds, got {cooldown_s!r}")
        if not (math.isfinite(cooldown_s) and cooldown_s > 0.0):
            raise ROSConfigError(f"cooldown_s must be finite and greater than 0, got {cooldown_s!r}")
        if isinstance(required_actuators, str):
            raise ROSConfigError(f"required_actuators must be a list of names, got {required_actuators!r}")
        self._required = tuple(dict.fromkeys(required_actuators))
        if not all(isinstance(name, str) and name for name in self._required):
            raise ROSConfigError(f"required_actuators must be names, got {list(self._required)!r}")
        self._cooldown_s = float(cooldown_s)
        self._latched = False
        self._sequence = 0
        self._source = ""
        self._reason = ""
        self._asserted: dict[str, str] = {}
        self._acknowledged: set[str] = set()
        self._latest_s: float | None = None
        # None while latched: the stop happened at a time this clock cannot place.
        self._last_stop_s: float | None = None

    @property
    def latched(self) -> bool:
        """True while every chunk is rejected."""
        return self._latched

    @property
    def sequence(self) -> int:
        """Number that grows by one with every latch and every clear, and wraps like a uint32."""
        return self._sequence

    @property
    def source(self) -> str:
        """Source of the latest stop; empty while clear."""
        return self._source

    @property
    def reason(self) -> str:
        """Reason of the latest stop; empty while clear."""
        return self._reason

    @property
    def asserted_sources(self) -> tuple[str, ...]:
        """Sources that still hold the stop, in alphabetical order."""
        return tuple(sorted(self._asserted))

    @property
    def unacknowledged_actuators(self) -> tuple[str, ...]:
        """Required actuators that have not acknowledged this stop; none while clear."""
        if not self._latched:
            return ()
        return tuple(name for name in self._required if name not in self._acknowledged)

    def trip(self, *, source: str, reason: str, now_s: float) -> None:
        """Latches for an event that is over at once: a violation, or a message on the stop topic."""
        self._stop(_plain(source), _plain(reason), now_s)

    def assert_source(self, *, source: str, reason: str, now_s: float) -> None:
        """Latches for as long as the source holds it, and beyond: a held button, a missing heartbeat."""
        self._asserted[_plain(source)] = _plain(reason)
        self._stop(_plain(source), _plain(reason), now_s)

    def release_source(self, *, source: str) -> bool:
        """Notes that a source no longer holds the stop, and tells whether it did; the latch stays."""
        return self._asserted.pop(_plain(source), None) is not None

    def acknowledge(self, *, actuator: str, sequence: int) -> bool:
        """Notes that an actuator has stopped, and tells whether that counts.

        `sequence` is the one the actuator answers to: a late answer to an earlier stop does not count.

        Raises:
            ROSConfigError: The actuator is not one of the required ones.
        """
        if actuator not in self._required:
            known = ", ".join(self._required) or "none"
            raise ROSConfigError(f"`{actuator}` is not a required actuator; required: {known}")
        if not self._latched or sequence != self._sequence:
            return False
        self._acknowledged.add(actuator)
        return True

    def reset(self, *, now_s: float) -> ResetOutcome:
        """Clears the latch if nothing blocks it; otherwise the message names everything that does."""
        # Even a reset with nothing to do tells the time: a stop stamped earlier must not cool down sooner.
        reached_s = self._advance(now_s)
        if not self._latched:
            return ResetOutcome(success=True, message="not latched, nothing to reset")
        blockers = [
            f"source `{name}` is still asserted ({why})" for name, why in sorted(self._asserted.items())
        ]
        blockers += [
            f"actuator `{name}` has not acknowledged the stop" for name in self.unacknowledged_actuators
        ]
        blockers += [f"{now_s!r} is not a time"] if reached_s is None else self._cooldown_blockers(reached_s)
        if blockers:
            return ResetOutcome(success=False, message="reset refused: " + "; ".join(blockers))
        self._latched = False
        self._sequence = (self._sequence + 1) % _SEQUENCE_MODULUS
        self._source = self._reason = ""
        self._acknowledged.clear()
        self._last_stop_s = None
        return ResetOutcome(success=True, message="reset")

    def to_json(self) -> str:
        """Returns the state as text for a file, without times: the next process has another clock."""
        state = _LatchState(
            schema_version=1,
            latched=self._latched,
            sequence=self._sequence,
            source=self._source,
            reason=self._reason,
            asserted=dict(sorted(self._asserted.items())),
            acknowledged=tuple(sorted(self._acknowledged)),
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
            latch._stop(StopSource.KERNEL, f"the stored latch state cannot be used: {error}", math.nan)
            return latch
        latch._latched = state.latched
        latch._sequence = state.sequence
        latch._source = state.source
        latch._reason = state.reason
        latch._asserted = dict(state.asserted)
        latch._acknowledged = set(state.acknowledged)
        return latch

    def _stop(self, source: str, reason: str, now_s: float) -> None:
        if not self._latched:
            self._latched = True
            self._sequence = (self._sequence + 1) % _SEQUENCE_MODULUS
            self._acknowledged.clear()
        self._source = source
        self._reason = reason
        self._last_stop_s = self._advance(now_s)

    def _advance(self, now_s: float) -> float | None:
        """Returns the time, never earlier than one seen before; None for what is not a time."""
        time_s = _time_or_none(now_s)
        if time_s is None:
            return None
        self._latest_s = time_s if self._latest_s is None else max(self._latest_s, time_s)
        return self._latest_s

    def _cooldown_blockers(self, reached_s: float) -> list[str]:
        if self._last_stop_s is None:
            self._last_stop_s = reached_s
        elapsed_s = reached_s - self._last_stop_s
        if elapsed_s >= self._cooldown_s:
            return []
        return [f"cooling down, {elapsed_s:.3f} s of {self._cooldown_s:.3f} s since the most recent stop"]


def _plain(text: object) -> str:
    # A stop with a name that is not text is still a stop, and must still fit into the file.
    return str(text).encode("utf-8", "replace").decode() or "unknown"


def _time_or_none(now_s: object) -> float | None:
    if isinstance(now_s, bool) or not isinstance(now_s, Real):
        return None
    try:
        time_s = float(now_s)
    except (OverflowError, ValueError):
        return None
    return time_s if math.isfinite(time_s) else None


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
