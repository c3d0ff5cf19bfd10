# SPDX-License-Identifier: Apache-2.0
"""Who may do what: this machine may look and stop, the token may reset, and no other page may do anything."""

import collections
import contextlib
import json
import socket
import stat
import time

import pytest
from fixtures.patience import until
from starlette.datastructures import Headers
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

from lastgate.contracts import ROSConfigError
from lastgate.tools.dashboard.access import Token, refusal_of
from lastgate.tools.dashboard.server import VIEWERS_MAX, DashboardServer

FOREIGN = {"Origin": "https://evil.example"}
READS = ("/", "/page/main.js", "/api/status", "/api/ledger")


def bearer(page) -> dict[str, str]:
    return {"Authorization": f"Bearer {page.token.text}"}


@pytest.mark.parametrize("path", READS)
def test_this_machine_may_look_without_a_token(serve, path):
    status, headers, body = serve().ask("GET", path)
    assert status == 200
    assert body
    assert headers["x-content-type-options"] == "nosniff"
    policy = headers["content-security-policy"]
    assert policy.startswith("default-src 'none'")
    assert "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "[::1]", "localhost:9", "LOCALHOST:4318"])
def test_loopback_names_are_hosts(host):
    assert refusal_of(Headers({"host": host}), is_page=False) is None


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:4318",
        "localhost.evil.example",
        "127.0.0.1.nip.io",
        "localhost:80:80",
        "127.0.0.2",
        "0.0.0.0",
        "",
        "localhost@evil.example",
        "[::ffff:127.0.0.1]",
    ],
)
def test_name_that_dns_could_point_here_is_refused(host):
    assert "Host" in (refusal_of(Headers({"host": host}), is_page=True) or "")


def test_request_without_a_host_or_with_two_is_refused():
    assert refusal_of(Headers({}), is_page=True) is not None
    twice = Headers(raw=[(b"host", b"localhost"), (b"host", b"evil.example")])
    assert refusal_of(twice, is_page=True) is not None


@pytest.mark.parametrize(
    "origin",
    ["https://evil.example", "null", "http://localhost", "http://localhost:3000", "https://localhost:4318"],
)
def test_origin_of_another_page_is_refused(origin):
    headers = Headers({"host": "localhost:4318", "origin": origin})
    assert refusal_of(headers, is_page=True) == "requests from other pages are refused"


def test_own_origin_passes():
    headers = {"host": "localhost:4318", "origin": "http://localhost:4318", "sec-fetch-site": "same-origin"}
    assert refusal_of(Headers(headers), is_page=False) is None


def test_other_page_may_link_to_the_page_and_load_nothing_of_it():
    linked = {"host": "localhost", "sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}
    loaded = linked | {"sec-fetch-mode": "no-cors"}
    assert refusal_of(Headers(linked), is_page=True) is None
    assert refusal_of(Headers(linked), is_page=False) is not None
    assert refusal_of(Headers(loaded), is_page=True) is not None


@pytest.mark.parametrize("path", [*READS, "/nowhere"])
def test_rebound_host_reads_nothing(serve, path):
    status, headers, body = serve().ask("GET", path, Host="rebound.example:4318")
    assert status == 403
    assert b"Host" in body
    assert "content-security-policy" in headers


@pytest.mark.parametrize("path", ["/api/estop", "/api/reset", "/v1/traces"])
def test_foreign_origin_writes_nothing(serve, path):
    page = serve()
    status, _, _ = page.ask("POST", path, b"{}", **FOREIGN, **bearer(page))
    assert status == 403
    assert not page.control.latched


def test_any_local_client_may_stop_and_only_the_token_resets(serve):
    page = serve()
    status, _, body = page.ask("POST", "/api/estop", json.dumps({"reason": "smoke"}).encode())
    assert (status, json.loads(body)) == (200, {"success": True, "message": "latched"})
    assert page.control.latched
    assert page.control.reason == "smoke"
    time.sleep(0.4)
    for authorization in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": page.token.text}):
        status, _, body = page.ask("POST", "/api/reset", b"", **authorization)
        assert status == 403
        assert "token" in json.loads(body)["message"]
        assert page.control.latched
    status, _, body = page.ask("POST", "/api/reset", b"", **bearer(page))
    assert (status, json.loads(body)) == (200, {"success": True, "message": "reset"})
    assert not page.control.latched


def test_reset_before_the_cooldown_says_why_not(serve):
    page = serve()
    page.ask("POST", "/api/estop")
    status, _, body = page.ask("POST", "/api/reset", b"", **bearer(page))
    assert status == 409
    assert "cooling down" in json.loads(body)["message"]
    assert page.control.latched


@pytest.mark.parametrize("body", [b"", b"\xff", b"[1]", b'{"reason": 5}', b"[" * 900, b"x" * 100_000])
def test_stop_with_a_body_that_cannot_be_read_stops(serve, body):
    page = serve()
    assert page.ask("POST", "/api/estop", body)[0] == 200
    assert page.control.latched


@pytest.mark.parametrize("path", ["/api/estop", "/api/reset"])
def test_get_neither_stops_nor_resets(serve, path):
    page = serve()
    assert page.ask("GET", path, **bearer(page))[0] == 405
    assert not page.control.latched


@pytest.mark.parametrize(
    "path", ["/page/../server.py", "/page/%2e%2e/server.py", "/page/..%2Fserver.py", "/page/x"]
)
def test_nothing_but_the_page_is_served(serve, path):
    status, _, body = serve().ask("GET", path)
    assert status == 404
    assert b"import" not in body


def test_header_larger_than_any_browser_sends_is_refused(serve):
    page = serve()
    with (
        socket.create_connection(("127.0.0.1", page.server.port), timeout=10) as raw,
        contextlib.suppress(ConnectionError),  # cut off while we were still sending
    ):
        raw.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"x" * 4_000_000 + b"\r\n\r\n")
        assert b" 400 " in raw.recv(100)
    assert page.ask("GET", "/api/status")[0] == 200


def test_socket_of_a_foreign_page_is_refused_and_the_own_is_not(serve):
    page = serve()
    for headers in ({"Origin": "https://evil.example"}, {"Origin": "null"}):
        with (
            pytest.raises(InvalidStatus) as refused,
            connect(f"ws://{page.address}/live", additional_headers=headers),
        ):
            pass
        assert refused.value.response.status_code == 403
    with connect(f"ws://{page.address}/live", origin=f"http://{page.address}") as live:
        assert json.loads(live.recv(timeout=10))["type"] == "hello"


def test_socket_to_a_rebound_host_is_refused(serve):
    page = serve()
    with socket.create_connection(("127.0.0.1", page.server.port), timeout=10) as raw:
        raw.sendall(
            b"GET /live HTTP/1.1\r\nHost: rebound.example\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"
        )
        assert b" 403 " in raw.recv(200)


def test_one_browser_too_many_is_refused_and_a_place_is_free_again_after_one_leaves(serve):
    page = serve()
    address = f"ws://{page.address}/live"
    with contextlib.ExitStack() as looking:
        for _ in range(VIEWERS_MAX - 1):
            looking.enter_context(connect(address)).recv(timeout=10)
        with connect(address) as last:
            last.recv(timeout=10)
            with pytest.raises(InvalidStatus), connect(address):
                pass
        until(lambda: page.server.viewers < VIEWERS_MAX)
        with connect(address) as live:
            assert json.loads(live.recv(timeout=10))["type"] == "hello"


def test_browser_that_sends_a_lot_is_cut_off_and_the_others_are_not(serve):
    page = serve()
    with connect(f"ws://{page.address}/live") as calm, connect(f"ws://{page.address}/live") as loud:
        calm.recv(timeout=10)
        loud.send("x" * 100_000)
        with pytest.raises(ConnectionClosed, match="1009"):
            collections.deque(iter(lambda: loud.recv(timeout=5), None), maxlen=0)
        assert json.loads(calm.recv(timeout=10))["type"]


def test_token_file_is_for_this_user_only_and_goes_with_the_server(tmp_path):
    path = tmp_path / "folder" / "page.token"
    path.parent.mkdir()
    path.write_text("old")
    path.chmod(0o644)
    token = Token(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert path.read_text().strip() == token.text
    assert token.text != Token(tmp_path / "other.token").text
    assert token.allows(f"Bearer {token.text}")
    for wrong in (None, "", "Bearer ", f"bearer {token.text}", f"Bearer {token.text} ", "Bearer \udcff"):
        assert not token.allows(wrong)
    token.forget()
    assert not path.exists()


def test_token_that_cannot_be_written_is_said(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ROSConfigError, match="cannot write the token"):
        Token(tmp_path / "file" / "page.token")


def test_port_that_is_taken_or_none_is_said(serve):
    page = serve()
    for port, why in ((page.server.port, "in use"), (70_000, "0 to 65535")):
        with pytest.raises(ROSConfigError, match=why):
            DashboardServer(page.store, page.control, page.token, port=port)


def test_only_this_machine_is_listened_to(serve):
    listening = serve().server._front.sockets
    assert {address.getsockname()[0] for address in listening} <= {"127.0.0.1", "::1"}
