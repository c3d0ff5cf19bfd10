# SPDX-License-Identifier: Apache-2.0
"""Writes the flat YAML from which every gate is built, in this process or in the kernel's.

One file format, one reader (in C++), one model: the verdict cannot depend on the channel a chunk came through.
"""

import json
import math
import re
from collections.abc import Callable, Sequence

import numpy as np

from lastgate import _core
from lastgate.contracts import (
    BoxShape,
    CapsuleShape,
    ControlMode,
    CylinderShape,
    EndEffector,
    HalfSpaceShape,
    JointSpec,
    KeepInZone,
    MimicSpec,
    Pose6D,
    RobotDescription,
    RobotFrames,
    ROSConfigError,
    RSkillManifest,
    SafetyEnvelope,
    SphereShape,
    WorldShape,
    Zone,
    intersect_envelopes,
    joint_velocity_limits,
)
from lastgate.contracts.shapes import LinkCollisionGeometry

# Configurations one check may evaluate. At a quarter of a microsecond each this is 5 ms, a quarter of a
# 50 Hz control cycle, and a hundred times what a chunk in free space needs.
EVALUATIONS_MAX = 20_000

# A continuous joint has no limits of its own; this is where the core's arithmetic stops being exact.
CONTINUOUS_RANGE = (-1.0e4, 1.0e4)

# Limits of a joint that mimics another are written with a few digits: what the leader would lose by that is no limit.
ROUNDED_LIMIT = 1.0e-6

# As the core numbers them.
_JOINT_KIND = {kind.name: kind.value for kind in _core.JointKind} | {
    "continuous": _core.JointKind.revolute.value
}
SHAPE_KIND = {kind.name: kind.value for kind in _core.PrimitiveKind}

Value = bool | int | float | str | Sequence[int] | Sequence[float] | Sequence[str]


def shape_size_m(shape: WorldShape) -> tuple[float, float, float]:
    """Returns the three numbers the core sizes a shape by; see `make_primitive` in the core."""
    match shape:
        case SphereShape():
            return shape.radius_m, 0.0, 0.0
        case CapsuleShape() | CylinderShape():
            return shape.radius_m, shape.length_m / 2, 0.0
        case BoxShape():
            x, y, z = shape.size_xyz_m
            return x / 2, y / 2, z / 2
        case HalfSpaceShape():
            return 0.0, 0.0, 0.0


def capsule_ends(shape: SphereShape | CapsuleShape, origin_xyz_rpy: Sequence[float]) -> tuple[float, ...]:
    """Returns the two ends of a shape's capsule axis in the frame its origin is given in."""
    x, y, z, roll, pitch, yaw = origin_xyz_rpy
    half = shape.length_m / 2 if isinstance(shape, CapsuleShape) else 0.0
    # Third column of Rz(yaw) Ry(pitch) Rx(roll): the image of the local z axis.
    sr, cr, sp, cp = math.sin(roll), math.cos(roll), math.sin(pitch), math.cos(pitch)
    sy, cy = math.sin(yaw), math.cos(yaw)
    axis = (cy * sp * cr + sy * sr, sy * sp * cr - cy * sr, cp * cr)
    low = (x - half * axis[0], y - half * axis[1], z - half * axis[2])
    high = (x + half * axis[0], y + half * axis[1], z + half * axis[2])
    return (*low, *high)


def gripper_joint_names(robot: RobotDescription) -> frozenset[str]:
    """Returns the joints that gripper commands move and joint steps do not."""
    return frozenset(joint.name for end in robot.end_effectors if end.gripper for joint in end.gripper.joints)


def enabled_modes(robot: RobotDescription) -> tuple[ControlMode, ...]:
    """Returns the modes a gate of this robot accepts: those asked for, or every one whose bounds are declared.

    Raises:
        ROSConfigError: A mode is asked for and its bounds are not declared.
    """
    missing = {mode: missing_bounds(mode, robot) for mode in ControlMode}
    if robot.control_modes is None:
        return tuple(mode for mode in ControlMode if not missing[mode])
    refused = [
        f"{mode.name} needs {', '.join(missing[mode])}" for mode in robot.control_modes if missing[mode]
    ]
    if refused:
        raise ROSConfigError(
            f"robot `{robot.name}` enables a mode without its bounds:\n  " + "\n  ".join(refused)
        )
    return tuple(robot.control_modes)


def missing_bounds(mode: ControlMode, robot: RobotDescription) -> list[str]:
    """Returns what a manifest would have to declare before a mode can be enabled."""
    envelope = robot.safety
    needed: dict[str, bool] = {}
    match mode:
        case ControlMode.FOOT_PLACEMENT:
            needed["a check that does not exist"] = False
        case ControlMode.JOINT_TORQUE:
            unlimited = [joint.name for joint in robot.actuated_joints if joint.effort_limit is None]
            needed[f"effort_limit of {', '.join(unlimited)}"] = not unlimited
        case ControlMode.CARTESIAN_POSE:
            needed["workspace_box_min_xyz and workspace_box_max_xyz"] = (
                envelope.workspace_box_min_xyz is not None
            )
        case ControlMode.CARTESIAN_DELTA:
            needed["max_cartesian_step_m"] = envelope.max_cartesian_step_m is not None
            needed["max_cartesian_step_rad"] = envelope.max_cartesian_step_rad is not None
        case ControlMode.CARTESIAN_TWIST:
            needed["max_ee_speed_m_s"] = envelope.max_ee_speed_m_s is not None
            needed["max_ee_angular_speed_rad_s"] = envelope.max_ee_angular_speed_rad_s is not None
        case ControlMode.BODY_TWIST:
            needed["max_base_linear_speed_m_s"] = envelope.max_base_linear_speed_m_s is not None
            needed["max_base_angular_speed_rad_s"] = envelope.max_base_angular_speed_rad_s is not None
        case ControlMode.GRIPPER_BINARY | ControlMode.GRIPPER_POSITION | ControlMode.COMPOSITE_MODE:
            needed["gripper_min and gripper_max"] = envelope.gripper_min is not None
    if mode.name.startswith("CARTESIAN"):
        needed["an end effector"] = bool(robot.end_effectors)
    return [what for what, declared in needed.items() if not declared]


def has_mobile_base(envelope: SafetyEnvelope) -> bool:
    """Returns whether base motion is bounded, so that the base is modelled as x, y and yaw."""
    return (
        envelope.max_base_linear_speed_m_s is not None and envelope.max_base_angular_speed_rad_s is not None
    )


def flat_config(
    robot: RobotDescription,
    *,
    step_s: float | None,
    skill: RSkillManifest | None = None,
    evaluations_max: int = EVALUATIONS_MAX,
) -> str:
    """Returns the flat YAML (schema_version 1) of a robot, tightened by a skill.

    Without a `step_s` no reader takes it: `with_step` has to add one.

    Raises:
        ROSConfigError: The skill loosens a limit, a mode lacks its bounds, a joint cannot be moved, or a number is
            not finite.
    """
    if isinstance(evaluations_max, bool) or not isinstance(evaluations_max, int):
        raise ROSConfigError(f"evaluations_max must be a whole number, got {evaluations_max!r}")
    envelope = intersect_envelopes(robot, skill)
    values: dict[str, Value | None] = {
        "schema_version": 1,
        "robot_name": robot.name,
        "base_frame": robot.base_frame,
        **_root_frame(robot),
        "skill_id": "" if skill is None else skill.name,
        "skill_version": "" if skill is None else skill.version,
        "step_s": step_s,
        "unproved_volumes": None if robot.unproved_volumes is None else True,
        "mobile_base": has_mobile_base(robot.safety),
        "deadman_required": envelope.deadman_required,
        "evaluations_max": evaluations_max,
    }
    links = [robot.base_frame, *(joint.child_link for joint in robot.joints)]
    values |= _joints(robot, links)
    values |= _limits(robot, envelope)
    values |= _stop(robot)
    values |= _volumes(robot, links)
    values |= _hulls(robot, links)
    values |= _effectors(robot.end_effectors, links, [joint.name for joint in robot.actuated_joints])
    values |= _zones(envelope, robot, links)
    values |= _footprint(robot)
    values |= _envelope(envelope)
    # From the robot's own envelope: a skill that declares a bound must not grant itself a mode by it.
    values["control_modes"] = [int(mode) for mode in enabled_modes(robot)]
    return "".join(f"{key}: {_text(value, key)}\n" for key, value in values.items() if value is not None)


def _root_frame(robot: RobotDescription) -> dict[str, Value]:
    """Returns the second frame that worlds may be in, for the process that reads them from messages."""
    frames = RobotFrames.of(robot)
    if not frames.root or frames.root == frames.base:
        return {}
    return {
        "root_frame": frames.root,
        "root_in_base_xyzrpy": [float(number) for number in frames.root_in_base_xyz_rpy],
    }


def with_step(text: str, step_s: float) -> str:
    """Returns a flat YAML with its time step, as `flat_config` would have written it.

    Raises:
        ROSConfigError: The file has another one already.
    """
    line = f"step_s: {_text(step_s, 'step_s')}\n"
    found = re.search(r"^step_s:.*\n?", text, flags=re.MULTILINE)
    if found is None:
        # Where it stands decides over the digest, by which recordings and verdicts name the model.
        return re.sub(
            r"^skill_version:.*\n", lambda before: before[0] + line, text, count=1, flags=re.MULTILINE
        )
    if found[0].strip() != line.strip():
        raise ROSConfigError(f"the file says `{found[0].strip()}`, not `{line.strip()}`")
    return text


def _text(value: Value, key: str) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            # JSON escapes beyond \" and \\ do not occur: names with control characters are refused by the schema.
            return json.dumps(value, ensure_ascii=False)
        case int() | float():
            if not math.isfinite(value):
                raise ROSConfigError(f"`{key}` must be finite, got {value}")
            return repr(float(value)) if isinstance(value, float) else str(value)
        case _:
            return "[" + ", ".join(_text(item, key) for item in value) + "]"


def _joints(robot: RobotDescription, links: list[str]) -> dict[str, Value]:
    dof_of = {joint.name: index for index, joint in enumerate(robot.actuated_joints)}
    kinds, dofs, multipliers, offsets = [0], [-1], [1.0], [0.0]
    origins, axes = [0.0] * 6, [0.0, 0.0, 1.0]
    for joint in robot.joints:
        if joint.joint_type not in _JOINT_KIND:
            raise ROSConfigError(f"joint `{joint.name}` is {joint.joint_type}, which no step can move")
        kinds.append(_JOINT_KIND[joint.joint_type])
        leader = joint.mimic.joint if joint.mimic else joint.name
        dofs.append(dof_of[leader] if joint.is_moving else -1)
        multipliers.append(joint.mimic.multiplier if joint.mimic else 1.0)
        offsets.append(joint.mimic.offset if joint.mimic else 0.0)
        origins += [*joint.origin_xyz, *joint.origin_rpy]
        axes += joint.axis_xyz
    return {
        "link_names": links,
        "link_parent": [-1, *(links.index(joint.parent_link) for joint in robot.joints)],
        "joint_kind": kinds,
        "joint_dof": dofs,
        "joint_multiplier": multipliers,
        "joint_offset": offsets,
        "joint_origin_xyzrpy": origins,
        "joint_axis": axes,
    }


def _effort(joint: JointSpec, envelope: SafetyEnvelope) -> float:
    cap = envelope.max_force_n if joint.joint_type == "prismatic" else envelope.max_torque_nm
    assert joint.effort_limit is not None
    return joint.effort_limit if cap is None else min(joint.effort_limit, cap)


def _followers(robot: RobotDescription, leader: str) -> list[tuple[JointSpec, MimicSpec]]:
    # The core refuses a multiplier of zero, by name.
    return [
        (joint, joint.mimic)
        for joint in robot.joints
        if joint.mimic is not None and joint.mimic.joint == leader and joint.mimic.multiplier != 0.0
    ]


def _range_with_followers(robot: RobotDescription, leader: JointSpec) -> tuple[float, float]:
    """Returns the positions of a joint at which those that mimic it are inside their own limits too."""
    lower, upper = leader.position_limits or CONTINUOUS_RANGE
    for joint, mimic in _followers(robot, leader.name):
        if joint.position_limits is None:
            continue
        ends = sorted((limit - mimic.offset) / mimic.multiplier for limit in joint.position_limits)
        lower = ends[0] if ends[0] > lower + ROUNDED_LIMIT else lower
        upper = ends[1] if ends[1] < upper - ROUNDED_LIMIT else upper
    if not lower < upper:
        raise ROSConfigError(
            f"joint `{leader.name}` has no position at which those that mimic it are inside their limits"
        )
    return lower, upper


def _rate_with_followers(
    robot: RobotDescription, leader: str, limit: float, own_limit: Callable[[JointSpec], float | None]
) -> float:
    """Returns the speed or acceleration of a joint at which those that mimic it keep their own limits too."""
    for joint, mimic in _followers(robot, leader):
        declared = own_limit(joint)
        if declared is not None:
            own = declared / abs(mimic.multiplier)
            limit = own if own < limit * (1.0 - ROUNDED_LIMIT) else limit
    return limit


def _limits(robot: RobotDescription, envelope: SafetyEnvelope) -> dict[str, Value]:
    joints = robot.actuated_joints
    in_gripper = gripper_joint_names(robot)
    ranges = [_range_with_followers(robot, joint) for joint in joints]
    factor = envelope.max_joint_speed_factor

    def speed_limit(joint: JointSpec) -> float | None:
        return None if joint.velocity_limit is None else factor * joint.velocity_limit

    speeds = [
        _rate_with_followers(robot, joint.name, limit, speed_limit)
        for joint, limit in zip(joints, joint_velocity_limits(robot, envelope), strict=True)
    ]
    values: dict[str, Value] = {
        "dof_names": [joint.name for joint in joints],
        "dof_in_rows": [0 if joint.name in in_gripper else 1 for joint in joints],
        "position_min": [lower for lower, _ in ranges],
        "position_max": [upper for _, upper in ranges],
        "velocity_max": speeds,
    }
    declared = [
        joint.name for joint in robot.joints if joint.is_moving and joint.acceleration_limit is not None
    ]
    silent = [joint.name for joint in joints if joint.acceleration_limit is None]
    if not silent:
        values["acceleration_max"] = [
            _rate_with_followers(
                robot,
                joint.name,
                joint.acceleration_limit or 0.0,
                lambda follower: follower.acceleration_limit,
            )
            for joint in joints
        ]
    elif declared:
        raise ROSConfigError(
            f"robot `{robot.name}` declares acceleration_limit for {', '.join(declared)} "
            f"and not for {', '.join(silent)}; declare it for every joint or for none"
        )
    if all(joint.effort_limit is not None for joint in joints):
        values["torque_max"] = [_effort(joint, envelope) for joint in joints]
    return values


def _stop(robot: RobotDescription) -> dict[str, Value]:
    """Returns how the robot stops; zero for a finger that declares no deceleration, which no step moves."""
    if robot.stop is None:
        return {}
    values: dict[str, Value] = {
        "stop_kind": robot.stop.kind,
        "stop_reaction_s": float(robot.stop.reaction_s),
        "deceleration_max": [
            _rate_with_followers(
                robot,
                joint.name,
                joint.deceleration_limit or 0.0,
                lambda follower: follower.deceleration_limit,
            )
            for joint in robot.actuated_joints
        ],
    }
    if robot.stop.base_deceleration_m_s2 is not None:
        values["stop_base_deceleration_m_s2"] = robot.stop.base_deceleration_m_s2
        values["stop_base_angular_deceleration_rad_s2"] = robot.stop.base_angular_deceleration_rad_s2 or 0.0
    return values


def _volumes(robot: RobotDescription, links: list[str]) -> dict[str, Value]:
    geometry: Sequence[LinkCollisionGeometry] = robot.collision_geometry
    return {
        "volume_link": [links.index(volume.link_name) for volume in geometry],
        "volume_radius_m": [volume.shape.radius_m for volume in geometry],
        "volume_ends_m": [
            end for volume in geometry for end in capsule_ends(volume.shape, volume.origin_xyz_rpy)
        ],
        "allowed_link_pairs": [
            links.index(link) for pair in robot.unchecked_pairs for link in (pair.link_a, pair.link_b)
        ],
    }


def _hulls(robot: RobotDescription, links: list[str]) -> dict[str, Value]:
    hulls = sorted(robot.loaded_hulls, key=lambda hull: links.index(hull.link_name))
    if not hulls:
        return {}
    return {
        "piece_link": [links.index(hull.link_name) for hull in hulls],
        "piece_radius_m": [hull.radius_m for hull in hulls],
        "piece_corner_count": [len(hull.vertices_m) for hull in hulls],
        "piece_corners_m": [number for hull in hulls for vertex in hull.vertices_m for number in vertex],
    }


def _effectors(ends: Sequence[EndEffector], links: list[str], dofs: list[str]) -> dict[str, Value]:
    fingers = [
        (index, end.gripper, finger)
        for index, end in enumerate(ends)
        if end.gripper
        for finger in end.gripper.joints
    ]
    return {
        "effector_names": [end.name for end in ends],
        "effector_link": [links.index(end.link) for end in ends],
        "effector_tool_xyzrpy": [number for end in ends for number in end.tool_xyz_rpy],
        "gripper_effector": [index for index, _, _ in fingers],
        "gripper_dof": [dofs.index(finger.name) for _, _, finger in fingers],
        "gripper_position_closed": [finger.position_closed for _, _, finger in fingers],
        "gripper_position_open": [finger.position_open for _, _, finger in fingers],
        "gripper_channel_closed": [gripper.channel_closed for _, gripper, _ in fingers],
        "gripper_channel_open": [gripper.channel_open for _, gripper, _ in fingers],
    }


def _footprint(robot: RobotDescription) -> dict[str, Value]:
    """Returns what the base covers of the floor; a polygon says it more closely than a disc."""
    if robot.footprint_polygon is not None:
        vertices = [float(number) for vertex in robot.footprint_polygon for number in vertex]
        return {"footprint_corners_xy": vertices, "footprint_radius_m": 0.0}
    if robot.footprint_radius is not None:
        return {"footprint_corners_xy": [0.0, 0.0], "footprint_radius_m": float(robot.footprint_radius)}
    return {}


def _pose_in_base(zone: Zone | KeepInZone, robot: RobotDescription) -> Pose6D:
    frames = RobotFrames.of(robot)
    problem = frames.problem(zone.pose.frame_id)
    if problem is not None:
        raise ROSConfigError(f"zone `{zone.name}` {problem}")
    return frames.pose_in_base(zone.pose)


def _placed_shapes(
    zones: Sequence[Zone | KeepInZone], robot: RobotDescription, prefix: str
) -> dict[str, Value]:
    poses = [_pose_in_base(zone, robot) for zone in zones]
    return {
        f"{prefix}_names": [zone.name for zone in zones],
        f"{prefix}_kind": [SHAPE_KIND[zone.shape.shape] for zone in zones],
        f"{prefix}_size_m": [number for zone in zones for number in shape_size_m(zone.shape)],
        f"{prefix}_xyz_quat_xyzw": [number for pose in poses for number in (*pose.xyz, *pose.quat_xyzw)],
    }


def _zones(envelope: SafetyEnvelope, robot: RobotDescription, links: list[str]) -> dict[str, Value]:
    pairs: list[int] = []
    for index, zone in enumerate(envelope.keep_in_zones):
        for link in zone.links:
            if link not in links:
                raise ROSConfigError(
                    f"keep-in zone `{zone.name}` names link `{link}`, which robot `{robot.name}` does not have; "
                    f"links: {', '.join(links)}"
                )
            pairs += [index, links.index(link)]
    return (
        _placed_shapes(envelope.no_go_zones, robot, "zone")
        | _placed_shapes(envelope.keep_in_zones, robot, "keep_in")
        | {"keep_in_links": pairs}
    )


def _envelope(envelope: SafetyEnvelope) -> dict[str, Value]:
    values: dict[str, Value] = {
        name: getattr(envelope, name)
        for name in (
            "self_collision_margin_m",
            "world_collision_margin_m",
            "cartesian_deviation_m",
            "state_age_s_max",
            "world_age_s_max",
        )
    }
    for name in (
        "workspace_box_min_xyz",
        "workspace_box_max_xyz",
        "max_ee_speed_m_s",
        "max_ee_angular_speed_rad_s",
        "max_ee_accel_m_s2",
        "max_cartesian_step_m",
        "max_cartesian_step_rad",
        "max_base_linear_speed_m_s",
        "max_base_angular_speed_rad_s",
        "gripper_min",
        "gripper_max",
    ):
        value = getattr(envelope, name)
        if value is not None:
            values[name] = list(np.atleast_1d(value).tolist()) if isinstance(value, tuple) else float(value)
    return values
