# SPDX-License-Identifier: Apache-2.0
"""The scene that every contender gets: one robot, one chunk, obstacles near it, all of it collision-free.

Collision-free on purpose: no checker may stop early, every one has to check everything.
"""

from dataclasses import dataclass

import numpy as np

from lastgate.contracts import BoxShape, Pose6D, RobotDescription, SphereShape, WorldCollisionPrimitive
from lastgate.contracts.action import ActionChunk, RobotState
from lastgate.contracts.arrays import Float64
from lastgate.contracts.exceptions import ROSConfigError
from lastgate.gate import Gate
from lastgate.robots.kernel_config import capsule_ends, has_mobile_base
from lastgate.world import NO_WORLD, World

STEP_S = 0.02
ROW_COUNT = 16
SEED = 20251115
# No obstacle closer than this to any step; half of them closer than NEAR_M.
CLEARANCE_M = 0.02
NEAR_M = 0.10
# What a policy at 50 Hz sends most of the time: 0.5 rad/s.
_STEP_RAD = 0.01
# Configurations of a batch are at most this far from home, in every joint.
_SPREAD_RAD = 0.1
_CONFIGURATIONS = 4096
# Of these, obstacles keep their distance; the others are sorted out afterwards.
_CONFIGURATIONS_PLACED = 256
_OBSTACLES_EACH = 50
# Around a robot whose every pose is cluttered by itself there is no room for a scene.
_TRIES_MAX = 200_000


@dataclass(frozen=True)
class Scene:
    """The scene that is measured; `worlds` has 14 and 100 obstacles, the smaller being part of the larger."""

    gate: Gate
    home: Float64
    fingers: Float64
    rows: Float64
    configurations: Float64
    worlds: tuple[World, World]

    @property
    def robot(self) -> RobotDescription:
        """Robot of the gate."""
        return self.gate.robot

    @property
    def state(self) -> RobotState:
        """State of the arm at home, with its fingers where they stay."""
        return RobotState(positions=self.home, gripper_positions=self.fingers, stamp_s=1.0)


def random_obstacle(
    numbers: np.random.Generator, low_xyz: list[float], high_xyz: list[float]
) -> WorldCollisionPrimitive:
    """Returns a sphere or a turned box of 4 to 12 cm somewhere in a box."""
    xyz = numbers.uniform(low_xyz, high_xyz)
    quat = numbers.normal(size=4)
    quat /= np.linalg.norm(quat)
    pose = Pose6D(xyz=tuple(xyz.tolist()), quat_xyzw=tuple(quat.tolist()))
    if numbers.random() < 0.5:
        sphere = SphereShape(radius_m=numbers.uniform(0.02, 0.06))
        return WorldCollisionPrimitive(shape=sphere, pose=pose)
    size = numbers.uniform(0.04, 0.12, size=3)
    return WorldCollisionPrimitive(shape=BoxShape(size_xyz_m=tuple(size.tolist())), pose=pose)


def make_scene(
    gate: Gate,
    *,
    home: Float64,
    fingers: Float64,
    step: Float64,
    around: tuple[list[float], list[float]] | None = None,
) -> Scene:
    """Builds the scene from its seed; the same on every machine that has the same robot.

    Raises:
        ROSConfigError: Nothing around the robot leaves room for the obstacles.
    """
    numbers = np.random.default_rng(SEED)
    rows = home + step * np.arange(1, ROW_COUNT + 1)[:, None]
    configurations = home + numbers.uniform(-_SPREAD_RAD, _SPREAD_RAD, size=(_CONFIGURATIONS, home.size))
    capsule_axes = placed_axes(
        gate, np.vstack([home[None], rows, configurations[:_CONFIGURATIONS_PLACED]]), fingers
    )
    low, high = around or _around(capsule_axes)
    near: list[WorldCollisionPrimitive] = []
    far: list[WorldCollisionPrimitive] = []
    for _ in range(_TRIES_MAX):
        if len(near) == len(far) == _OBSTACLES_EACH:
            break
        obstacle = random_obstacle(numbers, low, high)
        gap_m = distance_m(World(primitives=[obstacle], stamp_s=1.0), capsule_axes)
        if CLEARANCE_M < gap_m < NEAR_M and len(near) < _OBSTACLES_EACH:
            near.append(obstacle)
        elif gap_m >= NEAR_M and len(far) < _OBSTACLES_EACH:
            far.append(obstacle)
    else:
        raise ROSConfigError(f"robot `{gate.robot.name}` leaves no room for obstacles around its pose")
    mixed = [obstacle for pair in zip(near, far, strict=True) for obstacle in pair]
    small = World(primitives=mixed[:14], stamp_s=1.0, world_id="14 obstacles")
    large = World(primitives=mixed, stamp_s=1.0, world_id="100 obstacles")
    usable = gate.check_batch(configurations, world=large, gripper_positions=fingers).accepted
    if not usable.any():
        raise ROSConfigError(f"robot `{gate.robot.name}` has no free configuration around its pose")
    free = np.ascontiguousarray(np.resize(configurations[usable], configurations.shape))
    return Scene(gate, home, fingers, np.ascontiguousarray(rows), free, (small, large))


def scene_of(gate: Gate) -> Scene:
    """Builds the scene of any robot, around the pose nearest to the middle of its joints that is free.

    Raises:
        ROSConfigError: No pose of the robot was accepted.
    """
    numbers = np.random.default_rng(SEED)
    joints = {joint.name: joint for joint in gate.robot.actuated_joints}
    limits = {name: joint.position_limits or (-np.pi, np.pi) for name, joint in joints.items()}
    low, high = np.array([limits[name] for name in gate.joint_names]).T
    fingers = np.array([sum(limits[name]) / 2.0 for name in gate.gripper_joint_names], dtype=np.float64)
    # The limits hold for the whole spread, so the poses keep away from them where the range allows it.
    spread = np.minimum(_STEP_RAD * ROW_COUNT, 0.45 * (high - low))
    poses = numbers.uniform(low + spread, high - spread, size=(_CONFIGURATIONS, len(low)))
    found = gate.check_batch(poses, world=NO_WORLD, gripper_positions=fingers)
    step = _STEP_RAD * np.where(np.arange(len(low)) % 2, -1.0, 1.0)
    speeds = np.array([joints[name].velocity_limit or np.inf for name in gate.joint_names])
    most = np.minimum(0.9 * spread / ROW_COUNT, 0.5 * STEP_S * speeds)
    step = np.clip(step, -most, most)
    free = poses[found.accepted]
    off_middle = np.abs((free - 0.5 * (low + high)) / (high - low)).max(axis=1, initial=0.0)
    for home in np.ascontiguousarray(free[np.argsort(off_middle, kind="stable")]):
        rows = home + step * np.arange(1, ROW_COUNT + 1)[:, None]
        state = RobotState(positions=home, gripper_positions=fingers, stamp_s=1.0)
        if gate.check(ActionChunk(rows), state=state, world=NO_WORLD, now_s=1.0).accepted:
            return make_scene(gate, home=home, fingers=fingers, step=step)
    raise ROSConfigError(f"robot `{gate.robot.name}` has no pose from which the gate lets it move")


def placed_axes(gate: Gate, configurations: Float64, fingers: Float64) -> list[tuple[float, Float64]]:
    """Returns radius and ends of the capsule axis of every volume that moves, at every configuration."""
    standing = None if has_mobile_base(gate.robot.safety) else gate.robot.base_frame
    capsule_axes = []
    for configuration in configurations:
        poses = gate.link_poses(configuration, gripper_positions=fingers.tolist())
        for volume in gate.robot.collision_geometry:
            if volume.link_name == standing:
                continue
            ends = np.array(capsule_ends(volume.shape, volume.origin_xyz_rpy)).reshape(2, 3)
            pose = poses[volume.link_name]
            placed = ends @ pose[:, :3].T + pose[:, 3]
            capsule_axes.append((volume.shape.radius_m, np.ascontiguousarray(placed.reshape(6))))
    return capsule_axes


def distance_m(world: World, capsule_axes: list[tuple[float, Float64]]) -> float:
    """Returns how close any of the volumes comes to the one obstacle of `world`."""
    return min(world.native.distance(0, ends)[0] - radius_m for radius_m, ends in capsule_axes)


def _around(capsule_axes: list[tuple[float, Float64]]) -> tuple[list[float], list[float]]:
    ends = np.concatenate([capsule_axis.reshape(2, 3) for _, capsule_axis in capsule_axes])
    return (ends.min(axis=0) - 0.3).tolist(), (ends.max(axis=0) + 0.3).tolist()
