# SPDX-License-Identifier: Apache-2.0
"""Writes the first manifest of a robot from its URDF: names, limits and references, nothing invented."""

from __future__ import annotations

from lastgate.contracts.exceptions import ROSConfigError
from lastgate.lowering.diagnostics import DescriptionError, Diagnostic
from lastgate.lowering.manifest_splice import quoted_name
from lastgate.lowering.urdf_model import UrdfJoint, UrdfModel


def manifest_from_urdf(
    name: str, urdf: UrdfModel, *, urdf_ref: str, srdf_ref: str | None = None, mjcf_ref: str | None = None
) -> str:
    """Returns the text of a manifest without volumes, pairs and frames; lowering adds those.

    A moving joint without a velocity limit is refused: the gate checks velocities, and none may be made up.
    """
    base = _base_link(urdf)
    joints = _listed_joints(urdf, base)
    problems = [
        Diagnostic(
            str(urdf.path), joint.line, f"joint `{joint.name}` needs a positive velocity limit in its <limit>"
        )
        for joint in joints
        if joint.is_moving
        and joint.mimic is None
        and not (joint.velocity is not None and joint.velocity > 0.0)
    ]
    problems += [
        Diagnostic(
            str(urdf.path), joint.line, f"joint `{joint.name}` is {joint.joint_type}: only the base may be"
        )
        for joint in joints
        if joint.joint_type in ("floating", "planar") and joint.parent != base
    ]
    if problems:
        raise DescriptionError(problems)
    if not any(joint.is_moving for joint in joints):
        raise ROSConfigError(f"{urdf.path}: no joint moves, so there is nothing to check")
    lines = [
        "schema_version: 1",
        f"name: {quoted_name(name)}",
        f"base_frame: {quoted_name(base)}",
        "",
        "assets:",
        f'  urdf: {{ref: "{urdf_ref}"}}',
    ]
    lines += [f'  srdf: "{srdf_ref}"'] if srdf_ref else []
    lines += [f'  mjcf: "{mjcf_ref}"'] if mjcf_ref else []
    lines += ["", "joints:"]
    for joint in joints:
        lines += _joint_lines(joint, _nearest_listed(urdf, joint, joints, base))
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


def _joint_lines(joint: UrdfJoint, parent: str) -> list[str]:
    lines = [
        f"  - name: {quoted_name(joint.name)}",
        f"    joint_type: {joint.joint_type}",
        f"    parent_link: {quoted_name(parent)}",
        f"    child_link: {quoted_name(joint.child)}",
    ]
    if not joint.is_moving:
        return lines
    if joint.limits is not None:
        lines.append(f"    position_limits: [{joint.limits[0]!r}, {joint.limits[1]!r}]")
    if joint.velocity is not None and joint.velocity > 0.0:
        lines.append(f"    velocity_limit: {joint.velocity!r}")
    if joint.effort is not None and joint.effort > 0.0:
        lines.append(f"    effort_limit: {joint.effort!r}")
    if joint.mimic is not None:
        lines.append(
            f"    mimic: {{joint: {quoted_name(joint.mimic.joint)}, multiplier: {joint.mimic.multiplier!r}, "
            f"offset: {joint.mimic.offset!r}}}"
        )
    return lines
