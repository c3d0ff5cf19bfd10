# SPDX-License-Identifier: Apache-2.0
"""The native loops of lowering say what plain NumPy says, and refuse arrays of another shape."""

import numpy as np
import pytest
from scipy.spatial import ConvexHull, QhullError

from lastgate.planning import _fitting
from lastgate.tools.lowering.distances import points_to_segment, segments_to_segments
from lastgate.tools.lowering.rigid import rotation_from_rpy

Array = np.ndarray


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(5)


def capsules(rng: np.random.Generator, count: int) -> Array:
    rows = rng.uniform(-0.2, 0.2, (count, 7))
    rows[:, 6] = rng.uniform(0.01, 0.1, count)
    rows[0, 3:6] = rows[0, :3]  # a sphere
    return rows


def poses(rng: np.random.Generator, count: int) -> Array:
    return np.array(
        [np.c_[rotation_from_rpy(*rng.uniform(-3, 3, 3)), rng.uniform(-0.3, 0.3, 3)] for _ in range(count)]
    )


def reference_clearances(placements: Array, a: Array, b: Array) -> Array:
    ends = [b[:, first : first + 3] @ placements[:, :, :3].transpose(0, 2, 1) for first in (0, 3)]
    start_b, end_b = (points + placements[:, None, :, 3] for points in ends)
    distance = segments_to_segments(
        a[None, :, None, :3], a[None, :, None, 3:6], start_b[:, None], end_b[:, None]
    )
    return distance - a[:, None, 6] - b[None, :, 6]


def test_clearances_are_those_of_numpy(rng: np.random.Generator) -> None:
    placements, a, b = poses(rng, 50), capsules(rng, 4), capsules(rng, 3)
    expected = reference_clearances(placements, a, b)
    assert np.abs(_fitting.clearances(placements, a, b) - expected).max() < 1e-12
    assert (expected < 0.0).any()
    assert (expected > 0.0).any()


@pytest.mark.parametrize("within_m", [0.0, 0.05])
def test_poses_in_which_something_is_near_are_found_and_no_others(
    rng: np.random.Generator, within_m: float
) -> None:
    placements, a, b = poses(rng, 400), capsules(rng, 2), capsules(rng, 2)
    expected = (reference_clearances(placements, a, b) <= within_m).any(axis=(1, 2))
    assert 0 < expected.sum() < len(expected)
    assert (_fitting.any_within(placements, a, b, within_m) == expected).all()


def test_capsule_along_an_axis_contains_every_point_and_touches_one(rng: np.random.Generator) -> None:
    points = rng.normal(0.0, (0.1, 0.02, 0.02), (300, 3))
    axes = np.array([[1.0, 0.0, 0.0], [0.0, 0.6, 0.8], [0.0, 0.0, 1.0]])
    for row, axis in zip(_fitting.capsules_along(points, axes), axes, strict=True):
        distance = points_to_segment(points, row[:3], row[3:6])
        assert distance.max() == pytest.approx(row[6], abs=1e-12)
        assert np.abs(np.cross(row[3:6] - row[:3], axis)).max() < 1e-12
    first, *others = _fitting.capsules_along(points, axes)
    assert all(first[6] < other[6] for other in others)


def test_covered_points_are_those_inside_some_capsule(rng: np.random.Generator) -> None:
    points, rows = rng.uniform(-0.3, 0.3, (500, 3)), capsules(rng, 3)
    expected = np.any([points_to_segment(points, row[:3], row[3:6]) <= row[6] for row in rows], axis=0)
    assert 0 < expected.sum() < len(expected)
    assert (_fitting.covered(points, rows) == expected).all()


def test_overlap_cost_counts_what_is_near_and_its_gradient_is_the_slope(rng: np.random.Generator) -> None:
    own, others = capsules(rng, 2)[1], capsules(rng, 40)
    distance = segments_to_segments(own[:3], own[3:6], others[:, :3], others[:, 3:6])
    depth = np.maximum(own[6] + others[:, 6] + 0.002 - distance, 0.0)
    value, gradient = _fitting.overlap_cost(own, others, near_m=0.002, half_m=0.004)
    assert value == pytest.approx(float((depth / (depth + 0.004)).sum()), rel=1e-12)
    assert value > 1.0
    for column in range(7):
        step = np.zeros(7)
        step[column] = 1e-7
        above = _fitting.overlap_cost(own + step, others, near_m=0.002, half_m=0.004)[0]
        below = _fitting.overlap_cost(own - step, others, near_m=0.002, half_m=0.004)[0]
        assert gradient[column] == pytest.approx((above - below) / 2e-7, rel=1e-4, abs=1e-4)


def test_capsule_far_from_all_others_costs_nothing(rng: np.random.Generator) -> None:
    far = capsules(rng, 5) + np.array([5.0, 0, 0, 5.0, 0, 0, 0])
    value, gradient = _fitting.overlap_cost(capsules(rng, 2)[1], far, near_m=0.002, half_m=0.004)
    assert value == 0.0
    assert not gradient.any()


def test_arrays_of_another_shape_or_type_are_refused() -> None:
    points, axes = np.zeros((4, 3)), np.eye(3)
    with pytest.raises(ValueError, match="at least one point"):
        _fitting.capsules_along(np.empty((0, 3)), axes)
    for bad in (points.astype(np.float32), points[:, :2], points[::2], np.zeros(3)):
        with pytest.raises(TypeError):
            _fitting.capsules_along(bad, axes)
    with pytest.raises(TypeError):
        _fitting.covered(points, np.zeros((1, 6)))
    with pytest.raises(TypeError):
        _fitting.clearances(np.zeros((2, 4, 4)), np.zeros((1, 7)), np.zeros((1, 7)))


def test_distinct_points_are_the_first_of_each(rng: np.random.Generator) -> None:
    few = rng.normal(size=(300, 3))
    few[7] = few[3] * (1.0, 1.0, -1.0)
    few[8] = np.nextafter(few[3], np.inf)
    points = few[rng.integers(0, len(few), 5000)]
    _, expected = np.unique(points, axis=0, return_index=True)
    assert _fitting.distinct(points).tolist() == np.sort(expected).tolist()
    assert _fitting.distinct(np.empty((0, 3))).tolist() == []
    assert _fitting.distinct(np.array([[0.0, 1.0, 2.0], [-0.0, 1.0, 2.0]])).tolist() == [0, 1]


def hull_m3(points: Array) -> float:
    try:
        return float(ConvexHull(points).volume)
    except QhullError:
        return 0.0


def sets_of_points(rng: np.random.Generator) -> dict[str, Array]:
    """Returns clouds, and what meshes are made of: flat sides, rounds, repeated and nearly equal points."""
    grid = np.stack(np.meshgrid(*[np.linspace(-0.05, 0.05, 6)] * 3), axis=-1).reshape(-1, 3)
    turned = grid @ rotation_from_rpy(0.3, -0.7, 1.1).T + (0.4, -0.2, 0.9)
    angle = np.linspace(0.0, 2.0 * np.pi, 72, endpoint=False)
    ring = np.stack([0.03 * np.cos(angle), 0.03 * np.sin(angle)], axis=1)
    rings = np.concatenate([np.c_[ring, np.full(len(ring), z)] for z in np.linspace(0.0, 0.1, 8)])
    sphere = rng.normal(size=(400, 3))
    sphere *= 0.07 / np.linalg.norm(sphere, axis=1)[:, None]
    return {
        "cloud": rng.normal(size=(300, 3)) * (0.1, 0.02, 0.005),
        "grid": grid,
        "turned grid": turned,
        "cylinder": rings,
        "turned cylinder": rings @ rotation_from_rpy(1.0, 0.5, 2.0).T,
        "sphere": sphere,
        "twice": np.concatenate([turned, turned]),
        "nearly twice": np.concatenate([turned, turned + rng.uniform(-1e-15, 1e-15, turned.shape)]),
        "sheet": np.concatenate([grid * (1.0, 1.0, 1e-9), [(0.0, 0.0, 1e-7)]]),
    }


def test_growing_hulls_have_the_volumes_of_qhull(rng: np.random.Generator) -> None:
    for name, points in sets_of_points(rng).items():
        for _ in range(5):
            axis = rng.normal(size=3)
            for direction in (axis, np.eye(3)[int(rng.integers(3))]):
                shuffled = np.ascontiguousarray(rng.permutation(points))
                height = shuffled @ direction
                offsets = np.linspace(height.min(), height.max(), 9) + 1e-9
                found = _fitting.growing_hulls(shuffled, height, offsets)
                whole_m3 = hull_m3(points)
                for offset, volume_m3 in zip(offsets, found, strict=True):
                    below = shuffled[height <= offset]
                    if len(below) < 4:
                        assert np.isnan(volume_m3)
                    else:
                        assert abs(volume_m3 - hull_m3(below)) <= 1e-10 * whole_m3, (name, direction, offset)
                assert found[-1] == pytest.approx(whole_m3, rel=1e-10), name


def test_growing_hulls_of_sides_flat_but_for_rounding_are_right_or_none(rng: np.random.Generator) -> None:
    sets = sets_of_points(rng)
    torn = asked = 0
    for name in ("turned grid", "turned cylinder", "twice"):
        points = sets[name]
        for noise_m in (0.0, 1e-14, 1e-12, 1e-11, 1e-10, 1e-9, 1e-8):
            for _ in range(4):
                rough = np.ascontiguousarray(points + rng.uniform(-noise_m, noise_m, points.shape))
                if noise_m == 0.0:
                    rough = rough.astype(np.float32).astype(np.float64)
                height = rough @ rng.normal(size=3)
                offsets = np.linspace(height.min(), height.max(), 6) + 1e-9
                found = _fitting.growing_hulls(rough, height, offsets)
                asked += 1
                if found is None:
                    torn += 1
                    continue
                expected = [hull_m3(rough[height <= offset]) for offset in offsets[1:]]
                np.testing.assert_allclose(found[1:], expected, rtol=0.0, atol=1e-10 * expected[-1])
    assert 0 < torn < asked


def test_growing_hulls_of_too_few_and_flat_points(rng: np.random.Generator) -> None:
    line = np.linspace(0.0, 1.0, 7)[:, None] * (1.0, 2.0, 3.0)
    flat = np.c_[rng.uniform(size=(40, 2)), np.zeros(40)]
    for points in (line, flat, np.zeros((9, 3))):
        turned = np.ascontiguousarray(points @ rotation_from_rpy(0.2, 0.4, 0.6).T)
        found = _fitting.growing_hulls(turned, np.arange(float(len(points))), np.array([2.0, 3.0, 99.0]))
        assert np.isnan(found[0])
        assert found[1:].tolist() == [0.0, 0.0]
    assert np.isnan(_fitting.growing_hulls(np.empty((0, 3)), np.empty(0), np.array([1.0]))).all()
    # Flat at first and solid later: what waited is taken in.
    solid = np.concatenate([flat, [(0.5, 0.5, 0.3)]])
    grown = _fitting.growing_hulls(solid, np.arange(41.0), np.array([39.0, 40.0]))
    assert grown[0] == 0.0
    assert grown[1] == pytest.approx(hull_m3(solid), rel=1e-12)


def test_growing_hulls_need_a_height_per_point() -> None:
    with pytest.raises(ValueError, match="every point needs a height"):
        _fitting.growing_hulls(np.zeros((5, 3)), np.zeros(4), np.array([1.0]))


def hull_triangles(points: Array) -> tuple[Array, Array]:
    """Returns the faces of a hull, all turned outwards, and their planes."""
    hull = ConvexHull(points)
    triangles = points[hull.simplices]
    normals = np.cross(triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0])
    inwards = np.einsum("ij,ij->i", normals, hull.equations[:, :3]) < 0.0
    triangles[inwards] = triangles[inwards][:, ::-1]
    return np.ascontiguousarray(triangles), hull.equations


def test_surface_goes_once_round_what_is_inside_and_not_round_the_rest(rng: np.random.Generator) -> None:
    triangles, planes = hull_triangles(rng.normal(size=(40, 3)))
    points = rng.normal(size=(300, 3))
    inside = (points @ planes[:, :3].T + planes[:, 3]).max(axis=1) < 0.0
    found = np.array([_fitting.winding_number(point, triangles) for point in points])
    assert 50 < inside.sum() < 250
    assert np.abs(found - inside).max() < 1e-12
    turned = np.ascontiguousarray(triangles[:, ::-1])
    assert _fitting.winding_number(points[inside][0], turned) == pytest.approx(-1.0)


def test_surface_that_leaks_goes_round_a_point_by_the_part_that_is_there() -> None:
    cube, _ = hull_triangles(
        np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], dtype=float)
    )
    open_cube = np.ascontiguousarray(cube[cube[:, :, 0].max(axis=1) > -1.0])
    assert len(open_cube) == len(cube) - 2
    assert _fitting.winding_number(np.zeros(3), open_cube) == pytest.approx(5.0 / 6.0)
    assert _fitting.winding_number(np.zeros(3), np.empty((0, 3, 3))) == 0.0


@pytest.mark.parametrize(
    ("point", "triangles"),
    [
        (np.zeros(2), np.zeros((1, 3, 3))),
        (np.zeros(3), np.zeros((3, 3))),
        (np.zeros(3), np.zeros((1, 3, 2))),
        (np.zeros(3), np.zeros((1, 3, 3), dtype=np.float32)),
    ],
)
def test_winding_number_of_other_shapes_is_refused(point: Array, triangles: Array) -> None:
    with pytest.raises(TypeError):
        _fitting.winding_number(point, triangles)
