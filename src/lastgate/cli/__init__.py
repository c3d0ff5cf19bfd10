# SPDX-License-Identifier: Apache-2.0
"""The command line. Data goes to stdout, messages to stderr; `app.py` alone decides the exit code."""

import sys

from lastgate.cli.common_sums import use_common_sums

# What these write is compared to the byte.
_LOWERING = (["collision", "lower"], ["collision", "check"], ["robot", "add"])


def main() -> None:
    """Runs the command line of this process and exits with its code."""
    if sys.argv[1:3] in _LOWERING:
        use_common_sums()
    try:
        from lastgate.cli.app import run
    except ModuleNotFoundError as error:
        if error.name not in ("typer", "rich"):
            raise
        print(f"error: the command line needs {error.name}, which is not installed", file=sys.stderr)
        print("\nhint: pip install 'lastgate[cli]'", file=sys.stderr)
        sys.exit(2)
    sys.exit(run(sys.argv[1:]))
