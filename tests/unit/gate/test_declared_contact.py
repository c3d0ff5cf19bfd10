# SPDX-License-Identifier: Apache-2.0
"""Declared contact: a named pair, a region and an expiry; as close as touching, never closer, and said aloud."""

import numpy as np
import pytest
from fixtures.analytic_robots import NOW_S, at, code_of, gate_of, only_violation, sliders, sphere, world_of

import lastgate as lg
from lastgate.tools.telemetry.recorder import Recorder
from lastgate.tools.telemetry.recording_reader import read_recording

MARGIN_M = 0.1
CUP = sphere(
    (0.7, 0.0, 0.0), 0.1, "cup"
)  # its surface is at x = 0.6; the post's sphere has a radius of 10 cm


@pytest.fixture
def gate() -> lg.Gate:
    return gate_of(sliders(0.0, length_m=0.0, safety={"world_collision_margin_m": MARGIN_M}), step_s=1.0)


def grasp(**changes: object) -> lg.DeclaredContact:
    fields = {
        "name": "grasp cup",
        "links": ["post0"],
        "objects": ["cup"],
        "region": {"shape": "box", "size_xyz_m": [0.5, 0.5, 0.5]},
        "region_pose": {"xyz": [0.5, 0.0, 0.0]},
        "expires_s": NOW_S + 60.0,
    }
    return lg.DeclaredContact(**(fields | changes))


def reach(
    gate: lg.Gate, *rows: float, contacts: object = (), world: object = None, start: float = 0.0
) -> lg.Verdict:
    return gate.check(
        lg.ActionChunk([[row] for row in rows]),
        state=at(start),
        world=world_of(CUP) if world is None else world,
        now_s=NOW_S,
        declared_contacts=contacts,
    )


def test_contact_lets_the_margin_shrink_to_touching_and_the_verdict_says_so(gate):
    assert code_of(reach(gate, 0.45)) == "world_collision"
    verdict = reach(gate, 0.4998, contacts=[grasp()])
    assert verdict.accepted, verdict.explain()
    assert verdict.contacts_used == ("grasp cup",)
    assert "Declared contact used: grasp cup" in verdict.explain()


def test_penetration_is_rejected_and_the_evidence_names_the_margin_that_held(gate):
    verdict = reach(gate, 0.5002, contacts=[grasp()])
    violation = only_violation(verdict)
    assert (violation.code, violation.against, violation.limit_min) == ("world_collision", "cup", 0.0)
    assert violation.value == pytest.approx(-0.0002, abs=1e-6)
    assert verdict.contacts_used == ()
    assert "Declared contact" not in verdict.explain()


@pytest.mark.parametrize("to", [0.1, 0.3998])
def test_contact_that_was_not_needed_is_not_reported(gate, to):
    verdict = reach(gate, to, contacts=[grasp()])
    assert verdict.accepted
    assert verdict.contacts_used == ()


def test_only_the_contacts_that_were_needed_are_named(gate):
    world = world_of(CUP, sphere((-3.0, 0.0, 0.0), 0.1, "pan"))
    verdict = reach(gate, 0.45, contacts=[grasp(name="pan", objects=["pan"]), grasp()], world=world)
    assert verdict.contacts_used == ("grasp cup",)


def test_region_ends_where_it_ends(gate):
    # At 0.45 the post's sphere reaches from 0.35 to 0.55.
    assert reach(gate, 0.45, contacts=[grasp()], start=0.39).accepted
    narrow = grasp(region={"shape": "box", "size_xyz_m": [0.28, 0.5, 0.5]})  # from 0.36
    assert code_of(reach(gate, 0.45, contacts=[narrow])) == "world_collision"
    turned = grasp(region_pose={"xyz": [0.5, 0.0, 0.0], "quat_xyzw": [0.0, 0.0, np.sqrt(0.5), np.sqrt(0.5)]})
    assert reach(gate, 0.45, contacts=[turned]).accepted


def test_region_in_the_base_frame_by_name_is_taken_and_any_other_refused(gate):
    assert reach(gate, 0.45, contacts=[grasp(region_pose={"xyz": [0.5, 0, 0], "frame_id": "base"})]).accepted
    with pytest.raises(
        lg.ROSConfigError, match="the region of declared contact `grasp cup` is in frame `map`"
    ):
        reach(gate, 0.45, contacts=[grasp(region_pose={"xyz": [0.5, 0, 0], "frame_id": "map"})])


@pytest.mark.parametrize(
    ("expires_s", "outcome"), [(1.0, "accepted"), (0.9, "world_collision"), (-1.0, "world_collision")]
)
def test_row_that_is_executed_after_the_expiry_keeps_the_whole_margin(gate, expires_s, outcome):
    assert code_of(reach(gate, 0.45, contacts=[grasp(expires_s=NOW_S + expires_s)])) == outcome


def test_object_that_is_not_in_the_snapshot_opens_nothing(gate):
    assert code_of(reach(gate, 0.45, contacts=[grasp(objects=["cpu"])])) == "world_collision"
    verdict = reach(gate, 0.3, contacts=[grasp(objects=["cpu"])])
    assert (verdict.accepted, verdict.contacts_used) == (True, ())
    assert reach(gate, 0.45, contacts=[grasp()], world=lg.NO_WORLD).contacts_used == ()


def test_unnamed_obstacle_cannot_be_declared_by_its_number(gate):
    world = world_of(sphere((0.7, 0.0, 0.0), 0.1))
    assert code_of(reach(gate, 0.45, contacts=[grasp(objects=["world_0"])], world=world)) == "world_collision"


def test_zone_of_the_snapshot_cannot_be_declared_away(gate):
    wall = lg.Zone(name="cup", shape=lg.SphereShape(radius_m=0.1), pose=lg.Pose6D(xyz=(0.7, 0.0, 0.0)))
    world = lg.World(zones=[wall], stamp_s=NOW_S)
    assert code_of(reach(gate, 0.45, contacts=[grasp()], world=world)) == "world_collision"


def test_two_obstacles_of_one_name_are_both_declared(gate):
    world = world_of(CUP, sphere((0.7, 0.05, 0.0), 0.1, "cup"))
    assert reach(gate, 0.45, contacts=[grasp()], world=world).accepted


def test_attached_object_is_declared_by_its_own_name(gate):
    gate.attach("post0", lg.SphereShape(radius_m=0.05), object_id="lid", origin_xyz_rpy=(0.1, 0, 0, 0, 0, 0))
    # The lid reaches 5 cm farther than the post.
    assert code_of(reach(gate, 0.44, contacts=[grasp()])) == "world_collision"
    place = grasp(name="place lid", links=[], held_objects=["lid"])
    verdict = reach(gate, 0.44, contacts=[grasp(), place])
    assert verdict.accepted, verdict.explain()
    assert verdict.contacts_used == ("grasp cup", "place lid")
    assert only_violation(reach(gate, 0.4502, contacts=[grasp(), place])).subject == "lid"


@pytest.mark.parametrize("source", ["voxels", "points"])
def test_link_may_touch_what_a_field_shows_in_the_region(gate, source):
    if source == "points":
        world = lg.World(points=np.array([[0.6, 0.0, 0.0]]), stamp_s=NOW_S)
    else:
        voxel_array = np.zeros((4, 4, 20), dtype=np.uint8)
        voxel_array[:, :, 16:] = 1  # from x = -1 + 16 * 0.1 = 0.6
        grid = lg.Voxels(
            occupancy=voxel_array,
            origin_xyz=(-1.0, -0.2, -0.2),
            resolution_m=0.1,
            stamp_s=NOW_S,
            outside="free",
        )
        world = lg.World(voxels=grid, stamp_s=NOW_S)
    other = {"voxels": "points", "points": "voxels"}[source]
    assert code_of(reach(gate, 0.45, world=world)) == "world_collision"
    verdict = reach(gate, 0.4998, contacts=[grasp(objects=[], **{source: True})], world=world)
    assert verdict.accepted, verdict.explain()
    assert verdict.contacts_used == ("grasp cup",)
    assert (
        code_of(reach(gate, 0.5002, contacts=[grasp(objects=[], **{source: True})], world=world))
        == "world_collision"
    )
    assert (
        code_of(reach(gate, 0.45, contacts=[grasp(objects=[], **{other: True})], world=world))
        == "world_collision"
    )
    outside = grasp(objects=[], region_pose={"xyz": [0.5, 2.0, 0.0]}, **{source: True})
    assert code_of(reach(gate, 0.45, contacts=[outside], world=world)) == "world_collision"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"links": ["nose"]},
            "declared contact `grasp cup` names link `nose`, which does not exist; there are: base, post0",
        ),
        ({"held_objects": ["lid"]}, "names attached object `lid`, which does not exist; there are: none"),
    ],
)
def test_unknown_name_is_refused(gate, changes, message):
    with pytest.raises(lg.ROSConfigError, match=message):
        reach(gate, 0.1, contacts=[grasp(**changes)])


def test_two_contacts_of_one_name_and_things_that_are_no_contacts_are_refused(gate):
    with pytest.raises(lg.ROSConfigError, match="two declared contacts are called `grasp cup`"):
        reach(gate, 0.1, contacts=[grasp(), grasp()])
    with pytest.raises(lg.ROSConfigError, match="holds a dict, expected a DeclaredContact"):
        reach(gate, 0.1, contacts=[{"name": "grasp cup"}])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"expires_s": float("nan")}, "expires_s"),
        ({"expires_s": float("inf")}, "expires_s"),
        ({"expires_s": None}, "expires_s"),
        ({"region": {"shape": "box", "size_xyz_m": [0.5, float("nan"), 0.5]}}, "size_xyz_m"),
        ({"region": {"shape": "box", "size_xyz_m": [0.5, 0.0, 0.5]}}, "size_xyz_m"),
        ({"region": {"shape": "sphere", "radius_m": 1.0}}, "region"),
        ({"region_pose": {"xyz": [float("nan"), 0, 0]}}, "xyz"),
        ({"links": []}, "names nothing that may touch"),
        ({"objects": []}, "names nothing that may be touched"),
        ({"links": "post0"}, "links"),
        ({"name": ""}, "name"),
        ({"margin_m": -0.01}, "margin_m"),
    ],
)
def test_declaration_of_bad_numbers_is_refused_by_the_schema(changes, message):
    with pytest.raises(ValueError, match=message):
        grasp(**changes)


def test_eight_contacts_are_taken_and_nine_reject(gate):
    many = [grasp(name=f"grasp {index}") for index in range(9)]
    assert reach(gate, 0.1, contacts=many[:8]).accepted
    assert code_of(reach(gate, 0.1, contacts=many)) == "declared_contact"


@pytest.mark.parametrize(
    "empty", [iter([]), (contact for contact in ()), set(), {}, np.empty(0, dtype=object)]
)
def test_no_contact_may_be_declared_by_anything_that_is_empty(gate, empty):
    assert reach(gate, 0.3, contacts=empty).accepted


def test_contact_declared_by_an_iterator_counts(gate, tmp_path):
    # Its last step is inside the margin and does not touch.
    assert not reach(gate, 0.45).accepted
    assert reach(gate, 0.45, contacts=iter([grasp()])).contacts_used == ("grasp cup",)
    with Recorder(gate, tmp_path / "box.mcap", in_background=False) as recorder:
        assert reach(recorder, 0.45, contacts=iter([grasp()])).contacts_used == ("grasp cup",)
    (check,) = read_recording(tmp_path / "box.mcap").checks
    assert check.contacts == (grasp(),)


@pytest.mark.parametrize("nonsense", [None, 5, grasp(), object()])
def test_contacts_that_one_cannot_go_through_are_refused_in_words(gate, nonsense):
    with pytest.raises(lg.ROSConfigError, match=r"declared_contacts is a .*, expected a list"):
        reach(gate, 0.3, contacts=nonsense)


@pytest.mark.parametrize("nonsense", ["grasp", [5], iter([None])])
def test_contacts_of_another_type_are_refused_in_words(gate, nonsense):
    with pytest.raises(lg.ROSConfigError, match="expected a DeclaredContact"):
        reach(gate, 0.3, contacts=nonsense)
