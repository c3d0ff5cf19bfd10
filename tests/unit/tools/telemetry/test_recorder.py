# SPDX-License-Identifier: Apache-2.0
"""A recording holds all that a verdict depended on: run again, every verdict is the same to the last bit."""

import gc
import sys
import threading
import time
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from fixtures.analytic_robots import NOW_S as PAPER_NOW_S
from fixtures.analytic_robots import at, cart, gate_of, gripper_arm, planar_two_link, sphere, world_of
from fixtures.rejected_chunks import (
    DOWN,
    HOME,
    NOW_S,
    REJECTIONS,
    case,
    gate_with,
    panda,
    primitives,
    towards,
)

import lastgate as lg
from lastgate import _core
from lastgate.tools.telemetry import recorder as recorder_module
from lastgate.tools.telemetry import recording_file
from lastgate.tools.telemetry.kernel_recorder import KernelRecorder
from lastgate.tools.telemetry.last_seconds import KEPT_MAX
from lastgate.tools.telemetry.recorder import Recorder
from lastgate.tools.telemetry.recording_file import RecordingFile
from lastgate.tools.telemetry.recording_messages import decode_message, schema_text
from lastgate.tools.telemetry.recording_reader import read_recording
from lastgate.tools.telemetry.replay import replay
from lastgate.world.freshness import StampedTransform

ROOT = Path(__file__).parents[4]


def recorded(path: Path, gate: lg.Gate, *checks: dict, **options) -> list[lg.Verdict]:
    """Records some checks, and returns what the gate said."""
    with Recorder(gate, path, **{"in_background": False, **options}) as recorder:
        return [recorder.check(**check) for check in checks]


def one(chunk, state, world, now_s=NOW_S, **more) -> dict:
    return {"chunk": chunk, "state": state, "world": world, "now_s": now_s, **more}


def require_same(path: Path, verdicts: list[lg.Verdict]) -> None:
    recording = read_recording(path)
    assert [check.verdict for check in recording.checks] == [verdict.to_bytes() for verdict in verdicts]
    assert [check.accepted for check in recording.checks] == [verdict.accepted for verdict in verdicts]
    outcome = replay(recording)
    assert (outcome.same, outcome.differences, outcome.left_out) == (len(verdicts), [], [])


@pytest.mark.parametrize("name", REJECTIONS)
def test_refusal_of_every_kind_is_run_again(name: str, tmp_path: Path):
    rejected = REJECTIONS[name]()
    path = tmp_path / "box.mcap"
    (verdict,) = recorded(path, rejected.gate, one(rejected.chunk, rejected.state, rejected.world))
    require_same(path, [verdict])
    (check,) = read_recording(path).checks
    violation = verdict.violations[0]
    assert (check.code, check.sentence) == (str(violation.code), violation.sentence())
    assert check.evidence_json == violation.evidence().model_dump_json()


def test_every_field_of_the_state_is_kept(tmp_path: Path):
    gate = gate_with()
    full = lg.RobotState(
        positions=HOME,
        stamp_s=NOW_S - 0.0123456789,
        velocities=np.full(7, 1e-3),
        gripper_positions=np.array([0.0123456789]),
        stamps_s=NOW_S - np.linspace(0.0, 0.1, 7),
    )
    poisoned = lg.RobotState(positions=np.full(7, np.nan), stamp_s=float("inf"))
    states = [full, lg.RobotState(positions=HOME, stamp_s=NOW_S), poisoned, None]
    chunk = lg.ActionChunk(towards(j1=0.1))
    path = tmp_path / "box.mcap"
    verdicts = recorded(path, gate, *(one(chunk, state, lg.NO_WORLD) for state in states))
    require_same(path, verdicts)
    assert [verdict.accepted for verdict in verdicts] == [True, True, False, False]


def test_every_kind_of_world_is_kept(tmp_path: Path):
    gate = gate_with()
    transform = StampedTransform.of(np.eye(4)[:3], parent_frame="", child_frame="map", stamp_s=NOW_S)
    grid = lg.OccupancyGridIndex(np.zeros((20, 20), np.int8), 0.1, (-1.0, -1.0), stamp_s=NOW_S)
    floor_map = lg.FloorMap(grid=grid, map_in_base=transform, height_m=(0.0, 1.0), age_s_max=1.0)
    zone = lg.Zone(name="cage", shape=lg.HalfSpaceShape(), pose=lg.Pose6D(xyz=(0.0, 0.0, 0.1)))
    far = primitives().primitives
    worlds = [
        lg.NO_WORLD,
        None,
        lg.World(stamp_s=NOW_S),
        lg.World(primitives=far, stamp_s=NOW_S, frame_id="elsewhere"),
        lg.World(primitives=far, stamp_s=NOW_S - 100.0),
        lg.World(primitives=far, zones=[zone], stamp_s=NOW_S),
        lg.World(points=lg.Points.none(stamp_s=NOW_S), stamp_s=NOW_S),
        lg.World(primitives=[], floor_map=floor_map, stamp_s=NOW_S),
    ]
    state = lg.RobotState(positions=HOME, stamp_s=NOW_S)
    path = tmp_path / "box.mcap"
    verdicts = recorded(path, gate, *(one(lg.ActionChunk(DOWN), state, world) for world in worlds))
    require_same(path, verdicts)
    codes = [str(v.violations[0].code) if v.violations else "accepted" for v in verdicts]
    assert codes[1:6] == ["world_unavailable"] * 4 + ["world_collision"]


def test_world_of_many_checks_is_written_once(tmp_path: Path):
    gate = gate_with()
    world = REJECTIONS["world_point"]().world
    state = lg.RobotState(positions=HOME, stamp_s=NOW_S)
    chunk = lg.ActionChunk(towards(j1=0.1))
    sizes = []
    for count in (1, 5):
        path = tmp_path / f"{count}.mcap"
        recorded(path, gate, *(one(chunk, state, world) for _ in range(count)))
        sizes.append(path.stat().st_size)
    assert sizes[1] - sizes[0] < 20_000 < sizes[0]


def test_attached_objects_contacts_and_recovery_are_kept(tmp_path: Path):
    gate = gate_of(planar_two_link())
    wall = world_of(sphere((2.0, 0.3, 0.0), 0.05, "wall"))
    contact = lg.DeclaredContact(
        name="touch",
        links=("forearm",),
        objects=("wall",),
        region=lg.BoxShape(size_xyz_m=(6.0, 6.0, 6.0)),
        region_pose=lg.Pose6D(xyz=(0.0, 0.0, 0.0)),
        expires_s=PAPER_NOW_S + 100.0,
    )
    chunk = lg.ActionChunk(np.array([[0.05, 0.0], [0.1, 0.0]]))
    checks = [
        one(chunk, at(0.0, 0.0), wall, PAPER_NOW_S),
        one(chunk, at(0.0, 0.0), wall, PAPER_NOW_S, declared_contacts=(contact,)),
        one(chunk, at(0.0, 0.0), wall, PAPER_NOW_S, recovery=True),
    ]
    path = tmp_path / "box.mcap"
    said = []
    with Recorder(gate, path, in_background=False) as recorder:
        said += [recorder.check(**check) for check in checks]
        gate.attach("upper_arm", lg.SphereShape(radius_m=0.02), object_id="label")
        reach = (1.0, 0.0, 0.0, 0.0, 0.0, 0.0)
        gate.attach("forearm", lg.SphereShape(radius_m=0.3), object_id="cup", origin_xyz_rpy=reach)
        said += [recorder.check(**check) for check in checks]
        gate.detach("label")
        said += [recorder.check(**check) for check in checks]
    assert {verdict.accepted for verdict in said} == {True, False}
    assert said[3].violations[0].subject == "cup"
    require_same(path, said)


@pytest.mark.parametrize(
    ("manifest", "chunk"),
    [
        (cart(), lg.ActionChunk([[1.0, 0.0, 0.0, 0.0, 0.0, 0.5]], mode=lg.ControlMode.BODY_TWIST)),
        (gripper_arm(), lg.ActionChunk([[1.0]], mode=lg.ControlMode.GRIPPER_POSITION)),
        (planar_two_link(), lg.ActionChunk([[0.01, 0, 0, 0, 0, 0.0]], mode=lg.ControlMode.CARTESIAN_DELTA)),
    ],
    ids=["body_twist", "gripper", "cartesian"],
)
def test_other_modes_are_kept(manifest, chunk, tmp_path: Path):
    gate = gate_of(manifest)
    world = world_of(sphere((5.0, 5.0, 0.0), 0.1, "pole"))
    state = at(*[0.3] * gate.n_dof)
    path = tmp_path / "box.mcap"
    require_same(path, recorded(path, gate, one(chunk, state, world, PAPER_NOW_S)))


def test_chunk_that_no_message_can_hold_is_said_to_be_left_out(tmp_path: Path):
    gate = gate_with()
    state = lg.RobotState(positions=HOME, stamp_s=NOW_S)
    path = tmp_path / "box.mcap"
    wide = lg.ActionChunk(np.zeros((2, 300)))
    recorded(path, gate, one(wide, state, lg.NO_WORLD), one(lg.ActionChunk(DOWN), state, lg.NO_WORLD))
    outcome = replay(read_recording(path))
    assert outcome.same == 1
    assert outcome.left_out == [(1, "the chunk is larger than a message can be")]


# ---- What is written, and when ------------------------------------------------------------------------


def test_last_seconds_are_written_only_when_something_is_refused(tmp_path: Path):
    gate = gate_with()
    state = lg.RobotState(positions=HOME, stamp_s=NOW_S)
    good, bad = lg.ActionChunk(towards(j1=0.1)), lg.ActionChunk(np.full((1, 7), np.nan))
    path = tmp_path / "box.mcap"
    with Recorder(gate, path, last_s=0.2, in_background=False) as recorder:
        recorder.check(**one(good, state, lg.NO_WORLD))
        assert not path.exists()
        time.sleep(0.25)
        for chunk in (good, good, bad, good):
            recorder.check(**one(chunk, state, lg.NO_WORLD))
    assert [check.accepted for check in read_recording(path).checks] == [True, True, False]
    assert recorder.written == 3


def test_full_disk_is_said_once_and_changes_no_verdict():
    """`/dev/full` takes no byte: what a full disk is to a file."""
    gate = gate_with()
    state = lg.RobotState(positions=HOME, stamp_s=NOW_S)
    recorder = Recorder(gate, "/dev/full")
    for _ in range(3):
        assert recorder.check(**one(lg.ActionChunk(towards(j1=0.1)), state, lg.NO_WORLD)).accepted
    with pytest.raises(lg.ROSConfigError, match="cannot be read: No space left on device"):
        recorder.close()
    recorder.close()
    recorder = Recorder(gate, "/dev/full", in_background=False)

    def record_until_full() -> None:
        for number in range(10_000):  # what the writer keeps to itself is written when there is enough of it
            chunk = lg.ActionChunk(towards(j1=0.1) + number * 1e-9)
            recorder.check(**one(chunk, state, lg.NO_WORLD))

    with pytest.raises(lg.ROSConfigError, match=r"`/dev/full` ends after \d+ verdicts"):
        record_until_full()
    recorder.close()


def test_without_a_refusal_there_is_no_file(tmp_path: Path):
    state = lg.RobotState(positions=HOME, stamp_s=NOW_S)
    path = tmp_path / "box.mcap"
    recorded(path, gate_with(), one(lg.ActionChunk(towards(j1=0.1)), state, lg.NO_WORLD), last_s=5.0)
    assert not path.exists()


@pytest.mark.parametrize("last_s", [0.0, -1.0, float("nan"), float("inf")])
def test_last_seconds_must_be_positive_in_process_and_beside_a_kernel(last_s: float, tmp_path: Path):
    gate, path = gate_with(), tmp_path / "box.mcap"
    with pytest.raises(lg.ROSConfigError, match="last_s must be a positive number"):
        Recorder(gate, path, last_s=last_s)
    with pytest.raises(lg.ROSConfigError, match="last_s must be a positive number"):
        KernelRecorder("absent", gate, path, last_s=last_s)


def test_writing_in_the_background_gives_the_same_file(tmp_path: Path):
    rejected = REJECTIONS["world_voxel"]()
    path = tmp_path / "box.mcap"
    checks = [one(rejected.chunk, rejected.state, rejected.world)] * 20
    require_same(path, recorded(path, rejected.gate, *checks, in_background=True))


def test_writer_that_does_not_keep_up_loses_the_oldest_and_counts_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(recorder_module, "KEPT_MAX", 4)
    monkeypatch.setattr(recorder_module, "_PERIOD_S", 60.0)
    accepted = case(towards(j1=0.1))
    path = tmp_path / "box.mcap"
    with Recorder(accepted.gate, path) as recorder:
        for index in range(10):
            chunk = lg.ActionChunk(accepted.chunk.rows, rskill_id=str(index))
            recorder.check(**one(chunk, accepted.state, accepted.world))
        assert recorder.lost == 6
    kept = [check.chunk.rskill_id for check in read_recording(path).checks]
    assert kept == ["6", "7", "8", "9"]


def test_disk_that_cannot_be_written_stops_no_check_and_is_told_at_the_end(tmp_path: Path):
    accepted = case(towards(j1=0.1))
    (tmp_path / "file").write_text("not a folder")
    recorder = Recorder(accepted.gate, tmp_path / "file" / "box.mcap")
    assert recorder.check(**one(accepted.chunk, accepted.state, accepted.world)).accepted
    with pytest.raises(lg.ROSConfigError, match="not whole"):
        recorder.close()


def test_certificate_is_recorded_on_request_and_verifies(tmp_path: Path):
    """Checked by the program that shares nothing with the core."""
    from lastgate.certificate.checker import check_text

    accepted, rejected = case(towards(rows=8, j1=0.1)), REJECTIONS["self_collision"]()
    checks = [
        one(accepted.chunk, accepted.state, accepted.world),
        one(rejected.chunk, rejected.state, rejected.world),
    ]
    path = tmp_path / "box.mcap"
    require_same(path, recorded(path, accepted.gate, *checks, with_certificates=True))
    shown, nothing = (check.certificate for check in read_recording(path).checks)
    check_text(shown.decode())
    assert nothing == b""
    recorded(path, accepted.gate, *checks)
    assert [check.certificate for check in read_recording(path).checks] == [b"", b""]


def test_certificate_in_a_recording_speaks_for_what_was_held(tmp_path: Path):
    from lastgate.certificate.checker import check_text

    accepted = case(towards(rows=8, j1=0.1))
    path = tmp_path / "box.mcap"
    check = one(accepted.chunk, accepted.state, accepted.world)
    with Recorder(accepted.gate, path, with_certificates=True) as recorder:
        assert recorder.check(**check).accepted
        accepted.gate.attach(
            "panda_hand",
            lg.SphereShape(radius_m=0.02),
            object_id="cup",
            touch_links=["panda_leftfinger", "panda_rightfinger"],
        )
        assert recorder.check(**check).accepted
        accepted.gate.detach("cup")
        assert recorder.check(**check).accepted
    held = [check_text(check.certificate.decode()).held_count for check in read_recording(path).checks]
    assert held == [0, 1, 0]


# ---- Files that are not what they should be --------------------------------------------------------------


@pytest.fixture
def good_file(tmp_path: Path) -> Path:
    gate = gate_of(planar_two_link())
    path = tmp_path / "good.mcap"
    chunk = lg.ActionChunk(np.array([[0.05, 0.0], [0.1, 0.0]]))
    world = world_of(sphere((2.0, 0.3, 0.0), 0.05, "wall"))
    recorded(path, gate, *[one(chunk, at(0.0, 0.0), world, PAPER_NOW_S)] * 3)
    return path


def test_file_cut_anywhere_is_refused(good_file: Path, tmp_path: Path):
    whole = good_file.read_bytes()
    cut = tmp_path / "cut.mcap"
    for length in np.linspace(0, len(whole) - 1, 60).astype(int):
        cut.write_bytes(whole[:length])
        with pytest.raises(lg.ROSConfigError, match=r"cut\.mcap"):
            read_recording(cut)


def test_file_with_a_flipped_bit_is_refused(good_file: Path, tmp_path: Path):
    whole = good_file.read_bytes()
    spoilt = tmp_path / "spoilt.mcap"
    everywhere = np.linspace(0, len(whole) - 1, 400).astype(int)
    for offset in (*everywhere, *range(len(whole) - 60, len(whole))):
        changed = bytearray(whole)
        changed[offset] ^= 0x10
        spoilt.write_bytes(changed)
        with pytest.raises(lg.ROSConfigError, match=r"spoilt\.mcap"):
            read_recording(spoilt)


@pytest.mark.parametrize("content", [b"", b"hello", b"\x89MCAP0\r\n", b"\x00" * 4096])
def test_file_that_is_no_mcap_is_refused(content: bytes, tmp_path: Path):
    path = tmp_path / "other.mcap"
    path.write_bytes(content)
    with pytest.raises(lg.ROSConfigError, match=r"other\.mcap"):
        read_recording(path)


def test_recording_of_another_program_is_refused(tmp_path: Path):
    from mcap.writer import Writer

    path = tmp_path / "other.mcap"
    with path.open("wb") as stream:
        writer = Writer(stream)
        writer.start(profile="ros2", library="rosbag2")
        writer.finish()
    with pytest.raises(lg.ROSConfigError, match="rosbag2"):
        read_recording(path)


@pytest.mark.parametrize("name", ["missing.mcap", "."])
def test_file_that_cannot_be_opened_is_refused(name: str, tmp_path: Path):
    with pytest.raises(lg.ROSConfigError, match="cannot read"):
        read_recording(tmp_path / name)


def test_verdict_that_was_changed_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    rejected, accepted = REJECTIONS["world_voxel"](), case(towards(j1=0.1))
    path = tmp_path / "box.mcap"
    native = accepted.check().native
    write = RecordingFile.write

    def lie(self, inputs):
        from dataclasses import replace

        write(self, replace(inputs, verdict=native))

    monkeypatch.setattr(RecordingFile, "write", lie)
    recorded(path, rejected.gate, one(rejected.chunk, rejected.state, rejected.world))
    outcome = replay(read_recording(path))
    assert outcome.same == 0
    (difference,) = outcome.differences
    assert difference.recorded.startswith("accepted")
    assert difference.repeated.startswith("world_collision")


def test_last_bit_of_a_verdict_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    accepted = case(towards(j1=0.1))
    path = tmp_path / "box.mcap"
    recorded(path, accepted.gate, one(accepted.chunk, accepted.state, accepted.world))
    recording = read_recording(path)
    (check,) = recording.checks
    bits = np.unpackbits(np.frombuffer(check.verdict, np.uint8))
    from dataclasses import replace

    for bit in range(0, len(bits), 97):
        flipped = bits.copy()
        flipped[bit] ^= 1
        recording.checks = [replace(check, verdict=np.packbits(flipped).tobytes())]
        assert len(replay(recording).differences) == 1, bit


# ---- What other programs see -----------------------------------------------------------------------------


def test_message_texts_are_those_of_the_ros_package():
    own = ROOT / "src" / "lastgate" / "tools" / "telemetry" / "messages"
    shared = [path for path in own.glob("*.msg") if (ROOT / "ros2/openral_msgs/msg" / path.name).exists()]
    assert {path.stem for path in shared} == {"ActionChunk", "WorldCollision", "OccupancyVoxels"}
    for path in shared:
        assert path.read_text() == (ROOT / "ros2/openral_msgs/msg" / path.name).read_text()


def test_other_programs_read_the_messages_by_their_schemas(tmp_path: Path):
    """The schemas in the file are all that a foreign reader has: nothing of ours decodes here."""
    from mcap.reader import make_reader
    from rosbags.typesys import Stores, get_types_from_msg, get_typestore

    rejected = REJECTIONS["world_voxel"]()
    path = tmp_path / "box.mcap"
    recorded(path, rejected.gate, one(rejected.chunk, rejected.state, rejected.world))
    found = {}
    with path.open("rb") as stream:
        for schema, channel, message in make_reader(stream, validate_crcs=True).iter_messages():
            assert schema.name
            if channel.message_encoding != "cdr":
                continue
            assert schema.encoding == "ros2msg"
            types = get_typestore(Stores.EMPTY)
            head, *parts = schema.data.decode().split("=" * 80 + "\n")
            for part in parts:
                name, _, text = part.partition("\n")
                package, _, stem = name.removeprefix("MSG: ").partition("/")
                types.register(get_types_from_msg(text, f"{package}/msg/{stem}"))
            types.register(get_types_from_msg(head, schema.name))
            found[channel.topic] = types.deserialize_cdr(message.data, schema.name)
    chunk = found["/openral/candidate_action"]
    np.testing.assert_array_equal(chunk.flat.reshape(chunk.horizon, chunk.n_dof), rejected.chunk.rows)
    joints = found["/joint_states"]
    np.testing.assert_array_equal(joints.position, HOME)
    assert tuple(joints.name) == rejected.gate.joint_names
    check = found["/lastgate/check"]
    assert (check.code, check.now_s) == ("world_collision", NOW_S)
    assert len(found["/lastgate/world"].parts) == 1


def test_schema_of_a_message_names_what_it_is_made_of():
    assert "MSG: lastgate_msgs/WorldPart" in schema_text("WorldRecord")


@pytest.mark.parametrize("payload", [b"", b"\x00\x01\x00\x00", b"\x00\x01\x00\x00" + b"\xff" * 100])
def test_bytes_that_are_no_message_are_refused(payload: bytes):
    with pytest.raises(lg.ROSConfigError, match="Check message cannot be read"):
        decode_message("Check", payload)


def test_gate_of_another_robot_is_not_made_from_a_config():
    text = gate_of(planar_two_link()).flat_config
    with pytest.raises(lg.ROSConfigError, match="not about robot"):
        lg.Gate.from_flat_config(panda(), text)


# ---- Ten thousand ----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def ten_thousand(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Records verdicts about random chunks, some short and some long, near an obstacle and far from it."""
    rng = np.random.default_rng(20261116)
    gate = gate_with()
    path = tmp_path_factory.mktemp("recording") / "many.mcap"
    world = primitives()
    with Recorder(gate, path, in_background=False) as recorder:
        for index in range(10_000):
            if index % 500 == 0:
                xyz = rng.uniform([0.2, -0.5, 0.1], [0.7, 0.5, 0.7], (3, 3))
                world = lg.World(
                    primitives=[sphere(centre, 0.1, f"sphere{k}") for k, centre in enumerate(xyz.tolist())],
                    points=rng.uniform([0.3, -0.6, 0.0], [0.8, 0.6, 0.3], (20, 3)),
                    stamp_s=NOW_S,
                )
            start = HOME + rng.normal(0.0, 0.3, 7)
            rows = start + np.cumsum(rng.normal(0.0, 0.004, (8, 7)), axis=0)
            state = lg.RobotState(positions=start, stamp_s=NOW_S, velocities=np.zeros(7))
            recorder.check(lg.ActionChunk(rows), state=state, world=world, now_s=NOW_S)
    return path


@pytest.mark.parametrize("lanes", ["avx2", "generic", "neon"])
def test_ten_thousand_verdicts_are_the_same_under_every_simd_build(
    lanes: str, ten_thousand: Path, monkeypatch: pytest.MonkeyPatch
):
    if not _core.has_simd_build(_core.SimdBuild[lanes]):
        pytest.skip(f"this machine has no SIMD build {lanes}")
    monkeypatch.setenv("LASTGATE_SIMD", lanes)
    recording = read_recording(ten_thousand)
    accepted = sum(check.accepted for check in recording.checks)
    assert 1000 < accepted < 9000
    outcome = replay(recording)
    assert (outcome.same, outcome.differences, outcome.left_out) == (10_000, [], [])


# ---- What never ends ---------------------------------------------------------------------------------------


def grown_by(act, count: int) -> int:
    """Returns by how many bytes this process's memory has grown after something was done many times."""
    tracemalloc.start()
    try:
        gc.collect()
        before = tracemalloc.get_traced_memory()[0]
        for number in range(count):
            act(number)
        gc.collect()
        return tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()


def test_recorder_does_not_grow_while_rejections_never_stop(tmp_path, monkeypatch):
    monkeypatch.setattr(recording_file, "BLOCKS_INDEXED_MAX", 20)
    monkeypatch.setattr(recording_file, "WORLDS_KNOWN_MAX", 8)
    gate = gate_of(planar_two_link(), step_s=0.1)
    path = tmp_path / "endless.mcap"
    with Recorder(gate, path, last_s=5.0, in_background=False) as recorder:

        def refuse(number: int) -> None:
            world = lg.World(primitives=[], stamp_s=1.0, world_id=f"world {number}")
            state = lg.RobotState(positions=np.zeros(2), stamp_s=1.0)
            chunk = lg.ActionChunk(np.full((4, 2), 3.5))
            assert not recorder.check(chunk, state=state, world=world, now_s=1.0).accepted

        for number in range(200):
            refuse(number)
        # Two hundred bytes for each used to stay until the file was closed.
        assert grown_by(lambda number: refuse(200 + number), 400) < 400 * 50
        assert recorder.written == 600
        assert recorder.lost == 0
    # What has no index is read from its beginning, and is as whole as what has one.
    recording = read_recording(path)
    assert len(recording.checks) == 600
    assert replay(recording).same == 600


def test_index_of_a_hundred_thousand_blocks_is_empty_and_one_of_a_few_is_whole():
    index = recording_file._BlockIndex()
    for number in range(recording_file.BLOCKS_INDEXED_MAX):
        index.append(number)
    assert len(index) == recording_file.BLOCKS_INDEXED_MAX
    for number in range(100_000):
        index.append(number)
        assert not index
    assert sys.getsizeof(index) < 1024


def test_short_recording_keeps_its_index(tmp_path):
    from mcap.reader import make_reader

    gate = gate_of(planar_two_link(), step_s=0.1)
    with Recorder(gate, tmp_path / "short.mcap", in_background=False) as recorder:
        for _ in range(20):
            recorder.check(
                lg.ActionChunk(np.zeros((4, 2))),
                state=lg.RobotState(positions=np.zeros(2), stamp_s=1.0),
                world=lg.NO_WORLD,
                now_s=1.0,
            )
    with (tmp_path / "short.mcap").open("rb") as stream:
        summary = make_reader(stream).get_summary()
    assert summary is not None
    assert len(summary.chunk_indexes) > 1


def test_checks_that_wait_are_bounded_and_what_is_left_out_is_counted(tmp_path, monkeypatch):
    gate = gate_of(planar_two_link(), step_s=0.1)
    with Recorder(gate, tmp_path / "slow.mcap") as recorder:
        writing = threading.Event()
        monkeypatch.setattr(recorder, "_take", lambda seen: writing.wait())
        for _ in range(KEPT_MAX + 100):
            recorder.check(lg.ActionChunk(np.full((4, 2), 3.5)), state=None, world=lg.NO_WORLD, now_s=1.0)
        assert len(recorder._waiting) <= KEPT_MAX
        # One may be in the writer's hands.
        assert 99 <= recorder.lost <= 100
        writing.set()
