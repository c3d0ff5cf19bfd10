# SPDX-License-Identifier: Apache-2.0
"""All that is not the robot: snapshots of obstacles, stamped by their source."""

from lastgate.world.floor_map import FloorMap
from lastgate.world.grid_layout import GridLayout
from lastgate.world.occupancy_grid import OccupancyGridIndex
from lastgate.world.points import Points
from lastgate.world.snapshot import NO_WORLD, NoWorld, World
from lastgate.world.voxels import Voxels

__all__ = [
    "NO_WORLD",
    "FloorMap",
    "GridLayout",
    "NoWorld",
    "OccupancyGridIndex",
    "Points",
    "Voxels",
    "World",
]
