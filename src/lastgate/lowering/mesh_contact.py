# SPDX-License-Identifier: Apache-2.0
"""Whether, and how far apart, the collision shapes of two links are: meshes as they are, by Coal."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lastgate.lowering.diagnostics import LoweringError
from lastgate.lowering.shapes import LinkShapes

Array = NDArray[np.float64]


def load_coal() -> Any:
    """Imports Coal; without it no claim about meshes can be made, so lowering of pairs refuses."""
    try:
        import coal
    except ImportError as error:
        raise LoweringError(
            "allowed pairs are verified on the meshes and that needs Coal\n\n"
            "hint: pip install 'lastgate[oracles]'"
        ) from error
    return coal


class LinkMeshes:
    """The collision shapes of every link in Coal's own form."""

    def __init__(self, shapes: dict[str, LinkShapes]) -> None:
        self._coal = load_coal()
        self._parts = {link: self._build(link_shapes) for link, link_shapes in shapes.items()}

    def _build(self, shapes: LinkShapes) -> list[tuple[Any, Array]]:
        coal = self._coal
        parts: list[tuple[Any, Array]] = []
        soups: list[Array] = []
        for source in shapes.sources:
            if source.kind == "box":
                parts.append((coal.Box(*source.size), source.origin))
            elif source.kind == "sphere":
                parts.append((coal.Sphere(source.size[0]), source.origin))
            elif source.kind == "cylinder":
                parts.append((coal.Cylinder(*source.size), source.origin))
            elif source.kind == "capsule":
                parts.append((coal.Capsule(*source.size), source.origin))
            elif source.kind == "ellipsoid":
                parts.append((coal.Ellipsoid(*source.size), source.origin))
            else:
                soups.append(source.triangles_in_link())
        if soups:
            # Each triangle brings its own corners: Coal looks at triangles one by one.
            corners = np.concatenate(soups).reshape(-1, 3)
            model = coal.BVHModelOBBRSS()
            model.beginModel(len(corners) // 3, len(corners))
            model.addVertices(corners)
            model.addTriangles(np.arange(len(corners)).reshape(-1, 3))
            model.endModel()
            parts.append((model, np.eye(4)))
        return parts

    def touch(self, link_a: str, pose_a: Array, link_b: str, pose_b: Array) -> bool:
        """Returns whether any two shapes of the links meet."""
        coal = self._coal
        request = coal.CollisionRequest()
        for part_a, place_a in self._parts[link_a]:
            at_a = self._place(pose_a @ place_a)
            for part_b, place_b in self._parts[link_b]:
                result = coal.CollisionResult()
                if coal.collide(part_a, at_a, part_b, self._place(pose_b @ place_b), request, result):
                    return True
        return False

    def distance_m(
        self, link_a: str, pose_a: Array, link_b: str, pose_b: Array, *, at_most_m: float
    ) -> float:
        """Returns the least distance between the shapes of two links, not above 0 where they meet.

        Whatever is not below the bound is returned as the bound: nobody asks how far away what is far away is. Not a
        number where Coal finds none, which is no distance.
        """
        coal = self._coal
        request = coal.DistanceRequest()
        least = at_most_m
        for part_a, place_a in self._parts[link_a]:
            at_a = self._place(pose_a @ place_a)
            for part_b, place_b in self._parts[link_b]:
                result = coal.DistanceResult()
                # Coal looks for less than what the result already holds.
                result.min_distance = least
                found = coal.distance(part_a, at_a, part_b, self._place(pose_b @ place_b), request, result)
                if math.isnan(found):
                    return found
                least = min(least, found)
        return least

    def _place(self, pose: Array) -> Any:
        return self._coal.Transform3s(np.ascontiguousarray(pose[:3, :3]), np.ascontiguousarray(pose[:3, 3]))
