# SPDX-License-Identifier: Apache-2.0
"""What decides like a gate: a gate, or something around one."""

from collections.abc import Sequence
from typing import Protocol

from lastgate.action import ActionChunk, RobotState
from lastgate.declared_contact import DeclaredContact
from lastgate.verdict import Verdict
from lastgate.world import NoWorld, World


class Checker(Protocol):
    """Decides about chunks; `Gate`, `Recorder` and `SpanRecorder` do, so that one can stand around another."""

    def check(
        self,
        chunk: ActionChunk,
        *,
        state: RobotState | None,
        world: World | NoWorld | None,
        now_s: float,
        recovery: bool = False,
        declared_contacts: Sequence[DeclaredContact] = (),
    ) -> Verdict:
        """Returns the verdict of the gate inside."""
        ...
