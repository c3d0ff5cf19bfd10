# SPDX-License-Identifier: Apache-2.0
"""Surfaces of the shapes that a picture shows, as flat faces in the base frame."""

from collections.abc import Sequence

import numpy as np

from lastgate.contracts import (
    BoxShape,
    CapsuleShape,
    CylinderShape,
    HalfSpaceShape,
    HullShape,
    Pose6D,
    SphereShape,
    WorldShape,
)
from lastgate.contracts.arrays import Float64
from lastgate.contracts.shapes import AttachableShape
from lastgate.world.rigid_motion import rotation_of_quaternion

# Faces around a sphere or capsule: round enough at the size of a card, and few enough to sort.
_FACES_AROUND = 20

# Parts along one edge of a face that is cut: a table of two metres in parts of a hand's breadth.
_PARTS_MAX = 24

_VERTICES_OF_VOXEL = np.array([[x, y, z] for z in (0, 1) for y in (0, 1) for x in (0, 1)], dtype=np.float64)
# Each face counter-clockwise from outside, so that its normal points out.
_FACES_OF_VOXEL = np.array(
    [[0, 2, 3, 1], [4, 5, 7, 6], [0, 1, 5, 4], [2, 6, 7, 3], [0, 4, 6, 2], [1, 3, 7, 5]], dtype=np.intp
)


def moved_faces(faces: Float64, pose: Float64) -> Float64:
    """Returns faces (N, vertices, 3) after a 3 x 4 pose."""
    return faces @ pose[:, :3].T + pose[:, 3]


def capsule_faces(first_end: Float64, second_end: Float64, radius_m: float) -> Float64:
    """Returns the surface around a segment as quads; equal ends are a sphere."""
    along = second_end - first_end
    length_m = float(np.linalg.norm(along))
    axis = along / length_m if length_m > 1e-12 else np.array([0.0, 0.0, 1.0])
    helper = np.eye(3)[int(np.abs(axis).argmin())]
    side = np.cross(helper, axis)
    side /= np.linalg.norm(side)
    frame = np.column_stack([side, np.cross(axis, side), axis])
    quarter = np.linspace(0.0, np.pi / 2, _FACES_AROUND // 4 + 1)
    latitude = np.concatenate([-quarter[::-1], quarter])
    height = radius_m * np.sin(latitude) + np.where(np.arange(len(latitude)) < len(quarter), 0.0, length_m)
    angle = np.linspace(0.0, 2.0 * np.pi, _FACES_AROUND + 1)
    ring = radius_m * np.cos(latitude)[:, None]
    grid = np.stack(
        [
            ring * np.cos(angle),
            ring * np.sin(angle),
            np.broadcast_to(height[:, None], (len(height), len(angle))),
        ],
        axis=2,
    )
    quads = np.stack([grid[:-1, :-1], grid[:-1, 1:], grid[1:, 1:], grid[1:, :-1]], axis=2).reshape(-1, 4, 3)
    return quads @ frame.T + first_end


def box_faces(pose: Float64, size_m: Sequence[float]) -> Float64:
    """Returns the six faces of a box around the origin of its pose."""
    vertices = (_VERTICES_OF_VOXEL - 0.5) * np.asarray(size_m)
    return moved_faces(vertices[_FACES_OF_VOXEL], pose)


def cylinder_faces(pose: Float64, radius_m: float, length_m: float) -> Float64:
    """Returns the side and the two ends of a cylinder around the z axis of its pose, as quads."""
    angle = np.linspace(0.0, 2.0 * np.pi, _FACES_AROUND + 1)
    low = np.column_stack(
        [radius_m * np.cos(angle), radius_m * np.sin(angle), np.full_like(angle, -length_m / 2)]
    )
    high = low * [1.0, 1.0, -1.0]
    sides = np.stack([low[:-1], low[1:], high[1:], high[:-1]], axis=1)
    # Two neighbouring sectors make a quad; its first vertex is the middle of the end.
    ends = [
        np.stack([np.broadcast_to(ring[:1] * [0.0, 0.0, 1.0], ring[:-2:2].shape), *rim], axis=1)
        for ring, rim in (
            (low, (low[2::2], low[1:-1:2], low[:-2:2])),
            (high, (high[:-2:2], high[1:-1:2], high[2::2])),
        )
    ]
    return moved_faces(np.concatenate([sides, *ends]), pose)


def voxel_faces(low_vertices: Float64, edge_m: float) -> Float64:
    """Returns the faces of equal voxels, (N, 3) low vertices, without those that two of them share."""
    if not len(low_vertices):
        return np.empty((0, 4, 3))
    faces = (low_vertices[:, None, None, :] + edge_m * _VERTICES_OF_VOXEL[_FACES_OF_VOXEL]).reshape(-1, 4, 3)
    centres = np.round(faces.mean(axis=1) / (0.5 * edge_m)).astype(np.int64)
    _, which, counts = np.unique(centres, axis=0, return_inverse=True, return_counts=True)
    return faces[counts[which.reshape(-1)] == 1]


def plane_face(pose: Float64, near: Float64, half_edge_m: float) -> Float64:
    """Returns a square of the plane z = 0 of a pose, around the place nearest to a point."""
    x_axis, y_axis, normal, origin = pose[:, 0], pose[:, 1], pose[:, 2], pose[:, 3]
    middle = near - normal * float((near - origin) @ normal)
    signs = ((-1, -1), (1, -1), (1, 1), (-1, 1))
    return np.array([[middle + half_edge_m * (a * x_axis + b * y_axis) for a, b in signs]])


def split_quads(quads: Float64, edge_m: float) -> Float64:
    """Returns quads cut into parts of about `edge_m`: what is drawn back to front by its middle must be small."""
    if not len(quads):
        return quads
    sides = np.linalg.norm(np.roll(quads, -1, axis=1) - quads, axis=2).max(axis=0)
    across, along = (
        int(np.clip(np.ceil(max(sides[k], sides[k + 2]) / edge_m), 1, _PARTS_MAX)) for k in (0, 1)
    )
    u, v = np.linspace(0.0, 1.0, across + 1), np.linspace(0.0, 1.0, along + 1)
    a, b, c, d = (quads[:, vertex, None, None, :] for vertex in range(4))
    s, t = u[None, :, None, None], v[None, None, :, None]
    grid = (1 - s) * (1 - t) * a + s * (1 - t) * b + s * t * c + (1 - s) * t * d
    parts = [grid[:, :-1, :-1], grid[:, 1:, :-1], grid[:, 1:, 1:], grid[:, :-1, 1:]]
    return np.stack(parts, axis=3).reshape(-1, 4, 3)


def hull_faces(vertices: Float64) -> Float64:
    """Returns the triangles around the hull of some vertices; flat or too few vertices have none."""
    from scipy.spatial import ConvexHull, QhullError

    if len(vertices) < 4:
        return np.empty((0, 3, 3))
    try:
        hull = ConvexHull(vertices)
    except QhullError:
        return np.empty((0, 3, 3))
    triangles = vertices[hull.simplices]
    normals = np.cross(triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0])
    inwards = np.einsum("ij,ij->i", normals, hull.equations[:, :3]) < 0.0
    triangles[inwards] = triangles[inwards][:, ::-1]
    return triangles


def attached_faces(shape: AttachableShape, pose: Float64) -> Float64:
    """Returns the faces of a shape that a robot holds."""
    if isinstance(shape, HullShape):
        return moved_faces(hull_faces(np.array(shape.vertices_m)), pose)
    return world_shape_faces(shape, pose, near=pose[:, 3], reach_m=0.0)


def pose_matrix(pose: Pose6D) -> Float64:
    """Returns a pose as a 3 x 4 matrix."""
    return np.column_stack([rotation_of_quaternion(pose.quat_xyzw), pose.xyz])


def world_shape_faces(
    shape: WorldShape,
    pose: Float64,
    *,
    near: Float64,
    reach_m: float,
) -> Float64:
    """Returns the faces of an obstacle or zone; of a half-space, the square nearest to a point."""
    match shape:
        case SphereShape():
            return capsule_faces(pose[:, 3], pose[:, 3], shape.radius_m)
        case CapsuleShape():
            half = 0.5 * shape.length_m * pose[:, 2]
            return capsule_faces(pose[:, 3] - half, pose[:, 3] + half, shape.radius_m)
        case CylinderShape():
            return cylinder_faces(pose, shape.radius_m, shape.length_m)
        case BoxShape():
            return box_faces(pose, shape.size_xyz_m)
        case HalfSpaceShape():
            return plane_face(pose, near, reach_m)
