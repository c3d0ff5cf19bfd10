# SPDX-License-Identifier: Apache-2.0
"""A proposal as a diff of the robot's manifest. It is printed and never written."""

import difflib
import re
from pathlib import Path

from lastgate.contracts import ROSConfigError
from lastgate.robots import find_manifest
from lastgate.tools.audit.limits import LimitsReport

_ENTRY = re.compile(r"^(\s*)- name: (\S+)\s*$")
_VELOCITY = re.compile(r"^(\s*)velocity_limit: .*$")
_ACCELERATION = re.compile(r"^(\s*)acceleration_limit: .*$")
_MARGIN = re.compile(r"^\s*(self_collision_margin_m|world_collision_margin_m):")


def propose_diff(robot: str, report: LimitsReport) -> str:
    """Returns a unified diff of the manifest.

    Raises:
        ROSConfigError: The manifest is not laid out with one key per line, so there is no place to change.
    """
    path = find_manifest(robot)
    before = path.read_text(encoding="utf-8").splitlines()
    after = _with_joints(before, report)
    if report.margin_m is not None:
        after = _with_margins(after, report.margin_m)
    changed = sum(_VELOCITY.match(line) is not None for line in after)
    if changed < len(report.joints):
        raise ROSConfigError(f"{path}: joints are not written with one key per line, so no diff can be made")
    name = Path(path).name
    lines = difflib.unified_diff(before, after, f"a/{name}", f"b/{name}", lineterm="")
    return "\n".join(lines)


def _with_joints(lines: list[str], report: LimitsReport) -> list[str]:
    proposals = {joint.joint: joint for joint in report.joints}
    joint = None
    out: list[str] = []
    for line in lines:
        entry = _ENTRY.match(line)
        if entry is not None:
            joint = proposals.get(entry.group(2))
        if joint is not None and (found := _VELOCITY.match(line)) is not None:
            out.append(f"{found.group(1)}velocity_limit: {joint.velocity_limit:g}")
            out.append(f"{found.group(1)}acceleration_limit: {joint.acceleration_limit:g}")
        elif joint is not None and _ACCELERATION.match(line) is not None:
            continue
        else:
            out.append(line)
    return out


def _with_margins(lines: list[str], margin_m: float) -> list[str]:
    kept = [line for line in lines if _MARGIN.match(line) is None]
    added = [f"  self_collision_margin_m: {margin_m:g}", f"  world_collision_margin_m: {margin_m:g}"]
    for index, line in enumerate(kept):
        if line.rstrip() == "safety:":
            return [*kept[: index + 1], *added, *kept[index + 1 :]]
    return [*kept, "safety:", *added]
