# SPDX-License-Identifier: Apache-2.0
"""How much code an accepted chunk runs: it should stay in the first-level instruction cache of one core.

Counted from the instructions that ran, not from the sizes of functions: most of a function may be for what did not
happen.
"""

import os
import re
import shutil
import subprocess
from pathlib import Path

LINE_BYTES = 64

# `0x1234 COUNT`, as callgrind writes it when asked for instructions and for nothing to be shortened.
_INSTRUCTION = re.compile(r"^0x([0-9a-f]+) ")


def touched_bytes(profile: str) -> int:
    """Returns the bytes of all cache lines in which an instruction of the profile begins."""
    lines = {
        int(match[1], 16) // LINE_BYTES for match in map(_INSTRUCTION.match, profile.splitlines()) if match
    }
    return LINE_BYTES * len(lines)


def hot_code_bytes(program: Path, config: Path, scene: Path, folder: Path) -> int | None:
    """Returns the code that `Gate::check` ran for the scene's chunk, in bytes of whole cache lines.

    None where Valgrind is not installed.
    """
    if shutil.which("valgrind") is None:
        return None
    out = folder / "callgrind.out"
    command = [
        "valgrind",
        "--tool=callgrind",
        "--dump-instr=yes",
        "--compress-pos=no",
        "--toggle-collect=lastgate::Gate::check(*",
        f"--callgrind-out-file={out}",
        str(program),
        str(config),
        str(scene),
    ]
    # The linker's work at the first call of a function is not the gate's.
    environment = {**os.environ, "LD_BIND_NOW": "1"}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    if done.returncode != 0:
        raise SystemExit(f"error: {program.name} failed under valgrind\n{done.stderr}")
    found = touched_bytes(out.read_text())
    if found == 0:
        raise SystemExit("error: callgrind saw no instruction of Gate::check")
    return found
