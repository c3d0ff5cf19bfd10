# SPDX-License-Identifier: Apache-2.0
"""Reads XML from foreign sources: bounded, offline, and without entities."""

import os
import stat
from pathlib import Path
from typing import Final
from xml.parsers import expat

from lxml import etree

from lastgate.contracts.exceptions import ROSConfigError

# The largest description in example-robot-data is under 1 MiB; 32 MiB leaves room for inline MJCF
# height fields and keeps the memory of the tree below that of one mesh.
FILE_BYTES_MAX: Final = 32 * 1024 * 1024
# URDF needs 6 levels and a humanoid's MJCF body tree about 40. libxml2 itself stops at 256.
DEPTH_MAX: Final = 200
# The largest description in example-robot-data has a few thousand elements.
ELEMENTS_MAX: Final = 250_000
# Names end up in messages, labels and fixed-size records; 256 is four times the longest in the robot library.
NAME_CHARACTERS_MAX: Final = 256
# A path may be PATH_MAX long. Number arrays (`vertex`, `elevation`, `qpos`) are longer and are not names.
VALUE_CHARACTERS_MAX: Final = 4096
NUMBER_CHARACTERS: Final = frozenset("0123456789+-.eE \t\r\n")
NAMING_ATTRIBUTES: Final = frozenset(
    {"name", "link", "joint", "link1", "link2", "parent_link", "child_link", "reference", "body", "class"}
)


def load_xml(path: Path) -> etree._ElementTree:
    """Reads an XML file into a tree whose elements know their line (`element.sourceline`).

    Raises `ROSConfigError` with `file:line:` if the file is missing, over a bound of this module, not
    well formed, or has a document type: entities are declared there, and no robot needs one.
    """
    return etree.ElementTree(read_xml(load_bytes(path), source=str(path)))


def load_bytes(path: Path) -> bytes:
    """Returns the bytes of a regular file of bounded size; raises `ROSConfigError` on any other."""
    try:
        with path.open("rb") as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise ROSConfigError(f"{path}: not a regular file")
            if status.st_size > FILE_BYTES_MAX:
                raise ROSConfigError(
                    f"{path}: the file has {status.st_size} bytes, and {FILE_BYTES_MAX} is the limit"
                )
            data = file.read(FILE_BYTES_MAX + 1)
    except OSError as error:
        raise ROSConfigError(f"{path}: cannot be read: {error.strerror}") from error
    if len(data) > FILE_BYTES_MAX:
        raise ROSConfigError(f"{path}: the file grew over {FILE_BYTES_MAX} bytes while it was read")
    return data


def read_xml(data: bytes, *, source: str) -> etree._Element:
    """Parses XML bytes into a tree; raises `ROSConfigError` with `source:line:` like `load_xml`."""
    _require_harmless(data, source=source)
    # The first pass has shown the document to be complete and well formed. What may remain are
    # unbound prefixes (`drake:`, `xacro:`), which URDF readers ignore and libxml2 refuses, so
    # this pass recovers, and every complaint that is not about a prefix is still a refusal.
    parser = etree.XMLParser(
        recover=True, resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False
    )
    root = etree.fromstring(data, parser)
    for complaint in parser.error_log:
        if not complaint.type_name.startswith("NS_"):
            raise ROSConfigError(f"{source}:{complaint.line}: not readable as XML: {complaint.message}")
    if root is None:
        raise ROSConfigError(f"{source}:1: not readable as XML: no root element")
    return root


def _require_harmless(data: bytes, *, source: str) -> None:
    """Raises unless the document is well formed, within every bound, and without a document type."""
    if not data.strip():
        raise ROSConfigError(f"{source}:1: the file is empty")
    if len(data) > FILE_BYTES_MAX:
        raise ROSConfigError(f"{source}: {len(data)} bytes of XML, and {FILE_BYTES_MAX} is the limit")
    parser = expat.ParserCreate()
    depth = 0
    elements = 0

    def refuse(what: str) -> ROSConfigError:
        return ROSConfigError(f"{source}:{parser.CurrentLineNumber}: {what}")

    def on_doctype(*_arguments: object) -> None:
        raise refuse(
            "the file declares a document type, and entities come with it\n\n"
            "hint: delete the `<!DOCTYPE …>` block; a robot description does not need one"
        )

    def on_start(tag: str, attributes: dict[str, str]) -> None:
        nonlocal depth, elements
        depth += 1
        elements += 1
        if depth > DEPTH_MAX:
            raise refuse(f"elements are nested more than {DEPTH_MAX} deep")
        if elements > ELEMENTS_MAX:
            raise refuse(f"the file has more than {ELEMENTS_MAX} elements")
        if found := _overlong_text(tag, attributes):
            raise refuse(found)

    def on_end(_tag: str) -> None:
        nonlocal depth
        depth -= 1

    parser.StartDoctypeDeclHandler = on_doctype
    parser.StartElementHandler = on_start
    parser.EndElementHandler = on_end
    try:
        parser.Parse(data, True)
    except expat.ExpatError as error:
        what = expat.ErrorString(error.code)
        raise ROSConfigError(f"{source}:{error.lineno}: not well-formed XML: {what}") from error
    except ROSConfigError:
        raise
    except (LookupError, ValueError) as error:  # pyexpat raises these for an encoding it does not know
        raise ROSConfigError(f"{source}:1: not readable as XML: {error}") from error


def _overlong_text(tag: str, attributes: dict[str, str]) -> str:
    for name in (tag, *attributes):
        if len(name) > NAME_CHARACTERS_MAX:
            return _too_long("a name", name, NAME_CHARACTERS_MAX)
    for name, value in attributes.items():
        limit = NAME_CHARACTERS_MAX if name in NAMING_ATTRIBUTES else VALUE_CHARACTERS_MAX
        if len(value) > limit and not (limit == VALUE_CHARACTERS_MAX and _is_number_array(value)):
            return _too_long(f"`{name}` of <{tag}>", value, limit)
    return ""


def _is_number_array(value: str) -> bool:
    return " " in value and NUMBER_CHARACTERS.issuperset(value)


def _too_long(what: str, text: str, limit: int) -> str:
    return f"{what} has {len(text)} characters, and {limit} is the limit: `{text[:24]}…`"
