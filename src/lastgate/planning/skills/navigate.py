# SPDX-License-Identifier: Apache-2.0
"""Drives a base to a pose on the map: along free cells, in turns and straight legs, every chunk through the gate."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from lastgate.contracts import (
    ControlMode,
    Pose6D,
    RobotDescription,
    ROSConfigError,
    ROSPlanningError,
    intersect_envelopes,
)
from lastgate.contracts.action import ActionChunk
from lastgate.contracts.arrays import Float64
from lastgate.contracts.extras import install_command
from lastgate.gate import Gate
from lastgate.planning.approach.viewpoint import yaw_of
from lastgate.planning.skills.body import Body
from lastgate.planning.skills.gated_motion import move_through_gate, never_cancelled
from lastgate.planning.skills.timing import PEAK_ACCELERATION, PEAK_SPEED
from lastgate.world import FloorMap, OccupancyGridIndex, World

SKILL_ID = "navigate-to"
# Of the base's speed limits; arms sway on bases that hurry.
SPEED_SHARE = 0.3
RAMP_S = 0.5
# Steps per chunk: a fifth of a second at 50 Hz, after which the pose and the world are read anew.
ROWS_PER_CHUNK = 10
ARRIVED_M, ARRIVED_RAD = 0.02, 0.02
# A leg is driven, measured and driven again until the base is there; one that slips is not chased for ever.
CORRECTIONS_MAX = 4
# A search over more cells takes more than a few seconds: 2,000 x 2,000, or 100 m at 5 cm.
CELLS_MAX = 4_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Drive:
    """The outcome of a drive.

    Attributes:
        corners_xy: The places between which it went straight, the first and the last included.
        chunks: How many chunks crossed the gate and were executed.
        pose: Where the base was measured to be at the end.
    """

    corners_xy: tuple[tuple[float, float], ...]
    chunks: int
    pose: Pose6D


def navigate_to(
    goal: Pose6D, *, gate: Gate, body: Body, is_cancelled: Callable[[], bool] = never_cancelled
) -> Drive:
    """Drives the base to a pose on the map that its body is on.

    Raises:
        ROSPlanningError: The goal is not free, no way leads there, or the base did not arrive; the message says which.
        ROSConfigError: The body has no map, or the robot no base that drives.
        ROSSafetyViolation: The gate rejected a chunk; the robot holds where it got to.
        ROSMotionCancelled: The drive was taken back; the robot holds.
    """
    speeds = _speeds(gate)
    floor_map, here = _map_and_place(body)
    answer = gate.check_nav_goal(goal, floor_map=floor_map, now_s=body.now_s())
    if not answer.ok:
        raise ROSPlanningError(f"the base cannot be sent there: {answer.reason}")
    margin_m = intersect_envelopes(gate.robot, gate.skill).world_collision_margin_m
    corners = find_way(
        floor_map.grid, here.xyz[:2], goal.xyz[:2], inflation_m=footprint_disc_m(gate.robot) + margin_m
    )
    driver = _Driver(gate, body, speeds, is_cancelled)
    for corner in corners[1:]:
        driver.go_to(corner)
    driver.turn_to(yaw_of(goal))
    end = driver.pose()
    off_m = math.dist(end.xyz[:2], goal.xyz[:2])
    off_rad = abs(math.remainder(yaw_of(end) - yaw_of(goal), 2.0 * math.pi))
    if not (off_m <= 2.0 * ARRIVED_M and off_rad <= 2.0 * ARRIVED_RAD):
        body.hold()
        raise ROSPlanningError(
            f"the base did not arrive: it is {off_m:.3f} m and {off_rad:.3f} rad off its goal"
        )
    return Drive(corners_xy=tuple(corners), chunks=driver.chunks, pose=end)


def footprint_disc_m(robot: RobotDescription) -> float:
    """Returns the radius of a disc around the base's origin that holds its whole footprint.

    Raises:
        ROSConfigError: The robot declares no footprint.
    """
    if robot.footprint_polygon is not None:
        return max(math.hypot(*corner) for corner in robot.footprint_polygon)
    if robot.footprint_radius is not None:
        return robot.footprint_radius
    raise ROSConfigError(f"robot `{robot.name}` declares neither footprint_radius nor footprint_polygon")


def find_way(
    grid: OccupancyGridIndex,
    start_xy: tuple[float, float],
    goal_xy: tuple[float, float],
    *,
    inflation_m: float,
) -> list[tuple[float, float]]:
    """Returns the corners of a way on which a disc touches free cells only, both ends included.

    Raises:
        ROSPlanningError: The disc is not free at one of the ends, or no way connects them.
        ROSConfigError: The map is too large to be searched, or SciPy is not installed.
    """
    try:
        from scipy.sparse import csgraph
    except ModuleNotFoundError:
        raise ROSConfigError(f"a way on a map needs `{install_command('approach')}`") from None
    if grid.data.size > CELLS_MAX:
        raise ROSConfigError(f"the map has {grid.data.size} cells, at most {CELLS_MAX} are searched")
    for name, place in (("start", start_xy), ("goal", goal_xy)):
        if not grid.is_free(*place, inflation_m=inflation_m):
            raise ROSPlanningError(
                f"no way on the map: a disc of {inflation_m:.3f} m is not free at the {name} "
                f"({place[0]:.3f}, {place[1]:.3f})"
            )
    free = grid.inflated_free(inflation_m)
    start, goal = _cell_near(grid, free, start_xy), _cell_near(grid, free, goal_xy)
    if start is None or goal is None:
        raise ROSPlanningError("no way on the map: no cell next to an end is free")
    number, graph = _cell_graph(free)
    _, before = csgraph.dijkstra(graph, indices=number[start], return_predecessors=True)
    cells, at = [], int(number[goal])
    while at >= 0:
        cells.append(at)
        at = int(before[at])
    if cells[-1] != number[start]:
        raise ROSPlanningError("no way on the map: the goal is not connected with where the robot stands")
    rows, columns = np.nonzero(free)
    way = [grid.centre_of((int(rows[cell]), int(columns[cell]))) for cell in reversed(cells)]
    return _straightened(grid, [start_xy, *way, goal_xy], inflation_m)


def _cell_near(
    grid: OccupancyGridIndex, free: np.ndarray, place_xy: tuple[float, float]
) -> tuple[int, int] | None:
    """Returns the free cell whose centre is nearest to a place, among its own and the eight around."""
    cell = grid.cell_of(*place_xy)
    if cell is None:
        return None
    around = [(cell[0] + i, cell[1] + j) for i in (-1, 0, 1) for j in (-1, 0, 1)]
    rows, columns = free.shape
    inside = [one for one in around if 0 <= one[0] < rows and 0 <= one[1] < columns and free[one]]
    return min(inside, key=lambda one: math.dist(grid.centre_of(one), place_xy), default=None)


def _cell_graph(free: np.ndarray) -> tuple[np.ndarray, object]:
    """Returns the number of each free cell, and the graph of steps between neighbours by edge or corner."""
    from scipy.sparse import coo_array

    number = np.full(free.shape, -1, dtype=np.int32)
    number[free] = np.arange(int(free.sum()), dtype=np.int32)
    rows, columns = free.shape
    heads, tails, costs = [], [], []
    for down, right in ((0, 1), (1, 0), (1, 1), (1, -1)):
        a = number[: rows - down, max(0, -right) : columns - max(0, right)]
        b = number[down:, max(0, right) : columns + min(0, right)]
        both = (a >= 0) & (b >= 0)
        if down and right:
            # Over a corner only where both cells beside it are free too.
            both &= (number[: rows - down, max(0, right) : columns + min(0, right)] >= 0) & (
                number[down:, max(0, -right) : columns - max(0, right)] >= 0
            )
        heads += [a[both], b[both]]
        tails += [b[both], a[both]]
        costs += [np.full(2 * int(both.sum()), math.hypot(down, right))]
    size = int(free.sum())
    entries = (np.concatenate(costs), (np.concatenate(heads), np.concatenate(tails)))
    return number, coo_array(entries, shape=(size, size)).tocsr()


def _straightened(
    grid: OccupancyGridIndex, way: list[tuple[float, float]], inflation_m: float
) -> list[tuple[float, float]]:
    """Leaves out corners between which the disc can go straight, sampled every half cell."""

    def is_open(a: tuple[float, float], b: tuple[float, float]) -> bool:
        count = max(2, math.ceil(2.0 * math.dist(a, b) / grid.resolution_m) + 1)
        shares = np.linspace(0.0, 1.0, count)
        return all(
            grid.is_free(
                a[0] + float(share) * (b[0] - a[0]),
                a[1] + float(share) * (b[1] - a[1]),
                inflation_m=inflation_m,
            )
            for share in shares
        )

    kept, index = [way[0]], 0
    while index < len(way) - 1:
        low, high = index + 1, len(way) - 1
        # Whether a corner is seen is nearly monotone along a shortest way: halving finds a far one in few tests.
        if not is_open(way[index], way[high]):
            while high - low > 1:
                middle = (low + high) // 2
                low, high = (middle, high) if is_open(way[index], way[middle]) else (low, middle)
            high = low
        index = high
        kept.append(way[index])
    return kept


def _speeds(gate: Gate) -> tuple[float, float]:
    envelope = intersect_envelopes(gate.robot, gate.skill)
    linear, angular = envelope.max_base_linear_speed_m_s, envelope.max_base_angular_speed_rad_s
    if linear is None or angular is None:
        raise ROSConfigError(f"robot `{gate.robot.name}` has no base that drives: it declares no base speeds")
    return SPEED_SHARE * linear, SPEED_SHARE * angular


def _map_and_place(body: Body) -> tuple[FloorMap, Pose6D]:
    world, here = body.world(), body.base_in_map()
    if not isinstance(world, World) or world.floor_map is None or here is None:
        raise ROSConfigError("there is no map to drive on: the body's world has no floor_map")
    return world.floor_map, here


class _Driver:
    """Turns and goes straight, in chunks through the gate, and measures after each motion what is left of it."""

    def __init__(
        self, gate: Gate, body: Body, speeds: tuple[float, float], is_cancelled: Callable[[], bool]
    ) -> None:
        self._gate, self._body, self._is_cancelled = gate, body, is_cancelled
        self._linear, self._angular = speeds
        self.chunks = 0

    def pose(self) -> Pose6D:
        pose = self._body.base_in_map()
        if pose is None:
            raise ROSConfigError("the body lost its place on the map")
        return pose

    def go_to(self, place_xy: tuple[float, float]) -> None:
        for _ in range(CORRECTIONS_MAX):
            here = self.pose()
            away_m = math.dist(here.xyz[:2], place_xy)
            if away_m <= ARRIVED_M:
                return
            self.turn_to(math.atan2(place_xy[1] - here.xyz[1], place_xy[0] - here.xyz[0]))
            self._move(away_m, speed=self._linear, column=0)

    def turn_to(self, yaw: float) -> None:
        for _ in range(CORRECTIONS_MAX):
            left = math.remainder(yaw - yaw_of(self.pose()), 2.0 * math.pi)
            if abs(left) <= ARRIVED_RAD / 4.0:
                return
            self._move(left, speed=self._angular, column=5)

    def _move(self, amount: float, *, speed: float, column: int) -> None:
        """Moves by so much along one column of a twist, rest to rest."""
        rows = np.zeros((0, 6))
        rates = _rates(amount, speed=speed, step_s=self._gate.step_s)
        rows = np.zeros((len(rates), 6))
        rows[:, column] = rates
        for first in range(0, len(rows), ROWS_PER_CHUNK):
            some = np.ascontiguousarray(rows[first : first + ROWS_PER_CHUNK])
            self.chunks += 1
            move_through_gate(
                ActionChunk(some, mode=ControlMode.BODY_TWIST, rskill_id=SKILL_ID),
                gate=self._gate,
                body=self._body,
                what=f"chunk {self.chunks} of the drive",
                is_cancelled=self._is_cancelled,
            )


def _rates(amount: float, *, speed: float, step_s: float) -> Float64:
    """Returns the rate of each step, whose sum is the amount, never above the speed."""
    away = abs(amount)
    duration_s = max(PEAK_SPEED * away / speed, math.sqrt(PEAK_ACCELERATION * away * RAMP_S / speed))
    t = np.linspace(0.0, 1.0, max(1, math.ceil(duration_s / step_s)) + 1)
    return np.diff(amount * t**3 * (10.0 + t * (6.0 * t - 15.0))) / step_s
