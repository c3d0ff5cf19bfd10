# SPDX-License-Identifier: Apache-2.0
"""What decides like a gate: a gate, or something around one."""

from collections.abc import Sequence
from typing import NotRequired, Protocol, TypedDict, Unpack

from lastgate.contracts.action import ActionChunk, RobotState
from lastgate.gate.declared_contact import DeclaredContact
from lastgate.gate.verdict import Verdict
from lastgate.world import NoWorld, World


class Circumstances(TypedDict):
    """The arguments of `Gate.check` beside the chunk, by their names."""

    state: RobotState | None
    world: World | NoWorld | None
    now_s: float
    recovery: NotRequired[bool]
    declared_contacts: NotRequired[Sequence[DeclaredContact]]
    phase: NotRequired[str | None]


class Checker(Protocol):
    """Decides about chunks; `Gate`, `Recorder` and `SpanRecorder` do, so that one can stand around another."""

    def check(self, chunk: ActionChunk, **told: Unpack[Circumstances]) -> Verdict:
        """Returns the verdict of the gate inside."""
        ...
