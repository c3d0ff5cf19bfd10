# SPDX-License-Identifier: Apache-2.0
"""A view as one HTML file that needs nothing else: the page's own modules and style, and the scene, inside it."""

import base64
import hashlib
import json
import re
from collections.abc import Mapping
from html import escape
from importlib.resources import files
from typing import Any

from lastgate.contracts import ROSConfigError

_IMPORT = re.compile(r'^import (\{[^}]*\}) from "\./([a-z_]+)\.js";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export ((?:function|class|const) (\w+))", re.MULTILINE)
_ENTRY = "still"


def one_file(scene: Mapping[str, Any], *, title: str) -> str:
    """Returns the page of a scene. Its policy permits what stands in it, and connections to where it came from."""
    folder = files("lastgate.tools.dashboard") / "page"
    style = (folder / "page.css").read_text("utf-8") + (folder / "still.css").read_text("utf-8")
    script = bundled(_ENTRY)
    told = json.dumps(scene, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")
    policy = (
        f"default-src 'none'; script-src '{_digest(script)}'; style-src '{_digest(style)}'; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'"
    )
    return (
        (folder / "still.html")
        .read_text("utf-8")
        .format(title=escape(title), policy=policy, style=style, script=script, scene=told)
    )


def bundled(entry: str) -> str:
    """Returns a module of the page and all that it imports as one script: each module a function of its own.

    Raises:
        ROSConfigError: A module imports itself, or in a form that this does not know.
    """
    folder = files("lastgate.tools.dashboard") / "page"
    written: dict[str, str] = {}

    def write(name: str, on_the_way: tuple[str, ...]) -> None:
        if name in on_the_way:
            raise ROSConfigError(f"the page's module `{name}` imports itself")
        if name in written:
            return
        text = (folder / f"{name}.js").read_text("utf-8")
        for _, module in _IMPORT.findall(text):
            write(module, (*on_the_way, name))
        text = _IMPORT.sub(lambda found: f"const {found[1]} = module_{found[2]};\n", text)
        names = [name for _, name in _EXPORT.findall(text)]
        text = _EXPORT.sub(r"\1", text)
        if re.search(r"^(?:import|export)\b", text, re.MULTILINE):
            raise ROSConfigError(
                f"the page's module `{name}` imports or exports in a form that cannot be bundled"
            )
        written[name] = f"const module_{name} = (() => {{\n{text}\nreturn {{ {', '.join(names)} }};\n}})();\n"

    write(entry, ())
    return '"use strict";\n' + "".join(written.values())


def _digest(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
