# SPDX-License-Identifier: Apache-2.0
"""The stop that a manifest declares, as set points over time: one law for every driver. Pure: no clock, no motor.

A stop along the path goes on at rate 1 for the reaction time; then the rate of path time falls linearly to zero within
T, the largest braking time |speed| / deceleration of any joint on this segment and those behind it. It rests at the
path time of the request + reaction + T / 2, behind the last step straight on at the last velocity. In a stop of each
joint on its own they go on at their velocity for the reaction time, and then brake with their deceleration.
"""

import math
from dataclasses import dataclass
from typing import Self

import numpy as np

from lastgate import _core
from lastgate.contracts import RobotDescription
from lastgate.contracts.arrays import Float64
from lastgate.contracts.declared_stop import StopKind
from lastgate.robots.kernel_config import flat_config

# A path time that a sum of ticks reached differs from a multiple of the step by far less than this share of it.
_ROUNDING_SHARE = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class StopLaw:
    """How a robot stops: what its manifest declares, for the joints of a step.

    Attributes:
        kind: `path`, only time slows down; `joint`, every joint brakes on its own.
        reaction_s: From the moment a stop is asked for until the set points slow down.
        deceleration: The limit of each joint, in the order of a step.
    """

    kind: StopKind
    reaction_s: float
    deceleration: Float64

    @classmethod
    def of(cls, robot: RobotDescription) -> Self | None:
        """Returns the law of a robot; None where its manifest declares no stop."""
        # Any step will do: the law does not depend on it.
        return cls.read(_core.read_config(flat_config(robot, step_s=1.0)))

    @classmethod
    def read(cls, config: _core.KernelConfig) -> Self | None:
        """Returns the law that a flat configuration holds; None where it declares no stop."""
        if config.stop_kind is None or config.deceleration_max is None or config.stop_reaction_s is None:
            return None
        in_rows = np.array(config.dof_in_rows, dtype=np.float64) > 0.0
        return cls(
            kind="path" if config.stop_kind == "path" else "joint",
            reaction_s=config.stop_reaction_s,
            deceleration=np.array(config.deceleration_max)[in_rows],
        )


class StoppingMotion:
    """The motion of a robot from the moment that a stop is asked for until it stands.

    Args:
        path: (steps + 1, joints): where the chunk began, then its steps, straight from each to the next.
        step_s: Time from one step to the next.
        law: How the robot stops.
        asked_s: How far along the path the set point was when the stop was asked for; no further than its end.
    """

    def __init__(self, path: Float64, *, step_s: float, law: StopLaw, asked_s: float) -> None:
        self._path = path
        self._step_s = step_s
        self._law = law
        self._segments = len(path) - 1
        self._velocities = np.diff(path, axis=0) / step_s
        self._asked_s = min(max(asked_s, 0.0), self._segments * step_s)
        # At a step the segment that ends there: it is the one whose stop ends later.
        share = self._asked_s / step_s
        segment = min(max(math.ceil(share - _ROUNDING_SHARE) - 1, 0), self._segments - 1)
        needed_s = np.abs(self._velocities) / law.deceleration
        if law.kind == "path":
            self._brake_s = needed_s[segment:].max()
        else:
            self._speed = self._velocities[segment]
            self._joint_brake_s = needed_s[segment]
            self._brake_s = self._joint_brake_s.max()

    @property
    def duration_s(self) -> float:
        """Time from the moment the stop was asked for until every set point stands."""
        return self._law.reaction_s + float(self._brake_s)

    def at(self, passed_s: float, *, not_before_s: float = 0.0) -> Float64:
        """Returns the set points so long after the stop was asked for.

        Args:
            not_before_s: The path time that a driver which sends whole steps has commanded already: a set point that
                stays there until the motion has caught up never goes back.
        """
        passed_s = min(max(passed_s, 0.0), self.duration_s)
        if self._law.kind == "path":
            return self._along(max(self.path_time_s(passed_s), not_before_s))
        braked_s = np.clip(passed_s - self._law.reaction_s, 0.0, self._joint_brake_s)
        before_s = min(passed_s, self._law.reaction_s)
        signed = np.sign(self._speed) * self._law.deceleration
        gone = self._speed * (before_s + braked_s) - 0.5 * signed * braked_s**2
        point, sent = self._along(self._asked_s) + gone, self._along(not_before_s)
        if not not_before_s > self._asked_s:
            return point
        return np.where(self._speed > 0.0, np.maximum(point, sent), np.minimum(point, sent))

    def velocity_at(self, passed_s: float) -> Float64:
        """Returns the velocities of the set points so long after the stop was asked for."""
        passed_s = min(max(passed_s, 0.0), self.duration_s)
        braked_s = passed_s - self._law.reaction_s
        if self._law.kind == "path":
            rate = 1.0 if braked_s <= 0.0 else max(1.0 - braked_s / float(self._brake_s), 0.0)
            return rate * self._velocities[self._segment_of(self.path_time_s(passed_s))]
        slowed = np.abs(self._speed) - self._law.deceleration * max(braked_s, 0.0)
        return np.sign(self._speed) * np.maximum(slowed, 0.0)

    def path_time_s(self, passed_s: float) -> float:
        """Returns the path time of a `path` stop: its rate falls linearly from 1 to 0 after the reaction."""
        passed_s = min(max(passed_s, 0.0), self.duration_s)
        braked_s = passed_s - self._law.reaction_s
        if braked_s <= 0.0:
            return self._asked_s + passed_s
        return self._asked_s + passed_s - braked_s**2 / (2.0 * float(self._brake_s))

    def _segment_of(self, path_s: float) -> int:
        return min(int(path_s / self._step_s), self._segments - 1)

    def _along(self, path_s: float) -> Float64:
        """Returns the place on the path, which goes on straight behind its end."""
        index = self._segment_of(path_s)
        share = path_s / self._step_s - index
        return self._path[index] + share * (self._path[index + 1] - self._path[index])
