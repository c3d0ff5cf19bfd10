# SPDX-License-Identifier: Apache-2.0
"""The near-contact ladder: a Panda that slides over a table, turns its hand above it or comes down to it, ever closer.

Sixteen steps of 0.05 rad. The height of the table at which the motion just keeps its margin is found by checking single
configurations, which no certificate between steps has a part in; each rung lowers the table by its clearance.
"""

import itertools
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import lastgate as lg
from lastgate.robots.kernel_config import SHAPE_KIND, flat_config, shape_size_m

Array = NDArray[np.float64]

STEP_S = 0.1
STEPS = 16
FINGERS = np.array([0.02])
# The hand points down, its fingers lowest.
ABOVE = np.array([0.0, 0.3, 0.0, -2.2, 0.0, 2.5, 0.785])
# A metre lower the table is out of reach: the chunk at rest that rungs are compared with.
CLEARANCES_MM = (1000.0, 20.0, 5.0, 2.0, 1.0, 0.5)
MOTIONS = ("slide", "turn", "approach")


def case_name(motion_name: str, clearance_mm: float) -> str:
    """Returns the name of a rung."""
    rung = "at_rest" if clearance_mm == CLEARANCES_MM[0] else f"{clearance_mm:g}_mm"
    return f"near_contact_{motion_name}_{rung}"


# Every rung against the same motion with the table out of reach.
RATIOS = {
    case_name(name, clearance_mm): case_name(name, CLEARANCES_MM[0])
    for name in MOTIONS
    for clearance_mm in CLEARANCES_MM[1:]
}


def motion(name: str) -> tuple[Array, Array]:
    """Returns the measured configuration and the steps of a motion."""
    joint = {"slide": 0, "turn": 6, "approach": 1}[name]
    start = ABOVE.copy()
    start[joint] -= {"slide": 0.4, "turn": 0.4, "approach": 0.8}[name]
    rows = np.tile(start, (STEPS, 1))
    rows[:, joint] += 0.05 * np.arange(1, STEPS + 1)
    return start, rows


def table(height_m: float) -> lg.WorldCollisionPrimitive:
    """Returns a table of 1.2 by 2 m whose top is so high."""
    return lg.WorldCollisionPrimitive(
        shape=lg.BoxShape(size_xyz_m=(1.2, 2.0, 0.1)), pose=lg.Pose6D(xyz=(0.75, 0.0, height_m - 0.05))
    )


def touching_height_m(gate: lg.Gate, name: str) -> float:
    """Returns how high the table may be for every configuration of the motion to keep its margin."""
    start, rows = motion(name)
    share = np.linspace(0.0, 1.0, 41)[:, None]
    path = [start, *rows]
    dense = np.concatenate([a + share * (b - a) for a, b in itertools.pairwise(path)])
    low_m, high_m = -0.5, 0.6
    for _ in range(40):
        middle_m = 0.5 * (low_m + high_m)
        world = lg.World(primitives=[table(middle_m)], stamp_s=1.0)
        clear = gate.check_batch(np.ascontiguousarray(dense), world=world, gripper_positions=FINGERS).accepted
        low_m, high_m = (middle_m, high_m) if clear.all() else (low_m, middle_m)
    return low_m


def write_ladder(folder: Path) -> tuple[Path, Path]:
    """Writes the flat configuration and the cases that benchmarks/core/near_contact.cpp reads."""
    gate = lg.Gate(lg.load_robot("franka_panda"), step_s=STEP_S)
    config = folder / "ladder_robot.yaml"
    config.write_text(flat_config(gate.robot, step_s=STEP_S))
    lines = []
    for name in MOTIONS:
        height_m = touching_height_m(gate, name)
        start, rows = motion(name)
        for clearance_mm in CLEARANCES_MM:
            obstacle = table(height_m - clearance_mm / 1e3)
            shape, pose = obstacle.shape, obstacle.pose
            numbers = [SHAPE_KIND[shape.shape], *shape_size_m(shape), *pose.xyz, *pose.quat_xyzw]
            lines.append(case_name(name, clearance_mm))
            lines += [
                f"{len(block)} " + " ".join(repr(float(x)) for x in block)
                for block in (rows.reshape(-1), start, FINGERS, numbers)
            ]
    ladder = folder / "ladder.txt"
    ladder.write_text("\n".join(lines) + "\n")
    return config, ladder
