# SPDX-License-Identifier: Apache-2.0
"""Same verdicts through both channels: base motion, maps, attached objects, declared contacts, recovery, goals."""

import math
import time

import numpy as np
import pytest
from fixtures.analytic_robots import arm_of_one_link, cart, only_violation, planar_two_link, sliders, sphere
from fixtures.two_paths import TwoPaths

import lastgate as lg
from lastgate import _core
from lastgate.world.freshness import StampedTransform

Mode = lg.ControlMode
AHEAD = [1.0, 0.0, 0.0, 0.0, 0.0, 0.0]


def room(*blocked, resolution_m=0.1, yaw=0.0, side_m=4.0, stamp_s=None):
    side = round(side_m / resolution_m)
    cells = np.zeros((side, side), dtype=np.int8)
    for cell in blocked:
        cells[cell] = 100
    corner = -side_m / 2
    stamp = time.time() if stamp_s is None else stamp_s
    return lg.OccupancyGridIndex(cells, resolution_m, (corner, corner), yaw, stamp_s=stamp)


def floored(grid, *, xyz=(0.0, 0.0, 0.0), yaw=0.0, age_s_max=60.0, stamp_s=None, **fields):
    now_s = time.time()
    pose = lg.Pose6D(xyz=xyz, quat_xyzw=(0.0, 0.0, math.sin(yaw / 2), math.cos(yaw / 2)))
    placed = StampedTransform.of(
        pose, parent_frame="", child_frame="map", stamp_s=now_s if stamp_s is None else stamp_s
    )
    floor_map = lg.FloorMap(grid=grid, map_in_base=placed, height_m=(-0.1, 2.0), age_s_max=age_s_max)
    return lg.World(floor_map=floor_map, stamp_s=now_s, **fields)


def test_twist_passes_as_it_came_and_is_rejected_where_the_chunk_is(start_kernel):
    channels = TwoPaths(start_kernel, cart())
    follower = _core.RingReader(channels.kernel.instance, "safe_actions")
    assert channels.drive(AHEAD, at=[3.0], world=floored(room())).accepted
    assert follower.read(1.0)[3] == _core.encode_twist(AHEAD)
    assert only_violation(channels.drive([3.0, 0, 0, 0, 0, 0], at=[3.0], world=floored(room()))).code == (
        lg.ViolationCode.base_linear_speed
    )
    assert not channels.drive([math.nan, 0, 0, 0, 0, 0], at=[3.0], world=floored(room())).accepted
    # 1 m/s for 0.1 s: the front of the base is at 0.2 m and gets to 0.3 m.
    blocked = channels.drive(AHEAD, at=[3.0], world=floored(room((20, 22))))
    assert only_violation(blocked).against == "map_cell_20_22"
    assert follower.read(0.05) is None


@pytest.mark.parametrize(
    ("robot", "mode", "row", "name"),
    [
        (planar_two_link, Mode.JOINT_POSITION, [0.0, math.nan], "{second joint}"),
        (planar_two_link, Mode.CARTESIAN_DELTA, [0.0, 0.0, 0.0, math.nan, 0.0, 0.0], "rx"),
        (cart, Mode.BODY_TWIST, [math.nan, 0.0, 0.0, 0.0, 0.0, 0.0], "vx"),
    ],
)
def test_number_that_is_none_is_called_by_its_name_in_the_evidence_too(start_kernel, robot, mode, row, name):
    channels = TwoPaths(start_kernel, robot())
    # `TwoPaths` requires the subject of the verdict in the evidence of the kernel.
    violation = only_violation(channels.check([row], mode))
    assert violation.code == lg.ViolationCode.nan_in_action
    assert violation.subject == (name if name != "{second joint}" else channels.gate.joint_names[1])


def test_body_twist_chunks_against_random_maps(start_kernel):
    channels = TwoPaths(start_kernel, cart())
    rng = np.random.default_rng(20260610)
    for _ in range(40):
        grid = room(*map(tuple, rng.integers(45, 75, (6, 2))), side_m=12.0, yaw=rng.uniform(-0.2, 0.2))
        world = floored(grid, xyz=(*rng.uniform(-0.5, 0.5, 2), 0.0), yaw=rng.uniform(-3.0, 3.0))
        rows = np.zeros((8, 6))
        rows[:, :2] = rng.uniform(-1.0, 1.0, 2)
        rows[:, 5] = rng.uniform(-2.0, 2.0)
        channels.check(rows, Mode.BODY_TWIST, at=[rng.uniform(-3.0, 3.0)], world=world)
    assert (channels.accepted > 5, channels.rejected > 5) == (True, True)


@pytest.mark.parametrize("stale", ["map", "place"])
def test_map_that_is_too_old_is_no_map(start_kernel, stale):
    channels = TwoPaths(start_kernel, cart())
    rows = [AHEAD] * 3
    assert channels.check(rows, Mode.BODY_TWIST, at=[3.0], world=floored(room())).accepted
    old_s = time.time() - 100.0
    world = floored(room(stamp_s=old_s)) if stale == "map" else floored(room(), stamp_s=old_s)
    verdict = channels.check(rows, Mode.BODY_TWIST, at=[3.0], world=world)
    assert only_violation(verdict).code == lg.ViolationCode.world_unavailable


def test_base_motion_without_a_map_says_so_through_both(start_kernel):
    channels = TwoPaths(start_kernel, cart())
    verdict = channels.check(
        [AHEAD], Mode.BODY_TWIST, at=[3.0], world=lg.World(primitives=[], stamp_s=time.time())
    )
    assert verdict.accepted
    assert verdict.unchecked & lg.Unchecked.FLOOR_MAP


def test_attached_object_counts_until_it_is_detached(start_kernel):
    channels = TwoPaths(start_kernel, arm_of_one_link())
    cup = sphere((1.3, 0.0, 0.0), 0.1, "cup")
    here = [[0.0]]

    def world():
        return lg.World(primitives=[cup], stamp_s=time.time())

    assert channels.check(here, world=world()).accepted
    channels.attach(
        "arm", lg.SphereShape(radius_m=0.15), object_id="tool", origin_xyz_rpy=(1.1, 0, 0, 0, 0, 0)
    )
    violation = only_violation(channels.check(here, world=world()))
    assert (violation.subject, violation.against) == ("tool", "cup")
    channels.detach("tool")
    assert channels.check(here, world=world()).accepted


def test_attached_objects_against_the_robot_and_their_touch_links(start_kernel):
    channels = TwoPaths(start_kernel, planar_two_link())
    shape = lg.CapsuleShape(radius_m=0.05, length_m=0.2)
    folded = [[0.0, 2.9]] * 2
    pose = {"at": [0.0, 2.9]}
    for touch_links in ((), ("upper_arm",)):
        options = {"object_id": "stick", "origin_xyz_rpy": (0.9, 0, 0, 0, 0, 0), "touch_links": touch_links}
        channels.attach("forearm", shape, **options)
        channels.check(folded, **pose)
        channels.detach("stick")
    assert channels.rejected >= 1


def test_what_cannot_be_attached_is_refused_and_says_why(start_kernel):
    kernel = start_kernel(arm_of_one_link(), without_world=True)
    sphere = lg.SphereShape(radius_m=0.05)
    with pytest.raises(lg.ROSConfigError, match="does not exist"):
        kernel.attach("absent", sphere, object_id="cup")
    with pytest.raises(lg.ROSConfigError, match="does not exist"):
        kernel.attach("arm", sphere, object_id="cup", touch_links=["absent"])
    with pytest.raises(lg.ROSConfigError, match="larger than 100 m"):
        kernel.attach("arm", lg.SphereShape(radius_m=1e3), object_id="cup")
    with pytest.raises(lg.ROSConfigError, match="200 bytes"):
        kernel.attach("arm", sphere, object_id="c" * 201)
    with pytest.raises(lg.ROSConfigError, match="not attached"):
        kernel.detach("cup")
    for number in range(16):
        kernel.attach("arm", sphere, object_id=f"cup {number}", origin_xyz_rpy=(0.5, 0, 0, 0, 0, 0))
    with pytest.raises(lg.ROSConfigError, match="no room"):
        kernel.attach("arm", sphere, object_id="one too many")
    kernel.observe(np.zeros(1))
    assert kernel.submit(np.zeros((1, 1))).accepted


def test_kernel_that_ended_while_something_was_held_starts_latched(start_kernel):
    first = start_kernel(arm_of_one_link(), without_world=True)
    first.attach("arm", lg.SphereShape(radius_m=0.05), object_id="cup", origin_xyz_rpy=(0.5, 0, 0, 0, 0, 0))
    assert not first.status().latched
    first.close()
    second = start_kernel(
        arm_of_one_link(), without_world=True, instance=first.instance, reset_cooldown_s=0.01
    )
    assert (second.status().latched, "attach it again" in second.status().reason) == (True, True)
    second.reset()
    time.sleep(0.05)
    assert second.reset().success
    second.close()
    # Reset, and nothing held any more: the next one starts clear.
    third = start_kernel(arm_of_one_link(), without_world=True, instance=first.instance)
    assert not third.status().latched
    # Attached and detached again is nothing attached.
    third.attach("arm", lg.SphereShape(radius_m=0.05), object_id="cup", origin_xyz_rpy=(0.5, 0, 0, 0, 0, 0))
    third.detach("cup")
    third.close()
    assert not start_kernel(arm_of_one_link(), without_world=True, instance=first.instance).status().latched


CUP = sphere((0.7, 0.0, 0.0), 0.1, "cup")
POST = {"length_m": 0.0, "safety": {"world_collision_margin_m": 0.1}}


def grasp(**changes):
    fields = {
        "name": "grasp cup",
        "links": ["post0"],
        "objects": ["cup"],
        "region": {"shape": "box", "size_xyz_m": [0.5, 0.5, 0.5]},
        "region_pose": {"xyz": [0.5, 0.0, 0.0]},
        "expires_s": time.time() + 60.0,
    }
    return lg.DeclaredContact(**(fields | changes))


def cup_world(**fields):
    return lg.World(primitives=[CUP], stamp_s=time.time(), **fields)


def test_declared_contact_lets_touch_and_holds_for_its_chunk_only(start_kernel):
    channels = TwoPaths(start_kernel, sliders(0.0, **POST), rate_hz=1.0)
    touching = [[0.4998]]
    assert not channels.check(touching, world=cup_world()).accepted
    # Two that are about nothing in this world first: what was used is named by what was sent.
    elsewhere = grasp(name="grasp jug", objects=["jug"])
    verdict = channels.check(
        touching,
        world=cup_world(),
        declared_contacts=[elsewhere, grasp(name="other", objects=["x"]), grasp()],
    )
    assert (verdict.accepted, verdict.contacts_used) == (True, ("grasp cup",))
    # The next chunk declares nothing, and keeps the margin.
    assert not channels.check(touching, world=cup_world()).accepted
    assert not channels.check([[0.5002]], world=cup_world(), declared_contacts=[grasp()]).accepted
    assert not channels.check(
        touching, world=cup_world(), declared_contacts=[grasp(expires_s=time.time() - 1.0)]
    ).accepted


def test_zone_of_the_same_name_is_not_what_was_declared(start_kernel):
    channels = TwoPaths(start_kernel, sliders(0.0, **POST), rate_hz=1.0)
    zone = lg.Zone(name="cup", shape=CUP.shape, pose=CUP.pose)
    world = lg.World(primitives=[], zones=[zone], stamp_s=time.time())
    assert not channels.check([[0.4998]], world=world, declared_contacts=[grasp()]).accepted


def test_attached_object_may_touch_what_it_was_declared_for(start_kernel):
    channels = TwoPaths(start_kernel, sliders(0.0, **POST), rate_hz=1.0)
    channels.attach(
        "post0", lg.SphereShape(radius_m=0.1), object_id="peg", origin_xyz_rpy=(0.1, 0, 0, 0, 0, 0)
    )
    with_peg = grasp(links=[], held_objects=["peg"])
    assert channels.check([[0.3998]], world=cup_world(), declared_contacts=[with_peg]).contacts_used == (
        "grasp cup",
    )
    assert not channels.check([[0.3998]], world=cup_world()).accepted


@pytest.mark.parametrize("depth_m", [0.0, 0.001])
def test_a_declared_depth_is_the_same_in_a_kernel(start_kernel, depth_m):
    channels = TwoPaths(start_kernel, sliders(0.0, **POST), rate_hz=1.0)
    pressed = [[0.5005]]  # half a millimetre deep
    verdict = channels.check(pressed, world=cup_world(), declared_contacts=[grasp(depth_m=depth_m)])
    assert verdict.accepted == (depth_m > 0.0)


@pytest.mark.parametrize(
    "shape",
    [
        lg.BoxShape(size_xyz_m=(0.3, 0.2, 0.02)),
        lg.CylinderShape(radius_m=0.15, length_m=0.02),
        lg.HullShape(
            vertices_m=((0.15, 0.1, 0.01), (0.15, -0.1, 0.01), (-0.15, 0.0, 0.01), (0.0, 0.0, -0.01))
        ),
    ],
    ids=["box", "cylinder", "hull"],
)
def test_attached_solids_and_cylinders_count_alike(start_kernel, shape):
    channels = TwoPaths(start_kernel, arm_of_one_link())
    can = lg.CylinderShape(radius_m=0.1, length_m=0.1)
    over, touching = (
        lg.WorldCollisionPrimitive(shape=can, pose=lg.Pose6D(xyz=(1.1, 0.0, z)), object_id="can")
        for z in (0.09, 0.055)
    )
    channels.attach("arm", shape, object_id="tray", origin_xyz_rpy=(1.1, 0, 0, 0, 0, 0))
    # The sphere around the tray meets the can in both places; the tray itself in one.
    assert channels.check([[0.0]], world=lg.World(primitives=[over], stamp_s=time.time())).accepted
    violation = only_violation(
        channels.check([[0.0]], world=lg.World(primitives=[touching], stamp_s=time.time()))
    )
    assert (violation.subject, violation.against) == ("tray", "can")


def test_a_static_world_ages_in_a_kernel_as_its_maker_says(start_kernel):
    channels = TwoPaths(start_kernel, arm_of_one_link())
    table = sphere((1.3, 0.9, 0.0), 0.1, "table")
    old_s = time.time() - 3600.0
    verdict = channels.check([[0.0]], world=lg.World.static([table]))
    assert verdict.accepted
    assert lg.Unchecked.WORLD_AGE in verdict.unchecked
    assert not channels.check([[0.0]], world=lg.World.static([table], stamp_s=old_s, lasts_s=60.0)).accepted
    assert not channels.check([[0.0]], world=lg.World(primitives=[table], stamp_s=old_s)).accepted


def test_contacts_that_name_nothing_known_are_refused_by_both(start_kernel):
    channels = TwoPaths(start_kernel, sliders(0.0, **POST), rate_hz=1.0)
    for wrong in (grasp(links=["absent"]), grasp(links=[], held_objects=["nothing"])):
        for submit in (
            lambda contact: channels.kernel.submit([[0.1]], declared_contacts=[contact]),
            lambda contact: channels.check([[0.1]], world=cup_world(), declared_contacts=[contact]),
        ):
            with pytest.raises(lg.ROSConfigError, match="does not exist"):
                submit(wrong)


@pytest.mark.parametrize(
    ("links", "held", "count", "blame"),
    [(["absent"], [], 1, 5), (["post0"], ["x"], 1, 6), (["post0"], [], 9, 0)],
)
def test_kernel_itself_refuses_contacts_it_cannot_use(start_kernel, links, held, count, blame):
    """Another program may speak to the channel without this package."""
    kernel = start_kernel(sliders(0.0, **POST), rate_hz=1.0)
    channel = _core.ChannelClient(kernel.instance)
    kernel.publish_world(cup_world())
    kernel.observe(np.zeros(1))
    contact = (
        links,
        held,
        ["cup"],
        False,
        False,
        (0.2,) * 3,
        (0.5, 0, 0, 0, 0, 0, 1),
        time.time() + 9.0,
        0.0,
    )
    chunk = _core.encode_action_chunk(np.array([[0.1]]), control_mode=0, stamp_s=time.time())
    request = _core.encode_chunk_request(chunk, recovery=False, contacts=[contact] * count)
    answer = channel.wait_verdict(channel.submit_request(request), timeout_s=1.0)
    violation = answer.verdict.violation
    assert (violation.code, violation.element) == (lg.ViolationCode.declared_contact.number, blame)
    assert (answer.passed, answer.latched) == (False, True)


@pytest.mark.parametrize("cut", [0, 1, 4, 9, 40, -1, -9])
def test_request_that_is_cut_passes_nothing_and_latches(start_kernel, cut):
    kernel = start_kernel(arm_of_one_link(), without_world=True)
    passed = _core.RingReader(kernel.instance, "safe_actions")
    channel = _core.ChannelClient(kernel.instance)
    kernel.observe(np.zeros(1))
    chunk = _core.encode_action_chunk(np.zeros((1, 1)), control_mode=0, stamp_s=time.time())
    request = _core.encode_chunk_request(chunk, recovery=False, contacts=[])
    assert channel.wait_verdict(channel.submit_request(request), timeout_s=1.0).passed
    assert passed.read(1.0)[3] == chunk
    broken = request[:cut] if cut else _core.encode_chunk_request(b"", recovery=False, contacts=[])
    answer = channel.wait_verdict(channel.submit_request(broken), timeout_s=1.0)
    assert (answer.passed, answer.latched) == (False, True)
    assert passed.read(0.05) is None


def test_recovery_is_asked_for_and_bounded_through_both(start_kernel):
    channels = TwoPaths(start_kernel, sliders(0.0), rate_hz=1.0)
    near = sphere((0.25, 0.0, 0.0), 0.1, "near")

    def world():
        return lg.World(primitives=[near], stamp_s=time.time())

    margin = channels.check([[0.06]], at=[0.06], world=world())
    assert not margin.accepted
    away = channels.check([[0.0], [-0.05]], at=[0.06], world=world(), recovery=True)
    assert (away.accepted, away.recovery) == (True, True)
    assert not channels.check([[0.07]], at=[0.06], world=world(), recovery=True).accepted
    assert not channels.check([[0.0], [-0.05]], at=[0.06], world=world()).accepted


SQUARE = [[0.3, 0.2], [-0.3, 0.2], [-0.3, -0.2], [0.3, -0.2]]


@pytest.mark.parametrize(
    "shape", [{"footprint_radius": 0.3}, {"footprint_radius": None, "footprint_polygon": SQUARE}]
)
@pytest.mark.parametrize("margin_m", [0.0, 0.07])
def test_goals_get_one_answer_from_both(start_kernel, shape, margin_m):
    safety = {"max_base_linear_speed_m_s": 2.0, "max_base_angular_speed_rad_s": 20.0}
    manifest = cart(safety=safety | ({"world_collision_margin_m": margin_m} if margin_m else {}), **shape)
    manifest = {key: value for key, value in manifest.items() if value is not None}
    channels = TwoPaths(start_kernel, manifest)
    rng = np.random.default_rng(7)
    counts = {True: 0, False: 0}
    for _ in range(6):
        grid = room(*map(tuple, rng.integers(0, 60, (25, 2))), side_m=6.0, yaw=rng.uniform(-3.0, 3.0))
        world = floored(grid)
        channels.kernel.publish_world(world)
        for _ in range(60):
            yaw = rng.uniform(-3.0, 3.0)
            goal = lg.Pose6D(
                xyz=(*rng.uniform(-2.8, 2.8, 2), 0.0),
                quat_xyzw=(0.0, 0.0, math.sin(yaw / 2), math.cos(yaw / 2)),
                frame_id="map",
            )
            theirs = channels.kernel.check_nav_goal(goal)
            assert theirs == channels.gate.check_nav_goal(goal, floor_map=world.floor_map, now_s=time.time())
            counts[theirs.ok] += 1
    assert min(counts.values()) > 30


def test_goals_that_cannot_be_evaluated_are_refused_with_the_same_words(start_kernel):
    channels = TwoPaths(start_kernel, cart())

    def both(goal, world):
        channels.kernel.publish_world(world)
        ours = channels.gate.check_nav_goal(
            goal, floor_map=getattr(world, "floor_map", None), now_s=time.time()
        )
        theirs = channels.kernel.check_nav_goal(goal)
        assert not theirs.ok
        assert theirs.reason.split(" s old")[0][:11] == ours.reason.split(" s old")[0][:11]
        return theirs.reason

    here = lg.Pose6D(xyz=(0.0, 0.0, 0.0), frame_id="map")
    assert "no map" in both(here, lg.World(primitives=[], stamp_s=time.time()))
    assert "frame `odom`" in both(here.model_copy(update={"frame_id": "odom"}), floored(room()))
    assert "off the map" in both(here.model_copy(update={"xyz": (9.0, 0.0, 0.0)}), floored(room()))
    assert "leans" in both(here.model_copy(update={"quat_xyzw": (0.6, 0.0, 0.0, 0.8)}), floored(room()))
    assert "s old" in both(here, floored(room(stamp_s=time.time() - 100.0)))
    assert channels.kernel.check_nav_goal(here.model_copy(update={"xyz": (0.1, 0.0, 0.0)})).ok is False
    channels.kernel.publish_world(floored(room()))
    assert channels.kernel.check_nav_goal(here).ok
    # The map lasts for as long as its maker says, and the world it came with for as long as a world does.
    time.sleep(channels.kernel.robot.safety.world_age_s_max + 0.2)
    late = channels.kernel.check_nav_goal(here)
    assert (late.ok, "the map came" in late.reason) == (False, True)
