# SPDX-License-Identifier: Apache-2.0
"""Pictures of the worlds that a kernel is given, as spans."""

import math

import numpy as np

from lastgate import _core
from lastgate.contracts import Pose6D, RobotFrames, ROSConfigError
from lastgate.kernel.ring_follower import ChannelMessages
from lastgate.tools.telemetry.map_spans import MapSpans
from lastgate.tools.telemetry.recorded_world import recorded_world
from lastgate.tools.telemetry.span_sender import SpanSender
from lastgate.world import OccupancyGridIndex


class KernelMaps:
    """Checks the worlds that are handed to a kernel, and sends a picture of the newest at most once per second.

    Raises:
        ROSConfigError: There is no such kernel.
    """

    def __init__(self, instance: str, sender: SpanSender) -> None:
        # Two worlds at most wait in a channel; pictures need only the newest.
        self._worlds = ChannelMessages(instance, "worlds", start="newest", remembered_max=_core.CHANNELS_MAX)
        self._spans = MapSpans(sender, source=f"lastgate kernel {instance}")
        self._shown: tuple[int, bytes] | None = None

    def forward(self) -> None:
        """Sends what is due."""
        self._worlds.drain()
        newest = self._worlds.newest()
        if newest is None or newest is self._shown:
            return
        kind, payload = newest
        try:
            world = recorded_world([newest], frames=RobotFrames(""), snapshot_id=1)
        except ROSConfigError:
            self._shown = newest
            return
        sent = True
        if world.points is not None or world.voxels is not None:
            sent = self._spans.send_cloud(world)
        floor = _core.decode_floor_map(payload) if kind == _core.MessageType.world_snapshot else None
        if floor is not None:
            sent = self._send_floor(floor) and sent
        if sent:  # else it is checked again when a second has passed
            self._shown = newest

    def _send_floor(self, floor: _core.FloorMapMessage) -> bool:
        columns, rows = floor.size
        bits = np.frombuffer(floor.blocked_bits, np.uint8).reshape(rows, -1)
        blocked = np.unpackbits(bits, axis=1, count=columns, bitorder="little")
        grid = OccupancyGridIndex(
            (100 * blocked).astype(np.int8),
            floor.resolution_m,
            floor.origin_xy,
            origin_yaw=floor.origin_yaw,
            frame_id=floor.frame_id,
        )
        return self._spans.send_grid(
            grid, base_in_map=_base_in_map(floor), base_frame="", footprint_radius_m=0.0
        )


def _base_in_map(floor: _core.FloorMapMessage) -> Pose6D:
    """Returns where the base stands on a map, from where the window of the map stands in the base frame."""
    window_in_base = np.vstack([np.frombuffer(floor.window_in_base).reshape(3, 4), [0.0, 0.0, 0.0, 1.0]])
    cos, sin = math.cos(floor.origin_yaw), math.sin(floor.origin_yaw)
    turn = np.array([[cos, -sin], [sin, cos]])
    vertex = np.array(floor.origin_xy) + turn @ (np.array(floor.window_first) * floor.resolution_m)
    window_in_map = np.eye(4)
    window_in_map[:2, :2] = turn
    window_in_map[:2, 3] = vertex
    base_in_map = window_in_map @ np.linalg.inv(window_in_base)
    yaw = math.atan2(base_in_map[1, 0], base_in_map[0, 0])
    x, y, z = base_in_map[:3, 3].tolist()
    return Pose6D(xyz=(x, y, z), quat_xyzw=(0.0, 0.0, math.sin(yaw / 2), math.cos(yaw / 2)))
