# SPDX-License-Identifier: Apache-2.0
"""The web server: the page, its live feed, two buttons, and the receiver of spans, for this machine only.

The stop button's process (`button.py`) owns the port and takes presses; this one serves what it hands on.
"""

import asyncio
import contextlib
import errno
import json
import secrets
import socket
import threading
import time
from collections.abc import Callable
from importlib.metadata import version
from importlib.resources import files
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect, WebSocketState

from lastgate.contracts import CATALOGUE, ROSConfigError
from lastgate.tools.dashboard import otlp
from lastgate.tools.dashboard.access import AccessGuard, Token
from lastgate.tools.dashboard.adopted import CONNECTIONS_MAX, REQUEST_S, AdoptingServer
from lastgate.tools.dashboard.button import BACKLOG, BODY_BYTES_MAX, HEAD_BYTES_MAX, ButtonProcess, reason_in
from lastgate.tools.dashboard.control import Control
from lastgate.tools.dashboard.span_decoder import SpanDecoder
from lastgate.tools.dashboard.store import LiveStore

# Browsers that may look at once. Each costs a poll every tenth of a second, and the machine has a robot to mind.
VIEWERS_MAX = 8
FRAME_S = 0.1
# A hidden page still says in the name of its tab when the gate is latched.
HIDDEN_FRAME_S = 1.0
# Also the sign of life: the page calls itself lost after two seconds without one.
AGES_EVERY_S = 0.5
SERIES_EVERY_S = 0.5
# The cards of points, voxels and maps change at most this often.
CLOUD_EVERY_S = 1.0
# A browser that does not take a message within this time is gone.
SEND_TIMEOUT_S = 5.0
EVENT_LOG_BATCH = 200
# Export requests at once. Each may hold 8 MiB; exporters that are told to come back later do.
EXPORTS_MAX = 8
_PAGE_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript",
    ".css": "text/css",
    ".svg": "image/svg+xml",
}
# What to do about each code, sent once: the operator who opens an entry has no other page at hand.
_ADVICE = {code.value: entry.what_to_do for code, entry in CATALOGUE.items()}


class _TooLarge(Exception):
    pass


async def _body_of(request: Request, most: int) -> bytes:
    """Returns the body; stops reading at the first byte too many, whatever the header promised, or too late."""
    parts: list[bytes] = []
    size = 0
    async with asyncio.timeout(REQUEST_S):
        async for part in request.stream():
            size += len(part)
            if size > most:
                raise _TooLarge
            parts.append(part)
    return b"".join(parts)


class _Viewer:
    """One browser that watches, and the last message of each kind that it was sent."""

    def __init__(self, socket: WebSocket) -> None:
        self.socket = socket
        self.is_hidden = False
        self._told: dict[str, str] = {}

    async def send(self, text: str) -> None:
        await asyncio.wait_for(self.socket.send_text(text), SEND_TIMEOUT_S)

    async def send_changed(self, name: str, text: str) -> None:
        """Sends it unless it is what was sent before: a robot that stands still costs nothing."""
        if self._told.get(name) != text:
            self._told[name] = text
            await self.send(text)


def _as(name: str, told: Callable[[], Any]) -> Callable[[], dict[str, Any]]:
    return lambda: {"type": name, name: told()}


class PageApp:
    """The application: which answer belongs to which address."""

    def __init__(self, store: LiveStore, control: Control, token: Token) -> None:
        self._store = store
        self._control = control
        self._token = token
        self._version = version("lastgate")
        self._run = secrets.token_hex(8)
        self._files = _page_files()
        self.viewers = 0
        self.decoder = SpanDecoder()
        self._exports = 0
        self._drawing = threading.Lock()
        self._drawn: dict[int, bytes] = {}
        # Two browsers that look at the same moment are sent the same bytes.
        self._shared: dict[str, tuple[object, str]] = {}
        self.asgi = AccessGuard(
            Starlette(
                routes=[
                    Route("/", self._page),
                    Route("/page/{name}", self._page_file),
                    Route("/api/status", self._status),
                    Route("/api/ledger", self._event_log),
                    Route("/api/ledger/{number:int}.png", self._picture),
                    Route("/api/cards/{name}.png", self._card),
                    Route("/api/estop", self._estop, methods=["POST"]),
                    Route("/api/reset", self._reset, methods=["POST"]),
                    Route("/v1/traces", self._traces, methods=["POST"]),
                    WebSocketRoute("/live", self._live),
                ]
            )
        )

    # ---- Looking ---------------------------------------------------------------------------------------

    async def _page(self, _: Request) -> Response:
        body, kind = self._files["index.html"]
        return Response(body, media_type=kind)

    async def _page_file(self, request: Request) -> Response:
        found = self._files.get(request.path_params["name"])
        if found is None:
            return PlainTextResponse("there is no such file\n", status_code=404)
        return Response(found[0], media_type=found[1])

    async def _status(self, _: Request) -> Response:
        store = self._store
        return JSONResponse({"gate": store.gate(), "counts": store.counts(), "ages": store.ages()})

    async def _event_log(self, _: Request) -> Response:
        entries = [entry.as_json() for entry in self._store.event_log.after(0)]
        return JSONResponse({"entries": entries, "not_listed": self._store.event_log.not_listed})

    async def _card(self, request: Request) -> Response:
        card = self._store.card(request.path_params["name"])
        if card is None:
            return PlainTextResponse("there is no such picture\n", status_code=404)
        return Response(card.png, media_type="image/png")

    async def _picture(self, request: Request) -> Response:
        number = request.path_params["number"]
        draw = self._store.event_log.picture(number)
        if draw is None:
            return PlainTextResponse("this entry has no picture\n", status_code=404)
        return Response(await run_in_threadpool(self._drawn_once, number, draw), media_type="image/png")

    def _drawn_once(self, number: int, draw: Callable[[], bytes]) -> bytes:
        # One at a time: pictures take a second each, and both cores may be needed elsewhere.
        with self._drawing:
            if number not in self._drawn:
                self._drawn[number] = draw()
            return self._drawn[number]

    # ---- Acting ----------------------------------------------------------------------------------------

    async def _estop(self, request: Request) -> Response:
        """Answers presses whose spelling the button's process did not recognise."""
        try:
            reason = reason_in(await _body_of(request, BODY_BYTES_MAX))
        except (_TooLarge, TimeoutError):
            reason = reason_in(b"")
        outcome = await run_in_threadpool(self._control.estop, reason)
        return JSONResponse(
            {"success": outcome.success, "message": outcome.message},
            status_code=200 if outcome.success else 503,
        )

    async def _reset(self, request: Request) -> Response:
        if not self._token.allows(request.headers.get("authorization")):
            message = "reset refused: it needs the token that was printed when the page was started"
            return JSONResponse({"success": False, "message": message}, status_code=403)
        outcome = await run_in_threadpool(self._control.reset)
        return JSONResponse(
            {"success": outcome.success, "message": outcome.message},
            status_code=200 if outcome.success else 409,
        )

    async def _traces(self, request: Request) -> Response:
        if self._exports >= EXPORTS_MAX:
            return PlainTextResponse("too many at once\n", status_code=503, headers={"Retry-After": "1"})
        self._exports += 1
        try:
            return await self._take_spans(request)
        except _TooLarge:
            return PlainTextResponse(f"more than {otlp.BODY_BYTES_MAX} bytes\n", status_code=413)
        except TimeoutError:
            return PlainTextResponse(f"the body took longer than {REQUEST_S:g} s\n", status_code=408)
        except otlp.RefusedRequest as error:
            return PlainTextResponse(f"{error}\n", status_code=error.status)
        finally:
            self._exports -= 1

    async def _take_spans(self, request: Request) -> Response:
        kind = request.headers.get("content-type", "")
        encoding = request.headers.get("content-encoding", "")
        body = await _body_of(request, otlp.BODY_BYTES_MAX)
        spans = await run_in_threadpool(self.decoder.read, body, content_type=kind, content_encoding=encoding)
        await run_in_threadpool(otlp.note_spans, self._store, spans)
        said, answer_kind = otlp.answer(kind)
        return Response(said, media_type=answer_kind)

    # ---- The live feed ---------------------------------------------------------------------------------

    async def _live(self, socket: WebSocket) -> None:
        if self.viewers >= VIEWERS_MAX:
            await socket.close(1013, f"{VIEWERS_MAX} browsers look already")
            return
        await socket.accept()
        self.viewers += 1
        viewer = _Viewer(socket)
        feed = asyncio.create_task(self._feed(viewer))
        try:
            # A browser says whether it is visible. Whatever else it says, the end of it is what matters.
            while socket.client_state is WebSocketState.CONNECTED:
                viewer.is_hidden = await socket.receive_text() == "hidden"
        except (WebSocketDisconnect, KeyError, RuntimeError):
            pass
        finally:
            self.viewers -= 1
            feed.cancel()

    async def _feed(self, viewer: "_Viewer") -> None:
        """Sends what changed; what came and went while a slow browser was busy is left out, the event log excepted."""
        store = self._store
        drawn: dict[str, object] = {}
        listed = points = 0
        next_ages_s = next_series_s = next_cloud_s = 0.0
        try:
            hello = {"type": "hello", "version": self._version, "run": self._run, "advice": _ADVICE}
            await viewer.send(_text(hello))
            while True:
                now_s = time.monotonic()
                tick = round(now_s / FRAME_S)
                numbers = store.numbers()
                # The robot first: volumes and candidates are of it.
                await viewer.send_changed("robot", self._shared_text("robot", numbers["scene"], store.hello))
                for name, told in (
                    ("gate", store.gate),
                    ("counts", store.counts),
                    ("volumes", store.volumes),
                ):
                    await viewer.send_changed(name, self._shared_text(name, tick, _as(name, told)))
                for name, key, told in (
                    ("candidate", "candidate", store.candidate),
                    ("obstacles", "world", store.obstacles),
                ):
                    await viewer.send_changed(name, self._shared_text(name, numbers[key], told))
                entries = store.event_log.after(listed, most=EVENT_LOG_BATCH)
                if entries:
                    listed = entries[-1].number
                    await viewer.send(
                        _text({"type": "ledger", "entries": [entry.as_json() for entry in entries]})
                    )
                if now_s >= next_ages_s:
                    next_ages_s = now_s + AGES_EVERY_S
                    await viewer.send(_text({"type": "ages", "ages": store.ages()}))
                if now_s >= next_series_s:
                    next_series_s = now_s + SERIES_EVERY_S
                    points, series = store.series(after=points)
                    await viewer.send(_text(series))
                if now_s >= next_cloud_s:
                    next_cloud_s = now_s + CLOUD_EVERY_S
                    await run_in_threadpool(store.draw_cards)
                    await viewer.send(self._shared_text("cards", round(now_s), store.cards))
                    if drawn.get("cloud") != numbers["world"]:
                        await viewer.send_changed("cloud", await self._cloud_text(numbers["world"]))
                        drawn["cloud"] = numbers["world"]
                await asyncio.sleep(HIDDEN_FRAME_S if viewer.is_hidden else FRAME_S)
        except (TimeoutError, WebSocketDisconnect, RuntimeError, OSError):
            await _close_quietly(viewer.socket)

    def _shared_text(self, name: str, key: object, make: Callable[[], dict[str, Any]]) -> str:
        if name not in self._shared or self._shared[name][0] != key:
            self._shared[name] = key, _text(make())
        return self._shared[name][1]

    async def _cloud_text(self, key: object) -> str:
        """Packing a large grid takes longer than a frame may; it is done beside the loop, once for all browsers."""
        if "cloud" not in self._shared or self._shared["cloud"][0] != key:
            self._shared["cloud"] = key, _text(await run_in_threadpool(self._store.cloud))
        return self._shared["cloud"][1]


def _text(message: dict[str, Any]) -> str:
    return json.dumps(message, allow_nan=False, separators=(",", ":"))


async def _close_quietly(socket: WebSocket) -> None:
    with contextlib.suppress(RuntimeError, WebSocketDisconnect, OSError):
        await socket.close(1001)


def _page_files() -> dict[str, tuple[bytes, str]]:
    """Returns every file of the page; read once, so that no address can lead anywhere else."""
    folder = files("lastgate.tools.dashboard") / "page"
    found = {}
    for file in folder.iterdir():
        kind = _PAGE_TYPES.get("." + file.name.rpartition(".")[2])
        if kind is not None:
            found[file.name] = file.read_bytes(), kind
    return found


class DashboardServer:
    """Serves one page from a thread of its own until it is closed.

    Args:
        port: Where to listen on 127.0.0.1 and ::1, as a number (0 takes a free one) or as what listens there.

    Raises:
        ROSConfigError: The port is taken or not allowed.
    """

    def __init__(self, store: LiveStore, control: Control, token: Token, *, port: "int | PagePort") -> None:
        self._front = port if isinstance(port, PagePort) else PagePort(port)
        self.port = self._front.number
        self.url = f"http://127.0.0.1:{self.port}/"
        self._app = PageApp(store, control, token)
        try:
            self._front.button.serve(control)
        except BaseException:
            self._front.close()
            raise
        self._server = AdoptingServer(
            uvicorn.Config(
                self._app.asgi,
                log_level="critical",
                access_log=False,
                server_header=False,
                http="h11",  # the one whose largest header can be set
                ws="websockets-sansio",
                ws_max_size=1024,
                ws_per_message_deflate=False,
                h11_max_incomplete_event_size=HEAD_BYTES_MAX,
                limit_concurrency=CONNECTIONS_MAX,
                timeout_keep_alive=5,
                timeout_graceful_shutdown=1,
                lifespan="off",
            ),
            self._front.button.page,
        )
        self._thread = threading.Thread(target=self._server.run, name="dashboard", daemon=True)
        self._thread.start()
        while not self._server.started and self._thread.is_alive():
            time.sleep(0.005)

    @property
    def viewers(self) -> int:
        """Number of browsers that watch."""
        return self._app.viewers

    @property
    def is_serving(self) -> bool:
        """True while page and button both run."""
        return self._thread.is_alive() and self._front.button.is_alive

    def close(self) -> None:
        """Stops serving."""
        self._server.should_exit = True
        self._thread.join()
        self._front.close()
        self._app.decoder.close()


class PagePort:
    """The port that people and exporters connect to, with the stop button's process behind it.

    Made before a process lowers its priority, so that the button keeps the ordinary one.

    Args:
        number: Where to listen on 127.0.0.1 and ::1; 0 takes a free one.

    Raises:
        ROSConfigError: The port is taken or not allowed.
    """

    def __init__(self, number: int) -> None:
        self.sockets = _loopback_sockets(number)
        self.number: int = self.sockets[0].getsockname()[1]
        try:
            self.button = ButtonProcess(self.sockets)
        except BaseException:
            self._release()
            raise

    def close(self) -> None:
        """Ends the button's process and frees the port."""
        self.button.close()
        self._release()

    def _release(self) -> None:
        for listening in self.sockets:
            listening.close()


def _loopback_sockets(port: int) -> list[socket.socket]:
    try:
        first = _listening(socket.AF_INET, "127.0.0.1", port)
    except (OSError, OverflowError) as error:
        reason = error.strerror if isinstance(error, OSError) else "a port is a number from 0 to 65535"
        raise ROSConfigError(
            f"cannot serve the page on port `{port}`: {reason}\n\nhint: `--port 0` takes a free one"
        ) from None
    try:
        # `localhost` may mean either.
        return [first, _listening(socket.AF_INET6, "::1", first.getsockname()[1])]
    except OSError as error:
        if error.errno == errno.EADDRINUSE and port != 0:
            first.close()
            raise ROSConfigError(
                f"cannot serve the page on port `{port}`: {error.strerror} on ::1\n\n"
                "hint: `--port 0` takes a free one"
            ) from None
        return [first]


def _listening(family: socket.AddressFamily, address: str, port: int) -> socket.socket:
    made = socket.socket(family, socket.SOCK_STREAM)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind((address, port))
        made.listen(BACKLOG)
    except BaseException:
        made.close()
        raise
    return made
