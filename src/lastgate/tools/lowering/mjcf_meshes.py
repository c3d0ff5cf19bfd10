# SPDX-License-Identifier: Apache-2.0
"""The triangles of an MJCF's meshes: MuJoCo's own, held against the reader that everything else uses."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from lastgate.contracts.exceptions import ROSConfigError
from lastgate.tools.lowering.mesh_reader import read_mesh
from lastgate.tools.lowering.mjcf_model import MjcfModel, pose_of
from lastgate.tools.lowering.triangle_sets import compare

Array = NDArray[np.float64]

# Formats that both read; MuJoCo's own .msh and meshes written into the XML have one reader.
_BOTH_READ = (".stl", ".obj")


def mesh_triangles(mjcf: MjcfModel, mesh: int) -> Array:
    """Returns the triangles of a compiled mesh, in the frame that MuJoCo gave it.

    Raises ROSConfigError, with the file and the difference, where the file says something else.
    """
    model = mjcf.model
    vertex, face = int(model.mesh_vertadr[mesh]), int(model.mesh_faceadr[mesh])
    vertices = model.mesh_vert[vertex : vertex + int(model.mesh_vertnum[mesh])].astype(np.float64)
    triangles = vertices[model.mesh_face[face : face + int(model.mesh_facenum[mesh])]]
    path = _file(mjcf, mesh)
    if path is not None and path.suffix.lower() in _BOTH_READ:
        drawn = pose_of(model.mesh_pos[mesh], model.mesh_quat[mesh])
        _require_same(mjcf, mesh, path, triangles @ drawn[:3, :3].T + drawn[:3, 3])
    return triangles


def _file(mjcf: MjcfModel, mesh: int) -> Path | None:
    start = int(mjcf.model.mesh_pathadr[mesh])
    if start < 0:
        return None
    name = bytes(mjcf.model.paths[start:]).split(b"\0", 1)[0].decode()
    return mjcf.path.parent / name if name else None


def _require_same(mjcf: MjcfModel, mesh: int, path: Path, compiled: Array) -> None:
    x, y, z = (float(factor) for factor in mjcf.model.mesh_scale[mesh])
    read = read_mesh(path)
    asset = mjcf.mesh_assets.get(str(mjcf.model.mesh(mesh).name))
    if asset is not None:
        reference = pose_of(*asset)
        read = (read - reference[:3, 3]) @ reference[:3, :3]
    difference = compare(compiled, read * [x, y, z], cut_alike=False)
    if difference is not None:
        raise ROSConfigError(
            f"two readers of a mesh differ: `{path}`: MuJoCo's {difference}; neither is believed"
        )
