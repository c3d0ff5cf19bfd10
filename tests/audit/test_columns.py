# SPDX-License-Identifier: Apache-2.0
"""Which column is which joint: said by the user, each column once, or refused."""

import numpy as np
import pytest

import lastgate as lg
from lastgate.audit.columns import match_columns
from lastgate.audit.episode import Episode, UnreadableEpisodeError
from lastgate.audit.examine import ExamineOptions, Examiner

LIFT = lg.RobotDescription(
    name="lift",
    base_frame="base",
    joints=[
        {
            "name": name,
            "joint_type": kind,
            "parent_link": parent,
            "child_link": child,
            "position_limits": [-1.0, 1.0],
            "velocity_limit": 1.0,
        }
        for name, kind, parent, child in (
            ("lift", "prismatic", "base", "post"),
            ("turn", "revolute", "post", "arm"),
        )
    ],
    collision_geometry=[
        {"link_name": link, "shape": {"shape": "sphere", "radius_m": 0.1}} for link in ("post", "arm")
    ],
    allowed_collision_pairs=[{"link_a": "arm", "link_b": "post", "reason": "adjacent"}],
)

JOINTS = ("shoulder", "elbow")


def matched(chosen, width=4):
    return match_columns(width=width, names=(), joint_names=JOINTS, gripper_names=(), chosen=chosen)


def test_columns_that_the_user_names_are_the_joints():
    assert matched((3, 0)).joints == (3, 0)


@pytest.mark.parametrize(
    ("chosen", "said"),
    [
        ((0,), "1 columns were named for 2 joints"),
        ((0, 4), "column 4 was named, and there are 4, from 0"),
        ((-1, 0), "column -1 was named"),
        ((1, 1), "a column was named twice: 1,1"),
    ],
)
def test_columns_that_cannot_be_meant_are_refused(chosen, said):
    with pytest.raises(UnreadableEpisodeError, match=said):
        matched(chosen)


@pytest.mark.parametrize(("degrees", "turned"), [(True, np.pi / 2.0), (False, 90.0)])
def test_what_slides_stays_in_metres_when_what_turns_is_in_degrees(degrees, turned):
    examiner = Examiner(LIFT, step_s=0.02, world=lg.NO_WORLD, options=ExamineOptions(degrees=degrees))
    states, _ = examiner.path_of(Episode(times_s=np.zeros(1), states=np.array([[0.3, 90.0]])), "state")
    assert states.tolist() == [[0.3, pytest.approx(turned)]]
