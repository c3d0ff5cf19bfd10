# SPDX-License-Identifier: Apache-2.0
"""Serves the connections that the stop button's process hands on: few at once, and none for longer than it takes."""

import asyncio
import socket
from typing import Any

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from lastgate.tools.dashboard.button import HEAD_BYTES_MAX

# Eight browsers with a few requests each. Over it, the oldest that has not asked for anything goes.
CONNECTIONS_MAX = 64
# A browser sends its request at once; a body of 8 MiB from this machine takes less than a second.
REQUEST_S = 5.0
# The slowest answer is a picture, a second each and one at a time.
CONNECTION_S = 30.0


class _Adopted(H11Protocol):
    """One connection, with the bytes that were read of it before it came here."""

    def __init__(self, server: "AdoptingServer", received: bytes) -> None:
        super().__init__(
            config=server.config, server_state=server.server_state, app_state=server.lifespan.state
        )
        self._waiting = server.waiting
        self._received = received

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Starts both clocks and reads what was read already."""
        super().connection_made(transport)
        self._waiting[self] = None
        self.loop.call_later(REQUEST_S, self.end_unless_asked)
        self.loop.call_later(CONNECTION_S, self._end_unless_live)
        self.data_received(self._received)

    def data_received(self, data: bytes) -> None:
        """Notes when the request is whole."""
        super().data_received(data)
        if self.cycle is not None or self._is_live:
            self._waiting.pop(self, None)

    def connection_lost(self, exc: Exception | None) -> None:
        """Forgets it."""
        self._waiting.pop(self, None)
        super().connection_lost(exc)

    def end_unless_asked(self) -> None:
        """Closes a connection whose request never became whole."""
        if self in self._waiting:
            self.transport.abort()

    def _end_unless_live(self) -> None:
        if not self._is_live:
            self.transport.abort()

    @property
    def _is_live(self) -> bool:
        """A live feed has another protocol from its first moment on, and a limit of its own."""
        return self not in self.connections


class AdoptingServer(uvicorn.Server):
    """Listens nowhere; takes connections from a packet socket until its other end closes."""

    def __init__(self, config: uvicorn.Config, handed: socket.socket) -> None:
        super().__init__(config)
        self._handed = handed
        self.waiting: dict[_Adopted, None] = {}
        self._tasks: set[asyncio.Task[Any]] = set()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Starts with no listening socket."""
        await super().startup(sockets=[])
        self._handed.setblocking(False)
        asyncio.get_running_loop().add_reader(self._handed, self._adopt)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Takes no more."""
        asyncio.get_running_loop().remove_reader(self._handed)
        await super().shutdown(sockets=sockets)

    def _adopt(self) -> None:
        try:
            received, numbers, _, _ = socket.recv_fds(self._handed, 4 * HEAD_BYTES_MAX, 1)
        except BlockingIOError:
            return
        except OSError:
            received, numbers = b"", []
        if not received:
            asyncio.get_running_loop().remove_reader(self._handed)
            self.should_exit = True
        for number in numbers:
            stream = socket.socket(fileno=number)
            stream.setblocking(False)
            if len(self.server_state.connections) >= CONNECTIONS_MAX - 1 and self.waiting:
                next(iter(self.waiting)).end_unless_asked()
            loop = asyncio.get_running_loop()
            task = loop.create_task(
                loop.connect_accepted_socket(lambda received=received: _Adopted(self, received), stream)
            )
            self._tasks.add(task)
            task.add_done_callback(self._forget)

    def _forget(self, task: "asyncio.Task[Any]") -> None:
        self._tasks.discard(task)
        if not task.cancelled():
            task.exception()  # a connection that ended meanwhile needs no answer
