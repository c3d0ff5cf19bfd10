# SPDX-License-Identifier: Apache-2.0
"""X22: the evidence of every violation validates against its schema, whatever things are called."""

import json
from collections.abc import Callable

import numpy as np
import pytest
from fixtures.analytic_robots import (
    NOW_S,
    arm_of_one_link,
    at,
    check,
    gate_of,
    gripper_arm,
    only_violation,
    planar_two_link,
    sliders,
    sphere,
    stacked,
    world_of,
)

import lastgate as lg
from lastgate import _core
from lastgate.contracts import CATALOGUE, ControlMode, ViolationCode

M = ControlMode
CUP = sphere((0.15, 0.0, 0.0), 0.1, "cup")
BOX = {"workspace_box_min_xyz": [-1.0, -1.0, -1.0], "workspace_box_max_xyz": [0.5, 1.0, 1.0]}


def tip_on_slide(**safety: object) -> dict:
    return sliders(0.0, safety=safety, end_effectors=[{"name": "tip", "link": "post0"}])


def over_budget() -> lg.Verdict:
    gate = gate_of(sliders(0.0, 0.2001), evaluations_max=_core.ROWS_MAX + 1)
    return check(gate, np.tile([[5.0, 5.0], [-5.0, -5.0]], (100, 1)))


def grid(shape: tuple[int, int, int], stamp_s: float = NOW_S) -> lg.Voxels:
    return lg.Voxels(
        occupancy=np.zeros(shape, dtype=np.uint8),
        origin_xyz=(-1.0, -1.0, -1.0),
        resolution_m=0.1,
        stamp_s=stamp_s,
    )


def world_with(voxels: lg.Voxels) -> lg.World:
    return lg.World(voxels=voxels, stamp_s=NOW_S)


def in_a_cell() -> dict:
    cell = {
        "name": "cell",
        "shape": {"shape": "box", "size_xyz_m": [1.0, 1.0, 1.0]},
        "pose": {"xyz": [0, 0, 0]},
    }
    return sliders(0.0, safety={"keep_in_zones": [cell]})


def with_too_many_contacts() -> lg.Verdict:
    gate = gate_of(sliders(0.0))
    contacts = [
        lg.DeclaredContact(
            name=f"grasp {index}",
            links=["post0"],
            objects=["cup"],
            region=lg.BoxShape(size_xyz_m=(1.0, 1.0, 1.0)),
            region_pose=lg.Pose6D(xyz=(0.0, 0.0, 0.0)),
            expires_s=NOW_S + 1.0,
        )
        for index in range(_core.DECLARED_CONTACTS_MAX + 1)
    ]
    far = world_of(sphere((2.0, 0.0, 0.0), 0.1, "cup"))
    return gate.check(
        lg.ActionChunk([[0.0]]), state=at(0.0), world=far, now_s=NOW_S, declared_contacts=contacts
    )


def before_a_wall() -> lg.Verdict:
    robot = sliders(0.0, stop={"kind": "path", "reaction_s": 0.1})
    robot["joints"][0]["deceleration_limit"] = 1.0
    return check(gate_of(robot), [[0.2]], world=world_of(sphere((0.45, 0.0, 0.0), 0.1, "cup")))


def off_the_seam() -> lg.Verdict:
    running = lg.RunningMotion([[0.1], [0.2]], started_s=NOW_S, start=[0.0])
    return gate_of(stacked(1)).check(
        lg.ActionChunk([[0.9]]),
        state=at(0.0),
        world=world_of(),
        now_s=NOW_S,
        running=running,
        handover_s=0.01,
    )


# One rejection per code that a gate can give today.
REJECTIONS: dict[str, Callable[[], lg.Verdict]] = {
    "control_mode": lambda: check(gate_of(stacked(3)), [[0.0] * 3], 77),
    "ndof_mismatch": lambda: check(gate_of(stacked(3)), [[0.0] * 2]),
    "dim_mismatch": lambda: check(gate_of(stacked(3)), np.zeros((0, 3))),
    "nan_in_action": lambda: check(gate_of(stacked(3)), [[0.0, np.nan, 0.0]]),
    "budget_exceeded": over_budget,
    "joint_position_limit": lambda: check(gate_of(stacked(3)), [[0.0, 9.0, 0.0]]),
    "joint_velocity_limit": lambda: check(gate_of(stacked(3)), [[0.0, 0.9, 0.0]]),
    "joint_torque_limit": lambda: check(gate_of(stacked(3)), [[0.0, 9.0, 0.0]], M.JOINT_TORQUE),
    "gripper_range": lambda: check(gate_of(stacked(3)), [[2.0]], M.GRIPPER_POSITION),
    "cartesian_step": lambda: check(gate_of(stacked(3)), [[9.0, 0, 0, 0, 0, 0]], M.CARTESIAN_DELTA),
    "cartesian_rotation_step": lambda: check(gate_of(stacked(3)), [[0, 0, 0, 9.0, 0, 0]], M.CARTESIAN_DELTA),
    "ee_speed": lambda: check(gate_of(stacked(3)), [[9.0, 0, 0, 0, 0, 0]], M.CARTESIAN_TWIST),
    "ee_angular_speed": lambda: check(gate_of(stacked(3)), [[0, 0, 0, 9.0, 0, 0]], M.CARTESIAN_TWIST),
    "base_linear_speed": lambda: check(gate_of(stacked(3)), [[9.0, 0, 0, 0, 0, 0]], M.BODY_TWIST),
    "base_angular_speed": lambda: check(gate_of(stacked(3)), [[0, 0, 0, 0, 0, 9.0]], M.BODY_TWIST),
    "workspace_box": lambda: check(gate_of(tip_on_slide(**BOX)), [[0.6]]),
    "quaternion_norm": lambda: check(gate_of(stacked(3)), [[0.0] * 7], M.CARTESIAN_POSE),
    "cartesian_frame": lambda: check(gate_of(stacked(3)), [[0.0] * 6], M.CARTESIAN_DELTA, frame_id="map"),
    "joint_acceleration_limit": lambda: check(
        gate_of(stacked(3, safety={}, acceleration_limit=0.1)), [[0.1, 0, 0], [0.3, 0, 0]]
    ),
    "ee_acceleration": lambda: check(gate_of(tip_on_slide(max_ee_accel_m_s2=0.1)), [[0.1], [0.4]]),
    "cartesian_unreachable": lambda: check(
        gate_of(planar_two_link()), [[0.1, 0, 0, 0, 0, 0]], M.CARTESIAN_DELTA
    ),
    "state_unavailable": lambda: check(gate_of(stacked(3)), [[0.0] * 3], state=at(0.0)),
    "world_unavailable": lambda: check(gate_of(stacked(3)), [[0.0] * 3], world=None),
    "world_overflow": lambda: check(gate_of(stacked(3)), [[0.0] * 3], world=world_of(*[CUP] * 1025)),
    "voxel_unavailable": lambda: check(
        gate_of(stacked(3)), [[0.0] * 3], world=world_with(grid((2, 2, 2), NOW_S - 9.0))
    ),
    "voxel_overflow": lambda: check(gate_of(stacked(3)), [[0.0] * 3], world=world_with(grid((1, 1, 2049)))),
    "declared_contact": with_too_many_contacts,
    "stop_not_certified": before_a_wall,
    "seam_jump": off_the_seam,
    "keep_in_zone": lambda: check(gate_of(in_a_cell()), [[0.45]]),
    "self_collision": lambda: check(gate_of(sliders(0.0, 0.15)), [[0.0, 0.0]]),
    "world_collision": lambda: check(gate_of(sliders(0.0)), [[0.0]], world=world_of(CUP)),
    "recovery_not_growing": lambda: check(gate_of(sliders(0.0)), [[0.0]], world=world_of(CUP), recovery=True),
    "recovery_speed": lambda: check(gate_of(stacked(3)), [[0.2, 0, 0]], recovery=True),
}
# The kernel process gives the first two; the others mean a defect.
NOT_FROM_A_GATE = {
    "envelope_unconfigured",
    "estop_latched",
    "not_checked",
    "internal_fault",
}


def test_every_code_is_either_produced_here_or_named_as_one_that_a_gate_does_not_give():
    assert set(REJECTIONS) | NOT_FROM_A_GATE == {code.value for code in ViolationCode}
    assert not set(REJECTIONS) & NOT_FROM_A_GATE


@pytest.mark.parametrize("code", REJECTIONS)
def test_evidence_of_every_code_survives_its_json(code):
    violation = only_violation(REJECTIONS[code]())
    assert violation.code == code
    evidence = violation.evidence()
    assert lg.read_evidence(evidence.model_dump_json()) == evidence
    json.loads(evidence.model_dump_json(), parse_constant=pytest.fail)


@pytest.mark.parametrize("code", REJECTIONS)
def test_evidence_is_of_the_kind_that_the_catalogue_reports(code):
    violation = only_violation(REJECTIONS[code]())
    entry = CATALOGUE[violation.code]
    kind = violation.evidence().kind
    if entry.state is not None:
        assert (kind, violation.evidence().state) == ("controller", entry.state)
    elif code in ("self_collision", "world_collision", "recovery_not_growing", "keep_in_zone"):
        assert kind == "collision"
    elif code.startswith("joint_") or code == "recovery_speed":
        assert kind == "joint_limit"
    elif entry.kind == lg.FailureKind.FORCE:
        assert kind == "force"
    elif code == "workspace_box":
        assert kind == "workspace"
    else:
        assert (kind, violation.evidence().state) == ("controller", code)


@pytest.mark.parametrize("code", REJECTIONS)
def test_explanation_of_every_code_is_one_paragraph_with_its_name_numbers_and_advice(code):
    verdict = REJECTIONS[code]()
    text = verdict.explain()
    assert text.startswith(f"Rejected, {code}: ")
    assert "\n" not in text
    assert text.endswith(f"What to do: {CATALOGUE[ViolationCode(code)].what_to_do}")
    violation = only_violation(verdict)
    assert violation.subject in text
    assert violation.against in text
    assert str(violation) == f"{code}: {violation.sentence()}"
    assert violation.step is None or f"step {violation.step}" in text


# What each explanation must say; the numbers are those of the inputs above.
WORDS = {
    "control_mode": ["control_mode 77", "`stacked_3`"],
    "ndof_mismatch": ["2 wide", "needs 3"],
    "dim_mismatch": ["horizon is 0 steps", "1 to 256"],
    "nan_in_action": ["j1", "element 1", "nan"],
    "budget_exceeded": ["257 evaluations"],
    "joint_position_limit": ["j1 at step 0 is 9.0000 rad", "-1.0000 to 1.0000 rad"],
    "joint_velocity_limit": ["j1 at step 0 is 9.0000 rad/s", "3.1500 rad/s"],
    "joint_torque_limit": ["j1 at step 0 is 9.0000 Nm", "3.0000 Nm"],
    "gripper_range": ["gripper at step 0 is 2.0000", "0.0000 to 1.0000"],
    "cartesian_step": ["tool at step 0 is 9.0000 m", "0.0500 m"],
    "cartesian_rotation_step": ["tool at step 0 is 9.0000 rad", "0.2000 rad"],
    "ee_speed": ["tool at step 0 is 9.0000 m/s", "0.5000 m/s"],
    "ee_angular_speed": ["tool at step 0 is 9.0000 rad/s", "2.0000 rad/s"],
    "base_linear_speed": ["base at step 0 is 9.0000 m/s", "1.0000 m/s"],
    "base_angular_speed": ["base at step 0 is 9.0000 rad/s", "1.5000 rad/s"],
    "workspace_box": ["tip", "0.1000 m outside the workspace box"],
    "quaternion_norm": ["tool", "length 0.0000"],
    "cartesian_frame": ["`map`"],
    "joint_acceleration_limit": ["j0 at step 1 is 10.0000 rad/s^2", "0.1000 rad/s^2"],
    "ee_acceleration": ["tip at step 1 is 20.0000 m/s^2", "0.1000 m/s^2"],
    "cartesian_unreachable": ["hand stays 0.1000 m away", "allowed 0.0100 m"],
    "state_unavailable": ["incomplete"],
    "world_unavailable": ["no world was given"],
    "world_overflow": ["more than 1024 obstacles"],
    "voxel_unavailable": ["the grid is stale: 9.000 s old, allowed 0.500 s"],
    "voxel_overflow": ["more than 2048 voxels along an edge"],
    "declared_contact": ["9, at most 8"],
    "stop_not_certified": [
        "a stop asked for on the way to step 0",
        "post0 / cup -",
        "more than 0.0000 m apart",
    ],
    "seam_jump": ["j0 would jump by 0.8900 rad", "-0.3150 to 0.3150"],
    "keep_in_zone": ["post0 is 0.0500 m outside keep-in zone cell", "more than 0.0000 m inside"],
    "self_collision": ["post0 / post1 are -0.0500 m apart", "more than 0.0000 m"],
    "world_collision": ["post0 / cup are -0.0500 m apart", "more than 0.0000 m"],
    "recovery_not_growing": ["post0 / cup are -0.0500 m apart"],
    "recovery_speed": ["j0 at step 0 is 2.0000 rad/s", "0.7875 rad/s"],
}


@pytest.mark.parametrize("code", REJECTIONS)
def test_explanation_of_every_code_gives_its_numbers(code):
    text = REJECTIONS[code]().explain()
    for words in WORDS[code]:
        assert words in text


LABELS = [
    '12" pan',
    "<img onerror=alert(1)>",
    "Käsereibe",
    "鍋",
    "back\\slash",
    "{brace}",
    "%s",
    "a`b",
    "x" * 256,
]


@pytest.mark.parametrize("label", LABELS)
def test_x22_name_of_an_obstacle_survives(label):
    violation = only_violation(
        check(gate_of(sliders(0.0)), [[0.0]], world=world_of(sphere((0.15, 0, 0), 0.1, label)))
    )
    assert violation.against == label
    assert lg.read_evidence(violation.evidence().model_dump_json()).link_b_or_object == label


@pytest.mark.parametrize("label", LABELS)
def test_x22_name_of_a_joint_link_effector_zone_and_attached_object_survives(label):
    manifest = sliders(0.0)
    manifest["joints"][0] |= {"name": label, "child_link": label}
    manifest["collision_geometry"][0]["link_name"] = label
    manifest["end_effectors"] = [{"name": label, "link": label}]
    zone = {"name": label, "shape": {"shape": "sphere", "radius_m": 0.1}, "pose": {"xyz": [5.0, 0.0, 0.0]}}
    manifest["safety"] = BOX | {"no_go_zones": [zone], "workspace_box_max_xyz": [9.0, 1.0, 1.0]}
    gate = gate_of(manifest | {"name": label}, step_s=1.0)
    assert (gate.joint_names, gate.link_names[1], gate.effector_names) == ((label,), label, (label,))
    names = [
        only_violation(check(gate, [[99.0]])).evidence().joint,
        only_violation(check(gate, [[-2.0]])).evidence().ee_name,
        only_violation(check(gate, [[5.0]])).evidence().link_a,
        only_violation(check(gate, [[5.0]])).evidence().link_b_or_object,
    ]
    gate.attach(
        label, lg.SphereShape(radius_m=0.1), object_id=label, origin_xyz_rpy=(0.0, 0.9, 0.0, 0.0, 0.0, 0.0)
    )
    held = check(gate, [[0.0]], world=world_of(sphere((0.0, 0.9, 0.0), 0.1, "cup")))
    names.append(only_violation(held).evidence().link_a)
    assert names == [label] * 5


@pytest.mark.parametrize("label", ["", " pan", "pan\n", "a\x00b", "x" * 257, "a\u202eb"])
def test_x22_name_that_no_report_could_carry_is_refused_when_it_is_given(label):
    with pytest.raises(ValueError, match="object_id"):
        sphere((0.15, 0.0, 0.0), 0.1, label)
    gate = gate_of(gripper_arm())
    with pytest.raises(lg.ROSConfigError, match="object_id"):
        gate.attach("hand", lg.SphereShape(radius_m=0.1), object_id=label)


def witness_gap_and_depth(obstacle_radius_m: float) -> tuple[float, float]:
    """Returns how far apart the witness points are and how far the pair is reported to be."""
    world = world_of(sphere((0.5, 0.4, 0.0), obstacle_radius_m, "cup"))
    evidence = only_violation(check(gate_of(arm_of_one_link()), [[0.9]], world=world)).evidence()
    assert 0.0 <= evidence.segment_t <= 1.0
    assert evidence.horizon_step == 0
    return float(np.linalg.norm(np.subtract(evidence.witness_a, evidence.witness_b))), evidence.min_distance_m


def test_witness_points_of_a_shallow_contact_are_as_far_apart_as_reported():
    # The obstacle's surface ends 4 cm above the arm's capsule axis, 1 cm inside its skin.
    world = world_of(sphere((0.6, 0.0, 0.14), 0.1, "cup"))
    violation = only_violation(check(gate_of(arm_of_one_link()), [[0.0]], world=world))
    gap = np.linalg.norm(np.subtract(violation.witness_a, violation.witness_b))
    assert gap == pytest.approx(abs(violation.value), abs=1e-9)


def test_witness_points_of_a_deep_contact_are_as_far_apart_as_reported():
    gap, depth = witness_gap_and_depth(0.1)
    assert gap == pytest.approx(abs(depth), abs=1e-9)


def test_age_of_the_state_counts_from_its_own_stamp():
    assert check(gate_of(stacked(3)), [[0.0] * 3], state=at(0.0, 0.0, 0.0, stamp_s=NOW_S - 0.1)).accepted
