# SPDX-License-Identifier: Apache-2.0
"""A robot as planners move it: configurations in, numbers for the core out."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from lastgate import _core
from lastgate.contracts import ControlMode, RobotDescription, ROSConfigError, SafetyEnvelope
from lastgate.contracts.arrays import Float64, require_array
from lastgate.gate.naming import name_indices
from lastgate.robots.kernel_config import flat_config, gripper_joint_names


class PlannedRobot:
    """A robot of joints alone: its margins are the planner's, and nothing else of its envelope counts."""

    def __init__(self, robot: RobotDescription, *, margin_m: float = 0.0) -> None:
        if not isinstance(robot, RobotDescription):
            raise ROSConfigError(
                f"robot is a {type(robot).__name__}, expected a RobotDescription: pass `lg.load_robot(...)`"
            )
        self.robot = robot
        bounds = SafetyEnvelope(self_collision_margin_m=margin_m, world_collision_margin_m=margin_m)
        plain = robot.model_copy(update={"safety": bounds, "control_modes": (ControlMode.JOINT_POSITION,)})
        text = flat_config(plain, step_s=1.0)
        try:
            self.config = _core.read_config(text)
        except ValueError as error:
            raise ROSConfigError(
                f"robot `{robot.name}` cannot be used: {name_indices(str(error), robot)}"
            ) from None
        in_gripper = gripper_joint_names(robot)
        joints = robot.actuated_joints
        self._columns = [index for index, joint in enumerate(joints) if joint.name not in in_gripper]
        self._fingers = [index for index, joint in enumerate(joints) if joint.name in in_gripper]
        self.joint_names = tuple(joints[index].name for index in self._columns)
        self.gripper_joint_names = tuple(joints[index].name for index in self._fingers)
        self.link_names = robot.link_names
        self._low, self._high = np.array(self.config.position_min), np.array(self.config.position_max)
        # Links that fixed joints hold together cannot move against each other.
        self.body_of_link = [0]
        for joint in robot.joints:
            parent = self.link_names.index(joint.parent_link)
            self.body_of_link.append(len(self.body_of_link) if joint.is_moving else self.body_of_link[parent])

    @property
    def n_dof(self) -> int:
        """Number of columns of a configuration."""
        return len(self.joint_names)

    def configurations(self, values: Any, *, name: str = "configurations") -> tuple[Float64, bool]:
        """Returns (N, n_dof) and whether there was only one; what is outside the limits is refused by name.

        Raises:
            ROSConfigError: Not float64, not contiguous, another shape, not finite, or outside a joint's limits.
        """
        single = np.ndim(values) == 1
        if single:
            rows = require_array(values, name=name, dimensions=1)[np.newaxis]
        else:
            rows = require_array(values, name=name, dimensions=2)
        if rows.shape[1] != self.n_dof:
            raise ROSConfigError(
                f"{name} has {rows.shape[1]} columns, this robot has {self.n_dof} joints: "
                f"{', '.join(self.joint_names)}"
            )
        inside = (rows >= self._low[self._columns]) & (rows <= self._high[self._columns])
        if not inside.all():
            row, column = (int(at) for at in np.argwhere(~inside)[0])
            low, high = (float(limit[self._columns[column]]) for limit in (self._low, self._high))
            raise ROSConfigError(
                f"{name}[{row}] has {float(rows[row, column])!r} for joint `{self.joint_names[column]}`: "
                f"its limits are {low!r} and {high!r}, and motion bounds hold inside them"
            )
        return rows, single

    def draw(self, count: int, rng: np.random.Generator) -> Float64:
        """Returns every variable, fingers too, of random configurations inside the limits."""
        return rng.uniform(self._low, self._high, (count, len(self._low)))

    def middle(self) -> Float64:
        """Returns the configuration in the middle of all limits."""
        return np.ascontiguousarray(0.5 * (self._low + self._high)[self._columns])

    def grippers(self, positions: Sequence[float] | Float64 | None) -> Float64 | None:
        """Returns the positions of the joints that steps do not command; None leaves them anywhere in their range."""
        if positions is None:
            return None
        found = require_array(positions, name="gripper_positions", dimensions=1)
        if len(found) != len(self._fingers):
            raise ROSConfigError(
                f"gripper_positions has {len(found)} numbers, this robot has {len(self._fingers)} such joints"
            )
        inside = (found >= self._low[self._fingers]) & (found <= self._high[self._fingers])
        if not inside.all():
            raise ROSConfigError(
                f"gripper_positions is {found.tolist()}: outside the limits of "
                f"`{self.gripper_joint_names[int(np.argmin(inside))]}`"
            )
        return found

    def variables(self, rows: Float64, grippers: Float64 | None) -> tuple[Float64, Float64]:
        """Returns every variable of every configuration, and by how much each may be off."""
        count = len(self._low)
        everything = np.empty((len(rows), count))
        uncertainty = np.zeros(count)
        everything[:, self._columns] = rows
        if grippers is None:
            everything[:, self._fingers] = 0.5 * (self._low + self._high)[self._fingers]
            uncertainty[self._fingers] = 0.5 * (self._high - self._low)[self._fingers]
        else:
            everything[:, self._fingers] = grippers
        return everything, uncertainty
