# SPDX-License-Identifier: Apache-2.0
"""Sends spans to a collector from a thread of its own: the gate never waits for it."""

import logging
import threading
import time
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from lastgate.contracts import ROSConfigError
from lastgate.contracts.extras import install_command
from lastgate.tools.telemetry.check_span import (
    SPAN_NAME,
    VIOLATION_EVENT,
    Attribute,
    CheckedChunk,
    attributes_of,
    event_attributes_of,
)

try:
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor, TracerProvider
    from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult
    from opentelemetry.sdk.trace.sampling import ALWAYS_ON
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
except ModuleNotFoundError:
    raise ROSConfigError(f"spans need `{install_command('telemetry')}`") from None

SERVICE_NAME = "openral_safety_kernel"

# Ten seconds of a 400 Hz stream: long enough for a collector that restarts, a few megabytes at most.
WAITING_MAX = 4096
# One request; at about 1 KiB a span this is half a megabyte.
_BATCH_MAX = 512
# How long a span may wait before it is sent. No thread is woken for each: waking costs more than the check.
_PERIOD_S = 0.1
# A collector that takes longer is as good as dead; what waits meanwhile is counted when it falls out.
_EXPORT_TIMEOUT_S = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class PlainSpan:
    """A span that is not about a chunk, such as a picture of the world."""

    name: str
    begun_ns: int
    duration_ns: int
    attributes: Mapping[str, Attribute]


@dataclass(frozen=True, slots=True, kw_only=True)
class SenderCounts:
    """The numbers of spans sent and lost.

    Attributes:
        fell_out: Never sent: more were waiting than there is room for.
        not_taken: The collector was dead, slow or refused them.
    """

    sent: int
    fell_out: int
    not_taken: int
    waiting: int


class _Collected(SpanProcessor):
    def __init__(self) -> None:
        self.spans: list[ReadableSpan] = []

    def on_end(self, span: ReadableSpan) -> None:
        self.spans.append(span)


class SpanSender:
    """Turns checked chunks into OTLP spans and sends them, in the background.

    Args:
        exporter: Where they go; OTLP/HTTP to `OTEL_EXPORTER_OTLP_ENDPOINT`, else `http://localhost:4318`, if not given.
        waiting_max: Number of spans that may wait; beyond it the oldest fall out and are counted.
    """

    def __init__(self, exporter: SpanExporter | None = None, *, waiting_max: int = WAITING_MAX) -> None:
        self._exporter = OTLPSpanExporter(timeout=_EXPORT_TIMEOUT_S) if exporter is None else exporter
        self._waiting: deque[CheckedChunk | PlainSpan] = deque(maxlen=waiting_max)
        self._collected = _Collected()
        provider = TracerProvider(
            # The policy may not sample its own traces; whether the gate's answers are kept is not its choice.
            sampler=ALWAYS_ON,
            resource=Resource.create({"service.name": SERVICE_NAME}),
            shutdown_on_exit=False,
        )
        provider.add_span_processor(self._collected)
        self._tracer = provider.get_tracer(SERVICE_NAME)
        self._parents = TraceContextTextMapPropagator()
        # Each is written by one thread only: `put` by the gate's thread, the others by the one that sends.
        self._put = self._taken = self._sent = self._not_taken = 0
        self._ending = threading.Event()
        # A dead collector is counted here; the exporter's own lines, one per attempt, would drown the operator's.
        logging.getLogger("opentelemetry.exporter.otlp.proto.http").setLevel(logging.CRITICAL)
        self._thread = threading.Thread(target=self._run, name="lastgate-spans", daemon=True)
        self._thread.start()

    def put(self, item: CheckedChunk | PlainSpan) -> None:
        """Takes a span to be sent. Never waits: when there is no room the oldest falls out."""
        self._put += 1
        self._waiting.append(item)

    @property
    def counts(self) -> SenderCounts:
        """Counts of everything that was put."""
        waiting = len(self._waiting)
        return SenderCounts(
            sent=self._sent,
            fell_out=max(self._put - self._taken - waiting, 0),
            not_taken=self._not_taken,
            waiting=waiting,
        )

    def flush(self, timeout_s: float = 5.0) -> bool:
        """Waits until everything put so far has been sent or given up; False when that takes too long."""
        deadline = time.monotonic() + timeout_s
        while self._waiting or self._taken > self._sent + self._not_taken:
            if time.monotonic() > deadline:
                return False
            time.sleep(0.01)
        return True

    def close(self, timeout_s: float = 5.0) -> None:
        """Sends what is waiting, for so long, and ends the thread."""
        self._ending.set()
        self._thread.join(timeout_s)
        self._exporter.shutdown()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _run(self) -> None:
        while True:
            ending = self._ending.wait(_PERIOD_S)
            while self._waiting:
                self._send_batch()
            if ending:
                return

    def _send_batch(self) -> None:
        batch: list[CheckedChunk | PlainSpan] = []
        while self._waiting and len(batch) < _BATCH_MAX:
            batch.append(self._waiting.popleft())
            self._taken += 1
        spans = self._spans_of(batch)
        try:
            taken = self._exporter.export(spans) is SpanExportResult.SUCCESS
        except Exception:  # whatever a collector or a proxy does to the exporter, the next batch is tried
            taken = False
        if taken:
            self._sent += len(batch)
        else:
            self._not_taken += len(batch)

    def _spans_of(self, batch: Sequence[CheckedChunk | PlainSpan]) -> list[ReadableSpan]:
        for item in batch:
            begun_ns, ended_ns = item.begun_ns, item.begun_ns + max(item.duration_ns, 0)
            if isinstance(item, PlainSpan):
                span = self._tracer.start_span(
                    item.name, start_time=begun_ns, attributes=dict(item.attributes)
                )
            else:
                # A traceparent that is none gives no parent; the span then stands alone.
                parent = self._parents.extract({"traceparent": item.traceparent})
                span = self._tracer.start_span(
                    SPAN_NAME, context=parent, start_time=begun_ns, attributes=attributes_of(item)
                )
                event = event_attributes_of(item)
                if event is not None:
                    span.add_event(VIOLATION_EVENT, event, timestamp=ended_ns)
            span.end(end_time=ended_ns)
            time.sleep(0)  # a check that wants to begin waits for one span at most
        spans, self._collected.spans = self._collected.spans, []
        return spans
