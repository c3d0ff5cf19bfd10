# SPDX-License-Identifier: Apache-2.0
"""A stream through Python: the same answers as `Gate.check`, one step at a time."""

import numpy as np
import pytest

import lastgate as lg

HOME = np.array([0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785])
STEP_S = 0.001
FINGERS = np.array([0.02])


@pytest.fixture(scope="module")
def panda() -> lg.RobotDescription:
    return lg.load_robot("franka_panda")


def wall(x_m: float) -> lg.World:
    return lg.World(
        primitives=[
            lg.WorldCollisionPrimitive(
                shape=lg.BoxShape(size_xyz_m=(0.1, 2.0, 2.0)), pose=lg.Pose6D(xyz=(x_m, 0.0, 0.5))
            )
        ],
        stamp_s=0.0,
    )


def run(gate: lg.Gate, reference: lg.Gate, world: lg.World, steps: int) -> tuple[lg.Stream, list[bool]]:
    """Streams random steps and requires the answers of a second gate's full checks."""
    stream = gate.stream(state=lg.RobotState(positions=HOME, stamp_s=0.0, gripper_positions=FINGERS))
    last, before, held = HOME, None, False
    speed = np.zeros(7)
    draw = np.random.default_rng(7)
    answers = []
    for index in range(steps):
        now_s = STEP_S * (index % 400)
        speed += draw.normal(0.0, 0.01, 7)
        row = last + speed * STEP_S
        velocities = None if before is None else np.zeros(7) if held else (last - before) / STEP_S
        state = lg.RobotState(positions=last, velocities=velocities, gripper_positions=FINGERS, stamp_s=now_s)
        wanted = reference.check(lg.ActionChunk(row[None]), state=state, world=world, now_s=now_s)
        found = stream.step(row, world=world, now_s=now_s, state_stamp_s=now_s)
        assert found.accepted == wanted.accepted, (index, found, wanted)
        assert [v.code for v in found.violations] == [v.code for v in wanted.violations]
        answers.append(found.accepted)
        if found.accepted:
            before, last, held = last, row, False
            assert np.array_equal(found.joint_rows[0], row)
        else:
            held = True
            speed[:] = 0.0
    return stream, answers


def test_steps_are_answered_as_by_full_checks_and_mostly_without_one(panda: lg.RobotDescription) -> None:
    stream, answers = run(lg.Gate(panda, step_s=STEP_S), lg.Gate(panda, step_s=STEP_S), wall(0.9), 600)
    assert sum(answers) > 300
    assert stream.full_checks < 300


def test_step_into_a_wall_is_rejected_with_its_name(panda: lg.RobotDescription) -> None:
    gate = lg.Gate(panda, step_s=STEP_S)
    stream = gate.stream(state=lg.RobotState(positions=HOME, stamp_s=0.0))
    assert stream.step(HOME, world=wall(0.9), now_s=0.0, state_stamp_s=0.0).accepted
    verdict = stream.step(HOME, world=wall(0.35), now_s=0.0, state_stamp_s=0.0)
    assert [violation.code for violation in verdict.violations] == [lg.ViolationCode.world_collision]
    with pytest.raises(lg.RejectedChunkError):
        _ = verdict.chunk


def test_stale_state_is_rejected_and_a_fresh_one_accepted(panda: lg.RobotDescription) -> None:
    stream = lg.Gate(panda, step_s=STEP_S).stream(state=lg.RobotState(positions=HOME, stamp_s=0.0))
    assert stream.step(HOME, world=lg.NO_WORLD, now_s=0.0, state_stamp_s=0.0).accepted
    stale = stream.step(HOME, world=lg.NO_WORLD, now_s=5.0, state_stamp_s=0.0)
    assert [violation.code for violation in stale.violations] == [lg.ViolationCode.state_unavailable]
    assert stream.step(HOME, world=lg.NO_WORLD, now_s=5.0, state_stamp_s=5.0).accepted


def test_what_is_no_stream_is_refused(panda: lg.RobotDescription) -> None:
    gate = lg.Gate(panda, step_s=STEP_S)
    with pytest.raises(lg.ROSConfigError, match="a stream takes joint positions"):
        gate.stream(mode=lg.ControlMode.JOINT_VELOCITY)
    with pytest.raises(lg.ROSConfigError, match="positions has 6 numbers, needs 7"):
        gate.stream(state=lg.RobotState(positions=HOME[:6], stamp_s=0.0))
    verdict = gate.stream().step(HOME, world=lg.NO_WORLD, now_s=0.0, state_stamp_s=0.0)
    assert [violation.code for violation in verdict.violations] == [lg.ViolationCode.state_unavailable]


def test_batch_names_the_pair_that_rejected_a_configuration(panda: lg.RobotDescription) -> None:
    gate = lg.Gate(panda, step_s=STEP_S)
    folded = np.array([0.0, 0.0, 0.0, -3.05, 0.0, 0.0, 0.0])
    beyond = HOME.copy()
    beyond[3] = 1.0
    rows = np.stack([HOME, folded, beyond, HOME])
    for world, walled in ((lg.NO_WORLD, False), (wall(0.35), True)):
        for _ in range(2):  # the general way, then the one for a world already known
            batch = gate.check_batch(rows, world=world)
            assert batch.accepted.tolist() == [not walled, False, False, not walled]
            pair = batch.pair(1)
            assert pair is not None
            assert all(name in gate.link_names for name in pair)
            assert batch.pair(2) is None
            limit = gate.explain_configuration(rows[2], world=world)
            assert limit is not None
            assert (limit.code, limit.subject) == (lg.ViolationCode.joint_position_limit, "panda_joint4")
            if walled:
                assert batch.pair(0) == batch.pair(-1)
                assert batch.pair(0) is not None
            else:
                assert batch.pair(0) is None
                assert gate.explain_configuration(rows[0], world=world) is None
            with pytest.raises(IndexError):
                batch.pair(4)
