# SPDX-License-Identifier: Apache-2.0
"""The violation catalogue: one entry per code, the source of reports and of `lastgate explain`."""

import difflib
from collections.abc import Mapping
from types import MappingProxyType

from lastgate.contracts.exceptions import ROSConfigError
from lastgate.contracts.violation_codes import ViolationCode, ViolationEntry
from lastgate.contracts.violation_texts import ENTRIES

__all__ = ["CATALOGUE", "ViolationCode", "ViolationEntry", "find_violation", "violation_code_of"]

CATALOGUE: Mapping[ViolationCode, ViolationEntry] = MappingProxyType({entry.code: entry for entry in ENTRIES})

_CODE_BY_NUMBER = {code.number: code for code in ViolationCode}
_ENTRY_BY_WORD = {code.value: entry for code, entry in CATALOGUE.items()}


def violation_code_of(number: int) -> ViolationCode:
    """Returns the code the core knows by `number`; a number of no code raises `ROSConfigError`."""
    code = _CODE_BY_NUMBER.get(number)
    if code is None:
        raise ROSConfigError(f"no violation has the number {number!r}")
    return code


def find_violation(word: str) -> ViolationEntry:
    """Returns the entry of a code, written with `_` or `-` or as its number.

    Raises:
        ROSConfigError: There is no such code; the message lists the nearest ones.
    """
    spelled = word.strip().lower().replace("-", "_")
    if spelled.isascii() and spelled.isdigit():
        return CATALOGUE[violation_code_of(int(spelled))]
    entry = _ENTRY_BY_WORD.get(spelled)
    if entry is not None:
        return entry
    near = difflib.get_close_matches(spelled, _ENTRY_BY_WORD, n=8, cutoff=0.4)
    nearest = near or difflib.get_close_matches(spelled, _ENTRY_BY_WORD, n=3, cutoff=0.0)
    raise ROSConfigError(f"unknown violation code: `{word}`; nearest: {', '.join(nearest)}")
