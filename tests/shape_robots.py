# SPDX-License-Identifier: Apache-2.0
"""Robots made of boxes, cylinders, spheres and meshes as a description gives them, cut into pieces as lowering cuts."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from paper_robots import joint

import lastgate as lg
from lastgate.contracts.convex_pieces import ConvexPiece
from lastgate.tools.lowering.convex_pieces import pieces_of_link
from lastgate.tools.lowering.shapes import LinkShapes, SourceShape

PIECES_FILE = {"file": "convex_pieces.txt", "sha256": "0" * 64}


def placed(xyz: Sequence[float] = (0.0, 0.0, 0.0), rotation: Any = None) -> np.ndarray:
    pose = np.eye(4)
    pose[:3, 3] = xyz
    if rotation is not None:
        pose[:3, :3] = rotation
    return pose


def box(x: float, y: float, z: float, pose: np.ndarray | None = None) -> SourceShape:
    return SourceShape("box", placed() if pose is None else pose, (x, y, z))


def cylinder(radius_m: float, length_m: float, pose: np.ndarray | None = None) -> SourceShape:
    return SourceShape("cylinder", placed() if pose is None else pose, (radius_m, length_m))


def capsule(radius_m: float, length_m: float, pose: np.ndarray | None = None) -> SourceShape:
    return SourceShape("capsule", placed() if pose is None else pose, (radius_m, length_m))


def sphere(radius_m: float, pose: np.ndarray | None = None) -> SourceShape:
    return SourceShape("sphere", placed() if pose is None else pose, (radius_m,))


def mesh(triangles: np.ndarray, pose: np.ndarray | None = None) -> SourceShape:
    return SourceShape("mesh", placed() if pose is None else pose, (), triangles)


def pieces_of(link: str, shapes: Sequence[SourceShape], *, per_link_max: int = 8) -> list[ConvexPiece]:
    return pieces_of_link(LinkShapes.of(link, list(shapes)), per_link_max=per_link_max)


def robot_of(shapes: Mapping[str, Sequence[SourceShape]], **changes: Any) -> lg.RobotDescription:
    """Returns one slide along x per link, each on the base; volumes are spheres around everything."""
    pieces = [piece for link, sources in shapes.items() for piece in pieces_of(link, sources)]
    volumes = []
    for link in shapes:
        own = [piece for piece in pieces if piece.link_name == link]
        if not own:
            continue
        radius_m = max(
            float(np.linalg.norm(corner)) + piece.radius_m for piece in own for corner in piece.corners_m
        )
        shape = {"shape": "sphere", "radius_m": radius_m + 1e-6}
        volumes.append({"link_name": link, "shape": shape, "origin_xyz_rpy": [0.0] * 6})
    manifest = {
        "name": "shapes",
        "base_frame": "base",
        "joints": [
            joint(
                f"slide_{link}",
                "base",
                link,
                joint_type="prismatic",
                axis_xyz=[1.0, 0.0, 0.0],
                position_limits=[-20.0, 20.0],
                velocity_limit=1000.0,
            )
            for link in shapes
        ],
        "collision_geometry": volumes,
        "convex_pieces": PIECES_FILE,
    } | changes
    return lg.RobotDescription(**manifest).with_loaded_pieces(tuple(pieces))
