# SPDX-License-Identifier: Apache-2.0
"""From corners of a path to steps: rest to rest along each straight segment, inside speed and acceleration limits.

The way along a segment is s(t) = 10 t^3 - 15 t^4 + 6 t^5, which begins and ends with neither speed nor acceleration.
Its largest speed is 15/8 and its largest acceleration 10/sqrt(3), per duration and duration squared. Differences of
steps are means of speeds and accelerations, so they are not above those either.
"""

import math

import numpy as np

from lastgate.contracts.arrays import Float64

PEAK_SPEED = 15.0 / 8.0
PEAK_ACCELERATION = 10.0 / math.sqrt(3.0)


def segment_rows(
    a: Float64, b: Float64, *, speed: Float64, acceleration: Float64, step_s: float, stretch: float = 1.0
) -> Float64:
    """Returns steps (N, joints) from a, which is left out, to b, as fast as the limits allow, times `stretch`."""
    away = np.abs(b - a)
    duration_s = max(
        float((PEAK_SPEED * away / speed).max()),
        math.sqrt(float((PEAK_ACCELERATION * away / acceleration).max())),
    )
    count = max(1, math.ceil(stretch * duration_s / step_s))
    t = np.arange(1, count + 1) / count
    share = t**3 * (10.0 + t * (6.0 * t - 15.0))
    rows = a + share[:, np.newaxis] * (b - a)
    rows[-1] = b  # where it was said to end, not where rounding leads
    return rows
