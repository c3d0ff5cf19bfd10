# SPDX-License-Identifier: Apache-2.0
"""Binds an agent's motions to the kernels of its robot that run on this machine: where they stop, so do the tools."""

from lastgate import _core
from lastgate.contracts import ROSConfigError, ROSSafetyViolation
from lastgate.kernel.client import KernelState
from lastgate.kernel.process import running_kernels
from lastgate.kernel.ring_follower import open_ring


class KernelLatch:
    """The latch of every kernel of one robot, or of one kernel.

    Where no kernel of the robot runs, nothing is bound. One that was seen must go on running: its end is a stop.

    Args:
        robot: The robot's name, as its manifest has it.
        instance: The kernel, where several robots of a kind have one each; it must run whenever something moves.
    """

    def __init__(self, robot: str, *, instance: str | None = None) -> None:
        self._robot = robot
        self._instance = instance
        self._bound: set[str] = set() if instance is None else {instance}

    def require_clear(self) -> None:
        """Returns while every kernel of the robot is active.

        Raises:
            ROSSafetyViolation: One is latched (with its source and reason), not active, or gone since it was seen.
        """
        states = self._states()
        for name in sorted(self._bound - states.keys()):
            raise ROSSafetyViolation(
                f"the kernel `{name}` does not run, and the robot holds: start it, or start the tools again to "
                "move without it"
            )
        self._bound |= states.keys()
        for name, state in states.items():
            if state is KernelState.LATCHED:
                raise ROSSafetyViolation(f"the kernel `{name}` is latched, and the robot holds{_why(name)}")
            if state is not KernelState.ACTIVE:
                raise ROSSafetyViolation(
                    f"the kernel `{name}` is {state.name.lower()}, not active, and the robot holds"
                )

    def _states(self) -> dict[str, KernelState]:
        names = running_kernels() if self._instance is None else [self._instance]
        status_blocks = {name: _core.read_status_block(name) for name in names}
        return {
            name: KernelState(status_block.state)
            for name, status_block in status_blocks.items()
            if status_block is not None
            and status_block.alive
            and (self._instance is not None or self._robot in (name, status_block.robot))
        }


def _why(instance: str) -> str:
    """Returns who stopped a kernel and why, as far as it can be read."""
    try:
        message = open_ring(instance, "statuses", start="newest").read(0.0)
    except ROSConfigError:  # it ended in this very moment
        return ""
    said = None if message is None else _core.read_safety_status(message[3])
    return "" if said is None else f": {said.source}: {said.reason}"
