# SPDX-License-Identifier: Apache-2.0
"""When two names mean the same thing: no guessing beyond case, punctuation and left-out words."""

import re

from lastgate.contracts import ROSConfigError

_WORD = re.compile(r"\w+")
LABEL_LENGTH_MAX = 256


def words_of(text: str) -> tuple[str, ...]:
    """Returns the words of a name in lower case; `red_mug`, `Red mug` and `red-mug` are the same."""
    return tuple(_WORD.findall(text.casefold().replace("_", " ")))


def require_label(text: object, *, name: str) -> str:
    """Returns a name that has at least one word; anything else raises `ROSConfigError`."""
    if (
        not isinstance(text, str)
        or not text.isprintable()
        or not words_of(text)
        or len(text) > LABEL_LENGTH_MAX
    ):
        raise ROSConfigError(f"{name} must be a name of at most {LABEL_LENGTH_MAX} characters, got {text!r}")
    return " ".join(text.split())


def matches(query: str, label: str) -> bool:
    """Returns whether every word of a query is a word of a label: `mug` finds `red mug`, `red mug` not `mug`."""
    asked, words = words_of(query), set(words_of(label))
    return bool(asked) and words.issuperset(asked)
