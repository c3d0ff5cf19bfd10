# SPDX-License-Identifier: Apache-2.0
"""Pictures of what the robot believes is there, as spans: `world.pointcloud` and `slam.occupancy_grid`."""

import base64
import time
from collections.abc import Mapping

import numpy as np

from lastgate.contracts import Pose6D, ROSConfigError
from lastgate.contracts.arrays import Float64
from lastgate.tools.telemetry.check_span import Attribute
from lastgate.tools.telemetry.map_pictures import cloud_png, grid_png
from lastgate.tools.telemetry.span_sender import PlainSpan, SpanSender
from lastgate.world import OccupancyGridIndex, World

CLOUD_SPAN = "world.pointcloud"
GRID_SPAN = "slam.occupancy_grid"

# Where an arm can be within a second or two; what lies beyond is left out of the picture, never of a check.
CROP_XY_M = 2.0
CROP_Z_M = (-0.5, 2.0)
PERIOD_S = 1.0


class MapSpans:
    """Sends pictures of the world, each kind at most once per second. It only looks: no check depends on it.

    Args:
        sender: Takes them.
        source: Who saw the world; shown beside the picture.
    """

    def __init__(self, sender: SpanSender, *, source: str) -> None:
        self._sender = sender
        self._source = source
        self._sent_s: dict[str, float] = {}

    def send_cloud(self, world: World) -> bool:
        """Sends points and occupied voxels of a world in the base frame; False when one was sent less than 1 s ago."""
        if not self._is_due(CLOUD_SPAN):
            return False
        begun_ns = time.time_ns()
        low_m, high_m = CROP_Z_M
        xyz = _occupied_points(world)
        near = (np.abs(xyz[:, :2]) <= CROP_XY_M).all(axis=1) & (xyz[:, 2] >= low_m) & (xyz[:, 2] <= high_m)
        self._send(
            CLOUD_SPAN,
            begun_ns,
            {
                "openral.world_cloud.frame_id": world.frame_id,
                "openral.world_cloud.n_points": int(near.sum()),
                "openral.world_cloud.png_b64": base64.b64encode(cloud_png(xyz[near])).decode(),
                "openral.world_cloud.source_node": self._source,
                "openral.world_cloud.crop_xy_m": CROP_XY_M,
                "openral.world_cloud.crop_z_m_min": low_m,
                "openral.world_cloud.crop_z_m_max": high_m,
                "openral.world_cloud.range_max_m": float(np.hypot(CROP_XY_M, CROP_XY_M)),
            },
        )
        return True

    def send_grid(
        self, grid: OccupancyGridIndex, *, base_in_map: Pose6D, base_frame: str, footprint_radius_m: float
    ) -> bool:
        """Sends a 2-D map and where the robot stands on it; False when one was sent less than 1 s ago."""
        if not isinstance(grid, OccupancyGridIndex):
            raise ROSConfigError(f"grid is a {type(grid).__name__}, expected an OccupancyGridIndex")
        if not self._is_due(GRID_SPAN):
            return False
        begun_ns = time.time_ns()
        rows, columns = grid.data.shape
        x, y, z, w = base_in_map.quat_xyzw
        self._send(
            GRID_SPAN,
            begun_ns,
            {
                "openral.slam.frame_id": grid.frame_id,
                "openral.slam.width": columns,
                "openral.slam.height": rows,
                "openral.slam.resolution_m": grid.resolution_m,
                "openral.slam.origin_x": grid.origin_xy[0],
                "openral.slam.origin_y": grid.origin_xy[1],
                "openral.slam.png_b64": base64.b64encode(grid_png(grid)).decode(),
                "openral.slam.source_node": self._source,
                "openral.slam.robot_x": base_in_map.xyz[0],
                "openral.slam.robot_y": base_in_map.xyz[1],
                "openral.slam.robot_yaw": float(
                    np.arctan2(2.0 * (w * z + x * y), 1.0 - 2.0 * (y * y + z * z))
                ),
                "openral.slam.base_frame": base_frame,
                "openral.slam.footprint_radius_m": footprint_radius_m,
            },
        )
        return True

    def _is_due(self, name: str) -> bool:
        now_s = time.monotonic()
        if now_s - self._sent_s.get(name, -PERIOD_S) < PERIOD_S:
            return False
        self._sent_s[name] = now_s
        return True

    def _send(self, name: str, begun_ns: int, attributes: Mapping[str, Attribute]) -> None:
        duration_ns = time.time_ns() - begun_ns
        self._sender.put(
            PlainSpan(name=name, begun_ns=begun_ns, duration_ns=duration_ns, attributes=attributes)
        )


def _occupied_points(world: World) -> Float64:
    parts = [np.empty((0, 3))]
    if world.points is not None:
        parts.append(world.points.xyz)
    if world.voxels is not None:
        voxel_indices = np.flatnonzero(world.voxels.is_occupied)
        parts.append(world.voxels.layout.centres_xyz(voxel_indices))
    return np.concatenate(parts)
