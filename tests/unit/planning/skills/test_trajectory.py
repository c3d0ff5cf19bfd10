# SPDX-License-Identifier: Apache-2.0
import math

import numpy as np
import pytest

import lastgate as lg
from lastgate.planning.skills import Trajectory, replay_trajectory
from lastgate.planning.skills.gated_motion import move_through_gate
from unit.planning.skills.conftest import HOME, STEP_S, TABLE, RecordingBody, box, world_of

TURNED = HOME + np.array([0.2, 0, 0, 0, 0, 0, 0])


def trajectory(gate, end=TURNED, count=20, **changes):
    fields = {
        "start": HOME,
        "rows": np.linspace(HOME, end, count + 1)[1:],
        "step_s": STEP_S,
        "joint_names": gate.joint_names,
    }
    return Trajectory(**fields | changes)


def test_every_step_crosses_the_gate_as_a_chunk_of_its_own(gate, monkeypatch):
    body, plan = RecordingBody(world_of(TABLE)), trajectory(gate)
    checked = []
    check = type(gate).check
    monkeypatch.setattr(
        type(gate), "check", lambda self, chunk, **k: checked.append(chunk) or check(self, chunk, **k)
    )
    replay = replay_trajectory(plan, gate=gate, body=body, rskill_id="look-at")
    assert [chunk.rows.tolist() for chunk in body.chunks] == [[row.tolist()] for row in plan.rows]
    # What was executed is what was checked, byte for byte, and nothing else.
    assert [a is b for a, b in zip(body.chunks, checked, strict=True)] == [True] * 20
    assert {chunk.rskill_id for chunk in checked} == {"look-at"}
    assert replay.waypoints == 20
    assert 0.0 < replay.min_clearance_m < 1.0
    assert body.holds == 0


def test_verdict_that_allowed_a_motion_allows_no_second_one(gate, monkeypatch):
    body = RecordingBody()
    chunk = lg.ActionChunk(HOME[np.newaxis])
    verdict = move_through_gate(chunk, gate=gate, body=body, what="a step")
    assert gate.claim(verdict) is None
    assert len(body.chunks) == 1
    # A check that answers with a verdict of before moves nothing.
    monkeypatch.setattr(type(gate), "check", lambda *_, **__: verdict)
    with pytest.raises(lg.ROSSafetyViolation, match="executed before"):
        move_through_gate(chunk, gate=gate, body=body, what="a step")
    assert (len(body.chunks), body.holds) == (1, 1)


def test_obstacle_that_appears_on_the_way_ends_the_replay_with_the_robot_held(gate):
    plan = trajectory(gate, end=HOME + np.array([1.0, 0, 0, 0, 0, 0, 0]), count=60)
    hand = gate.link_poses(plan.rows[40])["panda_hand"][:, 3]
    body = RecordingBody(world_of(box("visitor", tuple(hand), (0.1, 0.1, 0.1))))
    with pytest.raises(
        lg.ROSCollisionImminent, match=r"step \d+ of 60 of the plan, and the robot holds: .*visitor"
    ):
        replay_trajectory(plan, gate=gate, body=body)
    assert 0 < len(body.chunks) < 40
    assert body.holds == 1
    assert body.positions.tolist() == plan.rows[len(body.chunks) - 1].tolist()


@pytest.mark.parametrize(
    ("column", "value", "error"),
    [
        (3, 0.5, lg.ROSWorkspaceViolation),
        (0, 0.5, lg.ROSWorkspaceViolation),
        (0, math.nan, lg.ROSSafetyViolation),
    ],
)
def test_step_out_of_limits_is_rejected_with_the_error_of_its_kind(gate, column, value, error):
    rows = np.linspace(HOME, HOME, 4)[1:]
    rows[2, column] = value
    body = RecordingBody()
    with pytest.raises(error, match="step 3 of 3"):
        replay_trajectory(trajectory(gate, rows=rows), gate=gate, body=body)
    assert (len(body.chunks), body.holds) == (2, 1)


def test_stale_state_is_rejected_before_anything_moves(gate):
    body = RecordingBody()
    body.state_age_s = 5.0
    with pytest.raises(lg.ROSSafetyViolation, match="state_unavailable"):
        replay_trajectory(trajectory(gate), gate=gate, body=body)
    assert (body.chunks, body.holds) == ([], 1)


def test_robot_that_is_elsewhere_is_not_pulled_to_the_first_step(gate):
    body = RecordingBody(positions=HOME + np.array([0.5, 0, 0, 0, 0, 0, 0]))
    with pytest.raises(lg.ROSWorkspaceViolation, match="joint_velocity_limit"):
        replay_trajectory(trajectory(gate), gate=gate, body=body)
    assert (body.chunks, body.holds) == ([], 1)


def test_motion_that_is_taken_back_stops_before_the_next_chunk(gate):
    body = RecordingBody()
    with pytest.raises(lg.ROSMotionCancelled, match="before step 6 of 20"):
        replay_trajectory(trajectory(gate), gate=gate, body=body, is_cancelled=lambda: len(body.chunks) == 5)
    assert (len(body.chunks), body.holds) == (5, 1)


def test_driver_that_fails_is_told_to_hold_and_its_error_is_not_hidden(gate):
    body = RecordingBody()
    body.fails_at = 3
    with pytest.raises(RuntimeError, match="lost its connection"):
        replay_trajectory(trajectory(gate), gate=gate, body=body)
    assert (len(body.chunks), body.holds) == (3, 1)


def test_trajectory_of_another_step_or_robot_is_refused(gate):
    body = RecordingBody()
    for changes in ({"step_s": 0.01}, {"joint_names": tuple(reversed(gate.joint_names))}):
        with pytest.raises(lg.ROSConfigError, match="the gate reads"):
            replay_trajectory(trajectory(gate, **changes), gate=gate, body=body)
    assert body.chunks == []


def test_trajectory_without_rows_moves_nothing(gate):
    body = RecordingBody()
    replay = replay_trajectory(trajectory(gate, rows=np.empty((0, 7))), gate=gate, body=body)
    assert (replay.waypoints, replay.min_clearance_m, body.chunks) == (0, None, [])


@pytest.mark.parametrize(
    "changes", [{"rows": np.zeros((3, 6))}, {"start": np.zeros(6)}, {"step_s": 0.0}, {"step_s": math.nan}]
)
def test_trajectory_that_does_not_fit_together_is_refused(gate, changes):
    with pytest.raises(lg.ROSConfigError):
        trajectory(gate, **changes)
