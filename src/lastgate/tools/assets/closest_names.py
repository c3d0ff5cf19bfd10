# SPDX-License-Identifier: Apache-2.0
"""Which of the names we know a wrong one was probably meant to be."""

from collections.abc import Iterable
from difflib import SequenceMatcher

# A reader compares a handful of names at a glance; a longer list hides the right one.
NAMES_SHOWN_MAX = 8


def closest_first(wanted: str, known: Iterable[str], shown_max: int = NAMES_SHOWN_MAX) -> list[str]:
    """Returns at most so many of the known names, the most similar to the wanted one first."""

    def distance(name: str) -> tuple[float, str]:
        return (-SequenceMatcher(None, wanted.lower(), name.lower(), autojunk=False).ratio(), name)

    return sorted(set(known), key=distance)[:shown_max]


def quote_closest(wanted: str, known: Iterable[str]) -> str:
    """Returns the closest names as one line for a message; says so when there are none at all."""
    return _quoted(closest_first(wanted, known))


def quote_all(wanted: str, known: Iterable[str]) -> str:
    """Returns every known name as one line for a message, the closest to the wanted one first."""
    names = set(known)
    return _quoted(closest_first(wanted, names, shown_max=len(names)))


def _quoted(names: list[str]) -> str:
    return ", ".join(f"`{name}`" for name in names) if names else "none"
