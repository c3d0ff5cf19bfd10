# SPDX-License-Identifier: Apache-2.0
"""The results of an audit as parquet: one table of episodes, one of findings."""

from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from lastgate.tools.audit.findings import Finding
from lastgate.tools.audit.parts import PartStore

_KINDS = {
    "str": pa.string(),
    "int": pa.int64(),
    "float": pa.float64(),
    "float | None": pa.float64(),
}
_EPISODES = pa.schema(
    [
        ("episode", pa.int64()),
        ("name", pa.string()),
        ("rows", pa.int64()),
        ("trouble", pa.string()),
        ("cut_off", pa.bool_()),
        ("min_clearance_m", pa.float64()),
        ("unchecked", pa.list_(pa.string())),
        ("findings", pa.int64()),
    ]
)
_FINDINGS = pa.schema(
    [
        ("episode", pa.int64()),
        *(
            (field.name, _KINDS[str(getattr(field.type, "__name__", field.type))])
            for field in fields(Finding)
        ),
    ]
)


def write_tables(store: PartStore, parts: int, folder: Path) -> None:
    """Writes episodes.parquet and findings.parquet, part by part."""
    with (
        pq.ParquetWriter(folder / "episodes.parquet", _EPISODES) as episodes,
        pq.ParquetWriter(folder / "findings.parquet", _FINDINGS) as findings,
    ):
        for part in range(parts):
            results = store.load(part)
            episodes.write_table(
                pa.Table.from_pylist(
                    [{**result, "findings": len(result["findings"])} for result in results], schema=_EPISODES
                )
            )
            rows = list(_finding_rows(results))
            if rows:
                findings.write_table(pa.Table.from_pylist(rows, schema=_FINDINGS))


def _finding_rows(results: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for result in results:
        for finding in result["findings"]:
            yield {"episode": result["episode"], **finding}
