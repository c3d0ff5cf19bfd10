# SPDX-License-Identifier: Apache-2.0
"""Shadow mode: everything is checked and recorded, nothing is blocked, and what goes in comes out, byte for byte."""

from pathlib import Path
from typing import TypeVar

import numpy as np

from lastgate.contracts import ControlMode, ROSConfigError
from lastgate.contracts.action import ActionChunk, RobotState
from lastgate.gate import Gate
from lastgate.gate.verdict import Verdict
from lastgate.integrations.plain_numbers import plain_array
from lastgate.integrations.shadow_log import check_line, head_line, world_line
from lastgate.world import NoWorld, World

Action = TypeVar("Action")


class Shadow:
    """Watches a loop without taking part in it.

    Whatever goes wrong in here (an action of the wrong shape, a full disk) is counted and never reaches the loop.

    Args:
        gate: Decides what would have been rejected.
        log: A new file; `lastgate shadow` reads it.

    Attributes:
        checked: Proposals that the gate decided about.
        would_have_refused: How many of them it would not have let through.
        undecided: Proposals that it could not be asked about.
        lost_lines: Lines that could not be written.

    Raises:
        ROSConfigError: The file exists, or cannot be written.
    """

    def __init__(self, gate: Gate, log: Path | str) -> None:
        self._gate = gate
        self.checked = 0
        self.would_have_refused = 0
        self.undecided = 0
        self.lost_lines = 0
        self._worlds = 0
        self._latest_world: World | None = None
        try:
            self._file = Path(log).open("x", encoding="utf-8")  # noqa: SIM115 -- open as long as the shadow
        except OSError as error:
            raise ROSConfigError(f"cannot begin the log `{log}`: {error.strerror}") from None
        self._write(head_line(robot=gate.robot.name, step_s=gate.step_s, model_digest=gate.model_digest))

    def observe(
        self,
        action: Action,
        *,
        state: RobotState | None,
        world: World | NoWorld | None,
        now_s: float,
        mode: ControlMode = ControlMode.JOINT_POSITION,
    ) -> Action:
        """Checks and records an action, and returns the very object that was passed.

        Args:
            action: An `ActionChunk`, or steps (one step counts as a chunk of one) of any number type.
        """
        chunk: ActionChunk | None = None
        verdict: Verdict | None = None
        trouble = ""
        try:
            chunk = action if isinstance(action, ActionChunk) else _chunk_of(action, mode)
            verdict = self._gate.check(chunk, state=state, world=world, now_s=now_s)
        except Exception as error:  # nothing in here may stop the loop that is watched
            trouble = f"{type(error).__name__}: {error}"
        if verdict is None:
            self.undecided += 1
        else:
            self.checked += 1
            self.would_have_refused += not verdict.accepted
        try:
            named = self._name_world(world)
            usable = state if isinstance(state, RobotState) else None
            self._write(check_line(chunk, usable, named, now_s, verdict=verdict, trouble=trouble))
        except (TypeError, ValueError):
            self.lost_lines += 1
        return action

    def close(self) -> None:
        """Ends the log."""
        try:
            self._file.close()
        except OSError:
            self.lost_lines += 1

    def __enter__(self) -> "Shadow":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _name_world(self, world: World | NoWorld | None) -> int | str | None:
        if not isinstance(world, World):
            return "none" if isinstance(world, NoWorld) else None
        if world is not self._latest_world:
            self._latest_world = world
            self._worlds += 1
            self._write(world_line(world, self._worlds))
        return self._worlds

    def _write(self, line: str) -> None:
        try:
            self._file.write(line + "\n")
            self._file.flush()
        except (OSError, ValueError):
            self.lost_lines += 1


def _chunk_of(action: object, mode: ControlMode) -> ActionChunk:
    rows = plain_array(action, name="the action").astype(np.float64)
    return ActionChunk(np.atleast_2d(rows), mode=mode)
