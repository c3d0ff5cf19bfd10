# SPDX-License-Identifier: Apache-2.0
"""Robots the oracles check: small ones whose motion can be drawn on paper, and a real arm.

Speed limits are so high that no step is too fast: what is left to decide is geometry.
"""

import math
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any

import lastgate as lg

HALF_PI = math.pi / 2
FAST = 1e6
ALONG_X = (0.0, HALF_PI, 0.0)


def joint(
    name: str,
    parent: str,
    child: str,
    kind: str = "revolute",
    *,
    xyz: Sequence[float] = (0.0, 0.0, 0.0),
    rpy: Sequence[float] = (0.0, 0.0, 0.0),
    axis: Sequence[float] = (0.0, 0.0, 1.0),
    limits: tuple[float, float] | None = (-2 * math.pi, 2 * math.pi),
    mimic: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """Returns one joint of a manifest."""
    spec: dict[str, Any] = {
        "name": name,
        "joint_type": kind,
        "parent_link": parent,
        "child_link": child,
        "origin_xyz": tuple(xyz),
        "origin_rpy": tuple(rpy),
        "axis_xyz": tuple(axis),
    }
    if kind != "fixed":
        spec["velocity_limit"] = FAST
        spec["effort_limit"] = 100.0
    if kind in ("revolute", "prismatic"):
        spec["position_limits"] = limits
    if mimic:
        spec["mimic"] = mimic
    return spec


def capsule(
    link: str,
    radius_m: float,
    length_m: float,
    xyz: Sequence[float] = (0, 0, 0),
    rpy: Sequence[float] = (0, 0, 0),
) -> dict[str, Any]:
    """Returns one volume of a manifest; no length makes it a sphere."""
    shape: dict[str, Any] = {"shape": "sphere", "radius_m": radius_m}
    if length_m > 0.0:
        shape = {"shape": "capsule", "radius_m": radius_m, "length_m": length_m}
    return {"link_name": link, "shape": shape, "origin_xyz_rpy": tuple(float(n) for n in (*xyz, *rpy))}


def manifest(
    name: str,
    joints: Sequence[dict[str, Any]],
    volumes: Sequence[dict[str, Any]],
    *,
    allowed: Iterable[tuple[str, str]] = (),
    effectors: Sequence[dict[str, Any]] = (),
    safety: dict[str, Any] | None = None,
) -> lg.RobotDescription:
    """Returns a robot whose adjacent links, and those named, are not compared; bare links carry a waiver."""
    neighbours = {tuple(sorted((j["parent_link"], j["child_link"]))) for j in joints}
    named = {tuple(sorted(pair)) for pair in allowed} - neighbours
    reasons = dict.fromkeys(neighbours, ("adjacent", "")) | dict.fromkeys(
        named, ("waived", "not compared here")
    )
    covered = {volume["link_name"] for volume in volumes}
    bare = [j["child_link"] for j in joints if j["child_link"] not in covered]
    return lg.RobotDescription(
        name=name,
        base_frame=joints[0]["parent_link"],
        joints=joints,
        collision_geometry=volumes,
        allowed_collision_pairs=[
            {"link_a": a, "link_b": b, "reason": reason, "detail": detail}
            for (a, b), (reason, detail) in sorted(reasons.items())
        ],
        coverage_waivers=[{"link": link, "reason": "carries nothing in this test"} for link in bare],
        end_effectors=effectors,
        safety=safety or {},
    )


def with_safety(robot: lg.RobotDescription, **safety: Any) -> lg.RobotDescription:
    """Returns the robot with some limits of its envelope replaced."""
    envelope = robot.safety.model_dump() | safety
    return robot.model_copy(update={"safety": lg.SafetyEnvelope(**envelope)})


def one_joint_arm() -> lg.RobotDescription:
    """Returns a bar of 0.8 m that turns for ever about a vertical axis."""
    return manifest(
        "one_joint",
        [joint("turn", "base", "bar", "continuous")],
        [capsule("bar", 0.03, 0.8, (0.4, 0, 0), ALONG_X)],
        effectors=[{"name": "tip", "link": "bar", "tool_xyz_rpy": (0.8, 0.0, 0.0, 0.0, 0.0, 0.0)}],
    )


def planar_arm(lengths_m: Sequence[float]) -> lg.RobotDescription:
    """Returns bars in one plane, joined end to end, on a base sphere."""
    joints, volumes = [], [capsule("link0", 0.05, 0.0)]
    reach = 0.0
    for number, length in enumerate(lengths_m, start=1):
        kind = "continuous" if number == 1 else "revolute"
        joints.append(joint(f"joint{number}", f"link{number - 1}", f"link{number}", kind, xyz=(reach, 0, 0)))
        volumes.append(capsule(f"link{number}", 0.03, length - 0.08, (length / 2, 0, 0), ALONG_X))
        reach = length
    last = f"link{len(lengths_m)}"
    tool = {"name": "tip", "link": last, "tool_xyz_rpy": (reach, 0.0, 0.0, 0.0, 0.0, 0.0)}
    return manifest(f"planar_{len(lengths_m)}r", joints, volumes, effectors=[tool])


def scara() -> lg.RobotDescription:
    """Returns a selective-compliance arm: two vertical hinges, a lift, a spindle."""
    joints = [
        joint("shoulder", "column", "upper", xyz=(0, 0, 0.4), limits=(-2.6, 2.6)),
        joint("elbow", "upper", "fore", xyz=(0.35, 0, 0), limits=(-2.5, 2.5)),
        joint("lift", "fore", "quill", "prismatic", xyz=(0.3, 0, 0), limits=(-0.35, 0.05)),
        joint("spin", "quill", "tool", "continuous"),
    ]
    volumes = [
        capsule("column", 0.07, 0.3, (0, 0, 0.15)),
        capsule("upper", 0.05, 0.3, (0.18, 0, 0), ALONG_X),
        capsule("fore", 0.04, 0.22, (0.13, 0, 0), ALONG_X),
        capsule("quill", 0.015, 0.3, (0, 0, 0)),
        capsule("tool", 0.02, 0.1, (0.05, 0, -0.17), ALONG_X),
    ]
    effector = {"name": "tool", "link": "tool", "tool_xyz_rpy": (0.1, 0.0, -0.17, 0.0, 0.0, 0.0)}
    return manifest("scara", joints, volumes, allowed=[("fore", "tool")], effectors=[effector])


def six_joint_arm() -> lg.RobotDescription:
    """Returns an arm with the proportions of a common six-joint cobot."""
    joints = [
        joint("pan", "stand", "shoulder", xyz=(0, 0, 0.09)),
        joint("lift", "shoulder", "upper", xyz=(0, 0.135, 0), rpy=(0, HALF_PI, 0), axis=(0, 1, 0)),
        joint("elbow", "upper", "fore", xyz=(0, -0.12, 0.425), axis=(0, 1, 0), limits=(-2.9, 2.9)),
        joint("wrist1", "fore", "w1", xyz=(0, 0, 0.392), rpy=(0, HALF_PI, 0), axis=(0, 1, 0)),
        joint("wrist2", "w1", "w2", xyz=(0, 0.093, 0)),
        joint("wrist3", "w2", "w3", xyz=(0, 0, 0.095), axis=(0, 1, 0)),
    ]
    volumes = [
        capsule("stand", 0.08, 0.02, (0, 0, 0)),
        capsule("shoulder", 0.07, 0.1, (0, 0.05, 0), (HALF_PI, 0, 0)),
        capsule("upper", 0.06, 0.4, (0, 0, 0.21)),
        capsule("fore", 0.05, 0.36, (0, 0, 0.19)),
        capsule("w1", 0.045, 0.08, (0, 0.06, 0), (HALF_PI, 0, 0)),
        capsule("w2", 0.045, 0.07, (0, 0, 0.05)),
        capsule("w3", 0.04, 0.1, (0, 0.08, 0), (HALF_PI, 0, 0)),
    ]
    allowed = [("stand", "upper"), ("w1", "w3"), ("fore", "w2"), ("shoulder", "fore")]
    effector = {"name": "flange", "link": "w3", "tool_xyz_rpy": (0.0, 0.15, 0.0, 0.0, 0.0, 0.0)}
    return manifest("six_r", joints, volumes, allowed=allowed, effectors=[effector])


def two_arms() -> lg.RobotDescription:
    """Returns two three-joint arms on one torso whose reaches overlap; every pair across is compared."""
    joints: list[dict[str, Any]] = [joint("waist", "ground", "torso", limits=(-1.5, 1.5))]
    volumes = [capsule("torso", 0.06, 0.3, (0, 0, 0.15))]
    allowed = []
    for side, y in (("left", 0.2), ("right", -0.2)):
        chain = ["torso", *(f"{side}_{part}" for part in ("upper", "fore", "hand"))]
        origins = [(0.0, y, 0.3), (0.3, 0.0, 0.0), (0.25, 0.0, 0.0)]
        axes = [(0, 0, 1), (0, 0.6, 0.8), (0, 1, 0)]
        for number, (parent, child) in enumerate(pairwise(chain)):
            joints.append(
                joint(
                    f"{child}_joint",
                    parent,
                    child,
                    xyz=origins[number],
                    axis=axes[number],
                    limits=(-2.2, 2.2),
                )
            )
        volumes += [
            capsule(chain[1], 0.04, 0.22, (0.15, 0, 0), ALONG_X),
            capsule(chain[2], 0.035, 0.18, (0.125, 0, 0), ALONG_X),
            capsule(chain[3], 0.03, 0.1, (0.07, 0, 0), ALONG_X),
        ]
        allowed.append((chain[1], "torso"))
    return manifest("two_arms", joints, volumes, allowed=allowed)


def mimic_arm() -> lg.RobotDescription:
    """Returns an arm whose forearm turns against its upper arm by a mimic, with two mimic fingers."""
    joints = [
        joint("swing", "base", "upper", limits=(-1.5, 1.5)),
        joint(
            "fold",
            "upper",
            "fore",
            xyz=(0.3, 0, 0),
            mimic={"joint": "swing", "multiplier": -2.0, "offset": 0.3},
        ),
        joint("roll", "fore", "palm", "continuous", xyz=(0.25, 0, 0), axis=(1, 0, 0)),
        joint("open", "palm", "finger_a", "prismatic", xyz=(0.03, 0, 0), axis=(0, 1, 0), limits=(0.0, 0.06)),
        joint(
            "follow",
            "palm",
            "finger_b",
            "prismatic",
            xyz=(0.03, 0, 0),
            axis=(0, -1, 0),
            limits=(0.0, 0.06),
            mimic={"joint": "open"},
        ),
        joint(
            "bend",
            "finger_a",
            "tip_a",
            xyz=(0.06, 0, 0),
            limits=(-1.0, 1.0),
            mimic={"joint": "open", "multiplier": -15.0, "offset": 0.2},
        ),
    ]
    volumes = [
        capsule("base", 0.06, 0.1, (0, 0, 0)),
        capsule("upper", 0.03, 0.22, (0.15, 0, 0), ALONG_X),
        capsule("fore", 0.03, 0.15, (0.12, 0, 0), ALONG_X),
        capsule("palm", 0.025, 0.0),
        capsule("finger_a", 0.008, 0.04, (0.03, 0.012, 0), ALONG_X),
        capsule("finger_b", 0.008, 0.04, (0.03, -0.012, 0), ALONG_X),
        capsule("tip_a", 0.006, 0.03, (0.025, 0.012, 0), ALONG_X),
    ]
    return manifest("mimic_arm", joints, volumes, allowed=[("palm", "tip_a")])


def gripper_arm(**safety: Any) -> lg.RobotDescription:
    """Returns a wrist with a palm and two fingers that one gripper channel opens by 0 … 0.08."""
    joints = [
        joint("wrist", "stand", "palm", xyz=(0, 0, 0.3), axis=(0, 0, 1)),
        joint("open", "palm", "finger_a", "prismatic", axis=(0, 1, 0), limits=(0.0, 0.04)),
        joint(
            "follow",
            "palm",
            "finger_b",
            "prismatic",
            axis=(0, -1, 0),
            limits=(0.0, 0.04),
            mimic={"joint": "open"},
        ),
    ]
    volumes = [
        capsule("stand", 0.05, 0.1, (0, 0, 0.05)),
        capsule("palm", 0.03, 0.06, (0, 0, 0), (HALF_PI, 0, 0)),
        capsule("finger_a", 0.01, 0.06, (0.08, 0.012, 0), ALONG_X),
        capsule("finger_b", 0.01, 0.06, (0.08, -0.012, 0), ALONG_X),
    ]
    fingers = {"name": "open", "position_closed": 0.0, "position_open": 0.04}
    gripper = {"channel_closed": 0.0, "channel_open": 0.08, "joints": [fingers]}
    return manifest(
        "gripper_arm",
        joints,
        volumes,
        effectors=[{"name": "gripper", "link": "palm", "gripper": gripper}],
        safety={"gripper_min": 0.0, "gripper_max": 0.08} | safety,
    )


def panda(**safety: Any) -> lg.RobotDescription:
    """Returns the shipped Franka Panda by its volumes alone, with its speed and workspace limits lifted."""
    robot = lg.load_robot("franka_panda")
    joints = tuple(j.model_copy(update={"velocity_limit": FAST}) if j.is_moving else j for j in robot.joints)
    robot = robot.model_copy(update={"joints": joints, "convex_pieces": None})
    lifted = dict.fromkeys(
        ("workspace_box_min_xyz", "workspace_box_max_xyz", "max_ee_speed_m_s", "max_ee_angular_speed_rad_s")
    )
    return with_safety(robot, **(lifted | safety))


def gate_of(robot: lg.RobotDescription, **options: Any) -> lg.Gate:
    """Returns a gate with one second between steps."""
    return lg.Gate(robot, **({"step_s": 1.0} | options))
