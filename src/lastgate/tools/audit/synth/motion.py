# SPDX-License-Identifier: Apache-2.0
"""Straight joint motion from rest to rest, sampled at a fixed rate."""

from math import ceil, sqrt

import numpy as np

from lastgate.contracts.arrays import Float64

# Steepest slope and strongest curvature of the quintic 10 s^3 - 15 s^4 + 6 s^5 over the unit interval.
PEAK_SLOPE = 1.875
PEAK_CURVATURE = 10.0 / sqrt(3.0)


def smooth_share(share: Float64) -> Float64:
    """Returns how far along the motion is at each share of its time, at rest at both ends."""
    return share**3 * (10.0 - 15.0 * share + 6.0 * share**2)


def rest_to_rest(
    start: Float64, goal: Float64, *, step_s: float, speed_max: Float64, acceleration_max: Float64
) -> Float64:
    """Returns the rows after `start`, the last of them at `goal`, with no joint above its speed or acceleration."""
    travel = np.abs(goal - start)
    by_speed_s = float((PEAK_SLOPE * travel / speed_max).max())
    by_acceleration_s = float(np.sqrt(PEAK_CURVATURE * travel / acceleration_max).max())
    count = max(1, ceil(max(by_speed_s, by_acceleration_s) / step_s))
    return rows_between(start, goal, count=count)


def rows_between(start: Float64, goal: Float64, *, count: int) -> Float64:
    """Returns `count` rows after `start`, the last of them at `goal`."""
    share = smooth_share(np.arange(1, count + 1) / count)[:, np.newaxis]
    return start + share * (goal - start)
