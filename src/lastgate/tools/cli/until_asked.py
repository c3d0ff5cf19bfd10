# SPDX-License-Identifier: Apache-2.0
"""Runs until the user or a signal asks for the end, or for so long."""

import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def until_asked(seconds: float | None) -> Iterator[Callable[[], bool]]:
    """Yields a function that tells whether to go on: no SIGINT, no SIGTERM, and not yet so many seconds."""
    deadline = None if seconds is None else time.monotonic() + seconds
    asked: list[int] = []
    previous = {
        number: signal.signal(number, lambda number, _: asked.append(number))
        for number in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        yield lambda: not asked and (deadline is None or time.monotonic() < deadline)
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
