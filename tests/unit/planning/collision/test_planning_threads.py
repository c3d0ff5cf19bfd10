# SPDX-License-Identifier: Apache-2.0
"""Planners ask in many threads: while the core answers one, the interpreter serves the others."""

import threading
import time
from collections.abc import Callable

import numpy as np
import pytest
from fixtures.analytic_robots import planar_two_link

import lastgate as lg
from lastgate.planning.collision import (
    CollisionEnvironment,
    ContinuousCollisionDetector,
    RobotSphereModel,
    TwoTierCollisionChecker,
)

# A call is made longer until it takes this long; a thread that holds the lock for it lets no other run meanwhile.
LONG_S = 0.2


def turns_of_another_thread(call: Callable[[], object]) -> int:
    """Returns how often another thread got its turn while a call ran."""
    turns, done = 0, threading.Event()

    def count() -> None:
        nonlocal turns
        while not done.is_set():
            turns += 1
            time.sleep(0.001)

    other = threading.Thread(target=count)
    other.start()
    time.sleep(0.01)
    before = turns
    call()
    found = turns - before
    done.set()
    other.join()
    return found


def planar_robot_among_spheres() -> tuple[lg.RobotDescription, CollisionEnvironment]:
    far_away = np.column_stack([np.random.default_rng(2).uniform(4.0, 5.0, (400, 3)), np.full(400, 0.01)])
    environment = CollisionEnvironment.build(far_away, 0.05, ((-6.0,) * 3, (6.0,) * 3))
    return lg.RobotDescription(**planar_two_link()), environment


def question(name: str, count: int) -> Callable[[], object]:
    """Returns a call about so many configurations or motions, everything made ready."""
    robot, environment = planar_robot_among_spheres()
    rows = np.random.default_rng(3).uniform(-0.5, 0.5, (count, 2))
    if name == "place":
        model = RobotSphereModel.from_robot(robot)
        return lambda: model.place(rows)
    if name == "check_batch":
        checker = TwoTierCollisionChecker(robot, refinement_margin=10.0, environment=environment)
        return lambda: checker.check_batch(rows)
    if name == "check_many":
        detector = ContinuousCollisionDetector(robot, environment=environment)
        return lambda: detector.check_many(rows, rows[::-1].copy())
    spheres = RobotSphereModel.from_robot(robot).place(rows)
    return lambda: environment.min_distance(spheres)


@pytest.mark.parametrize("name", ["place", "check_batch", "check_many", "min_distance"])
def test_another_thread_runs_while_the_core_answers(name: str) -> None:
    count = 1000
    while True:
        call = question(name, count)
        start = time.perf_counter()
        call()
        if time.perf_counter() - start > LONG_S:
            break
        count *= 4
    assert turns_of_another_thread(call) > 20


def test_twin_another_thread_waits_while_the_lock_is_kept() -> None:
    numbers = np.random.default_rng(0).uniform(size=600_000).tolist()
    assert turns_of_another_thread(lambda: sorted(numbers)) < 20
