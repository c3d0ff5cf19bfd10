# SPDX-License-Identifier: Apache-2.0
"""Whether a camera sees a point past the obstacles of a snapshot.

The line of view is a thin beam of spheres that cover it, asked of the same tables that planners ask. What the target
itself is made of does not hide it: neither the obstacle that it lies in, nor what is within `TARGET_M` of it. A map of
the floor says nothing about heights and is not asked; neither is the robot itself.
"""

import math

import numpy as np

from lastgate.contracts.arrays import Float64
from lastgate.planning.collision import CollisionEnvironment
from lastgate.world import NoWorld, World

# Half the width of the beam: a few pixels at a metre.
BEAM_M = 0.005
STEP_M = 0.02
TARGET_M = 0.05
# A target deeper than this inside an obstacle is a part of it; nearer it may be something that lies on it.
INSIDE_M = 0.001
# As far as any camera on an arm looks; the tables answer the same for any bounds.
_BOUNDS = ((-100.0, -100.0, -100.0), (100.0, 100.0, 100.0))
_RESOLUTION_M = 0.05


class Sight:
    """Answers for one snapshot; a world that was not observed hides nothing."""

    def __init__(self, world: World | NoWorld) -> None:
        self._obstacles: CollisionEnvironment | None = None
        self._names: frozenset[str] = frozenset()
        self._around: dict[tuple[float, ...], CollisionEnvironment | None] = {}
        if isinstance(world, World):
            self._names = frozenset(world.object_name(index) for index in range(len(world.obstacles)))
            self._obstacles = CollisionEnvironment.build(
                np.empty((0, 4)),
                _RESOLUTION_M,
                _BOUNDS,
                primitives=world.obstacles,
                points=world.points,
                point_radius_m=BEAM_M,
                voxels=world.voxels,
            )

    def hidden_by(self, target_xyz: Float64, eye_xyz: Float64) -> str | None:
        """Returns the name of what lies before the target, or None."""
        away = eye_xyz - target_xyz
        length_m = float(np.linalg.norm(away))
        if length_m <= TARGET_M:
            return None
        obstacles = self._without_what_holds(target_xyz)
        if obstacles is None:
            return None
        count = max(2, math.ceil((length_m - TARGET_M) / STEP_M) + 1)
        along_m = np.linspace(TARGET_M, length_m, count)
        # Spheres whose union holds every point within BEAM_M of the line.
        radius_m = math.hypot(BEAM_M, 0.5 * (along_m[1] - along_m[0]))
        spheres = np.column_stack([target_xyz + np.outer(along_m / length_m, away), np.full(count, radius_m)])
        nearest = obstacles.nearest(np.ascontiguousarray(spheres))
        return nearest.obstacle if nearest.in_collision else None

    def _without_what_holds(self, target_xyz: Float64) -> CollisionEnvironment | None:
        """Returns the obstacles without those that the target lies in: to see their surface is to see it."""
        key = tuple(target_xyz.tolist())
        if key not in self._around:
            obstacles = self._obstacles
            point = [[*key, INSIDE_M]]
            while obstacles is not None:
                nearest = obstacles.nearest(point)
                if not nearest.distance_m < -2.0 * INSIDE_M or nearest.obstacle not in self._names:
                    break
                obstacles = obstacles.without(nearest.obstacle)
            self._around = {key: obstacles}
        return self._around[key]
