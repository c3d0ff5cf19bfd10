# SPDX-License-Identifier: Apache-2.0
"""Takes numbers in from callers: what is not float64 and contiguous is refused with the sentence that fixes it."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lastgate.contracts.exceptions import ROSConfigError

Float64 = NDArray[np.float64]


def require_array(values: object, *, name: str, dimensions: int, columns: int | None = None) -> Float64:
    """Returns `values` as an immutable copy; lists of numbers are taken, arrays must already be float64 and contiguous.

    NaN passes: it is the gate that rejects it, with the joint and the step. `columns` is one per joint: a slice of
    another width is told about its width, not about its layout.

    Raises:
        ROSConfigError: Wrong type, dtype, layout or number of dimensions.
    """
    require_unmasked(values, name=name)
    if isinstance(values, np.ndarray):
        if values.dtype != np.float64:
            raise ROSConfigError(
                f"{name} is {values.dtype}, the gate reads float64: pass `{name}.astype(np.float64)`"
            )
        _require_columns(values, columns, name)
        if not values.flags.c_contiguous:
            raise ROSConfigError(
                f"{name} is strided: pass `np.ascontiguousarray({name})`; its shape is {values.shape}"
            )
        array = values
    elif isinstance(values, Sequence) and not isinstance(values, str | bytes):
        array = _array_of_numbers(values, name)
    else:
        raise ROSConfigError(
            f"{name} is a {type(values).__name__}, the gate reads NumPy arrays or lists: "
            f"pass `np.asarray({name}, dtype=np.float64)`"
        )
    if array.ndim != dimensions:
        hints = {
            (1, 2): f": pass `{name}[np.newaxis, :]` for a single row",
            (3, 2): f": pass `{name}[0]` for the first of a batch",
        }
        hint = hints.get((array.ndim, dimensions), "")
        raise ROSConfigError(f"{name} has {array.ndim} dimensions and needs {dimensions}{hint}")
    _require_columns(array, columns, name)
    return immutable(array)


def _require_columns(array: NDArray[Any], columns: int | None, name: str) -> None:
    if columns is not None and array.ndim == 2 and array.shape[1] != columns:
        raise ROSConfigError(f"{name} has {array.shape[1]} columns, this robot has {columns} joints")


def require_unmasked(values: object, *, name: str, unknown: str = "np.nan") -> None:
    """Refuses an array, or lists that hold one, with a mask: NumPy copies what is below a mask, and drops the mask.

    Raises:
        ROSConfigError: It is masked; the sentence says what to write for what is not known.
    """
    if _is_masked(values):
        raise ROSConfigError(
            f"{name} is masked, and what is masked is still there: pass `{name}.filled({unknown})`"
        )


def _is_masked(values: object, depth: int = 3) -> bool:
    if depth and isinstance(values, list | tuple):
        return any(_is_masked(value, depth - 1) for value in values)
    return isinstance(values, np.ma.MaskedArray)


def immutable(values: Float64) -> Float64:
    """Returns a copy that stays as it is: it lies in `bytes`, and NumPy makes no such array writable again."""
    return np.ndarray(values.shape, dtype=np.float64, buffer=values.tobytes())


def require_number(value: object, *, name: str) -> float:
    """Returns `value` as a float, NaN included; anything that is not a number raises `ROSConfigError`."""
    if isinstance(value, np.floating) and not isinstance(value, float):
        # The time of day in single precision is off by up to a minute; the caller must see that.
        raise ROSConfigError(f"{name} is {value.dtype}, the gate reads float64: pass `float({name})`")
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer):
        raise ROSConfigError(f"{name} must be a number, got {value!r}")
    try:
        return float(value)
    except OverflowError:
        raise ROSConfigError(f"{name} is a whole number too large for a float") from None


def _array_of_numbers(values: Sequence[object], name: str) -> Float64:
    try:
        found = np.array(values) if len(values) else np.empty(0)
    except (TypeError, ValueError) as error:
        raise ROSConfigError(f"{name} is not a rectangle of numbers: {error}") from None
    # NumPy would also read "1.5", True and None as numbers.
    if found.dtype.kind not in "iuf":
        raise ROSConfigError(f"{name} is not a rectangle of numbers: it holds {_kind_of(found)}")
    if found.dtype.kind == "f" and found.dtype != np.float64:
        raise ROSConfigError(
            f"{name} holds {found.dtype}, the gate reads float64: pass `np.array({name}, dtype=np.float64)`"
        )
    return found.astype(np.float64)


def _kind_of(found: NDArray[Any]) -> str:
    names = {"U": "strings", "S": "bytes", "b": "true and false", "c": "complex numbers"}
    return names.get(found.dtype.kind, "objects that are not numbers")
