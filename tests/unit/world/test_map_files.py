# SPDX-License-Identifier: Apache-2.0
"""The file pair of map_server: read as written, or refused with the reason."""

import numpy as np
import pytest
from PIL import Image

from lastgate.contracts import ROSConfigError
from lastgate.planning.approach import OccupancyGridIndex

VALUES = {
    "image": "room.pgm",
    "resolution": 0.05,
    "origin": [-1.0, 2.0, 0.0],
    "negate": 0,
    "occupied_thresh": 0.65,
    "free_thresh": 0.196,
}
# As map_saver writes them: white is free, black occupied, 205 unknown. The upper row is the far one.
PIXELS = np.array([[254, 254, 205], [254, 0, 254]], dtype=np.uint8)


def write_pair(folder, pixels=PIXELS, *, name="room.pgm", **changes):
    values = {key: value for key, value in (VALUES | {"image": name} | changes).items() if value is not None}
    (folder / "room.yaml").write_text("".join(f"{key}: {value}\n" for key, value in values.items()))
    Image.fromarray(pixels).save(folder / name)
    return folder / "room.yaml"


@pytest.mark.parametrize("name", ["room.pgm", "room.png"])
def test_pair_is_read_from_its_lower_edge_up(tmp_path, name):
    grid = OccupancyGridIndex.from_file(write_pair(tmp_path, name=name))
    assert grid.data.tolist() == [[0, 100, 0], [0, 0, -1]]
    assert (grid.resolution_m, grid.origin_xy, grid.origin_yaw) == (0.05, (-1.0, 2.0), 0.0)
    assert grid.is_free(-0.975, 2.025)
    assert not grid.is_free(-0.925, 2.025)
    assert not grid.is_free(-0.875, 2.075), "unknown"


def test_pgm_as_text_with_a_comment_is_read_too(tmp_path):
    path = write_pair(tmp_path)
    (tmp_path / "room.pgm").write_bytes(b"P2\n# made by hand\n3 2\n255\n254 254 205\n254 0 254\n")
    assert OccupancyGridIndex.from_file(path).data.tolist() == [[0, 100, 0], [0, 0, -1]]


def test_negated_image_is_read_the_other_way_round(tmp_path):
    grid = OccupancyGridIndex.from_file(write_pair(tmp_path, 255 - PIXELS, negate=1))
    assert grid.data.tolist() == [[0, 100, 0], [0, 0, -1]]


def test_scale_keeps_what_is_between_the_thresholds(tmp_path):
    shades = np.array([[255, 191, 128, 0]], dtype=np.uint8)  # 0, 25, 50 and 100 per cent dark
    grid = OccupancyGridIndex.from_file(write_pair(tmp_path, shades, free_thresh=0.1, occupied_thresh=0.9))
    assert grid.data.tolist() == [[0, -1, -1, 100]]
    path = tmp_path / "room.yaml"
    path.write_text(path.read_text() + "mode: scale\n")
    assert OccupancyGridIndex.from_file(path).data.tolist() == [[0, 19, 50, 100]]
    path.write_text(path.read_text().replace("scale", "raw"))
    assert OccupancyGridIndex.from_file(path).data.tolist() == [[-1, -1, -1, 0]]


def test_pixel_that_is_not_opaque_is_unknown(tmp_path):
    pixels = np.full((1, 2, 4), 255, dtype=np.uint8)
    pixels[0, 1, 3] = 254
    grid = OccupancyGridIndex.from_file(write_pair(tmp_path, pixels, name="room.png"))
    assert grid.data.tolist() == [[0, -1]]


def test_turned_origin_turns_the_map(tmp_path):
    grid = OccupancyGridIndex.from_file(write_pair(tmp_path, origin=[0.0, 0.0, 1.5707963267948966]))
    assert grid.cell_of(-0.025, 0.075) == (0, 1)


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"resolution": 0.0}, "resolution must be above 0"),
        ({"resolution": ".nan"}, "resolution must be a finite number"),
        ({"resolution": "wide"}, "resolution"),
        ({"origin": [0.0, 0.0]}, "origin"),
        ({"origin": "[0.0, 0.0, .inf]"}, "origin"),
        ({"negate": 2}, "negate"),
        ({"free_thresh": 0.9}, "must be below"),
        ({"occupied_thresh": 1.5}, "from 0 to 1"),
        ({"free_thresh": None}, "`free_thresh` is missing"),
        ({"colour": "blue"}, "unknown key `colour`"),
        ({"image": "[1]"}, "name of a file"),
    ],
)
def test_pair_that_makes_no_sense_is_refused(tmp_path, changes, why):
    path = write_pair(tmp_path)
    values = {key: value for key, value in (VALUES | changes).items() if value is not None}
    path.write_text("".join(f"{key}: {value}\n" for key, value in values.items()))
    with pytest.raises(ROSConfigError, match=why):
        OccupancyGridIndex.from_file(path)


def test_mode_that_is_not_known_is_refused(tmp_path):
    path = write_pair(tmp_path)
    path.write_text(path.read_text() + "mode: maybe\n")
    with pytest.raises(ROSConfigError, match="trinary, scale, raw"):
        OccupancyGridIndex.from_file(path)


def test_missing_files_are_named(tmp_path):
    with pytest.raises(ROSConfigError, match=r"nowhere\.yaml"):
        OccupancyGridIndex.from_file(tmp_path / "nowhere.yaml")
    path = write_pair(tmp_path)
    (tmp_path / "room.pgm").unlink()
    with pytest.raises(ROSConfigError, match=r"room\.pgm"):
        OccupancyGridIndex.from_file(path)


def test_image_that_is_none_or_cut_short_is_refused(tmp_path):
    path = write_pair(tmp_path)
    (tmp_path / "room.pgm").write_bytes(b"not an image")
    with pytest.raises(ROSConfigError, match=r"room\.pgm"):
        OccupancyGridIndex.from_file(path)
    (tmp_path / "room.pgm").write_bytes(b"P5\n300 200\n255\n\0\0")
    with pytest.raises(ROSConfigError, match=r"room\.pgm"):
        OccupancyGridIndex.from_file(path)


def test_image_given_in_place_of_the_yaml_is_told_apart(tmp_path):
    write_pair(tmp_path)
    with pytest.raises(ROSConfigError, match=r"\.yaml file of the pair"):
        OccupancyGridIndex.from_file(tmp_path / "room.pgm")
