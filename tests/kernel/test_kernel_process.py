# SPDX-License-Identifier: Apache-2.0
"""The kernel as a process: what passes, what does not, and what survives."""

import os
import signal
import subprocess
import threading
import time
from pathlib import Path

import numpy as np
import pytest
import ros_messages as ros
from paper_robots import arm_of_one_link, ball, only_violation, planar_two_link, post, sliders, stacked

import lastgate as lg
from lastgate import _core
from lastgate.kernel_config import flat_config
from lastgate.kernel_process import kernel_program

Mode = lg.ControlMode


def now_world(*primitives, **fields):
    return lg.World(primitives=primitives, stamp_s=time.time(), **fields)


def still(kernel):
    kernel.observe(np.zeros(kernel.n_dof))


def submit(kernel, rows, mode=Mode.JOINT_POSITION, **labels):
    still(kernel)
    return kernel.submit(lg.ActionChunk(np.asarray(rows, dtype=np.float64), mode=mode, **labels))


def everything_in(reader):
    found = []
    while (message := reader.read(0.05)) is not None:
        found.append(message)
    return found


def test_k01_twenty_chunks_pass_with_their_bytes_and_trace_ids(start_kernel):
    kernel = start_kernel(stacked(3), without_world=True)
    passed = _core.RingReader(kernel.instance, "safe_actions")
    failures = _core.RingReader(kernel.instance, "failures")
    door = _core.DoorClient(kernel.instance)
    sent = []
    for number in range(20):
        payload = ros.to_bytes(
            ros.action_chunk(np.full((1, 3), 0.001 * number), trace_id=f"00-{number:032x}")
        )
        still(kernel)
        answer = door.wait_verdict(door.submit(payload), 1.0, 0.0)
        assert answer["passed"], answer["evidence"]
        sent.append(payload)
        (message,) = [passed.read(1.0)]
        # Byte for byte, in order, and said to come from this kernel.
        assert message[3] == payload
        assert message[0] == number + 1 == answer["safe_sequence"]
        assert message[1] == door.kernel_id
    assert len({ros.from_bytes(p, "openral_msgs/msg/ActionChunk").trace_id for p in sent}) == 20
    assert everything_in(failures) == []
    assert not kernel.status().latched


def test_big_endian_chunk_passes_on_as_it_came(start_kernel):
    kernel = start_kernel(stacked(3), without_world=True)
    passed = _core.RingReader(kernel.instance, "safe_actions")
    door = _core.DoorClient(kernel.instance)
    still(kernel)
    payload = ros.to_bytes(ros.action_chunk(np.full((2, 3), 0.01)), little_endian=False)
    assert door.wait_verdict(door.submit(payload), 1.0, 0.0)["passed"]
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


def test_k03_after_a_violation_good_chunks_are_dropped(start_kernel):
    kernel = start_kernel(stacked(3), without_world=True)
    assert submit(kernel, [[0.01, 0.01, 0.01]]).accepted
    assert not submit(kernel, [[0.0, 5.0, 0.0]]).accepted
    passed = _core.RingReader(kernel.instance, "safe_actions")
    violation = only_violation(submit(kernel, [[0.01, 0.01, 0.01]]))
    assert violation.code == lg.ViolationCode.estop_latched
    assert everything_in(passed) == []


def test_k04_reset_is_refused_before_the_cooldown_and_works_after_it(start_kernel):
    kernel = start_kernel(stacked(3), without_world=True, reset_cooldown_s=0.3)
    kernel.estop("somebody pressed")
    status = kernel.status()
    assert (status.latched, status.reason) == (True, "somebody pressed")
    refused = kernel.reset()
    assert (refused.success, "cooling down" in refused.message) == (False, True)
    time.sleep(0.35)
    assert kernel.reset().success
    assert not kernel.status().latched
    assert submit(kernel, [[0.01, 0.01, 0.01]]).accepted


@pytest.mark.parametrize("reason", ["", 3, None, "\ud800", "nul \0 inside", "x" * 10_000])
def test_stop_with_a_strange_reason_is_a_stop(start_kernel, reason):
    kernel = start_kernel(stacked(3), without_world=True)
    kernel.estop(reason)
    assert kernel.status().latched


def test_stop_without_a_reason_is_a_stop(start_kernel):
    kernel = start_kernel(stacked(3), without_world=True)
    assert not kernel.status().latched
    kernel.estop()
    assert (kernel.status().latched, kernel.status().reason) == (True, "asked for by the program")


def test_stop_that_reaches_nobody_says_that_nothing_was_stopped(start_kernel):
    kernel = start_kernel(stacked(3), without_world=True)
    kernel.close()
    with pytest.raises(lg.ROSConfigError, match="nothing was stopped, use the hardware stop"):
        kernel.estop("too late")
    with pytest.raises(lg.ROSConfigError, match="cannot be asked"):
        kernel.status()


def test_stop_of_a_kernel_that_was_killed_meanwhile_says_that_it_did_not_latch(start_kernel):
    kernel = start_kernel(stacked(3), without_world=True, reset_cooldown_s=0.01)
    kernel.estop("first")
    time.sleep(0.05)
    assert kernel.reset().success
    os.kill(kernel.pid, signal.SIGKILL)
    with pytest.raises(lg.ROSConfigError, match="did not latch, use the hardware stop"):
        kernel.estop("second")


def test_client_speaks_to_a_kernel_that_others_started_and_leaves_it_running(start_kernel):
    started = start_kernel(stacked(3))
    with lg.KernelClient(started.robot, rate_hz=10.0, instance=started.instance, start=False) as client:
        started.publish_world(lg.World(primitives=[], stamp_s=time.time(), world_id="room"))
        verdict = submit(client, [[0.01, 0.01, 0.01]])
        assert verdict.accepted, verdict.explain()
        assert verdict.world_id == "room"
        verdict = submit(client, [[9.0, 0.01, 0.01]])
        assert (verdict.violations[0].code, verdict.violations[0].subject) == ("joint_position_limit", "j0")
        with pytest.raises(lg.ROSConfigError, match="was not started here"):
            _ = client.pid
    assert started.status().latched


def test_running_kernel_that_goes_away_is_a_rejection_for_who_only_speaks_to_it(start_kernel):
    started = start_kernel(stacked(3), without_world=True)
    client = lg.KernelClient(started.robot, rate_hz=10.0, instance=started.instance, start=False)
    started.close()
    verdict = client.submit(np.zeros((1, 3)))
    assert verdict.violations[0].code == "not_checked"


def test_running_kernel_of_another_rate_or_robot_or_none_is_refused(start_kernel):
    started = start_kernel(stacked(3), without_world=True)
    for robot, rate_hz in ((started.robot, 11.0), (lg.RobotDescription(**stacked(2)), 10.0)):
        with pytest.raises(lg.ROSConfigError, match="runs another model"):
            lg.KernelClient(robot, rate_hz=rate_hz, instance=started.instance, start=False)
    with pytest.raises(lg.ROSConfigError, match=rf"is the kernel running\?[^$]*`{started.instance}`"):
        lg.KernelClient(started.robot, rate_hz=10.0, instance="nobody", start=False)
    with pytest.raises(lg.ROSConfigError, match="are for a kernel that is started here"):
        lg.KernelClient(
            started.robot, rate_hz=10.0, instance=started.instance, start=False, settings=lg.KernelSettings()
        )
    with pytest.raises(lg.ROSConfigError, match="already running\n\nhint: `start=False` speaks to it"):
        lg.KernelClient(started.robot, rate_hz=10.0, instance=started.instance)


def test_settings_and_folder_of_another_type_are_named(tmp_path):
    with pytest.raises(lg.ROSConfigError, match="settings is a dict, expected KernelSettings"):
        lg.KernelClient(lg.RobotDescription(**stacked(3)), rate_hz=50, settings={"without_world": True})
    robot = lg.RobotDescription(**stacked(3))
    with lg.KernelClient(robot, rate_hz=50, instance="folder-as-text", state_dir=str(tmp_path)) as kernel:
        assert not kernel.status().latched


def test_k05_reset_of_what_is_not_latched_succeeds(start_kernel):
    outcome = start_kernel(stacked(3), without_world=True).reset()
    assert (outcome.success, outcome.message) == (True, "not latched, nothing to reset")


def test_k06_x25_lifecycle_leads_round_and_never_clears_the_latch(start_kernel):
    kernel = start_kernel(stacked(3), without_world=True)
    door = _core.DoorClient(kernel.instance)
    assert door.command("deactivate", 1.0) == (True, "inactive")
    assert kernel.status().state is lg.KernelState.INACTIVE
    assert only_violation(submit(kernel, [[0.01] * 3])).code == lg.ViolationCode.envelope_unconfigured
    assert door.command("activate", 1.0) == (True, "active")
    assert submit(kernel, [[0.01] * 3]).accepted
    kernel.estop("stop")
    for word in ("deactivate", "activate"):
        assert door.command(word, 1.0)[0]
        assert kernel.status().latched


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
    door = _core.DoorClient(kernel.instance)
    still(kernel)

    def decide(world):
        door.wait_world(door.publish_wire_world(world), 1.0)
        still(kernel)
        return door.wait_verdict(door.submit(ros.to_bytes(ros.action_chunk(np.zeros((1, 1))))), 1.0, 0.0)

    obstacle = ros.make(
        "openral_msgs/msg/WorldCollision",
        header=ros.header(time.time(), "base"),
        radius=np.array([0.05]),
        half_length=np.array([0.09]),
        origin_xyzrpy=np.array([0.5, 0.05, 0.0, 0.0, 0.0, 0.0]),
        object_id=["pole"],
    )
    assert not decide(("world_collision", ros.to_bytes(obstacle)))["passed"]
    evidence = lg.read_evidence(
        ros.from_bytes(failures.read(1.0)[3], "openral_msgs/msg/FailureTrigger").evidence_json
    )
    assert (evidence.link_a, evidence.link_b_or_object) == ("arm", "pole")
    obstacle.origin_xyzrpy = np.array([0.5, 3.0, 0.0, 0.0, 0.0, 0.0])
    assert decide(("world_collision", ros.to_bytes(obstacle)))["passed"]

    cells = np.zeros((24, 24, 24), dtype=np.uint8)
    voxels = ros.make(
        "openral_msgs/msg/OccupancyVoxels",
        header=ros.header(time.time(), "base"),
        origin=ros.make("geometry_msgs/msg/Point", x=-1.2, y=-1.2, z=-1.2),
        resolution=0.1,
        size_x=24,
        size_y=24,
        size_z=24,
        occupancy=cells.ravel(),
    )
    assert decide(("occupancy_voxels", ros.to_bytes(voxels)))["passed"]
    cells[12, 12, 17] = 1  # z, y, x: x from 0.5 to 0.6 m, where the arm lies
    voxels.occupancy = cells.ravel()
    assert not decide(("occupancy_voxels", ros.to_bytes(voxels)))["passed"]
    evidence = lg.read_evidence(
        ros.from_bytes(failures.read(1.0)[3], "openral_msgs/msg/FailureTrigger").evidence_json
    )
    assert evidence.link_b_or_object == f"voxel_{(12 * 24 + 12) * 24 + 17}"
    # Another frame is no world.
    voxels.header = ros.header(time.time(), "map")
    answer = decide(("occupancy_voxels", ros.to_bytes(voxels)))
    assert answer["verdict"].violation.code == lg.ViolationCode.world_unavailable.number


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
    door = _core.DoorClient(kernel.instance)
    still(kernel)
    answer = door.wait_verdict(door.submit(b"\x00\x01\x00\x00 not a chunk"), 1.0, 0.0)
    assert (answer["passed"], answer["latched"]) == (False, True)
    assert (
        ros.from_bytes(failures.read(1.0)[3], "openral_msgs/msg/FailureTrigger").kind
        == lg.FailureKind.CONTROLLER
    )


def test_latch_survives_kill_and_restart(start_kernel):
    first = start_kernel(stacked(3), without_world=True)
    assert submit(first, [[0.01] * 3]).accepted
    assert not submit(first, [[9.0] * 3]).accepted
    os.kill(first.pid, signal.SIGKILL)
    first.close()
    second = start_kernel(stacked(3), without_world=True, instance=first.instance, reset_cooldown_s=0.05)
    status = second.status()
    assert (status.latched, status.reason) == (True, "joint_position_limit")
    assert only_violation(submit(second, [[0.01] * 3])).code == lg.ViolationCode.estop_latched
    assert not second.reset().success  # the cooldown begins again
    time.sleep(0.1)
    assert second.reset().success
    assert submit(second, [[0.01] * 3]).accepted


def test_kernel_that_was_never_latched_starts_clear_after_a_kill(start_kernel):
    first = start_kernel(stacked(3), without_world=True)
    os.kill(first.pid, signal.SIGKILL)
    first.close()
    second = start_kernel(stacked(3), without_world=True, instance=first.instance)
    assert submit(second, [[0.01] * 3]).accepted


@pytest.mark.parametrize("damage", [b"", b"x", b"\0" * 256, None])
def test_damaged_latch_file_reads_as_latched(start_kernel, tmp_path, damage):
    first = start_kernel(stacked(3), without_world=True)
    first.close()
    path = tmp_path / f"{first.instance}.latch"
    good = path.read_bytes()
    assert len(good) == 256
    path.write_bytes(good[:100] + b"\xff" + good[101:] if damage is None else damage)
    second = start_kernel(stacked(3), without_world=True, instance=first.instance)
    assert second.status().latched


def test_stop_that_comes_while_the_kernel_is_ending_is_found_by_the_next(start_kernel):
    first = start_kernel(stacked(3), without_world=True)
    seat = _core.Seat(first.instance, "human")
    os.kill(first.pid, signal.SIGSTOP)  # so that it learns of both at once
    os.kill(first.pid, signal.SIGTERM)
    seat.press("on the way out")
    os.kill(first.pid, signal.SIGCONT)
    first.close()
    status = start_kernel(stacked(3), without_world=True, instance=first.instance).status()
    assert (status.latched, status.reason) == (True, "on the way out")


def test_end_of_a_kernel_is_no_stop(start_kernel):
    first = start_kernel(stacked(3), without_world=True)
    first.close()
    assert not start_kernel(stacked(3), without_world=True, instance=first.instance).status().latched


def test_kernel_outlives_the_thread_that_started_it(start_kernel):
    started = []
    thread = threading.Thread(target=lambda: started.append(start_kernel(stacked(3), without_world=True)))
    thread.start()
    thread.join()
    time.sleep(0.1)
    assert submit(started[0], [[0.01] * 3]).accepted


def test_stop_of_a_dead_kernel_is_said_not_to_have_been_one(start_kernel):
    kernel = start_kernel(stacked(3), without_world=True)
    os.kill(kernel.pid, signal.SIGKILL)
    with pytest.raises(lg.ROSConfigError, match="hardware stop"):
        kernel.estop("too late")


def test_stop_while_latched_begins_the_cooldown_again(start_kernel):
    kernel = start_kernel(stacked(3), without_world=True, reset_cooldown_s=0.3)
    kernel.estop("first")
    time.sleep(0.35)
    kernel.estop("second")  # its seat is given back at once: the kernel is latched already
    time.sleep(0.05)
    assert "cooling down" in kernel.reset().message
    time.sleep(0.35)
    _core.StopBell(kernel.instance).ring()
    time.sleep(0.05)
    assert "cooling down" in kernel.reset().message
    assert kernel.status().reason == "second"
    time.sleep(0.35)
    assert kernel.reset().success
    # Whoever sits down where somebody has pressed did not press.
    seats = [_core.Seat(kernel.instance, f"other-{number}") for number in range(16)]
    time.sleep(0.05)
    assert not kernel.status().latched
    assert len(seats) == 16


@pytest.mark.parametrize(
    "option",
    [
        ("--cpu", "1.5"),
        ("--cpu", "nan"),
        ("--cpu", "4096"),
        ("--spin-us", "inf"),
        ("--reset-cooldown-s", "nan"),
        ("--require-source", ""),
        ("--require-source", "x" * 32),
        ("--require-actuator", "x" * 32),
    ],
)
def test_option_that_means_nothing_is_refused(tmp_path, option):
    config = tmp_path / "kernel.yaml"
    config.write_text(flat_config(lg.RobotDescription(**stacked(3)), step_s=0.1))
    command = [str(kernel_program()), "--config", str(config), "--instance", f"none-{os.getpid()}"]
    command += ["--latch", str(tmp_path / "latch"), *option]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=30)
    assert done.returncode == 2
    assert done.stderr.startswith("error: ")


def test_second_kernel_of_one_name_refuses_to_start(start_kernel):
    first = start_kernel(stacked(3), without_world=True)
    with pytest.raises(lg.ROSConfigError, match="already running"):
        start_kernel(stacked(3), without_world=True, instance=first.instance)
    assert submit(first, [[0.01] * 3]).accepted


def memory_of(instance: str) -> list[str]:
    return sorted(path.name for path in Path("/dev/shm").glob(f"lastgate.{instance}.*"))


@pytest.mark.parametrize("killed", [False, True])
def test_nothing_lies_in_memory_after_a_kernel(start_kernel, killed):
    kernel = start_kernel(stacked(3), without_world=True)
    assert f"lastgate.{kernel.instance}.lock" in memory_of(kernel.instance)
    if killed:
        os.kill(kernel.pid, signal.SIGKILL)
    kernel.close()
    assert memory_of(kernel.instance) == []


def test_refused_kernel_and_client_of_a_dead_one_leave_the_memory_of_a_running_one_alone(start_kernel):
    first = start_kernel(stacked(3), without_world=True)
    os.kill(first.pid, signal.SIGKILL)
    os.waitid(os.P_PID, first.pid, os.WEXITED | os.WNOWAIT)
    second = start_kernel(stacked(3), without_world=True, instance=first.instance)
    before = memory_of(second.instance)
    with pytest.raises(lg.ROSConfigError, match="already running"):
        start_kernel(stacked(3), without_world=True, instance=second.instance)
    first.close()
    assert not _core.remove_what_a_killed_kernel_left(second.instance)
    assert memory_of(second.instance) == before
    assert submit(second, [[0.01] * 3]).accepted


def test_dead_kernel_is_a_rejection_not_a_hang(start_kernel):
    kernel = start_kernel(stacked(3), without_world=True)
    os.kill(kernel.pid, signal.SIGKILL)
    began = time.monotonic()
    assert only_violation(kernel.submit(np.zeros((1, 3)))).code == lg.ViolationCode.not_checked
    assert time.monotonic() - began < 3.0


def test_x27_held_source_blocks_reset_until_it_lets_go_and_death_does_not_release(start_kernel):
    kernel = start_kernel(stacked(3), without_world=True, reset_cooldown_s=0.01)
    pendant = _core.Seat(kernel.instance, "pendant")
    pendant.hold("button down")
    time.sleep(0.1)
    assert kernel.status().source == "pendant"
    assert "`pendant` is still asserted" in kernel.reset().message
    time.sleep(0.7)  # no longer beats: gone, but nobody said that the button is up
    assert not kernel.reset().success
    again = _core.Seat(kernel.instance, "pendant")
    time.sleep(0.1)
    assert kernel.reset().success
    again.leave()


def test_required_source_must_be_there_and_stay(start_kernel):
    kernel = start_kernel(stacked(3), without_world=True, required_sources=["deadman"], reset_cooldown_s=0.01)
    assert kernel.status().state is lg.KernelState.INACTIVE
    assert only_violation(submit(kernel, [[0.01] * 3])).code == lg.ViolationCode.envelope_unconfigured
    seat = _core.Seat(kernel.instance, "deadman")
    seat.beat()
    time.sleep(0.1)
    assert submit(kernel, [[0.01] * 3]).accepted
    time.sleep(0.8)
    assert kernel.status().latched
    assert "absence of deadman" in kernel.reset().message


def test_required_actuator_must_acknowledge_this_stop(start_kernel):
    kernel = start_kernel(stacked(3), without_world=True, required_actuators=["arm"], reset_cooldown_s=0.01)
    drive = _core.Seat(kernel.instance, "arm", actuator=True)
    kernel.estop("stop")
    time.sleep(0.05)
    assert "`arm` has not acknowledged" in kernel.reset().message
    drive.acknowledge(drive.latch_sequence - 1)  # an earlier stop
    drive.beat()
    assert not kernel.reset().success
    drive.acknowledge(drive.latch_sequence)
    drive.beat()
    assert kernel.reset().success


def test_flood_of_stops_is_one_stop(start_kernel):
    kernel = start_kernel(stacked(3), without_world=True, reset_cooldown_s=0.05)
    seat = _core.Seat(kernel.instance, "human")
    for number in range(20_000):
        seat.press(f"press {number}")
    time.sleep(0.2)
    assert kernel.status().latched
    assert kernel.status().sequence == 1
    assert kernel.reset().success


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
    loud = [record.message for record in caplog.records if "WARN ONLY: nothing is stopped" in record.message]
    assert 2 <= len(loud) <= 4, loud
    assert "3 chunks that break a rule have passed" in loud[-1]


def test_stderr_whose_reader_is_gone_does_not_end_a_kernel(tmp_path):
    config = tmp_path / "kernel.yaml"
    config.write_text(flat_config(lg.RobotDescription(**stacked(3)), step_s=0.1))
    instance = f"unread-{os.getpid()}"
    command = [str(kernel_program()), "--config", str(config), "--instance", instance, "--without-world"]
    process = subprocess.Popen(
        [*command, "--latch", str(tmp_path / "latch")], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    try:
        assert process.stdout.readline().startswith(b"ready")
        process.stderr.close()
        door = _core.DoorClient(instance)
        for _ in range(3):
            assert door.wait_world(door.publish_world(b"\x00\x01\x00\x00 no world"), 1.0)
        time.sleep(0.05)
        assert door.command("status", 1.0) is not None
    finally:
        process.terminate()
        process.stdout.close()
        assert process.wait(30) == 0


def test_stderr_that_nobody_reads_does_not_hold_up_a_kernel(start_kernel, monkeypatch):
    """Worlds that cannot be read are complained about; 20,000 complaints are more than a pipe holds."""
    monkeypatch.setattr("lastgate.kernel_process.KernelMessages._drain", lambda self: None)
    kernel = start_kernel(stacked(3), without_world=True)
    door = _core.DoorClient(kernel.instance)
    for number in range(20_000):
        sequence = door.publish_world(b"\x00\x01\x00\x00 no world")
        if number % 2:  # the ring holds two
            assert door.wait_world(sequence, 1.0)
    assert submit(kernel, [[0.01] * 3]).accepted
    kernel.estop("still heard")
    assert kernel.status().latched


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
        obstacle = ball(rng.uniform((-0.2, -0.6, 0.0), (0.8, 0.6, 0.9)), 0.08)
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
