# SPDX-License-Identifier: Apache-2.0
"""Prints what an extra or a dependency group of pyproject.toml needs, without the package itself, so that `make` can
install dependencies once and rebuild the native module without touching them."""

import sys
import tomllib
from pathlib import Path


def requirements_of(extra: str) -> list[str]:
    """Expands `lastgate[...]` references inside extras; an unknown name raises KeyError."""
    document = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())
    if extra in document["dependency-groups"]:
        return sorted(document["dependency-groups"][extra])
    project = document["project"]
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
