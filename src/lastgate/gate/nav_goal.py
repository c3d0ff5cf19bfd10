# SPDX-License-Identifier: Apache-2.0
"""Whether a base may be sent to a pose on a map; the rule is `kernel/nav_goal.cpp`."""

from typing import NamedTuple

import numpy as np

from lastgate import _core
from lastgate.contracts import Pose6D, ROSConfigError
from lastgate.world import FloorMap
from lastgate.world.finite_numbers import require_finite


class NavGoal(NamedTuple):
    """The answer to `Gate.check_nav_goal`; read `ok`, the reason says why not, or what was checked."""

    ok: bool
    reason: str

    # A tuple is true as long as it has entries, and `if gate.check_nav_goal(...)` would drive wherever it was asked.
    def __bool__(self) -> bool:
        raise TypeError("a NavGoal has no truth value; read goal.ok")


def evaluate_nav_goal(
    config: _core.KernelConfig, pose: Pose6D, *, floor_map: FloorMap | None, now_s: float
) -> NavGoal:
    """Returns whether the robot's footprint, grown by its margin, touches free cells only at a goal."""
    if not isinstance(pose, Pose6D):
        raise ROSConfigError(f"pose is a {type(pose).__name__}, expected a Pose6D in the map's frame")
    if floor_map is not None and not isinstance(floor_map, FloorMap):
        raise ROSConfigError(f"floor_map is a {type(floor_map).__name__}, expected a FloorMap")
    ok, reason = _core.evaluate_nav_goal(
        config,
        None if floor_map is None else _whole_map(floor_map),
        frame_id=pose.frame_id,
        xyz=pose.xyz,
        quat_xyzw=pose.quat_xyzw,
        now_s=require_finite(now_s, name="now_s"),
    )
    return NavGoal(ok, reason)


def _whole_map(floor_map: FloorMap) -> _core.FloorMapMessage:
    """Returns the map without the window around the robot: a goal may lie anywhere on it."""
    grid = floor_map.grid
    assert grid.stamp_s is not None  # refused by FloorMap
    rows, columns = grid.data.shape
    low_m, high_m = floor_map.height_m
    return _core.FloorMapMessage(
        frame_id=grid.frame_id,
        stamp_s=grid.stamp_s,
        age_s_max=floor_map.age_s_max,
        placed_stamp_s=grid.stamp_s,
        origin_xy=grid.origin_xy,
        origin_yaw=grid.origin_yaw,
        resolution_m=grid.resolution_m,
        size=(columns, rows),
        window_first=(0, 0),
        window_end=(columns, rows),
        window_in_base=np.eye(3, 4),
        low_m=low_m,
        high_m=high_m,
        blocked_bits=grid.blocked_bits,
    )
