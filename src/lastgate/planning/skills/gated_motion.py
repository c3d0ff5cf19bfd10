# SPDX-License-Identifier: Apache-2.0
"""The one place where skills move a robot: through the gate, or not at all."""

from collections.abc import Callable

from lastgate.contracts import (
    CATALOGUE,
    FailureKind,
    ROSCollisionImminent,
    ROSForceLimitExceeded,
    ROSMotionCancelled,
    ROSSafetyViolation,
    ROSWorkspaceViolation,
)
from lastgate.contracts.action import ActionChunk
from lastgate.gate import Gate
from lastgate.gate.verdict import Verdict
from lastgate.planning.skills.body import Body

_REJECTIONS: dict[FailureKind, type[ROSSafetyViolation]] = {
    FailureKind.COLLISION: ROSCollisionImminent,
    FailureKind.WORKSPACE: ROSWorkspaceViolation,
    FailureKind.FORCE: ROSForceLimitExceeded,
}


def never_cancelled() -> bool:
    """Returns False: the motion is not taken back."""
    return False


def move_through_gate(
    chunk: ActionChunk,
    *,
    gate: Gate,
    body: Body,
    what: str,
    is_cancelled: Callable[[], bool] = never_cancelled,
) -> Verdict:
    """Asks the gate about a chunk and has the body execute it; returns the verdict that allowed it.

    Whatever goes wrong, the robot is told to hold before the error leaves.

    Args:
        what: Names the chunk in messages, such as `step 3 of 40 of the plan`.
        is_cancelled: Asked first; a motion that was taken back is not proposed.

    Raises:
        ROSSafetyViolation: The gate rejected it: `ROSCollisionImminent`, `ROSWorkspaceViolation` or
            `ROSForceLimitExceeded` by kind, else `ROSSafetyViolation` itself; or its verdict was claimed meanwhile.
        ROSMotionCancelled: It was taken back.
    """
    try:
        if is_cancelled():
            raise ROSMotionCancelled(f"cancelled before {what}; the robot holds")
        verdict = gate.check(chunk, state=body.observe(), world=body.world(), now_s=body.now_s())
        if not verdict.accepted:
            raise rejection_of(verdict, what=what)
        # Executed here, it is executed nowhere else.
        if gate.claim(verdict) is None:
            raise ROSSafetyViolation(f"{what} was executed before, and the robot holds")
        body.execute(verdict.chunk)
    except BaseException:
        body.hold()
        raise
    return verdict


def rejection_of(verdict: Verdict, *, what: str, who: str = "the gate") -> ROSSafetyViolation:
    """Returns the exception that says what a rejected verdict says, and who rejected."""
    violation = verdict.violations[0]
    kind = CATALOGUE[violation.code].kind
    error = _REJECTIONS.get(kind, ROSSafetyViolation)
    return error(f"{who} rejected {what}, and the robot holds: {violation}")
