# SPDX-License-Identifier: Apache-2.0
"""Who reaches a kernel over DDS: programs of its machine unless asked for more; resets need permission.

Compared: the gateway with nodes of a real ROS 2, one of them in a network namespace that stands for another machine.
"""

import contextlib
import os
import subprocess
from pathlib import Path

import numpy as np
import pytest
from conftest import DISTROS, ROOT, absent, program
from fixtures import ros_messages as ros
from fixtures.analytic_robots import stacked
from test_gateway_process import NUMBERED
from test_ros_peer import HOME, JOINTS, LATCHED, propose, reset, wait_status

HERE_ADDRESS, THERE_ADDRESS = "10.77.13.1", "10.77.13.2"


def empty():
    return ros.make("std_msgs/msg/Empty", structure_needs_at_least_one_member=0)


@pytest.fixture
def other_machine(own_network):
    """Lays a cable to a second network and gives the words that start a program there."""
    if not own_network:
        absent("this user may not make networks")
    with subprocess.Popen(
        ["unshare", "--net", "cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as there:
        assert there.stdin is not None
        assert there.stdout is not None
        there.stdin.write(b"there\n")
        there.stdin.flush()
        assert there.stdout.readline() == b"there\n"  # it is in its own network by now
        within = ("nsenter", f"--target={there.pid}", "--net")
        for command in (
            f"ip link add cable-here type veth peer name cable-there netns {there.pid}",
            f"ip address add {HERE_ADDRESS}/24 dev cable-here",
            "ip link set cable-here up",
            "ip route add 224.0.0.0/4 dev cable-here",
            f"{' '.join(within)} ip address add {THERE_ADDRESS}/24 dev cable-there",
            f"{' '.join(within)} ip link set cable-there up",
            f"{' '.join(within)} ip link set lo up",
            f"{' '.join(within)} ip route add 224.0.0.0/4 dev cable-there",
        ):
            subprocess.run(command.split(), check=True)
        yield within
        subprocess.run(["ip", "link", "delete", "cable-here"], check=False)
        there.stdin.close()


def peer_there(start_peer, within):
    """Starts a node on the other machine that looks for this one by every means ROS 2 has."""
    return start_peer(within=within, ROS_AUTOMATIC_DISCOVERY_RANGE="SUBNET", ROS_STATIC_PEERS=HERE_ADDRESS)


def test_machine_on_the_network_neither_stops_nor_feeds_a_kernel(
    start_kernel, start_gateway, start_peer, other_machine
):
    kernel = start_kernel(stacked(3), without_world=True, on_stale="drop")
    gateway = start_gateway(kernel.instance, "--allow-reset")
    assert gateway.greeting.endswith("loopback only\n")
    stranger = peer_there(start_peer, other_machine)
    assert not stranger.meet(timeout_s=5.0)["met"]
    stranger.publish("/openral/estop", empty())
    stranger.propose(ros.action_chunk(np.full((4, 3), 0.02)), JOINTS, HOME)
    assert stranger.take_bytes("/openral/safe_action", 1.0) is None
    status = kernel.status()
    assert (status.latched, status.passed, status.dropped) == (False, 0, 0)
    # The same node on this machine is heard.
    friend = start_peer()
    assert friend.meet() == {"met": True}
    assert isinstance(propose(friend, ros.action_chunk(np.full((4, 3), 0.02))), bytes)


def test_machine_on_the_network_is_heard_where_that_is_asked_for(
    start_kernel, start_gateway, start_peer, other_machine
):
    kernel = start_kernel(stacked(3), without_world=True, on_stale="drop")
    gateway = start_gateway(kernel.instance, "--network")
    assert gateway.greeting.endswith("every interface\n")
    peer = peer_there(start_peer, other_machine)
    assert peer.meet() == {"met": True}
    assert isinstance(propose(peer, ros.action_chunk(np.full((4, 3), 0.02))), bytes)
    assert kernel.status().passed >= 1


def listening_addresses(pid: int) -> set[str]:
    """Returns the local addresses of all UDP sockets of a process, as the system writes them."""
    held = set()
    for link in Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(OSError):
            held.add(str(link.readlink()))
    rows = [line.split() for line in Path(f"/proc/{pid}/net/udp").read_text().splitlines()[1:]]
    return {row[1].partition(":")[0] for row in rows if f"socket:[{row[9]}]" in held}


def test_no_socket_of_a_gateway_hears_every_interface_unless_asked_for(
    start_kernel, start_gateway, other_machine
):
    kernel = start_kernel(stacked(3), without_world=True)
    everywhere, loopback = "00000000", "0100007F"
    gateway = start_gateway(kernel.instance)
    found = listening_addresses(gateway.process.pid)
    assert loopback in found
    assert everywhere not in found
    gateway.end()
    assert everywhere in listening_addresses(start_gateway(kernel.instance, "--network").process.pid)


@pytest.mark.parametrize("distro", DISTROS)
def test_reset_over_dds_is_refused_unless_allowed(start_kernel, start_gateway, start_met_peer, distro):
    kernel = start_kernel(stacked(3), without_world=True, reset_cooldown_s=0.05)
    gateway = start_gateway(kernel.instance)
    peer = start_met_peer(distro)
    kernel.estop("by the test")
    answer = peer.ask("call_reset", timeout_s=5.0)
    assert answer["answered"]
    assert not answer["success"]
    assert "--allow-reset" in answer["message"]
    assert kernel.status().latched
    gateway.end()
    start_gateway(kernel.instance, "--allow-reset")
    assert peer.meet() == {"met": True}
    assert reset(peer)["success"]
    assert not kernel.status().latched


def test_two_robots_of_a_kind_share_a_domain_by_their_namespaces(start_kernel, start_gateway, start_peer):
    kernels = {
        name: start_kernel(stacked(3), without_world=True, on_stale="drop")
        for name in ("/arm_a", "/cell_1/arm_b")
    }
    peers = {}
    for name, kernel in kernels.items():
        start_gateway(kernel.instance, "--namespace", name)
        peers[name] = start_peer(LASTGATE_PEER_NAMESPACE=name)
        assert peers[name].meet() == {"met": True}
    chunk = ros.action_chunk(np.full((4, 3), 0.02))
    for name, peer in peers.items():
        others = [kernel for other, kernel in kernels.items() if other != name]
        before = [kernel.status().passed for kernel in others]
        assert isinstance(propose(peer, chunk), bytes)
        assert [kernel.status().passed for kernel in others] == before
    peers["/arm_a"].publish("/openral/estop", empty())
    wait_status(peers["/arm_a"], LATCHED)
    assert not kernels["/cell_1/arm_b"].status().latched
    assert isinstance(propose(peers["/cell_1/arm_b"], chunk), bytes)
    # A node that knows of no namespace reaches neither.
    stranger = start_peer()
    assert not stranger.meet(timeout_s=3.0)["met"]


def answered(domain: int, enclave: Path | None) -> bool:
    """Returns whether a program with these keys, or none, meets the gateway and is answered by its reset service."""
    keys = {} if enclave is None else {"LASTGATE_PEER_ENCLAVE": str(enclave)}
    asked = subprocess.run(
        [program("cyclone_peer"), str(domain), "trigger", NUMBERED.hex()],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env=os.environ | keys,
    )
    return NUMBERED[4:20].hex() in asked.stdout


def test_gateway_with_keys_is_met_by_those_whose_keys_its_authority_signed(
    start_kernel, start_gateway, domain, tmp_path
):
    for keystore in ("ours", "theirs"):
        subprocess.run(
            [ROOT / "tools/make_keystore.sh", tmp_path / keystore, str(domain), "gateway", "peer"], check=True
        )
    enclaves = tmp_path / "ours" / "enclaves"
    kernel = start_kernel(stacked(3), without_world=True)
    options = ("--services-for", "cyclonedds", "--allow-reset")
    gateway = start_gateway(kernel.instance, *options, "--enclave", str(enclaves / "gateway"))
    if gateway.greeting == "" and "dds_security" in gateway.end()[1]:
        absent("Cyclone DDS was built without its security plugins")
    assert gateway.greeting.startswith("ready")
    assert answered(domain, enclaves / "peer")
    assert not answered(domain, None)
    assert not answered(domain, tmp_path / "theirs" / "enclaves" / "peer")


def test_gateway_whose_keys_are_missing_does_not_start_without_them(start_kernel, start_gateway, tmp_path):
    kernel = start_kernel(stacked(3), without_world=True)
    gateway = start_gateway(
        kernel.instance, "--services-for", "cyclonedds", "--enclave", str(tmp_path / "nowhere")
    )
    assert gateway.greeting == ""
    assert gateway.process.wait(10) == 3
