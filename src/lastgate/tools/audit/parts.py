# SPDX-License-Identifier: Apache-2.0
"""The finished parts of an audit on disk, so that one that was cut off goes on where it was."""

import json
import os
from pathlib import Path
from typing import Any

from lastgate.contracts import ROSConfigError


class PartStore:
    """Keeps finished parts under a folder; parts of another job are thrown away.

    Raises:
        ROSConfigError: The folder cannot be written.
    """

    def __init__(self, folder: Path, *, fingerprint: str, parts: int) -> None:
        self._folder = folder / "parts"
        self._parts = parts
        self._key = {"fingerprint": fingerprint, "parts": parts}
        self.reused = 0
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            if self._read(self._folder / "job.json") != self._key:
                for path in self._folder.glob("part-*.json"):
                    path.unlink()
                self._write(self._folder / "job.json", self._key)
        except OSError as error:
            raise ROSConfigError(f"cannot write to `{folder}`: {error.strerror}") from None
        self.finished = {part for part in range(parts) if self._read(self._path(part)) is not None}
        self.reused = len(self.finished)

    @property
    def missing(self) -> list[int]:
        """Parts that are left to do."""
        return [part for part in range(self._parts) if part not in self.finished]

    def add(self, part: int, episodes: list[dict[str, Any]]) -> None:
        """Writes one part whole or not at all."""
        self._write(self._path(part), episodes)
        self.finished.add(part)

    def load(self, part: int) -> list[dict[str, Any]]:
        """Returns the episodes of a finished part."""
        found = self._read(self._path(part))
        if found is None:
            raise ROSConfigError(f"{self._path(part)}: is gone\n\nhint: run the same command again")
        return found

    def _path(self, part: int) -> Path:
        return self._folder / f"part-{part:06d}.json"

    def _write(self, path: Path, document: Any) -> None:
        unfinished = path.with_suffix(".tmp")
        # The caller that makes the document writes NaN as null; here it would be a bug.
        unfinished.write_text(json.dumps(document, allow_nan=False), encoding="utf-8")
        os.replace(unfinished, path)

    def _read(self, path: Path) -> Any:
        try:
            return json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
