# SPDX-License-Identifier: Apache-2.0
"""What holds of every proposal: accepted when submitted unchanged, within all limits, never closer than was allowed.

`make proposals` tries 20,000 rejections; here it is a slice. The share that gets a proposal is printed, not tested: it
says how useful proposals are, and it depends on what is drawn.
"""

import os
from collections import Counter

import numpy as np
import pytest
from fixtures.random_rejections import NOW_S, ROBOTS, STEP_S, RandomChunk, RandomChunks
from oracles.coal_robot import CoalRobot

import lastgate as lg

REJECTIONS = int(os.environ.get("LASTGATE_PROPOSALS", "240")) // len(ROBOTS)
# What the sweep calls a violation already: within 0.1 mm.
RESOLUTION_M = 1e-4
SAMPLES_PER_STEP = 2


def between_steps(start: np.ndarray, rows: np.ndarray) -> np.ndarray:
    path = np.vstack([start, rows])
    share = np.arange(1, SAMPLES_PER_STEP + 1) / SAMPLES_PER_STEP
    return np.ascontiguousarray(
        (path[:-1, None] + share[:, None] * np.diff(path, axis=0)[:, None]).reshape(-1, rows.shape[1])
    )


def holds(chunks: RandomChunks, drawn: RandomChunk, proposal: lg.Proposal) -> None:
    gate, start, rows = chunks.gate, drawn.state.positions, proposal.chunk.rows
    is_retreat = proposal.kind == "retreat"
    again = gate.check(
        lg.ActionChunk(rows), state=drawn.state, world=drawn.world, now_s=NOW_S, recovery=is_retreat
    )
    assert proposal.verdict.accepted
    assert again.to_bytes() == proposal.verdict.to_bytes()
    speeds = np.abs(np.diff(np.vstack([start, rows]), axis=0)) / STEP_S
    assert (speeds <= chunks.speed * (0.25 if is_retreat else 1.0) * (1 + 1e-9)).all()
    assert (rows >= chunks.low).all()
    assert (rows <= chunks.high).all()
    if is_retreat:
        nothing_comes_closer(gate, drawn, rows)
    else:
        assert np.asarray(gate.check_batch(between_steps(start, rows), world=drawn.world).accepted).all()


def nothing_comes_closer(gate: lg.Gate, drawn: RandomChunk, rows: np.ndarray) -> None:
    """Coal, on the hulls: what overlaps on the way overlapped at the start, and at least as deep."""
    coal_robot = CoalRobot(gate, drawn.world)
    deepest = coal_robot.distances(drawn.state.positions)
    for configuration in between_steps(drawn.state.positions, rows[::4]):
        for pair, distance_m in coal_robot.distances(configuration).items():
            assert distance_m >= min(deepest.get(pair, np.inf), 0.0) - RESOLUTION_M, pair


def stays_on_the_path(drawn: RandomChunk, proposal: lg.Proposal) -> None:
    path = np.vstack([drawn.state.positions, drawn.chunk.rows])
    if proposal.kind == "prefix" and len(proposal.chunk.rows) > 1:
        assert np.array_equal(proposal.chunk.rows, drawn.chunk.rows[: len(proposal.chunk.rows)])
    if proposal.kind == "slower":
        # Each new step lies between two neighbours of the old ones, on the straight line that joins them.
        ways, parts = path[1:] - path[:-1], proposal.chunk.rows[:, None] - path[:-1]
        length = (ways**2).sum(axis=1)
        share = np.clip((parts * ways).sum(axis=2) / np.where(length > 0, length, 1.0), 0.0, 1.0)
        off = np.abs(parts - share[..., None] * ways).max(axis=2).min(axis=1)
        assert off.max() < 1e-9


@pytest.mark.parametrize("name", ROBOTS)
def test_every_proposal_is_accepted_within_limits_and_no_closer_than_was_allowed(name, capsys):
    chunks = RandomChunks(name, seed=20261118)
    rejected, helped, kinds = Counter[str](), Counter[str](), Counter[str]()
    while rejected.total() < REJECTIONS:
        drawn = chunks.draw()
        before = chunks.gate.check(drawn.chunk, state=drawn.state, world=drawn.world, now_s=NOW_S)
        proposals = chunks.gate.propose(drawn.chunk, state=drawn.state, world=drawn.world, now_s=NOW_S)
        if before.accepted:
            assert proposals == ()
            continue
        rejected[drawn.kind] += 1
        helped[drawn.kind] += bool(proposals)
        for proposal in proposals:
            kinds[proposal.kind] += 1
            holds(chunks, drawn, proposal)
            stays_on_the_path(drawn, proposal)
        if drawn.kind == "unreadable":
            assert all(proposal.kind != "slower" for proposal in proposals)
    with capsys.disabled():
        share = helped.total() / rejected.total()
        each = ", ".join(f"{kind} {helped[kind]}/{rejected[kind]}" for kind in sorted(rejected))
        print(
            f"\n{name}: {share:.0%} of {rejected.total()} rejections get a proposal ({each}); {dict(kinds)}"
        )
    assert helped.total() > 0
