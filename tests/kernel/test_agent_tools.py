# SPDX-License-Identifier: Apache-2.0
"""An agent's tools move nothing while a kernel of their robot is latched, and stop where it stops."""

import numpy as np
import pytest
from unit.planning.skills.conftest import HOME, STEP_S, RecordingBody

import lastgate as lg
from lastgate.contracts import ROSSafetyViolation
from lastgate.integrations.agent import AgentTools, SpatialMemory
from lastgate.integrations.agent.kernel_latch import KernelLatch

ROBOT = "franka_panda"


@pytest.fixture(scope="module")
def gate():
    return lg.Gate(lg.load_robot(ROBOT), step_s=STEP_S)


@pytest.fixture
def kernel(start_kernel, monkeypatch):
    started = start_kernel(lg.load_robot(ROBOT), without_world=True, reset_cooldown_s=0.01)
    # Other kernels of the same robot may run on this machine: only that of this test is looked at.
    monkeypatch.setattr(
        "lastgate.integrations.agent.kernel_latch.running_kernels", lambda: [started.instance]
    )
    return started


def move(tools: AgentTools, offset: float = 0.1):
    goal = dict(zip(tools.gate.joint_names, (np.asarray(HOME) + offset).tolist(), strict=True))
    return tools.execute("move-joints", {"positions": goal})


def test_tools_move_while_the_kernel_is_active_and_refuse_with_its_reason_while_it_is_latched(gate, kernel):
    body = RecordingBody()
    tools = AgentTools(SpatialMemory(), gate, body=body)
    assert move(tools).waypoints_through_gate > 0
    moved = len(body.chunks)
    kernel.estop("smoke in the cell")
    with pytest.raises(ROSSafetyViolation, match=r"latched.*smoke in the cell"):
        move(tools, 0.0)
    assert len(body.chunks) == moved
    while not kernel.reset().success:
        pass
    assert move(tools, 0.0).waypoints_through_gate > 0


def test_stop_of_the_kernel_on_the_way_ends_the_motion_and_the_robot_holds(gate, kernel):
    class StoppedOnTheWay(RecordingBody):
        def execute(self, chunk):
            super().execute(chunk)
            if len(self.chunks) == 3:
                kernel.estop("a person came in")

    body = StoppedOnTheWay()
    with pytest.raises(ROSSafetyViolation, match="a person came in"):
        move(AgentTools(SpatialMemory(), gate, body=body))
    assert len(body.chunks) == 3
    assert body.holds == 1


def test_kernel_that_ends_on_the_way_ends_the_motion(gate, kernel):
    class LeftAlone(RecordingBody):
        def execute(self, chunk):
            super().execute(chunk)
            if len(self.chunks) == 2:
                kernel.close()

    body = LeftAlone()
    with pytest.raises(ROSSafetyViolation, match="does not run"):
        move(AgentTools(SpatialMemory(), gate, body=body))
    assert body.holds == 1


def test_kernel_that_was_named_must_run_and_that_of_another_robot_binds_nothing(gate, kernel):
    named = AgentTools(
        SpatialMemory(), gate, body=RecordingBody(), kernel=KernelLatch(ROBOT, instance="no-such-kernel")
    )
    with pytest.raises(ROSSafetyViolation, match="`no-such-kernel` does not run"):
        move(named)
    kernel.estop("by the test")
    KernelLatch("another_robot").require_clear()
    with pytest.raises(ROSSafetyViolation, match="latched"):
        KernelLatch(ROBOT).require_clear()
