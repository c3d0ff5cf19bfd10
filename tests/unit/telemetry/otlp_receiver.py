# SPDX-License-Identifier: Apache-2.0
"""A collector for tests: an HTTP server that decodes what a real one would, with OpenTelemetry's own messages."""

import gzip
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)


class OtlpReceiver:
    """Keeps every span that was posted to `/v1/traces`."""

    def __init__(self) -> None:
        self.requests: list[ExportTraceServiceRequest] = []
        self.answer_delay = threading.Event()
        self.answer_delay.set()
        self.port = 0

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def spans(self) -> list:
        """Every span, with the attributes of its resource beside it."""
        return [
            (values(group.resource.attributes), span)
            for request in self.requests
            for group in request.resource_spans
            for scope in group.scope_spans
            for span in scope.spans
        ]


def values(attributes) -> dict[str, object]:
    """Returns OTLP attributes as a plain dictionary."""
    return {item.key: getattr(item.value, item.value.WhichOneof("value")) for item in attributes}


@contextmanager
def otlp_receiver() -> Iterator[OtlpReceiver]:
    received = OtlpReceiver()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            if self.headers.get("content-encoding") == "gzip":
                body = gzip.decompress(body)
            received.answer_delay.wait(10.0)
            if self.path != "/v1/traces" or self.headers["content-type"] != "application/x-protobuf":
                self.send_error(404)
                return
            received.requests.append(ExportTraceServiceRequest.FromString(body))
            self.send_response(200)
            answer = ExportTraceServiceResponse().SerializeToString()
            self.send_header("content-length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    received.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield received
    finally:
        received.answer_delay.set()
        server.shutdown()
        server.server_close()
        thread.join()
