# SPDX-License-Identifier: Apache-2.0
"""The command line. Data goes to stdout, messages to stderr; `app.py` alone decides the exit code."""

import sys

# Commands whose output must be the same bytes on every machine.
LOWERING = (("collision", "lower"), ("collision", "check"), ("robot", "add"))


def main() -> None:
    """Runs the command line of this process and exits with its code."""
    try:
        from lastgate.tools.cli.app import run
    except ModuleNotFoundError as error:
        if error.name not in ("typer", "rich"):
            raise
        print(f"error: the command line needs {error.name}, which is not installed", file=sys.stderr)
        print("\nhint: pip install typer rich", file=sys.stderr)
        sys.exit(2)
    if tuple(sys.argv[1:3]) in LOWERING:
        from lastgate.tools.cli.same_arithmetic import rerun_with_same_arithmetic

        rerun_with_same_arithmetic()
    sys.exit(run(sys.argv[1:]))
