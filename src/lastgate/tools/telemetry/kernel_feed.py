# SPDX-License-Identifier: Apache-2.0
"""Follows the rings that a kernel writes. Reading never delays the kernel; a slow reader loses messages."""

from collections import OrderedDict

from lastgate import _core
from lastgate.kernel.process import no_such_kernel

# Messages that are remembered until the caller asks for them; a channel's ring holds fewer at any time.
_REMEMBERED_MAX = 256


def open_ring(instance: str, ring: str, *, from_newest: bool = False) -> _core.RingReader:
    """Opens a ring of a running kernel.

    Raises:
        ROSConfigError: There is no such kernel.
    """
    try:
        return _core.RingReader(instance, ring, from_newest)
    except (RuntimeError, ValueError) as error:
        raise no_such_kernel(instance, error) from None


class ChannelMessages:
    """Remembers what came in or went out through every channel, by channel and sequence number.

    Args:
        kind: `chunks`, `worlds` or `verdicts`.
        from_newest: Begins with the newest message that is there already.
    """

    def __init__(
        self, instance: str, kind: str, *, from_newest: bool, remembered_max: int = _REMEMBERED_MAX
    ) -> None:
        self._readers = [
            open_ring(instance, f"{kind}.{channel}", from_newest=from_newest)
            for channel in range(_core.CHANNELS_MAX)
        ]
        self._remembered: OrderedDict[tuple[int, int], tuple[int, bytes]] = OrderedDict()
        self._remembered_max = remembered_max

    @property
    def lost(self) -> int:
        """Number of messages that were overwritten before they could be read."""
        return sum(reader.lost for reader in self._readers)

    def drain(self) -> None:
        """Reads whatever is there."""
        for channel, reader in enumerate(self._readers):
            while (message := reader.read(0.0)) is not None:
                sequence, _, _, payload = message
                self._remembered[channel, sequence] = reader.last_type, payload
        while len(self._remembered) > self._remembered_max:
            self._remembered.popitem(last=False)

    def find(self, channel: int, sequence: int) -> tuple[int, bytes] | None:
        """Returns type and bytes of a message, or None for one that is not remembered."""
        return self._remembered.get((channel, sequence))

    def of_channel(self, channel: int) -> list[tuple[int, bytes]]:
        """Returns what is remembered of one channel, the newest first."""
        return [message for (at, _), message in reversed(self._remembered.items()) if at == channel]

    def newest(self) -> tuple[int, bytes] | None:
        """Returns what was read last; None while nothing was."""
        return next(reversed(self._remembered.values()), None)
