# SPDX-License-Identifier: Apache-2.0
"""Reads which pairs of links an SRDF claims need no check, and why."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from lastgate.tools.assets.safe_xml import load_xml
from lastgate.tools.lowering.diagnostics import DescriptionError, Diagnostic

Pair = tuple[str, str]


@dataclass(frozen=True)
class SrdfClaims:
    """Pairs an SRDF disables with its reasons, links it disables by default, pairs it enables again."""

    disabled: dict[Pair, str]
    disabled_links: frozenset[str]
    enabled: frozenset[Pair]

    def reason(self, link_a: str, link_b: str) -> str | None:
        """Returns the claimed reason, None where the pair is to be checked.

        A link of disable_default_collisions is disabled against everything but its enable_collisions pairs.
        """
        pair = ordered(link_a, link_b)
        if pair in self.enabled:
            return None
        if pair in self.disabled:
            return self.disabled[pair]
        if link_a in self.disabled_links or link_b in self.disabled_links:
            return "disable_default_collisions"
        return None


def ordered(link_a: str, link_b: str) -> Pair:
    """Returns a pair in alphabetical order."""
    return (link_a, link_b) if link_a <= link_b else (link_b, link_a)


def read_srdf(path: Path, known_links: frozenset[str]) -> SrdfClaims:
    """Reads an SRDF; a link the robot does not have, a pair of one link, or a missing name is refused."""
    root = load_xml(path).getroot()
    problems: list[Diagnostic] = []
    if root.tag != "robot":
        raise DescriptionError(
            [Diagnostic(str(path), root.sourceline, f"the root is <{root.tag}>, not <robot>")]
        )
    disabled: dict[Pair, str] = {}
    enabled: set[Pair] = set()
    links: set[str] = set()

    def complain(line: int | None, message: str) -> None:
        problems.append(Diagnostic(str(path), line, message))

    for tag in ("disable_collisions", "enable_collisions"):
        for element in root.iter(tag):
            names = [element.get("link1"), element.get("link2")]
            unknown = [name for name in names if name not in known_links]
            if unknown:
                complain(
                    element.sourceline,
                    f"<{tag}> names {', '.join(f'`{n}`' for n in unknown)}, not a link of the robot",
                )
            elif names[0] == names[1]:
                complain(element.sourceline, f"<{tag}> pairs link `{names[0]}` with itself")
            elif tag == "disable_collisions":
                disabled.setdefault(ordered(str(names[0]), str(names[1])), element.get("reason", ""))
            else:
                enabled.add(ordered(str(names[0]), str(names[1])))
    for element in root.iter("disable_default_collisions"):
        link = element.get("link")
        if link not in known_links:
            complain(
                element.sourceline, f"<disable_default_collisions> names `{link}`, not a link of the robot"
            )
        else:
            links.add(str(link))
    if problems:
        raise DescriptionError(problems)
    return SrdfClaims(disabled, frozenset(links), frozenset(enabled))
