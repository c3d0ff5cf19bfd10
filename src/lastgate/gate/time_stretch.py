# SPDX-License-Identifier: Apache-2.0
"""The same joint path in more time: sampled again at the gate's step, straight between the old steps.

A step of the new chunk lies on the old path. Between two of them the robot goes straight, so a bend of the old path
that lies in between is cut; the gate checks what is left of it like any other motion.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np

from lastgate import _core
from lastgate.contracts.arrays import Float64

# Below the limits by more than the roundings of a step that is sampled, divided and compared.
BELOW = 1.0 - 1e-9
# Share of the acceleration limit that a change of pace takes; the rest is for the curve of the path itself.
PACE_SHARE = 0.5
STEPS_MAX = 256


@dataclass(frozen=True, slots=True, eq=False)
class StepLimits:
    """What one step of the joints may do: the limits that the gate was built with, in the columns of a step.

    Attributes:
        low, high: Of the positions.
        acceleration: None where the robot declares none.
    """

    step_s: float
    low: Float64
    high: Float64
    velocity: Float64
    acceleration: Float64 | None

    @classmethod
    def of(cls, config: _core.KernelConfig, *, columns: slice | list[int]) -> Self:
        """Returns the limits of some joints of a flat config."""
        acceleration = config.acceleration_max
        return cls(
            step_s=config.step_s,
            low=np.asarray(config.position_min)[columns],
            high=np.asarray(config.position_max)[columns],
            velocity=np.asarray(config.velocity_max)[columns],
            acceleration=None if acceleration is None else np.asarray(acceleration)[columns],
        )


def slowdown_needed(path: Float64, limits: StepLimits) -> float:
    """Returns by how much the path must be slower, at least 1, for the speeds and bends of its joints."""
    speeds = (path[1:] - path[:-1]) / limits.step_s
    ratio = float((np.abs(speeds) / limits.velocity).max()) / BELOW
    if limits.acceleration is not None and len(speeds) > 1:
        bends = np.abs(speeds[1:] - speeds[:-1]) / limits.step_s
        ratio = max(ratio, float((bends / limits.acceleration).max()) / BELOW)
    return max(ratio, 1.0)


def stretched(path: Float64, factor: float, limits: StepLimits, *, speed: Float64 | None) -> Float64:
    """Returns the steps of the path at `1 / factor` of its pace, at most as many as a chunk may have.

    Args:
        path: The measured state, then each step.
        speed: The measured speed of the joints: where accelerations are limited the pace begins with it and
            changes within the limits.
    """
    steps = len(path) - 1
    paces = None if speed is None else _paces(path, factor, limits, speed)
    if paces is None:
        count = int(np.ceil(steps * factor * BELOW))
        along = np.arange(1, min(count, STEPS_MAX) + 1) * (steps / count)
    else:
        along = np.cumsum(paces)
        along = along[: np.searchsorted(along, steps, side="right")]
    index = np.minimum(along.astype(np.intp), steps - 1)
    share = np.minimum(along - index, 1.0)[:, np.newaxis]
    below, above = path[index], path[index + 1]
    # At a step itself the number of the step: what was inside its limits stays there.
    rows = below + share * (above - below)
    return np.where(share == 1.0, above, rows)


def _paces(path: Float64, factor: float, limits: StepLimits, speed: Float64) -> Float64 | None:
    """Returns how far along the path each new step goes, in old steps: from the measured pace to the slower one."""
    if limits.acceleration is None:
        return None
    speeds = (path[1:] - path[:-1]) / limits.step_s
    first = speeds[0]
    squared = float(first @ first)
    if squared == 0.0:
        return None
    begins = min(max(float(first @ speed) / squared, 0.0), 1.0)
    fastest = np.abs(speeds).max(axis=0)
    with np.errstate(divide="ignore"):
        change = PACE_SHARE * float((limits.acceleration * limits.step_s / fastest).min())
    pace = 1.0 / factor
    ramp = begins + np.sign(pace - begins) * change * np.arange(1, STEPS_MAX + 1)
    return np.minimum(ramp, pace) if pace >= begins else np.maximum(ramp, pace)
