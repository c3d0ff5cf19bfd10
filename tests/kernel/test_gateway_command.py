# SPDX-License-Identifier: Apache-2.0
"""`lastgate gateway` before it becomes the gateway: what it refuses, and which kernel it takes."""

import subprocess
import sys
from pathlib import Path

import pytest
from fixtures.analytic_robots import stacked

from lastgate.contracts import ROSConfigError
from lastgate.kernel.process import only_kernel

PROGRAM = str(Path(sys.executable).with_name("lastgate"))


def gateway(*arguments: str, domain: str = "0"):
    return subprocess.run(
        [PROGRAM, "gateway", *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={"ROS_DOMAIN_ID": domain, "PATH": "/usr/bin:/bin"},
    )


@pytest.mark.parametrize("domain", ["233", "-1", "ten", "", "1.5"])
def test_domain_that_is_none_is_refused(domain):
    refused = gateway(domain=domain)
    assert refused.returncode == 2
    assert "ROS_DOMAIN_ID must be a number from 0 to 232" in refused.stderr


def test_unknown_kind_of_client_is_refused():
    refused = gateway("--services-for", "everybody")
    assert refused.returncode == 2
    assert "`--services-for` must be" in refused.stderr


def test_enclave_with_services_that_cannot_use_it_is_refused():
    refused = gateway("--enclave", "/nowhere")
    assert refused.returncode == 2
    assert "`--enclave` needs `--services-for cyclonedds`" in refused.stderr


def test_only_kernel_is_found_and_two_must_be_told_apart(start_kernel, monkeypatch, tmp_path):
    # Other kernels may run on this machine: only those of this test are checked.
    monkeypatch.setattr(
        Path, "glob", lambda self, pattern: [tmp_path / f"lastgate.{name}.board" for name in names]
    )
    names: list[str] = []
    with pytest.raises(ROSConfigError, match="no kernel runs"):
        only_kernel()
    first = start_kernel(stacked(2), without_world=True)
    names = [first.instance, "one-that-is-gone"]
    assert only_kernel() == first.instance
    second = start_kernel(stacked(2), without_world=True)
    names = [first.instance, second.instance]
    with pytest.raises(ROSConfigError, match="several kernels run") as refusal:
        only_kernel()
    assert first.instance in str(refusal.value)
