# SPDX-License-Identifier: Apache-2.0
"""Spans from a gate in this process."""

import time
from typing import Unpack

from lastgate.contracts.action import ActionChunk
from lastgate.gate.verdict import Verdict
from lastgate.tools.telemetry.check_span import CheckedChunk
from lastgate.tools.telemetry.checker import Checker, Circumstances
from lastgate.tools.telemetry.span_sender import SpanSender


class SpanRecorder:
    """Checks like its gate, and tells a sender about every verdict.

    Args:
        gate: Decides; a gate, or a `Recorder` around one.
        sender: Gets one span per check, after the verdict is there.
    """

    def __init__(self, gate: Checker, sender: SpanSender) -> None:
        self.gate = gate
        self._sender = sender

    def check(self, chunk: ActionChunk, **told: Unpack[Circumstances]) -> Verdict:
        """Returns what `Gate.check` returns."""
        begun_ns, began = time.time_ns(), time.perf_counter_ns()
        verdict = self.gate.check(chunk, **told)
        duration_ns = time.perf_counter_ns() - began
        violation = None if verdict.accepted else verdict.violations[0]
        self._sender.put(
            CheckedChunk(
                begun_ns=begun_ns,
                duration_ns=duration_ns,
                verdict=verdict.native,
                traceparent=chunk.trace_id,
                rskill_id=chunk.rskill_id,
                evidence=None if violation is None else violation.evidence(),
                sentence="" if violation is None else violation.sentence(),
            )
        )
        return verdict
