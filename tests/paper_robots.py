# SPDX-License-Identifier: Apache-2.0
"""Robots that a human can check on paper, and the few words tests need to move them."""

from collections.abc import Sequence
from typing import Any

import numpy as np

import lastgate as lg

Manifest = dict[str, Any]
NOW_S = 100.0

# The envelope that the cases V01-V18 are stated for.
PAPER_SAFETY: Manifest = {
    "workspace_box_min_xyz": [-0.4, -0.4, 0.0],
    "workspace_box_max_xyz": [0.4, 0.4, 0.6],
    "max_ee_speed_m_s": 0.5,
    "max_ee_angular_speed_rad_s": 2.0,
    "max_ee_accel_m_s2": 2.0,
    "max_force_n": 10.0,
    "max_torque_nm": 3.0,
    "contact_force_threshold_n": 5.0,
    "max_cartesian_step_m": 0.05,
    "max_cartesian_step_rad": 0.2,
    "max_base_linear_speed_m_s": 1.0,
    "max_base_angular_speed_rad_s": 1.5,
    "gripper_min": 0.0,
    "gripper_max": 1.0,
}


def joint(name: str, parent_link: str, child_link: str, **changes: Any) -> Manifest:
    """Returns a complete revolute joint about z with `changes` on top; a change to None removes the key."""
    complete = {
        "name": name,
        "joint_type": "revolute",
        "parent_link": parent_link,
        "child_link": child_link,
        "position_limits": [-3.0, 3.0],
        "velocity_limit": 10.0,
    }
    return {key: value for key, value in {**complete, **changes}.items() if value is not None}


def sphere_on(link: str, radius_m: float, xyz: Sequence[float] = (0.0, 0.0, 0.0)) -> Manifest:
    shape = {"shape": "sphere", "radius_m": radius_m}
    return {"link_name": link, "shape": shape, "origin_xyz_rpy": [*xyz, 0.0, 0.0, 0.0]}


def capsule_on(
    link: str, radius_m: float, length_m: float, xyz: Sequence[float], rpy: Sequence[float] = (0.0, 0.0, 0.0)
) -> Manifest:
    shape = {"shape": "capsule", "radius_m": radius_m, "length_m": length_m}
    return {"link_name": link, "shape": shape, "origin_xyz_rpy": [*xyz, *rpy]}


def allowed(link_a: str, link_b: str, reason: str = "adjacent") -> Manifest:
    return {"link_a": link_a, "link_b": link_b, "reason": reason}


def stacked(n_dof: int, *, safety: Manifest | None = None, **joint_changes: Any) -> Manifest:
    """Is E(n): n joints about one vertical axis, a small sphere each, a tool that circles at 5 cm.

    Positions +-1, velocity 3.15, torque 5; nothing can ever touch, so only limits decide.
    """
    links = ["base", *(f"ring{index}" for index in range(n_dof))]
    limits = {"position_limits": [-1.0, 1.0], "velocity_limit": 3.15, "effort_limit": 5.0} | joint_changes
    return {
        "name": f"stacked_{n_dof}",
        "base_frame": "base",
        "joints": [
            joint(f"j{index}", links[index], links[index + 1], origin_xyz=[0.0, 0.0, 0.03], **limits)
            for index in range(n_dof)
        ],
        "collision_geometry": [sphere_on(link, 0.005) for link in links[1:]],
        "end_effectors": [
            {"name": "tool", "link": links[-1], "tool_xyz_rpy": [0.05, 0.0, 0.0, 0.0, 0.0, 0.0]}
        ],
        "safety": PAPER_SAFETY if safety is None else safety,
    }


def arm_of_one_link(**changes: Any) -> Manifest:
    """Is the arm of X01: one joint about z, a capsule of radius 5 cm along x from 0.1 m to 0.9 m."""
    lying = (0.0, np.pi / 2, 0.0)
    return {
        "name": "one_link",
        "base_frame": "base",
        "joints": [joint("shoulder", "base", "arm")],
        "collision_geometry": [capsule_on("arm", 0.05, 0.8, (0.5, 0.0, 0.0), lying)],
        "end_effectors": [{"name": "tip", "link": "arm", "tool_xyz_rpy": [0.9, 0.0, 0.0, 0.0, 0.0, 0.0]}],
    } | changes


def planar_two_link(**changes: Any) -> Manifest:
    """Is the planar 2R: two links of 1 m about z, thin capsules, the tool at the end of the second."""
    lying = (0.0, np.pi / 2, 0.0)
    return {
        "name": "planar_two_link",
        "base_frame": "base",
        "joints": [
            joint("shoulder", "base", "upper_arm"),
            joint("elbow", "upper_arm", "forearm", origin_xyz=[1.0, 0.0, 0.0]),
        ],
        "collision_geometry": [
            capsule_on("upper_arm", 0.05, 0.6, (0.5, 0.0, 0.0), lying),
            capsule_on("forearm", 0.05, 0.6, (0.5, 0.0, 0.0), lying),
        ],
        "end_effectors": [
            {"name": "hand", "link": "forearm", "tool_xyz_rpy": [1.0, 0.0, 0.0, 0.0, 0.0, 0.0]},
        ],
        "safety": {"max_cartesian_step_m": 0.1, "max_cartesian_step_rad": 0.5},
    } | changes


def sliders(
    *positions_x: float,
    radius_m: float = 0.1,
    length_m: float = 0.4,
    pairs: Sequence[tuple[int, int]] = (),
    **changes: Any,
) -> Manifest:
    """Is a row of upright capsules, each on its own slide along x, at `positions_x` while at zero."""
    return {
        "name": "sliders",
        "base_frame": "base",
        "joints": [
            joint(
                f"slide{index}",
                "base",
                f"post{index}",
                joint_type="prismatic",
                axis_xyz=[1.0, 0.0, 0.0],
                origin_xyz=[x, 0.0, 0.0],
                position_limits=[-10.0, 10.0],
                velocity_limit=1000.0,
            )
            for index, x in enumerate(positions_x)
        ],
        "collision_geometry": [
            capsule_on(f"post{index}", radius_m, length_m, (0.0, 0.0, 0.0))
            for index in range(len(positions_x))
        ],
        "allowed_collision_pairs": [allowed(f"post{a}", f"post{b}", "proved-never") for a, b in pairs],
    } | changes


def gripper_arm(**changes: Any) -> Manifest:
    """Is a hand on a lift whose finger slides 4 cm along y while its channel runs from 0 to 1."""
    return {
        "name": "gripper_arm",
        "base_frame": "base",
        "joints": [
            joint("lift", "base", "hand", joint_type="prismatic", position_limits=[0.0, 1.0]),
            joint(
                "finger_joint",
                "hand",
                "finger",
                joint_type="prismatic",
                axis_xyz=[0.0, 1.0, 0.0],
                origin_xyz=[0.0, 0.1, 0.0],
                position_limits=[0.0, 0.04],
                velocity_limit=0.2,
            ),
        ],
        "collision_geometry": [sphere_on("hand", 0.03), sphere_on("finger", 0.01)],
        "allowed_collision_pairs": [allowed("hand", "finger")],
        "end_effectors": [
            {
                "name": "gripper",
                "link": "hand",
                "gripper": {
                    "channel_closed": 0.0,
                    "channel_open": 1.0,
                    "joints": [{"name": "finger_joint", "position_closed": 0.0, "position_open": 0.04}],
                },
            }
        ],
        "safety": {"gripper_min": 0.0, "gripper_max": 1.0},
    } | changes


def cart(**changes: Any) -> Manifest:
    """Is a base that drives: a sphere of 0.2 m around its origin, and a bar that turns above it, 0.5 m long."""
    lying = (0.0, np.pi / 2, 0.0)
    return {
        "name": "cart",
        "base_frame": "base",
        "joints": [joint("mast", "base", "bar", origin_xyz=[0.0, 0.0, 0.5])],
        "collision_geometry": [
            sphere_on("base", 0.2, (0.0, 0.0, 0.2)),
            capsule_on("bar", 0.05, 0.4, (0.25, 0.0, 0.0), lying),
        ],
        "allowed_collision_pairs": [allowed("base", "bar")],
        "footprint_radius": 0.2,
        "safety": {"max_base_linear_speed_m_s": 2.0, "max_base_angular_speed_rad_s": 20.0},
    } | changes


def gate_of(manifest: Manifest, *, step_s: float = 0.1, **arguments: Any) -> lg.Gate:
    return lg.Gate(lg.RobotDescription(**manifest), step_s=step_s, **arguments)


def at(*positions: float, stamp_s: float = NOW_S, **fields: Any) -> lg.RobotState:
    return lg.RobotState(positions=list(positions), stamp_s=stamp_s, **fields)


def sphere(xyz: Sequence[float], radius_m: float, object_id: str | None = None) -> lg.WorldCollisionPrimitive:
    shape = lg.SphereShape(radius_m=radius_m)
    return lg.WorldCollisionPrimitive(shape=shape, pose=lg.Pose6D(xyz=tuple(xyz)), object_id=object_id)


def post(
    xyz: Sequence[float], radius_m: float, length_m: float, object_id: str | None = None
) -> lg.WorldCollisionPrimitive:
    shape = lg.CapsuleShape(radius_m=radius_m, length_m=length_m)
    return lg.WorldCollisionPrimitive(shape=shape, pose=lg.Pose6D(xyz=tuple(xyz)), object_id=object_id)


def wall_beyond_x(x_m: float, object_id: str | None = None) -> lg.WorldCollisionPrimitive:
    """Is solid where x >= x_m: a half-space whose local z points to -x."""
    half_turn = np.sqrt(0.5)
    pose = lg.Pose6D(xyz=(x_m, 0.0, 0.0), quat_xyzw=(0.0, -half_turn, 0.0, half_turn))
    return lg.WorldCollisionPrimitive(shape=lg.HalfSpaceShape(), pose=pose, object_id=object_id)


def world_of(*primitives: lg.WorldCollisionPrimitive, stamp_s: float = NOW_S, **fields: Any) -> lg.World:
    return lg.World(primitives=primitives, stamp_s=stamp_s, **fields)


def check(
    gate: lg.Gate,
    rows: Any,
    mode: lg.ControlMode | int = lg.ControlMode.JOINT_POSITION,
    *,
    state: lg.RobotState | None = None,
    world: lg.World | Any = lg.NO_WORLD,
    now_s: float = NOW_S,
    recovery: bool = False,
    **labels: str,
) -> lg.Verdict:
    """Checks rows from a state that is fresh; without one the robot stands at zero."""
    if state is None:
        fingers = [0.0] * len(gate.gripper_joint_names)
        state = at(*[0.0] * gate.n_dof, gripper_positions=fingers if fingers else None)
    chunk = lg.ActionChunk(rows, mode=mode, **labels)
    return gate.check(chunk, state=state, world=world, now_s=now_s, recovery=recovery)


def only_violation(verdict: lg.Verdict) -> lg.Violation:
    """Returns the reason of a rejection, after holding every rejection to what all of them must be."""
    assert not verdict.accepted, verdict.explain()
    (violation,) = verdict.violations
    assert lg.read_evidence(violation.evidence().model_dump_json()) == violation.evidence()
    return violation


def code_of(verdict: lg.Verdict) -> str:
    return "accepted" if verdict.accepted else str(only_violation(verdict).code)
