# SPDX-License-Identifier: Apache-2.0
"""Set before anything loads NumPy: `lastgate.cli.common_sums` says why, and starts commands again that lack it."""

import os
from pathlib import Path

if Path("/proc/cpuinfo").exists() and "avx512f" in Path("/proc/cpuinfo").read_text().split():
    os.environ.setdefault("OPENBLAS_CORETYPE", "Haswell")
