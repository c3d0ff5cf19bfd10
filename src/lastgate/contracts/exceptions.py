# SPDX-License-Identifier: Apache-2.0
"""Exceptions about the caller's program, files or request; a violation of a chunk is a value instead."""


class ROSError(Exception):
    """The root of everything lastgate raises on purpose."""


class ROSConfigError(ROSError, ValueError):
    """Raised when a manifest, a reference, an envelope or an argument cannot be used.

    It is a `ValueError` too, so that one raised while a schema is being parsed joins the other problems of
    the same file instead of hiding them.
    """


class ConcurrentUseError(ROSError, RuntimeError):
    """Raised for the second of two callers that use an object with memory of its own at once.

    Nothing was answered and nothing was changed. A `Gate`, a kernel client and a ring reader belong to one thread at a
    time: make one per thread.
    """


class ROSSafetyViolation(ROSError):
    """Raised for a rejected motion, for callers that prefer an exception to reading a verdict."""


class ROSWorkspaceViolation(ROSSafetyViolation):
    """Raised when a motion leaves a joint range, a speed or the workspace box."""


class ROSForceLimitExceeded(ROSSafetyViolation):
    """Raised when a motion exceeds a torque, force or end-effector speed limit."""


class ROSCollisionImminent(ROSSafetyViolation):
    """Raised when a motion brings two volumes closer than their margin."""


class ROSEStopRequested(ROSSafetyViolation):
    """Raised while an emergency stop is latched, so that nothing may move until it is reset."""


class RejectedChunkError(ROSSafetyViolation):
    """Raised when `verdict.chunk` is read on a rejected verdict; there is nothing that may be executed."""


class ROSPlanningError(ROSError):
    """Raised when no path or pose satisfies the request."""


class ROSObjectNotInMemory(ROSError):
    """Raised when the object asked for was never seen."""


class ROSPerceptionStale(ROSError):
    """Raised when a sensor reading is older than its limit."""


class ROSMotionCancelled(ROSError):
    """Raised when the client takes a motion back while it runs; the robot holds where it is."""
