# SPDX-License-Identifier: Apache-2.0
"""The capsule of least volume that contains a set of points."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from lastgate.planning import _fitting
from lastgate.tools.lowering.distances import points_to_segment
from lastgate.tools.lowering.extent import extent
from lastgate.tools.lowering.ties import without_noise

Array = NDArray[np.float64]
# Value and gradient for a capsule given as a row of start, end and radius.
Objective = Callable[[Array], tuple[float, Array]]

# The descent runs on these many of the best starts: on the collision meshes tried, all of them reach the same
# volume to three digits, so the second is insurance and a third would only cost time.
_STARTS_KEPT = 2
# Added under square roots so that the gradient exists when a segment shrinks to a point.
_SMOOTHING = 1e-18
# Axes this near to each other are the same: two degrees.
_ALIGNED_COSINE = 0.9994
# SLSQP's work grows with the square of the constraints; only the vertices that can touch are kept.
_VERTICES_MAX = 160


@dataclass(frozen=True)
class Segment:
    """A capsule: the two ends of its axis and the radius around them, in metres."""

    start: Array
    end: Array
    radius_m: float

    @property
    def row(self) -> Array:
        """Start, end and radius in one row, as the native loops take them."""
        return np.array([*self.start, *self.end, self.radius_m])

    @property
    def length_m(self) -> float:
        """Length of the cylindrical part."""
        along = self.end - self.start
        return math.sqrt(float(along @ along))

    @property
    def volume_m3(self) -> float:
        """Volume of the capsule."""
        return capsule_volume_m3(radius_m=self.radius_m, length_m=self.length_m)


def capsule_volume_m3(*, radius_m: float, length_m: float) -> float:
    """Returns the volume of a capsule."""
    return math.pi * radius_m * radius_m * (length_m + 4.0 / 3.0 * radius_m)


def fit_capsule(points: Array, *, starts_kept: int = _STARTS_KEPT) -> Segment:
    """Returns the capsule of least volume found by constrained descent from several axes.

    The result contains every point up to floating-point error; callers round outwards and prove. An empty or
    non-finite set raises ValueError.
    """
    if points.ndim != 2 or points.shape[0] == 0 or not np.isfinite(points).all():
        raise ValueError("a capsule needs at least one point, all coordinates finite")
    starts = sorted(capsules_along(points, _start_axes(points)), key=lambda s: without_noise(s.volume_m3))
    best = starts[0]
    for start in starts[:starts_kept]:
        scale_m3 = max(start.volume_m3, 1e-15)
        candidate = descend(points, start, lambda row, scale_m3=scale_m3: volume_objective(row, scale_m3))
        if without_noise(candidate.volume_m3) < without_noise(best.volume_m3):
            best = candidate
    return best


def principal_axes(points: Array) -> Array:
    """Returns the three principal axes, longest first."""
    centred = points - points.mean(axis=0)
    _, principal = np.linalg.eigh(centred.T @ centred)
    # A fixed sign keeps the result independent of the eigen-solver's choice.
    return np.array(
        [axis * (1.0 if axis[np.abs(axis).argmax()] > 0.0 else -1.0) for axis in principal.T[::-1]]
    )


def frames_of(points: Array) -> list[Array]:
    """Returns the axes of the frame points are given in, and their principal axes where those differ."""
    own = principal_axes(points)
    return [np.eye(3)] if np.abs(own).max(axis=1).min() > _ALIGNED_COSINE else [np.eye(3), own]


def _start_axes(points: Array) -> Array:
    """Returns the principal axes and the 13 directions of the cube's faces, edges and vertices."""
    axes = list(principal_axes(points))
    axes += [
        np.array([x, y, z]) / math.sqrt(x * x + y * y + z * z)
        for x in (0, 1)
        for y in (-1, 0, 1)
        for z in (-1, 0, 1)
        if (x, y, z) > (0, 0, 0)
    ]
    return np.array(axes)


def capsules_along(points: Array, axes: Array) -> list[Segment]:
    """Returns per axis a containing capsule whose own axis is parallel to it."""
    rows = _fitting.capsules_along(np.ascontiguousarray(points), np.ascontiguousarray(axes))
    return [Segment(row[:3], row[3:6], float(row[6])) for row in rows]


def cheap_capsule(points: Array) -> Segment:
    """Returns the best containing capsule along the principal axes, without a descent."""
    return min(
        capsules_along(points, principal_axes(points)), key=lambda capsule: without_noise(capsule.volume_m3)
    )


def capsule_around(points: Array, start: Array, end: Array) -> Segment:
    """Returns the capsule with the given axis that just contains every point."""
    return Segment(start, end, float(points_to_segment(points, start, end).max()))


def descend(
    points: Array, start: Segment, objective: Objective, *, steps_max: int = 60, accuracy: float = 1e-9
) -> Segment:
    """Returns a local optimum of an objective: ends and radius are free, every vertex is a constraint.

    The descent ends where a step changes the objective by less than the accuracy.
    """
    size_m = max(float(extent(points).max()), 1e-4)
    active = _vertices_that_can_touch(points, start) / size_m

    def scaled_objective(z: Array) -> tuple[float, Array]:
        value, gradient = objective(z * size_m)
        return value, gradient * size_m

    # A gradient is asked for where the value was asked for last.
    last: list[tuple[bytes, Array, Array, Array]] = []

    def offsets(z: Array) -> tuple[Array, Array, Array]:
        asked = z.tobytes()
        if not last or last[0][0] != asked:
            along = z[3:6] - z[:3]
            from_start = active - z[:3]
            fraction = np.clip(from_start @ along / max(float(along @ along), _SMOOTHING), 0.0, 1.0)
            rest = from_start - fraction[:, None] * along
            distance = np.sqrt(np.einsum("ij,ij->i", rest, rest) + _SMOOTHING)
            last[:] = [(asked, rest, fraction, distance)]
        return last[0][1:]

    def slack(z: Array) -> Array:
        return z[6] - offsets(z)[2]

    def slack_gradient(z: Array) -> Array:
        rest, fraction, distance = offsets(z)
        unit = rest / distance[:, None]
        return np.hstack(
            [unit * (1.0 - fraction)[:, None], unit * fraction[:, None], np.ones((len(unit), 1))]
        )

    result = minimize(
        scaled_objective,
        start.row / size_m,
        jac=True,
        method="SLSQP",
        constraints=[{"type": "ineq", "fun": slack, "jac": slack_gradient}],
        options={"maxiter": steps_max, "ftol": accuracy},
    )
    ends = np.asarray(result.x, dtype=np.float64) * size_m
    if not np.isfinite(ends).all():
        return start
    return capsule_around(points, ends[:3], ends[3:6])


def volume_objective(row: Array, scale_m3: float) -> tuple[float, Array]:
    """Returns a capsule's volume as a multiple of another, and its gradient."""
    along = row[3:6] - row[:3]
    length = math.sqrt(float(along @ along) + _SMOOTHING)
    radius = float(row[6])
    gradient = np.empty(7)
    gradient[3:6] = radius * radius * along / length
    gradient[:3] = -gradient[3:6]
    gradient[6] = 2.0 * radius * length + 4.0 * radius * radius
    factor = math.pi / scale_m3
    return factor * radius * radius * (length + 4.0 / 3.0 * radius), factor * gradient


def _vertices_that_can_touch(points: Array, start: Segment) -> Array:
    if len(points) <= _VERTICES_MAX:
        return points
    distance = points_to_segment(points, start.start, start.end)
    # The farthest points of the start, and the extreme ones in evenly spread directions: both sets touch the
    # optimum. A point missed here costs volume, never containment: the radius is taken over all points.
    farthest = np.argsort(-distance, kind="stable")[: _VERTICES_MAX // 2]
    golden = math.pi * (3.0 - math.sqrt(5.0))
    index = np.arange(_VERTICES_MAX // 2)
    z = 1.0 - (2.0 * index + 1.0) / len(index)
    ring = np.sqrt(1.0 - z * z)
    spread = np.stack([ring * np.cos(golden * index), ring * np.sin(golden * index), z], axis=1)
    extreme = (points @ spread.T).argmax(axis=0)
    return points[np.unique(np.concatenate([farthest, extreme]))]
