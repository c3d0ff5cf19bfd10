# SPDX-License-Identifier: Apache-2.0
"""The motion that a chunk asks for, per control mode, as the documents define it.

Joint rows lead straight, in joint space, from the measured state from row to row. Velocities are integrated. A base
twist is constant over its step, so the base runs along an arc. Gripper commands move the fingers along their channel.
A Cartesian chunk runs along the joint rows that the verdict gives out; the oracle checks by itself that these rows
bring the tool where the chunk says. A torque, or a finger that was not measured, may be anywhere that its limits
allow: that is a set of configurations and not a path.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from attack.kinematics import Array, Tree

TIMED = (
    "JOINT_POSITION",
    "JOINT_VELOCITY",
    "JOINT_TRAJECTORY",
    "DEX_HAND_JOINT",
    "CARTESIAN_POSE",
    "CARTESIAN_DELTA",
    "CARTESIAN_TWIST",
)
GRIPPER = ("GRIPPER_BINARY", "GRIPPER_POSITION", "COMPOSITE_MODE")


@dataclass(frozen=True)
class Path:
    """A motion in segments: `rows` (R + 1, n) of every actuated joint, `twists` (R, 3) of the base where it drives.

    Attributes:
        step_s: Time of a segment; None where the motion has no timing of its own.
    """

    rows: Array
    step_s: float | None
    twists: Array | None = None

    @property
    def segments(self) -> int:
        return len(self.rows) - 1

    def at(self, segment: Array, share: Array) -> tuple[Array, Array | None]:
        """Returns configurations and base poses at shares (0 to 1) of segments (from 0)."""
        q = self.rows[segment] + share[:, None] * (self.rows[segment + 1] - self.rows[segment])
        if self.twists is None:
            return q, None
        starts = self.bases()
        assert self.step_s is not None
        return q, driven(starts[segment], self.twists[segment], self.step_s * share)

    def bases(self) -> Array:
        """Returns the base pose (x, y, yaw) at the start and at the end of every segment."""
        assert self.twists is not None
        assert self.step_s is not None
        poses = [np.zeros((1, 3))]
        for twist in self.twists:
            poses.append(driven(poses[-1], twist[None], np.array([self.step_s])))
        return np.concatenate(poses)

    def rates(self, segment: Array) -> Array:
        """Returns the joint velocities within segments."""
        assert self.step_s is not None
        return (self.rows[segment + 1] - self.rows[segment]) / self.step_s


def driven(start: Array, twist: Array, seconds: Array) -> Array:
    """Returns the pose after a constant body twist (vx, vy, yaw rate), in closed form."""
    turn = twist[:, 2] * seconds
    # sin(a)/a and (1 - cos(a))/a by half angles, without cancellation.
    half = 0.5 * turn
    shrink = np.sinc(half / np.pi)
    along, across = twist[:, 0] * seconds * shrink, twist[:, 1] * seconds * shrink
    heading = start[:, 2] + half
    x = start[:, 0] + np.cos(heading) * along - np.sin(heading) * across
    y = start[:, 1] + np.sin(heading) * along + np.cos(heading) * across
    return np.column_stack([x, y, start[:, 2] + turn])


def finger_range(tree: Tree, column: int) -> tuple[float, float]:
    name = tree.joints[column]
    joint = next(joint for joint in tree.manifest["joints"] if joint["name"] == name)
    low, high = joint.get("position_limits") or (-1.0e4, 1.0e4)
    for follower in tree.manifest["joints"]:
        mimic, limits = follower.get("mimic"), follower.get("position_limits")
        if not mimic or mimic["joint"] != name or limits is None:
            continue
        ends = sorted((limit - mimic.get("offset", 0.0)) / mimic["multiplier"] for limit in limits)
        low, high = max(low, ends[0]), min(high, ends[1])
    return float(low), float(high)


def starts_of(case: dict[str, Any], tree: Tree, rng: np.random.Generator) -> list[Array]:
    """Returns the configurations that the measured state leaves open: several where fingers were not measured."""
    q = np.zeros(len(tree.joints))
    q[tree.arm] = case["state"]["positions"]
    measured = case["state"].get("gripper_positions")
    if measured is not None or not tree.fingers:
        q[tree.fingers] = measured or []
        return [q]
    ranges = np.array([finger_range(tree, column) for column in tree.fingers])
    found = []
    for share in (
        np.zeros(len(ranges)),
        np.ones(len(ranges)),
        np.full(len(ranges), 0.5),
        rng.random(len(ranges)),
    ):
        placed = q.copy()
        placed[tree.fingers] = ranges[:, 0] + share * (ranges[:, 1] - ranges[:, 0])
        found.append(placed)
    return found


def _gripper_rows(case: dict[str, Any], tree: Tree, start: Array) -> list[Array]:
    """Returns the targets of a gripper chunk, one configuration per step; a binary command may mean either end."""
    chunk, manifest = case["chunk"], case["manifest"]
    ends = manifest.get("end_effectors", ())
    named = [end for end in ends if end["name"] == chunk["ee_name"]] or list(ends[:1])
    gripper = named[0].get("gripper") if named else None
    rows = []
    for row in chunk["rows"]:
        for share in (0.0, 1.0) if chunk["mode"] == "GRIPPER_BINARY" else (None,):
            target = (rows[-1] if rows else start).copy()
            for finger in (gripper or {"joints": ()})["joints"]:
                closed, opened = gripper["channel_closed"], gripper["channel_open"]
                part = (row[0] - closed) / (opened - closed) if share is None else share
                low, high = finger["position_closed"], finger["position_open"]
                target[tree.joints.index(finger["name"])] = low + part * (high - low)
            rows.append(target)
    return rows


def paths_of(
    case: dict[str, Any], tree: Tree, joint_rows: Array | None, rng: np.random.Generator
) -> list[Path]:
    """Returns every path that the chunk may mean; none in JOINT_TORQUE, whose motion is a set.

    Args:
        joint_rows: What an accepted Cartesian chunk was resolved to, (R, arm joints).
    """
    chunk, step_s = case["chunk"], case["step_s"]
    mode = chunk["mode"]
    if mode == "JOINT_TORQUE":
        return []
    found = []
    for start in starts_of(case, tree, rng):
        count = len(chunk["rows"])
        if mode == "BODY_TWIST":
            twists = np.array(chunk["rows"], float)[:, [0, 1, 5]]
            found.append(Path(np.repeat(start[None], count + 1, axis=0), step_s, twists))
            continue
        if mode in GRIPPER:
            rows = np.array([start, *_gripper_rows(case, tree, start)])
            if mode == "GRIPPER_BINARY":  # from where they are straight to either end
                found += [Path(rows[[0, 1]], None), Path(rows[[0, 2]], None)] if len(rows) > 2 else []
            else:
                found.append(Path(rows, None))
            continue
        rows = np.repeat(start[None], count + 1, axis=0)
        given = np.array(chunk["rows"], float)
        if mode == "JOINT_VELOCITY":
            rows[1:, tree.arm] += step_s * np.cumsum(given, axis=0)
        elif mode.startswith("CARTESIAN"):
            assert joint_rows is not None
            rows[1:, tree.arm] = joint_rows
        else:
            rows[1:, tree.arm] = given
        found.append(Path(rows, step_s))
    return found


def reachable_box(case: dict[str, Any], tree: Tree, limits: dict[str, Array]) -> tuple[Array, Array] | None:
    """Returns the lowest and highest positions of every joint where the motion is a set: torques, fingers not measured.

    A joint under torque moves at up to its velocity limit, and at its measured velocity where that is higher.
    """
    mode = case["chunk"]["mode"]
    rng = np.random.default_rng(0)
    start = starts_of(case, tree, rng)[0]
    low, high = start.copy(), start.copy()
    unmeasured = case["state"].get("gripper_positions") is None
    for column in tree.fingers:
        bottom, top = finger_range(tree, column)
        if mode == "JOINT_TORQUE" or (mode in GRIPPER and unmeasured):
            low[column] = bottom if unmeasured else min(bottom, low[column])
            high[column] = top if unmeasured else max(top, high[column])
    if mode == "JOINT_TORQUE":
        seconds = case["step_s"] * len(case["chunk"]["rows"])
        reach = limits["velocity"][tree.arm] * seconds
        measured = case["state"].get("velocities")
        drift = np.zeros(len(tree.arm)) if measured is None else np.array(measured, float) * seconds
        low[tree.arm] -= np.maximum(reach, -drift)
        high[tree.arm] += np.maximum(reach, drift)
        return low, high
    if mode in GRIPPER and unmeasured and tree.fingers:
        for target in _gripper_rows(case, tree, start):
            moved = np.array([target[column] != start[column] for column in range(len(target))])
            low[moved] = np.minimum(low, target)[moved]
            high[moved] = np.maximum(high, target)[moved]
        return low, high
    return None
