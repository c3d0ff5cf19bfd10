# SPDX-License-Identifier: Apache-2.0
"""How a kernel process starts and ends, and what it leaves behind."""

import os
import signal
import subprocess
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from fixtures.analytic_robots import only_violation, stacked
from fixtures.kernel_messages import submit

import lastgate as lg
from lastgate import _core
from lastgate.kernel.process import kernel_program
from lastgate.robots.kernel_config import flat_config


def test_client_speaks_to_a_kernel_that_others_started_and_leaves_it_running(start_kernel):
    started = start_kernel(stacked(3))
    with lg.KernelClient(started.robot, rate_hz=10.0, instance=started.instance, start=False) as client:
        started.publish_world(lg.World(primitives=[], stamp_s=time.time(), world_id="room"))
        verdict = submit(client, [[0.01, 0.01, 0.01]])
        assert verdict.accepted, verdict.explain()
        assert verdict.world_id == "room"
        verdict = submit(client, [[9.0, 0.01, 0.01]])
        assert (verdict.violations[0].code, verdict.violations[0].subject) == ("joint_position_limit", "j0")
        with pytest.raises(lg.ROSConfigError, match="was not started here"):
            _ = client.pid
    assert started.status().latched


def test_running_kernel_that_goes_away_is_a_rejection_for_who_only_speaks_to_it(start_kernel):
    started = start_kernel(stacked(3), without_world=True)
    client = lg.KernelClient(started.robot, rate_hz=10.0, instance=started.instance, start=False)
    started.close()
    verdict = client.submit(np.zeros((1, 3)))
    assert verdict.violations[0].code == "not_checked"


def test_running_kernel_of_another_rate_or_robot_or_none_is_refused(start_kernel):
    started = start_kernel(stacked(3), without_world=True)
    for robot, rate_hz in ((started.robot, 11.0), (lg.RobotDescription(**stacked(2)), 10.0)):
        with pytest.raises(lg.ROSConfigError, match="runs another model"):
            lg.KernelClient(robot, rate_hz=rate_hz, instance=started.instance, start=False)
    with pytest.raises(lg.ROSConfigError, match=rf"is the kernel running\?[^$]*`{started.instance}`"):
        lg.KernelClient(started.robot, rate_hz=10.0, instance="absent", start=False)
    with pytest.raises(lg.ROSConfigError, match="are for a kernel that is started here"):
        lg.KernelClient(
            started.robot, rate_hz=10.0, instance=started.instance, start=False, settings=lg.KernelSettings()
        )
    with pytest.raises(lg.ROSConfigError, match="already running\n\nhint: `start=False` speaks to it"):
        lg.KernelClient(started.robot, rate_hz=10.0, instance=started.instance)


def test_settings_and_folder_of_another_type_are_named(tmp_path):
    with pytest.raises(lg.ROSConfigError, match="settings is a dict, expected KernelSettings"):
        lg.KernelClient(lg.RobotDescription(**stacked(3)), rate_hz=50, settings={"without_world": True})
    robot = lg.RobotDescription(**stacked(3))
    with lg.KernelClient(robot, rate_hz=50, instance="folder-as-text", state_dir=str(tmp_path)) as kernel:
        assert not kernel.status().latched


def test_kernel_outlives_the_thread_that_started_it(start_kernel):
    started = []
    thread = threading.Thread(target=lambda: started.append(start_kernel(stacked(3), without_world=True)))
    thread.start()
    thread.join()
    time.sleep(0.1)
    assert submit(started[0], [[0.01] * 3]).accepted


@pytest.mark.parametrize(
    "option",
    [
        ("--cpu", "1.5"),
        ("--cpu", "nan"),
        ("--cpu", "4096"),
        ("--spin-us", "inf"),
        ("--reset-cooldown-s", "nan"),
        ("--require-source", ""),
        ("--require-source", "x" * 32),
        ("--require-actuator", "x" * 32),
    ],
)
def test_option_that_means_nothing_is_refused(tmp_path, option):
    config = tmp_path / "kernel.yaml"
    config.write_text(flat_config(lg.RobotDescription(**stacked(3)), step_s=0.1))
    command = [str(kernel_program()), "--config", str(config), "--instance", f"none-{os.getpid()}"]
    command += ["--latch", str(tmp_path / "latch"), *option]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=30)
    assert done.returncode == 2
    assert done.stderr.startswith("error: ")


def test_second_kernel_of_one_name_refuses_to_start(start_kernel):
    first = start_kernel(stacked(3), without_world=True)
    with pytest.raises(lg.ROSConfigError, match="already running"):
        start_kernel(stacked(3), without_world=True, instance=first.instance)
    assert submit(first, [[0.01] * 3]).accepted


def memory_of(instance: str) -> list[str]:
    return sorted(path.name for path in Path(_core.memory_folder()).glob(f"lastgate.{instance}.*"))


@pytest.mark.parametrize("killed", [False, True])
def test_nothing_lies_in_memory_after_a_kernel(start_kernel, killed):
    kernel = start_kernel(stacked(3), without_world=True)
    assert f"lastgate.{kernel.instance}.lock" in memory_of(kernel.instance)
    if killed:
        os.kill(kernel.pid, signal.SIGKILL)
    kernel.close()
    assert memory_of(kernel.instance) == []


def test_refused_kernel_and_client_of_a_dead_one_leave_the_memory_of_a_running_one_alone(start_kernel):
    first = start_kernel(stacked(3), without_world=True)
    os.kill(first.pid, signal.SIGKILL)
    os.waitid(os.P_PID, first.pid, os.WEXITED | os.WNOWAIT)
    second = start_kernel(stacked(3), without_world=True, instance=first.instance)
    before = memory_of(second.instance)
    with pytest.raises(lg.ROSConfigError, match="already running"):
        start_kernel(stacked(3), without_world=True, instance=second.instance)
    first.close()
    assert not _core.remove_what_a_killed_kernel_left(second.instance)
    assert memory_of(second.instance) == before
    assert submit(second, [[0.01] * 3]).accepted


def test_dead_kernel_is_a_rejection_not_a_hang(start_kernel):
    kernel = start_kernel(stacked(3), without_world=True)
    os.kill(kernel.pid, signal.SIGKILL)
    began = time.monotonic()
    assert only_violation(kernel.submit(np.zeros((1, 3)))).code == lg.ViolationCode.not_checked
    assert time.monotonic() - began < 3.0


def test_stderr_whose_reader_is_gone_does_not_end_a_kernel(tmp_path):
    config = tmp_path / "kernel.yaml"
    config.write_text(flat_config(lg.RobotDescription(**stacked(3)), step_s=0.1))
    instance = f"unread-{os.getpid()}"
    command = [str(kernel_program()), "--config", str(config), "--instance", instance, "--without-world"]
    process = subprocess.Popen(
        [*command, "--latch", str(tmp_path / "latch")], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    try:
        assert process.stdout.readline().startswith(b"ready")
        process.stderr.close()
        channel = _core.ChannelClient(instance)
        for _ in range(3):
            assert channel.wait_world(channel.publish_world(b"\x00\x01\x00\x00 no world"), 1.0)
        time.sleep(0.05)
        assert channel.command("status", 1.0) is not None
    finally:
        process.terminate()
        process.stdout.close()
        assert process.wait(30) == 0


def test_stderr_that_no_process_reads_does_not_hold_up_a_kernel(start_kernel, monkeypatch):
    """Worlds that cannot be read are complained about; 20,000 complaints are more than a pipe holds."""
    monkeypatch.setattr("lastgate.kernel.process.KernelMessages._drain", lambda self: None)
    kernel = start_kernel(stacked(3), without_world=True)
    channel = _core.ChannelClient(kernel.instance)
    for number in range(20_000):
        sequence = channel.publish_world(b"\x00\x01\x00\x00 no world")
        if number % 2:  # the ring holds two
            assert channel.wait_world(sequence, 1.0)
    assert submit(kernel, [[0.01] * 3]).accepted
    kernel.estop("still heard")
    assert kernel.status().latched
