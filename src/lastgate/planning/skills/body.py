# SPDX-License-Identifier: Apache-2.0
"""What a skill needs of a robot: where it is, what is around it, and a driver that executes accepted chunks."""

from typing import Protocol, runtime_checkable

from lastgate.contracts import Pose6D
from lastgate.contracts.action import ActionChunk, RobotState
from lastgate.world import NoWorld, World


@runtime_checkable
class Body(Protocol):
    """A robot, real or simulated, behind its gate.

    A robot that is driven through a kernel process submits the chunk there in `execute`, and raises
    `ROSSafetyViolation` when the kernel rejects it.
    """

    def now_s(self) -> float:
        """Returns the time, on the clock of all stamps."""
        ...

    def observe(self) -> RobotState:
        """Returns the newest measured state."""
        ...

    def world(self) -> World | NoWorld:
        """Returns the newest snapshot of what is around, in the robot's base frame."""
        ...

    def base_in_map(self) -> Pose6D | None:
        """Returns where the base stands on the map; None for a robot that is on none."""
        ...

    def execute(self, chunk: ActionChunk) -> None:
        """Moves by a chunk that the gate accepted, and returns when its time is over."""
        ...

    def hold(self) -> None:
        """Stops where it is."""
        ...
