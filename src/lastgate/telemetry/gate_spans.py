# SPDX-License-Identifier: Apache-2.0
"""Spans from a gate in this process."""

import time
from collections.abc import Sequence

from lastgate.action import ActionChunk, RobotState
from lastgate.declared_contact import DeclaredContact
from lastgate.telemetry.check_span import CheckedChunk
from lastgate.telemetry.checker import Checker
from lastgate.telemetry.span_sender import SpanSender
from lastgate.verdict import Verdict
from lastgate.world import NoWorld, World


class SpanRecorder:
    """Checks like its gate, and tells a sender about every verdict.

    Args:
        gate: Decides; a gate, or a `Recorder` around one.
        sender: Gets one span per check, after the verdict is there.
    """

    def __init__(self, gate: Checker, sender: SpanSender) -> None:
        self.gate = gate
        self._sender = sender

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
        """Returns what `Gate.check` returns."""
        begun_ns, began = time.time_ns(), time.perf_counter_ns()
        verdict = self.gate.check(
            chunk,
            state=state,
            world=world,
            now_s=now_s,
            recovery=recovery,
            declared_contacts=declared_contacts,
        )
        duration_ns = time.perf_counter_ns() - began
        violation = None if verdict.accepted else verdict.violations[0]
        self._sender.put(
            CheckedChunk(
                begun_ns=begun_ns,
                duration_ns=duration_ns,
                verdict=verdict.native,
                traceparent=chunk.trace_id,
                rskill_id=chunk.rskill_id,
                evidence=None if violation is None else violation.evidence(),
                sentence="" if violation is None else violation.sentence(),
            )
        )
        return verdict
