# SPDX-License-Identifier: Apache-2.0
"""What is proposed and what is measured."""

import numpy as np
import pytest

import lastgate as lg
from lastgate.contracts import ControlMode
from lastgate.contracts.arrays import require_number


def test_chunk_keeps_its_rows_and_labels():
    chunk = lg.ActionChunk(
        [[0.0, 1.0]], mode=ControlMode.JOINT_VELOCITY, rskill_id="pick", trace_id="00-1-2-01"
    )
    np.testing.assert_array_equal(chunk.rows, [[0.0, 1.0]])
    assert (chunk.mode, chunk.rskill_id, chunk.trace_id) == (ControlMode.JOINT_VELOCITY, "pick", "00-1-2-01")
    assert (chunk.ee_name, chunk.frame_id) == ("", "")


def test_chunk_without_a_mode_is_joint_positions():
    assert lg.ActionChunk([[0.0]]).mode is ControlMode.JOINT_POSITION


@pytest.mark.parametrize("number", range(13))
def test_known_number_becomes_its_mode(number):
    assert lg.ActionChunk([[0.0]], mode=number).mode is ControlMode(number)


@pytest.mark.parametrize("number", [13, 42, 255])
def test_unknown_number_is_kept_so_that_the_gate_can_reject_it(number):
    assert lg.ActionChunk([[0.0]], mode=number).mode == number


@pytest.mark.parametrize("mode", [-1, 256, 1.0, "JOINT_POSITION", None, True, np.int64(0)])
def test_mode_that_no_message_could_carry_is_refused(mode):
    with pytest.raises(
        lg.ROSConfigError,
        match=r"mode must be a ControlMode, such as lg\.ControlMode\.JOINT_POSITION, or a number from 0 to 255",
    ):
        lg.ActionChunk([[0.0]], mode=mode)


def test_chunk_cannot_be_changed():
    chunk = lg.ActionChunk([[0.0]])
    with pytest.raises(AttributeError):
        chunk.mode = ControlMode.JOINT_TORQUE
    with pytest.raises(ValueError, match="read-only"):
        chunk.rows[0, 0] = 1.0


def test_chunk_does_not_follow_the_array_it_was_made_from():
    rows = np.zeros((1, 2))
    chunk = lg.ActionChunk(rows)
    rows[:] = 9.0
    assert not chunk.rows.any()


def test_rows_of_another_dtype_are_refused():
    with pytest.raises(lg.ROSConfigError, match=r"rows is float32.*rows\.astype"):
        lg.ActionChunk(np.zeros((1, 2), dtype=np.float32))


def test_state_keeps_what_was_measured():
    state = lg.RobotState(positions=[0.0, 1.0], stamp_s=5, velocities=[0.5, 0.5], gripper_positions=[0.02])
    np.testing.assert_array_equal(state.positions, [0.0, 1.0])
    np.testing.assert_array_equal(state.gripper_positions, [0.02])
    assert (state.stamp_s, state.stamps_s) == (5.0, None)


@pytest.mark.parametrize("field", ["positions", "velocities", "gripper_positions", "stamps_s"])
@pytest.mark.parametrize("values", [np.zeros(2, dtype=np.float32), np.zeros((1, 2)), "00", np.zeros(4)[::2]])
def test_state_field_that_cannot_be_read_is_refused_by_name(field, values):
    with pytest.raises(lg.ROSConfigError, match=f"^{field} "):
        lg.RobotState(**({"positions": [0.0, 0.0], "stamp_s": 0.0} | {field: values}))


@pytest.mark.parametrize("stamp", ["now", None, True, [0.0], np.array(1.0), 10**400])
def test_stamp_that_is_not_a_number_is_refused(stamp):
    with pytest.raises(lg.ROSConfigError, match="stamp_s"):
        lg.RobotState(positions=[0.0], stamp_s=stamp)


@pytest.mark.parametrize("value", [0, 1.5, np.float64(2.0), np.int64(3), float("nan"), float("inf")])
def test_numbers_are_taken_nan_included_because_the_gate_rejects_it(value):
    assert isinstance(require_number(value, name="now_s"), float)


@pytest.mark.parametrize("value", [np.float32(2.0), np.float16(2.0), np.longdouble(2.0)])
def test_number_of_another_precision_is_refused_with_the_sentence_that_fixes_it(value):
    with pytest.raises(lg.ROSConfigError, match=rf"^now_s is {value.dtype}, .* pass `float\(now_s\)`$"):
        require_number(value, name="now_s")


@pytest.mark.parametrize("value", [np.bool_(True), 1j, np.array(1.0), np.array([1.0]), "1"])
def test_what_is_no_number_is_refused_without_a_unit_that_it_may_not_have(value):
    with pytest.raises(lg.ROSConfigError, match=r"^rate_hz must be a number, got "):
        require_number(value, name="rate_hz")
