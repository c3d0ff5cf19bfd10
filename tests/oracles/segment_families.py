# SPDX-License-Identifier: Apache-2.0
"""Segments that closed forms get wrong: parallel, nearly parallel, touching, crossing, tiny, huge."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Pair = tuple[Array, Array, Array, Array]


def _unit(rng: np.random.Generator) -> Array:
    v = rng.normal(size=3)
    return v / np.linalg.norm(v)


def _any(rng: np.random.Generator) -> Pair:
    a, b, c, d = rng.uniform(-1, 1, (4, 3))
    return a, b, c, d


def _points(rng: np.random.Generator) -> Pair:
    a, b, c, d = _any(rng)
    return (a, a, c, c) if rng.random() < 0.3 else ((a, a, c, d) if rng.random() < 0.5 else (a, b, c, c))


def _parallel(rng: np.random.Generator) -> Pair:
    a, direction = rng.uniform(-1, 1, 3), _unit(rng)
    c = a + rng.uniform(-1, 1, 3)
    return a, a + rng.uniform(0.01, 2) * direction, c, c + rng.uniform(-2, 2) * direction


def _collinear(rng: np.random.Generator) -> Pair:
    # On a coordinate axis, so that they are collinear exactly and not only to rounding.
    axis, (s, t, u, v) = int(rng.integers(3)), rng.uniform(-2, 2, 4)
    base = rng.uniform(-1, 1, 3)
    ends = []
    for value in (s, t, u, v):
        point = base.copy()
        point[axis] = value
        ends.append(point)
    return tuple(ends)


def _crossing(rng: np.random.Generator) -> Pair:
    at, d, e = rng.uniform(-1, 1, 3), _unit(rng), _unit(rng)
    s, t, u, v = rng.uniform(0.01, 1, 4)
    return at - s * d, at + t * d, at - u * e, at + v * e


def _touching(rng: np.random.Generator) -> Pair:
    a, b, _, d = _any(rng)
    share = float(rng.choice([0.0, 1.0, rng.uniform()]))
    return a, b, a + share * (b - a), d


def _coincident(rng: np.random.Generator) -> Pair:
    a, b, _, _ = _any(rng)
    return (a, b, a, b) if rng.random() < 0.5 else (a, b, b, a)


def _nearly_parallel(rng: np.random.Generator) -> Pair:
    angle = 10.0 ** rng.uniform(-12, -1)
    d, side = _unit(rng), _unit(rng)
    side = np.cross(d, side)
    side /= np.linalg.norm(side)
    normal = np.cross(d, side)
    turned = np.cos(angle) * d + np.sin(angle) * side
    a = rng.uniform(-1, 1, 3)
    # Crossing, or passing over each other at any height, or one beyond the end of the other.
    height = float(rng.choice([0.0, 10.0 ** rng.uniform(-6, 0)]))
    shift = float(rng.choice([0.0, rng.uniform(-2, 2)]))
    c = a + height * normal + shift * d
    s, t, u, v = rng.uniform(0.01, 1, 4)
    return a - s * d, a + t * d, c - u * turned, c + v * turned


def _tiny(rng: np.random.Generator) -> Pair:
    size = 10.0 ** rng.uniform(-9, -4)
    a, b, c, d = size * rng.uniform(-1, 1, (4, 3))
    apart = float(rng.choice([0.0, 10.0 ** rng.uniform(-8, 0)])) * _unit(rng)
    return a, b, c + apart, d + apart


def _huge(rng: np.random.Generator) -> Pair:
    a, b, c, d = rng.uniform(-1, 1, (4, 3))
    scale = 10.0 ** rng.uniform(1, 3.5)
    return (
        (scale * a, scale * b, scale * c, scale * d) if rng.random() < 0.5 else (a, b, scale * c, scale * d)
    )


def _nearly_parallel_far_out(rng: np.random.Generator) -> Pair:
    """A robot's segment and an obstacle as long as the core allows, crossing or not, at 1e-12 to 0.1 rad."""
    angle = 10.0 ** rng.uniform(-12, -1)
    d = _unit(rng)
    side = np.cross(d, _unit(rng))
    side /= np.linalg.norm(side)
    turned = np.cos(angle) * d + np.sin(angle) * side
    a = rng.uniform(-1, 1, 3)
    c = a + float(rng.choice([0.0, 10.0 ** rng.uniform(-4, 0)])) * np.cross(d, side)
    s, t = rng.uniform(0.05, 1, 2)
    u, v = rng.uniform(10, 5000, 2)
    return a - s * d, a + t * d, c - u * turned, c + v * turned


SEGMENT_FAMILIES: dict[str, Callable[[np.random.Generator], Pair]] = {
    "any": _any,
    "points": _points,
    "parallel": _parallel,
    "collinear": _collinear,
    "crossing": _crossing,
    "touching": _touching,
    "coincident": _coincident,
    "nearly parallel": _nearly_parallel,
    "nearly parallel, far out": _nearly_parallel_far_out,
    "tiny": _tiny,
    "huge": _huge,
}


def segment_near_box(rng: np.random.Generator, half: Array) -> tuple[Array, Array]:
    """Returns a segment, in the box's frame, with an end on or just off a face, edge or vertex, or lying
    along one.
    """
    anchor = rng.uniform(-1, 1, 3) * half
    on = rng.random(3) < 0.5
    on[int(rng.integers(3))] = True
    anchor[on] = (np.sign(anchor) * half)[on]
    off = float(rng.choice([0.0, 10.0 ** rng.uniform(-9, -1)]))
    anchor = anchor + off * np.where(on, np.sign(anchor), 0.0)
    match int(rng.integers(4)):
        case 0:  # along an axis of the box
            other = anchor.copy()
            other[int(rng.integers(3))] += float(rng.uniform(-1, 1))
        case 1:  # nearly along one
            other = anchor + 10.0 ** rng.uniform(-12, -3) * rng.uniform(-1, 1, 3)
            other[int(rng.integers(3))] += float(rng.uniform(-1, 1))
        case 2:
            other = anchor.copy()
        case _:
            other = anchor + rng.uniform(-1, 1, 3)
    return anchor, other
