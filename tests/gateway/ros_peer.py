# SPDX-License-Identifier: Apache-2.0
"""A node of a real ROS 2, which does what it is told: one JSON object per line on stdin, one answer per line on stdout.

Runs in the environment that make_ros_environment.sh makes, and knows nothing of lastgate.
"""

import json
import os
import sys
import time
from collections import deque

import rclpy
from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import PoseStamped, Twist
from openral_msgs.msg import ActionChunk, FailureTrigger, OccupancyVoxels, SafetyStatus, WorldCollision
from openral_msgs.srv import CheckNavGoal
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, HistoryPolicy, QoSProfile, ReliabilityPolicy
from rclpy.serialization import deserialize_message, serialize_message
from sensor_msgs.msg import JointState
from std_msgs.msg import Empty, Float64MultiArray
from std_srvs.srv import Trigger


def qos(depth: int, *, reliable: bool = True, transient_local: bool = False) -> QoSProfile:
    """Returns a profile as the contract states it."""
    return QoSProfile(
        history=HistoryPolicy.KEEP_LAST,
        depth=depth,
        reliability=ReliabilityPolicy.RELIABLE if reliable else ReliabilityPolicy.BEST_EFFORT,
        durability=DurabilityPolicy.TRANSIENT_LOCAL if transient_local else DurabilityPolicy.VOLATILE,
    )


SENDS = {
    "/openral/candidate_action": (ActionChunk, qos(1)),
    "/openral/estop": (Empty, qos(10)),
    "/openral/human_estop": (Empty, qos(10)),
    "/joint_states": (JointState, qos(1, reliable=False)),
    "/openral/world_collision": (WorldCollision, qos(1)),
    "/openral/world_voxels": (OccupancyVoxels, qos(1)),
    "/cmd_vel": (Twist, qos(1)),
}
HEARS = {
    "/openral/safe_action": (ActionChunk, qos(10)),
    "/openral/safe_cmd_vel": (Twist, qos(10)),
    "/openral/estop": (Empty, qos(10)),
    "/openral/failure/safety": (FailureTrigger, qos(50)),
    "/openral/safety_status": (SafetyStatus, qos(10, transient_local=True)),
    "/diagnostics": (DiagnosticArray, qos(10)),
}


def named(topic: str) -> str:
    """Returns a topic as the robot has it that this node talks to; diagnoses are everybody's."""
    return topic if topic == "/diagnostics" else os.environ.get("LASTGATE_PEER_NAMESPACE", "") + topic


class Peer(Node):
    """Publishes and hears everything, the bytes as they are on the wire."""

    def __init__(self) -> None:
        super().__init__("lastgate_peer")
        self.outboxes = {
            name: self.create_publisher(kind, named(name), how) for name, (kind, how) in SENDS.items()
        }
        self.inboxes: dict[str, deque[bytes]] = {name: deque() for name in HEARS}
        for name, (kind, how) in HEARS.items():
            self.create_subscription(kind, named(name), self._put_into(self.inboxes[name]), how, raw=True)
        self.reset = self.create_client(Trigger, named("/openral/estop_reset"))
        self.nav_goal = self.create_client(CheckNavGoal, named("/openral/check_nav_goal"))

    @staticmethod
    def _put_into(inbox: deque[bytes]):
        def put(payload: bytes) -> None:  # rclpy asks for a signature, which a built-in has not
            inbox.append(payload)

        return put

    def until(self, happened, timeout_s: float) -> bool:
        deadline = time.monotonic() + timeout_s
        while not happened():
            if time.monotonic() > deadline:
                return False
            rclpy.spin_once(self, timeout_sec=0.02)
        return True

    def meet(self, timeout_s: float) -> dict:
        """Waits until this node has met the gateway, and the gateway says that it has met this node.

        Each side finds the other by itself; what is sent before both have is lost, as ROS 2 does it.
        """
        inbox = self.inboxes["/diagnostics"]

        def met() -> bool:
            # One of the readers and one of the writers of stops is this node itself.
            found = all(
                outbox.get_subscription_count() > (name in HEARS) for name, outbox in self.outboxes.items()
            ) and all(self.count_publishers(named(name)) > (name in SENDS) for name in HEARS)
            if not found or not inbox:
                return False
            array = deserialize_message(inbox.popleft(), DiagnosticArray)
            said = {pair.key: pair.value for status in array.status for pair in status.values}
            return all(int(said.get(f"publishers {named(name)}", 0)) > 0 for name in SENDS) and all(
                int(said.get(f"subscribers {named(name)}", 0)) > 0 for name in HEARS
            )

        if not self.until(met, timeout_s):
            unheard = [name for name in HEARS if self.count_publishers(named(name)) <= (name in SENDS)]
            unread = [name for name, outbox in self.outboxes.items() if outbox.get_subscription_count() == 0]
            return {"met": False, "unheard": unheard, "unread": unread}
        return {"met": self.until(self.reset.service_is_ready, timeout_s)}

    def meet_bridge(self, timeout_s: float) -> dict:
        """Waits until this node and another of the same ROS 2 have met."""
        heard = [name for name in HEARS if name != "/diagnostics"]
        met = self.until(
            lambda: (
                # This node hears one of its own topics.
                all(
                    outbox.get_subscription_count() > (name in HEARS)
                    for name, outbox in self.outboxes.items()
                )
                and all(self.count_publishers(named(name)) > (name in SENDS) for name in heard)
                and self.reset.service_is_ready()
                and len(self.inboxes["/openral/safety_status"]) > 0
            ),
            timeout_s,
        )
        self.until(lambda: False, 2.0)  # the other side finds this one by itself, later on a busy machine
        return {"met": met}

    def publish(self, topic: str, cdr: str, raw: bool = False) -> dict:
        """Publishes a message: the bytes themselves, or what ROS 2 makes of them."""
        payload = bytes.fromhex(cdr)
        self.outboxes[topic].publish(payload if raw else deserialize_message(payload, SENDS[topic][0]))
        return {}

    def propose(self, cdr: str, raw: bool, joints: list[str], positions: list[float]) -> dict:
        """Publishes what is measured now, then a chunk."""
        measured = JointState(name=joints, position=positions)
        measured.header.stamp = self.get_clock().now().to_msg()
        self.outboxes["/joint_states"].publish(measured)
        return self.publish("/openral/candidate_action", cdr, raw)

    def take(self, topic: str, timeout_s: float) -> dict:
        """Returns the next message of a topic, after ROS 2 itself has read it."""
        inbox = self.inboxes[topic]
        if not self.until(lambda: inbox, timeout_s):
            return {"cdr": None}
        payload = inbox.popleft()
        again = serialize_message(deserialize_message(payload, HEARS[topic][0]))
        return {"cdr": payload.hex(), "again": bytes(again).hex()}

    def take_either(self, topics: list[str], timeout_s: float) -> dict:
        """Returns the next message of any of the topics."""
        self.until(lambda: any(self.inboxes[topic] for topic in topics), timeout_s)
        for topic in topics:
            if self.inboxes[topic]:
                return {"topic": topic, **self.take(topic, 0.0)}
        return {"topic": None, "cdr": None}

    def listen(self, topic: str) -> dict:
        """Begins to note the set points that a driver publishes, with the time at which each came."""
        self.set_points: list[tuple[float, list[float]]] = []
        self.create_subscription(
            Float64MultiArray,
            named(topic),
            lambda message: self.set_points.append((time.monotonic(), list(message.data))),
            qos(100),
        )
        return {}

    def heard(self, seconds: float) -> dict:
        """Returns what was noted, after listening on for some time."""
        self.until(lambda: False, seconds)
        found, self.set_points = self.set_points, []
        return {"set_points": found}

    def forget(self) -> dict:
        """Empties all inboxes."""
        self.until(lambda: False, 0.05)
        for inbox in self.inboxes.values():
            inbox.clear()
        return {}

    def _call(self, client, request, timeout_s: float):
        if not self.until(client.service_is_ready, timeout_s):
            return {"ready": False}, None
        future = client.call_async(request)
        if not self.until(future.done, timeout_s):
            return {"ready": True, "answered": False}, None
        return {"ready": True, "answered": True}, future.result()

    def call_reset(self, timeout_s: float) -> dict:
        """Calls the service, as any client would."""
        how, answer = self._call(self.reset, Trigger.Request(), timeout_s)
        return how if answer is None else {**how, "success": answer.success, "message": answer.message}

    def call_nav_goal(self, frame_id: str, x: float, y: float, timeout_s: float) -> dict:
        """Asks whether the base may stand at a place, level and not turned."""
        pose = PoseStamped()
        pose.header.frame_id = frame_id
        pose.pose.position.x, pose.pose.position.y = x, y
        how, answer = self._call(self.nav_goal, CheckNavGoal.Request(pose=pose), timeout_s)
        return how if answer is None else {**how, "ok": answer.ok, "reason": answer.reason}

    def graph(self) -> dict:
        """Returns what `ros2 topic list`, `ros2 topic info -v` and `ros2 node list` would show."""

        def end(info) -> dict:
            return {
                "node": info.node_name,
                "type": info.topic_type,
                "hash": str(info.topic_type_hash),
                "reliability": info.qos_profile.reliability.name,
                "durability": info.qos_profile.durability.name,
            }

        self.until(lambda: "lastgate_gateway" in self.get_node_names(), 5.0)
        topics = dict(self.get_topic_names_and_types())
        return {
            "nodes": self.get_node_names(),
            "topics": topics,
            "services": dict(self.get_service_names_and_types()),
            "publishers": {t: [end(i) for i in self.get_publishers_info_by_topic(t)] for t in topics},
            "subscriptions": {t: [end(i) for i in self.get_subscriptions_info_by_topic(t)] for t in topics},
        }


def main() -> None:
    """Answers until stdin ends."""
    rclpy.init()
    peer = Peer()
    print(json.dumps({"ready": True}), flush=True)
    for line in sys.stdin:
        asked = json.loads(line)
        try:
            answer = getattr(peer, asked.pop("do"))(**asked)
        except Exception as error:  # whatever ROS 2 says is for the test to evaluate
            answer = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(answer), flush=True)
    peer.destroy_node()
    rclpy.shutdown()


main()
