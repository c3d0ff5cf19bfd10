# SPDX-License-Identifier: Apache-2.0
"""Measures the gate and its peers on one pinned core, in turns, and writes results, page and budget report.

In turns: every round measures each checker once, and a ratio is the median of the ratios within rounds, so that
a machine that slows down for a while slows down for all of them.
"""

import argparse
import datetime
import json
import os
import platform
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from budget_report import budget_lines
from clutter import write_clutter
from hot_code import hot_code_bytes
from numpy.typing import NDArray
from peers import CompiledMujocoPeer
from render import render_page
from scene import FINGERS, make_scene, write_scene

import lastgate as lg
from lastgate.gate import chosen_simd
from lastgate.tools.bench.peers import PinocchioPeer, require_agreement
from lastgate.tools.bench.scene import Scene
from lastgate.tools.bench.speed import python_times_ns

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results"

Samples = dict[str, list[NDArray[np.float64]]]

# Per case: whose time it is divided by the gate's. Peers check the 16 rows as single poses.
RATIOS = {
    "edge_certified": "edge_sampled",
    "chunk_100": "chunk_14",
    "chunk_grid_128": "chunk_14",
    "chunk_points_10000": "chunk_14",
    "chunk_points_100000": "chunk_14",
    "mujoco_rows_14": "chunk_14",
    "mujoco_rows_100": "chunk_100",
    "pinocchio_rows_14": "python_chunk_14",
    "mujoco_configuration": "batch_4096",
    "pinocchio_configuration": "batch_4096",
    "mujoco_kinematics": "forward_kinematics",
    "pinocchio_kinematics": "forward_kinematics",
}


def cpu_name() -> str:
    """Returns the processor as the system names it."""
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()


def measure_python(scene: Scene, rounds: int, samples: Samples) -> None:
    """Measures the gate as a Python program sees it."""
    gate, state, chunk = scene.gate, scene.state, lg.ActionChunk(scene.rows)
    one = np.ascontiguousarray(scene.configurations[:1])
    world = scene.worlds[0]

    def check_chunk() -> None:
        if not gate.check(chunk, state=state, world=world, now_s=1.0).accepted:
            raise SystemExit("error: the gate rejects the collision-free chunk")

    def check_one() -> None:
        gate.check_batch(one, world=world, gripper_positions=FINGERS)

    if not gate.check_batch(one, world=world, gripper_positions=FINGERS).accepted.all():
        raise SystemExit("error: the gate rejects a collision-free configuration")
    for work in (check_chunk, check_one):
        python_times_ns(work, 100)
    samples.setdefault("python_chunk_14", []).append(python_times_ns(check_chunk, rounds))
    samples.setdefault("python_configuration", []).append(python_times_ns(check_one, rounds))


def measure(binary: Path, *, rounds: int, calls: int, core: int) -> tuple[Scene, Samples]:
    """Runs each checker `rounds` times, each with `calls` calls."""
    os.sched_setaffinity(0, {core})
    scene = make_scene()
    loop = next(binary.parent.glob("libpeer_loop.*"))
    small, large = scene.worlds
    mujoco_small, mujoco_large = (
        CompiledMujocoPeer(scene, small, loop),
        CompiledMujocoPeer(scene, large, loop),
    )
    pinocchio = PinocchioPeer(scene, small)
    contenders = {"MuJoCo": mujoco_small, "Pinocchio with Coal": pinocchio}
    agreed = require_agreement(scene, contenders, of_each_min=50)
    print(f"gate, MuJoCo and Pinocchio agree about {agreed} random poses", file=sys.stderr, flush=True)
    samples: Samples = {}
    rows = len(scene.rows)
    with tempfile.TemporaryDirectory(prefix="lastgate-bench-") as folder:
        config, numbers = write_scene(scene, Path(folder))
        clutter = write_clutter(scene, Path(folder))
        hot_code = hot_code_bytes(binary.with_name("accepted_chunk"), config, numbers, Path(folder))
        if hot_code is None:
            print("hot code: not counted, valgrind is not installed", file=sys.stderr, flush=True)
        else:
            samples["hot_code_chunk_14"] = [np.array([float(hot_code)])]
        for index in range(rounds):
            print(f"round {index + 1} of {rounds} …", file=sys.stderr, flush=True)
            gate_check = [str(binary), str(config), str(numbers), str(clutter), str(core), str(calls)]
            field_query = [str(binary.with_name("field_query")), str(clutter), str(core), str(calls // 20)]
            planning = [
                str(binary.with_name("planning_check")),
                str(config),
                str(numbers),
                str(core),
                str(calls),
            ]
            for command in (gate_check, field_query, planning):
                done = subprocess.run(command, capture_output=True, text=True, check=False)
                if done.returncode != 0:
                    raise SystemExit(f"error: {Path(command[0]).name} failed\n{done.stderr}")
                for name, times in json.loads(done.stdout).items():
                    samples.setdefault(name, []).append(np.array(times))
            measure_python(scene, calls // 4, samples)
            mujoco_ns = mujoco_small.times_ns(calls // 4)
            samples.setdefault("mujoco_rows_14", []).append(mujoco_ns)
            samples.setdefault("mujoco_configuration", []).append(mujoco_ns / rows)
            samples.setdefault("mujoco_rows_100", []).append(mujoco_large.times_ns(calls // 10))
            kinematics = mujoco_small.times_ns(calls // 4, collision=False) / rows
            samples.setdefault("mujoco_kinematics", []).append(kinematics)
            slow_calls = max(calls // 40, 20)
            pinocchio_ns = python_times_ns(pinocchio.look_at_rows, slow_calls)
            samples.setdefault("pinocchio_rows_14", []).append(pinocchio_ns)
            samples.setdefault("pinocchio_configuration", []).append(pinocchio_ns / rows)
            kinematics = python_times_ns(pinocchio.place_rows, slow_calls) / rows
            samples.setdefault("pinocchio_kinematics", []).append(kinematics)
    return scene, samples


def summary(rounds: list[NDArray[np.float64]]) -> dict[str, float | int | None]:
    """Returns the middle round's percentiles and the worst call of all, in microseconds."""
    pooled = np.concatenate(rounds)

    def percentile(share: float, samples_min: int) -> float | None:
        if pooled.size < samples_min:
            return None
        percentiles = [np.percentile(times, share) for times in rounds if times.size > 0]
        return round(float(np.median(percentiles)) / 1e3, 4)

    return {
        "p50_us": percentile(50, 10),
        "p99_us": percentile(99, 100),
        # A round must have enough calls that one in a thousand is more than its worst.
        "p99_9_us": percentile(99.9, 2000 * len(rounds)),
        "worst_us": round(float(pooled.max()) / 1e3, 4) if pooled.size > 0 else None,
        "calls": int(pooled.size),
    }


def ratio(samples: Samples, peer: str, ours: str) -> float:
    """Returns how many times longer the peer takes: the median over rounds of the ratio of medians."""
    pairs = zip(samples[peer], samples[ours], strict=True)
    return round(float(np.median([np.median(theirs) / np.median(own) for theirs, own in pairs])), 2)


def commit() -> str:
    """Returns the commit that was measured, with a mark when the tree has changes."""
    command = ["git", "-C", str(ROOT), "describe", "--always", "--dirty", "--abbrev=10"]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip() or "unknown"


def main() -> int:
    """Measures, writes `results/<machine>.json` and docs/benchmarks.md, prints the table and the budgets."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--binary", type=Path, required=True)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--calls", type=int, default=10_000)
    parser.add_argument("--core", type=int, default=max(os.sched_getaffinity(0)))
    parser.add_argument("--dry-run", action="store_true", help="print, write nothing")
    arguments = parser.parse_args()
    load = os.getloadavg()[0]
    scene, samples = measure(
        arguments.binary, rounds=arguments.rounds, calls=arguments.calls, core=arguments.core
    )
    # Bytes are no times: they come out of the same programs and are kept apart.
    memory_bytes = {
        name: int(samples.pop(name)[0][0])
        for name in list(samples)
        if name.startswith(("memory_", "hot_code_"))
    }
    result: dict[str, Any] = {
        "memory_bytes": memory_bytes,
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "cpu": cpu_name(),
        "cores": os.cpu_count(),
        "load_at_start": round(load, 1),
        "commit": commit(),
        "lanes": chosen_simd(),
        "robot": scene.robot.name,
        "volumes": len(scene.robot.collision_geometry),
        "link_pairs": len(scene.gate.checked_pairs),
        "cases": {name: summary(rounds) for name, rounds in samples.items()},
        "ratios": {peer: ratio(samples, peer, ours) for peer, ours in RATIOS.items()},
    }
    result["budgets"] = [{"met": bool(met), "text": text} for met, text in budget_lines(result)]
    page = render_page([result])
    print(page)
    if not arguments.dry_run:
        RESULTS.mkdir(exist_ok=True)
        machine = re.sub(r"[^a-z0-9]+", "-", f"{result['cpu']} {result['cores']} cores".lower()).strip("-")
        (RESULTS / f"{machine}.json").write_text(json.dumps(result, indent=2, ensure_ascii=False) + "\n")
        # The page, and what README takes from it.
        for writer in ("benchmarks/render.py", "tools/generate_documents.py"):
            subprocess.run([sys.executable, str(ROOT / writer)], check=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
