# SPDX-License-Identifier: Apache-2.0
"""Points and leaves into voxels, by overlap.

A voxel is marked when it and the leaf share a point, whatever the rotation and whatever the sizes. Looking up voxel
centres instead loses leaves that lie between them: none of a rotated map's leaves may be lost on the way to a check.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from lastgate.contracts import ROSConfigError
from lastgate.contracts.arrays import Float64
from lastgate.world.finite_numbers import require_not_negative
from lastgate.world.freshness import StampedTransform, oldest_stamp_s, require_transform
from lastgate.world.grid_layout import GridLayout
from lastgate.world.octree_leaves import OctreeLeaves
from lastgate.world.points import Points
from lastgate.world.rigid_motion import inverse, moved
from lastgate.world.voxel_ranges import reached_voxels
from lastgate.world.voxels import FREE, OCCUPIED, UNKNOWN, CountsAs, Voxels, require_counts_as

# Below this a leaf is not made of the same metres as the grid.
LEAF_PER_VOXEL_MIN = 1e-4

# The cross product of two edges this parallel says nothing that the edges' own faces do not say; leaving it
# out can only mark more.
CROSS_AXIS_MIN = 1e-6

Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Rasterised:
    """The grid that points or leaves made.

    Attributes:
        voxels: The grid.
        outside_count: How many points or occupied leaves touch no voxel of it.
    """

    voxels: Voxels
    outside_count: int


def rasterise_points(
    layout: GridLayout,
    clouds: Points | Sequence[Points],
    *,
    elsewhere: Literal["unknown", "free"] = "unknown",
    radius_m: float = 0.0,
    unknown: CountsAs = "occupied",
    outside: CountsAs = "occupied",
) -> Rasterised:
    """Marks every voxel that a point, or a sphere around it, touches; one on a face marks both sides.

    Args:
        clouds: One or several, all in the frame of the layout; the grid is as old as the oldest.
        elsewhere: What the other voxels are. Points say nothing about them, so `free` is a statement of
            the caller.

    Raises:
        ROSConfigError: No cloud, or one in another frame: bring it over with `points_in_frame` first.
    """
    sources = [clouds] if isinstance(clouds, Points) else list(clouds)
    if not sources:
        raise ROSConfigError("no clouds: a grid needs at least one source")
    for index, cloud in enumerate(sources):
        require_transform(None, into=layout.frame_id, from_frame=cloud.frame_id, what=f"clouds[{index}]")
    radius = require_not_negative(radius_m, name="radius_m")
    xyz = np.concatenate([cloud.xyz for cloud in sources])
    marked, reached = voxels_touched_by_spheres(layout, xyz, radius_m=radius)
    occupancy = np.where(marked, OCCUPIED, _elsewhere(elsewhere)).astype(np.uint8)
    return Rasterised(
        voxels=Voxels.in_layout(
            layout,
            occupancy.reshape(layout.shape),
            stamp_s=oldest_stamp_s([cloud.stamp_s for cloud in sources]),
            unknown=unknown,
            outside=outside,
        ),
        outside_count=int(len(xyz) - reached.sum()),
    )


def rasterise_octree(
    layout: GridLayout,
    octree: OctreeLeaves,
    *,
    transform: StampedTransform | None = None,
    touching: CountsAs = "occupied",
    elsewhere: Literal["unknown", "free"] = "unknown",
    unknown: CountsAs = "occupied",
    outside: CountsAs = "occupied",
) -> Rasterised:
    """Marks every voxel that an occupied leaf overlaps, at any rotation and any ratio of sizes.

    A voxel that no occupied leaf overlaps is free only if it is known to be free all through: inside the tiled box and
    clear of every unknown leaf or, without a tiled box, inside one free leaf. The rest is `elsewhere`.

    Args:
        transform: From the leaves' frame into the layout's; needed when the frames differ, and ages the grid.
        touching: Whether a voxel that shares only a face, an edge or a vertex with a leaf counts. The
            voxels marked under `free` still cover every leaf to a billionth of a voxel; `occupied` marks one
            more all around where the axes are aligned and the faces coincide.

    Raises:
        ROSConfigError: The frames differ and the transform does not bring one into the other, or a leaf
            is too small to be in metres.
    """
    motion = require_transform(transform, into=layout.frame_id, from_frame=octree.frame_id, what="the map")
    require_counts_as(touching, name="touching")
    rest = _elsewhere(elsewhere)
    if len(octree) and not octree.sizes_m.min() >= LEAF_PER_VOXEL_MIN * layout.resolution_m:
        raise ROSConfigError(
            f"the smallest leaf measures {octree.sizes_m.min():.4g} m against voxels of "
            f"{layout.resolution_m:.4g} m: "
            "is the map in metres?"
        )
    occupied, reached = voxels_overlapped(
        layout, *octree.of_state(OCCUPIED), motion=motion, touching=touching
    )
    unseen, _ = voxels_overlapped(layout, *octree.of_state(UNKNOWN), motion=motion, touching="free")
    if octree.tiled_xyz is not None:
        empty = voxels_inside_box(layout, *map(np.asarray, octree.tiled_xyz), motion=motion) & ~unseen
    else:
        empty = _voxels_inside_leaves(layout, *octree.of_state(FREE), motion=motion)
    occupancy = np.where(empty, FREE, rest).astype(np.uint8)
    occupancy[unseen] = UNKNOWN
    occupancy[occupied] = OCCUPIED
    return Rasterised(
        voxels=Voxels.in_layout(
            layout,
            occupancy.reshape(layout.shape),
            stamp_s=octree.stamp_s if transform is None else transform.aged_stamp_s(octree.stamp_s),
            unknown=unknown,
            outside=outside,
        ),
        outside_count=int(len(reached) - reached.sum()),
    )


def merge_voxels(grids: Sequence[Voxels]) -> Voxels:
    """Returns one grid of several with the same voxels: occupied if one says so, else free if one says so.

    It is as old as the oldest, and its unknown and outside count as occupied if those of one of them do.

    Raises:
        ROSConfigError: No grid, or grids whose voxels are not the same.
    """
    if not grids:
        raise ROSConfigError("no grids to merge: a grid needs at least one source")
    first = grids[0].layout
    for index, grid in enumerate(grids):
        if grid.layout != first:
            raise ROSConfigError(
                f"grids[{index}] has {grid.layout}, grids[0] has {first}: rasterise both into one layout"
            )
    occupied = np.logical_or.reduce([grid.is_occupied for grid in grids])
    empty = np.logical_or.reduce([grid.is_free for grid in grids])
    return Voxels.in_layout(
        first,
        np.where(occupied, OCCUPIED, np.where(empty, FREE, UNKNOWN)).astype(np.uint8),
        stamp_s=oldest_stamp_s([grid.stamp_s for grid in grids]),
        unknown="occupied" if any(grid.unknown == "occupied" for grid in grids) else "free",
        outside="occupied" if any(grid.outside == "occupied" for grid in grids) else "free",
    )


def voxels_touched_by_spheres(layout: GridLayout, xyz: Float64, *, radius_m: float) -> tuple[Mask, Mask]:
    """Returns which flat voxels a sphere around a point touches, and which points touch a voxel."""
    marked, reached = np.zeros(layout.voxel_count, dtype=bool), np.zeros(len(xyz), dtype=bool)
    reach = radius_m + layout.slack_m
    # The slack is meant along each axis, so that a point on a vertex marks all eight voxels around it.
    touching_m = radius_m + layout.slack_m * np.sqrt(3)
    for point, voxel in reached_voxels(layout, low_xyz=xyz - reach, high_xyz=xyz + reach):
        beyond = np.abs(xyz[point] - layout.centres_xyz(voxel)) - layout.resolution_m / 2
        near = np.linalg.norm(np.maximum(beyond, 0.0), axis=1) <= touching_m
        marked[voxel[near]] = True
        reached[point[near]] = True
    return marked, reached


def voxels_overlapped(
    layout: GridLayout, centres_xyz: Float64, sizes_m: Float64, *, motion: Float64, touching: CountsAs
) -> tuple[Mask, Mask]:
    """Returns which flat voxels share a point with a leaf, and which leaves share one with a voxel.

    Separating axes: two boxes are apart exactly when their shadows are apart on the normal of a face of either or on
    the cross product of two edges (Gottschalk, Lin, Manocha, OBBTree, 1996). All leaves stand the same way, so the axes
    are the same for all of them.
    """
    marked, reached = np.zeros(layout.voxel_count, dtype=bool), np.zeros(len(centres_xyz), dtype=bool)
    slack = layout.slack_m if touching == "occupied" else -layout.slack_m
    rotation, half, voxel_half = motion[:, :3], sizes_m / 2, layout.resolution_m / 2
    axes = _separating_axes(rotation)
    leaf_shadow, voxel_shadow = np.abs(axes @ rotation).sum(axis=1), np.abs(axes).sum(axis=1)
    centres = moved(centres_xyz, motion)
    # The faces of the voxels: the axis-aligned box around a leaf, which lists the candidates.
    extent = half[:, None] * np.abs(rotation).sum(axis=1) + slack
    for leaf, voxel in reached_voxels(layout, low_xyz=centres - extent, high_xyz=centres + extent):
        between = layout.centres_xyz(voxel) - centres[leaf]
        meets = np.ones(len(leaf), dtype=bool)
        for axis, of_leaf, of_voxel in zip(axes, leaf_shadow, voxel_shadow, strict=True):
            meets &= np.abs(between @ axis) <= half[leaf] * of_leaf + (voxel_half * of_voxel + slack)
        marked[voxel[meets]] = True
        reached[leaf[meets]] = True
    return marked, reached


def voxels_inside_box(layout: GridLayout, low_xyz: Float64, high_xyz: Float64, *, motion: Float64) -> Mask:
    """Returns which flat voxels lie entirely in a box along the axes of the frame that `motion` places."""
    back = inverse(motion)
    # Half the shadow of a voxel on the box's axes: a voxel is inside when its centre keeps that far from the
    # faces.
    reach = np.abs(back[:, :3]).sum(axis=1) * layout.resolution_m / 2 - layout.slack_m
    vertices = (
        np.array(np.meshgrid(*zip(layout.origin_xyz, layout.maximum_xyz, strict=True))).reshape(3, -1).T
    )
    in_box = moved(vertices, back)
    if ((in_box >= low_xyz) & (in_box <= high_xyz)).all():
        return np.ones(layout.voxel_count, dtype=bool)
    inside = np.empty(layout.voxel_count, dtype=bool)
    for start in range(0, layout.voxel_count, 1024 * 1024):
        voxel_indices = np.arange(start, min(start + 1024 * 1024, layout.voxel_count))
        centres = moved(layout.centres_xyz(voxel_indices), back)
        inside[voxel_indices] = ((centres >= low_xyz + reach) & (centres <= high_xyz - reach)).all(axis=1)
    return inside


def _voxels_inside_leaves(
    layout: GridLayout, centres_xyz: Float64, sizes_m: Float64, *, motion: Float64
) -> Mask:
    inside = np.zeros(layout.voxel_count, dtype=bool)
    back = inverse(motion)
    room = sizes_m[:, None] / 2 - np.abs(back[:, :3]).sum(axis=1) * layout.resolution_m / 2 + layout.slack_m
    fitting = (room > 0.0).all(axis=1)
    centres, room = centres_xyz[fitting], room[fitting]
    in_grid = moved(centres, motion)
    extent = sizes_m[fitting][:, None] / 2 * np.abs(motion[:, :3]).sum(axis=1)
    for leaf, voxel in reached_voxels(layout, low_xyz=in_grid - extent, high_xyz=in_grid + extent):
        offset = np.abs(moved(layout.centres_xyz(voxel), back) - centres[leaf])
        inside[voxel[(offset <= room[leaf]).all(axis=1)]] = True
    return inside


def _separating_axes(rotation: Float64) -> Float64:
    """Returns unit axes on which shadows must meet, the faces of the voxels excepted."""
    axes = [rotation[:, index] for index in range(3)]
    for edge in np.eye(3):
        for index in range(3):
            cross = np.cross(edge, rotation[:, index])
            length = np.linalg.norm(cross)
            if length > CROSS_AXIS_MIN:
                axes.append(cross / length)
    return np.array(axes)


def _elsewhere(word: object) -> int:
    if word not in ("unknown", "free"):
        raise ROSConfigError(f'elsewhere must be "unknown" or "free", got {word!r}')
    return UNKNOWN if word == "unknown" else FREE
