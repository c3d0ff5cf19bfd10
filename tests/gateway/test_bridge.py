# SPDX-License-Identifier: Apache-2.0
"""The bridge node in source form does in a real ROS 2 what the gateway does from outside."""

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
from test_ros_peer import FAILURE, HOME, JOINTS, LATCHED, evidence_of, propose, reset, wait_status

from lastgate.kernel.client import KernelState

# The bridge's ROS 2 is in another environment than this lastgate; a user has both in one.
START = (
    "import site, sys; site.addsitedir(sys.argv.pop(1)); sys.path.insert(0, sys.argv.pop(1)); "
    "from lastgate_bridge.bridge import main; main()"
)


@contextlib.contextmanager
def bridge_of(distro, start_kernel, start_peer, domain, *, may_reset: bool):
    """A kernel, a bridge node before it, and a node that talks to the bridge."""
    kernel = start_kernel(stacked(3), without_world=True, on_stale="drop", required_sources=["gateway"])
    bridge = subprocess.Popen(
        [
            *(ros_python(distro), "-c", START),
            *(sysconfig.get_paths()["platlib"], str(ROOT / "ros2" / "lastgate_bridge")),
            *("--ros-args", "-p", f"instance:={kernel.instance}"),
            *(("-p", "allow_reset:=true") if may_reset else ()),
        ],
        env=ros_environment(domain),
    )
    peer = start_peer(distro)
    assert peer.ask("meet_bridge", timeout_s=40.0) == {"met": True}
    yield kernel, peer, bridge
    if bridge.poll() is None:
        bridge.send_signal(signal.SIGINT)
    bridge.wait(20)


@pytest.fixture(params=DISTROS)
def bridged(request, start_kernel, start_peer, domain):
    """A bridge that may reset."""
    with bridge_of(request.param, start_kernel, start_peer, domain, may_reset=True) as all_of_it:
        yield all_of_it


def test_bridge_that_was_not_allowed_to_resets_nothing(start_kernel, start_peer, domain):
    with bridge_of(DISTROS[0], start_kernel, start_peer, domain, may_reset=False) as (kernel, peer, _):
        kernel.estop("by the test")
        answer = peer.ask("call_reset", timeout_s=5.0)
        assert not answer["success"]
        assert "allow_reset" in answer["message"]
        assert kernel.status().latched


def test_bridge_carries_chunks_rejections_stops_and_resets(bridged):
    _, peer, _ = bridged
    payload = ros.to_bytes(ros.action_chunk(np.full((4, 3), 0.02)))
    assert propose(peer, payload) == payload
    failure = propose(peer, ros.action_chunk(np.full((2, 3), 5.0)))
    assert failure.kind == 2
    assert evidence_of(failure).kind == "joint_limit"
    wait_status(peer, LATCHED)
    assert peer.take_bytes("/openral/estop") is not None
    assert reset(peer)["success"]
    assert propose(peer, payload) == payload
    peer.publish(
        "/openral/human_estop", ros.make("std_msgs/msg/Empty", structure_needs_at_least_one_member=0)
    )
    status = wait_status(peer, LATCHED)
    assert (status.source, status.reason) == ("gateway", "/openral/human_estop")
    assert evidence_of(peer.take("/openral/failure/safety", FAILURE)).kind == "human"


def test_killed_bridge_is_a_stop_where_it_is_required(bridged):
    kernel, peer, bridge = bridged
    assert isinstance(propose(peer, ros.action_chunk(np.zeros((2, 3)))), bytes)
    assert kernel.status().state == KernelState.ACTIVE
    bridge.kill()
    bridge.wait()
    deadline = time.monotonic() + 3.0
    while not kernel.status().latched:
        assert time.monotonic() < deadline, "the kernel did not latch"
        time.sleep(0.01)
    peer.propose(ros.action_chunk(np.zeros((2, 3))), JOINTS, HOME)
    assert peer.take_bytes("/openral/safe_action", 0.3) is None
