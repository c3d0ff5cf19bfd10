# SPDX-License-Identifier: Apache-2.0
"""Promises about the numbers of a chunk, and about joints: limits of rows, positions, velocities, accelerations."""

from typing import TYPE_CHECKING

import numpy as np

from attack.kinematics import Array, rotation_about, rotation_of_quaternion, rotation_vector
from attack.motions import GRIPPER, Path
from attack.tools import tool_poses

if TYPE_CHECKING:
    from attack.oracle import Findings, Oracle

RECOVERY_SPEED_FACTOR = 0.25
# A Cartesian step that the arm cannot follow to this is rejected, and so it is reached this nearly.
REACHED_M = 0.01
REACHED_RAD = 0.1
JOINTS_FOR_ANY_POSE = 6


def _relative(value: float, limit: float | None) -> float:
    """Returns what is left of a limit, as a share of it."""
    if limit == 0.0:
        return -1.0
    return np.inf if limit is None or not np.isfinite(limit) else 1.0 - value / limit


def note_rows(oracle: "Oracle", found: "Findings") -> None:
    """What single steps may say: lengths, speeds, torques, channels."""
    rows = np.array(oracle.case["chunk"]["rows"], float)
    safety, mode = oracle.safety, oracle.mode
    factor = RECOVERY_SPEED_FACTOR if oracle.case["recovery"] else 1.0
    found.note("finite", 1.0 if np.isfinite(rows).all() else -1.0)
    if mode == "JOINT_TORQUE":
        left = 1.0 - np.abs(rows) / oracle.limits["effort"][oracle.tree.arm]
        found.note("torque", left.min())
    elif mode == "JOINT_VELOCITY":
        found.note("joint velocity", (1.0 - np.abs(rows) / oracle.limits["velocity"][oracle.tree.arm]).min())
    elif mode == "CARTESIAN_DELTA":
        found.note("Cartesian step", _relative(_longest(rows[:, :3]), safety.get("max_cartesian_step_m")))
        found.note("Cartesian turn", _relative(_longest(rows[:, 3:]), safety.get("max_cartesian_step_rad")))
    elif mode == "CARTESIAN_TWIST":
        found.note("commanded speed", _relative(_longest(rows[:, :3]), safety.get("max_ee_speed_m_s")))
        found.note(
            "commanded turn", _relative(_longest(rows[:, 3:]), safety.get("max_ee_angular_speed_rad_s"))
        )
    elif mode == "BODY_TWIST":
        # Zero where a limit is not declared: then the base may not move at all.
        speed = safety.get("max_base_linear_speed_m_s", 0.0)
        turn = safety.get("max_base_angular_speed_rad_s", 0.0)
        found.note("base speed", _relative(_longest(rows[:, :2]), factor * speed))
        found.note("base turn", _relative(float(np.abs(rows[:, 5]).max()), factor * turn))
        found.note("base leaves its plane", -float(np.abs(rows[:, 2:5]).max()))
    elif mode in GRIPPER:
        low, high = (0.0, 1.0) if mode == "GRIPPER_BINARY" else (safety["gripper_min"], safety["gripper_max"])
        found.note("gripper range", min(float(rows.min()) - low, high - float(rows.max())))


def _longest(vectors: Array) -> float:
    return float(np.linalg.norm(vectors, axis=1).max())


def note_path_limits(oracle: "Oracle", path: Path, found: "Findings") -> None:
    """Positions at every row, velocities and accelerations from row to row; the measured state was not commanded."""
    rows, limits = path.rows, oracle.limits
    moved = rows[1:] != rows[0]
    left = np.minimum(rows[1:] - limits["low"], limits["high"] - rows[1:])
    if moved.any():
        row, column = np.unravel_index(np.argmin(np.where(moved, left, np.inf)), left.shape)
        found.note("joint position", left[row, column], joint=oracle.tree.joints[column], step=int(row))
    if path.step_s is None or oracle.mode == "BODY_TWIST":
        return
    factor = RECOVERY_SPEED_FACTOR if oracle.case["recovery"] else 1.0
    velocity = np.diff(rows, axis=0) / path.step_s
    left = 1.0 - np.abs(velocity) / (factor * limits["velocity"])
    row, column = np.unravel_index(np.argmin(left), left.shape)
    found.note("joint velocity", left[row, column], joint=oracle.tree.joints[column], step=int(row))
    measured = oracle.case["state"].get("velocities")
    if measured is not None:
        start = np.zeros((1, rows.shape[1]))
        start[0, oracle.tree.arm] = measured
        velocity = np.concatenate([start, velocity])
    change = np.abs(np.diff(velocity, axis=0))[:, oracle.tree.arm] / path.step_s
    if change.size:
        left = 1.0 - change / limits["acceleration"][oracle.tree.arm]
        found.note("joint acceleration", left.min())


def note_set_limits(oracle: "Oracle", low: Array, high: Array, found: "Findings") -> None:
    """Where a motion is a set, every joint stays inside its limits wherever in the set it is."""
    columns = oracle.tree.arm if oracle.mode == "JOINT_TORQUE" else oracle.tree.fingers
    if not columns:
        return
    left = np.minimum(low - oracle.limits["low"], oracle.limits["high"] - high)[columns]
    worst = columns[int(np.argmin(left))]
    found.note("joint position", left.min(), joint=oracle.tree.joints[worst])


def note_reached(oracle: "Oracle", path: Path, found: "Findings") -> None:
    """The joint rows that were checked bring the tool where the chunk says, wherever its fingers may be."""
    chunk, tree = oracle.case["chunk"], oracle.tree
    ends = oracle.case["manifest"]["end_effectors"]
    end = next((end for end in ends if end["name"] == chunk["ee_name"]), ends[0])
    link = tree.links.index(end["link"])
    turns, points = tool_poses(oracle, end, *tree.place(path.rows))
    joints = sum(tree.column[joint] in tree.arm for joint in tree.chains[link])
    for number, row in enumerate(np.array(chunk["rows"], float)):
        if oracle.mode == "CARTESIAN_POSE":
            target_turn, target = rotation_of_quaternion(row[:4]), row[4:]
        else:
            scale = oracle.case["step_s"] if oracle.mode == "CARTESIAN_TWIST" else 1.0
            move, turn = scale * row[:3], scale * row[3:]
            if chunk.get("frame_id") == end["name"]:
                move, turn = turns[number] @ move, turns[number] @ turn
            target_turn, target = _turned(turn) @ turns[number], points[number] + move
        missed_m = float(np.linalg.norm(points[number + 1] - target))
        found.note("tool reaches the step", REACHED_M - missed_m, step=number, missed_m=missed_m)
        if joints >= JOINTS_FOR_ANY_POSE:
            missed = float(np.linalg.norm(rotation_vector(target_turn @ turns[number + 1].T)))
            found.note("tool turns with the step", REACHED_RAD - missed, step=number, missed_rad=missed)


def _turned(vector: Array) -> Array:
    angle = float(np.linalg.norm(vector))
    axis = vector / angle if angle > 0.0 else np.array([0.0, 0.0, 1.0])
    return rotation_about(axis, np.array([angle]))[0]
