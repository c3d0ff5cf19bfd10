# SPDX-License-Identifier: Apache-2.0
"""Whether the numbers of a recording can be what they are taken for.

A recording in degrees that is read as radians, or of another robot that has as many joints, lies outside the joints'
ranges nearly throughout. A real violation does not: it is some rows of some joint, and stays a finding.
"""

from collections.abc import Sequence

import numpy as np

from lastgate.contracts import JointSpec
from lastgate.contracts.arrays import Float64
from lastgate.tools.audit.episode import UnreadableEpisodeError
from lastgate.tools.audit.joint_units import JointUnits

# Less than half of the rows inside a joint's range is no violation that happens now and then.
INSIDE_SHARE_MIN = 0.5
# What explains the numbers better has to explain nearly all of them.
EXPLAINED_SHARE_MIN = 0.95
# A joint rests against its stop, and encoders have an offset: two degrees.
SLACK = 0.035
# No angle in radians is that large on an arm whose joints end; degrees mostly are.
TURN_RAD = 2.0 * np.pi


def require_values_fit(
    raw: Float64,
    *,
    joints: Sequence[JointSpec],
    units: JointUnits,
    degrees: JointUnits,
    by_count: bool,
) -> None:
    """Refuses an episode whose numbers do not fit the ranges of the joints, and says what would fit.

    Args:
        raw: (T, joints) as recorded.
        units: What they are taken for.
        degrees: What they would be as degrees.
        by_count: No name says that these columns are these joints.

    Raises:
        UnreadableEpisodeError: Another unit fits and the present one does not, or columns without names do not fit.
    """
    rows = raw[np.isfinite(raw).all(axis=1)]
    if not len(rows):
        return
    turning = np.array([joint.joint_type == "revolute" for joint in joints])
    if turning.any() and np.array_equal(units.factor[turning], degrees.factor[turning]):
        _require_degrees(rows[:, turning])
    shares = _inside_shares(units.apply(rows), joints)
    worst = int(np.argmin(shares))
    if shares[worst] >= INSIDE_SHARE_MIN:
        return
    outside = (
        f"{1.0 - shares[worst]:.0%} of the rows lie outside the range of `{joints[worst].name}` "
        f"({float(np.median(units.apply(rows)[:, worst])):.4g} is in the middle of them)"
    )
    as_degrees = _inside_shares(degrees.apply(rows), joints)
    if np.abs(rows[:, turning]).max(initial=0.0) > TURN_RAD and as_degrees.min() >= EXPLAINED_SHARE_MIN:
        raise UnreadableEpisodeError(
            f"{outside}, and as degrees they fit: say `--degrees`, or `--units` joint by joint"
        )
    if by_count:
        raise UnreadableEpisodeError(
            f"{outside}, and no name says that these columns are its joints: say which column is which joint and "
            "in what unit: `--joint-map 0=JOINT,…`, `--units`"
        )


def _require_degrees(turning: Float64) -> None:
    if np.abs(turning).max() <= np.pi:
        raise UnreadableEpisodeError(
            f"no joint leaves {np.abs(turning).max():.3g} degrees around zero: are these radians? leave out `--degrees`"
        )


def _inside_shares(values: Float64, joints: Sequence[JointSpec]) -> Float64:
    """Returns the share of rows inside each joint's range; a joint without one contains everything."""
    lower = np.array([joint.position_limits[0] if joint.position_limits else -np.inf for joint in joints])
    upper = np.array([joint.position_limits[1] if joint.position_limits else np.inf for joint in joints])
    return ((lower - SLACK <= values) & (values <= upper + SLACK)).mean(axis=0)
