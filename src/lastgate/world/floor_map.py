# SPDX-License-Identifier: Apache-2.0
"""The 2-D map as part of the world: where it lies under the robot, how high its cells reach, how long it holds."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lastgate.contracts import ROSConfigError
from lastgate.contracts.arrays import Float64
from lastgate.world.finite_numbers import require_finite, require_positive
from lastgate.world.freshness import StampedTransform
from lastgate.world.occupancy_grid import OccupancyGridIndex
from lastgate.world.rigid_motion import inverse

# What a check covers around the base: 10 m that it may drive within a chunk, and 10 m that a robot may reach.
# Beyond it the map counts as blocked.
AROUND_M = 20.0
# As high as the core's world is wide; a map that should block at every height says so with these.
HEIGHT_M_MAX = 1.0e4


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FloorMap:
    """A 2-D map placed under the robot: blocked cells, and all that is off the map, are solid.

    Attributes:
        grid: The map, with the stamp of its source.
        map_in_base: Where the robot stands on it: from the map's frame into the robot's base frame, measured by
            localisation. It ages like the rest of the world.
        height_m: From where to where a blocked cell blocks, along the map's z. A laser sees one height only: say how
            tall you take things to be, and give voxels or obstacles for what an arm may reach over.
        age_s_max: How long after its stamp the map is believed.

    Raises:
        ROSConfigError: A map without a stamp, a transform from another frame, heights out of order, or a number
            that is not finite.
    """

    grid: OccupancyGridIndex
    map_in_base: StampedTransform
    height_m: tuple[float, float]
    age_s_max: float

    def __post_init__(self) -> None:
        if not isinstance(self.grid, OccupancyGridIndex):
            raise ROSConfigError(f"grid is a {type(self.grid).__name__}, expected an OccupancyGridIndex")
        if self.grid.stamp_s is None:
            raise ROSConfigError("the map has no stamp_s, so its age is unknown")
        if not isinstance(self.map_in_base, StampedTransform):
            raise ROSConfigError(
                f"map_in_base is a {type(self.map_in_base).__name__}, expected a StampedTransform with its own stamp"
            )
        if self.map_in_base.child_frame != self.grid.frame_id:
            raise ROSConfigError(
                f"map_in_base comes from `{self.map_in_base.child_frame}`, the map is in `{self.grid.frame_id}`"
            )
        if not isinstance(self.height_m, tuple | list) or len(self.height_m) != 2:
            raise ROSConfigError(f"height_m must be the lowest and the highest, got {self.height_m!r}")
        low, high = (require_finite(number, name="height_m") for number in self.height_m)
        if not -HEIGHT_M_MAX <= low < high <= HEIGHT_M_MAX:
            raise ROSConfigError(
                f"height_m is {low!r} to {high!r}: needs low < high, at most {HEIGHT_M_MAX:g} m"
            )
        object.__setattr__(self, "height_m", (low, high))
        object.__setattr__(self, "age_s_max", require_positive(self.age_s_max, name="age_s_max"))

    @property
    def frame_id(self) -> str:
        """Frame that the map is placed in."""
        return self.map_in_base.parent_frame

    @property
    def expires_s(self) -> float:
        """Time at which the map stops being believed."""
        assert self.grid.stamp_s is not None  # refused at construction
        return self.grid.stamp_s + self.age_s_max

    def window(self) -> tuple[int, int, int, int]:
        """Returns the first and last rows and columns (ends exclusive) that are checked around the base."""
        x, y, _ = inverse(self.map_in_base.child_in_parent)[:, 3]
        column, row = self.grid.in_cells(float(x), float(y))
        reach = AROUND_M / self.grid.resolution_m
        rows, columns = self.grid.data.shape
        first_row, first_column = max(math.floor(row - reach), 0), max(math.floor(column - reach), 0)
        return (
            first_row,
            min(math.ceil(row + reach), rows),
            first_column,
            min(math.ceil(column + reach), columns),
        )

    def blocked_around_base(self) -> tuple[NDArray[np.uint8], Float64]:
        """Returns one layer of voxels (1, rows, columns), and the 3 x 4 pose of their vertex in the base frame.

        Raises:
            ROSConfigError: The robot does not stand near the map.
        """
        first_row, end_row, first_column, end_column = self.window()
        if first_row >= end_row or first_column >= end_column:
            raise ROSConfigError("the robot stands off the map: no cell is within reach of it")
        cells = self.grid.blocked[first_row:end_row, first_column:end_column]
        (x,), (y,) = self.grid.in_map(np.array([float(first_column)]), np.array([float(first_row)]))
        c, s = math.cos(self.grid.origin_yaw), math.sin(self.grid.origin_yaw)
        vertex = np.array([[c, -s, 0.0, x], [s, c, 0.0, y], [0.0, 0.0, 1.0, 0.0]])
        base = self.map_in_base.child_in_parent
        # A matrix may be a rotation to 1e-6 only; the core asks for 1e-9 and gets the nearest rotation.
        left, _, right = np.linalg.svd(base[:, :3] @ vertex[:, :3])
        placed = np.column_stack([left @ right, base[:, :3] @ vertex[:, 3] + base[:, 3]])
        return np.ascontiguousarray(cells[np.newaxis].astype(np.uint8)), placed
