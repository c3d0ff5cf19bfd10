# SPDX-License-Identifier: Apache-2.0
"""The deadman: stops the robot when accepted chunks cease. Pure: no clock, no process."""

import math
from dataclasses import dataclass, field

from lastgate.contracts.evidence import TimeoutEvidence
from lastgate.contracts.exceptions import ROSConfigError


@dataclass(slots=True, kw_only=True)
class Deadman:
    """Watches for accepted chunks, and fires once when none came for `deadline_s` while the kernel was active.

    It is armed whenever the kernel becomes active, by a start or by a reset, and counts from then. While a stop
    is latched it has nothing to add.
    """

    deadline_s: float
    _since_s: float | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        if not (math.isfinite(self.deadline_s) and self.deadline_s > 0.0):
            raise ROSConfigError(
                f"the deadline must be a positive number of seconds, got {self.deadline_s!r}"
            )

    def safe_action(self, *, now_s: float) -> None:
        """Notes that an accepted chunk came."""
        if self._since_s is not None:
            self._since_s = max(self._since_s, now_s)

    def poll(self, *, active: bool, now_s: float) -> TimeoutEvidence | None:
        """Returns the evidence when it is time to stop, else nothing.

        Args:
            active: The kernel lets chunks pass: it is neither latched nor inactive.
            now_s: A clock that does not run backwards.
        """
        if not active:
            self._since_s = None
            return None
        if self._since_s is None:
            self._since_s = now_s
        elapsed_s = now_s - self._since_s
        # NaN must fire, so the question is whether it is still in time.
        if elapsed_s <= self.deadline_s:
            return None
        self._since_s = None
        return TimeoutEvidence(
            operation="safe_action",
            deadline_s=self.deadline_s,
            elapsed_s=elapsed_s if math.isfinite(elapsed_s) else 0.0,
        )
