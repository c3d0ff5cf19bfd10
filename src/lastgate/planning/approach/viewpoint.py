# SPDX-License-Identifier: Apache-2.0
"""Where to stand to see a target, by geometry alone."""

import math
from collections.abc import Sequence

from lastgate.contracts import ApproachViewpoint, Pose6D
from lastgate.world.finite_numbers import require_positive, require_xyz
from lastgate.world.occupancy_grid import require_xy

STANDOFF_M_DEFAULT = 0.6


def compute_approach_viewpoint(
    target_xyz: Sequence[float],
    from_xy: Sequence[float] | None = None,
    *,
    standoff_m: float = STANDOFF_M_DEFAULT,
    camera_frame: str | None = None,
    frame_id: str = "map",
) -> ApproachViewpoint:
    """Returns the pose `standoff_m` before a target, on the side of `from_xy`, level and turned to it.

    Nothing is asked about what stands there: see `refine_approach_pose`. Without `from_xy`, or when it is the
    target's own place, the side is that of -x. The pose is at the height of the target.

    Raises:
        ROSConfigError: A number is not finite, or the stand-off is not above 0.
    """
    x, y, z = require_xyz(target_xyz, name="target_xyz")
    standoff = require_positive(standoff_m, name="standoff_m")
    side_x, side_y = (-1.0, 0.0)
    if from_xy is not None:
        from_x, from_y = require_xy(from_xy, name="from_xy")
        away = math.hypot(from_x - x, from_y - y)
        if away > 0.0:
            side_x, side_y = (from_x - x) / away, (from_y - y) / away
    place = (x + standoff * side_x, y + standoff * side_y)
    return ApproachViewpoint(
        pose=facing(place, (x, y), z_m=z, frame_id=frame_id),
        standoff_m=standoff,
        target_xyz=(x, y, z),
        camera_frame=camera_frame,
    )


def facing(
    place_xy: tuple[float, float], target_xy: tuple[float, float], *, z_m: float, frame_id: str
) -> Pose6D:
    """Returns a level pose at a place whose x axis points at the target."""
    yaw = math.atan2(target_xy[1] - place_xy[1], target_xy[0] - place_xy[0])
    return Pose6D(
        xyz=(place_xy[0], place_xy[1], z_m),
        quat_xyzw=(0.0, 0.0, math.sin(yaw / 2), math.cos(yaw / 2)),
        frame_id=frame_id,
    )


def yaw_of(pose: Pose6D) -> float:
    """Returns where the x axis of a pose points, seen from above."""
    x, y, z, w = pose.quat_xyzw
    return math.atan2(2.0 * (w * z + x * y), 1.0 - 2.0 * (y * y + z * z))
