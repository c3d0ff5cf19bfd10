# SPDX-License-Identifier: Apache-2.0
"""Intersects the robot's envelope, the ceiling, with a skill's, which may only be tighter."""

from collections.abc import Set
from dataclasses import dataclass, field
from typing import Any

from pydantic import ValidationError

from lastgate.contracts.envelope import SafetyEnvelope
from lastgate.contracts.exceptions import ROSConfigError
from lastgate.contracts.robot import RobotDescription
from lastgate.contracts.schema import config_error_from
from lastgate.contracts.skill import RSkillManifest

# Smaller is tighter.
MAXIMA = (
    "max_ee_speed_m_s",
    "max_ee_angular_speed_rad_s",
    "max_ee_accel_m_s2",
    "max_joint_speed_factor",
    "max_force_n",
    "max_torque_nm",
    "contact_force_threshold_n",
    "max_cartesian_step_m",
    "max_cartesian_step_rad",
    "max_base_linear_speed_m_s",
    "max_base_angular_speed_rad_s",
    "state_age_s_max",
    "world_age_s_max",
)
# Larger is tighter: more distance is required, or a larger straying is allowed for.
MARGINS = ("self_collision_margin_m", "world_collision_margin_m", "cartesian_deviation_m")
# A lower and an upper corner that belong together; the skill's must lie inside the robot's.
RANGES = (
    ("workspace_box_min_xyz", "workspace_box_max_xyz", "workspace box"),
    ("gripper_min", "gripper_max", "gripper range"),
)


def intersect_envelopes(robot: RobotDescription, skill: RSkillManifest | None) -> SafetyEnvelope:
    """Returns the limits that hold while `skill` runs on `robot`; without a skill, the robot's own.

    Only the fields that the skill's manifest sets take part. A field set to null counts as not set: the
    robot's limit stays.

    Raises:
        ROSConfigError: A field of the skill is looser than the robot's, or half of a range is missing. Every
            such field is named, with both numbers. Or an argument is not what it is called.
    """
    if not isinstance(robot, RobotDescription):
        raise ROSConfigError(f"robot is a {type(robot).__name__}, expected a RobotDescription")
    if skill is not None and not isinstance(skill, RSkillManifest):
        raise ROSConfigError(
            f"skill is a {type(skill).__name__}, expected an RSkillManifest: an envelope alone is passed as "
            "`RSkillManifest(name=..., version=..., envelope=...)`"
        )
    ceiling = robot.safety
    if skill is None or skill.envelope is None:
        return ceiling
    work = _Intersection(ceiling=ceiling, asked=_declared(skill.envelope, skill.envelope.model_fields_set))
    for name in MAXIMA:
        work.tighten(name, smaller_is_tighter=True)
    for name in MARGINS:
        work.tighten(name, smaller_is_tighter=False)
    for lower_name, upper_name, noun in RANGES:
        work.tighten_range(lower_name, upper_name, noun)
    work.tighten_deadman()
    work.unite_zones()

    who = f"skill `{skill.name}` {skill.version} on robot `{robot.name}`"
    if work.problems:
        raise ROSConfigError("\n".join(f"{who}: {problem}" for problem in work.problems))
    try:
        return SafetyEnvelope(**{**_declared(ceiling, ceiling.model_fields_set), **work.tightened})
    except ValidationError as error:
        raise config_error_from(error, source=who) from None


def joint_velocity_limits(robot: RobotDescription, envelope: SafetyEnvelope) -> tuple[float, ...]:
    """Returns the speed each column of a step may ask for: the joint's own limit times the envelope's factor.

    A robot made without validation, with a joint that has no limit, raises `ROSConfigError`.
    """
    limits = []
    for joint in robot.actuated_joints:
        if joint.velocity_limit is None:
            raise ROSConfigError(f"joint `{joint.name}` declares no velocity_limit")
        limits.append(joint.velocity_limit * envelope.max_joint_speed_factor)
    return tuple(limits)


@dataclass(kw_only=True)
class _Intersection:
    ceiling: SafetyEnvelope
    asked: dict[str, Any]
    tightened: dict[str, Any] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)

    def tighten(self, name: str, *, smaller_is_tighter: bool) -> None:
        if name not in self.asked:
            return
        skill_value, robot_value = self.asked[name], getattr(self.ceiling, name)
        # Asked as "is it tighter?", so that NaN in an envelope made without validation counts as loosening.
        is_tighter = robot_value is None or (
            skill_value <= robot_value if smaller_is_tighter else skill_value >= robot_value
        )
        self._take(name, is_tighter)

    def tighten_range(self, lower_name: str, upper_name: str, noun: str) -> None:
        of_robot = _declared(self.ceiling, {lower_name, upper_name})
        for owner, given in (("skill", self.asked), ("robot", of_robot)):
            if (lower_name in given) != (upper_name in given):
                missing = upper_name if lower_name in given else lower_name
                self.problems.append(f"the {owner} sets half a {noun}: `{missing}` is missing")
                return
        if lower_name not in self.asked:
            return
        for name in (lower_name, upper_name):
            bounds = _components(of_robot.get(name, self.asked[name]))
            pairs = zip(_components(self.asked[name]), bounds, strict=True)
            is_lower = name == lower_name
            self._take(name, all(robot <= skill if is_lower else skill <= robot for skill, robot in pairs))

    def tighten_deadman(self) -> None:
        if "deadman_required" in self.asked:
            is_tighter = self.asked["deadman_required"] is True or self.ceiling.deadman_required is False
            self._take("deadman_required", is_tighter)

    def unite_zones(self) -> None:
        # More zones of either kind are tighter: each is one more thing to keep out of, or to stay inside.
        for field_name in ("no_go_zones", "keep_in_zones"):
            zones = {zone.name: zone for zone in getattr(self.ceiling, field_name)}
            for zone in self.asked.get(field_name, ()):
                if zones.setdefault(zone.name, zone) != zone:
                    self.problems.append(
                        f"`{field_name}`: the robot has another zone called `{zone.name}`; choose another name"
                    )
            self.tightened[field_name] = tuple(zones.values())

    def _take(self, name: str, is_tighter: bool) -> None:
        if is_tighter:
            self.tightened[name] = self.asked[name]
            return
        skill_text, robot_text = _shown(self.asked[name]), _shown(getattr(self.ceiling, name))
        self.problems.append(f"`{name}` is looser than the robot's: skill {skill_text}, robot {robot_text}")


def _declared(envelope: SafetyEnvelope, names: Set[str]) -> dict[str, Any]:
    return {name: getattr(envelope, name) for name in names if getattr(envelope, name) is not None}


def _components(value: Any) -> tuple[float, ...]:
    return value if isinstance(value, tuple) else (value,)


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return "[" + ", ".join(f"{component:.4f}" for component in value) + "]"
    return f"{value:.4f}"
