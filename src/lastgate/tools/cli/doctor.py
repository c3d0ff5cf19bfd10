# SPDX-License-Identifier: Apache-2.0
"""`lastgate doctor`: one line per thing that lastgate needs or can use."""

import importlib.util
import json
import platform
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from importlib.metadata import distribution, version
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypedDict

import typer

from lastgate.contracts.extras import install_command, missing_packages
from lastgate.tools.cli.messages import paint

if TYPE_CHECKING:
    from lastgate.contracts import RobotDescription

ENGINES = (("mujoco", "mujoco"), ("pinocchio", "pin"), ("coal", "coal"), ("fcl", "python-fcl"))


class Finding(TypedDict):
    """One line of the report."""

    what: str
    found: bool
    detail: str


def doctor_command(
    *, as_json: Annotated[bool, typer.Option("--json", help="Print a list of objects.")] = False
) -> int:
    """Reports Python, compiler, native module, extras, robots and engines. Always exits with 0."""
    findings = [*_python(), *_native(), *_compiler(), *_extras(), *_robots(), *_engines()]
    if as_json:
        print(json.dumps(findings, indent=2))
        return 0
    width = max(len(finding["what"]) for finding in findings)
    for finding in findings:
        mark = (
            paint("yes", "green", stream=sys.stdout)
            if finding["found"]
            else paint("no ", "yellow", stream=sys.stdout)
        )
        print(f"{mark}  {finding['what']:<{width}}  {finding['detail']}")
    return 0


def _python() -> Iterator[Finding]:
    recent = sys.version_info >= (3, 11)
    detail = f"{platform.python_version()}, {platform.system()} {platform.machine()}"
    yield {
        "what": "python",
        "found": recent,
        "detail": detail if recent else f"{detail}; 3.11 or newer is needed",
    }


def _native() -> Iterator[Finding]:
    try:
        from lastgate import _core
    except ImportError as error:
        yield {"what": "native module", "found": False, "detail": f"{error}; `make .venv/.built` builds it"}
        return
    bounds = f"{_core.ROWS_MAX} steps, {_core.PRIMITIVES_MAX} obstacles, {_core.LINKS_MAX} links"
    from lastgate.gate import chosen_simd

    detail = f"{Path(_core.__file__).name}, SIMD build {chosen_simd()}; at most {bounds}"
    yield {"what": "native module", "found": True, "detail": detail}


def _compiler() -> Iterator[Finding]:
    for name in ("c++", "g++", "clang++"):
        path = shutil.which(name)
        if path is None:
            continue
        said = subprocess.run([path, "--version"], capture_output=True, text=True, check=False, timeout=10)
        first = said.stdout.splitlines()[0] if said.stdout else name
        yield {"what": "C++ compiler", "found": True, "detail": f"{name}: {first}"}
        return
    yield {
        "what": "C++ compiler",
        "found": False,
        "detail": "needed to build from source: apt-get install g++",
    }


def _extras() -> Iterator[Finding]:
    for extra in distribution("lastgate").metadata.get_all("Provides-Extra") or []:
        missing = missing_packages(extra)
        detail = f"needs {', '.join(missing)}: {install_command(extra)}" if missing else "installed"
        yield {"what": f"extra {extra}", "found": not missing, "detail": detail}


def _robots() -> Iterator[Finding]:
    from lastgate.contracts import ROSError

    try:
        from lastgate.gate import Gate
        from lastgate.robots import load_robot, robot_names
    except ImportError as error:
        yield {"what": "robots", "found": False, "detail": str(error)}
        return
    for name in robot_names():
        try:
            robot = load_robot(name)
            gate = Gate(robot, step_s=0.02)
        except ROSError as error:
            yield {"what": f"robot {name}", "found": False, "detail": str(error).splitlines()[0]}
            continue
        yield {
            "what": f"robot {name}",
            "found": True,
            "detail": f"{gate.n_dof} joints, {len(gate.checked_pairs)} pairs, "
            + (f"{len(robot.loaded_hulls)} convex hulls" if robot.loaded_hulls else "volumes only")
            + f"; speeds {_speed_sources(robot)}"
            + (f"; volumes not proved: {robot.unproved_volumes}" if robot.unproved_volumes else ""),
        }


def _speed_sources(robot: "RobotDescription") -> str:
    counted = Counter(joint.velocity_limit_source for joint in robot.actuated_joints)
    fast = sum(joint.looks_like_motor_data for joint in robot.actuated_joints)
    named = ", ".join(f"{count} {source}" for source, count in sorted(counted.items()))
    return named + (f" ({fast} look like motor data)" if fast else "")


def _engines() -> Iterator[Finding]:
    for module, distribution_name in ENGINES:
        found = importlib.util.find_spec(module) is not None
        detail = (
            version(distribution_name)
            if found
            else f"asked by lowering, tests and benchmarks: {install_command('oracles')}"
        )
        yield {
            "what": f"engine {module}",
            "found": found,
            "detail": detail if found else f"not found; {detail}",
        }
