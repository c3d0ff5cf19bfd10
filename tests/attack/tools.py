# SPDX-License-Identifier: Apache-2.0
"""Promises about end effectors and the base: workspace box, speeds along the way, footprint on the map."""

from typing import TYPE_CHECKING, Any

import numpy as np

from attack.distances import polygon_contains, segment_box
from attack.kinematics import Array, rotation_of_rpy
from attack.motions import Path
from attack.scene import floor_elements

if TYPE_CHECKING:
    from attack.oracle import Findings, Oracle

# Between two instants this share of a step apart, the change of velocity is the acceleration to one part in a million.
DERIVATIVE_SHARE = 1.0e-4
ACCELERATION_TOLERANCE = 1.0e-3


def tool_poses(
    oracle: "Oracle", end: dict[str, Any], rotations: Array, positions: Array
) -> tuple[Array, Array]:
    """Returns rotations (S, 3, 3) and positions (S, 3) of the tool of an end effector."""
    link = oracle.tree.links.index(end["link"])
    x, y, z, *rpy = end.get("tool_xyz_rpy", (0.0,) * 6)
    point = positions[:, link] + rotations[:, link] @ np.array([x, y, z], float)
    return rotations[:, link] @ rotation_of_rpy(rpy), point


def note_box(
    oracle: "Oracle", q: Array, base: Array | None, at: tuple[Array, Array], found: "Findings"
) -> None:
    """Every tool stays inside the workspace box, unless the base carries it."""
    low = oracle.safety.get("workspace_box_min_xyz")
    if low is None or oracle.mode == "BODY_TWIST":
        return
    high = oracle.safety["workspace_box_max_xyz"]
    rotations, positions = oracle.tree.place(q, base)
    for end in oracle.case["manifest"].get("end_effectors", ()):
        _, point = tool_poses(oracle, end, rotations, positions)
        inside = np.minimum(point - np.array(low), np.array(high) - point).min(axis=1)
        sample = int(np.argmin(inside))
        found.note("workspace box", inside[sample], tool=end["name"], **oracle.instant(at, sample))


def note_speeds(oracle: "Oracle", path: Path, segment: Array, share: Array, found: "Findings") -> None:
    """Speeds and acceleration of every tool at every instant, not from row to row."""
    safety = oracle.safety
    speed_max, turn_max = safety.get("max_ee_speed_m_s"), safety.get("max_ee_angular_speed_rad_s")
    acceleration_max = safety.get("max_ee_accel_m_s2")
    if speed_max is None and turn_max is None and acceleration_max is None:
        return
    rates = path.rates(segment)
    at = (segment, share)
    for end in oracle.case["manifest"].get("end_effectors", ()):
        linear, angular = _tool_velocity(oracle, end, path, segment, share, rates=rates)
        for name, vectors, limit in (("tool speed", linear, speed_max), ("tool turning", angular, turn_max)):
            if limit is not None:
                values = np.linalg.norm(vectors, axis=1)
                sample = int(np.argmax(values))
                where = {"value": float(values[sample]), "limit": limit, "tool": end["name"]}
                found.note(name, 1.0 - values[sample] / limit, **where, **oracle.instant(at, sample))
        if acceleration_max is not None:
            earlier = np.clip(share - DERIVATIVE_SHARE, 0.0, 1.0 - 2 * DERIVATIVE_SHARE)
            before, _ = _tool_velocity(oracle, end, path, segment, earlier, rates=rates)
            after, _ = _tool_velocity(oracle, end, path, segment, earlier + 2 * DERIVATIVE_SHARE, rates=rates)
            assert path.step_s is not None
            values = np.linalg.norm(after - before, axis=1) / (2 * DERIVATIVE_SHARE * path.step_s)
            sample = int(np.argmax(values))
            left = 1.0 - values[sample] / acceleration_max + ACCELERATION_TOLERANCE
            where = {"value": float(values[sample]), "limit": acceleration_max, "tool": end["name"]}
            found.note("tool acceleration within a step", left, **where, **oracle.instant(at, sample))
            _note_acceleration_between(oracle, end, path, acceleration_max, found)


def _tool_velocity(
    oracle: "Oracle", end: dict[str, Any], path: Path, segment: Array, share: Array, *, rates: Array
) -> tuple[Array, Array]:
    q, _ = path.at(segment, share)
    placed = oracle.tree.place(q)
    _, point = tool_poses(oracle, end, *placed)
    return oracle.tree.velocities(placed, oracle.tree.links.index(end["link"]), point, rates)


def _note_acceleration_between(
    oracle: "Oracle", end: dict[str, Any], path: Path, limit: float, found: "Findings"
) -> None:
    """From step to step: the change of the mean velocity, and the jump at a step, over the time of a step."""
    assert path.step_s is not None
    rows = path.rows
    measured = oracle.case["state"].get("velocities")
    if measured is not None:
        before = rows[0].copy()
        before[oracle.tree.arm] -= path.step_s * np.array(measured, float)
        rows = np.concatenate([before[None], rows])
    if len(rows) < 3:
        return
    _, points = tool_poses(oracle, end, *oracle.tree.place(rows))
    values = np.linalg.norm(points[2:] - 2 * points[1:-1] + points[:-2], axis=1) / path.step_s**2
    worst = int(np.argmax(values))
    where = {"value": float(values[worst]), "limit": limit, "tool": end["name"], "step": worst}
    found.note("tool acceleration", 1.0 - values[worst] / limit, **where)
    placed = oracle.tree.place(rows[1:-1])
    jumps = (rows[2:] - 2 * rows[1:-1] + rows[:-2]) / path.step_s**2
    link = oracle.tree.links.index(end["link"])
    linear, _ = oracle.tree.velocities(placed, link, points[1:-1], jumps)
    values = np.linalg.norm(linear, axis=1)
    worst = int(np.argmax(values))
    where = {"value": float(values[worst]), "limit": limit, "tool": end["name"], "step": worst}
    found.note("tool acceleration at a step", 1.0 - values[worst] / limit, **where)


def note_footprint(oracle: "Oracle", path: Path, found: "Findings") -> None:
    """The footprint of a base that drives stays off every blocked cell, and off what is not on the map."""
    world, manifest = oracle.case["world"], oracle.case["manifest"]
    floor = (world or {}).get("floor_map")
    polygon, radius = manifest.get("footprint_polygon"), manifest.get("footprint_radius")
    if floor is None or (polygon is None and radius is None):
        return
    vertices = np.array([[0.0, 0.0]] if polygon is None else polygon, float)
    radius_m = float(radius) if polygon is None else 0.0
    cells = floor_elements(floor)
    turn, at = cells[0].rotation, np.array([cell.xyz for cell in cells])
    half = np.array([[*cell.size[:2], 1.0e3] for cell in cells])
    samples = 33
    segment = np.repeat(np.arange(path.segments), samples)
    share = np.tile(np.linspace(0.0, 1.0, samples), path.segments)
    _, base = path.at(segment, share)
    assert base is not None
    cosine, sine = np.cos(base[:, 2])[:, None], np.sin(base[:, 2])[:, None]
    x = base[:, 0][:, None] + cosine * vertices[:, 0] - sine * vertices[:, 1]
    y = base[:, 1][:, None] + sine * vertices[:, 0] + cosine * vertices[:, 1]
    placed = np.stack([x, y, np.zeros_like(x)], axis=-1)
    local = np.einsum("ji,sckj->scki", turn, placed[:, :, None] - at)
    local[..., 2] = 0.0
    following = np.roll(local, -1, axis=1)
    shape = local.shape[:3]
    flat_half = np.broadcast_to(half, (*shape, 3)).reshape(-1, 3)
    apart = segment_box(local.reshape(-1, 3), following.reshape(-1, 3), flat_half).reshape(shape) - radius_m
    for number in range(0, len(placed), samples - 1) if polygon is not None else ():
        if polygon_contains(placed[number, :, :2], at[:, :2]).any():
            apart[number] = -1.0
    left = apart - oracle.safety.get("world_collision_margin_m", 0.0)
    sample = int(np.argmin(left.reshape(len(left), -1).min(axis=1)))
    found.note("footprint", left.min(), **oracle.instant((segment, share), sample))
