# SPDX-License-Identifier: Apache-2.0
"""The last rung: the meshes as they are, measured by Coal. A surface has no inside, so winding numbers find what lies
within one, part by part."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from lastgate.contracts import (
    BoxShape,
    CapsuleShape,
    CylinderShape,
    HalfSpaceShape,
    ROSConfigError,
    SphereShape,
    WorldCollisionPrimitive,
)
from lastgate.contracts.arrays import Float64, require_array
from lastgate.contracts.extras import install_command
from lastgate.planning.collision.mesh_parts import MeshParts


def load_coal() -> Any:
    """Imports Coal.

    Raises:
        ROSConfigError: It is not installed.
    """
    try:
        import coal
    except ImportError:
        raise ROSConfigError(f"measuring meshes needs Coal\n\nhint: {install_command('lowering')}") from None
    return coal


class ExactMeshes:
    """The meshes of some links, (T, 3, 3) triangles in the frame of the link, watertight or not."""

    def __init__(self, meshes: Mapping[str, Float64]) -> None:
        self._coal = load_coal()
        self._soups: dict[str, Float64] = {}
        self._models: dict[str, Any] = {}
        self._parts: dict[str, MeshParts] = {}
        for link, triangles in meshes.items():
            soup = require_array(triangles, name=f"meshes[{link!r}]", dimensions=3)
            if soup.shape[1:] != (3, 3) or not len(soup):
                raise ROSConfigError(f"meshes[{link!r}] has shape {soup.shape}, expected (T, 3, 3) triangles")
            if not np.isfinite(soup).all():
                raise ROSConfigError(f"meshes[{link!r}] holds numbers that are not finite")
            vertices = soup.reshape(-1, 3)
            model = self._coal.BVHModelOBBRSS()
            model.beginModel(len(soup), len(vertices))
            model.addVertices(vertices)
            model.addTriangles(np.arange(len(vertices)).reshape(-1, 3))
            model.endModel()
            self._soups[link], self._models[link], self._parts[link] = soup, model, MeshParts(soup)

    def __contains__(self, link: object) -> bool:
        return link in self._models

    def _place(self, pose: Float64) -> Any:
        return self._coal.Transform3s(np.ascontiguousarray(pose[:3, :3]), np.ascontiguousarray(pose[:3, 3]))

    def between_links(self, link_a: str, pose_a: Float64, link_b: str, pose_b: Float64) -> float:
        """Returns the distance of two links, not above 0 where they meet or one lies inside the other."""
        coal = self._coal
        result = coal.DistanceResult()
        apart = coal.distance(
            self._models[link_a],
            self._place(pose_a),
            self._models[link_b],
            self._place(pose_b),
            coal.DistanceRequest(),
            result,
        )
        parts_a, parts_b = self._parts[link_a], self._parts[link_b]
        in_b = (parts_a.vertices @ pose_a[:3, :3].T + pose_a[:3, 3] - pose_b[:3, 3]) @ pose_b[:3, :3]
        in_a = (parts_b.vertices @ pose_b[:3, :3].T + pose_b[:3, 3] - pose_a[:3, 3]) @ pose_a[:3, :3]
        if parts_b.hold(in_b) or parts_a.hold(in_a):
            return -abs(float(apart))
        return float(apart)

    def from_sphere(self, link: str, pose: Float64, sphere: Float64) -> float:
        """Returns the signed distance of a link from a sphere (x, y, z, radius)."""
        centre = pose[:3, :3].T @ (sphere[:3] - pose[:3, 3])
        apart = _distance_to_triangles(centre, self._soups[link])
        return (-apart if self._is_inside(link, centre) else apart) - float(sphere[3])

    def from_primitive(self, link: str, pose: Float64, primitive: WorldCollisionPrimitive) -> float:
        """Returns the distance of a link from an obstacle, not above 0 where they meet."""
        coal = self._coal
        at = _pose_of(primitive)
        match primitive.shape:
            case SphereShape(radius_m=radius_m):
                return self.from_sphere(link, pose, np.array([*primitive.pose.xyz, radius_m]))
            case HalfSpaceShape():
                vertices = self._soups[link].reshape(-1, 3) @ pose[:3, :3].T + pose[:3, 3]
                return float(((vertices - at[:3, 3]) @ at[:3, 2]).min())
            case CapsuleShape(radius_m=radius_m, length_m=length_m):
                other = coal.Capsule(radius_m, length_m)
            case CylinderShape(radius_m=radius_m, length_m=length_m):
                other = coal.Cylinder(radius_m, length_m)
            case BoxShape(size_xyz_m=(x, y, z)):
                other = coal.Box(x, y, z)
        result = coal.DistanceResult()
        apart = float(
            coal.distance(
                self._models[link],
                self._place(pose),
                other,
                self._place(at),
                coal.DistanceRequest(),
                result,
            )
        )
        inside = self._is_inside(link, pose[:3, :3].T @ (at[:3, 3] - pose[:3, 3]))
        return -abs(apart) if inside else apart

    def _is_inside(self, link: str, point: Float64) -> bool:
        return self._parts[link].hold(point[np.newaxis])


def _pose_of(primitive: WorldCollisionPrimitive) -> Float64:
    x, y, z, w = np.array(primitive.pose.quat_xyzw) / np.linalg.norm(primitive.pose.quat_xyzw)
    pose = np.eye(4)
    pose[:3, 3] = primitive.pose.xyz
    pose[:3, :3] = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
        [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
        [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
    ]
    return pose


def _distance_to_triangles(point: Float64, soup: Float64) -> float:
    """Returns the distance of a point from the nearest triangle: from its plane within it, else from its edges."""
    least_2 = math.inf
    for first, second in ((0, 1), (1, 2), (2, 0)):
        start, along = soup[:, first], soup[:, second] - soup[:, first]
        length_2 = np.maximum(np.einsum("ij,ij->i", along, along), 1e-300)
        t = np.clip(np.einsum("ij,ij->i", point - start, along) / length_2, 0.0, 1.0)
        away = point - start - t[:, np.newaxis] * along
        least_2 = min(least_2, float(np.einsum("ij,ij->i", away, away).min()))
    a = soup[:, 0]
    normal = np.cross(soup[:, 1] - a, soup[:, 2] - a)
    size = np.linalg.norm(normal, axis=1)
    flat = size > 1e-300
    unit = normal[flat] / size[flat, np.newaxis]
    vertices = soup[flat]
    height = np.einsum("ij,ij->i", point - vertices[:, 0], unit)
    foot = point - height[:, np.newaxis] * unit
    within = np.ones(len(vertices), dtype=bool)
    for first, second in ((0, 1), (1, 2), (2, 0)):
        edge = vertices[:, second] - vertices[:, first]
        within &= np.einsum("ij,ij->i", np.cross(edge, foot - vertices[:, first]), unit) >= 0.0
    if within.any():
        least_2 = min(least_2, float((height[within] ** 2).min()))
    return math.sqrt(least_2)
