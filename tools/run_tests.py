# SPDX-License-Identifier: Apache-2.0
"""Runs pytest, and runs the few tests that failed once more, alone.

Tests against real processes, browsers and DDS peers share two processors with each other; a host that takes a processor
away for half a second makes the kernel stop, as it must, and a test that asked for something else fails. What fails
twice, the second time with the machine to itself, is a failure. Both runs are printed, and a test that passed only
alone is named at the end.
"""

import json
import subprocess
import sys
from pathlib import Path

# More than this many at once is not a matter of a busy machine.
AGAIN_MAX = 3
TESTS_FAILED = 1  # pytest's own code; interrupted, internal error and wrong usage have others
CACHE = Path(".pytest_cache/v/cache/lastfailed")


def failed_tests() -> list[str]:
    """Names of the tests that the last run left as failed."""
    return sorted(json.loads(CACHE.read_text(encoding="utf-8"))) if CACHE.is_file() else []


def pytest(arguments: list[str]) -> int:
    """Exit code of pytest in this interpreter's environment."""
    return subprocess.run([sys.executable, "-m", "pytest", *arguments], check=False).returncode


def main(arguments: list[str]) -> int:
    """Exit code: pytest's own, or 0 where all that failed passed alone."""
    CACHE.unlink(missing_ok=True)
    code = pytest(arguments)
    names = failed_tests()
    if code != TESTS_FAILED or not 0 < len(names) <= AGAIN_MAX:
        return code
    print(f"== {len(names)} failed; again, alone: {' '.join(names)}", flush=True)
    code = pytest(["-q", "-n", "0", *names])
    if code == 0:
        print(f"== passed alone, failed beside others: {' '.join(names)}", flush=True)
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
