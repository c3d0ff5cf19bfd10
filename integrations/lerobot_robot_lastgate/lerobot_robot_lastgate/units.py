# SPDX-License-Identifier: Apache-2.0
"""What the numbers of a LeRobot robot mean, read from its motors: degrees, -100 to 100 of a calibration, percent."""

from collections.abc import Mapping
from typing import Any

from lastgate import Gate, ROSConfigError
from lastgate.integrations.named_actions import JointUnit, degrees_except


def units_of(robot: Any, gate: Gate, said: Mapping[str, str]) -> dict[str, JointUnit]:
    """Returns the unit of every joint; one that neither the robot nor the file says is refused.

    Raises:
        ROSConfigError: A unit that is not known, or a calibration that is missing.
    """
    motors = getattr(getattr(robot, "bus", None), "motors", {})
    unknown = [name for name in gate.joint_names if name not in motors and name not in said]
    if unknown:
        raise ROSConfigError(
            f"`{robot.name}` does not say the unit of {', '.join(unknown)}\n\n"
            "hint: `units: {JOINT: degrees}` in the file of `--robot.setup`; si, degrees, or percent of the range"
        )
    return {name: _unit(robot, gate, name, said.get(name)) for name in gate.joint_names}


def _unit(robot: Any, gate: Gate, name: str, said: str | None) -> JointUnit:
    if said == "si":
        return JointUnit()
    if said == "degrees":
        return degrees_except(gate)[name]
    if said == "percent":
        return degrees_except(gate, percent=(name,))[name]
    mode = robot.bus.motors[name].norm_mode.value
    if mode == "degrees":
        return degrees_except(gate)[name]
    if mode == "range_0_100":
        return _percent(robot, gate, name)
    if mode == "range_m100_100":
        return _share_of_calibration(robot, gate, name)
    raise ROSConfigError(f"`{robot.name}` counts `{name}` in `{mode}`, which is not known")


def _percent(robot: Any, gate: Gate, name: str) -> JointUnit:
    unit = degrees_except(gate, percent=(name,))[name]
    calibration = robot.bus.calibration.get(name)
    if calibration is not None and robot.bus.apply_drive_mode and calibration.drive_mode:
        return JointUnit(-unit.factor, unit.offset + 100.0 * unit.factor)
    return unit


def _share_of_calibration(robot: Any, gate: Gate, name: str) -> JointUnit:
    """Turns -100 to 100 into the degrees that the same motor counts: both come from the calibrated range."""
    calibration = robot.bus.calibration.get(name)
    if calibration is None:
        raise ROSConfigError(
            f"`{robot.name}` counts `{name}` from -100 to 100 of a calibration that it does not have\n\n"
            "hint: calibrate it first, or say `use_degrees=true`"
        )
    steps = robot.bus.model_resolution_table[robot.bus.motors[name].model] - 1
    per_unit = (calibration.range_max - calibration.range_min) / 200.0 * 360.0 / steps
    if robot.bus.apply_drive_mode and calibration.drive_mode:
        per_unit = -per_unit
    degrees = degrees_except(gate)[name]
    return JointUnit(degrees.factor * per_unit, degrees.offset)
