# SPDX-License-Identifier: Apache-2.0
# Matplotlib builds its names at run time.
# pyright: reportAttributeAccessIssue=false
"""A picture of a map, the ideal and the refined pose, and the line of sight."""

import math
from pathlib import Path

import numpy as np

from lastgate.contracts import ApproachViewpoint, ROSConfigError
from lastgate.contracts.extras import install_command
from lastgate.planning.approach.viewpoint import yaw_of
from lastgate.world.occupancy_grid import UNKNOWN_CELL, OccupancyGridIndex

_FREE, _UNKNOWN, _BLOCKED = (1.0, 1.0, 1.0), (0.78, 0.80, 0.83), (0.20, 0.22, 0.26)
_IDEAL, _REFINED, _TARGET = "#c2571a", "#1a7f4b", "#7a3db8"


def save_approach_plot(
    path: Path,
    grid: OccupancyGridIndex,
    *,
    ideal: ApproachViewpoint,
    refined: ApproachViewpoint | None,
    target_xyz: tuple[float, float, float],
    standoffs_m: tuple[float, float],
    inflation_m: float,
    around_m: float,
) -> None:
    """Writes a picture of the map around a target; the ending of `path` chooses the format.

    Raises:
        ROSConfigError: Matplotlib is not installed, or the file cannot be written.
    """
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
        from matplotlib.patches import Circle
        from matplotlib.transforms import Affine2D
    except ModuleNotFoundError:
        raise ROSConfigError(f"a picture needs `{install_command('approach')}`") from None
    figure = Figure(figsize=(7.0, 7.4), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    rows, columns = grid.data.shape
    colours = np.empty((rows, columns, 3))
    colours[:] = _FREE
    colours[grid.blocked] = _BLOCKED
    colours[grid.data == UNKNOWN_CELL] = _UNKNOWN
    axes.set_facecolor(_UNKNOWN)
    picture = axes.imshow(
        colours,
        origin="lower",
        extent=(0.0, columns * grid.resolution_m, 0.0, rows * grid.resolution_m),
        interpolation="nearest",
    )
    placed = Affine2D().rotate(grid.origin_yaw).translate(*grid.origin_xy)
    picture.set_transform(placed + axes.transData)
    x, y, _ = target_xyz
    for standoff_m in standoffs_m:
        axes.add_patch(Circle((x, y), standoff_m, fill=False, linestyle=":", linewidth=1.0, color=_TARGET))
    _draw_pose(axes, ideal, colour=_IDEAL, label="ideal", inflation_m=inflation_m)
    if refined is not None:
        if refined is not ideal:
            _draw_pose(axes, refined, colour=_REFINED, label="refined", inflation_m=inflation_m)
        seen_from = refined.pose.xyz
        axes.plot([seen_from[0], x], [seen_from[1], y], color=_REFINED, linewidth=1.2, label="line of sight")
    axes.plot([x], [y], marker="*", markersize=14, color=_TARGET, linestyle="none", label="target")
    axes.set_xlim(x - around_m, x + around_m)
    axes.set_ylim(y - around_m, y + around_m)
    axes.set_aspect("equal")
    axes.set_xlabel("x in m")
    axes.set_ylabel("y in m")
    verdict = (
        "approach BLOCKED on the occupancy grid"
        if refined is None
        else "the ideal pose is admissible"
        if refined is ideal
        else f"refined by {math.dist(refined.pose.xyz[:2], ideal.pose.xyz[:2]):.2f} m"
    )
    axes.set_title(verdict)
    axes.legend(loc="upper right", framealpha=0.9)
    try:
        figure.savefig(path, dpi=130)
    except (OSError, ValueError) as error:
        raise ROSConfigError(f"picture `{path}` cannot be written: {error}") from None


def _draw_pose(
    axes: object, viewpoint: ApproachViewpoint, *, colour: str, label: str, inflation_m: float
) -> None:
    from matplotlib.axes import Axes
    from matplotlib.patches import Circle

    assert isinstance(axes, Axes)
    x, y, _ = viewpoint.pose.xyz
    yaw = yaw_of(viewpoint.pose)
    length_m = max(inflation_m, 0.15)
    axes.add_patch(Circle((x, y), inflation_m, fill=True, alpha=0.25, color=colour))
    axes.annotate(
        "",
        xy=(x + length_m * math.cos(yaw), y + length_m * math.sin(yaw)),
        xytext=(x, y),
        arrowprops={"arrowstyle": "-|>", "color": colour, "linewidth": 2.0},
    )
    axes.plot([x], [y], marker="o", markersize=6, color=colour, linestyle="none", label=label)
