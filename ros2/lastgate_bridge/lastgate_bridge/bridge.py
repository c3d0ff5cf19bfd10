# SPDX-License-Identifier: Apache-2.0
"""A node that moves messages between the topics of the contract and the doors of a running kernel.

For ROS 2 installations whose middleware the native gateway does not speak (rmw_zenoh), or who want everything to be a
node of their own. It does what `lastgate gateway` does, with Python's latency, and like it decides nothing: bytes go in
and come out as they are. Type hashes are not compared here: the ROS 2 that this node was built with does the matching.
"""

import threading
import time

import rclpy
from geometry_msgs.msg import Twist
from openral_msgs.msg import ActionChunk, FailureTrigger, OccupancyVoxels, SafetyStatus, WorldCollision
from rclpy.callback_groups import MutuallyExclusiveCallbackGroup
from rclpy.executors import ExternalShutdownException, MultiThreadedExecutor
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, HistoryPolicy, QoSProfile, ReliabilityPolicy
from rclpy.serialization import deserialize_message
from sensor_msgs.msg import JointState
from std_msgs.msg import Empty
from std_srvs.srv import Trigger

from lastgate import _core

LATCHED = SafetyStatus.LATCHED
ANSWER_TIMEOUT_S = 0.5
# Half of the 0.2 s after which a driver without a new chunk stops: what waited longer is not motion for now.
SAFE_ACTION_AGE_S_MAX = 0.1
BEAT_PERIOD_S = 0.05
LOOK_S = 0.05
# Six doubles behind the encapsulation. The shortest chunk has 76 bytes, so that nothing else is this long.
TWIST_BYTES = 52
HUMAN_EVIDENCE = '{"kind":"human","actor":"ros2","reason":"/openral/human_estop"}'
HUMAN = FailureTrigger.KIND_HUMAN


def quality(depth: int, *, reliable: bool = True, transient_local: bool = False) -> QoSProfile:
    """Returns a profile as the contract states it."""
    return QoSProfile(
        history=HistoryPolicy.KEEP_LAST,
        depth=depth,
        reliability=ReliabilityPolicy.RELIABLE if reliable else ReliabilityPolicy.BEST_EFFORT,
        durability=DurabilityPolicy.TRANSIENT_LOCAL if transient_local else DurabilityPolicy.VOLATILE,
    )


class Bridge(Node):
    """One kernel, found by the parameter `instance`, on the topics of the contract."""

    def __init__(self) -> None:
        super().__init__("lastgate_bridge")
        instance = self.declare_parameter("instance", "").value
        depth = self.declare_parameter("chunk_depth", 1).value
        if not instance:
            raise ValueError("the parameter `instance` names the kernel: its robot's name, or its own")
        # The seat is called as the gateway's is: one of the two stands before a kernel, never both.
        self._seat = _core.Seat(instance, "gateway")
        self._door = _core.DoorClient(instance)
        self._door_lock = threading.Lock()
        self._latched = False
        self.gone = threading.Event()

        self._safe_action = self.create_publisher(ActionChunk, "/openral/safe_action", quality(depth))
        self._safe_cmd_vel = self.create_publisher(Twist, "/openral/safe_cmd_vel", quality(1))
        self._estop = self.create_publisher(Empty, "/openral/estop", quality(10))
        self._failure = self.create_publisher(FailureTrigger, "/openral/failure/safety", quality(50))
        self._status = self.create_publisher(
            SafetyStatus, "/openral/safety_status", quality(1, transient_local=True)
        )
        stops, motion, worlds, calls = (MutuallyExclusiveCallbackGroup() for _ in range(4))

        def hear(kind, topic, how, take, group):
            self.create_subscription(kind, topic, take, how, raw=True, callback_group=group)

        hear(Empty, "/openral/estop", quality(10), self._stop, stops)
        hear(Empty, "/openral/human_estop", quality(10), self._stop_by_human, stops)
        hear(ActionChunk, "/openral/candidate_action", quality(depth), self._submit, motion)
        hear(Twist, "/cmd_vel", quality(1), self._submit_twist, motion)
        hear(JointState, "/joint_states", quality(1, reliable=False), self._observe, motion)
        hear(WorldCollision, "/openral/world_collision", quality(1), self._world("world_collision"), worlds)
        hear(OccupancyVoxels, "/openral/world_voxels", quality(1), self._world("occupancy_voxels"), worlds)
        self.create_service(Trigger, "/openral/estop_reset", self._reset, callback_group=calls)
        self.create_timer(BEAT_PERIOD_S, self._look, callback_group=stops)
        for ring, pass_on in (
            ("safe_actions", self._pass_action),
            ("failures", self._pass_failure),
            ("statuses", self._pass_status),
        ):
            reader = _core.RingReader(instance, ring, from_newest=ring == "statuses")
            threading.Thread(target=self._follow, args=(reader, pass_on), daemon=True).start()

    # From topics to the kernel.

    def _submit(self, payload: bytes) -> None:
        with self._door_lock:
            try:
                self._door.submit(payload)
            except ValueError:
                self._door.submit(
                    payload[:8]
                )  # no slot can hold it: the kernel refuses and reports the beginning

    def _submit_twist(self, payload: bytes) -> None:
        with self._door_lock:
            self._door.submit_twist(payload)

    def _observe(self, payload: bytes) -> None:
        try:
            self._door.observe(payload)
        except ValueError as error:
            self.get_logger().warning(str(error))

    def _world(self, kind: str):
        def publish(payload: bytes) -> None:
            try:
                self._door.publish_wire_world((kind, payload))
            except ValueError as error:
                self.get_logger().warning(str(error))

        return publish

    def _stop(self, payload: bytes) -> None:
        del payload
        # What this node says itself when the kernel latches comes back here; the latch is there already.
        if not self._latched:
            self._seat.press("/openral/estop", HUMAN, "")

    def _stop_by_human(self, payload: bytes) -> None:
        del payload
        self._seat.press("/openral/human_estop", HUMAN, HUMAN_EVIDENCE)

    def _reset(self, request, response):
        del request
        with self._door_lock:
            answer = self._door.command("reset", ANSWER_TIMEOUT_S)
        response.success, response.message = answer or (False, "reset refused: the kernel did not answer")
        return response

    # From the kernel to topics.

    def _follow(self, reader, pass_on) -> None:
        while not self.gone.is_set():
            message = reader.read(LOOK_S)
            if message is None or message[1] != self._door.kernel_id:
                continue
            try:
                pass_on(message[2], message[3])
            except rclpy.exceptions.InvalidHandle:
                return  # the node is being taken down

    def _pass_action(self, written_s: float, payload: bytes) -> None:
        if time.monotonic() - written_s > SAFE_ACTION_AGE_S_MAX:
            return
        (self._safe_cmd_vel if len(payload) == TWIST_BYTES else self._safe_action).publish(payload)

    def _pass_failure(self, written_s: float, payload: bytes) -> None:
        del written_s
        self._failure.publish(payload)

    def _pass_status(self, written_s: float, payload: bytes) -> None:
        del written_s
        latched = deserialize_message(payload, SafetyStatus).state == LATCHED
        before, self._latched = self._latched, latched
        if latched and not before:
            self._estop.publish(Empty())
        self._status.publish(payload)

    def _look(self) -> None:
        self._seat.beat()
        if not self._seat.kernel_is_alive and not self.gone.is_set():
            self._estop.publish(Empty())
            self._status.publish(SafetyStatus(source="bridge", reason="the kernel is gone"))
            self.get_logger().error("the kernel is gone; start it, then this node again")
            self.gone.set()


def main() -> None:
    """Serves until the kernel is gone or the node is told to end."""
    rclpy.init()
    bridge = Bridge()
    executor = MultiThreadedExecutor(num_threads=4)
    executor.add_node(bridge)
    try:
        while rclpy.ok() and not bridge.gone.is_set():
            executor.spin_once(timeout_sec=LOOK_S)
    except (KeyboardInterrupt, ExternalShutdownException):
        pass
    finally:
        bridge.gone.set()
        executor.shutdown()
        bridge.destroy_node()
        rclpy.try_shutdown()


if __name__ == "__main__":
    main()
