# SPDX-License-Identifier: Apache-2.0
"""Proves, on the numbers as written, that a link's volumes contain its shapes.

Shares no code with the fitting: each vertex is taken into the volume's own frame and measured there. A
triangle is proved when its three vertices lie in one volume, because a volume is convex; otherwise it is
halved until every part lies in one. Spheres and capsules are proved by their ends and radii, not by points on
them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lastgate.contracts.shapes import CapsuleShape, LinkCollisionGeometry
from lastgate.tools.lowering.diagnostics import LoweringError
from lastgate.tools.lowering.shapes import LinkShapes

Array = NDArray[np.float64]

# Vertices, frames and distances are below 10 m and pass through fewer than fifty roundings: 1e-13 m bounds the
# error with room, and a volume must contain a vertex by that much to count.
ALLOWANCE_M = 1e-13
# Each halving takes the longest edge; a part this small that lies in no single volume is a hole.
_EDGE_MIN_M = 2e-5
# Parts alive at once; a sound cover of the largest mesh tried needs a hundredth of it.
_PARTS_MAX = 4_000_000


@dataclass(frozen=True)
class Containment:
    """What was proved for one link: all of it, or the worst point that sticks out."""

    link: str
    triangles: int
    parts: int
    outside_m: float
    worst_point: tuple[float, float, float] | None

    @property
    def proved(self) -> bool:
        """True if nothing sticks out."""
        return self.worst_point is None


def prove_containment(shapes: LinkShapes, volumes: Sequence[LinkCollisionGeometry]) -> Containment:
    """Returns the proof for one link, or where it fails."""
    if not volumes:
        first = shapes.triangles.reshape(-1, 3)[0] if len(shapes.triangles) else shapes.round_shapes[0].start
        return Containment(shapes.link, len(shapes.triangles), 0, float("inf"), _point(first))
    for capsule in shapes.round_shapes:
        depth = np.array(
            [_outside(volume, np.array([capsule.start, capsule.end])).max() for volume in volumes]
        )
        out_m = float(depth.min()) + capsule.radius_m
        # A sphere that keeps its own centre and radius has no rounding at all.
        if not out_m <= 0.0:
            return Containment(shapes.link, len(shapes.triangles), 0, out_m, _point(capsule.start))
    return _prove_triangles(shapes, volumes)


def _prove_triangles(shapes: LinkShapes, volumes: Sequence[LinkCollisionGeometry]) -> Containment:
    waiting = shapes.triangles
    parts = len(waiting)
    while len(waiting):
        if len(waiting) > _PARTS_MAX:
            raise LoweringError(f"link `{shapes.link}`: the proof needs more than {_PARTS_MAX} parts at once")
        vertices = waiting.reshape(-1, 3)
        vertex_outside = np.stack([_outside(volume, vertices).reshape(-1, 3) for volume in volumes])
        # A vertex outside every volume ends the search: no halving brings it in.
        nearest = vertex_outside.min(axis=0)
        if not float(nearest.max()) <= -ALLOWANCE_M:
            part, vertex = np.unravel_index(int(nearest.argmax()), nearest.shape)
            worst = waiting[part, vertex]
            return Containment(shapes.link, len(shapes.triangles), parts, float(nearest.max()), _point(worst))
        # Per volume: how far out the farthest vertex of each part is.
        best = vertex_outside.max(axis=2).min(axis=0)
        open_parts = ~(best <= -ALLOWANCE_M)
        waiting, best = waiting[open_parts], best[open_parts]
        if not len(waiting):
            break
        edges = np.linalg.norm(waiting - np.roll(waiting, -1, axis=1), axis=2)
        longest = edges.argmax(axis=1)
        if float(edges.max(axis=1).min()) < _EDGE_MIN_M:
            worst = int(edges.max(axis=1).argmin())
            return Containment(
                shapes.link, len(shapes.triangles), parts, float(best[worst]), _point(waiting[worst, 0])
            )
        waiting = _halved(waiting, longest)
        parts += len(waiting) // 2
    return Containment(shapes.link, len(shapes.triangles), parts, 0.0, None)


def _halved(parts: Array, longest: NDArray[np.int64]) -> Array:
    order = (longest[:, None] + np.arange(3)) % 3
    turned = np.take_along_axis(parts, order[:, :, None], axis=1)
    middle = 0.5 * (turned[:, 0] + turned[:, 1])
    first = np.stack([turned[:, 0], middle, turned[:, 2]], axis=1)
    second = np.stack([middle, turned[:, 1], turned[:, 2]], axis=1)
    return np.concatenate([first, second])


def _outside(volume: LinkCollisionGeometry, points: Array) -> Array:
    """Returns how far each point is outside a volume, negative inside."""
    x, y, z, roll, pitch, yaw = volume.origin_xyz_rpy
    local = points - np.array([x, y, z])
    local = _unturned(local, 0, 1, yaw)
    local = _unturned(local, 2, 0, pitch)
    local = _unturned(local, 1, 2, roll)
    half = 0.5 * volume.shape.length_m if isinstance(volume.shape, CapsuleShape) else 0.0
    beyond = np.maximum(np.abs(local[:, 2]) - half, 0.0)
    return np.sqrt(local[:, 0] ** 2 + local[:, 1] ** 2 + beyond**2) - volume.shape.radius_m


def _unturned(points: Array, first: int, second: int, angle: float) -> Array:
    """Returns points turned back by an angle in the plane of two axes."""
    cosine, sine = math.cos(angle), math.sin(angle)
    turned = points.copy()
    turned[:, first] = cosine * points[:, first] + sine * points[:, second]
    turned[:, second] = cosine * points[:, second] - sine * points[:, first]
    return turned


def _point(point: Array) -> tuple[float, float, float]:
    return float(point[0]), float(point[1]), float(point[2])
