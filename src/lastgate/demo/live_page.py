# SPDX-License-Identifier: Apache-2.0
"""Serves the report of a run that is still going on, to this machine only."""

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from lastgate.contracts import ROSConfigError
from lastgate.demo.report import render_page, report_json
from lastgate.demo.run import Record

ADDRESS = "127.0.0.1"


class LivePage:
    """Is a web server for one run; it reads the record and cannot change the run.

    Args:
        record: What the simulation writes to.
        port: Where to listen on 127.0.0.1; 0 takes a free one.

    Raises:
        ROSConfigError: The port is taken or not allowed.
    """

    def __init__(self, record: Record, *, port: int) -> None:
        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                match self.path.partition("?")[0]:
                    case "/":
                        self._answer(200, "text/html; charset=utf-8", render_page(record, live=True))
                    case "/status.json":
                        self._answer(200, "application/json", report_json(record))
                    case _:
                        self._answer(
                            404, "text/plain; charset=utf-8", "There are two pages: / and /status.json\n"
                        )

            def _answer(self, status: int, kind: str, text: str) -> None:
                body = text.encode()
                self.send_response(status)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body)))
                self.send_header("Cache-Control", "no-store")
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: object) -> None:
                """Keeps the terminal to the run."""

        try:
            self._server = ThreadingHTTPServer((ADDRESS, port), Handler)
        except (OSError, OverflowError) as error:
            reason = error.strerror if isinstance(error, OSError) else "a port is a number from 0 to 65535"
            raise ROSConfigError(
                f"cannot serve the page on port `{port}`: {reason}\n\nhint: `--port 0` takes a free one"
            ) from None
        self.url = f"http://{ADDRESS}:{self._server.server_address[1]}/"
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True
        )
        self._thread.start()

    def close(self) -> None:
        """Stops serving."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
