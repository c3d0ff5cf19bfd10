# SPDX-License-Identifier: Apache-2.0
"""Proposals case by case: what each kind is, and where there is none."""

import time

import numpy as np
import pytest
from fixtures.rejected_chunks import HOME, NOW_S, obstacle, panda, primitives, towards

import lastgate as lg
from lastgate.contracts import ControlMode

STILL = lg.RobotState(positions=HOME, stamp_s=NOW_S)
STEP_S = 0.02
# A sphere that the hand meets on its way forward.
SOLID = obstacle("solid", {"shape": "sphere", "radius_m": 0.05}, 0.55, 0.0, 0.35)


@pytest.fixture(scope="module")
def gate() -> lg.Gate:
    return lg.Gate(panda(), step_s=STEP_S)


def proposed(
    gate: lg.Gate, rows: np.ndarray, *, state=STILL, world=lg.NO_WORLD, **more
) -> dict[str, lg.Proposal]:
    found = gate.propose(lg.ActionChunk(rows, **more), state=state, world=world, now_s=NOW_S)
    assert all(proposal.verdict.accepted for proposal in found)
    return {proposal.kind: proposal for proposal in found}


def test_accepted_chunk_needs_no_proposal(gate):
    assert proposed(gate, towards(rows=16, j2=-0.55)) == {}


def test_prefix_ends_before_the_contact_and_one_step_more_is_rejected(gate):
    rows = towards(rows=16, j2=0.0)
    world = primitives(SOLID)
    prefix = proposed(gate, rows, world=world)["prefix"].chunk.rows
    assert 0 < len(prefix) < 16
    assert np.array_equal(prefix, rows[: len(prefix)])
    one_more = lg.ActionChunk(rows[: len(prefix) + 1])
    assert not gate.check(one_more, state=STILL, world=world, now_s=NOW_S).accepted


def test_single_step_into_something_is_cut_short_of_it(gate):
    start = towards(rows=16, j2=0.0)[12]
    state = lg.RobotState(positions=start, stamp_s=NOW_S)
    step = start + np.array([0.0, 0.043, 0.0, 0.0, 0.0, 0.0, 0.0])
    world = primitives(SOLID)
    rejected = gate.check(lg.ActionChunk(step[None]), state=state, world=world, now_s=NOW_S)
    assert rejected.violations[0].code == "world_collision"
    part = proposed(gate, step[None], state=state, world=world)["prefix"].chunk.rows
    share = (part[0] - start)[1] / 0.043
    assert part.shape == (1, 7)
    assert 0.0 < share < 1.0


@pytest.mark.parametrize("mode", [ControlMode.JOINT_POSITION, ControlMode.JOINT_TRAJECTORY])
def test_path_that_is_too_fast_is_proposed_slower_to_its_end(gate, mode):
    rows = towards(rows=16, j6=1.7 + 1.5)
    slower = proposed(gate, rows, mode=mode)["slower"].chunk
    assert slower.mode == mode
    assert len(slower.rows) > 16
    assert np.allclose(slower.rows[-1], rows[-1], atol=1e-12)
    speeds = np.abs(np.diff(np.vstack([HOME, slower.rows]), axis=0)) / STEP_S
    limits = [joint.velocity_limit for joint in gate.robot.joints if joint.name in gate.joint_names]
    assert (speeds <= np.array(limits) * (1 + 1e-9)).all()


def test_speeds_that_are_too_fast_are_proposed_as_slower_speeds(gate):
    rows = np.tile([0.0, 0.0, 0.0, 0.0, 0.0, 4.0, 0.0], (8, 1))
    slower = proposed(gate, rows, mode=ControlMode.JOINT_VELOCITY)["slower"].chunk
    assert slower.mode == ControlMode.JOINT_VELOCITY
    assert np.isclose(slower.rows.sum(), rows.sum())
    assert slower.rows.max() <= 2.61


def test_tool_that_is_too_fast_is_proposed_as_slower_joint_positions(gate):
    rows = np.tile([0.03, 0.0, 0.0, 0.0, 0.0, 0.0], (8, 1))
    chunk = lg.ActionChunk(rows, mode=ControlMode.CARTESIAN_DELTA)
    rejected = gate.check(chunk, state=STILL, world=lg.NO_WORLD, now_s=NOW_S)
    if rejected.violations[0].code not in ("ee_speed", "joint_velocity_limit"):
        pytest.fail(f"the case is about speed: {rejected}")
    (slower,) = [
        p for p in gate.propose(chunk, state=STILL, world=lg.NO_WORLD, now_s=NOW_S) if p.kind == "slower"
    ]
    assert slower.chunk.mode == ControlMode.JOINT_POSITION
    assert slower.verdict.accepted


def test_path_that_is_too_fast_and_meets_something_is_slower_as_far_as_it_is_clear(gate):
    rows = HOME + np.linspace(0, 1, 5)[1:, None] * [0.0, 0.6, 0.0, 0.0, 0.0, 0.0, 0.0]
    world = primitives(SOLID)
    slower = proposed(gate, rows, world=world)["slower"].chunk.rows
    assert HOME[1] < slower[-1][1] < rows[-1][1]


def test_robot_that_moves_is_slowed_down_within_its_accelerations():
    robot = panda().model_copy(
        update={
            "joints": tuple(
                joint.model_copy(update={"acceleration_limit": 8.0}) if joint.is_moving else joint
                for joint in panda().joints
            )
        }
    )
    gate = lg.Gate(robot, step_s=STEP_S)
    moving = lg.RobotState(positions=HOME, velocities=np.array([0, 0, 0, 0, 0, 2.5, 0.0]), stamp_s=NOW_S)
    rows = HOME + np.arange(1, 17)[:, None] * [0, 0, 0, 0, 0, 2.9 * STEP_S, 0]
    slower = proposed(gate, rows, state=moving)["slower"].chunk.rows
    speeds = np.diff(np.vstack([HOME, slower]), axis=0)[:, 5] / STEP_S
    changes = np.diff(np.r_[2.5, speeds]) / STEP_S
    assert np.abs(changes).max() <= 8.0 * (1 + 1e-6)
    assert speeds.max() <= 2.61


@pytest.mark.parametrize(
    ("state", "world"),
    [
        (None, lg.NO_WORLD),
        (lg.RobotState(positions=HOME, stamp_s=NOW_S - 60.0), lg.NO_WORLD),
        (lg.RobotState(positions=np.full(7, np.nan), stamp_s=NOW_S), lg.NO_WORLD),
        (lg.RobotState(positions=HOME[:6], stamp_s=NOW_S), lg.NO_WORLD),
        (STILL, None),
    ],
    ids=["no state", "stale state", "NaN", "too short", "no world"],
)
def test_nothing_is_proposed_without_knowing_where_the_robot_or_the_world_is(gate, state, world):
    assert proposed(gate, towards(rows=16, j6=1.7 + 1.5), state=state, world=world) == {}


def test_nothing_is_proposed_in_a_world_that_is_too_old(gate):
    world = lg.World(primitives=(SOLID,), stamp_s=NOW_S - 3600.0)
    assert proposed(gate, towards(rows=16, j2=0.0), world=world) == {}


def test_chunk_that_cannot_be_read_gets_no_slower_one(gate):
    rows = towards(rows=16, j6=1.7 + 1.5)
    rows[3, 2] = np.nan
    assert "slower" not in proposed(gate, rows)


def test_retreat_leads_away_from_what_is_touched_and_standing_still_does_not(gate):
    start = towards(rows=16, j2=0.0)[14]
    state = lg.RobotState(positions=start, stamp_s=NOW_S)
    world = primitives(SOLID)
    assert not gate.check(lg.ActionChunk(start[None]), state=state, world=world, now_s=NOW_S).accepted
    retreat = proposed(gate, start[None], state=state, world=world)["retreat"]
    assert retreat.verdict.recovery
    # Without the retreat rule the same motion is rejected: it begins inside the margin.
    assert not gate.check(retreat.chunk, state=state, world=world, now_s=NOW_S).accepted


def test_proposal_can_be_claimed_once_like_any_verdict(gate):
    slower = proposed(gate, towards(rows=16, j6=1.7 + 1.5))["slower"]
    assert gate.claim(slower.verdict) == NOW_S
    assert gate.claim(slower.verdict) is None


def test_search_takes_a_few_checks_and_not_more(gate):
    # A ratio, because machines differ: prefix and slower within ten checks of the same chunk.
    for rows, world in (
        (towards(rows=16, j6=1.7 + 1.5), lg.NO_WORLD),
        (towards(rows=16, j2=0.0), primitives(SOLID)),
    ):
        chunk = lg.ActionChunk(rows)
        times: dict[str, list[float]] = {"check": [], "propose": []}
        for _ in range(200):
            for name, taken in times.items():
                began = time.perf_counter()
                getattr(gate, name)(chunk, state=STILL, world=world, now_s=NOW_S)
                taken.append(time.perf_counter() - began)
        # The least of many: what other programs take of the machine does not count.
        assert min(times["propose"]) < 10 * min(times["check"])
