# SPDX-License-Identifier: Apache-2.0
"""Expresses an MJCF in the links of a manifest."""

from __future__ import annotations

from typing import Any

import mujoco
import numpy as np
from numpy.typing import NDArray

from lastgate.contracts.exceptions import ROSConfigError
from lastgate.contracts.robot import JointSpec, RobotDescription
from lastgate.tools.lowering.diagnostics import Diagnostic
from lastgate.tools.lowering.extent import extent
from lastgate.tools.lowering.joint_frames import JointFrame, written_vector
from lastgate.tools.lowering.mesh_reader import LINK_SIZE_MAX_M
from lastgate.tools.lowering.mjcf_meshes import mesh_triangles
from lastgate.tools.lowering.mjcf_model import WORLD, MjcfModel, bodies_only_drawn, collides, pose_of
from lastgate.tools.lowering.rigid import inverse, rpy_from_rotation
from lastgate.tools.lowering.shapes import SourceShape
from lastgate.tools.lowering.srdf_reader import Pair, ordered

Array = NDArray[np.float64]
LinkFrames = dict[str, tuple[int, Array]]

_JOINT_TYPES = {
    int(mujoco.mjtJoint.mjJNT_HINGE): ("revolute", "continuous"),
    int(mujoco.mjtJoint.mjJNT_SLIDE): ("prismatic",),
}
# A coupling written with seven digits is this close to the manifest's.
_COUPLING_TOLERANCE = 1e-6


def described_by_mjcf(
    robot: RobotDescription, mjcf: MjcfModel
) -> tuple[dict[str, list[SourceShape]], dict[str, JointFrame], frozenset[Pair], list[Diagnostic]]:
    """Returns shapes per manifest link, joint frames, excluded pairs, and every name that does not match.

    Links are matched through their joints (`sim_joint_name`, else the joint's own name), not by guessing: a
    link sits where its joint turns. Bodies that neither move with a listed joint nor carry one are scene.
    """
    problems: list[Diagnostic] = []
    frames_of = _link_frames(robot, mjcf, problems)
    _require_same_tree(robot, mjcf, frames_of, problems)
    _require_same_couplings(robot, mjcf, problems)
    problems += [
        Diagnostic(str(mjcf.path), None, f"lowering.visual_links names `{link}`, which no body carries")
        for link in robot.lowering.visual_links
        if link not in frames_of
    ]
    if problems:
        return {}, {}, frozenset(), problems
    joint_frames: dict[str, JointFrame] = {}
    for spec in robot.joints:
        if spec.child_link not in frames_of or spec.parent_link not in frames_of:
            continue
        pose = inverse(frames_of[spec.parent_link][1]) @ frames_of[spec.child_link][1]
        axis = np.array([0.0, 0.0, 1.0])
        if spec.is_moving:
            axis = np.array(mjcf.model.joint(_sim_name(spec)).axis)
        joint_frames[spec.name] = JointFrame(
            written_vector(pose[:3, 3]),
            written_vector(np.array(rpy_from_rotation(pose[:3, :3]))),
            written_vector(axis),
        )
    carrier = _carriers(mjcf, frames_of)
    only_drawn = bodies_only_drawn(mjcf.model, robot)
    shapes: dict[str, list[SourceShape]] = {}
    for geom in range(mjcf.model.ngeom):
        body = int(mjcf.model.geom_bodyid[geom])
        if body == WORLD or carrier[body] is None:
            continue
        link = str(carrier[body])
        if (
            not collides(mjcf.model, geom)
            and link not in robot.lowering.visual_links
            and body not in only_drawn
        ):
            continue
        in_link = inverse(frames_of[link][1]) @ mjcf.pose_at_zero(body)
        shape = _shape(mjcf, geom, link, in_link, problems)
        if shape is not None:
            shapes.setdefault(link, []).append(shape)
    return shapes, joint_frames, _excluded(mjcf, carrier), problems


def drawn_in_mjcf(robot: RobotDescription, mjcf: MjcfModel) -> tuple[dict[str, list[SourceShape]], list[str]]:
    """Returns per link of the manifest what the MJCF only draws of it, and what could not be read."""
    problems: list[Diagnostic] = []
    frames_of = _link_frames(robot, mjcf, [])
    carrier = _carriers(mjcf, frames_of)
    found: dict[str, list[SourceShape]] = {}
    for geom in range(mjcf.model.ngeom):
        body = int(mjcf.model.geom_bodyid[geom])
        link = carrier[body]
        if body == WORLD or link is None or collides(mjcf.model, geom):
            continue
        in_link = inverse(frames_of[link][1]) @ mjcf.pose_at_zero(body)
        shape = _shape(mjcf, geom, link, in_link, problems)
        if shape is not None:
            found.setdefault(link, []).append(shape)
    return found, [str(problem) for problem in problems]


def _sim_name(spec: JointSpec) -> str:
    return spec.sim_joint_name or spec.name


def _link_frames(robot: RobotDescription, mjcf: MjcfModel, problems: list[Diagnostic]) -> LinkFrames:
    """Returns per manifest link its body and the pose of its frame at zero, the base last."""
    model = mjcf.model
    waived = {waiver.link for waiver in robot.coverage_waivers}
    found: LinkFrames = {}

    def complain(message: str) -> None:
        problems.append(Diagnostic(str(mjcf.path), None, message))

    bodies = {mjcf.body_name(body): body for body in range(model.nbody)}
    joints = {str(model.joint(index).name): index for index in range(model.njnt)}
    for spec in robot.joints:
        if spec.is_moving:
            name = _sim_name(spec)
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
            found[spec.child_link] = (body, mjcf.pose_at_zero(body) @ _shift(model.jnt_pos[index]))
        elif spec.child_link in bodies:
            body = bodies[spec.child_link]
            found[spec.child_link] = (body, mjcf.pose_at_zero(body))
        elif spec.child_link not in waived:
            complain(f"joint `{spec.name}` is fixed and the MJCF has no body `{spec.child_link}`")
    first = next((found[spec.child_link][0] for spec in robot.joints if spec.child_link in found), WORLD)
    base = bodies.get(robot.base_frame, int(model.body_parentid[first]))
    found[robot.base_frame] = (base, mjcf.pose_at_zero(base) @ _base_shift(model, base))
    listed = {_sim_name(spec) for spec in robot.joints if spec.is_moving}
    carried = {body for body, _ in found.values()} - {WORLD}
    for index in range(model.njnt):
        name, body = str(model.joint(index).name), int(model.jnt_bodyid[index])
        if name not in listed and body != base and carried.intersection(mjcf.upwards(body)):
            complain(
                f"joint `{name}` moves `{mjcf.body_name(body)}` but robot `{robot.name}` does not list it"
            )
    return found


def _shift(position: Any) -> Array:
    pose = np.eye(4)
    pose[:3, 3] = position
    return pose


def _base_shift(model: Any, base: int) -> Array:
    """Returns where the base's own hinge turns it: a drive's yaw axis, beside which its body may sit."""
    first = int(model.body_jntadr[base])
    for index in range(first, first + int(model.body_jntnum[base])):
        if int(model.jnt_type[index]) == int(mujoco.mjtJoint.mjJNT_HINGE):
            return _shift(model.jnt_pos[index])
    return np.eye(4)


def _require_same_tree(
    robot: RobotDescription, mjcf: MjcfModel, frames_of: LinkFrames, problems: list[Diagnostic]
) -> None:
    """Complains where the MJCF hangs a link on another link than the manifest does."""
    owner = {body: link for link, (body, _) in reversed(frames_of.items())}
    for spec in robot.joints:
        if spec.child_link not in frames_of or spec.parent_link not in frames_of:
            continue
        body = frames_of[spec.child_link][0]
        above = (owner[up] for up in mjcf.upwards(body) if up != body and up in owner)
        parent = next(above, robot.base_frame)
        if parent != spec.parent_link:
            problems.append(
                Diagnostic(
                    str(mjcf.path),
                    None,
                    f"joint `{spec.name}`: the MJCF hangs `{spec.child_link}` on `{parent}`, "
                    f"not on `{spec.parent_link}`",
                )
            )


def _require_same_couplings(robot: RobotDescription, mjcf: MjcfModel, problems: list[Diagnostic]) -> None:
    """Complains where an equality of two joints and a `mimic` of the manifest say different things.

    An equality the manifest does not take over leaves both joints free, which covers more; a `mimic` the MJCF
    has no equality for is the manifest's own knowledge.
    """
    model = mjcf.model
    specs = {_sim_name(spec): spec for spec in robot.joints if spec.is_moving}
    for index in range(model.neq):
        if int(model.eq_type[index]) != int(mujoco.mjtEq.mjEQ_JOINT) or int(model.eq_obj2id[index]) < 0:
            continue
        follower = specs.get(str(model.joint(int(model.eq_obj1id[index])).name))
        leader = specs.get(str(model.joint(int(model.eq_obj2id[index])).name))
        if follower is None or leader is None:
            continue
        offset, multiplier, *bends = (float(value) for value in model.eq_data[index][:5])
        if leader.mimic is not None and leader.mimic.joint == follower.name and multiplier != 0.0:
            follower, leader = leader, follower
            offset, multiplier = -offset / multiplier, 1.0 / multiplier
        if follower.mimic is None or follower.mimic.joint != leader.name:
            continue
        said, meant = (follower.mimic.multiplier, follower.mimic.offset), (multiplier, offset)
        if any(bends) or not np.allclose(said, meant, rtol=0.0, atol=_COUPLING_TOLERANCE):
            problems.append(
                Diagnostic(
                    str(mjcf.path),
                    None,
                    f"joint `{follower.name}` mimics `{leader.name}` with multiplier {said[0]:g} and offset "
                    f"{said[1]:g}; the MJCF's equality has {meant[0]:g} and {meant[1]:g}"
                    + (" and is not linear" if any(bends) else ""),
                )
            )


def _carriers(mjcf: MjcfModel, frames_of: LinkFrames) -> list[str | None]:
    """Returns per body the link that carries it; None for the scene."""
    model = mjcf.model
    owner = {body: link for link, (body, _) in reversed(frames_of.items())}
    base = next(reversed(frames_of))
    above = {up for body, _ in frames_of.values() for up in mjcf.upwards(body) if up != body}
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
    origin = body_in_link @ pose_of(model.geom_pos[geom], model.geom_quat[geom])
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
        try:
            triangles = mesh_triangles(mjcf, mesh)
        except ROSConfigError as error:
            problems.append(Diagnostic(str(mjcf.path), None, f"link `{link}`: {error}"))
            return None
        size_m = float(extent(triangles.reshape(-1, 3)).max())
        if size_m > LINK_SIZE_MAX_M:
            problems.append(
                Diagnostic(
                    str(mjcf.path),
                    None,
                    f"link `{link}`: mesh `{model.mesh(mesh).name}` is {size_m:.4f} m long, more than the "
                    f"{LINK_SIZE_MAX_M:.4f} m any link may be; "
                    'a mesh in millimetres needs scale="0.001 0.001 0.001"',
                )
            )
            return None
        return SourceShape("mesh", origin, (), triangles, source=str(model.mesh(mesh).name))
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
