# SPDX-License-Identifier: Apache-2.0
"""Volumes contain what they stand for, are tight, and are proved on the numbers as written."""

import itertools

import numpy as np
import pytest

from lastgate.contracts.shapes import CapsuleShape, LinkCollisionGeometry, SphereShape
from lastgate.tools.lowering.capsule_fit import fit_capsule
from lastgate.tools.lowering.distances import points_to_segment
from lastgate.tools.lowering.fit import fit_link
from lastgate.tools.lowering.lower import _entry
from lastgate.tools.lowering.prove import prove_containment
from lastgate.tools.lowering.rigid import transform
from lastgate.tools.lowering.shapes import LinkShapes, SourceShape


def lowered(shapes: LinkShapes, volumes_max: int) -> list[LinkCollisionGeometry]:
    return [_entry(shapes.link, volume) for volume in fit_link(shapes, volumes_max=volumes_max).volumes]


def link(kind: str, size: tuple[float, ...], xyz: tuple[float, float, float] = (0.0, 0.0, 0.0)) -> LinkShapes:
    return LinkShapes.of("link", [SourceShape(kind, transform(xyz, (0.0, 0.0, 0.0)), size)])


def test_l01_capsule_around_a_rod_is_long_and_thin() -> None:
    rng = np.random.default_rng(0)
    rod = np.c_[rng.uniform(-0.2, 0.2, 200), rng.normal(0.0, 0.005, (200, 2))]
    capsule = fit_capsule(rod)
    assert capsule.length_m > 0.30
    assert capsule.radius_m < 0.05
    assert points_to_segment(rod, capsule.start, capsule.end).max() <= capsule.radius_m + 1e-9


def test_l01_capsule_around_a_diagonal_rod_follows_the_diagonal() -> None:
    rng = np.random.default_rng(1)
    along = rng.uniform(-0.3, 0.3, (200, 1)) * np.array([[1.0, 1.0, 1.0]]) / np.sqrt(3.0)
    capsule = fit_capsule(along + rng.normal(0.0, 0.004, (200, 3)))
    direction = (capsule.end - capsule.start) / capsule.length_m
    assert abs(direction @ np.ones(3)) / np.sqrt(3.0) > 0.99


@pytest.mark.parametrize("points", [np.empty((0, 3)), np.array([[np.nan, 0.0, 0.0]])])
def test_points_that_are_empty_or_not_finite_are_refused(points: np.ndarray) -> None:
    with pytest.raises(ValueError, match="finite"):
        fit_capsule(points)


@pytest.mark.parametrize("volumes_max", [1, 4, 8])
def test_l02_every_vertex_of_a_box_is_inside(volumes_max: int) -> None:
    box = link("box", (0.1, 0.2, 0.3), (0.01, 0.02, 0.03))
    volumes = lowered(box, volumes_max)
    assert len(volumes) <= volumes_max
    assert prove_containment(box, volumes).proved
    centre = np.array([0.01, 0.02, 0.03])
    vertices = centre + np.array(list(itertools.product((-0.05, 0.05), (-0.1, 0.1), (-0.15, 0.15))))
    assert np.isin(np.round(vertices, 9), np.round(box.triangles.reshape(-1, 3), 9)).all()


def test_l03_sphere_is_taken_over_exactly() -> None:
    (volume,) = lowered(link("sphere", (0.07,), (0.05, 0.0, 0.0)), 8)
    assert volume.shape == SphereShape(radius_m=0.07)
    assert volume.origin_xyz_rpy == (0.05, 0.0, 0.0, 0.0, 0.0, 0.0)


def test_capsule_is_taken_over_exactly() -> None:
    (volume,) = lowered(link("capsule", (0.04, 0.3)), 8)
    assert volume.shape == CapsuleShape(radius_m=0.04, length_m=0.3)


def test_l04_cylinder_is_contained_with_its_rims() -> None:
    cylinder = link("cylinder", (0.04, 0.5))
    (volume,) = lowered(cylinder, 1)
    assert isinstance(volume.shape, CapsuleShape)
    assert volume.shape.radius_m >= 0.04
    assert volume.shape.length_m + 2.0 * volume.shape.radius_m >= 0.5
    angle = np.linspace(0.0, 2.0 * np.pi, 1000)
    rim = np.c_[0.04 * np.cos(angle), 0.04 * np.sin(angle), np.full(1000, 0.25)]
    half = 0.5 * volume.shape.length_m
    beyond = np.maximum(np.abs(rim[:, 2]) - half, 0.0)
    assert (np.hypot(np.hypot(rim[:, 0], rim[:, 1]), beyond) <= volume.shape.radius_m).all()


def test_several_volumes_are_tighter_than_one(bent_triangles: np.ndarray) -> None:
    shapes = LinkShapes.of("bent", [SourceShape("mesh", np.eye(4), (), bent_triangles)])
    one, several = fit_link(shapes, volumes_max=1), fit_link(shapes, volumes_max=4)
    assert 1 < several.count <= 4
    assert several.excess() < 0.5 * one.excess()
    assert prove_containment(shapes, lowered(shapes, 4)).proved


def test_x29_sphere_and_box_on_one_link_are_both_contained() -> None:
    shapes = LinkShapes.of(
        "mixed",
        [
            SourceShape("sphere", np.eye(4), (0.1,)),
            SourceShape("box", transform((0.15, 0, 0), (0, 0, 0.3)), (0.1, 0.1, 0.1)),
        ],
    )
    volumes = lowered(shapes, 4)
    assert prove_containment(shapes, volumes).proved
    without_sphere = [volume for volume in volumes if volume.shape != SphereShape(radius_m=0.1)]
    assert not prove_containment(shapes, without_sphere).proved


def test_x30_written_radius_is_enough_and_one_unit_less_is_not(bent_triangles: np.ndarray) -> None:
    turned = transform((0.1234567, 0.0, 0.0), (0.1, 0.2, 0.3))
    shapes = LinkShapes.of("bent", [SourceShape("mesh", turned, (), bent_triangles)])
    (volume,) = lowered(shapes, 1)
    assert prove_containment(shapes, [volume]).proved
    smaller = volume.model_copy(
        update={
            "shape": volume.shape.model_copy(update={"radius_m": round(volume.shape.radius_m - 0.0002, 4)})
        }
    )
    refuted = prove_containment(shapes, [smaller])
    assert not refuted.proved
    assert 0.0 < refuted.outside_m < 0.0003


def test_hole_between_two_volumes_is_found() -> None:
    bar = link("box", (0.4, 0.02, 0.02))
    ends = [
        LinkCollisionGeometry(
            link_name="link", shape=SphereShape(radius_m=0.1), origin_xyz_rpy=(x, 0, 0, 0, 0, 0)
        )
        for x in (-0.12, 0.12)
    ]
    refuted = prove_containment(bar, ends)
    assert not refuted.proved
    assert refuted.worst_point is not None
    assert abs(refuted.worst_point[0]) < 0.03


def test_link_without_volumes_is_not_contained() -> None:
    assert not prove_containment(link("box", (0.1, 0.1, 0.1)), []).proved


def test_fitting_twice_gives_the_same_numbers(bent_triangles: np.ndarray) -> None:
    shapes = LinkShapes.of("bent", [SourceShape("mesh", np.eye(4), (), bent_triangles)])
    assert lowered(shapes, 6) == lowered(shapes, 6)
