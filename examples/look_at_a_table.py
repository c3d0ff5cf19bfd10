# SPDX-License-Identifier: Apache-2.0
"""Turn depth images of a cluttered table into the world that the gate checks against.

Four cameras look at a simulated Panda and a table with things on it. Each image carves a grid: what a camera saw
through is free, what it saw is occupied, and what no camera saw stays unknown, which the gate takes for occupied.
The robot sees itself too, so its own volumes are taken out, with a padding in which nothing else would be noticed.
No space is declared free: the chunk above the clutter is accepted because it was seen to be empty there.
"""

import numpy as np

import lastgate as lg
from lastgate.gate.self_filter import SelfFilter
from lastgate.tools.demo.depth_camera import DepthCameras
from lastgate.tools.demo.panda_scene import PandaScene, home_configuration
from lastgate.world import GridLayout
from lastgate.world.depth import carve
from lastgate.world.rasterise import merge_voxels


def thing(name: str, shape: lg.WorldShape, xyz: tuple[float, float, float]) -> lg.WorldCollisionPrimitive:
    return lg.WorldCollisionPrimitive(shape=shape, pose=lg.Pose6D(xyz=xyz), object_id=name)


# The scene; the gate is never told about it.
things = [
    thing("floor", lg.HalfSpaceShape(), (0.0, 0.0, -0.75)),
    thing("table", lg.BoxShape(size_xyz_m=(0.8, 1.6, 0.04)), (0.65, 0.0, -0.02)),
    thing("crate", lg.BoxShape(size_xyz_m=(0.2, 0.2, 0.25)), (0.55, 0.0, 0.125)),
    thing("carton", lg.BoxShape(size_xyz_m=(0.12, 0.12, 0.3)), (0.6, -0.25, 0.15)),
]
robot = lg.load_robot("franka_panda")
gate = lg.Gate(robot, step_s=0.02)
start = home_configuration() - [0.9, 0, 0, 0, 0, 0, 0]
scene = PandaScene(robot, things)
scene.reset(start)
state = lg.RobotState(positions=start, gripper_positions=scene.finger_positions, stamp_s=0.0)

eyes = [(1.5, -1.1, 2.0), (1.5, 1.1, 2.0), (-0.7, -1.2, 2.0), (-0.7, 1.2, 2.0)]
with DepthCameras(scene.model) as cameras:
    images = [cameras.look(scene.data, eye_xyz=eye, target_xyz=(0.4, 0, 0.3), stamp_s=0.0) for eye in eyes]
layout = GridLayout.around(minimum_xyz=(-0.3, -0.9, -0.1), maximum_xyz=(1.0, 0.9, 1.1), resolution_m=0.02)
seen = merge_voxels([carve(layout, image, depth_error_m=0.005).voxels for image in images])
filtered = SelfFilter(gate, padding_m=0.08).at(state).clear_voxels(seen)
world = lg.World(voxels=filtered.voxels, stamp_s=0.0)
shares = {"free": seen.is_free, "occupied": seen.is_occupied, "unknown": seen.is_unknown}
print(", ".join(f"{voxel_array.mean():.0%} {name}" for name, voxel_array in shares.items()))
print(f"{sum(filtered.cleared_by_owner.values())} voxels are the robot's own")

for name, turn, accepted in (
    ("above the clutter", [0.9, 0, 0, 0, 0, 0, 0], True),
    ("through the clutter", [0.9, 0.8, 0, -0.2, 0, 0.6, 0], False),
):
    rows = np.linspace(start, start + turn, 41)[1:]
    verdict = gate.check(lg.ActionChunk(rows), state=state, world=world, now_s=0.0)
    print(f"{name}: {verdict.explain()}")
    assert verdict.accepted == accepted
