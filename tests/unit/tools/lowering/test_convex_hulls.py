# SPDX-License-Identifier: Apache-2.0
"""Links are cut where they are hollow, and what each cut and radius is chosen by is what it says."""

import numpy as np
import pytest
from scipy.spatial import ConvexHull

from lastgate.contracts.convex_hulls import LinkHull
from lastgate.contracts.exceptions import ROSConfigError
from lastgate.planning import _fitting
from lastgate.robots import load_robot
from lastgate.tools.lowering.convex_decomposition import (
    _growing_hulls_m3,
    convex_hulls,
    fine_hulls_of_link,
    hulls_of_link,
)
from lastgate.tools.lowering.convex_file import lower_convex_hulls
from lastgate.tools.lowering.convex_hulls import _farthest_m, distance_to_hull_m, link_hull
from lastgate.tools.lowering.rigid import apply, transform
from lastgate.tools.lowering.shapes import LinkShapes, SourceShape
from lastgate.tools.lowering.surface_points import surface_samples
from lastgate.tools.lowering.triangles import box_triangles


def boxes(*placed: tuple[tuple[float, float, float], tuple[float, float, float]]) -> LinkShapes:
    """Returns one mesh of several boxes, each given by its size and centre."""
    soup = np.concatenate(
        [apply(transform(at, (0.0, 0.0, 0.0)), box_triangles(np.array(size))) for size, at in placed]
    )
    return LinkShapes.of("link", [SourceShape("mesh", np.eye(4), (), soup)])


# A plate with a wall at each end and one on each side: hollow in the middle, and no single plane makes it less so.
TRAY = boxes(
    ((0.2, 0.2, 0.02), (0.0, 0.0, 0.01)),
    ((0.02, 0.2, 0.1), (-0.09, 0.0, 0.05)),
    ((0.02, 0.2, 0.1), (0.09, 0.0, 0.05)),
    ((0.2, 0.02, 0.1), (0.0, -0.09, 0.05)),
    ((0.2, 0.02, 0.1), (0.0, 0.09, 0.05)),
)


def hulls_m3(shapes: LinkShapes, per_link_max: int) -> float:
    return sum(
        float(ConvexHull(np.array(hull.vertices_m)).volume)
        for hull in hulls_of_link(shapes, per_link_max=per_link_max)
    )


def test_hollow_in_the_middle_is_cut_free() -> None:
    whole_m3 = 0.2 * 0.2 * 0.1
    hollow_m3 = 0.16 * 0.16 * 0.08
    assert hulls_m3(TRAY, 1) > 0.99 * whole_m3
    assert hulls_m3(TRAY, 8) < whole_m3 - 0.35 * hollow_m3


@pytest.mark.parametrize("hulls_of", [hulls_of_link, fine_hulls_of_link])
def test_mesh_that_is_drawn_and_collided_with_is_cut_once(hulls_of) -> None:
    [mesh] = TRAY.sources
    twice = LinkShapes.of("link", [mesh, mesh])
    assert hulls_of(twice, per_link_max=8) == hulls_of(TRAY, per_link_max=8)
    moved = boxes(((0.2, 0.2, 0.02), (0.0, 0.0, 0.5))).sources
    both = hulls_of(LinkShapes.of("link", [mesh, *moved]), per_link_max=8)
    assert max(vertex[2] for hull in both for vertex in hull.vertices_m) > 0.5


def test_convex_link_is_one_hull() -> None:
    assert len(hulls_of_link(boxes(((0.1, 0.2, 0.3), (0.0, 0.0, 0.0))), per_link_max=8)) == 1


def test_hulls_contain_the_surface() -> None:
    hulls = hulls_of_link(TRAY, per_link_max=8)
    points = surface_samples(TRAY.triangles, 0.01)
    outside = np.full(len(points), np.inf)
    for hull in hulls:
        faces = ConvexHull(np.array(hull.vertices_m)).equations
        outside = np.minimum(outside, (points @ faces[:, :3].T + faces[:, 3]).max(axis=1) - hull.radius_m)
    assert outside.max() <= 1e-9
    assert len(hulls) > 1


def test_hulls_that_grow_are_the_hulls_of_all_points_below() -> None:
    points = np.random.default_rng(1).normal(size=(400, 3))
    offsets = [-3.9, -1.0, 0.0, 0.5, 2.0]
    found = _growing_hulls_m3(points, points[:, 2], offsets)
    assert found[0] is None
    for offset, volume in zip(offsets[1:], found[1:], strict=True):
        assert volume is not None
        np.testing.assert_allclose(volume, ConvexHull(points[points[:, 2] <= offset]).volume, rtol=1e-9)


def test_torn_hull_is_left_to_qhull(monkeypatch: pytest.MonkeyPatch) -> None:
    points = np.random.default_rng(4).normal(size=(200, 3))
    offsets = [-9.0, -1.0, 0.0, 2.0]
    grown = _growing_hulls_m3(points, points[:, 0], offsets)
    monkeypatch.setattr(_fitting, "growing_hulls", lambda *_: None)
    built = _growing_hulls_m3(points, points[:, 0], offsets)
    assert grown[0] is None
    assert built[0] is None
    np.testing.assert_allclose(np.array(grown[1:]), np.array(built[1:]), rtol=1e-12)


def test_farthest_point_is_found_without_asking_about_every_point() -> None:
    rng = np.random.default_rng(2)
    vertices = rng.normal(size=(30, 3))
    points = np.concatenate([vertices + 1e-6, 1.2 * rng.normal(size=(50, 3))])
    assert _farthest_m(points, vertices) == max(distance_to_hull_m(point, vertices) for point in points)


def test_radius_of_a_round_hull_covers_the_vertices_left_out() -> None:
    directions = np.random.default_rng(3).normal(size=(3000, 3))
    sphere = 0.1 * directions / np.linalg.norm(directions, axis=1)[:, None]
    hull = link_hull("link", sphere)
    vertices = np.array(hull.vertices_m)
    assert len(vertices) < 200
    assert max(distance_to_hull_m(point, vertices) for point in sphere) <= hull.radius_m < 0.003


def with_inside(shapes: LinkShapes) -> LinkShapes:
    """Returns the boxes of a link with their triangles turned outwards, as meshes have them."""
    groups = shapes.triangles.reshape(-1, 12, 3, 3)
    inside = groups.mean(axis=(1, 2))[:, None]
    normal = np.cross(groups[:, :, 1] - groups[:, :, 0], groups[:, :, 2] - groups[:, :, 0])
    inward = np.einsum("bij,bij->bi", normal, groups[:, :, 0] - inside) < 0.0
    soup = np.where(inward[..., None, None], groups[:, :, ::-1], groups).reshape(-1, 3, 3)
    return LinkShapes.of("link", [SourceShape("mesh", np.eye(4), (), soup)])


SOLID_TRAY = with_inside(TRAY)
# A closed box of 10 mm walls around a smaller one that touches none of them.
HOLLOW_BOX = with_inside(
    boxes(
        ((0.2, 0.2, 0.01), (0.0, 0.0, -0.095)),
        ((0.2, 0.2, 0.01), (0.0, 0.0, 0.095)),
        ((0.01, 0.2, 0.18), (-0.095, 0.0, 0.0)),
        ((0.01, 0.2, 0.18), (0.095, 0.0, 0.0)),
        ((0.18, 0.01, 0.18), (0.0, -0.095, 0.0)),
        ((0.18, 0.01, 0.18), (0.0, 0.095, 0.0)),
        ((0.02, 0.02, 0.02), (0.05, 0.0, 0.0)),
    )
)


def outside_m(points: np.ndarray, hulls: list[LinkHull]) -> np.ndarray:
    """Returns how far each point is outside every hull: by the planes of its hull, flat hulls by their vertices."""
    found = np.full(len(points), np.inf)
    for hull in hulls:
        vertices = np.array(hull.vertices_m)
        if np.ptp(vertices, axis=0).min() == 0.0:
            away = np.array([distance_to_hull_m(point, vertices) for point in points])
        else:
            faces = ConvexHull(vertices).equations
            away = (points @ faces[:, :3].T + faces[:, 3]).max(axis=1)
        found = np.minimum(found, away - hull.radius_m)
    return found


@pytest.mark.parametrize("shapes", [SOLID_TRAY, HOLLOW_BOX])
def test_fine_hulls_contain_the_surface_and_the_inside_of_the_walls(shapes: LinkShapes) -> None:
    hulls = fine_hulls_of_link(shapes, per_link_max=24)
    assert outside_m(surface_samples(shapes.triangles, 0.01), hulls).max() <= 1e-9
    middle_of_the_wall = np.array(
        [[x, y, 0.01 if shapes is SOLID_TRAY else -0.095] for x in (-0.05, 0.0, 0.05) for y in (-0.05, 0.0)]
    )
    assert outside_m(middle_of_the_wall, hulls).max() <= 0.0


def test_fine_hulls_leave_the_room_inside_a_shell_empty() -> None:
    room = np.random.default_rng(4).uniform(-0.08, 0.08, (300, 3))
    room = room[np.abs(room - np.array([0.05, 0.0, 0.0])).max(axis=1) > 0.02]
    fine = fine_hulls_of_link(HOLLOW_BOX, per_link_max=24)
    assert len(fine) <= 24
    # Reject twin: one hull fills the room.
    assert np.mean(outside_m(room, fine_hulls_of_link(HOLLOW_BOX, per_link_max=1)) <= 0.0) == 1.0
    assert np.mean(outside_m(room, fine) <= 0.0) < 0.1


def test_fine_hulls_halve_what_is_rounder_than_its_vertices() -> None:
    angle = np.random.default_rng(5).normal(size=(900, 3))
    sphere = ConvexHull(0.08 * angle / np.linalg.norm(angle, axis=1)[:, None])
    shapes = LinkShapes.of("link", [SourceShape("mesh", np.eye(4), (), sphere.points[sphere.simplices])])
    one, four = (fine_hulls_of_link(shapes, per_link_max=count) for count in (1, 4))
    assert max(hull.radius_m for hull in four) < 0.6 * one[0].radius_m
    assert outside_m(sphere.points, four).max() <= 1e-9


def test_only_fine_links_are_cut_finely() -> None:
    links = {name: LinkShapes(name, TRAY.sources, TRAY.triangles, ()) for name in ("left", "right")}
    hulls = convex_hulls(links, per_link_max=2, fine_links={"right": 5})
    assert [hull.link_name for hull in hulls] == ["left"] * 2 + ["right"] * 5
    assert convex_hulls({"left": links["left"]}, per_link_max=2) == hulls[:2]


def test_fine_links_without_shapes_are_refused() -> None:
    robot = load_robot("g1")
    options = robot.lowering.model_copy(update={"fine_links": {"torso_lnk": 8}})
    with pytest.raises(ROSConfigError, match="`torso_lnk`, which have no shapes"):
        lower_convex_hulls(robot.model_copy(update={"lowering": options}), {"torso_link": TRAY})
