# SPDX-License-Identifier: Apache-2.0
"""Point-cloud files, written by libraries that other projects wrote, and then damaged.

Writers: trimesh and plyfile for PLY, pypcd4 (with its own LZF) for PCD, NumPy for NPY.
"""

import re
import struct

import numpy as np
import plyfile
import pypcd4
import pytest
import trimesh

from lastgate.contracts import ROSConfigError
from lastgate.world.cloud_files import load_points

CLOUD = np.random.default_rng(7).normal(size=(500, 3)).astype(np.float32)


def loaded(path, **options):
    return load_points(path, stamp_s=1.0, frame_id="camera", **options)


# PLY


def vertex_element(xyz=CLOUD):
    kind = [("red", "u1"), ("x", "f4"), ("y", "f4"), ("quality", "f8"), ("z", "f4")]
    rows = np.zeros(len(xyz), dtype=kind)
    rows["x"], rows["y"], rows["z"] = xyz.T
    return plyfile.PlyElement.describe(rows, "vertex")


@pytest.mark.parametrize("options", [{"text": True}, {"byte_order": "<"}, {"byte_order": ">"}])
def test_ply_of_every_encoding_gives_the_points_that_were_written(tmp_path, options):
    path = tmp_path / "cloud.ply"
    plyfile.PlyData([vertex_element()], comments=["a comment"], **options).write(path)
    points = loaded(path)
    assert np.array_equal(points.xyz, CLOUD.astype(np.float64))
    assert (points.stamp_s, points.frame_id) == (1.0, "camera")


@pytest.mark.parametrize("encoding", ["ascii", "binary"])
def test_ply_with_faces_after_the_vertices_gives_the_vertices(tmp_path, encoding):
    mesh = trimesh.creation.icosphere(subdivisions=2)
    path = tmp_path / "mesh.ply"
    path.write_bytes(trimesh.exchange.ply.export_ply(mesh, encoding=encoding))
    assert loaded(path).xyz == pytest.approx(mesh.vertices, abs=1e-6)


@pytest.mark.parametrize("options", [{"text": True}, {"byte_order": "<"}])
def test_ply_with_a_plain_element_before_the_vertices_gives_the_vertices(tmp_path, options):
    camera = plyfile.PlyElement.describe(np.zeros(3, dtype=[("a", "f4"), ("b", "i2")]), "camera")
    path = tmp_path / "cloud.ply"
    plyfile.PlyData([camera, vertex_element()], **options).write(path)
    assert np.array_equal(loaded(path).xyz, CLOUD.astype(np.float64))


@pytest.mark.parametrize("options", [{"text": True}, {"byte_order": "<"}])
def test_ply_with_lists_before_the_vertices_is_refused(tmp_path, options):
    faces = np.array([([0, 1, 2],)], dtype=[("vertex_indices", "i4", (3,))])
    path = tmp_path / "cloud.ply"
    plyfile.PlyData([plyfile.PlyElement.describe(faces, "face"), vertex_element()], **options).write(path)
    with pytest.raises(ROSConfigError, match="element `face` has a list"):
        loaded(path)


PLY = b"""ply
format ascii 1.0
comment made by hand
element vertex 2
property float x
property float y
property float z
end_header
1 2 3
4 5 6
"""


def refused(tmp_path, name, content, sentence):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(ROSConfigError, match=re.escape(sentence)):
        loaded(path)


def test_ply_written_by_hand_is_read(tmp_path):
    path = tmp_path / "hand.ply"
    for content in (PLY, PLY.replace(b"\n", b"\r\n"), PLY.rstrip(b"\n"), PLY + b"\n \n"):
        path.write_bytes(content)
        assert loaded(path).xyz.tolist() == [[1, 2, 3], [4, 5, 6]]


@pytest.mark.parametrize(
    ("before", "after", "sentence"),
    [
        (b"ply\n", b"plx\n", "hand.ply:1: does not begin with `ply`"),
        (b"ascii 1.0", b"ascii 2.0", "hand.ply:2: `format ascii 2.0`"),
        (b"ascii", b"binary", "hand.ply:2: `format binary 1.0`"),
        (b"format ascii 1.0\n", b"", "no `format` line"),
        (b"vertex 2", b"vertex -2", "hand.ply:4:"),
        (b"vertex 2", b"vertex two", "hand.ply:4:"),
        (b"vertex 2", b"vertex 3", "hand.ply:11: the file ends after 2 of 3 rows"),
        (b"vertex 2", b"vertex 1", "hand.ply:10: the 1 rows are complete"),
        (b"vertex 2", b"vertex 99999999", "99999999"),
        (b"element vertex", b"element point", "has no element `vertex`; elements: point"),
        (b"property float z\n", b"", "has no z"),
        (b"float z", b"float y", "hand.ply:7: `property float y`: the property is declared twice"),
        (b"float z", b"half z", "hand.ply:7: `property half z`"),
        (b"float z", b"list uchar int z", "has no z"),
        (b"end_header\n", b"element vertex 1\nend_header\n", "declared twice"),
        (b"end_header\n", b"surprise\nend_header\n", "hand.ply:8: `surprise`"),
        (b"end_header\n", b"", "hand.ply:8: `1 2 3`"),
        (b"4 5 6", b"4 5", "hand.ply:10: has 2 numbers, expected 3"),
        (b"4 5 6", b"4 5 6 7", "hand.ply:10: has 4 numbers, expected 3"),
        (b"4 5 6", b"4 five 6", "hand.ply:10: `4 five 6` is not made of numbers"),
        (b"4 5 6", b"4 nan 6", "hand.ply: xyz[1]"),
        (b"element vertex 2\n", b"property float x\nelement vertex 2\n", "hand.ply:4: `property float x`"),
    ],
)
def test_malformed_ply_is_refused_with_file_and_line(tmp_path, before, after, sentence):
    assert before in PLY
    refused(tmp_path, "hand.ply", PLY.replace(before, after, 1), sentence)


@pytest.mark.parametrize("cut", [1, 11, 12, 6000])
def test_truncated_binary_ply_is_refused_with_the_byte(tmp_path, cut):
    path = tmp_path / "cloud.ply"
    plyfile.PlyData([vertex_element()], byte_order="<").write(path)
    whole = path.read_bytes()
    end = len(whole) - cut
    refused(tmp_path, "cloud.ply", whole[:end], f"byte {end}: the file ends inside vertex")
    refused(tmp_path, "cloud.ply", whole + b"\0", f"byte {len(whole)}: the vertices are complete")


# PCD

ENCODINGS = [pypcd4.Encoding.ASCII, pypcd4.Encoding.BINARY, pypcd4.Encoding.BINARY_COMPRESSED]


def pcd_cloud():
    return pypcd4.PointCloud.from_xyz_points(CLOUD)


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_pcd_of_every_encoding_gives_the_points_that_were_written(tmp_path, encoding):
    path = tmp_path / "cloud.pcd"
    pcd_cloud().save(path, encoding=encoding)
    assert loaded(path).xyz == pytest.approx(CLOUD.astype(np.float64), abs=1e-6)


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_pcd_with_other_fields_between_gives_the_points(tmp_path, encoding):
    extra = np.arange(500, dtype=np.uint16)
    cloud = pypcd4.PointCloud.from_points(
        [extra, CLOUD[:, 0], CLOUD[:, 1], extra, CLOUD[:, 2]],
        ("ring", "x", "y", "label", "z"),
        (np.uint16, np.float32, np.float32, np.uint16, np.float32),
    )
    path = tmp_path / "cloud.pcd"
    cloud.save(path, encoding=encoding)
    assert loaded(path).xyz == pytest.approx(CLOUD.astype(np.float64), abs=1e-6)


def test_compressed_pcd_with_much_repetition_gives_the_points(tmp_path):
    xyz = np.repeat(np.arange(40, dtype=np.float32), 300).reshape(-1, 3)
    path = tmp_path / "cloud.pcd"
    pypcd4.PointCloud.from_xyz_points(xyz).save(path, encoding=pypcd4.Encoding.BINARY_COMPRESSED)
    assert path.stat().st_size < xyz.nbytes / 4
    assert np.array_equal(loaded(path).xyz, xyz.astype(np.float64))


PCD = b"""# .PCD v0.7 - Point Cloud Data file format
VERSION 0.7
FIELDS x y z
SIZE 4 4 4
TYPE F F F
COUNT 1 1 1
WIDTH 2
HEIGHT 1
VIEWPOINT 0 0 0 1 0 0 0
POINTS 2
DATA ascii
1 2 3
4 5 6
"""


def test_pcd_written_by_hand_is_read(tmp_path):
    path = tmp_path / "hand.pcd"
    for content in (PCD, PCD.replace(b"COUNT 1 1 1\n", b""), PCD.replace(b"VERSION 0.7", b"VERSION .7")):
        path.write_bytes(content)
        assert loaded(path).xyz.tolist() == [[1, 2, 3], [4, 5, 6]]


@pytest.mark.parametrize(
    ("before", "after", "sentence"),
    [
        (b"VERSION 0.7", b"VERSION 0.6", "hand.pcd:2: VERSION `0.6`"),
        (b"VERSION 0.7\n", b"", "no VERSION"),
        (b"FIELDS x y z", b"FIELDS x y", "hand.pcd:3: 2 FIELDS"),
        (b"FIELDS x y z", b"FIELDS x y rgb", "not so: z"),
        (b"FIELDS x y z", b"FIELDS x y y", "not so: y, z"),
        (b"SIZE 4 4 4", b"SIZE 4 4 3", "field `z` has TYPE F and SIZE 3"),
        (b"TYPE F F F", b"TYPE F F Q", "field `z` has TYPE Q"),
        (b"COUNT 1 1 1", b"COUNT 1 1 2", "field `z` has COUNT 2"),
        (b"COUNT 1 1 1", b"COUNT 1 1 -1", "field `z` has COUNT -1"),
        (b"WIDTH 2", b"WIDTH 3", "hand.pcd:10: POINTS is 2, WIDTH * HEIGHT is 3 * 1"),
        (b"POINTS 2", b"POINTS two", "hand.pcd:10: POINTS `two`"),
        (b"WIDTH 2", b"WIDTH 2\nWIDTH 2", "each once"),
        (b"WIDTH 2", b"BREADTH 2", "hand.pcd:7: `BREADTH 2`"),
        (b"HEIGHT 1", b"HEIGHT", "hand.pcd:8: `HEIGHT`"),
        (b"VIEWPOINT 0 0 0 1 0 0 0", b"VIEWPOINT 0 0 0 2 0 0 0", "hand.pcd:9: VIEWPOINT"),
        (b"VIEWPOINT 0 0 0 1 0 0 0", b"VIEWPOINT 0 0 nan 1 0 0 0", "hand.pcd:9: VIEWPOINT"),
        (b"VIEWPOINT 0 0 0 1 0 0 0", b"VIEWPOINT 0 0 0", "hand.pcd:9: VIEWPOINT"),
        (b"VIEWPOINT 0 0 0 1 0 0 0", b"VIEWPOINT 0 0 1 1 0 0 0", 'say viewpoint="apply"'),
        (b"DATA ascii", b"DATA zip", "hand.pcd:11: DATA `zip`"),
        (b"DATA ascii\n", b"", "hand.pcd:11: `1 2 3`"),
        (b"4 5 6\n", b"", "hand.pcd:13: the file ends after 1 of 2 rows"),
        (b"4 5 6\n", b"4 5 6\n7 8 9\n", "hand.pcd:14: the 2 rows are complete"),
        (b"4 5 6", b"4 5", "hand.pcd:13: has 2 numbers"),
        (b"4 5 6", b"4 5 0x6", "hand.pcd:13: `4 5 0x6`"),
        (b"4 5 6", b"4 5 inf", "hand.pcd: xyz[1]"),
        (PCD, b"", "hand.pcd:1: the header has no `DATA` line"),
    ],
)
def test_malformed_pcd_is_refused_with_file_and_line(tmp_path, before, after, sentence):
    assert before in PCD
    refused(tmp_path, "hand.pcd", PCD.replace(before, after, 1), sentence)


def test_pcd_that_announces_more_points_than_any_cloud_is_refused_before_they_are_read(tmp_path):
    huge = PCD.replace(b"WIDTH 2", b"WIDTH 999999999999").replace(b"POINTS 2", b"POINTS 999999999999")
    refused(tmp_path, "hand.pcd", huge, "at most 16777216 are read")


def test_viewpoint_is_applied_or_ignored_as_the_caller_says(tmp_path):
    path = tmp_path / "hand.pcd"
    # Half a turn around z, one metre up.
    path.write_bytes(PCD.replace(b"VIEWPOINT 0 0 0 1 0 0 0", b"VIEWPOINT 0 0 1 0 0 0 1"))
    assert loaded(path, viewpoint="apply").xyz == pytest.approx(np.array([[-1.0, -2, 4], [-4, -5, 7]]))
    assert loaded(path, viewpoint="ignore").xyz.tolist() == [[1, 2, 3], [4, 5, 6]]
    with pytest.raises(ROSConfigError, match="viewpoint must be"):
        loaded(path, viewpoint="maybe")


@pytest.mark.parametrize("encoding", [pypcd4.Encoding.BINARY, pypcd4.Encoding.BINARY_COMPRESSED])
def test_truncated_or_longer_pcd_is_refused_with_the_byte(tmp_path, encoding):
    path = tmp_path / "cloud.pcd"
    pcd_cloud().save(path, encoding=encoding)
    whole = path.read_bytes()
    for cut in (1, 7, 4000):
        refused(tmp_path, "cloud.pcd", whole[:-cut], f"byte {len(whole) - cut}: the file ends inside")
    refused(tmp_path, "cloud.pcd", whole + b"x", f"byte {len(whole)}: the")
    path.write_bytes(whole + bytes(100))
    assert len(loaded(path)) == 500


def test_compressed_pcd_whose_size_is_not_that_of_its_points_is_refused(tmp_path):
    body = struct.pack("<II", 4, 25) + b"\x02abc"
    refused(
        tmp_path,
        "hand.pcd",
        PCD.split(b"DATA")[0] + b"DATA binary_compressed\n" + body,
        "25 bytes are compressed",
    )
    refused(tmp_path, "hand.pcd", PCD.split(b"DATA")[0] + b"DATA binary_compressed\nabc", "before the sizes")


# NPY


@pytest.mark.parametrize("dtype", [np.float32, np.float64, ">f4", np.int32])
@pytest.mark.parametrize("order", ["C", "F"])
def test_npy_gives_the_points_that_were_written(tmp_path, dtype, order):
    path = tmp_path / "cloud.npy"
    array = np.array(CLOUD * 10, dtype=dtype, order=order)
    np.save(path, array)
    assert np.array_equal(loaded(path).xyz, array.astype(np.float64))


def test_npy_of_an_organised_cloud_drops_and_counts_what_is_not_finite(tmp_path):
    path = tmp_path / "cloud.npy"
    array = CLOUD.reshape(25, 20, 3).copy()
    array[3, 4] = np.nan
    np.save(path, array)
    points = loaded(path, drop_invalid=True)
    assert (len(points), points.dropped_count) == (499, 1)
    with pytest.raises(ROSConfigError, match=r"cloud\.npy: xyz\[64\]"):
        loaded(path)


@pytest.mark.parametrize(
    "array", [np.zeros(3), np.zeros((2, 4)), np.zeros((2, 3), complex), np.zeros((2, 3), bool)]
)
def test_npy_that_is_no_cloud_is_refused(tmp_path, array):
    path = tmp_path / "cloud.npy"
    np.save(path, array)
    with pytest.raises(ROSConfigError, match="expected real numbers"):
        loaded(path)


def test_npy_of_objects_is_refused_without_being_unpickled(tmp_path):
    path = tmp_path / "cloud.npy"
    np.save(path, np.full((2, 3), None), allow_pickle=True)
    with pytest.raises(ROSConfigError, match="object"):
        loaded(path)


def test_npy_without_points_is_refused(tmp_path):
    path = tmp_path / "cloud.npy"
    np.save(path, np.zeros((0, 3)))
    with pytest.raises(ROSConfigError, match=r"cloud\.npy: the cloud has no points"):
        loaded(path)


def test_truncated_or_longer_npy_is_refused_with_the_byte(tmp_path):
    path = tmp_path / "cloud.npy"
    np.save(path, CLOUD)
    whole = path.read_bytes()
    refused(
        tmp_path, "cloud.npy", whole[:-1], f"byte {len(whole) - 1}: 6000 bytes of data are announced, 5999"
    )
    refused(tmp_path, "cloud.npy", whole + b"\0", f"byte {len(whole)}: 6000 bytes")
    refused(tmp_path, "cloud.npy", whole[:40], "byte 10: the header is cut off")
    refused(tmp_path, "cloud.npy", b"", "is no NPY file")
    refused(tmp_path, "cloud.npy", whole.replace(b"(500, 3)", b"(9e9, 3)"), "cloud.npy")


# All kinds


@pytest.mark.parametrize("name", ["cloud.las", "cloud", "cloud.npz", "cloud.ply.gz"])
def test_file_of_another_kind_is_refused(tmp_path, name):
    refused(tmp_path, name, b"", "are read from .ply, .pcd and .npy files")


@pytest.mark.parametrize("name", ["absent.ply", "absent.pcd", "absent.npy"])
def test_file_that_is_not_there_is_refused_by_name(tmp_path, name):
    with pytest.raises(ROSConfigError, match=f"{name}: cannot be read"):
        loaded(tmp_path / name)


@pytest.mark.parametrize("kind", ["ply ascii", "ply binary", "pcd ascii", "pcd binary", "pcd packed", "npy"])
def test_damaged_files_are_read_or_refused_and_nothing_else(tmp_path, kind):
    path = tmp_path / f"cloud.{kind[:3]}"
    few = CLOUD[:20]
    match kind:
        case "ply ascii" | "ply binary":
            plyfile.PlyData([vertex_element(few)], text=kind == "ply ascii", byte_order="<").write(path)
        case "npy":
            np.save(path, few)
        case _:
            encodings = {"ascii": "ASCII", "binary": "BINARY", "packed": "BINARY_COMPRESSED"}
            pypcd4.PointCloud.from_xyz_points(few).save(path, encoding=pypcd4.Encoding[encodings[kind[4:]]])
    whole = path.read_bytes()
    rng = np.random.default_rng(9)
    refused_count = 0
    for _ in range(250):
        damaged = bytearray(whole)
        for at in rng.integers(0, len(whole), size=rng.integers(1, 4)):
            damaged[at] = rng.integers(0, 256)
        path.write_bytes(damaged)
        try:
            loaded(path, drop_invalid=True)
        except ROSConfigError:
            refused_count += 1
    assert refused_count > 10
