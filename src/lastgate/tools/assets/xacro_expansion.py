# SPDX-License-Identifier: Apache-2.0
"""Expands xacro, when a file is vendored and never when a robot is loaded."""

import re
import sys
from collections.abc import Mapping
from contextlib import chdir, redirect_stdout
from importlib.metadata import version
from pathlib import Path
from typing import Any
from xml.dom.minidom import Document, Node

from lxml import etree

from lastgate.contracts.exceptions import ROSConfigError
from lastgate.contracts.extras import install_command
from lastgate.tools.assets.mesh_uri import package_folders
from lastgate.tools.assets.safe_xml import load_xml, read_xml

MACRO_MARKS = ("${", "$(")
PACKAGE_MISSING = re.compile(r"Package not found: ([\w.-]+)")


def find_xacro(root: etree._Element) -> tuple[int, str] | None:
    """Returns the line and the text of the first thing that needs expanding, or None in a flat file.

    The name of the file says nothing, nor does the namespace on <robot>, which generators leave behind,
    nor do comments, where generators leave the macros they came from.
    """
    for element in root.iter(etree.Element):
        # A bound prefix shows as `{http://www.ros.org/wiki/xacro}name`, an unbound one as it is written.
        namespace, _, name = str(element.tag).replace("xacro:", "{/xacro}", 1).rpartition("}")
        if namespace.endswith("/xacro"):
            return element.sourceline or 1, f"<xacro:{name}>"
        texts = (*element.attrib.values(), element.text or "", *(child.tail or "" for child in element))
        for text in map(str, texts):
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
    load_xml(path)  # Names the line of what is not XML; xacro's own message does not.
    known = {**_enclosing_packages(path), **packages}
    dom = _expand(path, arguments=arguments, packages=known)
    # The document itself is written: xacrodoc's writers make every mesh name absolute.
    for element in dom.getElementsByTagName("*"):
        if element.hasAttribute("filename"):
            portable = _portable_name(element.getAttribute("filename"), known, path)
            element.setAttribute("filename", portable)
    _drop_macro_comments(dom)
    text: bytes = dom.toprettyxml(indent="  ", encoding="utf-8")
    text = re.sub(rb"\n(?:[ \t]*\n)+", b"\n", text)
    _require_expanded(text, path)
    return text


def _expand(path: Path, *, arguments: Mapping[str, str], packages: dict[str, Path]) -> Document:
    """Runs xacro, and adds to `packages` those it asks for that lie above the file."""
    try:
        from xacrodoc import XacroDoc
        from xacrodoc import packages as package_finder
    except ImportError as error:
        raise ROSConfigError(
            f"{path}: expanding xacro needs the package xacrodoc, which is not installed\n\n"
            f"hint: {install_command('xacro')}"
        ) from error
    while True:
        try:
            package_finder.update_package_cache({name: str(folder) for name, folder in packages.items()})
            # xacro opens relative includes from the working folder, and may print; stdout carries data.
            with chdir(path.parent), redirect_stdout(sys.stderr):
                return XacroDoc.from_file(path, subargs=dict(arguments), resolve_packages=False).dom
        except Exception as error:  # xacro evaluates Python, so anything may come out of it.
            missing = PACKAGE_MISSING.search(str(error))
            if missing is None:
                raise ROSConfigError(f"{path}: xacro does not expand: {_one_line(error)}") from error
            name = missing[1]
            folder = next(package_folders(name, path), None)
            if folder is None or name in packages:
                raise ROSConfigError(
                    f"{path}: xacro asks for the package `{name}`, and no folder above the file is it\n\n"
                    f"hint: say where it is: `--package {name}=/path/to/{name}`"
                ) from error
            packages[name] = folder
        finally:
            package_finder.reset()


def xacro_versions() -> str:
    """Names the expander and its version, for the provenance header."""
    return f"xacrodoc {version('xacrodoc')}"


def _enclosing_packages(path: Path) -> dict[str, Path]:
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


def _drop_macro_comments(node: Any) -> None:
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


def _one_line(error: Exception) -> str:
    text = " ".join(str(error).split())
    return text or type(error).__name__
