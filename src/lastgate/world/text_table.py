# SPDX-License-Identifier: Apache-2.0
"""Reads rows of numbers written as text, and says in which line a row is not one."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from lastgate.contracts import ROSConfigError
from lastgate.contracts.arrays import Float64


def read_table(
    content: bytes,
    *,
    place: Path,
    first_line: int,
    rows: int,
    column_count: int,
    columns: Sequence[int],
    skipped_lines: int = 0,
    must_end: bool,
) -> Float64:
    """Returns some columns of a table, (rows, len(columns)); `nan` and `inf` are numbers here.

    Raises:
        ROSConfigError: Too few or too many rows, a row of another length, or a word that is no number.
    """
    # An announced row takes at least one digit per column and as many separators.
    if rows * column_count > len(content):
        raise ROSConfigError(
            f"{place}:{first_line}: {rows} rows are announced, the file is too short for them"
        )
    lines = content.split(b"\n")
    while lines and not lines[-1].strip():
        lines.pop()
    lines = lines[skipped_lines:]
    first_line += skipped_lines
    if len(lines) < rows:
        raise ROSConfigError(
            f"{place}:{first_line + len(lines)}: the file ends after {len(lines)} of {rows} rows"
        )
    if must_end and len(lines) > rows:
        raise ROSConfigError(
            f"{place}:{first_line + rows}: the {rows} rows are complete, but the file goes on"
        )
    table = np.empty((rows, len(columns)))
    for index in range(rows):
        words = lines[index].split()
        if len(words) != column_count:
            raise ROSConfigError(
                f"{place}:{first_line + index}: has {len(words)} numbers, expected {column_count}"
            )
        try:
            table[index] = [float(words[column]) for column in columns]
        except ValueError:
            text = lines[index].decode("ascii", errors="replace").strip()
            raise ROSConfigError(
                f"{place}:{first_line + index}: `{text[:80]}` is not made of numbers"
            ) from None
    return table
