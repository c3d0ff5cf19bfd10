# SPDX-License-Identifier: Apache-2.0
"""`lastgate dashboard` as a person runs it: a process, an address, a token, and an end."""

import json
import os
import re
import signal
import stat
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path

import numpy as np
import pytest
from fixtures.patience import submit_fresh, until

import lastgate as lg
from lastgate.tools.cli.app import run

PROGRAM = str(Path(sys.executable).with_name("lastgate"))
START = np.array([0.0, -0.6, 0.0, -2.2, 0.0, 1.7, 0.785])


def ask(url: str, **options) -> dict:
    """Returns the answer, a refusal as well."""
    try:
        with urllib.request.urlopen(urllib.request.Request(url, **options), timeout=10) as answer:
            return json.load(answer)
    except urllib.error.HTTPError as refusal:
        with refusal:
            return {"status": refusal.code, **json.load(refusal)}


@pytest.fixture
def dashboard(tmp_path):
    started: list[subprocess.Popen[str]] = []

    def start(*arguments: str) -> tuple[subprocess.Popen[str], str, str]:
        process = subprocess.Popen(
            [PROGRAM, "dashboard", "--port", "0", *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=os.environ | {"LASTGATE_STATE_DIR": str(tmp_path)},
        )
        started.append(process)
        assert process.stdout is not None
        found = re.fullmatch(r"(http://127\.0\.0\.1:\d+/)#token=(\S+)\n", process.stdout.readline())
        assert found, process.communicate()
        return process, found[1], found[2]

    yield start
    for process in started:
        if process.poll() is None:
            process.kill()
        process.communicate()


def test_page_of_a_kernel_is_served_until_it_is_told_to_end(dashboard, start_kernel, tmp_path):
    kernel = start_kernel(
        lg.load_robot("franka_panda"), without_world=True, reset_cooldown_s=0.05, on_stale="drop"
    )
    process, url, token = dashboard("--instance", kernel.instance)
    file = tmp_path / "dashboard.token"
    assert file.read_text().strip() == token
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert os.getpriority(os.PRIO_PROCESS, process.pid) > os.getpriority(os.PRIO_PROCESS, kernel.pid)
    until(lambda: ask(f"{url}api/status")["gate"]["state"] == "active")
    assert submit_fresh(kernel, np.linspace(START, START + 0.02, 8)).accepted
    until(lambda: ask(f"{url}api/status")["counts"]["accepted"] == 1)
    assert ask(f"{url}api/estop", method="POST", data=b'{"reason": "smoke"}')["success"]
    assert kernel.status().reason == "smoke"
    authorization = {"Authorization": f"Bearer {token}"}
    until(lambda: ask(f"{url}api/reset", method="POST", headers=authorization)["success"])
    assert not kernel.status().latched
    process.send_signal(signal.SIGTERM)
    assert process.wait(20) == 0
    assert not file.exists()


def test_page_without_a_kernel_runs_and_its_button_says_that_it_stops_nothing(dashboard):
    _, url, _ = dashboard("--instance", "there-is-none")
    until(lambda: "not alive" in ask(f"{url}api/status")["gate"]["note"])
    answer = ask(f"{url}api/estop", method="POST")
    assert answer["status"] == 503
    assert "hardware stop" in answer["message"]


@pytest.mark.parametrize(
    "arguments", [("--port", "70000"), ("--instance", "../x"), ("--robot", "no_such_robot")]
)
def test_page_that_cannot_be_served_exits_with_2(arguments, monkeypatch, tmp_path, capsys):
    monkeypatch.setenv("LASTGATE_STATE_DIR", str(tmp_path))
    monkeypatch.setattr(os, "nice", lambda _: None)
    handlers = [(number, signal.getsignal(number)) for number in (signal.SIGINT, signal.SIGTERM)]
    try:
        assert run(["dashboard", *arguments]) == 2
    finally:
        for number, handler in handlers:
            signal.signal(number, handler)
    assert capsys.readouterr().err.startswith("error: ")
    assert not list(tmp_path.glob("*.token"))
