# SPDX-License-Identifier: Apache-2.0
"""What `Gate.propose` does: asks the gate about the chunk, and about each way on that may be worth its time."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from lastgate import _core
from lastgate.contracts import ControlMode, ViolationCode
from lastgate.contracts.action import ActionChunk, RobotState
from lastgate.contracts.arrays import Float64
from lastgate.gate.proposals import (
    PLACE_MODES,
    TOO_FAST,
    Proposal,
    joint_path,
    propose_prefix,
    propose_slower,
)
from lastgate.gate.retreat import RetreatSearch, propose_retreat
from lastgate.gate.time_stretch import StepLimits
from lastgate.gate.tool_speed import ToolLimits, tool_excess
from lastgate.gate.verdict import Verdict

# Stage 8 builds the path; what is decided later has all of it.
_PATH_STAGE = 8
_WORLD_STAGE = 9
_CONTACT_CODES = frozenset(
    {ViolationCode.self_collision, ViolationCode.world_collision, ViolationCode.joint_position_limit}
)


class Ask(Protocol):
    """Asks the gate about a chunk from a state, in the world and at the time of the call."""

    def __call__(self, candidate: ActionChunk, *, state: RobotState | None, recovery: bool) -> Verdict:
        """Returns the verdict."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class SearchSpace:
    """What a search knows of its gate.

    Attributes:
        native: The core's gate; it keeps the path of its last check and, in a retreat, the pairs it found too near.
        columns: Where the joints of a step stand among the variables of a path.
    """

    native: _core.Gate
    columns: slice | list[int]
    limits: StepLimits
    tools: ToolLimits


def proposals_of(
    space: SearchSpace, ask: Ask, chunk: ActionChunk, state: RobotState | None
) -> tuple[Proposal, ...]:
    """Returns the ways on from a chunk in the order prefix, slower, retreat; the caller is alone inside the gate."""

    def decide(candidate: ActionChunk, recovery: bool) -> Verdict:
        return ask(candidate, state=state, recovery=recovery)

    rejected = decide(chunk, False)
    if rejected.accepted or state is None or rejected.stage in (_PATH_STAGE - 1, _WORLD_STAGE):
        return ()
    resolved = _resolved_path(space, rejected, chunk)
    path = joint_path(chunk, state, space.limits) if resolved is None else resolved
    # The slower one comes first, while the path of the core is still that of the chunk.
    slower = propose_slower(
        rejected, chunk, path, state, space.limits, decide, lambda: tool_excess(space.tools, space.native)
    )
    prefix = propose_prefix(rejected, chunk, state, decide)
    violation = rejected.violations[0]
    in_contact = violation.code in _CONTACT_CODES and violation.step in (None, 0)
    may_be_stuck = in_contact or (prefix is None and slower is None)
    retreat = _retreat(space, ask, state) if may_be_stuck else None
    return tuple(proposal for proposal in (prefix, slower, retreat) if proposal is not None)


def _resolved_path(space: SearchSpace, rejected: Verdict, chunk: ActionChunk) -> Float64 | None:
    """Returns the joint path of a chunk whose steps are not joint positions, as the core resolved it."""
    if chunk.mode in (*PLACE_MODES, ControlMode.JOINT_VELOCITY) or chunk.mode not in _RESOLVED_MODES:
        return None
    if rejected.stage < _PATH_STAGE or (
        rejected.stage == _PATH_STAGE and rejected.violations[0].code not in TOO_FAST
    ):
        return None
    return np.ascontiguousarray(space.native.path[:, space.columns])


_RESOLVED_MODES = (ControlMode.CARTESIAN_POSE, ControlMode.CARTESIAN_DELTA, ControlMode.CARTESIAN_TWIST)


def _retreat(space: SearchSpace, ask: Ask, state: RobotState) -> Proposal | None:
    """Returns the way out if the robot stands too near something; standing still is rejected then as well."""
    search = RetreatSearch(
        decide=lambda candidate, start: ask(candidate, state=start, recovery=True),
        pairs=lambda: space.native.start_pairs,
        limits=space.limits,
    )
    return propose_retreat(search, state)
