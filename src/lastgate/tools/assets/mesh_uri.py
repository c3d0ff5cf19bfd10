# SPDX-License-Identifier: Apache-2.0
"""Finds the mesh a URDF names, without a ROS workspace."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from urllib.parse import unquote

from lastgate.contracts.exceptions import ROSConfigError
from lastgate.tools.assets.closest_names import quote_closest
from lastgate.tools.assets.file_scheme import resolve_links

NO_PACKAGES: Mapping[str, Path] = MappingProxyType({})


def resolve_mesh_uri(uri: str, urdf_path: Path, packages: Mapping[str, Path] = NO_PACKAGES) -> Path:
    """Returns the file behind a mesh name of a URDF; `packages` says where a package is.

    `package://name/path` is looked for in `packages`, then upwards from the URDF: a folder called
    `name`, a folder that holds one, or one whose package.xml says `name`. A relative name starts at the
    URDF's folder. Raises `ROSConfigError`, naming the URDF and what to pass, if there is no such file
    or if the name leads out of the package, out of the URDF's own package, or to the network.
    """
    scheme, separator, rest = uri.partition("://")
    if not uri.strip() or "\0" in uri:
        raise ROSConfigError(f"{urdf_path}: a mesh has no file name")
    if not separator:
        return _require_mesh(uri, _start_of_plain_path(uri, urdf_path), urdf_path, packages)
    if scheme == "package":
        return _resolve_package_uri(uri, rest, urdf_path, packages)
    if scheme == "file":
        return _require_mesh(uri, Path(unquote(rest)), urdf_path, packages)
    raise ROSConfigError(
        f"{urdf_path}: mesh `{uri}`: the scheme `{scheme}://` is not served\n\n"
        "hint: use `package://<package>/<path>`, `file:///<path>` or a path relative to the URDF"
    )


def parse_package_option(text: str) -> tuple[str, Path]:
    """Reads one `--package name=folder`; raises `ROSConfigError` unless the folder exists."""
    name, separator, folder = text.partition("=")
    if not (separator and name and folder) or "/" in name:
        raise ROSConfigError(f"`--package {text}`: write `--package <name>=<folder>`")
    path = Path(folder).expanduser()
    if not path.is_dir():
        raise ROSConfigError(f"`--package {text}`: there is no such folder: `{folder}`")
    return name, path.resolve()


def _resolve_package_uri(uri: str, rest: str, urdf_path: Path, packages: Mapping[str, Path]) -> Path:
    # Some generators write three slashes; the first path segment is the package then as well.
    package, _, inside = rest.lstrip("/").partition("/")
    if not package or not inside or package in {".", ".."}:
        raise ROSConfigError(f"{urdf_path}: mesh `{uri}`: write `package://<package>/<path>`")
    folders = [packages[package]] if package in packages else list(package_folders(package, urdf_path))
    found_package = False
    for folder in folders:
        found_package = True
        root = folder.resolve()
        mesh = resolve_links(root / inside)
        if not mesh.is_relative_to(root):
            raise ROSConfigError(
                f"{urdf_path}: mesh `{uri}` leads out of the package folder `{folder}`\n\n"
                "hint: put the mesh into the package, and name it without `..`"
            )
        if mesh.is_file():
            return mesh
    if not found_package:
        raise ROSConfigError(
            f"{urdf_path}: mesh `{uri}`: no folder above the URDF is the package `{package}`\n\n"
            f"hint: put the folder of the package, or a link to it, next to the URDF's own: "
            f"`{urdf_path.resolve().parent.parent / package}`"
        )
    raise _mesh_missing(uri, folders[0] / inside, urdf_path)


def package_folders(package: str, urdf_path: Path) -> Iterator[Path]:
    """Yields every folder above the URDF that may be the package, nearest first."""
    for folder in urdf_path.resolve().parents:
        if folder.name == package or _package_xml_name(folder) == package:
            yield folder
        elif (folder / package).is_dir():
            yield folder / package


def _package_xml_name(folder: Path) -> str | None:
    path = folder / "package.xml"
    if not path.is_file():
        return None
    from lastgate.tools.assets.safe_xml import load_xml  # lxml is an extra, and few descriptions get here.

    try:
        name = load_xml(path).getroot().findtext("name")
    except ROSConfigError:
        return None  # A package.xml we cannot read names no package; the mesh is then reported missing.
    return name.strip() if name else None


def _start_of_plain_path(name: str, urdf_path: Path) -> Path:
    return Path(name) if name.startswith("/") else urdf_path.resolve().parent / name


def _require_mesh(uri: str, path: Path, urdf_path: Path, packages: Mapping[str, Path]) -> Path:
    """Returns the mesh if it lies in the URDF's package or a folder the caller named."""
    mesh = resolve_links(path)
    roots = [own_package(urdf_path), *(folder.resolve() for folder in packages.values())]
    if not any(mesh.is_relative_to(root) for root in roots):
        raise ROSConfigError(
            f"{urdf_path}: mesh `{uri}` lies outside the folder of its description, `{roots[0]}`\n\n"
            "hint: if you trust it, copy it into that folder and name it from there"
        )
    if not mesh.is_file():
        raise _mesh_missing(uri, mesh, urdf_path)
    return mesh


def own_package(urdf_path: Path) -> Path:
    """Returns the folder a URDF's relative mesh names may reach.

    That is the nearest folder above it with a package.xml or a repository in it; without either, the
    parent of its own folder, because `urdf/` and `meshes/` usually lie side by side. It is never `/`.
    """
    own_folder = urdf_path.resolve().parent
    for folder in (own_folder, *own_folder.parents):
        if (folder / "package.xml").is_file() or (folder / ".git").exists():
            return folder
    beside = own_folder.parent
    return beside if beside != beside.parent else own_folder


def _mesh_missing(uri: str, expected: Path, urdf_path: Path) -> ROSConfigError:
    folder = expected.parent
    message = f"{urdf_path}: mesh not found: `{uri}`"
    if not folder.is_dir():
        return ROSConfigError(f"{message}\n\nhint: there is no folder `{folder}`")
    siblings = [entry.name for entry in folder.iterdir() if entry.is_file()]
    return ROSConfigError(f"{message}\n\nhint: `{folder}` holds {quote_closest(expected.name, siblings)}")
