# SPDX-License-Identifier: Apache-2.0
"""Takes balls (x, y, z, radius) in from callers."""

import numpy as np

from lastgate.arrays import Float64, require_array
from lastgate.contracts import ROSConfigError

# Coordinates the core takes; double rounding stays below a hundredth of a nanometre up to here.
EXTENT_M_MAX = 1.0e4


def require_balls(values: object, *, name: str) -> Float64:
    """Returns (M, 4) balls; a number that is not finite, a negative radius or another shape is refused by name.

    Raises:
        ROSConfigError: Not float64, not contiguous, not (M, 4), not finite, too far away, or a negative radius.
    """
    return _checked(require_array(_with_columns(values), name=name, dimensions=2), name)


def require_ball_sets(values: object, *, name: str) -> Float64:
    """Returns (N, M, 4) balls, one set per configuration, by the same rules."""
    if not isinstance(values, np.ndarray) or values.ndim != 3:
        raise ROSConfigError(f"{name} must be a float64 array of shape (M, 4) or (N, M, 4)")
    balls = require_array(values, name=name, dimensions=3)
    if balls.shape[2] != 4:
        raise ROSConfigError(f"{name} has shape {balls.shape}, expected (N, M, 4): x, y, z, radius")
    _checked(balls.reshape(-1, 4), name)
    return balls


def _with_columns(values: object) -> object:
    # An empty list has no columns to count; no balls is a statement that planners make.
    return np.empty((0, 4)) if isinstance(values, list | tuple) and not values else values


def _checked(balls: Float64, name: str) -> Float64:
    if balls.shape[1] != 4:
        hint = f": pass `np.column_stack([{name}, radii])`" if balls.shape[1] == 3 else ""
        raise ROSConfigError(f"{name} has shape {balls.shape}, expected (M, 4): x, y, z, radius{hint}")
    usable = (np.abs(balls) <= EXTENT_M_MAX).all(axis=1)
    if not usable.all():
        row = int(np.argmin(usable))
        raise ROSConfigError(
            f"{name}[{row}] is {balls[row].tolist()}: numbers must be finite and at most {EXTENT_M_MAX:g} m"
        )
    negative = balls[:, 3] < 0.0
    if negative.any():
        row = int(np.argmax(negative))
        raise ROSConfigError(f"{name}[{row}] has radius {balls[row, 3]} m: a radius must be 0 or more")
    return balls
