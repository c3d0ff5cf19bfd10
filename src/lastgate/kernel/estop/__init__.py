# SPDX-License-Identifier: Apache-2.0
"""Emergency stops: the latch, and what a violation does to it."""

from lastgate.kernel.estop.latch import ResetOutcome, SafetyLatch, StopSource
from lastgate.kernel.estop.response import OnStale, OnViolation, Response, respond_to
from lastgate.kernel.estop.stop_reason import stop_reason

__all__ = [
    "OnStale",
    "OnViolation",
    "ResetOutcome",
    "Response",
    "SafetyLatch",
    "StopSource",
    "respond_to",
    "stop_reason",
]
