# SPDX-License-Identifier: Apache-2.0
"""Deprecated alias of `lastgate.adapters.rejection`, kept for one release."""

import warnings
from typing import Any

from lastgate.adapters import rejection

_RENAMED = {"Refusal": "Rejection", "NotExecuted": "NotExecuted"}


def __getattr__(name: str) -> Any:
    """Returns what the name stands for, with a warning."""
    if name not in _RENAMED:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    today = _RENAMED[name]
    warnings.warn(
        f"lastgate.adapters.refusal.{name} is lastgate.adapters.rejection.{today}",
        DeprecationWarning,
        stacklevel=2,
    )
    return getattr(rejection, today)
