# SPDX-License-Identifier: Apache-2.0
"""Actions that are dictionaries of named numbers, as LeRobot's robots take them, before a gate."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from lastgate.contracts import JointSpec, ROSConfigError
from lastgate.contracts.action import ActionChunk, RobotState
from lastgate.contracts.arrays import Float64
from lastgate.gate import Gate, require_gate
from lastgate.integrations.plain_numbers import plain_number
from lastgate.integrations.rejection import Rejection, unchecked_verdict
from lastgate.integrations.renamed import renamed_attribute
from lastgate.world import NoWorld, World


@dataclass(frozen=True, slots=True)
class JointUnit:
    """Turns a recorded number into radians or metres: `factor * number + offset`."""

    factor: float = 1.0
    offset: float = 0.0


def degrees_except(gate: Gate, percent: tuple[str, ...] = ()) -> dict[str, JointUnit]:
    """Returns the units of a robot in degrees, with some joints in percent of their range (LeRobot's grippers).

    Degrees count from where the manifest says that drivers read zero (`degrees_zero`, `degrees_sign`): the zero of the
    description unless it says otherwise. Joints that slide are in metres unless they are in percent.

    Raises:
        ROSConfigError: A joint in percent that the robot does not have, or that has no range.
    """
    if isinstance(percent, str):
        raise ROSConfigError(f"percent is text, expected names: write percent=({percent!r},)")
    units = {joint.name: _degrees(joint) for joint in gate.robot.joints if joint.name in gate.joint_names}
    limits = {joint.name: joint.position_limits for joint in gate.robot.joints}
    for name in percent:
        span = limits.get(name)
        if name not in units or span is None:
            raise ROSConfigError(f"robot `{gate.robot.name}` has no joint `{name}` with a range")
        units[name] = JointUnit((span[1] - span[0]) / 100.0, span[0])
    return units


def _degrees(joint: JointSpec) -> JointUnit:
    if joint.joint_type == "prismatic":
        return JointUnit()
    return JointUnit(joint.degrees_sign * float(np.pi / 180.0), joint.degrees_zero)


class NamedActionGate:
    """Checks dictionaries like `{"elbow_flex.pos": 12.5, …}`, one step at a time.

    An action with a key that is neither a joint's nor declared in `unchecked_keys` is rejected: what the gate does not
    know, such as the speed of a base, it cannot check.

    Args:
        gate: Its `step_s` is the period of the loop.
        units: What the numbers of each joint mean; joints that are not named are in radians or metres.
        world: The obstacles, or a function that is asked before every check.
        ending: What the keys have behind the name of the joint.
        clock: Stamps observations and tells the age of the last one.
        unchecked_keys: Keys that pass although no check covers them, as finite numbers; a mapping says which number
            stands still, otherwise an action that stands still is without them.

    Attributes:
        last_rejection: The rejection of the latest action, or None.
        last_unchecked: The declared keys that the latest accepted action had and no check covered.
        checked_action: A copy of the latest action as it was checked; None if it was rejected.
        rejections: How many there were.

    Raises:
        ROSConfigError: A unit or an unchecked key that makes no sense for this robot.
    """

    last_refusal = renamed_attribute("last_refusal", "last_rejection")
    refusals = renamed_attribute("refusals", "rejections")

    def __init__(
        self,
        gate: Gate,
        *,
        units: Mapping[str, JointUnit] | None = None,
        world: World | NoWorld | Callable[[], World | NoWorld | None],
        ending: str = ".pos",
        clock: Callable[[], float] = time.monotonic,
        unchecked_keys: Sequence[str] | Mapping[str, float] = (),
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
        self._unchecked = _declared(unchecked_keys, joint_keys=self._keys)
        self._world = world
        self._clock = clock
        self._state: RobotState | None = None
        self._last_accepted: Float64 | None = None
        self._last_measured: Float64 | None = None
        self.last_rejection: Rejection | None = None
        self.last_unchecked: tuple[str, ...] = ()
        self.checked_action: dict[str, float] | None = None
        self.rejections = 0
        self._count = 0

    def observe(self, observation: Mapping[str, Any]) -> None:
        """Takes the positions of an observation as the measured state, stamped now; one without them leaves none."""
        row = self._row({key: plain_number(observation.get(key)) for key in self._keys})
        self._state = None if row is None else RobotState(positions=row, stamp_s=self._clock())
        if row is not None and np.isfinite(row).all():
            self._last_measured = row

    @property
    def state(self) -> RobotState | None:
        """The measured state of the latest observation; None where that had no positions."""
        return self._state

    def row_of(self, action: Mapping[str, Any]) -> Float64 | None:
        """Returns an action as one step of the gate, in radians and metres; None where it names no joint."""
        return self._row({key: plain_number(action.get(key)) for key in self._keys})

    def check(self, action: Mapping[str, Any]) -> Rejection | None:
        """Returns None if the action is accepted, else why it is not."""
        self._count += 1
        # Each number is read once: what is checked is what `checked_action` holds.
        given = dict(action) if isinstance(action, Mapping) else {f"a {type(action).__name__}": action}
        numbers = {key: plain_number(value) for key, value in given.items()}
        row = self._row(numbers)
        rows = np.full((1, self._gate.n_dof), np.nan) if row is None else row[np.newaxis]
        now_s = self._clock()
        why = self._why_unchecked(numbers)
        if why:
            verdict = unchecked_verdict(self._gate, why)
        else:
            world = self._world() if callable(self._world) else self._world
            verdict = self._gate.check(ActionChunk(rows), state=self._state, world=world, now_s=now_s)
        self.last_rejection, self.last_unchecked, self.checked_action = None, (), None
        if verdict.accepted:
            self._last_accepted = row
            self.checked_action = numbers
            self.last_unchecked = tuple(key for key in self._unchecked if key in numbers)
        else:
            self.rejections += 1
            self.last_rejection = Rejection(number=self._count, now_s=now_s, verdict=verdict)
        return self.last_rejection

    def standing_still(self) -> dict[str, float] | None:
        """Returns the action that stands still, in the robot's own units; every number of it is finite.

        The measured positions; where those are missing or not finite, the last action that was accepted, else the last
        whole measurement; None without either. Declared keys have the number that stands still, if one was given.
        """
        measured = None if self._state is None else self._state.positions
        for row in (measured, self._last_accepted, self._last_measured):
            if row is not None and np.isfinite(row).all():
                numbers = (row - self._offset) / self._factor
                still = {key: float(number) for key, number in zip(self._keys, numbers, strict=True)}
                return still | {key: number for key, number in self._unchecked.items() if number is not None}
        return None

    def _why_unchecked(self, numbers: Mapping[str, float]) -> str:
        unknown = sorted(str(key) for key in numbers if key not in self._keys and key not in self._unchecked)
        if unknown:
            return (
                f"the gate does not know {', '.join(unknown)}: leave it out, or declare it by name in `unchecked_keys` "
                "to have it pass unchecked"
            )
        odd = sorted(key for key in self._unchecked if not np.isfinite(numbers.get(key, 0.0)))
        return f"{', '.join(odd)} is no finite number" if odd else ""

    def _row(self, numbers: Mapping[str, float]) -> Float64 | None:
        """Returns the joints in the gate's order and units; a key that is missing or no number counts as NaN."""
        found = np.array([numbers.get(key, float("nan")) for key in self._keys])
        if np.isnan(found).all():
            return None
        return found * self._factor + self._offset


def _declared(
    keys: Sequence[str] | Mapping[str, float], *, joint_keys: Sequence[str]
) -> dict[str, float | None]:
    if isinstance(keys, str):
        raise ROSConfigError(f"unchecked_keys is text, expected names: write unchecked_keys=({keys!r},)")
    declared: dict[str, float | None] = dict(keys) if isinstance(keys, Mapping) else dict.fromkeys(keys)
    for key, number in declared.items():
        if not isinstance(key, str) or key in joint_keys:
            raise ROSConfigError(f"unchecked_keys names {key!r}: joints are checked, and names are text")
        if number is not None and not np.isfinite(plain_number(number)):
            raise ROSConfigError(
                f"unchecked_keys: what stands still for `{key}` is {number!r}, no finite number"
            )
    return declared
