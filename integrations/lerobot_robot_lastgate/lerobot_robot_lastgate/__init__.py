# SPDX-License-Identifier: Apache-2.0
"""`--robot.type=lastgate`: the gate in front of any robot that LeRobot knows."""

from lerobot_robot_lastgate.config_lastgate import LastgateConfig
from lerobot_robot_lastgate.lastgate import Lastgate

__all__ = ["Lastgate", "LastgateConfig"]
