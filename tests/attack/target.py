# SPDX-License-Identifier: Apache-2.0
"""The one module that knows `lastgate`: turns a case, which is JSON, into its public API."""

from dataclasses import dataclass
from typing import Any

import numpy as np

import lastgate as lg
from attack.oracle import NOW_S

# Public, but reached by no shorter name.
from lastgate.contracts.convex_hulls import ConvexHullsFile, LinkHull
from lastgate.world.freshness import StampedTransform


@dataclass(frozen=True)
class Answer:
    """What the gate said: accepted, or the code; and the joint rows that an accepted Cartesian chunk runs along."""

    accepted: bool
    code: str
    joint_rows: np.ndarray | None


class Unbuildable(Exception):
    """The case is refused before any verdict: the generator made something that the schemas do not take."""


def world_of(world: dict[str, Any] | None) -> Any:
    if world is None:
        return lg.NO_WORLD
    voxels, floor = world.get("voxels"), world.get("floor_map")
    points = world.get("points")
    return lg.World(
        primitives=None
        if world.get("primitives") is None
        else [lg.WorldCollisionPrimitive(**thing) for thing in world["primitives"]],
        zones=[lg.Zone(**zone) for zone in world.get("zones", ())],
        points=None
        if points is None
        else lg.Points(xyz=np.array(points, float).reshape(-1, 3), stamp_s=NOW_S),
        voxels=None
        if voxels is None
        else lg.Voxels(
            **{**voxels, "occupancy": np.array(voxels["occupancy"], dtype=np.uint8)}, stamp_s=NOW_S
        ),
        floor_map=None if floor is None else _floor_map(floor),
        stamp_s=NOW_S,
        frame_id="",
    )


def _floor_map(floor: dict[str, Any]) -> Any:
    grid = lg.OccupancyGridIndex(
        np.array(floor["data"], dtype=np.int8),
        floor["resolution_m"],
        floor["origin_xy"],
        floor["origin_yaw"],
        stamp_s=NOW_S,
    )
    placed = StampedTransform.of(
        np.array(floor["map_in_base"], float), parent_frame="", child_frame="map", stamp_s=NOW_S
    )
    return lg.FloorMap(grid=grid, map_in_base=placed, height_m=tuple(floor["height_m"]), age_s_max=10.0)


def gate_of(case: dict[str, Any]) -> lg.Gate:
    """Returns the gate of a case, with everything attached; a manifest that is refused raises `Unbuildable`."""
    parts = case.get("hulls")
    manifest = case["manifest"]
    try:
        if parts:
            named = ConvexHullsFile(file="convex_pieces.txt", sha256="0" * 64)
            robot = lg.RobotDescription(**manifest, convex_pieces=named).with_loaded_hulls(
                tuple(
                    LinkHull(
                        link_name=part["link_name"],
                        radius_m=part["radius_m"],
                        vertices_m=tuple(tuple(vertex) for vertex in part["vertices_m"]),
                    )
                    for part in parts
                )
            )
        else:
            robot = lg.RobotDescription(**manifest)
        gate = lg.Gate(robot, step_s=case["step_s"])
    except (lg.ROSConfigError, ValueError) as error:
        raise Unbuildable(str(error)) from None
    for held in case.get("attachments", ()):
        shape = lg.SphereShape if held["shape"]["shape"] == "sphere" else lg.CapsuleShape
        gate.attach(
            held["link"],
            shape(**held["shape"]),
            object_id=held["object_id"],
            origin_xyz_rpy=held["origin_xyz_rpy"],
            touch_links=held["touch_links"],
        )
    return gate


def verdict_of(case: dict[str, Any]) -> lg.Verdict:
    """Returns the gate's verdict about a case."""
    gate = gate_of(case)
    chunk, state = case["chunk"], case["state"]
    return gate.check(
        lg.ActionChunk(
            np.array(chunk["rows"], float),
            mode=lg.ControlMode[chunk["mode"]],
            ee_name=chunk.get("ee_name", ""),
            frame_id=chunk.get("frame_id", ""),
        ),
        state=lg.RobotState(
            positions=state["positions"],
            velocities=state.get("velocities"),
            gripper_positions=state.get("gripper_positions"),
            stamp_s=NOW_S,
        ),
        world=world_of(case["world"]),
        now_s=NOW_S,
        recovery=case["recovery"],
        declared_contacts=[lg.DeclaredContact(**contact) for contact in case.get("contacts", ())],
    )


def ask(case: dict[str, Any]) -> Answer:
    """Asks the gate about a case."""
    verdict = verdict_of(case)
    if not verdict.accepted:
        return Answer(False, str(verdict.violations[0].code), None)
    return Answer(True, "", np.array(verdict.joint_rows))
