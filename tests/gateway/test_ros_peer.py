# SPDX-License-Identifier: Apache-2.0
"""A real ROS 2 node and the gateway: what it sees, what it sends, what comes back.

Compared: the gateway with rclpy on rmw_fastrtps, from the wheels of two releases, which other projects wrote.
"""

import time

import numpy as np
import pytest
from conftest import DISTROS
from fixtures import ros_messages as ros
from fixtures.analytic_robots import arm_of_one_link, cart, stacked
from pydantic import TypeAdapter

import lastgate as lg
from lastgate.contracts import FailureEvidence
from lastgate.world.freshness import StampedTransform

CHUNK = "openral_msgs/msg/ActionChunk"
FAILURE = "openral_msgs/msg/FailureTrigger"
STATUS = "openral_msgs/msg/SafetyStatus"
ACTIVE, LATCHED = 2, 3
STATE_TRIES = 5

JOINTS = ["j0", "j1", "j2"]
HOME = [0.0, 0.0, 0.0]

# What the contract says: topic, type, who must be there, reliability, durability.
WRITTEN = [
    ("/openral/safe_action", CHUNK, "RELIABLE", "VOLATILE"),
    ("/openral/safe_cmd_vel", "geometry_msgs/msg/Twist", "RELIABLE", "VOLATILE"),
    ("/openral/estop", "std_msgs/msg/Empty", "RELIABLE", "VOLATILE"),
    ("/openral/failure/safety", FAILURE, "RELIABLE", "VOLATILE"),
    ("/openral/safety_status", STATUS, "RELIABLE", "TRANSIENT_LOCAL"),
    ("/diagnostics", "diagnostic_msgs/msg/DiagnosticArray", "RELIABLE", "VOLATILE"),
]
READ = [
    ("/openral/candidate_action", CHUNK, "RELIABLE", "VOLATILE"),
    ("/openral/estop", "std_msgs/msg/Empty", "RELIABLE", "VOLATILE"),
    ("/openral/human_estop", "std_msgs/msg/Empty", "RELIABLE", "VOLATILE"),
    ("/joint_states", "sensor_msgs/msg/JointState", "BEST_EFFORT", "VOLATILE"),
    ("/openral/world_collision", "openral_msgs/msg/WorldCollision", "RELIABLE", "VOLATILE"),
    ("/openral/world_voxels", "openral_msgs/msg/OccupancyVoxels", "RELIABLE", "VOLATILE"),
    ("/cmd_vel", "geometry_msgs/msg/Twist", "RELIABLE", "VOLATILE"),
]


def evidence_of(failure):
    return TypeAdapter(FailureEvidence).validate_json(failure.evidence_json)


def evaluated(peer, topic: str):
    """Returns what passed on the topic, or the failure that came instead."""
    answer, payload = peer.take_either(topic, "/openral/failure/safety")
    assert payload is not None, f"neither passed nor reported; the last status was {last_status(peer)}"
    return payload if answer == topic else ros.from_bytes(payload, FAILURE)


def last_status(peer) -> str:
    """What the kernel last said of itself: a stop in between explains a chunk that nothing answers."""
    status = None
    for _ in range(10):  # as many as the node keeps
        status = peer.take("/openral/safety_status", STATUS, 1.5) or status
        if status is not None and status.state == LATCHED:
            break
    return "none" if status is None else f"state {status.state}, {status.source}: {status.reason}"


def propose(peer, chunk, joints=JOINTS, positions=HOME):
    """Proposes a chunk; returns what passed, or the failure.

    State and chunk travel on two topics, which DDS does not order: a chunk that overtook the first state is refused for
    that and for nothing else, and proposed again.
    """
    for _ in range(STATE_TRIES):
        peer.propose(chunk, joints, positions)
        found = evaluated(peer, "/openral/safe_action")
        if isinstance(found, bytes) or getattr(evidence_of(found), "state", None) != "state_unavailable":
            break
    return found


def wait_status(peer, state: int, timeout_s: float = 5.0):
    deadline = time.monotonic() + timeout_s
    while time.monotonic() < deadline:
        status = peer.take("/openral/safety_status", STATUS, 1.5)
        if status is not None and status.state == state:
            return status
    raise AssertionError(f"no status {state}")


def diagnostics(peer):
    """Returns the level and the values of the next diagnosis."""
    array = peer.take("/diagnostics", "diagnostic_msgs/msg/DiagnosticArray", 3.0)
    assert array is not None
    (status,) = array.status
    return int(status.level), {pair.key: pair.value for pair in status.values}, status.message


def reset(peer):
    """Calls the service until the cooldown has passed; returns the last answer."""
    for _ in range(20):
        answer = peer.ask("call_reset", timeout_s=5.0)
        assert answer["ready"], "the service is not seen"
        assert answer["answered"], "the service is seen and does not answer"
        if answer["success"]:
            return answer
        time.sleep(0.1)
    raise AssertionError(answer["message"])


@pytest.fixture(params=DISTROS)
def distro(request) -> str:
    return request.param


@pytest.fixture
def front(start_kernel, start_gateway, start_met_peer, distro):
    """A kernel for three stacked joints, a gateway before it, and a node that has met it."""
    kernel = start_kernel(stacked(3), without_world=True, on_stale="drop")
    start_gateway(kernel.instance, "--allow-reset")
    peer = start_met_peer(distro)
    return kernel, peer


def test_node_sees_types_hashes_and_qualities_of_the_contract(front, distro):
    _, peer = front
    graph = peer.ask("graph")
    assert "lastgate_gateway" in graph["nodes"]
    for ends, expected in ((graph["publishers"], WRITTEN), (graph["subscriptions"], READ)):
        for topic, kind, reliability, durability in expected:
            assert graph["topics"][topic] == [kind], topic
            (ours,) = [end for end in ends[topic] if end["node"] != "lastgate_peer"]
            # Kilted lists the node, and does not find out which ends of another vendor are its own.
            assert ours["node"] == "lastgate_gateway" or distro == "kilted", topic
            assert (ours["type"], ours["reliability"], ours["durability"]) == (
                kind,
                reliability,
                durability,
            ), topic
            # Computed from our .msg files, and what this ROS 2 states about its own build of them.
            assert ours["hash"] == ros.store().hash_rihs01(kind), topic
            assert {end["hash"] for end in ends[topic]} == {ours["hash"]}, topic
    assert graph["services"]["/openral/estop_reset"] == ["std_srvs/srv/Trigger"]
    assert graph["services"]["/openral/check_nav_goal"] == ["openral_msgs/srv/CheckNavGoal"]


def test_accepted_chunk_leaves_byte_for_byte(front):
    kernel, peer = front
    message = ros.action_chunk(np.full((4, 3), 0.02))
    for little_endian in (True, False):
        payload = ros.to_bytes(message, little_endian=little_endian)
        assert propose(peer, payload) == payload
    # What this ROS 2 makes of it pads with whatever stood in its memory; fields are equal.
    passed = ros.from_bytes(propose(peer, message), CHUNK)
    assert np.array_equal(passed.flat, message.flat)
    assert (passed.trace_id, passed.tick_index) == (message.trace_id, message.tick_index)
    assert not kernel.status().latched


def test_violation_is_reported_stopped_and_reset(front):
    _, peer = front
    chunk = ros.action_chunk(
        np.array([[0.0, 0.0, 0.0], [0.0, 1.5, 0.0]]), rskill_id="pick", trace_id="00-abc"
    )
    peer.ask("forget")
    failure = propose(peer, chunk)
    assert (failure.kind, failure.severity) == (2, 3)
    assert (failure.rskill_id, failure.trace_id) == ("pick", "00-abc")
    evidence = evidence_of(failure)
    assert (evidence.kind, evidence.joint, evidence.measured, evidence.limit_max) == (
        "joint_limit",
        "j1",
        1.5,
        1.0,
    )
    assert peer.take_bytes("/openral/estop") is not None
    assert wait_status(peer, LATCHED).source == "kernel"
    # A good chunk is dropped while latched, and passes after the reset.
    good = ros.action_chunk(np.zeros((2, 3)))
    peer.ask("forget")
    peer.propose(good, JOINTS, HOME)
    assert peer.take_bytes("/openral/safe_action", 0.5) is None
    level, values, _ = diagnostics(peer)
    assert (level, values["lifecycle"], values["fault_latch"]) == (2, "latched", "true")
    assert values["last_drop_reason"] == "estop_latched"
    assert reset(peer)["message"]
    wait_status(peer, ACTIVE)
    assert isinstance(propose(peer, good), bytes)


def test_reset_that_the_kernel_refuses_is_refused_to_the_client(
    start_kernel, start_gateway, start_met_peer, distro
):
    kernel = start_kernel(stacked(3), without_world=True, reset_cooldown_s=600.0)
    start_gateway(kernel.instance, "--allow-reset")
    peer = start_met_peer(distro)
    peer.publish("/openral/estop", ros.make("std_msgs/msg/Empty", structure_needs_at_least_one_member=0))
    wait_status(peer, LATCHED)
    answer = peer.ask("call_reset", timeout_s=5.0)
    assert answer["answered"]
    assert not answer["success"]
    assert "cooling down" in answer["message"], answer["message"]


def test_stop_from_the_wire_latches_and_is_not_echoed(front):
    kernel, peer = front
    peer.publish("/openral/estop", ros.make("std_msgs/msg/Empty", structure_needs_at_least_one_member=0))
    status = wait_status(peer, LATCHED)
    assert (status.source, status.reason) == ("gateway", "/openral/estop")
    # Its own message, and the one by which everybody learns of the latch; never one for each that is heard.
    time.sleep(1.5)
    heard = 0
    while peer.take_bytes("/openral/estop", 0.2) is not None:
        heard += 1
    assert heard == 2
    assert kernel.status().latched


def test_stop_of_a_human_is_reported_as_one(front):
    _, peer = front
    peer.publish(
        "/openral/human_estop", ros.make("std_msgs/msg/Empty", structure_needs_at_least_one_member=0)
    )
    wait_status(peer, LATCHED)
    failure = peer.take("/openral/failure/safety", FAILURE)
    assert failure.kind == 7
    assert evidence_of(failure) == lg.contracts.HumanEvidence(actor="ros2", reason="/openral/human_estop")


def test_chunk_without_measured_state_is_rejected(front):
    _, peer = front
    peer.publish("/openral/candidate_action", ros.action_chunk(np.zeros((2, 3))))
    failure = peer.take("/openral/failure/safety", FAILURE)
    assert evidence_of(failure).state == "state_unavailable"
    assert peer.take_bytes("/openral/safe_action", 0.2) is None


def test_node_that_starts_late_learns_of_the_latch(front, start_met_peer, distro):
    _, peer = front
    peer.publish("/openral/estop", ros.make("std_msgs/msg/Empty", structure_needs_at_least_one_member=0))
    wait_status(peer, LATCHED)
    late = start_met_peer(distro)
    assert late.take("/openral/safety_status", STATUS, 5.0).state == LATCHED


def test_diagnostics_come_once_a_second_with_the_keys_of_the_contract(front):
    _, peer = front
    peer.ask("forget")
    begun = time.monotonic()
    seen = [diagnostics(peer) for _ in range(4)]
    assert 2.0 < time.monotonic() - begun < 6.0
    level, values, message = seen[-1]
    assert (level, message) == (0, "ok")
    assert values["lifecycle"] == "active"
    assert values["n_dof"] == "3"
    assert values["envelope_loaded"] == "true"
    assert len(values["model_digest"]) == 64
    assert {"fault_latch", "passed", "dropped", "last_drop_reason"} <= values.keys()


def world_collision(x_m: float):
    return ros.make(
        "openral_msgs/msg/WorldCollision",
        header=ros.header(time.time(), "base"),
        radius=np.array([0.1]),
        half_length=np.array([0.0]),
        origin_xyzrpy=np.array([x_m, 0.0, 0.0, 0.0, 0.0, 0.0]),
        object_id=["sphere"],
    )


def world_voxels(x_m: float, voxels: int = 80):
    """Returns a cube of voxels of 4 cm around the base, 512,000 of them, with one that is occupied at x."""
    resolution, low = 0.04, -0.04 * voxels / 2
    occupancy = np.zeros((voxels, voxels, voxels), dtype=np.uint8)
    occupancy[voxels // 2, voxels // 2, int((x_m - low) / resolution)] = 1
    return ros.make(
        "openral_msgs/msg/OccupancyVoxels",
        header=ros.header(time.time(), "base"),
        origin=ros.make("geometry_msgs/msg/Point", x=low, y=low, z=low),
        resolution=resolution,
        size_x=voxels,
        size_y=voxels,
        size_z=voxels,
        occupancy=occupancy.ravel(),
    )


WORLDS = {
    "obstacles": ("/openral/world_collision", world_collision),
    "voxels in many fragments": ("/openral/world_voxels", world_voxels),
}


@pytest.mark.parametrize("given", WORLDS)
def test_world_from_the_wire_decides(start_kernel, start_gateway, start_met_peer, distro, given):
    topic, world = WORLDS[given]
    kernel = start_kernel(arm_of_one_link(), on_stale="drop")
    start_gateway(kernel.instance, "--allow-reset")
    peer = start_met_peer(distro)
    chunk = ros.action_chunk(np.array([[0.0], [0.01]]))

    def arrives(x_m: float, timeout_s: float) -> bool:
        before = kernel.status().world_id
        peer.publish(topic, world(x_m))
        deadline = time.monotonic() + timeout_s
        while kernel.status().world_id == before:  # a world of half a million voxels is built meanwhile
            if time.monotonic() > deadline:
                return False
            time.sleep(0.01)
        return True

    # A first message of many fragments can be lost between the vendors: until one arrives there is no world, and
    # nothing passes. After it none is lost.
    assert evidence_of(propose(peer, chunk, ["shoulder"], [0.0])).state == "world_unavailable"
    assert any(arrives(1.4, 2.0) for _ in range(5))
    assert isinstance(propose(peer, chunk, ["shoulder"], [0.0]), bytes)
    assert arrives(0.85, 10.0)
    collision = evidence_of(propose(peer, chunk, ["shoulder"], [0.0]))
    assert (collision.collision_kind, collision.link_a) == ("world", "arm")


def test_base_twist_crosses_the_gate(start_kernel, start_gateway, start_met_peer, distro):
    kernel = start_kernel(cart(), without_world=True, on_stale="drop", on_violation="hold")
    start_gateway(kernel.instance, "--allow-reset")
    peer = start_met_peer(distro)

    def twist(forward: float):
        vector = "geometry_msgs/msg/Vector3"
        linear, angular = ros.make(vector, x=forward, y=0.0, z=0.0), ros.make(vector, x=0.0, y=0.0, z=0.0)
        message = ros.make("geometry_msgs/msg/Twist", linear=linear, angular=angular)
        kernel.observe(np.zeros(1))
        peer.publish("/cmd_vel", message)
        return evaluated(peer, "/openral/safe_cmd_vel")

    passed = ros.from_bytes(twist(1.5), "geometry_msgs/msg/Twist")
    assert passed.linear.x == 1.5
    assert evidence_of(twist(2.5)).kind == "force"


def floor_of_four_metres():
    """Returns a world with an occupancy map around the robot, in which nothing but its edge is in the way."""
    now_s = time.time()
    grid = lg.OccupancyGridIndex(np.zeros((40, 40), dtype=np.int8), 0.1, (-2.0, -2.0), 0.0, stamp_s=now_s)
    placed = StampedTransform.of(
        lg.Pose6D(xyz=(0.0, 0.0, 0.0)), parent_frame="", child_frame="map", stamp_s=now_s
    )
    floor_map = lg.FloorMap(grid=grid, map_in_base=placed, height_m=(-0.1, 2.0), age_s_max=60.0)
    return lg.World(floor_map=floor_map, stamp_s=now_s)


def test_goal_of_the_base_is_answered_over_the_service(start_kernel, start_gateway, start_met_peer, distro):
    kernel = start_kernel(cart())
    start_gateway(kernel.instance, "--allow-reset")
    peer = start_met_peer(distro)

    def ask(frame_id: str, x: float):
        kernel.publish_world(floor_of_four_metres())
        answer = peer.ask("call_nav_goal", frame_id=frame_id, x=x, y=0.0, timeout_s=5.0)
        assert answer["answered"], answer
        return answer

    assert ask("map", 0.5)["ok"]
    edge = ask("map", 1.95)
    assert (edge["ok"], "touches" in edge["reason"]) == (False, True)
    elsewhere = ask("odom", 0.5)
    assert (elsewhere["ok"], "frame `odom`" in elsewhere["reason"]) == (False, True)


@pytest.mark.parametrize("spoilt", ["cut", "nothing but a header", "noise", "another encapsulation"])
def test_bytes_that_are_no_chunk_are_refused_and_reported(front, spoilt):
    _, peer = front
    whole = ros.to_bytes(ros.action_chunk(np.zeros((2, 3))))
    payload = {
        "cut": whole[:60],
        "nothing but a header": whole[:4],
        "noise": whole[:4] + np.random.default_rng(5).bytes(200),
        "another encapsulation": b"\x00\x07" + whole[2:],
    }[spoilt]
    failure = propose(peer, payload)
    assert not isinstance(failure, bytes)
    assert evidence_of(failure).kind == "controller"
    wait_status(peer, LATCHED)


def test_chunk_that_no_slot_can_hold_is_refused_and_reported(front):
    _, peer = front
    huge = ros.action_chunk(np.zeros((1, 3)), horizon=65535, n_dof=3, flat=np.zeros(65535 * 3))
    assert len(ros.to_bytes(huge)) > 1_500_000
    # A first message of many fragments can be lost between the vendors; after a small one none is.
    assert isinstance(propose(peer, ros.action_chunk(np.zeros((2, 3)))), bytes)
    failure = propose(peer, ros.to_bytes(huge))
    assert not isinstance(failure, bytes)
    assert evidence_of(failure).kind == "controller"
    wait_status(peer, LATCHED)
