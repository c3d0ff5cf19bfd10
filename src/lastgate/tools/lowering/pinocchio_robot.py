# SPDX-License-Identifier: Apache-2.0
"""A URDF as Pinocchio reads it, for tools that hold lowered volumes against meshes.

Pinocchio says where each mesh file sits; what is in the file comes from the reader that everything here shares. Coal's
own loader counts vertices from the first again where one node of a file holds several meshes or nodes, so that
triangles of the later ones join vertices of the earlier ones.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lastgate.contracts.extras import install_command
from lastgate.contracts.robot import RobotDescription
from lastgate.tools.lowering.diagnostics import LoweringError
from lastgate.tools.lowering.mesh_contact import mesh_shape
from lastgate.tools.lowering.mesh_reader import load_triangles
from lastgate.tools.lowering.srdf_reader import ordered

Array = NDArray[np.float64]
Pair = tuple[str, str]


class PinocchioRobot:
    """The model, the shapes that count, and the manifest's link that each of them belongs to.

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
                f"evaluating by meshes needs Pinocchio\n\nhint: {install_command('lowering')}"
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
            # Links lowered from what is drawn of them are held against the same shapes.
            shown = load(self.model, str(urdf_path), kinds.VISUAL, folders)
        solid = {item.parentFrame for item in geometry.geometryObjects}
        for item in shown.geometryObjects:
            if self._counts_as_drawn(robot, item.parentFrame, solid):
                item.name = f"{item.name} visual"
                geometry.addGeometryObject(item)
        for item in geometry.geometryObjects:
            if hasattr(item.geometry, "num_tris"):
                x, y, z = (float(factor) for factor in item.meshScale)
                item.geometry = mesh_shape(load_triangles(Path(item.meshPath), (x, y, z)))
        return geometry

    def _counts_as_drawn(self, robot: RobotDescription, frame: int, solid: set[int]) -> bool:
        """Says whether what is drawn of a link was lowered: it is named, or it is fixed to another and only drawn."""
        item = self.model.frames[frame]
        if item.name in robot.lowering.visual_links:
            return True
        waived = {waiver.link for waiver in (*robot.coverage_waivers, *robot.lowering.drawn_waivers)}
        moves = self.model.frames[item.parentFrame].type == self.pin.FrameType.JOINT and item.parentFrame != 0
        return frame not in solid and not moves and item.name not in waived

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
    vertices = np.array([shape.vertex(index) for index in range(shape.num_vertices)])
    found = [shape.tri_indices(index) for index in range(shape.num_tris)]
    faces = np.array([[face[vertex] for vertex in range(3)] for face in found])
    return vertices[faces]
