# SPDX-License-Identifier: Apache-2.0
"""What a camera sees at one moment, and finding things in it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

import numpy as np

from lastgate.contracts import ROSConfigError
from lastgate.contracts.schema import Finite, Name, Schema, Text, Vector2, Vector3
from lastgate.integrations.agent.labels import matches
from lastgate.world.depth import DepthImage
from lastgate.world.rigid_motion import moved, require_rigid_motion

# Fewer pixels than this are an edge or a gap between two things, not a thing that was seen.
PIXELS_MIN = 4


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CameraView:
    """One image.

    Attributes:
        camera: The sensor that took it.
        depth: Its depth, with the camera's intrinsics, pose, frame and stamp.
        rgb: uint8 (H, W, 3), for detectors that look at colours.
        segments: Whole numbers (H, W), for simulators that know what each pixel shows; -1 is nothing.
        segment_names: What those numbers are called.
    """

    camera: str
    depth: DepthImage
    rgb: np.ndarray | None = None
    segments: np.ndarray | None = None
    segment_names: Mapping[int, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        shape = self.depth.depth_m.shape
        for name, image in (("rgb", self.rgb), ("segments", self.segments)):
            if image is not None and image.shape[:2] != shape:
                raise ROSConfigError(f"{name} has shape {image.shape}, the depth image {shape}")


class Detection(Schema):
    """A thing found in an image.

    Attributes:
        xyz: The middle of what is seen of it, in `frame_id`; None where no pixel of it has a depth.
        pixel_uv: Column and row of the middle of its pixels.
        off_centre: How far that is from the middle of the image, as a share of its width and height.
        pixels: How many it has.
    """

    label: Name
    confidence: Finite
    xyz: Vector3 | None
    frame_id: Text
    pixel_uv: Vector2
    off_centre: Vector2
    pixels: int
    stamp_s: Finite


@runtime_checkable
class Detector(Protocol):
    """Finds things in images. Nothing found is an empty list, never a guess."""

    def detect(self, query: str, view: CameraView) -> Sequence[Detection]:
        """Returns what of the query is in view, the surest first."""
        ...


class SegmentationDetector:
    """Finds things by the segmentation that a simulator renders: what it names is there, with confidence 1."""

    def detect(self, query: str, view: CameraView) -> list[Detection]:
        """Returns what is in view by that name, the largest first.

        Raises:
            ROSConfigError: The view has no segmentation: it is not of a simulator.
        """
        if view.segments is None:
            raise ROSConfigError(
                f"the view of camera `{view.camera}` has no segmentation: a real camera needs a detector of its own"
            )
        found = []
        for number, label in view.segment_names.items():
            if matches(query, label):
                here = view.segments == number
                if int(here.sum()) >= PIXELS_MIN:
                    found.append(_detection(view, here, label=label))
        return sorted(found, key=lambda one: (-one.pixels, one.label))


def _detection(view: CameraView, here: np.ndarray, *, label: str) -> Detection:
    rows, columns = np.nonzero(here)
    height, width = here.shape
    u, v = float(columns.mean()), float(rows.mean())
    return Detection(
        label=label,
        confidence=1.0,
        xyz=_middle(view.depth, rows, columns),
        frame_id=view.depth.frame_id,
        pixel_uv=(u, v),
        off_centre=((u - (width - 1) / 2) / width, (v - (height - 1) / 2) / height),
        pixels=len(rows),
        stamp_s=view.depth.stamp_s,
    )


def _middle(depth: DepthImage, rows: np.ndarray, columns: np.ndarray) -> tuple[float, float, float] | None:
    measured = depth.is_measured[rows, columns]
    if not measured.any():
        return None
    z = depth.depth_m[rows, columns][measured]
    lens = depth.intrinsics
    points = np.column_stack(
        [(columns[measured] - lens.cx) / lens.fx * z, (rows[measured] - lens.cy) / lens.fy * z, z]
    )
    placed = moved(points, require_rigid_motion(depth.camera_in_frame, name="camera_in_frame"))
    # Between the extremes, so that a thing of which one side has more pixels is not taken to lie there.
    x, y, z_map = (0.5 * (placed.min(axis=0) + placed.max(axis=0))).tolist()
    return x, y, z_map
