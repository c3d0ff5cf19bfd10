# SPDX-License-Identifier: Apache-2.0
"""Imports point downwards, and `import lastgate` needs NumPy and Pydantic only."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import lastgate

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "lastgate"

# Who may import whom, among our own rooms. A module that is not a folder counts as the room of its name.
DOWNWARDS = ("contracts", "assets", "lowering", "cli")
TOOLS = {"assets", "lowering", "telemetry", "dashboard", "audit", "bench", "demo", "cli"}
ROOMS = {path.stem for path in PACKAGE.iterdir() if path.suffix == ".py" or (path / "__init__.py").is_file()}
RUN_TIME = sorted(ROOMS - TOOLS)

BLOCKED_IMPORT = """
import importlib.abc, sys

class Blocker(importlib.abc.MetaPathFinder):
    allowed = {allowed!r}

    def find_spec(self, name, path=None, target=None):
        root = name.partition(".")[0]
        # The standard library reads its build settings from a module that is named after the machine.
        if root in self.allowed or root in sys.stdlib_module_names or root.startswith("_sysconfigdata"):
            return None
        raise ModuleNotFoundError(f"blocked: {{name}}", name=name)

sys.meta_path.insert(0, Blocker())
"""

# NumPy and Pydantic bring these themselves.
ALLOWED = {
    "lastgate",
    "numpy",
    "pydantic",
    "pydantic_core",
    "annotated_types",
    "typing_extensions",
    "typing_inspection",
}


def imported_rooms(path: Path) -> set[str]:
    """Returns the rooms of our own package that a file imports, inside functions too."""
    rooms = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            assert node.level == 0, f"{path.name}:{node.lineno}: relative import"
            names = [node.module] + [f"{node.module}.{alias.name}" for alias in node.names]
        rooms |= {name.split(".")[1] for name in names if name.startswith("lastgate.")}
    return {room for room in rooms if (PACKAGE / room).is_dir() or (PACKAGE / f"{room}.py").exists()}


def files_of(room: str) -> list[Path]:
    return sorted((PACKAGE / room).rglob("*.py")) or [PACKAGE / f"{room}.py"]


@pytest.mark.parametrize("room", DOWNWARDS)
def test_room_imports_only_rooms_below_it(room: str):
    above = set(DOWNWARDS[DOWNWARDS.index(room) + 1 :])
    offenders = [
        f"{path.relative_to(ROOT)} imports {found}"
        for path in files_of(room)
        for found in imported_rooms(path) & above
    ]
    assert offenders == []


def test_contracts_import_nothing_of_ours():
    offenders = [
        str(path.relative_to(ROOT)) for path in files_of("contracts") if imported_rooms(path) - {"contracts"}
    ]
    assert offenders == []


def test_every_tool_is_a_room():
    assert sorted(TOOLS - ROOMS) == []


@pytest.mark.parametrize("room", RUN_TIME)
def test_run_time_room_never_imports_tools(room: str):
    offenders = [
        f"{path.relative_to(ROOT)} imports {found}"
        for path in files_of(room)
        for found in imported_rooms(path) & TOOLS
    ]
    assert offenders == []


def test_layer_test_sees_an_import_inside_a_function(tmp_path: Path):
    path = tmp_path / "upwards.py"
    path.write_text("def check():\n    from lastgate.cli import app\n    return app\n")
    assert imported_rooms(path) == {"cli"}


def run_python(program: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=60
    )


def test_import_needs_numpy_and_pydantic_only():
    program = BLOCKED_IMPORT.format(allowed=ALLOWED) + (
        "import lastgate, numpy\n"
        "assert not {'ruamel', 'typer', 'rich', 'lxml', 'trimesh', 'scipy', 'mujoco'} & set(sys.modules)\n"
        "print(lastgate.__version__)"
    )
    done = run_python(program)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == lastgate.__version__


def test_blocker_blocks():
    done = run_python(BLOCKED_IMPORT.format(allowed=ALLOWED) + "import ruamel.yaml")
    assert done.returncode == 1
    assert "blocked: ruamel" in done.stderr


def test_robot_without_the_yaml_extra_says_what_to_install():
    program = BLOCKED_IMPORT.format(allowed=ALLOWED) + "import lastgate\nlastgate.load_robot('franka_panda')"
    done = run_python(program)
    assert done.returncode == 1
    assert "pip install" in done.stderr
    assert "lastgate[robots]" in done.stderr


def test_every_public_name_resolves():
    missing = [name for name in lastgate.__all__ if not hasattr(lastgate, name)]
    assert missing == []
    assert len(set(lastgate.__all__)) == len(lastgate.__all__)
