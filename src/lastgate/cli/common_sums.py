# SPDX-License-Identifier: Apache-2.0
"""Sums that come out alike with and without AVX-512, for commands whose output is compared to the byte.

OpenBLAS adds in another order where a processor has AVX-512, and a descent turns the last bit into another volume.
Which order it takes is settled when NumPy is loaded, so a command that lowers starts itself again with the common one.
"""

import os
import sys
from pathlib import Path

_VARIABLE = "OPENBLAS_CORETYPE"
# What OpenBLAS runs on AVX2, on processors of both vendors.
_COMMON = "Haswell"


def has_wider_sums(cpu_info: Path = Path("/proc/cpuinfo")) -> bool:
    """Tells whether OpenBLAS would add in another order here than on processors without AVX-512."""
    try:
        return "avx512f" in cpu_info.read_text(encoding="utf-8", errors="replace").split()
    except OSError:
        return False


def use_common_sums() -> None:
    """Starts this command again with the common order where it would have another; a set variable is left alone."""
    if _VARIABLE in os.environ or not has_wider_sums():
        return
    sys.stdout.flush()
    sys.stderr.flush()
    program = [sys.executable, "-m", "lastgate.cli", *sys.argv[1:]]
    os.execve(sys.executable, program, {**os.environ, _VARIABLE: _COMMON})
