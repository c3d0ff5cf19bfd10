# SPDX-License-Identifier: Apache-2.0
"""Worlds for recovery: something that the robot already touches and moves away from, and things further along."""

from typing import Any

import numpy as np

from attack.aim import Aim
from attack.kinematics import Array
from attack.robots import rounded, unit
from attack.scene import Element, Surroundings

EDGE_M = 0.012
CELLS_MAX = 48
FLOOR_EDGE_M = 0.05


def aim_retreat(case: dict[str, Any], resolved: Array | None, rng: np.random.Generator) -> None:
    """Puts a sphere, point or voxel behind a volume that moves away from it, and others along the way."""
    safety = case["manifest"]["safety"]
    if "world_collision_margin_m" not in safety:
        safety["world_collision_margin_m"] = rounded(rng.uniform(0.005, 0.03), 4)
    aim = Aim(case, resolved, rng)
    world: dict[str, Any] = {"primitives": [], "zones": []}
    case["world"] = world
    if not aim.ends.shape[1]:
        return
    behind = [place for place in (_behind(aim, rng) for _ in range(3)) if place is not None]
    along = [_along(aim, rng) for _ in range(int(rng.integers(0, 4)))]
    kind = str(rng.choice(["sphere", "points", "voxels", "floor", "mixed"]))
    if kind == "sphere":
        for number, (centre, radius) in enumerate(behind[:2]):
            shape = {"shape": "sphere", "radius_m": rounded(radius, 6)}
            world["primitives"].append(
                {"shape": shape, "pose": {"xyz": centre.tolist()}, "object_id": f"left{number}"}
            )
        world["points"] = [place.tolist() for place in along] or None
    elif kind == "points":
        touched = [_surface(aim, centre, radius) for centre, radius in behind[: int(rng.integers(1, 4))]]
        world["points"] = [point.tolist() for point in (*touched, *along)] or None
    elif kind == "voxels":
        world["voxels"] = _grid_with(aim, _cells_behind(aim, behind, EDGE_M), along, rng)
    elif kind == "floor":
        world["floor_map"] = _floor_with(aim, _cells_behind(aim, behind, FLOOR_EDGE_M), along, rng)
    else:  # what is left, and what is ahead, may be of different kinds
        touched = [_surface(aim, centre, radius) for centre, radius in behind[1:]]
        world["points"] = [point.tolist() for point in (*touched, *along[:1])] or None
        world["voxels"] = _grid_with(aim, _cells_behind(aim, behind, EDGE_M), along[1:2], rng)
        world["floor_map"] = _floor_with(aim, _cells_behind(aim, behind[1:], FLOOR_EDGE_M), along[2:], rng)
    if rng.random() < 0.3:
        made = aim.primitive()
        if made is not None:
            world["primitives"].append({"shape": made[0], "pose": made[1], "object_id": "ahead"})


def _behind(aim: Aim, rng: np.random.Generator) -> tuple[Array, float] | None:
    """Returns centre and radius of a sphere inside the margin of a volume that moves away from it."""
    volume = int(rng.integers(aim.ends.shape[1]))
    per_path = len(aim.ends) // max(len(aim.paths), 1)
    moved = aim.ends[min(8, per_path - 1), volume] - aim.ends[0, volume]
    end = int(np.argmax(np.linalg.norm(moved, axis=1)))
    length = float(np.linalg.norm(moved[end]))
    if length < 1e-4:
        return None
    away = -moved[end] / length + 0.3 * unit(rng)
    away /= np.linalg.norm(away)
    radius = float(rng.uniform(0.005, 0.05))
    gap = aim.margin_m * rng.uniform(-0.1, 0.5)
    centre = np.array(rounded(aim.ends[0, volume, end] + away * (aim.radii[volume] + radius + gap), 6))
    return centre, radius


def _surface(aim: Aim, centre: Array, radius: float) -> Array:
    """Returns the point of a sphere that is nearest to the robot as it stands."""
    apart = [(aim.ends[0, volume, end] - centre) for volume in range(aim.ends.shape[1]) for end in range(2)]
    nearest = min(apart, key=lambda vector: float(np.linalg.norm(vector)))
    return np.array(rounded(centre + radius * nearest / np.linalg.norm(nearest), 6))


def _along(aim: Aim, rng: np.random.Generator) -> Array:
    """Returns a place that is clear of the margin at the start and, in every other case, a little inside it later."""
    low, high = (0.5, 0.98) if rng.random() < 0.5 else (1.02, 1.5)
    for _ in range(12):
        place, away = aim.spot()
        point = np.array(rounded(place + away * aim.margin_m * rng.uniform(low, high), 6))
        element = Element("point", "sphere", np.eye(3), point, np.zeros(3))
        clearance = Surroundings([element]).distances(aim.ends, aim.radii, 10.0).min(axis=(1, 2))
        if clearance[0] > aim.margin_m + 1e-4 and low * aim.margin_m < clearance.min():
            break
    return point


def _cells_behind(aim: Aim, behind: list[tuple[Array, float]], edge_m: float) -> list[Array]:
    """Returns a place whose cell is touched; it reaches nearer than the place, so that lies half a diagonal back."""
    return [_surface(aim, centre, radius - 0.87 * edge_m) for centre, radius in behind[:1]]


def _grid_with(
    aim: Aim, touched: list[Array], along: list[Array], rng: np.random.Generator
) -> dict[str, Any]:
    """Returns a grid in which the voxels of some places are occupied or unknown."""
    places = np.array([*touched, *along] or [[0.0, 0.0, 0.0]])
    low, high = places.min(axis=0) - EDGE_M, places.max(axis=0) + EDGE_M
    origin = np.array(rounded(low - rng.uniform(0.0, EDGE_M, 3), 6))
    size = np.minimum(np.ceil((high - origin) / EDGE_M).astype(int) + 1, CELLS_MAX)
    grid = np.zeros(size[::-1], dtype=int)
    for number, place in enumerate(places):
        x, y, z = ((place - origin) / EDGE_M).astype(int)
        if not (np.array([x, y, z]) < size).all():
            continue
        grid[z, y, x] = 1 if number == 0 or rng.random() < 0.5 else 255
    return {
        "occupancy": grid.tolist(),
        "origin_xyz": origin.tolist(),
        "resolution_m": EDGE_M,
        "unknown": "occupied",
        "outside": "free",
    }


def _floor_with(
    aim: Aim, touched: list[Array], along: list[Array], rng: np.random.Generator
) -> dict[str, Any]:
    """Returns a map of the ground that the robot reaches; the cells of some places are blocked or unknown."""
    reach = float(np.abs(aim.every_end[..., :2]).max() + aim.radii.max() + aim.margin_m) + 2 * FLOOR_EDGE_M
    count = int(np.ceil(2 * reach / FLOOR_EDGE_M))
    origin = np.array(rounded(-np.array([reach, reach]) - rng.uniform(0.0, FLOOR_EDGE_M, 2), 6))
    data = np.zeros((count + 1, count + 1), dtype=int)
    for place in (*touched, *along):
        column, row = np.floor((place[:2] - origin) / FLOOR_EDGE_M).astype(int)
        if 0 <= column <= count and 0 <= row <= count:
            data[row, column] = rng.choice([100, -1])
    heights = [place[2] for place in (*touched, *along)] or [0.0]
    low, high = min(heights) - rng.uniform(0.01, 0.3), max(heights) + rng.uniform(0.01, 0.3)
    return {
        "data": data.tolist(),
        "resolution_m": FLOOR_EDGE_M,
        "origin_xy": origin.tolist(),
        "origin_yaw": 0.0,
        "map_in_base": np.column_stack([np.eye(3), np.zeros(3)]).tolist(),
        "height_m": rounded([low, high], 5),
    }
