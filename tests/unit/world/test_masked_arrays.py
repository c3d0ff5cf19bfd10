# SPDX-License-Identifier: Apache-2.0
"""A mask says that a number is not known: a world that drops it would call unknown space free."""

from types import SimpleNamespace

import numpy as np
import pytest

import lastgate as lg
from lastgate.world.depth import DepthImage, PinholeIntrinsics

LENS = PinholeIntrinsics(fx=1.0, fy=1.0, cx=0.0, cy=0.0)


def voxels(occupancy):
    return lg.Voxels(occupancy=occupancy, origin_xyz=(0.0, 0.0, 0.0), resolution_m=0.1, stamp_s=0.0)


def voxels_of_a_message(occupancy):
    return lg.Voxels.from_message(
        occupancy.ravel(),
        size_x=2,
        size_y=2,
        size_z=2,
        origin_xyz=(0.0, 0.0, 0.0),
        resolution_m=0.1,
        stamp_s=0.0,
    )


def floor(cells):
    return lg.OccupancyGridIndex(cells, 0.1, (0.0, 0.0), 0.0, stamp_s=0.0)


def floor_of_a_message(cells):
    at = SimpleNamespace(x=0.0, y=0.0, z=0.0)
    upright = SimpleNamespace(x=0.0, y=0.0, z=0.0, w=1.0)
    height, width = cells.shape
    return lg.OccupancyGridIndex.from_msg(
        SimpleNamespace(
            header=SimpleNamespace(stamp=SimpleNamespace(sec=0, nanosec=0), frame_id="map"),
            info=SimpleNamespace(
                width=width,
                height=height,
                resolution=0.1,
                origin=SimpleNamespace(position=at, orientation=upright),
            ),
            data=cells.ravel(),
        )
    )


def depth(metres):
    return DepthImage(
        depth_m=metres, intrinsics=LENS, camera_in_frame=np.eye(4), stamp_s=0.0, range_m=(0.1, 2.0)
    )


@pytest.mark.parametrize(
    ("make", "values", "fix"),
    [
        (voxels, np.zeros((2, 2, 2), dtype=np.uint8), "occupancy.filled(255)"),
        (voxels_of_a_message, np.zeros((2, 2, 2), dtype=np.uint8), "occupancy.filled(255)"),
        (floor, np.zeros((2, 2), dtype=np.int8), "data.filled(-1)"),
        (floor_of_a_message, np.zeros((2, 2), dtype=np.int8), "data.filled(-1)"),
        (depth, np.ones((2, 2)), "depth_m.filled(np.nan)"),
        (lambda xyz: lg.Points(xyz=xyz, stamp_s=0.0), np.ones((2, 3)), "xyz.filled(np.nan)"),
        (lambda xyz: lg.Points.from_sensor(xyz, stamp_s=0.0), np.ones((2, 3)), "xyz.filled(np.nan)"),
    ],
)
def test_masked_source_is_refused_with_what_unknown_is_there_and_a_plain_one_is_taken(make, values, fix):
    make(values)
    with pytest.raises(lg.ROSConfigError) as refused:
        make(
            np.ma.array(
                values, mask=np.eye(*values.shape[-2:], dtype=bool) | np.zeros(values.shape, dtype=bool)
            )
        )
    assert f"is masked, and what is masked is still there: pass `{fix}`" in str(refused.value)
