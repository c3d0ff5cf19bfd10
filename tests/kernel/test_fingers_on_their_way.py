# SPDX-License-Identifier: Apache-2.0
"""A kernel that let a gripper chunk pass does not take fingers that still move for standing ones."""

import time

import numpy as np
import pytest
from paper_robots import gripper_arm, sphere

import lastgate as lg

RATE_HZ = 50.0
# Above the hand, beside the way of the closed finger and in the way of the open one.
PEG = sphere((0.0, 0.155, 0.6), 0.01, "peg")
STAND_M, LIFT = 0.5, np.linspace(0.51, 0.7, 20)[:, np.newaxis]
# Longer than a driver may wait, and the steps of the chunk.
SENT_S = 0.4


@pytest.fixture
def kernel(start_kernel):
    return start_kernel(gripper_arm(), rate_hz=RATE_HZ, on_violation="hold", on_stale="drop")


def lift(kernel: lg.KernelClient, finger_m: float) -> str:
    """Returns what becomes of an arm chunk while the finger is measured there: `accepted`, or the code."""
    kernel.publish_world(lg.World(primitives=[PEG], stamp_s=time.time()))
    kernel.observe([STAND_M], gripper_positions=[finger_m])
    verdict = kernel.submit(LIFT)
    return "accepted" if verdict.accepted else str(verdict.violations[0].code)


def send_finger(kernel: lg.KernelClient, *commands: float, mode=lg.ControlMode.GRIPPER_POSITION) -> None:
    kernel.publish_world(lg.World(primitives=[PEG], stamp_s=time.time()))
    kernel.observe([STAND_M], gripper_positions=[0.0])
    verdict = kernel.submit(np.array(commands)[:, np.newaxis], mode=mode)
    assert verdict.accepted, verdict.violations


def test_arm_passes_beside_a_peg_with_the_finger_closed_and_not_open(kernel):
    assert lift(kernel, 0.0) == "accepted"
    assert lift(kernel, 0.04) == "world_collision"


@pytest.mark.parametrize("mode", [lg.ControlMode.GRIPPER_POSITION, lg.ControlMode.GRIPPER_BINARY])
def test_finger_that_opens_is_anywhere_until_it_was_measured_where_it_was_sent(kernel, mode):
    send_finger(kernel, 1.0, mode=mode)
    assert lift(kernel, 0.0) == "world_collision"  # measured before it began to move
    assert lift(kernel, 0.01) == "world_collision"  # and on its way
    time.sleep(SENT_S)
    assert lift(kernel, 0.02) == "world_collision"  # held apart, and free to go on
    send_finger(kernel, 0.0, mode=mode)
    assert lift(kernel, 0.0) == "world_collision"  # it may still be opening
    time.sleep(SENT_S)
    assert lift(kernel, 0.0) == "accepted"


def test_finger_that_opens_and_closes_again_is_not_where_it_was_before(kernel):
    send_finger(kernel, 1.0, 0.0)
    assert lift(kernel, 0.0) == "world_collision"
    time.sleep(SENT_S)
    assert lift(kernel, 0.0) == "accepted"
