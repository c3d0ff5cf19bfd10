# SPDX-License-Identifier: Apache-2.0
"""Permissions: every user of this machine may watch and stop, and the holder of the token may do the rest."""

import hmac
import os
import secrets
from pathlib import Path

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from lastgate.contracts import ROSConfigError
from lastgate.tools.dashboard.origin import refusal_of

# Nothing from elsewhere, no inline script, no frame around the page.
PAGE_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-store",
    # Each request comes on a connection of its own, so a press never waits in line behind another request.
    "Connection": "close",
}


class Token:
    """The word that permits a reset; it changes with every start.

    Args:
        path: Where to leave it, readable by this user only.

    Raises:
        ROSConfigError: The file cannot be written.
    """

    def __init__(self, path: Path) -> None:
        self.text = secrets.token_urlsafe(24)
        self.path = path
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            # Made anew: a file that was there might be readable by others, or be a link to somewhere else.
            path.unlink(missing_ok=True)
            with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
                file.write(self.text + "\n")
        except OSError as error:
            raise ROSConfigError(f"cannot write the token to `{path}`: {error.strerror}") from None

    def allows(self, authorization: str | None) -> bool:
        """Returns whether a request's `Authorization` header carries the token."""
        given = (authorization or "").encode("utf-8", "replace")
        return hmac.compare_digest(given, f"Bearer {self.text}".encode())

    def forget(self) -> None:
        """Removes the file: the token is worth nothing once the server ends."""
        self.path.unlink(missing_ok=True)


class AccessGuard:
    """Stands before every route, WebSocket included, and puts the page's headers on every answer."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuses by `Host`, `Origin` and `Sec-Fetch-Site`, or passes on."""
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        is_page = scope["type"] == "http" and scope["method"] == "GET" and scope["path"] == "/"
        refusal = refusal_of(Headers(scope=scope), is_page=is_page)
        if scope["type"] == "websocket":
            if refusal is not None:
                await receive()
                await send({"type": "websocket.close", "code": 1008, "reason": refusal})
            else:
                await self._app(scope, receive, send)
            return

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in PAGE_HEADERS.items():
                    headers[name] = value
            await send(message)

        if refusal is not None:
            await PlainTextResponse(f"{refusal}\n", status_code=403)(scope, receive, with_headers)
        else:
            await self._app(scope, receive, with_headers)
