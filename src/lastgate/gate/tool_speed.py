# SPDX-License-Identifier: Apache-2.0
"""How much too fast the tools are on a path: one number for the whole of it, where a verdict has the first offender's.

It tells a search how much time to add. Whether the result is slow enough is decided by the gate.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np

from lastgate import _core
from lastgate.contracts import RobotDescription
from lastgate.contracts.arrays import Float64

# A chord is shorter than the arc that the tool follows between two steps.
ARC_SHARE = 1.02


@dataclass(frozen=True, slots=True, eq=False)
class ToolLimits:
    """How far each tool may move and turn within a step.

    Attributes:
        tools: Index of the link, and the tool's place in it.
        move_m, turn: None where nothing is declared.
    """

    tools: tuple[tuple[int, Float64], ...]
    move_m: float | None
    turn: float | None

    @classmethod
    def of(cls, config: _core.KernelConfig, robot: RobotDescription) -> Self:
        """Returns the limits of a flat config."""
        speed, turn_rate = config.max_ee_speed_m_s, config.max_ee_angular_speed_rad_s
        return cls(
            tools=tuple(
                (config.link_names.index(effector.link), np.asarray(effector.tool_xyz_rpy[:3]))
                for effector in robot.end_effectors
            ),
            move_m=None if speed is None else speed * config.step_s,
            turn=None if turn_rate is None else turn_rate * config.step_s,
        )


def tool_excess(limits: ToolLimits, native: _core.Gate) -> float:
    """Returns by how much the fastest tool is too fast on the path of the gate's last check, at least 1."""
    frames = native.link_frames(native.path)
    excess = 1.0
    for link, place in limits.tools:
        turns, origins = frames[:, link, :, :3], frames[:, link, :, 3]
        if limits.move_m is not None:
            tool = turns @ place + origins
            moved_m = float(np.linalg.norm(tool[1:] - tool[:-1], axis=1).max())
            excess = max(excess, ARC_SHARE * moved_m / limits.move_m)
        if limits.turn is not None:
            cosine = (np.einsum("nij,nij->n", turns[1:], turns[:-1]) - 1.0) / 2.0
            turned = float(np.arccos(np.clip(cosine.min(), -1.0, 1.0)))
            excess = max(excess, ARC_SHARE * turned / limits.turn)
    return excess
