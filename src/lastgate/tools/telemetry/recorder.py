# SPDX-License-Identifier: Apache-2.0
"""The black box of a gate in this process."""

import threading
import time
from collections import deque
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self, Unpack

from lastgate.contracts import ROSConfigError
from lastgate.contracts.action import ActionChunk, RobotState
from lastgate.contracts.attached_shape import AttachedShape
from lastgate.gate import Gate
from lastgate.gate.declared_contact import DeclaredContact, contacts_of
from lastgate.gate.verdict import Verdict
from lastgate.tools.telemetry.checker import Circumstances
from lastgate.tools.telemetry.last_seconds import KEPT_MAX, LastSeconds
from lastgate.tools.telemetry.recording_file import RecordedInputs, RecordingFile, chunk_message
from lastgate.world import NoWorld, World

# No thread is woken for a check: waking costs more than the check.
_PERIOD_S = 0.05


@dataclass(frozen=True, slots=True)
class _Seen:
    """A check as it was; the thread that writes makes it into messages."""

    wall_ns: int
    duration_ns: int
    chunk: ActionChunk
    state: RobotState | None
    world: World | NoWorld | None
    now_s: float
    recovery: bool
    contacts: tuple[DeclaredContact, ...]
    held: tuple[tuple[int, AttachedShape], ...]
    verdict: Verdict


class Recorder:
    """Checks like its gate, and keeps every verdict with all that it depended on.

    What is written can be run again, bit for bit: `lastgate replay`. Writing happens in a thread of its own unless
    `in_background` is False; when that thread does not keep up, the oldest checks are left out and counted.

    Args:
        gate: Decides.
        path: The MCAP file. It is made when there is something to write.
        last_s: Write only when something is rejected, and then everything since so many seconds before it. None
            writes everything.
        in_background: False writes each check before the next may begin, and loses none.
        with_certificates: Writes down beside each accepted chunk why it is clear, where a certificate can say so; a
            second gate does that, after the verdict.

    Raises:
        ROSConfigError: `last_s` is not a positive number.
    """

    def __init__(
        self,
        gate: Gate,
        path: Path | str,
        *,
        last_s: float | None = None,
        in_background: bool = True,
        with_certificates: bool = False,
    ) -> None:
        self._last: LastSeconds[_Seen] = LastSeconds(last_s)
        self.gate = gate
        self.path = Path(path)
        # A gate belongs to one thread, and the thread that writes is another.
        self._certifier = Gate.from_flat_config(gate.robot, gate.flat_config) if with_certificates else None
        self._waiting: deque[_Seen] = deque(maxlen=KEPT_MAX)
        self._file: RecordingFile | None = None
        # Each is written by one thread only.
        self._seen = self._taken = 0
        self._failure: Exception | None = None
        self._ending = threading.Event()
        self._thread: threading.Thread | None = None
        if in_background:
            self._thread = threading.Thread(target=self._run, name="lastgate-recorder", daemon=True)
            self._thread.start()

    @property
    def lost(self) -> int:
        """Number of checks that were never written because writing did not keep up."""
        return max(self._seen - self._taken - len(self._waiting), 0)

    @property
    def written(self) -> int:
        """Number of checks in the file."""
        return 0 if self._file is None else self._file.checks

    @property
    def chain_head(self) -> str:
        """Last digest of the file's chain; empty before anything is written.

        Every verdict in the file is bound to its inputs and to the one before it. Keep this where the file is not:
        `lastgate replay F --head DIGEST` then also finds a file that was rewritten as a whole.
        """
        return "" if self._file is None else self._file.chain_head

    def check(self, chunk: ActionChunk, **told: Unpack[Circumstances]) -> Verdict:
        """Returns what `Gate.check` returns."""
        # An iterator is read once, here: the gate and the file must be told the same.
        contacts = contacts_of(told.get("declared_contacts", ()))
        told["declared_contacts"] = contacts
        # What the skill declares in a phase is written down like what the caller declares: a replay knows no skill.
        contacts += self.gate.contacts_in_phase(told.get("phase"), world=told["world"], now_s=told["now_s"])
        wall_ns, began = time.time_ns(), time.perf_counter_ns()
        verdict = self.gate.check(chunk, **told)
        duration_ns = time.perf_counter_ns() - began
        self._seen += 1
        seen = _Seen(
            wall_ns,
            duration_ns,
            chunk,
            told["state"],
            told["world"],
            float(told["now_s"]),
            told.get("recovery", False),
            contacts,
            self.gate.attached_shapes,
            verdict,
        )
        if self._thread is None:
            self._taken += 1
            self._take(seen)
        else:
            self._waiting.append(seen)
        return verdict

    def close(self) -> None:
        """Writes what is waiting and closes the file.

        Raises:
            ROSConfigError: Something could not be written; the first reason is given.
        """
        self._ending.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None
        if self._file is not None:
            self._file.close()
        if self._failure is not None:
            failure, self._failure = self._failure, None
            raise ROSConfigError(f"the recording `{self.path}` is not whole: {failure}")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _run(self) -> None:
        while True:
            ending = self._ending.wait(_PERIOD_S)
            while self._waiting:
                seen = self._waiting.popleft()
                self._taken += 1
                try:
                    self._take(seen)
                except Exception as error:  # a full disk must not stop the robot; `close` tells
                    self._failure = self._failure or error
                time.sleep(0)  # a check that wants to begin waits for one record at most
            if ending:
                return

    def _take(self, seen: _Seen) -> None:
        for due in self._last.due(seen):
            self._write(due)

    def _write(self, seen: _Seen) -> None:
        if self._file is None:
            self._file = RecordingFile(self.path, self.gate)
        verdict = seen.verdict
        violation = None if verdict.accepted else verdict.violations[0]
        self._file.write(
            RecordedInputs(
                wall_ns=seen.wall_ns,
                chunk=chunk_message(seen.chunk, stamp_s=seen.now_s),
                state=seen.state,
                world=seen.world,
                now_s=seen.now_s,
                recovery=seen.recovery,
                held=seen.held,
                contacts=seen.contacts,
                verdict=verdict.native,
                duration_ns=seen.duration_ns,
                code="" if violation is None else str(violation.code),
                sentence="" if violation is None else violation.sentence(),
                evidence_json="" if violation is None else violation.evidence().model_dump_json(),
                certificate=self._certificate(seen),
            )
        )

    def _certificate(self, seen: _Seen) -> bytes:
        if self._certifier is None or not seen.verdict.accepted or seen.contacts or seen.recovery:
            return b""
        try:
            if self._certifier.attached_shapes != seen.held:
                self._certifier.hold(seen.held)
            shown = self._certifier.certify(seen.chunk, state=seen.state, world=seen.world, now_s=seen.now_s)
        except ROSConfigError:  # accepted for reasons that a certificate cannot give
            return b""
        return shown.to_json().encode()
