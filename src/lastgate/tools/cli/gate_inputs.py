# SPDX-License-Identifier: Apache-2.0
"""Makes of files what the gate takes."""

import math
from pathlib import Path

from lastgate.contracts import RobotDescription, WorldState
from lastgate.contracts.action import RobotState
from lastgate.tools.cli.input_files import StateFile
from lastgate.world import NO_WORLD, NoWorld, World

# No arm reaches a tenth of it; a file in millimetres does.
_FAR_M = 100.0


def state_of_file(file: StateFile, now_s: float) -> RobotState:
    """Returns the state of a file; one without a stamp is of now."""
    return RobotState(
        positions=file.positions,
        velocities=file.velocities,
        gripper_positions=file.gripper_positions,
        stamp_s=now_s if file.stamp_s is None else file.stamp_s,
    )


def world_of_file(
    file: WorldState | None,
    *,
    path: Path | None,
    robot: RobotDescription,
    now_s: float,
    no_world: bool,
    notes: list[str],
) -> World | NoWorld:
    """Returns the world of a file, and notes what its author may not have meant; without one, none."""
    if file is None or path is None:
        if not no_world:
            notes.append("no --world was given: obstacles were NOT checked; say --no-world if there are none")
        return NO_WORLD
    far = [
        f"`{thing.object_id}`"
        for thing in file.collision_primitives
        if thing.shape.shape != "half_space" and math.hypot(*thing.pose.xyz) > _FAR_M
    ]
    if far:
        notes.append(
            f"farther than {_FAR_M:g} m from the base: {', '.join(far[:3])}{', …' if len(far) > 3 else ''}; "
            "positions are metres, not millimetres"
        )
    return World(
        primitives=file.collision_primitives,
        stamp_s=now_s if file.stamp_s is None else file.stamp_s,
        frame_id=robot.base_frame,
        world_id=path.stem,
    )
