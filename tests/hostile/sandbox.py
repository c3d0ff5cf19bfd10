# SPDX-License-Identifier: Apache-2.0
"""Reads hostile inputs, each in a forked process with limits on memory, time and processor.

Started as `python -m hostile.sandbox READER`: imports what the reader needs once, then reads one path per line from
stdin and answers with one line of JSON: how the reader took it.
"""

import json
import os
import resource
import select
import signal
import sys
import time
import traceback
from pathlib import Path
from typing import Any

from hostile.readers import READERS, Refusal

# What a reader may take beyond what its process has already when it starts: far more than any input here needs, far
# less than what the inputs claim to be.
MEMORY_BYTES = 768 * 1024 * 1024
# Of the processor: readers end within a tenth of a second, and a tool that is asked for a whole folder within seconds.
CPU_SECONDS = 10
# On the clock, for machines that do other things as well.
WALL_SECONDS = 25.0
REFUSED, HARMLESS, UNTYPED = 10, 11, 12


def memory_now() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    return pages * resource.getpagesize()


def read_in_child(reader: str, path: Path, answer: int) -> None:
    """Reads one input and never returns; the exit code says how it was taken."""
    os.setsid()
    limit = memory_now() + MEMORY_BYTES
    # The soft limit only: an audit gives the processes it starts a limit of their own, and may not raise a hard one.
    resource.setrlimit(resource.RLIMIT_AS, (limit, resource.getrlimit(resource.RLIMIT_AS)[1]))
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS + 1))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    code = UNTYPED
    try:
        said = READERS[reader](path)
        code = HARMLESS
    except Refusal as refusal:
        said, code = str(refusal), REFUSED
    except BaseException:
        said = traceback.format_exc()
    os.write(answer, (said or "")[-2000:].encode(errors="replace"))
    os._exit(code)


def outcome_of(status: int) -> str:
    if os.WIFSIGNALED(status):
        name = signal.Signals(os.WTERMSIG(status)).name
        return "too much processor time" if name in ("SIGXCPU", "SIGKILL") else f"crashed: {name}"
    known = {REFUSED: "refused", HARMLESS: "harmless", UNTYPED: "untyped error"}
    return known.get(os.WEXITSTATUS(status), f"exited with {os.WEXITSTATUS(status)}")


def run(reader: str, path: Path) -> dict[str, Any]:
    """Returns how a reader took an input: `refused`, `harmless`, or what went wrong."""
    reading, writing = os.pipe()
    started = time.monotonic()
    child = os.fork()
    if child == 0:
        os.close(reading)
        read_in_child(reader, path, writing)
    os.close(writing)
    outcome = None
    said = b""
    if not select.select([reading], [], [], WALL_SECONDS)[0]:
        outcome = "too slow"
        os.killpg(child, signal.SIGKILL)
    else:
        said = os.read(reading, 4096)
    _, status = os.waitpid(child, 0)
    os.close(reading)
    seconds = round(time.monotonic() - started, 3)
    return {
        "outcome": outcome or outcome_of(status),
        "said": said.decode(errors="replace"),
        "seconds": seconds,
    }


def main() -> None:
    reader = sys.argv[1]
    answers = os.dup(1)
    # What readers print must not mix with the answers.
    os.dup2(2, 1)
    for line in sys.stdin:
        answer = run(reader, Path(json.loads(line)))
        os.write(answers, (json.dumps(answer) + "\n").encode())


if __name__ == "__main__":
    main()
