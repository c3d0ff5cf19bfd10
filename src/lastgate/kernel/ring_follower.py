# SPDX-License-Identifier: Apache-2.0
"""Follows the ring buffers that a kernel writes. Reading never delays the kernel; a slow reader loses messages."""

from collections import OrderedDict
from dataclasses import dataclass
from typing import Literal

import numpy as np

from lastgate import _core
from lastgate.contracts.action import ActionChunk
from lastgate.kernel.process import no_such_kernel

# Messages that are remembered until the caller asks for them; a channel's ring holds fewer at any time.
_REMEMBERED_MAX = 256
# The longest ring; a writer that floods a ring cannot keep one reader going for ever.
_MESSAGES_PER_READ = 1024

# Where to begin: with the next message, the newest that is there already, or the oldest that is not overwritten.
Start = Literal["next", "newest", "oldest"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RingMessage:
    """One message of a ring.

    Attributes:
        sequence: Its number in the ring.
        kind: Which message it is.
        written_s: When it was written.
    """

    sequence: int
    kind: _core.MessageType
    written_s: float
    payload: bytes


def open_ring(instance: str, ring: str, *, start: Start = "next") -> _core.RingReader:
    """Opens a ring of a running kernel.

    Raises:
        ROSConfigError: There is no such kernel.
    """
    try:
        reader = _core.RingReader(instance, ring, start == "newest")
    except (RuntimeError, ValueError) as error:
        raise no_such_kernel(instance, error) from None
    if start == "oldest":
        reader.rewind()
    return reader


def open_channels(instance: str, kind: str, *, start: Start = "next") -> list[_core.RingReader]:
    """Opens the rings of one kind (`chunks`, `states`, `worlds` or `verdicts`), one per channel."""
    return [open_ring(instance, f"{kind}.{channel}", start=start) for channel in range(_core.CHANNELS_MAX)]


def read_messages(ring: _core.RingReader) -> list[RingMessage]:
    """Returns what is there, at most a ring's worth, without waiting: the kernel must wake every reader that waits."""
    found: list[RingMessage] = []
    while len(found) < _MESSAGES_PER_READ and (message := ring.read(0.0)) is not None:
        sequence, _, written_s, payload = message
        found.append(
            RingMessage(sequence=sequence, kind=ring.last_type, written_s=written_s, payload=payload)
        )
    return found


class ChannelMessages:
    """Remembers what came in or went out through every channel, by channel and sequence number.

    Args:
        kind: `chunks`, `worlds` or `verdicts`.
        start: Where to begin.
        remembered_max: How many; the oldest is forgotten first.
    """

    def __init__(
        self, instance: str, kind: str, *, start: Start, remembered_max: int = _REMEMBERED_MAX
    ) -> None:
        self._readers = open_channels(instance, kind, start=start)
        self._remembered: OrderedDict[tuple[int, int], tuple[_core.MessageType, bytes]] = OrderedDict()
        self._remembered_max = remembered_max

    @property
    def lost(self) -> int:
        """Number of messages that were overwritten before they could be read."""
        return sum(reader.lost for reader in self._readers)

    def drain(self) -> None:
        """Reads whatever is there."""
        for channel, reader in enumerate(self._readers):
            for message in read_messages(reader):
                self._remembered[channel, message.sequence] = message.kind, message.payload
        while len(self._remembered) > self._remembered_max:
            self._remembered.popitem(last=False)

    def find(self, channel: int, sequence: int) -> tuple[_core.MessageType, bytes] | None:
        """Returns type and bytes of a message, or None for one that is not remembered."""
        return self._remembered.get((channel, sequence))

    def of_channel(self, channel: int) -> list[tuple[_core.MessageType, bytes]]:
        """Returns what is remembered of one channel, the newest first."""
        return [message for (at, _), message in reversed(self._remembered.items()) if at == channel]

    def newest(self) -> tuple[_core.MessageType, bytes] | None:
        """Returns what was read last; None while nothing was."""
        return next(reversed(self._remembered.values()), None)


def chunk_of_message(fields: _core.ActionChunkMessage, *, steps: int) -> ActionChunk:
    """Returns the chunk of a decoded message whose numbers fill so many steps."""
    return ActionChunk(
        np.array(fields.flat, dtype=np.float64).reshape(steps, fields.n_dof),
        mode=fields.control_mode,
        ee_name=fields.ee_name,
        frame_id=fields.frame_id,
        rskill_id=fields.rskill_id,
        trace_id=fields.trace_id,
    )
