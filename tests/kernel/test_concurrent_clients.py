# SPDX-License-Identifier: Apache-2.0
"""A client reads answers into one place: one caller at a time asks, states and stops come through meanwhile."""

import threading
import time

import numpy as np
import pytest
from fixtures import ros_messages as ros
from fixtures.analytic_robots import stacked
from fixtures.kernel_messages import still, submit

import lastgate as lg
from lastgate import _core

# No chunk has this number: who waits for its verdict stays inside until the time is over.
NEVER = 1 << 40


@pytest.fixture
def waiting(start_kernel):
    """Gives a kernel, a connection, and a thread that is inside of it."""
    kernel = start_kernel(stacked(3), without_world=True)
    channel = _core.ChannelClient(kernel.instance)
    answers: list[object] = []
    thread = threading.Thread(target=lambda: answers.append(channel.wait_verdict(NEVER, timeout_s=0.7)))
    thread.start()
    time.sleep(0.2)
    yield kernel, channel, thread
    thread.join()
    assert answers == [None]


def chunk() -> bytes:
    return ros.to_bytes(ros.action_chunk(np.zeros((1, 3))))


@pytest.mark.parametrize(
    "call",
    [
        lambda channel: channel.submit(chunk()),
        lambda channel: channel.submit_twist(_core.encode_twist([0.0] * 6)),
        lambda channel: channel.wait_verdict(1, timeout_s=0.1),
        lambda channel: channel.command("status", 0.1),
        lambda channel: channel.ask("detach", _core.encode_detach("cup"), 0.1),
    ],
    ids=["submit", "submit_twist", "wait_verdict", "command", "ask"],
)
def test_second_thread_that_asks_through_one_client_gets_the_error(waiting, call):
    _, channel, thread = waiting
    with pytest.raises(lg.ConcurrentUseError, match="this kernel client is in use"):
        call(channel)
    assert thread.is_alive()


def test_twin_states_and_stops_of_another_thread_come_through_meanwhile(waiting):
    kernel, channel, thread = waiting
    channel.observe(_core.encode_joint_state(["j0", "j1", "j2"], positions=np.zeros(3), stamp_s=time.time()))
    assert submit(kernel, [[0.0, 0.0, 0.0]]).accepted  # through a client of its own
    kernel.estop("a stop never waits for another thread")
    assert thread.is_alive()
    assert kernel.status().latched


def test_client_is_free_again_after_the_wait(waiting):
    kernel, channel, thread = waiting
    thread.join()
    still(kernel)
    assert channel.wait_verdict(channel.submit(chunk()), timeout_s=1.0).passed


def test_second_reader_of_one_ring_reader_gets_the_error(start_kernel):
    kernel = start_kernel(stacked(3), without_world=True)
    reader = _core.RingReader(kernel.instance, "safe_actions")
    thread = threading.Thread(target=lambda: reader.read(0.7))
    thread.start()
    time.sleep(0.2)
    for call in (lambda: reader.read(0.0), reader.rewind):
        with pytest.raises(lg.ConcurrentUseError, match="this ring reader is in use"):
            call()
    assert thread.is_alive()
    thread.join()
    submit(kernel, [[0.0, 0.0, 0.0]])
    assert reader.read(1.0) is not None
