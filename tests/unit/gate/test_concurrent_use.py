# SPDX-License-Identifier: Apache-2.0
"""Objects with memory of their own answer one caller at a time: the second gets an error, never other numbers."""

import gc
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np
import pytest
from fixtures.analytic_robots import NOW_S, gate_of, planar_two_link, sphere, world_of

import lastgate as lg
from lastgate import _core
from lastgate.planning.collision import CollisionEnvironment

# How long the first caller stays inside; the others come many times meanwhile.
INSIDE_S = 0.3
WALL = world_of(sphere([1.5, 0.0, 0.0], 0.3))
STRAIGHT_INTO_THE_WALL = np.array([[0.0, 0.0]])
CLEAR = np.array([[1.5, 0.1]])


def ask_edges(gate, starts, ends):
    gate._native.check_edges(
        starts=starts,
        ends=ends,
        gripper_positions=None,
        world=WALL.native,
        step_max=0.01,
        first_contact=np.empty(len(starts)),
    )


@pytest.fixture
def gate() -> lg.Gate:
    return gate_of(planar_two_link(), step_s=1.0)


def checked(gate: lg.Gate, rows: np.ndarray) -> lg.Verdict:
    state = lg.RobotState(positions=np.array([1.5, 0.0]), stamp_s=NOW_S)
    return gate.check(lg.ActionChunk(rows), state=state, world=WALL, now_s=NOW_S)


def batch_inside(gate: lg.Gate, seconds: float) -> Callable[[], object]:
    """Returns a `check_batch` of clear configurations that takes this long."""
    count = 1000
    while True:
        rows = np.tile(CLEAR, (count, 1))
        begun = time.perf_counter()
        gate.check_batch(rows, world=WALL)
        took = time.perf_counter() - begun
        if took >= 0.05:
            longer = np.tile(rows, (int(seconds / took) + 1, 1))
            return lambda: gate.check_batch(longer, world=WALL)
        count *= 4


def edges_inside(gate: lg.Gate, seconds: float) -> Callable[[], object]:
    """Returns a `check_edges` of clear motions that takes this long."""
    count = 1000
    while True:
        starts = np.tile(CLEAR, (count, 1))

        def call(starts: np.ndarray = starts) -> None:
            ask_edges(gate, starts, starts + 0.1)

        begun = time.perf_counter()
        call()
        took = time.perf_counter() - begun
        if took >= 0.05:
            longer = np.tile(starts, (int(seconds / took) + 1, 1))
            return lambda: call(longer)
        count *= 4


LONG_CALLS = {"check_batch": batch_inside, "check_edges": edges_inside}


@contextmanager
def another_thread_inside(
    call: Callable[[], object], is_inside: Callable[[], object]
) -> Iterator[threading.Thread]:
    """Runs a call in another thread, and the block once `is_inside` says so by being refused."""
    other = threading.Thread(target=call)
    other.start()
    while other.is_alive():
        try:
            is_inside()
            time.sleep(0.0005)
        except lg.ConcurrentUseError:
            break
    yield other
    other.join()


@pytest.mark.parametrize("name", LONG_CALLS)
def test_check_during_a_batch_of_another_thread_is_an_error_and_never_an_acceptance(gate, name):
    accepted, errors = 0, set[str]()
    with another_thread_inside(LONG_CALLS[name](gate, INSIDE_S), lambda: gate.checked_pairs) as other:
        while other.is_alive():
            try:
                accepted += checked(gate, STRAIGHT_INTO_THE_WALL).accepted
            except lg.ConcurrentUseError as error:
                errors.add(str(error).split(",")[0])
                time.sleep(0.001)
    assert accepted == 0
    assert errors == {"this gate is in use by another thread"}
    assert not checked(gate, STRAIGHT_INTO_THE_WALL).accepted
    assert checked(gate, CLEAR).accepted  # the gate is free again


ENTRANCES = {
    "check": lambda gate: checked(gate, CLEAR),
    "certify": lambda gate: gate.certify(
        lg.ActionChunk(CLEAR),
        state=lg.RobotState(positions=CLEAR[0].copy(), stamp_s=NOW_S),
        world=WALL,
        now_s=NOW_S,
    ),
    "check_batch of few": lambda gate: gate.check_batch(CLEAR, world=WALL),
    "check_batch of many": lambda gate: gate.check_batch(np.tile(CLEAR, (100, 1)), world=WALL),
    "check_edges": lambda gate: ask_edges(gate, CLEAR, CLEAR),
    "attach": lambda gate: gate.attach("forearm", lg.SphereShape(radius_m=0.01), object_id="cup"),
    "detach": lambda gate: gate.detach("tray"),
    "hold": lambda gate: gate.hold(()),
    "path": lambda gate: gate._native.path,
    "certify_path": lambda gate: _core.certify_path(gate._native, WALL.native),
    "gate_uncertainty": lambda gate: _core.gate_uncertainty(gate._native),
}


@pytest.mark.parametrize("name", ENTRANCES)
def test_every_entrance_is_closed_while_another_thread_is_inside_and_open_afterwards(gate, name):
    gate.attach("forearm", lg.SphereShape(radius_m=0.01), object_id="tray", touch_links=["upper_arm"])
    gate.check_batch(CLEAR, world=WALL)
    call = batch_inside(gate, INSIDE_S)
    held = gate.attached
    with another_thread_inside(call, lambda: gate.checked_pairs) as other:
        with pytest.raises(lg.ConcurrentUseError):
            ENTRANCES[name](gate)
        assert other.is_alive(), "the other thread left before the second one came"
    assert gate.attached == held
    ENTRANCES[name](gate)


def test_many_threads_on_one_gate_get_errors_or_their_own_answer(gate):
    wrong: list[str] = []
    errors = 0
    call = batch_inside(gate, 0.02)
    end = time.perf_counter() + 1.0

    def ask(rows: np.ndarray, expected: bool) -> None:
        nonlocal errors
        while time.perf_counter() < end:
            try:
                verdict = checked(gate, rows)
                if verdict.accepted is not expected:
                    wrong.append(repr(verdict))
                if expected:
                    np.testing.assert_array_equal(verdict.joint_rows, rows)
                few = gate.check_batch(rows, world=WALL)
                if bool(few.accepted[0]) is not expected:
                    wrong.append("check_batch")
                call()
            except lg.ConcurrentUseError:
                errors += 1
                time.sleep(0)

    asks = [(STRAIGHT_INTO_THE_WALL, False), (CLEAR, True)] * 2
    threads = [threading.Thread(target=ask, args=which) for which in asks]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert errors > 0


def test_twin_one_gate_per_thread_answers_everything():
    problems: list[object] = []

    def ask(expected: bool) -> None:
        own = gate_of(planar_two_link(), step_s=1.0)
        rows = CLEAR if expected else STRAIGHT_INTO_THE_WALL
        try:
            call = batch_inside(own, 0.05)
            for _ in range(10):
                call()
                if checked(own, rows).accepted is not expected:
                    problems.append(rows)
        except lg.ROSError as error:
            problems.append(error)

    threads = [threading.Thread(target=ask, args=(index % 2 == 0,)) for index in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not problems


def test_a_gate_is_free_again_after_a_call_that_raised(gate):
    with pytest.raises(lg.ROSConfigError):
        checked(gate, "not a chunk")  # type: ignore[arg-type]
    with pytest.raises(lg.ROSConfigError):
        gate.check("no chunk", state=None, world=WALL, now_s=NOW_S)
    with pytest.raises(ValueError, match="one column per joint"):
        gate._native.check_configurations(
            np.zeros((1, 5)),
            gripper_positions=None,
            world=WALL.native,
            accepted=np.zeros(1, bool),
            clearance_m=np.zeros(1),
        )
    with pytest.raises(lg.ROSConfigError):
        gate.attach("no such link", lg.SphereShape(radius_m=0.01), object_id="cup")
    assert checked(gate, CLEAR).accepted


def test_a_signal_handler_that_checks_inside_a_check_gets_the_error(gate, monkeypatch):
    found: list[object] = []

    def handler(*_: object) -> None:
        try:
            found.append(checked(gate, CLEAR))
        except lg.ConcurrentUseError as error:
            found.append(error)

    before = signal.signal(signal.SIGUSR1, handler)
    naming = gate._effector_index
    monkeypatch.setattr(
        gate, "_effector_index", lambda name: (signal.raise_signal(signal.SIGUSR1), naming(name))[1]
    )
    try:
        verdict = checked(gate, STRAIGHT_INTO_THE_WALL)
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert not verdict.accepted
    assert [type(item) for item in found] == [lg.ConcurrentUseError]


def test_a_world_cannot_be_changed_once_it_is_made():
    names = [name for name in dir(WALL.native) if not name.startswith("__")]
    assert not [name for name in names if name.startswith(("set_", "add", "overflow_", "begin", "declare_"))]


def test_obstacles_cannot_be_added_while_another_thread_asks():
    far = np.column_stack([np.random.default_rng(2).uniform(4.0, 5.0, (400, 3)), np.full(400, 0.01)])
    environment = CollisionEnvironment.build(far, 0.05, ((-6.0,) * 3, (6.0,) * 3))
    native = environment.native
    sets = np.zeros((1000, 20, 4))
    while True:
        begun = time.perf_counter()
        environment.min_distance(sets)
        if time.perf_counter() - begun > INSIDE_S:
            break
        sets = np.tile(sets, (4, 1, 1))
    size = native.memory_bytes
    with another_thread_inside(
        lambda: environment.min_distance(sets),
        lambda: native.add_spheres(np.empty((0, 4)), 0.05),
    ) as other:
        with pytest.raises(lg.ConcurrentUseError, match="collision environment"):
            native.add_spheres(np.array([[0.0, 0.0, 0.0, 0.1]]), 0.05)
        environment.min_distance(sets[:1])  # readers do not disturb each other
        assert other.is_alive()
    assert native.memory_bytes == size
    native.add_spheres(np.array([[0.0, 0.0, 0.0, 0.1]]), 0.05)
    assert native.memory_bytes > size


def test_the_collector_may_run_while_a_few_configurations_are_checked(gate):
    before = gc.get_threshold()
    gc.set_threshold(1)
    try:
        for _ in range(200):
            assert gate.check_batch(CLEAR, world=WALL).accepted[0]
    finally:
        gc.set_threshold(*before)
