# SPDX-License-Identifier: Apache-2.0
"""Keep-in zones: the whole arm, and what it holds, stays inside, whatever the world says."""

import numpy as np
import pytest
from fixtures.analytic_robots import (
    at,
    check,
    code_of,
    gate_of,
    only_violation,
    planar_two_link,
    sliders,
    sphere,
    world_of,
)

import lastgate as lg

BOX = {"shape": "box", "size_xyz_m": [2.0, 2.0, 2.0]}


def zone(shape: dict = BOX, xyz=(0.0, 0.0, 0.0), name: str = "cell", **fields: object) -> dict:
    return {"name": name, "shape": shape, "pose": {"xyz": list(xyz)}} | fields


def gate_in(*zones: dict, **safety: object) -> lg.Gate:
    return gate_of(sliders(0.0, length_m=0.0, safety={"keep_in_zones": list(zones)} | safety), step_s=1.0)


@pytest.mark.parametrize(
    "shape",
    [
        BOX,
        {"shape": "sphere", "radius_m": 1.0},
        {"shape": "capsule", "radius_m": 1.0, "length_m": 1.0},
    ],
)
def test_post_may_go_up_to_the_wall_and_not_beyond(shape):
    # The sphere on the post has a radius of 10 cm; the wall is at 1 m.
    gate = gate_in(zone(shape))
    assert check(gate, [[0.899]]).accepted
    violation = only_violation(check(gate, [[0.901]]))
    assert (violation.code, violation.subject, violation.against) == ("keep_in_zone", "post0", "cell")
    assert violation.value == pytest.approx(-0.001, abs=1e-9)
    evidence = violation.evidence()
    assert (evidence.kind, evidence.collision_kind, evidence.link_b_or_object) == (
        "collision",
        "world",
        "cell",
    )
    np.testing.assert_allclose(evidence.witness_a, [1.001, 0.0, 0.0], atol=1e-9)
    np.testing.assert_allclose(evidence.witness_b, [1.0, 0.0, 0.0], atol=1e-9)


def test_half_space_keeps_what_is_below_its_plane():
    turned = {
        "xyz": [1.0, 0.0, 0.0],
        "quat_xyzw": [0.0, np.sqrt(0.5), 0.0, np.sqrt(0.5)],
    }  # its z points along x
    gate = gate_in(zone({"shape": "half_space"}) | {"pose": turned})
    assert check(gate, [[0.899]]).accepted
    assert check(gate, [[-2.0]]).accepted
    assert code_of(check(gate, [[0.901]])) == "keep_in_zone"


def test_margin_of_the_world_is_kept_from_the_wall():
    gate = gate_in(zone(), world_collision_margin_m=0.05)
    assert check(gate, [[0.849]]).accepted
    violation = only_violation(check(gate, [[0.851]]))
    assert (violation.code, violation.limit_min) == ("keep_in_zone", 0.05)
    assert "0.0490 m inside keep-in zone cell" in violation.sentence()


def test_several_zones_all_hold():
    gate = gate_in(zone(), zone(xyz=(0.5, 0.0, 0.0), name="right half"))
    assert check(gate, [[0.5]]).accepted
    assert only_violation(check(gate, [[0.95]])).against == "cell"
    assert only_violation(check(gate, [[-0.45]])).against == "right half"


def test_zone_holds_between_the_steps():
    # From 0.6 rad to 2.6 rad the straight arm swings through y = 2; both rows are below y = 1.2.
    manifest = planar_two_link()
    manifest["safety"] = dict(manifest.get("safety", {}))
    room = zone({"shape": "box", "size_xyz_m": [6.0, 3.4, 6.0]}, name="room")
    manifest["safety"]["keep_in_zones"] = [room]
    gate = gate_of(manifest, step_s=10.0)
    violation = only_violation(check(gate, [[2.6, 0.0]], state=at(0.6, 0.0)))
    assert (violation.code, violation.step) == ("keep_in_zone", 0)
    assert 0.1 < violation.segment_t < 0.9
    assert check(gate, [[2.6, -1.5]], state=at(2.6, -1.0)).accepted


def test_named_links_alone_are_kept_and_everything_moving_without_names():
    far = {"shape": "box", "size_xyz_m": [3.0, 3.0, 3.0]}
    named = planar_two_link()
    named["safety"] = {"keep_in_zones": [zone(far, links=["upper_arm"])]}
    assert check(gate_of(named), [[0.0, 0.0]]).accepted
    unnamed = planar_two_link()
    unnamed["safety"] = {"keep_in_zones": [zone(far)]}
    assert only_violation(check(gate_of(unnamed), [[0.0, 0.0]])).subject == "forearm"


def test_attached_object_stays_inside_with_the_link_that_holds_it():
    gate = gate_in(zone())
    assert check(gate, [[0.5]]).accepted
    gate.attach("post0", lg.SphereShape(radius_m=0.1), object_id="pole", origin_xyz_rpy=(0.45, 0, 0, 0, 0, 0))
    violation = only_violation(check(gate, [[0.5]]))
    assert (violation.code, violation.subject) == ("keep_in_zone", "pole")
    gate.detach("pole")
    assert check(gate, [[0.5]]).accepted


def test_zone_holds_whatever_the_world_says_and_in_a_batch():
    gate = gate_in(zone())
    for world in (lg.NO_WORLD, world_of(), world_of(sphere((5.0, 0.0, 0.0), 0.1))):
        assert code_of(check(gate, [[0.95]], world=world)) == "keep_in_zone"
        batch = gate.check_batch(np.array([[0.0], [0.95], [0.5]]), world=world)
        assert batch.accepted.tolist() == [True, False, True]
        assert batch.clearance_m[1] == pytest.approx(-0.05, abs=1e-6)


def test_skill_may_add_a_zone():
    robot = lg.RobotDescription(**sliders(0.0))
    skill = lg.RSkillManifest(
        name="pour", version="1.0.0", envelope=lg.SafetyEnvelope(keep_in_zones=[zone()])
    )
    assert check(lg.Gate(robot, step_s=1.0), [[2.0]]).accepted
    assert code_of(check(lg.Gate(robot, step_s=1.0, skill=skill), [[2.0]])) == "keep_in_zone"


def test_certified_rows_end_before_the_wall_even_when_something_else_is_hit_later():
    gate = gate_in(zone())
    world = world_of(sphere((2.0, 0.0, 0.0), 0.1, "cup"))
    verdict = check(gate, [[0.3], [0.6], [1.2], [2.0]], world=world)
    assert (code_of(verdict), verdict.certified_rows) == ("world_collision", 2)
    assert check(gate, [[0.3], [0.6]], world=world).accepted


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"links": ["nose"]}, "keep-in zone `cell` names link `nose`"),
        ({"links": ["base"]}, "no volume to keep inside"),
        ({"pose": {"xyz": [0, 0, 0], "frame_id": "map"}}, "zone `cell` is in frame `map`"),
    ],
)
def test_zone_that_cannot_be_kept_refuses_the_robot(changes, message):
    with pytest.raises(lg.ROSConfigError, match=message):
        gate_in(zone() | changes)


@pytest.mark.parametrize(
    "changes",
    [
        {"shape": {"shape": "box", "size_xyz_m": [1.0, 0.0, 1.0]}},
        {"shape": {"shape": "sphere", "radius_m": float("nan")}},
        {"pose": {"xyz": [float("inf"), 0, 0]}},
        {"links": "post0"},
        {"inside": True},
    ],
)
def test_zone_of_bad_numbers_is_refused_by_the_schema(changes):
    with pytest.raises(ValueError, match="cell"):
        lg.KeepInZone(**(zone() | changes))


def test_more_zones_than_there_is_room_for_are_refused():
    gate_in(*(zone(name=f"z{index}") for index in range(16)))
    with pytest.raises(lg.ROSConfigError, match="more than 16 keep-in zones"):
        gate_in(*(zone(name=f"z{index}") for index in range(17)))


def test_no_go_zone_of_another_frame_is_refused_too():
    with pytest.raises(lg.ROSConfigError, match="zone `channel` is in frame `map`"):
        gate_of(
            sliders(
                0.0,
                safety={
                    "no_go_zones": [
                        {
                            "name": "channel",
                            "shape": {"shape": "sphere", "radius_m": 0.1},
                            "pose": {"xyz": [5, 0, 0], "frame_id": "map"},
                        }
                    ]
                },
            )
        )
