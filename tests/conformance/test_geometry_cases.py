# SPDX-License-Identifier: Apache-2.0
"""Cases G01-G14 and G19-G22: frames, distances and resolved rows, seen through what a gate answers.

A post of `sliders` is the peer's Capsule(.1, .2): radius 0.1 m, half length 0.2 m, upright.
"""

import numpy as np
import pytest
from fixtures.analytic_robots import (
    allowed,
    arm_of_one_link,
    at,
    capsule_on,
    check,
    code_of,
    gate_of,
    joint,
    only_violation,
    planar_two_link,
    post,
    sliders,
    sphere,
    sphere_on,
    world_of,
)

import lastgate as lg
from lastgate.contracts import ControlMode

DELTA = ControlMode.CARTESIAN_DELTA


def just_below(truth_m: float) -> object:
    """A clearance is a bound from below; single-precision SIMD code costs it less than 0.3 mm at these extents."""
    return pytest.approx(truth_m - 1.5e-4, abs=1.5e-4)


def arm_with_origin(xyz: list[float], rpy: list[float]) -> dict:
    return arm_of_one_link(joints=[joint("shoulder", "base", "arm", origin_xyz=xyz, origin_rpy=rpy)])


def test_g01_origin_with_yaw_of_a_quarter_turn_places_the_link():
    pose = gate_of(arm_with_origin([1.0, 2.0, 3.0], [0.0, 0.0, np.pi / 2])).link_poses([0.0])["arm"]
    np.testing.assert_allclose(pose[:, 3], [1.0, 2.0, 3.0])
    np.testing.assert_allclose(pose[:, :3], [[0, -1, 0], [1, 0, 0], [0, 0, 1]], atol=1e-15)


def test_g02_origin_with_roll_of_a_quarter_turn_turns_y_to_z():
    pose = gate_of(arm_with_origin([0.0, 0.0, 0.0], [np.pi / 2, 0.0, 0.0])).link_poses([0.0])["arm"]
    np.testing.assert_allclose(pose[:, :3], [[1, 0, 0], [0, 0, -1], [0, 1, 0]], atol=1e-15)


def test_g01_g02_roll_pitch_and_yaw_are_applied_in_that_order_about_fixed_axes():
    roll, pitch, yaw = 0.3, -0.5, 1.1
    rx = np.array([[1, 0, 0], [0, np.cos(roll), -np.sin(roll)], [0, np.sin(roll), np.cos(roll)]])
    ry = np.array([[np.cos(pitch), 0, np.sin(pitch)], [0, 1, 0], [-np.sin(pitch), 0, np.cos(pitch)]])
    rz = np.array([[np.cos(yaw), -np.sin(yaw), 0], [np.sin(yaw), np.cos(yaw), 0], [0, 0, 1]])
    pose = gate_of(arm_with_origin([0.0, 0.0, 0.0], [roll, pitch, yaw])).link_poses([0.0])["arm"]
    np.testing.assert_allclose(pose[:, :3], rz @ ry @ rx, atol=1e-15)


def clearance_at_rest(gate: lg.Gate, world: object = lg.NO_WORLD) -> float:
    verdict = check(gate, [[0.0] * gate.n_dof], world=world)
    assert verdict.accepted, verdict.explain()
    return verdict.min_clearance_m


def test_g03_parallel_capsules_half_a_metre_apart_have_a_clearance_of_30_cm():
    assert just_below(0.30) == clearance_at_rest(gate_of(sliders(0.0, 0.5)))


def test_g04_parallel_capsules_15_cm_apart_overlap_by_5_cm():
    violation = only_violation(check(gate_of(sliders(0.0, 0.15)), [[0.0, 0.0]]))
    assert violation.code == "self_collision"
    assert violation.value == pytest.approx(-0.05, abs=1e-12)
    assert {violation.subject, violation.against} == {"post0", "post1"}


def test_g05_coaxial_capsules_a_metre_apart_have_a_clearance_of_40_cm():
    gate = gate_of(sliders(0.0))
    world = world_of(post((0.0, 0.0, 1.0), 0.1, 0.4))
    assert just_below(0.40) == clearance_at_rest(gate, world)


def test_g05_twin_coaxial_capsules_half_a_metre_apart_overlap():
    world = world_of(post((0.0, 0.0, 0.5), 0.1, 0.4))
    violation = only_violation(check(gate_of(sliders(0.0)), [[0.0]], world=world))
    assert violation.value == pytest.approx(-0.10, abs=1e-12)


def test_g06_joint_away_from_the_origin_turns_about_its_own_axis():
    pose = gate_of(arm_with_origin([1.0, 0.0, 0.0], [0.0, 0.0, 0.0])).link_poses([np.pi / 2])["arm"]
    np.testing.assert_allclose(pose[:, 3], [1.0, 0.0, 0.0], atol=1e-15)
    np.testing.assert_allclose(pose[:, 0], [0.0, 1.0, 0.0], atol=1e-15)


def test_g07_unexempted_pair_is_found_with_its_own_distance():
    gate = gate_of(sliders(0.0, 5.0, 0.05, pairs=[(0, 1), (1, 2)]))
    violation = only_violation(check(gate, [[0.0] * 3]))
    assert {violation.subject, violation.against} == {"post0", "post2"}
    assert violation.value == pytest.approx(-0.15, abs=1e-12)


def test_g08_allowed_pair_is_not_compared():
    """Ours differs: with every pair allowed the gate refuses to arm, so a far fourth post stays checked."""
    gate = gate_of(sliders(0.0, 5.0, 0.05, 9.0, pairs=[(0, 1), (1, 2), (0, 2)]))
    assert ("post0", "post2") not in gate.checked_pairs
    assert check(gate, [[0.0] * 4]).accepted


def test_g08_twin_robot_whose_pairs_are_all_allowed_cannot_be_armed():
    posts = sliders(0.0, 5.0, 0.05)
    claimed = [allowed(f"post{a}", f"post{b}", "srdf-disabled") for a, b in ((0, 1), (1, 2), (0, 2))]
    with pytest.raises(lg.ROSConfigError, match="all of its pairs are allowed"):
        gate_of(posts | {"allowed_collision_pairs": claimed})


def test_g09_posts_a_metre_apart_are_accepted_with_80_cm():
    gate = gate_of(sliders(0.0, 5.0, 1.0, pairs=[(0, 1), (1, 2)]))
    assert just_below(0.8) == clearance_at_rest(gate)


def test_g10_posts_a_metre_apart_are_rejected_under_a_margin_of_a_metre():
    manifest = sliders(0.0, 5.0, 1.0, pairs=[(0, 1), (1, 2)], safety={"self_collision_margin_m": 1.0})
    violation = only_violation(check(gate_of(manifest), [[0.0] * 3]))
    assert {violation.subject, violation.against} == {"post0", "post2"}
    assert (violation.value, violation.limit_min) == (pytest.approx(0.8), 1.0)
    assert violation.evidence().margin_m == 1.0


def test_g11_second_volume_of_a_link_counts_and_volumes_of_one_link_are_never_paired():
    manifest = sliders(0.0, 0.0)
    manifest["collision_geometry"] = [
        capsule_on("post0", 0.1, 0.4, (5.0, 0.0, 0.0)),
        capsule_on("post0", 0.1, 0.4, (0.05, 0.0, 0.0)),
        capsule_on("post1", 0.1, 0.4, (0.0, 0.0, 0.0)),
    ]
    gate = gate_of(manifest)
    assert gate.checked_pairs == (("post0", "post1"),)
    violation = only_violation(check(gate, [[0.0, 0.0]]))
    assert violation.value == pytest.approx(-0.15, abs=1e-12)


def test_g11_twin_overlapping_volumes_of_one_link_are_accepted():
    manifest = sliders(0.0)
    manifest["collision_geometry"] = [sphere_on("post0", 0.1), sphere_on("post0", 0.1, (0.05, 0.0, 0.0))]
    assert check(gate_of(manifest), [[0.0]]).accepted


def test_g12_obstacle_15_cm_away_is_a_contact_of_5_cm():
    world = world_of(post((0.15, 0.0, 0.0), 0.1, 0.4, "obstacle"))
    violation = only_violation(check(gate_of(sliders(0.0)), [[0.0]], world=world))
    assert (violation.code, violation.subject, violation.against) == ("world_collision", "post0", "obstacle")
    assert violation.value == pytest.approx(-0.05, abs=1e-12)


def test_g13_obstacle_a_metre_away_is_clear_and_within_a_margin_of_a_metre_it_is_not():
    world = world_of(post((1.0, 0.0, 0.0), 0.1, 0.4))
    assert just_below(0.8) == clearance_at_rest(gate_of(sliders(0.0)), world)
    strict = gate_of(sliders(0.0, safety={"world_collision_margin_m": 1.0}))
    violation = only_violation(check(strict, [[0.0]], world=world))
    assert (violation.code, violation.against) == ("world_collision", "world_0")


def test_g14_empty_world_is_accepted_and_is_not_the_same_as_no_world():
    gate = gate_of(sliders(0.0))
    empty = check(gate, [[0.0]], world=world_of())
    assert empty.accepted
    assert not empty.unchecked & lg.Unchecked.WORLD
    assert check(gate, [[0.0]], world=lg.NO_WORLD).unchecked & lg.Unchecked.WORLD


def tool_xy(gate: lg.Gate, row: np.ndarray) -> np.ndarray:
    pose = gate.link_poses(np.array(row))["forearm"]
    return pose[:2, 3] + pose[:2, 0]


def test_g19_step_across_a_stretched_arm_is_resolved():
    gate = gate_of(planar_two_link())
    verdict = check(gate, [[0.0, 0.01, 0.0, 0.0, 0.0, 0.0]], DELTA)
    assert verdict.accepted
    np.testing.assert_allclose(tool_xy(gate, verdict.joint_rows[0]), [2.0, 0.01], atol=1e-3)


@pytest.mark.parametrize("labels", [{"ee_name": "foot"}, {"frame_id": "map"}])
def test_g20_unknown_end_effector_or_frame_is_rejected(labels):
    verdict = check(gate_of(planar_two_link()), [[0.0] * 6], DELTA, **labels)
    assert code_of(verdict) == "cartesian_frame"
    with pytest.raises(lg.RejectedChunkError):
        _ = verdict.joint_rows


@pytest.mark.parametrize("labels", [{"ee_name": "hand"}, {"frame_id": "base"}, {"frame_id": "hand"}])
def test_g20_twin_known_end_effector_and_frame_are_accepted(labels):
    assert check(gate_of(planar_two_link()), [[0.0] * 6], DELTA, **labels).accepted


def two_handed() -> dict:
    """A planar 2R with a second hand that looks the other way."""
    manifest = planar_two_link()
    back = {"name": "back", "link": "forearm", "tool_xyz_rpy": [1.0, 0.0, 0.0, 0.0, 0.0, np.pi]}
    return manifest | {"end_effectors": [*manifest["end_effectors"], back]}


def test_g20_rows_in_the_axes_of_another_effector_are_rejected():
    gate = gate_of(two_handed())
    row = [[0.0, 0.01, 0.0, 0.0, 0.0, 0.0]]
    bent = at(0.3, 1.0)
    assert code_of(check(gate, row, DELTA, state=bent, ee_name="hand", frame_id="back")) == "cartesian_frame"
    assert code_of(check(gate, row, DELTA, state=bent, frame_id="hand")) == "cartesian_frame"


def test_g20_twin_rows_in_the_axes_of_their_own_effector_move_along_them():
    gate = gate_of(two_handed())
    bent = at(0.3, 1.0)
    start = tool_xy(gate, np.array([0.3, 1.0]))
    across = np.array([-np.sin(1.3), np.cos(1.3)])
    for name, sign in (("hand", 1.0), ("back", -1.0)):
        row = [[0.0, 0.01, 0.0, 0.0, 0.0, 0.0]]
        verdict = check(gate, row, DELTA, state=bent, ee_name=name, frame_id=name)
        moved = tool_xy(gate, verdict.joint_rows[0]) - start
        np.testing.assert_allclose(moved, sign * 0.01 * across, atol=1e-3)


def test_g21_joint_that_rows_do_not_command_is_not_used_to_follow_a_pose():
    manifest = planar_two_link()
    finger = {"name": "shoulder", "position_closed": 0.0, "position_open": 1.0}
    manifest["end_effectors"][0]["gripper"] = {"channel_closed": 0.0, "channel_open": 1.0, "joints": [finger]}
    gate = gate_of(manifest)
    state = at(0.3, gripper_positions=[0.0])
    along_arc = [-0.005 * np.sin(0.3), 0.005 * np.cos(0.3), 0.0, 0.0, 0.0, 0.005]
    verdict = check(gate, [along_arc], DELTA, state=state)
    assert verdict.accepted
    assert gate.joint_names == ("elbow",)
    assert verdict.joint_rows[0, 0] == pytest.approx(0.305, abs=1e-3)


def test_g21_twin_with_the_other_joint_free_both_move():
    verdict = check(gate_of(planar_two_link()), [[0.0, 0.005, 0.0, 0.0, 0.0, 0.0]], DELTA, state=at(0.0, 0.3))
    assert np.all(np.abs(verdict.joint_rows[0] - [0.0, 0.3]) > 1e-4)


def test_g22_step_beyond_a_stretched_arm_is_rejected_with_what_remains():
    """Ours differs: the peer predicts a small motion, here a row that cannot be followed is rejected."""
    violation = only_violation(check(gate_of(planar_two_link()), [[0.05, 0.0, 0.0, 0.0, 0.0, 0.0]], DELTA))
    assert violation.code == "cartesian_unreachable"
    assert violation.value == pytest.approx(0.05, abs=1e-3)


def test_g22_twin_step_back_from_a_bent_arm_is_finite_and_small():
    verdict = check(
        gate_of(planar_two_link()), [[-0.05, 0.0, 0.0, 0.0, 0.0, 0.0]], DELTA, state=at(-0.5, 1.0)
    )
    assert verdict.accepted
    assert np.all(np.abs(verdict.joint_rows[0] - [-0.5, 1.0]) < 1.0)


def test_witness_points_lie_on_the_two_shapes_and_are_as_far_apart_as_reported():
    manifest = sliders(0.0, safety={"world_collision_margin_m": 0.2})
    violation = only_violation(
        check(gate_of(manifest), [[0.0]], world=world_of(sphere((0.3, 0.0, 0.0), 0.1)))
    )
    np.testing.assert_allclose(violation.witness_a, [0.1, 0.0, 0.0], atol=1e-12)
    np.testing.assert_allclose(violation.witness_b, [0.2, 0.0, 0.0], atol=1e-12)
    assert violation.value == pytest.approx(0.1)


def test_one_moving_part_with_only_its_neighbour_can_be_armed():
    manifest = arm_of_one_link(allowed_collision_pairs=[allowed("base", "arm")])
    manifest["collision_geometry"] = [*manifest["collision_geometry"], sphere_on("base", 0.1)]
    gate = gate_of(manifest)
    assert gate.checked_pairs == ()
    assert check(gate, [[0.1]]).accepted
