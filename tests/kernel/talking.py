# SPDX-License-Identifier: Apache-2.0
"""What tests say to a kernel, and how they read what it says."""

import time

import numpy as np

import lastgate as lg
from lastgate import _core


def now_world(*primitives, **fields) -> lg.World:
    return lg.World(primitives=primitives, stamp_s=time.time(), **fields)


def still(kernel: lg.KernelClient) -> None:
    """Says that every joint was measured at zero just now."""
    kernel.observe(np.zeros(kernel.n_dof))


def submit(
    kernel: lg.KernelClient, rows, mode=lg.ControlMode.JOINT_POSITION, *, at=None, **labels
) -> lg.Verdict:
    """Measures the joints, at zero unless told, and proposes rows."""
    kernel.observe(np.zeros(kernel.n_dof) if at is None else np.asarray(at, dtype=np.float64))
    return kernel.submit(lg.ActionChunk(np.asarray(rows, dtype=np.float64), mode=mode, **labels))


def everything_in(reader: _core.RingReader) -> list:
    """Returns what a ring holds that was not read yet."""
    found = []
    while (message := reader.read(0.05)) is not None:
        found.append(message)
    return found
