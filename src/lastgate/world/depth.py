# SPDX-License-Identifier: Apache-2.0
"""Depth images: what is seen becomes points, what is seen through becomes free, the rest stays unknown."""

from dataclasses import dataclass

import numpy as np

from lastgate.contracts import Pose6D, ROSConfigError
from lastgate.contracts.arrays import Float64, require_unmasked
from lastgate.world.finite_numbers import as_float64, require_finite, require_not_negative, require_positive
from lastgate.world.freshness import StampedTransform, require_transform
from lastgate.world.grid_layout import GridLayout, require_frame
from lastgate.world.points import Points
from lastgate.world.rasterise import voxels_touched_by_spheres
from lastgate.world.rigid_motion import inverse, moved, require_rigid_motion
from lastgate.world.see_through import seen_through
from lastgate.world.voxels import FREE, OCCUPIED, UNKNOWN, CountsAs, Voxels

# 8192 x 8192: twice the sides of any depth camera; more is a buffer read with the wrong shape.
PIXELS_MAX = 8192 * 8192


@dataclass(frozen=True, slots=True, kw_only=True)
class PinholeIntrinsics:
    """A rectified camera: pixel centres at whole numbers, u = fx x / z + cx, v = fy y / z + cy.

    Raises:
        ROSConfigError: A focal length that is not above 0, or a number that is not finite.
    """

    fx: float
    fy: float
    cx: float
    cy: float

    def __post_init__(self) -> None:
        for name in ("fx", "fy"):
            object.__setattr__(self, name, require_positive(getattr(self, name), name=name))
        for name in ("cx", "cy"):
            object.__setattr__(self, name, require_finite(getattr(self, name), name=name))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DepthImage:
    """One depth image with all that is needed to place it, copied on the way in.

    Attributes:
        depth_m: float32 or float64 (H, W): z along the optical axis in metres, not the length of the ray.
            0, negative, NaN, infinite and out of range mean that the pixel measured nothing.
        intrinsics: The camera.
        camera_in_frame: `Pose6D` or 3 x 4: the optical frame (+z forward, +x right, +y down) in `frame_id`.
        stamp_s: When the image was taken; of a camera whose pose was measured at another time, the older
            of the two.
        range_m: Nearest and farthest depth that the camera is trusted with.
        frame_id: What `camera_in_frame` is given in; empty means the robot's base frame.

    Raises:
        ROSConfigError: A buffer that is not H x W floats in metres, a pose that is not rigid, or an empty
            range.
    """

    depth_m: np.ndarray
    intrinsics: PinholeIntrinsics
    camera_in_frame: Float64 | Pose6D
    stamp_s: float
    range_m: tuple[float, float]
    frame_id: str = ""

    def __post_init__(self) -> None:
        depth = self.depth_m
        require_unmasked(depth, name="depth_m")
        if not isinstance(depth, np.ndarray) or depth.ndim != 2:
            shape = getattr(depth, "shape", type(depth).__name__)
            raise ROSConfigError(
                f"depth_m must be an array (H, W), got {shape}: a flat buffer needs `.reshape(height, width)`"
            )
        if depth.dtype not in (np.float32, np.float64):
            raise ROSConfigError(
                f"depth_m is {depth.dtype}, expected metres as float32 or float64: 16UC1 images are in "
                "millimetres, "
                "pass `depth.astype(np.float32) / 1000`"
            )
        if not 0 < depth.size <= PIXELS_MAX:
            raise ROSConfigError(f"depth_m has shape {depth.shape}: 1 to {PIXELS_MAX} pixels are taken")
        if not isinstance(self.intrinsics, PinholeIntrinsics):
            raise ROSConfigError(
                f"intrinsics is a {type(self.intrinsics).__name__}, expected PinholeIntrinsics(fx=, fy=, "
                "cx=, cy=)"
            )
        near, far = self.range_m
        near, far = require_not_negative(near, name="range_m[0]"), require_positive(far, name="range_m[1]")
        if not near < far:
            raise ROSConfigError(f"range_m is empty: from {near!r} m to {far!r} m")
        copied = as_float64(depth)
        copied.flags.writeable = False
        object.__setattr__(self, "depth_m", copied)
        if isinstance(self.camera_in_frame, Pose6D) and self.camera_in_frame.frame_id not in (
            "",
            self.frame_id,
        ):
            raise ROSConfigError(
                f"camera_in_frame is given in `{self.camera_in_frame.frame_id}`, the image says "
                f"`{self.frame_id}`"
            )
        object.__setattr__(
            self, "camera_in_frame", require_rigid_motion(self.camera_in_frame, name="camera_in_frame")
        )
        object.__setattr__(self, "stamp_s", require_finite(self.stamp_s, name="stamp_s"))
        object.__setattr__(self, "range_m", (near, far))
        require_frame(self.frame_id)

    @property
    def is_measured(self) -> np.ndarray:
        """Mask of the pixels that measured a depth in range."""
        near, far = self.range_m
        # A comparison with NaN is false, so that such a pixel is not measured.
        return (self.depth_m > 0.0) & (self.depth_m >= near) & (self.depth_m <= far)

    @property
    def unmeasured_count(self) -> int:
        """Number of pixels that measured nothing."""
        return int(self.depth_m.size - self.is_measured.sum())

    def points(self) -> Points:
        """Returns one point per measured pixel, in `frame_id`; `dropped_count`: how many measured nothing.

        Raises:
            ROSConfigError: No pixel measured anything: a covered lens looks like that, an empty room does
                not.
        """
        measured = self.is_measured
        if not measured.any():
            raise ROSConfigError(
                f"none of {self.depth_m.size} pixels measured a depth from {self.range_m[0]:g} to "
                f"{self.range_m[1]:g} m: the camera is covered, too close, or not in metres"
            )
        row, column = np.nonzero(measured)
        z, lens = self.depth_m[measured], self.intrinsics
        in_camera = np.column_stack([(column - lens.cx) / lens.fx * z, (row - lens.cy) / lens.fy * z, z])
        return Points(
            xyz=moved(as_float64(in_camera), np.asarray(self.camera_in_frame)),
            stamp_s=self.stamp_s,
            frame_id=self.frame_id,
            dropped_count=self.unmeasured_count,
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Carved:
    """The grid that one depth image makes.

    Attributes:
        voxels: Free where the camera saw through, occupied where it saw something, unknown elsewhere.
        outside_count: How many points lie outside the grid.
        unmeasured_count: How many pixels measured nothing.
    """

    voxels: Voxels
    outside_count: int
    unmeasured_count: int


def carve(
    layout: GridLayout,
    image: DepthImage,
    *,
    transform: StampedTransform | None = None,
    depth_error_m: float = 0.0,
    pixel_margin: int = 1,
    unknown: CountsAs = "occupied",
    outside: CountsAs = "occupied",
) -> Carved:
    """Returns what one depth image knows about a grid; what the camera did not see stays unknown.

    A voxel is free only if it is entirely in front of the camera and in the image, and entirely nearer than
    the depth measured at every pixel its outline covers. One pixel without a measurement keeps it unknown. A
    voxel with a point in it, or on it, is occupied.

    Args:
        transform: From the image's frame into the layout's; needed when the frames differ, and ages the grid.
        depth_error_m: How much too far the camera may measure; a voxel must be nearer by that much to be
            free, and a point marks all voxels within it.
        pixel_margin: Pixels around the outline that must be seen through too, for the error of pose and lens.

    Raises:
        ROSConfigError: The frames differ and the transform does not bring one into the other, or no pixel
            measured.
    """
    motion = require_transform(transform, into=layout.frame_id, from_frame=image.frame_id, what="the image")
    error = require_not_negative(depth_error_m, name="depth_error_m")
    if isinstance(pixel_margin, bool) or not isinstance(pixel_margin, int) or pixel_margin < 0:
        raise ROSConfigError(f"pixel_margin must be a whole number of at least 0, got {pixel_margin!r}")
    points = image.points()
    occupied, reached = voxels_touched_by_spheres(layout, moved(points.xyz, motion), radius_m=error)
    lens = image.intrinsics
    # The wall that may be there: nothing is seen through a pixel that measured nothing.
    trusted_m = np.where(image.is_measured, image.depth_m - error, -np.inf)
    empty = seen_through(
        layout,
        trusted_m=trusted_m,
        focal=(lens.fx, lens.fy),
        centre=(lens.cx, lens.cy),
        layout_in_camera=_into_camera(image, motion),
        pixel_margin=pixel_margin,
    )
    occupancy = np.where(empty, FREE, UNKNOWN).astype(np.uint8)
    occupancy.reshape(-1)[occupied] = OCCUPIED
    return Carved(
        voxels=Voxels.in_layout(
            layout,
            occupancy,
            stamp_s=image.stamp_s if transform is None else transform.aged_stamp_s(image.stamp_s),
            unknown=unknown,
            outside=outside,
        ),
        outside_count=int(len(points) - reached.sum()),
        unmeasured_count=image.unmeasured_count,
    )


def _into_camera(image: DepthImage, motion: Float64) -> Float64:
    from_frame = inverse(np.asarray(image.camera_in_frame))
    from_layout = inverse(motion)
    return np.column_stack(
        [from_frame[:, :3] @ from_layout[:, :3], from_frame[:, :3] @ from_layout[:, 3] + from_frame[:, 3]]
    )
