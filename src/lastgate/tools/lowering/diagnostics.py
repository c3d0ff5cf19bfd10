# SPDX-License-Identifier: Apache-2.0
"""Everything wrong with one description, collected so that one run reports all of it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from lastgate.contracts.exceptions import ROSConfigError


@dataclass(frozen=True)
class Diagnostic:
    """One problem at one place."""

    file: str
    line: int | None
    message: str

    def __str__(self) -> str:
        place = self.file if self.line is None else f"{self.file}:{self.line}"
        return f"{place}: {self.message}"


class DescriptionError(ROSConfigError):
    """Raised when a description cannot be lowered; carries every problem found, not only the first."""

    def __init__(self, diagnostics: Iterable[Diagnostic]) -> None:
        self.diagnostics = tuple(diagnostics)
        super().__init__("\n".join(str(diagnostic) for diagnostic in self.diagnostics))


class LoweringError(ROSConfigError):
    """Raised when a sound description could not be lowered or a result could not be proved."""
