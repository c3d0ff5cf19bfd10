# SPDX-License-Identifier: Apache-2.0
"""A wrapped environment is a proper one, sees the accepted actions unchanged and never a refused one."""

import gymnasium
import numpy as np
import pytest
from fixtures.analytic_robots import gate_of, planar_two_link, sphere
from gymnasium.utils.env_checker import check_env

import lastgate as lg
from lastgate.integrations.gymnasium_wrapper import GatedEnv
from lastgate.integrations.rejection import Rejection

STEP_S = 0.1


class TwoLinkEnv(gymnasium.Env):
    """A planar arm that is where it was sent, one step later."""

    metadata = {"render_modes": []}  # noqa: RUF012 -- Gymnasium's own spelling

    def __init__(self, velocity: bool = False) -> None:
        bound = 1.0 if velocity else 4.0
        self.action_space = gymnasium.spaces.Box(-bound, bound, (2,), np.float32)
        self.observation_space = gymnasium.spaces.Box(-10.0, 10.0, (2,), np.float64)
        self.velocity = velocity
        self.seen: list[np.ndarray] = []
        self.time_s = 0.0

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.positions = np.zeros(2)
        self.seen = []
        self.time_s = 0.0
        return self.positions.copy(), {}

    def step(self, action):
        self.seen.append(action)
        moved = (
            self.positions + np.asarray(action, dtype=np.float64) * STEP_S
            if self.velocity
            else np.asarray(action)
        )
        self.positions = np.array(moved, dtype=np.float64)
        self.time_s += STEP_S
        return self.positions.copy(), 0.0, False, len(self.seen) >= 50, {"inner": 1}


def state_of(env, observation):
    return lg.RobotState(positions=env.unwrapped.positions, stamp_s=env.unwrapped.time_s)


def wrapped(env=None, **arguments) -> GatedEnv:
    gate = gate_of(planar_two_link(), step_s=STEP_S)
    return GatedEnv(env or TwoLinkEnv(), gate, **{"state_of": state_of, "world": lg.NO_WORLD} | arguments)


@pytest.mark.filterwarnings("ignore:.*different from the unwrapped version")  # it is a wrapper
def test_wrapped_environment_passes_the_checker_of_gymnasium():
    check_env(wrapped(TwoLinkEnv(velocity=True), mode=lg.ControlMode.JOINT_VELOCITY), skip_render_check=True)


def test_accepted_action_reaches_the_environment_with_the_numbers_that_were_checked():
    env = wrapped()
    env.reset(seed=1)
    action = np.array([0.3, -0.2], dtype=np.float32)
    observation, _, _, _, info = env.step(action)
    assert env.unwrapped.seen[0].dtype == np.float32
    assert env.unwrapped.seen[0].tobytes() == action.tobytes()
    assert info["refusal"] is None
    assert info["inner"] == 1
    assert np.allclose(observation, action)


def test_action_that_changes_after_it_was_read_does_not_reach_the_environment():
    action = np.array([0.3, -0.2], dtype=np.float32)

    def world(_):
        action[0] = 3.9  # another thread, or a buffer that is used again
        return lg.NO_WORLD

    env = wrapped(world=world)
    env.reset()
    assert env.step(action)[4]["refusal"] is None
    assert env.unwrapped.seen[0].tolist() == np.array([0.3, -0.2], dtype=np.float32).tolist()


def test_action_is_checked_as_the_environment_gets_it():
    env = wrapped()
    env.reset()
    wide = np.array([0.1, -0.1])  # float64, and the environment takes float32
    assert env.step(wide)[4]["refusal"] is None
    assert env.unwrapped.seen[0].tolist() == wide.astype(np.float32).tolist()
    assert (
        env.step(np.array([1e300, 0.0]))[4]["refusal"].code == "nan_in_action"
    )  # which is infinite as float32


@pytest.mark.parametrize(
    ("action", "says"),
    [
        (np.array([0.1 + 2j, 0.0]), "complex numbers"),
        (np.ma.array([0.1, 9.0], mask=[False, True]), "masked"),
        (np.zeros((1, 2)), r"shape \(1, 2\), needs \(2,\)"),
        (np.zeros((2, 1)), "shape"),
        (np.zeros(3), "shape"),
        (np.float32(0.0), "shape"),
        (np.array([True, False]), "true and false"),
        (["0.1", "0.2"], "text"),
        ([0.1, None], "objects"),
        ([[0.1], [0.1, 0.2]], "rectangle"),
        (None, "objects"),
    ],
)
def test_action_that_is_no_row_of_real_numbers_is_refused_with_a_sentence(action, says):
    env = wrapped()
    env.reset()
    with pytest.raises(lg.ROSConfigError, match=says):
        env.step(action)
    assert env.unwrapped.seen == []
    assert env.step([0.1, 0.0])[4]["refusal"] is None  # a list of numbers is a row


BAD_STATES = [[np.nan, 0.0], [0.0, np.inf], [0.0], [0.0, 0.0, 0.0]]


@pytest.mark.parametrize("bad", BAD_STATES, ids=str)
def test_after_a_state_that_is_not_whole_the_environment_stands_where_it_was_sent(bad):
    measured = [np.zeros(2)]
    env = wrapped(state_of=lambda env, _: lg.RobotState(positions=measured[0], stamp_s=env.unwrapped.time_s))
    env.reset()
    sent = np.array([0.3, -0.2], dtype=np.float32)
    assert env.step(sent)[4]["refusal"] is None
    measured[0] = np.array(bad)
    for _ in range(2):
        assert env.step(np.zeros(2, np.float32))[4]["refusal"].code == "state_unavailable"
        assert env.unwrapped.seen[-1].tolist() == sent.tolist()
    measured[0] = np.array([0.25, -0.15])
    env.step(np.full(2, np.nan))
    assert env.unwrapped.seen[-1].tolist() == np.float32(measured[0]).tolist()  # measured again: there


@pytest.mark.parametrize("bad", BAD_STATES, ids=str)
def test_first_state_that_is_not_whole_leaves_nothing_to_stand_at(bad):
    env = wrapped(state_of=lambda *_: lg.RobotState(positions=np.array(bad), stamp_s=0.0))
    env.reset()
    with pytest.raises(lg.ROSConfigError, match="no positions to stand still at"):
        env.step(np.zeros(2, np.float32))
    assert env.unwrapped.seen == []


@pytest.mark.parametrize(
    ("made", "says"),
    [([np.nan, 0.0], "not finite"), ([0.0], "shape"), (np.array([1j, 0.0]), "complex"), (None, "objects")],
)
def test_hold_that_makes_no_finite_row_is_refused(made, says):
    env = wrapped(hold=lambda action, state: made)
    env.reset()
    with pytest.raises(lg.ROSConfigError, match=says):
        env.step(np.full(2, np.nan))
    assert env.unwrapped.seen == []


def test_hold_of_ones_own_reaches_the_environment():
    env = wrapped(hold=lambda action, state: state.positions + 0.001)
    env.reset()
    assert env.step(np.full(2, np.nan))[4]["refusal"] is not None
    assert env.unwrapped.seen[0].tolist() == np.full(2, 0.001, np.float32).tolist()


@pytest.mark.parametrize(
    ("action", "code"),
    [
        ([np.nan, 0.0], "nan_in_action"),
        ([3.5, 0.0], "joint_position_limit"),
        ([2.0, 0.0], "joint_velocity_limit"),
    ],
)
def test_rejected_action_never_reaches_the_environment(action, code):
    env = wrapped()
    env.reset(seed=1)
    env.step(np.array([0.3, -0.2], dtype=np.float32))
    observation, _, _, _, info = env.step(np.array(action, dtype=np.float32))
    assert isinstance(info["refusal"], Rejection)
    assert info["refusal"].code == code
    assert info["gate_refusals"] == 1
    assert np.allclose(observation, [0.3, -0.2])
    assert np.isfinite(env.unwrapped.seen[1]).all()
    assert env.reset()[1] == {"refusal": None, "gate_refusals": 0}


def test_velocity_environment_is_given_zeros_for_a_rejected_action():
    env = wrapped(TwoLinkEnv(velocity=True), mode=lg.ControlMode.JOINT_VELOCITY)
    env.reset()
    _, _, _, _, info = env.step(np.array([np.inf, 0.0], dtype=np.float32))
    assert info["refusal"].code == "nan_in_action"
    assert env.unwrapped.seen[0].tolist() == [0.0, 0.0]
    _, _, _, _, info = env.step(np.array([1.0, 1.0], dtype=np.float32))
    assert info["refusal"] is None


def test_world_is_asked_at_every_step_and_counts():
    asked = []

    def world(env):
        asked.append(env.unwrapped.time_s)
        return lg.World(primitives=[sphere((0.6, 0.4, 0.0), 0.1)], stamp_s=env.unwrapped.time_s)

    env = wrapped(world=world)
    env.reset()
    codes = []
    for step in range(1, 8):
        _, _, _, _, info = env.step(np.array([0.1 * step, 0.0], dtype=np.float32))
        codes.append(None if info["refusal"] is None else info["refusal"].code)
    assert len(asked) == 7
    assert codes[0] is None
    assert "world_collision" in codes


def test_stale_state_is_refused():
    def old_state(env, observation):
        return lg.RobotState(positions=env.unwrapped.positions, stamp_s=0.0, stamps_s=[-9.0, 0.0])

    env = wrapped(state_of=old_state)
    env.reset()
    assert env.step(np.zeros(2, dtype=np.float32))[4]["refusal"].code == "state_unavailable"


def test_exception_only_when_asked_for():
    env = wrapped(raise_on_rejection=True)
    env.reset()
    with pytest.raises(lg.RejectedChunkError, match="nan_in_action"):
        env.step(np.array([np.nan, 0.0], dtype=np.float32))
    assert env.unwrapped.seen == []


class ThreeWide(TwoLinkEnv):
    def __init__(self):
        super().__init__()
        self.action_space = gymnasium.spaces.Box(-1.0, 1.0, (3,), np.float32)


class Discrete(TwoLinkEnv):
    def __init__(self):
        super().__init__()
        self.action_space = gymnasium.spaces.Discrete(4)


@pytest.mark.parametrize(
    ("env", "arguments", "says"),
    [
        (ThreeWide, {}, "3 wide"),
        (Discrete, {}, "one number per column"),
        (TwoLinkEnv, {"mode": lg.ControlMode.JOINT_TORQUE}, "stands still"),
    ],
)
def test_environment_that_does_not_fit_is_refused(env, arguments, says):
    with pytest.raises(lg.ROSConfigError, match=says):
        wrapped(env(), **arguments)


def test_robot_instead_of_its_gate_and_observation_instead_of_a_state_are_named():
    with pytest.raises(lg.ROSConfigError, match=r"gate is a str, expected a Gate: use lastgate\.Gate\("):
        GatedEnv(TwoLinkEnv(), "franka_panda", state_of=lambda *_: None, world=lg.NO_WORLD)
    env = wrapped(state_of=lambda env, observation: observation)
    env.reset()
    with pytest.raises(
        lg.ROSConfigError, match=r"returned a ndarray, expected a RobotState: return lastgate"
    ):
        env.step(np.zeros(2, np.float32))
    assert env.unwrapped.seen == []


def test_step_before_reset_says_what_is_missing():
    env = wrapped()
    with pytest.raises(gymnasium.error.ResetNeeded, match="reset"):
        env.step(np.zeros(2, np.float32))
    env.reset()
    assert env.step(np.zeros(2, np.float32))[4]["refusal"] is None


def test_rejected_action_without_positions_to_stand_at_is_an_error():
    env = wrapped(state_of=lambda env, observation: lg.RobotState(positions=None, stamp_s=0.0))
    env.reset()
    with pytest.raises(lg.ROSConfigError, match="no positions"):
        env.step(np.zeros(2, np.float32))
    assert env.unwrapped.seen == []
