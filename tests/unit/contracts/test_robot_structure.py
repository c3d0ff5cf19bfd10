# SPDX-License-Identifier: Apache-2.0
import pytest

from lastgate.contracts import RobotDescription

from .conftest import joint

FIXED = {"joint_type": "fixed", "position_limits": None, "velocity_limit": None}
ARM = [joint("shoulder", "base", "upper_arm"), joint("elbow", "upper_arm", "forearm")]


def gripper(**changes):
    hand = {
        "joints": [{"name": "elbow", "position_closed": -1.0, "position_open": 1.0}],
        "channel_closed": 0.0,
        "channel_open": 1.0,
    }
    return [{"name": "hand", "link": "forearm", "gripper": {**hand, **changes}}]


def test_two_joints_of_one_name_are_refused(problems_of):
    joints = [joint("elbow", "base", "upper_arm"), joint("elbow", "upper_arm", "forearm")]
    assert problems_of(joints=joints) == ["joint `elbow` is declared 2 times"]


def test_a_link_with_two_parents_is_refused_with_both_joints(problems_of):
    joints = [*ARM, joint("brace", "base", "forearm")]
    assert problems_of(joints=joints) == [
        "link `forearm` has two parents: it is the child of joint `elbow` and of joint `brace`"
    ]


def test_x15_two_roots_are_refused_with_both_names(problems_of):
    joints = [*ARM, joint("finger", "hand", "fingertip")]
    assert problems_of(joints=joints) == [
        "the robot has 2 roots, `base` and `hand`: connect them with a fixed joint or remove what is not "
        "part of the robot"
    ]


def test_x15_two_roots_connected_by_a_fixed_joint_are_accepted(manifest):
    manifest["joints"] = [
        *ARM,
        joint("mount", "forearm", "hand", **FIXED),
        joint("finger", "hand", "fingertip"),
    ]
    assert RobotDescription(**manifest).n_dof == 3


def test_a_base_frame_that_is_not_the_root_is_refused_with_the_joint_above_it(problems_of):
    assert problems_of(base_frame="upper_arm") == [
        "base_frame `upper_arm` must be the root, but joint `shoulder` is above it"
    ]


def test_a_base_frame_that_is_no_link_is_refused_with_the_roots_there_are(problems_of):
    assert problems_of(base_frame="world") == [
        "base_frame `world` is the parent of no joint; roots found: `base`"
    ]


def test_a_joint_listed_before_its_parent_is_refused_with_the_joint_that_must_come_first(problems_of):
    assert problems_of(joints=ARM[::-1]) == [
        "joint `elbow` is listed before its parent: link `upper_arm` is the child of joint `shoulder`, "
        "which must come first"
    ]


def test_a_loop_of_links_beside_the_tree_is_refused(problems_of):
    joints = [*ARM, joint("chicken", "egg_link", "chicken_link"), joint("egg", "chicken_link", "egg_link")]
    assert any(
        "joint `chicken` is listed before its parent" in problem for problem in problems_of(joints=joints)
    )


@pytest.mark.parametrize("joint_type", ["floating", "planar"])
def test_a_floating_joint_is_accepted_on_the_root_and_refused_below_it(manifest, problems_of, joint_type):
    loose = {"joint_type": joint_type, "position_limits": None, "velocity_limit": None}
    manifest["joints"] = [
        joint("drift", "base", "body", **loose),
        joint("shoulder", "body", "upper_arm"),
        ARM[1],
    ]
    assert RobotDescription(**manifest).n_dof == 2
    joints = [*ARM, joint("drift", "forearm", "balloon", **loose)]
    (problem,) = problems_of(joints=joints)
    assert problem.startswith(f"joint `drift` is {joint_type} below the root: only one on `base` may be")


def test_a_mimic_of_a_joint_that_leads_is_accepted(manifest):
    manifest["joints"] = [
        ARM[0],
        joint("elbow", "upper_arm", "forearm", mimic={"joint": "shoulder", "multiplier": -1}),
    ]
    assert RobotDescription(**manifest).n_dof == 1


@pytest.mark.parametrize(
    ("leader", "sentence"),
    [
        ("knee", "joint `elbow` mimics joint `knee`, which the robot does not have"),
        ("elbow", "joint `elbow` is part of a mimic cycle"),
        ("mount", "joint `elbow` mimics joint `mount`, which is fixed and has no position"),
    ],
)
def test_a_mimic_without_a_leader_that_moves_is_refused(problems_of, leader, sentence):
    joints = [
        ARM[0],
        joint("elbow", "upper_arm", "forearm", mimic={"joint": leader}),
        joint("mount", "forearm", "hand", **FIXED),
    ]
    assert problems_of(joints=joints) == [sentence]


def test_a_mimic_cycle_is_refused_for_every_joint_in_it(problems_of):
    joints = [
        joint("shoulder", "base", "upper_arm", mimic={"joint": "elbow"}),
        joint("elbow", "upper_arm", "forearm", mimic={"joint": "shoulder"}),
    ]
    assert problems_of(joints=joints) == [
        "joint `shoulder` is part of a mimic cycle",
        "joint `elbow` is part of a mimic cycle",
    ]


def test_a_mimic_of_a_mimic_is_refused_with_the_joint_to_name(problems_of):
    joints = [
        *ARM,
        joint("twin", "forearm", "twin_link", mimic={"joint": "elbow"}),
        joint("triplet", "forearm", "triplet_link", mimic={"joint": "twin"}),
    ]
    assert problems_of(joints=joints) == [
        "joint `triplet` mimics joint `twin`, which itself mimics `elbow`: name the joint that leads"
    ]


def test_a_tail_that_leads_into_a_mimic_cycle_is_refused(problems_of):
    joints = [
        joint("shoulder", "base", "upper_arm", mimic={"joint": "elbow"}),
        joint("elbow", "upper_arm", "forearm", mimic={"joint": "shoulder"}),
        joint("tail", "forearm", "tail_link", mimic={"joint": "elbow"}),
    ]
    assert len(problems_of(joints=joints)) == 3


@pytest.mark.parametrize("poison", [float("nan"), float("inf"), 1e309])
@pytest.mark.parametrize("key", ["multiplier", "offset"])
def test_a_mimic_number_that_is_not_finite_is_refused_with_the_joint(problems_of, key, poison):
    joints = [ARM[0], joint("elbow", "upper_arm", "forearm", mimic={"joint": "shoulder", key: poison})]
    (problem,) = problems_of(joints=joints)
    assert problem.startswith(f"joint `elbow`: `{key}` must be a finite number")


@pytest.mark.parametrize(
    ("changes", "mention"),
    [
        (
            {"collision_geometry": [{"link_name": "tail", "shape": {"shape": "sphere", "radius_m": 1}}] * 3},
            "collision_geometry",
        ),
        (
            {"allowed_collision_pairs": [{"link_a": "base", "link_b": "tail", "reason": "junction"}]},
            "allowed_collision_pairs",
        ),
        ({"end_effectors": [{"name": "hand", "link": "tail"}]}, "end effector `hand`"),
        ({"sensors": [{"name": "eye", "kind": "camera", "link": "tail"}]}, "sensor `eye`"),
        ({"coverage_waivers": [{"link": "tail", "reason": "soft"}]}, "coverage_waivers"),
    ],
)
def test_whatever_names_a_link_the_robot_does_not_have_is_refused_once(problems_of, changes, mention):
    assert problems_of(**changes) == [f"{mention} names link `tail`, which the robot does not have"]


def test_misspelt_link_is_answered_with_the_nearest_ones(problems_of):
    (problem,) = problems_of(sensors=[{"name": "eye", "kind": "camera", "link": "uper"}])
    assert problem.startswith(
        "sensor `eye` names link `uper`, which the robot does not have; nearest: `upper_arm`"
    )


def test_several_volumes_on_one_link_are_accepted(manifest):
    manifest["collision_geometry"] *= 2
    assert len(RobotDescription(**manifest).collision_geometry) == 4


@pytest.mark.parametrize("swapped", [False, True])
def test_a_pair_listed_twice_in_either_order_is_refused(problems_of, swapped):
    pair = {"link_a": "upper_arm", "link_b": "forearm", "reason": "adjacent"}
    again = {"link_a": "forearm", "link_b": "upper_arm", "reason": "junction"} if swapped else pair
    assert problems_of(allowed_collision_pairs=[pair, again]) == [
        "allowed pair `forearm` / `upper_arm` is listed 2 times"
    ]


def test_a_pair_of_a_link_with_itself_is_refused(problems_of):
    pair = {"link_a": "forearm", "link_b": "forearm", "reason": "adjacent"}
    (problem,) = problems_of(allowed_collision_pairs=[pair])
    assert "names link `forearm` twice" in problem


@pytest.mark.parametrize(
    ("key", "item", "noun"),
    [
        ("sensors", {"name": "eye", "kind": "camera", "link": "forearm"}, "sensor `eye`"),
        ("end_effectors", {"name": "hand", "link": "forearm"}, "end effector `hand`"),
        ("coverage_waivers", {"link": "base", "reason": "bolted"}, "coverage waiver for link `base`"),
    ],
)
def test_a_name_used_twice_is_refused_and_once_accepted(manifest, problems_of, key, item, noun):
    assert problems_of(**{key: [item, item]}) == [f"{noun} is declared 2 times"]
    RobotDescription(**manifest, **{key: [item]})


def test_a_gripper_within_its_joint_limits_is_accepted(manifest):
    robot = RobotDescription(**manifest, end_effectors=gripper())
    assert robot.end_effectors[0].gripper.channel_open == 1.0


@pytest.mark.parametrize(
    ("finger", "sentence"),
    [
        ({"name": "thumb"}, "end effector `hand`: gripper joint `thumb` is not a joint of the robot"),
        ({"position_open": 2.6}, "is at 2.6000 when open, outside -2.5000 to 2.5000"),
        ({"position_closed": -2.6}, "is at -2.6000 when closed, outside -2.5000 to 2.5000"),
        ({"position_open": float("nan")}, "gripper joint `elbow`: `position_open` must be a finite number"),
    ],
)
def test_a_gripper_joint_that_cannot_do_what_it_says_is_refused(problems_of, finger, sentence):
    fingers = [{"name": "elbow", "position_closed": -1.0, "position_open": 1.0, **finger}]
    (problem,) = problems_of(end_effectors=gripper(joints=fingers))
    assert sentence in problem


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"joints": []}, "a gripper needs at least one joint"),
        ({"channel_open": 0.0}, "`channel_closed` and `channel_open` are both 0.0000"),
        (
            {"joints": [{"name": "elbow", "position_closed": 0, "position_open": 1}] * 2},
            "gripper joint `elbow` is listed twice",
        ),
    ],
)
def test_a_gripper_that_maps_nothing_is_refused(problems_of, changes, sentence):
    assert problems_of(end_effectors=gripper(**changes)) == [f"end effector `hand`: {sentence}"]


def test_a_gripper_on_a_fixed_joint_is_refused(problems_of):
    joints = [*ARM, joint("mount", "forearm", "hand", **FIXED)]
    fingers = [{"name": "mount", "position_closed": 0, "position_open": 1}]
    (problem,) = problems_of(joints=joints, end_effectors=gripper(joints=fingers))
    assert problem == "end effector `hand`: gripper joint `mount` is fixed and cannot open"


def test_a_refused_number_does_not_hide_that_the_tree_is_broken_too(problems_of):
    joints = [
        joint("shoulder", "base", "upper_arm", velocity_limit=float("nan")),
        joint("elbow", "upper_arm", "forearm", mimic={"joint": "knee"}),
        joint("finger", "hand", "fingertip"),
    ]
    sentences = problems_of(joints=joints, sensors=[{"name": "eye", "kind": "camera", "link": "tail"}])
    assert [sentence[:40] for sentence in sentences] == [
        "joint `shoulder`: `velocity_limit` must "[:40],
        "the robot has 2 roots, `base` and `hand`"[:40],
        "joint `elbow` mimics joint `knee`, which"[:40],
        "sensor `eye` names link `tail`, which the"[:40],
    ]


@pytest.mark.parametrize("broken", [{"name": "elbow"}, None, "elbow", {"name": 7, "joint_type": "fixed"}])
def test_a_joint_without_a_readable_place_is_reported_without_guesses_about_the_tree(problems_of, broken):
    sentences = problems_of(joints=[ARM[0], broken])
    assert sentences
    assert not any("root" in sentence or "does not have" in sentence for sentence in sentences)


@pytest.mark.parametrize("joints", [None, 7, "shoulder", {"shoulder": {}}])
def test_joints_that_are_not_a_list_are_refused(problems_of, joints):
    assert any("joints" in sentence for sentence in problems_of(joints=joints))


def links_in_a_row(count, **changes_of_last):
    """Returns link0 to link<count>, each on the one before, all joints moving."""
    joints = [joint(f"j{n}", f"link{n - 1}", f"link{n}") for n in range(1, count + 1)]
    joints[-1] = joint(f"j{count}", f"link{count - 1}", f"link{count}", **changes_of_last)
    return joints


def adjacent(link_a, link_b):
    return [{"link_a": link_a, "link_b": link_b, "reason": "adjacent"}]


def spheres(*links):
    return [{"link_name": link, "shape": {"shape": "sphere", "radius_m": 0.01}} for link in links]


NOT_ADJACENT = [
    pytest.param(links_in_a_row(2), ("link0", "link1", "link2"), ("link0", "link2"), id="two_joints"),
    pytest.param(links_in_a_row(3), ("link0", "link2", "link3"), ("link0", "link3"), id="a_volume_between"),
    pytest.param(
        [joint("left", "torso", "l"), joint("right", "torso", "r")],
        ("l", "r"),
        ("l", "r"),
        id="across_a_branch",
    ),
]
ADJACENT = [
    pytest.param(links_in_a_row(2), ("link0", "link1", "link2"), ("link1", "link2"), id="one_joint"),
    pytest.param(
        links_in_a_row(2, **FIXED), ("link0", "link1", "link2"), ("link0", "link2"), id="a_fixed_joint"
    ),
    pytest.param(links_in_a_row(3), ("link0", "link3"), ("link0", "link3"), id="bare_links_between"),
    pytest.param(
        [joint("left", "torso", "l"), joint("right", "torso", "r", **FIXED)],
        ("l", "r"),
        ("l", "r"),
        id="one_moving_joint_across_a_branch",
    ),
]


@pytest.mark.parametrize(("joints", "covered", "pair"), NOT_ADJACENT)
def test_a_pair_that_is_called_adjacent_and_is_not_is_refused(problems_of, joints, covered, pair):
    (problem,) = problems_of(
        joints=joints,
        base_frame=joints[0]["parent_link"],
        collision_geometry=spheres(*covered),
        allowed_collision_pairs=adjacent(*pair),
    )
    assert problem.startswith(f"allowed pair `{pair[0]}` / `{pair[1]}` is no neighbour")


@pytest.mark.parametrize(("joints", "covered", "pair"), ADJACENT)
def test_a_pair_that_is_adjacent_is_accepted_in_either_order(manifest, joints, covered, pair):
    for ends in (pair, pair[::-1]):
        robot = RobotDescription(
            name="row",
            joints=joints,
            base_frame=joints[0]["parent_link"],
            collision_geometry=spheres(*covered),
            allowed_collision_pairs=adjacent(*ends),
        )
        assert robot.allowed_collision_pairs[0].links == tuple(sorted(pair))


@pytest.mark.parametrize(("joints", "covered", "pair"), NOT_ADJACENT)
def test_a_pair_that_is_not_adjacent_is_accepted_with_a_reason_that_holds(joints, covered, pair):
    waived = {"link_a": pair[0], "link_b": pair[1], "reason": "waived", "detail": "a stop keeps them apart"}
    robot = RobotDescription(
        name="row",
        joints=joints,
        base_frame=joints[0]["parent_link"],
        collision_geometry=spheres(*covered),
        allowed_collision_pairs=[waived],
    )
    assert robot.allowed_collision_pairs[0].reason == "waived"
