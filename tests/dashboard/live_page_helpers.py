# SPDX-License-Identifier: Apache-2.0
"""Waiting for what another process or a browser does in its own time."""

import time
from collections.abc import Callable
from typing import Any


def until(holds: Callable[[], Any], seconds: float = 40.0) -> Any:
    """Waits until something holds and returns it."""
    deadline = time.monotonic() + seconds
    while True:
        found = holds()
        if found:
            return found
        assert time.monotonic() < deadline, "it did not come to hold"
        time.sleep(0.02)
