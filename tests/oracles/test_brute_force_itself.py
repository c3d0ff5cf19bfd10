# SPDX-License-Identifier: Apache-2.0
"""The brute force is compared with Pinocchio and Coal before anything is compared with it.

Tolerance: 1e-9, the same that is asked of the core. Two double-precision programs for a metre-sized robot
differ by some 1e-14; what is looked for here is a wrong convention, which shows as millimetres.
"""

import coal
import numpy as np
import pinocchio
import pytest

from oracles import library
from oracles.numpy_distances import segment_box, segment_segment
from oracles.numpy_kinematics import Kinematics
from oracles.pinocchio_model import PinocchioRobot, random_configurations

ROBOTS = [library.scara, library.six_joint_arm, library.two_arms, library.mimic_arm, library.panda]


@pytest.mark.parametrize("build", ROBOTS, ids=lambda build: build.__name__)
def test_numpy_link_frames_are_those_of_pinocchio(build):
    robot = build()
    reference = PinocchioRobot.of_description(robot)
    configurations = random_configurations(robot, np.random.default_rng(7), 200)

    frames = Kinematics(robot).frames(configurations)

    for index, configuration in enumerate(configurations):
        for link, pose in reference.link_poses(configuration).items():
            ours = np.column_stack([frames.rotation[link][index], frames.position[link][index]])
            assert np.abs(ours - pose).max() < 1e-9, f"{robot.name}: {link}"


def test_numpy_segment_distances_are_those_of_coal():
    rng = np.random.default_rng(11)
    a, b, c, d = rng.uniform(-1, 1, (4, 2000, 3))

    ours = segment_segment(a, b, c, d)

    compared = 0
    for index in range(2000):
        first, second = _capsule(a[index], b[index]), _capsule(c[index], d[index])
        result = coal.DistanceResult()
        theirs = coal.distance(*first, *second, coal.DistanceRequest(), result) + 2 * RADIUS_M
        if theirs > 0.1:  # where Coal's own answer does not come from its penetration code
            assert abs(ours[index] - theirs) < 1e-6
            compared += 1
    assert compared > 1500


def test_numpy_box_distances_are_those_of_coal():
    rng = np.random.default_rng(13)
    a, b = rng.uniform(-1, 1, (2, 2000, 3))
    half = np.array([0.3, 0.2, 0.4])

    ours = segment_box(a, b, half)

    compared = 0
    box = coal.Box(*(2 * half))
    for index in range(2000):
        result = coal.DistanceResult()
        theirs = (
            coal.distance(
                *_capsule(a[index], b[index]), box, coal.Transform3s(), coal.DistanceRequest(), result
            )
            + RADIUS_M
        )
        if theirs > 0.05:
            assert abs(ours[index] - theirs) < 1e-6
            compared += 1
    assert compared > 500
    assert (ours == 0.0).sum() > 100


RADIUS_M = 0.01


def _capsule(a, b):
    turn = pinocchio.Quaternion.FromTwoVectors(np.array([0.0, 0.0, 1.0]), b - a).toRotationMatrix()
    return coal.Capsule(RADIUS_M, float(np.linalg.norm(b - a))), coal.Transform3s(turn, (a + b) / 2)
