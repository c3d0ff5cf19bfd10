# SPDX-License-Identifier: Apache-2.0
"""Links are cut where they are hollow, and what each cut and radius is chosen by is what it says."""

import numpy as np
import pytest
from scipy.spatial import ConvexHull

from lastgate import _fitting
from lastgate.lowering.convex_hulls import _farthest_m, convex_piece, distance_to_hull_m
from lastgate.lowering.convex_pieces import _growing_hulls_m3, pieces_of_link
from lastgate.lowering.rigid import apply, transform
from lastgate.lowering.shapes import LinkShapes, SourceShape
from lastgate.lowering.surface_points import surface_samples
from lastgate.lowering.triangles import box_triangles


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
        float(ConvexHull(np.array(piece.corners_m)).volume)
        for piece in pieces_of_link(shapes, per_link_max=per_link_max)
    )


def test_hollow_in_the_middle_is_cut_free() -> None:
    whole_m3 = 0.2 * 0.2 * 0.1
    hollow_m3 = 0.16 * 0.16 * 0.08
    assert hulls_m3(TRAY, 1) > 0.99 * whole_m3
    assert hulls_m3(TRAY, 8) < whole_m3 - 0.35 * hollow_m3


def test_convex_link_is_one_piece() -> None:
    assert len(pieces_of_link(boxes(((0.1, 0.2, 0.3), (0.0, 0.0, 0.0))), per_link_max=8)) == 1


def test_pieces_contain_the_surface() -> None:
    pieces = pieces_of_link(TRAY, per_link_max=8)
    points = surface_samples(TRAY.triangles, 0.01)
    outside = np.full(len(points), np.inf)
    for piece in pieces:
        faces = ConvexHull(np.array(piece.corners_m)).equations
        outside = np.minimum(outside, (points @ faces[:, :3].T + faces[:, 3]).max(axis=1) - piece.radius_m)
    assert outside.max() <= 1e-9
    assert len(pieces) > 1


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
    corners = rng.normal(size=(30, 3))
    points = np.concatenate([corners + 1e-6, 1.2 * rng.normal(size=(50, 3))])
    assert _farthest_m(points, corners) == max(distance_to_hull_m(point, corners) for point in points)


def test_radius_of_a_round_piece_covers_the_corners_left_out() -> None:
    directions = np.random.default_rng(3).normal(size=(3000, 3))
    ball = 0.1 * directions / np.linalg.norm(directions, axis=1)[:, None]
    piece = convex_piece("link", ball)
    corners = np.array(piece.corners_m)
    assert len(corners) < 200
    assert max(distance_to_hull_m(point, corners) for point in ball) <= piece.radius_m < 0.003
