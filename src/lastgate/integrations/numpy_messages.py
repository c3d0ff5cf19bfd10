# SPDX-License-Identifier: Apache-2.0
"""Messages of openpi's client and server: msgpack, with NumPy arrays as maps of bytes, dtype and shape."""

from typing import Any

import msgpack
import numpy as np

# Numbers and booleans; objects could carry code, and void and complex have no meaning for a robot.
_KINDS = frozenset("biuf")


def pack(message: Any) -> bytes:
    """Returns a message as bytes."""
    data = msgpack.packb(message, default=_as_map)
    assert data is not None
    return data


def unpack(data: bytes) -> Any:
    """Returns the message.

    Raises:
        ValueError: Bytes that are none, a key that stands twice, or arrays of anything but numbers.
    """
    try:
        return msgpack.unpackb(data, object_pairs_hook=_as_fields, strict_map_key=False)
    except (msgpack.UnpackException, TypeError, KeyError) as error:
        raise ValueError(f"not a message: {error!r}") from None


def _as_map(value: Any) -> Any:
    if isinstance(value, np.ndarray | np.generic) and value.dtype.kind not in _KINDS:
        raise ValueError(f"arrays of {value.dtype} are not sent")
    if isinstance(value, np.ndarray):
        return {
            b"__ndarray__": True,
            b"data": value.tobytes(),
            b"dtype": value.dtype.str,
            b"shape": value.shape,
        }
    if isinstance(value, np.generic):
        return {b"__npgeneric__": True, b"data": value.item(), b"dtype": value.dtype.str}
    raise ValueError(f"a {type(value).__name__} cannot be sent")


def _as_fields(pairs: list[tuple[Any, Any]]) -> Any:
    """Refuses a key that stands twice: one reader takes the first, another the last."""
    fields = dict(pairs)
    # Text and bytes of one spelling are one key to readers that do not tell them apart.
    spelled = {key.decode("utf-8", "replace") if isinstance(key, bytes) else key for key in fields}
    if len(spelled) != len(pairs):
        raise ValueError("a key stands twice in one map")
    return _as_array(fields)


def _as_array(fields: dict[Any, Any]) -> Any:
    if b"__ndarray__" in fields or b"__npgeneric__" in fields:
        kind = np.dtype(fields[b"dtype"])
        if kind.kind not in _KINDS:
            raise ValueError(f"arrays of {kind} are not read")
        if b"__ndarray__" in fields:
            return np.frombuffer(fields[b"data"], dtype=kind).reshape(tuple(fields[b"shape"]))
        return kind.type(fields[b"data"])
    return fields
