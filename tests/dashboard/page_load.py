# SPDX-License-Identifier: Apache-2.0
"""Keeps a page busy until it is killed: `python page_load.py KIND PORT`. Says `ready` once the load stands."""

import base64
import contextlib
import gzip
import http.client
import os
import resource
import socket
import sys
import threading
import time
from collections.abc import Callable

# Every two bytes are one empty ResourceSpans: 15 kB of gzip, 15 MB of protobuf, gigabytes of Python objects.
EXPANDING = gzip.compress(b"\x0a\x00" * 7_500_000)
# One span without a name in one scope of one resource.
SMALL = bytes.fromhex("0a 04 12 02 12 00")
SLOW_HEADS = (
    b"GET / HTTP/1.1\r\nHost: localhost\r\nX-Slow: ",
    b"POST /api/estop HTTP/1.1\r\nHost: localhost\r\nX-Slow: ",
    b"P",
)
SLOW_BODY = (
    b"POST /v1/traces HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-protobuf\r\n"
    b"Content-Length: 8000000\r\n\r\n"
)


def connected(port: int) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), timeout=10)


def hold(port: int, starts: list[bytes], drip: bytes) -> None:
    """Keeps as many connections open as there are starts, each sent a byte now and then; replaces what is closed."""
    held: list[socket.socket] = []
    while True:
        for start in starts[len(held) :]:
            with contextlib.suppress(OSError):
                held.append(connected(port))
                held[-1].sendall(start)
        print("ready", flush=True)
        time.sleep(0.2)
        for stream in list(held):
            if not is_open(stream, drip):
                held.remove(stream)
                stream.close()


def is_open(stream: socket.socket, drip: bytes) -> bool:
    try:
        stream.sendall(drip)
        return stream.recv(1, socket.MSG_DONTWAIT) != b""
    except BlockingIOError:
        return True
    except OSError:
        return False


def post(port: int, body: bytes, **headers: str) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    with contextlib.suppress(OSError, http.client.HTTPException), contextlib.closing(connection):
        connection.request("POST", "/v1/traces", body, {"Content-Type": "application/x-protobuf"} | headers)
        connection.getresponse().read()


def ask_for_feed(port: int) -> None:
    key = base64.b64encode(os.urandom(16)).decode()
    with contextlib.suppress(OSError), connected(port) as stream:
        stream.sendall(
            f"GET /live HTTP/1.1\r\nHost: localhost:{port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            f"Sec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n\r\n".encode()
        )
        stream.recv(100)


def flood(act: Callable[[], None], threads: int) -> None:
    def again_and_again() -> None:
        while True:
            act()

    for _ in range(threads):
        threading.Thread(target=again_and_again, daemon=True).start()
    time.sleep(1.0)
    print("ready", flush=True)
    threading.Event().wait()


def main(kind: str, port: int) -> None:
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(4096, most), most))
    loads: dict[str, Callable[[], None]] = {
        "64 idle connections": lambda: hold(port, [b""] * 64, b""),
        "1000 idle connections": lambda: hold(port, [b""] * 1000, b""),
        "slow headers": lambda: hold(port, [SLOW_HEADS[index % 3] for index in range(150)], b"O"),
        "slow bodies": lambda: hold(port, [SLOW_BODY] * 100, b"x"),
        "bodies that expand": lambda: flood(lambda: post(port, EXPANDING, **{"Content-Encoding": "gzip"}), 4),
        "flood of feeds": lambda: flood(lambda: ask_for_feed(port), 8),
        "flood of spans": lambda: flood(lambda: post(port, SMALL), 8),
    }
    loads[kind]()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
