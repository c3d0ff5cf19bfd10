# SPDX-License-Identifier: Apache-2.0
"""X20: a robot that is measured in contact may leave it, slowly, if every violated distance grows."""

import numpy as np
import pytest
from fixtures.analytic_robots import (
    at,
    check,
    code_of,
    gate_of,
    gripper_arm,
    joint,
    only_violation,
    sliders,
    sphere,
    sphere_on,
    stacked,
    wall_beyond_x,
    world_of,
)

import lastgate as lg
from lastgate.contracts import ControlMode, FailureKind

# A post of radius 0.1 at x = 0 and a sphere of radius 0.1 at x = 0.15: 5 cm deep. The way out is -x.
CUP = sphere((0.15, 0.0, 0.0), 0.1, "cup")
STEP_S = 0.1
SPEED_M_S = 1.0
QUARTER_STEP_M = 0.25 * SPEED_M_S * STEP_S


@pytest.fixture(scope="module")
def gate() -> lg.Gate:
    manifest = sliders(0.0)
    manifest["joints"][0] |= {"velocity_limit": SPEED_M_S, "effort_limit": 10.0}
    return gate_of(manifest, step_s=STEP_S)


def way_out(count: int, step_m: float = QUARTER_STEP_M) -> list[list[float]]:
    return [[-step_m * (index + 1)] for index in range(count)]


def test_x20_motion_apart_at_a_quarter_of_the_speed_is_accepted(gate):
    verdict = check(gate, way_out(4), world=world_of(CUP), recovery=True)
    assert verdict.accepted, verdict.explain()
    assert verdict.recovery


def test_x20_motion_apart_without_asking_for_recovery_is_rejected(gate):
    verdict = check(gate, way_out(4), world=world_of(CUP))
    assert code_of(verdict) == "world_collision"
    assert not verdict.recovery


def test_x20_motion_apart_that_is_faster_is_rejected(gate):
    violation = only_violation(
        check(gate, way_out(2, QUARTER_STEP_M * 1.01), world=world_of(CUP), recovery=True)
    )
    assert (violation.code, violation.kind) == ("recovery_speed", FailureKind.WORKSPACE)
    assert (violation.subject, violation.unit) == ("slide0", "m/s")
    assert abs(violation.limit) == pytest.approx(0.25 * SPEED_M_S)
    assert violation.evidence().quantity == "velocity"


@pytest.mark.parametrize("step_m", [QUARTER_STEP_M, 0.001, 0.0002])
def test_x20_motion_deeper_is_rejected(gate, step_m):
    verdict = check(gate, way_out(2, -step_m), world=world_of(CUP), recovery=True)
    assert code_of(verdict) in ("world_collision", "recovery_not_growing")
    assert not verdict.recovery


@pytest.mark.parametrize("count", [1, 3])
def test_x20_standing_still_in_contact_is_not_a_retreat(gate, count):
    violation = only_violation(check(gate, np.zeros((count, 1)), world=world_of(CUP), recovery=True))
    assert (violation.code, violation.kind) == ("recovery_not_growing", FailureKind.COLLISION)
    assert (violation.subject, violation.against) == ("post0", "cup")
    evidence = violation.evidence()
    assert (evidence.kind, evidence.collision_kind, evidence.link_b_or_object) == (
        "collision",
        "world",
        "cup",
    )
    assert evidence.min_distance_m == pytest.approx(-0.05)


def test_x20_retreat_that_turns_back_is_rejected(gate):
    rows = [[-0.02], [-0.01], [-0.02]]
    verdict = check(gate, rows, world=world_of(CUP), recovery=True)
    assert code_of(verdict) == "recovery_not_growing"
    assert only_violation(verdict).step == 1
    assert verdict.certified_rows == 0


def test_x20_retreat_that_ends_nearer_than_it_began_is_rejected(gate):
    verdict = check(gate, [[-0.02], [-0.04], [-0.02], [0.0]], world=world_of(CUP), recovery=True)
    assert code_of(verdict) == "recovery_not_growing"


def test_x20_retreat_may_move_freely_once_it_is_clear(gate):
    rows = [*way_out(4), [-0.09], [-0.08]]
    assert check(gate, rows, world=world_of(CUP), recovery=True).accepted


def test_x20_new_contact_during_recovery_is_rejected(gate):
    behind = sphere((-0.26, 0.0, 0.0), 0.1, "shelf")
    violation = only_violation(check(gate, way_out(4), world=world_of(CUP, behind), recovery=True))
    assert (violation.code, violation.against) == ("world_collision", "shelf")


def test_x20_wedged_between_two_things_no_motion_leads_out_of_both(gate):
    behind = sphere((-0.15, 0.0, 0.0), 0.1, "shelf")
    for rows in (way_out(2), way_out(2, -QUARTER_STEP_M)):
        verdict = check(gate, rows, world=world_of(CUP, behind), recovery=True)
        assert code_of(verdict) in ("world_collision", "recovery_not_growing")


def test_x20_no_go_zone_gets_no_exemption():
    zone = {"name": "door", "shape": {"shape": "sphere", "radius_m": 0.1}, "pose": {"xyz": [0.15, 0.0, 0.0]}}
    gate = gate_of(sliders(0.0, safety={"no_go_zones": [zone]}))
    violation = only_violation(check(gate, way_out(4), world=world_of(), recovery=True))
    assert (violation.code, violation.against) == ("world_collision", "door")


def test_x20_start_inside_a_margin_may_be_left():
    manifest = sliders(0.0, safety={"world_collision_margin_m": 0.1})
    manifest["joints"][0] |= {"velocity_limit": SPEED_M_S}
    gate = gate_of(manifest)
    near = world_of(sphere((0.25, 0.0, 0.0), 0.1))
    assert code_of(check(gate, way_out(1), world=near)) == "world_collision"
    assert check(gate, way_out(1), world=near, recovery=True).recovery
    assert code_of(check(gate, way_out(1, -QUARTER_STEP_M), world=near, recovery=True)) != "accepted"


def test_x20_self_contact_may_be_left_and_not_deepened():
    manifest = sliders(0.0, 0.15)
    for slide in manifest["joints"]:
        slide |= {"velocity_limit": SPEED_M_S}
    gate = gate_of(manifest)
    apart, deeper = [[0.0, 0.025], [0.0, 0.05]], [[0.0, -0.025]]
    assert check(gate, apart, recovery=True).recovery
    verdict = check(gate, deeper, recovery=True)
    assert code_of(verdict) in ("self_collision", "recovery_not_growing")
    assert only_violation(verdict).collision_kind == "self"
    assert code_of(check(gate, apart)) == "self_collision"


def test_x20_joint_far_beyond_its_limit_may_come_back_in_recovery_only():
    gate = gate_of(stacked(3, safety={}))
    beyond, back = at(1.05, 0.0, 0.0), [[1.0, 0.0, 0.0]]
    assert code_of(check(gate, back, state=beyond)) == "joint_position_limit"
    assert check(gate, back, state=beyond, recovery=True).accepted
    assert code_of(check(gate, back, state=at(1.11, 0.0, 0.0), recovery=True)) == "joint_position_limit"


def test_recovery_without_a_contact_changes_only_the_speed(gate):
    free = world_of(sphere((5.0, 0.0, 0.0), 0.1))
    verdict = check(gate, way_out(2), world=free, recovery=True)
    assert verdict.accepted
    assert not verdict.recovery
    assert code_of(check(gate, way_out(1, SPEED_M_S * STEP_S), world=free, recovery=True)) == "recovery_speed"
    assert check(gate, way_out(1, SPEED_M_S * STEP_S), world=free).accepted


def test_recovery_with_velocities_has_the_same_speed(gate):
    fast, slow = [[-0.26]], [[-0.25]]
    assert check(gate, slow, ControlMode.JOINT_VELOCITY, world=world_of(CUP), recovery=True).recovery
    assert (
        code_of(check(gate, fast, ControlMode.JOINT_VELOCITY, world=world_of(CUP), recovery=True))
        == "recovery_speed"
    )


def test_recovery_with_torques_is_rejected_because_they_have_no_direction():
    manifest = sliders(0.0)
    # So slow that the whole reachable set lies within the resolution of the sweep.
    manifest["joints"][0] |= {"velocity_limit": 1e-4, "effort_limit": 10.0}
    gate = gate_of(manifest)
    verdict = check(gate, [[0.0]], ControlMode.JOINT_TORQUE, world=world_of(CUP), recovery=True)
    assert code_of(verdict) in ("world_collision", "recovery_not_growing")
    assert check(gate, [[0.0]], ControlMode.JOINT_TORQUE, world=world_of(), recovery=True).accepted


BASE = {"max_base_linear_speed_m_s": 1.0, "max_base_angular_speed_rad_s": 1.0}


@pytest.mark.parametrize(
    ("speed", "outcome"), [(-0.25, "accepted"), (-0.26, "recovery_speed"), (0.25, "world_collision")]
)
def test_recovery_with_the_base_has_a_quarter_of_its_speed(speed, outcome):
    gate = gate_of(sliders(0.0, safety=BASE))
    row = [[speed, 0.0, 0.0, 0.0, 0.0, 0.0]]
    verdict = check(gate, row, ControlMode.BODY_TWIST, world=world_of(CUP), recovery=True)
    assert code_of(verdict) == outcome
    assert verdict.recovery == (outcome == "accepted")


@pytest.mark.parametrize(("rate", "outcome"), [(0.25, "accepted"), (0.26, "recovery_speed")])
def test_recovery_with_the_base_has_a_quarter_of_its_turn_rate(rate, outcome):
    gate = gate_of(sliders(0.0, safety=BASE))
    violation_row = [[-0.2, 0.0, 0.0, 0.0, 0.0, rate]]
    verdict = check(gate, violation_row, ControlMode.BODY_TWIST, world=world_of(CUP), recovery=True)
    assert code_of(verdict) == outcome
    if outcome == "recovery_speed":
        assert only_violation(verdict).unit == "rad/s"


def test_recovery_opens_a_gripper_that_is_in_contact():
    gate = gate_of(gripper_arm())
    # The finger's sphere, radius 0.01 at y = 0.1, is pressed from below; opening moves it to +y.
    pressing = world_of(sphere((0.0, 0.085, 0.0), 0.01, "grape"))
    mode = ControlMode.GRIPPER_POSITION
    assert code_of(check(gate, [[0.2], [0.5]], mode, world=pressing)) == "world_collision"
    assert check(gate, [[0.2], [0.5]], mode, world=pressing, recovery=True).recovery
    assert code_of(check(gate, [[0.0]], mode, world=pressing, recovery=True)) == "recovery_not_growing"


def test_recovery_out_of_a_wall_goes_straight_back(gate):
    wall = world_of(wall_beyond_x(0.05, "wall"))
    assert check(gate, way_out(3), world=wall, recovery=True).recovery
    assert only_violation(check(gate, way_out(3, -0.01), world=wall, recovery=True)).against == "wall"


def thin_door(x_m: float) -> lg.World:
    shape = lg.BoxShape(size_xyz_m=(0.04, 2.0, 2.0))
    return world_of(
        lg.WorldCollisionPrimitive(shape=shape, pose=lg.Pose6D(xyz=(x_m, 0.0, 0.0)), object_id="door")
    )


def test_recovery_from_the_face_of_a_box_goes_back_and_not_through_it(gate):
    # The capsule axis of the post is 3 cm in front of the door, its skin 7 cm inside.
    door = thin_door(0.05)
    assert check(gate, way_out(3), world=door, recovery=True).recovery
    assert code_of(check(gate, way_out(12, -QUARTER_STEP_M), world=door, recovery=True)) != "accepted"


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_recovery_with_the_axis_inside_a_box_is_rejected_because_its_depth_is_not_known(gate, sign):
    violation = only_violation(
        check(gate, way_out(12, sign * QUARTER_STEP_M), world=thin_door(0.01), recovery=True)
    )
    assert (violation.code, violation.against) == ("recovery_not_growing", "door")
    assert (violation.witness_a, violation.witness_b) == (None, None)


@pytest.mark.parametrize(
    ("fingers", "code"), [(None, "world_collision"), ([0.2], "accepted"), ([0.4], "world_collision")]
)
def test_x20_finger_that_no_sensor_measured_gets_no_exemption(fingers, code):
    # A finger at 0.2 touches a point below it and leaves upwards; one at 0.4 would meet a second point on the way.
    manifest = gripper_arm()
    manifest["joints"][1]["position_limits"] = [0.0, 0.4]
    points = np.array([[0.0, 0.3, 0.495], [0.0, 0.5, 0.58]])
    rows = np.linspace(0.5, 0.6, 21)[1:, None]
    state = at(0.5, gripper_positions=fingers)
    world = world_of(points=points)
    assert (
        code_of(check(gate_of(manifest, step_s=STEP_S), rows, state=state, world=world, recovery=True))
        == code
    )


SLIDE = {"joint_type": "prismatic", "position_limits": [-2.0, 2.0], "velocity_limit": 100.0}
# A sphere of radius 0.1 on two slides, at the origin; margins are 0.
GANTRY = {
    "name": "gantry",
    "base_frame": "base",
    "joints": [
        joint("along_x", "base", "carriage", **SLIDE, axis_xyz=[1.0, 0.0, 0.0]),
        joint("along_y", "carriage", "sphere", **SLIDE, axis_xyz=[0.0, 1.0, 0.0]),
    ],
    "collision_geometry": [sphere_on("carriage", 0.01, (0.0, 0.0, 1.0)), sphere_on("sphere", 0.1)],
}


def test_x20_other_points_of_the_cloud_that_was_touched_are_no_less_in_the_way():
    # 5 mm deep in the first point; on the way from row 1 to row 2 the second would come 4 mm deep into the sphere.
    touched, beside = [0.095, 0.0, 0.0], [-0.5, 0.096, 0.0]
    rows = [[-0.1, 0.0], [-0.4, 0.0], [-0.6, 0.0]]
    gate = gate_of(GANTRY, step_s=STEP_S)
    clear = check(gate, rows, world=world_of(points=np.array([touched])), recovery=True)
    assert clear.accepted, clear.explain()
    violation = only_violation(
        check(gate, rows, world=world_of(points=np.array([touched, beside])), recovery=True)
    )
    # It was not touched at the start, so it is in the way like in any other motion.
    assert (violation.code, violation.step, violation.against) == ("world_collision", 2, "point_1")
    assert 0.0 < violation.segment_t < 1.0


def leave(world: lg.World, *, margin_m: float = 0.0, way_m: float = 0.02, steps: int = 4) -> lg.Verdict:
    """Draws the sphere of the gantry back along -x."""
    manifest = GANTRY | ({"safety": {"world_collision_margin_m": margin_m}} if margin_m else {})
    rows = np.linspace(0.0, -way_m, steps + 1)[1:, None] * [1.0, 0.0]
    return check(gate_of(manifest, step_s=STEP_S), rows, world=world, recovery=True)


# The sphere is 10 mm deep in the first point. The second stands 12 mm clear behind it, the third 22 mm.
TOUCHED, BEHIND, FARTHER = [0.09, 0.0, 0.0], [-0.112, 0.0, 0.0], [-0.122, 0.0, 0.0]


@pytest.mark.parametrize("margin_m", [0.0, 0.02])
def test_x20_leaving_one_point_does_not_lead_into_another_of_the_same_cloud(margin_m):
    # The first grows from 10 mm deep to 10 mm clear, and the second would end 8 mm deep: the cloud as a whole grows.
    violation = only_violation(leave(world_of(points=np.array([TOUCHED, BEHIND])), margin_m=margin_m))
    assert violation.against == "point_1"
    assert violation.code in ("world_collision", "recovery_not_growing")
    assert leave(world_of(points=np.array([TOUCHED])), margin_m=margin_m).recovery


def test_x20_point_that_was_clear_keeps_its_whole_margin():
    # With a margin of 1 cm the second point starts 2 mm outside it: 1 mm of way is left, not 3 mm.
    points = world_of(points=np.array([TOUCHED, BEHIND]))
    assert leave(points, margin_m=0.01, way_m=0.001).recovery
    assert only_violation(leave(points, margin_m=0.01, way_m=0.003)).against == "point_1"
    assert leave(world_of(points=np.array([TOUCHED, FARTHER])), margin_m=0.01, way_m=0.003).recovery


def test_x20_point_beside_the_way_out_may_stay_as_near_as_it_is():
    # Inside the margin of an upright post that moves along x, and level with it in y: nearest as it passes.
    beside = [-0.004, 0.105, 0.0]
    points = world_of(points=np.array([TOUCHED, beside]))
    assert only_violation(leave(points, margin_m=0.01)).against == "point_1"
    assert leave(world_of(points=np.array([TOUCHED, [0.004, 0.105, 0.0]])), margin_m=0.01).recovery


def voxels(*solid: tuple[int, int, int], value: int, outside: str = "free") -> lg.World:
    """Returns voxels of 2 cm, counted from the one around the origin."""
    occupancy = np.zeros((41, 41, 41), dtype=np.uint8)
    for x, y, z in solid:
        occupancy[20 + z, 20 + y, 20 + x] = value
    origin = (-20.5 * 0.02,) * 3
    grid = lg.Voxels(
        occupancy=occupancy, origin_xyz=origin, resolution_m=0.02, stamp_s=100.0, outside=outside
    )
    return world_of(voxels=grid)


@pytest.mark.parametrize("value", [1, 255], ids=["occupied", "unknown"])
def test_x20_leaving_one_voxel_does_not_lead_into_another_of_the_same_grid(value):
    # The sphere is 1 cm inside the voxel at x = 0.09 ... 0.11; the one at -0.13 ... -0.11 is 1 cm clear.
    violation = only_violation(leave(voxels((5, 0, 0), (-6, 0, 0), value=value)))
    assert (violation.code, violation.against) == ("world_collision", f"voxel_{14 + 41 * (20 + 41 * 20)}")
    assert leave(voxels((5, 0, 0), (-7, 0, 0), value=value)).recovery


def test_x20_block_of_voxels_may_be_left_straight_back():
    block = [(x, y, z) for x in (5, 6, 7) for y in range(-4, 5) for z in range(-4, 5)]
    assert leave(voxels(*block, value=1), margin_m=0.03, way_m=0.06, steps=6).recovery
    assert not leave(voxels(*block, value=1), margin_m=0.03, way_m=-0.01).accepted


@pytest.mark.parametrize(("low_x_m", "outcome"), [(-1.71, "world_collision"), (-1.69, "accepted")])
def test_x20_space_outside_a_grid_keeps_the_whole_margin(low_x_m, outcome):
    # What may stand beyond the edge, at x = 0.09 or 0.11, is not one thing that was touched.
    grid = lg.Voxels(
        occupancy=np.zeros((70, 60, 90), dtype=np.uint8),
        origin_xyz=(low_x_m, -0.6, -0.2),
        resolution_m=0.02,
        stamp_s=100.0,
        outside="occupied",
    )
    verdict = leave(world_of(voxels=grid), way_m=0.05)
    assert code_of(verdict) == outcome
    assert verdict.accepted or only_violation(verdict).against == "unseen space"


def test_x20_more_points_than_can_be_followed_are_rejected():
    rng = np.random.default_rng(20260613)
    shell = rng.normal(size=(5000, 3)) * [0.2, 1.0, 1.0] + [3.0, 0.0, 0.0]
    shell *= 0.095 / np.linalg.norm(shell, axis=1, keepdims=True)
    assert code_of(leave(world_of(points=shell))) == "budget_exceeded"
    assert leave(world_of(points=shell[:500])).recovery


def test_x20_thing_that_was_left_is_not_touched_again_between_two_steps():
    # 1 cm deep at the start, 4 cm away at row 0, far away at rows 1 and 2, and 5 mm deep half way between these.
    cup = sphere((0.15, 0.0, 0.0), 0.06, "cup")
    gate = gate_of(GANTRY, step_s=STEP_S)
    left = [[0.0, -0.2], [-0.15, -0.155]]
    assert check(gate, left, world=world_of(cup), recovery=True).accepted
    verdict = check(gate, [*left, [0.45, -0.155]], world=world_of(cup), recovery=True)
    assert (code_of(verdict), only_violation(verdict).step) == ("recovery_not_growing", 2)
    assert check(gate, [*left, [0.45, -0.185]], world=world_of(cup), recovery=True).accepted
