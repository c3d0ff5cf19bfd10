# SPDX-License-Identifier: Apache-2.0
"""Small robots and shapes shared by the lowering tests."""

from pathlib import Path

import numpy as np
import pytest
import trimesh

ROBOTS = Path(__file__).parents[3] / "fixtures" / "robots"


@pytest.fixture
def planar_urdf() -> Path:
    return ROBOTS / "planar_two_link.urdf"


@pytest.fixture
def planar_manifest(tmp_path: Path, planar_urdf: Path) -> Path:
    """A manifest beside its URDF, as `robot add` starts it."""
    from lastgate.tools.lowering.scaffold import manifest_from_urdf
    from lastgate.tools.lowering.urdf_reader import read_urdf

    urdf = tmp_path / "planar.urdf"
    urdf.write_bytes(planar_urdf.read_bytes())
    text = manifest_from_urdf("planar", read_urdf(urdf), urdf_ref="file:planar.urdf")
    manifest = tmp_path / "robot.yaml"
    manifest.write_text("# kept\n" + text + "# the end\n", encoding="utf-8")
    return manifest


@pytest.fixture
def bent_triangles() -> np.ndarray:
    """An L of two boxes: no single capsule is tight around it."""
    long_bar = trimesh.creation.box(extents=(0.4, 0.05, 0.05))
    short_bar = trimesh.creation.box(extents=(0.05, 0.3, 0.05))
    short_bar.apply_translation((0.175, 0.125, 0.0))
    return np.concatenate([np.asarray(bar.triangles) for bar in (long_bar, short_bar)])
