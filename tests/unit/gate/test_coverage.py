# SPDX-License-Identifier: Apache-2.0
"""A gate is armed only for a robot that its volumes cover."""

import pytest
from fixtures.analytic_robots import gripper_arm, joint, planar_two_link, sphere_on

import lastgate as lg
from lastgate.gate.coverage import require_coverage, uncovered_links


def fixed(name: str, parent_link: str, child_link: str) -> dict:
    return {"name": name, "joint_type": "fixed", "parent_link": parent_link, "child_link": child_link}


def robot(**changes: object) -> lg.RobotDescription:
    return lg.RobotDescription(**planar_two_link(**changes))


def test_robot_with_a_volume_on_every_moving_link_is_covered():
    assert uncovered_links(robot()) == []
    require_coverage(robot())


def test_every_moving_link_without_a_volume_is_named():
    with pytest.raises(lg.ROSConfigError, match="moving links `upper_arm`, `forearm`") as refusal:
        require_coverage(robot(collision_geometry=[]))
    assert "hint: `lastgate collision lower --robot planar_two_link --write`" in str(refusal.value)
    assert "coverage_waivers" in str(refusal.value)


def test_link_that_is_fixed_to_a_moving_one_moves_too():
    joints = [*planar_two_link()["joints"], fixed("flange", "forearm", "plate")]
    assert uncovered_links(robot(joints=joints)) == ["plate"]


def test_link_that_is_fixed_to_the_base_needs_no_volume():
    joints = [*planar_two_link()["joints"], fixed("stand", "base", "table")]
    assert uncovered_links(robot(joints=joints)) == []


def test_link_behind_a_joint_that_follows_another_moves():
    follower = joint("mirror", "base", "tail", mimic={"joint": "shoulder"})
    assert uncovered_links(robot(joints=[*planar_two_link()["joints"], follower])) == ["tail"]


def test_waiver_lets_exactly_its_link_pass():
    waiver = {"link": "upper_arm", "reason": "wrapped in foam"}
    bare = robot(collision_geometry=[], coverage_waivers=[waiver])
    assert uncovered_links(bare) == ["forearm"]


def test_finger_without_a_volume_is_named():
    manifest = gripper_arm(collision_geometry=[sphere_on("hand", 0.03)], allowed_collision_pairs=[])
    assert uncovered_links(lg.RobotDescription(**manifest)) == ["finger"]


@pytest.mark.parametrize(
    ("reason", "arms"),
    [
        ("proved-never", True),
        ("waived", False),
        ("srdf-disabled", False),
        ("srdf-contradicted", False),
        ("junction", False),
    ],
)
def test_robot_with_no_pair_left_arms_only_if_each_is_a_neighbour_or_proved(reason: str, arms: bool):
    volumes = [sphere_on(link, 0.01) for link in ("base", "upper_arm", "forearm")]
    pairs = [
        {"link_a": "base", "link_b": "upper_arm", "reason": "adjacent"},
        {"link_a": "upper_arm", "link_b": "forearm", "reason": "adjacent"},
        {"link_a": "base", "link_b": "forearm", "reason": reason, "detail": "said here"},
    ]
    manifest = robot(collision_geometry=volumes, allowed_collision_pairs=pairs)
    if arms:
        assert lg.Gate(manifest, step_s=0.02).checked_pairs == ()
    else:
        with pytest.raises(lg.ROSConfigError, match="all of its pairs are allowed"):
            lg.Gate(manifest, step_s=0.02)
