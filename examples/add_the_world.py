# SPDX-License-Identifier: Apache-2.0
"""Tell the gate what stands around the robot.

A world is a snapshot: obstacles in the robot's base frame, with the time at which their source saw them.
Building one is work for the perception side; checking against it copies nothing. A world that is too old
is no world: the chunk is rejected, however empty the space was back then.
"""

import numpy as np

import lastgate as lg

gate = lg.Gate(lg.load_robot("franka_panda"), step_s=0.02)
start = np.array([0.0, -0.6, 0.0, -2.2, 0.0, 1.7, 0.785])
chunk = np.tile(start, (16, 1))
chunk[:, 1] += 0.04 * np.arange(1, 17)  # leans forward and down


def sphere(object_id: str, radius_m: float, xyz: tuple[float, float, float]) -> lg.WorldCollisionPrimitive:
    shape = lg.SphereShape(shape="sphere", radius_m=radius_m)
    return lg.WorldCollisionPrimitive(shape=shape, pose=lg.Pose6D(xyz=xyz), object_id=object_id)


def check(world: lg.World, now_s: float) -> lg.Verdict:
    state = lg.RobotState(positions=start, stamp_s=now_s)
    return gate.check(lg.ActionChunk(chunk), state=state, world=world, now_s=now_s)


# An empty world is a statement: a source looked, and nothing is there.
empty = lg.World(primitives=[], stamp_s=10.0)
verdict = check(empty, now_s=10.0)
print(verdict.explain())
assert verdict.accepted

# A sphere where the hand is going.
in_the_way = lg.World(primitives=[sphere("sphere", 0.10, (0.62, 0.0, 0.35))], stamp_s=10.0)
verdict = check(in_the_way, now_s=10.0)
print("\n" + verdict.explain())
assert verdict.violations[0].against == "sphere"

# The same empty world, a second later: no source has looked since.
verdict = check(empty, now_s=11.0)
print("\n" + verdict.explain())
assert verdict.violations[0].code == "world_unavailable"
