# SPDX-License-Identifier: Apache-2.0
"""A cloud of points, stamped by its source."""

from dataclasses import dataclass
from typing import Self

import numpy as np

from lastgate.contracts import ROSConfigError
from lastgate.contracts.arrays import Float64, require_unmasked
from lastgate.world.finite_numbers import (
    COORDINATE_M_MAX,
    Vector3,
    as_float64,
    require_finite,
    require_points,
    require_xyz,
)
from lastgate.world.grid_layout import require_frame

# Sixteen depth images of one megapixel; 384 MiB as float64. A larger cloud is rasterised in parts.
POINTS_MAX = 16 * 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Points:
    """A cloud at one time, copied on the way in.

    Attributes:
        xyz: float64 (N, 3), finite.
        stamp_s: When the oldest source saw it.
        frame_id: The frame of the coordinates; empty means the robot's base frame.
        dropped_count: How many points of the source were left out because they were not finite.
        declared_empty: True if no point at all is what was meant; see `Points.none`.

    Raises:
        ROSConfigError: Another dtype or shape, a point that is not finite, too many points, or none by
            accident.
    """

    xyz: Float64
    stamp_s: float
    frame_id: str = ""
    dropped_count: int = 0
    declared_empty: bool = False

    def __post_init__(self) -> None:
        # The text "false" is true, and would make a cloud that is empty by accident one that is meant.
        if not isinstance(self.declared_empty, bool):
            raise ROSConfigError(f"declared_empty must be True or False, got {self.declared_empty!r}")
        xyz = require_points(self.xyz, name="xyz")
        if len(xyz) > POINTS_MAX:
            raise ROSConfigError(
                f"the cloud has {len(xyz)} points, at most {POINTS_MAX} are taken: crop it or split it"
            )
        # A sensor that died also sends no points. Only the caller knows which it is.
        if not len(xyz) and not self.declared_empty:
            dropped = f" ({self.dropped_count} were dropped)" if self.dropped_count else ""
            raise ROSConfigError(
                f"the cloud has no points{dropped}: if nothing was there to be seen, say so with "
                "Points.none(stamp_s=...)"
            )
        object.__setattr__(self, "xyz", xyz)
        object.__setattr__(self, "stamp_s", require_finite(self.stamp_s, name="stamp_s"))
        require_frame(self.frame_id)

    @classmethod
    def none(cls, *, stamp_s: float, frame_id: str = "") -> Self:
        """Returns the cloud of a sensor that looked and saw nothing."""
        return cls(xyz=np.empty((0, 3)), stamp_s=stamp_s, frame_id=frame_id, declared_empty=True)

    @classmethod
    def from_sensor(
        cls, xyz: object, *, stamp_s: float, frame_id: str = "", drop_invalid: bool = False
    ) -> Self:
        """Returns the cloud of a driver's array: any real dtype, strided or not, (N, 3) or (H, W, 3).

        With `drop_invalid`, points that are not finite or absurdly far are left out and counted in
        `dropped_count`; without it one such point is refused. A cloud that has none left is refused either
        way.
        """
        if not isinstance(drop_invalid, bool):
            raise ROSConfigError(f"drop_invalid must be True or False, got {drop_invalid!r}")
        require_unmasked(xyz, name="xyz")
        array = np.asarray(xyz)
        if array.dtype.kind not in "fiu":
            raise ROSConfigError(
                f"xyz is {array.dtype}, expected real numbers: for a structured array pass its x, y, z "
                "columns"
            )
        if array.ndim not in (2, 3) or array.shape[-1] != 3:
            raise ROSConfigError(f"xyz has shape {array.shape}, expected (N, 3) or (H, W, 3)")
        points = as_float64(array.reshape(-1, 3))
        kept = (
            (np.abs(points) <= COORDINATE_M_MAX).all(axis=1)
            if drop_invalid
            else np.ones(len(points), dtype=bool)
        )
        return cls(
            xyz=points[kept], stamp_s=stamp_s, frame_id=frame_id, dropped_count=int(len(points) - kept.sum())
        )

    def __len__(self) -> int:
        return len(self.xyz)

    def keeping(self, kept: np.ndarray) -> Self:
        """Returns the points where `kept` is true, possibly none: the caller chose them."""
        return type(self)(
            xyz=self.xyz[kept],
            stamp_s=self.stamp_s,
            frame_id=self.frame_id,
            dropped_count=self.dropped_count,
            declared_empty=True,
        )

    def cropped(self, *, minimum_xyz: Vector3, maximum_xyz: Vector3) -> Self:
        """Returns the points inside a box, its faces included; an empty box is refused.

        What lies outside is not free: check against a grid or a workspace box that ends where the crop does.
        """
        low, high = require_xyz(minimum_xyz, name="minimum_xyz"), require_xyz(maximum_xyz, name="maximum_xyz")
        for axis, lower, upper in zip("xyz", low, high, strict=True):
            if not lower < upper:
                raise ROSConfigError(f"the box is empty along {axis}: from {lower!r} m to {upper!r} m")
        inside = (self.xyz >= np.array(low)) & (self.xyz <= np.array(high))
        return self.keeping(np.logical_and.reduce(inside, axis=1))
