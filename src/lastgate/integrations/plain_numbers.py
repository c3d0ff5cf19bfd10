# SPDX-License-Identifier: Apache-2.0
"""Numbers as loops hand them over: real, whole in shape and unmasked, or refused with a sentence."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lastgate.contracts import ROSConfigError
from lastgate.contracts.arrays import require_unmasked

_KINDS = {"c": "complex numbers", "b": "true and false", "O": "objects", "U": "text", "S": "bytes"}


def plain_array(values: object, *, name: str, shape: tuple[int, ...] | None = None) -> NDArray[Any]:
    """Returns a copy of an array or of lists of real numbers, NaN included, in their own type.

    NumPy would drop the imaginary part of complex numbers, uncover what is masked, and read true and text as numbers.

    Raises:
        ROSConfigError: Complex, masked, no numbers, or not of that shape.
    """
    require_unmasked(values, name=name)
    try:
        array = np.array(values)
    except (TypeError, ValueError) as error:
        raise ROSConfigError(f"{name} is not a rectangle of numbers: {error}") from None
    if array.dtype.kind not in "iuf":
        found = _KINDS.get(array.dtype.kind, str(array.dtype))
        raise ROSConfigError(f"{name} holds {found}, the gate reads real numbers")
    if shape is not None and array.shape != shape:
        raise ROSConfigError(f"{name} has the shape {array.shape}, needs {shape}")
    return array


def plain_number(value: object) -> float:
    """Returns a real number as a float; NaN for everything else: nothing, text, true, complex, masked, a list."""
    if isinstance(value, np.ma.MaskedArray) or getattr(value, "shape", ()) != ():
        return float("nan")
    try:
        # Single numbers of NumPy and torch have no dimensions, and an item that is of Python.
        plain = value.item() if hasattr(value, "item") else value  # pyright: ignore[reportAttributeAccessIssue]
        return float("nan") if isinstance(plain, bool) or not isinstance(plain, int | float) else float(plain)
    except (TypeError, ValueError, OverflowError):
        return float("nan")
