# SPDX-License-Identifier: Apache-2.0
"""What goes wrong around a living kernel: bad messages, floods, a pause, a full disk, a busy machine."""

import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from fixtures import ros_messages as ros
from fixtures.analytic_robots import only_violation, stacked
from fixtures.kernel_messages import everything_in

import lastgate as lg
from lastgate import _core
from lastgate.kernel.process import kernel_program
from lastgate.robots.kernel_config import flat_config

STATE = ["j0", "j1", "j2"]


def see(channel):
    channel.observe(_core.encode_joint_state(STATE, positions=np.zeros(3), stamp_s=time.time()))


def decide(channel, payload):
    see(channel)
    answer = channel.wait_verdict(channel.submit(payload), timeout_s=2.0)
    assert answer is not None
    return answer


def good(value=0.01, **fields):
    return ros.to_bytes(ros.action_chunk(np.full((2, 3), value), **fields))


@pytest.fixture
def holding(start_kernel):
    """A kernel that drops and reports without latching, a channel and a reader of what passes."""
    kernel = start_kernel(stacked(3), without_world=True, on_violation="hold")
    return kernel, _core.ChannelClient(kernel.instance), _core.RingReader(kernel.instance, "safe_actions")


def test_message_that_is_sent_twice_is_decided_twice_and_passes_in_order(holding):
    _, channel, passed = holding
    payload = good()
    answers = [decide(channel, payload) for _ in range(3)]
    assert [answer.passed for answer in answers] == [True] * 3
    sequences = [message[0] for message in everything_in(passed)]
    assert sequences == [answer.safe_sequence for answer in answers] == [1, 2, 3]


def test_messages_in_another_order_are_each_decided_by_their_own_bytes(holding):
    _, channel, passed = holding
    payloads = [good(0.01 * number, tick_index=number) for number in range(1, 7)]
    payloads += [good(9.0, tick_index=7)]
    rng = np.random.default_rng(3)
    sent = [payloads[index] for index in rng.permutation(len(payloads))]
    answers = [decide(channel, payload) for payload in sent]
    for payload, answer in zip(sent, answers, strict=True):
        assert answer.passed == (payload != payloads[-1])
    assert [message[3] for message in everything_in(passed)] == [p for p in sent if p != payloads[-1]]


def test_every_shortened_message_is_refused_by_the_process_too(holding):
    _, channel, passed = holding
    payload = good()
    for size in range(1, len(payload)):
        assert not decide(channel, payload[:size]).passed, size
    assert everything_in(passed) == []
    assert decide(channel, payload).passed


@pytest.mark.parametrize(
    "payload",
    [
        good(float("nan")),
        good(float("inf")),
        ros.to_bytes(ros.action_chunk(np.zeros((2, 2)))),
        ros.to_bytes(ros.action_chunk(np.zeros((2, 4)))),
        good(horizon=1),
        good(horizon=3),
        good(horizon=65535),
        good(n_dof=255),
        good(n_dof=0),
        good(control_mode=255),
        good(rskill_id="xx").replace(b"xx\0", b"\xff\xfe\0"),
        good() + b"\0" * 8,
        b"\x00",
        b"\xff" * 400,
    ],
)
def test_message_that_is_wrong_is_refused_reported_and_forgotten(holding, payload):
    kernel, channel, passed = holding
    failures = _core.RingReader(kernel.instance, "failures")
    assert not decide(channel, payload).passed
    failure = ros.from_bytes(failures.read(1.0)[3], "openral_msgs/msg/FailureTrigger")
    assert lg.read_evidence(failure.evidence_json) is not None
    assert everything_in(passed) == []
    assert decide(channel, good()).passed


@pytest.mark.parametrize("size", [200_000, 14_000_000])
def test_message_of_14_megabytes_does_not_get_through_the_channel(holding, size):
    _, channel, passed = holding
    with pytest.raises(ValueError, match="does not fit"):
        channel.submit(b"\x00\x01\x00\x00" + bytes(size))
    assert everything_in(passed) == []
    assert decide(channel, good()).passed


def test_wrong_states_do_not_make_a_state(start_kernel):
    kernel = start_kernel(stacked(3), without_world=True, on_violation="hold", on_stale="drop")
    channel = _core.ChannelClient(kernel.instance)
    whole = _core.encode_joint_state(STATE, positions=np.zeros(3), stamp_s=time.time())
    bad = [whole[:size] for size in range(1, len(whole))]
    bad += [_core.encode_joint_state(STATE[:2], positions=np.zeros(2), stamp_s=time.time())]
    bad += [_core.encode_joint_state(["x"], positions=np.zeros(1), stamp_s=time.time())]
    for state in bad:
        channel.observe(state)
        answer = channel.wait_verdict(channel.submit(good()), timeout_s=2.0)
        assert not answer.passed
        assert answer.verdict.violation.code == lg.ViolationCode.state_unavailable.number
    channel.observe(
        _core.encode_joint_state(STATE, positions=np.array([0.0, np.nan, 0.0]), stamp_s=time.time())
    )
    assert not channel.wait_verdict(channel.submit(good()), timeout_s=2.0).passed
    assert decide(channel, good()).passed


def test_random_bytes_of_every_type_leave_a_kernel_that_decides(holding):
    kernel, channel, passed = holding
    rng = np.random.default_rng(11)
    whole = [
        good(),
        _core.encode_chunk_request(good(), recovery=False, contacts=[]),
        _core.encode_twist([0.0] * 6),
    ]
    for number in range(600):
        payload = bytearray(whole[number % 3])
        for _ in range(rng.integers(1, 6)):
            payload[rng.integers(len(payload))] = rng.integers(256)
        see(channel)
        submit = (channel.submit, channel.submit_request, channel.submit_twist)[number % 3]
        answer = channel.wait_verdict(submit(bytes(payload)), timeout_s=2.0)
        assert answer.passed == bool(answer.verdict.accepted)
        channel.publish_world(bytes(payload))
        channel.ask(("attached_shape", "detach", "nav_goal")[number % 3], bytes(payload), 2.0)
    while (message := passed.read(0.05)) is not None:
        if passed.last_type == _core.MessageType.twist:
            linear, angular = np.split(np.array(_core.decode_twist(message[3])), 2)
            assert np.linalg.norm(linear) <= 1.0
            assert np.linalg.norm(angular) <= 1.5
            continue
        fields = _core.decode_action_chunk(message[3])
        assert fields is not None
        assert np.abs(fields.flat).max() <= 1.0
    assert _core.kernel_is_alive(kernel.instance)
    assert decide(channel, good()).passed


def test_flood_of_chunks_at_one_channel_delays_neither_another_channel_nor_a_stop(start_kernel):
    kernel = start_kernel(stacked(3), without_world=True, on_stale="drop")
    flooding = _core.ChannelClient(kernel.instance)
    other = _core.ChannelClient(kernel.instance)
    passed = _core.RingReader(kernel.instance, "safe_actions")
    ending = threading.Event()

    def flood():
        payload = good()
        while not ending.is_set():
            for _ in range(50):
                flooding.submit(payload)
            time.sleep(0)

    thread = threading.Thread(target=flood)
    thread.start()
    try:
        late = 0
        for number in range(100):
            answer = decide(other, good(0.0001 * number))
            if not answer.passed:  # on a busy machine the state may be too old by the time it is checked
                assert answer.verdict.violation.code == lg.ViolationCode.state_unavailable.number
                late += 1
        assert late < 50
        # What passes stays numbered without a gap, whichever reader was too slow to read it.
        numbers = [message[0] for message in iter(lambda: passed.read(0.0), None)]
        assert numbers == sorted(set(numbers))
        began_s = time.monotonic()
        kernel.estop("in the middle of it")
        assert kernel.status().latched
        assert time.monotonic() - began_s < 1.0
        newest = _core.RingReader(kernel.instance, "safe_actions")
        time.sleep(0.3)
        assert newest.read(0.0) is None, "nothing passes after the latch, however much is sent"
    finally:
        ending.set()
        thread.join()


def test_paused_kernel_is_a_rejection_and_what_waited_meanwhile_does_not_move_the_robot(start_kernel):
    kernel = start_kernel(stacked(3), without_world=True)
    passed = _core.RingReader(kernel.instance, "safe_actions")
    kernel.observe(np.zeros(3))
    assert kernel.submit(np.zeros((1, 3))).accepted
    everything_in(passed)
    os.kill(kernel.pid, signal.SIGSTOP)
    try:
        kernel.observe(np.zeros(3))
        assert only_violation(kernel.submit(np.zeros((1, 3)))).code == lg.ViolationCode.not_checked
    finally:
        os.kill(kernel.pid, signal.SIGCONT)
    # It wakes up a second later; the state it was sent is too old by then.
    time.sleep(0.3)
    assert everything_in(passed) == []
    assert kernel.status().latched


def test_latch_that_is_no_plain_file_is_a_kernel_that_does_not_start(tmp_path):
    """A device keeps nothing; `test_latch_durability.py` has the disks that fail under a plain file."""
    config = tmp_path / "kernel.yaml"
    config.write_text(flat_config(lg.RobotDescription(**stacked(3)), step_s=0.1))
    command = [str(kernel_program()), "--config", str(config), "--instance", f"full-{os.getpid()}"]
    done = subprocess.run([*command, "--latch", "/dev/full"], capture_output=True, text=True, check=False)
    assert done.returncode == 3
    assert "must be a plain file" in done.stderr


def test_latch_that_cannot_be_made_is_a_kernel_that_does_not_start(tmp_path):
    config = tmp_path / "kernel.yaml"
    config.write_text(flat_config(lg.RobotDescription(**stacked(3)), step_s=0.1))
    command = [str(kernel_program()), "--config", str(config), "--instance", f"none-{os.getpid()}"]
    done = subprocess.run(
        [*command, "--latch", "/dev/full/latch"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 3
    assert "latch file" in done.stderr


def burn(ending) -> None:
    while not ending.is_set():
        sum(range(10_000))


@pytest.fixture
def other_load():
    context = multiprocessing.get_context("spawn")
    ending = context.Event()
    others = [context.Process(target=burn, args=(ending,)) for _ in range(2)]
    for other in others:
        other.start()
    yield
    ending.set()
    for other in others:
        other.join()


def test_two_cores_of_other_load_change_no_verdict(start_kernel, other_load):
    kernel = start_kernel(stacked(3), without_world=True, on_violation="hold", on_stale="drop")
    rng = np.random.default_rng(5)
    wrong, stale = 0, 0
    for _ in range(300):
        value = rng.choice([0.01, 9.0])
        kernel.observe(np.zeros(3))
        verdict = kernel.submit(np.full((2, 3), value))
        late = not verdict.accepted and verdict.violations[0].code == lg.ViolationCode.state_unavailable
        stale += late
        wrong += not late and verdict.accepted != (value == 0.01)
    assert wrong == 0
    assert stale < 100, "a state of 0.2 s ago is refused; most must be younger than that"


def test_deadman_under_load_stops_when_chunks_pause_for_its_deadline_and_not_before(start_kernel, other_load):
    deadline_s = 0.6
    patient = {"state_age_s_max": 60.0}
    robot = stacked(3, safety=patient)
    kernel = start_kernel(robot, deadman=False, without_world=True, reset_cooldown_s=0.01)
    watch = ["deadman", "--robot", kernel.instance, "--safe-action-deadline-s", str(deadline_s)]
    deadman = subprocess.Popen(
        [sys.executable, "-m", "lastgate.tools.cli", *watch], stdout=subprocess.DEVNULL
    )
    try:
        # No chunk has come yet.
        give_up_s = time.monotonic() + 20.0
        while not kernel.status().latched:
            assert time.monotonic() < give_up_s
        assert kernel.status().source == "deadman"
        kernel.observe(np.zeros(3))
        while not kernel.reset().success:
            time.sleep(0.01)
        passed_s = time.monotonic()
        longest_s, ends_s = 0.0, passed_s + 2.0
        latched = False
        while time.monotonic() < ends_s and not latched:
            latched = not kernel.submit(np.zeros((1, 3))).accepted
            longest_s = max(longest_s, time.monotonic() - passed_s)
            passed_s = time.monotonic()
            time.sleep(0.05)
        assert not latched or longest_s >= deadline_s, f"stopped after a pause of {longest_s} s"
        while not kernel.status().latched:
            assert time.monotonic() - passed_s < deadline_s + 5.0, "no stop though chunks ceased"
        assert kernel.status().source == "deadman"
        assert latched or time.monotonic() - passed_s >= deadline_s
    finally:
        deadman.kill()
        deadman.wait()
