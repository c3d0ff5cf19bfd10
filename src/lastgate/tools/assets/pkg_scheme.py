# SPDX-License-Identifier: Apache-2.0
"""`pkg:<distribution>/<path>`: a file that an installed wheel shipped."""

import sysconfig
from importlib.metadata import Distribution, PackageNotFoundError, distribution, distributions
from pathlib import Path, PurePosixPath

from lastgate.contracts.exceptions import ROSConfigError
from lastgate.tools.assets.closest_names import quote_closest


def resolve_pkg(distribution_name: str, relative_path: str) -> Path:
    """Returns a file the distribution lists as its own, below site-packages or the data folder.

    The data folder (`share/…` of the environment) is where some wheels put their models. Raises
    `ROSConfigError` if the distribution is not installed (with the pip command), if the path is
    absolute or has `..`, and if the distribution itself did not ship such a file.
    """
    ref = f"pkg:{distribution_name}/{relative_path}"
    installed = find_distribution(distribution_name, ref=ref)
    wanted = PurePosixPath(relative_path)
    if wanted.is_absolute() or ".." in wanted.parts or not wanted.parts or "\0" in relative_path:
        raise ROSConfigError(
            f"`{ref}` leads out of the distribution\n\n"
            f"hint: write the path as `pip show -f {distribution_name}` does"
        )
    shipped = shipped_files(installed, ref=ref)
    path = shipped.get(wanted.as_posix())
    if path is None:
        same_suffix = [name for name in shipped if PurePosixPath(name).suffix == wanted.suffix]
        raise ROSConfigError(
            f"`{ref}`: {distribution_name} {installed.version} ships no such file; closest: "
            f"{_closest_paths(wanted, same_suffix)}"
        )
    if not path.is_file():
        raise ROSConfigError(
            f"`{ref}` was installed and is gone: `{path}`\n\n"
            f"hint: pip install --force-reinstall --no-deps {distribution_name}"
        )
    return path


def reference_to(file: Path) -> str | None:
    """Returns the `pkg:` reference to a file of an installed distribution; None if none ships it."""
    around = [Path(sysconfig.get_path(kind)).resolve() for kind in ("purelib", "platlib", "data")]
    if not any(file.is_relative_to(folder) for folder in around):
        return None
    for installed in distributions():
        if installed.files is None or not any(entry.name == file.name for entry in installed.files):
            continue
        for shipped, path in shipped_files(installed, ref=str(file)).items():
            if path.name == file.name and path.resolve() == file:
                return f"pkg:{installed.metadata['Name']}/{shipped}"
    return None


def find_distribution(name: str, *, ref: str) -> Distribution:
    """Returns an installed distribution; raises `ROSConfigError` with the pip command if it is missing."""
    try:
        return distribution(name)
    except (PackageNotFoundError, ValueError) as error:
        raise ROSConfigError(
            f"`{ref}` needs the distribution {name}, which is not installed\n\n"
            f"hint: pip install --no-deps {name}"
        ) from error


def shipped_files(installed: Distribution, *, ref: str) -> dict[str, Path]:
    """Maps every path a distribution recorded to its place, by site-packages path and by data path."""
    if installed.files is None:
        raise ROSConfigError(
            f"`{ref}`: the installation of {installed.metadata['Name']} has no list of its files\n\n"
            f"hint: pip install --force-reinstall --no-deps {installed.metadata['Name']}"
        )
    data_folder = Path(sysconfig.get_path("data")).resolve()
    places: dict[str, Path] = {}
    for entry in installed.files:
        path = Path(str(installed.locate_file(entry)))
        if ".." not in entry.parts:
            places[entry.as_posix()] = path
            continue
        # Recorded relative to site-packages, as `../../../share/…`.
        absolute = path.parent.resolve() / path.name
        if absolute.is_relative_to(data_folder):
            places[absolute.relative_to(data_folder).as_posix()] = absolute
    return places


def _closest_paths(wanted: PurePosixPath, known: list[str]) -> str:
    """Names files that end like the wanted path first: most wrong paths lack or mistake the prefix."""
    same_name = [name for name in known if PurePosixPath(name).name == wanted.name]
    return quote_closest(wanted.as_posix(), same_name or known)
