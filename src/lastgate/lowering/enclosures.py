# SPDX-License-Identifier: Apache-2.0
"""Which shapes lie wholly inside a mesh of another link: their surfaces do not meet, so engines call them clear."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from lastgate.lowering.triangles import winding_number

Array = NDArray[np.float64]
Pair = tuple[str, str]


class Enclosures:
    """Asks of one point of every shape whether a mesh goes round it; where surfaces do not meet, that decides.

    Args:
        soups: Per shape its triangles, None for one that is no mesh: engines take those for solid.
        couples: Two shapes, and the links they belong to.
    """

    def __init__(self, soups: Sequence[Array | None], couples: Iterable[tuple[int, int, Pair]]) -> None:
        both_ways = [
            (inner, outer, pair)
            for first, second, pair in couples
            for inner, outer in ((first, second), (second, first))
            if soups[outer] is not None
        ]
        self._soups = soups
        self._pairs = [pair for _, _, pair in both_ways]
        self._inner = np.array([inner for inner, _, _ in both_ways], dtype=np.int64)
        self._outer = np.array([outer for _, outer, _ in both_ways], dtype=np.int64)
        self._points = np.array([np.zeros(3) if soup is None else soup[0, 0] for soup in soups]).reshape(
            -1, 3
        )
        empty = np.zeros((1, 1, 3))
        filled = [empty if soup is None else soup for soup in soups]
        self._low = np.array([soup.min(axis=(0, 1)) for soup in filled]).reshape(-1, 3)
        self._high = np.array([soup.max(axis=(0, 1)) for soup in filled]).reshape(-1, 3)

    def pairs_at(self, placements: Array, *, besides: Collection[Pair] = ()) -> set[Pair]:
        """Returns the pairs of which one lies inside the other, given the pose of every shape, besides those named."""
        if not len(self._pairs):
            return set()
        turns, shifts = placements[:, :3, :3], placements[:, :3, 3]
        points = np.einsum("nij,nj->ni", turns, self._points) + shifts
        local = np.einsum("nji,nj->ni", turns[self._outer], points[self._inner] - shifts[self._outer])
        near = ((self._low[self._outer] <= local) & (local <= self._high[self._outer])).all(axis=1)
        found: set[Pair] = set()
        for index in np.flatnonzero(near):
            pair, soup = self._pairs[index], self._soups[self._outer[index]]
            if pair in found or pair in besides or soup is None:
                continue
            if winding_number(local[index], soup) > 0.5:
                found.add(pair)
        return found
