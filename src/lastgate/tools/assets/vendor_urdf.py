# SPDX-License-Identifier: Apache-2.0
"""Writes a flat URDF into the folder of the person who asks, with its origin and licence on top."""

import hashlib
import os
import re
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from lastgate.contracts.asset_refs import parse_asset_ref
from lastgate.contracts.exceptions import ROSConfigError
from lastgate.tools.assets.file_scheme import asset_roots, resolve_file
from lastgate.tools.assets.joint_rename import JointRename, rename_joints
from lastgate.tools.assets.mesh_uri import NO_PACKAGES
from lastgate.tools.assets.pkg_scheme import find_distribution, resolve_pkg
from lastgate.tools.assets.provenance import (
    insert_header,
    licence_near,
    licence_of_distribution,
    render_header,
)
from lastgate.tools.assets.robot_descriptions_scheme import inspect_module, load_module
from lastgate.tools.assets.safe_xml import load_bytes, read_xml
from lastgate.tools.assets.xacro_expansion import expand_xacro, find_xacro, xacro_versions

# The identifier becomes a file name.
ROBOT_ID = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")
LICENCE_NOT_FOUND = "NOT FOUND near the upstream file; find it out before you pass this file on"


@dataclass(frozen=True, kw_only=True)
class Upstream:
    """The file to vendor, and everything its origin says about it."""

    path: Path
    origin: str
    licences: tuple[str, ...]
    xacro_arguments: Mapping[str, str] = field(default_factory=dict)
    packages: Mapping[str, Path] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class VendoredUrdf:
    """What was written: the file, whether it is new, the renamed joints, and what to check."""

    path: Path
    is_new: bool
    new_name_by_old: dict[str, str]
    notes: tuple[str, ...]


def vendor_urdf(
    robot_id: str,
    *,
    upstream_ref: str,
    output_dir: Path,
    working_dir: Path,
    renames: Sequence[JointRename] = (),
    raw_text: bool = False,
    packages: Mapping[str, Path] = NO_PACKAGES,
    xacro_arguments: Mapping[str, str] | None = None,
    licence: str | None = None,
) -> VendoredUrdf:
    """Writes `<output_dir>/<robot_id>.urdf` from an upstream reference.

    A flat URDF is copied byte for byte and only its joints are renamed; xacro is expanded first, unless
    `raw_text` insists on a copy. Raises `ROSConfigError`, and writes nothing, if the upstream cannot be
    used, if `raw_text` meets xacro, or if a different file of that name is already there.
    """
    if not ROBOT_ID.fullmatch(robot_id):
        raise ROSConfigError(f"`{robot_id}` cannot be the name of a robot: use letters, digits, `_` and `-`")
    upstream = find_upstream(upstream_ref, working_dir=working_dir)
    original = load_bytes(upstream.path)
    arguments = {**upstream.xacro_arguments, **(xacro_arguments or {})}
    known_packages = {**upstream.packages, **packages}
    source = str(upstream.path)
    unexpanded = find_xacro(read_xml(original, source=source))
    if unexpanded is None:
        flat, how = original, "copied byte for byte"
    elif raw_text:
        raise ROSConfigError(
            f"{source}:{unexpanded[0]}: `{unexpanded[1]}` is xacro, and --raw-text copies flat URDF only\n\n"
            "hint: leave out --raw-text, and it is expanded"
        )
    else:
        flat = expand_xacro(upstream.path, arguments=arguments, packages=known_packages)
        how = " ".join(
            [f"expanded by {xacro_versions()}", *(f"{k}={v}" for k, v in sorted(arguments.items()))]
        )
    if read_xml(flat, source=source).find("joint") is None:
        raise ROSConfigError(f"{source}: the URDF has no joint")
    renamed = rename_joints(flat, renames, source=source)
    licences = (f"{licence} (stated with --licence)",) if licence else upstream.licences
    newline = "\r\n" if b"\r\n" in flat[: flat.find(b"\n") + 1] else "\n"
    header = render_header(
        [
            ("robot", robot_id),
            ("upstream", upstream.origin),
            ("sha256", hashlib.sha256(original).hexdigest()),
            ("licence", "; ".join(licences) or LICENCE_NOT_FOUND),
            ("how", how),
            *(("joints", f"'{r.pattern.pattern}' becomes '{r.replacement}'") for r in renames),
        ],
        newline=newline,
    )
    path = output_dir / f"{robot_id}.urdf"
    is_new = _write_new_file(path, insert_header(renamed.data, header, newline=newline))
    notes = (*renamed.notes, *_notes_on_relative_meshes(renamed.data, path))
    if not licences:
        notes = (*notes, f"{path}: licence {LICENCE_NOT_FOUND}")
    return VendoredUrdf(path=path, is_new=is_new, new_name_by_old=renamed.new_name_by_old, notes=notes)


def find_upstream(ref: str, *, working_dir: Path) -> Upstream:
    """Returns the file behind a URDF reference, xacro included, and where it came from."""
    parsed = parse_asset_ref(ref, "urdf")
    match parsed.scheme:
        case "rd":
            return _rd_upstream(parsed.target)
        case "file":
            path = resolve_file(parsed.target, working_dir)
            root = asset_roots(working_dir)[-1]
            return Upstream(path=path, origin=ref, licences=_present(licence_near(path, root)))
        case "pkg":
            distribution_name, _, inside = parsed.target.partition("/")
            path = resolve_pkg(distribution_name, inside).resolve()
            installed = find_distribution(distribution_name, ref=ref)
            # The folder the recorded path starts in; above it other distributions keep their licences.
            root = path.parents[len(Path(inside).parts) - 2] if "/" in inside else path.parent
            licences = _present(licence_of_distribution(installed), licence_near(path, root))
            return Upstream(path=path, origin=f"{ref} (version {installed.version})", licences=licences)
        case _:
            raise ROSConfigError(
                f"`{ref}` is not a file that can be vendored\n\nhint: use `rd:`, `pkg:` or `file:`"
            )


def _rd_upstream(module_name: str) -> Upstream:
    description = inspect_module(module_name)
    if not description.attributes & {"URDF_PATH", "XACRO_PATH"}:
        raise ROSConfigError(f"`rd:{module_name}` has neither a URDF nor a xacro file")
    module = load_module(description)
    root = Path(module.REPOSITORY_PATH).resolve()
    path = Path(getattr(module, "URDF_PATH", None) or module.XACRO_PATH).resolve()
    repository = description.repositories[0]
    inside = path.relative_to(root).as_posix() if path.is_relative_to(root) else path.name
    packages = {name: Path(folder) for name, folder in getattr(module, "XACRO_PACKAGE_PATHS", {}).items()}
    return Upstream(
        path=path,
        origin=f"rd:{module_name} ({repository.url}, revision {repository.revision}, {inside})",
        licences=_present(licence_near(path, root)),
        xacro_arguments=dict(getattr(module, "XACRO_ARGS", {})),
        packages=packages,
    )


def _present(*licences: str | None) -> tuple[str, ...]:
    return tuple(licence for licence in licences if licence)


def _notes_on_relative_meshes(data: bytes, path: Path) -> list[str]:
    """Says so if meshes are named relative to the upstream file and cannot be found from the copy."""
    names = [mesh.get("filename", "") for mesh in read_xml(data, source=str(path)).iter("mesh")]
    lost = [name for name in names if "://" not in name and not (path.parent / name).is_file()]
    if not lost:
        return []
    return [
        f"{path}: {len(lost)} mesh names are relative to the upstream file, the first is `{lost[0]}`; "
        "copy the meshes too"
    ]


def _write_new_file(path: Path, data: bytes) -> bool:
    """Writes a file that is not there yet, whole or not at all; returns False if it is there already.

    Raises `ROSConfigError` if a file of that name has other contents: it may hold a user's work.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor, draft_name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        draft = Path(draft_name)
        try:
            with os.fdopen(descriptor, "wb") as file:
                os.fchmod(file.fileno(), 0o644)
                file.write(data)
            os.link(draft, path)  # Unlike a rename, a link does not replace what is there.
        finally:
            draft.unlink()
    except FileExistsError as error:
        with suppress(OSError):
            if path.read_bytes() == data:
                return False
        raise ROSConfigError(
            f"`{path}` is already there and differs; nothing was written\n\n"
            "hint: move it away, or write somewhere else with `-o DIR`"
        ) from error
    except OSError as error:
        raise ROSConfigError(f"`{path}` cannot be written: {error.strerror}") from error
    return True
