# SPDX-License-Identifier: Apache-2.0
"""Meshes of several parts: what lies in any of them is inside, however the parts are wound and wherever they are."""

import numpy as np
import pytest
import trimesh

from lastgate.planning.collision.exact_meshes import ExactMeshes
from lastgate.planning.collision.mesh_parts import MeshParts

STILL = np.eye(4)[:3]


def box(side_m, x_m=0.0, *, inside_out=False):
    drawn = np.asarray(trimesh.creation.box(extents=(side_m,) * 3).triangles) + np.array([x_m, 0.0, 0.0])
    return np.ascontiguousarray(drawn[:, ::-1]) if inside_out else drawn


def apart(inner, outer):
    meshes = ExactMeshes({"inner": inner, "outer": outer})
    forth = meshes.between_links("inner", STILL, "outer", STILL)
    assert meshes.between_links("outer", STILL, "inner", STILL) == pytest.approx(forth)
    return forth


@pytest.mark.parametrize(("x_m", "meets"), [(0.0, True), (0.4, False)])
@pytest.mark.parametrize("last", [False, True])
def test_part_that_hangs_on_nothing_meets_the_link_it_lies_in_and_not_the_one_beside(x_m, meets, last):
    parts = [box(0.1, 5.0), box(0.02, x_m)]
    found = apart(np.concatenate(parts if last else parts[::-1]), box(0.4))
    assert (found <= 0.0) == meets
    assert abs(found) == pytest.approx(0.19)


@pytest.mark.parametrize(("x_m", "meets"), [(0.0, True), (0.4, False)])
@pytest.mark.parametrize("inside_out", [False, True])
def test_overlapping_parts_of_opposite_winding_do_not_cancel(x_m, meets, inside_out):
    outer = np.concatenate([box(0.4, inside_out=not inside_out), box(0.38, 0.02, inside_out=inside_out)])
    assert (apart(box(0.02, x_m), outer) <= 0.0) == meets


@pytest.mark.parametrize(("x_m", "meets"), [(0.0, True), (0.4, False)])
def test_mesh_drawn_from_both_sides_is_solid(x_m, meets):
    outer = np.concatenate([box(0.4), box(0.4, inside_out=True)])
    assert (apart(box(0.02, x_m), outer) <= 0.0) == meets


def test_mesh_wound_at_random_is_solid_and_nothing_beside_it_is():
    rng = np.random.default_rng(3)
    for _ in range(20):
        soup = box(0.4)
        turned = rng.random(len(soup)) < 0.5
        soup[turned] = soup[turned][:, ::-1]
        assert MeshParts(soup).hold(np.array([[0.1, 0.0, 0.0]]))
        assert not MeshParts(soup).hold(np.array([[0.21, 0.0, 0.0]]))


def test_patches_that_share_no_vertex_enclose_together():
    soup = box(0.4)
    shrunk = soup.mean(axis=1, keepdims=True) + 0.999 * (soup - soup.mean(axis=1, keepdims=True))
    parts = MeshParts(shrunk)
    assert len(parts.vertices) == 12
    assert parts.hold(np.zeros((1, 3)))
    assert not parts.hold(np.array([[0.3, 0.0, 0.0]]))


def test_patches_beside_and_around_closed_parts_enclose_together():
    """The closed parts are wound the other way: counted along, they would take away what the patches enclose."""
    soup = box(0.4)
    patches = soup.mean(axis=1, keepdims=True) + 0.999 * (soup - soup.mean(axis=1, keepdims=True))
    closed = [box(0.6, inside_out=True), box(0.1, 2.0, inside_out=True)]
    parts = MeshParts(np.concatenate([patches + np.array([1.0, 0.0, 0.0]), *closed]))
    assert parts.hold(np.array([[1.0, 0.0, 0.0]]))
    assert parts.hold(np.array([[0.25, 0.0, 0.0]]))
    assert parts.hold(np.array([[2.0, 0.0, 0.0]]))
    assert not parts.hold(np.array([[0.7, 0.0, 0.0]]))
    assert not parts.hold(np.array([[1.5, 0.0, 0.0]]))


@pytest.mark.parametrize(("x_m", "meets"), [(0.0, True), (0.4, False)])
def test_sphere_inside_parts_of_opposite_winding_collides(x_m, meets):
    meshes = ExactMeshes({"arm": np.concatenate([box(0.4), box(0.3, inside_out=True)])})
    assert (meshes.from_sphere("arm", STILL, np.array([x_m, 0.0, 0.0, 0.01])) <= 0.0) == meets
