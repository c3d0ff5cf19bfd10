# SPDX-License-Identifier: Apache-2.0
"""Which SIMD build decides: the fastest that this machine runs, or the one that a variable names."""

from lastgate import _core
from lastgate.contracts import ROSConfigError
from lastgate.contracts.renamed_names import read_variable

# Chooses the SIMD build; verdicts are the same, only the speed differs.
SIMD_VARIABLE = "LASTGATE_SIMD"
# The fastest first.
_SIMD_BUILDS = (_core.SimdBuild.avx2, _core.SimdBuild.neon, _core.SimdBuild.generic)


def chosen_simd() -> str:
    """Returns `avx2`, `neon` or `generic`: what `LASTGATE_SIMD` asks for, else the fastest this machine runs.

    Raises:
        ROSConfigError: The variable names no build, or one this machine cannot run.
    """
    available = [build.name for build in _SIMD_BUILDS if _core.has_simd_build(build)]
    variable, wanted = read_variable(SIMD_VARIABLE, available[0])
    if wanted not in available:
        raise ROSConfigError(f"{variable}={wanted} cannot be used here; available: {', '.join(available)}")
    return wanted


def simd_build() -> _core.SimdBuild:
    """Returns the chosen SIMD build as the core knows it."""
    return _core.SimdBuild[chosen_simd()]
