# SPDX-License-Identifier: Apache-2.0
"""A strict URDF reader: what it does not understand it refuses, and it reports everything at once."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType

import numpy as np
from lxml import etree
from numpy.typing import NDArray

from lastgate.contracts.exceptions import ROSConfigError
from lastgate.contracts.joints import JointSpec
from lastgate.tools.assets.mesh_uri import resolve_mesh_uri
from lastgate.tools.assets.safe_xml import load_xml
from lastgate.tools.assets.xacro_expansion import find_xacro
from lastgate.tools.lowering.diagnostics import DescriptionError, Diagnostic
from lastgate.tools.lowering.mesh_reader import load_triangles
from lastgate.tools.lowering.rigid import transform
from lastgate.tools.lowering.shapes import SourceShape
from lastgate.tools.lowering.urdf_model import (
    BOUNDED_TYPES,
    JOINT_TYPES,
    MOVING_TYPES,
    UrdfJoint,
    UrdfMimic,
    UrdfModel,
)

Array = NDArray[np.float64]


class _Reader:
    def __init__(
        self,
        path: Path,
        resolve_mesh: Callable[[str], Path],
        visual_links: frozenset[str],
        corrected: Mapping[str, JointSpec],
        *,
        left_out: frozenset[str] = frozenset(),
        drawn: bool = False,
    ) -> None:
        self.path = path
        self.left_out = left_out
        self.drawn = drawn
        self.corrected = corrected
        self.resolve_mesh = resolve_mesh
        self.wanted_visuals = visual_links
        self.problems: list[Diagnostic] = []
        self.meshes: dict[tuple[Path, tuple[float, float, float]], Array] = {}

    def complain(self, element: etree._Element | None, message: str) -> None:
        line = None if element is None else element.sourceline
        self.problems.append(Diagnostic(str(self.path), line, message))

    def numbers(
        self, element: etree._Element, name: str, count: int, default: str | None = None
    ) -> tuple[float, ...] | None:
        text = element.get(name, default)
        if text is None:
            self.complain(element, f"<{element.tag}> has no `{name}`")
            return None
        try:
            values = tuple(float(word) for word in text.split())
        except ValueError:
            values = ()
        if len(values) != count or not all(math.isfinite(value) for value in values):
            self.complain(
                element, f"`{name}` of <{element.tag}> must be {count} finite numbers, got `{text}`"
            )
            return None
        return values

    def number(self, element: etree._Element, name: str, default: str | None = None) -> float | None:
        values = self.numbers(element, name, 1, default)
        return None if values is None else values[0]

    def origin(self, element: etree._Element) -> tuple[tuple[float, ...], tuple[float, ...]]:
        origin = element.find("origin")
        if origin is None:
            return (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
        xyz = self.numbers(origin, "xyz", 3, "0 0 0")
        rpy = self.numbers(origin, "rpy", 3, "0 0 0")
        return xyz or (0.0, 0.0, 0.0), rpy or (0.0, 0.0, 0.0)

    def positive(self, element: etree._Element, name: str) -> float | None:
        value = self.number(element, name)
        if value is not None and not value > 0.0:
            self.complain(element, f"`{name}` of <{element.tag}> must be positive, got `{element.get(name)}`")
            return None
        return value

    def shape(self, owner: etree._Element, link: str) -> SourceShape | None:
        geometry = owner.find("geometry")
        kinds = [] if geometry is None else [child for child in geometry if isinstance(child.tag, str)]
        if len(kinds) != 1:
            self.complain(
                owner,
                f"<{owner.tag}> of link `{link}` needs exactly one shape in <geometry>, has {len(kinds)}",
            )
            return None
        element = kinds[0]
        xyz, rpy = self.origin(owner)
        place = transform(xyz, rpy)
        source = f"{element.tag} at line {element.sourceline}"
        if element.tag == "box":
            size = self.numbers(element, "size", 3)
            if size is None:
                return None
            if not min(size) > 0.0:
                self.complain(element, f"`size` of <box> must be positive, got `{element.get('size')}`")
                return None
            return SourceShape("box", place, size, source=source)
        if element.tag == "sphere":
            radius = self.positive(element, "radius")
            return None if radius is None else SourceShape("sphere", place, (radius,), source=source)
        if element.tag in ("cylinder", "capsule"):
            radius, length = self.positive(element, "radius"), self.positive(element, "length")
            if radius is None or length is None:
                return None
            return SourceShape(element.tag, place, (radius, length), source=source)
        if element.tag == "mesh":
            return self.mesh(element, link, place)
        self.complain(element, f"link `{link}`: unknown shape <{element.tag}>")
        return None

    def mesh(self, element: etree._Element, link: str, place: Array) -> SourceShape | None:
        scale = self.numbers(element, "scale", 3, "1 1 1")
        uri = element.get("filename")
        if uri is None:
            self.complain(element, f"link `{link}`: <mesh> has no `filename`")
        if scale is None or uri is None:
            return None
        if not all(factor != 0.0 for factor in scale):
            self.complain(element, f"link `{link}`: `scale` of <mesh> has a zero: `{element.get('scale')}`")
            return None
        try:
            path = self.resolve_mesh(uri)
            key = (path, (scale[0], scale[1], scale[2]))
            if key not in self.meshes:
                self.meshes[key] = load_triangles(*key)
        except ROSConfigError as error:
            self.complain(element, f"link `{link}`: {error}")
            return None
        return SourceShape("mesh", place, (), self.meshes[key], source=path.name)

    def joint(self, element: etree._Element) -> UrdfJoint | None:
        name = element.get("name")
        if not name:
            self.complain(element, "a <joint> has no `name`")
            return None
        correction = self.corrected.get(name)
        kind = element.get("type", "") if correction is None else correction.joint_type
        if kind not in JOINT_TYPES:
            self.complain(
                element, f"joint `{name}` has the unknown type `{kind}`; known: {', '.join(JOINT_TYPES)}"
            )
        ends = []
        for tag in ("parent", "child"):
            end = element.find(tag)
            link = None if end is None else end.get("link")
            if not link:
                self.complain(element, f"joint `{name}` has no <{tag} link=…>")
            ends.append(link or "")
        xyz, rpy = self.origin(element)
        if correction is not None and all(ends):
            return _corrected(correction, ends, xyz, rpy, element.sourceline or 0)
        moving = kind in MOVING_TYPES
        axis = self.axis(element, name) if moving else (1.0, 0.0, 0.0)
        limits, velocity, effort = self.limits(element, name, kind) if moving else (None, None, None)
        mimic = self.mimic(element, name)
        if mimic is not None and not moving:
            self.complain(element, f"joint `{name}` is {kind} and cannot mimic `{mimic.joint}`")
        if kind not in JOINT_TYPES or not all(ends):
            return None
        return UrdfJoint(
            name,
            kind,
            ends[0],
            ends[1],
            transform(xyz, rpy),
            (xyz[0], xyz[1], xyz[2]),
            (rpy[0], rpy[1], rpy[2]),
            axis,
            limits,
            velocity,
            effort,
            mimic,
            element.sourceline or 0,
        )

    def axis(self, element: etree._Element, name: str) -> tuple[float, float, float]:
        found = element.find("axis")
        # A URDF joint without <axis> turns about x by definition.
        values = (1.0, 0.0, 0.0) if found is None else self.numbers(found, "xyz", 3)
        if values is None:
            return 1.0, 0.0, 0.0
        length = math.hypot(*values)
        if not length > 1e-6:
            self.complain(found, f"joint `{name}` has an axis of length zero")
            return 1.0, 0.0, 0.0
        return values[0] / length, values[1] / length, values[2] / length

    def limits(
        self, element: etree._Element, name: str, kind: str
    ) -> tuple[tuple[float, float] | None, float | None, float | None]:
        found = element.find("limit")
        follows = element.find("mimic") is not None
        if found is None:
            if kind in BOUNDED_TYPES and not follows:
                self.complain(element, f"{kind} joint `{name}` has no <limit>")
            return None, None, None
        velocity = self.number(found, "velocity") if found.get("velocity") is not None else None
        effort = self.number(found, "effort") if found.get("effort") is not None else None
        if kind not in BOUNDED_TYPES:
            return None, velocity, effort
        lower, upper = self.number(found, "lower", "0"), self.number(found, "upper", "0")
        if lower is None or upper is None:
            return None, velocity, effort
        if not lower < upper and not follows:
            self.complain(found, f"joint `{name}` needs lower < upper, got {lower:.4f} and {upper:.4f}")
            return None, velocity, effort
        return (lower, upper), velocity, effort

    def mimic(self, element: etree._Element, name: str) -> UrdfMimic | None:
        found = element.find("mimic")
        if found is None:
            return None
        leader = found.get("joint")
        multiplier, offset = self.number(found, "multiplier", "1"), self.number(found, "offset", "0")
        if not leader:
            self.complain(found, f"joint `{name}` mimics no joint: <mimic> has no `joint`")
        if not leader or multiplier is None or offset is None:
            return None
        return UrdfMimic(leader, multiplier, offset)

    def read(self) -> UrdfModel:
        root = load_xml(self.path).getroot()
        xacro = find_xacro(root)
        if xacro is not None:
            line, what = xacro
            raise DescriptionError(
                [
                    Diagnostic(
                        str(self.path),
                        line,
                        f"{what}: this is xacro, not URDF; expand it once with "
                        f"`lastgate robot vendor-urdf NAME --upstream file:{self.path.name}` in its folder",
                    )
                ]
            )
        if root.tag != "robot":
            raise DescriptionError(
                [Diagnostic(str(self.path), root.sourceline, f"the root is <{root.tag}>, not <robot>")]
            )
        lines: dict[str, int] = {}
        collisions: dict[str, list[SourceShape]] = {}
        visual_links: set[str] = set()
        drawn: dict[str, list[SourceShape]] = {}
        unread: list[Diagnostic] = []
        carried = self.moved_by_a_joint(root)
        for element in root.findall("link"):
            name = element.get("name")
            if not name:
                self.complain(element, "a <link> has no `name`")
                continue
            if name in lines:
                self.complain(element, f"link `{name}` is declared twice, first in line {lines[name]}")
                continue
            lines[name] = element.sourceline or 0
            shapes = [self.shape(owner, name) for owner in element.findall("collision")]
            if element.findall("visual"):
                visual_links.add(name)
                # What is fixed to another link and only drawn belongs to that link, which is not asked for twice.
                only_drawn = not element.findall("collision") and name not in carried
                if name in self.wanted_visuals or (only_drawn and name not in self.left_out):
                    shapes += [self.shape(owner, name) for owner in element.findall("visual")]
                if self.drawn:
                    drawn[name], problems = self.drawn_shapes(element, name)
                    unread += problems
            collisions[name] = [shape for shape in shapes if shape is not None]
        for name in sorted(self.wanted_visuals - visual_links):
            known = "has no visual shape to cover" if name in lines else "is not a link of this file"
            self.complain(root, f"`lowering.visual_links` names `{name}`, which {known}")
        joints = self.joints(root, lines)
        for name in sorted(
            self.corrected.keys() - {element.get("name") for element in root.findall("joint")}
        ):
            self.complain(root, f"the manifest corrects joint `{name}`, which this file does not have")
        # A joint that could not be read leaves a gap in the tree; anything said about it would be a guess.
        complete = len(joints) == len(root.findall("joint"))
        root_link = self.tree(root, lines, joints) if complete else ""
        if self.problems:
            raise DescriptionError(self.problems)
        return UrdfModel(
            self.path,
            root.get("name", ""),
            root_link,
            list(lines),
            _parents_first(joints, root_link),
            collisions,
            visual_links,
            drawn,
            unread,
        )

    def moved_by_a_joint(self, root: etree._Element) -> set[str | None]:
        """Returns the links that hang on a joint which is not fixed."""
        found: set[str | None] = set()
        for joint in root.findall("joint"):
            correction = self.corrected.get(joint.get("name", ""))
            kind = joint.get("type", "") if correction is None else correction.joint_type
            child = joint.find("child")
            if kind != "fixed" and child is not None:
                found.add(child.get("link"))
        return found

    def drawn_shapes(self, element: etree._Element, name: str) -> tuple[list[SourceShape], list[Diagnostic]]:
        """Returns what is drawn of a link, and what of it cannot be read: that is no complaint about the robot."""
        known = len(self.problems)
        shapes = [self.shape(owner, name) for owner in element.findall("visual")]
        unread, self.problems = self.problems[known:], self.problems[:known]
        return [shape for shape in shapes if shape is not None], unread

    def joints(self, root: etree._Element, links: dict[str, int]) -> list[UrdfJoint]:
        joints: list[UrdfJoint] = []
        seen: dict[str, int] = {}
        for element in root.findall("joint"):
            joint = self.joint(element)
            if joint is None:
                continue
            if joint.name in seen:
                self.complain(
                    element, f"joint `{joint.name}` is declared twice, first in line {seen[joint.name]}"
                )
                continue
            seen[joint.name] = joint.line
            for role, link in (("parent", joint.parent), ("child", joint.child)):
                if link not in links:
                    self.complain(
                        element, f"joint `{joint.name}`: its {role} `{link}` is not a link of this file"
                    )
            joints.append(joint)
        self.mimics(root, joints)
        return joints

    def mimics(self, root: etree._Element, joints: list[UrdfJoint]) -> None:
        by_name = {joint.name: joint for joint in joints}
        for joint in joints:
            if joint.mimic is None:
                continue
            place = next((e for e in root.findall("joint") if e.get("name") == joint.name), None)
            leader = by_name.get(joint.mimic.joint)
            if leader is None:
                self.complain(
                    place, f"joint `{joint.name}` mimics `{joint.mimic.joint}`, which is not a joint"
                )
            elif leader.mimic is not None:
                self.complain(
                    place,
                    f"joint `{joint.name}` mimics `{leader.name}`, which itself mimics "
                    f"`{leader.mimic.joint}`: "
                    "a cycle or a chain; name the joint that leads",
                )
            elif not leader.is_moving:
                self.complain(
                    place, f"joint `{joint.name}` mimics `{leader.name}`, which is {leader.joint_type}"
                )

    def tree(self, root: etree._Element, links: dict[str, int], joints: list[UrdfJoint]) -> str:
        above: dict[str, UrdfJoint] = {}
        for joint in joints:
            if joint.child in above:
                self.problems.append(
                    Diagnostic(
                        str(self.path),
                        joint.line,
                        f"link `{joint.child}` has two parents: joints `{above[joint.child].name}` and "
                        f"`{joint.name}`",
                    )
                )
            above.setdefault(joint.child, joint)
        roots = [link for link in links if link not in above]
        if not links:
            self.complain(root, "the robot has no link")
        elif not roots:
            self.complain(root, "the links form a ring: no link is without a parent")
        elif len(roots) > 1:
            self.complain(
                root, f"the robot has {len(roots)} roots: {', '.join(f'`{link}`' for link in roots)}"
            )
        else:
            below = {roots[0]}
            for _ in joints:  # the longest chain has as many links as there are joints
                below |= {joint.child for joint in joints if joint.parent in below}
            lost = [f"`{link}`" for link in links if link not in below]
            if lost and not self.problems:
                self.complain(
                    root,
                    f"no chain of joints leads from the root `{roots[0]}` to {', '.join(lost)}: "
                    "some of these are each other's parents, in a ring",
                )
        if not joints and links:
            self.complain(root, "the robot has no joint")
        return roots[0] if roots else ""


def _corrected(
    spec: JointSpec, ends: list[str], xyz: tuple[float, ...], rpy: tuple[float, ...], line: int
) -> UrdfJoint:
    return UrdfJoint(
        spec.name,
        spec.joint_type,
        ends[0],
        ends[1],
        transform(xyz, rpy),
        (xyz[0], xyz[1], xyz[2]),
        (rpy[0], rpy[1], rpy[2]),
        spec.axis_xyz,
        spec.position_limits,
        spec.velocity_limit,
        spec.effort_limit,
        None if spec.mimic is None else UrdfMimic(spec.mimic.joint, spec.mimic.multiplier, spec.mimic.offset),
        line,
    )


def read_urdf(
    path: Path,
    *,
    visual_links: frozenset[str] = frozenset(),
    corrected: Mapping[str, JointSpec] = MappingProxyType({}),
    left_out: frozenset[str] = frozenset(),
    drawn: bool = False,
) -> UrdfModel:
    """Reads a URDF with its collision meshes; `visual_links` are covered by their visual shapes as well.

    A link that no joint moves by itself and that is only drawn is covered by what is drawn, unless `left_out` names
    it; one that a joint moves is left bare, for the caller to refuse. `drawn` keeps what is drawn of every link.

    Of a joint in `corrected`, the file says only where it is; type, axis, limits and mimic are the given ones.
    Raises DescriptionError with every problem of the file, each with its line, and reads nothing partially.
    """
    return _Reader(
        path,
        lambda uri: resolve_mesh_uri(uri, path),
        visual_links,
        corrected,
        left_out=left_out,
        drawn=drawn,
    ).read()


def _parents_first(joints: list[UrdfJoint], root: str) -> list[UrdfJoint]:
    ordered: list[UrdfJoint] = []
    placed = {root}
    waiting = list(joints)
    while waiting:
        ready = [joint for joint in waiting if joint.parent in placed]
        if not ready:
            break
        ordered += ready
        placed |= {joint.child for joint in ready}
        waiting = [joint for joint in waiting if joint.child not in placed]
    return ordered
