# SPDX-License-Identifier: Apache-2.0
"""A page of a store that the test fills itself, kernels for pages to watch, and a real browser."""

import http.client
import itertools
import json
import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import lastgate as lg
from lastgate.kernel.estop import SafetyLatch
from lastgate.tools.dashboard.access import Token
from lastgate.tools.dashboard.control import Control, LatchControl
from lastgate.tools.dashboard.robot_scene import RobotScene
from lastgate.tools.dashboard.server import DashboardServer
from lastgate.tools.dashboard.store import LiveStore

COOLDOWN_S = 0.3
_numbers = itertools.count()


@dataclass
class Page:
    """A running server with what it shows and what its buttons act on."""

    store: LiveStore
    control: Control
    token: Token
    server: DashboardServer

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.server.port}"

    def ask(
        self, method: str, path: str, body: bytes | None = None, **headers: str
    ) -> tuple[int, dict[str, str], bytes]:
        """Returns status, headers and body; a header's `_` is a dash."""
        connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=10)
        try:
            spelled = {name.replace("_", "-"): value for name, value in headers.items()}
            connection.request(method, path, body, spelled)
            answer = connection.getresponse()
            return (
                answer.status,
                {name.lower(): value for name, value in answer.getheaders()},
                answer.read(),
            )
        finally:
            connection.close()

    def json(self, path: str) -> Any:
        status, _, body = self.ask("GET", path)
        assert status == 200
        return json.loads(body)


@pytest.fixture(scope="session")
def panda() -> RobotScene:
    return RobotScene(lg.load_robot("franka_panda"))


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Callable[..., Page]]:
    running: list[Page] = []

    def start(store: LiveStore | None = None, control: Control | None = None) -> Page:
        made = store or LiveStore(source="demo")
        acts_on = control or LatchControl(SafetyLatch(cooldown_s=COOLDOWN_S))
        token = Token(tmp_path / f"{len(running)}.token")
        page = Page(made, acts_on, token, DashboardServer(made, acts_on, token, port=0))
        running.append(page)
        return page

    yield start
    for page in running:
        page.server.close()
        page.token.forget()


@pytest.fixture
def start_kernel(tmp_path: Path) -> Iterator[Callable[..., lg.KernelClient]]:
    running: list[lg.KernelClient] = []

    def start(robot: lg.RobotDescription, **settings: Any) -> lg.KernelClient:
        client = lg.KernelClient(
            robot,
            rate_hz=50.0,
            instance=f"page-test-{os.getpid()}-{next(_numbers)}",
            state_dir=tmp_path,
            settings=lg.KernelSettings(**settings),
        )
        running.append(client)
        return client

    yield start
    for client in running:
        client.close()


# One browser for a module, not for the session: while it is open, Playwright keeps an event loop running in this
# thread, and any test that came after it in the same worker could not start its own.
@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    program = shutil.which("chromium") or shutil.which("chromium-browser")
    if program is None:
        pytest.skip("there is no chromium here: apt-get install chromium")
    from playwright import sync_api

    with sync_api.sync_playwright() as playwright:
        # Software rendering: WebGL2 without a graphics card. No sandbox: tests run as root in containers.
        flags = ["--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"]
        running = playwright.chromium.launch(executable_path=program, args=flags, timeout=90_000)
        yield running
        running.close()
