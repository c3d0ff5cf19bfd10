# SPDX-License-Identifier: Apache-2.0
"""Decodes telemetry in a process of its own, with bounds on memory and time: 15 kB may unpack to gigabytes."""

import contextlib
import json
import socket
import subprocess
import sys
import threading

from lastgate.tools.dashboard import otlp

# A batch of 512 spans takes milliseconds. The rest is for machines that are busy, where this process comes last.
DECODE_S_MAX = 5.0


class SpanDecoder:
    """Reads export requests, one at a time, in a process that is started with the first and replaced when it fails."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._stream: socket.socket | None = None

    def read(self, body: bytes, *, content_type: str, content_encoding: str) -> list[otlp.Span]:
        """Returns the spans that the page shows, and a name for each of the others.

        Raises:
            RefusedRequest: As `otlp.read_request`, or decoding needs more memory or time than it may take (413).
        """
        with self._lock:
            stream = self._started()
            try:
                otlp.send_frame(stream, json.dumps([content_type, content_encoding]).encode(), body)
                said, _ = otlp.receive_frame(stream)
            except OSError:
                self._end()
                raise otlp.RefusedRequest(
                    413, f"decoding takes more than {otlp.MEMORY_BYTES_MAX} bytes or {DECODE_S_MAX:g} s"
                ) from None
        answer = json.loads(said)
        if "status" in answer:
            raise otlp.RefusedRequest(answer["status"], answer["reason"])
        return [otlp.Span(**{**span, "events": tuple(span["events"])}) for span in answer["spans"]]

    def _started(self) -> socket.socket:
        if self._stream is None or self._process is None or self._process.poll() is not None:
            self._end()
            self._stream, theirs = socket.socketpair()
            with theirs:
                self._process = subprocess.Popen(
                    # As a file, not as a module of the package, which takes ten times as long to import.
                    [sys.executable, "-P", str(otlp.__file__), str(theirs.fileno())],
                    pass_fds=[theirs.fileno()],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                )
            # Once: the start of the process counts, and is not the sender's fault.
            self._stream.settimeout(4 * DECODE_S_MAX)
            with contextlib.suppress(OSError):
                otlp.receive_frame(self._stream)
            self._stream.settimeout(DECODE_S_MAX)
        return self._stream

    def _end(self) -> None:
        if self._stream is not None:
            self._stream.close()
        if self._process is not None:
            self._process.kill()
            self._process.wait()
        self._stream = self._process = None

    def close(self) -> None:
        """Ends the process."""
        with self._lock:
            self._end()
