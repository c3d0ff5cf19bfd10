# SPDX-License-Identifier: Apache-2.0
"""The stop button's process: it owns the page's port, takes presses itself and hands all other connections on.

Whatever keeps the page busy (idle connections, slow ones, floods, telemetry) keeps it busy in another process. This one
holds few connections, each for a short time, and closes the oldest for a newer one, so a press always finds room.
"""

import contextlib
import itertools
import json
import selectors
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable

import h11
from starlette.datastructures import Headers

from lastgate.contracts import ROSConfigError
from lastgate.kernel.estop import ResetOutcome
from lastgate.tools.dashboard.access import PAGE_HEADERS, refusal_of
from lastgate.tools.dashboard.control import Control, KernelControl

# A press sends its request with its connection. At 10,000 connections a second the oldest of 64 is 6 ms old.
CONNECTIONS_MAX = 64
# A connection that has not said what it wants by then is closed; a person's browser says it within milliseconds.
IDLE_S = 5.0
# What the system keeps for us until it is accepted; more than the 1,000 connections of the largest burst tested.
BACKLOG = 4096
HEAD_BYTES_MAX = 16 * 1024
BODY_BYTES_MAX = 1024
# The reason is in the body, which may come a packet later. A stop does not wait longer than this for a reason.
BODY_WAIT_S = 0.02
# The page's process answers for latches of its own within this time, or the person is told that nothing is known.
ANSWER_TIMEOUT_S = 2.0
# It starts in half a second; the rest is for machines that are busy.
START_TIMEOUT_S = 30.0
# Connections accepted before those that have already sent something are looked at.
ACCEPTS_PER_TURN = 64
_PRESS = b"POST /api/estop"
_DEFAULT_REASON = "pressed on the page"


def reason_in(body: bytes) -> str:
    """Returns the reason that a press gives; a body that cannot be read is a press without one."""
    try:
        given = json.loads(body or b"{}")
    except (ValueError, RecursionError):
        return _DEFAULT_REASON
    reason = given.get("reason") if isinstance(given, dict) else None
    return reason if isinstance(reason, str) and reason else _DEFAULT_REASON


class _Connection:
    """One connection that has not been answered or handed on, or whose answer is on its way."""

    def __init__(self, stream: socket.socket) -> None:
        self.stream = stream
        self.received = b""
        self.ends_s = time.monotonic() + IDLE_S
        self.act_s: float | None = None
        self.is_answered = False


class ButtonLoop:
    """Takes connections from listening sockets until the page's process is gone.

    Args:
        listening: Where browsers connect.
        page: A packet socket to the page's process: connections go there, the name of the watched kernel comes back.
        stop: Stops, called from one thread: the name of the kernel (empty: a latch of the page's process), the reason.
    """

    def __init__(
        self,
        listening: list[socket.socket],
        page: socket.socket,
        stop: Callable[[str, str], ResetOutcome],
    ) -> None:
        self._page = page
        self._stop = stop
        self._kernel = ""
        self._selector = selectors.DefaultSelector()
        self._open: OrderedDict[int, _Connection] = OrderedDict()
        self._pressed: list[_Connection] = []
        self._outcomes: deque[tuple[list[_Connection], ResetOutcome]] = deque()
        self._reason = _DEFAULT_REASON
        self._is_stopping = False
        self._told, self._tell = socket.socketpair()
        self._runs = True
        for sock in (*listening, page, self._told):
            sock.setblocking(False)
        for sock in listening:
            self._selector.register(sock, selectors.EVENT_READ, self._accept)
        self._selector.register(page, selectors.EVENT_READ, self._listen_to_page)
        self._selector.register(self._told, selectors.EVENT_READ, self._answer)

    def run(self) -> None:
        """Serves until the page's process closes its end."""
        while self._runs:
            for key, _ in self._selector.select(self._wait_s()):
                if isinstance(key.data, _Connection):
                    self._read(key.data)
                else:
                    key.data(key.fileobj)
            self._act_and_expire()

    def _wait_s(self) -> float | None:
        if not self._open:
            return None
        # A quarter of a second is early enough for what is idle; a press that waits for its body is asked for in time.
        waiting = any(connection.act_s is not None for connection in self._open.values())
        return BODY_WAIT_S / 4 if waiting else 0.25

    # ---- Connections -----------------------------------------------------------------------------------

    def _accept(self, listening: socket.socket) -> None:
        for _ in range(ACCEPTS_PER_TURN):
            try:
                stream, _ = listening.accept()
            except OSError:
                return
            stream.setblocking(False)
            while len(self._open) >= CONNECTIONS_MAX:
                oldest = next(iter(self._open.values()))
                self._press(oldest) if oldest.act_s is not None else self._close(oldest)
            connection = _Connection(stream)
            self._open[stream.fileno()] = connection
            self._selector.register(stream, selectors.EVENT_READ, connection)
            # Most have sent their request already; those need not wait for the next turn.
            self._read(connection)

    def _close(self, connection: _Connection) -> None:
        self._take(connection)
        connection.stream.close()

    def _take(self, connection: _Connection) -> None:
        if self._open.pop(connection.stream.fileno(), None) is not None:
            self._selector.unregister(connection.stream)

    def _read(self, connection: _Connection) -> None:
        if connection.stream.fileno() < 0:
            return  # closed for a newer one in this turn
        try:
            part = connection.stream.recv(HEAD_BYTES_MAX)
        except BlockingIOError:
            return
        except OSError:
            part = b""
        if not part:
            # The end of a press that stands whole or in part is no reason to forget it.
            self._press(connection) if connection.act_s is not None else self._close(connection)
            return
        if connection.is_answered:
            return  # read to the end, so that closing does not cut the answer off
        connection.received += part
        start = connection.received[: len(_PRESS) + 1]
        if start[: len(_PRESS)] != _PRESS[: len(start)] or start[len(_PRESS) :] not in (b"", b" ", b"?"):
            self._hand_on(connection)
        elif b"\r\n\r\n" in connection.received or len(connection.received) > HEAD_BYTES_MAX:
            self._take_press(connection)

    def _hand_on(self, connection: _Connection) -> None:
        self._take(connection)
        try:
            socket.send_fds(self._page, [connection.received], [connection.stream.fileno()])
        except OSError:  # the page is behind: the newest has to ask again
            with contextlib.suppress(OSError):
                connection.stream.send(_answer_bytes(503, b"the page is busy\n", "text/plain"))
        connection.stream.close()

    def _act_and_expire(self) -> None:
        now_s = time.monotonic()
        for connection in list(self._open.values()):
            if connection.act_s is not None and now_s >= connection.act_s:
                self._press(connection)
            elif now_s >= connection.ends_s:
                self._close(connection)

    # ---- Presses ---------------------------------------------------------------------------------------

    def _take_press(self, connection: _Connection) -> None:
        head, _, body = connection.received.partition(b"\r\n\r\n")
        if connection.act_s is None:
            try:
                request = _read_head(head)
            except (h11.RemoteProtocolError, ValueError):
                self._say(connection, 400, b"not a request\n", "text/plain")
                return
            refusal = refusal_of(Headers(raw=list(request.headers)), is_page=False)
            if refusal is not None:
                self._say(connection, 403, f"{refusal}\n".encode(), "text/plain")
                return
            connection.act_s = time.monotonic() + BODY_WAIT_S
        if len(body) >= _body_bytes(head):
            self._press(connection)

    def _press(self, connection: _Connection) -> None:
        """Stops with whatever of the reason has arrived."""
        connection.act_s = None
        self._take(connection)
        body = connection.received.partition(b"\r\n\r\n")[2]
        self._reason = reason_in(body) if len(body) <= BODY_BYTES_MAX else _DEFAULT_REASON
        self._pressed.append(connection)
        if len(self._pressed) > CONNECTIONS_MAX:
            self._pressed.pop(0).stream.close()  # its stop is made all the same
        self._start_stop()

    def _start_stop(self) -> None:
        if self._is_stopping or not self._pressed:
            return
        # Presses that come while a stop is being made share the next one: a flood of them costs one thread.
        self._is_stopping = True
        pressed, self._pressed = self._pressed, []
        threading.Thread(
            target=self._stop_for, args=(pressed, self._kernel, self._reason), daemon=True
        ).start()

    def _stop_for(self, pressed: list[_Connection], kernel: str, reason: str) -> None:
        try:
            outcome = self._stop(kernel, reason)
        except Exception as error:  # whatever it was, the person must be told
            outcome = ResetOutcome(
                success=False, message=f"nothing was stopped, use the hardware stop: {error}"
            )
        self._outcomes.append((pressed, outcome))
        self._tell.send(b"!")

    def _answer(self, told: socket.socket) -> None:
        told.recv(1)
        self._is_stopping = False
        pressed, outcome = self._outcomes.popleft()
        said = json.dumps({"success": outcome.success, "message": outcome.message}).encode()
        for connection in pressed:
            self._open[connection.stream.fileno()] = connection
            self._selector.register(connection.stream, selectors.EVENT_READ, connection)
            self._say(connection, 200 if outcome.success else 503, said, "application/json")
        self._start_stop()

    def _say(self, connection: _Connection, status: int, body: bytes, kind: str) -> None:
        connection.is_answered = True
        connection.act_s = None
        connection.ends_s = time.monotonic() + 1.0
        try:
            connection.stream.send(_answer_bytes(status, body, kind))
            connection.stream.shutdown(socket.SHUT_WR)
        except OSError:
            self._close(connection)

    # ---- The page --------------------------------------------------------------------------------------

    def _listen_to_page(self, page: socket.socket) -> None:
        try:
            said = page.recv(1024)
        except BlockingIOError:
            return
        except OSError:
            said = b""
        if not said:
            self._runs = False
        else:
            self._kernel = said.decode().removeprefix("kernel ")


def _read_head(head: bytes) -> h11.Request:
    reader = h11.Connection(h11.SERVER, max_incomplete_event_size=HEAD_BYTES_MAX)
    reader.receive_data(head + b"\r\n\r\n")
    event = reader.next_event()
    if not isinstance(event, h11.Request):
        raise ValueError("not a whole request")
    return event


def _body_bytes(head: bytes) -> int:
    """Returns how many bytes of a body are worth waiting for."""
    for line in head.split(b"\r\n"):
        name, _, value = line.partition(b":")
        if name.strip().lower() == b"content-length":
            size = int(value) if value.strip().isdigit() else 0
            return size if size <= BODY_BYTES_MAX else 0
    return 0


def _answer_bytes(status: int, body: bytes, kind: str) -> bytes:
    phrase = {200: "OK", 400: "Bad Request", 403: "Forbidden", 503: "Service Unavailable"}[status]
    headers = PAGE_HEADERS | {
        "Content-Type": kind,
        "Content-Length": str(len(body)),
    }
    lines = [f"HTTP/1.1 {status} {phrase}", *(f"{name}: {value}" for name, value in headers.items()), "", ""]
    return "\r\n".join(lines).encode() + body


class ButtonProcess:
    """The button's process as the page's process sees it.

    Started before the page lowers its own priority, it keeps the ordinary one.

    Args:
        listening: Sockets that listen; this process never accepts from them.
    """

    def __init__(self, listening: list[socket.socket]) -> None:
        self.page, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._asks, asking = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        numbers = [sock.fileno() for sock in (theirs, asking, *listening)]
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "lastgate.tools.dashboard.button", *map(str, numbers)],
                pass_fds=numbers,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
            )
        except OSError as error:
            self.page.close()
            self._asks.close()
            raise ROSConfigError(f"cannot start the process of the stop button: {error.strerror}") from None
        finally:
            theirs.close()
            asking.close()
        self._thread: threading.Thread | None = None

    @property
    def pid(self) -> int:
        """Process id."""
        return self._process.pid

    @property
    def is_alive(self) -> bool:
        """True while the process runs."""
        return self._process.poll() is None

    def watch(self, kernel: str | None) -> None:
        """Returns which kernel a press stops; None for what `serve` acts on."""
        with contextlib.suppress(OSError):
            self.page.send(f"kernel {kernel or ''}".encode())

    def serve(self, control: Control) -> None:
        """Waits until the button works, and answers presses that only this process can act on.

        Raises:
            ROSConfigError: Its process ended, or did not start in time.
        """
        self.page.settimeout(START_TIMEOUT_S)
        with contextlib.suppress(OSError):
            if self.page.recv(16):
                self._start_answering(control)
                return
        raise ROSConfigError("the process of the stop button did not start")

    def _start_answering(self, control: Control) -> None:
        self._thread = threading.Thread(target=self._serve, args=(control,), name="button", daemon=True)
        self._thread.start()

    def _serve(self, control: Control) -> None:
        with contextlib.suppress(OSError):
            while asked := self._asks.recv(65_536):
                number, _, reason = asked.decode("utf-8", "replace").partition(" ")
                outcome = control.estop(reason)
                self._asks.send(json.dumps([number, outcome.success, outcome.message[:1000]]).encode())

    def close(self) -> None:
        """Ends the process."""
        # Shut down, not only closed: a thread that waits in `recv` must see the end.
        for sock in (self.page, self._asks):
            with contextlib.suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)
        try:
            self._process.wait(5.0)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        if self._thread is not None:
            self._thread.join()
        self.page.close()
        self._asks.close()


def _stopper(page: socket.socket) -> Callable[[str, str], ResetOutcome]:
    page.settimeout(ANSWER_TIMEOUT_S)
    numbers = itertools.count()

    def stop(kernel: str, reason: str) -> ResetOutcome:
        if kernel:
            return KernelControl(kernel).estop(reason)
        number = str(next(numbers))
        page.send(f"{number} {reason}".encode("utf-8", "replace"))
        while True:
            of, success, message = json.loads(page.recv(65_536))
            if of == number:  # not the answer to an earlier press that came too late
                return ResetOutcome(success=success, message=message)

    return stop


def main(numbers: list[int]) -> None:
    """Runs the button's process: a packet socket for connections, one for stops, and the listening sockets."""
    # Ctrl-C reaches every process of a terminal; the button stays until the page's process has ended.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    page, asking, *listening = [socket.socket(fileno=number) for number in numbers]
    loop = ButtonLoop(listening, page, _stopper(asking))
    page.send(b"ready")
    loop.run()


if __name__ == "__main__":
    main([int(word) for word in sys.argv[1:]])
