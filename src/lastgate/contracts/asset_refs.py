# SPDX-License-Identifier: Apache-2.0
"""The grammar of asset references: where a URDF, MJCF or SRDF comes from. Nothing is opened here."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath, PureWindowsPath
from typing import Literal, get_args

from lastgate.contracts.exceptions import ROSConfigError

AssetKind = Literal["urdf", "mjcf", "srdf"]
ASSET_KINDS: tuple[AssetKind, ...] = get_args(AssetKind)
LIVE_DESCRIPTION_REF = "ros2://robot_description"


@dataclass(frozen=True, slots=True)
class AssetRef:
    """A reference split into its scheme and what the scheme looks up."""

    scheme: str
    target: str

    def __str__(self) -> str:
        separator = "://" if self.scheme == "ros2" else ":"
        return f"{self.scheme}{separator}{self.target}"


@dataclass(frozen=True, slots=True)
class AssetScheme:
    """One way to name an asset: its spelling, the kinds it serves, what its target may look like."""

    spelling: str
    kinds: tuple[AssetKind, ...]
    target_problem: Callable[[str], str | None]


def _module_problem(target: str) -> str | None:
    if re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", target):
        return None
    return "the part after `rd:` must be a module of robot_descriptions, such as `panda_description`"


def _file_problem(target: str) -> str | None:
    if not target.isprintable() or target != target.strip():
        return "the path must be printable and must not start or end with a space"
    if "\\" in target:
        return "the path must use forward slashes"
    if PurePosixPath(target).is_absolute() or PureWindowsPath(target).drive or target.startswith("~"):
        return "the path must be relative to the manifest's folder or to the repository root"
    if target.endswith("/") or PurePosixPath(target).name in ("", ".."):
        return "the path must name a file"
    return None


def _package_problem(target: str) -> str | None:
    distribution, slash, path = target.partition("/")
    if not slash or not path or not re.fullmatch(r"[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?", distribution):
        return "write `pkg:<distribution>/<path>`, such as `pkg:example-robot-data/robots/panda.urdf`"
    if ".." in PurePosixPath(path).parts:
        return "the path must stay inside the installed distribution, without `..`"
    return _file_problem(path)


def _model_problem(target: str) -> str | None:
    if re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_-]*", target):
        return None
    return "the name may hold letters, digits, `_` and `-` only"


def _live_description_problem(target: str) -> str | None:
    return None if target == "robot_description" else f"the only live description is `{LIVE_DESCRIPTION_REF}`"


SCHEMES: Mapping[str, AssetScheme] = {
    "rd": AssetScheme("rd:<module>", ("urdf", "mjcf", "srdf"), _module_problem),
    "file": AssetScheme("file:<relpath>", ("urdf", "mjcf", "srdf"), _file_problem),
    "pkg": AssetScheme("pkg:<distribution>/<path>", ("urdf", "mjcf", "srdf"), _package_problem),
    "gym_aloha": AssetScheme("gym_aloha:<scene>", ("mjcf",), _model_problem),
    "openarm": AssetScheme("openarm:<variant>", ("mjcf",), _model_problem),
    "menagerie": AssetScheme("menagerie:<model>", ("mjcf",), _model_problem),
    "ros2": AssetScheme(LIVE_DESCRIPTION_REF, ("urdf",), _live_description_problem),
}


def file_spelling(path: str) -> str:
    """Returns how a bare path is written as a reference; only its shape for one that no manifest may hold."""
    return f"file:{path}" if _file_problem(path) is None else SCHEMES["file"].spelling


def modern_spelling(ref: str) -> str | None:
    """Returns how a legacy reference is spelled today, or nothing when it is not a legacy spelling."""
    scheme, colon, target = ref.partition(":")
    if not colon:
        return None
    if scheme == "robot_descriptions":
        return f"rd:{target}"
    if scheme == "python":
        # `python:robot_descriptions.<module>:URDF_PATH` named the attribute; the kind picks it today.
        module = target.split(":")[0].removeprefix("robot_descriptions.")
        return f"rd:{module}" if re.fullmatch(r"[A-Za-z_]\w*", module) else "rd:<module>"
    if scheme == "openarm_v2":
        return f"openarm:{target}"
    return None


def parse_asset_ref(ref: str, kind: AssetKind) -> AssetRef:
    """Splits a reference to an asset of `kind` into scheme and target, touching neither file nor network.

    Raises:
        ROSConfigError: The kind or the scheme is unknown, the scheme does not serve the kind, the spelling is
            a legacy one, or the target cannot be one of that scheme. The message says how to write it.
    """
    if kind not in ASSET_KINDS:
        raise ROSConfigError(f"unknown asset kind: `{kind}`; kinds: {_listed(ASSET_KINDS)}")
    if not isinstance(ref, str) or not ref:
        raise ROSConfigError(f"a {kind} reference must be a text, got {ref!r}; {_spellings(kind)}")

    replacement = modern_spelling(ref)
    if replacement is not None:
        raise ROSConfigError(f"`{ref}` is a legacy spelling: write `{replacement}`; {_spellings(kind)}")

    name, colon, target = ref.partition(":")
    scheme = SCHEMES.get(name) if colon else None
    if scheme is None:
        bare_path = "" if colon else f"a file is written `{file_spelling(ref)}`; "
        raise ROSConfigError(f"no known scheme in {kind} reference `{ref}`: {bare_path}{_spellings(kind)}")
    if kind not in scheme.kinds:
        raise ROSConfigError(
            f"`{scheme.spelling}` does not serve kind {kind} (it serves {_listed(scheme.kinds)}), "
            f"in `{ref}`; {_spellings(kind)}"
        )
    if name == "ros2":
        if not target.startswith("//"):
            raise ROSConfigError(
                f"`{ref}` is not a {kind} reference: write `{LIVE_DESCRIPTION_REF}`; {_spellings(kind)}"
            )
        target = target.removeprefix("//")
    problem = (
        scheme.target_problem(target) if target else f"nothing follows the scheme; write `{scheme.spelling}`"
    )
    if problem is not None:
        raise ROSConfigError(f"cannot use {kind} reference `{ref}`: {problem}; {_spellings(kind)}")
    return AssetRef(name, target)


def _listed(names: tuple[str, ...]) -> str:
    return ", ".join(names)


def _spellings(kind: AssetKind) -> str:
    served = (f"`{scheme.spelling}`" for scheme in SCHEMES.values() if kind in scheme.kinds)
    return f"schemes for {kind}: {', '.join(served)}"
