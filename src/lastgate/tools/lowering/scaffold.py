# SPDX-License-Identifier: Apache-2.0
"""Writes the first manifest of a robot: names, limits and references from its description, nothing invented."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from lastgate.contracts.exceptions import ROSConfigError
from lastgate.tools.lowering.diagnostics import DescriptionError, Diagnostic
from lastgate.tools.lowering.joint_frames import frames_above, written_pose
from lastgate.tools.lowering.manifest_splice import quoted_name
from lastgate.tools.lowering.urdf_model import UrdfJoint, UrdfModel


@dataclass(frozen=True)
class ManifestJoint:
    """One entry under `joints`, before lowering adds its frame."""

    name: str
    joint_type: str
    parent: str
    child: str
    limits: tuple[float, float] | None = None
    velocity: float | None = None
    velocity_source: str = "assumed"
    effort: float | None = None
    mimic: tuple[str, float, float] | None = None  # joint, multiplier, offset

    @property
    def is_moving(self) -> bool:
        return self.joint_type in ("revolute", "continuous", "prismatic")


class VelocityLimits:
    """Limits a person states for joints whose description names none: none may be made up."""

    def __init__(self, stated: Sequence[str]) -> None:
        """Reads `PATTERN=VALUE` entries; the first that matches a joint counts."""
        self._stated: list[tuple[str, float]] = []
        for entry in stated:
            pattern, _, value = entry.rpartition("=")
            try:
                limit = float(value)
            except ValueError:
                limit = math.nan
            if not pattern or not 0.0 < limit < math.inf:
                raise ROSConfigError(
                    f"`--velocity-limit {entry}`: write `--velocity-limit JOINT=VALUE`, a positive number (rad/s, m/s)"
                )
            self._stated.append((pattern, limit))
        self._used: set[str] = set()

    def of(self, joint: str, described: float | None) -> float | None:
        """Returns what is stated for a joint, else what its description says if that is a limit at all."""
        for pattern, limit in self._stated:
            if fnmatchcase(joint, pattern):
                self._used.add(pattern)
                return limit
        return described if described is not None and described > 0.0 else None

    def is_stated(self, joint: str) -> bool:
        """Returns whether a person states the limit of a joint, so that it is not the description's."""
        return any(fnmatchcase(joint, pattern) for pattern, _ in self._stated)

    def unused(self) -> list[str]:
        """Returns the patterns no joint has matched."""
        return [pattern for pattern, _ in self._stated if pattern not in self._used]


def manifest_from_urdf(
    name: str,
    urdf: UrdfModel,
    *,
    urdf_ref: str,
    srdf_ref: str | None = None,
    mjcf_ref: str | None = None,
    velocity_limits: Sequence[str] = (),
) -> str:
    """Returns the text of a manifest without volumes, pairs and frames; lowering adds those.

    A moving joint without a velocity limit is refused: the gate checks velocities, and none may be made up.
    """
    base = _base_link(urdf)
    joints = _listed_joints(urdf, base)
    limits = VelocityLimits(velocity_limits)
    listed = [
        ManifestJoint(
            joint.name,
            joint.joint_type,
            _nearest_listed(urdf, joint, joints, base),
            joint.child,
            joint.limits,
            limits.of(joint.name, joint.velocity) if joint.is_moving else None,
            "assumed" if limits.is_stated(joint.name) else "vendor",
            joint.effort,
            (joint.mimic.joint, joint.mimic.multiplier, joint.mimic.offset) if joint.mimic else None,
        )
        for joint in joints
    ]
    lines = {joint.name: joint.line for joint in joints}
    problems = [
        Diagnostic(
            str(urdf.path),
            lines[joint.name],
            f"joint `{joint.name}` needs a positive velocity limit in its <limit>, or "
            f"`--velocity-limit '{joint.name}=VALUE'` ({unit_of(joint)})",
        )
        for joint in listed
        if joint.is_moving and joint.mimic is None and joint.velocity is None
    ]
    problems += [
        Diagnostic(
            str(urdf.path), joint.line, f"joint `{joint.name}` is {joint.joint_type}: only the base may be"
        )
        for joint in joints
        if joint.joint_type in ("floating", "planar") and joint.parent != base
    ]
    assets = [f'  urdf: {{ref: "{urdf_ref}"{_root_fields(urdf, base)}}}']
    assets += [f'  srdf: "{srdf_ref}"'] if srdf_ref else []
    assets += [f'  mjcf: "{mjcf_ref}"'] if mjcf_ref else []
    require_sound(str(urdf.path), problems, limits, listed)
    return manifest_text(name, base, assets, listed)


def unit_of(joint: ManifestJoint) -> str:
    """Returns the unit of a joint's velocity."""
    return "m/s" if joint.joint_type == "prismatic" else "rad/s"


def require_sound(
    path: str, problems: list[Diagnostic], limits: VelocityLimits, joints: list[ManifestJoint]
) -> None:
    """Raises with every problem of a description, and where nothing of it moves."""
    unused = [
        Diagnostic(path, None, f"`--velocity-limit {pattern}=…` matches no moving joint")
        for pattern in limits.unused()
    ]
    if problems or unused:
        raise DescriptionError([*problems, *unused])
    if not any(joint.is_moving for joint in joints):
        raise ROSConfigError(f"{path}: no joint moves, so there is nothing to check")


def manifest_text(name: str, base: str, assets: list[str], joints: list[ManifestJoint]) -> str:
    """Returns a manifest of names, limits and references."""
    lines = [
        "schema_version: 1",
        f"name: {quoted_name(name)}",
        f"base_frame: {quoted_name(base)}",
        "",
        "assets:",
    ]
    lines += [*assets, "", "joints:"]
    for joint in joints:
        lines += _joint_lines(joint)
    return "\n".join(lines) + "\n"


def _base_link(urdf: UrdfModel) -> str:
    """Returns the root, or what is bolted to it where the root is only a name such as `world`."""
    base = urdf.root
    while not urdf.collisions.get(base):
        below = [joint for joint in urdf.joints if joint.parent == base]
        if len(below) != 1 or below[0].joint_type != "fixed":
            return base
        base = below[0].child
    return base


def _root_fields(urdf: UrdfModel, base: str) -> str:
    """Returns where the root stands in the base, as further keys of `assets.urdf`; nothing where they are one link."""
    if base == urdf.root:
        return ""
    numbers = ", ".join(repr(number) for number in written_pose(frames_above(urdf, base)[urdf.root]))
    return f", root_frame: {quoted_name(urdf.root)}, base_to_root_xyz_rpy: [{numbers}]"


def _listed_joints(urdf: UrdfModel, base: str) -> list[UrdfJoint]:
    """Returns every joint that moves, and the fixed ones whose child has shapes of its own."""
    below = {base}
    listed: list[UrdfJoint] = []
    for joint in urdf.joints:
        if joint.parent not in below:
            continue
        below.add(joint.child)
        if joint.joint_type != "fixed" or urdf.collisions.get(joint.child):
            listed.append(joint)
    return listed


def _nearest_listed(urdf: UrdfModel, joint: UrdfJoint, listed: list[UrdfJoint], base: str) -> str:
    links = {base, *(other.child for other in listed)}
    above = {other.child: other for other in urdf.joints}
    parent = joint.parent
    while parent not in links:
        parent = above[parent].parent
    return parent


def _joint_lines(joint: ManifestJoint) -> list[str]:
    lines = [
        f"  - name: {quoted_name(joint.name)}",
        f"    joint_type: {joint.joint_type}",
        f"    parent_link: {quoted_name(joint.parent)}",
        f"    child_link: {quoted_name(joint.child)}",
    ]
    if not joint.is_moving:
        return lines
    if joint.limits is not None:
        lines.append(f"    position_limits: [{joint.limits[0]!r}, {joint.limits[1]!r}]")
    if joint.velocity is not None:
        lines.append(f"    velocity_limit: {joint.velocity!r}")
        lines.append(f"    velocity_limit_source: {joint.velocity_source}")
    if joint.effort is not None and joint.effort > 0.0:
        lines.append(f"    effort_limit: {joint.effort!r}")
    if joint.mimic is not None:
        leader, multiplier, offset = joint.mimic
        lines.append(
            f"    mimic: {{joint: {quoted_name(leader)}, multiplier: {multiplier!r}, offset: {offset!r}}}"
        )
    return lines
