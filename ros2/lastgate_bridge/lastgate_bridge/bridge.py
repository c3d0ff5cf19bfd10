# SPDX-License-Identifier: Apache-2.0
"""A node that moves messages between the topics of the contract and the channels of a running kernel.

For ROS 2 installations whose middleware the native gateway does not speak (rmw_zenoh), or who want everything to be a
node of their own. It does what `lastgate gateway` does, with Python's latency, and like it decides nothing: bytes go in
and come out as they are. Type hashes are not compared here: the ROS 2 that this node was built with does the matching.
"""

import threading
import time

import rclpy
from geometry_msgs.msg import Twist
from openral_msgs.msg import ActionChunk, FailureTrigger, OccupancyVoxels, SafetyStatus, WorldCollision
from openral_msgs.srv import CheckNavGoal
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
NO_ANSWER = "refused: the kernel did not answer"
RESET_IS_OFF = (
    "refused: resets over DDS are off, because DDS does not say who asks; `lastgate reset` on the robot's "
    "computer, or start the bridge with the parameter `allow_reset`"
)
# Half of the 0.2 s after which a driver without a new chunk stops: what waited longer is not motion for now.
SAFE_ACTION_AGE_S_MAX = 0.1
BEAT_PERIOD_S = 0.05
POLL_S = 0.05
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
    """One kernel, found by the parameter `instance`, on the topics of the contract.

    The parameter `prefix` (`/arm_a`) stands before every topic and service, for several robots in one domain.
    `allow_reset` lets the service clear a stop: ROS 2 does not say who calls, so it is off unless asked for.
    """

    def __init__(self) -> None:
        super().__init__("lastgate_bridge")
        instance = self.declare_parameter("instance", "").value
        depth = self.declare_parameter("chunk_depth", 1).value
        prefix = self.declare_parameter("prefix", "").value
        self._allow_reset = self.declare_parameter("allow_reset", False).value
        if not instance:
            raise ValueError("the parameter `instance` names the kernel: its robot's name, or its own")
        # The registration is called as the gateway's is: one of the two stands before a kernel, never both.
        self._registration = _core.Registration(instance, "gateway")
        self._channel = _core.ChannelClient(instance)
        self._channel_lock = threading.Lock()
        self._latched = False
        self.gone = threading.Event()

        self._safe_action = self.create_publisher(
            ActionChunk, f"{prefix}/openral/safe_action", quality(depth)
        )
        self._safe_cmd_vel = self.create_publisher(Twist, f"{prefix}/openral/safe_cmd_vel", quality(1))
        self._estop = self.create_publisher(Empty, f"{prefix}/openral/estop", quality(10))
        self._failure = self.create_publisher(FailureTrigger, f"{prefix}/openral/failure/safety", quality(50))
        self._status = self.create_publisher(
            SafetyStatus, f"{prefix}/openral/safety_status", quality(1, transient_local=True)
        )
        stops, motion, worlds, calls = (MutuallyExclusiveCallbackGroup() for _ in range(4))

        def hear(kind, topic, how, take, group):
            self.create_subscription(kind, topic, take, how, raw=True, callback_group=group)

        hear(Empty, f"{prefix}/openral/estop", quality(10), self._stop, stops)
        hear(Empty, f"{prefix}/openral/human_estop", quality(10), self._stop_by_human, stops)
        hear(ActionChunk, f"{prefix}/openral/candidate_action", quality(depth), self._submit, motion)
        hear(Twist, f"{prefix}/cmd_vel", quality(1), self._submit_twist, motion)
        hear(JointState, f"{prefix}/joint_states", quality(1, reliable=False), self._observe, motion)
        hear(
            WorldCollision,
            f"{prefix}/openral/world_collision",
            quality(1),
            self._world("world_collision"),
            worlds,
        )
        hear(
            OccupancyVoxels,
            f"{prefix}/openral/world_voxels",
            quality(1),
            self._world("occupancy_voxels"),
            worlds,
        )
        self.create_service(Trigger, f"{prefix}/openral/estop_reset", self._reset, callback_group=calls)
        self.create_service(
            CheckNavGoal, f"{prefix}/openral/check_nav_goal", self._check_nav_goal, callback_group=calls
        )
        self.create_timer(BEAT_PERIOD_S, self._poll, callback_group=stops)
        for ring, pass_on in (
            ("safe_actions", self._pass_action),
            ("failures", self._pass_failure),
            ("statuses", self._pass_status),
        ):
            reader = _core.RingReader(instance, ring, from_newest=ring == "statuses")
            threading.Thread(target=self._follow, args=(reader, pass_on), daemon=True).start()

    # From topics to the kernel.

    def _submit(self, payload: bytes) -> None:
        with self._channel_lock:
            try:
                self._channel.submit(payload)
            except ValueError:
                self._channel.submit(
                    payload[:8]
                )  # no slot can hold it: the kernel rejects and reports the beginning

    def _submit_twist(self, payload: bytes) -> None:
        with self._channel_lock:
            self._channel.submit_twist(payload)

    def _observe(self, payload: bytes) -> None:
        try:
            self._channel.observe(payload)
        except ValueError as error:
            self.get_logger().warning(str(error))

    def _world(self, kind: str):
        def publish(payload: bytes) -> None:
            try:
                self._channel.publish_wire_world((kind, payload))
            except ValueError as error:
                self.get_logger().warning(str(error))

        return publish

    def _stop(self, payload: bytes) -> None:
        del payload
        # What this node says itself when the kernel latches comes back here; the latch is there already.
        if not self._latched:
            self._registration.press("/openral/estop", HUMAN, "")

    def _stop_by_human(self, payload: bytes) -> None:
        del payload
        self._registration.press("/openral/human_estop", HUMAN, HUMAN_EVIDENCE)

    def _reset(self, request, response):
        del request
        if self._allow_reset is not True:
            response.success, response.message = False, RESET_IS_OFF
            return response
        with self._channel_lock:
            answer = self._channel.command("reset", ANSWER_TIMEOUT_S)
        response.success, response.message = answer or (False, NO_ANSWER)
        return response

    def _check_nav_goal(self, request, response):
        where, turned = request.pose.pose.position, request.pose.pose.orientation
        goal = _core.encode_nav_goal(
            request.pose.header.frame_id,
            [where.x, where.y, where.z],
            [turned.x, turned.y, turned.z, turned.w],
        )
        with self._channel_lock:
            answer = self._channel.ask("nav_goal", goal, ANSWER_TIMEOUT_S)
        response.ok, response.reason = (False, NO_ANSWER) if answer is None else (answer[0], answer[-1])
        return response

    # From the kernel to topics.

    def _follow(self, reader, pass_on) -> None:
        while not self.gone.is_set():
            message = reader.read(POLL_S)
            if message is None or message[1] != self._channel.kernel_id:
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

    def _poll(self) -> None:
        self._registration.beat()
        if not self._registration.kernel_is_alive and not self.gone.is_set():
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
            executor.spin_once(timeout_sec=POLL_S)
    except (KeyboardInterrupt, ExternalShutdownException):
        pass
    finally:
        bridge.gone.set()
        executor.shutdown()
        bridge.destroy_node()
        rclpy.try_shutdown()


if __name__ == "__main__":
    main()
