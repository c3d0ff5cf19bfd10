# SPDX-License-Identifier: Apache-2.0
"""Stop, reset, status and the sources, as a person runs them: real processes, real exit codes."""

import io
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from fixtures import ros_messages as ros
from fixtures.analytic_robots import stacked

import lastgate as lg
from lastgate import _core
from lastgate.kernel import process as kernel_process
from lastgate.tools.cli.app import run

PROGRAM = str(Path(sys.executable).with_name("lastgate"))


def lastgate(*arguments, **options):
    command = [PROGRAM, *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, **options)


def start(*arguments):
    return subprocess.Popen(
        [PROGRAM, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def wait_until(holds, seconds=20.0):
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_stop_status_and_reset_of_a_running_kernel(start_kernel):
    kernel = start_kernel(stacked(2), without_world=True, reset_cooldown_s=0.05)
    failures = _core.RingReader(kernel.instance, "failures")
    assert lastgate("status", "--robot", kernel.instance).returncode == 0
    stopped = lastgate("estop", "--robot", kernel.instance, "--reason", "smoke")
    assert (stopped.returncode, stopped.stdout) == (0, "latched\n")
    failure = ros.from_bytes(failures.read(1.0)[3], "openral_msgs/msg/FailureTrigger")
    assert failure.kind == lg.FailureKind.HUMAN
    assert lg.read_evidence(failure.evidence_json).reason == "smoke"
    status = lastgate("status", "--robot", kernel.instance, "--json")
    assert status.returncode == 1
    assert json.loads(status.stdout)["reason"] == "smoke"
    assert lastgate("reset", "--robot", kernel.instance).returncode == 0
    assert lastgate("status", "--robot", kernel.instance).returncode == 0


def test_status_of_a_kernel_that_waits_says_for_whom_and_that_of_an_active_one_does_not(start_kernel):
    waiting = start_kernel(stacked(2), without_world=True, required_sources=["deadman"])
    for words in ([], ["--json"]):
        status = lastgate("status", "--robot", waiting.instance, *words)
        assert (status.returncode, "inactive" in status.stdout) == (0, True)
        assert "a required source has never come" in status.stderr
        assert f"`lastgate deadman --robot {waiting.instance}`" in status.stderr
    assert json.loads(status.stdout)["state"] == "inactive"
    active = start_kernel(stacked(2), without_world=True)
    assert lastgate("status", "--robot", active.instance).stderr == ""


@pytest.mark.parametrize("reason", [b"", b"gr\xfcn", b"two\nlines"])
def test_stop_is_a_stop_whatever_its_reason_is_written_in(start_kernel, reason):
    kernel = start_kernel(stacked(2), without_world=True, reset_cooldown_s=0.01)
    assert lastgate("estop", "--robot", kernel.instance, "--reason", os.fsdecode(reason)).returncode == 0
    assert kernel.status().latched
    time.sleep(0.05)
    assert kernel.reset().success
    # A strict locale would refuse to read such a line.
    heard = subprocess.run(
        [PROGRAM, "human", "--robot", kernel.instance],
        input=reason + b"\n",
        check=False,
        timeout=60,
        env={**os.environ, "PYTHONIOENCODING": "utf-8:strict"},
    )
    assert heard.returncode == 0
    assert kernel.status().latched


def test_line_that_stops_no_kernel_does_not_deafen_the_human_source(start_kernel, monkeypatch, capsys):
    kernel = start_kernel(stacked(2), without_world=True)
    kernels = iter([[kernel.instance], ["one-that-is-gone"], [], [kernel.instance]])  # the third is its hint
    monkeypatch.setattr(kernel_process, "running_kernels", lambda user="": [] if user else next(kernels))
    monkeypatch.setattr(sys, "stdin", io.StringIO("first\nsecond\n"))
    assert run(["human"]) == 2
    assert "one-that-is-gone" in capsys.readouterr().err
    assert kernel.status().reason == "second"


def test_human_source_says_at_once_that_a_line_would_stop_nothing(start_kernel, monkeypatch, capsys):
    monkeypatch.setattr(sys, "stdin", io.StringIO(""))
    assert run(["human", "--robot", "absent"]) == 0
    assert "no kernel `absent` runs: a line would stop nothing" in capsys.readouterr().err
    kernel = start_kernel(stacked(2), without_world=True)
    assert run(["human", "--robot", kernel.instance]) == 0
    assert capsys.readouterr().err == ""


def test_refused_reset_exits_1_and_says_why(start_kernel):
    kernel = start_kernel(stacked(2), without_world=True, reset_cooldown_s=60.0)
    kernel.estop("now")
    refused = lastgate("reset", "--robot", kernel.instance)
    assert refused.returncode == 1
    assert "cooling down" in refused.stdout


def test_without_a_name_the_only_kernel_is_meant_and_two_must_be_told_apart(
    start_kernel, monkeypatch, capsys
):
    # Other kernels may run on this machine: only those of this test are checked.
    names: list[str] = []
    monkeypatch.setattr(kernel_process, "running_kernels", lambda user="": [] if user else names)
    first = start_kernel(stacked(2), without_world=True, reset_cooldown_s=0.05)
    names = [first.instance]
    first.estop("now")
    assert run(["status"]) == 1
    time.sleep(0.1)
    assert run(["reset"]) == 0
    assert run(["status", "--json"]) == 0
    second = start_kernel(stacked(2), without_world=True)
    names = [first.instance, second.instance]
    for words in (["status"], ["reset"], ["deadman"], ["pendant", "--device", "/dev/null"], ["telemetry"]):
        capsys.readouterr()
        assert run(words) == 2
        assert "several kernels run" in capsys.readouterr().err
    names = []
    for words in (["status"], ["reset"], ["estop"], ["deadman"], ["human"]):
        monkeypatch.setattr(sys, "stdin", io.StringIO("stop\n"))
        assert run(words) == 2
        assert "no kernel runs" in capsys.readouterr().err


def test_stop_without_a_name_stops_every_kernel_even_if_one_is_gone(start_kernel, monkeypatch, capsys):
    first = start_kernel(stacked(2), without_world=True)
    second = start_kernel(stacked(2), without_world=True)
    third = start_kernel(stacked(2), without_world=True)
    names = [first.instance, "one-that-is-gone", second.instance]
    monkeypatch.setattr(kernel_process, "running_kernels", lambda user="": [] if user else names)
    assert run(["estop", "--reason", "smoke"]) == 2
    assert "one-that-is-gone" in capsys.readouterr().err
    assert [kernel.status().reason for kernel in (first, second)] == ["smoke", "smoke"]
    assert not third.status().latched
    names = [third.instance]
    assert run(["estop"]) == 0
    assert third.status().latched


@pytest.mark.parametrize("word", ["estop", "reset", "status", "deadman"])
def test_without_a_kernel_the_command_says_how_to_start_one(word):
    answer = lastgate(word, "--robot", "absent")
    assert answer.returncode == 2
    assert "is the kernel running?" in answer.stderr
    assert "lastgate kernel run" in answer.stderr


@pytest.mark.parametrize("word", ["estop", "reset", "status"])
def test_kernel_that_was_misspelt_is_answered_with_those_that_run(word, start_kernel):
    kernel = start_kernel(stacked(2), without_world=True)
    answer = lastgate(word, "--robot", "absent")
    assert answer.returncode == 2
    assert f"`{kernel.instance}`" in answer.stderr
    assert ("nothing was stopped, use the hardware stop" in answer.stderr) == (word == "estop")
    assert not kernel.status().latched


def test_what_a_killed_kernel_left_is_not_taken_for_one_and_keeps_no_other_out(start_kernel):
    killed = start_kernel(stacked(2), without_world=True)
    os.kill(killed.pid, signal.SIGKILL)
    os.waitid(os.P_PID, killed.pid, os.WEXITED | os.WNOWAIT)
    dead = lastgate("status", "--robot", killed.instance)
    assert (dead.returncode, "is not alive" in dead.stderr) == (2, True)
    again = start_kernel(stacked(2), without_world=True, instance=killed.instance)
    assert lastgate("status", "--robot", again.instance).stdout.startswith("active")


def test_m01_m02_x28_deadman_stops_when_chunks_cease_and_again_after_a_reset(start_kernel):
    kernel = start_kernel(stacked(2), without_world=True, required_sources=["deadman"], reset_cooldown_s=0.05)
    failures = _core.RingReader(kernel.instance, "failures")
    assert kernel.status().state is lg.KernelState.INACTIVE
    deadman = start("deadman", "--robot", kernel.instance, "--safe-action-deadline-s", "0.6")
    try:
        wait_until(lambda: kernel.status().state is lg.KernelState.ACTIVE)
        for _ in range(30):  # 1.5 s of chunks in time
            kernel.observe(np.zeros(2))
            assert kernel.submit(np.zeros((1, 2))).accepted
            time.sleep(0.05)
        wait_until(lambda: kernel.status().latched)
        assert kernel.status().source == "deadman"
        failure = ros.from_bytes(failures.read(1.0)[3], "openral_msgs/msg/FailureTrigger")
        assert failure.kind == lg.FailureKind.TIMEOUT
        evidence = lg.read_evidence(failure.evidence_json)
        assert (evidence.operation, evidence.elapsed_s > 0.6) == ("safe_action", True)
        wait_until(lambda: kernel.reset().success)
        wait_until(lambda: kernel.status().latched)  # armed again
    finally:
        deadman.kill()
        deadman.communicate()
    # The deadman itself is required: its death stops too, and blocks the reset.
    wait_until(lambda: "absence of deadman" in kernel.reset().message)


def test_pendant_that_is_not_there_holds_the_stop(start_kernel, tmp_path):
    kernel = start_kernel(stacked(2), without_world=True, reset_cooldown_s=0.01)
    pendant = start("pendant", "--robot", kernel.instance, "--device", str(tmp_path / "ttyUSB0"))
    try:
        wait_until(lambda: kernel.status().latched)
        assert "lost" in kernel.status().reason
        assert "`pendant` is still asserted" in kernel.reset().message
    finally:
        pendant.kill()
        pendant.communicate()


def test_kernel_run_needs_a_rate_and_a_robot(tmp_path):
    assert "--rate-hz" in lastgate("kernel", "run", "--robot", "franka_panda").stderr
    assert lastgate("kernel", "run").returncode == 2
    broken = tmp_path / "kernel.yaml"
    broken.write_text("schema_version: 1\n")
    answer = lastgate("kernel", "run", "--config", str(broken))
    assert answer.returncode == 2
    assert "robot_name" in answer.stderr


def test_kernel_run_becomes_the_kernel_and_ends_cleanly(tmp_path):
    instance = f"run-{os.getpid()}"
    environment = {**os.environ, "LASTGATE_STATE_DIR": str(tmp_path)}
    command = [
        "kernel",
        "run",
        "--robot",
        "franka_panda",
        "--rate-hz",
        "50",
        "--instance",
        instance,
        "--without-world",
    ]
    kernel = subprocess.Popen(
        [PROGRAM, *command],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    )
    assert kernel.stdout is not None
    assert kernel.stdout.readline() == "ready franka_panda\n"
    # The panda's envelope asks for a deadman, and none runs: not armed.
    assert lastgate("status", "--robot", instance).stdout.startswith("inactive")
    kernel.terminate()
    kernel.communicate(timeout=10)
    assert kernel.returncode == 0
    assert not _core.kernel_is_alive(instance)


def test_warn_only_is_told_by_the_status_and_its_absence_too(start_kernel):
    lenient = start_kernel(stacked(2), without_world=True, warn_only=True)
    strict = start_kernel(stacked(2), without_world=True)
    assert (lenient.status().warn_only, strict.status().warn_only) == (True, False)
    for kernel, is_lenient in ((lenient, True), (strict, False)):
        said = lastgate("status", "--robot", kernel.instance)
        assert (said.returncode, said.stdout.startswith("active")) == (0, True)
        assert ("warn only: chunks that break a rule pass" in said.stdout) is is_lenient
        assert ("warning: warn only" in said.stderr) is is_lenient
        fields = json.loads(lastgate("status", "--robot", kernel.instance, "--json").stdout)
        assert fields["warn_only"] is is_lenient
    lenient.estop("a real stop")
    assert lenient.status().reason == "a real stop"  # which still stops


def test_escape_sequences_in_a_reason_are_shown_and_not_obeyed(start_kernel):
    kernel = start_kernel(stacked(2), without_world=True)
    kernel.estop("\x1b[2Jgone \x07\u202e")
    said = lastgate("status", "--robot", kernel.instance)
    assert "\x1b" not in said.stdout
    assert r"\x1b[2Jgone \x07\u202e" in said.stdout
    # As data it is what it was.
    fields = json.loads(lastgate("status", "--robot", kernel.instance, "--json").stdout)
    assert fields["reason"] == "\x1b[2Jgone \x07\u202e"
