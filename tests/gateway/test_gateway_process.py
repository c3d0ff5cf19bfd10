# SPDX-License-Identifier: Apache-2.0
"""The gateway among processes that die, programs without ROS, and publishers that mean something else."""

import json
import os
import signal
import subprocess
import time

import numpy as np
import pytest
from conftest import DISTROS, PATIENCE_S, joint_state, program, ros_environment, ros_python
from fixtures import ros_messages as ros
from fixtures.analytic_robots import stacked
from test_ros_peer import HOME, JOINTS, LATCHED, diagnostics, propose, wait_status

import lastgate as lg
from lastgate import _core
from lastgate.kernel.client import KernelState

CHUNK_HASH = "RIHS01_eb9c3da09a52bfe54449963c26d8de3ee6609a672f9801585ea2d67629e325c6"

# The bound on the way from a candidate to its safe action, both over DDS, through gateway and kernel.
ROUND_TRIP_US = 400.0


def good_chunk() -> bytes:
    return ros.to_bytes(ros.action_chunk(np.full((16, 3), 0.001)))


def wait_until(happened, timeout_s: float = 5.0) -> None:
    deadline = time.monotonic() + timeout_s
    while not happened():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.01)


class FastPeer:
    """A program of another DDS vendor that knows no ROS."""

    def __init__(self, domain: int, type_hash: str) -> None:
        self.process = subprocess.Popen(
            [program("fastdds_peer"), str(domain), type_hash],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout is not None
        assert self.process.stdout.readline() == "ready\n"

    def propose(self, chunk: bytes) -> bytes | None:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        print(joint_state(JOINTS, HOME).hex(), chunk.hex(), file=self.process.stdin, flush=True)
        answer = self.process.stdout.readline().strip()
        return None if answer == "none" else bytes.fromhex(answer)

    def end(self) -> None:
        self.process.communicate(timeout=10)


@pytest.fixture
def start_fast_peer(domain):
    running: list[FastPeer] = []

    def start(type_hash: str) -> FastPeer:
        running.append(FastPeer(domain, type_hash))
        return running[-1]

    yield start
    for peer in running:
        peer.end()


def test_second_vendor_gets_its_bytes_back(start_kernel, start_gateway, start_fast_peer):
    kernel = start_kernel(stacked(3), without_world=True, on_stale="drop")
    start_gateway(kernel.instance)
    peer = start_fast_peer(CHUNK_HASH)
    chunk = good_chunk()
    # The first may be sent before both sides have met.
    answers = [peer.propose(chunk) for _ in range(5)]
    assert chunk in answers
    assert {answer for answer in answers if answer is not None} == {chunk}


@pytest.mark.parametrize("stated", ["-", CHUNK_HASH[:-1] + "7", "RIHS01_", CHUNK_HASH + "0"])
def test_publisher_of_another_or_no_definition_is_refused(
    start_kernel, start_gateway, start_fast_peer, stated
):
    kernel = start_kernel(stacked(3), without_world=True, on_stale="drop")
    gateway = start_gateway(kernel.instance)
    peer = start_fast_peer(stated)
    assert [peer.propose(good_chunk()) for _ in range(3)] == [None] * 3
    status = kernel.status()
    assert (status.passed, status.dropped, status.latched) == (0, 0, False)
    code, errors = gateway.end()
    assert code == 0
    said = "no type hash" if stated == "-" else f"it states {stated},"
    assert "/openral/candidate_action" in errors
    assert said in errors
    assert errors.count("is refused") == 1  # once for a publisher, not once for a message


def test_publisher_without_a_hash_is_believed_where_that_is_asked_for(
    start_kernel, start_gateway, start_fast_peer
):
    kernel = start_kernel(stacked(3), without_world=True, on_stale="drop")
    start_gateway(kernel.instance, "--accept-unhashed")
    assert good_chunk() in [start_fast_peer("-").propose(good_chunk()) for _ in range(2)]
    # One that states another definition is not.
    peer = start_fast_peer(CHUNK_HASH[:-1] + "7")
    assert [peer.propose(good_chunk()) for _ in range(3)] == [None] * 3


# ---- Services --------------------------------------------------------------------------------------


def trigger(domain: int, frame: bytes) -> bytes | None:
    asked = [program("cyclone_peer"), str(domain), "trigger", frame.hex()]
    answer = subprocess.run(asked, capture_output=True, text=True, timeout=60, check=True).stdout.strip()
    return None if answer == "none" else bytes.fromhex(answer)


# Of a client of rmw_cyclonedds: who asks and which question, then the byte of an empty request.
NUMBERED = b"\x00\x01\x00\x00" + bytes(range(1, 17)) + b"\x00" + b"\x00\x00\x00"


def test_client_of_the_other_kind_is_answered_where_that_is_asked_for(start_kernel, start_gateway, domain):
    kernel = start_kernel(stacked(3), without_world=True)
    start_gateway(kernel.instance, "--services-for", "both", "--allow-reset")
    answer = trigger(domain, NUMBERED)
    assert answer is not None
    assert answer[4:20] == NUMBERED[4:20]
    assert answer[20] == 1


@pytest.mark.parametrize(
    "frame",
    [
        NUMBERED[:20],
        NUMBERED + b"\x00\x00\x00\x00",
        NUMBERED[:20] + b"\xe4\x00\x00\x00",
        b"\x00\x07" + NUMBERED[2:],
    ],
    ids=["without its byte", "too long", "another byte", "another encapsulation"],
)
def test_frame_that_is_no_request_resets_nothing(start_kernel, start_gateway, domain, frame):
    kernel = start_kernel(stacked(3), without_world=True, reset_cooldown_s=0.01)
    start_gateway(kernel.instance, "--services-for", "both", "--allow-reset")
    kernel.estop("for this test")
    wait_until(lambda: kernel.status().latched)
    time.sleep(0.05)
    assert trigger(domain, frame) is None
    assert kernel.status().latched
    # Its twin resets.
    answer = trigger(domain, NUMBERED)
    assert answer is not None
    assert answer[20] == 1
    assert not kernel.status().latched


# ---- Deaths ----------------------------------------------------------------------------------------


def test_killed_gateway_is_a_stale_input(start_kernel, start_gateway, start_met_peer):
    kernel = start_kernel(stacked(3), without_world=True, on_stale="drop")
    gateway = start_gateway(kernel.instance)
    peer = start_met_peer()
    assert isinstance(propose(peer, good_chunk()), bytes)
    gateway.process.send_signal(signal.SIGKILL)
    gateway.process.wait()
    time.sleep(PATIENCE_S + 0.1)
    # Whatever the node still sends arrives nowhere, and another channel finds no fresh state.
    peer.propose(good_chunk(), JOINTS, HOME)
    assert peer.take_bytes("/openral/safe_action", 0.3) is None
    channel = _core.ChannelClient(kernel.instance)
    answer = channel.wait_verdict(channel.submit(good_chunk()), timeout_s=1.0)
    assert not answer.passed
    assert json.loads(answer.evidence)["state"] == "state_unavailable"


def test_killed_gateway_that_was_required_is_a_stop(start_kernel, start_gateway):
    kernel = start_kernel(stacked(3), without_world=True, required_sources=["gateway"])
    assert kernel.status().state == KernelState.INACTIVE
    gateway = start_gateway(kernel.instance)
    wait_until(lambda: kernel.status().state == KernelState.ACTIVE)
    gateway.process.send_signal(signal.SIGKILL)
    gateway.process.wait()
    wait_until(lambda: kernel.status().latched, 2.0)
    # The next one registers; what was latched stays until a reset.
    again = start_gateway(kernel.instance)
    assert again.greeting.startswith("ready")
    assert kernel.status().latched


def test_gateway_that_ends_gives_its_registration_and_channel_back(start_kernel, start_gateway):
    kernel = start_kernel(stacked(3), without_world=True)
    for _ in range(6):  # there are four channels
        gateway = start_gateway(kernel.instance)
        assert gateway.greeting.startswith(f"ready {kernel.instance}")
        assert gateway.end()[0] == 0


def test_second_gateway_for_one_kernel_refuses(start_kernel, start_gateway):
    kernel = start_kernel(stacked(3), without_world=True)
    assert start_gateway(kernel.instance).greeting.startswith("ready")
    second = start_gateway(kernel.instance)
    assert second.greeting == ""
    assert second.process.wait(10) == 3


def test_gateway_without_a_kernel_refuses(start_gateway):
    gateway = start_gateway("no-kernel-is-called-that")
    assert gateway.process.wait(10) == 3
    assert gateway.greeting == ""


@pytest.mark.parametrize(
    "options",
    [
        ("--domain", "233"),
        ("--domain", "-1"),
        ("--chunk-depth", "0"),
        ("--services-for", "all"),
        ("--what",),
        ("--namespace", "arm"),
        ("--namespace", "/"),
        ("--namespace", "/a//b"),
        ("--namespace", "/1a"),
        ("--namespace", "/a/"),
    ],
)
def test_unusable_options_are_refused(start_kernel, start_gateway, options):
    kernel = start_kernel(stacked(3), without_world=True)
    gateway = start_gateway(kernel.instance, *options)
    assert gateway.process.wait(10) == 2


# Knows none of the messages that it meets, so it asks for their definitions; everybody hears what it is answered.
BYSTANDER = """
import time
import rclpy
rclpy.init()
node = rclpy.create_node("bystander")
ending = time.monotonic() + 3.0
while time.monotonic() < ending:
    rclpy.spin_once(node, timeout_sec=0.1)
met = "lastgate_gateway" in node.get_node_names() and "lastgate_peer" in node.get_node_names()
node.destroy_node()
rclpy.shutdown()
raise SystemExit(0 if met else 4)
"""


@pytest.mark.parametrize("distro", DISTROS)
def test_gateway_outlives_what_others_tell_each_other_about_types(
    start_kernel, start_gateway, start_met_peer, domain, distro
):
    kernel = start_kernel(stacked(3), without_world=True, on_stale="drop")
    gateway = start_gateway(kernel.instance)
    peer = start_met_peer(distro)
    bystander = [ros_python(distro), "-c", BYSTANDER]
    assert subprocess.run(bystander, env=ros_environment(domain), timeout=60, check=False).returncode == 0
    assert gateway.process.poll() is None, "the gateway is gone"
    assert isinstance(propose(peer, good_chunk()), bytes)


def test_killed_kernel_stops_the_wire_and_comes_back_latched(start_kernel, start_gateway, start_met_peer):
    kernel = start_kernel(stacked(3), without_world=True, on_stale="drop")
    start_gateway(kernel.instance, "--allow-reset")
    peer = start_met_peer()
    assert isinstance(propose(peer, good_chunk()), bytes)
    peer.ask("forget")
    os.kill(kernel.pid, signal.SIGKILL)
    assert peer.take_bytes("/openral/estop", 2.0) is not None
    gone = wait_status(peer, 0)
    assert (gone.source, gone.reason) == ("gateway", "the kernel is gone")
    level, values, _ = next(
        found for found in iter(lambda: diagnostics(peer), None) if found[2] == "the kernel is gone"
    )
    assert (level, values["fault_latch"]) == (2, "true")
    answer = peer.ask("call_reset", timeout_s=5.0)
    assert (answer["success"], answer["message"]) == (False, "refused: the kernel is gone")
    peer.ask("forget")
    back = start_kernel(stacked(3), without_world=True, on_stale="drop", instance=kernel.instance)
    status = wait_status(peer, LATCHED, 10.0)
    assert (status.source, status.reason) == ("gateway", "the kernel was gone")
    peer.propose(good_chunk(), JOINTS, HOME)
    assert peer.take_bytes("/openral/safe_action", 0.5) is None
    assert back.status().latched


def test_publisher_that_was_killed_is_silent_long_before_dds_says_so(
    start_kernel, start_gateway, start_met_peer
):
    kernel = start_kernel(stacked(3), without_world=True, on_stale="drop")
    start_gateway(kernel.instance)
    policy, watcher = start_met_peer(), start_met_peer()
    assert isinstance(propose(policy, good_chunk()), bytes)
    policy.process.kill()
    policy.process.wait()
    time.sleep(PATIENCE_S + 0.1)
    watcher.ask("forget")
    level, values, message = diagnostics(watcher)
    assert level == 1
    assert "is silent" in message
    assert float(values["age_s /joint_states"]) > 0.5
    assert int(values["publishers /joint_states"]) == 2  # DDS believes in both
    channel = _core.ChannelClient(kernel.instance)
    answer = channel.wait_verdict(channel.submit(good_chunk()), timeout_s=1.0)
    assert json.loads(answer.evidence)["state"] == "state_unavailable"


def test_paused_gateway_passes_nothing_old_on(start_kernel, start_gateway, start_met_peer):
    kernel = start_kernel(stacked(3), without_world=True, on_stale="drop")
    gateway = start_gateway(kernel.instance)
    peer = start_met_peer()
    assert isinstance(propose(peer, good_chunk()), bytes)
    gateway.process.send_signal(signal.SIGSTOP)
    try:
        # Accepted through another channel while no gateway carries it on, and one that waits before the gateway.
        kernel.observe(np.zeros(3))
        assert kernel.submit(lg.ActionChunk(np.full((2, 3), 0.001))).accepted
        peer.propose(good_chunk(), JOINTS, HOME)
        time.sleep(0.8)
    finally:
        gateway.process.send_signal(signal.SIGCONT)
    assert peer.take_bytes("/openral/safe_action", 1.0) is None
    peer.ask("forget")
    _, values, _ = diagnostics(peer)
    assert (values["withheld"], values["late"]) == ("1", "1")


# ---- Latency ---------------------------------------------------------------------------------------


def test_round_trip_over_the_gateway(start_kernel, start_gateway, domain, capsys):
    kernel = start_kernel(stacked(7), rate_hz=50.0, without_world=True, on_stale="drop")
    start_gateway(kernel.instance)
    joints = [f"j{index}" for index in range(7)]
    chunk = ros.to_bytes(ros.action_chunk(np.full((16, 7), 0.001)))
    answer = subprocess.run(
        [program("cyclone_peer"), str(domain), "latency", "2000"],
        input=f"{chunk.hex()} {joint_state(joints, np.zeros(7)).hex()}",
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    measured = json.loads(answer.stdout)
    with capsys.disabled():
        print(f"\nover the gateway, 16 x 7 chunk to safe action and back: {answer.stdout.strip()}")
    assert measured["changed"] == 0
    assert (measured["lost"], kernel.status().dropped) == (0, 0)
    assert measured["round_trip_us"]["p50"] <= ROUND_TRIP_US
