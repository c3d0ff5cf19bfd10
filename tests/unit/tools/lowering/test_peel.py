# SPDX-License-Identifier: Apache-2.0
"""A flat side is covered by strips that follow it, and cuts of several parts lose nothing of the surface."""

import numpy as np
import pytest

from lastgate.tools.lowering.fit import LinkFields, Patch
from lastgate.tools.lowering.lower import _entry
from lastgate.tools.lowering.peel import peeled
from lastgate.tools.lowering.prove import prove_containment
from lastgate.tools.lowering.refit import Partners
from lastgate.tools.lowering.shapes import LinkShapes, SourceShape
from lastgate.tools.lowering.surface_points import first_in_voxels, surface_points
from lastgate.tools.lowering.triangles import box_triangles

SLAB = box_triangles(np.array([0.5, 0.12, 0.12]))


def spheres_at_height(z_m: float) -> Partners:
    """Returns small spheres above the slab's upper side."""
    x, y = (grid.ravel() for grid in np.meshgrid(np.linspace(-0.2, 0.2, 21), np.linspace(-0.05, 0.05, 7)))
    centre = np.c_[x, y, np.full(len(x), z_m)]
    return Partners(np.c_[centre, centre, np.full(len(x), 0.005)], 1)


def touching(patches: list[Patch], partners: Partners) -> int:
    found = np.zeros(len(partners.rows), dtype=bool)
    for patch in patches:
        start, end = patch.volume.ends
        along = end - start
        offset = partners.rows[:, :3] - start
        share = np.clip(offset @ along / max(float(along @ along), 1e-18), 0.0, 1.0)
        gap_m = np.linalg.norm(offset - share[:, None] * along, axis=1) - patch.volume.radius_m
        found |= gap_m <= partners.rows[:, 6]
    return int(found.sum())


def test_strips_set_free_what_passes_close_over_a_flat_side() -> None:
    whole = Patch(SLAB, LinkFields(SLAB))
    near = spheres_at_height(0.074)
    parts = peeled(whole, near, added_max=8)
    assert len(parts) >= 2
    assert touching([whole], near) == len(near.rows)
    assert touching(parts, near) < 0.5 * len(near.rows)


def test_strips_contain_the_surface() -> None:
    parts = peeled(Patch(SLAB, LinkFields(SLAB)), spheres_at_height(0.074), added_max=8)
    link = LinkShapes.of("link", [SourceShape("mesh", np.eye(4), (), SLAB)])
    volumes = [_entry("link", part.volume) for part in parts]
    assert prove_containment(link, volumes).proved
    assert not prove_containment(link, volumes[1:]).proved


def test_nothing_is_cut_where_nothing_touches_anyway() -> None:
    assert peeled(Patch(SLAB, LinkFields(SLAB)), spheres_at_height(0.5), added_max=8) == []


@pytest.mark.parametrize("added_max", [1, 2, 4])
def test_bound_on_added_volumes_is_kept(added_max: int) -> None:
    parts = peeled(Patch(SLAB, LinkFields(SLAB)), spheres_at_height(0.074), added_max=added_max)
    assert 1 < len(parts) <= 1 + added_max


def test_points_of_a_surface_lie_on_it_also_where_no_vertex_is() -> None:
    points = surface_points(SLAB, points_max=500)
    assert 200 < len(points) <= 500
    beyond = np.abs(points) / np.array([0.25, 0.06, 0.06])
    np.testing.assert_allclose(beyond.max(axis=1), 1.0, atol=1e-12)
    assert (np.abs(points[:, 0]) < 0.05).sum() > 20


def test_points_are_thinned_out_to_the_bound_and_not_below_what_there_is() -> None:
    points = np.random.default_rng(0).uniform(size=(5000, 3))
    assert len(first_in_voxels(points, points_max=100)) <= 100
    np.testing.assert_array_equal(first_in_voxels(points[:3], points_max=100), points[:3])
