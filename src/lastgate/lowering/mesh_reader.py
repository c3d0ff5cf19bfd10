# SPDX-License-Identifier: Apache-2.0
"""Reads a mesh file into triangles, or says why it cannot be trusted."""

from __future__ import annotations

import logging
from pathlib import Path

import numpy as np
import trimesh
from numpy.typing import NDArray

from lastgate.contracts.exceptions import ROSConfigError
from lastgate.lowering.extent import extent

Array = NDArray[np.float64]

# No link of a robot this project knows is longer; a mesh in millimetres is a thousand times too large.
LINK_SIZE_MAX_M = 10.0
# A binary STL says how many triangles follow: 80 bytes of header, 4 of count, 50 per triangle.
_STL_HEADER, _STL_TRIANGLE = 84, 50
_FORMATS = (".stl", ".obj", ".dae", ".ply", ".off", ".glb", ".gltf")


def load_triangles(path: Path, scale: tuple[float, float, float] = (1.0, 1.0, 1.0)) -> Array:
    """Returns the triangles (n, 3, 3) of a mesh in metres, scaled as the description says.

    Raises ROSConfigError for a file that is missing, empty, cut short, of an unknown format, without
    triangles, with coordinates that are not finite, or larger than any link can be.
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
    # trimesh logs what it repairs; the checks below decide, so nothing may leak to the user's terminal.
    logging.getLogger("trimesh").setLevel(logging.CRITICAL)
    try:
        scene = trimesh.load_scene(path, process=False)
        parts = [part for part in scene.dump(concatenate=False) if isinstance(part, trimesh.Trimesh)]
    except Exception as error:
        raise ROSConfigError(f"mesh cannot be read: `{path}`: {error}") from error
    soups = [np.asarray(part.triangles, dtype=np.float64) for part in parts if len(part.faces)]
    if not soups:
        raise ROSConfigError(f"mesh has no triangles: `{path}`")
    triangles = np.concatenate(soups) * np.asarray(scale, dtype=np.float64)
    if not np.isfinite(triangles).all():
        raise ROSConfigError(f"mesh has coordinates that are not finite: `{path}`")
    size_m = float(extent(triangles.reshape(-1, 3)).max())
    if size_m > LINK_SIZE_MAX_M:
        raise ROSConfigError(
            f"mesh is {size_m:.4f} m long, more than the {LINK_SIZE_MAX_M:.4f} m any link may be: `{path}`; "
            'a mesh in millimetres needs scale="0.001 0.001 0.001"'
        )
    if not size_m > 0.0:
        raise ROSConfigError(f"mesh has no extent: `{path}`")
    return triangles


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
