# SPDX-License-Identifier: Apache-2.0
"""What a lowered robot looks like: its meshes inside its volumes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lastgate.contracts.robot import RobotDescription
from lastgate.contracts.shapes import CapsuleShape, LinkCollisionGeometry
from lastgate.tools.lowering.extent import extent
from lastgate.tools.lowering.kinematics import KinematicTree
from lastgate.tools.lowering.rigid import apply, transform
from lastgate.tools.lowering.shapes import LinkShapes

Array = NDArray[np.float64]

# Voxels of the grid that vertices move to, along the longest side of a link: finer than a picture shows.
_VOXELS = 40
_TICKS_M = (0.05, 0.1, 0.2, 0.5, 1.0)


def volume_surface(volume: LinkCollisionGeometry, rings: int) -> Array:
    """Returns the surface of a volume as quads (n, 4, 3) in the link's frame."""
    pose = transform(volume.origin_xyz_rpy[:3], volume.origin_xyz_rpy[3:])
    half = 0.5 * volume.shape.length_m if isinstance(volume.shape, CapsuleShape) else 0.0
    radius = volume.shape.radius_m
    latitude = np.concatenate(
        [np.linspace(-np.pi / 2, 0.0, rings // 2 + 1), np.linspace(0.0, np.pi / 2, rings // 2 + 1)]
    )
    height = radius * np.sin(latitude) + np.where(np.arange(len(latitude)) <= rings // 2, -half, half)
    angle = np.linspace(0.0, 2.0 * np.pi, rings + 1)
    grid = np.stack(
        [
            radius * np.cos(latitude)[:, None] * np.cos(angle)[None],
            radius * np.cos(latitude)[:, None] * np.sin(angle)[None],
            np.broadcast_to(height[:, None], (len(latitude), len(angle))),
        ],
        axis=2,
    )
    quads = np.stack([grid[:-1, :-1], grid[1:, :-1], grid[1:, 1:], grid[:-1, 1:]], axis=2).reshape(-1, 4, 3)
    return apply(pose, quads)


def drawn_triangles(triangles: Array) -> Array:
    """Returns a surface for the eye: whole, and with no more triangles than a picture needs.

    Vertices move to a grid and triangles that fall together are left out; drawing every tenth would leave holes.
    """
    if not len(triangles):
        return triangles
    voxel_m = float(extent(triangles.reshape(-1, 3)).max()) / _VOXELS
    voxel_indices = np.round(triangles / voxel_m).astype(np.int64)
    vertices, which = np.unique(voxel_indices.reshape(-1, 3), axis=0, return_inverse=True)
    named = np.unique(np.sort(which.reshape(-1, 3), axis=1), axis=0)
    distinct = (named[:, 0] != named[:, 1]) & (named[:, 1] != named[:, 2])
    return vertices.astype(np.float64)[named[distinct]] * voxel_m


def save_picture(robot: RobotDescription, shapes: dict[str, LinkShapes], path: Path) -> None:
    """Draws meshes (grey) and volumes (coloured) from two sides, with every joint in the middle of its range."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot
    from matplotlib.ticker import MultipleLocator
    from mpl_toolkits.mplot3d.art3d import Poly3DCollection

    tree = KinematicTree.of(robot.base_frame, robot.joints)
    poses = {link: pose[0] for link, pose in tree.placements((0.5 * (tree.lower + tree.upper))[None]).items()}
    # Grey is for the meshes.
    palette = [colour for colour in pyplot.get_cmap("tab20").colors if max(colour) - min(colour) > 0.05]
    colours = {link: palette[index % len(palette)] for index, link in enumerate(shapes)}
    faces: list[Array] = []
    fills: list[tuple[float, ...]] = []
    edges: list[tuple[float, ...]] = []
    for link, own in shapes.items():
        triangles = apply(poses[link], drawn_triangles(own.triangles))
        # The last vertex twice: faces of one length are one array.
        faces += list(triangles[:, [0, 1, 2, 2]])
        fills += [(0.6, 0.6, 0.6, 1.0)] * len(triangles)
        edges += [(0.4, 0.4, 0.4, 1.0)] * len(triangles)
    meshes = len(faces)
    for volume in robot.collision_geometry:
        quads = apply(poses[volume.link_name], volume_surface(volume, 12))
        faces += list(quads)
        fills += [(*colours[volume.link_name], 0.12)] * len(quads)
        edges += [(*colours[volume.link_name], 0.4)] * len(quads)
    vertices = np.concatenate(faces[meshes:])
    low, high = vertices.min(axis=0), vertices.max(axis=0)
    # One spacing for all axes, so that a thin robot's labels do not lie on each other.
    tick_m = next((step_m for step_m in _TICKS_M if float((high - low).max()) <= 6.0 * step_m), _TICKS_M[-1])
    figure = pyplot.figure(figsize=(12, 6.5), dpi=110, layout="constrained")
    figure.get_layout_engine().set(wspace=0.12)  # type: ignore[union-attr] - the labels of z stand between the two
    for column, azimuth in enumerate((-60, 30)):
        axes: Any = figure.add_subplot(1, 2, column + 1, projection="3d")
        # One collection: faces are sorted by depth within one, and not from one to the next.
        axes.add_collection3d(
            Poly3DCollection(np.array(faces), facecolor=fills, edgecolor=edges, linewidth=0.15), autolim=False
        )
        # One metre is as long along every axis, and the robot fills the picture.
        axes.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]), zlim=(low[2], high[2]))
        axes.set_box_aspect(high - low, zoom=0.95)
        axes.view_init(elev=18, azim=azimuth)
        for axis in (axes.xaxis, axes.yaxis, axes.zaxis):
            axis.set_major_locator(MultipleLocator(tick_m))
            axis.labelpad = 8.0  # beyond the numbers of a slanted axis
        axes.set(xlabel="x, m", ylabel="y, m", zlabel="z, m")
    figure.suptitle(
        f"{robot.name}: collision meshes and the {len(robot.collision_geometry)} volumes that contain them"
    )
    # No date in the file: the same robot gives the same bytes.
    figure.savefig(path, metadata={"Software": None}, bbox_inches="tight")
    pyplot.close(figure)
