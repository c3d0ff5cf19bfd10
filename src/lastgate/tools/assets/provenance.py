# SPDX-License-Identifier: Apache-2.0
"""Where a vendored file came from and under which licence, as far as the files themselves say."""

from importlib.metadata import Distribution
from pathlib import Path
from typing import Final

LICENCE_FILE_NAMES: Final = ("LICENSE", "LICENCE", "COPYING")
LICENCE_NAME_CHARACTERS_MAX: Final = 80  # An expression of three SPDX names fits; a text does not.
LICENCE_TEXT_BYTES_MAX: Final = 64 * 1024  # The GPL, the longest of them, has 35 kB.

# A licence is recognised by sentences that no other licence in the table has; all of a row must occur.
# The text is compared in lower case and with its white space collapsed. First match wins.
LICENCE_SENTENCES: Final = (
    ("AGPL-3.0", ("gnu affero general public license", "version 3")),
    ("LGPL-3.0", ("gnu lesser general public license", "version 3")),
    ("LGPL-2.1", ("gnu lesser general public license", "version 2.1")),
    ("GPL-3.0", ("gnu general public license", "version 3")),
    ("GPL-2.0", ("gnu general public license", "version 2")),
    ("MPL-2.0", ("mozilla public license version 2.0",)),
    ("Apache-2.0", ("apache license", "version 2.0")),
    ("BSD-3-Clause", ("redistribution and use in source and binary forms", "endorse or promote products")),
    ("BSD-2-Clause", ("redistribution and use in source and binary forms",)),
    ("MIT", ("permission is hereby granted, free of charge", "the above copyright notice")),
)


def recognise_licence(text: str) -> str | None:
    """Returns the SPDX name of a licence text, or None for a text that is in no row of the table."""
    plain = " ".join(text.lower().split())
    for name, sentences in LICENCE_SENTENCES:
        if all(sentence in plain for sentence in sentences):
            return name
    return None


def find_licence_file(start: Path, root: Path) -> Path | None:
    """Returns the licence file nearest to a file, not looking above `root`."""
    for folder in start.parents:
        if not folder.is_relative_to(root):
            return None
        for entry in sorted(folder.iterdir()):
            if entry.name.upper().startswith(LICENCE_FILE_NAMES) and entry.is_file():
                return entry
    return None


def licence_near(start: Path, root: Path) -> str | None:
    """Says what the nearest licence file is, or None if there is none up to `root`."""
    path = find_licence_file(start, root)
    if path is None:
        return None
    with path.open("rb") as file:
        text = file.read(LICENCE_TEXT_BYTES_MAX).decode("utf-8", "replace")
    return f"{recognise_licence(text) or 'not recognised, read the file'} ({path.relative_to(root)})"


def licence_of_distribution(installed: Distribution) -> str | None:
    """Says what the metadata of an installed distribution gives as its licence, or None."""
    metadata = installed.metadata
    fields = [*(metadata.get_all("License-Expression") or []), *(metadata.get_all("License") or [])]
    declared = str(fields[0]) if fields else ""
    if not declared:
        classifiers = metadata.get_all("Classifier") or []
        licences = [entry.rsplit(" :: ", 1)[1] for entry in classifiers if entry.startswith("License :: ")]
        declared = ", ".join(licences)
    if not declared:
        return None
    # Some distributions paste the whole text into the field.
    is_whole_text = len(declared) > LICENCE_NAME_CHARACTERS_MAX
    name = (recognise_licence(declared) or "not recognised, read it") if is_whole_text else declared
    return f"{name} (metadata of {metadata['Name']} {installed.version})"


def render_header(lines: list[tuple[str, str]], *, newline: str) -> str:
    """Returns an XML comment with one `key: value` per line."""
    width = max(len(key) for key, _ in lines) + 1
    body = [f"  {key + ':':<{width}} {value}" for key, value in lines]
    # A comment must not contain two hyphens in a row, nor end with one.
    inside = newline.join(
        ["Vendored by `lastgate robot vendor-urdf`. Make it again instead of editing it.", *body]
    )
    while "--" in inside:
        inside = inside.replace("--", "- -")
    return f"<!-- {inside}{newline}-->"


def insert_header(data: bytes, header: str, *, newline: str) -> bytes:
    """Puts a comment after the XML declaration, or first if there is none; every other byte stays."""
    byte_order_mark = b"\xef\xbb\xbf"
    start = len(byte_order_mark) if data.startswith(byte_order_mark) else 0
    comment = header.encode("ascii", "xmlcharrefreplace")
    if data.startswith(b"<?xml", start) and data[start + 5 : start + 6].isspace():
        end = data.index(b"?>", start) + 2
        return data[:end] + newline.encode() + comment + data[end:]
    return data[:start] + comment + newline.encode() + data[start:]
