# SPDX-License-Identifier: Apache-2.0
"""Contacts that a skill declares: which links, which objects, which phase, how deep, where and for how long.

Every accepted touch has its rejected twins: another link, object or phase, later, deeper, outside the region.
"""

import numpy as np
import pytest
from fixtures.analytic_robots import (
    NOW_S,
    at,
    code_of,
    gate_of,
    gripper_arm,
    only_violation,
    sphere,
    world_of,
)

import lastgate as lg
from lastgate.contracts.skill_contact import touching_links
from lastgate.tools.telemetry.recorder import Recorder
from lastgate.tools.telemetry.recording_reader import read_recording

# The hand's sphere of 3 cm hangs above a cup whose top is at 0.5 m; it goes up by `lift`.
MARGIN_M = 0.05
CUP = sphere((0.0, 0.0, 0.6), 0.07, "cup_1")
TOUCHING_M = 0.5


def skill(**changes: object) -> lg.RSkillManifest:
    contact = {
        "links": ["hand", "finger"],
        "objects": ["cup*"],
        "phase": "grasp",
        "depth_m": 0.005,
        "expires_s": 5.0,
    }
    return lg.RSkillManifest(name="pick", version="1.0.0", contacts=[contact | changes])


def gate_with(manifest: lg.RSkillManifest | None) -> lg.Gate:
    return gate_of(
        gripper_arm(safety={"gripper_min": 0.0, "gripper_max": 1.0, "world_collision_margin_m": MARGIN_M}),
        step_s=0.2,
        skill=manifest,
    )


def lifted(
    gate: lg.Gate,
    height_m: float,
    *,
    phase: str | None = "grasp",
    world: lg.World | None = None,
    now_s: float = NOW_S,
) -> lg.Verdict:
    return gate.check(
        lg.ActionChunk([[height_m]]),
        state=at(height_m, gripper_positions=[0.0], stamp_s=now_s),
        world=world_of(CUP, stamp_s=now_s) if world is None else world,
        now_s=now_s,
        phase=phase,
    )


def test_a_declared_touch_is_accepted_and_named_and_without_it_the_margin_holds():
    gate = gate_with(skill())
    verdict = lifted(gate, TOUCHING_M + 0.004)
    assert verdict.accepted, verdict.explain()
    assert verdict.contacts_used == ("grasp 0",)
    assert code_of(lifted(gate_with(None), TOUCHING_M - 0.01, phase=None)) == "world_collision"
    assert code_of(lifted(gate_with(skill()), TOUCHING_M + 0.004, phase=None)) == "world_collision"


def test_what_keeps_its_margin_uses_no_contact():
    verdict = lifted(gate_with(skill()), TOUCHING_M - MARGIN_M - 0.01)
    assert verdict.accepted
    assert verdict.contacts_used == ()


@pytest.mark.parametrize(
    "changes",
    [
        {"links": ["finger"]},
        {"objects": ["mug*"]},
        {"phase": "place"},
        {"depth_m": 0.003},
        {"depth_m": 0.0},
        {
            "region": {
                "shape": {"shape": "box", "size_xyz_m": [0.2, 0.2, 0.2]},
                "pose": {"xyz": [0.5, 0.0, 0.5]},
            }
        },
    ],
    ids=["other link", "other object", "other phase", "deeper", "only touching", "outside the region"],
)
def test_every_other_touch_is_rejected(changes):
    violation = only_violation(lifted(gate_with(skill(**changes)), TOUCHING_M + 0.004))
    assert (violation.code, violation.subject, violation.against) == ("world_collision", "hand", "cup_1")


def test_a_region_that_holds_the_hand_lets_it_touch():
    region = {"shape": {"shape": "box", "size_xyz_m": [0.5, 0.5, 0.5]}, "pose": {"xyz": [0.0, 0.0, 0.5]}}
    assert lifted(gate_with(skill(region=region)), TOUCHING_M + 0.004).accepted


@pytest.mark.parametrize(("beyond_m", "accepted"), [(-1e-5, True), (1e-5, False)])
def test_depth_is_exact_to_a_hundredth_of_a_millimetre(beyond_m, accepted):
    verdict = lifted(gate_with(skill()), TOUCHING_M + 0.005 + beyond_m)
    assert verdict.accepted == accepted, verdict.explain()
    if not accepted:
        violation = only_violation(verdict)
        assert violation.value == pytest.approx(-0.005 - beyond_m, abs=1e-6)
        assert violation.limit_min == pytest.approx(-0.005, abs=1e-9)


def test_a_contact_expires_after_its_phase_began_and_a_new_phase_begins_anew():
    gate = gate_with(skill())
    assert lifted(gate, TOUCHING_M, now_s=NOW_S).accepted
    assert lifted(gate, TOUCHING_M, now_s=NOW_S + 4.0).accepted
    assert code_of(lifted(gate, TOUCHING_M, now_s=NOW_S + 5.5)) == "world_collision"
    lifted(gate, 0.1, phase="carry", now_s=NOW_S + 6.0)
    assert lifted(gate, TOUCHING_M, now_s=NOW_S + 7.0).accepted


def test_a_carried_object_may_touch_where_it_is_declared_and_nowhere_else():
    table = lg.WorldCollisionPrimitive(
        shape=lg.BoxShape(size_xyz_m=(1.0, 1.0, 0.1)), pose=lg.Pose6D(xyz=(0.0, 0.0, 0.75)), object_id="table"
    )
    world = world_of(table)  # a ceiling, at 0.7 m
    place = skill(links=[], carried_objects=True, objects=["table"], phase="place", depth_m=0.002)
    box = lg.BoxShape(size_xyz_m=(0.3, 0.3, 0.02))
    for gap_m, accepted in ((0.001, True), (-0.0015, True), (-0.0025, False)):
        gate = gate_with(place)
        gate.attach(
            "hand", box, object_id="tray", origin_xyz_rpy=(0, 0, 0.1, 0, 0, 0), touch_links=["finger"]
        )
        verdict = lifted(gate, 0.7 - 0.11 - gap_m, phase="place", world=world)
        assert verdict.accepted == accepted, verdict.explain()
        assert verdict.contacts_used == (("place 0",) if accepted else ())
    violation = only_violation(verdict)
    assert (violation.subject, violation.against) == ("tray", "table")
    assert violation.value == pytest.approx(-0.0025, abs=1e-6)
    assert not lifted(gate, 0.7 - 0.11 - 0.001, phase="carry", world=world).accepted


def test_a_tray_that_sticks_out_of_the_region_keeps_its_margin():
    table = lg.WorldCollisionPrimitive(
        shape=lg.BoxShape(size_xyz_m=(1.0, 1.0, 0.1)), pose=lg.Pose6D(xyz=(0.0, 0.0, 0.75)), object_id="table"
    )
    for edge_m, accepted in ((0.32, True), (0.28, False)):
        region = {
            "shape": {"shape": "box", "size_xyz_m": [edge_m, edge_m, 2.0]},
            "pose": {"xyz": [0.0, 0.0, 0.5]},
        }
        manifest = skill(links=[], carried_objects=True, objects=["table"], phase="place", region=region)
        gate = gate_with(manifest)
        gate.attach(
            "hand",
            lg.BoxShape(size_xyz_m=(0.3, 0.3, 0.02)),
            object_id="tray",
            origin_xyz_rpy=(0, 0, 0.1, 0, 0, 0),
            touch_links=["finger"],
        )
        verdict = lifted(gate, 0.7 - 0.11 - 0.001, phase="place", world=world_of(table))
        assert verdict.accepted == accepted, verdict.explain()


def test_pressing_through_a_thin_plate_is_rejected_however_deep_is_declared():
    plate = lg.WorldCollisionPrimitive(
        shape=lg.BoxShape(size_xyz_m=(0.4, 0.4, 0.02)),
        pose=lg.Pose6D(xyz=(0.0, 0.0, 0.5)),
        object_id="cup_plate",
    )
    # The capsule axis inside the plate says nothing about depth; the true depth is 3 cm of radius and more.
    gate = gate_with(skill(depth_m=0.035))
    assert code_of(lifted(gate, 0.5, world=world_of(plate))) == "world_collision"
    assert lifted(gate, 0.49 - 0.03 + 0.02, world=world_of(plate)).accepted


def test_only_hands_and_fingers_may_be_declared():
    manifest = {"links": ["panda_link4"], "objects": ["cup"], "phase": "push", "expires_s": 1.0}
    arm = lg.RSkillManifest(name="elbow", version="1.0.0", contacts=[manifest])
    robot = lg.load_robot("franka_panda")
    with pytest.raises(lg.ROSConfigError, match="`panda_link4`, which is neither hand nor finger"):
        lg.Gate(robot, step_s=0.02, skill=arm)
    assert touching_links(robot) == ("panda_hand", "panda_leftfinger", "panda_rightfinger")
    hand = lg.RSkillManifest(name="hand", version="1.0.0", contacts=[manifest | {"links": ["panda_hand"]}])
    assert lg.Gate(robot, step_s=0.02, skill=hand).skill == hand


@pytest.mark.parametrize("name", ["so101_follower", "widowx", "sawyer", "aloha_bimanual"])
def test_no_arm_link_of_the_library_may_be_declared(name):
    robot = lg.load_robot(name)
    allowed = touching_links(robot)
    assert allowed
    gripper = {joint.name for end in robot.end_effectors if end.gripper for joint in end.gripper.joints}
    # What carries a joint that steps move is arm, unless it is the hand itself.
    hands = {end.link for end in robot.end_effectors} | {
        j.parent_link for j in robot.joints if j.name in gripper
    }
    for joint in robot.joints:
        if joint.child_link in hands:
            assert joint.parent_link not in allowed or joint.parent_link in hands


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"links": []}, "names nothing that may touch"),
        ({"objects": []}, "names nothing that may be touched"),
        ({"objects": ["*"]}, "no class of objects"),
        ({"depth_m": 0.06}, "depth_m"),
        ({"depth_m": -0.001}, "depth_m"),
        ({"expires_s": 0.0}, "expires_s"),
        ({"phase": "wave"}, "phase"),
    ],
)
def test_a_contact_that_means_nothing_is_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        skill(**changes)


def test_a_phase_that_does_not_exist_is_refused():
    with pytest.raises(lg.ROSConfigError, match="phase must be one of approach, grasp, carry, place, push"):
        lifted(gate_with(skill()), 0.1, phase="gasp")


def test_a_recording_replays_what_a_phase_declared(tmp_path):
    gate = gate_with(skill())
    path = tmp_path / "phase.mcap"
    with Recorder(gate, path, in_background=False) as recorder:
        verdict = recorder.check(
            lg.ActionChunk([[TOUCHING_M + 0.004]]),
            state=at(TOUCHING_M + 0.004, gripper_positions=[0.0]),
            world=world_of(CUP),
            now_s=NOW_S,
            phase="grasp",
        )
    assert verdict.contacts_used == ("grasp 0",)
    (check,) = read_recording(path).checks
    assert (check.contacts[0].depth_m, check.contacts[0].expires_s) == (0.005, NOW_S + 5.0)


def test_a_depth_over_the_capacity_of_the_core_is_rejected_by_the_core():
    from lastgate import _core

    assert pytest.approx(0.05) == _core.CONTACT_DEPTH_M_MAX
    gate = gate_with(None)
    contact = lg.DeclaredContact.model_construct(
        name="deep",
        links=("hand",),
        held_objects=(),
        objects=("cup_1",),
        voxels=False,
        points=False,
        region=lg.BoxShape(size_xyz_m=(9, 9, 9)),
        region_pose=lg.Pose6D(xyz=(0, 0, 0)),
        expires_s=NOW_S + 9,
        depth_m=0.051,
    )
    verdict = gate.check(
        lg.ActionChunk(np.array([[0.1]])),
        state=at(0.1, gripper_positions=[0.0]),
        world=world_of(CUP),
        now_s=NOW_S,
        declared_contacts=[contact],
    )
    assert code_of(verdict) == "declared_contact"
