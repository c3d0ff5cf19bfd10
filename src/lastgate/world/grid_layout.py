# SPDX-License-Identifier: Apache-2.0
"""Where the voxels of a grid are, before anything is known about what is in them."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lastgate.contracts import ROSConfigError
from lastgate.contracts.arrays import Float64
from lastgate.contracts.renamed_names import with_old_attributes
from lastgate.world.finite_numbers import (
    COORDINATE_M_MAX,
    Vector3,
    require_count,
    require_positive,
    require_xyz,
)

# One byte per voxel: 512 x 512 x 512 is 128 MiB, and 10 m at 2 cm. A finer world belongs into a sparse map.
VOXELS_MAX = 512**3


def require_frame(frame_id: object) -> str:
    """Returns a frame name; anything but text raises `ROSConfigError`."""
    if not isinstance(frame_id, str):
        raise ROSConfigError(
            f"frame_id must be text, got {frame_id!r}; the empty text means the robot's base frame"
        )
    return frame_id


@with_old_attributes
@dataclass(frozen=True, slots=True, kw_only=True)
class GridLayout:
    """Places a block of equal voxels along the axes of a frame.

    Attributes:
        origin_xyz: Minimum corner of voxel 0, 0, 0.
        resolution_m: Edge length of a voxel.
        size_xyz: How many voxels along x, y and z.
        frame_id: The frame of the axes; empty means the robot's base frame.

    Raises:
        ROSConfigError: No voxels, too many voxels, or a number that is not finite.
    """

    origin_xyz: Vector3
    resolution_m: float
    size_xyz: tuple[int, int, int]
    frame_id: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "origin_xyz", require_xyz(self.origin_xyz, name="origin_xyz"))
        object.__setattr__(self, "resolution_m", require_positive(self.resolution_m, name="resolution_m"))
        require_frame(self.frame_id)
        sizes = tuple(self.size_xyz) if isinstance(self.size_xyz, tuple | list | np.ndarray) else ()
        if len(sizes) != 3:
            raise ROSConfigError(f"size_xyz must be three counts, got {self.size_xyz!r}")
        counts = tuple(
            require_count(size, name=f"size_{axis}") for axis, size in zip("xyz", sizes, strict=True)
        )
        if math.prod(counts) > VOXELS_MAX:
            raise ROSConfigError(
                f"a grid of {counts[0]} x {counts[1]} x {counts[2]} voxels has {math.prod(counts)}, at "
                f"most {VOXELS_MAX} "
                "are held densely: crop it or make the voxels larger"
            )
        object.__setattr__(self, "size_xyz", counts)
        for axis, vertex in zip("xyz", self.maximum_xyz, strict=True):
            if not abs(vertex) <= COORDINATE_M_MAX:
                raise ROSConfigError(
                    f"the grid reaches to {axis} = {vertex!r} m, at most {COORDINATE_M_MAX:g} m is taken"
                )

    @classmethod
    def around(
        cls, *, minimum_xyz: Vector3, maximum_xyz: Vector3, resolution_m: float, frame_id: str = ""
    ) -> "GridLayout":
        """Returns the smallest layout from `minimum_xyz` that contains `maximum_xyz`; an empty box is
        refused.
        """
        low, high = require_xyz(minimum_xyz, name="minimum_xyz"), require_xyz(maximum_xyz, name="maximum_xyz")
        edge = require_positive(resolution_m, name="resolution_m")
        for axis, lower, upper in zip("xyz", low, high, strict=True):
            if not lower < upper:
                raise ROSConfigError(f"the box is empty along {axis}: from {lower!r} m to {upper!r} m")
        # 1.2 / 0.1 is 12.000000000000002 voxels; without the tolerance a thirteenth would be empty.
        counts = [
            max(1, math.ceil((upper - lower) / edge - 1e-9)) for lower, upper in zip(low, high, strict=True)
        ]
        return cls(
            origin_xyz=low, resolution_m=edge, size_xyz=(counts[0], counts[1], counts[2]), frame_id=frame_id
        )

    @property
    def maximum_xyz(self) -> Vector3:
        """Maximum corner of the last voxel."""
        x, y, z = (
            low + count * self.resolution_m for low, count in zip(self.origin_xyz, self.size_xyz, strict=True)
        )
        return x, y, z

    @property
    def shape(self) -> tuple[int, int, int]:
        """Shape of an array over the voxels: z, y, x, so that x runs fastest in memory."""
        x, y, z = self.size_xyz
        return z, y, x

    @property
    def voxel_count(self) -> int:
        """Number of voxels."""
        return math.prod(self.size_xyz)

    @property
    def slack_m(self) -> float:
        """Distance below which two things count as touching.

        Large enough to cover the rounding of every computation here, small enough (a billionth of a voxel) to
        be without meaning for a sensor.
        """
        farthest = max(map(abs, (*self.origin_xyz, *self.maximum_xyz)))
        return 1e-9 * self.resolution_m + 64 * np.finfo(np.float64).eps * farthest

    def edges_m(self, axis: int) -> Float64:
        """Returns the coordinates of the voxel boundaries along x (0), y (1) or z (2): one more than voxels."""
        return (
            self.origin_xyz[axis] + np.arange(self.size_xyz[axis] + 1, dtype=np.float64) * self.resolution_m
        )

    def centres_xyz(self, voxel_indices: NDArray[np.intp]) -> Float64:
        """Returns the centres of flat voxel indices (x fastest)."""
        x, y, _ = self.size_xyz
        centres = np.empty((len(voxel_indices), 3))
        for axis, index in enumerate((voxel_indices % x, voxel_indices // x % y, voxel_indices // (x * y))):
            centres[:, axis] = self.origin_xyz[axis] + (index + 0.5) * self.resolution_m
        return centres
