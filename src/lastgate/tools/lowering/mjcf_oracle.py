# SPDX-License-Identifier: Apache-2.0
"""Where the shapes of an MJCF really are and which of them meet, by MuJoCo's kinematics and Coal alone.

Meshes are intersected as they are: MuJoCo's own contacts would take their hulls.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
from numpy.typing import NDArray

from lastgate.contracts.robot import RobotDescription
from lastgate.tools.lowering.enclosures import Enclosures
from lastgate.tools.lowering.mesh_contact import load_coal, mesh_shape
from lastgate.tools.lowering.mjcf_meshes import mesh_triangles
from lastgate.tools.lowering.mjcf_model import WORLD, bodies_only_drawn, collides, read_mjcf
from lastgate.tools.lowering.srdf_reader import ordered

Array = NDArray[np.float64]
Pair = tuple[str, str]


class MjcfOracle:
    """One compiled MJCF, its geoms in Coal's form, and the state it was last put in."""

    def __init__(self, robot: RobotDescription, manifest_dir: Path | None, skipped: set[Pair]) -> None:
        self.coal: Any = load_coal()
        self.robot = robot
        self._mjcf = read_mjcf(robot, manifest_dir)
        self.model: Any = self._mjcf.model
        self.data: Any = mujoco.MjData(self.model)
        self.address = {
            spec.name: int(self.model.joint(spec.sim_joint_name or spec.name).qposadr[0])
            for spec in robot.joints
            if spec.is_moving and self._has_joint(spec.sim_joint_name or spec.name)
        }
        self.anchor = self._anchors()
        self._only_drawn = bodies_only_drawn(self.model, robot)
        owner = [self._owner(geom) for geom in range(self.model.ngeom)]
        self.geoms = [geom for geom, link in enumerate(owner) if link is not None]
        built = [self._build(geom) for geom in self.geoms]
        self.shapes = [shape for shape, _, _ in built]
        reach = np.array([radius for _, radius, _ in built])
        chosen: list[tuple[int, int]] = []
        self.pairs: list[Pair] = []
        for first, geom_a in enumerate(self.geoms):
            for second in range(first + 1, len(self.geoms)):
                pair = ordered(str(owner[geom_a]), str(owner[self.geoms[second]]))
                if pair[0] != pair[1] and pair not in skipped:
                    chosen.append((first, second))
                    self.pairs.append(pair)
        self.couples = np.array(chosen, dtype=np.int64).reshape(-1, 2)
        self.enclosures = Enclosures(
            [soup for _, _, soup in built],
            [(first, second, pair) for (first, second), pair in zip(chosen, self.pairs, strict=True)],
        )
        # Spheres around the geoms' own origins: what they keep apart, the shapes do too.
        self.apart_m = reach[self.couples[:, 0]] + reach[self.couples[:, 1]]

    def _has_joint(self, name: str) -> bool:
        return mujoco.mj_name2id(self.model, mujoco.mjtObj.mjOBJ_JOINT, name) >= 0

    def _anchors(self) -> dict[str, tuple[int, Array]]:
        """Returns per link its body and the point of that body at which the link's frame sits."""
        anchors: dict[str, tuple[int, Array]] = {}
        for spec in self.robot.joints:
            name = spec.sim_joint_name or spec.name
            if spec.is_moving and self._has_joint(name):
                joint = self.model.joint(name)
                anchors[spec.child_link] = (int(joint.bodyid[0]), np.array(joint.pos))
            elif not spec.is_moving:
                body = mujoco.mj_name2id(self.model, mujoco.mjtObj.mjOBJ_BODY, spec.child_link)
                if body >= 0:
                    anchors[spec.child_link] = (body, np.zeros(3))
        base = mujoco.mj_name2id(self.model, mujoco.mjtObj.mjOBJ_BODY, self.robot.base_frame)
        if base < 0:
            base = int(self.model.body_parentid[next(iter(anchors.values()))[0]])
        turns = [
            np.array(self.model.jnt_pos[joint])
            for joint in range(self.model.njnt)
            if int(self.model.jnt_bodyid[joint]) == base
            and int(self.model.jnt_type[joint]) == int(mujoco.mjtJoint.mjJNT_HINGE)
        ]
        anchors[self.robot.base_frame] = (base, turns[0] if turns else np.zeros(3))
        return anchors

    def _owner(self, geom: int) -> str | None:
        """Returns the link a geom belongs to, None for the scene and for what is drawn only."""
        links = {body: link for link, (body, _) in self.anchor.items() if body != WORLD}
        body = int(self.model.geom_bodyid[geom])
        while body not in links:
            if body == WORLD or int(self.model.body_jntnum[body]) > 0:
                return None
            body = int(self.model.body_parentid[body])
        link = links[body]
        covered = (
            link in self.robot.lowering.visual_links or int(self.model.geom_bodyid[geom]) in self._only_drawn
        )
        return link if covered or collides(self.model, geom) else None

    def _build(self, geom: int) -> tuple[Any, float, Array | None]:
        """Returns a geom in Coal's form, how far it reaches from its own origin, and its triangles if it is a mesh."""
        kind, size = int(self.model.geom_type[geom]), [float(v) for v in self.model.geom_size[geom]]
        types = mujoco.mjtGeom
        if kind == int(types.mjGEOM_SPHERE):
            return self.coal.Sphere(size[0]), size[0], None
        if kind == int(types.mjGEOM_CAPSULE):
            return self.coal.Capsule(size[0], 2.0 * size[1]), size[0] + size[1], None
        if kind == int(types.mjGEOM_CYLINDER):
            return self.coal.Cylinder(size[0], 2.0 * size[1]), float(np.hypot(size[0], size[1])), None
        if kind == int(types.mjGEOM_ELLIPSOID):
            return self.coal.Ellipsoid(*size), max(size), None
        if kind == int(types.mjGEOM_BOX):
            return self.coal.Box(*(2.0 * side for side in size)), float(np.linalg.norm(size)), None
        mesh = int(self.model.geom_dataid[geom])
        triangles = mesh_triangles(self._mjcf, mesh)
        reach_m = float(np.linalg.norm(triangles.reshape(-1, 3), axis=1).max())
        return mesh_shape(triangles), reach_m, triangles

    def place(self, row: Mapping[str, float]) -> None:
        """Puts the robot into a configuration, by names of the manifest."""
        self.data.qpos[:] = self.model.qpos0
        for name, value in row.items():
            if name in self.address:
                self.data.qpos[self.address[name]] = value
        mujoco.mj_kinematics(self.model, self.data)

    def contacts(self) -> set[Pair]:
        """Returns the pairs of links whose shapes meet where the robot now is."""
        at = self.data.geom_xpos[self.geoms]
        gap = np.linalg.norm(at[self.couples[:, 0]] - at[self.couples[:, 1]], axis=1) - self.apart_m
        places: dict[int, Any] = {}
        found: set[Pair] = set()
        for index in np.flatnonzero(gap <= 0.0):
            if self.pairs[index] in found:
                continue
            first, second = (int(side) for side in self.couples[index])
            if self.coal.collide(
                self.shapes[first],
                self._place_of(first, places),
                self.shapes[second],
                self._place_of(second, places),
                self.coal.CollisionRequest(),
                self.coal.CollisionResult(),
            ):
                found.add(self.pairs[index])
        return found

    def enclosed(self, *, besides: Collection[Pair]) -> set[Pair]:
        """Returns the pairs of links of which one lies wholly inside a mesh of the other, besides those named."""
        placements = np.tile(np.eye(4), (len(self.geoms), 1, 1))
        placements[:, :3, :3] = self.data.geom_xmat[self.geoms].reshape(-1, 3, 3)
        placements[:, :3, 3] = self.data.geom_xpos[self.geoms]
        return self.enclosures.pairs_at(placements, besides=besides)

    def _place_of(self, index: int, places: dict[int, Any]) -> Any:
        if index not in places:
            geom = self.geoms[index]
            places[index] = self.coal.Transform3s(
                self.data.geom_xmat[geom].reshape(3, 3).copy(), self.data.geom_xpos[geom].copy()
            )
        return places[index]

    def pose(self, link: str) -> Array:
        """Returns a link's pose in MuJoCo's world."""
        body, anchor = self.anchor[link]
        pose = np.eye(4)
        pose[:3, :3] = self.data.xmat[body].reshape(3, 3)
        pose[:3, 3] = self.data.xpos[body] + pose[:3, :3] @ anchor
        return pose
