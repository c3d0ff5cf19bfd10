# SPDX-License-Identifier: Apache-2.0
"""Cases about covering a robot with spheres that other implementations get wrong: nothing of a link may stick out."""

import functools
import itertools

import numpy as np
import pytest
from fixtures.analytic_robots import capsule_on, joint, sphere_on
from fixtures.shape_robots import box, capsule, cylinder, hulls_of, mesh, placed, robot_of, sphere

import lastgate as lg
from lastgate.planning.collision import RobotSphereModel, SphereGenConfig, TwoTierCollisionChecker
from lastgate.planning.collision.sphere_cutting import cover_hulls

PRESETS = {name: getattr(SphereGenConfig, name)() for name in ("coarse", "default", "fine")}


@functools.cache
def model_of(name: str, preset: str) -> RobotSphereModel:
    return RobotSphereModel.from_robot(lg.load_robot(name), PRESETS[preset])


def uncovered_m(points: np.ndarray, spheres: np.ndarray) -> float:
    """Returns how far the worst point sticks out of all spheres; not above 0 when all are covered."""
    worst = -np.inf
    for block in np.array_split(points, max(len(points) // 2000, 1)):
        gaps = np.linalg.norm(block[:, None] - spheres[None, :, :3], axis=2) - spheres[None, :, 3]
        worst = max(worst, float(gaps.min(axis=1).max()))
    return worst


def spheres_of(shapes, config) -> np.ndarray:
    return np.array(
        [(*sphere.centre, sphere.radius_m) for sphere in cover_hulls(hulls_of("arm", shapes), config)]
    )


def grid(low, high, count=15):
    axes = [np.linspace(a, b, count) for a, b in zip(low, high, strict=True)]
    return np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3)


def points_of_cylinder(radius_m, length_m):
    angle, height, radius = np.linspace(0, 2 * np.pi, 49), np.linspace(-0.5, 0.5, 41), np.linspace(0, 1, 7)
    a, h, r = (part.ravel() for part in np.meshgrid(angle, height, radius, indexing="ij"))
    return np.stack([radius_m * r * np.cos(a), radius_m * r * np.sin(a), length_m * h], axis=1)


def test_case_38_robot_without_geometry_reports_it_and_is_not_waved_through():
    robot = lg.RobotDescription(name="bare", base_frame="base", joints=[joint("turn", "base", "arm")])
    model = RobotSphereModel.from_robot(robot)
    assert model.sphere_count == 0
    assert model.links_without_geometry == ("base", "arm")
    assert model.place(np.zeros((3, 1))).shape == (3, 0, 4)
    with pytest.raises(lg.ROSConfigError, match="no volume covers the moving link `arm`"):
        TwoTierCollisionChecker(robot)


@pytest.mark.parametrize("preset", PRESETS)
def test_case_39_sphere_model_is_one_sphere_of_its_own_radius(preset):
    model = RobotSphereModel.from_robot(robot_of({"arm": [sphere(0.05)]}), PRESETS[preset])
    assert model.sphere_count == 1
    # A hundredth of a millimetre is the unit in which hulls are written.
    assert 0.05 <= model.radius[0] <= 0.05 + 2e-5
    volumes = lg.RobotDescription(
        name="sphere",
        base_frame="base",
        joints=[joint("turn", "base", "arm")],
        collision_geometry=[sphere_on("arm", 0.05)],
    )
    assert RobotSphereModel.from_robot(volumes, PRESETS[preset]).radius.tolist() == [0.05]


def test_case_40_presets_are_what_they_are_called():
    coarse, default, fine = PRESETS.values()
    assert (coarse.spheres_per_link_max, coarse.radius_m_max) == (8, 0.10)
    assert (default.spheres_per_link_max, default.radius_m_max) == (32, 0.05)
    assert (fine.spheres_per_link_min, fine.spheres_per_link_max, fine.radius_m_max) == (4, 64, 0.02)


@pytest.mark.parametrize("name", ["ur5"])
def test_case_40_counts_grow_with_the_preset_and_what_was_achieved_is_reported(name):
    counts = []
    for preset, config in PRESETS.items():
        model = model_of(name, preset)
        for cover in model.covers:
            own = model.link == model.link_names.index(cover.link_name)
            assert cover.sphere_count == own.sum() <= config.spheres_per_link_max
            assert cover.radius_m == model.radius[own].max()
            assert cover.meets_config == (cover.overshoot_m <= config.radius_m_max)
            assert 0.0 < cover.overshoot_m <= cover.radius_m
        counts.append(model.sphere_count)
    assert counts == sorted(counts)
    assert counts[0] < counts[2]


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize(("radius_m", "length_m"), [(0.04, 0.3), (0.035, 0.36), (0.05, 1.0), (0.15, 0.06)])
def test_case_41_every_point_of_a_cylinder_is_covered(preset, radius_m, length_m):
    spheres = spheres_of([cylinder(radius_m, length_m)], PRESETS[preset])
    assert uncovered_m(points_of_cylinder(radius_m, length_m), spheres) <= 0.0
    # Twin: the same spheres a millimetre smaller leave something out, so the test can tell.
    smaller = spheres - [0.0, 0.0, 0.0, 0.001]
    assert uncovered_m(points_of_cylinder(radius_m, length_m), smaller) > 0.0


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("size", [(0.2, 0.2, 0.1), (0.5, 0.5, 0.01), (0.6, 0.04, 0.03)])
@pytest.mark.parametrize("turned", [False, True])
def test_case_42_every_point_of_a_box_is_covered_and_the_overshoot_holds(preset, size, turned):
    c, s = np.cos(0.7), np.sin(0.7)
    pose = placed((0.3, -0.2, 0.1), [[c, -s, 0], [s, c, 0], [0, 0, 1]]) if turned else placed()
    robot = robot_of({"arm": [box(*size, pose)]})
    model = RobotSphereModel.from_robot(robot, PRESETS[preset])
    half = np.array(size) / 2
    points = grid(-half, half) @ pose[:3, :3].T + pose[:3, 3]
    assert uncovered_m(points, model.spheres_in_links) <= 0.0
    (cover,) = model.covers
    # The farthest a sphere stands out, measured in the box's own frame.
    directions = np.array([d for d in itertools.product((-1, 0, 1), repeat=3) if any(d)], dtype=float)
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    surface = (
        model.spheres_in_links[:, None, :3] + model.spheres_in_links[:, None, 3:] * directions[None]
    ).reshape(-1, 3)
    local = (surface - pose[:3, 3]) @ pose[:3, :3]
    stands_out = np.linalg.norm(np.maximum(np.abs(local) - half, 0.0), axis=1).max()
    assert stands_out <= cover.overshoot_m + 1e-4  # hulls are written in hundredths of a millimetre
    assert cover.overshoot_m <= cover.radius_m


def test_case_43_more_spheres_are_never_looser_than_one():
    cube = hulls_of("arm", [box(0.3, 0.3, 0.3)])
    one = cover_hulls(cube, SphereGenConfig(radius_m_max=10.0, spheres_per_link_max=1))
    reach = [np.linalg.norm(sphere.centre) + sphere.radius_m for sphere in one]
    assert len(one) == 1
    assert reach[0] == pytest.approx(0.15 * np.sqrt(3.0), abs=1e-3)
    for config in PRESETS.values():
        # Along an axis, where the single sphere reaches 11 cm beyond the cube, and farthest from the cube anywhere.
        along = [np.abs(sphere.centre).max() + sphere.radius_m for sphere in cover_hulls(cube, config)]
        assert max(along) < reach[0]
        # How far a sphere stands out of the cube: its radius less how deep its middle lies.
        out = [sphere.radius_m - (0.15 - np.abs(sphere.centre).max()) for sphere in cover_hulls(cube, config)]
        assert max(out) <= reach[0] - 0.15


def test_case_44_box_is_as_large_as_its_size_says():
    (hull,) = hulls_of("arm", [box(0.2, 0.2, 0.1)])
    vertices = np.abs(np.array(hull.vertices_m))
    assert vertices.max(axis=0).tolist() == [0.1, 0.1, 0.05]
    spheres = spheres_of([box(0.2, 0.2, 0.1)], SphereGenConfig(radius_m_max=1.0, spheres_per_link_max=1))
    assert spheres[0, 3] == pytest.approx(0.15, abs=1e-4)  # half the diagonal


def test_case_45_mesh_is_covered_at_its_scale():
    import trimesh

    solid = trimesh.creation.box(extents=(200.0, 200.0, 200.0))
    triangles = np.asarray(solid.triangles) * 0.001
    config = SphereGenConfig(radius_m_max=1.0, spheres_per_link_max=1)
    (sphere,) = spheres_of([mesh(triangles)], config)
    assert sphere[3] >= 0.1 * np.sqrt(3.0)
    assert uncovered_m(grid((-0.1,) * 3, (0.1,) * 3), spheres_of([mesh(triangles)], PRESETS["fine"])) <= 0.0


def test_case_47_capsule_is_covered_with_its_caps():
    spheres = spheres_of([capsule(0.05, 0.3)], PRESETS["coarse"])
    assert max(sphere[2] + sphere[3] for sphere in spheres) >= 0.2
    angles = np.linspace(0, np.pi / 2, 12)
    cap = np.array(
        [
            (0.05 * np.cos(a) * np.cos(b), 0.05 * np.cos(a) * np.sin(b), 0.15 + 0.05 * np.sin(a))
            for a in angles
            for b in np.linspace(0, 2 * np.pi, 24)
        ]
    )
    for config in PRESETS.values():
        spheres = spheres_of([capsule(0.05, 0.3)], config)
        assert uncovered_m(np.concatenate([cap, -cap]), spheres) <= 0.0
        assert uncovered_m(points_of_cylinder(0.05, 0.3), spheres) <= 0.0


def test_case_48_sphere_is_where_its_link_is():
    robot = lg.RobotDescription(
        name="mast",
        base_frame="base",
        joints=[
            joint(
                "slide", "base", "arm", joint_type="prismatic", axis_xyz=[1, 0, 0], origin_xyz=[0, 2.0, 3.0]
            )
        ],
        collision_geometry=[sphere_on("arm", 0.05)],
    )
    placed_spheres = RobotSphereModel.from_robot(robot).place(np.array([1.0]))
    np.testing.assert_allclose(placed_spheres, [[1.0, 2.0, 3.0, 0.05]], atol=1e-10)


def test_case_49_padding_and_scale_in_this_order_and_on_one_link_only():
    robot = robot_of({"arm": [sphere(0.05)], "hand": [sphere(0.02)]})
    model = RobotSphereModel.from_robot(robot)
    r = model.radius
    assert model.padded(0.1).radius.tolist() == (r + 0.1).tolist()
    assert model.padded(scale=2.0).radius.tolist() == (2.0 * r).tolist()
    assert model.padded(0.1, scale=2.0).radius.tolist() == (2.0 * r + 0.1).tolist()
    assert model.padded(0.5, links=["arm"]).radius.tolist() == [r[0] + 0.5, r[1]]
    assert model.radius.tolist() == r.tolist(), "the model itself stays as it is"
    assert model.padded(0.1).covers[0].overshoot_m >= 0.1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"padding_m": -999.0}, "padding_m"),
        ({"padding_m": float("nan")}, "padding_m"),
        ({"scale": 0.5}, "smaller spheres cover nothing"),
        ({"scale": float("nan")}, "smaller spheres cover nothing"),
        ({"padding_m": 0.1, "links": ["tail"]}, "no link `tail`"),
    ],
)
def test_case_49_padding_that_would_break_the_cover_is_refused(arguments, message):
    model = RobotSphereModel.from_robot(robot_of({"arm": [sphere(0.05)]}))
    with pytest.raises(lg.ROSConfigError, match=message):
        model.padded(**arguments)


def test_case_50_every_link_of_a_branching_robot_gets_its_own_pose():
    slide = {"joint_type": "prismatic", "axis_xyz": [1, 0, 0]}
    robot = lg.RobotDescription(
        name="branches",
        base_frame="base",
        joints=[
            joint("a", "base", "arm", origin_xyz=[0, 1, 0], **slide),
            joint("g", "base", "gripper", origin_xyz=[0, -1, 0], **slide),
            joint("f", "arm", "fore", origin_xyz=[0, 1, 0], **slide),
        ],
        collision_geometry=[sphere_on("fore", 0.03), sphere_on("gripper", 0.02), sphere_on("arm", 0.01)],
    )
    model = RobotSphereModel.from_robot(robot)
    found = {
        model.link_names[link]: sphere.tolist()
        for link, sphere in zip(model.link, model.place(np.array([0.1, 0.2, 0.3])), strict=True)
    }
    assert found["arm"] == pytest.approx([0.1, 1.0, 0.0, 0.01])
    assert found["gripper"] == pytest.approx([0.2, -1.0, 0.0, 0.02])
    assert found["fore"] == pytest.approx([0.4, 2.0, 0.0, 0.03])


def test_fingers_that_no_caller_placed_are_covered_wherever_they_are():
    from fixtures.analytic_robots import gripper_arm

    model = RobotSphereModel.from_robot(lg.RobotDescription(**gripper_arm()))
    anywhere = model.place(np.array([0.5]))[1]
    for position in np.linspace(0.0, 0.04, 9):
        sphere = model.place(np.array([0.5]), gripper_positions=[position])[1]
        assert np.linalg.norm(sphere[:3] - anywhere[:3]) + sphere[3] <= anywhere[3] + 1e-12
        assert sphere[3] == 0.01


@pytest.mark.parametrize(
    ("name", "preset"), [("franka_panda", "default"), *(("ur5", preset) for preset in PRESETS)]
)
def test_every_vertex_of_every_hull_is_held_and_so_is_what_lies_between(name, preset):
    model = model_of(name, preset)
    robot = model.robot
    rng = np.random.default_rng(7)
    for link in {hull.link_name for hull in robot.loaded_hulls}:
        spheres = model.spheres_in_links[model.link == model.link_names.index(link)]
        for hull in robot.loaded_hulls:
            if hull.link_name != link:
                continue
            vertices = np.array(hull.vertices_m)
            inner = rng.dirichlet(np.full(len(vertices), 0.15), 150) @ vertices
            away = rng.normal(size=inner.shape)
            inner += hull.radius_m * away / np.linalg.norm(away, axis=1, keepdims=True)
            assert uncovered_m(np.concatenate([vertices, inner]), spheres) <= 0.0, link


@pytest.mark.parametrize(
    ("configurations", "message"),
    [
        (np.zeros((2, 3)), "3 columns, this robot has 1 joints"),
        (np.zeros((2, 1), dtype=np.float32), "float64"),
        (np.zeros((4, 2))[::2, :1], "strided"),
        (np.array([[np.nan]]), "joint `slide_arm`"),
        (np.array([[np.inf]]), "joint `slide_arm`"),
        (np.array([[20.1]]), "limits are -20.0 and 20.0"),
        (np.zeros((1, 1, 1)), "dimensions"),
        ("zero", "is a str"),
    ],
)
def test_configurations_that_cannot_be_placed_are_refused(configurations, message):
    model = RobotSphereModel.from_robot(robot_of({"arm": [sphere(0.05)]}))
    with pytest.raises(lg.ROSConfigError, match=message):
        model.place(configurations)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"radius_m_max": 0.0, "spheres_per_link_max": 4}, "radius_m_max"),
        ({"radius_m_max": float("nan"), "spheres_per_link_max": 4}, "radius_m_max"),
        ({"radius_m_max": 0.1, "spheres_per_link_max": 0}, "spheres_per_link_max"),
        ({"radius_m_max": 0.1, "spheres_per_link_max": 2.0}, "whole number"),
        ({"radius_m_max": 0.1, "spheres_per_link_max": True}, "whole number"),
        (
            {"radius_m_max": 0.1, "spheres_per_link_min": 9, "spheres_per_link_max": 4},
            "above spheres_per_link_max",
        ),
    ],
)
def test_config_that_means_nothing_is_refused(arguments, message):
    with pytest.raises(lg.ROSConfigError, match=message):
        SphereGenConfig(**arguments)


def test_config_without_a_word_is_the_default_and_no_other():
    assert SphereGenConfig() == SphereGenConfig.default()
    assert SphereGenConfig() == SphereGenConfig(radius_m_max=0.05, spheres_per_link_max=32)
    assert SphereGenConfig() not in (SphereGenConfig.coarse(), SphereGenConfig.fine())
    with pytest.raises(TypeError):
        SphereGenConfig(0.05)  # which of the numbers is it?


def test_other_things_than_robots_and_configs_are_refused():
    with pytest.raises(lg.ROSConfigError, match="expected a RobotDescription"):
        RobotSphereModel.from_robot("franka_panda")
    with pytest.raises(lg.ROSConfigError, match="expected a SphereGenConfig"):
        RobotSphereModel.from_robot(robot_of({"arm": [sphere(0.05)]}), "fine")


def test_capsule_volumes_are_covered_where_there_are_no_hulls():
    robot = lg.RobotDescription(
        name="bar",
        base_frame="base",
        joints=[joint("turn", "base", "arm")],
        collision_geometry=[capsule_on("arm", 0.05, 0.8, (0.5, 0.0, 0.0), (0.0, np.pi / 2, 0.0))],
    )
    for config in PRESETS.values():
        model = RobotSphereModel.from_robot(robot, config)
        points = points_of_cylinder(0.05, 0.8)[:, [2, 1, 0]] + [0.5, 0.0, 0.0]
        assert uncovered_m(points, model.spheres_in_links) <= 1e-12
