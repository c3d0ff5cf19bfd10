# SPDX-License-Identifier: Apache-2.0
"""Attached shapes as the core reads them: a sphere or capsule, or a solid with the capsule that contains it."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from lastgate import _core
from lastgate.contracts import BoxShape, CapsuleShape, CylinderShape, HullShape, SphereShape
from lastgate.contracts.arrays import Float64
from lastgate.contracts.shapes import AttachableShape
from lastgate.robots.kernel_config import capsule_ends

Solid = tuple[list[float], float, Float64]


@dataclass(frozen=True, slots=True, eq=False)
class NativeShape:
    """One attached shape in numbers.

    Attributes:
        radius_m, ends_m: The sphere or capsule in the frame of the link; of a solid, one that contains it.
        solid: The frame (x y z, roll pitch yaw), the radius of the disc around every vertex, and the vertices; None for
            a sphere or capsule.
    """

    radius_m: float
    ends_m: Float64
    solid: Solid | None


def native_shape(shape: AttachableShape, origin_xyz_rpy: Sequence[float]) -> NativeShape:
    """Returns the numbers of a shape at a pose on its link."""
    if isinstance(shape, SphereShape | CapsuleShape):
        return NativeShape(shape.radius_m, np.array(capsule_ends(shape, origin_xyz_rpy)), None)
    disc_m, vertices = _vertices(shape)
    solid = ([float(number) for number in origin_xyz_rpy], disc_m, vertices)
    radius_m, ends_m = _core.attached_cover(solid)
    return NativeShape(radius_m, np.array(ends_m), solid)


def _vertices(shape: BoxShape | CylinderShape | HullShape) -> tuple[float, Float64]:
    match shape:
        case BoxShape():
            half = 0.5 * np.array(shape.size_xyz_m)
            signs = np.array([[x, y, z] for z in (-1, 1) for y in (-1, 1) for x in (-1, 1)], dtype=np.float64)
            return 0.0, np.ascontiguousarray(signs * half)
        case CylinderShape():
            half_m = 0.5 * shape.length_m
            return shape.radius_m, np.array([[0.0, 0.0, -half_m], [0.0, 0.0, half_m]])
        case HullShape():
            return 0.0, np.array(shape.vertices_m, dtype=np.float64)


def inner_capsules(shape: AttachableShape) -> list[tuple[float, Float64]]:
    """Returns capsules inside a shape, as radius and (2, 3) ends in its own frame.

    What takes points out of sensor data must never take more than the shape: edges of a box, and all of a hull, stay.
    """
    match shape:
        case SphereShape():
            return [(shape.radius_m, np.zeros((2, 3)))]
        case CapsuleShape():
            half_m = 0.5 * shape.length_m
            return [(shape.radius_m, np.array([[0.0, 0.0, -half_m], [0.0, 0.0, half_m]]))]
        case CylinderShape():
            half_m = 0.5 * shape.length_m
            radius_m = min(shape.radius_m, half_m)
            rest_m = half_m - radius_m
            aside = _steps(shape.radius_m - radius_m, radius_m)
            middles = [(x, y) for x in aside for y in aside if np.hypot(x, y) <= shape.radius_m - radius_m]
            return [(radius_m, np.array([[x, y, -rest_m], [x, y, rest_m]])) for x, y in middles]
        case BoxShape():
            half = 0.5 * np.array(shape.size_xyz_m)
            order = np.argsort(half)
            radius_m = float(half[order[0]])
            found = []
            for at in _steps(float(half[order[1]]) - radius_m, radius_m):
                ends = np.zeros((2, 3))
                ends[:, order[1]] = at
                ends[:, order[2]] = [radius_m - half[order[2]], half[order[2]] - radius_m]
                found.append((radius_m, ends))
            return found
        case HullShape():
            return []


def _steps(reach_m: float, radius_m: float) -> list[float]:
    """Returns places from one side to the other, no farther apart than a radius where two dozen are enough."""
    count = min(1 + int(np.ceil(2.0 * reach_m / radius_m)), 24) if reach_m > 0.0 else 1
    return np.linspace(-reach_m, reach_m, count).tolist() if count > 1 else [0.0]
