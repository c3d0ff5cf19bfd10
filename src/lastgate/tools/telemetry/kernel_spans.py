# SPDX-License-Identifier: Apache-2.0
"""Spans from a running kernel: one for every chunk it decided about."""

from lastgate import _core
from lastgate.contracts import FailureEvidence, read_evidence
from lastgate.kernel.ring_follower import ChannelMessages, open_ring
from lastgate.tools.telemetry.check_span import CheckedChunk
from lastgate.tools.telemetry.span_sender import SpanSender


class KernelSpans:
    """Reads a kernel's ring of traces and hands them to a sender.

    The kernel never waits for it: what is overwritten before it is read is counted in `lost`.

    Raises:
        ROSConfigError: There is no such kernel.
    """

    def __init__(self, instance: str, sender: SpanSender) -> None:
        self._traces = open_ring(instance, "traces")
        self._verdicts = ChannelMessages(instance, "verdicts", start="next")
        self._sender = sender
        self.last_drop_reason = ""

    @property
    def lost(self) -> int:
        """Number of chunks that the kernel decided about and that no span will report."""
        return self._traces.lost

    def forward(self, timeout_s: float) -> int:
        """Waits for a trace, forwards it and all that are there, and returns how many."""
        count = 0
        message = self._traces.read(timeout_s)
        while message is not None:
            trace = _core.decode_trace(message[3])
            if trace is not None:
                self._forward_one(trace)
                count += 1
            message = self._traces.read(0.0)
        return count

    def _forward_one(self, trace: _core.TraceFrame) -> None:
        verdict = trace.verdict
        if not verdict.accepted:
            self.last_drop_reason = _core.violation_word(verdict.violation.code)
        self._sender.put(
            CheckedChunk(
                begun_ns=round(trace.begun_wall_s * 1e9),
                duration_ns=round(trace.duration_s * 1e9),
                verdict=verdict,
                traceparent=trace.trace_id,
                rskill_id=trace.rskill_id,
                warn_only=trace.warn_only,
                evidence=None if verdict.accepted else self._evidence(trace),
            )
        )

    def _evidence(self, trace: _core.TraceFrame) -> FailureEvidence | None:
        """Returns what the kernel said in names; None where its answer is gone already."""
        self._verdicts.drain()
        for kind, payload in self._verdicts.of_channel(trace.channel):
            # Answers are numbered by themselves, and say which chunk they are about.
            told = _core.decode_verdict(payload) if kind == _core.MessageType.verdict else None
            if told is not None and told.chunk_sequence == trace.chunk_sequence and told.evidence:
                return _read(told.evidence)
        return None


def _read(evidence: bytes) -> FailureEvidence | None:
    try:
        return read_evidence(evidence)
    except ValueError:
        return None  # longer than an answer has room for: cut off
