# SPDX-License-Identifier: Apache-2.0
"""Text that others wrote, as a terminal or a log may have it: shown, never obeyed."""

import unicodedata

# Control characters, and those that turn the order of what is read or cannot be seen at all.
_OBEYED = ("Cc", "Cf", "Cs", "Co", "Zl", "Zp")


def printable(text: str, *, keep: str = "") -> str:
    r"""Returns the text with every character that a terminal would obey written out (`\x1b`), but those in `keep`."""
    return "".join(
        one
        if one in keep or unicodedata.category(one) not in _OBEYED
        else one.encode("unicode_escape", "backslashreplace").decode()
        for one in text
    )
