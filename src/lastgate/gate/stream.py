# SPDX-License-Identifier: Apache-2.0
"""Steps one at a time: the answer of the full check, most of the time without its work."""

from collections.abc import Callable, Sequence

import numpy as np

from lastgate import _core
from lastgate.contracts import ControlMode, ROSConfigError
from lastgate.contracts.action import ActionChunk, RobotState
from lastgate.contracts.arrays import Float64, require_array, require_number
from lastgate.gate.naming import VerdictNames
from lastgate.gate.verdict import Verdict
from lastgate.world import NoWorld, World


class Stream:
    """Joint positions, one step at a time, made by `Gate.stream`.

    A step is accepted exactly when `Gate.check` accepts the chunk of that one step, with what was commanded last as
    the state: the last accepted step, or the measured state of `begin`, and the velocity of the last step. A rejected
    step leaves the robot where it was sent last; the next one starts there, at rest. What executes the steps begins
    anew with a measured state when the robot is elsewhere.

    It works in the memory of its gate: one thread at a time, as there.
    """

    def __init__(
        self,
        native: _core.Gate,
        *,
        names: VerdictNames,
        model_digest: str,
        n_dof: int,
        place: Callable[[World | NoWorld | None], World | NoWorld | None],
        read: Callable[[World | NoWorld | None], _core.WorldSnapshot | None],
        state: RobotState | None,
        mode: ControlMode,
    ) -> None:
        try:
            self._native = _core.Stream(native, control_mode=int(mode))
        except ValueError as error:
            raise ROSConfigError(str(error)) from None
        self._names = names
        self._model_digest = model_digest
        self._n_dof = n_dof
        self._place = place
        self._read = read
        self._mode = mode
        self._grippers: Float64 | None = None
        self._nothing = np.empty((0, n_dof))
        if state is not None:
            self.begin(state)

    def begin(self, state: RobotState) -> None:
        """Takes the measured state that the next step leads from; what was known of the last steps is forgotten.

        Raises:
            ROSConfigError: The state does not fit the robot.
        """
        if not isinstance(state, RobotState):
            raise ROSConfigError(f"state is a {type(state).__name__}, expected a RobotState")
        for name in ("positions", "velocities"):
            values = getattr(state, name)
            if values is not None and len(values) != self._n_dof:
                raise ROSConfigError(f"{name} has {len(values)} numbers, needs {self._n_dof}")
        self._grippers = state.gripper_positions
        self._native.begin(state.positions, velocities=state.velocities)

    def step(
        self,
        row: Float64,
        *,
        world: World | NoWorld | None,
        now_s: float,
        state_stamp_s: float,
        gripper_positions: Sequence[float] | Float64 | None = None,
    ) -> Verdict:
        """Decides about one step.

        Args:
            row: The step, one number per joint of `gate.joint_names`.
            world: What else is there, as for `Gate.check`; another one takes away what is known of the last one.
            now_s: The time, on the clock of the stamps.
            state_stamp_s: When the newest measured state was measured; too old rejects with `state_unavailable`.
            gripper_positions: As measured; those of the last step, or of `begin`, when left out.

        Raises:
            ROSConfigError: An argument of another type.
            ConcurrentUseError: Another thread is inside the gate.
        """
        row = require_array(row, name="row", dimensions=1)
        if gripper_positions is not None:
            self._grippers = require_array(gripper_positions, name="gripper_positions", dimensions=1)
        placed = self._place(world)
        native = self._native.step(
            row,
            gripper_positions=self._grippers,
            world=self._read(placed),
            state_stamp_s=require_number(state_stamp_s, name="state_stamp_s"),
            now_s=require_number(now_s, name="now_s"),
        )
        chunk = ActionChunk(row[np.newaxis], mode=self._mode)
        return Verdict(
            native=native,
            chunk=chunk,
            violation=None if native.accepted else self._names.violation(native, chunk=chunk, world=placed),
            joint_rows=chunk.rows if native.accepted else self._nothing,
            world_id="" if placed is None else placed.world_id,
            model_digest=self._model_digest,
        )

    @property
    def full_checks(self) -> int:
        """Number of steps that were answered by a full check."""
        return self._native.full_checks


__all__ = ["Stream"]
