# SPDX-License-Identifier: Apache-2.0
"""Distances in eighty decimal digits, for the cases in which two double programs cannot settle who is right.

Every double is an exact decimal, so the answers are those of the very numbers the core was given.
Cancellation that eats sixteen digits leaves sixty-four.
"""

from collections.abc import Sequence
from decimal import Decimal, getcontext, localcontext
from itertools import product

DIGITS = 80
Vector = tuple[Decimal, ...]


def vector(values: Sequence[float]) -> Vector:
    """Returns doubles as they are."""
    return tuple(Decimal(float(value)) for value in values)


def _minus(a: Vector, b: Vector) -> Vector:
    return tuple(x - y for x, y in zip(a, b, strict=True))


def _along(a: Vector, share: Decimal, d: Vector) -> Vector:
    return tuple(x + share * y for x, y in zip(a, d, strict=True))


def _dot(a: Vector, b: Vector) -> Decimal:
    return sum((x * y for x, y in zip(a, b, strict=True)), Decimal(0))


def _clamped(value: Decimal) -> Decimal:
    return min(max(value, Decimal(0)), Decimal(1))


def _segments_squared(a0: Vector, a1: Vector, b0: Vector, b1: Vector) -> Decimal:
    u, v, w = _minus(a1, a0), _minus(b1, b0), _minus(a0, b0)
    uu, vv, uv, uw, vw = _dot(u, u), _dot(v, v), _dot(u, v), _dot(u, w), _dot(v, w)
    zero, one = Decimal(0), Decimal(1)
    candidates = [
        (zero, _clamped(vw / vv) if vv else zero),
        (one, _clamped((vw + uv) / vv) if vv else zero),
        (_clamped(-uw / uu) if uu else zero, zero),
        (_clamped((uv - uw) / uu) if uu else zero, one),
    ]
    gram = uu * vv - uv * uv
    if gram > 0:
        s, t = (uv * vw - vv * uw) / gram, (uu * vw - uv * uw) / gram
        if 0 <= s <= 1 and 0 <= t <= 1:
            candidates.append((s, t))
    apart = (_minus(_along(a0, s, u), _along(b0, t, v)) for s, t in candidates)
    return min(_dot(d, d) for d in apart)


def exact_segments(
    a0: Sequence[float], a1: Sequence[float], b0: Sequence[float], b1: Sequence[float]
) -> float:
    """Returns the distance of two segments, rounded once."""
    with localcontext() as context:
        context.prec = DIGITS
        return float(_segments_squared(vector(a0), vector(a1), vector(b0), vector(b1)).sqrt())


def _into_frame(point: Vector, centre: Vector, quat: Sequence[float]) -> Vector:
    """The point as seen from a frame whose quaternion is brought to unit length exactly."""
    q = vector(quat)
    norm = _dot(q, q).sqrt()
    x, y, z, w = (value / norm for value in q)
    p = _minus(point, centre)
    rows = (
        (1 - 2 * (y * y + z * z), 2 * (x * y + z * w), 2 * (x * z - y * w)),
        (2 * (x * y - z * w), 1 - 2 * (x * x + z * z), 2 * (y * z + x * w)),
        (2 * (x * z + y * w), 2 * (y * z - x * w), 1 - 2 * (x * x + y * y)),
    )
    return tuple(_dot(row, p) for row in rows)


def _point_box_squared(p: Vector, half: Vector) -> Decimal:
    out = tuple(max(abs(x) - h, Decimal(0)) for x, h in zip(p, half, strict=True))
    return _dot(out, out)


def _crosses(a: Vector, b: Vector, half: Vector) -> bool:
    enter, leave = Decimal(0), Decimal(1)
    for x, d, h in zip(a, _minus(b, a), half, strict=True):
        if d == 0:
            if abs(x) > h:
                return False
            continue
        first, second = sorted(((-h - x) / d, (h - x) / d))
        enter, leave = max(enter, first), min(leave, second)
    return enter <= leave


def exact_box(
    a: Sequence[float], b: Sequence[float], half: Sequence[float], xyz: Sequence[float], quat: Sequence[float]
) -> float:
    """Returns the distance of a segment from a placed box, 0 when they meet, rounded once."""
    with localcontext() as context:
        context.prec = DIGITS
        centre, size = vector(xyz), vector(half)
        p, q = (_into_frame(vector(end), centre, quat) for end in (a, b))
        if _crosses(p, q, size):
            return 0.0
        best = min(_point_box_squared(p, size), _point_box_squared(q, size))
        for axis in range(3):
            for sides in product((-1, 1), repeat=2):
                signs = iter(sides)
                vertex = [next(signs) * h if k != axis else h for k, h in enumerate(size)]
                start, end = list(vertex), list(vertex)
                start[axis], end[axis] = -size[axis], size[axis]
                best = min(best, _segments_squared(p, q, tuple(start), tuple(end)))
        return float(best.sqrt())


def exact_half_space(
    a: Sequence[float], b: Sequence[float], xyz: Sequence[float], quat: Sequence[float]
) -> float:
    """Returns the height of a segment's lower end above a plane, rounded once."""
    with localcontext() as context:
        context.prec = DIGITS
        return float(min(_into_frame(vector(end), vector(xyz), quat)[2] for end in (a, b)))


assert getcontext().prec < DIGITS  # the precision is set where it is used, not for the whole process
