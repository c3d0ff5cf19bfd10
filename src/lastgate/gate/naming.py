# SPDX-License-Identifier: Apache-2.0
"""Turns the indices of a native violation into the names the user wrote; the rules are in `kernel/naming.cpp`."""

import re
from collections.abc import Mapping

from lastgate import _core
from lastgate.contracts import RobotDescription
from lastgate.contracts.action import ActionChunk
from lastgate.gate.verdict import Violation
from lastgate.world import NoWorld, World

_INDEXED = re.compile(r"^(link|degree of freedom|volume|end effector|allowed pair) (\d+): ")


def name_indices(message: str, robot: RobotDescription) -> str:
    """Returns a violation of the core with the name of the joint, link or end effector it counts."""
    found = _INDEXED.match(message)
    if found is None:
        return message
    what, index, why = found[1], int(found[2]), message[found.end() :]
    match what:
        case "link":
            above = robot.joints[index - 1].name if index > 0 else ""
            return f"link `{robot.link_names[index]}` (joint `{above}`): {why}" if above else message
        case "degree of freedom":
            return f"joint `{robot.actuated_joints[index].name}`: {why}"
        case "volume":
            return f"link `{robot.collision_geometry[index].link_name}`: its volume {why}"
        case "end effector":
            return f"end effector `{robot.end_effectors[index].name}`: {why}"
    pair = robot.unchecked_pairs[index]
    return f"allowed pair `{pair.link_a}` / `{pair.link_b}`: {why}"


class VerdictNames:
    """Names what a verdict of one gate is about.

    Args:
        config: The robot.
        attachments: Numbers of the attached objects, by name; looked up anew for every violation.
    """

    def __init__(self, *, config: _core.KernelConfig, attachments: Mapping[str, int]) -> None:
        self._native = _core.VerdictNamer(config)
        self._attachments = attachments

    def violation(
        self, native: _core.Verdict, *, chunk: ActionChunk, world: World | NoWorld | None
    ) -> Violation:
        """Returns the violation of a rejected verdict with names instead of indices."""
        return Violation.of(
            self._native.violation(
                native,
                rows=chunk.rows,
                control_mode=int(chunk.mode),
                ee_name=chunk.ee_name,
                frame_id=chunk.frame_id,
                world=None if world is None else world.names,
                attached=list(self._attachments.items()),
            )
        )
