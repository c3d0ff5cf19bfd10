# SPDX-License-Identifier: Apache-2.0
"""Renames the joints of a URDF inside its bytes, so that nothing else of the file changes."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final
from xml.parsers import expat
from xml.sax.saxutils import escape

from lastgate.contracts.exceptions import ROSConfigError
from lastgate.tools.assets.closest_names import quote_closest
from lastgate.tools.assets.safe_xml import read_xml

# Encodings in which `<`, quotes and names are the bytes ASCII has for them, so bytes can be edited.
EDITABLE_ENCODINGS: Final = {"utf-8", "us-ascii", "ascii", "iso-8859-1", "latin-1"}
JOINT_NAME: Final = re.compile(r"[^\s<>&\"'=\x00-\x1f]+")
START_TAG: Final = re.compile(
    rb"<[^\s/>]+(?P<attributes>(?:\s+[^\s=/>]+\s*=\s*(?:\"[^\"]*\"|'[^']*'))*)\s*/?>"
)
ATTRIBUTE: Final = re.compile(rb"\s+(?P<name>[^\s=/>]+)\s*=\s*(?:\"(?P<double>[^\"]*)\"|'(?P<single>[^']*)')")


@dataclass(frozen=True, kw_only=True)
class JointRename:
    """One `PAT=>REPL`: a regular expression that is searched in every joint name, and what replaces it."""

    pattern: re.Pattern[str]
    replacement: str


@dataclass(frozen=True, kw_only=True)
class RenamedUrdf:
    """The bytes after renaming, what was renamed, and what still carries an old name."""

    data: bytes
    new_name_by_old: dict[str, str]
    notes: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class _StartTag:
    """One start tag of a document: where it begins, where it stands, what it says."""

    byte_index: int
    line: int
    depth: int
    tag: str
    attributes: dict[str, str]


def parse_rename(text: str) -> JointRename:
    """Reads one `PAT=>REPL`; raises `ROSConfigError` if it has no arrow or the pattern cannot be compiled."""
    pattern, arrow, replacement = text.partition("=>")
    if not arrow or not pattern:
        raise ROSConfigError(f"`--rename {text}`: write `--rename 'PATTERN=>REPLACEMENT'`")
    try:
        compiled = re.compile(pattern)
        compiled.sub(replacement, "")  # Raises if the replacement names a group the pattern does not have.
    except (re.error, IndexError) as error:
        raise ROSConfigError(f"`--rename {text}`: not a regular expression: {error}") from error
    return JointRename(pattern=compiled, replacement=replacement)


def rename_joints(data: bytes, renames: Iterable[JointRename], *, source: str) -> RenamedUrdf:
    """Applies the renames, in order, to every joint name of a URDF and to what refers to a joint.

    Renamed are `name` of `<joint>` (definitions, transmissions, ros2_control) and the attribute `joint`
    (mimic). Every other byte stays. Raises `ROSConfigError` if the file is not a URDF, if a rename
    changes no joint, or if a new name is empty, unusable or taken.
    """
    codec = _require_editable(data, source=source)
    tags = _read_start_tags(data)
    defined = {
        tag.attributes["name"]: tag.line
        for tag in tags
        if tag.tag == "joint" and tag.depth == 1 and "name" in tag.attributes
    }
    new_name_by_old = _new_names(defined, list(renames), source=source)
    edited = _replace_names(data, tags, new_name_by_old, codec=codec)
    _require_only_joints_changed(tags, _read_start_tags(edited), new_name_by_old, source=source)
    links = {tag.attributes.get("name") for tag in tags if tag.tag == "link" and tag.depth == 1}
    notes = tuple(
        f"{source}:{tag.line}: <gazebo> refers to the renamed joint `{tag.attributes['reference']}`, "
        "and was left as it is"
        for tag in tags
        if tag.tag == "gazebo"
        and tag.attributes.get("reference") in new_name_by_old
        and tag.attributes.get("reference") not in links
    )
    return RenamedUrdf(data=edited, new_name_by_old=new_name_by_old, notes=notes)


def _require_editable(data: bytes, *, source: str) -> str:
    """Returns the encoding of a URDF whose bytes can be edited in place; raises if they cannot."""
    root = read_xml(data, source=source)
    if root.tag != "robot":
        raise ROSConfigError(
            f"{source}:{root.sourceline}: the root element is <{root.tag}>, and a URDF has <robot>"
        )
    encoding = (root.getroottree().docinfo.encoding or "utf-8").lower()
    if encoding not in EDITABLE_ENCODINGS:
        raise ROSConfigError(
            f"{source}:1: the file is encoded as {encoding}, and joint names are renamed in UTF-8 only\n\n"
            f"hint: iconv -f {encoding} -t utf-8, and change the XML declaration"
        )
    return encoding


def _read_start_tags(data: bytes) -> list[_StartTag]:
    tags: list[_StartTag] = []
    parser = expat.ParserCreate()
    depth = 0

    def on_start(tag: str, attributes: dict[str, str]) -> None:
        nonlocal depth
        tags.append(
            _StartTag(
                byte_index=parser.CurrentByteIndex,
                line=parser.CurrentLineNumber,
                depth=depth,
                tag=tag,
                attributes=attributes,
            )
        )
        depth += 1

    def on_end(_tag: str) -> None:
        nonlocal depth
        depth -= 1

    parser.StartElementHandler = on_start
    parser.EndElementHandler = on_end
    parser.Parse(data, True)
    return tags


def _new_names(defined: Mapping[str, int], renames: list[JointRename], *, source: str) -> dict[str, str]:
    """Works out the new name of every joint; all problems of the file are reported together."""
    current = {name: name for name in defined}
    problems: list[str] = []
    for rename in renames:
        renamed = {old: rename.pattern.sub(rename.replacement, name) for old, name in current.items()}
        if renamed == current:
            closest = quote_closest(rename.pattern.pattern, defined)
            problems.append(f"{source}: no joint is changed by `{rename.pattern.pattern}`; joints: {closest}")
        current = renamed
    owner: dict[str, str] = {}
    for old, new in current.items():
        if new != old and not JOINT_NAME.fullmatch(new):
            problems.append(f"{source}:{defined[old]}: joint `{old}` cannot be called `{new}`")
        if new in owner:
            problems.append(
                f"{source}:{defined[old]}: joints `{owner[new]}` and `{old}` would both be called `{new}`"
            )
        owner.setdefault(new, old)
    if problems:
        raise ROSConfigError("\n".join(problems))
    return {old: new for old, new in current.items() if new != old}


def _replace_names(
    data: bytes, tags: list[_StartTag], new_name_by_old: Mapping[str, str], *, codec: str
) -> bytes:
    parts: list[bytes] = []
    copied_to = 0
    for tag in tags:
        match = START_TAG.match(data, tag.byte_index)
        if match is None:
            continue  # The comparison of the two documents reports it if this tag mattered.
        for attribute in ATTRIBUTE.finditer(data, match.start("attributes"), match.end("attributes")):
            name = attribute["name"].decode(codec)
            if name not in _joint_attributes(tag.tag):
                continue
            new_name = new_name_by_old.get(tag.attributes[name])
            if new_name is not None:
                start, end = attribute.span("double" if attribute["double"] is not None else "single")
                parts += [data[copied_to:start], escape(new_name).encode(codec, "xmlcharrefreplace")]
                copied_to = end
    return b"".join([*parts, data[copied_to:]])


def _joint_attributes(tag: str) -> frozenset[str]:
    """Returns the attributes of an element whose value is the name of a joint."""
    return frozenset({"name", "joint"}) if tag == "joint" else frozenset({"joint"})


def _require_only_joints_changed(
    before: list[_StartTag], after: list[_StartTag], new_name_by_old: Mapping[str, str], *, source: str
) -> None:
    """Compares both documents tag by tag: the second must be the first with its joints renamed."""

    def renamed(tag: _StartTag) -> tuple[str, int, dict[str, str]]:
        return (
            tag.tag,
            tag.depth,
            {
                name: new_name_by_old.get(value, value) if name in _joint_attributes(tag.tag) else value
                for name, value in tag.attributes.items()
            },
        )

    if [renamed(tag) for tag in before] != [(tag.tag, tag.depth, tag.attributes) for tag in after]:
        raise ROSConfigError(f"{source}: the joint names could not be told apart from the rest of the file")
