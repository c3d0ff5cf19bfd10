# SPDX-License-Identifier: Apache-2.0
"""An envelope with `deadman_required` binds the kernel, however it is started."""

import hashlib
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from fixtures.analytic_robots import PAPER_SAFETY, only_violation, stacked
from fixtures.kernel_messages import submit

import lastgate as lg
from lastgate import _core
from lastgate.kernel.process import KernelSettings, kernel_command
from lastgate.robots.kernel_config import flat_config

ROW = [[0.01] * 3]
HOME = np.array([0.0, -0.6, 0.0, -2.2, 0.0, 1.7, 0.785])


def robot(required: bool) -> lg.RobotDescription:
    return lg.RobotDescription(**stacked(3, safety={**PAPER_SAFETY, "deadman_required": required}))


def wait_until(holds, seconds=5.0):
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def live_sources(instance: str) -> list[str]:
    return [registration.name for registration in _core.read_status_block(instance).sources]


@pytest.fixture
def bare_kernel(tmp_path):
    """Starts the native program itself, told of no source."""
    running: list[subprocess.Popen] = []

    def start(description: lg.RobotDescription) -> str:
        text = flat_config(description, step_s=0.1)
        config = tmp_path / "kernel.yaml"
        config.write_text(text, encoding="utf-8")
        instance = f"bare-{os.getpid()}-{len(running)}"
        command = kernel_command(
            config=config,
            digest=hashlib.sha256(text.encode()).hexdigest(),
            instance=instance,
            state_dir=tmp_path,
            settings=KernelSettings(without_world=True, reset_cooldown_s=0.01),
        )
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        running.append(process)
        assert process.stdout.readline().startswith("ready")
        return instance

    yield start
    for process in running:
        process.terminate()
        process.wait()
        process.stdout.close()


def passes(channel: _core.ChannelClient) -> bool:
    channel.observe(_core.encode_joint_state(["j0", "j1", "j2"], positions=np.zeros(3), stamp_s=time.time()))
    chunk = _core.encode_action_chunk(np.array(ROW), control_mode=0, stamp_s=time.time())
    return channel.wait_verdict(channel.submit(chunk), timeout_s=1.0).passed


def test_native_kernel_passes_nothing_before_the_deadman_it_requires_is_there_and_stops_when_it_dies(
    bare_kernel,
):
    instance = bare_kernel(robot(required=True))
    channel = _core.ChannelClient(instance)
    assert not passes(channel)
    registration = _core.Registration(instance, "deadman")
    wait_until(lambda: _core.read_status_block(instance).state == lg.KernelState.ACTIVE)
    registration.beat()
    assert passes(channel)
    wait_until(lambda: _core.read_status_block(instance).state == lg.KernelState.LATCHED)  # no longer beats
    assert not passes(channel)
    assert "absence of deadman" in channel.command("reset", 1.0)[1]


def test_native_kernel_passes_at_once_where_the_envelope_requires_no_deadman(bare_kernel):
    assert passes(_core.ChannelClient(bare_kernel(robot(required=False))))


def test_client_brings_the_deadman_that_the_envelope_requires_and_no_other(start_kernel):
    kernel = start_kernel(robot(required=True), without_world=True)
    assert live_sources(kernel.instance) == ["deadman"]
    assert kernel.deadman_pid not in (None, kernel.pid, os.getpid())
    assert submit(kernel, ROW).accepted
    time.sleep(1.0)  # a program may think for as long as it likes
    assert submit(kernel, ROW).accepted
    free = start_kernel(robot(required=False), without_world=True)
    assert live_sources(free.instance) == []
    assert free.deadman_pid is None


def test_example_of_the_contract_works_as_it_is_written(tmp_path):
    instance = f"contract-{os.getpid()}"
    with lg.KernelClient(robot="franka_panda", rate_hz=50, instance=instance, state_dir=tmp_path) as kernel:
        kernel.observe(HOME)
        kernel.publish_world(lg.World(primitives=[], stamp_s=time.time()))
        assert kernel.submit(np.linspace(HOME, HOME + 0.02, 8)).accepted
        assert not kernel.status().latched


def test_client_without_a_deadman_rejects_and_says_what_to_start(start_kernel):
    kernel = start_kernel(robot(required=True), without_world=True, deadman=False)
    violation = only_violation(submit(kernel, ROW))
    assert violation.code == lg.ViolationCode.envelope_unconfigured
    assert f"`lastgate deadman --robot {kernel.instance}`" in violation.detail
    assert not kernel.status().latched
    registration = _core.Registration(kernel.instance, "deadman")
    wait_until(lambda: kernel.status().state is lg.KernelState.ACTIVE)
    registration.beat()
    assert submit(kernel, ROW).accepted


def test_death_of_the_deadman_that_was_brought_is_a_stop(start_kernel):
    kernel = start_kernel(robot(required=True), without_world=True, reset_cooldown_s=0.01)
    assert submit(kernel, ROW).accepted
    os.kill(kernel.deadman_pid, signal.SIGKILL)
    wait_until(lambda: kernel.status().latched)
    assert kernel.status().source == "absence of deadman"
    assert "absence of deadman" in kernel.reset().message
    assert not submit(kernel, ROW).accepted


PROGRAM = """
import sys
sys.path[:0] = sys.argv[4:]
from test_deadman_required import robot
import lastgate as lg
kernel = lg.KernelClient(
    robot(required=sys.argv[3] == "required"), rate_hz=10.0, instance=sys.argv[1], state_dir=sys.argv[2],
    settings=lg.KernelSettings(without_world=True, reset_cooldown_s=0.01),
)
print(kernel.deadman_pid or 0, flush=True)
sys.stdin.readline()
"""


@pytest.fixture
def other_program(tmp_path):
    """Starts a program with a kernel of its own, and returns it with the kernel's name and its deadman."""
    started: list[subprocess.Popen] = []

    def start(required: bool) -> tuple[subprocess.Popen, str, int]:
        instance = f"other-program-{os.getpid()}-{len(started)}"
        words = [instance, str(tmp_path), "required" if required else "free", *filter(None, sys.path)]
        program = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        started.append(program)
        return program, instance, int(program.stdout.readline())

    yield start
    for program in started:
        program.send_signal(signal.SIGCONT)
        program.communicate("\n")


@pytest.mark.parametrize("required", [True, False])
def test_program_that_is_held_up_is_a_stop_where_a_deadman_watches_it(other_program, required):
    program, instance, _ = other_program(required)
    channel = _core.ChannelClient(instance)
    assert passes(channel)
    program.send_signal(signal.SIGSTOP)
    if not required:
        time.sleep(0.5)
        assert passes(channel)
        return
    wait_until(lambda: _core.read_status_block(instance).state == lg.KernelState.LATCHED)
    assert not passes(channel)
    assert "`deadman` is still asserted" in channel.command("reset", 1.0)[1]
    program.send_signal(signal.SIGCONT)
    wait_until(lambda: channel.command("reset", 1.0)[0])
    assert passes(channel)


def test_program_that_ends_or_is_killed_takes_kernel_and_deadman_with_it(other_program):
    for number in (signal.SIGTERM, signal.SIGKILL):
        program, instance, deadman = other_program(required=True)
        assert os.path.exists(f"/proc/{deadman}")
        program.send_signal(number)
        program.wait()
        wait_until(lambda instance=instance: not _core.kernel_is_alive(instance))
        wait_until(lambda deadman=deadman: not os.path.exists(f"/proc/{deadman}"))
