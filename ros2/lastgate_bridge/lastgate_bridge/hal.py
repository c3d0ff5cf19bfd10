# SPDX-License-Identifier: Apache-2.0
"""A node between the gate and a position controller: sends accepted steps, and stops for everything else.

It listens to `safe_action`, `/openral/estop` and `safety_status`, and publishes set points as joint positions
(`std_msgs/Float64MultiArray`, as `forward_command_controller` of ros2_control reads them). A stop that any source
publishes reaches it with kernel and gateway dead; their silence stops it too.
"""

import time

import numpy as np
import rclpy
from openral_msgs.msg import ActionChunk, SafetyStatus
from rclpy.executors import ExternalShutdownException
from rclpy.node import Node
from std_msgs.msg import Empty, Float64MultiArray

from lastgate.integrations.declared_stop import StopLaw
from lastgate.integrations.driver import SAFE_ACTION_PATIENCE_S
from lastgate_bridge.bridge import quality
from lastgate_bridge.wire_driver import WireDriver


class Hal(Node):
    """The driver's side of the gate as a node.

    Parameters: `joint_count`, `rate_hz` (the kernel's), `tick_hz`, `commands` (topic of the controller), `prefix` as
    the bridge has it, `deceleration` (one per joint: slows down from the last command; left out, the last
    command is held). `stop_kind` and `stop_reaction_s` with it are the stop that the manifest declares, which the
    gate certifies: `lastgate robot show` prints all three.
    """

    def __init__(self) -> None:
        super().__init__("lastgate_hal")
        joint_count = self.declare_parameter("joint_count", 0).value
        rate_hz = self.declare_parameter("rate_hz", 0.0).value
        tick_hz = self.declare_parameter("tick_hz", 200.0).value
        prefix = self.declare_parameter("prefix", "").value
        topic = self.declare_parameter("commands", "/forward_position_controller/commands").value
        deceleration = self.declare_parameter("deceleration", rclpy.Parameter.Type.DOUBLE_ARRAY).value
        kind = self.declare_parameter("stop_kind", "").value
        reaction_s = self.declare_parameter("stop_reaction_s", 0.0).value
        if kind not in ("", "path", "joint") or (kind and (deceleration is None or not reaction_s >= 0.0)):
            raise ValueError(
                "`stop_kind` is `path` or `joint`, and needs `deceleration` and a `stop_reaction_s` of 0 or more"
            )
        if joint_count <= 0 or not rate_hz > 0.0 or not tick_hz >= 2.0 * rate_hz:
            raise ValueError(
                "`joint_count` and `rate_hz` are those of the kernel, and `tick_hz` at least twice that"
            )
        self._driver = WireDriver(
            joint_count=joint_count,
            step_s=1.0 / rate_hz,
            patience_s=SAFE_ACTION_PATIENCE_S,
            deceleration=None if deceleration is None else list(deceleration),
            law=None
            if not kind
            else StopLaw(kind=kind, reaction_s=reaction_s, deceleration=np.array(deceleration)),
        )
        self._commands = self.create_publisher(Float64MultiArray, f"{prefix}{topic}", quality(1))
        self.create_subscription(ActionChunk, f"{prefix}/openral/safe_action", self._hear_chunk, quality(1))
        self.create_subscription(Empty, f"{prefix}/openral/estop", self._hear_stop, quality(10))
        self.create_subscription(
            SafetyStatus,
            f"{prefix}/openral/safety_status",
            self._hear_status,
            quality(1, transient_local=True),
        )
        self.create_timer(1.0 / tick_hz, self._tick)

    def _hear_chunk(self, message: ActionChunk) -> None:
        taken = self._driver.hear_chunk(
            mode=message.control_mode,
            rows=message.horizon,
            width=message.n_dof,
            flat=message.flat,
            now_s=time.monotonic(),
        )
        if not taken:
            self.get_logger().error("an accepted chunk cannot be sent as joint positions; the robot stops")

    def _hear_stop(self, message: Empty) -> None:
        del message
        self._driver.latch.hear_stop()

    def _hear_status(self, message: SafetyStatus) -> None:
        self._driver.latch.hear_status(message.state, message.sequence)

    def _tick(self) -> None:
        set_point = self._driver.set_point(time.monotonic())
        if set_point is not None:
            self._commands.publish(Float64MultiArray(data=set_point.tolist()))


def main() -> None:
    """Drives until the node is told to end."""
    rclpy.init()
    node = Hal()
    try:
        rclpy.spin(node)
    except (KeyboardInterrupt, ExternalShutdownException):
        pass
    finally:
        node.destroy_node()
        rclpy.try_shutdown()


if __name__ == "__main__":
    main()
