# SPDX-License-Identifier: Apache-2.0
"""`rd:<module>`: a file of the robot_descriptions package, whose modules clone when they are imported.

Importing such a module reaches for the network, and deletes a cache folder that is not a git
repository. So the module's source is read first: what it offers, what it would clone, and whether the
cache has it. Only then is it run.
"""

import ast
import importlib.util
import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType

from lastgate.contracts.asset_refs import AssetKind
from lastgate.contracts.exceptions import ROSConfigError
from lastgate.tools.assets.closest_names import quote_closest

ATTRIBUTE_BY_KIND: dict[str, str] = {"urdf": "URDF_PATH", "mjcf": "MJCF_PATH", "srdf": "SRDF_PATH"}
XACRO_ATTRIBUTE_BY_KIND: dict[str, str] = {"urdf": "XACRO_PATH", "srdf": "SRDF_XACRO_PATH"}

# git asks for a user name when a repository is gone, and waits for ever on a connection that is open
# and silent. A server that stalls does not recover by waiting: 30 s below 1 kB/s is a failure.
GIT_ENVIRONMENT = {
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_HTTP_LOW_SPEED_LIMIT": "1000",
    "GIT_HTTP_LOW_SPEED_TIME": "30",
}


@dataclass(frozen=True, kw_only=True)
class CachedRepository:
    """One git repository a module clones, and where the cache keeps it."""

    url: str
    revision: str
    folder: Path


@dataclass(frozen=True, kw_only=True)
class DescriptionModule:
    """What a module of robot_descriptions offers, known without running it."""

    name: str
    spec: ModuleSpec
    attributes: frozenset[str]
    repositories: tuple[CachedRepository, ...]


def resolve_rd(module_name: str, kind: AssetKind) -> Path:
    """Returns the file of the given kind that `robot_descriptions.<module_name>` names.

    A cache miss says `Downloading <module> …` on stderr before anything is fetched. Raises
    `ROSConfigError` if the package or the module is missing, if the module offers this kind only as
    xacro or not at all (nothing is downloaded then), or if the download does not succeed.
    """
    description = inspect_module(module_name)
    attribute = ATTRIBUTE_BY_KIND[kind]
    if attribute not in description.attributes:
        raise _kind_missing(description, kind)
    path = Path(getattr(load_module(description), attribute))
    if not path.is_file():
        raise ROSConfigError(
            f"`rd:{module_name}`: the repository has no file `{path}`\n\n"
            f"hint: delete `{description.repositories[0].folder}` if the clone is damaged, and try again"
        )
    return path


def inspect_module(module_name: str) -> DescriptionModule:
    """Reads the source of a description module without running it."""
    spec = _find_module(module_name)
    assert spec.origin is not None  # _find_module returns modules that are files.
    tree = ast.parse(Path(spec.origin).read_text(encoding="utf-8"))
    attributes = {name for statement in tree.body for name in _assigned_names(statement)}
    clones = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and _is_clone_call(node)]
    repositories = tuple(_repository_of(call, module_name) for call in clones)
    if not repositories:
        raise _not_understood(module_name)
    return DescriptionModule(
        name=module_name, spec=spec, attributes=frozenset(attributes), repositories=repositories
    )


def load_module(description: DescriptionModule) -> ModuleType:
    """Runs a description module, which clones what the cache lacks, and returns it."""
    for repository in description.repositories:
        _require_replaceable(repository, description.name)
    missing = [repository for repository in description.repositories if not _is_cached(repository)]
    if missing:
        print(f"Downloading {description.name} …", file=sys.stderr, flush=True)
    assert description.spec.loader is not None
    # A module object of our own: the one in sys.modules remembers the cache of the first import.
    module = importlib.util.module_from_spec(description.spec)
    try:
        # robot_descriptions prints to stdout, which carries data, and draws a bar that only a terminal shows.
        progress = sys.stderr if sys.stderr.isatty() else io.StringIO()
        with redirect_stdout(io.StringIO()), redirect_stderr(progress), _environment(GIT_ENVIRONMENT):
            description.spec.loader.exec_module(module)
    except Exception as error:  # GitPython, the operating system and the module itself may all raise.
        raise _clone_refused(description, missing, error) from error
    return module


def _find_module(module_name: str) -> ModuleSpec:
    try:
        package = importlib.util.find_spec("robot_descriptions")
    except (ImportError, ValueError):
        package = None
    if package is None or not package.submodule_search_locations:
        raise ROSConfigError(
            f"`rd:{module_name}` needs the package robot_descriptions, which is not installed\n\n"
            "hint: pip install robot_descriptions"
        )
    folders = [Path(folder) for folder in package.submodule_search_locations]
    known = {
        path.stem for folder in folders for path in folder.glob("*_description.py") if path.stem[0] != "_"
    }
    if module_name not in known:
        raise ROSConfigError(
            f"robot_descriptions has no module `{module_name}`; closest: {quote_closest(module_name, known)}"
        )
    spec = importlib.util.find_spec(f"robot_descriptions.{module_name}")
    if spec is None or spec.origin is None:
        raise _not_understood(module_name)
    return spec


def _assigned_names(statement: ast.stmt) -> Iterator[str]:
    targets: list[ast.expr] = []
    if isinstance(statement, ast.Assign):
        targets = statement.targets
    elif isinstance(statement, ast.AnnAssign):
        targets = [statement.target]
    for target in targets:
        if isinstance(target, ast.Name):
            yield target.id


def _is_clone_call(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Name) and call.func.id.endswith("clone_to_cache")


def _repository_of(call: ast.Call, module_name: str) -> CachedRepository:
    """Works out, like robot_descriptions does, which folder of the cache a clone call stands for."""
    try:
        from robot_descriptions._repositories import REPOSITORIES
    except ImportError as error:
        raise _not_understood(module_name) from error
    arguments = [argument.value for argument in call.args if isinstance(argument, ast.Constant)]
    if len(arguments) != 1 or len(call.args) != 1 or arguments[0] not in REPOSITORIES:
        raise _not_understood(module_name)
    repository = REPOSITORIES[arguments[0]]
    commit = _commit_of(call, module_name)
    cache = Path(os.environ.get("ROBOT_DESCRIPTIONS_CACHE", "~/.cache/robot_descriptions")).expanduser()
    name = repository.cache_path
    folder = cache / name if commit is None else cache / f"{name}-{commit}" / name
    return CachedRepository(url=repository.url, revision=commit or repository.commit, folder=folder)


def _commit_of(call: ast.Call, module_name: str) -> str | None:
    """Returns the revision the environment asks for, or None for the pinned one."""
    for keyword in call.keywords:
        value = keyword.value
        if (
            keyword.arg == "commit"
            and isinstance(value, ast.Call)
            and isinstance(value.func, ast.Name)
            and value.func.id.endswith("getenv")
            and value.args
            and isinstance(value.args[0], ast.Constant)
        ):
            return os.environ.get(str(value.args[0].value))
        raise _not_understood(module_name)
    return None


def _is_cached(repository: CachedRepository) -> bool:
    """Returns whether the cached clone can serve the revision without the network."""
    git = _import_git()
    if not repository.folder.is_dir():
        return False
    try:
        with git.Repo(repository.folder) as clone:
            clone.git.rev_parse("--verify", "--quiet", f"{repository.revision}^{{commit}}")
    except (git.GitError, OSError, ValueError):
        return False
    return True


def _require_replaceable(repository: CachedRepository, module_name: str) -> None:
    """Refuses a cache folder that robot_descriptions would delete: one that is not a git repository."""
    git = _import_git()
    folder = repository.folder
    if not os.path.lexists(folder):
        return
    is_empty = folder.is_dir() and not folder.is_symlink() and not any(folder.iterdir())
    if is_empty:
        return
    try:
        git.Repo(folder).close()
    except (git.InvalidGitRepositoryError, OSError) as error:
        raise ROSConfigError(
            f"`rd:{module_name}`: `{folder}` is no git repository, and robot_descriptions would delete it\n\n"
            "hint: move it away, or refer to its files with `file:`"
        ) from error


def _import_git() -> ModuleType:
    try:
        import git
    except ImportError as error:  # GitPython raises it when there is no `git` program.
        raise ROSConfigError(
            "`rd:` references need the program git, which was not found\n\nhint: install git, or use `pkg:`"
        ) from error
    return git


@contextmanager
def _environment(variables: dict[str, str]) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def _kind_missing(description: DescriptionModule, kind: AssetKind) -> ROSConfigError:
    ref = f"rd:{description.name}"
    if XACRO_ATTRIBUTE_BY_KIND.get(kind) in description.attributes:
        sentence = f"`{ref}` offers its {kind.upper()} as xacro only, and xacro is not expanded at run time"
        hint = f"\n\nhint: lastgate robot vendor-urdf ID --upstream {ref}" if kind == "urdf" else ""
        return ROSConfigError(sentence + hint)
    served = [name for name, attribute in ATTRIBUTE_BY_KIND.items() if attribute in description.attributes]
    return ROSConfigError(f"`{ref}` has no {kind.upper()}; it has: {', '.join(served) or 'none'}")


def _clone_refused(
    description: DescriptionModule, missing: list[CachedRepository], error: Exception
) -> ROSConfigError:
    if not missing:
        return ROSConfigError(f"`rd:{description.name}` cannot be loaded: {_one_line(error)}")
    urls = ", ".join(repository.url for repository in missing)
    return ROSConfigError(
        f"`rd:{description.name}` is not in the cache and could not be downloaded from {urls}: "
        f"{_one_line(error)}\n\n"
        "hint: run it once with a network connection, or use a `pkg:` or `file:` reference"
    )


def _one_line(error: Exception) -> str:
    """Returns what git said, or the error itself, on one line."""
    said = str(getattr(error, "stderr", "") or error)
    lines = [line.strip() for line in said.splitlines()]
    fatal = [line for line in lines if "fatal:" in line]
    text = fatal[0].partition("fatal:")[2] if fatal else " ".join(lines)
    return text.strip(" '\"") or type(error).__name__


def _not_understood(module_name: str) -> ROSConfigError:
    return ROSConfigError(
        f"`rd:{module_name}`: what this version of robot_descriptions would download or delete cannot be "
        "read from its source\n\nhint: pip install 'robot_descriptions>=3,<4'"
    )
