# SPDX-License-Identifier: Apache-2.0
"""Puts limits, obstacles and zones where a motion just keeps them, or just does not.

A chunk is aimed at with samples of its own path. Most things are placed clear of it by between a tenth of a
millimetre and some centimetres; in about every third case one of them is placed so that the motion violates it.
"""

from typing import Any

import numpy as np

from attack.distances import point_segment
from attack.kinematics import Array, quaternion_of_rotation
from attack.motions import Path, paths_of, reachable_box
from attack.oracle import Oracle
from attack.robots import rounded, unit
from attack.scene import Element, Surroundings, axis_ends, floor_elements

SMALLEST_M = 0.004


class Aim:
    """Samples of a motion, and how near things may be put to it.

    Attributes:
        ends: (S, V, 2, 3), in the order of time; the first one is the measured state.
        strikes: Whether something of this case is meant to be hit.
    """

    def __init__(self, case: dict[str, Any], resolved: Array | None, rng: np.random.Generator) -> None:
        self.case, self.rng = case, rng
        self.oracle = Oracle(case)
        samples = []
        self.paths = paths_of(case, self.oracle.tree, resolved, np.random.default_rng(2))
        for path in self.paths:
            q, base = sampled(path)
            samples.append(self.oracle.place(q, base))
        box = reachable_box(case, self.oracle.tree, self.oracle.limits)
        if box is not None:
            shares = rng.integers(0, 3, size=(60, len(box[0]))) / 2.0
            samples.append(self.oracle.place(box[0] + shares * (box[1] - box[0]), None))
        self.every_end = np.concatenate(samples)
        # What no joint carries is compared with nothing, and what does not move cannot be driven into anything.
        self.ends, self.radii = self.every_end[:, self.oracle.moves], self.oracle.radii[self.oracle.moves]
        self.margin_m = case["manifest"]["safety"].get("world_collision_margin_m", 0.0)
        self.plain = case["is_plain"]
        self.strikes = not self.plain and rng.random() < 0.35

    def gap_m(self) -> float:
        """Returns how far beyond its margin the next thing is placed; below zero once per case that strikes."""
        if self.plain:
            return float(self.rng.uniform(0.012, 0.1))
        if self.strikes and self.rng.random() < 0.5:
            self.strikes = False
            return -float(np.exp(self.rng.uniform(np.log(2e-5), np.log(0.02))))
        return float(np.exp(self.rng.uniform(np.log(1e-4), np.log(0.05))))

    def spot(self) -> tuple[Array, Array]:
        """Returns a place on a volume at some instant, and a direction away from it."""
        sample = int(self.rng.integers(len(self.ends)))
        volume = int(self.rng.integers(self.ends.shape[1]))
        share = self.rng.random()
        low, high = self.ends[sample, volume]
        away = unit(self.rng)
        return low + share * (high - low) + away * self.radii[volume], away

    def clearance(self, element: Element) -> float:
        """Returns how near any sample comes to an element."""
        return float(Surroundings([element]).distances(self.ends, self.radii, 10.0).min())

    def furthest(self, normal: Array) -> float:
        """Returns how far the motion reaches along a direction."""
        return float(((self.ends @ normal).max(axis=2) + self.radii).max())

    # ---- Obstacles -------------------------------------------------------------------------------

    def primitive(self) -> tuple[dict[str, Any], dict[str, Any]] | None:
        """Returns shape and pose of an obstacle that is as near as `gap_m` says; None where none fits."""
        rng = self.rng
        kind = str(rng.choice(["sphere", "capsule", "box", "half_space"], p=[0.4, 0.25, 0.2, 0.15]))
        if kind in ("box", "half_space"):
            return self._flat(kind)
        place, away = self.spot()
        centre = place + away * rng.uniform(0.02, 0.2)
        rotation = frame_along(unit(rng))
        length = float(rng.uniform(0.02, 0.4)) if kind == "capsule" else 0.0
        quaternion = rounded(quaternion_of_rotation(rotation), 9)
        size = np.array([0.0, 0.5 * rounded(length, 4), 0.0])
        element = Element("", kind, rotation, np.array(rounded(centre)), size)
        radius = self.clearance(element) - self.margin_m - self.gap_m()
        if not radius > SMALLEST_M:
            return None
        shape = {"shape": kind, "radius_m": rounded(radius, 7)}
        if kind == "capsule":
            shape["length_m"] = rounded(length, 4)
        return shape, {"xyz": rounded(centre), "quat_xyzw": unit_quaternion(quaternion)}

    def _flat(self, kind: str) -> tuple[dict[str, Any], dict[str, Any]]:
        """Returns a half-space, or a box, whose face stands across a direction of the motion."""
        rng = self.rng
        normal = np.eye(3)[rng.integers(3)] * rng.choice([-1.0, 1.0]) if rng.random() < 0.5 else unit(rng)
        rotation = frame_along(-normal)
        height = self.furthest(normal) + self.margin_m + self.gap_m()
        if kind == "half_space":
            pose = {"xyz": (height * normal).tolist()}
            return {"shape": kind}, pose | {"quat_xyzw": quaternion_of_rotation(rotation).tolist()}
        size = rng.uniform(0.05, 0.8, 3)
        nearest, _ = self.spot()
        face = nearest - normal * (nearest @ normal - height)
        xyz = (face + normal * 0.5 * size[2]).tolist()
        pose = {"xyz": xyz, "quat_xyzw": quaternion_of_rotation(rotation).tolist()}
        return {"shape": "box", "size_xyz_m": size.tolist()}, pose

    def points(self, count: int) -> list[list[float]]:
        found = []
        for _ in range(count):
            place, away = self.spot()
            gap = self.gap_m()
            point = np.array(rounded(place + away * (self.margin_m + abs(gap)), 6))
            element = Element("point", "sphere", np.eye(3), point, np.zeros(3))
            clear = self.clearance(element) >= self.margin_m + (0.012 if self.plain else 1e-4)
            if clear or gap < 0.0:
                found.append(point.tolist())
        return found

    def voxels(self) -> dict[str, Any]:
        """Returns a grid around the motion: voxels that it does not come near are solid, unknown or free at random."""
        rng = self.rng
        low = (self.ends.min(axis=2) - self.radii[:, None]).min(axis=(0, 1))
        high = (self.ends.max(axis=2) + self.radii[:, None]).max(axis=(0, 1))
        margin = self.margin_m + np.array([max(self.gap_m(), 1e-4) for _ in range(3)])
        edge = float(rounded(max((high - low).max() / rng.integers(4, 9), 0.02), 4))
        origin = rounded(low - margin - rng.uniform(0.0, edge, 3) * (rng.random() < 0.7), 6)
        size = np.minimum(np.ceil((high + margin - origin) / edge).astype(int) + rng.integers(0, 2), 12)
        numbers = np.stack(np.meshgrid(*(np.arange(n) for n in size), indexing="ij"), axis=-1).reshape(-1, 3)
        cells = [
            Element("voxel", "box", np.eye(3), np.array(origin) + edge * (at + 0.5), np.full(3, 0.5 * edge))
            for at in numbers
        ]
        clearance = (
            Surroundings(cells).distances(self.ends, self.radii, self.margin_m + 0.02).min(axis=(0, 1))
        )
        solid = (clearance > self.margin_m + (0.012 if self.plain else 1e-4)) & (
            rng.random(len(cells)) < rng.uniform(0.05, 0.9)
        )
        if self.strikes and rng.random() < 0.5:
            near = np.nonzero((clearance < self.margin_m) & (clearance > self.margin_m - 0.02))[0]
            if len(near):
                solid[rng.choice(near)] = True
        unknown = "occupied" if rng.random() < 0.8 else "free"
        values = np.where(solid, np.where(rng.random(len(cells)) < 0.5, 1, 255), 0)
        if unknown == "free":
            values = np.where(~solid & (rng.random(len(cells)) < 0.3), 255, np.where(solid, 1, 0))
        grid = values.reshape(tuple(size)).transpose(2, 1, 0)
        outside = "occupied" if rng.random() < 0.6 else "free"
        return {
            "occupancy": grid.tolist(),
            "origin_xyz": origin,
            "resolution_m": edge,
            "unknown": unknown,
            "outside": outside,
        }

    def keep_in(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Returns shape and pose of a zone that the motion just stays inside, or just does not."""
        rng = self.rng
        kind = str(rng.choice(["sphere", "capsule", "box", "half_space"]))
        gap = self.margin_m + self.gap_m()
        middle = self.ends.mean(axis=(0, 1, 2)) + rng.normal(size=3) * 0.05
        if kind == "half_space":
            normal = unit(rng)
            pose = {"xyz": ((self.furthest(normal) + gap) * normal).tolist()}
            return {"shape": kind}, pose | {"quat_xyzw": quaternion_of_rotation(frame_along(normal)).tolist()}
        rotation = frame_along(unit(rng))
        pose = {"xyz": middle.tolist(), "quat_xyzw": quaternion_of_rotation(rotation).tolist()}
        local = (self.ends - middle) @ rotation
        if kind == "box":
            half = (np.abs(local) + self.radii[:, None, None]).max(axis=(0, 1, 2)) + gap
            return {"shape": "box", "size_xyz_m": (2.0 * half).tolist()}, pose
        length = float(rng.uniform(0.05, 0.5)) if kind == "capsule" else 0.0
        shape: dict[str, Any] = {"shape": kind, "length_m": length}
        low, high = axis_ends(shape, np.zeros(3), np.eye(3))
        radius = (point_segment(local, low, high) + self.radii[:, None]).max() + gap
        return {"shape": kind, "radius_m": float(radius), **({"length_m": length} if length else {})}, pose

    def floor_map(self) -> dict[str, Any]:
        """Returns a turned map whose blocked cells and edges are near where the robot goes."""
        rng = self.rng
        yaw, edge = float(rng.uniform(-np.pi, np.pi)), float(rng.choice([0.05, 0.1, 0.2]))
        placed = np.array(
            [[np.cos(yaw), -np.sin(yaw), 0.0], [np.sin(yaw), np.cos(yaw), 0.0], [0.0, 0.0, 1.0]]
        )
        foot = self.case["manifest"].get("footprint_radius") or 0.25
        flat = self.ends[..., :2].reshape(-1, 2) @ placed[:2, :2]
        reach = max(self.radii.max(), foot) + self.margin_m + (0.012 if self.plain else 0.0)
        low = flat.min(axis=0) - reach - rng.uniform(0.0, 0.1, 2)
        high = flat.max(axis=0) + reach + rng.uniform(0.0, 0.1, 2)
        columns, rows = np.minimum(np.ceil((high - low) / edge).astype(int) + 1, 25)
        height = [-0.1, float(rng.choice([0.3, 2.0]))]
        floor: dict[str, Any] = {
            "data": np.zeros((rows, columns), dtype=int).tolist(),
            "resolution_m": edge,
            "origin_xy": rounded(low, 6),
            "origin_yaw": 0.0,
            "map_in_base": np.column_stack([placed, np.zeros(3)]).tolist(),
            "height_m": height,
        }
        blocked = np.full((rows, columns), 100)
        cells = floor_elements({**floor, "data": blocked.tolist()})[: rows * columns]
        clearance = Surroundings(cells).distances(self.ends, self.radii, self.margin_m + 0.1).min(axis=(0, 1))
        base = np.concatenate(
            [sampled(path)[1] for path in self.paths if path.twists is not None] or [np.zeros((1, 3))]
        )
        far = np.array([np.linalg.norm(base[:, :2] - cell.xyz[:2], axis=1).min() for cell in cells])
        spare = 0.012 if self.plain else 0.0
        solid = (clearance > self.margin_m + spare) & (far > foot + self.margin_m + spare + 0.71 * edge)
        solid &= rng.random(len(cells)) < rng.uniform(0.05, 0.7)
        if self.strikes and rng.random() < 0.6:
            solid[int(np.argmin(np.abs(far - foot)))] = True
        values = np.where(solid, rng.choice([100, -1], size=len(cells)), 0)
        floor["data"] = values.reshape(rows, columns).tolist()
        return floor


def sampled(path: Path, per_segment: int = 9) -> tuple[Array, Array | None]:
    segment = np.repeat(np.arange(path.segments), per_segment)
    return path.at(segment, np.tile(np.linspace(0.0, 1.0, per_segment), path.segments))


def frame_along(axis: Array) -> Array:
    """Returns a rotation whose z axis is `axis`."""
    other = np.eye(3)[int(np.argmin(np.abs(axis)))]
    x = np.cross(other, axis)
    x /= np.linalg.norm(x)
    return np.column_stack([x, np.cross(axis, x), axis])


def unit_quaternion(quaternion: Any) -> list[float]:
    values = np.asarray(quaternion, float)
    return (values / np.linalg.norm(values)).tolist()
