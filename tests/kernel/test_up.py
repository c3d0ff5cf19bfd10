# SPDX-License-Identifier: Apache-2.0
"""`lastgate up`: starts every process, restarts none, says which is missing."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from fixtures.analytic_robots import stacked

from lastgate import _core
from lastgate.kernel import process as kernel_process
from lastgate.tools.cli import up

PROGRAM = str(Path(sys.executable).with_name("lastgate"))


def wait_until(holds, seconds=30.0):
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.02)


class Up:
    """One running `lastgate up` of a robot that requires a deadman."""

    def __init__(self, folder: Path, *arguments: str, name: str | None = None, manifest=None) -> None:
        self.name = name or f"up-{os.getpid()}-{time.monotonic_ns() % 10**9}"
        self.robot = folder / "robot.yaml"
        safety = {"deadman_required": True}
        self.robot.write_text(json.dumps(manifest or stacked(2, safety=safety)))  # JSON is YAML
        self.log = folder / f"{self.name}.log"
        command = [PROGRAM, "up", "--robot", str(self.robot), "--rate-hz", "10", "--instance", self.name]
        command += ["--state-dir", str(folder), "--no-page", *arguments, "--", "--without-world"]
        with self.log.open("w") as log:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=log)

    def said(self, text: str, *, times: int = 1) -> bool:
        return self.log.read_text().count(text) >= times

    def child(self, word: str) -> int:
        """Returns the process of this group that runs this program, or this command of `lastgate`."""
        for entry in Path("/proc").iterdir():
            if not entry.name.isdigit():
                continue
            try:
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
                command = (entry / "cmdline").read_text().split("\0")
            except OSError:
                continue
            ours = command[0].endswith(word) or command[1:4] == ["-m", "lastgate.tools.cli", word]
            if parent == self.process.pid and ours:
                return int(entry.name)
        raise AssertionError(f"no {word} under {self.process.pid}")

    def state(self) -> str:
        message = _core.RingReader(self.name, "statuses", from_newest=True).read(1.0)
        return ("unconfigured", "inactive", "active", "latched")[_core.read_safety_status(message[3]).state]

    def end(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(30)


@pytest.fixture
def start_up(tmp_path):
    running = []

    def start(*arguments, **options):
        running.append(Up(tmp_path, *arguments, **options))
        return running[-1]

    yield start
    for one in running:
        if one.process.poll() is None:
            one.end()


def test_group_arms_lets_chunks_pass_and_ends_without_a_trace(start_up):
    up = start_up("--safe-action-deadline-s", "60")
    wait_until(lambda: up.said("armed"))
    channel = _core.ChannelClient(up.name)
    channel.observe(_core.encode_joint_state(["j0", "j1"], positions=np.zeros(2), stamp_s=time.time()))
    chunk = _core.encode_action_chunk(np.zeros((1, 2)), control_mode=0, stamp_s=time.time())
    assert channel.wait_verdict(channel.submit(chunk), timeout_s=1.0).passed
    assert up.end() == 0
    assert not _core.kernel_is_alive(up.name)
    # The kernel went first: no process was missed, so the next start is not latched.
    again = start_up("--safe-action-deadline-s", "60", name=up.name)
    wait_until(lambda: again.said("armed"))
    # Another one under this name refuses, and leaves the first alone.
    second = start_up("--safe-action-deadline-s", "60", name=up.name)
    assert second.process.wait(30) == 3
    assert again.state() == "active"


def test_source_that_dies_is_reported_not_restarted_and_stops_the_robot(start_up):
    up = start_up("--safe-action-deadline-s", "60")
    wait_until(lambda: up.said("armed"))
    os.kill(up.child("deadman"), signal.SIGKILL)
    wait_until(lambda: up.said("deadman is gone (code -9)"))
    wait_until(lambda: up.state() == "latched")
    time.sleep(0.5)
    assert up.state() == "latched"
    assert up.end() == 3


def test_every_stop_and_every_return_is_said_where_the_group_was_started(start_up):
    up = start_up("--safe-action-deadline-s", "60")
    wait_until(lambda: up.said("armed"))
    kernel_process.stop_kernel(up.name, source="operator", reason="smoke")
    wait_until(lambda: up.said("a stop is latched: smoke (operator); `lastgate reset --robot"))
    channel = _core.ChannelClient(up.name)
    wait_until(lambda: channel.command("reset", 2.0)[0])
    wait_until(lambda: up.said("armed", times=2))
    assert up.end() == 0


def test_kernel_that_dies_ends_the_group(start_up):
    up = start_up("--safe-action-deadline-s", "60")
    wait_until(lambda: up.said("armed"))
    os.kill(up.child("lastgate-kernel"), signal.SIGKILL)
    assert up.process.wait(30) == 3
    assert up.said("kernel is gone (code -9)")
    assert list(Path(_core.memory_folder()).glob(f"lastgate.{up.name}.*")) == []


@pytest.mark.parametrize("installed", [True, False])
def test_page_that_cannot_be_started_is_named(tmp_path, monkeypatch, capsys, installed):
    started = []
    monkeypatch.setattr(up, "_has_dashboard", lambda: installed)
    monkeypatch.setattr(up, "_run", lambda name, kernel, others, ending: started.extend(others) or 0)
    monkeypatch.setattr(up.signal, "signal", lambda *_: None)
    robot = tmp_path / "robot.yaml"
    robot.write_text(json.dumps(stacked(2)))
    assert up.up_command(robot=str(robot), rate_hz=10.0) == 0
    assert ("dashboard" in started) == installed
    assert ("the page is not started" in capsys.readouterr().err) == (not installed)


def test_group_that_is_killed_takes_its_kernel_with_it(start_up):
    up = start_up("--safe-action-deadline-s", "60")
    wait_until(lambda: up.said("armed"))
    up.process.kill()
    up.process.wait()
    wait_until(lambda: not _core.kernel_is_alive(up.name))


def test_group_that_is_killed_before_its_kernel_has_started_leaves_none(start_up):
    up = start_up("--safe-action-deadline-s", "60")

    def kernel_is_on_its_way() -> bool:
        try:
            return up.child("kernel") > 0
        except AssertionError:
            return False

    wait_until(kernel_is_on_its_way)  # an interpreter still, which becomes the kernel later
    kernel = up.child("kernel")
    up.process.kill()
    up.process.wait()
    wait_until(lambda: not Path(f"/proc/{kernel}").exists())
    assert not _core.kernel_is_alive(up.name)


def test_without_its_deadman_the_kernel_is_not_armed_and_up_says_so(start_up):
    up = start_up("--no-deadman")
    wait_until(lambda: up.said("ready as"))
    assert up.said("the envelope requires a deadman and none is started")
    assert up.state() == "inactive"
    assert up.end() == 0


def test_pendant_that_is_not_there_is_a_stop(start_up, tmp_path):
    up = start_up("--safe-action-deadline-s", "60", "--pendant", str(tmp_path / "ttyUSB0"))
    wait_until(lambda: up.said("a stop is latched"))
    assert up.said("lost")
    up.end()


@pytest.mark.parametrize("arguments", [("--safe-action-deadline-s", "x"), ("--skill", "/nowhere.yaml")])
def test_what_cannot_be_started_exits_2(start_up, arguments):
    assert start_up(*arguments).process.wait(30) == 2


def test_robot_that_cannot_be_armed_exits_2_and_says_why(start_up):
    manifest = stacked(2) | {"collision_geometry": []}
    up = start_up(manifest=manifest)
    assert up.process.wait(30) == 2
    assert up.said("error:")
