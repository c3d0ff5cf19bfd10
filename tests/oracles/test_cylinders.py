# SPDX-License-Identifier: Apache-2.0
"""Cylinders against Coal, and against SciPy's minimisation of the distance of a point from a solid cylinder."""

import coal
import numpy as np
import pytest
from fixtures.analytic_robots import gate_of, planar_two_link
from scipy.optimize import minimize_scalar
from scipy.spatial.transform import Rotation

import lastgate as lg
from lastgate import _core
from lastgate.certificate import checker
from lastgate.world import World


def cylinder_world(radius_m, length_m, xyz=(0.0, 0.0, 0.0), quat=(0.0, 0.0, 0.0, 1.0)):
    shape = lg.CylinderShape(radius_m=radius_m, length_m=length_m)
    pose = lg.Pose6D(xyz=tuple(xyz), quat_xyzw=tuple(quat))
    return World(
        primitives=[lg.WorldCollisionPrimitive(shape=shape, pose=pose, object_id="can")], stamp_s=0.0
    )


def from_solid(points, radius_m, length_m):
    beside = np.maximum(np.hypot(points[..., 0], points[..., 1]) - radius_m, 0.0)
    beyond = np.maximum(np.abs(points[..., 2]) - length_m / 2, 0.0)
    return np.hypot(beside, beyond)


def least_distance(a, b, radius_m, length_m):
    """Returns the minimum over 4,001 places and a bounded search around the best of them."""
    shares = np.linspace(0.0, 1.0, 4001)
    found = from_solid(a + shares[:, None] * (b - a), radius_m, length_m)
    at = int(found.argmin())
    low, high = shares[max(at - 1, 0)], shares[min(at + 1, 4000)]
    best = minimize_scalar(
        lambda t: float(from_solid(a + t * (b - a), radius_m, length_m)),
        bounds=(low, high),
        method="bounded",
        options={"xatol": 1e-14},
    )
    return min(float(found.min()), float(best.fun))


def draw_segment(rng, radius_m, length_m):
    """Returns a segment near the side, an end or the rim, sometimes parallel to one of them."""
    scale = max(radius_m, length_m)
    a = rng.normal(size=3) * scale
    b = a + rng.normal(size=3) * scale * rng.choice([0.0, 1e-6, 0.1, 1.0, 3.0])
    match int(rng.integers(5)):
        case 0:
            b[:2] = a[:2]  # along the axis
        case 1:
            b[2] = a[2] = (length_m / 2 + rng.uniform(0, 0.1)) * rng.choice([-1, 1])  # over an end
        case 2:
            angle = rng.uniform(0, 2 * np.pi)
            out = np.array([np.cos(angle), np.sin(angle), 0.0])
            side = np.array([-out[1], out[0], rng.uniform(-1, 1)])
            rim = radius_m * out + [0.0, 0.0, length_m / 2]
            at = rim + rng.uniform(1e-7, 0.05) * (out + np.array([0.0, 0.0, 1.0]))
            a, b = at - scale * side, at + scale * side  # past the rim
        case _:
            pass
    return a, b


def test_distances_are_never_above_the_truth_and_at_most_a_nanometre_below():
    rng = np.random.default_rng(20261118)
    below, above = 0.0, 0.0
    for _ in range(3000):
        radius_m, length_m = np.exp(rng.uniform(np.log(1e-3), np.log(2.0), 2))
        a, b = draw_segment(rng, radius_m, length_m)
        wanted = least_distance(a, b, radius_m, length_m)
        found = cylinder_world(radius_m, length_m).native.distance(0, np.concatenate([a, b]))[0]
        above, below = max(above, found - wanted), max(below, wanted - found)
    print(f"above by at most {above:.3g} m, below by at most {below:.3g} m")
    assert above <= 0.0
    assert below <= 1.0e-9


def test_distances_in_any_frame_agree_with_coal():
    rng = np.random.default_rng(7)
    worst = 0.0
    for _ in range(1500):
        radius_m, length_m = rng.uniform(0.02, 0.5, 2)
        turn = Rotation.random(random_state=rng)
        at = rng.uniform(-1.0, 1.0, 3)
        a = at + turn.apply(rng.normal(size=3) * 0.8)
        b = a + rng.normal(size=3) * 0.5
        capsule_m = 0.01
        world = cylinder_world(radius_m, length_m, at, turn.as_quat())
        found = world.native.distance(0, np.concatenate([a, b]))[0] - capsule_m
        along = b - a
        frame = Rotation.align_vectors([along / np.linalg.norm(along)], [[0.0, 0.0, 1.0]])[0]
        request, result = coal.DistanceRequest(), coal.DistanceResult()
        request.gjk_tolerance = 1e-9
        wanted = coal.distance(
            coal.Cylinder(radius_m, length_m),
            coal.Transform3s(turn.as_matrix(), at),
            coal.Capsule(capsule_m, float(np.linalg.norm(along))),
            coal.Transform3s(frame.as_matrix(), 0.5 * (a + b)),
            request,
            result,
        )
        if wanted > 1e-6:
            worst = max(worst, abs(found - wanted))
    print(f"largest difference from Coal {worst:.3g} m")
    assert worst <= 2.0e-6  # Coal's GJK ends there


@pytest.fixture
def gate():
    return gate_of(planar_two_link(), step_s=1.0)


def checked(gate, world, rows, start):
    state = lg.RobotState(positions=np.array(start, float), stamp_s=0.0)
    chunk = lg.ActionChunk(np.array(rows, float))
    return gate.check(chunk, state=state, world=world, now_s=0.0)


@pytest.mark.parametrize(
    ("xyz", "size", "quat"),
    [
        # Beside the side; the forearm's tip lies at x = 2, its radius and the margin are read from the gate.
        ((1.5, 0.0, 0.0), (0.2, 0.4), (0.0, 0.0, 0.0, 1.0)),
        # Over a flat end: a capsule of the same numbers would already touch.
        ((1.5, 0.0, 0.0), (0.2, 0.4), (np.sqrt(0.5), 0.0, 0.0, np.sqrt(0.5))),
    ],
)
def test_a_cylinder_is_accepted_one_micrometre_beyond_its_margin_and_rejected_inside(gate, xyz, size, quat):
    start, rows = [0.0, 0.0], [[0.0, 0.0]]
    radius_m, length_m = size
    reach_m = radius_m if quat[0] == 0.0 else length_m / 2
    volume = max(one.shape.radius_m for one in gate.robot.collision_geometry)
    touching = volume + gate.robot.safety.world_collision_margin_m + reach_m
    for gap_m, accepted in ((1e-6, True), (-1e-6, False)):
        at = (xyz[0], touching + gap_m, 0.0)
        verdict = checked(gate, cylinder_world(radius_m, length_m, at, quat), rows, start)
        assert verdict.accepted == accepted, verdict.explain()
    assert verdict.violations[0].against == "can"
    # The twin: a capsule with the same numbers is longer by its two ends.
    capsule = lg.CapsuleShape(radius_m=radius_m, length_m=length_m)
    pose = lg.Pose6D(xyz=(xyz[0], touching + 1e-6, 0.0), quat_xyzw=quat)
    longer = World(primitives=[lg.WorldCollisionPrimitive(shape=capsule, pose=pose)], stamp_s=0.0)
    assert checked(gate, longer, rows, start).accepted == (quat[0] == 0.0)


def random_can(rng):
    quat = rng.normal(size=4)
    pose = lg.Pose6D(xyz=tuple(rng.uniform(-0.6, 0.6, 3)), quat_xyzw=tuple(quat / np.linalg.norm(quat)))
    shape = lg.CylinderShape(radius_m=float(rng.uniform(0.01, 0.15)), length_m=float(rng.uniform(0.01, 0.5)))
    return lg.WorldCollisionPrimitive(shape=shape, pose=pose)


def test_accepted_motion_of_a_panda_keeps_the_vertices_of_its_hulls_clear_of_cylinders():
    gate = lg.Gate(lg.load_robot("franka_panda"), step_s=0.05)
    hulls = [(hull.link_name, hull.radius_m, np.array(hull.vertices_m)) for hull in gate.robot.loaded_hulls]
    rng = np.random.default_rng(5)
    home = np.array([0.0, -0.4, 0.0, -2.0, 0.0, 1.6, 0.8])
    counts = {True: 0, False: 0}
    least = np.inf
    margin_m = gate.robot.safety.world_collision_margin_m
    for _ in range(240):
        start = home + rng.uniform(-0.4, 0.4, 7)
        rows = start + np.cumsum(rng.uniform(-0.03, 0.03, (4, 7)), axis=0)
        cans = [random_can(rng) for _ in range(3)]
        world = World(primitives=cans, stamp_s=0.0)
        state = lg.RobotState(positions=start, gripper_positions=np.array([0.02]), stamp_s=0.0)
        verdict = gate.check(lg.ActionChunk(rows), state=state, world=world, now_s=0.0)
        counts[verdict.accepted] += 1
        if not verdict.accepted:
            continue
        for configuration in np.linspace(start, rows[0], 5):
            poses = gate.link_poses(configuration, gripper_positions=[0.02])
            for can in cans:
                rotation = Rotation.from_quat(can.pose.quat_xyzw).as_matrix()
                for link, radius_m, vertices in hulls:
                    if link == gate.robot.base_frame:
                        continue
                    placed = vertices @ poses[link][:, :3].T + poses[link][:, 3]
                    local = (placed - can.pose.xyz) @ rotation
                    gap = from_solid(local, can.shape.radius_m, can.shape.length_m).min() - radius_m
                    least = min(least, float(gap) - margin_m)
    print(f"{counts}; nearest vertex {least:.4f} m beyond the margin")
    assert min(counts.values()) >= 30
    assert least > 0.0


@pytest.mark.parametrize("simd", ["generic", "avx2"])
def test_every_build_decides_alike_near_cylinders(simd, monkeypatch):
    if not _core.has_simd_build(_core.SimdBuild[simd]):
        pytest.skip(f"this machine runs no {simd}")
    rng = np.random.default_rng(11)
    worlds = [World(primitives=[random_can(rng) for _ in range(6)], stamp_s=0.0) for _ in range(20)]
    configurations = rng.uniform(-1.2, 1.2, (200, 7)) + np.array([0.0, -0.4, 0.0, -1.7, 0.0, 1.6, 0.8])
    monkeypatch.setenv("LASTGATE_SIMD", simd)
    gate = lg.Gate(lg.load_robot("franka_panda"), step_s=0.05)
    answers = np.array([gate.check_batch(configurations, world=world).accepted for world in worlds])
    monkeypatch.setenv("LASTGATE_SIMD", "generic")
    other = lg.Gate(lg.load_robot("franka_panda"), step_s=0.05)
    same = np.array([other.check_batch(configurations, world=world).accepted for world in worlds])
    assert (answers == same).all()
    assert 0.05 < answers.mean() < 0.95


def test_a_certificate_speaks_of_cylinders_and_a_grown_one_is_refused():
    gate = lg.Gate(lg.load_robot("franka_panda"), step_s=0.05)
    start = np.array([0.0, -0.4, 0.0, -2.0, 0.0, 1.6, 0.8])
    rows = start + np.linspace(0.01, 0.04, 4)[:, None]
    state = lg.RobotState(positions=start, gripper_positions=np.array([0.02]), stamp_s=0.0)
    world = cylinder_world(0.05, 0.3, (0.45, 0.25, 0.4), (0.0, np.sqrt(0.5), 0.0, np.sqrt(0.5)))
    certificate = gate.certify(lg.ActionChunk(rows), state=state, world=world, now_s=0.0)
    report = checker.check_text(certificate.to_json())
    assert "1 cylinder" in str(report)
    forged = certificate.content | {"world": certificate.content["world"] | {"size_m": [[0.15, 0.15, 0.0]]}}
    with pytest.raises(checker.Refused):
        checker.check_text(lg.Certificate(forged).to_json())
