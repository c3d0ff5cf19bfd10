# SPDX-License-Identifier: Apache-2.0
"""The command that installs what an extra needs, wherever lastgate itself came from: a wheel, a checkout, an index.

It names the packages of the extra, not `lastgate[extra]`: pip would look for lastgate in an index, which may not have
it.
"""

import re
from importlib.metadata import PackageNotFoundError, distribution, version


def requirements_of(extra: str) -> list[str]:
    """Returns what an extra asks for, like `mcap>=1.2`, with extras of our own followed; empty for an unknown one."""
    wanted: list[str] = []
    for line in distribution("lastgate").requires or []:
        requirement, _, marker = (part.strip() for part in line.partition(";"))
        if not re.search(rf"extra\s*==\s*['\"]{re.escape(extra)}['\"]", marker):
            continue
        own = re.match(r"lastgate\[([^\]]+)\]", requirement)
        inner = [] if own is None else [part.strip() for part in own[1].split(",")]
        wanted += (
            [requirement] if own is None else [found for part in inner for found in requirements_of(part)]
        )
    return list(dict.fromkeys(wanted))


def missing_packages(extra: str) -> list[str]:
    """Returns what of an extra is not installed."""
    return [requirement for requirement in requirements_of(extra) if not _is_installed(requirement)]


def install_command(*extras: str) -> str:
    """Returns the command that brings what these extras still need; all of it where nothing is missing by name."""
    wanted = [found for extra in extras for found in missing_packages(extra)]
    wanted = wanted or [found for extra in extras for found in requirements_of(extra)]
    return f"pip install {' '.join(_quoted(requirement) for requirement in dict.fromkeys(wanted))}"


def _is_installed(requirement: str) -> bool:
    name = re.match(r"[A-Za-z0-9._-]+", requirement)
    try:
        version(name[0] if name else requirement)
    except PackageNotFoundError:
        return False
    return True


def _quoted(requirement: str) -> str:
    return f"'{requirement}'" if re.search(r"[<>=!~\[ ;]", requirement) else requirement
