# SPDX-License-Identifier: Apache-2.0
"""A Gymnasium wrapper: actions are checked before the environment sees them."""

from collections.abc import Callable
from typing import Any, Generic, TypeVar

import gymnasium
import numpy as np
from numpy.typing import NDArray

from lastgate.contracts import ControlMode, ROSConfigError
from lastgate.contracts.action import ActionChunk, RobotState
from lastgate.gate import Gate, require_gate
from lastgate.integrations.plain_numbers import plain_array
from lastgate.integrations.rejection import Rejection
from lastgate.integrations.renamed import renamed_arguments, renamed_attribute
from lastgate.world import NoWorld, World

Observation = TypeVar("Observation")

# What the environment is given instead of a rejected action: the caller knows what standing still is.
Fallback = Callable[[Any, RobotState], Any]


class GatedEnv(gymnasium.Wrapper, Generic[Observation]):
    """Checks each action; a rejected one never reaches the environment.

    `info["refusal"]` is the `Rejection` of this step, or None; `info["gate_refusals"]` counts those of the episode. The
    action that the environment gets is the copy that was checked, in the type of its action space.

    Args:
        env: Its actions are steps of one of the gate's control modes.
        gate: Its `step_s` is the time of one step of the environment.
        state_of: Reads the measured state from the environment and the latest observation.
        world: The obstacles, or a function that is asked at every step.
        mode: What a step means.
        hold: Makes the action for a step whose own was rejected; it must be finite. Without it the measured positions
            are the action, which holds still in position modes (after a state with anything missing or not finite: what
            was last sent); velocity modes get zeros; other modes need one.
        raise_on_rejection: Raises `RejectedChunkError` instead.

    Raises:
        ROSConfigError: Actions are not steps of the gate's width, or no way to hold still is given for this mode.
    """

    refusals = renamed_attribute("refusals", "rejections")

    @renamed_arguments(raise_on_refusal="raise_on_rejection")
    def __init__(
        self,
        env: gymnasium.Env,
        gate: Gate,
        *,
        state_of: Callable[[gymnasium.Env, Any], RobotState],
        world: World | NoWorld | Callable[[gymnasium.Env], World | NoWorld],
        mode: ControlMode = ControlMode.JOINT_POSITION,
        hold: Fallback | None = None,
        raise_on_rejection: bool = False,
    ) -> None:
        super().__init__(env)
        require_gate(gate)
        space = env.action_space
        if not isinstance(space, gymnasium.spaces.Box) or len(space.shape) != 1:
            raise ROSConfigError(f"actions are {space}, the gate reads one number per column of a step")
        if mode in _JOINT_MODES and space.shape[0] != gate.n_dof:
            raise ROSConfigError(
                f"actions are {space.shape[0]} wide, {mode.name} of robot `{gate.robot.name}` needs {gate.n_dof}"
            )
        if hold is None and mode not in _JOINT_MODES:
            raise ROSConfigError(f"say with `hold` how this environment stands still in {mode.name}")
        self._gate = gate
        self._state_of = state_of
        self._world = world
        self._mode = mode
        self._hold = hold or self._stand
        self._raise_on_rejection = raise_on_rejection
        self._observation: Any = None
        self._last_sent: NDArray[Any] | None = None
        self.rejections = 0
        self._steps = 0

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Resets the environment and the count of rejections."""
        self._observation, info = self.env.reset(seed=seed, options=options)
        self.rejections = self._steps = 0
        self._last_sent = None
        return self._observation, {**info, "refusal": None, "gate_refusals": 0}

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        """Steps with the action if it is accepted, else with the one that stands still.

        Raises:
            RejectedChunkError: The action was rejected, and an exception was asked for.
            ResetNeeded: Nothing was observed yet.
            ROSConfigError: `state_of` gives no state; the action is no array of real numbers; or it was rejected and
                nothing finite was measured, or sent before, to stand still at.
        """
        if self._observation is None:
            raise gymnasium.error.ResetNeeded("call reset() first: nothing was observed to start from")
        self._steps += 1
        state = self._state_of(self.env, self._observation)
        if not isinstance(state, RobotState):
            raise ROSConfigError(
                f"state_of returned a {type(state).__name__}, expected a RobotState: "
                "return lastgate.RobotState(positions=..., stamp_s=...)"
            )
        checked = self._row_of(action, name="action")
        world = self._world(self.env) if callable(self._world) else self._world
        # The state was read just now, so its stamp is the time.
        chunk = ActionChunk(checked.astype(np.float64)[np.newaxis], mode=self._mode)
        verdict = self._gate.check(chunk, state=state, world=world, now_s=state.stamp_s)
        rejection = None
        if not verdict.accepted:
            self.rejections += 1
            rejection = Rejection(number=self._steps, now_s=state.stamp_s, verdict=verdict)
            if self._raise_on_rejection:
                raise rejection.raised()
            checked = self._row_of(self._hold(action, state), name="what `hold` returned")
            if not np.isfinite(checked).all():
                raise ROSConfigError(f"rejected ({rejection.code}), and what `hold` returned is not finite")
        self._last_sent = checked.copy()
        self._observation, reward, terminated, truncated, info = self.env.step(checked)
        info = {**info, "refusal": rejection, "gate_refusals": self.rejections}
        return self._observation, reward, terminated, truncated, info

    def _row_of(self, action: Any, *, name: str) -> NDArray[Any]:
        """Returns a copy in the type of the action space: what is checked, and what the environment gets."""
        space = self.env.action_space
        values = plain_array(action, name=name, shape=space.shape)
        if not np.can_cast(values.dtype, np.dtype(space.dtype), casting="same_kind"):
            raise ROSConfigError(f"{name} is {values.dtype}, the environment takes {space.dtype}")
        with np.errstate(over="ignore"):  # what is too large for the type is infinite, and rejected
            return values.astype(space.dtype)

    def _stand(self, action: Any, state: RobotState) -> Any:
        if self._mode not in _POSITION_MODES:
            return np.zeros(self._gate.n_dof)
        for still in (state.positions, self._last_sent):
            if still is not None and len(still) == self._gate.n_dof and np.isfinite(still).all():
                return still
        raise ROSConfigError(
            "rejected, and `state_of` gives no positions to stand still at, and nothing was sent"
        )


_POSITION_MODES = (ControlMode.JOINT_POSITION, ControlMode.JOINT_TRAJECTORY, ControlMode.DEX_HAND_JOINT)
# A torque of nothing lets an arm fall, so torques are not among those that stand by themselves.
_JOINT_MODES = (*_POSITION_MODES, ControlMode.JOINT_VELOCITY)
