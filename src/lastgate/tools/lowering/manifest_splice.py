# SPDX-License-Identifier: Apache-2.0
"""Puts lowered blocks into a manifest's text and leaves every other byte as it was."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import ValidationError
from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError
from ruamel.yaml.nodes import MappingNode, Node, SequenceNode

from lastgate.contracts import config_error_from
from lastgate.contracts.convex_hulls import ConvexHullsFile, volumes_digest
from lastgate.contracts.exceptions import ROSConfigError
from lastgate.contracts.robot import AllowedCollisionPair, RobotDescription
from lastgate.contracts.shapes import CapsuleShape, LinkCollisionGeometry
from lastgate.tools.lowering.diagnostics import LoweringError
from lastgate.tools.lowering.joint_frames import JointFrame

GEOMETRY_KEY = "collision_geometry"
PAIRS_KEY = "allowed_collision_pairs"
HULLS_KEY = "convex_pieces"
DRAWN_KEY = "drawn_outside_m"


def read_manifest(text: str, *, source: str) -> RobotDescription:
    """Returns the robot a manifest describes; what is wrong with it is raised as one ROSConfigError."""
    return _robot(_plain(text, source=source), source=source)


def splice(
    text: str,
    *,
    source: str,
    acm_source: str,
    frames: dict[str, JointFrame] | None = None,
    geometry: Sequence[LinkCollisionGeometry] | None = None,
    pairs: Sequence[AllowedCollisionPair] | None = None,
    hulls: ConvexHullsFile | None = None,
    drawn_outside_m: Mapping[str, float] | None = None,
) -> str:
    """Returns the manifest text with the given blocks replaced, or appended where they were absent.

    Comments, order, quoting and line ends elsewhere stay as they are. Before the text is returned it is read
    back: the blocks must hold exactly the given values, everything else exactly what it held before, and the
    whole must be a valid manifest; otherwise LoweringError, and nothing has been written.
    """
    newline = "\r\n" if "\r\n" in text else "\n"
    before = _plain(text, source=source)
    header = (
        f"  # GENERATED (source: {acm_source}) by `lastgate collision lower`; "
        "`lastgate collision check` compares it."
    )
    blocks: dict[str, list[str]] = {}
    if geometry is not None:
        blocks[GEOMETRY_KEY] = [header, *map(_geometry_line, geometry)]
    if pairs is not None:
        blocks[PAIRS_KEY] = [header, *map(_pair_line, pairs)]
    if drawn_outside_m is not None:
        blocks[DRAWN_KEY] = [
            f"  {quoted_name(link)}: {_number(apart)}" for link, apart in sorted(drawn_outside_m.items())
        ]
    hulls = _with_volumes(hulls, _robot(before, source=source), geometry)
    if hulls is not None:
        blocks[HULLS_KEY] = [
            f"  file: {hulls.file}",
            f'  sha256: "{hulls.sha256}"',
            *([] if hulls.volumes_sha256 is None else [f'  volumes_sha256: "{hulls.volumes_sha256}"']),
        ]
    # All edits are places in the text as it came: finding them is slow, so it is done once.
    root = _nodes(text, source=source)
    edits = _frame_edits(text, root, frames, source=source) if frames is not None else []
    appended = ""
    for key, lines in blocks.items():
        empty = "{}" if key == DRAWN_KEY else "[]"
        filled = len(lines) > (0 if key == DRAWN_KEY else 1)
        block = newline.join([f"{key}:", *lines] if filled else [f"{key}: {empty}"]) + newline
        found = _value(root, key)
        if found is None:
            appended += f"{newline}{block}"
        else:
            start = found[0].start_mark.index
            edits.append((start, _end_of_content(text, start, found[1].end_mark.index), block))
    changed = _edited(text, edits)
    if appended:
        separator = "" if changed.endswith("\n") or not changed else newline
        changed = f"{changed}{separator}{appended}"
    after = _plain(changed, source=source) if changed != text else before
    robot = _robot(after, source=source)
    if hulls is not None and robot.convex_pieces != hulls:
        raise LoweringError(f"{source}: the hulls read back differ from those lowered; nothing was written")
    if hulls is not None:
        before, after = ({k: v for k, v in side.items() if k != HULLS_KEY} for side in (before, after))
    if drawn_outside_m is not None:
        if robot.drawn_outside_m != dict(drawn_outside_m):
            raise LoweringError(f"{source}: `{DRAWN_KEY}` read back differs; nothing was written")
        before, after = ({k: v for k, v in side.items() if k != DRAWN_KEY} for side in (before, after))
    _require_same(before, after, frames, geometry, pairs, robot=robot, source=source)
    return changed


def _with_volumes(
    hulls: ConvexHullsFile | None,
    robot: RobotDescription,
    geometry: Sequence[LinkCollisionGeometry] | None,
) -> ConvexHullsFile | None:
    """Returns what the manifest will say of its hulls: they stand for volumes that are lowered, and for no others."""
    named = robot.convex_pieces if hulls is None and geometry is not None else hulls
    if named is None:
        return None
    if geometry is not None:
        digest = volumes_digest(geometry)
    else:
        digest = None if robot.convex_pieces is None else robot.convex_pieces.volumes_sha256
    return named.model_copy(update={"volumes_sha256": digest})


def _robot(values: dict[str, Any], *, source: str) -> RobotDescription:
    try:
        return RobotDescription(**values)
    except ValidationError as error:
        raise config_error_from(error, source=source) from None


def _plain(text: str, *, source: str) -> dict[str, Any]:
    try:
        loaded = YAML(typ="safe", pure=True).load(text)
    except YAMLError as error:
        raise ROSConfigError(f"{source}: not readable as YAML: {error}") from error
    if not isinstance(loaded, dict):
        raise ROSConfigError(f"{source}: a manifest is a mapping of keys to values")
    return loaded


def _nodes(text: str, *, source: str) -> MappingNode:
    node = YAML(typ="rt", pure=True).compose(text)
    if not isinstance(node, MappingNode):
        raise ROSConfigError(f"{source}: a manifest is a mapping of keys to values")
    return node


def _value(node: MappingNode, key: str) -> tuple[Node, Node] | None:
    return next(((k, v) for k, v in node.value if k.value == key), None)


def _edited(text: str, edits: list[tuple[int, int, str]]) -> str:
    """Returns a text with parts of it replaced, the last first: what comes before keeps its place."""
    for start, end, replacement in sorted(edits, reverse=True):
        text = text[:start] + replacement + text[end:]
    return text


def _end_of_content(text: str, start: int, end: int) -> int:
    """Returns where the block's last line ends; comments and blank lines after it belong to what follows."""
    if end < len(text) and text[end - 1] != "\n":
        line_end = text.find("\n", end)
        end = len(text) if line_end < 0 else line_end + 1
    lines = text[start:end].splitlines(keepends=True)
    while len(lines) > 1 and (not lines[-1].strip() or lines[-1].lstrip().startswith("#")):
        # An indented comment is part of the generated block only if a list item follows it.
        lines.pop()
    return start + sum(len(line) for line in lines)


def _frame_edits(
    text: str, root: MappingNode, frames: dict[str, JointFrame], *, source: str
) -> list[tuple[int, int, str]]:
    found = _value(root, "joints")
    if found is None or not isinstance(found[1], SequenceNode):
        raise ROSConfigError(f"{source}: `joints` is not a list")
    edits: list[tuple[int, int, str]] = []
    for node in found[1].value:
        name = _value(node, "name")
        if name is None or name[1].value not in frames:
            continue
        frame = frames[name[1].value]
        moving = _value(node, "joint_type")
        wanted = {"origin_xyz": frame.xyz, "origin_rpy": frame.rpy}
        if moving is not None and moving[1].value in ("revolute", "prismatic", "continuous"):
            wanted["axis_xyz"] = frame.axis
        missing: list[str] = []
        for key, vector in wanted.items():
            entry = _value(node, key)
            if entry is not None:
                edits.append((entry[1].start_mark.index, _scalar_end(entry[1]), _vector(vector)))
            else:
                missing.append(f"{key}: {_vector(vector)}")
        if missing:
            edits.append(_insertion(text, node, missing))
    return edits


def _scalar_end(node: Node) -> int:
    return int(node.end_mark.index)


def _insertion(text: str, node: MappingNode, entries: list[str]) -> tuple[int, int, str]:
    anchor_key, anchor = next((k, v) for k, v in node.value if k.value == "child_link")
    if node.flow_style:
        at = int(anchor.end_mark.index)
        return at, at, ", " + ", ".join(entries)
    newline = "\r\n" if "\r\n" in text else "\n"
    line_end = text.find("\n", int(anchor.end_mark.index))
    at = len(text) if line_end < 0 else line_end + 1
    indent = " " * int(anchor_key.start_mark.column)
    return at, at, "".join(f"{indent}{entry}{newline}" for entry in entries)


def _number(value: float) -> str:
    text = repr(float(value))
    # YAML 1.1 readers take `1e-05` for a string; a dot in the mantissa makes it a number everywhere.
    return text if "e" not in text or "." in text else text.replace("e", ".0e")


def _vector(values: Sequence[float]) -> str:
    return f"[{', '.join(_number(value) for value in values)}]"


def _geometry_line(entry: LinkCollisionGeometry) -> str:
    shape = f"shape: {entry.shape.shape}, radius_m: {_number(entry.shape.radius_m)}"
    if isinstance(entry.shape, CapsuleShape):
        shape += f", length_m: {_number(entry.shape.length_m)}"
    name, place = quoted_name(entry.link_name), _vector(entry.origin_xyz_rpy)
    return f"  - {{link_name: {name}, shape: {{{shape}}}, origin_xyz_rpy: {place}}}"


def _pair_line(entry: AllowedCollisionPair) -> str:
    detail = f', detail: "{_quoted(entry.detail)}"' if entry.detail else ""
    first, second = quoted_name(entry.link_a), quoted_name(entry.link_b)
    return f"  - {{link_a: {first}, link_b: {second}, reason: {entry.reason}{detail}}}"


def quoted_name(name: str) -> str:
    """Returns a link name as YAML; anything but letters, digits, `_` and `/` inside a word is quoted."""
    plain = name.replace("_", "a").replace("/", "a").isalnum() and not name[0].isdigit()
    return (
        name
        if plain and name.lower() not in ("null", "true", "false", "yes", "no", "on", "off")
        else f'"{_quoted(name)}"'
    )


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')


def _require_same(
    before: dict[str, Any],
    after: dict[str, Any],
    frames: dict[str, JointFrame] | None,
    geometry: Sequence[LinkCollisionGeometry] | None,
    pairs: Sequence[AllowedCollisionPair] | None,
    *,
    robot: RobotDescription,
    source: str,
) -> None:
    held = {
        "collision_geometry": geometry is None,
        "allowed_collision_pairs": pairs is None,
        "joints": frames is None,
    }
    for key in {**before, **after}:
        if held.get(key, True) and before.get(key) != after.get(key):
            raise LoweringError(f"{source}: rewriting would have changed `{key}`; nothing was written")
    if geometry is not None and tuple(geometry) != robot.collision_geometry:
        raise LoweringError(f"{source}: the volumes read back differ from those lowered; nothing was written")
    if pairs is not None and tuple(pairs) != robot.allowed_collision_pairs:
        raise LoweringError(f"{source}: the pairs read back differ from those lowered; nothing was written")
    if frames is None:
        return
    own = ("origin_xyz", "origin_rpy", "axis_xyz")
    for old, new in zip(before["joints"], after["joints"], strict=True):
        if {k: v for k, v in old.items() if k not in own} != {k: v for k, v in new.items() if k not in own}:
            raise LoweringError(
                f"{source}: rewriting would have changed joint `{old.get('name')}`; nothing was written"
            )
    for joint in robot.joints:
        frame = frames.get(joint.name)
        if frame is not None and (joint.origin_xyz, joint.origin_rpy) != (frame.xyz, frame.rpy):
            raise LoweringError(
                f"{source}: the frame of joint `{joint.name}` read back differs; nothing was written"
            )
