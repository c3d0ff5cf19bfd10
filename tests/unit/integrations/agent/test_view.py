# SPDX-License-Identifier: Apache-2.0
import math

import numpy as np
import pytest

import lastgate as lg
from lastgate.integrations.agent import CameraView, Detector, SegmentationDetector
from lastgate.world.depth import DepthImage, PinholeIntrinsics


def view(segments=None, depth_m=None, **changes):
    depth = np.full((40, 60), 2.0) if depth_m is None else depth_m
    image = DepthImage(
        depth_m=depth,
        intrinsics=PinholeIntrinsics(fx=50.0, fy=50.0, cx=29.5, cy=19.5),
        camera_in_frame=lg.Pose6D(xyz=(1.0, 2.0, 3.0)),
        stamp_s=4.0,
        range_m=(0.1, 5.0),
        frame_id="map",
    )
    return CameraView(
        camera="wrist", depth=image, segments=segments, segment_names={7: "red mug", 8: "table"}, **changes
    )


def with_mug(rows=slice(10, 20), columns=slice(30, 40)):
    segments = np.full((40, 60), 8)
    segments[rows, columns] = 7
    return segments


def test_thing_is_where_its_pixels_and_depth_say():
    (found,) = SegmentationDetector().detect("mug", view(with_mug()))
    assert found.label == "red mug"
    assert found.pixels == 100
    assert found.pixel_uv == (34.5, 14.5)
    assert found.off_centre == pytest.approx((5.0 / 60, -5.0 / 40))
    # 2 m ahead, 5 pixels right and 5 up of the middle at 50 pixels per radian, from (1, 2, 3).
    assert found.xyz == pytest.approx((1.0 + 0.2, 2.0 - 0.2, 3.0 + 2.0))
    assert (found.frame_id, found.stamp_s) == ("map", 4.0)


def test_thing_that_is_not_there_is_not_found():
    assert SegmentationDetector().detect("cup", view(with_mug())) == []


def test_few_stray_pixels_are_no_thing():
    assert SegmentationDetector().detect("mug", view(with_mug(slice(10, 11), slice(30, 33)))) == []
    assert SegmentationDetector().detect("mug", view(with_mug(slice(10, 11), slice(30, 34)))) != []


@pytest.mark.parametrize("hole", [0.0, math.nan, math.inf, 50.0])
def test_thing_without_depth_is_found_without_a_place(hole):
    depth = np.full((40, 60), 2.0)
    depth[10:20, 30:40] = hole
    (found,) = SegmentationDetector().detect("mug", view(with_mug(), depth))
    assert found.xyz is None


def test_view_of_a_real_camera_needs_another_detector():
    with pytest.raises(lg.ROSConfigError, match="no segmentation"):
        SegmentationDetector().detect("mug", view())


def test_images_of_other_sizes_are_refused():
    with pytest.raises(lg.ROSConfigError, match="segments"):
        view(np.zeros((10, 10), dtype=int))
    with pytest.raises(lg.ROSConfigError, match="rgb"):
        view(rgb=np.zeros((10, 10, 3), dtype=np.uint8))


def test_detector_is_a_plug_in():
    class Blind:
        def detect(self, query, view):
            return []

    assert isinstance(Blind(), Detector)
    assert isinstance(SegmentationDetector(), Detector)
    assert not isinstance(object(), Detector)
