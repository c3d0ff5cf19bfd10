# SPDX-License-Identifier: Apache-2.0
"""Walks a recorded path through the gate, chunk by chunk, and goes on after a rejection.

A chunk starts at the last row of the one before, so no instant between two steps is skipped. The gate names the first
offender of the first failing rule; the rows before it are asked about again, because they may break a later rule, and
the rows after it are a new chunk.
"""

from dataclasses import dataclass, field

import numpy as np

from lastgate import _core
from lastgate.contracts.action import ActionChunk, RobotState
from lastgate.contracts.arrays import Float64
from lastgate.gate import Gate
from lastgate.gate.verdict import Unchecked
from lastgate.tools.audit.findings import RowViolation
from lastgate.world import NoWorld, World

# Rejections of one episode that are kept. A recording in the wrong unit breaks a rule in every row, and reporting it a
# hundred thousand times adds nothing.
REJECTIONS_MAX = 1000
NOTHING_UNCHECKED = Unchecked(0)


@dataclass(slots=True)
class Walk:
    """The violations along one path.

    Attributes:
        found: Every rejection, with the index of the row of the path it belongs to.
        cut_off: There were more than `REJECTIONS_MAX`.
    """

    found: list[RowViolation] = field(default_factory=list)
    cut_off: bool = False
    min_clearance_m: float | None = None
    unchecked: Unchecked = NOTHING_UNCHECKED


class PathWalker:
    """Asks one gate about paths."""

    def __init__(self, gate: Gate, world: World | NoWorld) -> None:
        self._gate = gate
        self._world = world
        self._walk = Walk()

    def walk(self, path: Float64, *, gripper: Float64 | None = None) -> Walk:
        """Checks a path, (T + 1, n_dof); row 0 is where it starts, rejections are told by the index in `path`.

        Args:
            gripper: Where the gripper's joints stand at each row of the path; None assumes their whole range.
        """
        self._walk = Walk()
        self._span(path, gripper, 0, len(path) - 1, with_velocity=False)
        return self._walk

    def _span(
        self, path: Float64, gripper: Float64 | None, start: int, last: int, *, with_velocity: bool
    ) -> None:
        """Checks the rows from `start` to `last`; `with_velocity` says that the row before `start` is a way to it."""
        while start < last:
            stop = min(start + _core.ROWS_MAX, last)
            rejected_at = self._check(path, gripper, start, stop, with_velocity=with_velocity)
            if rejected_at is None:
                start, with_velocity = stop, True
                continue
            if len(self._walk.found) >= REJECTIONS_MAX:
                self._walk.cut_off = True
                return
            if rejected_at - 1 > start:
                # Those passed the rules up to the failing one only. Each turn is at a later rule, so this ends.
                self._span(path, gripper, start, rejected_at - 1, with_velocity=with_velocity)
            # What was rejected is not a way to go on from: its speed would be blamed once more.
            start, with_velocity = self._next_start(path, gripper, rejected_at, last), False

    def _check(
        self, path: Float64, gripper: Float64 | None, start: int, stop: int, *, with_velocity: bool
    ) -> int | None:
        """Returns the row of the path at which the chunk was rejected."""
        velocities = None
        if with_velocity:
            velocities = (path[start] - path[start - 1]) / self._gate.step_s
        # The world is the same throughout a recording, so its stamp is the time of every chunk.
        now_s = self._world.stamp_s if isinstance(self._world, World) else 0.0
        state = RobotState(
            positions=path[start].copy(),
            velocities=velocities,
            gripper_positions=_standing(gripper, start, stop),
            stamp_s=now_s,
        )
        chunk = ActionChunk(path[start + 1 : stop + 1])
        verdict = self._gate.check(chunk, state=state, world=self._world, now_s=now_s)
        if verdict.stage > 8:
            self._walk.unchecked |= verdict.unchecked
        if verdict.accepted:
            clearance = verdict.min_clearance_m
            if self._walk.min_clearance_m is None or clearance < self._walk.min_clearance_m:
                self._walk.min_clearance_m = clearance
            return None
        violation = verdict.violations[0]
        at = start + 1 + (violation.step or 0)
        self._walk.found.append(RowViolation(at, violation))
        return at

    def _next_start(self, path: Float64, gripper: Float64 | None, rejected_at: int, last: int) -> int:
        """Returns where to go on: at the rejected row, or at the first one after it that is made of numbers."""
        start = rejected_at
        while start < last and not np.isfinite(path[start]).all():
            if not np.isfinite(path[start + 1]).all():
                # Rejected for its numbers before its start is compared with the state.
                self._check(path, gripper, start, start + 1, with_velocity=False)
            start += 1
        return start


def _standing(gripper: Float64 | None, start: int, stop: int) -> Float64 | None:
    """Returns where the gripper stands during a chunk; None, the whole range, when it moves or is not known."""
    if gripper is None:
        return None
    rows = gripper[start : stop + 1]
    return rows[0].copy() if (rows == rows[0]).all() else None
