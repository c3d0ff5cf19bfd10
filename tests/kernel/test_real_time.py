# SPDX-License-Identifier: Apache-2.0
"""Who goes first: a stop before a decision, a decision before everybody else, and a world after all of them."""

import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from fixtures import analytic_robots
from fixtures.analytic_robots import stacked

import lastgate as lg

PRIORITY = 7


def threads_of(kernel: lg.KernelClient) -> dict[str, int]:
    """Returns the kernel's threads by name, once they all run; the one that decides bears the program's."""
    kernel.observe(np.zeros(3))
    assert kernel.submit(np.zeros((1, 3))).accepted
    deadline = time.monotonic() + 10.0
    threads: dict[str, int] = {}
    while len(threads) < 4:  # until it says its own name, a thread bears that of the one that made it
        assert time.monotonic() < deadline, threads
        tasks = list(Path(f"/proc/{kernel.pid}/task").iterdir())
        threads = {(task / "comm").read_text().strip(): int(task.name) for task in tasks}
    return threads


def may_be_punctual() -> bool:
    # What a parent may ask for its child may ask for too.
    before = os.sched_getscheduler(0), os.sched_getparam(0)
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(PRIORITY + 1))
    except PermissionError:
        return False
    os.sched_setscheduler(0, *before)
    return True


def test_stops_come_before_decisions_and_worlds_after(start_kernel, caplog):
    kernel = start_kernel(stacked(3), without_world=True, sched_fifo=PRIORITY)
    threads = threads_of(kernel)
    assert set(threads) == {"lastgate-kernel", "lastgate-stop", "lastgate-world", "lastgate-disk"}
    if may_be_punctual():
        priorities = {name: os.sched_getparam(task).sched_priority for name, task in threads.items()}
        assert priorities == {
            "lastgate-stop": PRIORITY + 1,
            "lastgate-kernel": PRIORITY,
            "lastgate-world": 0,
            "lastgate-disk": 0,
        }
        assert os.sched_getscheduler(threads["lastgate-kernel"]) == os.SCHED_FIFO
        assert "refused" not in caplog.text
    else:
        assert {os.sched_getscheduler(task) for task in threads.values()} == {os.SCHED_OTHER}


def test_kernel_that_asks_for_nothing_gets_nothing(start_kernel):
    kernel = start_kernel(stacked(3), without_world=True)
    assert {os.sched_getscheduler(task) for task in threads_of(kernel).values()} == {os.SCHED_OTHER}


def test_only_decisions_stay_on_the_chosen_processor(start_kernel):
    chosen = max(os.sched_getaffinity(0))
    kernel = start_kernel(stacked(3), without_world=True, cpu=chosen)
    threads = threads_of(kernel)
    assert os.sched_getaffinity(threads["lastgate-kernel"]) == {chosen}
    for name in ("lastgate-stop", "lastgate-world"):
        assert os.sched_getaffinity(threads[name]) == os.sched_getaffinity(0)


@pytest.mark.parametrize("priority", [-1, 99, 100])
def test_priority_that_leaves_no_room_for_stops_is_refused(start_kernel, priority):
    with pytest.raises(lg.ROSError, match="from 0 to 98"):
        start_kernel(stacked(3), without_world=True, sched_fifo=priority)


# Even root may be without the right to priorities, as in most containers: a child of this program has lost it.
PROGRAM_WITHOUT_THE_RIGHT = """
import ctypes, logging, resource, sys
from pathlib import Path
import numpy as np
from fixtures.analytic_robots import stacked
import lastgate as lg
PR_CAPBSET_DROP, CAP_SYS_NICE = 24, 23
ctypes.CDLL(None).prctl(PR_CAPBSET_DROP, CAP_SYS_NICE, 0, 0, 0)
resource.setrlimit(resource.RLIMIT_RTPRIO, (0, 0))
logging.basicConfig()
settings = lg.KernelSettings(without_world=True, sched_fifo=7)
robot = lg.RobotDescription(**stacked(3))
where = {"instance": sys.argv[1], "state_dir": Path(sys.argv[2])}
with lg.KernelClient(robot, rate_hz=10.0, settings=settings, **where) as kernel:
    kernel.observe(np.zeros(3))
    print("accepted", kernel.submit(np.zeros((1, 3))).accepted)
"""


def test_refused_priority_is_a_warning_and_the_kernel_runs_on(tmp_path):
    program = [sys.executable, "-c", PROGRAM_WITHOUT_THE_RIGHT, f"test-{os.getpid()}-refused", str(tmp_path)]
    helpers = Path(analytic_robots.__file__).parents[1]
    environment = os.environ | {"PYTHONPATH": str(helpers)}
    ran = subprocess.run(program, check=False, capture_output=True, text=True, timeout=60, env=environment)
    assert ran.returncode == 0, ran.stderr
    assert "accepted True" in ran.stdout
    assert "--sched-fifo refused" in ran.stderr
