# SPDX-License-Identifier: Apache-2.0
"""Writes the first manifest of a robot that has an MJCF and no URDF."""

from __future__ import annotations

import os
from collections.abc import Sequence

import mujoco

from lastgate.tools.lowering.diagnostics import Diagnostic
from lastgate.tools.lowering.joint_frames import written_pose
from lastgate.tools.lowering.mjcf_model import WORLD, MjcfModel
from lastgate.tools.lowering.rigid import inverse
from lastgate.tools.lowering.scaffold import (
    ManifestJoint,
    VelocityLimits,
    manifest_text,
    require_sound,
    unit_of,
)

_FREE = int(mujoco.mjtJoint.mjJNT_FREE)
_HINGE = int(mujoco.mjtJoint.mjJNT_HINGE)
_SLIDE = int(mujoco.mjtJoint.mjJNT_SLIDE)


def manifest_from_mjcf(
    name: str, mjcf: MjcfModel, *, mjcf_ref: str, velocity_limits: Sequence[str] = ()
) -> str:
    """Returns the text of a manifest without volumes, pairs and frames; lowering adds those.

    A link is called as its body and a joint as in the file. An MJCF has no velocity limits, so each is to be stated.
    """
    model = mjcf.model
    problems: list[Diagnostic] = []

    def complain(message: str) -> None:
        problems.append(Diagnostic(str(mjcf.path), None, message))

    base = _base_body(mjcf)
    if not mjcf.body_name(base):
        complain("the body at the base of the robot has no name")
    followers = _followers(mjcf)
    limits = VelocityLimits(velocity_limits)
    joints: list[ManifestJoint] = []
    unlimited: list[ManifestJoint] = []
    links = {base: mjcf.body_name(base)}
    for index in range(model.njnt):
        body, kind = int(model.jnt_bodyid[index]), int(model.jnt_type[index])
        joint, link = str(model.joint(index).name), mjcf.body_name(body)
        if body == base or base not in mjcf.upwards(body) or _is_loose(mjcf, body):
            continue
        if not joint or not link:
            complain(f"joint `{joint}` of body `{link}`: joint and body need names")
            continue
        limited = bool(model.jnt_limited[index])
        if kind not in (_HINGE, _SLIDE):
            complain(f"joint `{joint}` of body `{link}` is neither a hinge nor a slide")
        elif kind == _SLIDE and not limited:
            complain(f"joint `{joint}` slides and has no `range`")
        parent = next(links[up] for up in mjcf.upwards(body) if up in links)
        links[body] = link
        moving = ManifestJoint(
            joint,
            "prismatic" if kind == _SLIDE else "revolute" if limited else "continuous",
            parent,
            link,
            (float(model.jnt_range[index][0]), float(model.jnt_range[index][1])) if limited else None,
            limits.of(joint, None),
            mimic=followers.get(joint),
        )
        if moving.velocity is None and moving.mimic is None:
            complain(
                f"joint `{joint}`: an MJCF says nothing about speed, so state "
                f"`--velocity-limit '{joint}=VALUE'` ({unit_of(moving)})"
            )
            unlimited.append(moving)
        joints.append(moving)
    prefix = os.path.commonprefix([joint.name for joint in unlimited])  # noqa: RUF071 - names, not paths
    alike = [joint for joint in joints if joint.name.startswith(prefix)]
    if prefix and len(alike) == len(unlimited) > 1 and len({unit_of(joint) for joint in unlimited}) == 1:
        complain(
            f"one limit for all {len(unlimited)} joints: `--velocity-limit '{prefix}*=VALUE'` ({unit_of(unlimited[0])})"
        )
    require_sound(str(mjcf.path), problems, limits, joints)
    assets = [f'  mjcf: "{mjcf_ref}"']
    world = world_in_base(mjcf, base)
    if world is not None and base != WORLD:
        numbers = ", ".join(repr(number) for number in world)
        assets.append(f"  mjcf_base_to_world_xyz_rpy: [{numbers}]")
    return manifest_text(name, links[base], assets, joints)


def world_in_base(mjcf: MjcfModel, base: int) -> tuple[float, ...] | None:
    """Returns where the MJCF's world stands in the base body; None for a base that itself moves in it."""
    if any(int(mjcf.model.body_jntnum[body]) for body in mjcf.upwards(base)):
        return None
    return written_pose(inverse(mjcf.pose_at_zero(base)))


def _base_body(mjcf: MjcfModel) -> int:
    """Returns the one body all of whose moving parts hang on it and which itself stands or floats, else the world."""
    model = mjcf.model
    moved = [
        int(model.jnt_bodyid[index])
        for index in range(model.njnt)
        if int(model.jnt_type[index]) != _FREE and not _is_loose(mjcf, int(model.jnt_bodyid[index]))
    ]
    tops = {[*mjcf.upwards(body)][-2] for body in moved}
    if len(tops) != 1:
        return WORLD
    top = tops.pop()
    return WORLD if top in moved else top


def _is_loose(mjcf: MjcfModel, body: int) -> bool:
    """Returns whether a body is an object of the scene: free, with nothing that moves on it."""
    model = mjcf.model
    first = int(model.body_jntadr[body])
    if first < 0 or int(model.jnt_type[first]) != _FREE:
        return False
    return not any(body in mjcf.upwards(other) for other in map(int, model.jnt_bodyid) if other != body)


def _followers(mjcf: MjcfModel) -> dict[str, tuple[str, float, float]]:
    """Returns per joint that an equality ties to another: that one, multiplier and offset.

    Followers of followers and curves are left free, which covers more.
    """
    model = mjcf.model
    found: dict[str, tuple[str, float, float]] = {}
    for index in range(model.neq):
        if int(model.eq_type[index]) != int(mujoco.mjtEq.mjEQ_JOINT) or int(model.eq_obj2id[index]) < 0:
            continue
        offset, multiplier, *bends = (float(value) for value in model.eq_data[index][:5])
        if multiplier == 0.0 or any(bends) or not bool(model.eq_active0[index]):
            continue
        follower, leader = (
            str(model.joint(int(end[index])).name) for end in (model.eq_obj1id, model.eq_obj2id)
        )
        if follower not in found:
            found[follower] = (leader, multiplier, offset)
    return {follower: tie for follower, tie in found.items() if tie[0] not in found}
