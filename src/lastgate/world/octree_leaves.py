# SPDX-License-Identifier: Apache-2.0
"""Leaves of any size along the axes of one frame: the leaves of an octree, or the voxels of a grid."""

from dataclasses import dataclass
from typing import Self

import numpy as np

from lastgate.contracts import ROSConfigError
from lastgate.contracts.arrays import Float64
from lastgate.world.finite_numbers import Vector3, require_finite, require_points, require_xyz
from lastgate.world.grid_layout import require_frame
from lastgate.world.voxels import FREE, OCCUPIED, UNKNOWN, UInt8, Voxels

Extent = tuple[Vector3, Vector3]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class OctreeLeaves:
    """The knowledge of a map about space, leaf by leaf.

    Attributes:
        centres_xyz: float64 (N, 3).
        sizes_m: float64 (N,): edge lengths.
        states: uint8 (N,): 0 free, 1 occupied, 255 unknown.
        stamp_s: When the oldest source saw it.
        frame_id: The frame of the axes; empty means the robot's base frame.
        tiled_xyz: Minimum and maximum corner of a box in which everything that is not in an occupied or
            unknown leaf is known to be free; None when the leaves leave gaps about which nothing is known.

    Raises:
        ROSConfigError: Lengths that differ, a size that is not positive and finite, a state that is none
            of the three.
    """

    centres_xyz: Float64
    sizes_m: Float64
    states: UInt8
    stamp_s: float
    frame_id: str = ""
    tiled_xyz: Extent | None = None

    def __post_init__(self) -> None:
        centres = require_points(self.centres_xyz, name="centres_xyz")
        sizes, states = np.array(self.sizes_m, dtype=np.float64), np.array(self.states)
        if sizes.shape != (len(centres),) or states.shape != (len(centres),):
            raise ROSConfigError(
                f"{len(centres)} centres need as many sizes and states, got shapes {sizes.shape} and "
                f"{states.shape}"
            )
        if not ((sizes > 0.0) & np.isfinite(sizes)).all():
            row = int(np.argmax(~((sizes > 0.0) & np.isfinite(sizes))))
            raise ROSConfigError(f"sizes_m[{row}] is {sizes[row]!r}, must be finite and above 0")
        known = np.isin(states, (FREE, OCCUPIED, UNKNOWN))
        if states.dtype != np.uint8 or not known.all():
            raise ROSConfigError("states must be uint8 with 0 for free, 1 for occupied and 255 for unknown")
        for array in (sizes, states):
            array.flags.writeable = False
        object.__setattr__(self, "centres_xyz", centres)
        object.__setattr__(self, "sizes_m", sizes)
        object.__setattr__(self, "states", states)
        object.__setattr__(self, "stamp_s", require_finite(self.stamp_s, name="stamp_s"))
        require_frame(self.frame_id)
        if self.tiled_xyz is not None:
            low, high = (require_xyz(vertex, name="tiled_xyz") for vertex in self.tiled_xyz)
            if not all(lower < upper for lower, upper in zip(low, high, strict=True)):
                raise ROSConfigError(f"tiled_xyz is an empty box: {low} to {high}")
            object.__setattr__(self, "tiled_xyz", (low, high))

    @classmethod
    def of_voxels(cls, voxels: Voxels) -> Self:
        """Returns the voxels of a grid that are not free; with free space they tile its box."""
        layout = voxels.layout
        voxel_indices = np.flatnonzero(voxels.occupancy != FREE)
        found = voxels.message_occupancy()[voxel_indices]
        return cls(
            centres_xyz=layout.centres_xyz(voxel_indices),
            sizes_m=np.full(len(voxel_indices), layout.resolution_m),
            states=np.where(found == UNKNOWN, UNKNOWN, OCCUPIED).astype(np.uint8),
            stamp_s=voxels.stamp_s,
            frame_id=voxels.frame_id,
            tiled_xyz=(layout.origin_xyz, layout.maximum_xyz),
        )

    def __len__(self) -> int:
        return len(self.centres_xyz)

    def of_state(self, state: int) -> tuple[Float64, Float64]:
        """Returns centres and sizes of the leaves in one state."""
        chosen = self.states == state
        return self.centres_xyz[chosen], self.sizes_m[chosen]
