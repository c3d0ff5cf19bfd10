# SPDX-License-Identifier: Apache-2.0
"""Expands xacro, when a file is vendored and never when a robot is loaded."""

import re
from collections.abc import Mapping
from contextlib import chdir
from importlib.metadata import version
from pathlib import Path
from xml.dom.minidom import Node

from lxml import etree

from lastgate.assets.safe_xml import load_xml, read_xml
from lastgate.contracts.exceptions import ROSConfigError

MACRO_MARKS = ("${", "$(")


def find_xacro(root: etree._Element) -> tuple[int, str] | None:
    """Returns the line and the text of the first thing that needs expanding, or None in a flat file.

    The name of the file says nothing, nor does the namespace on <robot>, which generators leave behind,
    nor do comments, where generators leave the macros they came from.
    """
    for element in root.iter(etree.Element):
        tag = etree.QName(element)
        if str(element.tag).startswith("xacro:") or (tag.namespace or "").endswith("/xacro"):
            return element.sourceline or 1, f"<xacro:{tag.localname.removeprefix('xacro:')}>"
        texts = (*element.attrib.values(), element.text or "", *(child.tail or "" for child in element))
        for text in texts:
            for mark in MACRO_MARKS:
                if mark in text:
                    return element.sourceline or 1, text[text.index(mark) :][:24].strip()
    return None


def expand_xacro(path: Path, *, arguments: Mapping[str, str], packages: Mapping[str, Path]) -> bytes:
    """Returns the URDF a xacro file expands to, with `package://` mesh names and no path of this machine.

    `packages` maps package names to folders for `$(find …)`. Raises `ROSConfigError` if xacrodoc is
    missing, if the file does not expand, if something unexpanded is left, or if a mesh name would be
    absolute and lies in none of the packages.
    """
    try:
        from xacrodoc import XacroDoc
        from xacrodoc import packages as package_finder
    except ImportError as error:
        raise ROSConfigError(
            f"{path}: expanding xacro needs the package xacrodoc, which is not installed\n\n"
            "hint: pip install 'lastgate[xacro]'"
        ) from error
    load_xml(path)  # Names the line of what is not XML; xacro's own message does not.
    known = {**_enclosing_package(path), **packages}
    try:
        package_finder.update_package_cache({name: str(folder) for name, folder in known.items()})
        # xacro opens relative includes from the working folder.
        with chdir(path.parent):
            document = XacroDoc.from_file(path, subargs=dict(arguments), resolve_packages=False)
    except Exception as error:  # xacro evaluates Python, so anything may come out of it.
        raise ROSConfigError(f"{path}: xacro does not expand: {_first_line(error)}") from error
    finally:
        package_finder.reset()
    # The document itself is written: xacrodoc's writers make every mesh name absolute.
    for element in document.dom.getElementsByTagName("*"):
        if element.hasAttribute("filename"):
            portable = _portable_name(element.getAttribute("filename"), known, path)
            element.setAttribute("filename", portable)
    _drop_macro_comments(document.dom)
    text: bytes = document.dom.toprettyxml(indent="  ", encoding="utf-8")
    text = re.sub(rb"\n(?:[ \t]*\n)+", b"\n", text)
    _require_expanded(text, path)
    return text


def xacro_versions() -> str:
    """Names the expander and its version, for the provenance header."""
    return f"xacrodoc {version('xacrodoc')}"


def _enclosing_package(path: Path) -> dict[str, Path]:
    """Returns the packages whose package.xml lies above the file, by their names."""
    found: dict[str, Path] = {}
    for folder in path.resolve().parents:
        package_xml = folder / "package.xml"
        if package_xml.is_file():
            name = load_xml(package_xml).getroot().findtext("name")
            if name and name.strip():
                found.setdefault(name.strip(), folder)
    return found


def _portable_name(name: str, packages: Mapping[str, Path], path: Path) -> str:
    plain = name.removeprefix("file://")
    if not plain.startswith("/"):
        return name
    for package, folder in packages.items():
        for root in (folder, folder.resolve()):
            if Path(plain).is_relative_to(root):
                return f"package://{package}/{Path(plain).relative_to(root).as_posix()}"
    raise ROSConfigError(
        f"{path}: the file name `{name}` exists on this machine only\n\n"
        "hint: say which package it belongs to: `--package <name>=<folder>`"
    )


def _drop_macro_comments(node: Node) -> None:
    """Removes comments that quote macros; in a flat file they only look like something unexpanded."""
    for child in list(node.childNodes):
        if child.nodeType == Node.COMMENT_NODE and any(mark in child.data for mark in MACRO_MARKS):
            node.removeChild(child)
        else:
            _drop_macro_comments(child)


def _require_expanded(text: bytes, path: Path) -> None:
    left = find_xacro(read_xml(text, source=f"{path} (expanded)"))
    if left is not None:
        raise ROSConfigError(
            f"{path}: line {left[0]} of the expanded file still has `{left[1]}`\n\n"
            "hint: give the missing value with `--xacro-arg NAME=VALUE`"
        )


def _first_line(error: Exception) -> str:
    text = " ".join(str(error).split())
    return text or type(error).__name__
