# SPDX-License-Identifier: Apache-2.0
"""Builds with scikit-build-core, after one question: is there a compiler?

CMake answers that with pages; here it is one sentence.
"""

import os
import shutil
import sys

from scikit_build_core import build as _build

COMPILERS = ("c++", "g++", "clang++")

build_sdist = _build.build_sdist
get_requires_for_build_sdist = _build.get_requires_for_build_sdist


def require_compiler() -> None:
    """Ends the build in one sentence where there is no C++ compiler."""
    # Visual Studio's is not on PATH; CMake finds it by other ways.
    if sys.platform == "win32" or os.environ.get("CXX") or any(map(shutil.which, COMPILERS)):
        return
    raise SystemExit(
        "error: lastgate is built from source here and needs a C++20 compiler, which is not on PATH: "
        "`apt-get install g++`, or install a wheel (`make wheels` writes them to dist/)"
    )


def get_requires_for_build_wheel(config_settings: dict | None = None) -> list[str]:
    """Asked before anything is downloaded."""
    require_compiler()
    return _build.get_requires_for_build_wheel(config_settings)


def get_requires_for_build_editable(config_settings: dict | None = None) -> list[str]:
    """Asked before anything is downloaded."""
    require_compiler()
    return _build.get_requires_for_build_editable(config_settings)


def build_wheel(
    wheel_directory: str, config_settings: dict | None = None, metadata_directory: str | None = None
) -> str:
    """Compiles and packs a wheel."""
    require_compiler()
    return _build.build_wheel(wheel_directory, config_settings, metadata_directory)


def build_editable(
    wheel_directory: str, config_settings: dict | None = None, metadata_directory: str | None = None
) -> str:
    """Compiles, and points at the sources."""
    require_compiler()
    return _build.build_editable(wheel_directory, config_settings, metadata_directory)
