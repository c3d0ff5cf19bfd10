# SPDX-License-Identifier: Apache-2.0
"""Cases about looking closer that other implementations get wrong: refinement clears the pair it checked, and
nothing else; what cannot be checked stays in contact."""

import math

import numpy as np
import pytest
from fixtures.analytic_robots import capsule_on, joint, sphere_on
from fixtures.shape_robots import box, cylinder, mesh, placed, robot_of, sphere

import lastgate as lg
from lastgate.planning.collision import (
    AllowedCollisionMatrix,
    CollisionEnvironment,
    DetailLevel,
    DetailLevels,
    SphereGenConfig,
    TwoTierCollisionChecker,
)

BOUNDS = ((-20.0,) * 3, (20.0,) * 3)
ZERO = np.zeros(1)
# Hulls are written in hundredths of a millimetre and a cylinder is a prism of 48 sides, 0.21 % wider.
WRITTEN_M = 1e-4


def env_of(*spheres, **more):
    return CollisionEnvironment.build(
        np.array(spheres, dtype=np.float64).reshape(-1, 4), 0.05, BOUNDS, **more
    )


def checker(shapes, *spheres, config=None, refinement=0.05, safety=0.02, primitives=(), **more):
    robot = robot_of({"arm": shapes})
    environment = env_of(*spheres, primitives=primitives)
    return TwoTierCollisionChecker(robot, config, refinement, safety, environment=environment, **more)


def box_at(xyz, size, object_id="box"):
    return lg.WorldCollisionPrimitive(
        shape=lg.BoxShape(size_xyz_m=size), pose=lg.Pose6D(xyz=xyz), object_id=object_id
    )


def capsule_at(xyz, radius_m, length_m):
    return lg.WorldCollisionPrimitive(
        shape=lg.CapsuleShape(radius_m=radius_m, length_m=length_m),
        pose=lg.Pose6D(xyz=xyz),
        object_id="capsule",
    )


def obstacles_at(xyz):
    return [
        pytest.param([(*xyz, 0.5)], [], id="sphere"),
        pytest.param([], [box_at(xyz, (1.0, 1.0, 1.0))], id="box"),
        pytest.param([], [capsule_at(xyz, 0.3, 1.0)], id="capsule"),
        pytest.param([(*xyz, 0.3)], [], id="small_sphere"),
    ]


@pytest.mark.parametrize(("spheres", "primitives"), obstacles_at((0.0, 0.0, 0.0)))
def test_case_62_obstacle_at_the_origin_collides(spheres, primitives):
    assert checker([box(0.2, 0.2, 0.1)], *spheres, primitives=primitives).check_collision(ZERO)


@pytest.mark.parametrize(("spheres", "primitives"), obstacles_at((10.0, 10.0, 10.0)))
def test_case_62_twin_obstacle_far_away_is_free(spheres, primitives):
    found = checker([box(0.2, 0.2, 0.1)], *spheres, primitives=primitives)
    assert not found.check_collision(ZERO)
    assert found.min_distance(ZERO) > 5.0


def test_case_63_distance_of_a_sphere_from_a_box_is_exact():
    found = checker([box(0.2, 0.2, 0.1)], (0.2, 0, 0, 0.05))
    assert found.min_distance(ZERO) == pytest.approx(0.05, abs=WRITTEN_M)
    assert not found.check_collision(ZERO)


def test_case_64_sphere_in_the_end_of_a_cylinder_collides_to_its_depth():
    found = checker([cylinder(0.04, 0.3)], (0, 0, 0.12, 0.02))
    assert found.check_collision(ZERO)
    assert found.min_distance(ZERO) == pytest.approx(-0.05, abs=WRITTEN_M)


def test_case_65_sphere_beside_a_cylinder_is_free():
    found = checker([cylinder(0.04, 0.3)], (0, 0.11, 0, 0.02))
    assert not found.check_collision(ZERO)
    assert found.min_distance(ZERO) == pytest.approx(0.05, abs=3 * WRITTEN_M)


def test_case_66_thin_overlap_is_found_behind_coarse_spheres():
    found = checker(
        [cylinder(0.05, 1.0)],
        (0.051, 0, 0, 0.005),
        config=SphereGenConfig.coarse(),
        refinement=0.02,
        safety=0.01,
    )
    assert found.check_collision(ZERO)
    assert found.min_distance(ZERO) == pytest.approx(-0.004, abs=3 * WRITTEN_M)


def test_case_67_table_below_is_free():
    table = box_at((0.0, 0.0, -0.3), (1.0, 1.0, 0.02))
    found = checker([sphere(0.05, placed((0.0, 0.0, 0.1)))], primitives=[table], refinement=1.0)
    assert not found.check_collision(ZERO)
    assert found.min_distance(ZERO) == pytest.approx(0.34, abs=WRITTEN_M)


def l_bar():
    """Returns triangles of two bars that make an L; the inner vertex is outside of it."""
    import trimesh

    bars = [trimesh.creation.box(extents=(0.4, 0.05, 0.05)), trimesh.creation.box(extents=(0.05, 0.3, 0.05))]
    bars[1].apply_translation((0.175, 0.125, 0.0))
    return np.concatenate([np.asarray(bar.triangles) for bar in bars])


def whole_hull(triangles):
    """Returns a robot whose only hull is the hull of a mesh, which the mesh alone can look behind."""
    robot = robot_of({"arm": [mesh(triangles)]})
    (hull,) = _one_hull(triangles)
    return robot.with_loaded_hulls((hull,))


def _one_hull(triangles):
    from fixtures.shape_robots import hulls_of

    return hulls_of("arm", [mesh(triangles)], per_link_max=1)


def test_mesh_clears_what_lies_in_the_hollow_of_its_hull():
    triangles = l_bar()
    robot, environment = whole_hull(triangles), env_of((0.05, 0.08, 0.0, 0.02))
    without = TwoTierCollisionChecker(robot, None, 0.1, 0.0, environment=environment)
    assert without.check_collision(ZERO)
    with_mesh = TwoTierCollisionChecker(
        robot, None, 0.1, 0.0, environment=environment, meshes={"arm": triangles}
    )
    assert not with_mesh.check_collision(ZERO)
    answer = with_mesh.check_batch(ZERO[np.newaxis])
    assert answer.level.tolist() == [DetailLevel.MESH]
    assert answer.distance_m[0] == pytest.approx(0.08 - 0.025 - 0.02, abs=1e-6)


def test_case_68_link_whose_mesh_is_missing_is_decided_by_its_hulls():
    triangles = l_bar()
    robot, environment = whole_hull(triangles), env_of((0.05, 0.08, 0.0, 0.02))
    found = TwoTierCollisionChecker(robot, None, 0.1, 0.0, environment=environment, meshes={})
    assert found.check_collision(ZERO)
    assert found.check_batch(ZERO[np.newaxis]).level.tolist() == [DetailLevel.CONVEX]


def test_mesh_of_an_unknown_link_and_a_mesh_without_triangles_are_refused():
    robot = robot_of({"arm": [box(0.2, 0.2, 0.1)]})
    with pytest.raises(lg.ROSConfigError, match="no link `tail`"):
        TwoTierCollisionChecker(robot, meshes={"tail": l_bar()})
    with pytest.raises(lg.ROSConfigError, match=r"expected \(T, 3, 3\)"):
        TwoTierCollisionChecker(robot, meshes={"arm": np.empty((0, 3, 3))})
    with pytest.raises(lg.ROSConfigError, match="not finite"):
        TwoTierCollisionChecker(robot, meshes={"arm": np.full((1, 3, 3), np.nan)})


@pytest.mark.parametrize("kind", ["sphere", "box", "capsule"])
def test_case_69_obstacle_inside_a_closed_mesh_collides(kind):
    import trimesh

    triangles = np.asarray(trimesh.creation.box(extents=(0.4, 0.4, 0.4)).triangles)
    robot = whole_hull(triangles)
    spheres = [(0.05, 0, 0, 0.01)] if kind == "sphere" else []
    shapes = {
        "box": [box_at((0.05, 0, 0), (0.02, 0.02, 0.02))],
        "capsule": [capsule_at((0.05, 0, 0), 0.01, 0.02)],
    }
    environment = env_of(*spheres, primitives=shapes.get(kind, []))
    found = TwoTierCollisionChecker(robot, None, 0.1, 0.0, environment=environment, meshes={"arm": triangles})
    assert found.check_collision(ZERO)
    assert found.min_distance(ZERO) < 0.0
    assert found.check_batch(ZERO[np.newaxis]).level.tolist() == [DetailLevel.MESH]


def bulge(half_z_m=0.05):
    """Returns a small sphere above the box of 20 x 20 x 10 cm that only the box's spheres touch."""
    model = checker([box(0.2, 0.2, 0.1)]).model
    x, y, z, radius_m = max(model.spheres_in_links.tolist(), key=lambda sphere: sphere[2] + sphere[3])
    top_m = z + radius_m
    assert top_m > half_z_m + 0.01
    return x, y, top_m - 0.001, 0.002


def test_case_70_without_refinement_spheres_decide():
    scenes = [bulge(), (0.3, 0.0, 0.0, 0.05), (0.0, 0.0, 0.0, 0.5)]
    for scene in scenes:
        found = checker([box(0.2, 0.2, 0.1)], scene, refinement=0.0, safety=0.0)
        spheres = found.model.place(ZERO)
        assert found.check_collision(ZERO) == env_of(scene).check_collision(spheres)
        assert found.check_batch(ZERO[np.newaxis]).level.tolist() == [DetailLevel.SPHERES]
    # The twin: the first one is a contact of spheres only.
    assert checker([box(0.2, 0.2, 0.1)], scenes[0], refinement=0.0, safety=0.0).check_collision(ZERO)
    assert not checker([box(0.2, 0.2, 0.1)], scenes[0], refinement=0.05, safety=0.0).check_collision(ZERO)
    assert checker([box(0.2, 0.2, 0.1)], scenes[2], refinement=0.0, safety=0.0).check_collision(ZERO)


def test_case_71_larger_safety_margin_finds_a_superset():
    rng = np.random.default_rng(2)
    robot = robot_of({"arm": [cylinder(0.05, 0.4)]})
    environment = env_of(*np.column_stack([rng.uniform(-0.6, 0.6, (8, 3)), rng.uniform(0.01, 0.05, 8)]))
    rows = rng.uniform(-0.6, 0.6, (200, 1))
    before = np.zeros(200, dtype=bool)
    for safety in (0.0, 0.01, 0.03, 0.1):
        found = TwoTierCollisionChecker(robot, None, 0.05, safety, environment=environment).check_collision(
            rows
        )
        assert not (before & ~found).any()
        before = found
    assert 0 < before.sum() <= 200


def test_case_72_witness_points_stand_in_the_world_on_both_surfaces():
    robot = robot_of({"arm": [box(0.2, 0.2, 0.1)]})
    environment = env_of((1.2, 0.0, 0.0, 0.05), ids=["bolt"])
    found = TwoTierCollisionChecker(robot, None, 0.05, 0.02, environment=environment)
    pair = found.nearest(np.array([1.0]))
    assert pair is not None
    assert (pair.link, pair.other, pair.level) == ("arm", "bolt", DetailLevel.CONVEX)
    assert pair.distance_m == pytest.approx(0.05, abs=WRITTEN_M)
    assert pair.on_link == pytest.approx((1.1, 0.0, 0.0), abs=0.051)
    assert pair.on_link[0] == pytest.approx(1.1, abs=WRITTEN_M)
    assert pair.on_other == pytest.approx((1.15, 0.0, 0.0), abs=WRITTEN_M)
    assert pair.normal == pytest.approx((1.0, 0.0, 0.0), abs=1e-3)
    deep = found.nearest(np.array([1.12]))
    assert deep is not None
    assert deep.distance_m == pytest.approx(-0.07, abs=WRITTEN_M)
    assert deep.normal == pytest.approx((1.0, 0.0, 0.0), abs=1e-3)
    assert np.linalg.norm(np.subtract(deep.on_other, deep.on_link)) == pytest.approx(0.07, abs=WRITTEN_M)


def test_case_73_link_without_geometry_does_not_win_and_does_not_pass():
    robot = lg.RobotDescription(
        name="half",
        base_frame="base",
        joints=[joint("turn", "base", "arm"), joint("twist", "arm", "hand")],
        collision_geometry=[sphere_on("arm", 0.05)],
    )
    with pytest.raises(lg.ROSConfigError, match="`hand`"):
        TwoTierCollisionChecker(robot)
    waived = robot.model_copy(update={"coverage_waivers": ()})
    waived = lg.RobotDescription(
        **{**robot.model_dump(), "coverage_waivers": [{"link": "hand", "reason": "a frame"}]}
    )
    found = TwoTierCollisionChecker(waived, environment=env_of((0.2, 0, 0, 0.05)))
    assert found.model.links_without_geometry == ("base", "hand")
    assert [pair.link for pair in found.distances(np.zeros(2))] == ["arm"]


@pytest.mark.parametrize(
    ("distance_m", "level"),
    [
        (1.0, "SPHERES"),
        (0.121, "SPHERES"),
        (0.119, "CONVEX"),
        (0.05, "CONVEX"),
        (0.041, "CONVEX"),
        (0.039, "MESH"),
        (-1.0, "MESH"),
        (math.nan, "MESH"),
    ],
)
def test_case_74_ladder_has_its_rungs_where_they_are_said_to_be(distance_m, level):
    assert DetailLevels().select(distance_m) == DetailLevel[level]
    assert DetailLevels.exploration().select(distance_m) == DetailLevel.SPHERES
    assert DetailLevels.validation().select(100.0) == DetailLevel.MESH
    assert DetailLevels.forced(DetailLevel.CONVEX).select(0.5) == DetailLevel.CONVEX


@pytest.mark.parametrize(
    "arguments", [{"convex_within_m": -1.0}, {"mesh_within_m": math.nan}, {"safety_margin_m": math.inf}]
)
def test_ladder_that_means_nothing_is_refused(arguments):
    with pytest.raises(lg.ROSConfigError, match=next(iter(arguments))):
        DetailLevels(**arguments)


def test_case_75_every_rung_is_at_least_as_far_as_the_one_below_while_apart():
    triangles = l_bar()
    rng = np.random.default_rng(9)
    robot = robot_of({"arm": [mesh(triangles)]})
    apart = 0
    for _ in range(60):
        sphere = (*rng.uniform(-0.5, 0.5, 3), rng.uniform(0.01, 0.1))
        found = [
            TwoTierCollisionChecker(
                robot,
                environment=env_of(sphere),
                meshes={"arm": triangles},
                levels=DetailLevels.forced(level),
            ).min_distance(ZERO)
            for level in DetailLevel
        ]
        if found[0] > 0.0:
            apart += 1
            assert found[0] <= found[1] + 2e-9
            assert found[1] <= found[2] + 2e-9
        # What one rung shows apart no later rung finds in contact.
        assert not (found[1] > 1e-9 and found[2] <= 0.0)
    assert apart > 20


# ---- Self-collision, cases of 5.4 --------------------------------------------------------------------


def tower(positions_m, **more):
    """Returns links of a tower with their own spheres, each on a slide of its own height."""
    slide = {"joint_type": "prismatic", "axis_xyz": [0, 0, 1], "position_limits": [-5.0, 5.0]}
    names = ["base", "link1", "link2", "ee"]
    robot = lg.RobotDescription(
        name="tower",
        base_frame="root",
        joints=[joint(f"lift_{name}", "root", name, **slide) for name in names],
        collision_geometry=[sphere_on(name, 0.1) for name in names],
    )
    matrix = AllowedCollisionMatrix([("base", "link1"), ("link1", "link2"), ("link2", "ee")])
    return TwoTierCollisionChecker(robot, None, 0.05, 0.0, allowed=matrix, **more), np.array(positions_m)


def test_case_58_links_in_one_place_collide():
    found, rows = tower([0.0, 0.0, 0.0, 0.0])
    assert found.check_collision(rows)
    assert found.min_distance(rows) <= 0.0
    assert ("base", "link2") in {(pair.link, pair.other) for pair in found.distances(rows)}


def test_case_59_links_in_a_row_are_free_and_a_wide_margin_finds_them():
    found, rows = tower([0.0, 0.5, 1.0, 1.5])
    assert not found.check_collision(rows)
    assert found.min_distance(rows) == pytest.approx(0.8, abs=1e-6)
    wide = TwoTierCollisionChecker(found.model.robot, None, 0.05, 10.0, allowed=found.allowed)
    assert wide.check_collision(rows)


def test_case_61_object_in_the_hand_is_ignored_by_the_finger_and_seen_by_the_forearm():
    robot = robot_of({"forearm": [sphere(0.05)], "finger": [sphere(0.02)]})
    matrix = AllowedCollisionMatrix([("forearm", "finger"), ("finger", "cup")])
    environment = env_of((0.0, 0.0, 0.0, 0.05), ids=["cup"])
    found = TwoTierCollisionChecker(robot, None, 0.05, 0.0, environment=environment, allowed=matrix)
    assert not found.check_collision(np.array([1.0, 0.0]))
    assert found.check_collision(np.array([0.05, 5.0]))
    assert [(pair.link, pair.other) for pair in found.distances(np.array([0.05, 0.0]))] == [
        ("forearm", "cup")
    ]


# ---- Ladder, batches and refusals ------------------------------------------------------------------


def test_refinement_clears_only_its_own_pair():
    """Two links beside two obstacles: spheres see both in contact, hulls clear one and not the other."""
    robot = robot_of({"left": [box(0.2, 0.2, 0.1)], "right": [box(0.2, 0.2, 0.1)]})
    matrix = AllowedCollisionMatrix([("left", "right")])
    near, touching = bulge(), (5.0, 0.105, 0.0, 0.01)
    both = TwoTierCollisionChecker(robot, None, 0.05, 0.0, environment=env_of(near, touching), allowed=matrix)
    rows = np.array([[0.0, 5.0], [0.0, -5.0], [-5.0, 5.0]])
    assert both.check_collision(rows).tolist() == [True, False, True]
    spheres = TwoTierCollisionChecker(
        robot, None, 0.0, 0.0, environment=env_of(near, touching), allowed=matrix
    )
    assert spheres.check_collision(rows).tolist() == [True, True, True]


def test_batches_are_the_single_answers_and_empty_ones_are_empty():
    rng = np.random.default_rng(4)
    robot = lg.load_robot("franka_panda")
    environment = env_of(*np.column_stack([rng.uniform(-0.8, 0.8, (14, 3)), rng.uniform(0.02, 0.08, 14)]))
    matrix = AllowedCollisionMatrix.from_robot(robot)
    found = TwoTierCollisionChecker(robot, None, 0.05, 0.0, environment=environment, allowed=matrix)
    low, high = found.model.planned._low[:7], found.model.planned._high[:7]
    rows = rng.uniform(low, high, (60, 7))
    fingers = np.zeros(len(found.model.gripper_joint_names))
    batch = found.check_batch(rows, gripper_positions=fingers)
    for index, row in enumerate(rows):
        assert found.min_distance(row, gripper_positions=fingers) == batch.distance_m[index]
        assert found.check_collision(row, gripper_positions=fingers) == batch.in_collision[index]
    assert found.check_batch(np.empty((0, 7))).in_collision.shape == (0,)
    assert batch.in_collision.sum() > 0


def test_no_rung_is_farther_than_the_gates_own_double_path_allows():
    """The gate's batch and the ladder share no tables: neither may be clear where the other shows a deep contact."""
    rng = np.random.default_rng(8)
    robot = lg.load_robot("ur5")
    matrix = AllowedCollisionMatrix([pair.links for pair in robot.unchecked_pairs])
    found = TwoTierCollisionChecker(robot, SphereGenConfig.default(), 0.1, 0.0, allowed=matrix)
    plain = robot.model_copy(
        update={"safety": lg.SafetyEnvelope(self_collision_margin_m=0.0, world_collision_margin_m=0.0)}
    )
    gate = lg.Gate(plain, step_s=1.0)
    rows = rng.uniform(-np.pi, np.pi, (300, 6))
    ours = found.check_batch(rows)
    gates = gate.check_batch(rows, world=lg.NO_WORLD)
    # Hulls decide in both; a volume that clears a pair spares the gate the hulls, never the other way round.
    assert not (ours.in_collision & (gates.clearance_m > 1e-3) & (ours.distance_m < -1e-3)).any()
    assert not (~ours.in_collision & (ours.distance_m > 1e-6) & ~gates.accepted).any()
    assert 20 < ours.in_collision.sum() < 280


def test_leaving_solid_bounds_is_never_cleared_by_refinement():
    robot = robot_of({"arm": [box(0.2, 0.2, 0.1)]})
    closed = CollisionEnvironment.build([], 0.05, ((-1.0,) * 3, (1.0,) * 3), outside="occupied")
    found = TwoTierCollisionChecker(robot, None, 1.0, 0.0, environment=closed)
    assert found.check_collision(np.array([[0.0], [0.95], [-5.0]])).tolist() == [False, True, True]
    pair = found.nearest(np.array([0.95]))
    assert pair is not None
    assert (pair.other, pair.normal) == ("outside", None)


def test_solid_voxels_are_met_by_hulls():
    occupancy = np.zeros((4, 4, 4), dtype=np.uint8)
    occupancy[1:3, 1:3, 1:3] = 1
    voxels = lg.Voxels(
        occupancy=occupancy, origin_xyz=(-0.2, -0.2, -0.2), resolution_m=0.1, outside="free", stamp_s=0.0
    )
    environment = env_of(voxels=voxels)
    robot = robot_of({"arm": [box(0.02, 0.02, 0.02)]})
    found = TwoTierCollisionChecker(robot, None, 0.5, 0.0, environment=environment)
    rows = np.array([[0.0], [0.1], [0.115], [0.3]])
    assert found.check_collision(rows).tolist() == [True, True, False, False]
    assert found.min_distance(rows)[2] == pytest.approx(0.005, abs=WRITTEN_M)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"refinement_margin": -0.1}, "refinement_margin"),
        ({"safety_margin": math.nan}, "safety_margin"),
        ({"environment": lg.NO_WORLD}, "expected a CollisionEnvironment"),
        ({"config": "coarse"}, "expected a SphereGenConfig"),
    ],
)
def test_checker_that_means_nothing_is_refused(arguments, message):
    with pytest.raises(lg.ROSConfigError, match=message):
        TwoTierCollisionChecker(robot_of({"arm": [sphere(0.05)]}), **arguments)


def test_distances_are_asked_of_one_configuration():
    found = checker([sphere(0.05)], (1, 0, 0, 0.1))
    with pytest.raises(lg.ROSConfigError, match="one configuration"):
        found.distances(np.zeros((2, 1)))
    assert found.nearest(ZERO, within_m=0.1) is None


def test_capsule_volumes_without_hulls_climb_to_themselves():
    robot = lg.RobotDescription(
        name="bar",
        base_frame="base",
        joints=[joint("turn", "base", "arm")],
        collision_geometry=[capsule_on("arm", 0.05, 0.8, (0.5, 0.0, 0.0), (0.0, np.pi / 2, 0.0))],
    )
    found = TwoTierCollisionChecker(robot, None, 0.5, 0.0, environment=env_of((0.5, 0.2, 0.0, 0.1)))
    assert found.min_distance(ZERO) == pytest.approx(0.05, abs=1e-8)
    assert not found.check_collision(ZERO)
    assert found.check_collision(np.radians([30.0]))
