# SPDX-License-Identifier: Apache-2.0
"""Spans come in as exporters send them, and nothing else does."""

import base64
import contextlib
import gzip
import json
import time

import numpy as np
import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)

import lastgate as lg
from lastgate.tools.dashboard import otlp
from lastgate.tools.dashboard.event_log import ENTRIES_MAX, SPAN_ENTRIES_MAX, EventLog
from lastgate.tools.dashboard.store import LiveStore
from lastgate.tools.telemetry.gate_spans import SpanRecorder
from lastgate.tools.telemetry.map_pictures import png_of
from lastgate.tools.telemetry.map_spans import MapSpans
from lastgate.tools.telemetry.span_sender import SpanSender

START = np.array([0.0, -0.6, 0.0, -2.2, 0.0, 1.7, 0.785])
PROTOBUF = {"Content_Type": "application/x-protobuf"}
JSON = {"Content_Type": "application/json"}
PNG = png_of(np.zeros((2, 2, 3), np.uint8))


def request(name: str, *, start_s: float = 5.0, **attributes) -> ExportTraceServiceRequest:
    made = ExportTraceServiceRequest()
    resource = made.resource_spans.add()
    span = resource.scope_spans.add().spans.add()
    span.name = name
    span.trace_id, span.span_id = bytes(range(16)), bytes(range(8))
    span.start_time_unix_nano = round(start_s * 1e9)
    for key, value in attributes.items():
        kind = {bool: "bool_value", int: "int_value", float: "double_value", str: "string_value"}[type(value)]
        setattr(span.attributes.add(key=key.replace("__", ".")).value, kind, value)
    return made


def violation(**changes) -> ExportTraceServiceRequest:
    return request(
        "safety.check",
        **{
            "safety__severity": "violation",
            "safety__drop_reason": "joint_velocity_limit",
            "safety__violation_reason": "too fast",
            "safety__violation_joint": "elbow",
            "safety__violation_value": 3.0,
            "safety__violation_limit": 2.0,
            "safety__duration_us": 12.5,
            "rskill__id": "pick",
        }
        | changes,
    )


def as_json(made: ExportTraceServiceRequest) -> bytes:
    """Spells a request as OTLP/JSON does: ids in hexadecimal."""
    from google.protobuf import json_format

    document = json_format.MessageToDict(made)
    for resource in document["resourceSpans"]:
        for scope in resource["scopeSpans"]:
            for span in scope["spans"]:
                for key in ("traceId", "spanId"):
                    span[key] = base64.b64decode(span[key]).hex()
    return json.dumps(document).encode()


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize(
    "kind", ["application/x-protobuf", "application/json", "application/json; charset=utf-8"]
)
def test_violation_reaches_the_event_log_in_every_spelling(serve, kind, packed):
    page = serve()
    body = as_json(violation()) if "json" in kind else violation().SerializeToString()
    encoding = {"Content_Encoding": "gzip"} if packed else {}
    status, headers, answer = page.ask(
        "POST", "/v1/traces", gzip.compress(body) if packed else body, Content_Type=kind, **encoding
    )
    assert status == 200
    assert headers["content-type"] == kind.partition(";")[0]
    if "json" not in kind:
        assert not ExportTraceServiceResponse.FromString(answer).HasField("partial_success")
    (entry,) = page.json("/api/ledger")["entries"]
    assert (entry["code"], entry["source"], entry["rskill_id"]) == ("joint_velocity_limit", "span", "pick")
    assert entry["sentence"] == "too fast: elbow 3, limit 2"
    assert entry["trace_id"] == bytes(range(16)).hex()
    assert entry["time_s"] == 5.0
    assert page.json("/api/status")["counts"]["spans"] == 1


def test_accepted_check_is_counted_and_not_listed(serve):
    page = serve()
    made = request(
        "safety.check", safety__severity="info", safety__duration_us=10.0, safety__min_clearance_m=0.1
    )
    assert page.ask("POST", "/v1/traces", made.SerializeToString(), **PROTOBUF)[0] == 200
    counts = page.json("/api/status")["counts"]
    assert (counts["accepted"], counts["rejected"], counts["violations"]) == (1, 0, 0)


@pytest.mark.parametrize(
    ("status", "body", "headers"),
    [
        (415, b"{}", {}),
        (415, b"{}", {"Content_Type": "text/plain"}),
        (415, b"{}", {"Content_Type": "application/x-www-form-urlencoded"}),
        (415, violation().SerializeToString(), PROTOBUF | {"Content_Encoding": "br"}),
        (400, b"\xff\xff\xff\xff", PROTOBUF),
        (400, violation().SerializeToString()[:-3], PROTOBUF),
        (400, b"not json", JSON),
        (400, b"[]", JSON),
        (400, b'{"resourceSpans": 5}', JSON),
        (400, b'{"resourceSpans": [5]}', JSON),
        (400, b'{"resourceSpans": [{"scopeSpans": [{"spans": [{"traceId": "xyz"}]}]}]}', JSON),
        (400, b"[" * 100_000, JSON),
        (400, b"not gzip", PROTOBUF | {"Content_Encoding": "gzip"}),
        (400, gzip.compress(violation().SerializeToString())[:-9], PROTOBUF | {"Content_Encoding": "gzip"}),
        (413, b"\0" * (otlp.BODY_BYTES_MAX + 1), PROTOBUF),
        (413, gzip.compress(b"\0" * (otlp.UNPACKED_BYTES_MAX + 1)), PROTOBUF | {"Content_Encoding": "gzip"}),
    ],
)  # fmt: skip
def test_what_is_not_spans_is_refused_and_changes_nothing(serve, status, body, headers):
    page = serve()
    assert page.ask("POST", "/v1/traces", body, **headers)[0] == status
    seen = page.json("/api/status")["counts"]
    assert seen["spans"] == seen["violations"] == 0


def test_body_without_a_length_is_cut_off_at_the_same_size(serve):
    page = serve()

    def endless():
        for _ in range(otlp.BODY_BYTES_MAX // 65_536 + 2):
            yield b"\0" * 65_536

    with contextlib.suppress(ConnectionError):  # cut off while we were still sending
        assert page.ask("POST", "/v1/traces", endless(), **PROTOBUF)[0] == 413
    assert page.json("/api/status")["counts"]["spans"] == 0


@pytest.mark.parametrize("poison", [float("nan"), float("inf"), -float("inf")])
def test_numbers_that_are_none_do_not_break_the_page(serve, poison):
    page = serve()
    made = violation(safety__duration_us=poison, safety__violation_value=poison)
    assert page.ask("POST", "/v1/traces", made.SerializeToString(), **PROTOBUF)[0] == 200
    assert len(page.json("/api/ledger")["entries"]) == 1
    json.dumps(page.store.series(), allow_nan=False)


def test_pictures_of_world_and_map_are_shown_at_most_once_a_second(serve):
    page = serve()
    text = base64.b64encode(PNG).decode()
    cloud = request("world.pointcloud", openral__world_cloud__png_b64=text, openral__world_cloud__n_points=7)
    grid = request(
        "slam.occupancy_grid",
        openral__slam__png_b64=text,
        openral__slam__width=100,
        openral__slam__height=50,
        openral__slam__resolution_m=0.1,
        openral__slam__origin_x=-5.0,
        openral__slam__origin_y=0.0,
        openral__slam__robot_x=0.0,
        openral__slam__robot_y=1.0,
    )
    for made in (cloud, grid, cloud, grid):
        assert page.ask("POST", "/v1/traces", made.SerializeToString(), **PROTOBUF)[0] == 200
    cards = page.store.cards()["cards"]
    assert {name: card["number"] for name, card in cards.items()} == {"cloud": 1, "map": 1}
    assert ["n_points", "7"] in cards["cloud"]["facts"]
    assert cards["map"]["robot_at"] == pytest.approx((0.5, 0.8))
    status, headers, body = page.ask("GET", "/api/cards/map.png")
    assert (status, headers["content-type"], body) == (200, "image/png", PNG)
    assert page.ask("GET", "/api/cards/other.png")[0] == 404


@pytest.mark.parametrize("text", ["<svg onload=alert(1)>", base64.b64encode(b"<svg>").decode(), "", "%%%"])
def test_what_is_no_picture_is_not_shown(serve, text):
    page = serve()
    made = request("world.pointcloud", openral__world_cloud__png_b64=text)
    assert page.ask("POST", "/v1/traces", made.SerializeToString(), **PROTOBUF)[0] == 200
    assert page.ask("GET", "/api/cards/cloud.png")[0] == 404


def test_exporter_of_the_sdk_is_understood(serve, monkeypatch):
    page = serve()
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", page.server.url.rstrip("/"))
    gate = lg.Gate(lg.load_robot("franka_panda"), step_s=0.02)
    state = lg.RobotState(positions=START, stamp_s=1.0)
    grid = lg.OccupancyGridIndex(np.zeros((20, 30), int), 0.1, (0.0, 0.0))
    with SpanSender() as sender:
        recorder = SpanRecorder(gate, sender)
        for target in (START + 0.05, START + 5.0):
            chunk = lg.ActionChunk(np.linspace(START, target, 4), rskill_id="sdk")
            recorder.check(chunk, state=state, world=lg.NO_WORLD, now_s=1.0)
        maps = MapSpans(sender, source="test")
        maps.send_cloud(lg.World(points=np.ones((5, 3)), stamp_s=1.0))
        maps.send_grid(
            grid, base_in_map=lg.Pose6D(xyz=(1.0, 1.0, 0.0)), base_frame="base", footprint_radius_m=0.3
        )
    (entry,) = page.json("/api/ledger")["entries"]
    assert entry["code"] == "joint_position_limit"
    assert entry["sentence"].startswith("panda_joint")
    assert json.loads(entry["evidence"])["quantity"] == "position"
    assert page.json("/api/status")["counts"]["accepted"] == 1
    assert {"cloud", "map"} == set(page.store.cards()["cards"])
    assert page.ask("GET", "/api/cards/map.png")[2].startswith(b"\x89PNG")


def test_span_about_a_check_that_was_seen_in_the_ring_is_not_listed_twice():
    store = LiveStore(source="kernel")
    store.note_seen(1_700_000_000.123456)
    seen = otlp.read_request(
        violation(start_s=1_700_000_000.123456).SerializeToString(),
        content_type=otlp.PROTOBUF,
        content_encoding="",
    )
    other = otlp.read_request(
        violation(start_s=1_700_000_000.125).SerializeToString(),
        content_type=otlp.PROTOBUF,
        content_encoding="",
    )
    otlp.note_spans(store, seen)
    assert len(store.event_log) == 0
    otlp.note_spans(store, other)
    assert len(store.event_log) == 1


def test_flood_of_spans_pushes_nothing_out_of_the_event_log():
    event_log = EventLog()
    event_log.add(time_s=1.0, source="kernel", code="self_collision", sentence="first")
    for index in range(SPAN_ENTRIES_MAX + 10):
        event_log.add(time_s=2.0, source="span", code="x", sentence=str(index))
    event_log.add(time_s=3.0, source="kernel", code="world_collision", sentence="last")
    entries = event_log.after(0)
    assert (entries[0].sentence, entries[-1].sentence) == ("first", "last")
    assert [entry.number for entry in entries] == list(range(1, SPAN_ENTRIES_MAX + 3))
    assert event_log.not_listed == 10


def test_full_event_log_keeps_what_came_first_and_counts_the_rest():
    event_log = EventLog()
    for index in range(ENTRIES_MAX + 5):
        event_log.add(time_s=0.0, source="kernel", code="c", sentence=str(index), picture=lambda: b"")
    assert len(event_log) == ENTRIES_MAX
    assert event_log.not_listed == 5
    assert event_log.after(0, most=1)[0].sentence == "0"
    assert event_log.picture(1) is not None
    assert event_log.picture(ENTRIES_MAX) is None
    assert not event_log.after(0)[-1].has_picture


def test_text_of_an_entry_is_cut_not_refused():
    event_log = EventLog()
    event_log.add(time_s=0.0, source="span", code="c" * 10_000, sentence="s" * 10_000, evidence="e" * 100_000)
    (entry,) = event_log.after(0)
    assert len(entry.code) + len(entry.sentence) + len(entry.evidence) < 6_000


def test_wall_clock_of_a_span_is_kept(serve):
    page = serve()
    now_s = time.time()
    page.ask("POST", "/v1/traces", violation(start_s=now_s).SerializeToString(), **PROTOBUF)
    assert page.json("/api/ledger")["entries"][0]["time_s"] == pytest.approx(now_s, abs=1e-3)
