# SPDX-License-Identifier: Apache-2.0
"""The scene that every contender gets: one robot, one chunk, obstacles near it, all of it collision-free.

Collision-free on purpose: nobody may stop early, everybody has to look at everything.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import lastgate as lg
from lastgate.kernel_config import SHAPE_KIND, capsule_ends, flat_config, shape_size_m

ROBOT = "franka_panda"
STEP_S = 0.02
ROW_COUNT = 16
HOME = np.array([0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785])
FINGERS = np.array([0.02])
# One hundredth of a radian per row, 0.5 rad/s: what a policy at 50 Hz sends most of the time.
STEP = 0.01 * np.array([1.0, -1.0, 0.5, 1.0, -0.5, -1.0, 0.5])
SEED = 20251115
# No obstacle closer than this to any row; half of them closer than NEAR_M.
CLEARANCE_M = 0.02
NEAR_M = 0.10


@dataclass(frozen=True)
class Scene:
    """Is what is measured; `worlds` has 14 and 100 obstacles, the smaller being part of the larger."""

    robot: lg.RobotDescription
    gate: lg.Gate
    rows: NDArray[np.float64]
    configurations: NDArray[np.float64]
    worlds: tuple[lg.World, lg.World]

    @property
    def state(self) -> lg.RobotState:
        """Is the arm at home with its fingers half open."""
        return lg.RobotState(positions=HOME, gripper_positions=FINGERS, stamp_s=1.0)


def random_obstacle(numbers: np.random.Generator) -> lg.WorldCollisionPrimitive:
    """Returns a sphere or a turned box of 4 to 12 cm somewhere around the arm."""
    xyz = numbers.uniform([-0.7, -0.7, -0.1], [0.9, 0.7, 1.2])
    quat = numbers.normal(size=4)
    quat /= np.linalg.norm(quat)
    pose = lg.Pose6D(xyz=tuple(xyz.tolist()), quat_xyzw=tuple(quat.tolist()))
    if numbers.random() < 0.5:
        return lg.WorldCollisionPrimitive(
            shape=lg.SphereShape(shape="sphere", radius_m=numbers.uniform(0.02, 0.06)), pose=pose
        )
    size = numbers.uniform(0.04, 0.12, size=3)
    return lg.WorldCollisionPrimitive(
        shape=lg.BoxShape(shape="box", size_xyz_m=tuple(size.tolist())), pose=pose
    )


def make_scene() -> Scene:
    """Builds the scene from its seed; the same on every machine that has the same robot."""
    robot = lg.load_robot(ROBOT)
    gate = lg.Gate(robot, step_s=STEP_S)
    numbers = np.random.default_rng(SEED)
    rows = HOME + STEP * np.arange(1, ROW_COUNT + 1)[:, None]
    configurations = HOME + numbers.uniform(-0.1, 0.1, size=(4096, HOME.size))
    cores = placed_cores(gate, np.vstack([HOME[None], rows, configurations[:256]]))
    near: list[lg.WorldCollisionPrimitive] = []
    far: list[lg.WorldCollisionPrimitive] = []
    while len(near) < 50 or len(far) < 50:
        obstacle = random_obstacle(numbers)
        world = lg.World(primitives=[obstacle], stamp_s=1.0)
        gap_m = distance_m(world, cores)
        if CLEARANCE_M < gap_m < NEAR_M and len(near) < 50:
            near.append(obstacle)
        elif gap_m >= NEAR_M and len(far) < 50:
            far.append(obstacle)
    mixed = [obstacle for pair in zip(near, far, strict=True) for obstacle in pair]
    small = lg.World(primitives=mixed[:14], stamp_s=1.0, world_id="14 obstacles")
    large = lg.World(primitives=mixed, stamp_s=1.0, world_id="100 obstacles")
    usable = gate.check_batch(configurations, world=large, gripper_positions=FINGERS).accepted
    free = configurations[usable]
    configurations = np.ascontiguousarray(np.resize(free, configurations.shape))
    return Scene(robot, gate, np.ascontiguousarray(rows), configurations, (small, large))


def placed_cores(
    gate: lg.Gate, configurations: NDArray[np.float64]
) -> list[tuple[float, NDArray[np.float64]]]:
    """Returns radius and core ends of every volume that moves, at every configuration."""
    cores = []
    for configuration in configurations:
        poses = gate.link_poses(configuration, gripper_positions=FINGERS.tolist())
        for volume in gate.robot.collision_geometry:
            if volume.link_name == gate.robot.base_frame:
                continue
            ends = np.array(capsule_ends(volume.shape, volume.origin_xyz_rpy)).reshape(2, 3)
            pose = poses[volume.link_name]
            placed = ends @ pose[:, :3].T + pose[:, 3]
            cores.append((volume.shape.radius_m, np.ascontiguousarray(placed.reshape(6))))
    return cores


def distance_m(world: lg.World, cores: list[tuple[float, NDArray[np.float64]]]) -> float:
    """Returns how close any of the volumes comes to the one obstacle of `world`."""
    return min(world.native.distance(0, ends)[0] - radius_m for radius_m, ends in cores)


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
