# SPDX-License-Identifier: Apache-2.0
"""Planners' covers of spheres against the meshes: nothing is missed, and finer presets refuse less.

Reference: Pinocchio's kinematics and Coal on the meshes as they are.
"""

from pathlib import Path

import numpy as np
import pytest

from lastgate.planning.collision import TwoTierCollisionChecker
from lastgate.robots import find_manifest, load_robot
from lastgate.tools.assets import resolve_asset
from lastgate.tools.lowering.error_rates import SPHERES, RobotUnderTest

SAMPLES = 2500


# All pairs of spheres of all checked pairs of links, in NumPy: a hundred states take seconds.
PAIR_SAMPLES = 120


def subject_of(name: str) -> RobotUnderTest:
    robot = load_robot(name)
    assert robot.assets.urdf is not None
    urdf = resolve_asset(robot.assets.urdf.ref, "urdf", find_manifest(name).parent)
    assert isinstance(urdf, Path)
    return RobotUnderTest(robot, urdf, seed=11)


def overlapping_pairs(cover: TwoTierCollisionChecker, configurations: np.ndarray) -> int:
    """Returns in how many checked pairs of links spheres overlap, summed over configurations."""
    spheres_of = [np.flatnonzero(cover.model.link == link) for link in range(len(cover.model.link_names))]
    count = 0
    for placed in cover.model.place(configurations):
        for first, second in cover.checked_pairs:
            one, other = placed[spheres_of[first]], placed[spheres_of[second]]
            between = np.linalg.norm(one[:, None, :3] - other[None, :, :3], axis=-1)
            count += bool((between < one[:, None, 3] + other[None, :, 3]).any())
    return count


def require_order(name: str, samples: int) -> None:
    subject = subject_of(name)
    configurations = subject.draw(samples)
    touching = np.array([subject.truth.touching(row) is not None for row in configurations])
    assert touching.any()
    refused = []
    for preset in ("coarse", "default", "fine"):
        accepted = subject.check_by_spheres(subject.covers[SPHERES[preset]], configurations)
        assert not (accepted & touching).any(), f"{name}, {preset}: missed"
        refused.append(int((~accepted & ~touching).sum()))
    coarse, default, fine = refused
    assert fine < default < coarse, f"{name} refused {refused} of {int((~touching).sum())} that are clear"


@pytest.mark.parametrize("name", ["franka_panda", "ur5"])
def test_finer_spheres_reject_less_and_miss_nothing(name: str) -> None:
    require_order(name, SAMPLES)


@pytest.mark.library
@pytest.mark.parametrize("name", ["so101_follower", "ur10", "ur5e", "xarm7"])
def test_finer_spheres_of_the_rest_reject_less_and_miss_nothing(name: str) -> None:
    require_order(name, SAMPLES)


@pytest.mark.library
def test_finer_spheres_of_g1_touch_in_fewer_pairs_and_miss_nothing() -> None:
    """The shoulders of g1 pass its torso by less than any preset stands out, so whole states are always rejected.

    What a finer preset buys is counted in pairs instead, over all states: pairs whose meshes touch count in every
    preset alike, the difference is what the exact level need not decide.
    """
    subject = subject_of("g1")
    configurations = subject.draw(PAIR_SAMPLES)
    touching = np.array([subject.truth.touching(row) is not None for row in configurations])
    assert touching.any()
    counts = []
    for preset in ("coarse", "default", "fine"):
        cover = subject.covers[SPHERES[preset]]
        accepted = subject.check_by_spheres(cover, configurations)
        assert not (accepted & touching).any(), f"{preset}: missed"
        counts.append(overlapping_pairs(cover, configurations))
    coarse, default, fine = counts
    assert fine < default < coarse, f"pairs of g1 whose spheres overlap: {counts}"
