# SPDX-License-Identifier: Apache-2.0
"""Waiting for what another process or a browser does in its own time, on machines that are busy."""

import time
from collections.abc import Callable
from typing import Any

import numpy as np

import lastgate as lg
from lastgate.contracts import CATALOGUE


def until(holds: Callable[[], Any], seconds: float = 40.0) -> Any:
    """Waits until something holds and returns it."""
    deadline = time.monotonic() + seconds
    while True:
        found = holds()
        if found:
            return found
        assert time.monotonic() < deadline, "it did not come to hold"
        time.sleep(0.02)


def submit_fresh(
    kernel: lg.KernelClient,
    rows: np.ndarray,
    *,
    primitives: list[lg.WorldCollisionPrimitive] | None = None,
    points: np.ndarray | None = None,
) -> lg.Verdict:
    """Hands a chunk in from its first row; again, when a busy machine let the data grow old on the way."""
    while True:
        if primitives is not None:
            kernel.publish_world(
                lg.World(primitives=primitives, points=points, stamp_s=time.time(), world_id="room")
            )
        kernel.observe(np.ascontiguousarray(rows[0]))
        verdict = kernel.submit(rows)
        if verdict.accepted or CATALOGUE[verdict.violations[0].code].response != "stale":
            return verdict
