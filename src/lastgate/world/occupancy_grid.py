# SPDX-License-Identifier: Apache-2.0
"""A 2-D occupancy map that answers whether a place is free; what was not mapped is not."""

import math
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from lastgate.contracts import ROSConfigError
from lastgate.contracts.arrays import Float64, require_unmasked
from lastgate.world.cell_shapes import disc_reach, polygon_touches_cells
from lastgate.world.finite_numbers import (
    COORDINATE_M_MAX,
    require_finite,
    require_not_negative,
    require_positive,
)
from lastgate.world.freshness import require_fresh
from lastgate.world.grid_layout import require_frame

Bools = NDArray[np.bool_]
Int8 = NDArray[np.int8]
Cell = tuple[int, int]

# A cell that is occupied with more than this percentage is blocked; SLAM writes 0, 100 and -1, costmaps more.
FREE_PERCENT_MAX = 25
UNKNOWN_CELL = -1
# 16,384 x 16,384 is 800 m at 5 cm; one byte per cell and eight for the sums behind lines of sight.
GRID_CELLS_MAX = 16_384**2
# Closer than this share of a cell counts as touching: far above the rounding of every computation here, far
# below what a map knows.
TOUCH_CELLS = 1e-9
# A quaternion that turns about anything but z by more than this tilts the map.
_TILT_MAX = 1e-6


class OccupancyGridIndex:
    """A 2-D occupancy grid at one time, copied on the way in.

    Unknown cells and everything off the grid are blocked. Touching counts: a place on the line between a free
    and a blocked cell is not free.

    Args:
        data: Whole numbers (height, width): -1 unknown, else 0 to 100 per cent. Row 0 is at the origin, columns
            run along the map's x, rows along its y.
        resolution_m: Edge length of a cell.
        origin_xy: The corner of cell 0, 0 in the map frame.
        origin_yaw: How far the rows and columns are turned against the map frame.
        stamp_s: When the map was made; without it every question about its age is refused.
        frame_id: The frame that coordinates are given in.

    Raises:
        ROSConfigError: Not two-dimensional, no cells, a value that means nothing, or a number that is not finite.
    """

    def __init__(
        self,
        data: np.ndarray | Sequence[Sequence[int]],
        resolution_m: float,
        origin_xy: Sequence[float],
        origin_yaw: float = 0.0,
        *,
        stamp_s: float | None = None,
        frame_id: str = "map",
    ) -> None:
        self.data = _require_cells(data)
        self.resolution_m = require_positive(resolution_m, name="resolution_m")
        self.origin_xy = require_xy(origin_xy, name="origin_xy")
        self.origin_yaw = require_finite(origin_yaw, name="origin_yaw")
        self.stamp_s = None if stamp_s is None else require_finite(stamp_s, name="stamp_s")
        self.frame_id = require_frame(frame_id)
        if max(self.data.shape) * self.resolution_m > COORDINATE_M_MAX:
            raise ROSConfigError(
                f"the map is {max(self.data.shape) * self.resolution_m:g} m long, "
                f"at most {COORDINATE_M_MAX:g} m is taken: is resolution_m in metres?"
            )
        self.blocked: Bools = ~((self.data >= 0) & (self.data <= FREE_PERCENT_MAX))
        self.blocked.flags.writeable = False
        self._cos, self._sin = math.cos(self.origin_yaw), math.sin(self.origin_yaw)
        self._inflated: dict[float, Bools] = {}

    @classmethod
    def from_msg(cls, message: Any) -> Self:
        """Returns the grid of a `nav_msgs/OccupancyGrid`, or of anything with the same fields.

        Raises:
            ROSConfigError: A field is missing, the data do not fill the grid, or the origin is tilted.
        """
        try:
            info, header = message.info, message.header
            width, height = int(info.width), int(info.height)
            position, turn = info.origin.position, info.origin.orientation
            stamp = header.stamp
            stamp_s = float(stamp.sec) + 1e-9 * float(stamp.nanosec)
            flat = np.asarray(message.data)
            quaternion = [float(turn.x), float(turn.y), float(turn.z), float(turn.w)]
            origin = (float(position.x), float(position.y))
            resolution_m, frame_id = float(info.resolution), header.frame_id
        except (AttributeError, TypeError, ValueError) as error:
            raise ROSConfigError(f"this is not a nav_msgs/OccupancyGrid: {error}") from None
        require_unmasked(message.data, name="data", unknown="-1")
        if flat.ndim != 1 or flat.size != width * height:
            raise ROSConfigError(
                f"data holds {flat.size} cells, width * height is {width} * {height} = {width * height}"
            )
        return cls(
            flat.reshape(height, width),
            resolution_m,
            origin,
            _yaw_of(quaternion),
            stamp_s=stamp_s,
            frame_id=frame_id,
        )

    @classmethod
    def from_file(cls, path: str | Path, *, stamp_s: float | None = None, frame_id: str = "map") -> Self:
        """Returns the map of a map_server file pair: the .yaml, and the .pgm or .png that it names.

        Raises:
            ROSConfigError: A file is missing, a key is unknown or missing, or the image cannot be read.
        """
        from lastgate.world.map_files import read_map_files

        found = read_map_files(Path(path))
        return cls(
            found.data,
            found.resolution_m,
            found.origin_xy,
            found.origin_yaw,
            stamp_s=stamp_s,
            frame_id=frame_id,
        )

    def __repr__(self) -> str:
        rows, columns = self.data.shape
        return f"OccupancyGridIndex({columns} x {rows} cells of {self.resolution_m:g} m)"

    @cached_property
    def blocked_bits(self) -> bytes:
        """Blocked cells as messages carry them: every row from a new byte, the first column in the lowest bit."""
        return np.packbits(self.blocked, axis=1, bitorder="little").tobytes()

    def in_cells(self, x: float, y: float) -> tuple[float, float]:
        """Returns a place in units of cells from the origin: along the columns, along the rows."""
        dx, dy = x - self.origin_xy[0], y - self.origin_xy[1]
        return (
            (self._cos * dx + self._sin * dy) / self.resolution_m,
            (self._cos * dy - self._sin * dx) / self.resolution_m,
        )

    def in_map(self, along: Float64, across: Float64) -> tuple[Float64, Float64]:
        """Returns the map coordinates of places given in units of cells."""
        u, v = along * self.resolution_m, across * self.resolution_m
        return (
            self.origin_xy[0] + self._cos * u - self._sin * v,
            self.origin_xy[1] + self._sin * u + self._cos * v,
        )

    def cell_of(self, x: float, y: float) -> Cell | None:
        """Returns row and column of the cell that a place lies in, or None off the grid."""
        u, v = self.in_cells(*require_xy((x, y), name="(x, y)"))
        row, column = math.floor(v), math.floor(u)
        inside = 0 <= row < self.data.shape[0] and 0 <= column < self.data.shape[1]
        return (row, column) if inside else None

    def centre_of(self, cell: Cell) -> tuple[float, float]:
        """Returns the map coordinates of the middle of a cell."""
        x, y = self.in_map(np.array([cell[1] + 0.5]), np.array([cell[0] + 0.5]))
        return float(x[0]), float(y[0])

    def is_free(self, x: float, y: float, inflation_m: float = 0.0) -> bool:
        """Returns whether a disc of radius `inflation_m` around a place touches free cells only.

        Raises:
            ROSConfigError: The inflation is negative, or a number is not finite.
        """
        radius = require_not_negative(inflation_m, name="inflation_m") / self.resolution_m + TOUCH_CELLS
        u, v = self.in_cells(*require_xy((x, y), name="(x, y)"))
        rows, columns = self.data.shape
        if not (u - radius > 0 and v - radius > 0 and u + radius < columns and v + radius < rows):
            return False
        first_row, first_column = math.floor(v - radius), math.floor(u - radius)
        window = self.blocked[
            first_row : math.floor(v + radius) + 1, first_column : math.floor(u + radius) + 1
        ]
        if not window.any():
            return True
        row, column = np.nonzero(window)
        away_u = _outside(np.subtract(u - first_column, column, dtype=np.float64))
        away_v = _outside(np.subtract(v - first_row, row, dtype=np.float64))
        return not bool((away_u * away_u + away_v * away_v <= radius * radius).any())

    def is_footprint_free(
        self,
        polygon_xy: Float64 | Sequence[Sequence[float]],
        *,
        x: float,
        y: float,
        yaw: float,
        margin_m: float = 0.0,
    ) -> bool:
        """Returns whether a polygon, given around the robot's origin, touches free cells only when it stands there.

        With `margin_m` nothing blocked may be that near to it either.

        Raises:
            ROSConfigError: Fewer than three corners, no area, or a number that is not finite.
        """
        corners = require_polygon(polygon_xy)
        x, y = require_xy((x, y), name="(x, y)")
        turn = require_finite(yaw, name="yaw")
        c, s = math.cos(turn), math.sin(turn)
        placed = [self.in_cells(x + c * px - s * py, y + s * px + c * py) for px, py in corners.tolist()]
        in_cells = np.array(placed)
        margin = require_not_negative(margin_m, name="margin_m") / self.resolution_m
        reach = margin + TOUCH_CELLS
        low, high = in_cells.min(axis=0) - reach, in_cells.max(axis=0) + reach
        rows, columns = self.data.shape
        if not (low[0] > 0 and low[1] > 0 and high[0] < columns and high[1] < rows):
            return False
        first_row, first_column = math.floor(low[1]), math.floor(low[0])
        window = self.blocked[first_row : math.floor(high[1]) + 1, first_column : math.floor(high[0]) + 1]
        row, column = np.nonzero(window)
        cells = np.column_stack([column + first_column, row + first_row]).astype(np.float64)
        return not polygon_touches_cells(in_cells, cells, touch=TOUCH_CELLS, margin=margin).any()

    def clear_cells(self, *, inflation_m: float, rows: tuple[int, int], columns: tuple[int, int]) -> Bools:
        """Returns which cells of a window have a centre that `is_free` under inflation; ends are exclusive."""
        radius = require_not_negative(inflation_m, name="inflation_m") / self.resolution_m + TOUCH_CELLS
        reach = disc_reach(radius)
        margin = len(reach) - 1
        height, width = rows[1] - rows[0], columns[1] - columns[0]
        around = np.ones((height + 2 * margin, width + 2 * margin), dtype=bool)
        low_row, high_row = max(rows[0] - margin, 0), min(rows[1] + margin, self.data.shape[0])
        low_column, high_column = max(columns[0] - margin, 0), min(columns[1] + margin, self.data.shape[1])
        if low_row < high_row and low_column < high_column:
            around[
                low_row - rows[0] + margin : high_row - rows[0] + margin,
                low_column - columns[0] + margin : high_column - columns[0] + margin,
            ] = self.blocked[low_row:high_row, low_column:high_column]
        sums = np.zeros((around.shape[0], around.shape[1] + 1), dtype=np.int32)
        np.cumsum(around, axis=1, out=sums[:, 1:])
        hit = np.zeros((height, width), dtype=bool)
        for offset in range(-margin, margin + 1):
            wide = reach[abs(offset)]
            band = sums[margin + offset : margin + offset + height]
            hit |= (
                band[:, margin + wide + 1 : margin + wide + 1 + width]
                > band[:, margin - wide : margin - wide + width]
            )
        return ~hit

    def inflated_free(self, inflation_m: float) -> Bools:
        """Returns `clear_cells` of the whole map; kept, because every question about reachability needs it."""
        if inflation_m not in self._inflated:
            height, width = self.data.shape
            self._inflated[inflation_m] = self.clear_cells(
                inflation_m=inflation_m, rows=(0, height), columns=(0, width)
            )
        return self._inflated[inflation_m]

    @cached_property
    def padded_sums(self) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Number of blocked cells before each, down the columns and along the rows.

        A ring of blocked cells stands around the map, so that lines along its edge find it.
        """
        padded = np.pad(self.blocked, 1, constant_values=True)
        down = np.zeros((padded.shape[0] + 1, padded.shape[1]), dtype=np.int32)
        along = np.zeros((padded.shape[0], padded.shape[1] + 1), dtype=np.int32)
        np.cumsum(padded, axis=0, out=down[1:])
        np.cumsum(padded, axis=1, out=along[:, 1:])
        return down, along

    def require_fresh(self, *, now_s: float, age_s_max: float) -> None:
        """Raises `ROSPerceptionStale` for a map that is older, and `ROSConfigError` for one without a stamp."""
        if self.stamp_s is None:
            raise ROSConfigError("the map has no stamp_s, so its age is unknown")
        require_fresh(name="the map", stamp_s=self.stamp_s, now_s=now_s, age_s_max=age_s_max)


def require_xy(value: object, *, name: str) -> tuple[float, float]:
    """Returns two coordinates in metres; anything else raises `ROSConfigError`."""
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if not isinstance(value, Sequence) or isinstance(value, str | bytes) or len(value) != 2:
        raise ROSConfigError(f"{name} must be two numbers, got {value!r}")
    x, y = (require_finite(number, name=f"{name}[{axis}]") for axis, number in zip("xy", value, strict=True))
    if not (abs(x) <= COORDINATE_M_MAX and abs(y) <= COORDINATE_M_MAX):
        raise ROSConfigError(f"{name} is {(x, y)}, at most {COORDINATE_M_MAX:g} m is taken: is it in metres?")
    return x, y


def require_polygon(value: object) -> Float64:
    """Returns the corners of a footprint, (N, 2); one without area, or not finite, raises `ROSConfigError`."""
    try:
        corners = np.array(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise ROSConfigError(f"a footprint is a list of corners (x, y), got {value!r}") from None
    if corners.ndim != 2 or corners.shape[1:] != (2,) or len(corners) < 3:
        raise ROSConfigError(
            f"a footprint needs at least three corners (x, y), got an array of shape {corners.shape}"
        )
    if not (np.abs(corners) <= COORDINATE_M_MAX).all():
        raise ROSConfigError("a footprint needs corners that are finite, in metres")
    following = np.roll(corners, -1, axis=0)
    if not abs(float((corners[:, 0] * following[:, 1] - corners[:, 1] * following[:, 0]).sum())) > 0.0:
        raise ROSConfigError("the footprint encloses no area")
    return corners


def _require_cells(data: object) -> Int8:
    require_unmasked(data, name="data", unknown="-1")
    if isinstance(data, list | tuple):
        try:
            data = np.array(data)
        except (TypeError, ValueError) as error:
            raise ROSConfigError(f"data is not a rectangle of whole numbers: {error}") from None
    if not isinstance(data, np.ndarray) or data.ndim != 2:
        shape = getattr(data, "shape", type(data).__name__)
        raise ROSConfigError(
            f"data must be an array (height, width), got {shape}: a flat message needs "
            "`.reshape(height, width)` or OccupancyGridIndex.from_msg(...)"
        )
    if data.dtype.kind not in "iu":
        raise ROSConfigError(f"data is {data.dtype}, expected whole numbers: -1 unknown, else 0 to 100")
    if not 0 < data.size <= GRID_CELLS_MAX:
        raise ROSConfigError(f"data has shape {data.shape}: 1 to {GRID_CELLS_MAX} cells are taken")
    meaningless = ~((data >= UNKNOWN_CELL) & (data <= 100))
    if meaningless.any():
        row, column = (int(index) for index in np.argwhere(meaningless)[0])
        raise ROSConfigError(
            f"data[{row}, {column}] is {int(data[row, column])}: -1 is unknown, else 0 to 100 per cent"
        )
    cells = data.astype(np.int8)
    cells.flags.writeable = False
    return cells


def _outside(along: Float64) -> Float64:
    """Returns how far a coordinate lies outside the cell from 0 to 1."""
    return np.maximum(np.maximum(-along, along - 1.0), 0.0)


def _yaw_of(quaternion: list[float]) -> float:
    x, y, z, w = quaternion
    length = math.hypot(x, y, z, w)
    if not abs(length - 1.0) <= _TILT_MAX:
        raise ROSConfigError(f"the orientation of the map's origin has length {length!r}, must be 1")
    if not math.hypot(x, y) <= _TILT_MAX:
        raise ROSConfigError(f"the map's origin is tilted: {quaternion} turns about more than z")
    return 2.0 * math.atan2(z, w)
