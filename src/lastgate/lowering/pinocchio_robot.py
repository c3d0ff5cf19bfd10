# SPDX-License-Identifier: Apache-2.0
"""A URDF as Pinocchio reads it, for whoever holds lowered volumes against meshes."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lastgate.contracts.robot import RobotDescription
from lastgate.lowering.diagnostics import LoweringError
from lastgate.lowering.srdf_reader import ordered

Array = NDArray[np.float64]
Pair = tuple[str, str]


class PinocchioRobot:
    """Holds the model, the shapes that count, and the manifest's link that each of them belongs to.

    Attributes:
        owners: Per shape its link, or None where a moving part is none of the manifest's links.

    Raises:
        LoweringError: Pinocchio is not installed.
    """

    def __init__(self, robot: RobotDescription, urdf_path: Path) -> None:
        try:
            import pinocchio
        except ImportError as error:
            raise LoweringError(
                "judging by meshes needs Pinocchio\n\nhint: pip install 'lastgate[oracles]'"
            ) from error
        self.pin: Any = pinocchio
        self.model: Any = pinocchio.buildModelFromUrdf(str(urdf_path))
        self.data: Any = self.model.createData()
        self.geometry: Any = self._load_geometry(robot, urdf_path)
        links = set(robot.link_names)
        self.owners = [
            self._carrier(item.parentFrame, links, robot.base_frame) for item in self.geometry.geometryObjects
        ]

    def _load_geometry(self, robot: RobotDescription, urdf_path: Path) -> Any:
        load, kinds = self.pin.buildGeomFromUrdf, self.pin.GeometryType
        folders = [str(folder) for folder in urdf_path.parents]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            geometry = load(self.model, str(urdf_path), kinds.COLLISION, folders)
            if robot.lowering.visual_links:
                # Links lowered from their visual shapes are judged by the same shapes.
                shown = load(self.model, str(urdf_path), kinds.VISUAL, folders)
                for item in shown.geometryObjects:
                    if self.model.frames[item.parentFrame].name in robot.lowering.visual_links:
                        item.name = f"{item.name} visual"
                        geometry.addGeometryObject(item)
        return geometry

    def _carrier(self, frame: int, links: set[str], base_frame: str) -> str | None:
        while True:
            item = self.model.frames[frame]
            if item.name in links and item.type == self.pin.FrameType.BODY:
                return str(item.name)
            if frame in (item.parentFrame, 0):
                # Whatever is fixed to the world above the base is the base's.
                return base_frame if item.parentJoint == 0 else None
            frame = item.parentFrame

    def compare_all_but(self, skipped: set[Pair]) -> list[tuple[int, int, Pair]]:
        """Makes Coal compare the shapes of every two links but these; returns both shapes and links of each."""
        compared = []
        for first, link_a in enumerate(self.owners):
            for second in range(first + 1, len(self.owners)):
                link_b = self.owners[second]
                if link_a is None or link_b is None or link_a == link_b or ordered(link_a, link_b) in skipped:
                    continue
                self.geometry.addCollisionPair(self.pin.CollisionPair(first, second))
                compared.append((first, second, ordered(link_a, link_b)))
        return compared

    def place(self, values: Mapping[str, float], geometry_data: Any) -> None:
        """Puts the shapes where they are when the joints stand at these values; joints without one stand at zero."""
        q = self.pin.neutral(self.model)
        for name, value in values.items():
            joint = self.model.joints[self.model.getJointId(name)]
            q[joint.idx_q : joint.idx_q + joint.nq] = (
                (value,) if joint.nq == 1 else (math.cos(value), math.sin(value))
            )
        self.pin.updateGeometryPlacements(self.model, self.data, self.geometry, geometry_data, q)

    def triangles(self) -> list[Array | None]:
        """Returns the triangles of every shape in its own frame; None for one that is no mesh."""
        return [_triangles(item.geometry) for item in self.geometry.geometryObjects]


def _triangles(shape: Any) -> Array | None:
    if not hasattr(shape, "num_tris"):
        return None
    corners = np.array([shape.vertex(index) for index in range(shape.num_vertices)])
    found = [shape.tri_indices(index) for index in range(shape.num_tris)]
    faces = np.array([[face[corner] for corner in range(3)] for face in found])
    return corners[faces]
