# SPDX-License-Identifier: Apache-2.0
"""Which requests come from a page of ours, or from a person at this machine; every server of a page asks this."""

from typing import Protocol

# A name that another machine's DNS can point at us is not one of these.
LOOPBACK_NAMES = ("localhost", "127.0.0.1", "[::1]")


class Headers(Protocol):
    """Headers of a request, by name in any case."""

    def getlist(self, key: str) -> list[str]:
        """Returns every value of a header."""
        ...


def refusal_of(headers: Headers, *, is_page: bool) -> str | None:
    """Says why a request is refused by where it comes from; None when it may pass.

    Args:
        is_page: Asks for the page itself, to which other pages may link.
    """
    hosts = headers.getlist("host")
    if len(hosts) != 1 or _name_of(hosts[0]) not in LOOPBACK_NAMES:
        return f"the Host header must be one of {', '.join(LOOPBACK_NAMES)}"
    origins = headers.getlist("origin")
    if origins and origins != [f"http://{hosts[0]}"]:
        return "requests from other pages are refused"
    site = _first(headers, "sec-fetch-site") or "none"
    follows_a_link = is_page and _first(headers, "sec-fetch-mode") == "navigate"
    if site not in ("none", "same-origin") and not follows_a_link:
        return "requests from other pages are refused"
    return None


def _name_of(host: str) -> str:
    """Returns the host without its port, in lower case; what is not a host and a port is no name."""
    name, colon, port = host.rpartition(":")
    if colon and port.isascii() and port.isdigit():
        return name.lower()
    return host.lower()


def _first(headers: Headers, name: str) -> str | None:
    return next(iter(headers.getlist(name)), None)
