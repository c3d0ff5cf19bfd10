# SPDX-License-Identifier: Apache-2.0
"""What a violation leads to, besides that the chunk never passes; the rule is `kernel/response.hpp`."""

from dataclasses import dataclass
from enum import StrEnum
from typing import TypeVar

from lastgate import _core
from lastgate.contracts.exceptions import ROSConfigError
from lastgate.contracts.violation_codes import ViolationCode


class OnViolation(StrEnum):
    """Responses to a chunk that breaks a rule."""

    ESTOP = "estop"
    HOLD = "hold"


class OnStale(StrEnum):
    """Responses to missing, stale or overflowing data."""

    ESTOP = "estop"
    STOP = "stop"
    DROP = "drop"


@dataclass(frozen=True, slots=True, kw_only=True)
class Response:
    """The response to a rejected chunk; that the chunk does not pass is not an option but the premise.

    Attributes:
        report: Publish a `FailureTrigger` of severity ABORT.
        latch: Publish an emergency stop and latch.
        controlled_stop: Ask the robot's driver for a controlled stop.
    """

    report: bool
    latch: bool
    controlled_stop: bool


_Setting = TypeVar("_Setting", OnViolation, OnStale)


def _require_setting(kind: type[_Setting], name: str, value: str) -> _Setting:
    try:
        return kind(value)
    except ValueError:
        choices = ", ".join(kind)
        raise ROSConfigError(f"`{name}` must be one of {choices}, got {value!r}") from None


def respond_to(code: ViolationCode, *, on_violation: str = "estop", on_stale: str = "estop") -> Response:
    """Returns what a chunk rejected for `code` leads to under the two settings.

    A chunk rejected because a stop is already latched leads to nothing more. A fault of the gate itself
    latches under every setting.

    Raises:
        ROSConfigError: A setting is not one of its words.
    """
    violation_setting = _require_setting(OnViolation, "on_violation", on_violation)
    stale_setting = _require_setting(OnStale, "on_stale", on_stale)
    response = _core.respond_to(
        _core.ViolationCode(code.number),
        on_violation=_core.OnViolation[violation_setting],
        on_stale=_core.OnStale[stale_setting],
    )
    return Response(report=response.report, latch=response.latch, controlled_stop=response.controlled_stop)
