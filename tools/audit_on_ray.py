# SPDX-License-Identifier: Apache-2.0
"""Audits a synthetic dataset on Ray with two local workers, kills one midway, and compares the report byte for byte.

`python tools/audit_on_ray.py DATASET --robot R --like REPORT -o FOLDER`. Exit code 0 if the files are those of REPORT,
1 if not, 2 if no worker was there to be killed.
"""

import argparse
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

FILES = ("report.html", "findings.parquet", "episodes.parquet")
PARTS_BEFORE_DEATH = 3


def workers_of(program: subprocess.Popen) -> list[int]:
    """Returns the Ray workers below a process that are auditing."""
    below = {program.pid}
    found = []
    for _ in range(6):  # program, raylet, worker: deeper than Ray nests
        for entry in Path("/proc").glob("[0-9]*"):
            try:
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except (OSError, ValueError):
                continue
            if parent in below:
                below.add(int(entry.name))
    for number in below - {program.pid}:
        try:
            if "ray::audit_part" in (Path("/proc") / str(number) / "cmdline").read_text():
                found.append(number)
        except OSError:
            continue
    return sorted(found)


def kill_one_midway(program: subprocess.Popen, parts: Path) -> int | None:
    """Kills a worker once some parts are done; returns which, or None if the audit ended before."""
    while program.poll() is None:
        workers = workers_of(program)
        if workers and len(list(parts.glob("part-*.json"))) >= PARTS_BEFORE_DEATH:
            os.kill(workers[0], signal.SIGKILL)
            return workers[0]
        time.sleep(0.1)
    return None


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("dataset", type=Path)
    parser.add_argument("--robot", required=True)
    parser.add_argument("--like", type=Path, required=True, help="folder of the report to compare with")
    parser.add_argument("-o", "--output", type=Path, required=True)
    chosen = parser.parse_args()
    command = [Path(sys.executable).with_name("lastgate"), "audit", chosen.dataset, "--robot", chosen.robot]
    command += ["--world", chosen.dataset / "world.json", "--ray", "local", "--workers", "2"]
    program = subprocess.Popen([*command, "-o", chosen.output], stdout=subprocess.DEVNULL)
    killed = kill_one_midway(program, chosen.output / "parts")
    code = program.wait()
    if killed is None:
        print("error: the audit ended before a worker could be killed", file=sys.stderr)
        return 2
    same = [(chosen.like / name).read_bytes() == (chosen.output / name).read_bytes() for name in FILES]
    for name, equal in zip(FILES, same, strict=True):
        print(f"on Ray, worker {killed} killed midway: {name} {'is the same' if equal else 'DIFFERS'}")
    return 0 if all(same) and code in (0, 1) else 1


if __name__ == "__main__":
    sys.exit(main())
