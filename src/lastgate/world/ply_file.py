# SPDX-License-Identifier: Apache-2.0
"""Reads the vertices of PLY files: ascii, binary little endian, binary big endian."""

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from lastgate.contracts import ROSConfigError
from lastgate.contracts.arrays import Float64
from lastgate.world.finite_numbers import as_float64
from lastgate.world.points import POINTS_MAX
from lastgate.world.text_table import read_table

_TYPES = {
    "char": "i1", "int8": "i1", "uchar": "u1", "uint8": "u1", "short": "i2", "int16": "i2", "ushort": "u2",
    "uint16": "u2", "int": "i4", "int32": "i4", "uint": "u4", "uint32": "u4", "float": "f4", "float32": "f4",
    "double": "f8", "float64": "f8",
}  # fmt: skip
_BYTE_ORDERS = {"ascii": "", "binary_little_endian": "<", "binary_big_endian": ">"}

# A header names a dozen properties; a longer one is not a header.
HEADER_SIZE_MAX = 64 * 1024


@dataclass(slots=True)
class _Element:
    name: str
    count: int
    columns: list[tuple[str, str]] = field(default_factory=list)
    has_list: bool = False


@dataclass(frozen=True, slots=True)
class _Header:
    byte_order: str
    elements: list[_Element]
    end: int
    line_count: int


def read_ply(content: bytes, place: Path) -> Float64:
    """Returns the x, y, z of all vertices; what comes after them, such as faces, is not read.

    Raises:
        ROSConfigError: Malformed, truncated, or with elements of unknown length before the vertices.
    """
    header = _read_header(content, place)
    before: list[_Element] = []
    for element in header.elements:
        if element.name == "vertex":
            _require_coordinates(element, place)
            is_last = element is header.elements[-1]
            if header.byte_order:
                return _read_binary(content, place, header, before, element, is_last=is_last)
            names = [name for name, _ in element.columns]
            return read_table(
                content[header.end :],
                place=place,
                first_line=header.line_count + 1,
                skipped_lines=sum(other.count for other in before),
                rows=element.count,
                column_count=len(names),
                columns=[names.index(axis) for axis in "xyz"],
                must_end=is_last,
            )
        if element.has_list and element.count:
            raise ROSConfigError(
                f"{place}: element `{element.name}` has a list and comes before `vertex`: "
                "write the vertices first"
            )
        before.append(element)
    raise ROSConfigError(
        f"{place}: has no element `vertex`; elements: {', '.join(e.name for e in header.elements) or 'none'}"
    )


def _require_coordinates(vertex: _Element, place: Path) -> None:
    names = [name for name, _ in vertex.columns]
    missing = [axis for axis in "xyz" if axis not in names]
    if missing or vertex.has_list:
        what = f"has no {', '.join(missing)}" if missing else "has a list property"
        raise ROSConfigError(f"{place}: element `vertex` {what}; properties: {', '.join(names) or 'none'}")
    if vertex.count > POINTS_MAX:
        raise ROSConfigError(f"{place}: has {vertex.count} vertices, at most {POINTS_MAX} are read")


def _read_binary(
    content: bytes, place: Path, header: _Header, before: list[_Element], vertex: _Element, *, is_last: bool
) -> Float64:
    start = header.end + sum(other.count * _row_type(other, header.byte_order).itemsize for other in before)
    row = _row_type(vertex, header.byte_order)
    end = start + vertex.count * row.itemsize
    if end > len(content):
        raise ROSConfigError(
            f"{place}: byte {len(content)}: the file ends inside vertex "
            f"{max(0, len(content) - start) // row.itemsize} of {vertex.count}"
        )
    if is_last and end != len(content):
        raise ROSConfigError(f"{place}: byte {end}: the vertices are complete, but the file goes on")
    table = np.frombuffer(content, dtype=row, count=vertex.count, offset=start)
    return np.column_stack([as_float64(table[axis]) for axis in "xyz"])


def _row_type(element: _Element, byte_order: str) -> np.dtype:
    return np.dtype([(name, byte_order + code) for name, code in element.columns])


def _require_first(name: str, known: list[str], what: str) -> None:
    if name in known:
        raise ROSConfigError(f"{what} is declared twice")


def _read_header(content: bytes, place: Path) -> _Header:
    head = content[:HEADER_SIZE_MAX]
    if head[:4].rstrip(b"\r\n ") != b"ply":
        raise ROSConfigError(f"{place}:1: does not begin with `ply`")
    byte_order: str | None = None
    elements: list[_Element] = []
    offset, number = 0, 0
    while True:
        end = head.find(b"\n", offset)
        if end < 0:
            raise ROSConfigError(
                f"{place}:{number + 1}: the header has no `end_header` within {len(head)} bytes"
            )
        line, number = head[offset:end].decode("ascii", errors="replace").strip(), number + 1
        offset = end + 1
        words = line.split()
        where = f"{place}:{number}: `{line[:80]}`"
        match words:
            case ["end_header"]:
                break
            case ["ply"] if number == 1:
                continue
            case [] | ["comment" | "obj_info", *_]:
                continue
            case ["format", kind, "1.0"] if byte_order is None and kind in _BYTE_ORDERS:
                byte_order = _BYTE_ORDERS[kind]
            case ["element", name, count] if count.isascii() and count.isdigit() and len(count) <= 18:
                _require_first(name, [element.name for element in elements], f"{where}: the element")
                elements.append(_Element(name, int(count)))
            case ["property", "list", count_kind, kind, _] if (
                elements and {count_kind, kind} <= _TYPES.keys()
            ):
                elements[-1].has_list = True
            case ["property", kind, name] if elements and kind in _TYPES:
                _require_first(name, [known for known, _ in elements[-1].columns], f"{where}: the property")
                elements[-1].columns.append((name, _TYPES[kind]))
            case _:
                raise ROSConfigError(f"{where}: is no line of a PLY 1.0 header at this place")
    if byte_order is None:
        raise ROSConfigError(f"{place}:{number}: the header has no `format` line")
    return _Header(byte_order, elements, offset, number)
