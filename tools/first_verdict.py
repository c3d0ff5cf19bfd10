# SPDX-License-Identifier: Apache-2.0
"""Times what a new user does: a clean environment, the wheel, the first verdict. Prints seconds; over 60 is a failure.

No compiler is on PATH, and pip may take wheels only, so that nothing is built. `--installed` runs the verdict in this
interpreter, where a wheel is installed already. `--python` names the interpreter that makes the environment.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
BUDGET_S = 60.0
# The snippet of README.md; then the same from the command line and from the kernel process, where there is one.
SNIPPET = """
import sys
import numpy as np
import lastgate as lg

gate = lg.Gate(lg.load_robot("franka_panda"), step_s=0.02)
start = np.array([0.0, -0.6, 0.0, -2.2, 0.0, 1.7, 0.785])
rows = np.linspace(start, start + 0.1, 16)
state = lg.RobotState(positions=start, stamp_s=1.0)
sphere = lg.WorldCollisionPrimitive(shape=lg.SphereShape(radius_m=0.1), pose=lg.Pose6D(xyz=(0.7, 0.4, 0.2)))
world = lg.World(primitives=[sphere], stamp_s=1.0)
verdict = gate.check(lg.ActionChunk(rows), state=state, world=world, now_s=1.01)
print(verdict.explain())
assert verdict.accepted
on_the_arm = lg.WorldCollisionPrimitive(shape=lg.SphereShape(radius_m=0.1), pose=lg.Pose6D(xyz=(0.35, 0.0, 0.6)))
rejected = gate.check(
    lg.ActionChunk(rows), state=state, world=lg.World(primitives=[on_the_arm], stamp_s=1.0), now_s=1.01
)
assert not rejected.accepted
print(rejected.explain())
if sys.platform == "linux":
    with lg.KernelClient(robot="franka_panda", rate_hz=50) as kernel:
        kernel.observe(start)
        print("the kernel process runs; latched:", kernel.status().latched)
"""


def without_compilers(folder: Path) -> str:
    """Returns a PATH of one folder, with the few programs that pip and the snippet need and no compiler."""
    folder.mkdir()
    for name in ("sh", "env", "uname"):
        found = next(
            (Path(place) / name for place in ("/bin", "/usr/bin") if (Path(place) / name).exists()), None
        )
        if found is not None:
            (folder / name).symlink_to(found)
    return str(folder)


def installed_verdict(python: str, environment: dict[str, str]) -> None:
    """Runs the snippet; its failure is ours."""
    subprocess.run([python, "-c", SNIPPET], check=True, env=environment, cwd=tempfile.gettempdir())


def fresh_verdict(wheels: Path, python: str) -> float:
    """Returns the seconds from an empty folder to the first verdict."""
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        environment = {**os.environ, "PATH": without_compilers(folder / "bin"), "PYTHONNOUSERSITE": "1"}
        environment.pop("CXX", None)
        environment.pop("PYTHONPATH", None)
        begin = time.monotonic()
        subprocess.run([python, "-m", "venv", folder / "venv"], check=True)
        inside = str(folder / "venv" / "bin" / "python")
        install = [inside, "-m", "pip", "install", "--quiet", "--find-links", str(wheels)]
        subprocess.run([*install, "--only-binary", ":all:", "lastgate"], check=True, env=environment)
        print(f"installed after {time.monotonic() - begin:.1f} s", flush=True)
        installed_verdict(inside, environment)
        seconds = time.monotonic() - begin
        subprocess.run(
            [str(folder / "venv" / "bin" / "lastgate"), "explain", "joint_velocity_limit"],
            check=True,
            env=environment,
            stdout=subprocess.DEVNULL,
        )
        return seconds


def main() -> None:
    """Runs either of the two."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--installed", action="store_true")
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--wheels", type=Path, default=ROOT / "dist")
    options = parser.parse_args()
    if options.installed:
        installed_verdict(options.python, dict(os.environ))
        return
    if not any(options.wheels.glob("lastgate-*.whl")):
        sys.exit(f"error: {options.wheels} holds no wheel: `make wheels`")
    seconds = fresh_verdict(options.wheels.resolve(), options.python)
    print(f"first verdict after {seconds:.1f} s, at most {BUDGET_S:.0f} s")
    sys.exit(seconds > BUDGET_S)


if __name__ == "__main__":
    main()
