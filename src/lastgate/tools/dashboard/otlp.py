# SPDX-License-Identifier: Apache-2.0
"""Takes spans in, as every OpenTelemetry exporter sends them: OTLP over HTTP, protobuf or JSON, gzip or not.

Run as a program, this file is the process that decodes (`span_decoder.py` starts it); it imports nothing of ours.
"""

import base64
import binascii
import contextlib
import dataclasses
import functools
import json
import math
import os
import resource
import signal
import socket
import struct
import sys
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from google.protobuf import json_format
from google.protobuf.message import DecodeError, Message
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)

if TYPE_CHECKING:  # the decoder's process has no use for a store
    from lastgate.tools.dashboard.store import LiveStore

# A batch of 512 spans with a picture in some of them. What unpacks to more is refused before it is unpacked.
BODY_BYTES_MAX = 8 * 1024 * 1024
UNPACKED_BYTES_MAX = 16 * 1024 * 1024
PNG_BYTES_MAX = 2 * 1024 * 1024
# Exporters send 512 spans at once; a collector may join a few batches.
SPANS_MAX = 4096
# 512 spans with the 128 attributes each that SDKs keep, six fields per attribute. Two bytes make a field, and a field
# may cost hundreds of bytes when decoded, so they are counted before anything is decoded.
FIELDS_MAX = 400_000
_PNG_MAGIC = b"\x89PNG\r\n\x1a\n"

# What decoding may take beyond the memory of the program itself: 16 MiB of JSON text, read twice, need about half.
MEMORY_BYTES_MAX = 512 * 1024 * 1024
NICENESS = 5
_SIZES = struct.Struct("<II")

PROTOBUF, JSON = "application/x-protobuf", "application/json"
# Where each kind of picture comes from, and what is said beside it.
_CARDS = {
    "world.pointcloud": (
        "cloud",
        "openral.world_cloud.",
        ("frame_id", "n_points", "range_max_m", "source_node"),
    ),
    "slam.occupancy_grid": (
        "map",
        "openral.slam.",
        ("frame_id", "width", "height", "resolution_m", "source_node"),
    ),
}

# Of other spans the page shows how many there were.
SHOWN = ("safety.check", *_CARDS)


class RefusedRequest(ValueError):
    """Raised with the HTTP status that a request is refused with, and the reason."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """One span as far as the page reads it."""

    name: str
    service: str
    start_s: float
    trace_id: str
    attributes: dict[str, Any]
    events: tuple[str, ...]


def read_request(body: bytes, *, content_type: str, content_encoding: str) -> list[Span]:
    """Returns the spans of an export request.

    Raises:
        RefusedRequest: Another content type (415), too large (413), or not what it says it is (400).
    """
    kind = content_type.partition(";")[0].strip().lower()
    if kind not in (PROTOBUF, JSON):
        raise RefusedRequest(415, f"content type must be {PROTOBUF} or {JSON}")
    encoding = content_encoding.strip().lower()
    if encoding not in ("", "identity", "gzip"):
        raise RefusedRequest(415, "content encoding must be gzip or none")
    text = _unpacked(body) if encoding == "gzip" else body
    request = ExportTraceServiceRequest()
    try:
        if kind == PROTOBUF:
            _require_few_fields(text)
            request.ParseFromString(text)
        else:
            _require_few_json_fields(text)
            json_format.Parse(_hex_ids_to_base64(text), request, ignore_unknown_fields=True)
    except RefusedRequest:
        raise
    except (DecodeError, json_format.ParseError, ValueError, RecursionError) as error:
        raise RefusedRequest(400, f"not an ExportTraceServiceRequest: {type(error).__name__}") from None
    if sum(len(scope.spans) for part in request.resource_spans for scope in part.scope_spans) > SPANS_MAX:
        raise RefusedRequest(413, f"more than {SPANS_MAX} spans")
    return list(_spans(request))


def answer(content_type: str) -> tuple[bytes, str]:
    """Returns the body and type of a full success, in the language that was spoken."""
    kind = content_type.partition(";")[0].strip().lower()
    response: Message = ExportTraceServiceResponse()
    return (response.SerializeToString(), PROTOBUF) if kind == PROTOBUF else (b"{}", JSON)


def note_spans(store: "LiveStore", spans: Iterable[Span]) -> None:
    """Shows what spans tell; those about checks that were seen where they happened are only counted."""
    for span in spans:
        store.note_span()
        if span.name == "safety.check" and not store.was_seen(span.start_s):
            _note_check(store, span)
        elif span.name in _CARDS:
            _note_card(store, span)


def _note_check(store: "LiveStore", span: Span) -> None:
    told = span.attributes
    severity = str(told.get("safety.severity", ""))
    reason = str(told.get("safety.drop_reason", ""))
    is_violation = severity == "violation" or "openral.event.safety_violation" in span.events
    duration_us = told.get("safety.duration_us", 0.0)
    usable = isinstance(duration_us, int | float) and math.isfinite(duration_us)
    store.note_unnamed_check(
        accepted=severity == "info" and not is_violation,
        while_latched=reason == "estop_latched",
        clearance_m=_clearance(told.get("safety.min_clearance_m")),
        duration_us=float(duration_us) if usable else 0.0,
    )
    if not is_violation:
        return
    named = {key: told.get(f"safety.violation_{key}") for key in ("reason", "joint", "value", "limit")}
    said = str(named["reason"] or reason or told.get("safety.check_name", "violation"))
    numbers = (
        f": {named['joint'] or ''} {_number(named['value'])}, limit {_number(named['limit'])}"
        if named["value"] is not None
        else ""
    )
    store.event_log.add(
        time_s=span.start_s,
        source="span",
        code=reason or str(told.get("safety.check_name", "violation")),
        sentence=f"{said}{numbers}",
        rskill_id=str(told.get("rskill.id", "")),
        trace_id=span.trace_id,
        evidence=str(told.get("safety.evidence") or json.dumps({key: _plain(told[key]) for key in told})),
    )


def _clearance(told: Any) -> float | None:
    return float(told) if isinstance(told, int | float) and math.isfinite(told) else None


def _note_card(store: "LiveStore", span: Span) -> None:
    name, prefix, wanted = _CARDS[span.name]
    encoded = span.attributes.get(f"{prefix}png_b64")
    if not isinstance(encoded, str) or len(encoded) > PNG_BYTES_MAX * 4 // 3 + 4:
        return
    try:
        png = base64.b64decode(encoded, validate=True)
    except (binascii.Error, ValueError):
        return
    if png.startswith(_PNG_MAGIC):
        facts = tuple((word, _number(span.attributes.get(f"{prefix}{word}", ""))) for word in wanted)
        shown = tuple((word, fact[:100]) for word, fact in facts if fact)
        store.note_card(name, png, shown, robot_at=_robot_at(span.attributes, prefix))


def _robot_at(told: dict[str, Any], prefix: str) -> tuple[float, float] | None:
    """Returns where on the picture of a map the robot stands; None where the span does not say."""
    words = ("robot_x", "robot_y", "origin_x", "origin_y", "width", "height", "resolution_m")
    numbers = [told.get(f"{prefix}{word}") for word in words]
    if not all(isinstance(number, int | float) and math.isfinite(number) for number in numbers):
        return None
    x, y, origin_x, origin_y, width, height, resolution_m = (float(number or 0.0) for number in numbers)
    if not (width > 0.0 and height > 0.0 and resolution_m > 0.0):
        return None
    at = (x - origin_x) / (width * resolution_m), 1.0 - (y - origin_y) / (height * resolution_m)
    return at if all(math.isfinite(number) for number in at) else None


def _unpacked(body: bytes) -> bytes:
    reader = zlib.decompressobj(wbits=31)
    try:
        text = reader.decompress(body, UNPACKED_BYTES_MAX)
    except zlib.error as error:
        raise RefusedRequest(400, f"not gzip: {error}") from None
    if reader.unconsumed_tail:
        raise RefusedRequest(413, f"unpacks to more than {UNPACKED_BYTES_MAX} bytes")
    if not reader.eof or reader.unused_data:
        raise RefusedRequest(400, "not one whole gzip stream")
    return text


def _require_few_fields(text: bytes) -> None:
    """Counts the fields of a protobuf message and of the messages in it, without decoding them."""
    within: list[tuple[int, int, dict[int, Any]]] = [
        (0, len(text), _messages_in(ExportTraceServiceRequest.DESCRIPTOR))
    ]
    count = 0
    while within:
        at, end, messages = within.pop()
        while at < end:
            count += 1
            if count > FIELDS_MAX:
                raise RefusedRequest(413, f"more than {FIELDS_MAX} fields")
            key, at = _varint(text, at)
            kind = key & 7
            if kind == 2:
                size, at = _varint(text, at)
                described = messages.get(key >> 3)
                if described is not None:
                    within.append((at, min(at + size, end), _messages_in(described)))
                at += size
            elif kind == 0:
                _, at = _varint(text, at)
            elif kind in (1, 5):
                at += 8 if kind == 1 else 4
            else:
                raise DecodeError("a group, which OTLP has none of")


@functools.cache
def _messages_in(described: Any) -> dict[int, Any]:
    """Returns which fields of a message hold messages, and of which kind."""
    return {field.number: field.message_type for field in described.fields if field.message_type is not None}


def _varint(text: bytes, at: int) -> tuple[int, int]:
    value = 0
    for place, byte in enumerate(text[at : at + 10]):
        value |= (byte & 0x7F) << (7 * place)
        if byte < 0x80:
            return value, at + place + 1
    raise DecodeError("a number without an end")


def _require_few_json_fields(text: bytes) -> None:
    """Every field but the first of an object stands after a comma, every object behind a brace."""
    if text.count(b",") + text.count(b"{") + text.count(b"[") > FIELDS_MAX:
        raise RefusedRequest(413, f"more than {FIELDS_MAX} fields")


def _hex_ids_to_base64(text: bytes) -> str:
    """OTLP/JSON spells ids in hexadecimal, where protobuf's own JSON has base64."""
    document = json.loads(text)
    for part in _lists(document, "resourceSpans", "resource_spans"):
        for scope in _lists(part, "scopeSpans", "scope_spans"):
            for span in _lists(scope, "spans"):
                for holder in (span, *_lists(span, "links")):
                    for key in ("traceId", "spanId", "parentSpanId"):
                        if isinstance(holder, dict) and isinstance(holder.get(key), str):
                            holder[key] = base64.b64encode(bytes.fromhex(holder[key])).decode()
    return json.dumps(document)


def _lists(holder: Any, *keys: str) -> list[Any]:
    if not isinstance(holder, dict):
        raise ValueError("not an object")
    found = [holder[key] for key in keys if key in holder]
    if not all(isinstance(part, list) for part in found):
        raise ValueError("not a list")
    return [item for part in found for item in part]


def _spans(request: ExportTraceServiceRequest) -> Iterable[Span]:
    for part in request.resource_spans:
        service = str(_attributes(part.resource.attributes).get("service.name", ""))
        for scope in part.scope_spans:
            for span in scope.spans:
                yield Span(
                    name=span.name,
                    service=service,
                    start_s=span.start_time_unix_nano * 1e-9,
                    trace_id=span.trace_id.hex(),
                    attributes=_attributes(span.attributes),
                    events=tuple(event.name for event in span.events),
                )


def _attributes(pairs: Iterable[Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for pair in pairs:
        kind = pair.value.WhichOneof("value")
        if kind in ("string_value", "bool_value", "int_value", "double_value"):
            found[pair.key] = getattr(pair.value, kind)
    return found


def _plain(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value[:500] if isinstance(value, str) else value


def _number(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


# ---- The process that decodes ------------------------------------------------------------------------------


def send_frame(stream: socket.socket, head: bytes, body: bytes = b"") -> None:
    """Sends two parts of bytes."""
    stream.sendall(_SIZES.pack(len(head), len(body)) + head)
    stream.sendall(body)


def receive_frame(stream: socket.socket) -> tuple[bytes, bytes]:
    """Returns two parts of bytes.

    Raises:
        ConnectionError: The other side ended.
    """
    head_bytes, body_bytes = _SIZES.unpack(_exactly(stream, _SIZES.size))
    return _exactly(stream, head_bytes), _exactly(stream, body_bytes)


def _exactly(stream: socket.socket, count: int) -> bytes:
    parts = []
    while count:
        part = stream.recv(min(count, 1 << 20))
        if not part:
            raise ConnectionError("the other side ended")
        parts.append(part)
        count -= len(part)
    return b"".join(parts)


def _decoded(head: bytes, body: bytes) -> bytes:
    content_type, content_encoding = json.loads(head)
    try:
        spans = read_request(body, content_type=content_type, content_encoding=content_encoding)
        shown = [
            span if span.name in SHOWN else dataclasses.replace(span, attributes={}, events=())
            for span in spans
        ]
        return json.dumps({"spans": [dataclasses.asdict(span) for span in shown]}).encode()
    except RefusedRequest as error:
        return json.dumps({"status": error.status, "reason": str(error)}).encode()
    except MemoryError:
        reason = f"decoding takes more than {MEMORY_BYTES_MAX} bytes"
        return json.dumps({"status": 413, "reason": reason}).encode()


def main(number: int) -> None:
    """Runs the process: one request after the other, until the page's process ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.nice(NICENESS)
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    most = pages * resource.getpagesize() + MEMORY_BYTES_MAX
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with socket.socket(fileno=number) as stream, contextlib.suppress(ConnectionError):
        send_frame(stream, b"ready")
        while True:
            send_frame(stream, _decoded(*receive_frame(stream)))


if __name__ == "__main__":
    main(int(sys.argv[1]))
