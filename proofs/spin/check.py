#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Searches every state of the protocol models with Spin, then plants each bug and asks that Spin finds it.

Usage: check.py BUILD_FOLDER. Exit 0 when every model holds and every planted bug is found, 2 where Spin is missing.
"""

import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
# Model, the bugs that can be planted in it, and whether it has a property about what happens in the end.
MODELS = {
    "ring": (["BUG_NO_WRITING_MARK", "BUG_TURN_NOT_READ_AGAIN"], False),
    "stop_or_pass": (
        ["BUG_TWO_STEPS", "BUG_ASKS_AGAIN", "BUG_HEARD_BUT_NOT_LATCHED", "BUG_RESET_FORGETS_STOPS"],
        True,
    ),
    "mailbox": (["BUG_LOAD_THEN_STORE", "BUG_RETIRES_FIRST"], False),
    "latch": (["BUG_DEATH_IGNORED", "BUG_ANY_ACKNOWLEDGEMENT", "BUG_RESET_WHILE_HELD"], False),
}


@dataclass(frozen=True)
class Search:
    """What one exhaustive search found."""

    errors: int
    states: int
    complete: bool


def search(build: Path, model: str, *, bug: str = "", in_the_end: bool = False) -> Search:
    """Compiles and runs the search of one model; a depth that does not suffice makes it incomplete."""
    folder = build / "-".join(filter(None, [model, bug, "ltl" if in_the_end else ""]))
    folder.mkdir(parents=True, exist_ok=True)
    defines = [f"-D{name}" for name in (bug, "LTL" if in_the_end else "") if name]
    translate = ["spin", *defines, "-a", str(HERE / f"{model}.pml")]
    subprocess.run(translate, cwd=folder, check=True, capture_output=True)
    kind = ["-DNFAIR=3"] if in_the_end else ["-DSAFETY"]
    compile_it = ["cc", "-O1", "-w", "-DCOLLAPSE", "-DNOREDUCE", *kind, "-o", "pan", "pan.c"]
    subprocess.run(compile_it, cwd=folder, check=True, capture_output=True)
    how = ["-a", "-f"] if in_the_end else []
    searched = ["./pan", "-m2000000", *how]
    found = subprocess.run(searched, cwd=folder, check=False, capture_output=True, text=True).stdout
    errors = re.search(r"errors: (\d+)", found)
    states = re.search(r"(\d+) states, stored", found)
    if errors is None or states is None:
        raise RuntimeError(f"{model} {bug}: the search did not end:\n{found}")
    complete = "max search depth too small" not in found and "Search not completed" not in found
    return Search(int(errors[1]), int(states[1]), complete)


def main(build: Path) -> int:
    """Prints one line per search."""
    if shutil.which("spin") is None or shutil.which("cc") is None:
        print("spin and a C compiler are needed: apt-get install spin gcc", file=sys.stderr)
        return 2
    failed = False
    for model, (bugs, has_end) in MODELS.items():
        for in_the_end in (False, True) if has_end else (False,):
            found = search(build, model, in_the_end=in_the_end)
            good = found.errors == 0 and found.complete
            failed |= not good
            print(
                f"{model}{' (in the end)' if in_the_end else ''}: {found.states} states, "
                f"{'holds in all of them' if good else 'FAILS or incomplete'}"
            )
        for bug in bugs:
            seen = search(build, model, bug=bug).errors > 0
            seen = seen or (has_end and search(build, model, bug=bug, in_the_end=True).errors > 0)
            failed |= not seen
            print(f"{model} with {bug}: {'found' if seen else 'NOT FOUND'}")
    return int(failed)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: check.py BUILD_FOLDER")
    sys.exit(main(Path(sys.argv[1]).resolve()))
