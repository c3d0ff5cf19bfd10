# SPDX-License-Identifier: Apache-2.0
"""What the numbers of a recording mean: radians and metres, degrees, or percent of a joint's range."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from lastgate.contracts import ROSConfigError
from lastgate.contracts.arrays import Float64
from lastgate.gate import Gate
from lastgate.integrations.named_actions import JointUnit, degrees_except

SI, DEGREES, PERCENT = "si", "degrees", "percent"
UNITS = (SI, DEGREES, PERCENT)


@dataclass(frozen=True, slots=True, eq=False)
class JointUnits:
    """Turns columns into radians and metres: `factor * number + offset`, joint by joint."""

    factor: Float64
    offset: Float64

    def apply(self, table: Float64) -> Float64:
        """Returns the table in radians and metres."""
        return table * self.factor + self.offset


def parse_units(text: str) -> tuple[tuple[str, str], ...]:
    """Returns the unit of each joint named in `degrees,gripper=percent`; the empty name stands for all others.

    Raises:
        ROSConfigError: A unit that is not known, or a joint named twice.
    """
    units: dict[str, str] = {}
    for entry in text.split(","):
        joint, _, unit = entry.strip().rpartition("=")
        if unit not in UNITS:
            raise ROSConfigError(
                f"`--units`: `{unit}` is no unit\n\n"
                f"hint: {', '.join(UNITS)} (radians and metres, degrees, percent of a joint's range) for all joints, "
                "or JOINT=UNIT: `--units degrees,gripper=percent`"
            )
        if joint in units:
            raise ROSConfigError(
                f"`--units` names {f'`{joint}`' if joint else 'the unit of all joints'} twice"
            )
        units[joint] = unit
    return tuple(units.items())


def units_of(gate: Gate, names: Sequence[str], units: Sequence[tuple[str, str]]) -> JointUnits:
    """Returns what turns the columns of these joints into radians and metres.

    Degrees are those of `degrees_except`: joints that slide stay in metres, and a robot whose degrees do not count from
    the zero of its description has that written in its manifest.

    Raises:
        ROSConfigError: A joint that the robot does not have, or percent of a range that it does not have.
    """
    said = dict(units)
    everything = said.pop("", SI)
    unknown = sorted(set(said) - {*gate.joint_names, *gate.gripper_joint_names})
    if unknown:
        raise ROSConfigError(f"`--units` names `{unknown[0]}`, which robot `{gate.robot.name}` does not have")
    degrees = degrees_except(gate)
    chosen = [_unit_of(gate, name, said.get(name, everything), degrees) for name in names]
    return JointUnits(np.array([unit.factor for unit in chosen]), np.array([unit.offset for unit in chosen]))


def _unit_of(gate: Gate, name: str, unit: str, degrees: dict[str, JointUnit]) -> JointUnit:
    joint = next(joint for joint in gate.robot.joints if joint.name == name)
    if unit == PERCENT:
        if joint.position_limits is None:
            raise ROSConfigError(f"`--units {name}=percent`: the joint has no range to take a share of")
        lower, upper = joint.position_limits
        return JointUnit((upper - lower) / 100.0, lower)
    if unit == SI:
        return JointUnit()
    if name in degrees:
        return degrees[name]
    return JointUnit(1.0 if joint.joint_type == "prismatic" else float(np.pi / 180.0))
