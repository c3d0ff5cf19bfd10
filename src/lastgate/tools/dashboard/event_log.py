# SPDX-License-Identifier: Apache-2.0
"""The event log: what was rejected or stopped, in order. An entry, once written, is never changed or dropped."""

import threading
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, Literal

# A rejection every second for almost three hours. Beyond that violations are counted, not listed: the event log keeps
# what happened first, and a flood cannot push it out.
ENTRIES_MAX = 10_000
# Every program on the machine may send spans, so they have room of their own and cannot take the kernel's.
SPAN_ENTRIES_MAX = 2_000
# Pictures are drawn when a browser asks, from inputs that are kept: about 100 kB each with a table of obstacles.
PICTURES_MAX = 256
SENTENCE_CHARACTERS_MAX = 600
EVIDENCE_CHARACTERS_MAX = 4096
NAME_CHARACTERS_MAX = 200

Source = Literal["kernel", "demo", "span"]
Picture = Callable[[], bytes]


@dataclass(frozen=True, slots=True, kw_only=True)
class EventLogEntry:
    """One rejection or one stop.

    Attributes:
        number: From 1, without gaps.
        time_s: Wall clock.
        source: Who says so: a kernel that is watched, the demo, or a span that another program sent.
        code: The word of `lastgate explain`, or `stop` for a stop that no chunk caused.
        evidence: JSON text, as it is reported.
    """

    number: int
    time_s: float
    source: Source
    code: str
    sentence: str
    rskill_id: str
    trace_id: str
    evidence: str
    has_picture: bool

    def as_json(self) -> dict[str, Any]:
        """Returns the entry as the page is sent it."""
        return asdict(self)


class EventLog:
    """Keeps entries in the order they came; safe to use from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._entries: list[EventLogEntry] = []
        self._pictures: dict[int, Picture] = {}
        self._from_spans = 0
        self._not_listed = 0

    def add(
        self,
        *,
        time_s: float,
        source: Source,
        code: str,
        sentence: str,
        rskill_id: str = "",
        trace_id: str = "",
        evidence: str = "",
        picture: Picture | None = None,
    ) -> None:
        """Writes an entry down, or counts it when there is no room left."""
        with self._lock:
            is_span = source == "span"
            listed = len(self._entries) - self._from_spans
            if self._from_spans >= SPAN_ENTRIES_MAX if is_span else listed >= ENTRIES_MAX:
                self._not_listed += 1
                return
            self._from_spans += is_span
            number = len(self._entries) + 1
            keeps = picture is not None and len(self._pictures) < PICTURES_MAX
            if picture is not None and keeps:
                self._pictures[number] = picture
            self._entries.append(
                EventLogEntry(
                    number=number,
                    time_s=time_s,
                    source=source,
                    code=code[:NAME_CHARACTERS_MAX],
                    sentence=sentence[:SENTENCE_CHARACTERS_MAX],
                    rskill_id=rskill_id[:NAME_CHARACTERS_MAX],
                    trace_id=trace_id[:NAME_CHARACTERS_MAX],
                    evidence=evidence[:EVIDENCE_CHARACTERS_MAX],
                    has_picture=keeps,
                )
            )

    def after(self, number: int, *, most: int = ENTRIES_MAX + SPAN_ENTRIES_MAX) -> list[EventLogEntry]:
        """Returns up to `most` entries whose numbers are larger."""
        with self._lock:
            return self._entries[max(number, 0) : max(number, 0) + most]

    def picture(self, number: int) -> Picture | None:
        """Returns what draws the picture of an entry; None where there is none."""
        with self._lock:
            return self._pictures.get(number)

    @property
    def not_listed(self) -> int:
        """Number of entries that came after the event log was full."""
        return self._not_listed

    def __len__(self) -> int:
        return len(self._entries)
