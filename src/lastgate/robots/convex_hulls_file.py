# SPDX-License-Identifier: Apache-2.0
"""Reads and writes the convex hulls of a robot: whole numbers of a hundredth of a millimetre, one vertex per line."""

import hashlib
from collections.abc import Sequence
from pathlib import Path

from lastgate.contracts import ROSConfigError
from lastgate.contracts.convex_hulls import ConvexHullsFile, LinkHull

CONVEX_HULLS_NAME = "convex_pieces.txt"
UNITS_PER_M = 100_000
_FIRST_LINE = "lastgate-convex-pieces 1"
# 100 m, the largest robot the core takes.
_UNITS_MAX = 100 * UNITS_PER_M
# The largest file of the robot library is a tenth of this.
_SIZE_MAX = 4 * 1024 * 1024


def written_hulls(hulls: Sequence[LinkHull], *, comments: Sequence[str]) -> str:
    """Returns the text of a hulls file; every number must already be a whole number of units."""
    lines = [_FIRST_LINE, *(f"# {comment}" for comment in comments)]
    for hull in hulls:
        lines.append(f"piece {hull.link_name} {_units(hull.radius_m)} {len(hull.vertices_m)}")
        lines += [" ".join(str(_units(value)) for value in vertex) for vertex in hull.vertices_m]
    return "\n".join([*lines, "end", ""])


def _units(value_m: float) -> int:
    units = round(value_m * UNITS_PER_M)
    if abs(units / UNITS_PER_M - value_m) > 1e-12:
        raise ROSConfigError(f"a convex hull holds {value_m} m, which is no whole number of 0.01 mm")
    return units


def digest_of(text: str) -> str:
    """Returns the SHA-256 of a file's text."""
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


def load_convex_hulls(named: ConvexHullsFile, folder: Path) -> tuple[LinkHull, ...]:
    """Loads the hulls a manifest names, from its own folder.

    Raises:
        ROSConfigError: The file is missing, is not the one that was named, or is not a hulls file.
    """
    path = folder / named.file
    try:
        if path.stat().st_size > _SIZE_MAX:
            raise ROSConfigError(f"{path}: larger than {_SIZE_MAX} bytes")
        text = path.read_bytes().decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ROSConfigError(f"{path}: the convex hulls cannot be read: {error}") from None
    found = digest_of(text)
    if found != named.sha256:
        raise ROSConfigError(
            f"{path}: not the convex hulls that the manifest names: its SHA-256 is {found}, "
            f"expected {named.sha256}\n\nhint: `lastgate collision lower` writes both"
        )
    return read_convex_hulls(text, source=str(path))


def read_convex_hulls(text: str, *, source: str) -> tuple[LinkHull, ...]:
    """Parses the text of a hulls file; anything unexpected raises `ROSConfigError` with its line."""
    if len(text) > _SIZE_MAX:
        raise ROSConfigError(f"{source}: larger than {_SIZE_MAX} bytes")
    lines = text.split("\n")

    def refuse(number: int, why: str) -> ROSConfigError:
        return ROSConfigError(f"{source}:{number}: {why}")

    if lines[0] != _FIRST_LINE:
        raise refuse(1, f"expected `{_FIRST_LINE}`")
    at = 1
    while at < len(lines) and lines[at].startswith("#"):
        at += 1
    hulls: list[LinkHull] = []
    while at < len(lines) and lines[at] != "end":
        words = lines[at].split(" ")
        if len(words) != 4 or words[0] != "piece" or not words[1]:
            raise refuse(at + 1, "expected `piece LINK RADIUS CORNERS` or `end`")
        radius, count = _whole(words[2]), _whole(words[3])
        if radius is None or radius < 0 or count is None or count < 1:
            raise refuse(at + 1, "a radius is not below 0 and a hull has at least one vertex")
        vertices: list[tuple[float, float, float]] = []
        for number in range(at + 1, at + 1 + count):
            values = [_whole(word) for word in lines[number].split(" ")] if number < len(lines) else []
            x, y, z = values if len(values) == 3 else (None, None, None)
            if x is None or y is None or z is None:
                raise refuse(number + 1, "expected three whole numbers")
            vertices.append((x / UNITS_PER_M, y / UNITS_PER_M, z / UNITS_PER_M))
        hulls.append(LinkHull(words[1], radius / UNITS_PER_M, tuple(vertices)))
        at += 1 + count
    if lines[at:] != ["end", ""]:
        raise refuse(at + 1, "expected `end` and nothing after it")
    return tuple(hulls)


def _whole(word: str) -> int | None:
    digits = word.removeprefix("-")
    if not (digits.isascii() and digits.isdigit() and len(digits) <= 8):
        return None
    value = int(word)
    return value if abs(value) <= _UNITS_MAX else None
