# SPDX-License-Identifier: Apache-2.0
"""Which checks a recording holds: all of them, or those that led to a rejection."""

import math
from collections import deque
from typing import Generic, Protocol, TypeVar

from lastgate.contracts.exceptions import ROSConfigError

# Checks that wait to be written, or are kept in case one is rejected: ten seconds of a 400 Hz stream, or four minutes
# of a policy that answers 16 times a second. Each holds its chunk, and the worlds it shares with others.
KEPT_MAX = 4096


class _Verdict(Protocol):
    @property
    def accepted(self) -> bool: ...


class _Check(Protocol):
    @property
    def wall_ns(self) -> int: ...
    @property
    def verdict(self) -> _Verdict: ...


Check = TypeVar("Check", bound=_Check)


class LastSeconds(Generic[Check]):
    """Keeps checks back until one is rejected.

    Args:
        last_s: How long before a rejection counts; None keeps nothing back.

    Raises:
        ROSConfigError: `last_s` is not a positive number.
    """

    def __init__(self, last_s: float | None) -> None:
        if last_s is not None and not (math.isfinite(last_s) and last_s > 0.0):
            raise ROSConfigError(f"last_s must be a positive number of seconds, got {last_s!r}")
        self._last_s = last_s
        self._kept: deque[Check] = deque(maxlen=KEPT_MAX)

    def due(self, check: Check) -> list[Check]:
        """Takes the next check and returns those that are to be written now, in order."""
        if self._last_s is None:
            return [check]
        self._kept.append(check)
        if check.verdict.accepted:
            return []
        begin_ns = check.wall_ns - int(self._last_s * 1e9)
        due = [kept for kept in self._kept if kept.wall_ns >= begin_ns]
        self._kept.clear()
        return due
