# SPDX-License-Identifier: Apache-2.0
"""The parts of a mesh, each a solid of its own: what lies in one of them lies in the mesh, whatever the others do.

One winding number over a whole mesh is not enough: parts that overlap and are wound the opposite way cancel, and one
point of a mesh says nothing about a part that is not connected with it.
"""

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from lastgate.contracts.arrays import Float64
from lastgate.planning import _fitting

Index = NDArray[np.int64]

# Vertices that are nearer than this are one vertex: files in single precision repeat them to 6e-8 of a metre.
_SAME_VERTEX_M = 1.0e-7


class MeshParts:
    """The parts of one mesh: triangles that hang together by edges, all turned the same way.

    Attributes:
        vertices: (P, 3): one vertex of every part; where surfaces do not meet, it speaks for the whole part.
    """

    def __init__(self, soup: Float64) -> None:
        faces = _welded(soup)
        _, kept = np.unique(np.sort(faces, axis=1), axis=0, return_index=True)
        # A triangle that is drawn twice, from both sides, would take itself away.
        kept = np.sort(kept)
        part, flipped = _turned_alike(faces[kept])
        turned = soup[kept]
        turned[flipped] = turned[flipped][:, ::-1]
        order = np.argsort(part, kind="stable")
        bounds = np.flatnonzero(np.diff(part[order], prepend=-1, append=part.max() + 1))
        self._solids = [
            np.ascontiguousarray(turned[order[start:end]]) for start, end in pairwise(bounds.tolist())
        ]
        self.vertices = np.array([solid[0, 0] for solid in self._solids])
        # Patches that do not share edges still enclose something together, as they were wound in the file. A closed
        # part is left out: round a point outside of it, it winds zero times.
        open_parts = ~_closed(faces[kept], part, flipped)
        if open_parts.sum() > 1:
            self._solids.append(np.ascontiguousarray(soup[kept[open_parts[part]]]))
        self._low = np.array([solid.min(axis=(0, 1)) for solid in self._solids])
        self._high = np.array([solid.max(axis=(0, 1)) for solid in self._solids])

    def hold(self, points: Float64) -> bool:
        """Says whether any of the points (N, 3) lies inside any part."""
        near = ((self._low <= points[:, np.newaxis]) & (points[:, np.newaxis] <= self._high)).all(axis=2)
        return any(
            abs(_fitting.winding_number(np.ascontiguousarray(points[row]), self._solids[column])) > 0.5
            for row, column in np.argwhere(near).tolist()
        )


def _welded(soup: Float64) -> Index:
    """Returns the vertices of every triangle by number, those in one place by the same number."""
    voxel_indices = np.round(soup.reshape(-1, 3) / _SAME_VERTEX_M).astype(np.int64)
    _, number = np.unique(voxel_indices, axis=0, return_inverse=True)
    return np.asarray(number, dtype=np.int64).reshape(-1, 3)


def _closed(faces: Index, part: Index, flipped: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Returns which parts are closed: turned as they are, they run through each edge once in either direction."""
    turned = faces.copy()
    turned[flipped] = turned[flipped][:, ::-1]
    edges = np.concatenate([turned[:, [0, 1]], turned[:, [1, 2]], turned[:, [2, 0]]])
    sign = np.where(edges[:, 0] < edges[:, 1], 1, -1)
    owned = np.column_stack([np.tile(part, 3), np.sort(edges, axis=1)])
    kinds, edge, count = np.unique(owned, axis=0, return_inverse=True, return_counts=True)
    balanced = (np.bincount(edge, weights=sign, minlength=len(kinds)) == 0.0) & (count == 2)
    closed = np.ones(part.max() + 1, dtype=bool)
    closed[kinds[~balanced, 0]] = False
    return closed


def _turned_alike(faces: Index) -> tuple[Index, NDArray[np.bool_]]:
    """Returns the part that each triangle belongs to, and whether it must be turned over to agree with that part."""
    edges = np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]])
    owner = np.tile(np.arange(len(faces)), 3)
    forward = edges[:, 0] < edges[:, 1]
    _, edge, count = np.unique(np.sort(edges, axis=1), axis=0, return_inverse=True, return_counts=True)
    order = np.argsort(edge, kind="stable")
    starts = np.cumsum(count) - count
    # An edge of more than two triangles does not say which of them go on into each other.
    first, second = order[starts[count == 2]], order[starts[count == 2] + 1]
    beside: list[list[tuple[int, bool]]] = [[] for _ in range(len(faces))]
    unlike = (forward[first] == forward[second]).tolist()
    for a, b, turn in zip(owner[first].tolist(), owner[second].tolist(), unlike, strict=True):
        beside[a].append((b, turn))
        beside[b].append((a, turn))
    part = np.full(len(faces), -1, dtype=np.int64)
    flipped = np.zeros(len(faces), dtype=bool)
    parts = 0
    for seed in range(len(faces)):
        if part[seed] >= 0:
            continue
        part[seed] = parts
        waiting = [seed]
        while waiting:
            face = waiting.pop()
            for other, turn in beside[face]:
                if part[other] < 0:
                    part[other] = parts
                    flipped[other] = flipped[face] != turn
                    waiting.append(other)
        parts += 1
    return part, flipped
