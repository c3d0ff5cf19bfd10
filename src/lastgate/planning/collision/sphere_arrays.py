# SPDX-License-Identifier: Apache-2.0
"""Takes spheres (x, y, z, radius) in from callers."""

import numpy as np

from lastgate.contracts import ROSConfigError
from lastgate.contracts.arrays import Float64, require_array

# Coordinates the core takes; double rounding stays below a hundredth of a nanometre up to here.
EXTENT_M_MAX = 1.0e4


def require_spheres(values: object, *, name: str) -> Float64:
    """Returns (M, 4) spheres; a number that is not finite, a negative radius or another shape is refused by name.

    Raises:
        ROSConfigError: Not float64, not contiguous, not (M, 4), not finite, too far away, or a negative radius.
    """
    return _checked(require_array(_with_columns(values), name=name, dimensions=2), name)


def require_sphere_sets(values: object, *, name: str) -> Float64:
    """Returns (N, M, 4) spheres, one set per configuration, by the same rules."""
    if not isinstance(values, np.ndarray) or values.ndim != 3:
        raise ROSConfigError(f"{name} must be a float64 array of shape (M, 4) or (N, M, 4)")
    spheres = require_array(values, name=name, dimensions=3)
    if spheres.shape[2] != 4:
        raise ROSConfigError(f"{name} has shape {spheres.shape}, expected (N, M, 4): x, y, z, radius")
    _checked(spheres.reshape(-1, 4), name)
    return spheres


def _with_columns(values: object) -> object:
    # An empty list has no columns to count; no spheres is a statement that planners make.
    return np.empty((0, 4)) if isinstance(values, list | tuple) and not values else values


def _checked(spheres: Float64, name: str) -> Float64:
    if spheres.shape[1] != 4:
        hint = f": pass `np.column_stack([{name}, radii])`" if spheres.shape[1] == 3 else ""
        raise ROSConfigError(f"{name} has shape {spheres.shape}, expected (M, 4): x, y, z, radius{hint}")
    usable = (np.abs(spheres) <= EXTENT_M_MAX).all(axis=1)
    if not usable.all():
        row = int(np.argmin(usable))
        raise ROSConfigError(
            f"{name}[{row}] is {spheres[row].tolist()}: numbers must be finite and at most {EXTENT_M_MAX:g} m"
        )
    negative = spheres[:, 3] < 0.0
    if negative.any():
        row = int(np.argmax(negative))
        raise ROSConfigError(f"{name}[{row}] has radius {spheres[row, 3]} m: a radius must be 0 or more")
    return spheres
