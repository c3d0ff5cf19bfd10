# SPDX-License-Identifier: Apache-2.0
"""The robot that LeRobot makes of `--robot.type=lastgate`."""

import logging
import time
from collections import Counter
from typing import Any

from lerobot.robots.utils import make_robot_from_config

import lastgate as lg
from lastgate.integrations.lerobot_robot import GatedRobot
from lastgate.integrations.named_actions import NamedActionGate
from lastgate.integrations.shadow import Shadow
from lerobot_robot_lastgate.config_lastgate import LastgateConfig
from lerobot_robot_lastgate.setup_file import Setup, load_setup
from lerobot_robot_lastgate.units import units_of

_log = logging.getLogger("lastgate")


class Lastgate(GatedRobot):
    """Stands before the inner robot; in shadow mode it watches, in gate mode it decides.

    Raises:
        ROSConfigError: The inner robot's actions are not the joints of the manifest, or the setup cannot be used.
    """

    config_class = LastgateConfig
    name = "lastgate"  # pyright: ignore[reportAssignmentType]

    def __init__(self, config: LastgateConfig) -> None:
        self.config = config
        self.setup: Setup = load_setup(config.setup)
        self.checked = lg.Gate(
            lg.load_robot(config.manifest or str(config.inner["type"])), step_s=1.0 / config.rate_hz
        )
        for held in self.setup.attached:
            self.checked.attach(
                held.link,
                held.shape,
                object_id=held.object_id,
                origin_xyz_rpy=held.origin_xyz_rpy,
                touch_links=held.touch_links,
            )
        self.would_have_rejected: Counter[str] = Counter()
        self.actions = 0
        self._shadow: Shadow | None = None
        robot = make_robot_from_config(config.inner_config)
        _require_joints(robot, self.checked, self.setup)
        # Units may need a calibration, which a robot has at the latest when it is connected.
        super().__init__(robot, None)  # pyright: ignore[reportArgumentType]

    def __str__(self) -> str:
        return f"{self.robot} behind lastgate ({self.config.mode})"

    def connect(self, calibrate: bool = True) -> None:
        """Connects the inner robot, and reads its units."""
        self.robot.connect(calibrate)
        self.gate = NamedActionGate(
            self.checked,
            units=units_of(self.robot, self.checked, self.setup.units),
            world=self._world,
            unchecked_keys=self.setup.unchecked_keys,
        )
        if self.config.shadow_log is not None and self.config.mode == "shadow":
            self._shadow = Shadow(self.checked, self.config.shadow_log)
        if self.setup.world is None:
            _log.warning("no world was given (`--robot.setup`): obstacles are NOT checked")
        _log.info("%s", self)

    def _world(self) -> lg.World | lg.NoWorld:
        if self.setup.world is None:
            return lg.NO_WORLD
        return lg.World(
            primitives=self.setup.world, stamp_s=time.monotonic()
        )  # what stands around the robot stands still

    def send_action(self, action: dict[str, Any]) -> dict[str, Any]:
        """Sends every action in shadow mode, accepted ones in gate mode; returns what the motors are sent to."""
        if self.config.mode == "gate":
            return super().send_action(action)
        try:
            self._watch(action)
        except Exception:  # a shadow never stops the loop that it watches
            self.would_have_rejected["could not be checked"] += 1
            _log.exception("an action could not be checked")
        return self.robot.send_action(action)

    def _watch(self, action: dict[str, Any]) -> None:
        self.actions += 1
        rejection = self.gate.check(action)
        if rejection is not None:
            self.would_have_rejected[rejection.code] += 1
            if self.would_have_rejected[rejection.code] == 1:
                _log.warning("would have been rejected: %s", rejection.sentence)
        if self._shadow is not None:
            row = self.gate.row_of(action)
            self._shadow.observe(row, state=self.gate.state, world=self._world(), now_s=time.monotonic())

    def disconnect(self) -> None:
        """Disconnects the inner robot, and says what a gate would have done."""
        self.robot.disconnect()
        if self._shadow is not None:
            self._shadow.close()
        if self.config.mode == "shadow":
            total = sum(self.would_have_rejected.values())
            each = ", ".join(f"{code} {count}" for code, count in self.would_have_rejected.most_common())
            _log.warning(
                "shadow: %d of %d actions would have been rejected%s",
                total,
                self.actions,
                f": {each}" if each else "",
            )


def _require_joints(robot: Any, gate: lg.Gate, setup: Setup) -> None:
    """Refuses a robot whose actions are not the positions of the manifest's joints."""
    wanted = {f"{name}.pos" for name in gate.joint_names}
    given = set(robot.action_features)
    strange = sorted(given - wanted - set(setup.unchecked_keys))
    if wanted - given or strange:
        raise lg.ROSConfigError(
            f"`{robot.name}` takes {', '.join(sorted(given))}; robot `{gate.robot.name}` of lastgate has "
            f"{', '.join(sorted(wanted))}\n\n"
            "hint: `--robot.manifest=` names the robot or a robot.yaml; `unchecked_keys` of the setup lets a key pass"
        )
