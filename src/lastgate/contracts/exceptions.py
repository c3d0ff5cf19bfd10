# SPDX-License-Identifier: Apache-2.0
"""Exceptions about the caller's program, files or request; a violation of a chunk is a value instead."""


class ROSError(Exception):
    """Is the root of everything lastgate raises on purpose."""


class ROSConfigError(ROSError, ValueError):
    """Says that a manifest, a reference, an envelope or an argument cannot be used.

    It is a `ValueError` too, so that one raised while a schema is being parsed joins the other problems of
    the same file instead of hiding them.
    """


class ROSSafetyViolation(ROSError):
    """Says that a motion was refused, for callers that prefer an exception to reading a verdict."""


class ROSWorkspaceViolation(ROSSafetyViolation):
    """Says that a motion leaves a joint range, a speed or the workspace box."""


class ROSForceLimitExceeded(ROSSafetyViolation):
    """Says that a motion exceeds a torque, force or end-effector speed limit."""


class ROSCollisionImminent(ROSSafetyViolation):
    """Says that a motion brings two volumes closer than their margin."""


class ROSEStopRequested(ROSSafetyViolation):
    """Says that an emergency stop is latched, so nothing may move until it is reset."""


class RejectedChunkError(ROSSafetyViolation):
    """Says that `verdict.chunk` was read on a rejected verdict; there is nothing that may be executed."""


class ROSPlanningError(ROSError):
    """Says that no path or pose satisfies the request."""


class ROSObjectNotInMemory(ROSError):
    """Says that the object asked for was never seen."""


class ROSPerceptionStale(ROSError):
    """Says that a sensor reading is older than its limit."""


class ROSMotionCancelled(ROSError):
    """Says that whoever asked for a motion took it back while it ran; the robot holds where it is."""
