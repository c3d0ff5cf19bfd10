# SPDX-License-Identifier: Apache-2.0
"""Reads PCD files of version 0.7: ascii, binary, binary_compressed."""

import math
import struct
from pathlib import Path

import numpy as np

from lastgate.contracts import ROSConfigError
from lastgate.contracts.arrays import Float64
from lastgate.world.finite_numbers import as_float64
from lastgate.world.points import POINTS_MAX
from lastgate.world.rigid_motion import rotation_of_quaternion
from lastgate.world.text_table import read_table

_TYPES = {
    (kind, size): f"<{code}{size}"
    for kind, code in (("F", "f"), ("I", "i"), ("U", "u"))
    for size in ("1", "2", "4", "8")
}
del _TYPES["F", "1"], _TYPES["F", "2"]

_KEYS = ("VERSION", "FIELDS", "SIZE", "TYPE", "COUNT", "WIDTH", "HEIGHT", "VIEWPOINT", "POINTS", "DATA")
_IDENTITY = (0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0)

HEADER_SIZE_MAX = 64 * 1024

# Descriptors of two kilobytes per point exist; wider rows do not.
ROW_SIZE_MAX = 4096


def read_pcd(content: bytes, place: Path) -> tuple[Float64, Float64 | None]:
    """Returns x, y, z of all points, and the viewpoint as 3 x 4 unless it is the identity.

    Raises:
        ROSConfigError: Malformed, truncated, longer than announced, or compressed data that does not unpack.
    """
    header, start, line_count = _read_header(content, place)
    row, columns, column_count = _row_type(header, place)
    count = _point_count(header, place)
    pose = _viewpoint(header, place)
    match header["DATA"]:
        case (["ascii"], _):
            xyz = read_table(
                content[start:],
                place=place,
                first_line=line_count + 1,
                rows=count,
                column_count=column_count,
                columns=columns,
                must_end=True,
            )
        case (["binary"], _):
            xyz = _read_binary(content, place, row, count, start)
        case (["binary_compressed"], _):
            xyz = _read_compressed(content, place, row, count, start)
        case (words, number):
            raise ROSConfigError(
                f"{place}:{number}: DATA `{' '.join(words)}` is not ascii, binary or binary_compressed"
            )
    return xyz, pose


def _read_binary(content: bytes, place: Path, row: np.dtype, count: int, start: int) -> Float64:
    end = start + count * row.itemsize
    if end > len(content):
        raise ROSConfigError(
            f"{place}: byte {len(content)}: the file ends inside point "
            f"{(len(content) - start) // row.itemsize} of {count}"
        )
    # Writers that map the file pad it with zeros to a whole page; anything else is not padding.
    if content[end:].strip(b"\0"):
        raise ROSConfigError(f"{place}: byte {end}: the points are complete, but the file goes on")
    table = np.frombuffer(content, dtype=row, count=count, offset=start)
    return np.column_stack([as_float64(table[axis]) for axis in "xyz"])


def _read_compressed(content: bytes, place: Path, row: np.dtype, count: int, start: int) -> Float64:
    if start + 8 > len(content):
        raise ROSConfigError(
            f"{place}: byte {len(content)}: the file ends before the sizes of the compressed data"
        )
    packed_size, size = struct.unpack_from("<II", content, start)
    if size != count * row.itemsize:
        raise ROSConfigError(
            f"{place}: byte {start + 4}: {size} bytes are compressed, {count} points of {row.itemsize} "
            f"bytes are {count * row.itemsize}"
        )
    begin, end = start + 8, start + 8 + packed_size
    if end > len(content):
        raise ROSConfigError(
            f"{place}: byte {len(content)}: the file ends inside the compressed data, which ends at byte "
            f"{end}"
        )
    if content[end:].strip(b"\0"):
        raise ROSConfigError(f"{place}: byte {end}: the compressed data is complete, but the file goes on")
    unpacked = unpack_lzf(content[begin:end], size=size, place=place, start=begin)
    # Column by column: all x, then all y, … unlike the rows of the other kinds.
    xyz = np.empty((count, 3))
    for index, axis in enumerate("xyz"):
        kind, offset = row.fields[axis][:2]  # type: ignore[index]
        xyz[:, index] = as_float64(np.frombuffer(unpacked, dtype=kind, count=count, offset=offset * count))
    return xyz


def unpack_lzf(packed: bytes, *, size: int, place: Path, start: int) -> bytes:
    """Returns LZF data unpacked to exactly `size` bytes (the format of liblzf).

    A control byte below 32 is followed by that many bytes and one more, as they are. Any other holds in its
    top three bits a length (7: the next byte is added) and in the rest, with the next byte, how far back to
    copy from.
    """
    out = bytearray()
    at = 0
    try:
        while at < len(packed):
            control, place_of_control = packed[at], at
            at += 1
            if control < 32:
                if at + control + 1 > len(packed):
                    raise IndexError
                out += packed[at : at + control + 1]
                at += control + 1
            else:
                length = control >> 5
                if length == 7:
                    length += packed[at]
                    at += 1
                source = len(out) - ((control & 31) << 8) - packed[at] - 1
                at += 1
                if source < 0:
                    raise ROSConfigError(
                        f"{place}: byte {start + place_of_control}: compressed data refers to {-source} "
                        "bytes before its beginning"
                    )
                _copy_back(out, source, length + 2)
            if len(out) > size:
                raise ROSConfigError(
                    f"{place}: byte {start + place_of_control}: compressed data unpacks to more than "
                    f"{size} bytes"
                )
    except IndexError:
        raise ROSConfigError(
            f"{place}: byte {start + len(packed)}: the compressed data ends inside an instruction"
        ) from None
    if len(out) != size:
        raise ROSConfigError(
            f"{place}: byte {start + len(packed)}: compressed data unpacks to {len(out)} bytes, {size} "
            "are announced"
        )
    return bytes(out)


def _copy_back(out: bytearray, source: int, length: int) -> None:
    # A copy may reach into what it is writing: then the copied bytes repeat.
    copied = out[source : source + length]
    while len(copied) < length:
        copied += copied[: length - len(copied)]
    out += copied


def _read_header(content: bytes, place: Path) -> tuple[dict[str, tuple[list[str], int]], int, int]:
    head = content[:HEADER_SIZE_MAX]
    header: dict[str, tuple[list[str], int]] = {}
    offset, number = 0, 0
    while "DATA" not in header:
        end = head.find(b"\n", offset)
        if end < 0:
            raise ROSConfigError(
                f"{place}:{number + 1}: the header has no `DATA` line within {len(head)} bytes"
            )
        line, number = head[offset:end].decode("ascii", errors="replace").strip(), number + 1
        offset = end + 1
        if not line or line.startswith("#"):
            continue
        key, *words = line.split()
        if key not in _KEYS or key in header or not words:
            raise ROSConfigError(
                f"{place}:{number}: `{line[:80]}` is not one of {', '.join(_KEYS)}, each once and with values"
            )
        header[key] = (words, number)
    missing = [
        key for key in ("VERSION", "FIELDS", "SIZE", "TYPE", "WIDTH", "HEIGHT", "POINTS") if key not in header
    ]
    if missing:
        raise ROSConfigError(f"{place}:{number}: the header has no {', '.join(missing)}")
    version, at = header["VERSION"]
    if version not in (["0.7"], [".7"]):
        raise ROSConfigError(f"{place}:{at}: VERSION `{' '.join(version)}` is not read, only 0.7")
    return header, offset, number


def _row_type(header: dict[str, tuple[list[str], int]], place: Path) -> tuple[np.dtype, list[int], int]:
    """Returns the dtype of a row and, for rows of text, which words are x, y, z and how many there are."""
    names, at = header["FIELDS"]
    sizes, kinds = header["SIZE"][0], header["TYPE"][0]
    counts = header.get("COUNT", (["1"] * len(names), at))[0]
    if not len(names) == len(sizes) == len(kinds) == len(counts):
        raise ROSConfigError(
            f"{place}:{at}: {len(names)} FIELDS need as many SIZE, TYPE and COUNT, got {len(sizes)}, "
            f"{len(kinds)} and {len(counts)}"
        )
    missing = [axis for axis in "xyz" if names.count(axis) != 1]
    if missing:
        raise ROSConfigError(
            f"{place}:{at}: FIELDS must have x, y and z once each, not so: {', '.join(missing)}"
        )
    row: list[tuple[str, str, tuple[int, ...]]] = []
    first_word: dict[str, int] = {}
    words = 0
    for index, (name, size, kind, count) in enumerate(zip(names, sizes, kinds, counts, strict=True)):
        if (kind, size) not in _TYPES:
            raise ROSConfigError(
                f"{place}:{header['TYPE'][1]}: field `{name}` has TYPE {kind[:8]} and SIZE {size[:8]}, "
                "which is no number"
            )
        times = int(count) if count.isascii() and count.isdigit() and len(count) <= 5 else 0
        if not 1 <= times <= ROW_SIZE_MAX or (name in ("x", "y", "z") and times != 1):
            raise ROSConfigError(f"{place}: field `{name}` has COUNT {count[:8]}, which is not possible")
        # Padding fields share the name `_`; only x, y and z are looked up by name.
        row.append(
            (
                name if name in ("x", "y", "z") else f"field {index}",
                _TYPES[kind, size],
                (times,) if times > 1 else (),
            )
        )
        first_word[name] = words
        words += times
    dtype = np.dtype(row)
    if dtype.itemsize > ROW_SIZE_MAX:
        raise ROSConfigError(
            f"{place}:{at}: a point has {dtype.itemsize} bytes, at most {ROW_SIZE_MAX} are read"
        )
    return dtype, [first_word[axis] for axis in "xyz"], words


def _point_count(header: dict[str, tuple[list[str], int]], place: Path) -> int:
    numbers = []
    for key in ("WIDTH", "HEIGHT", "POINTS"):
        words, at = header[key]
        if len(words) != 1 or not words[0].isascii() or not words[0].isdigit() or len(words[0]) > 12:
            raise ROSConfigError(f"{place}:{at}: {key} `{' '.join(words)[:80]}` is not a count")
        numbers.append(int(words[0]))
    width, height, count = numbers
    at = header["POINTS"][1]
    if width * height != count:
        raise ROSConfigError(
            f"{place}:{at}: POINTS is {count}, WIDTH * HEIGHT is {width} * {height} = {width * height}"
        )
    if count > POINTS_MAX:
        raise ROSConfigError(f"{place}:{at}: POINTS is {count}, at most {POINTS_MAX} are read")
    return count


def _viewpoint(header: dict[str, tuple[list[str], int]], place: Path) -> Float64 | None:
    if "VIEWPOINT" not in header:
        return None
    words, at = header["VIEWPOINT"]
    try:
        numbers = [float(word) for word in words]
    except ValueError:
        numbers = []
    if (
        len(numbers) != 7
        or not all(map(math.isfinite, numbers))
        or not abs(math.hypot(*numbers[3:]) - 1.0) <= 1e-3
    ):
        raise ROSConfigError(
            f"{place}:{at}: VIEWPOINT `{' '.join(words)[:80]}` is not tx ty tz qw qx qy qz with a unit "
            "quaternion"
        )
    if tuple(numbers) == _IDENTITY:
        return None
    x, y, z, qw, qx, qy, qz = numbers
    return np.column_stack([rotation_of_quaternion((qx, qy, qz, qw)), (x, y, z)])
