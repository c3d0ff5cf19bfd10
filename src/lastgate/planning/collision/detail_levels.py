# SPDX-License-Identifier: Apache-2.0
"""How closely a pair is checked, by how near it seems."""

import math
from dataclasses import dataclass
from enum import IntEnum
from typing import Self

from lastgate.contracts import ROSConfigError


class DetailLevel(IntEnum):
    """Geometry that a link counts as; each level lies within the one before it."""

    SPHERES = 0
    CONVEX = 1
    MESH = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class DetailLevels:
    """Distances at which the detail changes: a pair nearer than one of them plus the safety margin is refined.

    Attributes:
        convex_within_m: 0 never climbs to the convex hulls, infinity always does.
        mesh_within_m: The same for the meshes.
    """

    convex_within_m: float = 0.10
    mesh_within_m: float = 0.02
    safety_margin_m: float = 0.02

    def __post_init__(self) -> None:
        for name in ("convex_within_m", "mesh_within_m", "safety_margin_m"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | float) or not value >= 0.0:
                raise ROSConfigError(f"{name} must be a number that is not negative, got {value!r}")
        if not math.isfinite(self.safety_margin_m):
            raise ROSConfigError("safety_margin_m must be finite")

    @classmethod
    def exploration(cls) -> Self:
        """Returns the ladder of one rung: spheres decide."""
        return cls(convex_within_m=0.0, mesh_within_m=0.0)

    @classmethod
    def validation(cls) -> Self:
        """Returns the ladder that always climbs to the top."""
        return cls(convex_within_m=math.inf, mesh_within_m=math.inf, safety_margin_m=0.0)

    @classmethod
    def forced(cls, level: DetailLevel) -> Self:
        """Returns the ladder that always climbs to one level and no farther."""
        return cls(
            convex_within_m=math.inf if level >= DetailLevel.CONVEX else 0.0,
            mesh_within_m=math.inf if level >= DetailLevel.MESH else 0.0,
        )

    def select(self, distance_m: float) -> DetailLevel:
        """Returns the level for a pair whose spheres are this far apart; what is no number gets the finest query."""
        if self.mesh_within_m > 0.0 and not distance_m >= self.mesh_within_m + self.safety_margin_m:
            return DetailLevel.MESH
        if self.convex_within_m > 0.0 and not distance_m >= self.convex_within_m + self.safety_margin_m:
            return DetailLevel.CONVEX
        return DetailLevel.SPHERES
