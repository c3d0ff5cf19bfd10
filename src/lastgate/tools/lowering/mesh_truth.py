# SPDX-License-Identifier: Apache-2.0
"""Which links of a robot meet, by independent engines: Pinocchio places the links, Coal meets their meshes.

Coal meets surfaces, so a link that lies wholly inside another's mesh would count as clear; a winding number finds
those. Two peers evaluate by convex hulls instead: Coal's own, and MuJoCo's.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lastgate.contracts.extras import install_command
from lastgate.contracts.robot import RobotDescription
from lastgate.tools.lowering.diagnostics import LoweringError
from lastgate.tools.lowering.enclosures import Enclosures
from lastgate.tools.lowering.pinocchio_robot import PinocchioRobot
from lastgate.tools.lowering.srdf_reader import ordered

Array = NDArray[np.float64]
Pair = tuple[str, str]


class MeshTruth:
    """The collision geometry of a URDF, and which checked pairs of links meet at a configuration."""

    def __init__(self, robot: RobotDescription, urdf_path: Path, *, hulls: bool = False) -> None:
        self._robot = robot
        self._urdf = PinocchioRobot(robot, urdf_path)
        self._geometry = self._urdf.geometry
        self._pairs = self._urdf.compare_all_but({entry.links for entry in robot.unchecked_pairs})
        self._soups = self._urdf.triangles()
        self._enclosures = Enclosures(self._soups, self._pairs)
        if hulls:
            for item in self._geometry.geometryObjects:
                if hasattr(item.geometry, "buildConvexHull"):
                    item.geometry.buildConvexHull(False, "Qt")
                    item.geometry = item.geometry.convex
        self._hulls = hulls
        self._geometry_data = self._geometry.createData()

    def place(self, configuration: Array) -> None:
        """Puts the robot at one configuration: a number per actuated joint, in the manifest's order."""
        values = dict(
            zip((joint.name for joint in self._robot.actuated_joints), map(float, configuration), strict=True)
        )
        for joint in self._robot.joints:
            if joint.mimic is not None:
                values[joint.name] = joint.mimic.multiplier * values[joint.mimic.joint] + joint.mimic.offset
        self._urdf.place(values, self._geometry_data)

    def touching(self, configuration: Array) -> Pair | None:
        """Returns one checked pair that meets, or None; a pair of which one lies inside the other meets."""
        self.place(configuration)
        if self._urdf.pin.computeCollisions(self._geometry, self._geometry_data, True):
            results = self._geometry_data.collisionResults
            return next(
                pair for index, (_, _, pair) in enumerate(self._pairs) if results[index].isCollision()
            )
        if self._hulls:
            return None
        return min(self._enclosures.pairs_at(np.array(self.placements)), default=None)

    @property
    def placements(self) -> list[Array]:
        """Pose of every shape, as last placed."""
        return [place.homogeneous for place in self._geometry_data.oMg]

    @property
    def shapes(self) -> list[tuple[str | None, Any, Array | None]]:
        """Link, Coal's own form and triangles (if it is a mesh) of every shape."""
        return [
            (link, item.geometry, soup)
            for link, item, soup in zip(
                self._urdf.owners, self._geometry.geometryObjects, self._soups, strict=True
            )
        ]


class MujocoPeer:
    """The same shapes as MuJoCo meets them: a mesh counts as its convex hull."""

    def __init__(self, robot: RobotDescription, truth: MeshTruth) -> None:
        try:
            import mujoco
        except ImportError as error:
            raise LoweringError(f"this peer needs MuJoCo\n\nhint: {install_command('lowering')}") from error
        self._mujoco: Any = mujoco
        self._truth = truth
        spec = mujoco.MjSpec()
        allowed = {entry.links for entry in robot.unchecked_pairs}
        bodies: list[tuple[str, str]] = []
        for index, (link, shape, soup) in enumerate(truth.shapes):
            body = spec.worldbody.add_body(
                name=f"shape{index}", mass=1.0, inertia=[1.0, 1.0, 1.0], explicitinertial=True
            )
            body.add_freejoint()
            geom = body.add_geom()
            if soup is not None:
                vertices, faces = np.unique(soup.reshape(-1, 3), axis=0, return_inverse=True)
                spec.add_mesh(
                    name=f"mesh{index}",
                    uservert=vertices.ravel(),
                    userface=faces.ravel().astype(np.int32),
                    inertia=mujoco.mjtMeshInertia.mjMESH_INERTIA_CONVEX,
                )
                geom.type, geom.meshname = mujoco.mjtGeom.mjGEOM_MESH, f"mesh{index}"
            else:
                geom.type, geom.size = self._primitive(shape)
            if link is not None:
                bodies.append((f"shape{index}", link))
        for index, (body_a, link_a) in enumerate(bodies):
            for body_b, link_b in bodies[index + 1 :]:
                if link_a == link_b or ordered(link_a, link_b) in allowed:
                    spec.add_exclude(bodyname1=body_a, bodyname2=body_b)
        self._model = spec.compile()
        self._data = mujoco.MjData(self._model)

    def _primitive(self, shape: Any) -> tuple[Any, list[float]]:
        kinds = self._mujoco.mjtGeom
        name = type(shape).__name__
        if name == "Box":
            return kinds.mjGEOM_BOX, list(shape.halfSide)
        if name == "Sphere":
            return kinds.mjGEOM_SPHERE, [shape.radius, 0.0, 0.0]
        if name in ("Cylinder", "Capsule"):
            kind = kinds.mjGEOM_CYLINDER if name == "Cylinder" else kinds.mjGEOM_CAPSULE
            return kind, [shape.radius, shape.halfLength, 0.0]
        raise LoweringError(f"MuJoCo has no shape like Coal's {name}")

    def touches(self, configuration: Array) -> bool:
        """Returns whether any checked pair has a contact."""
        self._truth.place(configuration)
        for index, place in enumerate(self._truth.placements):
            quat = np.zeros(4)
            self._mujoco.mju_mat2Quat(quat, np.ascontiguousarray(place[:3, :3]).ravel())
            self._data.qpos[7 * index : 7 * index + 3] = place[:3, 3]
            self._data.qpos[7 * index + 3 : 7 * index + 7] = quat
        self._mujoco.mj_kinematics(self._model, self._data)
        self._mujoco.mj_comPos(self._model, self._data)
        self._mujoco.mj_collision(self._model, self._data)
        return bool(self._data.ncon > 0)
