# SPDX-License-Identifier: Apache-2.0
"""Spans reach a collector as the contract says, and a collector that is dead or slow delays no check."""

import io
import math
import time

import numpy as np
import pytest
from fixtures.otlp_receiver import OtlpReceiver, otlp_receiver, values
from fixtures.rejected_chunks import DOWN, NOW_S, REJECTIONS, Case, case, gate_with, primitives, towards
from PIL import Image

import lastgate as lg
from lastgate.contracts import read_evidence
from lastgate.tools.telemetry.gate_spans import SpanRecorder
from lastgate.tools.telemetry.map_spans import MapSpans
from lastgate.tools.telemetry.recorder import Recorder
from lastgate.tools.telemetry.span_sender import SpanSender

TRACE, PARENT = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
TRACEPARENT = f"00-{TRACE}-{PARENT}-01"


@pytest.fixture
def collector(monkeypatch: pytest.MonkeyPatch):
    with otlp_receiver() as received:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", received.endpoint)
        yield received


def told_by(rejected: Case, collector: OtlpReceiver, **chunk: str):
    """Returns the one span that a check leads to, as the collector saw it."""
    spoken = lg.ActionChunk(rejected.chunk.rows, mode=rejected.chunk.mode, **chunk)
    with SpanSender() as sender:
        SpanRecorder(rejected.gate, sender).check(
            spoken, state=rejected.state, world=rejected.world, now_s=NOW_S
        )
    ((resource, span),) = collector.spans
    assert resource["service.name"] == "openral_safety_kernel"
    assert span.name == "safety.check"
    return span


def test_accepted_chunk_is_one_span_under_the_chunks_parent(collector: OtlpReceiver):
    before_ns = time.time_ns()
    span = told_by(case(towards(j1=0.1)), collector, trace_id=TRACEPARENT, rskill_id="pick")
    assert (span.trace_id.hex(), span.parent_span_id.hex()) == (TRACE, PARENT)
    told = values(span.attributes)
    assert told.pop("safety.duration_us") * 1000.0 == pytest.approx(
        span.end_time_unix_nano - span.start_time_unix_nano, abs=1.0
    )
    assert before_ns <= span.start_time_unix_nano < span.end_time_unix_nano <= time.time_ns()
    assert told.pop("safety.min_clearance_m") > 0.0
    assert told == {
        "safety.check_name": "envelope",
        "safety.kernel": "cpp",
        "safety.clamped": False,
        "safety.severity": "info",
        "rskill.id": "pick",
    }
    assert not span.events


def test_joint_limit_is_a_violation_with_its_event(collector: OtlpReceiver):
    rejected = REJECTIONS["joint_position_limit"]()
    violation = rejected.check().violations[0]
    span = told_by(rejected, collector, trace_id=TRACEPARENT, rskill_id="pick")
    assert (span.trace_id.hex(), span.parent_span_id.hex()) == (TRACE, PARENT)
    told = values(span.attributes)
    assert told["safety.severity"] == "violation"
    assert told["safety.check_name"] == "envelope"
    assert told["safety.drop_reason"] == "joint_position_limit"
    assert told["safety.violation_reason"] == violation.sentence()
    assert told["safety.violation_joint"] == "panda_joint4"
    assert told["safety.violation_value"] == violation.value
    assert told["safety.violation_limit"] == violation.limit
    assert read_evidence(told["safety.evidence"]) == violation.evidence()
    (event,) = span.events
    assert event.name == "openral.event.safety_violation"
    assert values(event.attributes) == {"safety.kind": "WORKSPACE", "safety.field": "joint_position_limit"}


@pytest.mark.parametrize(
    ("name", "check_name", "mode", "joint"),
    [
        ("self_collision", "self_collision", "self", "panda_link1"),
        ("world_voxel", "world_collision", "world", "panda_leftfinger"),
        ("ee_speed", "envelope", None, "panda_hand"),
        ("workspace_box", "envelope", None, "panda_hand"),
        ("state_unavailable", "state", None, None),
        ("world_unavailable", "world", None, None),
        ("nan_in_action", "envelope", None, None),
    ],
)
def test_check_that_refused_is_named(
    name: str, check_name: str, mode: str | None, joint: str | None, collector: OtlpReceiver
):
    rejected = REJECTIONS[name]()
    told = values(told_by(rejected, collector).attributes)
    assert told["safety.check_name"] == check_name
    assert told["safety.drop_reason"] == str(rejected.check().violations[0].code)
    assert told.get("safety.collision_mode") == mode
    assert told.get("safety.violation_joint") == joint
    assert all(math.isfinite(value) for value in told.values() if isinstance(value, float))


@pytest.mark.parametrize("traceparent", ["", "nonsense", f"00-{'0' * 32}-{PARENT}-01", f"99-{TRACE}"])
def test_traceparent_that_is_none_gives_a_span_of_its_own(traceparent: str, collector: OtlpReceiver):
    span = told_by(case(towards(j1=0.1)), collector, trace_id=traceparent)
    assert span.parent_span_id == b""
    assert any(span.trace_id)


def test_parent_that_was_not_sampled_hides_no_verdict(collector: OtlpReceiver):
    span = told_by(case(towards(j1=0.1)), collector, trace_id=f"00-{TRACE}-{PARENT}-00")
    assert span.trace_id.hex() == TRACE


def test_dead_collector_delays_no_check_and_is_counted(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:9")  # no program listens at discard
    accepted = case(towards(j1=0.1))
    sender = SpanSender(waiting_max=16)
    recorder = SpanRecorder(accepted.gate, sender)
    begin = time.perf_counter()
    for _ in range(100):
        assert recorder.check(
            accepted.chunk, state=accepted.state, world=accepted.world, now_s=NOW_S
        ).accepted
    assert time.perf_counter() - begin < 1.0
    sender.close(timeout_s=10.0)
    counts = sender.counts
    assert counts.sent == 0
    assert counts.fell_out > 0
    assert counts.fell_out + counts.not_taken + counts.waiting == 100


def test_slow_collector_loses_the_oldest_and_counts_them(collector: OtlpReceiver):
    collector.answer_delay.clear()
    accepted = case(towards(j1=0.1))
    with SpanSender(waiting_max=8) as sender:
        recorder = SpanRecorder(accepted.gate, sender)
        recorder.check(accepted.chunk, state=accepted.state, world=accepted.world, now_s=NOW_S)
        while sender.counts.waiting:
            time.sleep(0.01)
        for index in range(20):
            chunk = lg.ActionChunk(accepted.chunk.rows, rskill_id=str(index))
            recorder.check(chunk, state=accepted.state, world=accepted.world, now_s=NOW_S)
        assert sender.counts.fell_out == 12
        collector.answer_delay.set()
        assert sender.flush()
        assert sender.counts.sent == 9
    assert [values(span.attributes)["rskill.id"] for _, span in collector.spans][1:] == [
        str(index) for index in range(12, 20)
    ]


def test_one_can_stand_around_another(collector: OtlpReceiver, tmp_path):
    rejected = REJECTIONS["world_voxel"]()
    with SpanSender() as sender, Recorder(rejected.gate, tmp_path / "box.mcap") as recorder:
        both = SpanRecorder(recorder, sender)
        said = both.check(rejected.chunk, state=rejected.state, world=rejected.world, now_s=NOW_S)
    assert said.to_bytes() == rejected.check().to_bytes()
    assert len(collector.spans) == 1
    assert recorder.written == 1


def test_gate_that_raises_sends_nothing(collector: OtlpReceiver):
    with SpanSender() as sender, pytest.raises(lg.ROSConfigError):
        SpanRecorder(gate_with(), sender).check(DOWN, state=None, world=None, now_s=NOW_S)
    assert collector.spans == []


def picture(encoded: str) -> np.ndarray:
    import base64

    return np.asarray(Image.open(io.BytesIO(base64.b64decode(encoded))).convert("RGB"))


def test_cloud_is_sent_at_most_once_a_second_and_shows_its_points(collector: OtlpReceiver):
    points = np.random.default_rng(0).uniform([0.3, -0.3, 0.0], [0.8, 0.3, 0.4], (4000, 3))
    far = np.array([[40.0, 0.0, 0.0]])
    world = lg.World(points=np.vstack([points, far]), stamp_s=NOW_S)
    with SpanSender() as sender:
        spans = MapSpans(sender, source="test")
        assert spans.send_cloud(world)
        assert not spans.send_cloud(world)
    ((_, span),) = collector.spans
    told = values(span.attributes)
    assert span.name == "world.pointcloud"
    assert told["openral.world_cloud.n_points"] == 4000
    empty = lg.World(points=far, stamp_s=NOW_S)
    with SpanSender() as sender:
        assert MapSpans(sender, source="test").send_cloud(empty)
    without = values(collector.spans[1][1].attributes)
    shown, bare = (picture(t["openral.world_cloud.png_b64"]) for t in (told, without))
    assert (shown != bare).any(axis=2).sum() > 1000


def test_grid_is_sent_with_the_robot_on_it(collector: OtlpReceiver):
    data = np.zeros((20, 30), np.int8)
    data[0, :] = 100
    data[:, 29] = -1
    grid = lg.OccupancyGridIndex(data, 0.1, (-1.0, -2.0))
    turned = lg.Pose6D(xyz=(0.5, -1.5, 0.0), quat_xyzw=(0.0, 0.0, math.sin(0.25), math.cos(0.25)))
    with SpanSender() as sender:
        spans = MapSpans(sender, source="test")
        assert spans.send_grid(grid, base_in_map=turned, base_frame="base", footprint_radius_m=0.3)
        assert not spans.send_grid(grid, base_in_map=turned, base_frame="base", footprint_radius_m=0.3)
        with pytest.raises(lg.ROSConfigError, match="OccupancyGridIndex"):
            spans.send_grid(data, base_in_map=turned, base_frame="base", footprint_radius_m=0.3)
    ((_, span),) = collector.spans
    told = values(span.attributes)
    assert span.name == "slam.occupancy_grid"
    assert (told["openral.slam.width"], told["openral.slam.height"]) == (30, 20)
    assert told["openral.slam.robot_yaw"] == pytest.approx(0.5)
    shown = picture(told["openral.slam.png_b64"])
    assert shown.shape == (20, 30, 3)
    # Row 0 of a map is its southern edge.
    assert (shown[-1, :29] < 50).all()
    assert (shown[:-1, :29] == 255).all()
    assert (shown[:, 29] == 150).all()


def test_large_map_keeps_every_blocked_cell():
    from lastgate.tools.telemetry.map_pictures import grid_png

    data = np.zeros((3000, 1500), np.int8)
    data[1234, 567] = 100
    shown = np.asarray(
        Image.open(io.BytesIO(grid_png(lg.OccupancyGridIndex(data, 0.05, (0.0, 0.0))))).convert("L")
    )
    assert max(shown.shape) <= 1024
    assert (shown < 50).sum() == 1


def test_primitive_world_has_an_empty_cloud(collector: OtlpReceiver):
    with SpanSender() as sender:
        assert MapSpans(sender, source="test").send_cloud(primitives())
    assert values(collector.spans[0][1].attributes)["openral.world_cloud.n_points"] == 0
