# SPDX-License-Identifier: Apache-2.0
"""Joins convex hulls until few enough are left.

Cuts are made one after the other and each goes through a whole part, so many separate what belongs together. The hull
of two hulls contains both: whatever is joined, everything stays contained.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import ConvexHull, QhullError

from lastgate.tools.lowering.ties import without_noise

Array = NDArray[np.float64]

# Hulls whose boxes are farther apart are joined only when no nearer ones are left: a hull over a gap is mostly gap.
_NEAR_M = 0.002


@dataclass(frozen=True)
class _Hull:
    vertices: Array
    volume_m3: float

    @classmethod
    def around(cls, points: Array) -> _Hull:
        try:
            hull = ConvexHull(points)
        except QhullError:
            # Flat: what is joined with it decides.
            return cls(np.unique(points, axis=0), 0.0)
        return cls(points[np.sort(hull.vertices)], float(hull.volume))

    def joined(self, other: _Hull) -> _Hull:
        return _Hull.around(np.concatenate([self.vertices, other.vertices]))

    def is_near(self, other: _Hull) -> bool:
        between = np.maximum(self.vertices.min(axis=0), other.vertices.min(axis=0)) - np.minimum(
            self.vertices.max(axis=0), other.vertices.max(axis=0)
        )
        return bool((between <= _NEAR_M).all())


# What a join costs: whether it needs more vertices than a hull may have, and the volume it adds.
_Cost = tuple[bool, float]


def joined_hulls(clouds: list[Array], *, count_max: int, vertices_max: int) -> list[Array]:
    """Returns vertices of at most so many hulls that contain the clouds: always the two are joined that add least."""
    hulls = {index: _Hull.around(points) for index, points in enumerate(clouds)}
    costs: dict[tuple[int, int], _Cost] = {}

    def cost(first: _Hull, second: _Hull) -> _Cost:
        both = first.joined(second)
        added_m3 = both.volume_m3 - first.volume_m3 - second.volume_m3
        return len(both.vertices) > vertices_max, without_noise(added_m3)

    def price(index: int, *, far: bool) -> None:
        for earlier, hull in hulls.items():
            if earlier < index and (far or hull.is_near(hulls[index])):
                costs[earlier, index] = cost(hull, hulls[index])

    for index in hulls:
        price(index, far=False)
    name = len(hulls)
    while len(hulls) > max(count_max, 1):
        if not costs:
            for index in hulls:
                price(index, far=True)
        # Equal costs go by the order in which the hulls came.
        first, second = min(costs, key=lambda pair: (costs[pair], pair))
        hulls[name] = hulls.pop(first).joined(hulls.pop(second))
        costs = {pair: known for pair, known in costs.items() if not {first, second} & set(pair)}
        price(name, far=False)
        name += 1
    return [hull.vertices for hull in hulls.values()]
