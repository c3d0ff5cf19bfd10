# SPDX-License-Identifier: Apache-2.0
"""Reads a mesh file into triangles, or says why it cannot be trusted. Everything that reads meshes reads them here.

Every .stl, .obj and .dae is read twice, by code that shares nothing; where the two differ, neither is believed.
"""

from __future__ import annotations

import logging
from pathlib import Path

import numpy as np
import trimesh
from numpy.typing import NDArray

from lastgate.contracts.exceptions import ROSConfigError
from lastgate.tools.lowering.extent import extent
from lastgate.tools.lowering.second_reader import read_again, unit_of_dae
from lastgate.tools.lowering.triangle_sets import compare

Array = NDArray[np.float64]

# No link of a robot this project knows is longer; a mesh in millimetres is a thousand times too large.
LINK_SIZE_MAX_M = 10.0
# A binary STL says how many triangles follow: 80 bytes of header, 4 of count, 50 per triangle.
_STL_HEADER, _STL_TRIANGLE = 84, 50
# Formats that have two readers; one that a single reader knows could lose a part without a word.
_FORMATS = (".stl", ".obj", ".dae")


def load_triangles(path: Path, scale: tuple[float, float, float] = (1.0, 1.0, 1.0)) -> Array:
    """Returns the triangles (n, 3, 3) of a mesh in metres, scaled as the description says.

    Raises ROSConfigError for a file that `read_mesh` refuses, or a mesh larger than any link can be.
    """
    triangles = read_mesh(path) * np.asarray(scale, dtype=np.float64)
    size_m = float(extent(triangles.reshape(-1, 3)).max())
    if size_m > LINK_SIZE_MAX_M:
        raise ROSConfigError(
            f"mesh is {size_m:.4f} m long, more than the {LINK_SIZE_MAX_M:.4f} m any link may be: `{path}`; "
            'a mesh in millimetres needs scale="0.001 0.001 0.001"'
        )
    if not size_m > 0.0:
        raise ROSConfigError(f"mesh has no extent: `{path}`")
    return triangles


def read_mesh(path: Path) -> Array:
    """Returns the triangles (n, 3, 3) of a mesh as its file has them.

    Raises ROSConfigError for a file that is missing, empty, cut short, of an unknown format, without
    triangles, with coordinates that are not finite, or that two readers understand differently.
    """
    if not path.is_file():
        raise ROSConfigError(f"mesh not found: `{path}`")
    if path.stat().st_size == 0:
        raise ROSConfigError(f"mesh is an empty file: `{path}`")
    if path.suffix.lower() not in _FORMATS:
        raise ROSConfigError(
            f"mesh format `{path.suffix}` is not read: `{path}`; known: {', '.join(_FORMATS)}"
        )
    if path.suffix.lower() == ".stl":
        _require_whole_stl(path)
    triangles = _read(path)
    if not np.isfinite(triangles).all():
        raise ROSConfigError(f"mesh has coordinates that are not finite: `{path}`")
    _require_agreement(path, triangles)
    if not len(triangles):
        raise ROSConfigError(f"mesh has no triangles: `{path}`")
    return triangles


def _read(path: Path) -> Array:
    # trimesh logs what it repairs; the checks of this file decide, so nothing may leak to the user's terminal.
    logging.getLogger("trimesh").setLevel(logging.CRITICAL)
    try:
        scene = trimesh.load_scene(path, process=False)
        parts = [part for part in scene.dump(concatenate=False) if isinstance(part, trimesh.Trimesh)]
        soups = [np.asarray(part.triangles, dtype=np.float64) for part in parts if len(part.faces)]
        unit_m = unit_of_dae(path) if path.suffix.lower() == ".dae" else 1.0
    except Exception as error:
        raise ROSConfigError(f"mesh cannot be read: `{path}`: {error}") from error
    if unit_m != 1.0:
        # RViz and Gazebo multiply by the unit; Pinocchio, Coal and Bullet do not, and some descriptions make up for
        # that with `scale`. Either guess can be the smaller robot.
        raise ROSConfigError(
            f"mesh is drawn in units of {unit_m:g} m, which some programs apply and others do not: `{path}`; "
            'write it in metres, with <unit meter="1"/>'
        )
    return np.concatenate(soups) if soups else np.empty((0, 3, 3))


def _require_agreement(path: Path, triangles: Array) -> None:
    try:
        again = read_again(path)
    except (ValueError, OverflowError, IndexError) as error:
        raise ROSConfigError(f"mesh cannot be read a second time: `{path}`: {error}") from error
    difference = compare(triangles, again)
    if difference is not None:
        raise ROSConfigError(f"two readers of a mesh differ: `{path}`: {difference}; neither is believed")


def _require_whole_stl(path: Path) -> None:
    size = path.stat().st_size
    with path.open("rb") as file:
        header = file.read(_STL_HEADER)
    if header.startswith(b"version https://git-lfs"):
        raise ROSConfigError(
            f"mesh is a Git LFS pointer and not the mesh: `{path}`; `git lfs pull` fetches it"
        )
    is_ascii = header[:5].lower() == b"solid" and not _is_binary_size(header, size)
    if is_ascii:
        if b"endsolid" not in path.read_bytes()[-256:]:
            raise ROSConfigError(f"mesh is cut short: `{path}` has no `endsolid`")
        return
    if len(header) < _STL_HEADER or not _is_binary_size(header, size):
        raise ROSConfigError(
            f"mesh is cut short: `{path}` has {size} bytes, its header promises "
            f"{_STL_HEADER + _STL_TRIANGLE * int.from_bytes(header[80:84], 'little')}"
        )


def _is_binary_size(header: bytes, size: int) -> bool:
    return len(header) == _STL_HEADER and size >= _STL_HEADER + _STL_TRIANGLE * int.from_bytes(
        header[80:84], "little"
    )
