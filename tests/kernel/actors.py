# SPDX-License-Identifier: Apache-2.0
"""Who stands around a kernel, each as a process that can be killed: `python actors.py ROLE INSTANCE [FILE]`.

Each finds the kernel again when it was gone, as a program on a robot would.
"""

import contextlib
import mmap
import struct
import sys
import time
from pathlib import Path

import numpy as np

from lastgate import _core
from lastgate.contracts import ROSConfigError
from lastgate.integrations.driver import SafeActionDriver

JOINTS = ["j0", "j1"]
STEP_S = 0.1
MOTOR_BYTES = 16


class Motors:
    """Is a file that says when the motors were last told to move; a test reads it whoever else is dead."""

    def __init__(self, path: Path) -> None:
        if not path.exists():
            path.write_bytes(bytes(MOTOR_BYTES))
        with path.open("r+b") as file:
            self._memory = mmap.mmap(file.fileno(), MOTOR_BYTES)

    @property
    def driven_s(self) -> float:
        """Is when they were last told to move, on the monotonic clock; 0 for never."""
        return struct.unpack_from("d", self._memory)[0]

    def command(self, row, mode) -> None:
        struct.pack_into("d", self._memory, 0, time.monotonic())

    def stop(self) -> None:
        pass

    def is_stopped(self) -> bool:
        return True


def again(make):
    """Calls until there is a kernel."""
    while True:
        try:
            return make()
        except (RuntimeError, ROSConfigError):
            time.sleep(0.02)


def policy(instance: str) -> None:
    """Proposes 50 times a second: mostly good, one in twenty outside its limits, one in fifty no chunk at all."""
    rng = np.random.default_rng()
    while True:
        channel = again(lambda: _core.ChannelClient(instance))
        while channel.kernel_is_alive:
            kind = rng.random()
            rows = np.full((3, 2), 9.0 if kind < 0.05 else rng.uniform(-0.05, 0.05))
            chunk = _core.encode_action_chunk(rows, control_mode=0, stamp_s=time.time())
            channel.observe(_core.encode_joint_state(JOINTS, positions=np.zeros(2), stamp_s=time.time()))
            channel.submit(rng.bytes(40) if kind > 0.98 else chunk)
            time.sleep(0.02)
        del channel


def driver(instance: str, motors: str) -> None:
    """Moves the motors on accepted chunks, 200 times a second."""
    arm = Motors(Path(motors))
    running = again(lambda: SafeActionDriver(instance, arm, name="arm", step_s=STEP_S))
    while True:
        running.tick()
        time.sleep(0.005)
        if not running.kernel_is_alive and _core.kernel_is_alive(instance):
            with contextlib.suppress(
                ROSConfigError
            ):  # it is not quite there yet, or our registration is still warm
                running.reconnect()


def telemetry(instance: str) -> None:
    """Follows everything that is said, and keeps nothing."""
    while True:
        readers = again(
            lambda: [_core.RingReader(instance, ring) for ring in ("traces", "statuses", "failures")]
        )
        while _core.kernel_is_alive(instance):
            for reader in readers:
                while reader.read(0.0) is not None:
                    pass
            time.sleep(0.01)


if __name__ == "__main__":
    {"policy": policy, "driver": driver, "telemetry": telemetry}[sys.argv[1]](*sys.argv[2:])
