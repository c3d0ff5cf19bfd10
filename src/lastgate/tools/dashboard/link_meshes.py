# SPDX-License-Identifier: Apache-2.0
"""What a robot looks like: the meshes that its description draws, small enough for a browser."""

import base64
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lastgate.contracts import RobotDescription, ROSConfigError
from lastgate.contracts.arrays import Float64
from lastgate.contracts.extras import install_command

# Voxels that vertices move to, along the longest side of a link: a screen shows no finer.
_VOXELS = 96
# A browser draws so many for a whole robot without stuttering on a tablet; a link with more gets coarser voxels.
_TRIANGLES_PER_LINK_MAX = 6000
# Indices of triangles have 16 bits.
_VERTICES_MAX = 65_535


def link_meshes(
    robot: RobotDescription, manifest_dir: Path | None, link_names: Sequence[str]
) -> tuple[list[dict[str, Any]], str | None]:
    """Returns one mesh per link that is drawn, packed for the page, or none and the sentence that says why.

    A view without meshes is still a view of what the gate checks, so whatever is missing is said, never raised.
    """
    if manifest_dir is None or (robot.assets.urdf is None and robot.assets.mjcf is None):
        return [], "no meshes are shown: the manifest names no description"
    try:
        from lastgate.tools.lowering.drawn import drawn_shapes

        drawn, unread = drawn_shapes(robot, manifest_dir)
    except ModuleNotFoundError:
        return [], f"no meshes are shown: reading them needs {install_command('lowering')}"
    except ROSConfigError as error:
        return [], f"no meshes are shown: {error}"
    meshes = []
    for link, shapes in drawn.items():
        if link in link_names and shapes:
            triangles = np.concatenate([shape.triangles_in_link() for shape in shapes])
            meshes.append({"link": link_names.index(link), **packed(triangles)})
    return meshes, f"not drawn: {unread[0]}" if unread else None


def packed(triangles: Float64) -> dict[str, str]:
    """Returns triangles (n, 3, 3) as distinct vertices and indices, in base64, few enough for a browser."""
    voxels = _VOXELS
    while True:
        vertices, indices = _simplified(triangles, voxels)
        if len(indices) <= _TRIANGLES_PER_LINK_MAX and len(vertices) <= _VERTICES_MAX:
            break
        voxels = int(voxels * 0.8)
    return {
        "vertices": base64.b64encode(np.ascontiguousarray(vertices, dtype="<f4").tobytes()).decode(),
        "triangles": base64.b64encode(np.ascontiguousarray(indices, dtype="<u2").tobytes()).decode(),
    }


def _simplified(triangles: Float64, voxels: int) -> tuple[Float64, NDArray[np.intp]]:
    """Moves each vertex to the mean of those in its voxel, and leaves out triangles that fall together."""
    flat = triangles.reshape(-1, 3)
    voxel_m = max(float(np.ptp(flat, axis=0).max()) / voxels, 1e-6)
    places = np.floor((flat - flat.min(axis=0)) / voxel_m).astype(np.int64)
    _, which = np.unique(places, axis=0, return_inverse=True)
    which = which.reshape(-1)
    counts = np.bincount(which)
    vertices = np.stack([np.bincount(which, flat[:, axis]) / counts for axis in range(3)], axis=1)
    named = np.unique(np.sort(which.reshape(-1, 3), axis=1), axis=0)
    distinct = (named[:, 0] != named[:, 1]) & (named[:, 1] != named[:, 2])
    return vertices, named[distinct]
