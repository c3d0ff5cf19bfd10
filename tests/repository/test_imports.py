# SPDX-License-Identifier: Apache-2.0
"""What the import contracts of pyproject.toml cannot say, and that `import lastgate` needs NumPy and Pydantic only."""

import ast
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import lastgate

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "lastgate"

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


NATIVE = {"_core", "_fitting"}


def imports_of_the_package_itself(text: str) -> list[str]:
    """Returns the names that a file takes from `lastgate` itself, where the layers of pyproject.toml are blind."""
    taken = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"line {node.lineno}: relative import"
            if node.module == "lastgate":
                taken += [alias.name for alias in node.names]
        elif isinstance(node, ast.Import):
            taken += [alias.name for alias in node.names if alias.name == "lastgate"]
    return taken


def test_package_itself_gives_its_own_files_native_modules_only():
    modules = {path.stem for path in PACKAGE.iterdir()} | NATIVE
    offenders = [
        f"{path.relative_to(ROOT)} imports {name}"
        for path in sorted(PACKAGE.rglob("*.py"))
        if path != PACKAGE / "__init__.py"
        for name in imports_of_the_package_itself(path.read_text(encoding="utf-8"))
        if name not in modules
    ]
    assert offenders == []


def test_public_name_taken_from_the_package_itself_is_seen():
    assert imports_of_the_package_itself("def check():\n    from lastgate import Gate\n") == ["Gate"]
    assert imports_of_the_package_itself("import lastgate as lg\n") == ["lastgate"]


# The installed package has a finder of its own, which would find the real one.
LINT = """
import sys
sys.meta_path = [finder for finder in sys.meta_path if "ScikitBuild" not in type(finder).__name__]
sys.path.insert(0, {folder!r})
from importlinter.cli import lint_imports
sys.exit(lint_imports(config_filename={config!r}, cache_dir=None))
"""


@pytest.mark.parametrize(
    ("file", "planted", "contract"),
    [
        ("gate/verdict.py", "", None),
        (
            "gate/gate.py",
            "def upwards():\n    from lastgate.tools.cli import app\n    return app\n",
            "Dependencies point down",
        ),
        ("contracts/shapes.py", "from lastgate.world import World\n", "Dependencies point down"),
        ("world/voxels.py", "from lastgate.world import depth\n", "in a circle"),
        ("drawer.py", "from lastgate.contracts import shapes\n", "Dependencies point down"),
    ],
)
def test_contract_of_the_layers_is_broken_by_an_import_upwards(tmp_path: Path, file, planted, contract):
    def only_python(folder: str, names: list[str]) -> list[str]:
        return [name for name in names if not name.endswith(".py") and not (Path(folder) / name).is_dir()]

    copy = tmp_path / "lastgate"
    shutil.copytree(PACKAGE, copy, ignore=only_python)
    with (copy / file).open("a", encoding="utf-8") as opened:
        opened.write("\n" + planted)
    done = run_python(LINT.format(folder=str(tmp_path), config=str(ROOT / "pyproject.toml")))
    assert done.returncode == (1 if contract else 0), done.stdout + done.stderr
    if contract:
        assert any(contract in line and "BROKEN" in line for line in done.stdout.splitlines()), done.stdout


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


def test_robot_without_its_yaml_reader_says_what_to_install():
    program = BLOCKED_IMPORT.format(allowed=ALLOWED) + "import lastgate\nlastgate.load_robot('franka_panda')"
    done = run_python(program)
    assert done.returncode == 1
    assert "pip install" in done.stderr
    assert "pip install ruamel.yaml" in done.stderr


def test_every_public_name_resolves():
    missing = [name for name in lastgate.__all__ if not hasattr(lastgate, name)]
    assert missing == []
    assert len(set(lastgate.__all__)) == len(lastgate.__all__)
