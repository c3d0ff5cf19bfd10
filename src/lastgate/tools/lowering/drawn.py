# SPDX-License-Identifier: Apache-2.0
"""How far what a description draws of each link stands out of the volumes that the gate takes the link for."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from lastgate.contracts.robot import RobotDescription
from lastgate.contracts.shapes import CapsuleShape, LinkCollisionGeometry
from lastgate.tools.assets.live_description import LiveDescription
from lastgate.tools.assets.resolver import resolve_asset
from lastgate.tools.lowering.corrected_urdf import corrected_joints
from lastgate.tools.lowering.joint_frames import fold_links
from lastgate.tools.lowering.rigid import transform
from lastgate.tools.lowering.shapes import SourceShape
from lastgate.tools.lowering.surface_points import surface_samples
from lastgate.tools.lowering.urdf_reader import read_urdf

Array = NDArray[np.float64]

# What collision meshes leave out of a link on purpose (bevels, screws, heads of bolts) stays below this in the whole
# robot library, at 3.7 mm; a link that is drawn farther out has a part that nothing covers.
DRAWN_OUTSIDE_MAX_M = 0.005
# Points on drawn triangles lie this close; what is printed is true to half of it.
_SPACING_M = 0.01
# Numbers are written in tenths of a millimetre, rounded up.
_STEP_M = 1.0e-4


def drawn_shapes(
    robot: RobotDescription, manifest_dir: Path
) -> tuple[dict[str, list[SourceShape]], list[str]]:
    """Returns per link of the manifest what is drawn of it, and what could not be read."""
    if robot.assets.urdf is None:
        from lastgate.tools.lowering.mjcf_model import read_mjcf
        from lastgate.tools.lowering.mjcf_reader import drawn_in_mjcf

        return drawn_in_mjcf(robot, read_mjcf(robot, manifest_dir))
    path = resolve_asset(robot.assets.urdf.ref, "urdf", manifest_dir)
    if isinstance(path, LiveDescription):
        return {}, []
    urdf = read_urdf(path, corrected=corrected_joints(robot), drawn=True)
    folded, _ = fold_links(robot, urdf)
    found: dict[str, list[SourceShape]] = {}
    for link, shapes in urdf.drawn.items():
        if link in folded.carrier:
            owner, pose = folded.carrier[link]
            found.setdefault(owner, []).extend(shape.moved(pose) for shape in shapes)
    return found, [str(problem) for problem in urdf.unread]


def drawn_outside(
    drawn: dict[str, list[SourceShape]], geometry: Sequence[LinkCollisionGeometry]
) -> dict[str, float]:
    """Returns per drawn link with volumes how far it stands out of them, in metres, 0 where it does not."""
    found: dict[str, float] = {}
    for link in sorted(drawn):
        volumes = [volume for volume in geometry if volume.link_name == link]
        if volumes:
            apart = max((_outside(shape, volumes) for shape in drawn[link]), default=0.0)
            found[link] = max(0.0, round(float(np.ceil(apart / _STEP_M - 1e-6)) * _STEP_M, 4))
    return found


def _outside(shape: SourceShape, volumes: list[LinkCollisionGeometry]) -> float:
    capsule = shape.round_in_link()
    if capsule is not None:
        return float(_distance(np.array([capsule.start, capsule.end]), volumes).max()) + capsule.radius_m
    triangles = shape.triangles_in_link()
    return float(_distance(surface_samples(triangles, _SPACING_M), volumes).max()) if len(triangles) else 0.0


def _distance(points: Array, volumes: list[LinkCollisionGeometry]) -> Array:
    nearest = np.full(len(points), np.inf)
    for volume in volumes:
        pose = transform(volume.origin_xyz_rpy[:3], volume.origin_xyz_rpy[3:])
        length_m = volume.shape.length_m if isinstance(volume.shape, CapsuleShape) else 0.0
        start, along = pose[:3, 3] - 0.5 * length_m * pose[:3, 2], length_m * pose[:3, 2]
        share = np.clip((points - start) @ along / max(float(along @ along), 1e-18), 0.0, 1.0)
        away = np.linalg.norm(points - start - share[:, None] * along, axis=1) - volume.shape.radius_m
        nearest = np.minimum(nearest, away)
    return nearest


def far_out(robot: RobotDescription) -> dict[str, float]:
    """Returns the links that are drawn farther out of their volumes than collision meshes leave out on purpose."""
    measured = robot.drawn_outside_m or {}
    return {link: apart for link, apart in measured.items() if apart > DRAWN_OUTSIDE_MAX_M}
