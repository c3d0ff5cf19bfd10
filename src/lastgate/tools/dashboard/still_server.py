# SPDX-License-Identifier: Apache-2.0
"""Serves one still view to browsers of this machine, and makes it anew when a file it came from changed.

The standard library's server: a view must need no more than `pip install lastgate`.
"""

import json
import threading
from collections.abc import Callable, Sequence
from email.message import Message
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from lastgate.contracts import ROSConfigError, ROSError
from lastgate.tools.dashboard.one_file import one_file
from lastgate.tools.dashboard.origin import refusal_of

# A browser that opens a connection and says nothing holds a thread for so long.
REQUEST_S = 10.0
_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
    "Connection": "close",
}

Scene = dict[str, Any]


class FollowedScene:
    """A scene and the files it is made of; every browser that asks makes sure that it is the newest.

    Args:
        make: Reads the files and returns the scene.
        paths: The files.

    Raises:
        ROSError: What `make` raises, of the first time; later it is told to the browsers.
    """

    def __init__(self, make: Callable[[], Scene], paths: Sequence[Path]) -> None:
        self._make = make
        self._paths = tuple(paths)
        self._lock = threading.Lock()
        self._seen = self._stamps()
        self._scene = make()
        self._problem = ""
        self._version = 0

    @property
    def scene(self) -> Scene:
        """The scene as it was made first."""
        return self._scene

    def whole(self) -> Scene:
        """Returns the newest scene that could be made."""
        with self._lock:
            self._look_again()
            return {**self._scene, "version": self._version}

    def newer_than(self, version: int) -> Scene | None:
        """Returns the newest scene, or why it cannot be made; None where nothing is newer."""
        with self._lock:
            self._look_again()
            if self._version == version:
                return None
            if self._problem:
                return {"version": self._version, "problem": self._problem}
            return {**self._scene, "version": self._version}

    def _look_again(self) -> None:
        stamps = self._stamps()
        if stamps == self._seen:
            return
        self._seen = stamps
        self._version += 1
        try:
            self._scene, self._problem = self._make(), ""
        except ROSError as error:
            self._problem = str(error)

    def _stamps(self) -> list[tuple[int, int] | None]:
        found: list[tuple[int, int] | None] = []
        for path in self._paths:
            try:
                status = path.stat()
                found.append((status.st_mtime_ns, status.st_size))
            except OSError:
                found.append(None)
        return found


class _OneHeader:
    def __init__(self, message: Message) -> None:
        self._message = message

    def getlist(self, key: str) -> list[str]:
        return self._message.get_all(key, [])


class StillServer:
    """Serves from a thread of its own until it is closed, to 127.0.0.1 only.

    Raises:
        ROSConfigError: The port is taken or not allowed.
    """

    def __init__(self, scene: FollowedScene, *, port: int) -> None:
        class Handler(BaseHTTPRequestHandler):
            timeout = REQUEST_S
            server_version = "lastgate"
            sys_version = ""

            def do_GET(self) -> None:
                _answer(self, scene)

            def log_message(self, format: str, *args: Any) -> None:
                """Says nothing: stderr is for messages to the person who started this."""

        try:
            self._server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
        except (OSError, OverflowError) as error:
            raise ROSConfigError(
                f"cannot listen on port {port}: {error}\n\nhint: `--port 0` takes a free one"
            ) from None
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/"
        self._thread = threading.Thread(target=self._server.serve_forever, name="lastgate-view", daemon=True)
        self._thread.start()

    def wait(self, seconds: float) -> None:
        """Returns after so long, or when the server ends by itself."""
        self._thread.join(seconds)

    def close(self) -> None:
        """Ends serving."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def _answer(request: BaseHTTPRequestHandler, scene: FollowedScene) -> None:
    asked = urlsplit(request.path)
    refusal = refusal_of(_OneHeader(request.headers), is_page=asked.path == "/")
    if refusal is not None:
        _send(request, HTTPStatus.FORBIDDEN, "text/plain", f"{refusal}\n")
    elif asked.path == "/":
        whole = scene.whole()
        _send(request, HTTPStatus.OK, "text/html", one_file(whole, title=f"lastgate: {whole['title']}"))
    elif asked.path == "/scene.json":
        have = parse_qs(asked.query).get("have", [""])[0]
        newer = scene.newer_than(int(have) if have.isascii() and have.isdigit() else -1)
        if newer is None:
            _send(request, HTTPStatus.NO_CONTENT, "application/json", "")
        else:
            _send(request, HTTPStatus.OK, "application/json", json.dumps(newer, allow_nan=False))
    else:
        _send(request, HTTPStatus.NOT_FOUND, "text/plain", "there is no such page\n")


def _send(request: BaseHTTPRequestHandler, status: HTTPStatus, kind: str, text: str) -> None:
    body = text.encode()
    request.send_response(status)
    for name, value in _HEADERS.items():
        request.send_header(name, value)
    request.send_header("Content-Type", f"{kind}; charset=utf-8")
    request.send_header("Content-Length", str(len(body)))
    request.end_headers()
    request.wfile.write(body)
