# SPDX-License-Identifier: Apache-2.0
"""Prints what an extra of pyproject.toml needs, without the package itself, so that `make` can install
dependencies once and rebuild the native module without touching them."""

import sys
import tomllib
from pathlib import Path


def requirements_of(extra: str) -> list[str]:
    """Expands `lastgate[...]` references inside extras; an unknown extra raises KeyError."""
    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]
    found: dict[str, None] = dict.fromkeys(project["dependencies"])
    waiting = [extra]
    while waiting:
        for requirement in project["optional-dependencies"][waiting.pop()]:
            if requirement.startswith("lastgate["):
                waiting += requirement.removeprefix("lastgate[").removesuffix("]").split(",")
            else:
                found[requirement] = None
    return sorted(found)


if __name__ == "__main__":
    print("\n".join(requirements_of(sys.argv[1])))
