# SPDX-License-Identifier: Apache-2.0
"""Whether two sets of triangles are the same surface, and if not, how they differ."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

Array = NDArray[np.float64]

# Readers that keep single precision are off by 6e-8 of a coordinate; node transforms add a few of those.
_SAME_RELATIVE = 1e-6
# A polygon that is not flat has another area when it is cut along another diagonal; vertices that are joined wrongly
# change the area of a link by far more.
_SAME_AREA = 0.01


@dataclass(frozen=True)
class Difference:
    """How two readings of one mesh differ.

    Attributes:
        first, second: How many triangles each reading has.
        misplaced: How many triangles of either reading have no counterpart in the other.
        displacement_m: How far the farthest of them lies from the nearest triangle of the other, infinite where
            the other has none.
    """

    first: int
    second: int
    misplaced: int
    displacement_m: float

    def __str__(self) -> str:
        if not self.first or not self.second:
            return f"{self.first} triangles against {self.second}"
        return (
            f"{self.first} triangles against {self.second}, {self.misplaced} of them without counterpart, "
            f"up to {1000.0 * self.displacement_m:.3f} mm away"
        )


def compare(first: Array, second: Array, *, cut_alike: bool = True) -> Difference | None:
    """Returns how two readings differ, None where they are the same triangles in any order.

    Readers that are not `cut_alike` may cut polygons along other diagonals: vertices and areas are compared then.
    """
    if first.shape == second.shape and np.array_equal(first, second):
        return None
    if not len(first) or not len(second) or not np.isfinite(second).all():
        return Difference(len(first), len(second), len(first) + len(second), float("inf"))
    same_m = _SAME_RELATIVE * float(max(np.abs(first).max(), np.abs(second).max()))
    if first.shape == second.shape and float(np.abs(first - second).max()) <= same_m:
        return None
    marks_a, marks_b = _marks(first), _marks(second)
    away_a, away_b = _away(marks_a, marks_b), _away(marks_b, marks_a)
    misplaced = int((away_a > same_m).sum() + (away_b > same_m).sum())
    if len(first) == len(second) and not misplaced:
        return None
    if not cut_alike and len(first) == len(second) and _same_vertices_and_area(first, second, same_m):
        return None
    return Difference(len(first), len(second), misplaced, float(max(away_a.max(), away_b.max())))


def _marks(triangles: Array) -> Array:
    """Returns nine numbers per triangle that do not depend on which vertex comes first."""
    return np.concatenate([triangles.min(axis=1), triangles.mean(axis=1), triangles.max(axis=1)], axis=1)


def _away(marks: Array, others: Array) -> Array:
    found, _ = cKDTree(others).query(marks, p=np.inf)
    return np.asarray(found, dtype=np.float64)


def _same_vertices_and_area(first: Array, second: Array, same_m: float) -> bool:
    vertices_a, vertices_b = first.reshape(-1, 3), second.reshape(-1, 3)
    if max(_away(vertices_a, vertices_b).max(), _away(vertices_b, vertices_a).max()) > same_m:
        return False
    area_a, area_b = _area(first), _area(second)
    return abs(area_a - area_b) <= _SAME_AREA * max(area_a, area_b)


def _area(triangles: Array) -> float:
    across = np.cross(triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0])
    return 0.5 * float(np.linalg.norm(across, axis=1).sum())
