# SPDX-License-Identifier: Apache-2.0
"""The robot library's convex hulls, and the gate that uses them, against the meshes.

What is compared: verdicts of single configurations and of steps. Reference: Pinocchio's kinematics and Coal on the
meshes as they are, and a winding number for what lies wholly inside a mesh. Containment needs no reference.
"""

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import linprog

import lastgate as lg
from lastgate.contracts.convex_hulls import LinkHull
from lastgate.robots import find_manifest, load_robot
from lastgate.tools.assets import resolve_asset
from lastgate.tools.lowering.error_rates import (
    TIER_ONE,
    TIER_TWO,
    RobotUnderTest,
    measure_configurations,
    measure_segments,
)
from lastgate.tools.lowering.lower import read_description
from lastgate.tools.lowering.triangles import winding_number

ROBOTS = ["franka_panda", "g1", "so101_follower", "ur10", "ur5", "xarm7"]
FALSE_REJECTION_RATE_MAX = 0.005
# The spheres of its feet fit into hollows of shells that no 64 hulls leave quite empty.
FALSE_REJECTION_RATE_MAX_OF = {"g1": 0.006}


def subject_of(name: str) -> RobotUnderTest:
    robot = load_robot(name)
    assert robot.assets.urdf is not None
    urdf = resolve_asset(robot.assets.urdf.ref, "urdf", find_manifest(name).parent)
    assert isinstance(urdf, Path)
    return RobotUnderTest(robot, urdf)


def require_rates(name: str, samples: int) -> None:
    subject = subject_of(name)
    errors = measure_configurations(subject, subject.draw(samples))
    refined = errors[TIER_TWO]
    assert errors[TIER_ONE].missed_collisions == 0, errors[TIER_ONE].false_rejection_pairs
    assert refined.missed_collisions == 0, refined.false_rejection_pairs
    # Three standard errors of the allowed rate over the clear samples.
    allowed = FALSE_REJECTION_RATE_MAX_OF.get(name, FALSE_REJECTION_RATE_MAX)
    slack = 3.0 * np.sqrt(allowed / max(refined.clear, 1))
    assert refined.false_rejection_rate <= allowed + slack, str(refined)
    assert refined.false_rejections < errors[TIER_ONE].false_rejections


@pytest.mark.parametrize("name", ["franka_panda", "ur5"])
def test_hulls_miss_nothing_and_reject_little(name: str) -> None:
    require_rates(name, 1500)


@pytest.mark.library
@pytest.mark.parametrize("name", ROBOTS)
def test_hulls_miss_nothing_and_reject_little_in_twenty_thousand(name: str) -> None:
    require_rates(name, 20_000)


@pytest.mark.parametrize("name", ["franka_panda", "ur5"])
def test_steps_near_contact_are_never_missed(name: str) -> None:
    subject = subject_of(name)
    errors = measure_segments(subject, subject.draw_near(25))
    assert errors[TIER_TWO].missed_collisions == 0
    assert errors[TIER_TWO].touching > 0
    assert errors[TIER_TWO].false_rejections <= errors[TIER_ONE].false_rejections


def is_inside(point: NDArray[np.float64], hull: LinkHull) -> bool:
    """Returns, by a linear program, whether a box of the hull's radius around a point meets the hull."""
    vertices = np.array(hull.vertices_m)
    reach = hull.radius_m / np.sqrt(3.0) + 1e-9  # the box inside the sphere of that radius
    count = len(vertices)
    bounds = np.concatenate([point + reach, -(point - reach)])
    found = linprog(
        np.zeros(count),
        A_ub=np.concatenate([vertices.T, -vertices.T]),
        b_ub=bounds,
        A_eq=np.ones((1, count)),
        b_eq=[1.0],
        bounds=(0.0, None),
    )
    return bool(found.status == 0)


@pytest.mark.parametrize("name", ["franka_panda", "ur5", "so101_follower"])
def test_random_points_of_the_surface_lie_in_a_hull(name: str) -> None:
    robot = load_robot(name)
    rng = np.random.default_rng(5)
    for link, shapes in read_description(robot, find_manifest(name).parent).shapes.items():
        hulls = [hull for hull in robot.loaded_hulls if hull.link_name == link]
        assert hulls
        chosen = shapes.triangles[rng.integers(len(shapes.triangles), size=12)]
        for triangle in chosen:
            point = rng.dirichlet(np.ones(3)) @ triangle
            # The radius may be needed in full, along one direction: the box test is stricter than the truth.
            grown = [LinkHull(p.link_name, p.radius_m * 1.8, p.vertices_m) for p in hulls]
            assert any(is_inside(point, hull) for hull in grown), (link, point)


@pytest.mark.parametrize("name", ["franka_panda", "ur5", "so101_follower"])
def test_random_points_inside_the_meshes_lie_in_a_hull(name: str) -> None:
    robot = load_robot(name)
    rng = np.random.default_rng(6)
    found = 0
    for link, shapes in read_description(robot, find_manifest(name).parent).shapes.items():
        hulls = [hull for hull in robot.loaded_hulls if hull.link_name == link]
        for mesh in (source.triangles_in_link() for source in shapes.sources if source.kind == "mesh"):
            low, high = mesh.min(axis=(0, 1)), mesh.max(axis=(0, 1))
            inside = [p for p in rng.uniform(low, high, (20, 3)) if winding_number(p, mesh) > 0.5]
            found += len(inside)
            assert not any(is_inside(high + 0.01, hull) for hull in hulls)
            for point in inside:
                assert any(is_inside(point, hull) for hull in hulls), (link, point)
    assert found > 50


def test_a_hull_made_smaller_is_seen_as_missed_collisions() -> None:
    robot = load_robot("franka_panda")
    shrunk = tuple(
        LinkHull(hull.link_name, 0.0, (tuple(np.mean(hull.vertices_m, axis=0).tolist()),))
        for hull in robot.loaded_hulls
    )
    urdf = resolve_asset(robot.assets.urdf.ref, "urdf", find_manifest("franka_panda").parent)
    subject = RobotUnderTest(robot.with_loaded_hulls(shrunk), urdf)
    errors = measure_configurations(subject, subject.draw(400))
    assert errors[TIER_TWO].missed_collisions > 0


def test_every_shipped_robot_with_meshes_has_hulls_on_every_link_with_volumes() -> None:
    for name in lg.robot_names():
        robot = load_robot(name)
        if robot.assets.urdf is None or robot.convex_pieces is None:
            continue
        volumes = {volume.link_name for volume in robot.collision_geometry}
        assert {hull.link_name for hull in robot.loaded_hulls} == volumes, name
