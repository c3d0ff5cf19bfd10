# SPDX-License-Identifier: Apache-2.0
import pytest

from lastgate import contracts
from lastgate.contracts import ROSError, ROSSafetyViolation


@pytest.mark.parametrize(
    "name",
    [
        "ConcurrentUseError",
        "ROSConfigError",
        "ROSSafetyViolation",
        "ROSPlanningError",
        "ROSObjectNotInMemory",
        "ROSPerceptionStale",
        "ROSMotionCancelled",
    ],
)
def test_every_branch_hangs_directly_under_ros_error(name):
    assert ROSError in getattr(contracts, name).__bases__


@pytest.mark.parametrize(
    "name",
    [
        "ROSWorkspaceViolation",
        "ROSForceLimitExceeded",
        "ROSCollisionImminent",
        "ROSEStopRequested",
        "RejectedChunkError",
    ],
)
def test_every_rejected_motion_is_a_safety_violation(name):
    assert getattr(contracts, name).__bases__ == (ROSSafetyViolation,)


def test_a_configuration_error_is_not_a_safety_violation():
    assert not issubclass(contracts.ROSConfigError, ROSSafetyViolation)
