# SPDX-License-Identifier: Apache-2.0
"""One resolver for every description file: a reference and a kind in, a file out."""

from pathlib import Path

from lastgate.contracts.asset_refs import AssetKind, parse_asset_ref
from lastgate.contracts.exceptions import ROSConfigError
from lastgate.contracts.robot_files import AssetRefs
from lastgate.tools.assets.file_scheme import resolve_file
from lastgate.tools.assets.gym_aloha_scheme import resolve_gym_aloha
from lastgate.tools.assets.live_description import LiveDescription
from lastgate.tools.assets.menagerie_scheme import resolve_menagerie
from lastgate.tools.assets.openarm_scheme import resolve_openarm
from lastgate.tools.assets.pkg_scheme import resolve_pkg
from lastgate.tools.assets.robot_descriptions_scheme import resolve_rd


def resolve_asset(ref: str, kind: AssetKind, manifest_dir: Path | str | None = None) -> Path:
    """Returns the file a reference stands for; `manifest_dir` is where a `file:` reference starts.

    `ros2://robot_description` names no file: it is passed through as a `LiveDescription`, a Path whose
    text is the reference and which cannot be opened. Raises `ROSConfigError` for everything that is not
    a readable file of that kind, in one sentence that names the reference; never returns None.

    Example:
        >>> str(resolve_asset("ros2://robot_description", "urdf"))
        'ros2://robot_description'
    """
    parsed = parse_asset_ref(ref, kind)
    match parsed.scheme:
        case "rd":
            return resolve_rd(parsed.target, kind)
        case "file":
            return resolve_file(parsed.target, None if manifest_dir is None else Path(manifest_dir))
        case "pkg":
            distribution_name, _, path = parsed.target.partition("/")
            return resolve_pkg(distribution_name, path)
        case "gym_aloha":
            return resolve_gym_aloha(parsed.target)
        case "openarm":
            return resolve_openarm(parsed.target)
        case "menagerie":
            return resolve_menagerie(parsed.target)
        case "ros2":
            return LiveDescription()
        case _:
            raise ROSConfigError(
                f"`{ref}`: the grammar has the scheme `{parsed.scheme}`, the resolver has not"
            )


def unresolved_assets(assets: AssetRefs, manifest_dir: Path | str | None = None) -> list[str]:
    """Returns what the resolver says of each reference of a manifest that it cannot turn into a file."""
    refs: list[tuple[str, AssetKind]] = []
    if assets.urdf is not None:
        refs.append((assets.urdf.ref, "urdf"))
    if assets.mjcf is not None:
        refs.append((assets.mjcf, "mjcf"))
    for mount in assets.mjcf_mounts:
        refs.append((mount.ref, "mjcf"))
    if assets.srdf is not None:
        refs.append((assets.srdf, "srdf"))
    problems: list[str] = []
    for ref, kind in refs:
        try:
            resolve_asset(ref, kind, manifest_dir)
        except ROSConfigError as error:
            problems.append(str(error))
    return problems
