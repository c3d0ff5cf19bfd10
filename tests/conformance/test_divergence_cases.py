# SPDX-License-Identifier: Apache-2.0
"""Cases X01-X29 that concern the gate: what the nearest peer gets wrong, each with the case next to it.

X10-X13 and X16 are in `test_world_cases.py`, X20 in `test_recovery.py`, X22 and X23 in `test_evidence.py` and
`test_state_and_world.py`.
"""

import time

import numpy as np
import pytest
from fixtures.analytic_robots import (
    arm_of_one_link,
    at,
    check,
    code_of,
    gate_of,
    gripper_arm,
    joint,
    only_violation,
    planar_two_link,
    post,
    sliders,
    sphere,
    sphere_on,
    stacked,
    wall_beyond_x,
    world_of,
)
from pydantic import ValidationError

import lastgate as lg
from lastgate import _core
from lastgate.contracts import ControlMode, FailureKind

POLE = post((0.6 * np.cos(0.3), 0.6 * np.sin(0.3), 0.0), 0.03, 1.0, "pole")


@pytest.fixture(scope="module")
def panda() -> lg.Gate:
    return lg.Gate(lg.load_robot("franka_panda"), step_s=0.2)


READY = (0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785)


def test_x01_pole_between_two_steps_is_rejected_where_it_stands():
    verdict = check(gate_of(arm_of_one_link()), [[0.0], [0.6]], world=world_of(POLE))
    violation = only_violation(verdict)
    assert (violation.code, violation.collision_kind) == ("world_collision", "world")
    assert (violation.subject, violation.against, violation.step) == ("arm", "pole", 1)
    # The arm touches the pole while |q - 0.3| <= asin(0.08 / 0.6).
    first = (0.3 - np.arcsin(0.08 / 0.6)) / 0.6
    assert violation.first_contact_t <= first + 1e-9
    assert first - 1e-3 <= violation.first_contact_t
    assert 0.27 <= violation.segment_t <= 0.73
    assert violation.value < 0.0
    assert verdict.certified_rows == 1


def test_x01_twin_rows_that_stop_before_the_pole_are_accepted():
    assert check(gate_of(arm_of_one_link()), [[0.0], [0.16]], world=world_of(POLE)).accepted


def test_x02_pole_between_the_measured_state_and_row_0_is_rejected():
    violation = only_violation(check(gate_of(arm_of_one_link()), [[0.6]], world=world_of(POLE)))
    assert (violation.code, violation.against, violation.step) == ("world_collision", "pole", 0)


def test_x02_twin_the_same_row_measured_on_the_far_side_is_accepted():
    assert check(gate_of(arm_of_one_link()), [[0.6]], state=at(0.5), world=world_of(POLE)).accepted


def test_x03_jump_between_steps_is_rejected_by_its_speed():
    gate = gate_of(stacked(3, safety={}, position_limits=[-3.0, 3.0]), step_s=0.033)
    violation = only_violation(check(gate, [[-3.0, 0.0, 0.0], [3.0, 0.0, 0.0]], state=at(-3.0, 0.0, 0.0)))
    assert (violation.code, violation.subject, violation.step) == ("joint_velocity_limit", "j0", 1)
    assert violation.value == pytest.approx(6.0 / 0.033)


def test_x03_twin_the_same_way_in_small_steps_is_accepted():
    gate = gate_of(stacked(3, safety={}, position_limits=[-3.0, 3.0]), step_s=0.033)
    rows = np.zeros((60, 3))
    rows[:, 0] = np.linspace(-3.0, 3.0, 61)[1:]
    assert check(gate, rows, state=at(-3.0, 0.0, 0.0)).accepted


def test_x04_fast_second_twist_row_is_rejected_as_row_1():
    rows = [[0.0] * 6, [9.0, 0.0, 0.0, 0.0, 0.0, 0.0]]
    violation = only_violation(check(gate_of(stacked(7)), rows, ControlMode.CARTESIAN_TWIST))
    assert (violation.code, violation.kind, violation.step) == ("ee_speed", FailureKind.FORCE, 1)
    assert violation.value == 9.0


def test_x04_twin_two_resting_twist_rows_are_accepted():
    assert check(gate_of(stacked(7)), np.zeros((2, 6)), ControlMode.CARTESIAN_TWIST).accepted


def test_x05_twist_rows_narrower_than_the_robot_are_read_by_their_own_width():
    rows = np.zeros((4, 6))
    assert check(gate_of(stacked(14)), rows, ControlMode.CARTESIAN_TWIST).accepted
    rows[3, 5] = 50.0
    violation = only_violation(check(gate_of(stacked(14)), rows, ControlMode.CARTESIAN_TWIST))
    assert (violation.code, violation.step) == ("ee_angular_speed", 3)


def six_joint_arm() -> dict:
    manifest = stacked(6)
    for index, axis in enumerate(([1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0])):
        manifest["joints"][index] |= {"joint_type": "prismatic", "axis_xyz": axis}
    return manifest


def test_x06_pose_rows_wider_than_the_robot_are_accepted_inside_the_box():
    row = [0.0, 0.0, 0.0, 1.0, 0.06, 0.01, 0.18]
    assert check(gate_of(six_joint_arm()), [row], ControlMode.CARTESIAN_POSE).accepted


def test_x06_twin_pose_outside_the_box_is_rejected():
    row = [0.0, 0.0, 0.0, 1.0, 0.06, 0.01, -0.18]
    assert code_of(check(gate_of(six_joint_arm()), [row], ControlMode.CARTESIAN_POSE)) == "workspace_box"


def test_x07_trajectory_rows_have_position_limits():
    violation = only_violation(check(gate_of(stacked(3)), [[0.0, 100.0, 0.0]], ControlMode.JOINT_TRAJECTORY))
    assert (violation.code, violation.kind) == ("joint_position_limit", FailureKind.WORKSPACE)
    assert (violation.subject, violation.value) == ("j1", 100.0)


def test_x07_twin_trajectory_rows_inside_the_limits_are_accepted():
    assert check(gate_of(stacked(3)), [[0.0, 0.1, 0.0]], ControlMode.JOINT_TRAJECTORY).accepted


OUT_OF_BOUNDS = [
    (ControlMode.CARTESIAN_DELTA, [5.0, 0.0, 0.0, 0.0, 0.0, 0.0], "cartesian_step"),
    (ControlMode.CARTESIAN_DELTA, [0.0, 0.0, 0.0, 0.0, 0.0, 5.0], "cartesian_rotation_step"),
    (ControlMode.BODY_TWIST, [5.0, 0.0, 0.0, 0.0, 0.0, 0.0], "base_linear_speed"),
    (ControlMode.GRIPPER_POSITION, [-999.0], "gripper_range"),
    (ControlMode.CARTESIAN_TWIST, [0.0, 0.0, 0.0, 0.0, 0.0, 50.0], "ee_angular_speed"),
]


@pytest.mark.parametrize(("mode", "row", "code"), OUT_OF_BOUNDS)
def test_x08_row_out_of_bounds_is_rejected_in_every_mode(mode, row, code):
    assert code_of(check(gate_of(stacked(7)), [row], mode)) == code


@pytest.mark.parametrize(("mode", "row", "code"), OUT_OF_BOUNDS)
def test_x08_without_the_bounds_the_mode_is_not_enabled(mode, row, code):
    assert code_of(check(gate_of(stacked(7, safety={})), [row], mode)) == "control_mode"


@pytest.mark.parametrize("mode", sorted({mode for mode, _, _ in OUT_OF_BOUNDS}))
def test_x08_twin_zero_row_is_accepted_in_the_same_modes(mode):
    width = mode.row_width(7)
    assert check(gate_of(stacked(7)), np.zeros((1, width)), mode).accepted


@pytest.mark.parametrize("poison", [np.nan, np.inf, -np.inf])
def test_x09_measured_state_that_is_not_finite_is_rejected(poison):
    violation = only_violation(check(gate_of(stacked(3)), [[0.0] * 3], state=at(0.0, poison, 0.0)))
    assert (violation.code, violation.subject) == ("state_unavailable", "j1")


@pytest.mark.parametrize("radius", [np.nan, -5.0, 0.0, np.inf])
def test_x09_obstacle_without_a_usable_radius_is_refused(radius):
    with pytest.raises(ValueError, match="radius_m"):
        sphere((1.0, 0.0, 0.0), radius)


@pytest.mark.parametrize("radius", [np.nan, -5.0, 0.0, np.inf])
def test_x09_obstacle_that_reaches_the_core_without_a_usable_radius_spoils_the_world(radius):
    kinds, pose = np.zeros(2, dtype=np.uint8), [9.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0]
    sizes = np.array([[0.1, 0.0, 0.0], [radius, 0.0, 0.0]])
    snapshot = _core.WorldSnapshot(
        kinds, sizes, np.array([pose, pose]), id=1, stamp_s=0.0, in_base_frame=True
    )
    assert not snapshot.usable


def test_x09_twin_obstacle_with_a_radius_is_usable():
    kinds, pose = np.zeros(1, dtype=np.uint8), [9.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0]
    sizes = np.array([[0.1, 0.0, 0.0]])
    assert _core.WorldSnapshot(kinds, sizes, np.array([pose]), id=1, stamp_s=0.0, in_base_frame=True).usable


@pytest.mark.parametrize("field", ["self_collision_margin_m", "world_collision_margin_m"])
@pytest.mark.parametrize("value", [np.nan, np.inf, -0.1])
def test_x09_margin_that_is_not_a_length_is_refused(field, value):
    with pytest.raises(ValueError, match=field):
        gate_of(stacked(3, safety={field: value}))


@pytest.mark.parametrize("limits", [[np.nan, 1.0], [-1.0, np.nan], [-1.0, np.inf], [1.0, -1.0], [1.0, 1.0]])
def test_x09_limit_that_is_not_a_range_is_refused_naming_the_joint(limits):
    manifest = stacked(3)
    manifest["joints"][1]["position_limits"] = limits
    with pytest.raises(ValueError, match=r"joint `j1`.*position_limits"):
        gate_of(manifest)


def elbow_behind_a_flange() -> dict:
    """The planar 2R with a fixed joint between its two moving ones."""
    manifest = planar_two_link()
    shoulder, elbow = manifest["joints"]
    flange = {"name": "flange", "joint_type": "fixed", "parent_link": "upper_arm", "child_link": "plate"}
    flange["origin_xyz"] = [1.0, 0.0, 0.0]
    elbow = elbow | {"parent_link": "plate", "origin_xyz": [0.0, 0.0, 0.0]}
    waiver = {"link": "plate", "reason": "a plate without thickness"}
    return manifest | {"joints": [shoulder, flange, elbow], "coverage_waivers": [waiver]}


def test_x14_fixed_joint_between_moving_ones_leaves_the_columns_where_they_belong():
    plain, with_flange = gate_of(planar_two_link()), gate_of(elbow_behind_a_flange())
    assert with_flange.joint_names == ("shoulder", "elbow")
    for row in ([0.4, -0.9], [-1.2, 2.0]):
        expected = plain.link_poses(row)["forearm"]
        np.testing.assert_allclose(with_flange.link_poses(row)["forearm"], expected, atol=1e-12)


@pytest.mark.parametrize(("angle", "outcome"), [(0.9, "accepted"), (1.5, "world_collision")])
def test_x14_geometry_behind_a_fixed_joint_is_checked(angle, outcome):
    above_elbow = world_of(sphere((1.0, 0.75, 0.0), 0.15, "lamp"))
    verdict = check(gate_of(elbow_behind_a_flange()), [[0.0, angle]], state=at(0.0, 0.6), world=above_elbow)
    assert code_of(verdict) == outcome


def test_x15_hand_that_is_not_connected_is_refused_naming_both_roots():
    manifest = planar_two_link()
    manifest["joints"] = [*manifest["joints"], joint("wrist", "flange", "hand")]
    with pytest.raises(ValueError, match="2 roots, `base` and `flange`"):
        lg.RobotDescription(**manifest)


def test_x15_twin_hand_that_is_connected_is_accepted():
    manifest = planar_two_link()
    manifest["joints"] = [*manifest["joints"], joint("wrist", "forearm", "hand", origin_xyz=[1.0, 0.0, 0.0])]
    manifest["collision_geometry"] = [*manifest["collision_geometry"], sphere_on("hand", 0.05)]
    assert gate_of(manifest).n_dof == 3


@pytest.mark.parametrize(("obstacle_y", "outcome"), [(0.25, "accepted"), (0.19, "world_collision")])
def test_x17_gripper_channel_of_one_moves_the_finger_4_cm(obstacle_y, outcome):
    world = world_of(sphere((0.0, obstacle_y, 0.0), 0.05))
    assert (
        code_of(check(gate_of(gripper_arm()), [[1.0]], ControlMode.GRIPPER_POSITION, world=world)) == outcome
    )


def test_x17_half_open_channel_moves_the_finger_2_cm():
    # The finger ends at y = 0.1 + 0.02, its sphere at 0.13; the obstacle begins at 0.135.
    world = world_of(sphere((0.0, 0.185, 0.0), 0.05))
    gate = gate_of(gripper_arm())
    assert check(gate, [[0.5]], ControlMode.GRIPPER_POSITION, world=world).accepted
    assert code_of(check(gate, [[0.7]], ControlMode.GRIPPER_POSITION, world=world)) == "world_collision"


def test_x17_gripper_commanded_beyond_its_joint_is_rejected():
    # A range that would send the finger beyond its joint is refused with the manifest, so no command gets there.
    with pytest.raises(
        ValidationError, match=r"`finger_joint` would be sent to 0\.0800 by the command 2\.0000"
    ):
        lg.RobotDescription(**gripper_arm(safety={"gripper_min": 0.0, "gripper_max": 2.0}))
    gate = gate_of(gripper_arm(safety={"gripper_min": 0.0, "gripper_max": 1.0}))
    assert check(gate, [[1.0]], ControlMode.GRIPPER_POSITION).accepted
    assert not check(gate, [[1.01]], ControlMode.GRIPPER_POSITION).accepted


def test_x18_six_steps_along_the_tool_axis_move_the_tool_30_cm(panda):
    along_tool = np.zeros((6, 6))
    along_tool[:, 2] = -0.05
    state = at(*READY, gripper_positions=[0.0])
    verdict = check(panda, along_tool, ControlMode.CARTESIAN_DELTA, state=state, frame_id="panda_hand")
    assert verdict.accepted, verdict.explain()
    start, end = (panda.link_poses(list(row))["panda_hand"] for row in (READY, verdict.joint_rows[-1]))
    moved = end[:, 3] - start[:, 3]
    np.testing.assert_allclose(start[:, :3].T @ moved, [0.0, 0.0, -0.3], atol=0.005)


def test_x18_twin_obstacle_25_cm_along_the_tool_axis_is_hit(panda):
    down = np.zeros((6, 6))
    down[:, 2] = 0.05
    state = at(*READY, gripper_positions=[0.0])
    hand = panda.link_poses(list(READY))["panda_hand"]
    x, y, z = hand[:, 3] + 0.33 * hand[:, 2]
    world = world_of(sphere((x, y, z), 0.02, "nail"))
    verdict = check(panda, down, ControlMode.CARTESIAN_DELTA, state=state, world=world, frame_id="panda_hand")
    assert only_violation(verdict).against == "nail"


NORMALISED = (-0.97, -0.28, -0.27, 0.0, -0.34, -0.10)


def test_x19_normalised_row_is_rejected_as_a_jump_not_as_a_contact():
    """Ours differs: rows are radians by contract; a row in other units is caught by the speed it asks for."""
    gate = gate_of(stacked(6, safety={}), step_s=0.02)
    violation = only_violation(check(gate, [list(NORMALISED)]))
    assert (violation.code, violation.subject) == ("joint_velocity_limit", "j0")


def test_x19_twin_the_same_row_reached_in_steps_is_accepted():
    gate = gate_of(stacked(6, safety={}), step_s=0.02)
    rows = np.linspace(np.zeros(6), NORMALISED, 20)[1:]
    assert check(gate, rows).accepted


def test_x21_resting_delta_rows_near_an_obstacle_are_accepted():
    gate = gate_of(planar_two_link(), step_s=0.05)
    near = world_of(sphere((0.5, 0.25, 0.0), 0.05, "cup"))
    verdict = check(gate, np.zeros((16, 6)), ControlMode.CARTESIAN_DELTA, world=near)
    assert verdict.accepted
    # A bound from below; the single-precision SIMD code keeps it within a tenth of a millimetre of the truth.
    assert 0.15 - 1e-4 <= verdict.min_clearance_m <= 0.15


def test_x21_twin_resting_delta_rows_in_contact_are_rejected():
    gate = gate_of(planar_two_link(), step_s=0.05)
    touching = world_of(sphere((0.5, 0.09, 0.0), 0.05, "cup"))
    verdict = check(gate, np.zeros((16, 6)), ControlMode.CARTESIAN_DELTA, world=touching)
    assert code_of(verdict) == "world_collision"


def test_x24_horizon_of_65535_is_rejected_at_once(panda):
    rows = np.tile(READY, (65535, 1))
    started = time.perf_counter()
    verdict = check(panda, rows, state=at(*READY))
    assert time.perf_counter() - started < 0.1
    violation = only_violation(verdict)
    assert (violation.code, violation.value) == ("dim_mismatch", 65535.0)
    assert verdict.evaluations == 0


def test_x24_twin_horizon_at_the_capacity_is_accepted(panda):
    assert check(panda, np.tile(READY, (_core.ROWS_MAX, 1)), state=at(*READY)).accepted


def test_x24_check_that_cannot_end_in_its_budget_is_rejected_with_the_budget():
    gate = gate_of(sliders(0.0, 0.2001), evaluations_max=_core.ROWS_MAX + 1)
    rows = np.tile([[5.0, 5.0], [-5.0, -5.0]], (100, 1))
    violation = only_violation(check(gate, rows, world=world_of(wall_beyond_x(5.5))))
    assert (violation.code, violation.limit) == ("budget_exceeded", _core.ROWS_MAX + 1.0)


@pytest.mark.parametrize(
    ("centre", "outcome"),
    [
        ((0.0, 0.25, 0.0), "accepted"),
        ((0.0, 0.19, 0.0), "world_collision"),
        ((0.3, 0.12, 0.0), "world_collision"),
    ],
)
def test_x29_every_volume_of_a_link_counts(centre, outcome):
    """Ours differs: the lowering covers boxes on links with capsules; here all volumes of a link count."""
    manifest = sliders(0.0)
    manifest["collision_geometry"] = [sphere_on("post0", 0.1), sphere_on("post0", 0.05, (0.3, 0.0, 0.0))]
    assert code_of(check(gate_of(manifest), [[0.0]], world=world_of(sphere(centre, 0.1)))) == outcome


def test_x29_box_on_a_link_is_refused_naming_the_link():
    manifest = sliders(0.0)
    box = {"shape": "box", "size_xyz_m": [0.1, 0.1, 0.1]}
    manifest["collision_geometry"] = [{"link_name": "post0", "shape": box}]
    with pytest.raises(ValueError, match=r"link `post0`.*'box'"):
        lg.RobotDescription(**manifest)
