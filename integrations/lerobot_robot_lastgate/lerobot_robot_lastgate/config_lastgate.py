# SPDX-License-Identifier: Apache-2.0
"""What `--robot.…` says."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import draccus
from lerobot.robots.config import RobotConfig

MODES = ("shadow", "gate")


@RobotConfig.register_subclass("lastgate")
@dataclass(kw_only=True)
class LastgateConfig(RobotConfig):
    """Names the robot behind the gate.

    Attributes:
        inner: The robot itself, as it was configured without the gate: `{type: so101_follower, port: /dev/ttyACM0}`.
            A mapping, because the parser follows a type that contains itself without end.
        mode: `shadow` checks and logs, and changes nothing; `gate` sends what is accepted and nothing else.
        manifest: Robot of lastgate's library, or path of a robot.yaml; the type of the inner robot if empty.
        setup: YAML with the world and what is mounted on links (README.md); without it, obstacles are not checked.
        rate_hz: Actions per second.
        shadow_log: New file for shadow mode; none is written if empty.
    """

    inner: dict[str, Any]
    mode: str = "shadow"
    manifest: str = ""
    setup: Path | None = None
    rate_hz: float = 30.0
    shadow_log: Path | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.mode not in MODES:
            raise ValueError(f"`mode` is {' or '.join(MODES)}: `{self.mode}`")
        if self.inner.get("type") in (None, "lastgate"):
            raise ValueError("`inner` is the robot behind the gate: `{type: so101_follower, …}`")
        if not 0.0 < self.rate_hz <= 1000.0:
            raise ValueError(f"`rate_hz` lies between 0 and 1000: `{self.rate_hz}`")

    @property
    def inner_config(self) -> RobotConfig:
        """The configuration of the inner robot, as LeRobot reads it."""
        return draccus.decode(RobotConfig, self.inner)
