# SPDX-License-Identifier: Apache-2.0
"""The kernel as a process: which chunks pass, which do not, and what is said about them."""

import time

import numpy as np
import pytest
from fixtures import ros_messages as ros
from fixtures.analytic_robots import (
    arm_of_one_link,
    only_violation,
    planar_two_link,
    post,
    sliders,
    sphere,
    stacked,
)
from fixtures.kernel_messages import everything_in, now_world, still, submit

import lastgate as lg
from lastgate import _core

Mode = lg.ControlMode


def test_k01_twenty_chunks_pass_with_their_bytes_and_trace_ids(start_kernel):
    kernel = start_kernel(stacked(3), without_world=True)
    passed = _core.RingReader(kernel.instance, "safe_actions")
    failures = _core.RingReader(kernel.instance, "failures")
    channel = _core.ChannelClient(kernel.instance)
    sent = []
    for number in range(20):
        payload = ros.to_bytes(
            ros.action_chunk(np.full((1, 3), 0.001 * number), trace_id=f"00-{number:032x}")
        )
        still(kernel)
        answer = channel.wait_verdict(channel.submit(payload), timeout_s=1.0)
        assert answer.passed, answer.evidence
        sent.append(payload)
        (message,) = [passed.read(1.0)]
        # Byte for byte, in order, and said to come from this kernel.
        assert message[3] == payload
        assert message[0] == number + 1 == answer.safe_sequence
        assert message[1] == channel.kernel_id
    assert len({ros.from_bytes(p, "openral_msgs/msg/ActionChunk").trace_id for p in sent}) == 20
    assert everything_in(failures) == []
    assert not kernel.status().latched


def test_big_endian_chunk_passes_on_as_it_came(start_kernel):
    kernel = start_kernel(stacked(3), without_world=True)
    passed = _core.RingReader(kernel.instance, "safe_actions")
    channel = _core.ChannelClient(kernel.instance)
    still(kernel)
    payload = ros.to_bytes(ros.action_chunk(np.full((2, 3), 0.01)), little_endian=False)
    assert channel.wait_verdict(channel.submit(payload), timeout_s=1.0).passed
    assert passed.read(1.0)[3] == payload


def test_k02_violation_is_reported_with_evidence_and_nothing_passes(start_kernel):
    kernel = start_kernel(stacked(3, position_limits=[-0.5, 0.5]), without_world=True)
    passed = _core.RingReader(kernel.instance, "safe_actions")
    failures = _core.RingReader(kernel.instance, "failures")
    verdict = submit(kernel, [[0.0, 5.0, 0.0]], rskill_id="pick", trace_id="00-abc")
    violation = only_violation(verdict)
    assert violation.code == lg.ViolationCode.joint_position_limit
    failure = ros.from_bytes(failures.read(1.0)[3], "openral_msgs/msg/FailureTrigger")
    assert (failure.kind, failure.severity) == (lg.FailureKind.WORKSPACE, 3)
    assert (failure.rskill_id, failure.trace_id) == ("pick", "00-abc")
    # The evidence of the kernel is what Python says of the same verdict, number for number.
    assert lg.read_evidence(failure.evidence_json) == violation.evidence()
    assert everything_in(passed) == []


@pytest.mark.parametrize("on_stale", ["drop", "estop"])
def test_k12_no_world_yet_is_dropped_and_latches_only_if_told_to(start_kernel, on_stale):
    kernel = start_kernel(arm_of_one_link(), on_stale=on_stale)
    assert only_violation(submit(kernel, [[0.0]])).code == lg.ViolationCode.world_unavailable
    assert kernel.status().latched == (on_stale == "estop")


def test_k13_k14_obstacle_away_passes_and_obstacle_inside_is_named(start_kernel):
    kernel = start_kernel(arm_of_one_link(), on_violation="hold")
    kernel.publish_world(now_world(post((0.5, 3.0, 0.0), 0.05, 0.18, "obstacle")))
    assert submit(kernel, [[0.0]]).accepted
    kernel.publish_world(now_world(post((0.5, 0.05, 0.0), 0.05, 0.18, "obstacle")))
    violation = only_violation(submit(kernel, [[0.0]]))
    assert (violation.subject, violation.against) == ("arm", "obstacle")
    assert violation.value == pytest.approx(-0.05, abs=1e-6)
    assert not kernel.status().latched  # on_violation: hold


def test_world_messages_of_the_wire_say_the_same(start_kernel):
    kernel = start_kernel(arm_of_one_link(), on_violation="hold", on_stale="drop")
    failures = _core.RingReader(kernel.instance, "failures")
    channel = _core.ChannelClient(kernel.instance)
    still(kernel)

    def decide(world):
        channel.wait_world(channel.publish_wire_world(world), 1.0)
        still(kernel)
        return channel.wait_verdict(
            channel.submit(ros.to_bytes(ros.action_chunk(np.zeros((1, 1))))), timeout_s=1.0
        )

    obstacle = ros.make(
        "openral_msgs/msg/WorldCollision",
        header=ros.header(time.time(), "base"),
        radius=np.array([0.05]),
        half_length=np.array([0.09]),
        origin_xyzrpy=np.array([0.5, 0.05, 0.0, 0.0, 0.0, 0.0]),
        object_id=["pole"],
    )
    assert not decide(("world_collision", ros.to_bytes(obstacle))).passed
    evidence = lg.read_evidence(
        ros.from_bytes(failures.read(1.0)[3], "openral_msgs/msg/FailureTrigger").evidence_json
    )
    assert (evidence.link_a, evidence.link_b_or_object) == ("arm", "pole")
    obstacle.origin_xyzrpy = np.array([0.5, 3.0, 0.0, 0.0, 0.0, 0.0])
    assert decide(("world_collision", ros.to_bytes(obstacle))).passed

    voxel_array = np.zeros((24, 24, 24), dtype=np.uint8)
    voxels = ros.make(
        "openral_msgs/msg/OccupancyVoxels",
        header=ros.header(time.time(), "base"),
        origin=ros.make("geometry_msgs/msg/Point", x=-1.2, y=-1.2, z=-1.2),
        resolution=0.1,
        size_x=24,
        size_y=24,
        size_z=24,
        occupancy=voxel_array.ravel(),
    )
    assert decide(("occupancy_voxels", ros.to_bytes(voxels))).passed
    voxel_array[12, 12, 17] = 1  # z, y, x: x from 0.5 to 0.6 m, where the arm lies
    voxels.occupancy = voxel_array.ravel()
    assert not decide(("occupancy_voxels", ros.to_bytes(voxels))).passed
    evidence = lg.read_evidence(
        ros.from_bytes(failures.read(1.0)[3], "openral_msgs/msg/FailureTrigger").evidence_json
    )
    assert evidence.link_b_or_object == f"voxel_{(12 * 24 + 12) * 24 + 17}"
    # Another frame is no world.
    voxels.header = ros.header(time.time(), "map")
    answer = decide(("occupancy_voxels", ros.to_bytes(voxels)))
    assert answer.verdict.violation.code == lg.ViolationCode.world_unavailable.number


def test_k17_k18_velocity_chunk_needs_a_state(start_kernel):
    kernel = start_kernel(stacked(2), without_world=True, on_stale="drop")
    rows = np.zeros((2, 2))
    verdict = kernel.submit(rows, mode=Mode.JOINT_VELOCITY)
    assert only_violation(verdict).code == lg.ViolationCode.state_unavailable
    still(kernel)
    assert kernel.submit(rows, mode=Mode.JOINT_VELOCITY).accepted


def test_chunk_keeps_its_own_mode_and_a_second_one_is_refused(start_kernel):
    kernel = start_kernel(stacked(2), without_world=True)
    chunk = lg.ActionChunk(np.zeros((1, 2)), mode=Mode.JOINT_VELOCITY)
    still(kernel)
    assert kernel.submit(chunk).chunk.mode is Mode.JOINT_VELOCITY
    for mode in (Mode.JOINT_POSITION, Mode.JOINT_VELOCITY):
        with pytest.raises(lg.ROSConfigError, match="leave mode out"):
            kernel.submit(chunk, mode=mode)
    assert kernel.status().passed == 1


@pytest.mark.parametrize(
    ("twist", "why"),
    [
        (np.zeros(6, dtype=np.float32), "twist is float32"),
        ([[0.0] * 6], "twist has 2 dimensions"),
        ([0.0] * 5, "six numbers, got 5"),
        (["0"] * 6, "strings"),
    ],
)
def test_twist_that_cannot_be_read_is_refused_and_stops_nothing(start_kernel, twist, why):
    kernel = start_kernel(stacked(2), without_world=True)
    with pytest.raises(lg.ROSConfigError, match=why):
        kernel.submit_twist(twist)
    assert (kernel.status().latched, kernel.status().dropped) == (False, 0)


def test_k19_zero_delta_passes(start_kernel):
    kernel = start_kernel(planar_two_link(), without_world=True)
    kernel.observe(np.array([0.0, 0.5]))
    assert kernel.submit(np.zeros((1, 6)), mode=Mode.CARTESIAN_DELTA).accepted


def test_k20_coincident_capsules_latch_on_a_zero_velocity(start_kernel):
    kernel = start_kernel(sliders(0.0, 0.05), without_world=True)
    verdict = submit(kernel, np.zeros((1, 2)), Mode.JOINT_VELOCITY)
    assert only_violation(verdict).code == lg.ViolationCode.self_collision
    assert kernel.status().latched


@pytest.mark.parametrize(("wall_y", "rows", "accepted"), [(1.3, 10, False), (1.9, 8, True)])
def test_k22_k23_delta_chunk_towards_a_wall(start_kernel, wall_y, rows, accepted):
    kernel = start_kernel(planar_two_link(), rate_hz=5.0)
    passed = _core.RingReader(kernel.instance, "safe_actions")
    half = np.sqrt(0.5)
    wall = lg.WorldCollisionPrimitive(  # solid where y >= wall_y
        shape=lg.HalfSpaceShape(), pose=lg.Pose6D(xyz=(0.0, wall_y, 0.0), quat_xyzw=(half, 0.0, 0.0, half))
    )
    kernel.publish_world(now_world(wall))
    kernel.observe(np.array([0.0, np.pi / 2]))
    step = np.zeros((rows, 6))
    step[:, 1] = 0.05
    assert kernel.submit(step, mode=Mode.CARTESIAN_DELTA).accepted == accepted
    assert kernel.status().latched == (not accepted)
    assert len(everything_in(passed)) == accepted


def test_state_that_grows_old_is_refused_though_its_source_stamps_ahead(start_kernel):
    kernel = start_kernel(stacked(2), without_world=True, on_stale="drop")
    kernel.observe(np.zeros(2))
    assert kernel.submit(np.zeros((1, 2))).accepted
    time.sleep(0.4)
    assert only_violation(kernel.submit(np.zeros((1, 2)))).code == lg.ViolationCode.state_unavailable
    # Stamped by a clock that runs ahead: it must not stay young.
    kernel.observe(np.zeros(2), stamp_s=time.time() + 60.0)
    assert only_violation(kernel.submit(np.zeros((1, 2)))).code == lg.ViolationCode.state_unavailable


def test_bytes_that_are_no_chunk_latch_and_are_reported(start_kernel):
    kernel = start_kernel(stacked(3), without_world=True)
    failures = _core.RingReader(kernel.instance, "failures")
    channel = _core.ChannelClient(kernel.instance)
    still(kernel)
    answer = channel.wait_verdict(channel.submit(b"\x00\x01\x00\x00 not a chunk"), timeout_s=1.0)
    assert (answer.passed, answer.latched) == (False, True)
    assert (
        ros.from_bytes(failures.read(1.0)[3], "openral_msgs/msg/FailureTrigger").kind
        == lg.FailureKind.CONTROLLER
    )


def test_warn_only_passes_and_says_so(start_kernel):
    kernel = start_kernel(stacked(3), without_world=True, warn_only=True)
    passed = _core.RingReader(kernel.instance, "safe_actions")
    failures = _core.RingReader(kernel.instance, "failures")
    assert not submit(kernel, [[9.0] * 3]).accepted  # the verdict is the truth
    assert len(everything_in(passed)) == 1  # but the chunk went through
    assert len(everything_in(failures)) == 1
    assert not kernel.status().latched


def test_warn_only_says_so_every_second(start_kernel, caplog):
    kernel = start_kernel(stacked(3), without_world=True, warn_only=True)
    for _ in range(3):
        assert not submit(kernel, [[9.0] * 3]).accepted
    time.sleep(2.3)
    loud = [
        record.message for record in caplog.records if "WARN ONLY: no chunk is rejected" in record.message
    ]
    assert 2 <= len(loud) <= 4, loud
    assert "3 chunks that break a rule have passed" in loud[-1]


def test_k27_five_hundred_chunks_none_lost_none_reordered(start_kernel):
    kernel = start_kernel(stacked(3), without_world=True)
    passed = _core.RingReader(kernel.instance, "safe_actions")
    for number in range(500):
        verdict = submit(kernel, [[number * 1e-5] * 3])
        assert verdict.accepted
        message = passed.read(1.0)
        assert message[0] == number + 1
        assert ros.from_bytes(message[3], "openral_msgs/msg/ActionChunk").flat[0] == number * 1e-5
    assert passed.lost == 0


def test_verdicts_are_those_of_the_gate_in_process(start_kernel):
    """Same rows, same state, same world: the same bytes but for the ages, which are times."""
    robot = lg.load_robot("franka_panda")
    kernel = start_kernel(robot, rate_hz=50.0, on_violation="hold")
    gate = lg.Gate(robot, step_s=1.0 / 50.0)
    rng = np.random.default_rng(20260610)
    start = np.array([0.0, -0.6, 0.0, -2.2, 0.0, 1.7, 0.785])
    accepted = 0
    for _ in range(60):
        obstacle = sphere(rng.uniform((-0.2, -0.6, 0.0), (0.8, 0.6, 0.9)), 0.08)
        rows = start + np.cumsum(rng.normal(0.0, 0.012, (12, 7)), axis=0)
        stamp_s = time.time()
        world = lg.World(primitives=[obstacle], stamp_s=stamp_s)
        kernel.publish_world(world)
        kernel.observe(start, stamp_s=stamp_s)
        theirs = kernel.submit(rows)
        ours = gate.check(
            lg.ActionChunk(rows),
            state=lg.RobotState(positions=start, stamp_s=stamp_s),
            world=world,
            now_s=stamp_s,
        )
        assert theirs.accepted == ours.accepted
        accepted += ours.accepted
        assert (theirs.min_clearance_m == ours.min_clearance_m) or not ours.accepted
        if not ours.accepted:
            a, b = only_violation(theirs), only_violation(ours)
            assert (a.code, a.step, a.subject, a.against, a.value, a.segment_t) == (
                b.code,
                b.step,
                b.subject,
                b.against,
                b.value,
                b.segment_t,
            )
    assert 5 < accepted < 55
