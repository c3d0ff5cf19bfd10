# SPDX-License-Identifier: Apache-2.0
"""All that is not the robot: snapshots of obstacles, stamped by their source."""

from lastgate.world.grid_layout import GridLayout
from lastgate.world.points import Points
from lastgate.world.snapshot import NO_WORLD, NoWorld, World
from lastgate.world.voxels import Voxels

__all__ = ["NO_WORLD", "GridLayout", "NoWorld", "Points", "Voxels", "World"]
