# SPDX-License-Identifier: Apache-2.0
"""Which shapes lie wholly inside a mesh of another link: their surfaces do not meet, so engines call them clear."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from lastgate.planning.collision.mesh_parts import MeshParts

Array = NDArray[np.float64]
Pair = tuple[str, str]


class Enclosures:
    """Asks of one point of every part of a shape whether a part of a mesh goes round it; where surfaces do not meet,
    that decides.

    Args:
        soups: Per shape its triangles, None for one that is no mesh: engines take those for solid.
        couples: Two shapes, and the links they belong to.
    """

    def __init__(self, soups: Sequence[Array | None], couples: Iterable[tuple[int, int, Pair]]) -> None:
        self._parts = [None if soup is None else MeshParts(soup) for soup in soups]
        self._points = [np.zeros((1, 3)) if part is None else part.vertices for part in self._parts]
        both_ways = [
            (inner, outer, pair)
            for first, second, pair in couples
            for inner, outer in ((first, second), (second, first))
            if soups[outer] is not None
        ]
        self._pairs = [pair for _, _, pair in both_ways]
        self._inner = np.array([inner for inner, _, _ in both_ways], dtype=np.int64)
        self._outer = np.array([outer for _, outer, _ in both_ways], dtype=np.int64)
        empty = np.zeros((1, 1, 3))
        filled = [empty if soup is None else soup for soup in soups]
        self._low = np.array([soup.min(axis=(0, 1)) for soup in filled]).reshape(-1, 3)
        self._high = np.array([soup.max(axis=(0, 1)) for soup in filled]).reshape(-1, 3)
        # Bounding spheres: of the box of a mesh, and of the points that are asked about.
        self._middle = (self._low + self._high) / 2.0
        self._radius = np.linalg.norm(self._high - self._low, axis=1) / 2.0
        self._asked_middle = np.array(
            [(points.min(axis=0) + points.max(axis=0)) / 2.0 for points in self._points]
        )
        self._asked_radius = np.array(
            [
                np.linalg.norm(points - middle, axis=1).max()
                for points, middle in zip(self._points, self._asked_middle, strict=True)
            ]
        )

    def pairs_at(self, placements: Array, *, besides: Collection[Pair] = ()) -> set[Pair]:
        """Returns the pairs of which one lies inside the other, given the pose of every shape, besides those named."""
        if not len(self._pairs):
            return set()
        turns, shifts = placements[:, :3, :3], placements[:, :3, 3]
        middle = np.einsum("nij,nj->ni", turns, self._middle) + shifts
        asked = np.einsum("nij,nj->ni", turns, self._asked_middle.reshape(-1, 3)) + shifts
        apart = np.linalg.norm(asked[self._inner] - middle[self._outer], axis=1)
        # A micrometre for the rounding of both middles.
        near = apart <= self._asked_radius[self._inner] + self._radius[self._outer] + 1.0e-6
        found: set[Pair] = set()
        for couple in np.flatnonzero(near):
            pair, inner, outer = self._pairs[couple], self._inner[couple], self._outer[couple]
            part = self._parts[outer]
            if pair in found or pair in besides or part is None:
                continue
            points = self._points[inner] @ turns[inner].T + shifts[inner]
            local = (points - shifts[outer]) @ turns[outer]
            boxed = ((self._low[outer] <= local) & (local <= self._high[outer])).all(axis=1)
            if boxed.any() and part.hold(np.ascontiguousarray(local[boxed])):
                found.add(pair)
        return found
