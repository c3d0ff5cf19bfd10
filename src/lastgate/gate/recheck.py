# SPDX-License-Identifier: Apache-2.0
"""What is left of a motion that was accepted, certified once more in the world and from the state of now."""

import numpy as np

from lastgate.contracts import ROSConfigError
from lastgate.contracts.action import ActionChunk, RobotState, RunningMotion
from lastgate.gate.gate import Gate
from lastgate.gate.verdict import Verdict
from lastgate.world import NoWorld, World

# A time nearer than this share of a step to a step is that step's.
_SAME_STEP = 1e-9


def recheck(
    gate: Gate,
    running: RunningMotion,
    *,
    state: RobotState | None,
    world: World | NoWorld | None,
    now_s: float,
) -> Verdict:
    """Decides whether a running motion may go on: its steps still to come, and the declared stop from each instant.

    Call it whenever a new world or state arrives. A rejection means that the driver has to stop, now: along the stop
    that was certified before. In its last step the motion is taken to go straight on for one step more, so a stop may
    be asked for there that the end of the motion would have brought within that step. A motion that has ended is
    rejected.

    Args:
        gate: That which accepted the motion.
        running: Its steps of joint positions, and when it began.
        state: What was measured; it has to be near where the motion is.
        world: What is around now.
        now_s: The time, on the clock of the stamps and of `running.started_s`.

    Raises:
        ROSConfigError: An argument of another type, or a motion without steps.
    """
    if not isinstance(running, RunningMotion):
        raise ROSConfigError(f"running is a {type(running).__name__}, expected a RunningMotion")
    rows = running.rows
    if not len(rows):
        raise ROSConfigError("running has no steps")
    passed = (now_s - running.started_s) / gate.step_s
    # The next step: up to there the motion is what runs, and behind it what is to be decided about. A time that is
    # none of the motion's leads to its first step or to its last, and the gate rejects it.
    due = int(np.floor(np.clip(passed, 0.0, len(rows) - 1) + _SAME_STEP)) + 1 if np.isfinite(passed) else 1
    ahead = rows[due:]
    if not len(ahead):
        before = rows[-2] if len(rows) > 1 else _start_of(running, state)
        ahead = (rows[-1] + (rows[-1] - before))[np.newaxis]
    return gate.check(
        ActionChunk(np.ascontiguousarray(ahead)),
        state=state,
        world=world,
        now_s=now_s,
        running=running,
        handover_s=max(due * gate.step_s - (now_s - running.started_s), 0.0),
    )


def _start_of(running: RunningMotion, state: RobotState | None) -> np.ndarray:
    if running.start is not None:
        return running.start
    return running.rows[-1] if state is None else state.positions
