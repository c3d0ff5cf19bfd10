# SPDX-License-Identifier: Apache-2.0
"""The collision geometry of one link, in the link's own frame, ready to be fitted."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from lastgate.tools.lowering.capsule_fit import Segment
from lastgate.tools.lowering.rigid import apply
from lastgate.tools.lowering.triangles import (
    PRISM_SIDES,
    box_triangles,
    cylinder_triangles,
    ellipsoid_triangles,
)

Array = NDArray[np.float64]

_NO_TRIANGLES: Array = np.empty((0, 3, 3))


@dataclass(frozen=True)
class SourceShape:
    """One shape of a description: `kind` says which sizes count, `origin` is its pose in the link."""

    kind: str  # box, cylinder, sphere, capsule, ellipsoid or mesh
    origin: Array
    size: tuple[float, ...] = ()
    triangles: Array = field(default_factory=lambda: _NO_TRIANGLES)
    source: str = ""

    def triangles_in_link(self, *, prism_sides: int = PRISM_SIDES) -> Array:
        """Returns triangles that contain the shape's surface; none for spheres and capsules."""
        if self.kind == "mesh":
            local = self.triangles
        elif self.kind == "box":
            local = box_triangles(np.array(self.size))
        elif self.kind == "cylinder":
            local = cylinder_triangles(self.size[0], self.size[1], prism_sides)
        elif self.kind == "ellipsoid":
            local = ellipsoid_triangles(np.array(self.size))
        else:
            return _NO_TRIANGLES
        return apply(self.origin, local)

    def round_in_link(self) -> Segment | None:
        """Returns a sphere or capsule as an exact capsule, None for everything else."""
        if self.kind == "sphere":
            centre = self.origin[:3, 3].copy()
            return Segment(centre, centre.copy(), self.size[0])
        if self.kind == "capsule":
            half = 0.5 * self.size[1] * self.origin[:3, 2]
            return Segment(self.origin[:3, 3] - half, self.origin[:3, 3] + half, self.size[0])
        return None

    def moved(self, link_in_new_link: Array) -> SourceShape:
        """Returns the same shape expressed in another link it is rigidly attached to."""
        return SourceShape(self.kind, link_in_new_link @ self.origin, self.size, self.triangles, self.source)


@dataclass(frozen=True)
class LinkShapes:
    """Everything a link's volumes must contain: triangles, and round shapes taken over exactly."""

    link: str
    sources: tuple[SourceShape, ...]
    triangles: Array
    round_shapes: tuple[Segment, ...]

    @staticmethod
    def of(link: str, sources: list[SourceShape]) -> LinkShapes:
        """Returns the shapes of one link, expressed in its frame."""
        soups = [source.triangles_in_link() for source in sources]
        filled = [soup for soup in soups if len(soup)]
        rounds = [source.round_in_link() for source in sources]
        return LinkShapes(
            link,
            tuple(sources),
            np.concatenate(filled) if filled else _NO_TRIANGLES,
            tuple(capsule for capsule in rounds if capsule is not None),
        )
