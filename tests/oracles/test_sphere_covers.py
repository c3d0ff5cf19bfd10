# SPDX-License-Identifier: Apache-2.0
"""Planners' covers of balls against the meshes: nothing is missed, and finer presets refuse less.

Reference: Pinocchio's kinematics and Coal on the meshes as they are.
"""

from pathlib import Path

import numpy as np
import pytest

from lastgate.assets import resolve_asset
from lastgate.lowering.error_rates import SPHERES, RobotUnderTest
from lastgate.robots import find_manifest, load_robot

SAMPLES = 2500


def require_order(name: str, samples: int) -> None:
    robot = load_robot(name)
    assert robot.assets.urdf is not None
    urdf = resolve_asset(robot.assets.urdf.ref, "urdf", find_manifest(name).parent)
    assert isinstance(urdf, Path)
    subject = RobotUnderTest(robot, urdf, seed=11)
    configurations = subject.draw(samples)
    touching = np.array([subject.truth.touching(row) is not None for row in configurations])
    assert touching.any()
    refused = []
    for preset in ("coarse", "default", "fine"):
        accepted = subject.judge_by_balls(subject.covers[SPHERES[preset]], configurations)
        assert not (accepted & touching).any(), f"{name}, {preset}: missed"
        refused.append(int((~accepted & ~touching).sum()))
    coarse, default, fine = refused
    assert fine < default < coarse, f"{name} refused {refused} of {int((~touching).sum())} that are clear"


@pytest.mark.parametrize("name", ["franka_panda", "so101_follower", "ur10", "ur5"])
def test_finer_balls_refuse_less_and_miss_nothing(name: str) -> None:
    require_order(name, SAMPLES)


@pytest.mark.fleet
@pytest.mark.parametrize("name", ["g1", "xarm7"])
def test_finer_balls_of_the_rest_refuse_less_and_miss_nothing(name: str) -> None:
    require_order(name, SAMPLES)
