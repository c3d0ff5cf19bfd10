# SPDX-License-Identifier: Apache-2.0
"""Exact distances from a segment, the axis of a capsule, to points and to voxels."""

import numpy as np

from lastgate.contracts.arrays import Float64


def points_to_segment_m(points: Float64, *, start: Float64, end: Float64) -> Float64:
    """Returns the distance of each point (…, 3) to a segment, which may be a single point."""
    along = end - start
    length_squared = float(along @ along)
    offset = points - start
    if length_squared > 0.0:
        t = np.clip(offset @ along / length_squared, 0.0, 1.0)
        offset = offset - t[..., None] * along
    return np.linalg.norm(offset, axis=-1)


def voxels_to_segment_m(centres: Float64, *, half_m: float, start: Float64, end: Float64) -> Float64:
    """Returns the distance of axis-aligned voxels (N, 3) to a segment, 0 where they share a point.

    The squared distance of a voxel to a point that runs along the segment is convex and made of parabolas
    which meet where the point passes the planes of the faces. So its slope is a rising broken line, known
    between two of these eight places once it is known at them.
    """
    along = end - start
    start_offset = start - centres
    places = [np.zeros(len(centres)), np.ones(len(centres))]
    for axis in np.flatnonzero(along):
        for face in (-half_m, half_m):
            with np.errstate(over="ignore"):
                places.append(np.clip((face - start_offset[:, axis]) / along[axis], 0.0, 1.0))
    t = np.sort(np.stack(places, axis=1), axis=1)

    def beyond(at: Float64) -> Float64:
        offset = start_offset[:, None, :] + at[..., None] * along
        return np.sign(offset) * np.maximum(np.abs(offset) - half_m, 0.0)

    slope = beyond(t) @ along
    # The last place where the distance still falls, and the first where it rises.
    falling = np.maximum((slope <= 0.0).sum(axis=1) - 1, 0)
    rising = np.minimum(falling + 1, t.shape[1] - 1)
    row = np.arange(len(centres))
    low, high = slope[row, falling], slope[row, rising]
    width = high - low
    part = np.divide(-low, width, out=np.zeros_like(width), where=width > 0.0)
    nearest = t[row, falling] + np.clip(part, 0.0, 1.0) * (t[row, rising] - t[row, falling])
    return np.linalg.norm(beyond(nearest[:, None])[:, 0], axis=1)


def farthest_vertex_to_segment_m(centres: Float64, *, half_m: float, start: Float64, end: Float64) -> Float64:
    """Returns how far the farthest point, a vertex, of each axis-aligned voxel is from a segment."""
    farthest = np.zeros(len(centres))
    for vertex in np.stack(np.meshgrid(*[(-half_m, half_m)] * 3), axis=-1).reshape(-1, 3):
        np.maximum(farthest, points_to_segment_m(centres + vertex, start=start, end=end), out=farthest)
    return farthest
