# SPDX-License-Identifier: Apache-2.0
"""Makes a world again from the messages that a recording keeps."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from lastgate import _core
from lastgate.contracts import RobotFrames, ROSConfigError, WorldCollisionPrimitive
from lastgate.world import Points, Voxels, World


def recorded_world(parts: Sequence[tuple[int, bytes]], *, frames: RobotFrames, snapshot_id: int) -> World:
    """Returns the world that these messages made.

    Checks see what the kernel's own code makes of the messages, under the number it had then. Names and pictures come
    from what Python can read of them; an occupancy map is checked against and not shown.

    Raises:
        ROSConfigError: The messages are no world.
    """
    made = _core.world_of_messages(
        [(_core.MessageType(kind), payload) for kind, payload in parts],
        base_frame=frames.base,
        id=snapshot_id,
        root_frame=frames.root,
        root_in_base_xyzrpy=list(frames.root_in_base_xyz_rpy),
    )
    if made is None:
        raise ROSConfigError("the messages of a recorded world cannot be read")
    fields = _shown_fields(parts)
    world = World(world_id=made.world_id, **fields)
    if frames.is_root(world.frame_id) and not world.turn_problem(frames):
        world = world.moved_into_base(frames)
    world.number = snapshot_id
    world.native = made.native
    return world


def _shown_fields(parts: Sequence[tuple[int, bytes]]) -> dict[str, Any]:
    fields: dict[str, Any] = {"stamp_s": 0.0, "primitives": []}
    for kind, payload in parts:
        if kind == _core.MessageType.world_snapshot:
            fields |= _snapshot_fields(payload)
        elif kind == _core.MessageType.occupancy_voxels:
            fields["voxels"] = _wire_voxels(payload)
        elif kind == _core.MessageType.world_collision:
            fields["primitives"] = _wire_obstacles(payload)
    return fields


def _snapshot_fields(payload: bytes) -> dict[str, Any]:
    told = _core.decode_world_snapshot(payload)
    if told is None:
        raise ROSConfigError("the snapshot of a recorded world cannot be read")
    sizes, poses = np.reshape(told.sizes_m, (-1, 3)), np.reshape(told.poses, (-1, 7))
    obstacles = [
        WorldCollisionPrimitive.model_validate(
            {
                "shape": _shape_of(kind, size.tolist()),
                "pose": {"xyz": pose[:3].tolist(), "quat_xyzw": pose[3:].tolist()},
                "object_id": name or None,
            }
        )
        for kind, size, pose, name in zip(told.kinds, sizes, poses, told.object_id, strict=True)
    ]
    fields: dict[str, Any] = {
        "stamp_s": told.stamp_s,
        "frame_id": told.frame_id,
        "static_lasts_s": told.static_lasts_s,
        "primitives": obstacles[: told.obstacle_count],
        "zones": [
            {"name": zone.object_id, "shape": zone.shape, "pose": zone.pose}
            for zone in obstacles[told.obstacle_count :]
        ],
    }
    fields["zones"] = [_zone(zone) for zone in fields["zones"]]
    if told.has_points:
        xyz = np.frombuffer(told.points, np.float64).reshape(-1, 3)
        fields["points"] = Points(xyz=xyz, stamp_s=told.points_stamp_s, declared_empty=not len(xyz))
    if told.has_voxels:
        x, y, z = told.size_xyz
        fields["voxels"] = Voxels(
            occupancy=np.frombuffer(told.occupancy, np.uint8).reshape(z, y, x),
            origin_xyz=told.origin_xyz,
            resolution_m=told.resolution_m,
            stamp_s=told.voxels_stamp_s,
            unknown="free" if told.unknown_is_free else "occupied",
            outside="free" if told.outside_is_free else "occupied",
        )
    return fields


def _zone(fields: dict[str, Any]) -> Any:
    from lastgate.contracts import Zone

    return Zone.model_validate(fields)


def _shape_of(kind: int, size: list[float]) -> dict[str, Any]:
    # The inverse of `shape_size_m`: doubling is exact.
    name = _core.PrimitiveKind(kind).name
    first, second, third = size
    match name:
        case "sphere":
            return {"shape": name, "radius_m": first}
        case "capsule" | "cylinder":
            return {"shape": name, "radius_m": first, "length_m": 2.0 * second}
        case "box":
            return {"shape": name, "size_xyz_m": (2.0 * first, 2.0 * second, 2.0 * third)}
    return {"shape": name}


def _wire_obstacles(payload: bytes) -> list[WorldCollisionPrimitive]:
    from lastgate.tools.telemetry.recording_messages import decode_message

    told = decode_message("WorldCollision", payload)
    made = []
    for index, name in enumerate(told.object_id):
        x, y, z, roll, pitch, yaw = told.origin_xyzrpy[6 * index : 6 * index + 6].tolist()
        radius_m, half_m = float(told.radius[index]), float(told.half_length[index])
        shape = {"shape": "capsule", "radius_m": radius_m, "length_m": 2.0 * half_m}
        try:
            made.append(
                WorldCollisionPrimitive.model_validate(
                    {
                        "shape": shape if half_m else {"shape": "sphere", "radius_m": radius_m},
                        "pose": {"xyz": (x, y, z), "quat_xyzw": _quaternion(roll, pitch, yaw)},
                        "object_id": name or None,
                    }
                )
            )
        except ValueError:
            return []  # the kernel could not use it either; there is nothing to show
    return made


def _quaternion(roll: float, pitch: float, yaw: float) -> tuple[float, float, float, float]:
    half = np.array([roll, pitch, yaw]) / 2.0
    (cr, cp, cy), (sr, sp, sy) = np.cos(half), np.sin(half)
    return (
        float(sr * cp * cy - cr * sp * sy),
        float(cr * sp * cy + sr * cp * sy),
        float(cr * cp * sy - sr * sp * cy),
        float(cr * cp * cy + sr * sp * sy),
    )


def _wire_voxels(payload: bytes) -> Voxels | None:
    from lastgate.tools.telemetry.recording_messages import decode_message

    told = decode_message("OccupancyVoxels", payload)
    try:
        return Voxels.from_message(
            told.occupancy,
            size_x=told.size_x,
            size_y=told.size_y,
            size_z=told.size_z,
            origin_xyz=(told.origin.x, told.origin.y, told.origin.z),
            resolution_m=told.resolution,
            stamp_s=told.header.stamp.sec + 1e-9 * told.header.stamp.nanosec,
        )
    except ROSConfigError:
        return None
