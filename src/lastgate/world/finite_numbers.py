# SPDX-License-Identifier: Apache-2.0
"""Takes sizes, places and stamps in: what is not finite is refused by name."""

import math
from collections.abc import Sequence
from numbers import Real

import numpy as np

from lastgate.contracts import ROSConfigError
from lastgate.contracts.arrays import Float64, require_array, require_unmasked

# A metre this far from the origin is still resolved to 0.2 nanometres; a coordinate beyond it is a unit
# mistake.
COORDINATE_M_MAX = 1.0e6

Vector3 = tuple[float, float, float]


def require_finite(value: object, *, name: str) -> float:
    """Returns `value` as a float; NaN, infinity and what is no number raise `ROSConfigError`."""
    if isinstance(value, bool) or not isinstance(value, Real) or not math.isfinite(value):
        raise ROSConfigError(f"{name} must be a finite number, got {value!r}")
    return float(value)


def require_positive(value: object, *, name: str) -> float:
    """Returns `value` as a float above zero; anything else raises `ROSConfigError`."""
    number = require_finite(value, name=name)
    if not number > 0.0:
        raise ROSConfigError(f"{name} must be above 0, got {number!r}")
    return number


def require_not_negative(value: object, *, name: str) -> float:
    """Returns `value` as a float of at least zero; anything else raises `ROSConfigError`."""
    number = require_finite(value, name=name)
    if not number >= 0.0:
        raise ROSConfigError(f"{name} must be 0 or more, got {number!r}")
    return number


def require_count(value: object, *, name: str) -> int:
    """Returns `value` as an int of at least one; anything else raises `ROSConfigError`."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
        raise ROSConfigError(f"{name} must be a whole number of at least 1, got {value!r}")
    return int(value)


def require_xyz(value: object, *, name: str) -> Vector3:
    """Returns three coordinates in metres; what is not, or is too far to be, raises `ROSConfigError`."""
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if not isinstance(value, Sequence) or isinstance(value, str | bytes) or len(value) != 3:
        raise ROSConfigError(f"{name} must be three numbers, got {value!r}")
    x, y, z = (
        require_finite(number, name=f"{name}[{axis}]") for axis, number in zip("xyz", value, strict=True)
    )
    for axis, number in zip("xyz", (x, y, z), strict=True):
        if not abs(number) <= COORDINATE_M_MAX:
            raise ROSConfigError(
                f"{name}[{axis}] is {number!r} m, at most {COORDINATE_M_MAX:g} m is taken: is it in metres?"
            )
    return x, y, z


def as_float64(values: np.ndarray) -> Float64:
    """Returns a contiguous float64 copy; a signalling NaN becomes a quiet one instead of a warning."""
    with np.errstate(invalid="ignore"):
        return np.array(values, dtype=np.float64, order="C")


def require_points(value: object, *, name: str) -> Float64:
    """Returns (N, 3) finite float64 coordinates as a read-only copy; anything else raises `ROSConfigError`.

    Lists of numbers are taken. The first offender is named by its row, so that it can be found in the cloud.
    """
    require_unmasked(value, name=name)
    if isinstance(value, list | tuple):
        value = require_array(value, name=name, dimensions=2) if value else np.empty((0, 3))
    if not isinstance(value, np.ndarray):
        raise ROSConfigError(
            f"{name} is a {type(value).__name__}, expected a NumPy array: pass `np.asarray({name}, "
            "dtype=np.float64)`"
        )
    if value.dtype != np.float64:
        raise ROSConfigError(f"{name} is {value.dtype}, expected float64: pass `{name}.astype(np.float64)`")
    if value.ndim != 2 or value.shape[1] != 3:
        raise ROSConfigError(
            f"{name} has shape {value.shape}, expected (N, 3): pass `{name}.reshape(-1, 3)` if that is "
            "its order"
        )
    points = np.array(value, order="C")
    refused = ~(np.abs(points) <= COORDINATE_M_MAX).all(axis=1)
    if refused.any():
        row = int(np.argmax(refused))
        raise ROSConfigError(
            f"{name}[{row}] is {points[row].tolist()}, and {int(refused.sum())} of {len(points)} points "
            "are not finite "
            f"or farther than {COORDINATE_M_MAX:g} m: use Points.from_sensor(..., drop_invalid=True) to "
            "drop and count them"
        )
    points.flags.writeable = False
    return points
