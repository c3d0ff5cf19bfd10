# SPDX-License-Identifier: Apache-2.0
"""Lowers with the same arithmetic on every processor, so that the same robot gives the same bytes.

OpenBLAS and NumPy choose their inner loops by processor, and the last bit of a sum depends on them. A fit that starts
from another last bit ends elsewhere: a volume as good, with other bytes. Both read the environment when they are
loaded, so a command that lowers is run by a process that was started with the choice made.
"""

from __future__ import annotations

import os
import sys

# What every x86-64 processor with AVX2 can run.
_KERNELS = "Haswell"


def same_arithmetic() -> dict[str, str] | None:
    """Returns the environment that makes the choice, or None on a processor that cannot run it."""
    import numpy as np

    loops = np.show_config(mode="dicts")["SIMD Extensions"]
    here = {*loops["baseline"], *loops.get("found", ())}
    # NumPy groups what it tests for, by other names in other versions.
    if not here & {"AVX2", "X86_V3"}:
        return None
    known = here.union(loops.get("not found", ()))
    wider = sorted(name for name in known if name.startswith(("AVX512", "X86_V4")))
    return {"OPENBLAS_CORETYPE": _KERNELS, "NPY_DISABLE_CPU_FEATURES": " ".join(wider)}


def rerun_with_same_arithmetic() -> None:
    """Starts this program again in place of itself, unless it was started with the choice made or cannot run it."""
    wanted = same_arithmetic()
    if wanted is None:
        print(
            "warning: this processor cannot compute as those the robot library was lowered on: bytes may differ",
            file=sys.stderr,
        )
        return
    if wanted.items() <= os.environ.items():
        return
    sys.stdout.flush()
    sys.stderr.flush()
    os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], {**os.environ, **wanted})
