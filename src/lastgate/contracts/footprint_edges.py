# SPDX-License-Identifier: Apache-2.0
"""Finds edges of a footprint that meet: the inside of such a polygon is undefined."""

import itertools
from collections.abc import Sequence

from lastgate.contracts.schema import Vector2


def crossing_edges(vertices: Sequence[Vector2]) -> tuple[int, int] | None:
    """Returns two edges that meet, neighbours aside; edge k leads from vertex k to the next."""

    def side(a: Vector2, b: Vector2, p: Vector2) -> float:
        return (b[0] - a[0]) * (p[1] - a[1]) - (b[1] - a[1]) * (p[0] - a[0])

    def overlaps(a: Vector2, b: Vector2, c: Vector2, d: Vector2) -> bool:
        return all(
            max(min(a[axis], b[axis]), min(c[axis], d[axis]))
            <= min(max(a[axis], b[axis]), max(c[axis], d[axis]))
            for axis in (0, 1)
        )

    count = len(vertices)
    for first, second in itertools.combinations(range(count), 2):
        if second - first == 1 or second - first == count - 1:
            continue
        a, b = vertices[first], vertices[(first + 1) % count]
        c, d = vertices[second], vertices[(second + 1) % count]
        apart = side(a, b, c) * side(a, b, d) > 0.0 or side(c, d, a) * side(c, d, b) > 0.0
        if not apart and overlaps(a, b, c, d):
            return first, second
    return None
