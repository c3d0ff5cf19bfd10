# SPDX-License-Identifier: Apache-2.0
"""Times of the gate and of its peers as a Python program sees them, in turns, on one robot."""

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from lastgate.contracts.action import ActionChunk
from lastgate.contracts.arrays import Float64
from lastgate.contracts.exceptions import ROSConfigError
from lastgate.tools.bench.peers import MujocoPeer, PinocchioPeer, require_agreement
from lastgate.tools.bench.scene import ROW_COUNT, Scene

_ROUNDS = 5
# A case is called as often as fits in this, and at least so often.
_ROUND_S = 0.15
_CALLS_MIN = 5
# Calls of nothing, whose median is what calling and reading the clock twice takes.
_NOTHING_ROUNDS = 200


@dataclass(frozen=True, slots=True)
class Timing:
    """One line of the table: the time of a call, and its share for each pose that the call checks."""

    case: str
    p50_us: float
    p99_us: float
    calls: int
    per_configuration_us: float


def python_times_ns(work: Callable[[], object], rounds: int) -> Float64:
    """Returns how long each call of `work` took, less what a function that does nothing takes."""
    nothing = np.median(_times_ns(_nothing, _NOTHING_ROUNDS))
    return np.maximum(_times_ns(work, rounds) - nothing, 0.0)


def _nothing() -> None:
    pass


def _times_ns(work: Callable[[], object], rounds: int) -> Float64:
    out = np.empty(rounds)
    for index in range(rounds):
        start = time.perf_counter_ns()
        work()
        out[index] = time.perf_counter_ns() - start
    return out


def cases_of(scene: Scene) -> tuple[dict[str, tuple[Callable[[], object], int]], list[str]]:
    """Returns what is timed, with how many configurations a call checks, and which peers are not installed."""
    gate, state, chunk = scene.gate, scene.state, ActionChunk(scene.rows)
    small, large = scene.worlds
    one = np.ascontiguousarray(scene.configurations[:1])

    def certify(world_index: int) -> Callable[[], object]:
        world = scene.worlds[world_index]
        if not gate.check(chunk, state=state, world=world, now_s=1.0).accepted:
            raise ROSConfigError("the gate rejects the collision-free chunk")
        return lambda: gate.check(chunk, state=state, world=world, now_s=1.0)

    cases: dict[str, tuple[Callable[[], object], int]] = {
        f"gate: {ROW_COUNT} steps, motion certified, 14 obstacles": (certify(0), ROW_COUNT),
        f"gate: {ROW_COUNT} steps, motion certified, 100 obstacles": (certify(1), ROW_COUNT),
        "gate: one configuration, 14 obstacles": (
            lambda: gate.check_batch(one, world=small, gripper_positions=scene.fingers),
            1,
        ),
        f"gate: batch of {len(scene.configurations)} configurations, 14 obstacles": (
            lambda: gate.check_batch(scene.configurations, world=small, gripper_positions=scene.fingers),
            len(scene.configurations),
        ),
    }
    missing = []
    for name, make in (("MuJoCo", MujocoPeer), ("Pinocchio + Coal", PinocchioPeer)):
        try:
            peers = {obstacles: make(scene, world) for obstacles, world in ((14, small), (100, large))}
        except ImportError:
            missing.append(name)
            continue
        require_agreement(scene, {name: peers[14]})
        for obstacles, peer in peers.items():
            case = f"{name}: {ROW_COUNT} single poses, {obstacles} obstacles"
            cases[case] = (peer.look_at_rows, ROW_COUNT)
    return cases, missing


def measure(
    cases: dict[str, tuple[Callable[[], object], int]], *, progress: Callable[[str, float], None]
) -> list[Timing]:
    """Times every case in turns, so that a machine that slows down for a while slows down for every case."""
    calls = {}
    for name, (work, _) in cases.items():
        warm_ns = max(float(python_times_ns(work, _CALLS_MIN).min()), 1.0)
        calls[name] = max(int(_ROUND_S * 1e9 / warm_ns), _CALLS_MIN)
    taken: dict[str, list[Float64]] = {name: [] for name in cases}
    for index in range(_ROUNDS):
        for number, (name, (work, _)) in enumerate(cases.items()):
            progress(name, (index * len(cases) + number) / (_ROUNDS * len(cases)))
            taken[name].append(python_times_ns(work, calls[name]))
    found = []
    for name, (_, configurations) in cases.items():
        p50_us = float(np.median([np.median(times) for times in taken[name]])) / 1e3
        p99_us = float(np.percentile(np.concatenate(taken[name]), 99)) / 1e3
        found.append(Timing(name, p50_us, p99_us, _ROUNDS * calls[name], p50_us / configurations))
    return found
