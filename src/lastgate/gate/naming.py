# SPDX-License-Identifier: Apache-2.0
"""Turns the indices of a native violation into the names the user wrote."""

import re
from typing import Literal

from lastgate import _core
from lastgate.contracts import ControlMode, RobotDescription, RobotFrames, ViolationCode, violation_code_of
from lastgate.contracts.action import ActionChunk
from lastgate.gate.verdict import Violation
from lastgate.robots.kernel_config import gripper_joint_names, missing_bounds
from lastgate.world import NoWorld, World

_DOF, _LINK, _EFFECTOR, _ELEMENT, _ATTACHED = 1, 2, 3, 4, 5
_AGAINST_LINK, _AGAINST_PRIMITIVE, _AGAINST_ZONE, _AGAINST_VOXEL = 1, 2, 3, 4
_AGAINST_POINT, _AGAINST_ATTACHED, _AGAINST_KEEP_IN_ZONE = 5, 6, 7
_AGAINST_FLOOR = 8

_STATE_BLAME = (
    "no state was given",
    "the state is incomplete",
    "the state is not finite or beyond any joint",
    "the state is stale",
    "the tool moves with a joint that was not measured",
)
_WORLD_BLAME = (
    "no world was given",
    "the world is in another frame",
    "the world holds numbers that cannot be used",
    "the world is stale",
    "the world was not filled: it has no obstacles, voxels, points or zones, not even an empty list of them",
    "the map of the floor, or where the robot stands on it, is stale",
)
_VOXEL_BLAME = (
    "no grid was given",
    "the grid is in another frame",
    "the grid holds numbers that cannot be used",
    "the grid is stale",
)
_CONTACT_BLAME = (
    "more contacts are declared than the gate has room for",
    "its region is not a box of finite size",
    "its expiry is not finite",
    "it names nothing that may touch",
    "it names nothing that may be touched",
    "it names a link that does not exist",
    "it names something that is not held",
    "it names an obstacle that is not in the snapshot",
)

_FIXED_DETAILS = {
    ViolationCode.not_checked: "no check ran",
    ViolationCode.estop_latched: "a stop is latched, and everything is rejected until it is reset",
    ViolationCode.envelope_unconfigured: "the kernel is not active",
}
_CAPACITY_DETAILS = {
    ViolationCode.voxel_overflow: "the grid has more than {limit:.0f} cells along an edge",
    ViolationCode.world_overflow: "the world holds more than {limit:.0f} obstacles",
    ViolationCode.budget_exceeded: "not decided within {limit:.0f} evaluations",
}

_COLUMN_NAMES = {
    ControlMode.CARTESIAN_POSE: ("qx", "qy", "qz", "qw", "x", "y", "z"),
    ControlMode.CARTESIAN_DELTA: ("dx", "dy", "dz", "rx", "ry", "rz"),
    ControlMode.CARTESIAN_TWIST: ("vx", "vy", "vz", "wx", "wy", "wz"),
    ControlMode.BODY_TWIST: ("vx", "vy", "vz", "wx", "wy", "wz"),
    ControlMode.GRIPPER_BINARY: ("gripper",),
    ControlMode.GRIPPER_POSITION: ("gripper",),
    ControlMode.COMPOSITE_MODE: ("gripper",),
}

_UNITS = {
    ViolationCode.gripper_range: "",
    ViolationCode.cartesian_step: "m",
    ViolationCode.cartesian_rotation_step: "rad",
    ViolationCode.ee_speed: "m/s",
    ViolationCode.ee_angular_speed: "rad/s",
    ViolationCode.ee_acceleration: "m/s^2",
    ViolationCode.base_linear_speed: "m/s",
    ViolationCode.base_angular_speed: "rad/s",
    ViolationCode.cartesian_unreachable: "m",
    ViolationCode.workspace_box: "m",
    ViolationCode.state_unavailable: "s",
    ViolationCode.world_unavailable: "s",
    ViolationCode.self_collision: "m",
    ViolationCode.world_collision: "m",
    ViolationCode.recovery_not_growing: "m",
    ViolationCode.keep_in_zone: "m",
    ViolationCode.voxel_unavailable: "s",
}

_MOTION_UNITS = {
    ViolationCode.joint_position_limit: "",
    ViolationCode.joint_velocity_limit: "/s",
    ViolationCode.recovery_speed: "/s",
    ViolationCode.joint_acceleration_limit: "/s^2",
}

_WITH_WITNESS = {
    ViolationCode.self_collision,
    ViolationCode.world_collision,
    ViolationCode.recovery_not_growing,
    ViolationCode.keep_in_zone,
}


_CARTESIAN = {ControlMode.CARTESIAN_POSE, ControlMode.CARTESIAN_DELTA, ControlMode.CARTESIAN_TWIST}
_OF_EFFECTOR = {
    ViolationCode.cartesian_step,
    ViolationCode.cartesian_rotation_step,
    ViolationCode.cartesian_unreachable,
    ViolationCode.ee_speed,
    ViolationCode.ee_angular_speed,
    ViolationCode.quaternion_norm,
    ViolationCode.workspace_box,
}

_OF_BASE = {ViolationCode.base_linear_speed, ViolationCode.base_angular_speed, ViolationCode.recovery_speed}

# Where the core blames a turn that is not followed; 0 is where it blames a move.
_TURN_COLUMN = 3

_INDEXED = re.compile(r"^(link|degree of freedom|volume|end effector|allowed pair) (\d+): ")


def name_indices(message: str, robot: RobotDescription) -> str:
    """Returns a refusal of the core with the name of the joint, link or end effector it counts."""
    found = _INDEXED.match(message)
    if found is None:
        return message
    what, index, why = found[1], int(found[2]), message[found.end() :]
    match what:
        case "link":
            above = robot.joints[index - 1].name if index > 0 else ""
            return f"link `{robot.link_names[index]}` (joint `{above}`): {why}" if above else message
        case "degree of freedom":
            return f"joint `{robot.actuated_joints[index].name}`: {why}"
        case "volume":
            return f"link `{robot.collision_geometry[index].link_name}`: its volume {why}"
        case "end effector":
            return f"end effector `{robot.end_effectors[index].name}`: {why}"
    pair = robot.unchecked_pairs[index]
    return f"allowed pair `{pair.link_a}` / `{pair.link_b}`: {why}"


def _collision_kind(code: ViolationCode, raw: _core.Violation) -> Literal["self", "world"] | None:
    if code not in _WITH_WITNESS:
        return None
    return "self" if raw.against_kind in (_AGAINST_LINK, _AGAINST_ATTACHED) else "world"


def _age(raw: _core.Violation) -> str:
    if raw.value < raw.limit_min:
        return f": stamped {-raw.value:.3f} s after now, allowed {-raw.limit_min:.3f} s"
    return f": {raw.value:.3f} s old, allowed {raw.limit_max:.3f} s"


class VerdictNames:
    """Names what a verdict of one gate is about."""

    def __init__(
        self, *, robot: RobotDescription, config: _core.KernelConfig, attachments: dict[str, int]
    ) -> None:
        self._robot = robot
        self._config = config
        self._attachments = attachments
        self._joints = robot.actuated_joints

    def violation(
        self, native: _core.Verdict, *, chunk: ActionChunk, world: World | NoWorld | None
    ) -> Violation:
        """Returns the violation of a rejected verdict with names instead of indices."""
        raw = native.violation
        code = violation_code_of(raw.code)
        in_box = code == ViolationCode.workspace_box and raw.subject_kind == _EFFECTOR
        # Two points at the origin are what the core leaves where it had none to give.
        has_witness = code in _WITH_WITNESS and (any(raw.witness_a) or any(raw.witness_b))
        box = self._config.workspace_box if code == ViolationCode.workspace_box else None
        return Violation(
            code=code,
            step=None if raw.row == _core.NONE else raw.row,
            subject=self._subject(raw, chunk),
            against=self._against(raw, world),
            value=raw.value,
            limit_min=raw.limit_min,
            limit_max=raw.limit_max,
            unit=self._unit(code, raw),
            detail=self._detail(code, raw, chunk, world),
            segment_t=raw.segment_t if code in _WITH_WITNESS or in_box else None,
            first_contact_t=raw.first_contact_t if code in _WITH_WITNESS or in_box else None,
            witness_a=raw.witness_a if has_witness else None,
            witness_b=raw.witness_b if has_witness else None,
            world_id="" if world is None else world.world_id,
            world_age_s=native.world_age_s if isinstance(world, World) else None,
            measured_xyz=self._measured_xyz(code, raw, chunk),
            box=box,
            collision_kind=_collision_kind(code, raw),
        )

    def _subject(self, raw: _core.Violation, chunk: ActionChunk) -> str:
        match raw.subject_kind:
            case n if n == _DOF:
                base = ("base x", "base y", "base yaw")
                return (
                    self._joints[raw.subject].name
                    if raw.subject < len(self._joints)
                    else base[raw.subject - len(self._joints)]
                )
            case n if n == _LINK:
                return self._config.link_names[raw.subject]
            case n if n == _EFFECTOR:
                return self._config.effector_names[raw.subject]
            case n if n == _ATTACHED:
                return self._attached_name(raw.subject)
            case n if n == _ELEMENT:
                # A whole step is to blame, or one coordinate of a pose: what breaks the rule is the end effector.
                if violation_code_of(raw.code) in _OF_EFFECTOR and chunk.mode in _CARTESIAN:
                    return chunk.ee_name or self._config.effector_names[0]
                if violation_code_of(raw.code) in _OF_BASE:
                    # Speed along the floor and turn rate are the base's; the other columns must be zero.
                    return (
                        "base" if raw.subject in (0, 5) else f"base {self._column_name(raw.subject, chunk)}"
                    )
                return self._column_name(raw.subject, chunk)
        return ""

    def _against(self, raw: _core.Violation, world: World | NoWorld | None) -> str:
        listed = {
            _AGAINST_LINK: self._config.link_names,
            _AGAINST_ZONE: self._config.zone_names,
            _AGAINST_KEEP_IN_ZONE: self._config.keep_in_names,
        }
        match raw.against_kind:
            case n if n in listed:
                return listed[n][raw.against]
            case n if n == _AGAINST_PRIMITIVE:
                return world.object_name(raw.against) if isinstance(world, World) else f"world_{raw.against}"
            case n if n == _AGAINST_VOXEL:
                # Without a cell it was the edge of what the grid covers, or the inside of something solid.
                return "unseen space" if raw.against == _core.NONE else f"voxel_{raw.against}"
            case n if n == _AGAINST_POINT:
                return f"point_{raw.against}"
            case n if n == _AGAINST_ATTACHED:
                return self._attached_name(raw.against)
            case n if n == _AGAINST_FLOOR:
                placed = world.floor_map if isinstance(world, World) else None
                # Without a cell it was the edge of the map, or the inside of a blocked part of it.
                if placed is not None and raw.against != _core.NONE:
                    return placed.cell_label(raw.against)
                return "unmapped or blocked floor"
        return ""

    def _attached_name(self, number: int) -> str:
        # Another client of the same kernel may have attached it.
        found = (name for name, known in self._attachments.items() if known == number)
        return next(found, f"attached_{number}")

    def _column_name(self, column: int, chunk: ActionChunk) -> str:
        names = _COLUMN_NAMES.get(chunk.mode)  # type: ignore[call-overload]
        if names is not None:
            return names[column]
        rows = [name for name in self._config.dof_names if name not in self._gripper_names()]
        return rows[column] if column < len(rows) else f"column {column}"

    def _gripper_names(self) -> set[str]:
        return {
            joint.name for end in self._robot.end_effectors if end.gripper for joint in end.gripper.joints
        }

    def _unit(self, code: ViolationCode, raw: _core.Violation) -> str:
        if code == ViolationCode.recovery_speed and raw.subject_kind == _ELEMENT:
            return "m/s" if raw.subject < 3 else "rad/s"
        if code == ViolationCode.cartesian_unreachable and raw.subject == _TURN_COLUMN:
            return "rad"
        if raw.subject_kind != _DOF or code not in (*_MOTION_UNITS, ViolationCode.joint_torque_limit):
            return _UNITS.get(code, "")
        base_axis = raw.subject - len(self._joints)
        prismatic = (
            base_axis in (0, 1) if base_axis >= 0 else self._joints[raw.subject].joint_type == "prismatic"
        )
        if code == ViolationCode.joint_torque_limit:
            return "N" if prismatic else "Nm"
        return ("m" if prismatic else "rad") + _MOTION_UNITS[code]

    def _measured_xyz(
        self, code: ViolationCode, raw: _core.Violation, chunk: ActionChunk
    ) -> tuple[float, float, float] | None:
        if code != ViolationCode.workspace_box:
            return None
        if raw.subject_kind == _EFFECTOR:
            return raw.witness_a
        x, y, z = chunk.rows[raw.row, 4:7]
        return float(x), float(y), float(z)

    def _state_needed(self) -> str:
        fingers = len(gripper_joint_names(self._robot))
        return (
            f": it needs {len(self._joints) - fingers} positions, as many velocities and stamps or none, "
            f"and {fingers} gripper positions or none"
        )

    def _frame_blame(self, world: World | NoWorld | None) -> str:
        blame = _WORLD_BLAME[1]
        if not isinstance(world, World):
            return blame
        frames = RobotFrames.of(self._robot)
        if frames.is_root(world.frame_id):
            return f"the world {world.turn_problem(frames) or blame}"
        problem = frames.problem(world.frame_id)
        if problem is None:
            return blame
        if not world.frame_id:
            return f"the world {problem}"
        return f"{blame}: {problem.removeprefix('is in frame ')}"

    def _detail(
        self,
        code: ViolationCode,
        raw: _core.Violation,
        chunk: ActionChunk,
        world: World | NoWorld | None,
    ) -> str:
        if code in _FIXED_DETAILS:
            return _FIXED_DETAILS[code]
        if code in _CAPACITY_DETAILS:
            return _CAPACITY_DETAILS[code].format(limit=raw.limit_max)
        return (
            self._detail_of_shape(code, raw, chunk)
            or self._detail_of_inputs(code, raw, chunk, world)
            or self._detail_of_tool(code, raw, chunk)
        )

    def _detail_of_shape(self, code: ViolationCode, raw: _core.Violation, chunk: ActionChunk) -> str:
        match code:
            case ViolationCode.control_mode:
                return self._mode_detail(chunk)
            case ViolationCode.ndof_mismatch:
                return f"steps are {raw.value:.0f} wide, this mode on this robot needs {raw.limit_max:.0f}"
            case ViolationCode.dim_mismatch if raw.element == 2:
                return f"the {raw.value:.0f} bytes are not an ActionChunk message"
            case ViolationCode.dim_mismatch if raw.element == 1:
                return f"horizon is {raw.value:.0f} steps, allowed {raw.limit_min:.0f} to {raw.limit_max:.0f}"
            case ViolationCode.dim_mismatch:
                return f"flat holds {raw.value:.0f} numbers, steps times width is {raw.limit_max:.0f}"
            case ViolationCode.nan_in_action:
                return f"{self._subject(raw, chunk)} (element {raw.element}) is {raw.value}"
        return ""

    def _mode_detail(self, chunk: ActionChunk) -> str:
        name = chunk.mode.name if isinstance(chunk.mode, ControlMode) else str(chunk.mode)
        missing = missing_bounds(chunk.mode, self._robot) if isinstance(chunk.mode, ControlMode) else []
        needed = f": it needs {', '.join(missing)}" if missing else ""
        return f"control_mode {name} is not enabled for robot `{self._robot.name}`{needed}"

    def _detail_of_inputs(
        self, code: ViolationCode, raw: _core.Violation, chunk: ActionChunk, world: World | NoWorld | None
    ) -> str:
        match code:
            case ViolationCode.cartesian_frame:
                return (
                    f"no end effector `{chunk.ee_name}` or no frame `{chunk.frame_id}` to read the steps in"
                )
            case ViolationCode.state_unavailable:
                who = f" ({self._joints[raw.subject].name})" if raw.subject_kind == _DOF else ""
                age = _age(raw) if raw.element == 3 else ""
                needed = self._state_needed() if raw.element == 1 else ""
                return _STATE_BLAME[raw.element] + who + age + needed
            case ViolationCode.world_unavailable:
                age = _age(raw) if raw.element in (3, 5) else ""
                return self._frame_blame(world) if raw.element == 1 else _WORLD_BLAME[raw.element] + age
            case ViolationCode.voxel_unavailable:
                return _VOXEL_BLAME[raw.element] + (_age(raw) if raw.element == 3 else "")
            case ViolationCode.declared_contact if raw.element == 0:
                return f"{_CONTACT_BLAME[0]}: {raw.value:.0f}, at most {raw.limit_max:.0f}"
            case ViolationCode.declared_contact:
                return f"declared contact {raw.value:.0f}: {_CONTACT_BLAME[raw.element]}"
        return ""

    def _detail_of_tool(self, code: ViolationCode, raw: _core.Violation, chunk: ActionChunk) -> str:
        match code:
            case ViolationCode.workspace_box if raw.subject_kind == _ELEMENT:
                axis = "xyz"[raw.subject - 4]
                return (
                    f"{self._subject(raw, chunk)} is sent to {axis} {raw.value:.4f} m, "
                    f"allowed {raw.limit_min:.4f} to {raw.limit_max:.4f} m"
                )
            case ViolationCode.workspace_box if raw.subject_kind == _EFFECTOR:
                tool = f"the tool of {self._config.effector_names[raw.subject]}"
                if raw.value < 0.0:
                    return f"{tool} is {-raw.value:.4f} m outside the workspace box"
                return f"{tool} moves to within 0.1 mm of the wall of the workspace box"
            case ViolationCode.quaternion_norm:
                return f"the quaternion for {self._subject(raw, chunk)} has length {raw.value:.4f}, must be 1"
            case ViolationCode.cartesian_unreachable if raw.limit_max > 1.0:  # of a remainder it is less
                return (
                    f"{self._subject(raw, chunk)} is to turn by {raw.value:.4f} rad, and half a turn or more does not "
                    "say which way around"
                )
            case ViolationCode.cartesian_unreachable if raw.limit_max > 0.0:
                unit = self._unit(code, raw)
                return (
                    f"{self._subject(raw, chunk)} stays {raw.value:.4f} {unit} away from where the step sends it, "
                    f"allowed {raw.limit_max:.4f} {unit}"
                )
            case ViolationCode.cartesian_unreachable:
                return f"no joint motion leads {self._subject(raw, chunk)} where the step sends it"
        return ""
