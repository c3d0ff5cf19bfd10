# SPDX-License-Identifier: Apache-2.0
"""Queues of chunks that overlap, half of them with a planted fault: a jump, an arm that lags, two joints swapped.

What runs is interpolated here by NumPy; a splice is clean when the new chunk goes on from where that says.
"""

import numpy as np
import pytest

import lastgate as lg
from oracles import library

STEP_S = 0.02
STEPS = 16
QUEUES = 2000


def robot() -> lg.RobotDescription:
    """Returns an arm with speed limits that a planted fault can exceed."""
    manifest = library.six_joint_arm().model_dump()
    for joint in manifest["joints"]:
        if joint["joint_type"] != "fixed":
            joint["velocity_limit"] = 2.0
    return lg.RobotDescription(**manifest)


def smooth(rng: np.random.Generator, start: np.ndarray, velocity: np.ndarray) -> np.ndarray:
    """Returns steps that leave `start` at `velocity` and change it gently."""
    turn = rng.normal(size=start.shape) * 0.01
    return start + STEP_S * np.cumsum(velocity + turn * np.arange(STEPS)[:, None], axis=0)


@pytest.mark.parametrize("fault", ["clean", "jump", "lag", "swap"])
def test_planted_faults_at_the_seam_are_found_and_clean_splices_pass(fault):
    gate = lg.Gate(robot(), step_s=STEP_S)
    found = {"accepted": 0, "seam_jump": 0, "other": 0}
    for index in range(QUEUES // 4):
        rng = np.random.default_rng([23, index])
        joints = gate.n_dof
        start = np.linspace(-0.4, 0.4, joints) + rng.uniform(-0.1, 0.1, joints)
        velocity = rng.uniform(-0.5, 0.5, joints)
        rows = smooth(rng, start, velocity)
        grid = STEP_S * np.arange(STEPS + 1)
        whole = np.vstack([start, rows])
        now_s, handover_s = rng.uniform(0.0, 0.15), rng.uniform(0.0, 0.15)
        at = {
            moment: np.array([np.interp(moment, grid, column) for column in whole.T])
            for moment in (now_s, now_s + handover_s)
        }
        seam = at[now_s + handover_s]
        new = smooth(rng, seam, velocity)
        # What an arm lags behind at half a step.
        measured = at[now_s] - 0.5 * STEP_S * velocity
        joint = int(rng.integers(joints))
        side = rng.choice([-1.0, 1.0])
        if fault == "jump":
            new = new + np.eye(joints)[joint] * side * rng.uniform(0.08, 0.5)
        elif fault == "lag":
            measured = measured + np.eye(joints)[joint] * side * rng.uniform(0.08, 0.5)
        elif fault == "swap":
            other = int(np.argmax(np.abs(new[0] - new[0, joint])))
            new[:, [joint, other]] = new[:, [other, joint]]
        verdict = gate.check(
            lg.ActionChunk(new),
            state=lg.RobotState(positions=measured, stamp_s=now_s),
            world=lg.NO_WORLD,
            now_s=now_s,
            running=lg.RunningMotion(rows, started_s=0.0, start=start),
            handover_s=handover_s,
        )
        code = "accepted" if verdict.accepted else str(verdict.violations[0].code)
        found[code if code in found else "other"] += 1
        if verdict.accepted:
            assert verdict.joint_rows == pytest.approx(new)
            assert verdict.path is not None
            assert verdict.path[-STEPS - 1, :joints] == pytest.approx(seam)
    print(fault, found)
    assert found["other"] == 0
    assert found["accepted" if fault == "clean" else "seam_jump"] == QUEUES // 4
