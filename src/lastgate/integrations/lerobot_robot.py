# SPDX-License-Identifier: Apache-2.0
# Users of LeRobot install it themselves; nothing else of lastgate imports it.
# pyright: reportMissingImports=false, reportGeneralTypeIssues=false
"""A LeRobot robot whose actions are checked before they are sent, and a processor step that does the same."""

from dataclasses import dataclass
from typing import Any

from lerobot.processor import ProcessorStepRegistry, RobotActionProcessorStep, TransitionKey
from lerobot.robots.robot import Robot

from lastgate.contracts import ROSConfigError
from lastgate.integrations.named_actions import NamedActionGate
from lastgate.integrations.renamed import renamed_arguments, renamed_attribute


class GatedRobot(Robot):
    """Stands before another robot and is one itself: `send_action` sends what the gate accepts, as a copy, or nothing.

    The measured state is that of the latest `get_observation`. `gate.last_rejection` says why an action was not sent;
    the motors then keep the goal they have, which is what `send_action` returns.

    Args:
        robot: Any LeRobot robot with position actions.
        gate: Knows the names and units of its joints.
        raise_on_rejection: Raises `RejectedChunkError` instead.
    """

    @renamed_arguments(raise_on_refusal="raise_on_rejection")
    def __init__(self, robot: Robot, gate: NamedActionGate, *, raise_on_rejection: bool = False) -> None:
        # Not the base class's: calibration and its files belong to the robot that is wrapped.
        self.robot = robot
        self.gate = gate
        self._raise_on_rejection = raise_on_rejection
        self._sent: dict[str, Any] | None = None

    def __getattr__(self, name: str) -> Any:
        if name == "robot":
            raise AttributeError(name)
        return getattr(self.robot, name)

    def __str__(self) -> str:
        return f"gated {self.robot}"

    @property
    def name(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Name of the robot that is wrapped."""
        return self.robot.name

    @property
    def observation_features(self) -> dict:
        """Observation features of the robot that is wrapped."""
        return self.robot.observation_features

    @property
    def action_features(self) -> dict:
        """Action features of the robot that is wrapped."""
        return self.robot.action_features

    @property
    def is_connected(self) -> bool:
        """True if the robot that is wrapped is connected."""
        return self.robot.is_connected

    def connect(self, calibrate: bool = True) -> None:
        """Connects the robot that is wrapped."""
        self.robot.connect(calibrate)

    @property
    def is_calibrated(self) -> bool:
        """True if the robot that is wrapped is calibrated."""
        return self.robot.is_calibrated

    def calibrate(self) -> None:
        """Calibrates the robot that is wrapped."""
        self.robot.calibrate()

    def configure(self) -> None:
        """Configures the robot that is wrapped."""
        self.robot.configure()

    def get_observation(self) -> dict[str, Any]:
        """Returns the observation, and takes its positions as the measured state."""
        observation = self.robot.get_observation()
        self.gate.observe(observation)
        return observation

    def send_action(self, action: dict[str, Any]) -> dict[str, Any]:
        """Sends the action if it is accepted; returns what the motors are sent to.

        Raises:
            RejectedChunkError: It was rejected, and an exception was asked for.
        """
        rejection = self.gate.check(action)
        if rejection is None:
            sent = self.robot.send_action(dict(self.gate.checked_action or {}))
            self._sent = sent
            return sent
        if self._raise_on_rejection:
            raise rejection.raised()
        return dict(self._sent or self.gate.standing_still() or {})

    def disconnect(self) -> None:
        """Disconnects the robot that is wrapped."""
        self.robot.disconnect()


@ProcessorStepRegistry.register("lastgate_gate")
@dataclass
class GateStep(RobotActionProcessorStep):
    """A step for the end of a robot action pipeline: a rejected action becomes the one that stands still.

    The state is that of the transition's observation. `gate.last_rejection` says why an action did not pass.
    """

    gate: NamedActionGate | None = None
    raise_on_rejection: bool = False

    def action(self, action: Any) -> Any:
        """Returns a copy of the action that was accepted, or the one that stands still: nothing of a rejected one.

        Raises:
            ROSConfigError: There is no gate, or nothing was measured to stand still at.
            RejectedChunkError: It was rejected, and an exception was asked for.
        """
        if self.gate is None:
            raise ROSConfigError("a GateStep needs a gate: GateStep(gate=NamedActionGate(...))")
        observation = self.transition.get(TransitionKey.OBSERVATION) or {}
        self.gate.observe(observation)
        rejection = self.gate.check(action)
        if rejection is None:
            return dict(self.gate.checked_action or {})
        if self.raise_on_rejection:
            raise rejection.raised()
        still = self.gate.standing_still()
        if still is None:
            raise ROSConfigError(f"rejected ({rejection.code}), and nothing was measured to stand still at")
        return still

    def transform_features(self, features: Any) -> Any:
        """Changes none."""
        return features


# A dataclass writes its own `__init__`, and an annotation-free property is no field of it.
GateStep.__init__ = renamed_arguments(raise_on_refusal="raise_on_rejection")(GateStep.__init__)  # type: ignore[method-assign]
GateStep.raise_on_refusal = renamed_attribute("raise_on_refusal", "raise_on_rejection")  # type: ignore[attr-defined]
