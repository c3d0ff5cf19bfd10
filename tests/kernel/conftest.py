# SPDX-License-Identifier: Apache-2.0
"""Kernels for tests: each under a name of its own, with a latch of its own, and gone at the end."""

import itertools
import os
from pathlib import Path

import pytest

import lastgate as lg

_numbers = itertools.count()


@pytest.fixture
def start_kernel(tmp_path: Path):
    """Starts kernels for a manifest and ends them with the test."""
    running: list[lg.KernelClient] = []

    def start(
        manifest, *, rate_hz: float = 10.0, instance: str | None = None, deadman: bool = True, **settings
    ) -> lg.KernelClient:
        robot = lg.RobotDescription(**manifest) if isinstance(manifest, dict) else manifest
        client = lg.KernelClient(
            robot,
            rate_hz=rate_hz,
            instance=instance or f"test-{os.getpid()}-{next(_numbers)}",
            state_dir=tmp_path,
            deadman=deadman,
            settings=lg.KernelSettings(**settings),
        )
        running.append(client)
        return client

    yield start
    for client in running:
        client.close()
