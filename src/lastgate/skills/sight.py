# SPDX-License-Identifier: Apache-2.0
"""Whether a camera sees a point past the obstacles of a snapshot.

The line of view is a thin tube of balls that cover it, asked of the same tables that planners ask. What the target
itself is made of, within `TARGET_M` of it, does not hide it. A map of the floor says nothing about heights and is not
asked; neither is the robot itself.
"""

import math

import numpy as np
from numpy.typing import NDArray

from lastgate.arrays import Float64
from lastgate.collision import CollisionEnvironment
from lastgate.world import NoWorld, World

# Half the width of the tube: a few pixels at a metre.
TUBE_M = 0.005
STEP_M = 0.02
TARGET_M = 0.05
# As far as any camera on an arm looks; the tables answer the same for any bounds.
_BOUNDS = ((-100.0, -100.0, -100.0), (100.0, 100.0, 100.0))
_RESOLUTION_M = 0.05


class Sight:
    """Answers for one snapshot; a world that nobody looked at hides nothing."""

    def __init__(self, world: World | NoWorld) -> None:
        self._obstacles = (
            CollisionEnvironment.build(
                np.empty((0, 4)),
                _RESOLUTION_M,
                _BOUNDS,
                primitives=world.obstacles,
                points=world.points,
                point_radius_m=TUBE_M,
                voxels=world.voxels,
            )
            if isinstance(world, World)
            else None
        )

    def are_seen(self, target_xyz: Float64, eyes_xyz: Float64) -> NDArray[np.bool_]:
        """Tells from which of (N, 3) eyes nothing lies before the target."""
        return np.array([self.hidden_by(target_xyz, eye) is None for eye in eyes_xyz], dtype=bool)

    def hidden_by(self, target_xyz: Float64, eye_xyz: Float64) -> str | None:
        """Returns the name of what lies before the target, or None."""
        away = eye_xyz - target_xyz
        length_m = float(np.linalg.norm(away))
        if self._obstacles is None or length_m <= TARGET_M:
            return None
        count = max(2, math.ceil((length_m - TARGET_M) / STEP_M) + 1)
        along_m = np.linspace(TARGET_M, length_m, count)
        # Balls whose union holds every point within TUBE_M of the line.
        half_gap_m = 0.5 * (along_m[1] - along_m[0])
        radius_m = math.hypot(TUBE_M, half_gap_m)
        balls = np.column_stack([target_xyz + np.outer(along_m / length_m, away), np.full(count, radius_m)])
        nearest = self._obstacles.nearest(np.ascontiguousarray(balls))
        return nearest.obstacle if nearest.in_collision else None
