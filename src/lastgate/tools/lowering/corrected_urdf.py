# SPDX-License-Identifier: Apache-2.0
"""Writes a URDF with the joints a manifest corrects, for engines that read files and not manifests."""

from __future__ import annotations

from pathlib import Path

from lxml import etree

from lastgate.contracts.robot import JointSpec, RobotDescription
from lastgate.tools.assets.mesh_uri import resolve_mesh_uri
from lastgate.tools.assets.safe_xml import load_xml


def corrected_joints(robot: RobotDescription) -> dict[str, JointSpec]:
    """Returns the joints for which the manifest's type, axis, limits and mimic count and not the file's."""
    named = {correction.joint for correction in robot.lowering.corrected_joints}
    return {joint.name: joint for joint in robot.joints if joint.name in named}


def write_corrected_urdf(robot: RobotDescription, path: Path, folder: Path) -> Path:
    """Writes the URDF as the manifest corrects it into a folder; without corrections, returns it as it is.

    Mesh names become absolute, because the new file lies elsewhere.
    """
    joints = corrected_joints(robot)
    if not joints:
        return path
    tree = load_xml(path)
    for mesh in tree.getroot().iter("mesh"):
        mesh.set("filename", str(resolve_mesh_uri(mesh.get("filename", ""), path)))
    for element in tree.getroot().findall("joint"):
        if element.get("name") in joints:
            _correct(element, joints[element.get("name", "")])
    written = folder / path.name
    tree.write(str(written), encoding="utf-8", xml_declaration=True)
    return written


def _correct(element: etree._Element, joint: JointSpec) -> None:
    element.set("type", joint.joint_type)
    for tag in ("axis", "limit", "mimic"):
        for old in element.findall(tag):
            element.remove(old)
    if not joint.is_moving:
        return
    etree.SubElement(element, "axis").set("xyz", " ".join(map(repr, joint.axis_xyz)))
    limit = etree.SubElement(element, "limit")
    lower, upper = joint.position_limits or (0.0, 0.0)
    for name, value in (
        ("lower", lower),
        ("upper", upper),
        ("velocity", joint.velocity_limit),
        ("effort", joint.effort_limit),
    ):
        limit.set(name, repr(value if value is not None else 0.0))
    if joint.mimic is not None:
        mimic = etree.SubElement(element, "mimic")
        mimic.set("joint", joint.mimic.joint)
        mimic.set("multiplier", repr(joint.mimic.multiplier))
        mimic.set("offset", repr(joint.mimic.offset))
