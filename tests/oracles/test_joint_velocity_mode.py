# SPDX-License-Identifier: Apache-2.0
"""JOINT_VELOCITY rows: integrated here in NumPy, then held to brute force like any joint path.

Tolerance of the integration: 1e-12, a few roundings of sums of at most four products; the rest is
`sweep_checker.py`.
"""

import numpy as np
import pytest

import lastgate as lg
from lastgate.gate.verdict import joint_rows_to_draw
from oracles import library
from oracles.sweep_cases import Setup, make_case, short_steps
from oracles.sweep_checker import Checker

CHUNKS = 300
STEP_S = 0.25


@pytest.mark.parametrize(
    "build", [library.scara, library.six_joint_arm, library.mimic_arm], ids=lambda build: build.__name__
)
def test_integrated_velocities_are_swept(build):
    setup = Setup(build(), world_margin_m=0.005)
    gate = lg.Gate(setup.gate.robot, step_s=STEP_S)
    checker = Checker()
    for index in range(CHUNKS):
        rng = np.random.default_rng([43, index])
        case = make_case(rng, setup, short_steps, grazing=0.9, clutter=0.1, draws=3)
        velocities = np.diff(case.path, axis=0) / STEP_S
        path = np.vstack([case.path[:1], case.path[0] + np.cumsum(velocities * STEP_S, axis=0)])
        state = lg.RobotState(positions=path[0], stamp_s=0.0)
        world = lg.World(primitives=case.primitives, stamp_s=0.0)

        verdict = gate.check(
            lg.ActionChunk(velocities, mode=lg.ControlMode.JOINT_VELOCITY),
            state=state,
            world=world,
            now_s=0.0,
        )

        if not verdict.accepted and verdict.violations[0].code == lg.ViolationCode.joint_position_limit:
            checker.counts["beyond a limit"] += 1  # a sum that rounds over the limit it was clipped to
            assert (
                np.abs(path[1:] - np.clip(path[1:], setup.kinematics.lower, setup.kinematics.upper)).max()
                < 1e-12
            )
            near = np.minimum(
                np.abs(path[1:] - setup.kinematics.lower), np.abs(path[1:] - setup.kinematics.upper)
            )
            assert near.min() < 1e-12
            continue
        assert joint_rows_to_draw(verdict) == pytest.approx(path[1:], abs=1e-12)
        check = checker.accepted if verdict.accepted else checker.rejected
        check(verdict, setup.brute(case.primitives), path, f"{build.__name__} #{index}")
    print(checker.summary(build.__name__))
    assert checker.counts["chunks accepted"] > 50
    assert checker.counts["segments rejected"] > 50
