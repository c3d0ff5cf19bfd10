# SPDX-License-Identifier: Apache-2.0
"""The driver node in a real ROS 2: accepted chunks reach the controller's topic, and stops do so without the gate."""

import contextlib
import signal
import subprocess
import sysconfig
import time

import numpy as np
import pytest
from conftest import DISTROS, ROOT, ros_environment, ros_python
from fixtures import ros_messages as ros
from fixtures.analytic_robots import stacked
from test_ros_peer import LATCHED, propose, reset, wait_status

# The node's ROS 2 is in another environment than this lastgate; a user has both in one.
START = (
    "import site, sys; site.addsitedir(sys.argv.pop(1)); sys.path.insert(0, sys.argv.pop(1)); "
    "from lastgate_bridge.hal import main; main()"
)
COMMANDS = "/forward_position_controller/commands"
RATE_HZ = 10.0
RAMP = np.outer(np.arange(1, 9), [0.01, 0.02, -0.01])
EMPTY = ("std_msgs/msg/Empty", {"structure_needs_at_least_one_member": 0})


@contextlib.contextmanager
def hal_process(distro, domain):
    """The driver node, in a process of its own."""
    process = subprocess.Popen(
        [
            *(ros_python(distro), "-c", START),
            *(sysconfig.get_paths()["platlib"], str(ROOT / "ros2" / "lastgate_bridge")),
            *("--ros-args", "-p", "joint_count:=3", "-p", f"rate_hz:={RATE_HZ}"),
            *("-p", "deceleration:=[1.0, 1.0, 1.0]"),
        ],
        env=ros_environment(domain),
    )
    try:
        yield process
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(20)


@pytest.fixture(params=DISTROS)
def driven(request, start_kernel, start_gateway, start_met_peer, domain):
    """A kernel, a gateway, a node that proposes, and the driver node, which has begun to send."""
    kernel = start_kernel(stacked(3), rate_hz=RATE_HZ, without_world=True, on_stale="drop")
    gateway = start_gateway(kernel.instance, "--allow-reset")
    peer = start_met_peer(request.param)
    peer.ask("listen", topic=COMMANDS)
    with hal_process(request.param, domain):
        deadline = time.monotonic() + 40.0
        while (
            True
        ):  # the driver finds the gateway by itself; what passes before that is lost, as ROS 2 does it
            propose(peer, ros.action_chunk(np.zeros((1, 3))))
            if peer.ask("heard", seconds=0.3)["set_points"]:
                break
            assert time.monotonic() < deadline, "the driver sends nothing"
        yield kernel, gateway, peer


def set_points(peer, seconds):
    heard = peer.ask("heard", seconds=seconds)["set_points"]
    return np.array([values for _, values in heard])


def test_accepted_chunk_reaches_the_controller_whole_and_a_rejected_one_does_not(driven):
    _, _, peer = driven
    propose(peer, ros.action_chunk(RAMP))
    sent = set_points(peer, 1.2)
    distinct = sent[np.insert(np.any(np.diff(sent, axis=0) != 0.0, axis=1), 0, True)]
    distinct = distinct[np.any(distinct != 0.0, axis=1)]
    assert np.array_equal(distinct[: len(RAMP)], RAMP)  # each step, in order, none left out
    set_points(peer, 0.5)  # the patience ends
    propose(peer, ros.action_chunk(np.full((2, 3), 5.0)))
    assert np.ptp(set_points(peer, 0.5), axis=0).max() == 0.0


def test_stop_reaches_the_controller_with_kernel_and_gateway_dead(driven):
    kernel, gateway, peer = driven
    propose(peer, ros.action_chunk(RAMP))
    peer.ask("heard", seconds=0.15)
    gateway.process.kill()
    subprocess.run(["kill", "-9", str(kernel.pid)], check=True)
    peer.publish("/openral/estop", ros.make(EMPTY[0], **EMPTY[1]))
    sent = set_points(peer, 1.0)
    # 0.2 per second stops within 0.2 s and 0.02: without the stop the chunk would have gone on to its end.
    assert np.abs(sent[-1]).max() < np.abs(RAMP[-1]).max()
    assert np.array_equal(sent[-1], sent[-20])


def test_silence_of_a_dead_kernel_stops_without_any_message(driven):
    kernel, gateway, peer = driven
    propose(peer, ros.action_chunk(RAMP[:2]))
    gateway.process.kill()
    subprocess.run(["kill", "-9", str(kernel.pid)], check=True)
    sent = set_points(peer, 1.5)
    assert np.array_equal(sent[-1], sent[-20])


def test_after_a_reset_new_chunks_move_again(driven):
    _, _, peer = driven
    peer.publish("/openral/human_estop", ros.make(EMPTY[0], **EMPTY[1]))
    wait_status(peer, LATCHED)
    set_points(peer, 0.3)
    propose(peer, ros.action_chunk(RAMP))
    assert np.ptp(set_points(peer, 0.6), axis=0).max() == 0.0
    assert reset(peer)["success"]
    peer.ask("forget")
    propose(peer, ros.action_chunk(RAMP))
    assert np.ptp(set_points(peer, 1.2), axis=0).max() > 0.05
