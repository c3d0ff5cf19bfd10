# SPDX-License-Identifier: Apache-2.0
"""Robot and surroundings as one still view that turns: before anything runs, or where a chunk was rejected."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from lastgate.contracts import BoxShape, JointSpec, Pose6D, RobotDescription, WorldShape, find_violation
from lastgate.contracts.action import ActionChunk, RobotState
from lastgate.contracts.arrays import Float64
from lastgate.contracts.shapes import AttachableShape, HullShape
from lastgate.gate import Gate
from lastgate.gate.verdict import Verdict
from lastgate.robots.kernel_config import shape_size_m
from lastgate.tools.dashboard.link_meshes import link_meshes
from lastgate.tools.dashboard.robot_scene import RobotScene
from lastgate.tools.dashboard.world_view import LABEL_CHARACTERS_MAX, WorldView
from lastgate.tools.telemetry.moment import moment_of, shown_path
from lastgate.world import NoWorld, World
from lastgate.world.rigid_motion import composed, motion_of_xyz_rpy, pose_of_motion

# A slider through more steps than this jumps from one to the next; every step of a usual chunk is there.
STEPS_SHOWN_MAX = 128


class StillScene:
    """Makes the scenes of one robot; what does not change is read once.

    Args:
        gate: Used for kinematics and verdicts; it must be the one that the verdicts came from.
        manifest_dir: Where the manifest lies; None shows no meshes.
    """

    def __init__(self, gate: Gate, *, manifest_dir: Path | None) -> None:
        self.gate = gate
        self._scene = RobotScene(gate.robot, gate=gate)
        self._meshes, self._mesh_note = link_meshes(gate.robot, manifest_dir, self._scene.link_names)

    def standing(
        self, state: RobotState, world: World | NoWorld, *, notes: Sequence[str] = (), now_s: float
    ) -> dict[str, Any]:
        """Returns the robot at a state, with the verdict of the gate about staying there."""
        verdict = self.gate.check(
            ActionChunk(state.positions[np.newaxis].copy()), state=state, world=world, now_s=now_s
        )
        fingers = state.gripper_positions
        path = self.gate.as_path(
            state.positions[np.newaxis], gripper_positions=None if fingers is None else fingers[np.newaxis]
        )
        return {
            **self._still(path[0], world, notes=notes),
            "title": self.gate.robot.name,
            "subject": "standing here",
            "verdict": _verdict_json(verdict),
            "candidate": self._candidate(verdict, np.vstack([path, path])),
            "joints": [
                _joint_json(joint, position)
                for joint, position in zip(self._joints(), state.positions.tolist(), strict=True)
            ],
        }

    def checked(
        self, verdict: Verdict, *, chunk: ActionChunk, state: RobotState | None, world: World | NoWorld | None
    ) -> dict[str, Any]:
        """Returns a chunk that was checked: where it was rejected or where it ends, and every step on the way."""
        path = shown_path(self.gate, verdict, chunk=chunk, state=state)
        moment = path[-1] if verdict.accepted else moment_of(verdict.violations[0], path)
        chosen = np.unique(np.linspace(0, len(path) - 1, min(len(path), STEPS_SHOWN_MAX)).round().astype(int))
        volumes, poses = self._scene.along(path[chosen])
        evidence = None if verdict.accepted else verdict.violations[0].evidence().model_dump(mode="json")
        return {
            **self._still(moment, world, notes=()),
            "title": self.gate.robot.name,
            "subject": f"{len(chunk.rows)} steps",
            "verdict": _verdict_json(verdict),
            "candidate": self._candidate(verdict, path),
            "evidence": evidence,
            # Row 0 of a path is the measured state.
            "steps": {"numbers": (chosen - 1).tolist(), "volumes": volumes, "link_poses": poses},
        }

    def _still(self, row: Float64, world: World | NoWorld | None, *, notes: Sequence[str]) -> dict[str, Any]:
        volumes, poses = self._scene.along(row[np.newaxis])
        turned = self.gate.world_in_base(world)
        view = None if turned is None else WorldView.of_world(turned)
        said = [*notes, *([self._mesh_note] if self._mesh_note else [])]
        if view is None or view.declared_absent:
            said.append("no world: obstacles are not shown and were not checked")
        return {
            "robot": self._scene.volumes_json(),
            "volumes": volumes[0],
            "link_poses": poses[0],
            "meshes": self._meshes,
            "obstacles": [*self._attached(row), *([] if view is None else view.obstacles_json())],
            "cloud": {"points": None, "cells": None} if view is None else view.cloud_json(),
            "zones": zones_json(self.gate.robot, self.gate),
            "margin_m": self.gate.robot.safety.world_collision_margin_m,
            "notes": said,
        }

    def _attached(self, row: Float64) -> list[dict[str, Any]]:
        poses = self.gate.link_poses_on_path(row[np.newaxis])
        shown = []
        for held in self.gate.attached:
            placed = composed(poses[held.link][0], motion_of_xyz_rpy(held.origin_xyz_rpy))
            shape, in_place = _drawn(held.shape)
            label = held.object_id[:LABEL_CHARACTERS_MAX]
            shown.append({**_shape_json(shape, pose_of_motion(composed(placed, in_place))), "label": label})
        return shown

    def _candidate(self, verdict: Verdict, path: Float64) -> dict[str, Any]:
        violation = None if verdict.accepted else verdict.violations[0]
        shown = self._scene.path_json(path, violation)
        # The robot itself stands where an accepted chunk ends.
        ghost = None if violation is None else shown["ghost"]
        return {**shown, "ghost": ghost, "verdict": "accepted" if violation is None else str(violation.code)}

    def _joints(self) -> list[JointSpec]:
        named = {joint.name: joint for joint in self.gate.robot.joints}
        return [named[name] for name in self.gate.joint_names]


def middle_of_ranges(gate: Gate) -> Float64:
    """Returns every joint in the middle of its range, or at zero where it turns without end."""
    named = {joint.name: joint for joint in gate.robot.joints}
    limits = [named[name].position_limits for name in gate.joint_names]
    return np.array([0.0 if limit is None else 0.5 * (limit[0] + limit[1]) for limit in limits])


def zones_json(robot: RobotDescription, gate: Gate) -> list[dict[str, Any]]:
    """Returns the zones of a manifest and its workspace box, as the page draws them."""
    safety = robot.safety
    shown = []
    for role, zones in (("keep_out", safety.no_go_zones), ("keep_in", safety.keep_in_zones)):
        for zone in zones:
            pose = gate.frames.pose_in_base(zone.pose)
            shown.append({**_shape_json(zone.shape, pose), "label": zone.name, "role": role})
    if safety.workspace_box_min_xyz is not None and safety.workspace_box_max_xyz is not None:
        low, high = np.array(safety.workspace_box_min_xyz), np.array(safety.workspace_box_max_xyz)
        box, middle = BoxShape(size_xyz_m=tuple(high - low)), Pose6D(xyz=tuple(0.5 * (high + low)))
        shown.append({**_shape_json(box, middle), "label": "workspace of the tool", "role": "workspace"})
    return shown


def _verdict_json(verdict: Verdict) -> dict[str, Any]:
    not_checked = [flag.name.lower() for flag in verdict.unchecked if flag.name]
    if verdict.accepted:
        return {
            "accepted": True,
            "code": "accepted",
            "sentence": f"every checked pair keeps at least {verdict.min_clearance_m:.4f} m beyond its margin",
            "not_checked": not_checked,
        }
    violation = verdict.violations[0]
    return {
        "accepted": False,
        "code": str(violation.code),
        "sentence": violation.sentence(),
        "advice": find_violation(str(violation.code)).what_to_do,
        "not_checked": not_checked,
    }


def _joint_json(joint: JointSpec, position: float) -> dict[str, Any]:
    low, high = (None, None) if joint.position_limits is None else joint.position_limits
    return {
        "name": joint.name,
        "position": round(position, 4),
        "low": low,
        "high": high,
        "unit": "m" if joint.joint_type == "prismatic" else "rad",
    }


def _drawn(shape: AttachableShape) -> tuple[WorldShape, Float64]:
    """Returns what is drawn of an attached shape, and where in its frame: of a convex hull its box."""
    in_place = np.eye(3, 4)
    if not isinstance(shape, HullShape):
        return shape, in_place
    low, high = np.min(shape.vertices_m, axis=0), np.max(shape.vertices_m, axis=0)
    in_place[:3, 3] = 0.5 * (low + high)
    x, y, z = (float(edge) for edge in np.maximum(high - low, 1e-6))
    return BoxShape(size_xyz_m=(x, y, z)), in_place


def _shape_json(shape: WorldShape, pose: Pose6D) -> dict[str, Any]:
    return {
        "kind": shape.shape,
        "size_m": [round(number, 5) for number in shape_size_m(shape)],
        "xyz": [round(float(number), 5) for number in pose.xyz],
        "quat_xyzw": [round(float(number), 6) for number in pose.quat_xyzw],
    }
