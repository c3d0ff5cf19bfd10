# SPDX-License-Identifier: Apache-2.0
"""NaN and infinity anywhere reject: every element of every mode, every field of the state, clock and stamps."""

import numpy as np
import pytest
from fixtures.analytic_robots import (
    NOW_S,
    at,
    check,
    code_of,
    gate_of,
    gripper_arm,
    only_violation,
    stacked,
    world_of,
)

import lastgate as lg
from lastgate.contracts import ControlMode

POISON = [np.nan, np.inf, -np.inf]
CHECKED_MODES = [mode for mode in ControlMode if mode is not ControlMode.FOOT_PLACEMENT]


@pytest.fixture(scope="module")
def gate() -> lg.Gate:
    return gate_of(stacked(4, acceleration_limit=100.0), step_s=0.01)


def resting_rows(mode: ControlMode, count: int) -> np.ndarray:
    rows = np.zeros((count, mode.row_width(4)))
    if mode is ControlMode.CARTESIAN_POSE:
        rows[:] = [0.0, 0.0, 0.0, 1.0, 0.05, 0.0, 0.12]
    return rows


@pytest.mark.parametrize("mode", CHECKED_MODES)
def test_resting_rows_are_accepted(gate, mode):
    assert check(gate, resting_rows(mode, 3), mode).accepted


@pytest.mark.parametrize("poison", POISON)
@pytest.mark.parametrize("mode", CHECKED_MODES)
def test_value_that_is_not_finite_is_rejected_in_every_element(gate, mode, poison):
    rows = resting_rows(mode, 3)
    for step, column in np.ndindex(*rows.shape):
        poisoned = rows.copy()
        poisoned[step, column] = poison
        violation = only_violation(check(gate, poisoned, mode))
        assert (violation.code, violation.step) == ("nan_in_action", step)
        assert f"element {step * rows.shape[1] + column}" in violation.detail


@pytest.mark.parametrize("poison", [*POISON, 1e5])
@pytest.mark.parametrize("field", ["positions", "velocities"])
def test_state_that_is_not_finite_or_beyond_any_joint_is_rejected_for_every_joint(gate, field, poison):
    for column in range(4):
        fields = {"positions": np.zeros(4), "velocities": np.zeros(4)}
        fields[field][column] = poison
        state = lg.RobotState(**fields, stamp_s=NOW_S)
        violation = only_violation(check(gate, [[0.0] * 4], state=state))
        assert (violation.code, violation.subject) == ("state_unavailable", f"j{column}")


@pytest.mark.parametrize("poison", POISON)
def test_joint_stamp_that_is_not_finite_is_rejected_for_every_joint(gate, poison):
    for column in range(4):
        stamps = np.full(4, NOW_S)
        stamps[column] = poison
        violation = only_violation(check(gate, [[0.0] * 4], state=at(*[0.0] * 4, stamps_s=stamps)))
        assert (violation.code, violation.subject) == ("state_unavailable", f"j{column}")


@pytest.mark.parametrize("poison", POISON)
def test_gripper_position_that_is_not_finite_is_rejected(poison):
    gate = gate_of(gripper_arm())
    assert check(gate, [[0.0]], state=at(0.0, gripper_positions=[0.0])).accepted
    assert code_of(check(gate, [[0.0]], state=at(0.0, gripper_positions=[poison]))) == "state_unavailable"


@pytest.mark.parametrize("poison", POISON)
def test_state_stamp_that_is_not_finite_is_rejected(gate, poison):
    assert code_of(check(gate, [[0.0] * 4], state=at(*[0.0] * 4, stamp_s=poison))) == "state_unavailable"


@pytest.mark.parametrize("poison", POISON)
def test_world_stamp_that_is_not_finite_is_rejected(gate, poison):
    assert code_of(check(gate, [[0.0] * 4], world=world_of(stamp_s=poison))) == "world_unavailable"


@pytest.mark.parametrize("poison", POISON)
def test_clock_that_is_not_finite_is_rejected(gate, poison):
    assert code_of(check(gate, [[0.0] * 4], now_s=poison)) == "state_unavailable"


@pytest.mark.parametrize("huge", [1e200, 1.7e308])
@pytest.mark.parametrize("mode", CHECKED_MODES)
def test_huge_number_is_rejected_with_evidence_that_validates(gate, mode, huge):
    rows = np.full((1, mode.row_width(4)), huge)
    assert code_of(check(gate, rows, mode)) not in ("accepted", "internal_fault", "not_checked")


@pytest.mark.parametrize("poison", [*POISON, 9.0])
def test_configuration_that_is_not_finite_is_rejected_in_a_batch(gate, poison):
    configurations = np.zeros((5, 4))
    configurations[1:][np.diag_indices(4)] = poison
    batch = gate.check_batch(configurations, world=lg.NO_WORLD)
    assert batch.accepted.tolist() == [True, False, False, False, False]
    assert np.all(np.isneginf(batch.clearance_m[1:]))
    assert batch.clearance_m[0] > 0.0
