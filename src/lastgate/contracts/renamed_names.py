# SPDX-License-Identifier: Apache-2.0
"""Old names of public things. Each still works for one release and says what to write instead.

docs/reference/names.md has the whole list.
"""

import os
import warnings
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any, TypeVar

from lastgate.contracts.renamed_modules import MOVED_MODULES, path_of_today

# Per module: the old name, and that of today.
_NAMES: Mapping[str, Mapping[str, str]] = {
    "lastgate": {"HeldShape": "AttachedShape"},
    "lastgate.integrations.rejection": {"Refusal": "Rejection"},
}
# Per class: the old attribute, and what it is called today.
_ATTRIBUTES: Mapping[str, Mapping[str, str]] = {
    "CollisionEnvironment": {"balls": "spheres", "has_cells": "has_voxels"},
    "Gate": {"held_shapes": "attached_shapes"},
    "GridLayout": {"cell_count": "voxel_count"},
    "PolicyProxy": {"refused": "rejected"},
    "RobotDescription": {
        "has_loaded_pieces": "has_loaded_hulls",
        "loaded_pieces": "loaded_hulls",
        "with_loaded_pieces": "with_loaded_hulls",
    },
    "RobotSphereModel": {"balls_in_links": "spheres_in_links"},
    "SelfFilter": {"owner_of_cells": "owner_of_voxels"},
    "World": {"floor_field": "occupancy_map_field"},
}
# Environment variables: today's name, and the old one.
_VARIABLES: Mapping[str, str] = {"LASTGATE_SIMD": "LASTGATE_LANES"}

_Class = TypeVar("_Class", bound=type)


def getattr_of_renamed(module: str) -> Callable[[str], Any]:
    """Returns a module's `__getattr__` that finds things under their old names, with a `DeprecationWarning`."""

    renamed = _NAMES[module]

    def find(name: str) -> Any:
        moved = path_of_today(f"{module}.{name}")
        if moved is not None:
            if f"{module}.{name}" in MOVED_MODULES:
                _warn(f"{module}.{name}", moved)
            return import_module(moved)
        if name not in renamed:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        _warn(f"{module}.{name}", f"{module}.{renamed[name]}")
        return getattr(import_module(module), renamed[name])

    return find


def with_old_attributes(of: _Class) -> _Class:
    """Gives a class its old attributes beside today's; reading one gives a `DeprecationWarning`."""
    for old, new in _ATTRIBUTES[of.__name__].items():
        setattr(of, old, _old_attribute(of.__name__, old, new))
    return of


def read_variable(name: str, default: str) -> tuple[str, str]:
    """Returns which environment variable was set, today's name or the old one, and its value."""
    old = _VARIABLES[name]
    if name not in os.environ and old in os.environ:
        _warn(f"the environment variable {old}", name)
        return old, os.environ[old]
    return name, os.environ.get(name, default)


def _old_attribute(of: str, old: str, new: str) -> property:
    def read(self: object) -> Any:
        _warn(f"{of}.{old}", f"{of}.{new}")
        return getattr(self, new)

    return property(read, doc=f"Old name of `{new}`.")


def _warn(old: str, new: str) -> None:
    warnings.warn(f"write {new} instead of {old}", DeprecationWarning, stacklevel=3)
