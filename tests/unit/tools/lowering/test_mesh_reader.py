# SPDX-License-Identifier: Apache-2.0
"""Meshes are read whole or refused with the reason."""

import struct
from pathlib import Path

import numpy as np
import pytest
import trimesh

from lastgate.contracts.exceptions import ROSConfigError
from lastgate.tools.lowering.mesh_reader import load_triangles


@pytest.fixture
def stl(tmp_path: Path) -> Path:
    path = tmp_path / "box.stl"
    trimesh.creation.box(extents=(0.2, 0.1, 0.1)).export(path)
    return path


def test_whole_stl_is_read_in_metres(stl: Path) -> None:
    triangles = load_triangles(stl)
    assert triangles.shape == (12, 3, 3)
    assert np.ptp(triangles.reshape(-1, 3), axis=0) == pytest.approx([0.2, 0.1, 0.1])


def test_scale_is_applied_per_axis(stl: Path) -> None:
    triangles = load_triangles(stl, (2.0, 1.0, -1.0))
    assert np.ptp(triangles.reshape(-1, 3), axis=0) == pytest.approx([0.4, 0.1, 0.1])


def test_missing_mesh_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ROSConfigError, match="mesh not found"):
        load_triangles(tmp_path / "nothing.stl")


def test_empty_mesh_is_refused(tmp_path: Path) -> None:
    (tmp_path / "empty.stl").write_bytes(b"")
    with pytest.raises(ROSConfigError, match="empty file"):
        load_triangles(tmp_path / "empty.stl")


def test_stl_without_triangles_is_refused(tmp_path: Path) -> None:
    (tmp_path / "none.stl").write_bytes(b"\0" * 84)
    with pytest.raises(ROSConfigError, match=r"no triangles|cannot be read"):
        load_triangles(tmp_path / "none.stl")


def test_stl_one_byte_short_is_refused(stl: Path) -> None:
    stl.write_bytes(stl.read_bytes()[:-1])
    with pytest.raises(ROSConfigError, match="cut short"):
        load_triangles(stl)


def test_ascii_stl_without_its_end_is_refused_and_with_it_is_read(tmp_path: Path) -> None:
    text = trimesh.creation.box(extents=(0.1, 0.1, 0.1)).export(file_type="stl_ascii")
    whole, cut = tmp_path / "whole.stl", tmp_path / "cut.stl"
    whole.write_text(text)
    cut.write_text(text[: text.rindex("endsolid")])
    assert len(load_triangles(whole)) == 12
    with pytest.raises(ROSConfigError, match="cut short"):
        load_triangles(cut)


def test_coordinates_that_are_not_finite_are_refused(stl: Path) -> None:
    data = bytearray(stl.read_bytes())
    struct.pack_into("<f", data, 84 + 12, float("nan"))
    stl.write_bytes(data)
    with pytest.raises(ROSConfigError, match="not finite"):
        load_triangles(stl)


def test_millimetre_mesh_is_refused_and_scaled_one_is_read(tmp_path: Path) -> None:
    path = tmp_path / "millimetres.stl"
    trimesh.creation.box(extents=(300.0, 50.0, 50.0)).export(path)
    with pytest.raises(ROSConfigError, match=r"300\.0000 m long.*millimetres"):
        load_triangles(path)
    assert len(load_triangles(path, (0.001, 0.001, 0.001))) == 12


def test_unknown_format_is_refused(tmp_path: Path) -> None:
    (tmp_path / "mesh.step").write_bytes(b"ISO-10303-21;")
    with pytest.raises(ROSConfigError, match=r"format `\.step`"):
        load_triangles(tmp_path / "mesh.step")


def test_pointer_of_git_lfs_is_told_from_a_mesh_that_is_cut_short(tmp_path: Path) -> None:
    pointer = tmp_path / "palm.stl"
    pointer.write_text("version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 100\n")
    with pytest.raises(ROSConfigError, match=r"Git LFS pointer.*`git lfs pull`"):
        load_triangles(pointer)


@pytest.mark.parametrize("suffix", [".ply", ".off", ".glb"])
def test_format_that_one_reader_alone_knows_is_refused(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"box{suffix}"
    trimesh.creation.box(extents=(0.1, 0.1, 0.1)).export(path)
    with pytest.raises(ROSConfigError, match=r"is not read.*known: \.stl, \.obj, \.dae"):
        load_triangles(path)
    written = path.with_suffix(".obj")
    trimesh.creation.box(extents=(0.1, 0.1, 0.1)).export(written)
    assert len(load_triangles(written)) == 12
