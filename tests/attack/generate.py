# SPDX-License-Identifier: Apache-2.0
"""Random cases, one per seed and mode: a robot, a motion, and everything else aimed at that motion."""

from typing import Any

import numpy as np

from attack import tools
from attack.aim import Aim
from attack.chunks import fill_chunk
from attack.kinematics import Array, Tree, rotation_of_rpy
from attack.motions import GRIPPER, TIMED, Path
from attack.oracle import NOW_S, Findings, Oracle
from attack.retreat import aim_retreat
from attack.robots import random_robot, rounded
from attack.scene import axis_ends

MODES = (*TIMED, "JOINT_TORQUE", "BODY_TWIST", *GRIPPER)


def random_case(seed: int, number: int, mode: str) -> tuple[dict[str, Any], Array | None]:
    """Returns one case of a seed, the same one every time, and the joint rows a Cartesian chunk should resolve to."""
    rng = np.random.default_rng([seed, number, MODES.index(mode)])
    drives = mode == "BODY_TWIST"
    gripper = mode in GRIPPER or rng.random() < (0.5 if mode.startswith("CARTESIAN") else 0.35)
    joints = (1, 4) if drives else (3, 8) if mode.startswith("CARTESIAN") else (1, 7)
    manifest = random_robot(rng, gripper=gripper, base=drives, joints=joints)
    case: dict[str, Any] = {
        "manifest": manifest,
        "step_s": float(
            rng.choice([0.005, 0.01, 0.02] if mode == "JOINT_TORQUE" else [0.02, 0.05, 0.1, 0.3])
        ),
        "chunk": {"mode": mode, "rows": [], "ee_name": manifest["end_effectors"][0]["name"], "frame_id": ""},
        "recovery": mode not in ("JOINT_TORQUE", *GRIPPER) and rng.random() < 0.15,
        "is_plain": bool(rng.random() < 0.1),
        "world": None,
        "attachments": [],
        "contacts": [],
    }
    case["recovery"] = case["recovery"] and not case["is_plain"]
    _declare_bounds(case, mode, rng)
    tree = Tree(manifest)
    _attach(case, tree, rng)
    resolved = fill_chunk(case, tree, rng)
    if rng.random() < 0.15 and not case["recovery"]:
        case["hulls"] = _convex_parts(manifest, rng)
    _exempt_pairs(case, resolved, rng)
    _aim_limits(case, resolved, rng)
    if case["recovery"]:
        aim_retreat(case, resolved, rng)
    else:
        _aim_world(case, resolved, rng)
    return case, resolved


def _declare_bounds(case: dict[str, Any], mode: str, rng: np.random.Generator) -> None:
    """Declares what the mode needs, loosely; margins; and a driving base."""
    safety = case["manifest"]["safety"]
    safety["workspace_box_min_xyz"], safety["workspace_box_max_xyz"] = [-9.0] * 3, [9.0] * 3
    safety["max_cartesian_step_m"], safety["max_cartesian_step_rad"] = 2.0, 3.0
    if mode == "CARTESIAN_TWIST" or rng.random() < 0.2:
        safety["max_ee_speed_m_s"], safety["max_ee_angular_speed_rad_s"] = 20.0, 40.0
    low, high = 0.0, 1.0
    for end in case["manifest"]["end_effectors"]:
        if "gripper" in end:
            low, high = sorted((end["gripper"]["channel_closed"], end["gripper"]["channel_open"]))
    if rng.random() < 0.1:  # wider than the channel: then a command may lead beyond a finger's limit
        low, high = low - 0.2 * (high - low), high + 0.5 * (high - low)
    safety["gripper_min"], safety["gripper_max"] = rounded(low), rounded(high)
    if rng.random() < 0.5:
        safety["world_collision_margin_m"] = rounded(rng.uniform(0.001, 0.03), 4)
    if rng.random() < 0.4:
        safety["self_collision_margin_m"] = rounded(rng.uniform(0.001, 0.01), 4)
    if rng.random() < 0.2:
        safety["cartesian_deviation_m"] = rounded(rng.uniform(0.0, 0.005), 4)
    if rng.random() < 0.2:
        safety["max_joint_speed_factor"] = rounded(rng.uniform(0.3, 1.0), 3)
    if mode == "BODY_TWIST" or rng.random() < 0.15:
        safety["max_base_linear_speed_m_s"] = rounded(rng.uniform(0.2, 2.0), 3)
        safety["max_base_angular_speed_rad_s"] = rounded(rng.uniform(0.3, 6.0), 3)
        if rng.random() < 0.4:
            case["manifest"]["footprint_radius"] = rounded(rng.uniform(0.1, 0.3), 3)
        elif rng.random() < 0.8:
            angles = np.sort(rng.uniform(0.0, 2 * np.pi, int(rng.integers(4, 8))))
            if np.diff(np.append(angles, angles[0] + 2 * np.pi)).max() < 2.5:
                radii = rng.uniform(0.1, 0.3, len(angles))
                vertices = np.column_stack([radii * np.cos(angles), radii * np.sin(angles)])
                case["manifest"]["footprint_polygon"] = rounded(vertices, 4)


def _attach(case: dict[str, Any], tree: Tree, rng: np.random.Generator) -> None:
    if rng.random() > 0.25:
        return
    for number in range(int(rng.integers(1, 3))):
        link = str(rng.choice(tree.links[1:]))
        near = [name for name in tree.links if rng.random() < 0.3]
        shape: dict[str, Any] = {"shape": "sphere", "radius_m": rounded(rng.uniform(0.01, 0.05), 4)}
        if rng.random() < 0.5:
            shape |= {"shape": "capsule", "length_m": rounded(rng.uniform(0.02, 0.2), 4)}
        case["attachments"].append(
            {
                "link": link,
                "shape": shape,
                "object_id": f"held{number}",
                "origin_xyz_rpy": rounded([*rng.uniform(-0.1, 0.1, 3), *rng.uniform(-1.5, 1.5, 3)], 4),
                "touch_links": near,
            }
        )


def _convex_parts(manifest: dict[str, Any], rng: np.random.Generator) -> list[dict[str, Any]]:
    """Returns convex parts of some links, each inside one of their volumes: two points and a radius."""
    chosen = {volume["link_name"] for volume in manifest["collision_geometry"] if rng.random() < 0.6}
    parts = []
    for volume in manifest["collision_geometry"]:
        if volume["link_name"] not in chosen:
            continue
        x, y, z, *rpy = volume["origin_xyz_rpy"]
        low, high = axis_ends(volume["shape"], (x, y, z), rotation_of_rpy(rpy))
        shares = np.sort(rng.uniform(0.0, 1.0, 2))
        vertices = [(low + share * (high - low)).tolist() for share in shares]
        radius = rounded(volume["shape"]["radius_m"] * rng.uniform(0.4, 0.95), 6)
        vertices = vertices[:1] if vertices[0] == vertices[1] else vertices
        parts.append({"link_name": volume["link_name"], "radius_m": radius, "vertices_m": vertices})
    return parts


def _exempt_pairs(case: dict[str, Any], resolved: Array | None, rng: np.random.Generator) -> None:
    """Exempts links that overlap where the robot stands, and most of those that meet on the way."""
    aim = Aim(case, resolved, rng)
    oracle = aim.oracle
    if not len(oracle.pairs):
        return
    distances = oracle.self_distances(aim.every_end) - oracle.self_margin_m
    starts, worst = distances[0], distances.min(axis=0)
    keeps = rng.random() < 0.2
    known = {frozenset((p["link_a"], p["link_b"])) for p in case["manifest"]["allowed_collision_pairs"]}
    for (first, second), start, low in zip(oracle.pairs, starts, worst, strict=True):
        if low > 1e-4 or (keeps and start > 0.0):
            continue
        one, other = oracle.volumes[first], oracle.volumes[second]
        if one.object_id is not None or other.object_id is not None:
            for held in case["attachments"]:
                names = [oracle.tree.links[volume.link] for volume in (one, other)]
                if held["object_id"] in (one.object_id, other.object_id):
                    held["touch_links"] = sorted({*held["touch_links"], *names})
            if one.object_id is not None and other.object_id is not None:
                case["attachments"] = case["attachments"][:1]
            continue
        names = frozenset((oracle.tree.links[one.link], oracle.tree.links[other.link]))
        if names not in known:
            known.add(names)
            link_a, link_b = sorted(names)
            case["manifest"]["allowed_collision_pairs"].append(
                {"link_a": link_a, "link_b": link_b, "reason": "waived", "detail": "random volumes overlap"}
            )


def _aim_limits(case: dict[str, Any], resolved: Array | None, rng: np.random.Generator) -> None:
    """Sets the workspace box and the speeds of tools a little above, or below, what the motion needs."""
    aim = Aim(case, resolved, rng)
    oracle, safety, mode = aim.oracle, case["manifest"]["safety"], case["chunk"]["mode"]
    if mode != "BODY_TWIST" and rng.random() < 0.3:
        lows, highs = [], []
        for path in aim.paths:
            q, base = path.at(*grid_of(path, 9))
            placed = oracle.tree.place(q, base)
            for end in case["manifest"]["end_effectors"]:
                _, points = tools.tool_poses(oracle, end, *placed)
                lows.append(points.min(axis=0))
                highs.append(points.max(axis=0))
        if lows:
            gaps = np.array([aim.gap_m() for _ in range(6)])
            low, high = np.min(lows, axis=0) - gaps[:3], np.max(highs, axis=0) + gaps[3:]
            safety["workspace_box_min_xyz"] = low.tolist()
            safety["workspace_box_max_xyz"] = np.maximum(high, low + 1e-3).tolist()
    if mode in TIMED and not case["is_plain"] and rng.random() < 0.4:
        _aim_speeds(case, aim.paths, oracle, rng)


def grid_of(path: Path, count: int) -> tuple[Array, Array]:
    segment = np.repeat(np.arange(path.segments), count)
    return segment, np.tile(np.linspace(0.0, 1.0, count), path.segments)


def _aim_speeds(case: dict[str, Any], paths: list[Path], oracle: Oracle, rng: np.random.Generator) -> None:
    """Sets limits between what rows say and what happens between them, just above both, or just below."""
    safety = case["manifest"]["safety"]
    for name in ("max_ee_speed_m_s", "max_ee_angular_speed_rad_s", "max_ee_accel_m_s2"):
        safety[name] = 1.0
    found = Findings()
    chords = []
    for path in paths:
        tools.note_speeds(oracle, path, *grid_of(path, 17), found)
        for end in case["manifest"]["end_effectors"]:
            _, points = tools.tool_poses(oracle, end, *oracle.tree.place(path.rows))
            chords.append(np.linalg.norm(np.diff(points, axis=0), axis=1).max() / case["step_s"])
    speed, turn = 1.0 - found["tool speed"].slack, 1.0 - found["tool turning"].slack
    bends = [found[key].where["value"] for key in found if key.startswith("tool acceleration")]
    factor = 1.0 + float(np.exp(rng.uniform(np.log(1e-3), np.log(1.0))))
    between = 0.5 * (max(chords) + speed) if rng.random() < 0.4 else speed * factor
    for name, value, kept in (
        ("max_ee_speed_m_s", between, 0.8),
        ("max_ee_angular_speed_rad_s", turn * (0.9 if rng.random() < 0.15 else factor), 0.6),
        ("max_ee_accel_m_s2", max(bends, default=1.0) * (0.8 if rng.random() < 0.2 else factor), 0.3),
    ):
        needed = case["chunk"]["mode"] == "CARTESIAN_TWIST" and name != "max_ee_accel_m_s2"
        if needed or rng.random() < kept:
            safety[name] = max(float(value), 1e-4)
        else:
            del safety[name]


def _aim_world(case: dict[str, Any], resolved: Array | None, rng: np.random.Generator) -> None:
    if rng.random() < 0.05:
        return  # no world, said aloud
    aim = Aim(case, resolved, rng)
    world: dict[str, Any] = {"primitives": [], "zones": []}
    case["world"] = world
    safety = case["manifest"]["safety"]
    if not aim.ends.shape[1]:
        return
    for number in range(int(rng.integers(0, 5))):
        made = aim.primitive()
        if made is None:
            continue
        shape, pose = made
        place = rng.random()
        if place < 0.7:
            world["primitives"].append({"shape": shape, "pose": pose, "object_id": f"thing{number}"})
        elif place < 0.85:
            world["zones"].append({"name": f"zone{number}", "shape": shape, "pose": pose})
        else:
            safety.setdefault("no_go_zones", []).append(
                {"name": f"no_go{number}", "shape": shape, "pose": pose}
            )
    if rng.random() < 0.25:
        shape, pose = aim.keep_in()
        zone = {"name": "cell", "shape": shape, "pose": pose}
        safety["keep_in_zones"] = [zone]
    if rng.random() < 0.3:
        world["points"] = aim.points(int(rng.integers(1, 40))) or None
    if rng.random() < 0.25:
        world["voxels"] = aim.voxels()
    drives = case["chunk"]["mode"] == "BODY_TWIST"
    if rng.random() < (0.6 if drives else 0.05):
        world["floor_map"] = aim.floor_map()
    if aim.margin_m > 0.0 and not case["is_plain"] and rng.random() < 0.3:
        _declare_contact(case, aim, rng)


def _declare_contact(case: dict[str, Any], aim: Aim, rng: np.random.Generator) -> None:
    """Declares touching for some links, and puts things where only that lets them be."""
    world, tree = case["world"], aim.oracle.tree
    links = [name for name in tree.links if rng.random() < 0.6] or [tree.links[-1]]
    aim.margin_m, aim.strikes = 0.0, rng.random() < 0.3
    made = aim.primitive()
    if made is not None:
        world["primitives"].append({"shape": made[0], "pose": made[1], "object_id": "touched"})
    if rng.random() < 0.5:
        world["points"] = [*(world.get("points") or ()), *aim.points(3)] or None
    sample = int(rng.integers(len(aim.ends)))
    middle = aim.ends[sample].mean(axis=(0, 1))
    size = rng.uniform(0.2, 3.0, 3)
    whole_s = case["step_s"] * len(case["chunk"]["rows"])
    case["contacts"].append(
        {
            "name": "meant",
            "links": links,
            "held_objects": [held["object_id"] for held in case["attachments"][:1]],
            "objects": ["touched"],
            "points": bool(rng.random() < 0.7),
            "voxels": bool(rng.random() < 0.3),
            "region": {"shape": "box", "size_xyz_m": rounded(size)},
            "region_pose": {"xyz": rounded(middle)},
            "expires_s": float(NOW_S + (rng.uniform(0.0, whole_s) if rng.random() < 0.4 else 10.0)),
        }
    )
