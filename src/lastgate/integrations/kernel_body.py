# SPDX-License-Identifier: Apache-2.0
"""A robot behind a kernel process, as skills and agents see a robot: the kernel allows each step, or rejects it."""

import time
from collections.abc import Callable

import numpy as np

from lastgate import _core
from lastgate.contracts import Pose6D, ROSSafetyViolation
from lastgate.contracts.action import ActionChunk, RobotState
from lastgate.kernel.client import KernelClient, KernelState
from lastgate.kernel.ring_follower import open_channels, read_messages
from lastgate.planning.skills.gated_motion import rejection_of
from lastgate.world import NO_WORLD, NoWorld, World

# How often the kernel's state is read while a chunk runs: a stop ends the skill within this time and a step.
POLL_S = 0.002


class KernelBody:
    """Moves whatever the drivers of one kernel move; is a `Body` of `lastgate.planning.skills`.

    The measured state is the one that the kernel is told, by a driver or by ROS 2 through the gateway.
    `execute` hands the chunk to the kernel, which checks it against its own state and world and passes it to the
    drivers, or rejects it. A kernel that latches, ends or is deactivated ends the motion.

    Args:
        client: The kernel. A client that speaks to a running one (`start=False`) will do.
        world: Returns what is around, now, in the robot's base frame. It is handed to the kernel whenever it is asked.
        publishes_world: False where another program publishes the world to the kernel: `world` then only plans.
        base_in_map: Returns where the base stands on the map; without it the robot is on none.

    Raises:
        ROSConfigError: There is no such kernel.
    """

    def __init__(
        self,
        client: KernelClient,
        *,
        world: Callable[[], World | NoWorld],
        publishes_world: bool = True,
        base_in_map: Callable[[], Pose6D | None] | None = None,
    ) -> None:
        self._client = client
        self._world = world
        self._publishes_world = publishes_world
        self._base_in_map = base_in_map
        self._states = open_channels(client.instance, "states", start="oldest")
        # Position and stamp of each joint; each joint may come in a message of its own.
        self._measured: dict[str, tuple[float, float]] = {}

    def now_s(self) -> float:
        """Returns the time of the wall clock, which every process shares."""
        return time.time()

    def observe(self) -> RobotState:
        """Returns the newest state that the kernel was told.

        Raises:
            ROSSafetyViolation: A joint was never measured.
        """
        for ring in self._states:
            for message in read_messages(ring):
                self._take(message.payload)
        joints, fingers = self._client.joint_names, self._client.gripper_joint_names
        missing = [name for name in joints if name not in self._measured]
        if missing:
            raise ROSSafetyViolation(
                f"the kernel `{self._client.instance}` was never told of {', '.join(missing)}, and the robot holds"
            )
        measured_fingers = [self._measured[name] for name in fingers if name in self._measured]
        knows_fingers = bool(fingers) and len(measured_fingers) == len(fingers)
        stamps = np.array([self._measured[name][1] for name in joints])
        return RobotState(
            positions=np.array([self._measured[name][0] for name in joints]),
            gripper_positions=np.array([position for position, _ in measured_fingers])
            if knows_fingers
            else None,
            stamp_s=min((stamp for _, stamp in measured_fingers), default=float(stamps.min()))
            if knows_fingers
            else float(stamps.min()),
            stamps_s=stamps,
        )

    def world(self) -> World | NoWorld:
        """Returns what is around, after the kernel was told of it too."""
        world = self._world()
        if self._publishes_world and world is not NO_WORLD:
            self._client.publish_world(world)
        return world

    def base_in_map(self) -> Pose6D | None:
        """Returns where the base stands on the map; None for a robot that is on none."""
        return None if self._base_in_map is None else self._base_in_map()

    def execute(self, chunk: ActionChunk) -> None:
        """Hands a chunk to the kernel and returns when its time is over.

        Raises:
            ROSSafetyViolation: The kernel rejected it, or stopped while it ran.
        """
        verdict = self._client.submit(chunk)
        if not verdict.accepted:
            raise rejection_of(verdict, what="a chunk that was handed to the kernel", who="the kernel")
        ends_s = time.monotonic() + len(chunk.rows) * self._client.step_s
        while True:
            self._require_active()
            left_s = ends_s - time.monotonic()
            if left_s <= 0.0:
                return
            time.sleep(min(left_s, POLL_S))

    def hold(self) -> None:
        """Proposes nothing more: drivers hold the last step that was accepted, and stop when their patience ends.

        A chunk that the kernel accepted runs to its end; `KernelClient.estop` ends that too.
        """

    def _take(self, payload: bytes) -> None:
        state = _core.decode_joint_state(payload)
        if state is None:
            return  # the kernel counts what it cannot read
        for name, position in zip(state.names, state.positions, strict=False):
            if state.stamp_s >= self._measured.get(name, (0.0, -np.inf))[1]:
                self._measured[name] = position, state.stamp_s

    def _require_active(self) -> None:
        block = _core.read_status_block(self._client.instance)
        if block is None or not block.alive:
            raise ROSSafetyViolation(f"the kernel `{self._client.instance}` is gone, and the robot stops")
        state = KernelState(block.state)
        if state is not KernelState.ACTIVE:
            raise ROSSafetyViolation(
                f"the kernel `{self._client.instance}` is {state.name.lower()}, and the robot stops"
            )
