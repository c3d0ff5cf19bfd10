# SPDX-License-Identifier: Apache-2.0
"""Old import paths of modules that moved: the same module under both names.

The paths of the contract stay and say nothing. Every other one gives a `DeprecationWarning` for one release.
docs/reference/names.md has the whole list.
"""

import sys
import warnings
from collections.abc import Mapping, Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import CodeType, ModuleType

# The import paths that the contract names; they never go.
CONTRACT_PATHS: Mapping[str, str] = {
    "lastgate.approach": "lastgate.planning.approach",
    "lastgate.assets": "lastgate.tools.assets",
    "lastgate.collision": "lastgate.planning.collision",
}
# The old path, and today's. What lies below an old path lies below today's too.
MOVED_MODULES: Mapping[str, str] = {
    "lastgate.action": "lastgate.contracts.action",
    "lastgate.adapters": "lastgate.integrations",
    "lastgate.adapters.refusal": "lastgate.integrations.rejection",
    "lastgate.arrays": "lastgate.contracts.arrays",
    "lastgate.attached_objects": "lastgate.gate.attached_objects",
    "lastgate.attached_shape": "lastgate.contracts.attached_shape",
    "lastgate.audit": "lastgate.tools.audit",
    "lastgate.bench": "lastgate.tools.bench",
    "lastgate.certificate_checker": "lastgate.certificate.checker",
    "lastgate.cli": "lastgate.tools.cli",
    "lastgate.coverage": "lastgate.gate.coverage",
    "lastgate.dashboard": "lastgate.tools.dashboard",
    "lastgate.declared_contact": "lastgate.gate.declared_contact",
    "lastgate.demo": "lastgate.tools.demo",
    "lastgate.estop": "lastgate.kernel.estop",
    "lastgate.kernel_client": "lastgate.kernel.client",
    "lastgate.kernel_config": "lastgate.robots.kernel_config",
    "lastgate.kernel_process": "lastgate.kernel.process",
    "lastgate.lowering": "lastgate.tools.lowering",
    "lastgate.memory": "lastgate.integrations.agent",
    "lastgate.naming": "lastgate.gate.naming",
    "lastgate.nav_goal": "lastgate.gate.nav_goal",
    "lastgate.printable": "lastgate.contracts.printable",
    "lastgate.renamed_names": "lastgate.contracts.renamed_names",
    "lastgate.skills": "lastgate.planning.skills",
    "lastgate.telemetry": "lastgate.tools.telemetry",
    "lastgate.verdict": "lastgate.gate.verdict",
    "lastgate.world.self_filter": "lastgate.gate.self_filter",
}


def find_under_old_paths() -> None:
    """Makes `import` find modules under their old paths too."""
    if not any(isinstance(finder, _OldPaths) for finder in sys.meta_path):
        # First: a package that was imported under its old path would have its files loaded a second time.
        sys.meta_path.insert(0, _OldPaths())


def path_of_today(path: str) -> str | None:
    """Returns where a module is that was asked for under an old path, or None for any other path."""
    head, below = path, ""
    while head != "lastgate":
        new = CONTRACT_PATHS.get(head) or MOVED_MODULES.get(head)
        if new is not None:
            return new + below
        head, _, last = head.rpartition(".")
        below = f".{last}{below}"
        if not head:
            return None
    return None


class _OldPaths(MetaPathFinder):
    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if not fullname.startswith("lastgate."):
            return None
        today = path_of_today(fullname)
        found = None if today is None else find_spec(today)
        if found is None:
            return None
        is_package = found.submodule_search_locations is not None
        return ModuleSpec(fullname, _SameModule(found), origin=found.origin, is_package=is_package)


class _SameModule(Loader):
    def __init__(self, today: ModuleSpec) -> None:
        self._today = today

    def exec_module(self, module: ModuleType) -> None:
        old = module.__name__
        if old in MOVED_MODULES:
            warnings.warn(f"write {self._today.name} instead of {old}", DeprecationWarning, stacklevel=2)
        # What stands in `sys.modules` after this call is what the import gives.
        sys.modules[old] = import_module(self._today.name)

    def get_code(self, fullname: str) -> CodeType | None:
        """Returns the code of today's module, for `python -m` with an old path."""
        # Not every loader says that it is an InspectLoader; that of an editable install does not.
        get_code = getattr(self._today.loader, "get_code", None)
        return None if get_code is None else get_code(self._today.name)
