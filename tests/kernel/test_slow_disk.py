# SPDX-License-Identifier: Apache-2.0
"""A disk may take seconds to say that it has kept something; no stop may wait for that."""

import shutil
import subprocess
import time

import numpy as np
import pytest
from fixtures.analytic_robots import stacked

from lastgate import SphereShape, _core

DISK_S = 3
SLOW_DISK = f"""
#include <unistd.h>
int fdatasync(int file) {{ (void)file; sleep({DISK_S}); return 0; }}
"""


@pytest.fixture
def slow_disk(tmp_path, monkeypatch):
    """Has every kernel of this test wait for its disk."""
    compiler = shutil.which("cc") or shutil.which("c++")
    assert compiler is not None, "needs the compiler that the kernel was built with"
    library = tmp_path / "slow_disk.so"
    command = [compiler, "-x", "c", "-shared", "-fPIC", "-o", str(library), "-"]
    subprocess.run(command, input=SLOW_DISK, text=True, check=True)
    monkeypatch.setenv("LD_PRELOAD", str(library))


def test_stop_does_not_wait_for_the_disk_and_a_reset_does(start_kernel, slow_disk):
    kernel = start_kernel(stacked(3), without_world=True, reset_cooldown_s=0.01)
    registration = _core.Registration(kernel.instance, "human")
    registration.press("first")
    time.sleep(0.1)
    assert kernel.status().latched
    began = time.monotonic()
    assert kernel.reset().success
    assert time.monotonic() - began > 0.9 * DISK_S  # it is answered when the disk has kept it
    kernel.observe(np.zeros(3))
    assert kernel.submit(np.zeros((1, 3))).accepted
    kernel.attach("ring0", SphereShape(radius_m=0.001), object_id="part")
    time.sleep(0.1)  # that is on its way to the disk
    began = time.monotonic()
    registration.press("second")
    while kernel.status().reason != "second" and time.monotonic() - began < DISK_S:
        time.sleep(0.001)
    took_s = time.monotonic() - began
    assert took_s < 1.0, f"the stop was heard after {took_s:.1f} s"
    kernel.observe(np.zeros(3))
    assert not kernel.submit(np.zeros((1, 3))).accepted
