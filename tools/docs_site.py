# SPDX-License-Identifier: Apache-2.0
"""Makes of this repository a site: what is generated from the sources, and the files that documents link to.

A hook of MkDocs (`mkdocs.yml`). The documents stay as they read on a code host, with links to files beside `docs/`;
here those files become pages of the site.
"""

import inspect
import json
import posixpath
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import typer
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[1]
LINK = re.compile(r"(\]\()([^)\s]+)(\))")
# Documents at the root, where people look for them first.
PROJECT = ("ARCHITECTURE.md", "SAFETY.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md")
LANGUAGES = {
    ".py": "python",
    ".cpp": "cpp",
    ".hpp": "cpp",
    ".toml": "toml",
    ".yaml": "yaml",
    ".json": "json",
    ".js": "js",
    ".msg": "text",
    ".srv": "text",
    ".csv": "text",
    ".cfg": "text",
    ".txt": "text",
    "": "text",
}
# Worker from a file, for browsers that forbid it to pages from a disk; the package iframe-worker (MIT).
SHIM = "javascripts/iframe-worker.js"
SHIM_ELSEWHERE = "https://unpkg.com/iframe-worker/shim"
API = "reference/python.md"
# Under which heading a public name stands; the rest are schemas. A test keeps every public name on the page.
GROUPS = {
    "The gate": (
        "Gate",
        "ActionChunk",
        "RobotState",
        "Verdict",
        "Violation",
        "BatchVerdict",
        "Unchecked",
        "Certificate",
    ),
    "The world": ("World", "NO_WORLD", "Points", "Voxels", "FloorMap", "OccupancyGridIndex", "NavGoal"),
    "Robots": ("load_robot", "robot_names", "RobotDescription", "AttachedShape", "DeclaredContact"),
    "The kernel process": ("KernelClient", "KernelSettings", "KernelState", "KernelStatus", "SafetyLatch"),
}


# ---- Pages that are made from sources ------------------------------------------------------------------


def python_page() -> str:
    """Returns the public names of `import lastgate`, from their types and docstrings."""
    import lastgate

    grouped = {name for names in GROUPS.values() for name in names}
    rest = [name for name in lastgate.__all__ if name not in grouped and name != "__version__"]
    exceptions = [
        n
        for n in rest
        if isinstance(getattr(lastgate, n), type) and issubclass(getattr(lastgate, n), Exception)
    ]
    functions = [
        n for n in rest if not isinstance(getattr(lastgate, n), type) and callable(getattr(lastgate, n))
    ]
    schemas = [n for n in rest if n not in exceptions and n not in functions]
    parts = ["# Python\n\nEvery name of `import lastgate`, from the typed sources.\n"]
    for title, names in {
        **GROUPS,
        "Functions": functions,
        "Schemas and enumerations": schemas,
        "Exceptions": exceptions,
    }.items():
        parts.append(f"\n# {title}\n")
        parts += [_entry(lastgate, name) for name in names]
    return "".join(parts).replace("\n# ", "\n## ").replace("## Python", "# Python", 1)


def _said_of(member: object) -> str:
    """Returns the sentence of a native member, behind the signature that nanobind puts before it."""
    told = inspect.getdoc(member) or ""
    return told.partition("\n\n")[2] or told


def _entry(package: Any, name: str) -> str:
    """Returns one name: from the sources, or, of the native module, from what it says of itself."""
    found = getattr(package, name)
    if getattr(found, "__module__", "") != "lastgate._core":
        return f"\n::: lastgate.{name}\n"
    members = [
        f"- `{member}`: {_said_of(getattr(found, member))}"
        for member in vars(found)
        if not member.startswith("_")
    ]
    return f"\n## lastgate.{name}\n\n{inspect.getdoc(found) or ''}\n\n{chr(10).join(members)}\n"


def commands(
    command: click.Command, path: tuple[str, ...]
) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """Yields every command with the words that call it."""
    children = getattr(command, "commands", None)
    if not children:
        yield path, command
        return
    for name, child in children.items():
        yield from commands(child, (*path, name))


def cli_page() -> str:
    """Returns what `--help` of every command says."""
    from lastgate.tools.cli.app import app

    parts = [
        "# Commands\n\nWhat `lastgate COMMAND --help` prints. Exit code 0 is the only one that permits motion.\n"
    ]
    for path, command in commands(typer.main.get_command(app), ("lastgate",)):
        context = command.make_context(" ".join(path), [], resilient_parsing=True, terminal_width=100)
        parts.append(f"\n## {' '.join(path)}\n\n```text\n{command.get_help(context).strip()}\n```\n")
    return "".join(parts)


def schema_page() -> str:
    """Returns the keys of manifests, skills and worlds, from their schemas."""
    from lastgate import RobotDescription, RSkillManifest, WorldState

    parts = [
        "# Files\n\nKeys of the files that people write, from the schemas that read them. An unknown key is refused.\n"
    ]
    for title, model in (
        ("robot.yaml", RobotDescription),
        ("A skill", RSkillManifest),
        ("A world", WorldState),
    ):
        schema = model.model_json_schema(mode="validation")
        parts.append(f"\n## {title}\n\n{_table_of(schema)}\n")
        for name, part in sorted(schema.get("$defs", {}).items()):
            if "properties" in part:
                parts.append(
                    f"\n### {title}: {name}\n\n{part.get('description', '').partition(chr(10) * 2)[0]}\n\n"
                    f"{_table_of(part)}\n"
                )
    return "".join(parts)


def _table_of(schema: dict[str, Any]) -> str:
    required = schema.get("required", [])
    rows = [
        f"| `{name}` | {_type_of(field)} | {'required' if name in required else _default_of(field)} |"
        for name, field in schema.get("properties", {}).items()
    ]
    return "\n".join(["| key | holds | default |", "| --- | --- | --- |", *rows])


def _type_of(field: dict[str, Any]) -> str:
    if "$ref" in field:
        return field["$ref"].rpartition("/")[2]
    if "const" in field or "enum" in field:
        return " or ".join(f"`{value}`" for value in field.get("enum", [field.get("const")]))
    for key in ("anyOf", "oneOf", "allOf"):
        if key in field:
            return " or ".join(dict.fromkeys(_type_of(part) for part in field[key]))
    if field.get("type") == "array":
        inside = [_type_of(part) for part in field.get("prefixItems", [])]
        if len(inside) > 1:
            return f"{len(inside)} × {inside[0]}"
        return f"list of {_type_of(field.get('items', {}))}"
    return str(field.get("type", "any"))


def _default_of(field: dict[str, Any]) -> str:
    return (
        f"`{json.dumps(field['default'])}`"
        if "default" in field and field["default"] is not None
        else "not set"
    )


def messages_page() -> str:
    """Returns the messages and services of the wire, as ROS 2 reads them."""
    folder = ROOT / "ros2" / "openral_msgs"
    parts = ["# Messages\n\nThe package `openral_msgs`; the field order is that of the wire.\n"]
    for path in sorted([*folder.glob("msg/*.msg"), *folder.glob("srv/*.srv")]):
        parts.append(f"\n## {path.stem}\n\n```text\n{path.read_text(encoding='utf-8').strip()}\n```\n")
    return "".join(parts)


def cpp_page() -> str:
    """Returns the public headers of the core, whose comments are their documentation."""
    folder = ROOT / "core" / "include" / "lastgate"
    parts = [
        "# C++\n\nThe public headers of the core. [examples/check_a_chunk.cpp](../../examples/check_a_chunk.cpp) is a "
        "whole program, and says in its first lines how it is built.\n"
    ]
    for path in sorted(folder.glob("*.hpp")):
        text = path.read_text(encoding="utf-8").partition("#pragma once")[2].strip()
        parts.append(f"\n## lastgate/{path.name}\n\n```cpp\n{text}\n```\n")
    return "".join(parts)


GENERATED = {
    API: python_page,
    "reference/cli.md": cli_page,
    "reference/files.md": schema_page,
    "reference/messages.md": messages_page,
    "reference/cpp.md": cpp_page,
}


# ---- Hooks ---------------------------------------------------------------------------------------------


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Fills in the parts of the navigation that are lists of files."""
    docs = ROOT / "docs"

    def listed(folder: str, *more: str) -> list[str]:
        return [*more, *sorted(path.relative_to(docs).as_posix() for path in (docs / folder).glob("*.md"))]

    lists = {
        "CONCEPTS": listed("concepts"),
        "REFERENCE": sorted([*GENERATED, *listed("reference"), "requirements.md"]),
        "PROJECT": [*(f"project/{name}" for name in PROJECT), *listed("contributing")],
        "DECISIONS": listed("decisions"),
    }
    for section in config.nav or []:
        for title, inside in section.items():
            section[title] = lists.get(inside, inside) if isinstance(inside, str) else inside
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Adds the generated pages, the documents of the root, and every file that a document links to."""
    for name, make in GENERATED.items():
        files.append(File.generated(config, name, content=make()))
    for name in PROJECT:
        files.append(
            File.generated(config, f"project/{name}", content=(ROOT / name).read_text(encoding="utf-8"))
        )
    linked: set[str] = set()
    for file in list(files.documentation_pages()):
        for _, target, _ in LINK.findall(file.content_string):
            path = outside(file.src_uri, target)
            is_page = path is None or path in PROJECT or path.startswith("docs/")
            if path is not None and not is_page and (ROOT / path).is_file():
                linked.add(path)
    for path in sorted(linked):
        files.append(File.generated(config, f"source/{path}.md", content=source_page(path)))
    return files


def source_page(path: str) -> str:
    """Returns a file of the repository as a page."""
    text = (ROOT / path).read_text(encoding="utf-8")
    if path.endswith(".md"):
        return text
    # Longer than any fence inside.
    return f"# {path}\n\n``````{LANGUAGES.get(Path(path).suffix, 'text')}\n{text}\n``````\n"


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Turns links that lead out of `docs/` to where the site has those files."""

    def turned(found: re.Match[str]) -> str:
        path = outside(page.file.src_uri, found[2])
        if path is None:
            return found[0]
        anchor = found[2].partition("#")[2]
        if path in PROJECT:
            there = f"project/{path}"
        elif path.startswith("docs/") and (ROOT / path).is_file():
            there = path.removeprefix("docs/")
        elif path == "README.md":
            there = "index.md"
        elif (ROOT / path).is_file():
            there = f"source/{path}.md"
        else:
            # A folder: nothing to show, and its name says which.
            return f"]({posixpath.relpath('project/ARCHITECTURE.md', posixpath.dirname(page.file.src_uri))})"
        relative = posixpath.relpath(there, posixpath.dirname(page.file.src_uri) or ".")
        return f"]({relative}{'#' + anchor if anchor else ''})"

    return LINK.sub(turned, markdown)


def on_post_page(output: str, page: Page, config: MkDocsConfig) -> str:
    """Lets search work on pages that are opened from a disk, without asking another server for the script it needs."""
    here = posixpath.relpath(SHIM, posixpath.dirname(page.file.dest_uri) or ".")
    return output.replace(SHIM_ELSEWHERE, here)


def on_post_template(output_content: str, template_name: str, config: MkDocsConfig) -> str:
    """Does the same for the page that is shown where there is none."""
    return output_content.replace(SHIM_ELSEWHERE, SHIM)


def outside(page: str, target: str) -> str | None:
    """Returns the path in the repository that a link leads to, unless it stays in `docs/` or leads elsewhere."""
    file = target.partition("#")[0]
    if "://" in target or not file or target.startswith("mailto:"):
        return None
    # Generated pages stand where the files lie that they were made of.
    at = page.removeprefix("project/") if page.startswith("project/") else f"docs/{page}"
    if page.startswith("source/"):
        at = page.removeprefix("source/").removesuffix(".md")
    path = posixpath.normpath(posixpath.join(posixpath.dirname(at), file))
    if path.startswith("docs/") and not page.startswith(("project/", "source/")):
        return None
    return path
