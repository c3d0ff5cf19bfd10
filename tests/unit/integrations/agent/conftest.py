# SPDX-License-Identifier: Apache-2.0
import pytest


@pytest.fixture(autouse=True)
def machine_without_kernels(monkeypatch):
    """Other tests, and other people, run kernels of the same robots on this machine."""
    monkeypatch.setattr("lastgate.integrations.agent.kernel_latch.running_kernels", lambda: [])
