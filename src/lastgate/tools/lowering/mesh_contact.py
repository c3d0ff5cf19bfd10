# SPDX-License-Identifier: Apache-2.0
"""Whether, and how far apart, the collision shapes of two links are: meshes as they are, by Coal."""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import ConvexHull, QhullError

from lastgate.contracts.extras import install_command
from lastgate.tools.lowering.diagnostics import LoweringError
from lastgate.tools.lowering.shapes import LinkShapes
from lastgate.tools.lowering.triangles import distinct

Array = NDArray[np.float64]

# Hulls that are farther apart than this are taken for apart: a hundred times what Coal's answers are off by.
_HULLS_APART_M = 1e-4


def load_coal() -> Any:
    """Imports Coal; without it no claim about meshes can be made, so lowering of pairs refuses."""
    try:
        import coal
    except ImportError as error:
        raise LoweringError(
            "allowed pairs are verified on the meshes and that needs Coal\n\n"
            f"hint: {install_command('lowering')}"
        ) from error
    return coal


# Below this, in square metres, a triangle is a line as far as double precision can tell. Coal says that a sphere as far
# as 37 mm from one penetrates it by its whole radius; the triangles beside it have the same line as an edge.
LINE_AREA_M2 = 1.0e-14


def mesh_shape(triangles: Array) -> Any:
    """Returns triangles (n, 3, 3) in Coal's form, each with vertices of its own: Coal checks them one by one."""
    spread = np.cross(triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0])
    solid = triangles[np.linalg.norm(spread, axis=1) > 2.0 * LINE_AREA_M2]
    triangles = solid if len(solid) else triangles
    vertices = triangles.reshape(-1, 3)
    shape = load_coal().BVHModelOBBRSS()
    shape.beginModel(len(triangles), len(vertices))
    shape.addVertices(vertices)
    shape.addTriangles(np.arange(len(vertices)).reshape(-1, 3))
    shape.endModel()
    return shape


class _Mesh:
    """A set of triangles, and the hull around them once it is asked for."""

    def __init__(self, coal: Any, vertices: Array) -> None:
        self._coal = coal
        self._vertices = vertices
        self.shape = mesh_shape(vertices.reshape(-1, 3, 3))

    @cached_property
    def hull(self) -> Any:
        """A convex shape that contains every triangle; the triangles themselves where they are flat."""
        coal = self._coal
        points = distinct(self._vertices)
        try:
            hull = ConvexHull(points)
        except (QhullError, ValueError):
            return self.shape
        vertices, faces = coal.StdVec_Vec3s(), coal.StdVec_Triangle()
        for vertex in points[hull.vertices]:
            vertices.append(vertex)
        # `vertices` is sorted, so the place of a vertex in it is its number in the hull.
        for face in np.searchsorted(hull.vertices, hull.simplices).tolist():
            faces.append(coal.Triangle(*face))
        return coal.Convex(vertices, faces)


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
            parts.append((_Mesh(coal, np.concatenate(soups).reshape(-1, 3)), np.eye(4)))
        return parts

    def touch(self, link_a: str, pose_a: Array, link_b: str, pose_b: Array) -> bool:
        """Returns whether any two shapes of the links meet."""
        for part_a, place_a in self._parts[link_a]:
            at_a = self._place(pose_a @ place_a)
            for part_b, place_b in self._parts[link_b]:
                at_b = self._place(pose_b @ place_b)
                if isinstance(part_a, _Mesh) or isinstance(part_b, _Mesh):
                    # Most that are asked about are apart by their hulls, which is a hundredth of the work.
                    hulls = _hull(part_a), at_a, _hull(part_b), at_b
                    if not self._collide(*hulls, within_m=_HULLS_APART_M):
                        continue
                if self._collide(_shape(part_a), at_a, _shape(part_b), at_b):
                    return True
        return False

    def _collide(self, shape_a: Any, at_a: Any, shape_b: Any, at_b: Any, *, within_m: float = 0.0) -> bool:
        request, result = self._coal.CollisionRequest(), self._coal.CollisionResult()
        request.security_margin = within_m
        return bool(self._coal.collide(shape_a, at_a, shape_b, at_b, request, result))

    def distance_m(
        self, link_a: str, pose_a: Array, link_b: str, pose_b: Array, *, at_most_m: float
    ) -> float:
        """Returns the least distance between the shapes of two links, not above 0 where they meet.

        Whatever is not below the bound is returned as the bound: larger distances decide nothing. Not a
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
                at_b = self._place(pose_b @ place_b)
                found = coal.distance(_shape(part_a), at_a, _shape(part_b), at_b, request, result)
                if math.isnan(found):
                    return found
                least = min(least, found)
        return least

    def _place(self, pose: Array) -> Any:
        return self._coal.Transform3s(np.ascontiguousarray(pose[:3, :3]), np.ascontiguousarray(pose[:3, 3]))


def _shape(part: Any) -> Any:
    return part.shape if isinstance(part, _Mesh) else part


def _hull(part: Any) -> Any:
    return part.hull if isinstance(part, _Mesh) else part
