# SPDX-License-Identifier: Apache-2.0
"""What a kernel decides is seen, recorded and run again from outside, and no observer can hinder it."""

import base64
import io
import json
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from fixtures import ros_messages as ros
from fixtures.analytic_robots import arm_of_one_link, cart, planar_two_link, sphere, stacked
from fixtures.kernel_messages import submit
from fixtures.otlp_receiver import otlp_receiver, values
from PIL import Image

import lastgate as lg
from lastgate import _core, robots
from lastgate.kernel import process as kernel_process
from lastgate.tools.cli.app import run
from lastgate.tools.telemetry.diagnostics import diagnostic_status
from lastgate.tools.telemetry.kernel_maps import KernelMaps
from lastgate.tools.telemetry.kernel_rate import rate_of_kernel
from lastgate.tools.telemetry.kernel_recorder import KernelRecorder
from lastgate.tools.telemetry.kernel_spans import KernelSpans
from lastgate.tools.telemetry.recording_reader import read_recording
from lastgate.tools.telemetry.replay import replay
from lastgate.tools.telemetry.span_sender import SpanSender
from lastgate.world.freshness import StampedTransform

COMMAND = Path(sys.executable).parent / "lastgate"
TRACE, PARENT = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"


# A busy machine may take its time between a world and the chunk after it; what is tested here is not how long.
PATIENT = {"state_age_s_max": 60.0, "world_age_s_max": 60.0}


def gate_for(kernel: lg.KernelClient, rate_hz: float = 10.0) -> lg.Gate:
    return lg.Gate(kernel.robot, step_s=1.0 / rate_hz)


# ---- Spans -----------------------------------------------------------------------------------------------


@pytest.fixture
def collector(monkeypatch: pytest.MonkeyPatch):
    with otlp_receiver() as received:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", received.endpoint)
        yield received


def spans_of(kernel, collector, *chunks) -> list:
    with SpanSender() as sender:
        spans = KernelSpans(kernel.instance, sender)
        for rows, labels in chunks:
            submit(kernel, rows, **labels)
        count = 0
        deadline = time.monotonic() + 5.0
        while count < len(chunks) and time.monotonic() < deadline:
            count += spans.forward(0.1)
        assert spans.lost == 0
    return [span for _, span in collector.spans]


def test_pass_violation_and_latched_drop_are_three_spans(start_kernel, collector):
    kernel = start_kernel(arm_of_one_link(safety=PATIENT), on_violation="estop")
    kernel.publish_world(lg.World(primitives=[sphere((0.5, 0.5, 0.0), 0.1, "lamp")], stamp_s=time.time()))
    labels = {"trace_id": f"00-{TRACE}-{PARENT}-01", "rskill_id": "pick"}
    begun_ns = time.time_ns()
    passed, violation, dropped = spans_of(
        kernel, collector, ([[0.05]], labels), ([[0.6]], labels), ([[0.05]], labels)
    )
    for span in (passed, violation, dropped):
        assert (span.trace_id.hex(), span.parent_span_id.hex()) == (TRACE, PARENT)
        assert begun_ns - 1_000_000 < span.start_time_unix_nano <= span.end_time_unix_nano
        assert values(span.attributes)["rskill.id"] == "pick"
        assert values(span.attributes)["safety.kernel"] == "cpp"
    assert values(passed.attributes)["safety.severity"] == "info"
    told = values(violation.attributes)
    assert told["safety.severity"] == "violation"
    assert (told["safety.check_name"], told["safety.collision_mode"]) == ("world_collision", "world")
    assert (told["safety.violation_joint"], told["safety.violation_against"]) == ("arm", "lamp")
    assert told["safety.violation_reason"].startswith("arm / lamp are ")
    assert [event.name for event in violation.events] == ["openral.event.safety_violation"]
    told = values(dropped.attributes)
    assert (told["safety.severity"], told["safety.drop_reason"]) == ("warn", "estop_latched")
    assert not dropped.events
    assert not passed.events


def test_kernel_that_only_warns_says_so_in_its_spans(start_kernel, collector):
    kernel = start_kernel(arm_of_one_link(), warn_only=True, without_world=True)
    (span,) = spans_of(kernel, collector, ([[99.0]], {}))
    told = values(span.attributes)
    assert (told["safety.severity"], told["safety.drop_reason"]) == ("warn", "joint_position_limit")
    assert told["safety.violation_joint"] == "shoulder"


def test_telemetry_that_reads_too_late_counts_what_it_missed(start_kernel, collector):
    kernel = start_kernel(stacked(3), without_world=True)
    with SpanSender() as sender:
        spans = KernelSpans(kernel.instance, sender)
        channel = _core.ChannelClient(kernel.instance)
        for number in range(1100):
            if number % 10 == 0:
                kernel.observe(np.zeros(3))
            payload = ros.to_bytes(ros.action_chunk(np.full((1, 3), 0.001)))
            assert channel.wait_verdict(channel.submit(payload), timeout_s=1.0, spin_s=1e-4) is not None
        seen = spans.forward(0.5)
        assert spans.lost > 0
        assert seen + spans.lost == 1100


def test_telemetry_command_sends_spans_and_prints_diagnostics(start_kernel, collector):
    kernel = start_kernel(stacked(3), without_world=True, on_violation="hold")
    program = subprocess.Popen(
        [COMMAND, "telemetry", "--robot", kernel.instance],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert program.stdout is not None
    first = json.loads(program.stdout.readline())
    assert submit(kernel, [[0.001] * 3]).accepted
    assert not submit(kernel, [[99.0] * 3]).accepted
    deadline = time.monotonic() + 10.0
    while len(collector.spans) < 2 and time.monotonic() < deadline:
        time.sleep(0.05)
    lines = [json.loads(program.stdout.readline()) for _ in range(2)]
    program.terminate()
    _, err = program.communicate(timeout=10.0)
    assert program.returncode == 0, err
    assert "2 spans sent" in err
    assert [values(span.attributes)["safety.severity"] for _, span in collector.spans] == [
        "info",
        "violation",
    ]
    keys = [
        "lifecycle",
        "fault_latch",
        "passed",
        "dropped",
        "last_drop_reason",
        "envelope_loaded",
        "n_dof",
        "model_digest",
    ]
    assert [item["key"] for item in first["values"]] == keys
    told = {item["key"]: item["value"] for item in lines[-1]["values"]}
    assert told["lifecycle"] == "active"
    assert told["last_drop_reason"] == "joint_position_limit"
    assert told["model_digest"] == kernel.model_digest
    assert told["n_dof"] == str(kernel.n_dof) == "3"


def test_number_of_joints_of_a_kernel_that_is_not_there_is_not_known(start_kernel):
    kernel = start_kernel(stacked(3), without_world=True)
    assert _core.kernel_n_dof(kernel.instance) == 3
    assert _core.kernel_n_dof(kernel.instance + "_of_no_kernel") is None
    kernel.close()
    assert _core.kernel_n_dof(kernel.instance) is None


def test_worlds_of_a_kernel_are_shown_once_a_second(start_kernel, collector):
    kernel = start_kernel(cart(), on_stale="drop")
    now = time.time()
    turn, at = 0.5, np.array([1.0, 2.0, 0.0])
    base_in_map = np.eye(4)
    base_in_map[:2, :2] = [[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]]
    base_in_map[:3, 3] = at
    cells = np.zeros((60, 50), np.int8)
    cells[7, 9] = 100
    grid = lg.OccupancyGridIndex(cells, 0.1, (-1.0, -0.5), origin_yaw=0.2, stamp_s=now)
    placed = StampedTransform.of(
        np.linalg.inv(base_in_map)[:3], parent_frame="", child_frame="map", stamp_s=now
    )
    floor_map = lg.FloorMap(grid=grid, map_in_base=placed, height_m=(0.0, 1.0), age_s_max=10.0)
    with SpanSender() as sender:
        maps = KernelMaps(kernel.instance, sender)
        maps.forward()
        kernel.publish_world(lg.World(points=np.array([[1.0, 0.5, 0.2]]), floor_map=floor_map, stamp_s=now))
        maps.forward()
        kernel.publish_world(lg.World(points=np.array([[0.5, 0.5, 0.2]]), stamp_s=now))
        maps.forward()
        assert sender.flush()
        assert sorted(span.name for _, span in collector.spans) == ["slam.occupancy_grid", "world.pointcloud"]
        time.sleep(1.05)
        maps.forward()
        maps.forward()
    assert [span.name for _, span in collector.spans][2:] == ["world.pointcloud"]
    told = next(values(span.attributes) for _, span in collector.spans if span.name == "slam.occupancy_grid")
    assert (told["openral.slam.width"], told["openral.slam.height"]) == (50, 60)
    assert told["openral.slam.robot_x"] == pytest.approx(at[0], abs=1e-9)
    assert told["openral.slam.robot_y"] == pytest.approx(at[1], abs=1e-9)
    assert told["openral.slam.robot_yaw"] == pytest.approx(turn, abs=1e-9)
    shown = np.asarray(Image.open(io.BytesIO(base64.b64decode(told["openral.slam.png_b64"]))).convert("L"))
    assert np.argwhere(shown < 50).tolist() == [[59 - 7, 9]]


@pytest.mark.parametrize(
    ("state", "level", "lifecycle", "latch"),
    [(1, 1, "inactive", "false"), (2, 0, "active", "false"), (3, 2, "latched", "true")],
)
def test_diagnostics_say_how_the_kernel_stands(state: int, level: int, lifecycle: str, latch: str):
    message = ros.make(
        "openral_msgs/msg/SafetyStatus",
        header=ros.header(),
        state=state,
        reason="self_collision",
        source="kernel",
        sequence=1,
        passed=3,
        dropped=1,
        model_digest="abc",
        world_id="",
    )
    status = _core.read_safety_status(ros.to_bytes(message))
    told = diagnostic_status(status, name="arm", last_drop_reason="self_collision", n_dof=7)
    facts = {item["key"]: item["value"] for item in told["values"]}
    assert told["level"] == level
    assert (facts["lifecycle"], facts["fault_latch"]) == (lifecycle, latch)
    assert (facts["passed"], facts["dropped"], facts["n_dof"]) == ("3", "1", "7")
    assert facts["envelope_loaded"] == "true"


def test_diagnostics_without_a_kernel_are_an_error():
    told = diagnostic_status(None, name="arm", last_drop_reason="", n_dof=None)
    facts = {item["key"]: item["value"] for item in told["values"]}
    assert (told["level"], facts["lifecycle"], facts["envelope_loaded"]) == (2, "absent", "false")


# ---- Black box --------------------------------------------------------------------------------------------


def record(recorder: KernelRecorder, count: int) -> None:
    seen = 0
    deadline = time.monotonic() + 5.0
    while seen < count and time.monotonic() < deadline:
        seen += recorder.record(0.02)
    assert seen == count


def test_verdicts_of_a_kernel_are_run_again(start_kernel, tmp_path):
    kernel = start_kernel(planar_two_link(safety=PATIENT), on_violation="hold", on_stale="drop")
    path = tmp_path / "box.mcap"
    rng = np.random.default_rng(5)
    with KernelRecorder(kernel.instance, gate_for(kernel), path) as recorder:
        assert not submit(kernel, [[0.01, 0.0]]).accepted  # no source has published a world
        said = []
        for index in range(60):
            if index % 20 == 0:
                lamps = [sphere((*rng.uniform(-2, 2, 2), 0.0), 0.3, f"lamp{k}") for k in range(3)]
                kernel.publish_world(lg.World(primitives=lamps, stamp_s=time.time()))
            said.append(submit(kernel, rng.normal(0.0, 0.05, (4, 2)), rskill_id=str(index)))
            if index % 20 == 19:
                record(recorder, 20 + (index == 19))
        assert recorder.lost == 0
    recording = read_recording(path)
    assert [check.verdict for check in recording.checks[1:]] == [verdict.to_bytes() for verdict in said]
    assert {verdict.accepted for verdict in said} == {True, False}
    outcome = replay(recording)
    assert (outcome.same, outcome.differences, outcome.left_out) == (61, [], [])
    first = recording.checks[0]
    assert (first.code, first.sentence) == ("world_unavailable", "no world was given")
    refused = next(check for check in recording.checks if check.code == "world_collision")
    assert "lamp" in refused.sentence
    assert json.loads(refused.evidence_json)["kind"] == "collision"


def test_world_that_grew_old_is_called_stale_and_is_run_again(start_kernel, tmp_path):
    patient = {"state_age_s_max": 60.0, "world_age_s_max": 0.5}
    kernel = start_kernel(planar_two_link(safety=patient), on_violation="hold", on_stale="drop")
    failures = _core.RingReader(kernel.instance, "failures")
    path = tmp_path / "box.mcap"
    with KernelRecorder(kernel.instance, gate_for(kernel), path) as recorder:
        kernel.publish_world(lg.World(primitives=[], stamp_s=time.time()))
        time.sleep(0.6)
        said = submit(kernel, [[0.01, 0.0]])
        record(recorder, 1)
    assert not said.accepted
    assert said.violations[0].sentence().startswith("the world is stale: ")
    told = ros.from_bytes(failures.read(1.0)[3], "openral_msgs/msg/FailureTrigger")
    assert "the world is stale" in json.loads(told.evidence_json)["detail"]
    recording = read_recording(path)
    assert recording.checks[0].sentence.startswith("the world is stale: ")
    outcome = replay(recording)
    assert (outcome.same, outcome.differences, outcome.left_out) == (1, [], [])


def test_wire_worlds_and_every_wire_state_are_run_again(start_kernel, tmp_path):
    kernel = start_kernel(planar_two_link(safety=PATIENT), on_violation="hold", on_stale="drop")
    channel = _core.ChannelClient(kernel.instance)
    path = tmp_path / "box.mcap"

    def publish(kind: str, message) -> None:
        assert channel.wait_world(channel.publish_wire_world((kind, ros.to_bytes(message))), 1.0)

    now = time.time()
    obstacles = ros.make(
        "openral_msgs/msg/WorldCollision",
        header=ros.header(now),
        radius=np.array([0.1, 0.1]),
        half_length=np.array([0.0, 0.3]),
        origin_xyzrpy=np.array([0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0, -1.5, 0.0, 0.3, 0.2, 0.1]),
        object_id=["sphere", "bar"],
    )
    cells = np.zeros((10, 10, 10), np.uint8)
    cells[5, 9, 9] = 1
    voxels = ros.make(
        "openral_msgs/msg/OccupancyVoxels",
        header=ros.header(now),
        origin=ros.make("geometry_msgs/msg/Point", x=-3.0, y=-3.0, z=-3.0),
        resolution=0.6,
        size_x=10,
        size_y=10,
        size_z=10,
        occupancy=cells.reshape(-1),
    )
    with KernelRecorder(kernel.instance, gate_for(kernel), path) as recorder:
        publish("world_collision", obstacles)
        said = [submit(kernel, [[0.05, 0.0]])]
        record(recorder, 1)
        publish("occupancy_voxels", voxels)
        said += [submit(kernel, [[0.05, 0.0]]), submit(kernel, [[0.5, 0.0]]), submit(kernel, [[np.nan, 0.0]])]
        record(recorder, 3)
        obstacles.radius[0] = np.nan
        publish("world_collision", obstacles)
        said.append(submit(kernel, [[0.05, 0.0]]))
        record(recorder, 1)
    recording = read_recording(path)
    assert [check.verdict for check in recording.checks] == [verdict.to_bytes() for verdict in said]
    assert replay(recording).same == 5
    assert said[0].accepted
    assert recording.checks[-1].code == "world_unavailable"


def test_rate_of_a_kernel_is_what_gives_its_digest(start_kernel):
    kernel = start_kernel(stacked(2), without_world=True, rate_hz=30.0)
    assert rate_of_kernel(kernel.instance, kernel.robot, None) == 30.0
    tighter = lg.RSkillManifest(name="slow", version="1.0.0", envelope={"max_joint_speed_factor": 0.5})
    fractional = start_kernel(stacked(2), without_world=True, rate_hz=12.5)
    other = lg.RobotDescription(**stacked(3))
    for instance, robot, skill in (
        (kernel.instance, other, None),
        (kernel.instance, kernel.robot, tighter),
        (fractional.instance, fractional.robot, None),
    ):
        with pytest.raises(lg.ROSConfigError, match="runs another model"):
            rate_of_kernel(instance, robot, skill)


def test_recording_asks_the_kernel_for_what_it_is_not_told(start_kernel, tmp_path, monkeypatch, capsys):
    kernel = start_kernel(stacked(2), without_world=True)
    monkeypatch.setattr(kernel_process, "running_kernels", lambda: [kernel.instance])
    monkeypatch.setattr(robots, "robot_names", lambda: (kernel.instance,))
    monkeypatch.setattr(robots, "load_robot", lambda name: {kernel.instance: kernel.robot}[name])
    path = tmp_path / "box.mcap"
    assert run(["record", "-o", str(path), "--seconds", "0.2"]) == 0
    assert path.is_file()
    monkeypatch.setattr(robots, "robot_names", lambda: ())
    assert run(["record", "-o", str(tmp_path / "other.mcap"), "--seconds", "0.2"]) == 2
    assert "say `--robot path/to/robot.yaml`" in capsys.readouterr().err
    assert not (tmp_path / "other.mcap").exists()


def test_last_seconds_of_a_kernel_are_written_when_something_is_rejected(start_kernel, tmp_path):
    kernel = start_kernel(stacked(3), without_world=True, on_violation="hold")
    path = tmp_path / "box.mcap"
    with KernelRecorder(kernel.instance, gate_for(kernel), path, last_s=0.3) as recorder:
        submit(kernel, [[0.001] * 3])
        time.sleep(0.4)
        submit(kernel, [[0.001] * 3])
        record(recorder, 2)
        assert recorder.written == 0
        submit(kernel, [[99.0] * 3])
        record(recorder, 1)
    assert [check.accepted for check in read_recording(path).checks] == [True, False]


def test_chunk_whose_numbers_do_not_fill_its_rows_is_left_out_by_name(start_kernel, tmp_path):
    kernel = start_kernel(stacked(3), without_world=True, on_violation="hold")
    path = tmp_path / "box.mcap"
    channel = _core.ChannelClient(kernel.instance)
    with KernelRecorder(kernel.instance, gate_for(kernel), path) as recorder:
        kernel.observe(np.zeros(3))
        payload = ros.to_bytes(ros.action_chunk(np.zeros((2, 3)), horizon=3))
        assert channel.wait_verdict(channel.submit(payload), timeout_s=1.0) is not None
        submit(kernel, [[0.001] * 3])
        record(recorder, 2)
    outcome = replay(read_recording(path))
    assert outcome.same == 1
    ((number, why),) = outcome.left_out
    assert number == 1
    assert "do not fill its steps" in why


def test_attached_object_is_left_out_by_name(start_kernel, tmp_path):
    kernel = start_kernel(planar_two_link(), without_world=True, on_violation="hold")
    path = tmp_path / "box.mcap"
    with KernelRecorder(kernel.instance, gate_for(kernel), path) as recorder:
        kernel.attach("forearm", lg.SphereShape(radius_m=0.05), object_id="cup")
        submit(kernel, [[0.001, 0.0]])
        record(recorder, 1)
    ((_, why),) = replay(read_recording(path)).left_out
    assert "held something" in why


def test_twists_and_recoveries_are_run_again(start_kernel, tmp_path):
    kernel = start_kernel(cart(), without_world=True, on_violation="hold", on_stale="drop")
    path = tmp_path / "box.mcap"
    channel = _core.ChannelClient(kernel.instance)
    with KernelRecorder(kernel.instance, gate_for(kernel), path) as recorder:
        for speed in (0.5, 50.0):
            kernel.observe(np.zeros(1))
            twist = _core.encode_twist((speed, 0.0, 0.0, 0.0, 0.0, 0.1))
            assert channel.wait_verdict(channel.submit_twist(twist), timeout_s=1.0) is not None
        kernel.observe(np.zeros(1))
        chunk = _core.encode_action_chunk(np.array([[0.01]]), control_mode=0, stamp_s=time.time())
        request = _core.encode_chunk_request(chunk, recovery=True, contacts=[])
        assert channel.wait_verdict(channel.submit_request(request), timeout_s=1.0) is not None
        broken = _core.encode_chunk_request(b"no chunk", recovery=True, contacts=[])
        assert channel.wait_verdict(channel.submit_request(broken), timeout_s=1.0) is not None
        record(recorder, 3)
    recording = read_recording(path)
    assert [check.accepted for check in recording.checks] == [True, False, True]
    assert [check.recovery for check in recording.checks] == [False, False, True]
    assert replay(recording).same == 3


def test_recorder_of_another_model_is_refused(start_kernel, tmp_path):
    kernel = start_kernel(stacked(3), without_world=True)
    with pytest.raises(lg.ROSConfigError, match="another model"):
        KernelRecorder(kernel.instance, gate_for(kernel, rate_hz=20.0), tmp_path / "box.mcap")


def test_record_command_writes_what_replay_finds_the_same(start_kernel, tmp_path):
    kernel = start_kernel(lg.load_robot("ur5e"), rate_hz=50.0, without_world=True, on_violation="hold")
    path = tmp_path / "box.mcap"
    program = subprocess.Popen(
        [COMMAND, "record", "--robot", "ur5e", "--rate-hz", "50", "--instance", kernel.instance, "-o", path],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert program.stderr is not None
    assert "recording" in program.stderr.readline()
    for number in range(20):
        kernel.observe(np.zeros(6))
        kernel.submit(np.full((5, 6), 0.0005 * number))
    time.sleep(0.5)
    program.terminate()
    out, err = program.communicate(timeout=20.0)
    assert (program.returncode, out) == (0, "20 verdicts written\n"), err
    assert replay(read_recording(path)).same == 20
