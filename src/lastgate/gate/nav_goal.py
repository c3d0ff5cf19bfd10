# SPDX-License-Identifier: Apache-2.0
"""Whether a base may be sent to a pose on a map."""

import math
from typing import NamedTuple

from lastgate.contracts import Pose6D, RobotDescription, ROSConfigError, ROSPerceptionStale
from lastgate.world import FloorMap

# A goal that leans by more than this is not one on a floor.
_TILT_MAX = 1e-6


class NavGoal(NamedTuple):
    """The answer to `Gate.check_nav_goal`; read `ok`, the reason says why not, or what was checked."""

    ok: bool
    reason: str

    # A tuple is true as long as it has entries, and `if gate.check_nav_goal(...)` would drive wherever it was asked.
    def __bool__(self) -> bool:
        raise TypeError("a NavGoal has no truth value; read goal.ok")


def evaluate_nav_goal(
    robot: RobotDescription, pose: Pose6D, *, floor_map: FloorMap | None, now_s: float, margin_m: float
) -> NavGoal:
    """Returns whether the robot's footprint, grown by a margin, touches free cells only at a goal."""
    if not isinstance(pose, Pose6D):
        raise ROSConfigError(f"pose is a {type(pose).__name__}, expected a Pose6D in the map's frame")
    if floor_map is None:
        return NavGoal(False, "there is no map: whether the goal is free is unknown")
    if not isinstance(floor_map, FloorMap):
        raise ROSConfigError(f"floor_map is a {type(floor_map).__name__}, expected a FloorMap")
    grid = floor_map.grid
    if pose.frame_id != grid.frame_id:
        return NavGoal(False, f"the goal is in frame `{pose.frame_id}`, the map in `{grid.frame_id}`")
    try:
        grid.require_fresh(now_s=now_s, age_s_max=floor_map.age_s_max)
    except ROSPerceptionStale as stale:
        return NavGoal(False, str(stale))
    x, y, _ = pose.xyz
    roll_x, pitch_y, z, w = pose.quat_xyzw
    if not math.hypot(roll_x, pitch_y) <= _TILT_MAX:
        return NavGoal(False, "the goal leans: a base stands level on the map")
    if grid.cell_of(x, y) is None:
        return NavGoal(False, f"the goal ({x:.3f}, {y:.3f}) is off the map")
    if robot.footprint_polygon is not None:
        corners = [list(corner) for corner in robot.footprint_polygon]
        yaw = 2.0 * math.atan2(z, w)
        free = grid.is_footprint_free(corners, x=x, y=y, yaw=yaw, margin_m=margin_m)
        what = f"the footprint of {len(corners)} corners"
    elif robot.footprint_radius is not None:
        free = grid.is_free(x, y, inflation_m=robot.footprint_radius + margin_m)
        what = f"the footprint of radius {robot.footprint_radius:.3f} m"
    else:
        return NavGoal(False, f"robot `{robot.name}` declares neither footprint_radius nor footprint_polygon")
    around = f"{what}, and {margin_m:.3f} m around it," if margin_m > 0.0 else what
    if free:
        return NavGoal(True, f"{around} touches free cells only")
    return NavGoal(False, f"{around} touches what is occupied, unknown or off the map")
