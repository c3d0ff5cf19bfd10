# SPDX-License-Identifier: Apache-2.0
"""The 2-D map as part of the world: base motion is swept against it, and without it the verdict says so."""

import math

import numpy as np
import pytest
from fixtures.analytic_robots import NOW_S, at, capsule_on, cart, check, code_of, gate_of, only_violation

import lastgate as lg
from lastgate.world.freshness import StampedTransform

AHEAD = [[1.0, 0.0, 0.0, 0.0, 0.0, 0.0]] * 10  # 1 m in ten rows of 0.1 s
ASIDE = [[0.0, 1.0, 0.0, 0.0, 0.0, 0.0]] * 10
TALL = (-0.1, 2.0)


def room(*blocked_rc, unknown=(), resolution_m=0.1, yaw=0.0, stamp_s=NOW_S):
    """4 m by 4 m with its vertex at (-2, -2): the cart stands in the middle."""
    side = round(4.0 / resolution_m)
    cells = np.zeros((side, side), dtype=np.int8)
    for cell in blocked_rc:
        cells[cell] = 100
    for cell in unknown:
        cells[cell] = -1
    return lg.OccupancyGridIndex(cells, resolution_m, (-2.0, -2.0), yaw, stamp_s=stamp_s)


def placed(grid, *, xyz=(0.0, 0.0, 0.0), yaw=0.0, height_m=TALL, stamp_s=NOW_S, age_s_max=60.0):
    pose = lg.Pose6D(xyz=xyz, quat_xyzw=(0.0, 0.0, math.sin(yaw / 2), math.cos(yaw / 2)))
    transform = StampedTransform.of(pose, parent_frame="", child_frame="map", stamp_s=stamp_s)
    return lg.FloorMap(grid=grid, map_in_base=transform, height_m=height_m, age_s_max=age_s_max)


def drive(rows, floor_map, *, robot=None, mast=math.pi, now_s=NOW_S, world_stamp_s=None):
    gate = gate_of(cart() if robot is None else robot)
    world = lg.World(floor_map=floor_map, stamp_s=now_s if world_stamp_s is None else world_stamp_s)
    state = at(min(mast, 3.0), stamp_s=now_s)
    return check(gate, rows, lg.ControlMode.BODY_TWIST, state=state, world=world, now_s=now_s)


def test_base_drives_over_free_cells_and_the_map_counts_as_checked():
    verdict = drive(AHEAD, placed(room()))
    assert verdict.accepted, verdict.explain()
    assert not verdict.unchecked & lg.Unchecked.FLOOR_MAP


def test_base_that_would_drive_over_a_blocked_cell_is_rejected_by_its_name():
    verdict = drive(AHEAD, placed(room((20, 30))))  # x from 1.0 to 1.1
    violation = only_violation(verdict)
    assert code_of(verdict) == "world_collision"
    assert (violation.subject, violation.against) == ("base", "map_cell_20_30")
    assert violation.step == 7, "the front of the sphere is at 0.2 + 0.8 m at its end, and touching counts"
    assert violation.witness_b == pytest.approx((1.0, 0.0, 0.2), abs=0.02)
    assert drive(AHEAD, placed(room((24, 30)))).accepted, "0.4 m to the side it passes"


def test_cell_between_two_steps_is_found():
    # One row of 0.5 s at 2 m/s: 1 m in one step, over a cell of 2 cm that no row stands on.
    leap = gate_of(cart(), step_s=0.5)
    state = at(3.0)
    chunk = lg.ActionChunk([[2.0, 0.0, 0.0, 0.0, 0.0, 0.0]], mode=lg.ControlMode.BODY_TWIST)

    def verdict(*cells):
        world = lg.World(floor_map=placed(room(*cells, resolution_m=0.02)), stamp_s=NOW_S)
        return leap.check(chunk, state=state, world=world, now_s=NOW_S)

    assert verdict().accepted
    assert not verdict((100, 125)).accepted
    assert verdict((115, 125)).accepted, "0.3 m aside"


def test_unknown_cells_and_the_end_of_the_map_block_like_walls():
    unknown = only_violation(drive(AHEAD, placed(room(unknown=[(20, 30)]))))
    assert unknown.against == "map_cell_20_30"
    ahead = [[2.0, 0.0, 0.0, 0.0, 0.0, 0.0]] * 10
    off = only_violation(drive(ahead, placed(room())))
    assert off.against == "unmapped or blocked floor"
    assert off.step == 8, "the front of the sphere leaves the map at x = 2.0"


def test_robot_that_stands_off_the_map_may_not_move():
    with pytest.raises(lg.ROSConfigError, match="off the map"):
        drive(AHEAD, placed(room(), xyz=(100.0, 0.0, 0.0)))
    just_off = drive(AHEAD, placed(room(), xyz=(4.0, 0.0, 0.0)))
    assert code_of(just_off) == "world_collision"
    assert only_violation(just_off).step == 0


@pytest.mark.parametrize("yaw", [0.0, 0.3, math.pi / 2, 2.5])
def test_map_lies_where_the_transform_puts_it(yaw):
    # The blocked cell (20, 30) is centred at (1.05, 0.05) of the map. Drive along the map's x axis, then along -x.
    floor_map = placed(room((20, 30)), yaw=yaw)
    towards = [[math.cos(yaw), math.sin(yaw), 0.0, 0.0, 0.0, 0.0]] * 10
    away = [[-math.cos(yaw), -math.sin(yaw), 0.0, 0.0, 0.0, 0.0]] * 10
    assert not drive(towards, floor_map, robot=cart() | {"joints": cart()["joints"]}).accepted
    assert drive(away, floor_map, mast=0.0).accepted


def test_turned_origin_of_the_map_and_turned_transform_cancel():
    grid = room((20, 30), yaw=0.4)
    # The origin stays at (-2, -2); turning the whole map back about it puts the cell where it was.
    c, s = math.cos(0.4), math.sin(0.4)
    back = (-2.0 - (c * -2.0 + s * -2.0), -2.0 - (-s * -2.0 + c * -2.0), 0.0)
    assert only_violation(drive(AHEAD, placed(grid, xyz=back, yaw=-0.4))).against == "map_cell_20_30"
    assert drive(ASIDE, placed(grid, xyz=back, yaw=-0.4)).accepted


def test_bar_ahead_of_the_base_counts_while_the_base_turns():
    turn = [[0.0, 0.0, 0.0, 0.0, 0.0, 1.0]] * 16
    assert drive(turn, placed(room((24, 20))), mast=0.0).accepted is False, "the bar sweeps (0.05, 0.45)"
    assert drive(turn, placed(room((26, 20))), mast=0.0).accepted, "it reaches 0.5 m"
    assert drive(turn, placed(room((24, 20)), height_m=(-0.1, 0.4)), mast=0.0).accepted, "it passes above"


def test_what_reaches_above_the_heights_of_the_map_is_not_held_against_it():
    # The bar turns at 0.5 m with a radius of 0.05 m; the map's cells end at 0.44 or at 0.46.
    table = room((20, 24))
    assert drive(np.zeros((1, 6)), placed(table, height_m=(0.0, 0.44)), mast=0.0).accepted
    assert not drive(np.zeros((1, 6)), placed(table, height_m=(0.0, 0.46)), mast=0.0).accepted


def test_leaning_link_is_held_only_as_far_as_it_is_within_the_heights():
    # From (0.5, 0, 0.0) up to (1.0, 0, 1.0): low it is at x = 0.5, high above the cell at x = 0.9.
    leaning = capsule_on(
        "base", 0.02, math.hypot(0.5, 1.0), (0.75, 0.0, 0.5), (0.0, math.atan2(0.5, 1.0), 0.0)
    )
    robot = cart(collision_geometry=[*cart()["collision_geometry"], leaning])
    still = np.zeros((1, 6))
    assert drive(still, placed(room((20, 29)), height_m=(0.0, 0.3)), robot=robot).accepted
    assert not drive(still, placed(room((20, 29)), height_m=(0.0, 0.9)), robot=robot).accepted


def test_arm_of_a_base_that_stands_still_is_checked_against_the_map_too():
    gate = gate_of(cart())
    swing = np.linspace(0.0, 1.5, 10)[:, None]

    def verdict(grid):
        return check(gate, swing, state=at(0.0), world=lg.World(floor_map=placed(grid), stamp_s=NOW_S))

    assert verdict(room()).accepted
    assert only_violation(verdict(room((24, 20)))).subject == "bar"


def test_base_motion_without_a_map_says_so_and_arm_motion_does_not():
    gate = gate_of(cart())
    state = at(3.0)
    empty = lg.World(primitives=[], stamp_s=NOW_S)
    moved = check(gate, AHEAD, lg.ControlMode.BODY_TWIST, state=state, world=empty)
    assert moved.accepted
    assert lg.Unchecked.FLOOR_MAP in moved.unchecked
    assert lg.Unchecked.FLOOR_MAP in check(gate, AHEAD, lg.ControlMode.BODY_TWIST, state=state).unchecked
    assert lg.Unchecked.FLOOR_MAP not in check(gate, [[3.0]], state=state, world=empty).unchecked


def test_map_that_expired_or_was_placed_too_long_ago_rejects():
    old_map = drive(AHEAD, placed(room(stamp_s=NOW_S - 61.0)))
    assert code_of(old_map) == "world_unavailable"
    assert "the occupancy map" in old_map.explain()
    assert drive(AHEAD, placed(room(stamp_s=NOW_S - 59.0))).accepted
    lost = drive(AHEAD, placed(room(), stamp_s=NOW_S - 0.6))
    assert code_of(lost) == "world_unavailable"
    assert "the occupancy map" in lost.explain()
    assert drive(AHEAD, placed(room(), stamp_s=NOW_S - 0.4)).accepted
    assert code_of(drive(AHEAD, placed(room(), stamp_s=NOW_S + 1.0))) == "world_unavailable"


def test_batch_asks_the_map_too():
    gate = gate_of(cart())
    world = lg.World(floor_map=placed(room((24, 20))), stamp_s=NOW_S)
    answers = gate.check_batch(np.array([[0.0], [math.pi / 2]]), world=world)
    assert answers.accepted.tolist() == [True, False]


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"height_m": (1.0, 0.0)}, "low < high"),
        ({"height_m": (0.0, math.inf)}, "height_m"),
        ({"height_m": 2.0}, "height_m"),
        ({"age_s_max": 0.0}, "age_s_max"),
        ({"age_s_max": math.nan}, "age_s_max"),
        ({"grid": "map"}, "OccupancyGridIndex"),
        ({"map_in_base": np.eye(4)}, "StampedTransform"),
    ],
)
def test_map_that_cannot_be_placed_is_refused(changes, why):
    good = placed(room())
    fields = {name: getattr(good, name) for name in ("grid", "map_in_base", "height_m", "age_s_max")}
    with pytest.raises(lg.ROSConfigError, match=why):
        lg.FloorMap(**(fields | changes))


def test_map_of_another_frame_or_without_a_stamp_is_refused():
    here = StampedTransform.of(lg.Pose6D(xyz=(0, 0, 0)), parent_frame="", child_frame="odom", stamp_s=NOW_S)
    with pytest.raises(lg.ROSConfigError, match="`odom`"):
        lg.FloorMap(grid=room(), map_in_base=here, height_m=TALL, age_s_max=1.0)
    with pytest.raises(lg.ROSConfigError, match="stamp_s"):
        placed(room(stamp_s=None))
    there = StampedTransform.of(
        lg.Pose6D(xyz=(0, 0, 0)), parent_frame="torso", child_frame="map", stamp_s=NOW_S
    )
    elsewhere = lg.FloorMap(grid=room(), map_in_base=there, height_m=TALL, age_s_max=1.0)
    with pytest.raises(lg.ROSConfigError, match="`torso`"):
        lg.World(floor_map=elsewhere, stamp_s=NOW_S)
    with pytest.raises(lg.ROSConfigError, match="expected FloorMap"):
        lg.World(floor_map=room(), stamp_s=NOW_S)


# ---- Footprints that are wider than the links ----------------------------------------------------------

SQUARE = [[-0.4, -0.4], [0.4, -0.4], [0.4, 0.4], [-0.4, 0.4]]


def test_declared_disc_is_swept_though_no_link_reaches_as_far():
    wide = cart(footprint_radius=0.35)
    blocked = only_violation(drive(AHEAD, placed(room((20, 33))), robot=wide))  # x from 1.3 on
    assert (blocked.subject, blocked.against, blocked.code) == ("base", "map_cell_20_33", "world_collision")
    assert blocked.step == 9
    assert blocked.segment_t == pytest.approx(0.5, abs=0.1), "it touches after 0.95 m"
    assert drive(AHEAD, placed(room((20, 34))), robot=wide).accepted
    assert drive(AHEAD, placed(room((20, 33)))).accepted, "the links alone pass"


def test_declared_polygon_is_swept_with_its_vertices_while_it_turns():
    robot = cart(footprint_polygon=SQUARE)
    turn = [[0.0, 0.0, 0.0, 0.0, 0.0, 1.0]] * 8
    # The vertex reaches 0.566 m; the sides only 0.4 m.
    assert drive(np.zeros((1, 6)), placed(room((25, 20))), robot=robot).accepted
    assert not drive(turn, placed(room((25, 20))), robot=robot).accepted, "the vertex sweeps (0.05, 0.5)"
    assert drive(turn, placed(room((26, 20))), robot=robot).accepted


def test_blocked_cell_inside_the_footprint_at_the_start_rejects_at_once():
    # Between the sphere of the base (0.2 m) and the sides of the square (0.4 m), touched by neither.
    inside = drive(
        np.zeros((1, 6)), placed(room((22, 22), resolution_m=0.1)), robot=cart(footprint_polygon=SQUARE)
    )
    assert code_of(inside) == "world_collision"
    assert only_violation(inside).step == 0
    horseshoe = [
        [-0.4, -0.4],
        [0.4, -0.4],
        [0.4, 0.4],
        [0.34, 0.4],
        [0.34, -0.34],
        [-0.34, -0.34],
        [-0.34, 0.4],
        [-0.4, 0.4],
    ]
    assert drive(np.zeros((1, 6)), placed(room((22, 22))), robot=cart(footprint_polygon=horseshoe)).accepted


def test_footprint_keeps_the_margin_and_tells_the_clearance():
    safety = cart()["safety"]
    grid = room((20, 30))  # x from 1.0
    near = [[1.0, 0.0, 0.0, 0.0, 0.0, 0.0]] * 5  # the side of the square comes to 0.9

    def verdict(margin_m):
        margins = safety | {"world_collision_margin_m": margin_m}
        return drive(near, placed(grid), robot=cart(footprint_polygon=SQUARE, safety=margins))

    assert verdict(0.0).accepted
    assert verdict(0.0).min_clearance_m == pytest.approx(0.1, abs=0.06)
    assert verdict(0.0).min_clearance_m <= 0.1 + 1e-12
    assert verdict(0.09).accepted
    assert not verdict(0.11).accepted


def test_rows_before_the_footprint_touches_are_certified():
    wide = cart(footprint_radius=0.35)
    verdict = drive(AHEAD, placed(room((20, 33))), robot=wide)
    assert verdict.certified_rows == 9
    shorter = drive(AHEAD[: verdict.certified_rows], placed(room((20, 33))), robot=wide)
    assert shorter.accepted


def test_footprint_is_not_held_against_arm_motion_of_a_base_that_stands():
    gate = gate_of(cart(footprint_radius=0.35))
    world = lg.World(floor_map=placed(room((20, 22), (20, 17))), stamp_s=NOW_S)  # 0.2 m ahead, 0.3 m behind
    verdict = check(
        gate, [[3.0]], state=at(3.0), world=lg.World(floor_map=placed(room((20, 23))), stamp_s=NOW_S)
    )
    assert verdict.accepted, "the robot stands there already; the links are what moves"
    assert not check(gate, [[3.0]], state=at(3.0), world=world).accepted, "the sphere of the base touches"


def test_footprint_of_too_many_vertices_is_refused():
    ring = [[math.cos(a), math.sin(a)] for a in np.linspace(0.0, 2 * math.pi, 66)[:-1]]
    with pytest.raises(lg.ROSConfigError, match="footprint"):
        gate_of(cart(footprint_polygon=ring))
    assert gate_of(cart(footprint_polygon=ring[:64]))


def test_budget_too_small_for_the_footprint_rejects():
    fine = room(resolution_m=0.01)
    huge = [[-1.9, -1.9], [1.9, -1.9], [1.9, 1.9], [-1.9, 1.9]]
    gate = gate_of(cart(footprint_polygon=huge), evaluations_max=257)
    chunk = lg.ActionChunk(np.zeros((1, 6)), mode=lg.ControlMode.BODY_TWIST)
    world = lg.World(floor_map=placed(fine), stamp_s=NOW_S)
    assert code_of(gate.check(chunk, state=at(3.0), world=world, now_s=NOW_S)) == "budget_exceeded"
    patient = gate_of(cart(footprint_polygon=huge))
    assert patient.check(chunk, state=at(3.0), world=world, now_s=NOW_S).accepted


# ---- Goals -----------------------------------------------------------------------------------------


def goal(x, y, yaw=0.0, frame_id="map"):
    return lg.Pose6D(
        xyz=(x, y, 0.0), quat_xyzw=(0.0, 0.0, math.sin(yaw / 2), math.cos(yaw / 2)), frame_id=frame_id
    )


def ask(pose, floor_map, *, now_s=NOW_S, **changes):
    return gate_of(cart(**changes)).check_nav_goal(pose, floor_map=floor_map, now_s=now_s)


def test_goal_whose_footprint_is_free_is_ok_and_one_that_touches_is_not():
    floor_map = placed(room((20, 30)))
    assert ask(goal(0.5, 0.05), floor_map).ok
    assert ask(goal(0.799, 0.05), floor_map).ok
    blocked = ask(goal(0.8, 0.05), floor_map)
    assert not blocked.ok
    assert "touches what is occupied, unknown or off the map" in blocked.reason


def test_answer_about_a_goal_has_no_truth_value():
    for x, ok in ((0.5, True), (0.8, False)):
        answer = ask(goal(x, 0.05), placed(room((20, 30))))
        assert answer.ok is ok
        with pytest.raises(TypeError, match=r"no truth value; read goal\.ok"):
            bool(answer)


def test_goal_keeps_the_margin_of_the_robot():
    safety = cart()["safety"] | {"world_collision_margin_m": 0.1}
    floor_map = placed(room((20, 30)))
    assert ask(goal(0.69, 0.05), floor_map, safety=safety).ok
    assert not ask(goal(0.71, 0.05), floor_map, safety=safety).ok
    polygon = {"footprint_polygon": [[-0.2, -0.2], [0.2, -0.2], [0.2, 0.2], [-0.2, 0.2]]}
    assert ask(goal(0.69, 0.05), floor_map, safety=safety, **polygon).ok
    assert not ask(goal(0.71, 0.05), floor_map, safety=safety, **polygon).ok
    # Beside the cell's vertex at (1.0, 0.1) the margin is round: the polygon's vertex stays 0.0990 m away, or 0.1131.
    assert not ask(goal(0.73, 0.37), floor_map, safety=safety, **polygon).ok
    assert ask(goal(0.72, 0.38), floor_map, safety=safety, **polygon).ok


def test_footprint_polygon_turns_with_the_goal():
    long = {"footprint_polygon": [[-0.5, -0.1], [0.5, -0.1], [0.5, 0.1], [-0.5, 0.1]]}
    floor_map = placed(room((20, 30)))
    assert not ask(goal(0.7, 0.05), floor_map, **long).ok
    assert ask(goal(0.7, 0.05, math.pi / 2), floor_map, **long).ok


@pytest.mark.parametrize(
    ("pose", "changes", "why"),
    [
        (goal(0.0, 0.0, frame_id=""), {}, "frame"),
        (goal(0.0, 0.0, frame_id="odom"), {}, "`odom`"),
        (goal(5.0, 0.0), {}, "off the map"),
        (goal(1.95, 0.0), {}, "off the map"),
        (lg.Pose6D(xyz=(0, 0, 0), quat_xyzw=(0.1, 0, 0, math.sqrt(0.99)), frame_id="map"), {}, "leans"),
        (goal(0.0, 0.0), {"footprint_radius": None}, "neither footprint"),
    ],
)
def test_goal_that_cannot_be_evaluated_is_not_ok(pose, changes, why):
    answer = ask(pose, placed(room()), **changes)
    assert not answer.ok
    assert why in answer.reason


def test_goal_without_a_map_or_on_an_old_one_is_not_ok():
    assert not ask(goal(0.0, 0.0), None).ok
    fresh = placed(room(stamp_s=NOW_S - 59.0))
    assert ask(goal(0.0, 0.0), fresh).ok
    old = ask(goal(0.0, 0.0), fresh, now_s=NOW_S + 2.0)
    assert not old.ok
    assert "old" in old.reason
    assert not ask(goal(0.0, 0.0), fresh, now_s=NOW_S - 60.0).ok, "a map from the future"


def test_arguments_that_are_something_else_are_refused():
    with pytest.raises(lg.ROSConfigError, match="Pose6D"):
        ask((0.0, 0.0, 0.0), placed(room()))
    with pytest.raises(lg.ROSConfigError, match="FloorMap"):
        ask(goal(0.0, 0.0), room())
    with pytest.raises(lg.ROSConfigError, match="now_s"):
        ask(goal(0.0, 0.0), placed(room()), now_s=math.nan)


# ---- Zones beyond the map's free cells -------------------------------------------------------------------


@pytest.mark.parametrize("name", ["no_go_zones", "keep_in_zones"])
def test_rows_before_a_zone_are_certified_on_a_map_with_a_footprint(name):
    # A sphere at x = 0.9 that the cart of radius 0.2 may not touch, or a sphere of 0.9 m that it may not leave.
    inside = name == "keep_in_zones"
    shape = {"shape": "sphere", "radius_m": 0.9 if inside else 0.1}
    zone = {"name": "fence", "shape": shape, "pose": {"xyz": [0.0 if inside else 1.0, 0.0, 0.2]}}
    robot = cart()
    robot["safety"] |= {name: [zone | ({"links": ["base"]} if inside else {})]}
    verdict = drive(AHEAD, placed(room()), robot=robot)
    assert only_violation(verdict).against == "fence"
    assert 1 <= verdict.certified_rows < len(AHEAD)
    assert drive(AHEAD[: verdict.certified_rows], placed(room()), robot=robot).accepted
