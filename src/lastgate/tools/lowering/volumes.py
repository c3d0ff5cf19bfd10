# SPDX-License-Identifier: Apache-2.0
"""A volume on a link, exactly as its decimals are written in the manifest."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from lastgate.tools.lowering.capsule_fit import Segment, capsule_volume_m3
from lastgate.tools.lowering.distances import points_to_segment
from lastgate.tools.lowering.rigid import rotation_from_rpy

Array = NDArray[np.float64]

# A tenth of a millimetre: finer than any mesh is true to its robot, short enough to read.
DECIMALS = 4
_UNIT = 10**DECIMALS
# Distances here are sums of a few products of numbers below 10 m, wrong by less than 1e-14 m; a hundred times
# that is kept in hand.
FLOAT_ALLOWANCE_M = 1e-12
# A capsule axis shorter than this is written as a sphere: the radius grows by at most half of it.
_SPHERE_BELOW_M = 0.0008


@dataclass(frozen=True)
class Volume:
    """A sphere (length 0) or a capsule on local z, with the numbers the manifest carries."""

    radius_m: float
    length_m: float
    xyz: tuple[float, float, float]
    rpy: tuple[float, float, float]

    @cached_property
    def ends(self) -> tuple[Array, Array]:
        """Both ends of the capsule axis in the link's frame."""
        direction = rotation_from_rpy(*self.rpy)[:, 2]
        centre = np.array(self.xyz)
        return centre - 0.5 * self.length_m * direction, centre + 0.5 * self.length_m * direction

    @cached_property
    def row(self) -> tuple[float, ...]:
        """Both ends and the radius, as the native loops take them."""
        return (*self.ends[0].tolist(), *self.ends[1].tolist(), self.radius_m)

    @property
    def volume_m3(self) -> float:
        """Volume."""
        return capsule_volume_m3(radius_m=self.radius_m, length_m=self.length_m)


def round_up(value: float) -> float:
    """Returns the least written decimal that is not below the value."""
    units = math.ceil(value * _UNIT - 1e-7)
    while units / _UNIT < value:
        units += 1
    return units / _UNIT


def round_to_written(value: float) -> float:
    """Returns the nearest written decimal, never minus zero.

    Meshes drawn in millimetres put many values halfway between two decimals, where the last bit would decide; the
    point of decision lies a little beside them.
    """
    return math.floor(value * _UNIT + 0.5 + 1e-6) / _UNIT + 0.0


def volume_containing(points: Array, capsule: Segment, *, sphere_radius_m: float = 0.0) -> Volume:
    """Returns the written volume near a fitted capsule that contains every point, or every sphere around one.

    The core is rounded first; the radius is then what the rounded capsule needs, rounded upwards.
    """
    along = capsule.end - capsule.start
    length_m = float(np.linalg.norm(along))
    centre = 0.5 * (capsule.start + capsule.end)
    xyz = tuple(round_to_written(float(c)) for c in centre)
    rpy = (0.0, 0.0, 0.0)
    if length_m < _SPHERE_BELOW_M:
        length_m = 0.0
    else:
        direction = along / length_m
        # A capsule has no front: the half of the sphere with z >= 0 is enough to name its axis.
        if direction[2] < 0.0:
            direction = -direction
        pitch = math.atan2(math.hypot(float(direction[0]), float(direction[1])), float(direction[2]))
        yaw = math.atan2(float(direction[1]), float(direction[0])) if pitch > 1e-9 else 0.0
        rpy = (0.0, round_to_written(pitch), round_to_written(yaw))
        length_m = round_to_written(length_m)
    unsized = Volume(0.0, length_m, (xyz[0], xyz[1], xyz[2]), rpy)
    needed_m = float(points_to_segment(points, *unsized.ends).max())
    if needed_m > 0.0:
        needed_m += 2.0 * FLOAT_ALLOWANCE_M
    radius_m = max(round_up(needed_m + sphere_radius_m), 1.0 / _UNIT)
    return Volume(radius_m, length_m, unsized.xyz, rpy)
