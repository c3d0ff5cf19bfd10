# SPDX-License-Identifier: Apache-2.0
"""A program believes the kernels of the user it names, and of no other; root, too."""

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pytest
from fixtures.analytic_robots import PAPER_SAFETY, stacked

import lastgate as lg
from lastgate import _core
from lastgate.kernel.process import KernelSettings, kernel_program, running_kernels
from lastgate.robots.kernel_config import flat_config

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root can be two users")

OTHER = 65531
ROBOT = lg.RobotDescription(**stacked(3, safety={**PAPER_SAFETY, "deadman_required": False}))


@pytest.fixture
def kernel_of_another():
    """Runs a kernel as another user, and returns its name."""
    # Not below the folder of the test, which root alone may pass through.
    folder = Path(tempfile.mkdtemp(prefix="lastgate-other-"))
    folder.chmod(0o755)
    program = shutil.copy(kernel_program(), folder / "lastgate-kernel")
    state = folder / "state"
    state.mkdir(mode=0o700)
    os.chown(state, OTHER, OTHER)
    text = flat_config(ROBOT, step_s=0.1)
    config = folder / "kernel.yaml"
    config.write_text(text)
    config.chmod(0o644)
    name = f"other-{os.getpid()}"
    command = [program, "--config", config, "--instance", name, "--latch", state / "arm.latch"]
    command += ["--digest", hashlib.sha256(text.encode()).hexdigest()]
    command += KernelSettings(without_world=True, reset_cooldown_s=0.01).arguments()
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, user=OTHER, group=OTHER, extra_groups=[]
    )
    assert process.stdout.readline().startswith("ready")
    yield name
    process.terminate()
    process.wait()
    process.stdout.close()
    shutil.rmtree(f"/dev/shm/lastgate-{OTHER}", ignore_errors=True)
    shutil.rmtree(folder)


def command(*words: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, "-m", "lastgate.tools.cli", *words], capture_output=True, text=True, check=False
    )


def test_root_does_not_believe_a_kernel_whose_user_it_did_not_name(kernel_of_another):
    assert not _core.kernel_is_alive(kernel_of_another)
    assert kernel_of_another not in running_kernels()
    with pytest.raises(RuntimeError, match="not there"):
        _core.ChannelClient(kernel_of_another)
    with pytest.raises(lg.ROSConfigError, match="not there"):
        lg.KernelClient(ROBOT, rate_hz=10.0, instance=kernel_of_another, start=False)
    for wrong in (0, OTHER - 1, "no-such-user"):
        with pytest.raises(lg.ROSConfigError, match=r"not there|no such user"):
            lg.KernelClient(ROBOT, rate_hz=10.0, instance=kernel_of_another, start=False, trusted_user=wrong)
    refused = command("status", "--robot", kernel_of_another)
    assert refused.returncode == 2
    assert f"`{kernel_of_another}@{OTHER}`" in refused.stderr


def test_root_speaks_to_the_kernel_of_a_user_it_names(kernel_of_another):
    client = lg.KernelClient(ROBOT, rate_hz=10.0, instance=kernel_of_another, start=False, trusted_user=OTHER)
    client.observe(np.zeros(3))
    assert client.submit(np.full((1, 3), 0.01)).accepted
    shown = command("status", "--robot", f"{kernel_of_another}@{OTHER}")
    assert (shown.returncode, shown.stdout.startswith("active")) == (0, True)
    client.estop("by root")
    assert client.status().reason == "by root"
    time.sleep(0.05)
    assert client.reset().success


def test_user_is_named_for_a_kernel_that_runs_already_only(tmp_path):
    with pytest.raises(lg.ROSConfigError, match="say `start=False`"):
        lg.KernelClient(ROBOT, rate_hz=10.0, state_dir=tmp_path, trusted_user="root")
    for wrong in (True, "", 1.5):
        with pytest.raises(lg.ROSConfigError, match="login name or a number"):
            lg.KernelClient(ROBOT, rate_hz=10.0, start=False, trusted_user=wrong)
