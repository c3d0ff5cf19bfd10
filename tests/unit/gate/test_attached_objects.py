# SPDX-License-Identifier: Apache-2.0
"""What a robot holds is part of it, until it is detached."""

import numpy as np
import pytest
from fixtures.analytic_robots import (
    at,
    check,
    code_of,
    gate_of,
    gripper_arm,
    only_violation,
    planar_two_link,
    sliders,
    sphere,
    world_of,
)

import lastgate as lg

SPHERE = lg.SphereShape(radius_m=0.1)
AT_THE_TIP = (1.2, 0.0, 0.0, 0.0, 0.0, 0.0)


@pytest.fixture
def gate() -> lg.Gate:
    return gate_of(planar_two_link(), step_s=1.0)


def test_attached_object_collides_with_the_world_and_is_named(gate):
    world = world_of(sphere((2.35, 0.0, 0.0), 0.1, "shelf"))
    assert check(gate, [[0.0, 0.0]], world=world).accepted
    gate.attach("forearm", SPHERE, object_id="apple", origin_xyz_rpy=AT_THE_TIP)
    violation = only_violation(check(gate, [[0.0, 0.0]], world=world))
    assert (violation.code, violation.subject, violation.against) == ("world_collision", "apple", "shelf")
    assert violation.value == pytest.approx(-0.05)
    gate.detach("apple")
    assert check(gate, [[0.0, 0.0]], world=world).accepted


def test_attached_object_is_swept_between_the_steps(gate):
    world = world_of(sphere((0.0, 2.2, 0.0), 0.02, "lamp"))
    rows = [[0.5, 0.0], [2.5, 0.0]]
    state = at(0.5, 0.0)
    assert check(gate, rows, state=state, world=world).accepted
    gate.attach("forearm", SPHERE, object_id="apple", origin_xyz_rpy=AT_THE_TIP)
    violation = only_violation(check(gate, rows, state=state, world=world))
    assert (violation.subject, violation.against, violation.step) == ("apple", "lamp", 1)
    assert 0.0 < violation.segment_t < 1.0


def test_attached_object_collides_with_the_robot_itself(gate):
    folding, state = [[0.0, 2.4]], at(0.0, 2.0)
    assert check(gate, folding, state=state).accepted
    gate.attach("forearm", SPHERE, object_id="apple", origin_xyz_rpy=(0.5, 0.35, 0.0, 0.0, 0.0, 0.0))
    violation = only_violation(check(gate, folding, state=state))
    assert violation.code == "self_collision"
    assert {violation.subject, violation.against} == {"upper_arm", "apple"}
    assert violation.evidence().collision_kind == "self"


def test_attached_object_may_touch_the_links_of_its_list_and_the_link_that_holds_it():
    gate = gate_of(sliders(0.0, 0.5))
    touching = {"object_id": "tray", "origin_xyz_rpy": (0.35, 0.0, 0.0, 0.0, 0.0, 0.0)}
    assert check(gate, [[0.0, 0.0]]).accepted
    gate.attach("post0", lg.SphereShape(radius_m=0.3), **touching)
    assert only_violation(check(gate, [[0.0, 0.0]])).against in ("post1", "tray")
    gate.detach("tray")
    gate.attach("post0", lg.SphereShape(radius_m=0.3), touch_links=["post1"], **touching)
    assert check(gate, [[0.0, 0.0]]).accepted


def test_attached_object_does_not_inherit_the_allowed_pairs_of_the_link_that_holds_it():
    gate = gate_of(sliders(0.0, 0.5, 9.0, pairs=[(0, 1)]))
    gate.attach(
        "post0", lg.SphereShape(radius_m=0.1), object_id="cup", origin_xyz_rpy=(0.5, 0.0, 0.0, 0.0, 0.0, 0.0)
    )
    assert {
        only_violation(check(gate, [[0.0] * 3])).subject,
        only_violation(check(gate, [[0.0] * 3])).against,
    } == {"cup", "post1"}


def test_two_attached_objects_collide_with_each_other_and_the_shapes_of_one_do_not():
    gate = gate_of(sliders(0.0, 5.0))
    near = lg.SphereShape(radius_m=0.2)
    gate.attach("post0", near, object_id="left", origin_xyz_rpy=(0.0, 1.0, 0.0, 0.0, 0.0, 0.0))
    gate.attach("post0", near, object_id="left", origin_xyz_rpy=(0.1, 1.0, 0.0, 0.0, 0.0, 0.0))
    assert check(gate, [[0.0, 0.0]]).accepted
    gate.attach("post1", near, object_id="right", origin_xyz_rpy=(-4.9, 1.2, 0.0, 0.0, 0.0, 0.0))
    violation = only_violation(check(gate, [[0.0, 0.0]]))
    assert {violation.subject, violation.against} == {"left", "right"}


def test_capsule_is_attached_along_the_z_axis_of_its_pose():
    gate = gate_of(sliders(0.0))
    pole = lg.CapsuleShape(radius_m=0.05, length_m=2.0)
    gate.attach("post0", pole, object_id="pole", origin_xyz_rpy=(0.0, 0.0, 0.0, 0.0, np.pi / 2, 0.0))
    assert code_of(check(gate, [[0.0]], world=world_of(sphere((1.1, 0.0, 0.0), 0.1)))) == "world_collision"
    assert check(gate, [[0.0]], world=world_of(sphere((0.0, 0.0, 1.1), 0.1))).accepted


def test_attached_object_is_carried_by_the_finger_it_is_attached_to():
    gate = gate_of(gripper_arm())
    beside = world_of(sphere((0.0, 0.24, 0.0), 0.04, "wall"))
    mode = lg.ControlMode.GRIPPER_POSITION
    assert check(gate, [[1.0]], mode, world=beside).accepted
    gate.attach(
        "finger",
        lg.SphereShape(radius_m=0.03),
        object_id="nut",
        origin_xyz_rpy=(0.0, 0.04, 0.0, 0.0, 0.0, 0.0),
        touch_links=["hand"],
    )
    assert check(gate, [[0.1]], mode, world=beside).accepted
    assert only_violation(check(gate, [[1.0]], mode, world=beside)).subject == "nut"


def test_detaching_removes_every_shape_of_the_object_and_nothing_else(gate):
    for y in (0.5, 0.8):
        gate.attach("forearm", SPHERE, object_id="tray", origin_xyz_rpy=(1.0, y, 0.0, 0.0, 0.0, 0.0))
    gate.attach("forearm", SPHERE, object_id="cup", origin_xyz_rpy=(1.0, -0.5, 0.0, 0.0, 0.0, 0.0))
    gate.detach("tray")
    assert check(gate, [[0.0, 0.0]], world=world_of(sphere((2.0, 0.65, 0.0), 0.2))).accepted
    assert (
        only_violation(check(gate, [[0.0, 0.0]], world=world_of(sphere((2.0, -0.5, 0.0), 0.2)))).subject
        == "cup"
    )


def test_objects_are_told_apart_after_others_were_detached(gate):
    for name, y in (("a", 0.5), ("b", 1.0)):
        gate.attach("forearm", SPHERE, object_id=name, origin_xyz_rpy=(1.0, y, 0.0, 0.0, 0.0, 0.0))
    gate.detach("a")
    gate.attach("forearm", SPHERE, object_id="c", origin_xyz_rpy=(1.0, 1.5, 0.0, 0.0, 0.0, 0.0))
    for name, y in (("b", 1.0), ("c", 1.5)):
        assert (
            only_violation(check(gate, [[0.0, 0.0]], world=world_of(sphere((2.0, y, 0.0), 0.05)))).subject
            == name
        )
    gate.detach("c")
    assert (
        only_violation(check(gate, [[0.0, 0.0]], world=world_of(sphere((2.0, 1.0, 0.0), 0.05)))).subject
        == "b"
    )


def test_object_can_be_attached_again_after_it_was_detached(gate):
    for _ in range(40):
        gate.attach("forearm", SPHERE, object_id="apple", origin_xyz_rpy=AT_THE_TIP)
        gate.detach("apple")
    assert check(gate, [[0.0, 0.0]]).accepted


def test_sixteen_shapes_can_be_attached_and_not_seventeen(gate):
    for index in range(16):
        gate.attach(
            "forearm",
            SPHERE,
            object_id=f"part{index % 3}",
            origin_xyz_rpy=(1.0, 0.5 + index, 0.0, 0.0, 0.0, 0.0),
        )
    with pytest.raises(
        lg.ROSConfigError, match=r"`one_more` cannot be attached to `forearm`.*no room for another shape"
    ):
        gate.attach("forearm", SPHERE, object_id="one_more", origin_xyz_rpy=AT_THE_TIP)
    with pytest.raises(lg.ROSConfigError, match="`one_more` is not attached; attached: part0, part1, part2"):
        gate.detach("one_more")
    gate.detach("part0")
    gate.attach("forearm", SPHERE, object_id="one_more", origin_xyz_rpy=AT_THE_TIP)


def test_unknown_object_cannot_be_detached(gate):
    with pytest.raises(lg.ROSConfigError, match="`apple` is not attached; attached: nothing"):
        gate.detach("apple")
    gate.attach("forearm", SPHERE, object_id="apple", origin_xyz_rpy=AT_THE_TIP)
    gate.detach("apple")
    with pytest.raises(lg.ROSConfigError, match="`apple` is not attached; attached: nothing"):
        gate.detach("apple")


def test_unknown_link_is_refused_with_the_links_there_are(gate):
    with pytest.raises(lg.ROSConfigError, match="has no link `nose`; links: base, upper_arm, forearm"):
        gate.attach("nose", SPHERE, object_id="apple")
    with pytest.raises(lg.ROSConfigError, match="has no link `ear`"):
        gate.attach("forearm", SPHERE, object_id="apple", touch_links=["upper_arm", "ear"])
    with pytest.raises(lg.ROSConfigError, match="attached: nothing"):
        gate.detach("apple")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"shape": lg.HalfSpaceShape()}, "shape"),
        ({"shape": None}, "shape"),
        ({"origin_xyz_rpy": (np.nan, 0.0, 0.0, 0.0, 0.0, 0.0)}, "origin_xyz_rpy"),
        ({"origin_xyz_rpy": (0.0, 0.0, 0.0, np.inf, 0.0, 0.0)}, "origin_xyz_rpy"),
        ({"origin_xyz_rpy": (0.0, 0.0, 0.0)}, "origin_xyz_rpy"),
        ({"origin_xyz_rpy": "here"}, "origin_xyz_rpy"),
        ({"object_id": ""}, "object_id"),
        ({"object_id": 7}, "object_id"),
        ({"touch_links": "forearm"}, "touch_links"),
        ({"origin_xyz_rpy": (101.0, 0.0, 0.0, 0.0, 0.0, 0.0)}, "larger than 100 m"),
    ],
)
def test_object_that_cannot_be_attached_is_refused_and_nothing_changes(gate, arguments, message):
    arguments = {"shape": SPHERE, "object_id": "apple"} | arguments
    with pytest.raises(lg.ROSConfigError, match=message):
        gate.attach("forearm", arguments.pop("shape"), **arguments)
    with pytest.raises(lg.ROSConfigError, match="attached: nothing"):
        gate.detach("apple")


def test_attached_object_may_be_placed_by_an_array(gate):
    gate.attach("forearm", SPHERE, object_id="apple", origin_xyz_rpy=np.array(AT_THE_TIP))
    assert (
        only_violation(check(gate, [[0.0, 0.0]], world=world_of(sphere((2.35, 0.0, 0.0), 0.1)))).subject
        == "apple"
    )


def test_attached_object_counts_in_a_batch(gate):
    world = world_of(sphere((2.35, 0.0, 0.0), 0.1))
    configurations = np.array([[0.0, 0.0], [0.5, 0.5]])
    assert gate.check_batch(configurations, world=world).accepted.tolist() == [True, True]
    gate.attach("forearm", SPHERE, object_id="apple", origin_xyz_rpy=AT_THE_TIP)
    assert gate.check_batch(configurations, world=world).accepted.tolist() == [False, True]
