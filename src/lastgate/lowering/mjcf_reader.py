# SPDX-License-Identifier: Apache-2.0
"""Reads an MJCF through MuJoCo and expresses it in the links of a manifest."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
from numpy.typing import NDArray

from lastgate.assets.safe_xml import load_xml
from lastgate.contracts.robot import RobotDescription
from lastgate.lowering.diagnostics import DescriptionError, Diagnostic
from lastgate.lowering.joint_frames import JointFrame, written_vector
from lastgate.lowering.rigid import inverse, rpy_from_rotation
from lastgate.lowering.shapes import SourceShape
from lastgate.lowering.srdf_reader import Pair, ordered

Array = NDArray[np.float64]

_WORLD = 0
_JOINT_TYPES = {
    int(mujoco.mjtJoint.mjJNT_HINGE): ("revolute", "continuous"),
    int(mujoco.mjtJoint.mjJNT_SLIDE): ("prismatic",),
}


@dataclass(frozen=True)
class MjcfModel:
    """A compiled MJCF and the file it came from."""

    path: Path
    model: Any

    def body_name(self, body: int) -> str:
        """Returns the name of a body."""
        return str(self.model.body(body).name)

    def pose_at_zero(self, body: int) -> Array:
        """Returns a body's pose in the world with every joint at zero."""
        pose = np.eye(4)
        while body != _WORLD:
            pose = _pose(self.model.body_pos[body], self.model.body_quat[body]) @ pose
            body = int(self.model.body_parentid[body])
        return pose


def read_mjcf(path: Path) -> MjcfModel:
    """Compiles an MJCF; raises DescriptionError with MuJoCo's own words where it cannot."""
    load_xml(path)
    try:
        return MjcfModel(path, mujoco.MjModel.from_xml_path(str(path)))
    except ValueError as error:
        raise DescriptionError([Diagnostic(str(path), None, f"MuJoCo cannot compile it: {error}")]) from error


def described_by_mjcf(
    robot: RobotDescription, mjcf: MjcfModel
) -> tuple[dict[str, list[SourceShape]], dict[str, JointFrame], frozenset[Pair], list[Diagnostic]]:
    """Returns shapes per manifest link, joint frames, excluded pairs, and every name that does not match.

    Links are matched through their joints (`sim_joint_name`, else the joint's own name), not by guessing: a
    link sits where its joint turns. Bodies that neither move with a listed joint nor carry one are scene.
    """
    problems: list[Diagnostic] = []
    frames_of = _link_frames(robot, mjcf, problems)
    if problems:
        return {}, {}, frozenset(), problems
    joint_frames: dict[str, JointFrame] = {}
    for spec in robot.joints:
        if spec.child_link not in frames_of:
            continue
        pose = inverse(frames_of[spec.parent_link][1]) @ frames_of[spec.child_link][1]
        axis = np.array([0.0, 0.0, 1.0])
        if spec.is_moving:
            axis = np.array(mjcf.model.joint(spec.sim_joint_name or spec.name).axis)
        joint_frames[spec.name] = JointFrame(
            written_vector(pose[:3, 3]),
            written_vector(np.array(rpy_from_rotation(pose[:3, :3]))),
            written_vector(axis),
        )
    carrier = _carriers(mjcf, frames_of)
    shapes: dict[str, list[SourceShape]] = {}
    for geom in range(mjcf.model.ngeom):
        body = int(mjcf.model.geom_bodyid[geom])
        if body == _WORLD or carrier[body] is None:
            continue
        link = str(carrier[body])
        collides = bool(mjcf.model.geom_contype[geom] or mjcf.model.geom_conaffinity[geom])
        if not collides and link not in robot.lowering.visual_links:
            continue
        in_link = inverse(frames_of[link][1]) @ mjcf.pose_at_zero(body)
        shape = _shape(mjcf, geom, link, in_link, problems)
        if shape is not None:
            shapes.setdefault(link, []).append(shape)
    return shapes, joint_frames, _excluded(mjcf, carrier), problems


def _link_frames(
    robot: RobotDescription, mjcf: MjcfModel, problems: list[Diagnostic]
) -> dict[str, tuple[int, Array]]:
    """Returns per manifest link its body and the pose of its frame at zero."""
    model = mjcf.model
    waived = {waiver.link for waiver in robot.coverage_waivers}
    found: dict[str, tuple[int, Array]] = {}

    def complain(message: str) -> None:
        problems.append(Diagnostic(str(mjcf.path), None, message))

    bodies = {mjcf.body_name(body): body for body in range(model.nbody)}
    joints = {str(model.joint(index).name): index for index in range(model.njnt)}
    for spec in robot.joints:
        if spec.is_moving:
            name = spec.sim_joint_name or spec.name
            if name not in joints:
                if spec.child_link not in waived:
                    complain(f"joint `{spec.name}`: the MJCF has no joint `{name}` (sim_joint_name)")
                continue
            index = joints[name]
            body = int(model.jnt_bodyid[index])
            if spec.joint_type not in _JOINT_TYPES.get(int(model.jnt_type[index]), ()):
                complain(
                    f"joint `{spec.name}` is {spec.joint_type} and the MJCF's `{name}` is of another type"
                )
            if int(model.body_jntnum[body]) != 1:
                complain(
                    f"body `{mjcf.body_name(body)}` has {int(model.body_jntnum[body])} joints; one is read"
                )
            if float(model.qpos0[model.jnt_qposadr[index]]) != 0.0:
                complain(f"joint `{name}` has a `ref` that is not zero")
            shift = np.eye(4)
            shift[:3, 3] = model.jnt_pos[index]
            found[spec.child_link] = (body, mjcf.pose_at_zero(body) @ shift)
        elif spec.child_link in bodies:
            body = bodies[spec.child_link]
            found[spec.child_link] = (body, mjcf.pose_at_zero(body))
        elif spec.child_link not in waived:
            complain(f"joint `{spec.name}` is fixed and the MJCF has no body `{spec.child_link}`")
    listed = {spec.sim_joint_name or spec.name for spec in robot.joints if spec.is_moving}
    first = next((found[spec.child_link][0] for spec in robot.joints if spec.child_link in found), _WORLD)
    base = bodies.get(robot.base_frame, int(model.body_parentid[first]))
    found[robot.base_frame] = (base, mjcf.pose_at_zero(base))
    for name, index in joints.items():
        body = int(model.jnt_bodyid[index])
        moves = int(model.jnt_type[index]) in _JOINT_TYPES
        if moves and name not in listed and _is_below(model, body, base) and base != _WORLD:
            complain(
                f"joint `{name}` moves `{mjcf.body_name(body)}` but robot `{robot.name}` does not list it"
            )
    return found


def _is_below(model: Any, body: int, ancestor: int) -> bool:
    while body not in (ancestor, _WORLD):
        body = int(model.body_parentid[body])
    return body == ancestor


def _carriers(mjcf: MjcfModel, frames_of: dict[str, tuple[int, Array]]) -> list[str | None]:
    """Returns per body the link that carries it; None for the scene."""
    model = mjcf.model
    owner = {body: link for link, (body, _) in reversed(list(frames_of.items()))}
    base = next(reversed(frames_of))
    above = set()
    for carried, _ in frames_of.values():
        body = carried
        while body != _WORLD:
            body = int(model.body_parentid[body])
            above.add(body)
    carrier: list[str | None] = [None] * model.nbody
    for body in range(1, model.nbody):
        parent = int(model.body_parentid[body])
        if body in owner:
            carrier[body] = owner[body]
        elif body in above:
            carrier[body] = carrier[parent] or base
        elif int(model.body_jntnum[body]) == 0:
            carrier[body] = carrier[parent]
    return carrier


def _shape(
    mjcf: MjcfModel, geom: int, link: str, body_in_link: Array, problems: list[Diagnostic]
) -> SourceShape | None:
    model = mjcf.model
    kind = int(model.geom_type[geom])
    size = [float(value) for value in model.geom_size[geom]]
    origin = body_in_link @ _pose(model.geom_pos[geom], model.geom_quat[geom])
    types = mujoco.mjtGeom
    if kind == int(types.mjGEOM_SPHERE):
        return SourceShape("sphere", origin, (size[0],))
    if kind == int(types.mjGEOM_CAPSULE):
        return SourceShape("capsule", origin, (size[0], 2.0 * size[1]))
    if kind == int(types.mjGEOM_CYLINDER):
        return SourceShape("cylinder", origin, (size[0], 2.0 * size[1]))
    if kind == int(types.mjGEOM_BOX):
        return SourceShape("box", origin, (2.0 * size[0], 2.0 * size[1], 2.0 * size[2]))
    if kind == int(types.mjGEOM_ELLIPSOID):
        return SourceShape("ellipsoid", origin, (size[0], size[1], size[2]))
    if kind == int(types.mjGEOM_MESH):
        mesh = int(model.geom_dataid[geom])
        first_vertex, first_face = int(model.mesh_vertadr[mesh]), int(model.mesh_faceadr[mesh])
        vertices = model.mesh_vert[first_vertex : first_vertex + int(model.mesh_vertnum[mesh])].astype(
            np.float64
        )
        faces = model.mesh_face[first_face : first_face + int(model.mesh_facenum[mesh])]
        return SourceShape("mesh", origin, (), vertices[faces], source=str(model.mesh(mesh).name))
    problems.append(
        Diagnostic(
            str(mjcf.path),
            None,
            f"link `{link}`: a geom of type {kind} (plane, height field or SDF) is not read",
        )
    )
    return None


def _excluded(mjcf: MjcfModel, carrier: list[str | None]) -> frozenset[Pair]:
    found: set[Pair] = set()
    for signature in mjcf.model.exclude_signature:
        link_a, link_b = carrier[int(signature) >> 16], carrier[int(signature) & 0xFFFF]
        if link_a is not None and link_b is not None and link_a != link_b:
            found.add(ordered(link_a, link_b))
    return frozenset(found)


def _pose(position: Any, quaternion_wxyz: Any) -> Array:
    turn = np.empty(9)
    mujoco.mju_quat2Mat(turn, np.asarray(quaternion_wxyz, dtype=np.float64))
    pose = np.eye(4)
    pose[:3, :3] = turn.reshape(3, 3)
    pose[:3, 3] = position
    return pose
