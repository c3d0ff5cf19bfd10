# SPDX-License-Identifier: Apache-2.0
"""Moves a viewpoint to the nearest place where the robot may stand and sees the target, or says that there is none.

The places are the centres of the map's cells. They are asked in the order of their distance from the ideal, many
at a time, so the answer is that of looking at all of them.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lastgate.contracts import ApproachViewpoint, ROSConfigError
from lastgate.contracts.arrays import Float64
from lastgate.contracts.extras import install_command
from lastgate.planning.approach.line_of_sight import sees_in_cells
from lastgate.planning.approach.viewpoint import facing, yaw_of
from lastgate.world.cell_shapes import polygon_touches_cells
from lastgate.world.finite_numbers import require_finite, require_not_negative, require_positive, require_xyz
from lastgate.world.occupancy_grid import OccupancyGridIndex, require_polygon, require_xy

INFLATION_M_DEFAULT = 0.25
RADIUS_M_DEFAULT = 2.0
# Of the viewpoint's own stand-off, when no bounds are given.
STANDOFF_SHARE_MIN, STANDOFF_SHARE_MAX = 0.5, 2.0
# Lines traced at once: enough to make a line cheap, few enough that a near place is not paid for by far ones.
_LINES_AT_ONCE = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class SensorView:
    """The view of a sensor on the robot that stands still: a height, and angles above and below the level.

    Attributes:
        height_m: Of the sensor above the map's z = 0.
        elevation_min_rad, elevation_max_rad: Lowest and highest line of view; below the level is negative.
        azimuth_max_rad: How far to either side of the robot's x axis it sees.

    Raises:
        ROSConfigError: A number is not finite, the angles are not ordered or beyond a quarter turn.
    """

    height_m: float
    elevation_min_rad: float
    elevation_max_rad: float
    azimuth_max_rad: float = math.pi

    def __post_init__(self) -> None:
        for name in ("height_m", "elevation_min_rad", "elevation_max_rad", "azimuth_max_rad"):
            object.__setattr__(self, name, require_finite(getattr(self, name), name=name))
        low, high = self.elevation_min_rad, self.elevation_max_rad
        if not -math.pi / 2 <= low < high <= math.pi / 2:
            raise ROSConfigError(f"the sensor sees from {low!r} to {high!r} rad: -pi/2 <= low < high <= pi/2")
        if not 0.0 < self.azimuth_max_rad <= math.pi:
            raise ROSConfigError(
                f"azimuth_max_rad must be above 0 and at most pi, got {self.azimuth_max_rad!r}"
            )

    def sees_height(self, away_m: Float64, *, target_z_m: float) -> NDArray[np.bool_]:
        """Returns from which horizontal distances a target of that height is between the two elevations."""
        elevation = np.arctan2(target_z_m - self.height_m, away_m)
        return (elevation >= self.elevation_min_rad) & (elevation <= self.elevation_max_rad)


def refine_approach_pose(  # noqa: PLR0913 - each keyword is one condition of the search, and public
    grid: OccupancyGridIndex,
    viewpoint: ApproachViewpoint,
    target_xyz: Sequence[float],
    *,
    max_radius_m: float = RADIUS_M_DEFAULT,
    min_standoff_m: float | None = None,
    max_standoff_m: float | None = None,
    inflation_m: float = INFLATION_M_DEFAULT,
    footprint_xy: Sequence[Sequence[float]] | None = None,
    reachable_from_xy: Sequence[float] | None = None,
    sensor: SensorView | None = None,
    now_s: float | None = None,
    age_s_max: float | None = None,
) -> ApproachViewpoint | None:
    """Returns the viewpoint itself if it is admissible, else the nearest admissible one turned to the target, or None.

    A place is admissible if the robot standing there touches free cells only, the target is in line of sight, and
    the horizontal distance to it is within the stand-offs. Equally near places: the lower row, then the lower column.

    Args:
        max_radius_m: How far from the ideal place to look.
        min_standoff_m, max_standoff_m: Half and twice the viewpoint's own unless given.
        inflation_m: Radius of the disc that the robot occupies.
        footprint_xy: The vertices of the robot around its origin, turned with it; takes the place of the disc.
        reachable_from_xy: Where the robot stands; only places count that are connected with it by steps from cell
            to cell in which the disc (of a footprint: the largest disc around the origin inside it) is free.
        sensor: Its height and angles; places from which the target is outside them do not count.
        now_s, age_s_max: The time, and how old the map may be by its own stamp.

    Raises:
        ROSConfigError: Frames that differ, bounds out of order, a number that is not finite, one of `now_s` and
            `age_s_max` without the other.
        ROSPerceptionStale: The map is older than `age_s_max`.
    """
    search = _Search(
        grid,
        viewpoint,
        require_xyz(target_xyz, name="target_xyz"),
        standoffs_m=_standoffs(viewpoint, min_standoff_m, max_standoff_m),
        inflation_m=require_not_negative(inflation_m, name="inflation_m"),
        footprint=None if footprint_xy is None else require_polygon(footprint_xy),
        sensor=sensor,
    )
    radius_m = require_not_negative(max_radius_m, name="max_radius_m")
    if (now_s is None) != (age_s_max is None):
        raise ROSConfigError("now_s and age_s_max belong together: one of them alone says nothing about age")
    if now_s is not None and age_s_max is not None:
        grid.require_fresh(now_s=now_s, age_s_max=age_s_max)
    reachable = None if reachable_from_xy is None else search.connected_with(reachable_from_xy)
    if search.ideal_is_admissible(reachable):
        return viewpoint
    return search.nearest(radius_m, reachable)


def _standoffs(
    viewpoint: ApproachViewpoint, least_m: float | None, most_m: float | None
) -> tuple[float, float]:
    least = STANDOFF_SHARE_MIN * viewpoint.standoff_m if least_m is None else least_m
    most = STANDOFF_SHARE_MAX * viewpoint.standoff_m if most_m is None else most_m
    least, most = (
        require_not_negative(least, name="min_standoff_m"),
        require_positive(most, name="max_standoff_m"),
    )
    if not least <= most:
        raise ROSConfigError(f"min_standoff_m {least:g} is above max_standoff_m {most:g}")
    return least, most


class _Search:
    """One question about one map: which places are admissible, and which of them is nearest."""

    def __init__(
        self,
        grid: OccupancyGridIndex,
        viewpoint: ApproachViewpoint,
        target_xyz: tuple[float, float, float],
        *,
        standoffs_m: tuple[float, float],
        inflation_m: float,
        footprint: Float64 | None,
        sensor: SensorView | None,
    ) -> None:
        if not isinstance(grid, OccupancyGridIndex):
            raise ROSConfigError(f"grid is a {type(grid).__name__}, expected an OccupancyGridIndex")
        if not isinstance(viewpoint, ApproachViewpoint):
            raise ROSConfigError(f"viewpoint is a {type(viewpoint).__name__}, expected an ApproachViewpoint")
        if viewpoint.pose.frame_id not in ("", grid.frame_id):
            raise ROSConfigError(
                f"the viewpoint is in frame `{viewpoint.pose.frame_id}`, the map in `{grid.frame_id}`"
            )
        self.grid, self.viewpoint, self.target_xyz = grid, viewpoint, target_xyz
        self.standoffs_m, self.footprint, self.sensor = standoffs_m, footprint, sensor
        # A footprint that turns with the robot contains its inner disc: a cheap first question.
        self.disc_m = inflation_m if footprint is None else inner_disc_m(footprint)
        self.target_cells = np.array([grid.in_cells(target_xyz[0], target_xyz[1])])

    def ideal_is_admissible(self, reachable: NDArray[np.bool_] | None) -> bool:
        x, y, _ = self.viewpoint.pose.xyz
        yaw = yaw_of(self.viewpoint.pose)
        cell = self.grid.cell_of(x, y)
        if cell is None or (reachable is not None and not reachable[cell]):
            return False
        place = np.array([self.grid.in_cells(x, y)])
        if not self._stands_well(np.array([x]), np.array([y]))[0]:
            return False
        bearing = math.atan2(self.target_xyz[1] - y, self.target_xyz[0] - x)
        aside = abs(math.remainder(bearing - yaw, 2 * math.pi))
        if self.sensor is not None and not aside <= self.sensor.azimuth_max_rad:
            return False
        return self._is_free(x, y, yaw) and bool(sees_in_cells(self.grid, place, self.target_cells)[0])

    def nearest(self, radius_m: float, reachable: NDArray[np.bool_] | None) -> ApproachViewpoint | None:
        grid, (x, y, z) = self.grid, self.viewpoint.pose.xyz
        u, v = grid.in_cells(x, y)
        radius = radius_m / grid.resolution_m
        rows, columns = grid.data.shape
        row_first, row_end = max(math.floor(v - radius), 0), min(math.ceil(v + radius) + 1, rows)
        column_first, column_end = max(math.floor(u - radius), 0), min(math.ceil(u + radius) + 1, columns)
        if row_first >= row_end or column_first >= column_end:
            return None
        free = grid.clear_cells(
            inflation_m=self.disc_m, rows=(row_first, row_end), columns=(column_first, column_end)
        )
        if reachable is not None:
            free &= reachable[row_first:row_end, column_first:column_end]
        row, column = np.nonzero(free)
        place = np.column_stack([column + column_first, row + row_first]).astype(np.float64) + 0.5
        squared = (place[:, 0] - u) ** 2 + (place[:, 1] - v) ** 2
        place_x, place_y = grid.in_map(place[:, 0], place[:, 1])
        kept = np.flatnonzero((squared <= radius * radius) & self._stands_well(place_x, place_y))
        # Stable, and the cells come row by row: equally near ones stay in the order of rows and columns.
        kept = kept[np.argsort(squared[kept], kind="stable")]
        for start in range(0, len(kept), _LINES_AT_ONCE):
            some = kept[start : start + _LINES_AT_ONCE]
            target = np.broadcast_to(self.target_cells, (len(some), 2))
            for index in some[sees_in_cells(grid, place[some], target)]:
                there = (float(place_x[index]), float(place_y[index]))
                pose = facing(there, self.target_xyz[:2], z_m=z, frame_id=self.viewpoint.pose.frame_id)
                if self.footprint is None or self._is_free(*there, yaw_of(pose)):
                    away_m = math.dist(there, self.target_xyz[:2])
                    return self.viewpoint.model_copy(
                        update={"pose": pose, "standoff_m": away_m, "target_xyz": self.target_xyz}
                    )
        return None

    def connected_with(self, place_xy: Sequence[float]) -> NDArray[np.bool_]:
        try:
            from scipy import ndimage
        except ModuleNotFoundError:
            raise ROSConfigError(f"reachable_from_xy needs `{install_command('approach')}`") from None
        free = self.grid.inflated_free(self.disc_m)
        cell = self.grid.cell_of(*require_xy(place_xy, name="reachable_from_xy"))
        if cell is None or not free[cell]:
            return np.zeros_like(free)
        # Neighbours by an edge: a step over a corner would pass between two blocked cells.
        labels, _ = ndimage.label(free)  # type: ignore[misc]
        return labels == labels[cell]

    def _stands_well(self, x: Float64, y: Float64) -> NDArray[np.bool_]:
        """Returns from which places the target is within the stand-offs and the sensor's elevations."""
        away_m = np.hypot(x - self.target_xyz[0], y - self.target_xyz[1])
        well = (away_m >= self.standoffs_m[0]) & (away_m <= self.standoffs_m[1]) & (away_m > 0.0)
        if self.sensor is not None:
            well &= self.sensor.sees_height(away_m, target_z_m=self.target_xyz[2])
        return well

    def _is_free(self, x: float, y: float, yaw: float) -> bool:
        if self.footprint is None:
            return self.grid.is_free(x, y, inflation_m=self.disc_m)
        return self.grid.is_footprint_free(self.footprint, x=x, y=y, yaw=yaw)


def inner_disc_m(vertices: Float64) -> float:
    """Returns the radius of the largest disc around the origin inside a polygon; 0 when the origin is not inside."""
    # A cell of no size at the origin: covered, when the origin is inside.
    following = np.roll(vertices, -1, axis=0)
    if not polygon_touches_cells(vertices + 0.5, np.zeros((1, 2)), touch=-0.5)[0]:
        return 0.0
    edge = following - vertices
    along = np.clip(-(vertices * edge).sum(axis=1) / np.maximum((edge * edge).sum(axis=1), 1e-300), 0.0, 1.0)
    nearest = vertices + along[:, None] * edge
    # A hair less, so that rounding cannot make the disc stick out.
    return float(np.hypot(nearest[:, 0], nearest[:, 1]).min()) * (1.0 - 1e-12)
