# SPDX-License-Identifier: Apache-2.0
"""Decides what a violation leads to, besides that the chunk never passes."""

from dataclasses import dataclass
from enum import StrEnum
from typing import TypeVar

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


# Stages 7 and 9 of the validation order: the motion may be fine, but it could not be checked.
STALE_CODES = frozenset(
    {
        ViolationCode.state_unavailable,
        ViolationCode.world_unavailable,
        ViolationCode.world_overflow,
        ViolationCode.voxel_unavailable,
        ViolationCode.voxel_overflow,
    }
)

# The gate itself is in doubt, so no setting may let it go on to the next chunk.
FAULT_CODES = frozenset({ViolationCode.not_checked, ViolationCode.internal_fault})


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
    if code is ViolationCode.estop_latched:
        return Response(report=False, latch=False, controlled_stop=False)
    if code in FAULT_CODES:
        return Response(report=True, latch=True, controlled_stop=False)
    if code in STALE_CODES:
        return Response(
            report=True,
            latch=stale_setting is OnStale.ESTOP,
            controlled_stop=stale_setting is OnStale.STOP,
        )
    return Response(report=True, latch=violation_setting is OnViolation.ESTOP, controlled_stop=False)
