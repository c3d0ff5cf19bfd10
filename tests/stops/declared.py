# SPDX-License-Identifier: Apache-2.0
"""Robots of the library with a declared stop. The library declares none: of most it knows no deceleration."""

import lastgate as lg

# Joint acceleration limits of the Panda in the documentation of the Franka Control Interface.
PANDA = dict(
    zip((f"panda_joint{n}" for n in range(1, 8)), (15.0, 7.5, 10.0, 12.5, 15.0, 20.0, 20.0), strict=True)
)
# Assumed of all others: from the velocity limit to rest in this time.
ASSUMED_S = 0.3
# Two steps of the chunks, so that a driver of whole steps can keep it.
REACTION_S = 0.04


def with_stop(robot: lg.RobotDescription) -> lg.RobotDescription:
    """Returns the robot with a stop along the path, and a deceleration for every joint of its own."""
    joints = [
        joint.model_copy(
            update={"deceleration_limit": PANDA.get(joint.name, (joint.velocity_limit or 1.0) / ASSUMED_S)}
        )
        if joint.is_actuated
        else joint
        for joint in robot.joints
    ]
    stop = lg.contracts.DeclaredStop(kind="path", reaction_s=REACTION_S)
    return robot.model_copy(update={"joints": tuple(joints), "stop": stop})
