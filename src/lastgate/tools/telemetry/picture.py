# SPDX-License-Identifier: Apache-2.0
# Matplotlib builds its names at run time.
# pyright: reportAttributeAccessIssue=false
"""Draws a scene, and beside it the place of a contact or the course of a number, as a PNG."""

import io
import math
import textwrap
from collections.abc import Mapping
from typing import Any

import numpy as np

from lastgate.contracts import ROSConfigError
from lastgate.contracts.arrays import Float64
from lastgate.contracts.extras import install_command
from lastgate.tools.telemetry.scene import Role, Scene
from lastgate.tools.telemetry.series import Series

_COLOURS: dict[Role, tuple[float, float, float]] = {
    "robot": (0.80, 0.82, 0.85),
    "first": (0.86, 0.30, 0.20),
    "second": (0.16, 0.42, 0.78),
    "obstacle": (0.87, 0.77, 0.58),
    "unknown": (0.70, 0.62, 0.78),
}
_ALPHA: dict[Role, float] = {"robot": 0.55, "first": 0.95, "second": 0.95, "obstacle": 0.9, "unknown": 0.6}
_WITNESS = "#111111"
# From over the right shoulder of the viewer.
_LIGHT = np.array([0.35, -0.45, 0.82])
_CLOSE_UP_M = 0.16
# Never straight along an axis: two of the three would fall together.
_AZIMUTHS = (-60.0, -30.0, 30.0, 60.0, -45.0, 45.0, 120.0, 150.0, -120.0, -150.0, 135.0, -135.0)
_ELEVATION = 20.0


def draw(
    scene: Scene, *, title: str, legend: dict[Role, str], series: Series | None, facts: Mapping[str, object]
) -> bytes:
    """Returns a PNG: the whole scene on the left; on the right the close-up, the series, or the facts in words.

    Raises:
        ROSConfigError: Matplotlib is not installed.
    """
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
        from matplotlib.patches import Patch
    except ModuleNotFoundError:
        raise ROSConfigError(f"a picture needs `{install_command('record')}`") from None
    figure = Figure(figsize=(11.0, 5.8), dpi=100)
    FigureCanvasAgg(figure)
    azimuth = _open_view(scene)
    whole = figure.add_axes((0.01, 0.08, 0.47, 0.80), projection="3d")
    centre, reach_m = _extent(scene)
    _draw_scene(whole, scene, centre=centre, reach_m=reach_m, azimuth=azimuth)
    if scene.witness is not None:
        close = figure.add_axes((0.51, 0.08, 0.47, 0.80), projection="3d")
        _draw_scene(close, scene, centre=scene.focus, reach_m=_CLOSE_UP_M, azimuth=azimuth)
        figure.text(0.75, 0.87, "close-up", ha="center", color="0.35", fontsize=9)
    elif series is not None:
        _draw_series(figure.add_axes((0.58, 0.17, 0.38, 0.66)), series)
    else:
        rows = [
            line
            for name, fact in facts.items()
            for line in textwrap.wrap(
                _shown(f"{name}: {fact}"), width=62, subsequent_indent="    ", max_lines=6
            )
        ]
        figure.text(0.53, 0.80, "\n".join(rows), va="top", fontsize=10, linespacing=1.6, parse_math=False)
    patches = [Patch(color=_COLOURS[role], label=_shown(name)) for role, name in legend.items()]
    for label in figure.legend(
        handles=patches, loc="lower center", ncols=max(1, len(patches)), frameon=False, fontsize=9
    ).get_texts():
        label.set_parse_math(False)
    lines = textwrap.wrap(_shown(title), width=118, max_lines=3, placeholder=" …")
    figure.text(0.02, 0.97, "\n".join(lines), va="top", fontsize=11, weight="bold", parse_math=False)
    written = io.BytesIO()
    # No date in the file: the same rejection gives the same bytes.
    figure.savefig(written, format="png", metadata={"Software": None})
    return written.getvalue()


def _shown(text: str) -> str:
    """Returns text with a question mark for whatever the font has no picture of; names come from anywhere."""
    from matplotlib.font_manager import FontProperties, findfont, get_font

    known = get_font(findfont(FontProperties())).get_charmap()
    return "".join(letter if ord(letter) in known or letter == "\n" else "?" for letter in text)


def _open_view(scene: Scene) -> float:
    """Returns the azimuth from which the least stands between the camera and what the picture is about."""
    hiding = [faces.mean(axis=1) for role, faces in scene.faces if role not in ("first", "second")]
    own = [faces.mean(axis=1) for role, faces in scene.faces if role in ("first", "second")]
    best, best_score = _AZIMUTHS[0], math.inf
    for azimuth in _AZIMUTHS:
        camera = _camera(azimuth)
        score = 0.0
        for weight, groups in ((1.0, hiding), (0.5, own)):
            for centres in groups:
                offset = centres - scene.focus
                towards = offset @ camera
                aside = np.linalg.norm(offset - towards[:, None] * camera, axis=1)
                score += weight * float(((towards > 0.01) & (aside < 0.05)).sum())
        if scene.witness is not None:
            # Two points seen along their line are one.
            line = scene.witness[1] - scene.witness[0]
            length_m = float(np.linalg.norm(line))
            if length_m > 1e-4:
                score += 15.0 * abs(float(line @ camera)) / length_m
        if score < best_score - 1e-9:
            best, best_score = azimuth, score
    return best


def _camera(azimuth: float) -> Float64:
    turn, lift = math.radians(azimuth), math.radians(_ELEVATION)
    return np.array([math.cos(lift) * math.cos(turn), math.cos(lift) * math.sin(turn), math.sin(lift)])


def _extent(scene: Scene) -> tuple[Float64, float]:
    """Returns the middle and half the edge of a cube around everything but the surroundings."""
    solid = [faces.reshape(-1, 3) for role, faces in scene.faces if role not in ("obstacle", "unknown")]
    extra = [group.reshape(-1, 3) for group in (scene.witness, scene.tool_path) if group is not None]
    vertices = np.concatenate([*solid, *extra])
    low, high = vertices.min(axis=0), vertices.max(axis=0)
    return 0.5 * (low + high), 0.55 * float((high - low).max())


def _draw_scene(axes: Any, scene: Scene, *, centre: Float64, reach_m: float, azimuth: float) -> None:
    from mpl_toolkits.mplot3d.art3d import Line3DCollection, Poly3DCollection

    shown: list[Float64] = []
    colours: list[tuple[float, ...]] = []
    edges: list[tuple[float, ...]] = []
    for role, faces in scene.faces:
        inside = faces[(np.abs(faces - centre) <= 1.15 * reach_m).all(axis=(1, 2))]
        shade = 0.62 + 0.38 * np.abs(_normals(inside) @ _LIGHT)
        for face, light in zip(inside, shade, strict=True):
            shown.append(face)
            tint = tuple(float(part * light) for part in _COLOURS[role])
            colours.append((*tint, _ALPHA[role]))
            edges.append((*(0.75 * part for part in tint), 0.25 * _ALPHA[role]))
    # One collection: only within one are faces sorted by their distance from the camera.
    if shown:
        # Of equally many vertices: Matplotlib fills up what a shorter face lacks with what lies in memory, and NumPy
        # then warns of overflows now and then.
        vertices = max(len(face) for face in shown)
        equal = np.array([np.vstack([face, *[face[-1:]] * (vertices - len(face))]) for face in shown])
        axes.add_collection3d(Poly3DCollection(equal, facecolors=colours, edgecolors=edges, linewidths=0.3))
    axes.computed_zorder = False
    for role, faces in scene.frames:
        _draw_frame(axes, _COLOURS[role], faces, centre, reach_m)
    for role, points in scene.points:
        near = points[(np.abs(points - centre) <= reach_m).all(axis=1)]
        size, layer = (40.0, 9) if role == "second" else (2.0, 1)
        axes.scatter(*near.T, s=size, color=_COLOURS[role], depthshade=False, zorder=layer)
    if scene.tool_path is not None and len(scene.tool_path) > 1:
        axes.plot(
            *scene.tool_path.T, color=_COLOURS["first"], linewidth=1.6, zorder=8, marker=".", markersize=3
        )
    if scene.tool is not None:
        axes.plot(
            *scene.tool[:, None], color=_WITNESS, marker="x", markersize=9, markeredgewidth=2, zorder=10
        )
    if scene.witness is not None:
        axes.add_collection3d(Line3DCollection([scene.witness], colors=_WITNESS, linewidths=1.6, zorder=9))
        for point, role in zip(scene.witness, ("first", "second"), strict=True):
            axes.plot(
                *point[:, None],
                marker="o",
                markersize=7,
                color=_COLOURS[role],
                markeredgecolor=_WITNESS,
                zorder=10,
            )
    axes.set(
        **{f"{name}lim": (centre[axis] - reach_m, centre[axis] + reach_m) for axis, name in enumerate("xyz")}
    )
    axes.set_box_aspect((1, 1, 1), zoom=1.1)
    axes.view_init(elev=_ELEVATION, azim=azimuth)
    axes.tick_params(labelsize=7, pad=-2)
    for name in "xyz":
        # Numbers along z stand beside it, where a label as near as the others would lie on them.
        getattr(axes, f"set_{name}label")(f"{name}, m", fontsize=8, labelpad=-1 if name == "z" else -6)
        getattr(axes, f"{name}axis").set_major_locator(_ticks(4))
        getattr(axes, f"{name}axis").set_pane_color((1.0, 1.0, 1.0, 0.0))


def _ticks(count: int, *, integer: bool = False) -> Any:
    from matplotlib.ticker import MaxNLocator

    return MaxNLocator(count, integer=integer)


def _draw_frame(
    axes: Any, colour: tuple[float, ...], faces: Float64, centre: Float64, reach_m: float
) -> None:
    from mpl_toolkits.mplot3d.art3d import Poly3DCollection

    # Large walls are cut to what the picture covers, or they would stretch over all of it.
    cut = np.clip(faces, centre - reach_m, centre + reach_m)
    axes.add_collection3d(
        Poly3DCollection(
            list(cut), facecolors=(*colour, 0.07), edgecolors=(*colour, 0.8), linewidths=0.8, zorder=2
        )
    )


def _normals(faces: Float64) -> Float64:
    normals = np.cross(faces[:, 1] - faces[:, 0], faces[:, 2] - faces[:, 0])
    # A quad at the pole of a sphere has two equal vertices; its other side still says where it faces.
    flat = np.linalg.norm(normals, axis=1) < 1e-15
    if faces.shape[1] > 3:
        normals[flat] = np.cross(faces[flat, 2] - faces[flat, 0], faces[flat, 3] - faces[flat, 0])
    length = np.linalg.norm(normals, axis=1, keepdims=True)
    return normals / np.where(length > 0.0, length, 1.0)


def _draw_series(axes: Any, series: Series) -> None:
    first, second = _COLOURS["first"], _COLOURS["second"]
    if len(series.values):
        axes.plot(series.steps, series.values, color="0.35", marker="o", markersize=3, linewidth=1.2)
    for limit in (series.limit_min, series.limit_max):
        if math.isfinite(limit):
            axes.axhline(limit, color=second, linewidth=1.2)
            axes.annotate(
                f"limit {limit:.4g}", (0.01, limit), xycoords=("axes fraction", "data"), va="bottom",
                color=second, fontsize=8,
            )  # fmt: skip
    if math.isfinite(series.value):
        # A label at the end of the steps would run out of the picture.
        late = len(series.steps) > 1 and series.step > 0.5 * float(series.steps[-1])
        axes.plot([series.step], [series.value], marker="x", markersize=11, markeredgewidth=2.5, color=first)
        # Beyond the limit it breaks, where no line is.
        below = series.value < series.limit_min
        axes.annotate(
            f"{series.value:.4g}", (series.step, series.value), textcoords="offset points",
            xytext=(-9 if late else 9, -6 if below else 6),
            ha="right" if late else "left", va="top" if below else "bottom",
            color=first, fontsize=9, weight="bold",
        )  # fmt: skip
    axes.set_xlabel("step of the chunk (-1 is the measured state)", fontsize=9)
    axes.set_ylabel(_shown(series.label), fontsize=9, parse_math=False)
    axes.margins(x=0.05, y=0.2)
    axes.tick_params(labelsize=8)
    axes.xaxis.set_major_locator(_ticks(8, integer=True))
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
