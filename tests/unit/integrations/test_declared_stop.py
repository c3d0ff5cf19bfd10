# SPDX-License-Identifier: Apache-2.0
"""The declared stop as a motion: within its decelerations, at rest where the definition says, never off its path."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lastgate as lg
from lastgate.integrations.declared_stop import StopLaw, StoppingMotion

STEP_S = 0.02
number = st.floats(-3.0, 3.0, width=32)


@st.composite
def asked_stops(draw, kind: str):
    """A path of some steps, a law, and a moment at which a stop is asked for."""
    joints, steps = draw(st.integers(1, 4)), draw(st.integers(1, 12))
    velocities = np.array(draw(st.lists(number, min_size=joints * steps, max_size=joints * steps)))
    path = np.vstack([np.zeros(joints), np.cumsum(velocities.reshape(steps, joints) * STEP_S, axis=0)])
    limits = draw(st.lists(st.floats(0.5, 30.0), min_size=joints, max_size=joints))
    law = StopLaw(kind=kind, reaction_s=draw(st.floats(0.0, 0.1)), deceleration=np.array(limits))
    return path, law, draw(st.floats(0.0, steps * STEP_S))


def extended(path: np.ndarray, path_s: float) -> np.ndarray:
    """The path of the definition, written again: straight from step to step, and on behind the last one."""
    times = np.arange(len(path)) * STEP_S
    if path_s <= times[-1]:
        return np.array([np.interp(path_s, times, column) for column in path.T])
    return path[-1] + (path_s - times[-1]) * (path[-1] - path[-2]) / STEP_S


def brake_time_s(path: np.ndarray, law: StopLaw, asked_s: float) -> float:
    """T* of the definition: the largest braking time of this segment and those behind it."""
    needed = (np.abs(np.diff(path, axis=0)) / STEP_S / law.deceleration).max(axis=1)
    ends_s = (np.arange(len(needed)) + 1) * STEP_S
    return needed[ends_s >= asked_s - 1e-9].max()


@given(asked_stops("path"))
def test_path_stop_rests_where_the_definition_says_and_stays_there(asked):
    path, law, asked_s = asked
    motion = StoppingMotion(path, step_s=STEP_S, law=law, asked_s=asked_s)
    brake_s = brake_time_s(path, law, asked_s)
    assert motion.duration_s == pytest.approx(law.reaction_s + brake_s, abs=1e-12)
    rest = extended(path, asked_s + law.reaction_s + brake_s / 2.0)
    np.testing.assert_allclose(motion.at(motion.duration_s), rest, atol=1e-9)
    np.testing.assert_array_equal(motion.at(motion.duration_s + 5.0), motion.at(motion.duration_s))
    np.testing.assert_allclose(motion.velocity_at(motion.duration_s), 0.0, atol=1e-9)


@given(asked_stops("path"), st.lists(st.floats(0.0, 1.0), min_size=2, max_size=20))
def test_path_stop_never_leaves_the_path_and_never_goes_back(asked, shares):
    path, law, asked_s = asked
    motion = StoppingMotion(path, step_s=STEP_S, law=law, asked_s=asked_s)
    times = [motion.path_time_s(share * motion.duration_s) for share in sorted(shares)]
    assert all(before <= after + 1e-12 for before, after in itertools.pairwise(times))
    for share in shares:
        passed_s = share * motion.duration_s
        place = extended(path, motion.path_time_s(passed_s))
        np.testing.assert_allclose(motion.at(passed_s), place, atol=1e-9)


@given(asked_stops("path"), st.floats(0.0, 1.0), st.floats(0.0, 1.0))
def test_path_stop_brakes_no_joint_harder_than_its_limit(asked, one, other):
    path, law, asked_s = asked
    motion = StoppingMotion(path, step_s=STEP_S, law=law, asked_s=asked_s)
    first, second = sorted((one * motion.duration_s, other * motion.duration_s))
    # Where the path itself changes its speed, it is the chunk that does, and not the stop.
    if int(motion.path_time_s(first) / STEP_S) != int(motion.path_time_s(second) / STEP_S):
        return
    change = np.abs(motion.velocity_at(second) - motion.velocity_at(first))
    assert (change <= law.deceleration * (second - first) + 1e-9).all()


@given(asked_stops("joint"), st.floats(0.0, 1.0))
def test_joint_stop_is_each_joints_own_and_no_longer_than_it_needs(asked, share):
    path, law, asked_s = asked
    motion = StoppingMotion(path, step_s=STEP_S, law=law, asked_s=asked_s)
    segment = min(max(int(np.ceil(asked_s / STEP_S - 1e-9)) - 1, 0), len(path) - 2)
    speed = (path[segment + 1] - path[segment]) / STEP_S
    gone = speed * law.reaction_s + np.sign(speed) * speed**2 / (2.0 * law.deceleration)
    start = extended(path, asked_s)
    np.testing.assert_allclose(motion.at(motion.duration_s), start + gone, atol=1e-9)
    passed_s, tick_s = share * motion.duration_s, 1e-4
    change = np.abs(motion.velocity_at(passed_s + tick_s) - motion.velocity_at(passed_s))
    assert (change <= law.deceleration * tick_s + 1e-9).all()
    moved = motion.at(passed_s + tick_s) - motion.at(passed_s)
    assert (np.abs(moved) <= np.abs(speed) * tick_s + 1e-9).all()
    assert (moved * np.sign(speed) >= -1e-12).all()


@given(asked_stops("path"), st.floats(0.0, 1.0))
def test_set_point_that_leads_waits_instead_of_going_back(asked, share):
    path, law, asked_s = asked
    motion = StoppingMotion(path, step_s=STEP_S, law=law, asked_s=asked_s)
    led_s = min(np.ceil(asked_s / STEP_S - 1e-9) * STEP_S, (len(path) - 1) * STEP_S)
    passed_s = share * motion.duration_s
    place = extended(path, max(motion.path_time_s(passed_s), led_s))
    np.testing.assert_allclose(motion.at(passed_s, not_before_s=led_s), place, atol=1e-9)


def test_robot_that_declares_no_stop_has_no_law():
    robot = lg.load_robot("franka_panda")
    bare = robot.model_copy(update={"stop": None})
    assert StopLaw.of(bare) is None
