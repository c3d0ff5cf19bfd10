# SPDX-License-Identifier: Apache-2.0
"""Kill -9 of everybody, at random moments: nothing passes that was not accepted, nothing passes after a stop, and
no process's death leaves the motors driven. A few rounds here, 200 by `make -C benchmarks faults`.
"""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from fixtures import kernel_actors
from fixtures.analytic_robots import stacked
from fixtures.kernel_actors import JOINTS, Motors

import lastgate as lg
from lastgate import _core

ROUNDS = int(os.environ.get("LASTGATE_FAULT_ROUNDS", "5"))
VICTIMS = ("kernel", "deadman", "driver", "telemetry", "policy")
# A kernel counts as gone after 0.15 s without a beat, a source after 0.5 s, and the deadman waits for 1 s here; a
# busy machine may keep a process waiting for another second.
KERNEL_GONE_S, SOURCE_GONE_S, DEADLINE_S, SLACK_S = 0.15, 0.5, 1.0, 1.0
LATCHED = int(lg.KernelState.LATCHED)


class Witness:
    """Reads what leaves a kernel, in the order it was written, and holds it to the invariants."""

    def __init__(self, instance: str) -> None:
        self._passed = _core.RingReader(instance, "safe_actions")
        self._statuses = _core.RingReader(instance, "statuses", from_newest=True)
        self._kernel_id = _core.Registration(instance, f"witness-{time.monotonic_ns() % 10**9}").kernel_id
        self._latched = False
        self._waiting: list[tuple[float, tuple]] = []
        self._seen = 0
        self.latched_since_s: float | None = None

    @property
    def passed(self) -> int:
        """How many chunks were seen to pass; on a busy machine a few are overwritten before that."""
        return self._seen + len(self._waiting)

    @property
    def unseen(self) -> int:
        """How many passed and were overwritten before a reader came."""
        return self._passed.lost

    def poll(self) -> None:
        """Takes everything that was written since the last poll.

        Statuses and chunks are written under one lock, so their times stand in the order of the decisions. A chunk
        waits here for a status that is younger than it, which comes within a second: only then is it known what held
        when it passed.
        """
        statuses = list(iter(lambda: self._statuses.read(0.0), None))
        assert self._statuses.lost == 0, "a status was overwritten before a reader came"
        self._waiting += [(message[2], message) for message in iter(lambda: self._passed.read(0.0), None)]
        for _, _, at_s, payload in statuses:
            while self._waiting and self._waiting[0][0] < at_s:
                self._check_chunk(self._waiting.pop(0)[1])
            self._latched = _core.read_safety_status(payload).state == LATCHED
            self.latched_since_s = (self.latched_since_s or at_s) if self._latched else None

    def _check_chunk(self, message) -> None:
        _, origin, _, payload = message
        assert not self._latched, "a chunk passed while a stop was latched"
        assert origin == self._kernel_id
        fields = _core.decode_action_chunk(payload)
        assert fields is not None, "bytes passed that are no chunk"
        assert fields.horizon == 3
        assert np.abs(fields.flat).max() <= 1.0, "a chunk passed that is outside its limits"
        self._seen += 1


class Theatre:
    """A kernel with a deadman, a driver, a policy and a telemetry reader around it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.instance = f"deaths-{os.getpid()}-{time.monotonic_ns() % 10**9}"
        self.motors = Motors(folder / "motors")
        self.processes: dict[str, subprocess.Popen] = {}
        self.witness: Witness | None = None
        self.kernel: lg.KernelClient | None = None
        self.start("kernel")
        for name in VICTIMS[1:]:
            self.start(name)

    def start(self, name: str) -> None:
        if name == "kernel":
            self.kernel = lg.KernelClient(
                lg.RobotDescription(**stacked(len(JOINTS))),
                rate_hz=10.0,
                instance=self.instance,
                state_dir=self.folder,
                settings=lg.KernelSettings(
                    on_violation="hold",
                    without_world=True,
                    reset_cooldown_s=0.05,
                    required_sources=["deadman"],
                    required_actuators=["arm"],
                ),
            )
            self.witness = Witness(self.instance)
            return
        actor = [sys.executable, kernel_actors.__file__, name, self.instance]
        deadman = ["deadman", "--robot", self.instance, "--safe-action-deadline-s", str(DEADLINE_S)]
        commands = {
            "deadman": [sys.executable, "-m", "lastgate.tools.cli", *deadman],
            "driver": [*actor, str(self.folder / "motors")],
        }
        self.processes[name] = subprocess.Popen(commands.get(name, actor), stderr=subprocess.DEVNULL)

    def kill(self, name: str) -> float:
        """Kills one process and returns when."""
        if name == "kernel":
            os.kill(self.kernel.pid, signal.SIGKILL)
            at_s = time.monotonic()
            self.kernel.close()
            return at_s
        self.processes[name].kill()
        at_s = time.monotonic()
        self.processes[name].wait()
        return at_s

    def watch(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.witness.poll()
            time.sleep(0.005)

    def until(self, holds, seconds: float = 60.0) -> None:
        end = time.monotonic() + seconds
        while not holds():
            assert time.monotonic() < end, self.kernel.status()
            self.watch(0.01)

    def revive(self) -> None:
        """Gets everything moving again: processes that are gone are started, and the latch is reset when it may be."""
        for name, process in self.processes.items():
            if process.poll() is not None:
                self.start(name)
        self.until(self._is_moving)

    def _is_moving(self) -> bool:
        if self.kernel.status().latched:
            self.kernel.reset()
        if self.processes["deadman"].poll() is not None:
            self.start("deadman")
        before_s = time.monotonic()
        self.watch(0.1)
        return self.motors.driven_s > before_s

    def close(self) -> None:
        for process in self.processes.values():
            process.kill()
            process.wait()
        if self.kernel is not None:
            self.kernel.close()


@pytest.fixture
def theatre(tmp_path):
    made = Theatre(tmp_path)
    yield made
    made.close()


def test_witness_notices_a_kernel_that_lets_everything_pass(start_kernel):
    kernel = start_kernel(stacked(2), without_world=True, warn_only=True)
    witness = Witness(kernel.instance)
    kernel.observe(np.zeros(2))
    kernel.submit(np.zeros((3, 2)))
    witness.poll()
    assert witness.passed == 1
    kernel.submit(np.full((3, 2), 9.0))
    kernel.status()
    with pytest.raises(AssertionError, match="outside its limits"):
        witness.poll()


def test_deaths_at_random_moments_break_no_invariant(theatre):
    seed = int(os.environ.get("LASTGATE_FAULT_SEED", "20260610"))
    rng = np.random.default_rng(seed)
    counts = dict.fromkeys(VICTIMS, 0)
    passed, unseen = 0, 0
    theatre.revive()
    for number in range(ROUNDS):
        victim = VICTIMS[number % len(VICTIMS)] if len(VICTIMS) >= ROUNDS else str(rng.choice(VICTIMS))
        theatre.watch(rng.uniform(0.0, 0.3))
        before = theatre.witness.passed
        killed_s = theatre.kill(victim)
        if victim == "kernel":
            time.sleep(KERNEL_GONE_S + SLACK_S)
            assert theatre.motors.driven_s <= killed_s + KERNEL_GONE_S + SLACK_S
            still_s = theatre.motors.driven_s
            time.sleep(0.2)
            assert theatre.motors.driven_s == still_s, "the motors are driven without a kernel"
            passed += before
            unseen += theatre.witness.unseen
            theatre.start("kernel")
        elif victim == "telemetry":
            theatre.watch(0.5)
            assert theatre.witness.passed > before, "no process waits for telemetry"
        elif victim == "driver":
            still_s = theatre.motors.driven_s
            theatre.watch(0.2)
            assert theatre.motors.driven_s == still_s
        else:
            # The kernel misses the deadman; the deadman misses the policy. Either is a stop.
            patience_s = SOURCE_GONE_S if victim == "deadman" else DEADLINE_S
            theatre.until(lambda: theatre.witness.latched_since_s is not None, patience_s + 3 * SLACK_S)
            theatre.watch(SLACK_S)
            assert theatre.motors.driven_s <= theatre.witness.latched_since_s + SLACK_S
            still_s = theatre.motors.driven_s
            theatre.watch(0.2)
            assert theatre.motors.driven_s == still_s, "the motors are driven after a stop"
        counts[victim] += 1
        theatre.revive()
    passed += theatre.witness.passed
    unseen += theatre.witness.unseen
    print(f"\n{ROUNDS} deaths (seed {seed}): {counts}; {passed} chunks seen to pass, {unseen} not seen")
    assert unseen < passed, "the witness must see most of what passes"
    assert sum(counts.values()) == ROUNDS
    assert passed > ROUNDS
