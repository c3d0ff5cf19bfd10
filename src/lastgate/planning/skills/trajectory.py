# SPDX-License-Identifier: Apache-2.0
"""A timed path, and its replay: one step per chunk, each through the gate."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from lastgate.contracts import ROSConfigError
from lastgate.contracts.action import ActionChunk
from lastgate.contracts.arrays import Float64, require_array
from lastgate.gate import Gate
from lastgate.planning.skills.body import Body
from lastgate.planning.skills.gated_motion import move_through_gate, never_cancelled
from lastgate.world.finite_numbers import require_positive


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Trajectory:
    """Joint positions at equal steps of time, after `start`.

    Attributes:
        start: Where the robot is at time 0.
        rows: (N, joints): where it is after 1, 2, … N steps; no step means that it is there already.
        step_s: Time from one step to the next.
        joint_names: What the columns are.
    """

    start: Float64
    rows: Float64
    step_s: float
    joint_names: tuple[str, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "start", require_array(self.start, name="start", dimensions=1))
        object.__setattr__(self, "rows", require_array(self.rows, name="rows", dimensions=2))
        object.__setattr__(self, "step_s", require_positive(self.step_s, name="step_s"))
        widths = {len(self.start), self.rows.shape[1], len(self.joint_names)}
        if len(widths) != 1:
            raise ROSConfigError(
                f"start has {len(self.start)} numbers, rows {self.rows.shape[1]}, for {len(self.joint_names)} joints"
            )

    @property
    def end(self) -> Float64:
        """Configuration at the end."""
        return self.rows[-1] if len(self.rows) else self.start

    @property
    def duration_s(self) -> float:
        """Duration."""
        return len(self.rows) * self.step_s

    @property
    def length(self) -> float:
        """Distance that the joints travel, summed over joints and steps."""
        return float(np.abs(np.diff(np.vstack([self.start, self.rows]), axis=0)).sum())


@dataclass(frozen=True, slots=True, kw_only=True)
class Replay:
    """The outcome of a replayed trajectory.

    Attributes:
        waypoints: How many steps crossed the gate and were executed: all of them.
        min_clearance_m: The smallest lower bound of distance minus margin on the way; None without a step.
    """

    waypoints: int
    min_clearance_m: float | None


def replay_trajectory(
    trajectory: Trajectory,
    *,
    gate: Gate,
    body: Body,
    rskill_id: str = "",
    is_cancelled: Callable[[], bool] = never_cancelled,
) -> Replay:
    """Sends a trajectory through the gate, one step per chunk, each from the state measured then.

    Raises:
        ROSConfigError: The trajectory is of another robot or another step.
        ROSSafetyViolation: The gate rejected a step; those before it were executed, and the robot holds there.
        ROSMotionCancelled: It was taken back on the way.
    """
    if trajectory.joint_names != gate.joint_names or trajectory.step_s != gate.step_s:
        raise ROSConfigError(
            f"the trajectory is for {', '.join(trajectory.joint_names)} in steps of {trajectory.step_s} s, the gate "
            f"reads {', '.join(gate.joint_names)} in steps of {gate.step_s} s"
        )
    clearances: list[float] = []
    for index, row in enumerate(trajectory.rows):
        verdict = move_through_gate(
            ActionChunk(np.ascontiguousarray(row[np.newaxis]), rskill_id=rskill_id),
            gate=gate,
            body=body,
            what=f"step {index + 1} of {len(trajectory.rows)} of the plan",
            is_cancelled=is_cancelled,
        )
        clearances.append(verdict.min_clearance_m)
    return Replay(waypoints=len(clearances), min_clearance_m=min(clearances, default=None))
