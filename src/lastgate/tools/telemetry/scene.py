# SPDX-License-Identifier: Apache-2.0
"""What a picture of a rejection shows: robot, the two that are to blame, obstacles, witness points."""

from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from lastgate.contracts import ViolationCode
from lastgate.contracts.arrays import Float64
from lastgate.gate import Gate
from lastgate.gate.verdict import Violation
from lastgate.robots.kernel_config import capsule_ends
from lastgate.tools.telemetry.surfaces import (
    attached_faces,
    capsule_faces,
    hull_faces,
    moved_faces,
    pose_matrix,
    split_quads,
    voxel_faces,
    world_shape_faces,
)
from lastgate.world import NoWorld, World
from lastgate.world.rigid_motion import motion_of_xyz_rpy

Role = Literal["robot", "first", "second", "obstacle", "unknown"]

# A card is a picture of one place: what is farther away than an arm reaches is left out.
_REACH_M = 1.5
# More voxels or points than this are a blur, and take seconds to sort.
_VOXELS_SHOWN_MAX = 1500
_POINTS_SHOWN_MAX = 4000
_PART_M = 0.08


@dataclass(slots=True)
class Scene:
    """A picture before it is drawn; everything is in the base frame of the first instant.

    Attributes:
        faces: Surfaces, each with the part it plays.
        frames: Boxes and zones that are to be seen through.
        points: The cloud.
        tool_path: Where the tool goes, one point per step.
        focus: What the picture is about.
    """

    focus: Float64
    faces: list[tuple[Role, Float64]] = field(default_factory=list)
    frames: list[tuple[Role, Float64]] = field(default_factory=list)
    points: list[tuple[Role, Float64]] = field(default_factory=list)
    witness: Float64 | None = None
    tool_path: Float64 | None = None
    tool: Float64 | None = None


def scene_of(
    gate: Gate, violation: Violation, *, path: Float64, moment: Float64, world: World | NoWorld | None
) -> Scene:
    """Returns the scene at the moment of a violation."""
    poses = {link: frames[0] for link, frames in gate.link_poses_on_path(moment[None]).items()}
    effector = _effector(gate, violation)
    tools = None
    if effector is not None:
        tools = _tool_points(gate, effector, np.vstack([path, moment[None]]))
    scene = Scene(focus=np.zeros(3))
    if violation.witness_a is not None and violation.witness_b is not None:
        scene.witness = np.array([violation.witness_a, violation.witness_b])
        scene.focus = scene.witness.mean(axis=0)
    elif tools is not None:
        scene.focus = tools[-1]
    else:
        scene.focus = np.mean([pose[:, 3] for pose in poses.values()], axis=0)
    if tools is not None:
        scene.tool_path, scene.tool = tools[:-1], tools[-1]
        if violation.measured_xyz is not None:
            scene.tool = np.array(violation.measured_xyz)
    _add_robot(scene, gate, violation, poses)
    _add_zones(scene, gate, violation)
    world = gate.world_in_base(world)
    if isinstance(world, World) and gate.frame_problem(world) is None:
        _add_world(scene, world, violation)
    return scene


def _effector(gate: Gate, violation: Violation) -> int | None:
    names = [end.name for end in gate.robot.end_effectors]
    return (
        names.index(violation.subject) if violation.subject in names and violation.witness_a is None else None
    )


def _tool_points(gate: Gate, effector: int, path: Float64) -> Float64:
    end = gate.robot.end_effectors[effector]
    frames = gate.link_poses_on_path(path)[end.link]
    return frames[:, :, :3] @ np.array(end.tool_xyz_rpy[:3]) + frames[:, :, 3]


def _add_robot(scene: Scene, gate: Gate, violation: Violation, poses: dict[str, Float64]) -> None:
    robot = gate.robot
    roles: dict[str, Role] = {violation.subject: "first"}
    if violation.collision_kind == "self":
        roles[violation.against] = "second"
    for joint in robot.joints:
        if joint.name == violation.subject:
            roles[joint.child_link] = "first"
    for end in robot.end_effectors:
        # An end effector may be called like its link, or like nothing else.
        if end.name == violation.subject:
            roles[end.link] = "first"
    tighter = {hull.link_name for hull in robot.loaded_hulls} if violation.collision_kind else set()
    for hull in robot.loaded_hulls:
        if hull.link_name in roles and hull.link_name in tighter:
            faces = hull_faces(np.array(hull.vertices_m))
            scene.faces.append((roles[hull.link_name], moved_faces(faces, poses[hull.link_name])))
    for volume in robot.collision_geometry:
        role = roles.get(volume.link_name, "robot")
        if role == "robot" or volume.link_name not in tighter:
            ends = np.array(capsule_ends(volume.shape, volume.origin_xyz_rpy)).reshape(2, 3)
            faces = capsule_faces(ends[0], ends[1], volume.shape.radius_m)
            scene.faces.append((role, moved_faces(faces, poses[volume.link_name])))
    for held in gate.attached:
        faces = attached_faces(held.shape, motion_of_xyz_rpy(held.origin_xyz_rpy))
        scene.faces.append((roles.get(held.object_id, "robot"), moved_faces(faces, poses[held.link])))


def _add_zones(scene: Scene, gate: Gate, violation: Violation) -> None:
    safety = gate.robot.safety
    for zone in (*safety.no_go_zones, *safety.keep_in_zones):
        if zone.name == violation.against and violation.collision_kind == "world":
            faces = world_shape_faces(
                zone.shape,
                pose_matrix(gate.frames.pose_in_base(zone.pose)),
                near=scene.focus,
                reach_m=_REACH_M,
            )
            scene.frames.append(("second", faces))
    if violation.box is not None:
        low, high = (np.array(vertex) for vertex in violation.box)
        scene.frames.append(("second", low + (high - low) * voxel_faces(np.zeros((1, 3)), 1.0)))


def _add_world(scene: Scene, world: World, violation: Violation) -> None:
    blamed = violation.against if violation.collision_kind == "world" else None
    for index, primitive in enumerate(world.primitives):
        pose = pose_matrix(primitive.pose)
        is_blamed = world.object_name(index) == blamed
        faces = world_shape_faces(primitive.shape, pose, near=scene.focus, reach_m=_REACH_M / 2)
        if is_blamed or np.linalg.norm(faces.reshape(-1, 3) - scene.focus, axis=1).min() < _REACH_M:
            # A wall in front of the camera would hide what the picture is about.
            role: Role = "second" if is_blamed else "obstacle"
            if primitive.shape.shape == "half_space":
                scene.frames.append((role, faces))
            else:
                scene.faces.append((role, split_quads(faces, _PART_M)))
    if world.voxels is not None:
        _add_voxels(scene, world, blamed)
    if world.points is not None and len(world.points.xyz):
        xyz = world.points.xyz
        near = _nearest(xyz, scene.focus, _POINTS_SHOWN_MAX)
        scene.points.append(("obstacle", xyz[near]))
        if (
            blamed is not None
            and violation.code != ViolationCode.keep_in_zone
            and blamed.startswith("point_")
        ):
            scene.points.append(("second", xyz[int(blamed.removeprefix("point_"))][None]))


def _add_voxels(scene: Scene, world: World, blamed: str | None) -> None:
    voxels = world.voxels
    assert voxels is not None
    layout = voxels.layout
    half = 0.5 * layout.resolution_m
    voxel = None
    if blamed is not None and blamed.startswith("voxel_"):
        voxel = int(blamed.removeprefix("voxel_"))
        scene.faces.append(
            ("second", voxel_faces(layout.centres_xyz(np.array([voxel])) - half, layout.resolution_m))
        )
    groups: list[tuple[Role, NDArray[np.bool_]]] = [("obstacle", voxels.is_occupied)]
    if blamed == "unseen space" and voxels.unknown == "occupied":
        groups.append(("unknown", voxels.is_unknown))
    for role, chosen in groups:
        voxel_indices = np.flatnonzero(chosen)
        voxel_indices = voxel_indices[voxel_indices != voxel] if voxel is not None else voxel_indices
        centres = layout.centres_xyz(voxel_indices)
        near = _nearest(centres, scene.focus, _VOXELS_SHOWN_MAX)
        scene.faces.append((role, voxel_faces(centres[near] - half, layout.resolution_m)))


def _nearest(xyz: Float64, focus: Float64, count_max: int) -> NDArray[np.intp]:
    away = np.linalg.norm(xyz - focus, axis=1)
    near = np.flatnonzero(away < _REACH_M)
    return near if len(near) <= count_max else near[np.argpartition(away[near], count_max)[:count_max]]
