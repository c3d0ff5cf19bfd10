# SPDX-License-Identifier: Apache-2.0
"""Ends with an error unless a tag, pyproject.toml, CITATION.cff and a heading of CHANGELOG.md name one version.

`release_version.py v0.1.0`; without a tag, the files are compared with each other and the heading may still be missing.
"""

import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]


def versions() -> dict[str, str]:
    """Returns what each file calls the version."""
    citation = re.search(
        r"^version: (\S+)$", (ROOT / "CITATION.cff").read_text(encoding="utf-8"), re.MULTILINE
    )
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return {"pyproject.toml": project["version"], "CITATION.cff": citation[1] if citation else ""}


def problems(tag: str | None, *, changelog: str) -> list[str]:
    """Returns what does not agree."""
    named = versions()
    version = named["pyproject.toml"]
    found = [
        f"{file} says {said}, pyproject.toml {version}" for file, said in named.items() if said != version
    ]
    if tag is None:
        return found
    if tag != f"v{version}":
        found.append(f"the tag is {tag}, pyproject.toml says {version}")
    if not re.search(rf"^## {re.escape(version)} ", changelog, re.MULTILINE):
        found.append(f"CHANGELOG.md has no heading `## {version} (date)`")
    return found


def main() -> None:
    """Compares, with the tag if one is given."""
    found = problems(
        sys.argv[1] if len(sys.argv) > 1 else None,
        changelog=(ROOT / "CHANGELOG.md").read_text(encoding="utf-8"),
    )
    if found:
        sys.exit("\n".join(f"error: {problem}" for problem in found))


if __name__ == "__main__":
    main()
