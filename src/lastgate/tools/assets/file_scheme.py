# SPDX-License-Identifier: Apache-2.0
"""`file:<path>`: a file next to the manifest, or in the repository that holds it."""

from pathlib import Path

from lastgate.contracts.exceptions import ROSConfigError
from lastgate.tools.assets.closest_names import quote_closest


def resolve_file(relative_path: str, manifest_dir: Path | None) -> Path:
    """Returns a file of the manifest's folder, else of the repository root.

    Raises `ROSConfigError` for an absolute path, for a path that leaves both folders (by `..` or by a
    symbolic link), and if there is no such file in either.
    """
    if manifest_dir is None:
        raise ROSConfigError(
            f"`file:{relative_path}` is relative to a manifest, and no manifest folder was given\n\n"
            "hint: pass `manifest_dir`"
        )
    if not relative_path or "\0" in relative_path:
        raise ROSConfigError("`file:` names no file; write `file:<path>`")
    if Path(relative_path).is_absolute() or relative_path.startswith("~"):
        raise ROSConfigError(
            f"`file:{relative_path}` is absolute; a manifest must work on other machines\n\n"
            f"hint: put the file below `{manifest_dir}` and write its relative path"
        )
    roots = asset_roots(manifest_dir)
    for root in roots:
        path = resolve_links(root / relative_path)
        inside = any(path.is_relative_to(allowed) for allowed in roots)
        if path.is_file() and not inside:
            raise _outside(relative_path, roots)
        if path.is_file():
            return path
    # Nothing is there. A path that could never have been inside is told apart from a missing file.
    candidates = [resolve_links(root / relative_path) for root in roots]
    if not any(path.is_relative_to(root) for path in candidates for root in roots):
        raise _outside(relative_path, roots)
    folder = candidates[0].parent
    siblings = [entry.name for entry in folder.iterdir() if entry.is_file()] if folder.is_dir() else []
    closest = quote_closest(Path(relative_path).name, siblings)
    raise ROSConfigError(
        f"`file:{relative_path}`: no such file in {_names(roots)}\n\nhint: `{folder}` holds {closest}"
    )


def asset_roots(manifest_dir: Path) -> list[Path]:
    """Returns the folders `file:` may read: the manifest's, then the root of the repository around it."""
    own = manifest_dir.resolve()
    if not own.is_dir():
        raise ROSConfigError(f"there is no manifest folder `{manifest_dir}`")
    for folder in (own, *own.parents):
        # In a worktree and in a submodule `.git` is a file.
        if (folder / ".git").exists():
            return [own] if folder == own else [own, folder]
    return [own]


def resolve_links(path: Path) -> Path:
    """Follows every symbolic link of a path; raises `ROSConfigError` if they run in a circle."""
    try:
        path.is_file()  # Asks the operating system, which knows names that are too long.
        return path.resolve()
    except (OSError, RuntimeError) as error:
        raise ROSConfigError(f"`{path}` cannot be followed: {' '.join(str(error).split())}") from error


def _outside(relative_path: str, roots: list[Path]) -> ROSConfigError:
    return ROSConfigError(
        f"`file:{relative_path}` leads out of {_names(roots)}\n\n"
        "hint: copy the file next to the manifest, or use `pkg:` for a file of an installed package"
    )


def _names(roots: list[Path]) -> str:
    return " and ".join(f"`{root}`" for root in roots)
