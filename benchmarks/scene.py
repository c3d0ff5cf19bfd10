# SPDX-License-Identifier: Apache-2.0
"""The scene of the benchmarks: a Panda at its home, and the files that the compiled contenders read."""

from pathlib import Path

import numpy as np

import lastgate as lg
from lastgate.robots.kernel_config import SHAPE_KIND, flat_config, shape_size_m
from lastgate.tools.bench.scene import STEP_S, Scene
from lastgate.tools.bench.scene import make_scene as scene_around

ROBOT = "franka_panda"
HOME = np.array([0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785])
FINGERS = np.array([0.02])
# One hundredth of a radian per row, 0.5 rad/s: what a policy at 50 Hz sends most of the time.
STEP = 0.01 * np.array([1.0, -1.0, 0.5, 1.0, -0.5, -1.0, 0.5])
AROUND = ([-0.7, -0.7, -0.1], [0.9, 0.7, 1.2])


def make_scene() -> Scene:
    """Builds the scene from its seed."""
    gate = lg.Gate(lg.load_robot(ROBOT), step_s=STEP_S)
    return scene_around(gate, home=HOME, fingers=FINGERS, step=STEP, around=AROUND)


def write_scene(scene: Scene, folder: Path) -> tuple[Path, Path]:
    """Writes the flat configuration and the numbers that benchmarks/core/gate_check.cpp reads."""
    config = folder / "robot.yaml"
    config.write_text(flat_config(scene.robot, step_s=STEP_S))
    blocks = [scene.rows, HOME, FINGERS, scene.configurations]
    for world in scene.worlds:
        blocks.append(
            np.array(
                [
                    (SHAPE_KIND[p.shape.shape], *shape_size_m(p.shape), *p.pose.xyz, *p.pose.quat_xyzw)
                    for p in world.primitives
                ]
            )
        )
    numbers = folder / "scene.txt"
    lines = [f"{block.size} " + " ".join(repr(float(x)) for x in block.reshape(-1)) for block in blocks]
    numbers.write_text("\n".join(lines) + "\n")
    return config, numbers
