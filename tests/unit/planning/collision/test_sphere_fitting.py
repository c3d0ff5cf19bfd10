# SPDX-License-Identifier: Apache-2.0
"""Where a sphere around a part of a link lies, how far it stands out, and how a link is cut."""

import itertools

import numpy as np
import pytest
from fixtures.shape_robots import box, cylinder, hulls_of, placed

from lastgate import _core
from lastgate.planning import _fitting
from lastgate.planning.collision import SphereGenConfig
from lastgate.planning.collision.link_solid import LinkSolid
from lastgate.planning.collision.sphere_cutting import GrowingCover, cover_hulls

CUBE = np.array(list(itertools.product((-0.1, 0.1), repeat=3)))


def box_vertices(low, high) -> np.ndarray:
    return np.array(list(itertools.product(*zip(low, high, strict=True))), dtype=np.float64)


def solid_of(*boxes) -> LinkSolid:
    return LinkSolid([box_vertices(low, high) for low, high in boxes], [0.0] * len(boxes))


def distance_from_boxes(points: np.ndarray, boxes) -> np.ndarray:
    """Returns the distance of points from the nearest of some boxes that lie along the axes."""
    found = np.full(len(points), np.inf)
    for low, high in boxes:
        away = np.maximum(np.maximum(np.array(low) - points, points - np.array(high)), 0.0)
        found = np.minimum(found, np.linalg.norm(away, axis=1))
    return found


def points_of_sphere(centre, radius_m, count, rng) -> np.ndarray:
    way = rng.normal(size=(count, 3))
    way /= np.linalg.norm(way, axis=1, keepdims=True)
    return np.array(centre) + radius_m * rng.uniform(0.0, 1.0, (count, 1)) ** (1 / 3) * way


# A tube cut lengthwise and across, an L, two boxes with air between them, and one box alone.
UNIONS = {
    "quarters": [
        ((0.0, -0.05, 0.0), (0.3, 0.0, 0.05)),
        ((0.0, 0.0, 0.0), (0.3, 0.05, 0.05)),
        ((0.0, -0.05, -0.05), (0.3, 0.0, 0.0)),
        ((0.0, 0.0, -0.05), (0.3, 0.05, 0.0)),
    ],
    "angle": [((0.0, 0.0, 0.0), (0.3, 0.06, 0.06)), ((0.0, 0.0, 0.0), (0.06, 0.3, 0.06))],
    "apart": [((0.0, 0.0, 0.0), (0.1, 0.1, 0.1)), ((0.14, 0.0, 0.0), (0.24, 0.1, 0.1))],
    "one": [((-0.1, -0.1, -0.1), (0.1, 0.1, 0.1))],
}


@pytest.mark.parametrize("name", UNIONS)
def test_no_point_of_a_sphere_is_farther_out_than_its_overshoot(name: str) -> None:
    boxes = UNIONS[name]
    solid = solid_of(*boxes)
    rng = np.random.default_rng(3)
    looser = []
    for _ in range(40):
        low, high = boxes[int(rng.integers(len(boxes)))]
        centre, radius_m = rng.uniform(low, high), float(rng.uniform(0.01, 0.12))
        measured = float(distance_from_boxes(points_of_sphere(centre, radius_m, 4000, rng), boxes).max())
        bound = solid.overshoot_m(centre, radius_m)
        assert measured <= bound
        assert bound <= radius_m + 1e-5
        looser.append(bound - measured)
    # A bound of the radius would be one too; this one is near what there is. Distance along rays from the centre is
    # longer than the shortest one, where a box has an edge.
    assert np.median(looser) < 0.012


def test_overshoot_beside_a_seam_is_that_of_the_union() -> None:
    solid = solid_of(*UNIONS["quarters"])
    beside_the_seam = np.array([0.15, 0.0001, 0.0002])
    assert solid.overshoot_m(beside_the_seam, 0.06) == pytest.approx(0.01, abs=0.002)
    # Twin: with one quarter gone, nothing lies on that side of the seam.
    three = solid_of(*UNIONS["quarters"][:3])
    assert three.overshoot_m(beside_the_seam, 0.06) > 0.05


@pytest.mark.parametrize("seed", range(5))
def test_deep_sphere_holds_its_vertices_and_stands_out_less_than_the_smallest(seed: int) -> None:
    rng = np.random.default_rng(seed)
    solid = solid_of(((-0.1, -0.1, -0.3), (0.1, 0.1, 0.3)))
    # A slice near the surface: the smallest sphere around it lies in its middle and stands far out.
    low = np.array([0.06, -0.05, rng.uniform(-0.2, 0.1)])
    high = low + np.array([0.04, 0.1, 0.08])
    vertices = np.column_stack([box_vertices(low, high), np.full(8, 0.001)])
    x, y, z, radius_m, stands_out_m = _fitting.deep_sphere(
        vertices, solid.centres, solid.planes, solid.hull_ends, solid.surface
    )
    away = np.linalg.norm(vertices[:, :3] - [x, y, z], axis=1)
    assert (away + 0.001 <= radius_m + 1e-12).all()
    middle = 0.5 * (low + high)
    smallest_m = float(np.linalg.norm(high - middle)) + 0.001
    assert stands_out_m < smallest_m - (0.1 - middle[0])
    assert solid.overshoot_m(np.array([x, y, z]), radius_m) <= stands_out_m + 0.005


def test_halves_stand_out_no_more_than_the_whole() -> None:
    hulls = hulls_of("arm", [box(0.3, 0.2, 0.1), cylinder(0.05, 0.4, placed((0.1, 0.0, 0.1)))])
    before = np.inf
    for count in (1, 2, 4, 8, 16, 32, 64):
        config = SphereGenConfig(radius_m_max=0.001, spheres_per_link_max=count)
        worst = max(sphere.overshoot_m for sphere in cover_hulls(hulls, config))
        # A millimetre is how near a bound is brought to the truth.
        assert worst <= before + 0.001
        before = worst
    assert before < 0.03


def test_one_sphere_can_be_cut_and_the_rest_stays() -> None:
    hulls = hulls_of("arm", [box(0.3, 0.2, 0.1)])
    cover = GrowingCover(hulls, SphereGenConfig(radius_m_max=0.01, spheres_per_link_max=5))
    cover.cut(4)
    rows = cover.rows()
    assert cover.count == len(rows) == 4
    assert cover.cut_at([2, 2])
    after = {tuple(row) for row in cover.rows().tolist()}
    assert cover.count == len(after) == 5
    assert after > {tuple(row) for row in np.delete(rows, 2, axis=0).tolist()}
    assert tuple(rows[2].tolist()) not in after
    assert not cover.cut_at([0, 1]), "there are as many as there may be"
    assert cover.count == len(cover.rows()) == 5


def test_more_hulls_than_spheres_are_covered_together() -> None:
    shapes = [box(0.02, 0.02, 0.02, placed((0.05 * k, 0.01 * (k % 3), 0.0))) for k in range(12)]
    spheres = cover_hulls(hulls_of("arm", shapes), SphereGenConfig.coarse())
    assert len(spheres) <= 8
    vertices = np.concatenate([CUBE * 0.1 + [0.05 * k, 0.01 * (k % 3), 0.0] for k in range(12)])
    gaps = [np.linalg.norm(vertices - sphere.centre, axis=1) - sphere.radius_m for sphere in spheres]
    assert np.min(gaps, axis=0).max() <= 0.0
    # One sphere around all of them would be 28 cm wide.
    assert max(sphere.radius_m for sphere in spheres) < 0.08


def vertices_of(kind: str, rng: np.random.Generator) -> np.ndarray:
    if kind == "prism":  # faces of many vertices
        angle = np.linspace(0.0, 2.0 * np.pi, 60, endpoint=False)
        ring = np.stack([0.05 * np.cos(angle), 0.05 * np.sin(angle)], axis=1)
        return np.concatenate([np.column_stack([ring, np.full(60, z)]) for z in (-0.1, 0.1)])
    if kind == "sphere":
        way = rng.normal(size=(120, 3))
        return 0.1 * way / np.linalg.norm(way, axis=1, keepdims=True)
    if kind == "plate":
        return rng.uniform(-0.1, 0.1, (80, 3)) * [1.0, 1.0, 0.005]
    return rng.uniform(-0.1, 0.1, (150, 3))


@pytest.mark.parametrize("kind", ["prism", "sphere", "plate", "cloud"])
def test_planes_of_a_hull_are_those_that_qhull_finds(kind: str) -> None:
    from scipy.spatial import ConvexHull

    rng = np.random.default_rng(8)
    for _ in range(4):
        turn, _ = np.linalg.qr(rng.normal(size=(3, 3)))
        vertices = np.ascontiguousarray(vertices_of(kind, rng) @ turn)
        planes = _core.hull_planes(vertices)
        theirs = ConvexHull(vertices).equations
        middle = vertices.mean(axis=0)
        points = middle + rng.uniform(0.0, 1.5, (500, 1)) * (
            rng.dirichlet(np.full(len(vertices), 0.005), 500) @ vertices - middle
        )
        ours = (planes[:, 3] - points @ planes[:, :3].T).min(axis=1)
        np.testing.assert_allclose(
            ours, (-theirs[:, 3] - points @ theirs[:, :3].T).min(axis=1), rtol=0.0, atol=1e-6
        )
        assert (ours < 0.0).any()
        assert (ours > 0.0).any()


def test_section_of_a_cube_is_a_square_and_across_its_diagonal_a_hexagon() -> None:
    axis = np.array([0.0, 0.0, 1.0])
    square = _fitting.plane_section(CUBE, CUBE @ axis - 0.03, axis)
    assert {tuple(np.round(row, 12)) for row in square} == {
        (x, y, 0.03) for x in (-0.1, 0.1) for y in (-0.1, 0.1)
    }
    axis = np.ones(3) / np.sqrt(3.0)
    hexagon = _fitting.plane_section(CUBE, CUBE @ axis, axis)
    # Its vertices are the middles of edges, which no other crossing lies outside of.
    assert {tuple(np.round(row, 9) + 0.0) for row in hexagon} >= {
        tuple(np.array(p) + 0.0) for p in itertools.permutations((0.0, 0.1, -0.1))
    }
    np.testing.assert_allclose(hexagon @ axis, 0.0, atol=1e-15)


def test_section_of_vertices_on_one_side_is_empty() -> None:
    axis = np.array([0.0, 0.0, 1.0])
    assert _fitting.plane_section(CUBE, CUBE @ axis + 0.2, axis).shape == (0, 3)


def test_arrays_that_do_not_fit_together_are_refused() -> None:
    planes = _core.hull_planes(CUBE)
    rows = np.column_stack([CUBE, np.zeros(8)])
    surface = np.empty((0, 3))
    with pytest.raises(ValueError, match="every vertex needs a height"):
        _fitting.plane_section(CUBE, np.zeros(3), np.array([0.0, 0.0, 1.0]))
    for ends in ([len(planes) + 1], [2, 1, len(planes)], [-1, len(planes)], []):
        with pytest.raises(ValueError, match="hull_ends"):
            _fitting.depths(CUBE, planes, np.array(ends, dtype=np.int64), surface)
        with pytest.raises(ValueError, match="hull_ends"):
            _fitting.overshoot_bound(CUBE[0], 0.1, planes, np.array(ends, dtype=np.int64))
    ends = np.array([len(planes)], dtype=np.int64)
    for vertices, centres in ((rows[:0], rows), (rows, rows[:0])):
        with pytest.raises(ValueError, match="a vertex and a centre"):
            _fitting.deep_sphere(vertices, centres, planes, ends, surface)
