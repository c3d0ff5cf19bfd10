# SPDX-License-Identifier: Apache-2.0
"""A Gymnasium wrapper: actions are checked before the environment sees them."""

from collections.abc import Callable
from typing import Any, Generic, TypeVar

import gymnasium
import numpy as np

from lastgate.action import ActionChunk, RobotState
from lastgate.adapters.refusal import Refusal
from lastgate.contracts import ControlMode, ROSConfigError
from lastgate.gate import Gate, require_gate
from lastgate.world import NoWorld, World

Observation = TypeVar("Observation")

# What the environment is given instead of a refused action: decided by whoever knows what standing still is.
Fallback = Callable[[Any, RobotState], Any]


class GatedEnv(gymnasium.Wrapper, Generic[Observation]):
    """Checks each action; a refused one never reaches the environment.

    `info["refusal"]` is the `Refusal` of this step, or None; `info["gate_refusals"]` counts those of the episode. The
    action that the environment gets is the one that was checked, unchanged.

    Args:
        env: Its actions are rows of one of the gate's control modes.
        gate: Its `step_s` is the time of one step of the environment.
        state_of: Reads the measured state from the environment and the latest observation.
        world: The obstacles, or a function that is asked at every step.
        mode: What a row means.
        hold: Makes the action for a step whose own was refused. Without it the measured positions are the action, which
            holds still in position modes; velocity modes get zeros; other modes need one.
        raise_on_refusal: Raises `RejectedChunkError` instead.

    Raises:
        ROSConfigError: Actions are not rows of the gate's width, or nobody says how to hold still in this mode.
    """

    def __init__(
        self,
        env: gymnasium.Env,
        gate: Gate,
        *,
        state_of: Callable[[gymnasium.Env, Any], RobotState],
        world: World | NoWorld | Callable[[gymnasium.Env], World | NoWorld],
        mode: ControlMode = ControlMode.JOINT_POSITION,
        hold: Fallback | None = None,
        raise_on_refusal: bool = False,
    ) -> None:
        super().__init__(env)
        require_gate(gate)
        space = env.action_space
        if not isinstance(space, gymnasium.spaces.Box) or len(space.shape) != 1:
            raise ROSConfigError(f"actions are {space}, the gate reads rows of numbers")
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
        self._raise_on_refusal = raise_on_refusal
        self._observation: Any = None
        self.refusals = 0
        self._steps = 0

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Resets the environment and the count of refusals."""
        self._observation, info = self.env.reset(seed=seed, options=options)
        self.refusals = self._steps = 0
        return self._observation, {**info, "refusal": None, "gate_refusals": 0}

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        """Steps with the action if it is accepted, else with the one that stands still.

        Raises:
            RejectedChunkError: The action was refused, and an exception was asked for.
            ResetNeeded: Nothing was observed yet.
            ROSConfigError: `state_of` gives no state, or the action was refused and nothing was measured to stand
                still at.
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
        row = np.array(action, dtype=np.float64).reshape(1, -1)
        world = self._world(self.env) if callable(self._world) else self._world
        # The state was read just now, so its stamp is the time.
        verdict = self._gate.check(
            ActionChunk(row, mode=self._mode), state=state, world=world, now_s=state.stamp_s
        )
        refusal = None
        if not verdict.accepted:
            self.refusals += 1
            refusal = Refusal(number=self._steps, now_s=state.stamp_s, verdict=verdict)
            if self._raise_on_refusal:
                raise refusal.raised()
            action = self._hold(action, state)
        self._observation, reward, terminated, truncated, info = self.env.step(action)
        info = {**info, "refusal": refusal, "gate_refusals": self.refusals}
        return self._observation, reward, terminated, truncated, info

    def _stand(self, action: Any, state: RobotState) -> Any:
        space = self.env.action_space
        still = state.positions if self._mode in _POSITION_MODES else np.zeros(self._gate.n_dof)
        if still is None:
            raise ROSConfigError("refused, and `state_of` gives no positions to stand still at")
        return still.astype(space.dtype)


_POSITION_MODES = (ControlMode.JOINT_POSITION, ControlMode.JOINT_TRAJECTORY, ControlMode.DEX_HAND_JOINT)
# A torque of nothing lets an arm fall, so torques are not among those that stand by themselves.
_JOINT_MODES = (*_POSITION_MODES, ControlMode.JOINT_VELOCITY)
