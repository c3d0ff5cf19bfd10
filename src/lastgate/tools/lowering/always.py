# SPDX-License-Identifier: Apache-2.0
"""Proves that two links which one joint moves against each other touch at every position of it."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import trimesh
from numpy.typing import NDArray

from lastgate.tools.lowering.distances import points_to_segment
from lastgate.tools.lowering.kinematics import KinematicTree, TreeJoint, joint_motion
from lastgate.tools.lowering.rigid import apply, inverse
from lastgate.tools.lowering.shapes import LinkShapes, SourceShape
from lastgate.tools.lowering.surface_points import first_in_voxels
from lastgate.tools.lowering.triangles import winding_number

Array = NDArray[np.float64]

# Points of a mesh that are looked for inside the other link, spread over all of it; each costs a winding number.
_POINTS_MAX = 200
# A closed surface goes round a point inside it a whole number of times; one that leaks by more is not trusted.
_WINDING_TOLERANCE = 1e-3
# As for proofs of distance: what is not deeper than this is not counted.
_DEPTH_ALLOWANCE_M = 1e-6


@dataclass(frozen=True)
class _Side:
    """One link: its shapes and points of them, in the frame of the joint on its side, and the points' lever arms."""

    sources: tuple[SourceShape, ...]
    points: Array
    reach_m: Array


def prove_always(
    tree: KinematicTree,
    shapes: dict[str, LinkShapes],
    link_a: str,
    link_b: str,
    *,
    evaluations_max: int,
) -> bool:
    """Tries to cover the range of the one moving joint between two links by intervals in which they touch.

    A point of one link that lies deeper inside a shape of the other than it moves while the joint goes through an
    interval stays inside it. Anything but one moving joint between the links, and every unresolved case, is no proof.
    """
    down_a, down_b = tree.between(link_a, link_b)
    moving = [joint for joint in (*down_a, *down_b) if joint.is_moving]
    if len(moving) != 1:
        return False
    joint = moving[0]
    above, below = (link_b, link_a) if joint in down_a else (link_a, link_b)
    placed = {link: pose[0] for link, pose in tree.placements(np.zeros((1, tree.column_count))).items()}
    upper = _side(shapes[above], inverse(joint.origin) @ inverse(placed[joint.parent]) @ placed[above], joint)
    lower = _side(shapes[below], inverse(placed[joint.child]) @ placed[below], joint)
    turns_once = joint.joint_type != "prismatic"
    end = min(joint.upper, joint.lower + 2.0 * math.pi) if turns_once else joint.upper
    open_intervals = [(joint.lower, end)]
    for _ in range(evaluations_max):
        if not open_intervals:
            return True
        low, high = open_intervals.pop()
        middle, half = 0.5 * (low + high), 0.5 * (high - low)
        motion = joint_motion(joint, np.array([middle]))[0]
        if _stays_inside(lower, upper, motion, half) or _stays_inside(upper, lower, inverse(motion), half):
            continue
        open_intervals += [(low, middle), (middle, high)]
    return not open_intervals


def _side(shapes: LinkShapes, pose: Array, joint: TreeJoint) -> _Side:
    sources = tuple(source.moved(pose) for source in shapes.sources)
    points = np.concatenate([_points(source) for source in sources])
    across = points - (points @ joint.axis)[:, None] * joint.axis
    prismatic = joint.joint_type == "prismatic"
    return _Side(sources, points, np.ones(len(points)) if prismatic else np.linalg.norm(across, axis=1))


def _points(source: SourceShape) -> Array:
    """Returns points that belong to a shape: its middle, or vertices of a mesh."""
    if source.kind != "mesh":
        return source.origin[:3, 3][None]
    return first_in_voxels(source.triangles_in_link().reshape(-1, 3), points_max=_POINTS_MAX)


def _stays_inside(inner: _Side, outer: _Side, motion: Array, half: float) -> bool:
    """Returns whether some point of one side lies deeper in a shape of the other than half an interval moves it."""
    points = apply(motion, inner.points)
    for source in outer.sources:
        spare = _depths_m(source, points) - half * inner.reach_m - _DEPTH_ALLOWANCE_M
        if bool((spare > 0.0).any()):
            return True
    return False


def _depths_m(source: SourceShape, points: Array) -> Array:
    """Returns a lower bound of how deep points lie inside a shape, not above zero outside."""
    capsule = source.round_in_link()
    if capsule is not None:
        return capsule.radius_m - points_to_segment(points, capsule.start, capsule.end)
    local = apply(inverse(source.origin), points)
    if source.kind == "box":
        return (0.5 * np.array(source.size) - np.abs(local)).min(axis=1)
    if source.kind == "cylinder":
        radius_m, length_m = source.size
        return np.minimum(radius_m - np.hypot(local[:, 0], local[:, 1]), 0.5 * length_m - np.abs(local[:, 2]))
    if source.kind != "mesh":
        return np.full(len(points), -math.inf)
    soup = source.triangles
    depths = np.full(len(points), -math.inf)
    in_box = ((soup.min(axis=(0, 1)) < local) & (local < soup.max(axis=(0, 1)))).all(axis=1)
    for index in np.flatnonzero(in_box):
        turns = winding_number(local[index], soup)
        if turns > 0.5 and abs(turns - round(turns)) <= _WINDING_TOLERANCE:
            nearest = trimesh.triangles.closest_point(soup, np.tile(local[index], (len(soup), 1)))
            depths[index] = float(np.linalg.norm(nearest - local[index], axis=1).min())
    return depths
