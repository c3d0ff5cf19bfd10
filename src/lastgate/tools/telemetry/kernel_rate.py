# SPDX-License-Identifier: Apache-2.0
"""At which rate a running kernel reads chunks: its status names the model by digest, and the rate is part of it."""

import hashlib

from lastgate import _core
from lastgate.contracts import RobotDescription, ROSConfigError, RSkillManifest
from lastgate.kernel.ring_follower import open_ring
from lastgate.robots.kernel_config import flat_config, with_step

_STATUS_TIMEOUT_S = 2.0
# Whole rates up to the fastest control loop in use; another one has to be said.
_RATES_TRIED_HZ = range(1, 1001)


def rate_of_kernel(instance: str, robot: RobotDescription, skill: RSkillManifest | None) -> float:
    """Returns the rate that gives this robot and skill the digest that the kernel states.

    Raises:
        ROSConfigError: There is no such kernel, or none of the rates gives its digest.
    """
    status = open_ring(instance, "statuses", start="newest").read(_STATUS_TIMEOUT_S)
    told = None if status is None else _core.read_safety_status(status[3])
    if told is None:
        raise ROSConfigError(f"the kernel `{instance}` gives no status")
    line = "\nstep_s: 1.0\n"
    before, _, after = with_step(flat_config(robot, step_s=None, skill=skill), 1.0).partition(line)
    for rate_hz in _RATES_TRIED_HZ:
        text = f"{before}\nstep_s: {1.0 / rate_hz!r}\n{after}"
        if hashlib.sha256(text.encode()).hexdigest() == told.model_digest:
            return float(rate_hz)
    raise ROSConfigError(
        f"the kernel `{instance}` runs another model than `{robot.name}` at a whole rate up to "
        f"{_RATES_TRIED_HZ[-1]} Hz\n\nhint: say what it was started with: `--robot`, `--rate-hz`, `--skill`"
    )
