# SPDX-License-Identifier: Apache-2.0
"""Random motions in every control mode, and the joint path by which worlds are aimed at them."""

from typing import Any

import numpy as np

from attack.kinematics import Array, Tree, quaternion_of_rotation, rotation_of_rpy, rotation_vector
from attack.limits import joint_limits
from attack.motions import TIMED, finger_range
from attack.robots import rounded


def random_start(case: dict[str, Any], tree: Tree, rng: np.random.Generator) -> Array:
    """Returns a configuration inside all limits."""
    q = np.zeros(len(tree.joints))
    for column in range(len(q)):
        low, high = finger_range(tree, column)
        low, high = max(low, -2.5), min(high, 2.5)
        q[column] = rng.uniform(low + 0.1 * (high - low), high - 0.1 * (high - low))
    return np.round(q, 5)


def joint_walk(case: dict[str, Any], tree: Tree, start: Array, rng: np.random.Generator) -> Array:
    """Returns rows (R, n) from a start: straight on, to and fro, or at random, up to a little above the speed limit."""
    limits = joint_limits(case, tree)
    count = int(rng.choice([1, 2, 3, 5, 8], p=[0.2, 0.25, 0.25, 0.2, 0.1]))
    speed = np.exp(rng.uniform(np.log(0.02), np.log(1.0))) * (0.25 if case["recovery"] else 1.0)
    if case["is_plain"]:
        speed = min(speed, 0.3)
    elif rng.random() < 0.04:
        speed *= 1.3
    reach = speed * limits["velocity"] * case["step_s"]
    shape = rng.random()
    heading = rng.uniform(-1.0, 1.0, len(start))
    if rng.random() < 0.3:
        heading *= rng.random(len(start)) < 0.4
    q, rows = start.copy(), []
    for number in range(count):
        if shape < 0.4:
            share = heading
        elif shape < 0.55:
            share = heading if number % 2 == 0 else -heading
        else:
            share = rng.uniform(-1.0, 1.0, len(start))
        q = q + share * reach
        if rng.random() < 0.97:
            q = np.clip(q, limits["low"] + 1e-5, limits["high"] - 1e-5)
        rows.append(q)
    found = np.round(np.array(rows), 6)
    found[:, tree.fingers] = start[tree.fingers]
    return found


def tool_pose(case: dict[str, Any], tree: Tree, q: Array, end: dict[str, Any]) -> tuple[Array, Array]:
    rotations, positions = tree.place(q[None])
    link = tree.links.index(end["link"])
    x, y, z, *rpy = end["tool_xyz_rpy"]
    turn = rotations[0, link]
    return turn @ rotation_of_rpy(rpy), positions[0, link] + turn @ np.array([x, y, z])


def cartesian_rows(
    case: dict[str, Any], tree: Tree, start: Array, walk: Array, *, mode: str, rng: np.random.Generator
) -> tuple[list[list[float]], Array]:
    """Returns Cartesian steps that follow a joint walk, and the joint rows that should resolve them."""
    end = case["manifest"]["end_effectors"][0]
    in_tool = mode != "CARTESIAN_POSE" and rng.random() < 0.4
    case["chunk"]["frame_id"] = end["name"] if in_tool else ""
    link = tree.links.index(end["link"])
    chain = {tree.column[joint] for joint in tree.chains[link]} & set(tree.arm)
    moving = sorted(chain)
    rows, resolved, q = [], [], start.copy()
    for target in walk:
        aimed = start.copy()
        aimed[moving] = target[moving]
        turn, point = tool_pose(case, tree, aimed, end)
        if mode == "CARTESIAN_POSE":
            rows.append(rounded([*quaternion_of_rotation(turn), *point], 7))
            q = _resolve(case, tree, q, end, moving=moving, turn=turn, point=point)
        else:
            here_turn, here = tool_pose(case, tree, q, end)
            move, vector = point - here, rotation_vector(turn @ here_turn.T)
            if in_tool:
                move, vector = here_turn.T @ move, here_turn.T @ vector
            scale = case["step_s"] if mode == "CARTESIAN_TWIST" else 1.0
            rows.append(rounded([*(move / scale), *(vector / scale)], 7))
            q = _resolve(case, tree, q, end, moving=moving, turn=turn, point=point)
        resolved.append(q)
    return rows, np.array(resolved)


def _resolve(
    case: dict[str, Any],
    tree: Tree,
    q: Array,
    end: dict[str, Any],
    *,
    moving: list[int],
    turn: Array,
    point: Array,
) -> Array:
    """Follows a pose by damped least squares; only to aim with, so that no verdict depends on it."""
    q = q.copy()
    link = tree.links.index(end["link"])
    for _ in range(6):
        here_turn, here = tool_pose(case, tree, q, end)
        error = np.concatenate([point - here, 0.1 * rotation_vector(turn @ here_turn.T)])
        if np.linalg.norm(error) < 1e-5:
            break
        placed = tree.place(np.repeat(q[None], len(moving), axis=0))
        rates = np.zeros((len(moving), len(q)))
        rates[np.arange(len(moving)), moving] = 1.0
        linear, angular = tree.velocities(placed, link, np.repeat(here[None], len(moving), axis=0), rates)
        jacobian = np.concatenate([linear, 0.1 * angular], axis=1).T
        normal = jacobian @ jacobian.T + 1e-4 * min(1.0, np.linalg.norm(error) / 0.01) * np.eye(6)
        q[moving] += jacobian.T @ np.linalg.solve(normal, error)
    return q


def base_rows(case: dict[str, Any], rng: np.random.Generator) -> list[list[float]]:
    """Returns twists in the plane, up to a little above the speed limits."""
    safety = case["manifest"]["safety"]
    factor = 0.25 if case["recovery"] else 1.0
    count = int(rng.choice([1, 2, 4, 8]))
    share = np.exp(rng.uniform(np.log(0.05), np.log(0.4 if case["is_plain"] else 1.0))) * factor
    rows = []
    same = rng.random() < 0.5
    for number in range(count):
        if number == 0 or not same:
            heading, turn = rng.uniform(-np.pi, np.pi), rng.uniform(-1.0, 1.0)
        speed = share * safety["max_base_linear_speed_m_s"]
        rows.append(
            rounded(
                [
                    speed * np.cos(heading),
                    speed * np.sin(heading),
                    0.0,
                    0.0,
                    0.0,
                    share * turn * safety["max_base_angular_speed_rad_s"],
                ]
            )
        )
    return rows


def gripper_rows(case: dict[str, Any], mode: str, rng: np.random.Generator) -> list[list[float]]:
    safety = case["manifest"]["safety"]
    low, high = (0.0, 1.0) if mode == "GRIPPER_BINARY" else (safety["gripper_min"], safety["gripper_max"])
    count = int(rng.choice([1, 2, 4]))
    return rounded(rng.uniform(low, high, (count, 1)))


def fill_chunk(case: dict[str, Any], tree: Tree, rng: np.random.Generator) -> Array | None:
    """Writes state and chunk into a case; returns the joint rows that a Cartesian chunk is expected to resolve to."""
    mode = case["chunk"]["mode"]
    start = random_start(case, tree, rng)
    state: dict[str, Any] = {"positions": start[tree.arm].tolist()}
    if tree.fingers and (case["is_plain"] or rng.random() < 0.55):
        state["gripper_positions"] = start[tree.fingers].tolist()
    elif mode.startswith("CARTESIAN") and rng.random() < 0.8:
        # A tool on a finger that was not measured is taken to be somewhere: in the middle is the natural guess.
        start[tree.fingers] = [np.mean(finger_range(tree, column)) for column in tree.fingers]
    case["state"] = state
    walk = joint_walk(case, tree, start, rng)
    resolved = None
    if mode.startswith("CARTESIAN"):
        case["chunk"]["rows"], resolved = cartesian_rows(case, tree, start, walk, mode=mode, rng=rng)
        resolved = resolved[:, tree.arm]
    elif mode == "BODY_TWIST":
        case["chunk"]["rows"] = base_rows(case, rng)
    elif mode.startswith("GRIPPER") or mode == "COMPOSITE_MODE":
        case["chunk"]["rows"] = gripper_rows(case, mode, rng)
    elif mode == "JOINT_TORQUE":
        rows = rng.uniform(-10.0, 10.0, (len(walk), len(tree.arm)))
        case["chunk"]["rows"] = rounded(rows, 3)
    elif mode == "JOINT_VELOCITY":
        steps = np.diff(np.concatenate([start[None], walk]), axis=0)[:, tree.arm]
        case["chunk"]["rows"] = rounded(steps / case["step_s"], 6)
    else:
        case["chunk"]["rows"] = walk[:, tree.arm].tolist()
    if mode == "JOINT_TORQUE" or (mode in TIMED and rng.random() < 0.3):
        state["velocities"] = _measured_velocities(case, tree, start, walk, rng)
    return resolved


def _measured_velocities(
    case: dict[str, Any], tree: Tree, start: Array, walk: Array, rng: np.random.Generator
) -> list[float] | None:
    limits = joint_limits(case, tree)["velocity"][tree.arm]
    if case["chunk"]["mode"] != "JOINT_TORQUE":
        first = (walk[0] - start)[tree.arm] / case["step_s"]
        return rounded(first * rng.uniform(0.5, 1.2))
    if rng.random() < 0.3:
        return None
    faster = rng.uniform(1.0, 5.0) if rng.random() < 0.4 else rng.uniform(0.0, 1.0)
    return rounded(limits * rng.uniform(-1.0, 1.0, len(limits)) * faster)
