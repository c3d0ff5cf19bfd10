# SPDX-License-Identifier: Apache-2.0
"""Grasp and release: an object leaves the world and becomes part of the robot in one step, and back."""

from collections.abc import Sequence
from itertools import combinations
from typing import Protocol

import numpy as np

from lastgate import _core
from lastgate.contracts import (
    HalfSpaceShape,
    HullShape,
    Pose6D,
    RobotDescription,
    ROSConfigError,
    SphereShape,
    WorldCollisionPrimitive,
)
from lastgate.contracts.action import RobotState
from lastgate.contracts.arrays import Float64, require_number
from lastgate.contracts.attached_shape import AttachedShape
from lastgate.contracts.shapes import AttachableShape
from lastgate.gate.gate import Gate
from lastgate.robots.attached_solid import native_shape
from lastgate.world import World
from lastgate.world.rigid_motion import (
    composed,
    inverse,
    motion_of_xyz_rpy,
    moved,
    pose_of_motion,
    require_rigid_motion,
    xyz_rpy_of_motion,
)

# How far a finger may seem to be from what it holds: what a camera and a calibration are off by.
TOUCH_M = 0.005
# Fingers hold from opposite sides: the directions from them to the object are at least this far apart, as a cosine.
OPPOSITE_COSINE = -0.5
# A disc is read as a polygon outside it when fingers are compared with it: half a per cent too wide.
_SIDES = 32

Convex = tuple[Float64, float]


class Kernel(Protocol):
    """A kernel that must know what a gate of this process knows: `KernelClient`."""

    def attach(
        self,
        link: str,
        shape: AttachableShape,
        *,
        object_id: str,
        origin_xyz_rpy: Sequence[float] = ...,
        touch_links: Sequence[str] = ...,
    ) -> None: ...
    def detach(self, object_id: str) -> None: ...
    def publish_world(self, world: World) -> None: ...


def grasp(
    gate: Gate,
    world: World,
    object_id: str,
    *,
    state: RobotState,
    end_effector: str | None = None,
    touch_m: float = TOUCH_M,
    kernel: Kernel | None = None,
) -> World:
    """Attaches an object that lies between the fingers, and returns the world without it.

    The object is looked at, not believed: two fingers must each be within `touch_m` of it, from opposite sides, at
    the measured positions of the gripper. Whatever fails raises; then nothing is attached and the world is as it was.

    Args:
        gate: Holds the object from now on.
        world: In the robot's base frame; the object is one of its obstacles.
        state: With measured `gripper_positions`: what is not measured holds nothing.
        end_effector: Which hand; may be left out where there is one gripper.
        kernel: Holds it too, and then gets the world without it. A chunk that another program hands in between finds
            the object twice and is rejected; none ever misses it.

    Raises:
        ROSConfigError: No such obstacle or gripper, no measured gripper, or the object is not between the fingers.
    """
    shape, pose = _obstacle(world, object_id)
    hand, fingers = _fingers(gate.robot, end_effector)
    if state.gripper_positions is None:
        raise ROSConfigError(
            f"`{object_id}` cannot be grasped: the state has no gripper_positions, so where the fingers are is unknown"
        )
    poses = gate.link_poses(state.positions, gripper_positions=state.gripper_positions)
    placed = require_rigid_motion(pose, name="pose")
    body = _convex(shape, placed)
    limit_m = require_number(touch_m, name="touch_m")
    _require_between(gate.robot, object_id, body, fingers, poses, touch_m=limit_m)
    in_hand = composed(inverse(poses[hand]), placed)
    rest = world.without([object_id])
    for target in (gate,) if kernel is None else (gate, kernel):
        try:
            target.attach(
                hand,
                shape,
                object_id=object_id,
                origin_xyz_rpy=xyz_rpy_of_motion(in_hand),
                touch_links=[link for link in fingers if link != hand],
            )
        except ROSConfigError:
            if target is kernel:
                gate.detach(object_id)
            raise
    if kernel is not None:
        kernel.publish_world(rest)
    return rest


def release(
    gate: Gate,
    world: World,
    object_id: str,
    *,
    state: RobotState,
    stamp_s: float,
    kernel: Kernel | None = None,
) -> World:
    """Detaches an object and returns the world with it where the hand leaves it, stamped `stamp_s`.

    A kernel gets that world first and detaches afterwards: a chunk in between finds the object twice, none misses it.

    Raises:
        ROSConfigError: It is not attached, or is in the world already.
    """
    found = [held for held in gate.attached if held.object_id == object_id]
    if not found:
        raise ROSConfigError(f"`{object_id}` is not attached, so it cannot be released")
    if world.indices_of([object_id]):
        raise ROSConfigError(f"`{object_id}` is in the world already: it would be there twice")
    placed = [
        WorldCollisionPrimitive(shape=held.shape, pose=_placed(gate, held, state), object_id=object_id)
        for held in found
        if not isinstance(held.shape, HullShape)
    ]
    if len(placed) != len(found):
        raise ROSConfigError(
            f"`{object_id}` is a hull, which no world can hold: detach it and add what was seen"
        )
    after = world.with_obstacles(placed, stamp_s=stamp_s)
    if kernel is not None:
        kernel.publish_world(after)
        kernel.detach(object_id)
    gate.detach(object_id)
    return after


def pose_of_held(gate: Gate, object_id: str, state: RobotState) -> Pose6D:
    """Returns where an attached object is in the base frame, at a measured state; an unknown one raises."""
    held = next((one for one in gate.attached if one.object_id == object_id), None)
    if held is None:
        raise ROSConfigError(f"`{object_id}` is not attached")
    return _placed(gate, held, state)


def _placed(gate: Gate, held: AttachedShape, state: RobotState) -> Pose6D:
    poses = gate.link_poses(state.positions, gripper_positions=state.gripper_positions)
    return pose_of_motion(composed(poses[held.link], motion_of_xyz_rpy(held.origin_xyz_rpy)))


def _obstacle(world: World, object_id: str) -> tuple[AttachableShape, Pose6D]:
    indices = world.indices_of([object_id])
    if len(indices) != 1:
        raise ROSConfigError(
            f"`{object_id}` cannot be grasped: the world has {len(indices)} obstacles of that name"
        )
    obstacle = world.primitives[indices[0]]
    if isinstance(obstacle.shape, HalfSpaceShape):
        raise ROSConfigError(f"`{object_id}` is a half-space, which no hand can hold")
    return obstacle.shape, obstacle.pose


def _fingers(robot: RobotDescription, end_effector: str | None) -> tuple[str, list[str]]:
    """Returns the link that carries the fingers, and the fingers; a hand with one jaw is the other finger itself."""
    ends = [end for end in robot.end_effectors if end.gripper and end_effector in (None, end.name)]
    if len(ends) != 1 or ends[0].gripper is None:
        known = [end.name for end in robot.end_effectors if end.gripper]
        raise ROSConfigError(
            f"end_effector must name one gripper of `{robot.name}`: {', '.join(known) or 'it has none'}"
        )
    driven = {joint.name for joint in ends[0].gripper.joints}
    moving = [
        joint
        for joint in robot.joints
        if joint.name in driven or (joint.mimic and joint.mimic.joint in driven)
    ]
    hand = moving[0].parent_link
    fingers = [joint.child_link for joint in moving]
    return hand, fingers if len(fingers) > 1 else [hand, *fingers]


def _require_between(
    robot: RobotDescription,
    object_id: str,
    body: Convex,
    fingers: Sequence[str],
    poses: dict[str, Float64],
    *,
    touch_m: float,
) -> None:
    near: list[tuple[str, Float64]] = []
    for finger in fingers:
        touching = [
            direction
            for part in _parts(robot, finger, poses[finger])
            for distance_m, direction in [_apart(part, body)]
            if distance_m <= touch_m
        ]
        if not touching:
            raise ROSConfigError(
                f"`{object_id}` is not between the fingers: `{finger}` is more than {1e3 * touch_m:g} mm "
                "from it"
            )
        near += [(finger, direction) for direction in touching]
    opposed = any(
        one[0] != other[0] and float(one[1] @ other[1]) <= OPPOSITE_COSINE
        for one, other in combinations(near, 2)
    )
    if not opposed:
        raise ROSConfigError(
            f"`{object_id}` is not between the fingers: "
            f"{', '.join(f'`{name}`' for name in fingers)} are on the same side of it"
        )


def _apart(part: Convex, body: Convex) -> tuple[float, Float64]:
    """Returns a distance that is never above the true one, and the direction from a finger to the object."""
    distance_m, direction = _core.signed_distance(part[0], part[1], body[0], body[1])
    return float(distance_m), np.array(direction)


def _parts(robot: RobotDescription, link: str, pose: Float64) -> list[Convex]:
    """Returns what a link is made of: its convex hulls or, without any, its volumes."""
    hulls = [
        (np.array(hull.vertices_m), hull.radius_m) for hull in robot.loaded_hulls if hull.link_name == link
    ]
    parts = hulls or [
        (native.ends_m.reshape(2, 3), native.radius_m)
        for volume in robot.collision_geometry
        if volume.link_name == link
        for native in [native_shape(volume.shape, volume.origin_xyz_rpy)]
    ]
    return [(np.ascontiguousarray(moved(vertices, pose)), radius_m) for vertices, radius_m in parts]


def _convex(shape: AttachableShape, pose: Float64) -> Convex:
    native = native_shape(shape, (0.0,) * 6)
    if native.solid is None:
        ends = native.ends_m.reshape(2, 3)[: 1 if isinstance(shape, SphereShape) else 2]
        return np.ascontiguousarray(moved(ends, pose)), native.radius_m
    _, disc_m, vertices = native.solid
    if disc_m > 0.0:
        angle = 2.0 * np.pi * np.arange(_SIDES) / _SIDES
        ring = (
            np.column_stack([np.cos(angle), np.sin(angle), np.zeros(_SIDES)])
            * disc_m
            / np.cos(np.pi / _SIDES)
        )
        vertices = (vertices[:, None] + ring).reshape(-1, 3)
    return np.ascontiguousarray(moved(vertices, pose)), 0.0
