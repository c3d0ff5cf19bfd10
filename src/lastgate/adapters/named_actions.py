# SPDX-License-Identifier: Apache-2.0
"""Actions that are dictionaries of named numbers, as LeRobot's robots take them, before a gate."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from lastgate.action import ActionChunk, RobotState
from lastgate.adapters.refusal import Refusal
from lastgate.arrays import Float64
from lastgate.contracts import ROSConfigError
from lastgate.gate import Gate, require_gate
from lastgate.world import NoWorld, World


@dataclass(frozen=True, slots=True)
class JointUnit:
    """Turns a recorded number into radians or metres: `factor * number + offset`."""

    factor: float = 1.0
    offset: float = 0.0


def degrees_except(gate: Gate, percent: tuple[str, ...] = ()) -> dict[str, JointUnit]:
    """Returns the units of a robot in degrees, with some joints in percent of their range (LeRobot's grippers).

    Joints that slide are in metres unless they are in percent.

    Raises:
        ROSConfigError: A joint in percent that the robot does not have, or that has no range.
    """
    if isinstance(percent, str):
        raise ROSConfigError(f"percent is text, expected names: write percent=({percent!r},)")
    slides = {joint.name for joint in gate.robot.joints if joint.joint_type == "prismatic"}
    units = {name: JointUnit(1.0 if name in slides else float(np.pi / 180.0)) for name in gate.joint_names}
    limits = {joint.name: joint.position_limits for joint in gate.robot.joints}
    for name in percent:
        span = limits.get(name)
        if name not in units or span is None:
            raise ROSConfigError(f"robot `{gate.robot.name}` has no joint `{name}` with a range")
        units[name] = JointUnit((span[1] - span[0]) / 100.0, span[0])
    return units


class NamedActionGate:
    """Checks dictionaries like `{"elbow_flex.pos": 12.5, …}`, one row at a time.

    Args:
        gate: Its `step_s` is the period of the loop.
        units: What the numbers of each joint mean; joints that are not named are in radians or metres.
        world: The obstacles, or a function that is asked before every check.
        ending: What the keys have behind the name of the joint.
        clock: Stamps observations and tells the age of the last one.

    Attributes:
        last_refusal: The refusal of the latest action, or None.
        refusals: How many there were.
    """

    def __init__(
        self,
        gate: Gate,
        *,
        units: Mapping[str, JointUnit] | None = None,
        world: World | NoWorld | Callable[[], World | NoWorld | None],
        ending: str = ".pos",
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        require_gate(gate)
        unknown = sorted(set(units or {}) - set(gate.joint_names))
        if unknown:
            raise ROSConfigError(f"robot `{gate.robot.name}` has no joint {', '.join(unknown)}")
        self._gate = gate
        chosen = [(units or {}).get(name, JointUnit()) for name in gate.joint_names]
        self._factor = np.array([unit.factor for unit in chosen])
        self._offset = np.array([unit.offset for unit in chosen])
        if not (np.isfinite(self._factor).all() and self._factor.all() and np.isfinite(self._offset).all()):
            raise ROSConfigError("the factor of a unit is not zero, and both numbers are finite")
        self._keys = [f"{name}{ending}" for name in gate.joint_names]
        self._world = world
        self._clock = clock
        self._state: RobotState | None = None
        self.last_refusal: Refusal | None = None
        self.refusals = 0
        self._count = 0

    def observe(self, observation: Mapping[str, Any]) -> None:
        """Takes the positions of an observation as the measured state, stamped now; one without them leaves none."""
        row = self._row(observation)
        self._state = None if row is None else RobotState(positions=row, stamp_s=self._clock())

    def check(self, action: Mapping[str, Any]) -> Refusal | None:
        """Returns None if the action is accepted, else why it is not."""
        self._count += 1
        row = self._row(action)
        rows = np.full((1, self._gate.n_dof), np.nan) if row is None else row[np.newaxis]
        now_s = self._clock()
        world = self._world() if callable(self._world) else self._world
        verdict = self._gate.check(ActionChunk(rows), state=self._state, world=world, now_s=now_s)
        self.last_refusal = None
        if not verdict.accepted:
            self.refusals += 1
            self.last_refusal = Refusal(number=self._count, now_s=now_s, verdict=verdict)
        return self.last_refusal

    def standing_still(self) -> dict[str, float] | None:
        """Returns the measured positions as an action, in the robot's own units; None if nothing was measured."""
        if self._state is None:
            return None
        numbers = (self._state.positions - self._offset) / self._factor
        return {key: float(number) for key, number in zip(self._keys, numbers, strict=True)}

    def _row(self, numbers: Mapping[str, Any]) -> Float64 | None:
        """Returns the joints in the gate's order and units; a key that is missing or no number counts as NaN."""
        found = np.array([_number(numbers.get(key)) for key in self._keys])
        if np.isnan(found).all():
            return None
        return found * self._factor + self._offset


def _number(value: Any) -> float:
    try:
        return float("nan") if value is None or isinstance(value, bool | str) else float(value)
    except (TypeError, ValueError):
        return float("nan")
