# SPDX-License-Identifier: Apache-2.0
"""Speed, turn rate and acceleration of a tool along its steps, against differences of its place at many instants.

Compared: the verdict for a limit below, at or above what the motion reaches. Reference: the tool placed by plain
matrices shortly before and after each instant; nothing of the gate's bounds or derivatives. Tolerance: the gate
rejects what it cannot tell from a limit, a thousandth of it; differences are off by less than that.
"""

import itertools

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

import lastgate as lg
from oracles import library
from oracles.numpy_kinematics import Kinematics

Array = NDArray[np.float64]

STEP_S = 0.05
SHORTLY = 1e-3  # of a step
INSTANTS = np.linspace(0.0, 1.0, 81)
CASES = 60


def reached(robot: lg.RobotDescription, path: Array) -> dict[str, float]:
    """Returns the largest speed, turn rate and acceleration of the tool at any instant inside a step."""
    kinematics, (effector,) = Kinematics(robot), robot.end_effectors
    offset = np.array(effector.tool_xyz_rpy[:3])
    speed = turn = bend = 0.0
    for start, end in itertools.pairwise(path):
        near = INSTANTS[:, None] + [-SHORTLY, 0.0, SHORTLY]
        frames = kinematics.frames(start + near.reshape(-1, 1) * (end - start))
        at = frames.place(effector.link, offset).reshape(-1, 3, 3)
        turned = Rotation.from_matrix(frames.rotation[effector.link]).as_matrix().reshape(-1, 3, 3, 3)
        relative = np.einsum("nij,nkj->nik", turned[:, 2], turned[:, 0])
        span_s = 2.0 * SHORTLY * STEP_S
        speed = max(speed, float(np.linalg.norm(at[:, 2] - at[:, 0], axis=1).max()) / span_s)
        turn = max(turn, float(Rotation.from_matrix(relative).magnitude().max()) / span_s)
        second = np.linalg.norm(at[:, 2] - 2.0 * at[:, 1] + at[:, 0], axis=1).max()
        bend = max(bend, float(second) / (SHORTLY * STEP_S) ** 2)
    return {"max_ee_speed_m_s": speed, "max_ee_angular_speed_rad_s": turn, "max_ee_accel_m_s2": bend}


CODES = {
    "max_ee_speed_m_s": "ee_speed",
    "max_ee_angular_speed_rad_s": "ee_angular_speed",
    "max_ee_accel_m_s2": "ee_acceleration",
}


@pytest.mark.parametrize("limited", CODES)
def test_motion_of_a_tool_is_held_to_its_limit_at_every_instant_of_a_step(limited):
    robot = library.six_joint_arm()
    robot = robot.model_copy(
        update={"joints": tuple(j.model_copy(update={"velocity_limit": 1000.0}) for j in robot.joints)}
    )
    for index in range(CASES):
        rng = np.random.default_rng([20260614, list(CODES).index(limited), index])
        widest = float(rng.choice([0.02, 0.2, 0.6]))
        # One step for the acceleration: between two steps the speed jumps, and the jump is held to the limit as well.
        steps = 1 if limited == "max_ee_accel_m_s2" else int(rng.integers(1, 12))
        path = np.cumsum(
            np.vstack([rng.uniform(-1.0, 1.0, 6), rng.uniform(-widest, widest, (steps, 6))]), axis=0
        )
        most = reached(robot, path)[limited]
        for share, inside in ((0.9, False), (0.998, False), (1.002, True), (1.1, True)):
            envelope = robot.safety.model_copy(update={limited: share * most})
            gate = lg.Gate(robot.model_copy(update={"safety": envelope}), step_s=STEP_S)
            state = lg.RobotState(positions=path[0], stamp_s=0.0)
            verdict = gate.check(lg.ActionChunk(path[1:]), state=state, world=lg.NO_WORLD, now_s=0.0)
            codes = [str(violation.code) for violation in verdict.violations]
            assert (CODES[limited] not in codes) == inside, (index, share, most, verdict.explain())
