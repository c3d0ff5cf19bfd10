# SPDX-License-Identifier: Apache-2.0
"""The command line. Data goes to stdout, messages to stderr; `app.py` alone decides the exit code."""

import sys


def main() -> None:
    """Runs the command line of this process and exits with its code."""
    try:
        from lastgate.cli.app import run
    except ModuleNotFoundError as error:
        if error.name not in ("typer", "rich"):
            raise
        print(f"error: the command line needs {error.name}, which is not installed", file=sys.stderr)
        print("\nhint: pip install 'lastgate[cli]'", file=sys.stderr)
        sys.exit(2)
    sys.exit(run(sys.argv[1:]))
