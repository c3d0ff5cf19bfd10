# SPDX-License-Identifier: Apache-2.0
"""Attached boxes, cylinders and hulls against Coal: what is accepted keeps the solid clear, not only its cover."""

import coal
import numpy as np
import pytest
from scipy.spatial import ConvexHull

import lastgate as lg
from lastgate import _core
from lastgate.certificate import checker
from lastgate.robots.attached_solid import inner_capsules, native_shape
from lastgate.world import World
from lastgate.world.rigid_motion import motion_of_xyz_rpy, require_rigid_motion

HOME = np.array([0.0, -0.4, 0.0, -2.0, 0.0, 1.6, 0.8])
FINGERS = ("panda_leftfinger", "panda_rightfinger")


def drawn_shape(rng):
    match int(rng.integers(3)):
        case 0:
            return lg.BoxShape(size_xyz_m=tuple(rng.uniform(0.01, 0.25, 3)))
        case 1:
            return lg.CylinderShape(
                radius_m=float(rng.uniform(0.01, 0.1)), length_m=float(rng.uniform(0.01, 0.3))
            )
        case _:
            return lg.HullShape(
                vertices_m=tuple(map(tuple, rng.uniform(-0.12, 0.12, (int(rng.integers(5, 30)), 3))))
            )


def coal_shape(shape):
    match shape:
        case lg.BoxShape():
            return coal.Box(*shape.size_xyz_m)
        case lg.CylinderShape():
            return coal.Cylinder(shape.radius_m, shape.length_m)
        case lg.SphereShape():
            return coal.Sphere(shape.radius_m)
        case lg.HullShape():
            vertices = coal.StdVec_Vec3s()
            for vertex in shape.vertices_m:
                vertices.append(np.array(vertex))
            return coal.ConvexBase.convexHull(vertices, False, "Qt")


def surface(shape, rng, count=400):
    """Returns points of a solid, its extreme ones among them."""
    match shape:
        case lg.BoxShape():
            half = np.array(shape.size_xyz_m) / 2
            return np.concatenate([rng.uniform(-half, half, (count, 3)), half * rng.choice([-1, 1], (64, 3))])
        case lg.CylinderShape():
            angle = rng.uniform(0, 2 * np.pi, count)
            side = rng.choice([-0.5, 0.5], count) * shape.length_m
            return np.column_stack([shape.radius_m * np.cos(angle), shape.radius_m * np.sin(angle), side])
        case _:
            return np.array(shape.vertices_m)


def test_the_cover_of_a_solid_contains_every_point_of_it():
    rng = np.random.default_rng(1)
    growth = []
    for _ in range(400):
        shape, origin = drawn_shape(rng), rng.uniform(-1.0, 1.0, 6)
        native = native_shape(shape, origin)
        pose = motion_of_xyz_rpy(origin)
        points = surface(shape, rng) @ pose[:, :3].T + pose[:, 3]
        a, b = native.ends_m.reshape(2, 3)
        length2 = max(float((b - a) @ (b - a)), 1e-300)
        share = np.clip((points - a) @ (b - a) / length2, 0.0, 1.0)
        far = np.linalg.norm(points - a - share[:, None] * (b - a), axis=1).max()
        growth.append(native.radius_m - far)
        assert far <= native.radius_m
    # It is no larger than it has to be: some point of the solid is near its surface.
    assert np.median(growth) < 0.002


def test_the_capsules_that_are_taken_out_of_sensor_data_lie_inside_the_solid():
    rng = np.random.default_rng(2)
    for _ in range(300):
        shape = drawn_shape(rng)
        for radius_m, ends in inner_capsules(shape):
            along = rng.uniform(0, 1, (200, 1))
            out = rng.normal(size=(200, 3))
            points = (
                ends[0] + along * (ends[1] - ends[0]) + radius_m * out / np.linalg.norm(out, axis=1)[:, None]
            )
            if isinstance(shape, lg.BoxShape):
                assert (np.abs(points) <= np.array(shape.size_xyz_m) / 2 + 1e-12).all()
            else:
                assert (np.hypot(points[:, 0], points[:, 1]) <= shape.radius_m + 1e-12).all()
                assert (np.abs(points[:, 2]) <= shape.length_m / 2 + 1e-12).all()


def drawn_obstacle(rng):
    quat = rng.normal(size=4)
    pose = lg.Pose6D(xyz=tuple(rng.uniform(-0.7, 0.7, 3)), quat_xyzw=tuple(quat / np.linalg.norm(quat)))
    shape = rng.choice(
        [
            lg.BoxShape(size_xyz_m=tuple(rng.uniform(0.03, 0.4, 3))),
            lg.CylinderShape(radius_m=float(rng.uniform(0.02, 0.15)), length_m=float(rng.uniform(0.05, 0.4))),
            lg.SphereShape(radius_m=float(rng.uniform(0.03, 0.15))),
        ]
    )
    return lg.WorldCollisionPrimitive(shape=shape, pose=pose)


def apart(first, first_pose, second, second_pose):
    request, result = coal.DistanceRequest(), coal.DistanceResult()
    request.gjk_tolerance = 1e-8
    return coal.distance(
        first,
        coal.Transform3s(first_pose[:, :3], first_pose[:, 3]),
        second,
        coal.Transform3s(second_pose[:, :3], second_pose[:, 3]),
        request,
        result,
    )


def composed(outer, inner):
    return np.column_stack([outer[:, :3] @ inner[:, :3], outer[:, :3] @ inner[:, 3] + outer[:, 3]])


def test_accepted_motion_keeps_attached_solids_clear_and_the_cover_alone_would_reject_more():
    robot = lg.load_robot("franka_panda")
    gate = lg.Gate(robot, step_s=0.05)
    margin_m = robot.safety.world_collision_margin_m
    rng = np.random.default_rng(3)
    counts = {"accepted": 0, "rejected": 0, "accepted although the cover touches": 0}
    least_m = np.inf
    for _ in range(260):
        shape, origin = drawn_shape(rng), (*rng.uniform(-0.05, 0.05, 2), 0.15, *rng.uniform(-1, 1, 3))
        gate.attach("panda_hand", shape, object_id="held", origin_xyz_rpy=origin, touch_links=FINGERS)
        native = native_shape(shape, origin)
        a, b = native.ends_m.reshape(2, 3)
        start = HOME + rng.uniform(-0.5, 0.5, 7)
        rows = start + np.cumsum(rng.uniform(-0.02, 0.02, (3, 7)), axis=0)
        obstacles = [drawn_obstacle(rng) for _ in range(2)]
        state = lg.RobotState(positions=start, gripper_positions=np.array([0.02]), stamp_s=0.0)
        world = World(primitives=obstacles, stamp_s=0.0)
        verdict = gate.check(lg.ActionChunk(rows), state=state, world=world, now_s=0.0)
        gate.detach("held")
        solid = coal_shape(shape)
        near_m, cover_m = np.inf, np.inf
        for configuration in np.concatenate(
            [np.linspace(start, rows[0], 7), np.linspace(rows[0], rows[-1], 9)]
        ):
            if not verdict.accepted:
                break
            hand = gate.link_poses(configuration, gripper_positions=[0.02])["panda_hand"]
            in_base = composed(hand, motion_of_xyz_rpy(origin))
            for obstacle in obstacles:
                pose = require_rigid_motion(obstacle.pose, name="pose")
                near_m = min(near_m, apart(solid, in_base, coal_shape(obstacle.shape), pose))
                ends = np.array([a, b]) @ hand[:, :3].T + hand[:, 3]
                cover_m = min(
                    cover_m,
                    World(primitives=[obstacle], stamp_s=0.0).native.distance(0, ends.ravel())[0]
                    - native.radius_m,
                )
        counts["accepted" if verdict.accepted else "rejected"] += 1
        if verdict.accepted:
            least_m = min(least_m, near_m - margin_m)
            counts["accepted although the cover touches"] += cover_m <= margin_m
    print(f"{counts}; nearest {least_m:.5f} m beyond the margin")
    assert least_m > -1e-6  # Coal's own tolerance
    assert counts["accepted"] >= 60
    assert counts["rejected"] >= 20
    assert counts["accepted although the cover touches"] >= 3


@pytest.mark.parametrize("kind", ["box", "cylinder", "hull"])
def test_a_held_solid_is_accepted_a_hair_beyond_its_margin_and_rejected_inside(kind):
    gate = lg.Gate(lg.load_robot("franka_panda"), step_s=0.05)
    shape = {
        "box": lg.BoxShape(size_xyz_m=(0.12, 0.08, 0.06)),
        "cylinder": lg.CylinderShape(radius_m=0.05, length_m=0.06),
        "hull": lg.HullShape(
            vertices_m=((0.05, 0.04, 0.03), (-0.05, 0.04, 0.03), (0.0, -0.06, 0.03), (0.0, 0.0, -0.05))
        ),
    }[kind]
    # The hand points down at home: a table rises to the lowest point of what it holds.
    origin = (0.0, 0.0, 0.14, 0.0, 0.0, 0.0)
    gate.attach("panda_hand", shape, object_id="held", origin_xyz_rpy=origin, touch_links=FINGERS)
    state = lg.RobotState(positions=HOME, gripper_positions=np.array([0.02]), stamp_s=0.0)
    in_base = composed(
        gate.link_poses(HOME, gripper_positions=[0.02])["panda_hand"], motion_of_xyz_rpy(origin)
    )
    native = native_shape(shape, (0.0,) * 6)
    _, disc_m, vertices = native.solid
    low = (vertices @ in_base[:, :3].T + in_base[:, 3])[:, 2]
    lowest = low.min() - disc_m * np.hypot(*in_base[2, :2])
    margin_m = gate.robot.safety.world_collision_margin_m
    for gap_m, accepted in ((1e-5, True), (-1e-5, False)):
        top = lowest - margin_m - gap_m
        table = lg.WorldCollisionPrimitive(
            shape=lg.BoxShape(size_xyz_m=(1.0, 1.0, 0.1)),
            pose=lg.Pose6D(xyz=(0.6, 0.0, top - 0.05)),
            object_id="table",
        )
        world = World(primitives=[table], stamp_s=0.0)
        verdict = gate.check(lg.ActionChunk(HOME[None]), state=state, world=world, now_s=0.0)
        assert verdict.accepted == accepted, f"{gap_m}: {verdict.explain()}"
    assert (verdict.violations[0].subject, verdict.violations[0].against) == ("held", "table")


def test_the_certificate_of_a_held_box_is_verified_and_a_larger_box_is_refused():
    gate = lg.Gate(lg.load_robot("franka_panda"), step_s=0.05)
    shape = lg.BoxShape(size_xyz_m=(0.2, 0.2, 0.02))
    gate.attach(
        "panda_hand", shape, object_id="tray", origin_xyz_rpy=(0, 0, 0.13, 0, 0, 0), touch_links=FINGERS
    )
    hand = gate.link_poses(HOME, gripper_positions=[0.02])["panda_hand"]
    bottom = (hand[:, :3] @ [0, 0, 0.14] + hand[:, 3])[2]
    table = lg.WorldCollisionPrimitive(
        shape=lg.BoxShape(size_xyz_m=(1.0, 1.0, 0.1)), pose=lg.Pose6D(xyz=(0.6, 0.0, bottom - 0.12))
    )
    world = World(primitives=[table], stamp_s=0.0)
    rows = HOME + np.linspace(0.002, 0.006, 3)[:, None] * np.array([1, 0, 0, 0, 0, 0, 1])
    state = lg.RobotState(positions=HOME, gripper_positions=np.array([0.02]), stamp_s=0.0)
    certificate = gate.certify(lg.ActionChunk(rows), state=state, world=world, now_s=0.0)
    assert "with 1 attached shape" in str(checker.check_text(certificate.to_json()))
    held = certificate.content["held"]
    by_solid = [
        record
        for record in certificate.content["records"]
        if record[1] == 1 and record[2] >= held_first(gate)
    ]
    assert by_solid, "the cover of a tray meets the table: its solid must decide"
    grown = held | {"vertices_m": (np.array(held["vertices_m"]) * 1.02).tolist()}
    with pytest.raises(checker.Refused):
        checker.check_text(lg.Certificate(certificate.content | {"held": grown}).to_json())
    shrunk = held | {"radius_m": [0.5 * radius for radius in held["radius_m"]]}
    with pytest.raises(checker.Refused, match="not inside its volume"):
        checker.check_text(lg.Certificate(certificate.content | {"held": shrunk}).to_json())


def held_first(gate):
    return len(gate.robot.collision_geometry)


def exact_depth(first, second):
    """Returns how deep two polytopes overlap: the nearest face of the hull of all differences of their vertices."""
    differences = (first[:, None] - second).reshape(-1, 3)
    return float(-ConvexHull(differences, qhull_options="QJ").equations[:, 3].max())


def test_a_depth_is_never_taken_for_less_than_it_is():
    rng = np.random.default_rng(4)
    overlapping, exact, worse = 0, 0, []
    for _ in range(1500):
        vertices = np.ascontiguousarray(rng.uniform(-0.1, 0.1, (12, 3)))
        half = rng.uniform(0.02, 0.3, 3)
        signs = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])
        box = np.ascontiguousarray(signs * half + rng.normal(size=3) * 0.2)
        found, direction = _core.signed_distance(vertices, 0.0, box, 0.0)
        truth = exact_depth(vertices, box)
        if truth <= 0.0 or truth > 0.05:
            continue
        overlapping += 1
        assert -found >= truth - 1e-9
        assert np.linalg.norm(direction) == pytest.approx(1.0)
        exact += -found <= truth + 1e-4
        worse.append(-found / truth)
    print(f"{overlapping} overlap, {exact} exact to 0.1 mm, median {np.median(worse):.4f} of the depth")
    assert overlapping >= 150
    assert exact >= 0.5 * overlapping
