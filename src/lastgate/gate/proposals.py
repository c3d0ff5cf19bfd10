# SPDX-License-Identifier: Apache-2.0
"""Ways on after a rejection: chunks that the gate accepts already, for the caller to submit or to leave.

The gate changes no chunk. What stands here only searches; each candidate passes the same check as any chunk before it
is handed out.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from lastgate.contracts import ControlMode, ViolationCode
from lastgate.contracts.action import ActionChunk, RobotState
from lastgate.contracts.arrays import Float64
from lastgate.gate.time_stretch import StepLimits, slowdown_needed, stretched
from lastgate.gate.verdict import Verdict

ProposalKind = Literal["prefix", "slower", "retreat"]
# Asks the gate about a chunk; the second argument asks for the retreat rule.
Decide = Callable[[ActionChunk, bool], Verdict]

# Modes whose steps are joint positions, one column per joint.
PLACE_MODES = (ControlMode.JOINT_POSITION, ControlMode.JOINT_TRAJECTORY, ControlMode.DEX_HAND_JOINT)
# As many checks as a search may spend: each takes about as long as the check that rejected.
PREFIX_TRIES = 4
SLOWER_TRIES = 5
# A first step that leads too far is cut short of the first contact by this share, and once more by the same.
SHORT_OF_CONTACT = 0.9
# Steps of a chunk that the core takes at most: `rows_max` of capacity.hpp.
STEPS_MAX = 256

TOO_FAST = frozenset(
    {
        ViolationCode.joint_velocity_limit,
        ViolationCode.joint_acceleration_limit,
        ViolationCode.ee_speed,
        ViolationCode.ee_angular_speed,
        ViolationCode.ee_acceleration,
    }
)
_TOOL_SPEEDS = frozenset({ViolationCode.ee_speed, ViolationCode.ee_angular_speed})
_ACCELERATIONS = frozenset({ViolationCode.joint_acceleration_limit, ViolationCode.ee_acceleration})
# More time helps against these, and how much the verdict does not say.
_TOO_SOON = frozenset({"separation", "stop_not_certified"})
_COLLISIONS = frozenset({ViolationCode.self_collision, ViolationCode.world_collision})


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Proposal:
    """A chunk that the gate accepted in place of one that it rejected.

    Attributes:
        kind: `prefix`, the beginning of the rejected chunk; `slower`, its joint path in more time, as far as that is
            certified; `retreat`, a motion out of contact, accepted under the recovery rule.
        chunk: The proposed motion; unchanged, `Gate.check` accepts it from the same state in the same world, a retreat
            with `recovery=True`.
        verdict: The verdict about it. It can be claimed like any other; claim one of those that a call returns.
    """

    kind: ProposalKind
    chunk: ActionChunk
    verdict: Verdict


def propose_prefix(
    rejected: Verdict, chunk: ActionChunk, state: RobotState, decide: Decide
) -> Proposal | None:
    """Returns the longest beginning of the chunk that is certified, or None.

    Where not even the first step is, a chunk of joint positions gets the part of it that ends short of the contact.
    """
    verdict = rejected
    steps = _steps_before(verdict)
    for _ in range(PREFIX_TRIES):
        if steps <= 0:
            break
        candidate = _with_rows(chunk, chunk.rows[:steps])
        verdict = decide(candidate, False)
        if verdict.accepted:
            return Proposal(kind="prefix", chunk=candidate, verdict=verdict)
        steps = min(_steps_before(verdict), steps - 1)
    if verdict is rejected and ControlMode(chunk.mode) in PLACE_MODES:
        return _first_part(rejected, chunk, state, decide)
    return None


def _steps_before(verdict: Verdict) -> int:
    """Returns how many steps lie before what was rejected."""
    if verdict.certified_rows:
        return verdict.certified_rows
    step = verdict.violations[0].step
    return 0 if step is None else step


def _first_part(rejected: Verdict, chunk: ActionChunk, state: RobotState, decide: Decide) -> Proposal | None:
    violation = rejected.violations[0]
    if violation.code not in _COLLISIONS or violation.step != 0 or state.positions is None:
        return None
    share = violation.first_contact_t or 0.0
    for _ in range(2):
        share *= SHORT_OF_CONTACT
        if not 0.01 < share < 1.0:
            return None
        row = state.positions + share * (chunk.rows[0] - state.positions)
        candidate = _with_rows(chunk, row[np.newaxis])
        verdict = decide(candidate, False)
        if verdict.accepted:
            return Proposal(kind="prefix", chunk=candidate, verdict=verdict)
    return None


def propose_slower(
    rejected: Verdict,
    chunk: ActionChunk,
    path: Float64 | None,
    state: RobotState,
    limits: StepLimits,
    decide: Decide,
    tool_excess: Callable[[], float],
) -> Proposal | None:
    """Returns the joint path of the chunk in more time, as far as it is certified; None where time is not the matter.

    Args:
        path: The measured state and each step of the chunk as joint positions; None where they are not known.
        tool_excess: How much too fast the tools were on the path of the latest check.
    """
    code = rejected.violations[0].code
    if path is None or len(path) < 2 or (code not in TOO_FAST and str(code) not in _TOO_SOON):
        return None
    verdict = rejected
    factor = slowdown_needed(path, limits)
    speed = None if state.velocities is None or len(state.velocities) != path.shape[1] else state.velocities
    steps_max = STEPS_MAX
    for attempt in range(SLOWER_TRIES):
        violation = verdict.violations[0]
        is_last = attempt == SLOWER_TRIES - 1
        if verdict is not rejected and (violation.code in _COLLISIONS or is_last):
            # As far as it is certified: less of the path, and at its pace.
            steps_max = _steps_before(verdict)
        elif violation.code in _TOOL_SPEEDS:
            factor = max(factor * tool_excess(), slowdown_needed(path, limits))
        elif violation.code in TOO_FAST:
            factor = max(factor, factor * _excess(verdict) if verdict is not rejected else _excess(verdict))
        elif str(violation.code) in _TOO_SOON:
            factor *= 2.0
        else:
            return None
        rows = stretched(path, factor, limits, speed=speed)[:steps_max]
        if not len(rows):
            return None
        candidate = _as_mode_of(chunk, rows, path[0], limits.step_s)
        verdict = decide(candidate, False)
        if verdict.accepted:
            return Proposal(kind="slower", chunk=candidate, verdict=verdict)
    return None


def _excess(verdict: Verdict) -> float:
    """Returns by how much what was found is larger than what is allowed, and a little more for rounding."""
    violation = verdict.violations[0]
    allowed = abs(violation.limit)
    found = abs(violation.value)
    if not (allowed > 0.0 and found > allowed):
        return 1.0
    ratio = min(found / allowed, float(STEPS_MAX))
    return ratio * 1.05 if violation.code in _ACCELERATIONS else ratio * (1.0 + 1e-6)


def joint_path(chunk: ActionChunk, state: RobotState, limits: StepLimits) -> Float64 | None:
    """Returns the measured state and each step as joint positions, for modes that say so by themselves."""
    rows, n_dof = chunk.rows, len(limits.velocity)
    if rows.shape[1] != n_dof or state.positions is None or len(state.positions) != n_dof:
        return None
    if not (np.isfinite(rows).all() and np.isfinite(state.positions).all()):
        return None
    if chunk.mode in PLACE_MODES:
        return np.concatenate([state.positions[np.newaxis], rows])
    if chunk.mode == ControlMode.JOINT_VELOCITY:
        return np.concatenate(
            [state.positions[np.newaxis], state.positions + np.cumsum(rows, axis=0) * limits.step_s]
        )
    return None


def _as_mode_of(chunk: ActionChunk, rows: Float64, start: Float64, step_s: float) -> ActionChunk:
    """Returns joint positions as a chunk: of speeds where the rejected one was of speeds, else of places."""
    if chunk.mode == ControlMode.JOINT_VELOCITY:
        return _with_rows(chunk, np.diff(np.concatenate([start[np.newaxis], rows]), axis=0) / step_s)
    if chunk.mode in PLACE_MODES:
        return _with_rows(chunk, rows)
    return ActionChunk(rows, rskill_id=chunk.rskill_id, trace_id=chunk.trace_id)


def _with_rows(chunk: ActionChunk, rows: Float64) -> ActionChunk:
    return ActionChunk(
        np.ascontiguousarray(rows),
        mode=chunk.mode,
        ee_name=chunk.ee_name,
        frame_id=chunk.frame_id,
        rskill_id=chunk.rskill_id,
        trace_id=chunk.trace_id,
    )
