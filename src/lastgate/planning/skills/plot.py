# SPDX-License-Identifier: Apache-2.0
# Matplotlib builds its names at run time.
# pyright: reportAttributeAccessIssue=false
"""A picture of an arm that looks at a point: its volumes before and after, the way of the camera, the line of view."""

from pathlib import Path
from typing import Any

import numpy as np

from lastgate.contracts import (
    BoxShape,
    CapsuleShape,
    CylinderShape,
    ROSConfigError,
    SphereShape,
    WorldCollisionPrimitive,
)
from lastgate.contracts.arrays import Float64
from lastgate.contracts.extras import install_command
from lastgate.gate import Gate
from lastgate.planning.skills.camera import MountedCamera
from lastgate.planning.skills.look_at import LookAtPlan
from lastgate.robots.kernel_config import capsule_ends
from lastgate.world import NoWorld, World
from lastgate.world.rigid_motion import moved, require_rigid_motion

_BEFORE, _AFTER, _VIEW, _TARGET, _OBSTACLE = "#b9bec7", "#33526e", "#1a7f4b", "#c2241a", "#b98a4e"
# Volumes are drawn as lines as thick as they are: the box of the axes is about this wide on paper.
_AXES_POINTS = 330.0
# Half the width of a camera's pyramid at its end, as a share of its length: a field of view of 58 degrees.
_SPREAD = 0.55
_PYRAMID_M = 0.08


def save_look_at_plot(
    path: Path, gate: Gate, mounted: MountedCamera, plan: LookAtPlan, *, world: World | NoWorld
) -> None:
    """Writes the picture; the ending of `path` chooses the format.

    Raises:
        ROSConfigError: Matplotlib is not installed, or the file cannot be written.
    """
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ModuleNotFoundError:
        raise ROSConfigError(f"a picture needs `{install_command('approach')}`") from None
    figure = Figure(figsize=(8.2, 7.4), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot(projection="3d")
    way = np.vstack([plan.trajectory.start, plan.trajectory.rows])
    optical = _optical_along(gate, mounted, way)
    target = np.array(plan.target_xyz)
    start, end = _volumes(gate, way[0]), _volumes(gate, way[-1])
    vertices = [ends for ends, _ in (*start, *end)]
    points_per_m = _frame(axes, np.vstack([*vertices, optical[:, :, 3], target]))
    _draw_robot(axes, start, points_per_m, colour=_BEFORE, label="start", alpha=0.3)
    _draw_robot(axes, end, points_per_m, colour=_AFTER, label="end", alpha=0.6)
    if isinstance(world, World):
        for obstacle in world.obstacles:
            _draw_obstacle(axes, obstacle, points_per_m)
    axes.plot(*optical[:, :, 3].T, color=_VIEW, linewidth=1.6, label="way of the camera")
    _draw_pyramid(axes, optical[-1])
    line = np.array([optical[-1][:, 3], target])
    axes.plot(*line.T, color=_VIEW, linestyle="--", linewidth=1.2, label="line of view")
    axes.plot(
        *target[:, np.newaxis], marker="*", markersize=15, color=_TARGET, linestyle="none", label="target"
    )
    axes.set_title(
        f"{gate.robot.name}: camera `{mounted.name}`, {plan.distance_m:.3f} m from the target, "
        f"{len(plan.trajectory.rows)} steps, {plan.trajectory.duration_s:.1f} s"
    )
    axes.legend(loc="upper left", framealpha=0.9)
    try:
        figure.savefig(path, dpi=130)
    except (OSError, ValueError) as error:
        raise ROSConfigError(f"picture `{path}` cannot be written: {error}") from None


def _optical_along(gate: Gate, mounted: MountedCamera, way: Float64) -> Float64:
    links = gate.link_poses_batch(np.ascontiguousarray(way))[mounted.link]
    rotation, place = links[:, :, :3], links[:, :, 3]
    in_link = mounted.optical_in_link
    return np.concatenate(
        [rotation @ in_link[:, :3], (rotation @ in_link[:, 3] + place)[:, :, np.newaxis]], axis=2
    )


def _volumes(gate: Gate, configuration: Float64) -> list[tuple[Float64, float]]:
    """Returns the ends and the radius of every volume at a configuration."""
    poses = gate.link_poses(np.array(configuration))
    return [
        (
            moved(
                np.array(capsule_ends(volume.shape, volume.origin_xyz_rpy)).reshape(-1, 3),
                poses[volume.link_name],
            ),
            volume.shape.radius_m,
        )
        for volume in gate.robot.collision_geometry
    ]


def _draw_robot(
    axes: Any,
    volumes: list[tuple[Float64, float]],
    points_per_m: float,
    *,
    colour: str,
    label: str,
    alpha: float,
) -> None:
    for ends, radius_m in volumes:
        axes.plot(
            *ends.T,
            color=colour,
            linewidth=2.0 * radius_m * points_per_m,
            solid_capstyle="round",
            alpha=alpha,
        )
    axes.plot([], [], color=colour, linewidth=8, alpha=alpha, label=label)


def _draw_pyramid(axes, optical: Float64) -> None:
    wide, high = _SPREAD * _PYRAMID_M, 0.75 * _SPREAD * _PYRAMID_M
    vertices = np.array([[x * wide, y * high, _PYRAMID_M] for x, y in ((-1, -1), (1, -1), (1, 1), (-1, 1))])
    placed = moved(vertices, optical)
    for vertex in placed:
        axes.plot(*np.array([optical[:, 3], vertex]).T, color=_VIEW, linewidth=1.2)
    axes.plot(*np.vstack([placed, placed[:1]]).T, color=_VIEW, linewidth=1.2)


def _draw_obstacle(axes: Any, obstacle: WorldCollisionPrimitive, points_per_m: float) -> None:
    pose, shape = require_rigid_motion(obstacle.pose, name="pose"), obstacle.shape
    if isinstance(shape, BoxShape):
        half = 0.5 * np.array(shape.size_xyz_m)
        signs = [np.array([x, y, z]) for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)]
        for index, a in enumerate(signs):
            for b in signs[index + 1 :]:
                if np.abs(a - b).sum() == 2:
                    axes.plot(*moved(np.array([a * half, b * half]), pose).T, color=_OBSTACLE, linewidth=0.9)
    elif isinstance(shape, CylinderShape):
        turns = np.linspace(0.0, 2.0 * np.pi, 25)
        circle = shape.radius_m * np.column_stack([np.cos(turns), np.sin(turns), np.zeros_like(turns)])
        ends = [circle + np.array([0.0, 0.0, side * shape.length_m / 2]) for side in (-1.0, 1.0)]
        for end in ends:
            axes.plot(*moved(end, pose).T, color=_OBSTACLE, linewidth=0.9)
        for low, high in zip(ends[0][::6], ends[1][::6], strict=True):
            axes.plot(*moved(np.array([low, high]), pose).T, color=_OBSTACLE, linewidth=0.9)
    elif isinstance(shape, CapsuleShape | SphereShape):
        half_m = shape.length_m / 2 if isinstance(shape, CapsuleShape) else 0.0
        ends = moved(np.array([[0.0, 0.0, -half_m], [0.0, 0.0, half_m]]), pose)
        axes.plot(
            *ends.T,
            color=_OBSTACLE,
            linewidth=2.0 * points_per_m * shape.radius_m,
            alpha=0.5,
            solid_capstyle="round",
        )


def _frame(axes: Any, points: Float64) -> float:
    """Shows all points at one scale, and returns how many points of paper are a metre."""
    middle = 0.5 * (points.min(axis=0) + points.max(axis=0))
    half_m = 0.5 * float((points.max(axis=0) - points.min(axis=0)).max()) + 0.05
    for name, centre in zip("xyz", middle, strict=True):
        getattr(axes, f"set_{name}lim")(centre - half_m, centre + half_m)
        getattr(axes, f"set_{name}label")(f"{name} in m")
    axes.set_box_aspect((1, 1, 1))
    axes.view_init(elev=18.0, azim=-62.0)
    return _AXES_POINTS / (2.0 * half_m)
