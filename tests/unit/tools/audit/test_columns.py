# SPDX-License-Identifier: Apache-2.0
"""Which column is which joint: said by the user, each column once, or refused."""

import numpy as np
import pytest

import lastgate as lg
from lastgate.tools.audit.columns import Columns, match_columns
from lastgate.tools.audit.episode import Episode, UnreadableEpisodeError
from lastgate.tools.audit.examine import ExamineOptions, Examiner
from lastgate.tools.audit.joint_units import parse_units

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


@pytest.mark.parametrize(
    ("units", "recorded", "meant"),
    [
        ("si", [0.3, 0.5], [0.3, 0.5]),
        ("degrees", [0.3, 45.0], [0.3, np.pi / 4.0]),
        ("degrees,lift=percent", [65.0, 45.0], [0.3, np.pi / 4.0]),
        ("turn=degrees", [0.3, 45.0], [0.3, np.pi / 4.0]),
        ("percent", [0.0, 100.0], [-1.0, 1.0]),
    ],
)
def test_numbers_mean_what_the_units_say_and_what_slides_is_no_angle(units, recorded, meant):
    options = ExamineOptions(units=parse_units(units))
    examiner = Examiner(LIFT, step_s=0.02, world=lg.NO_WORLD, options=options)
    states, _ = examiner.path_of(Episode(times_s=np.zeros(1), states=np.array([recorded])), "state")
    assert states.tolist() == [pytest.approx(meant)]


@pytest.mark.parametrize(
    ("units", "said"),
    [
        ("furlongs", "`furlongs` is no unit"),
        ("turn=", "`` is no unit"),
        ("degrees,percent", "all joints twice"),
        ("turn=degrees,turn=si", "`turn` twice"),
    ],
)
def test_units_that_cannot_be_meant_are_refused(units, said):
    with pytest.raises(lg.ROSConfigError, match=said):
        parse_units(units)


def test_unit_of_a_joint_that_is_not_there_is_refused():
    with pytest.raises(lg.ROSConfigError, match="`knee`, which robot `lift` does not have"):
        Examiner(
            LIFT, step_s=0.02, world=lg.NO_WORLD, options=ExamineOptions(units=parse_units("knee=degrees"))
        )


def named(names, joint_map=None, width=None):
    return match_columns(
        width=len(names) if width is None else width,
        names=names,
        joint_names=JOINTS,
        gripper_names=("finger",),
        joint_map=joint_map,
    )


def test_columns_with_the_names_of_the_joints_are_the_joints_whatever_their_order():
    found = named(("elbow.pos", "finger.pos", "shoulder.pos", "x.vel"))
    assert (found.joints, found.gripper, found.others, found.by_count) == ((2, 0), (1,), ("x.vel",), False)


def test_as_many_columns_with_other_names_are_not_the_joints():
    with pytest.raises(UnreadableEpisodeError, match="`shoulder` is not among them"):
        named(("hip", "knee"))


def test_columns_without_names_are_taken_by_count_and_marked():
    found = match_columns(width=2, names=(), joint_names=JOINTS, gripper_names=())
    assert (found.joints, found.by_count) == ((0, 1), True)


def test_map_says_which_column_is_which_joint_by_name_or_number():
    assert named(("hip", "knee"), {"knee": "shoulder", "hip": "elbow"}).joints == (1, 0)
    assert named((), {"3": "shoulder", "0": "elbow", "2": "finger"}, width=4) == Columns((3, 0), (2,))


@pytest.mark.parametrize(
    ("joint_map", "said"),
    [
        ({"0": "shoulder"}, "leaves out `elbow`"),
        ({"0": "shoulder", "1": "shoulder"}, "`shoulder` twice"),
        ({"0": "shoulder", "hip": "elbow"}, "one column to two joints"),
        ({"0": "shoulder", "1": "wrist"}, "names `wrist`; the joints are"),
        ({"0": "shoulder", "9": "elbow"}, "the column `9`; there are 2 columns: hip, knee"),
        ({"0": "shoulder", "-1": "elbow"}, "the column `-1`"),
    ],
)
def test_map_that_cannot_be_meant_is_refused(joint_map, said):
    with pytest.raises(UnreadableEpisodeError, match=said):
        named(("hip", "knee"), joint_map)
