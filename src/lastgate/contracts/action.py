# SPDX-License-Identifier: Apache-2.0
"""What is proposed and what is measured: `ActionChunk` and `RobotState`."""

from dataclasses import dataclass, field

from lastgate.contracts.arrays import Float64, require_array, require_number
from lastgate.contracts.enums import ControlMode
from lastgate.contracts.exceptions import ROSConfigError


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RobotState:
    """The measured state, stamped by its source.

    Attributes:
        positions: One per joint of a joint step, in `gate.joint_names` order.
        stamp_s: When it was measured, on the clock that `now_s` is read from.
        velocities: The same order; without them the acceleration of the first step is not checked.
        gripper_positions: One per joint of `gate.gripper_joint_names`; without them the whole range is assumed.
        stamps_s: One stamp per joint, where joints arrive in separate messages; each must be fresh, and `stamp_s` is
            then that of the gripper.
    """

    positions: Float64
    stamp_s: float
    velocities: Float64 | None = None
    gripper_positions: Float64 | None = None
    stamps_s: Float64 | None = None

    def __post_init__(self) -> None:
        for name in ("positions", "velocities", "gripper_positions", "stamps_s"):
            values = getattr(self, name)
            if values is not None:
                object.__setattr__(self, name, require_array(values, name=name, dimensions=1))
        object.__setattr__(self, "stamp_s", require_number(self.stamp_s, name="stamp_s"))


@dataclass(frozen=True, slots=True, eq=False)
class RunningMotion:
    """The motion that a chunk is to replace while it runs: what was accepted before, copied on the way in.

    Attributes:
        rows: Its joint positions, one row per step, as far apart as the gate's steps; the first is reached one step
            after `started_s`.
        started_s: When it started, on the clock that `now_s` is read from.
        start: Where it was commanded from, one per joint. Left out, a check before its first step is reached takes
            the measured state.
    """

    rows: Float64
    started_s: float = field(kw_only=True)
    start: Float64 | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        object.__setattr__(self, "rows", require_array(self.rows, name="rows", dimensions=2))
        object.__setattr__(self, "started_s", require_number(self.started_s, name="started_s"))
        if self.start is not None:
            object.__setattr__(self, "start", require_array(self.start, name="start", dimensions=1))


@dataclass(frozen=True, slots=True, eq=False)
class ActionChunk:
    """A chunk of motion: steps x width, copied on the way in so that what is checked is what is returned.

    Attributes:
        rows: Array with one row per step; what a step holds depends on `mode`.
        mode: Any number is taken, so that the gate can reject the ones it does not know.
        ee_name: Which end effector, for Cartesian and gripper modes; may be empty when the robot has one.
        frame_id: The axes Cartesian steps are written in: the base frame (also when empty) or the end effector's name.
        rskill_id: Who proposes it; copied to reports.
        trace_id: W3C traceparent; copied to reports.
    """

    rows: Float64
    mode: ControlMode | int = ControlMode.JOINT_POSITION
    ee_name: str = field(default="", kw_only=True)
    frame_id: str = field(default="", kw_only=True)
    rskill_id: str = field(default="", kw_only=True)
    trace_id: str = field(default="", kw_only=True)

    def __post_init__(self) -> None:
        object.__setattr__(self, "rows", require_array(self.rows, name="rows", dimensions=2))
        if isinstance(self.mode, bool) or not isinstance(self.mode, int) or not 0 <= self.mode <= 255:
            raise ROSConfigError(
                "mode must be a ControlMode, such as lg.ControlMode.JOINT_POSITION, "
                f"or a number from 0 to 255, got {self.mode!r}"
            )
        for name in ("ee_name", "frame_id", "rskill_id", "trace_id"):
            if not isinstance(getattr(self, name), str):
                raise ROSConfigError(f"{name} must be text, got {getattr(self, name)!r}")
        if self.mode in set(ControlMode):
            object.__setattr__(self, "mode", ControlMode(self.mode))
