# SPDX-License-Identifier: Apache-2.0
"""A grid that knows what is free, what is occupied and what no source has seen."""

import math
from dataclasses import dataclass
from typing import Literal, Self

import numpy as np
from numpy.typing import NDArray

from lastgate.contracts import ROSConfigError
from lastgate.contracts.arrays import require_unmasked
from lastgate.world.finite_numbers import Vector3, require_count, require_finite
from lastgate.world.grid_layout import GridLayout

FREE = 0
OCCUPIED = 1
UNKNOWN = 255

CountsAs = Literal["occupied", "free"]
UInt8 = NDArray[np.uint8]


def require_counts_as(value: object, *, name: str) -> CountsAs:
    """Returns `occupied` or `free`; anything else raises `ROSConfigError`."""
    if value not in ("occupied", "free"):
        raise ROSConfigError(f'{name} must be "occupied" or "free", got {value!r}')
    return value  # type: ignore[return-value]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Voxels:
    """A grid of voxels at one time, copied on the way in.

    Attributes:
        occupancy: uint8 (size_z, size_y, size_x), x fastest: 0 is free, 255 unknown, anything else occupied.
        origin_xyz: Minimum corner of voxel 0, 0, 0.
        resolution_m: Edge length of a voxel.
        stamp_s: When the oldest source saw it.
        frame_id: The frame of the axes; empty means the robot's base frame.
        unknown: What a check takes unknown voxels for.
        outside: What a check takes the space around the grid for.

    Raises:
        ROSConfigError: No voxels, another dtype or layout, a number that is not finite, a word that is not
            known.
    """

    occupancy: UInt8
    origin_xyz: Vector3
    resolution_m: float
    stamp_s: float
    frame_id: str = ""
    unknown: CountsAs = "occupied"
    outside: CountsAs = "occupied"

    def __post_init__(self) -> None:
        given = self.occupancy
        require_unmasked(given, name="occupancy", unknown="255")
        if not isinstance(given, np.ndarray):
            raise ROSConfigError(
                f"occupancy is a {type(given).__name__}, expected a uint8 array: use "
                "Voxels.from_message(...) for flat wire data"
            )
        if given.dtype != np.uint8:
            raise ROSConfigError(
                f"occupancy is {given.dtype}, expected uint8 with 0 free, 255 unknown, else occupied: "
                "pass `occupancy.astype(np.uint8)` if that is what its numbers mean"
            )
        if given.ndim != 3:
            raise ROSConfigError(
                f"occupancy has {given.ndim} dimensions, expected 3 (z, y, x): use "
                "Voxels.from_message(...) for flat wire data"
            )
        if not given.flags.c_contiguous:
            raise ROSConfigError(
                "occupancy is strided, expected x fastest in memory: pass `np.ascontiguousarray(occupancy)` "
                "after making sure that its axes are z, y, x"
            )
        if not given.size:
            raise ROSConfigError(
                f"occupancy has shape {given.shape}: a grid without voxels says nothing about the world"
            )
        z, y, x = given.shape
        layout = GridLayout(
            origin_xyz=self.origin_xyz,
            resolution_m=self.resolution_m,
            size_xyz=(x, y, z),
            frame_id=self.frame_id,
        )
        occupancy = given.copy()
        occupancy.flags.writeable = False
        object.__setattr__(self, "occupancy", occupancy)
        object.__setattr__(self, "origin_xyz", layout.origin_xyz)
        object.__setattr__(self, "resolution_m", layout.resolution_m)
        object.__setattr__(self, "stamp_s", require_finite(self.stamp_s, name="stamp_s"))
        require_counts_as(self.unknown, name="unknown")
        require_counts_as(self.outside, name="outside")

    @classmethod
    def from_message(
        cls,
        occupancy: bytes | bytearray | memoryview | UInt8 | list[int],
        *,
        size_x: int,
        size_y: int,
        size_z: int,
        origin_xyz: Vector3,
        resolution_m: float,
        stamp_s: float,
        frame_id: str = "",
        unknown: CountsAs = "occupied",
        outside: CountsAs = "occupied",
    ) -> Self:
        """Returns the grid of an `OccupancyVoxels` message: flat, x fastest; a length that does not fit is
        refused.
        """
        sizes = [
            require_count(size, name=name)
            for size, name in ((size_x, "size_x"), (size_y, "size_y"), (size_z, "size_z"))
        ]
        flat = _flat_bytes(occupancy)
        if len(flat) != math.prod(sizes):
            raise ROSConfigError(
                f"occupancy holds {len(flat)} voxels, size_x * size_y * size_z is {sizes[0]} * {sizes[1]} "
                f"* {sizes[2]} "
                f"= {math.prod(sizes)}"
            )
        return cls(
            occupancy=np.ascontiguousarray(flat).reshape(sizes[2], sizes[1], sizes[0]),
            origin_xyz=origin_xyz,
            resolution_m=resolution_m,
            stamp_s=stamp_s,
            frame_id=frame_id,
            unknown=unknown,
            outside=outside,
        )

    @classmethod
    def in_layout(
        cls,
        layout: GridLayout,
        occupancy: UInt8,
        *,
        stamp_s: float,
        unknown: CountsAs = "occupied",
        outside: CountsAs = "occupied",
    ) -> Self:
        """Returns a grid whose voxels are where `layout` says; an occupancy of another shape is refused."""
        if occupancy.shape != layout.shape:
            raise ROSConfigError(
                f"occupancy has shape {occupancy.shape}, the layout needs {layout.shape} (z, y, x)"
            )
        return cls(
            occupancy=occupancy,
            origin_xyz=layout.origin_xyz,
            resolution_m=layout.resolution_m,
            stamp_s=stamp_s,
            frame_id=layout.frame_id,
            unknown=unknown,
            outside=outside,
        )

    @property
    def layout(self) -> GridLayout:
        """Layout of the voxels, without their contents."""
        z, y, x = self.occupancy.shape
        return GridLayout(
            origin_xyz=self.origin_xyz,
            resolution_m=self.resolution_m,
            size_xyz=(x, y, z),
            frame_id=self.frame_id,
        )

    @property
    def is_free(self) -> NDArray[np.bool_]:
        """Mask of the voxels that a source saw to be free."""
        return self.occupancy == FREE

    @property
    def is_unknown(self) -> NDArray[np.bool_]:
        """Mask of the voxels that no source has seen."""
        return self.occupancy == UNKNOWN

    @property
    def is_occupied(self) -> NDArray[np.bool_]:
        """Mask of the voxels in which a source saw something."""
        return ~(self.is_free | self.is_unknown)

    @property
    def blocks(self) -> NDArray[np.bool_]:
        """Mask of the voxels a check may not enter: occupied, and unknown unless the grid declares that free."""
        return ~self.is_free if self.unknown == "occupied" else self.is_occupied

    def message_occupancy(self) -> UInt8:
        """Returns the voxels as they go on the wire: flat, x fastest, read-only."""
        return self.occupancy.reshape(-1)


def _flat_bytes(occupancy: object) -> UInt8:
    require_unmasked(occupancy, name="occupancy", unknown="255")
    if isinstance(occupancy, bytes | bytearray | memoryview):
        return np.frombuffer(occupancy, dtype=np.uint8)
    if isinstance(occupancy, np.ndarray):
        if occupancy.dtype != np.uint8 or occupancy.ndim != 1:
            raise ROSConfigError(
                f"occupancy is {occupancy.dtype} of shape {occupancy.shape}, a message holds flat uint8"
            )
        return occupancy
    try:
        return np.frombuffer(bytes(occupancy), dtype=np.uint8)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        raise ROSConfigError(
            f"occupancy is a {type(occupancy).__name__} that is not made of numbers from 0 to 255"
        ) from None
